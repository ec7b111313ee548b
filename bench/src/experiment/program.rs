//! Programs that an experiment runs to their end.

use std::fs::File;
use std::io::{Read, Seek};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::{Interrupt, Outcome};
use crate::process_usage;

/// Time between two polls of a program: a run may be reported as this much too long.
const LOOK: Duration = Duration::from_millis(1);

/// A program that has ended.
#[derive(Debug, Clone)]
pub struct Finished {
    /// Wall-clock time from its start to its end.
    pub seconds: f64,
    /// Processor time, if the system gives it.
    pub cpu_seconds: Option<f64>,
    /// Text that the program wrote to standard output and, behind it, to standard error.
    pub output: String,
}

/// Runs a program to its end; an interruption ends it early.
///
/// # Errors
/// It cannot be started, fails (what it said is in the error), or was interrupted.
pub fn run_program(command: &mut Command, interrupt: &Interrupt) -> Outcome<Finished> {
    interrupt.check()?;
    // Output goes to files instead of pipes, so that it need not be read while the program runs.
    let (mut output, mut errors) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(errors.try_clone()?);
    let cpu_before = process_usage::of_children();
    let started = Instant::now();
    let mut child = command
        .spawn()
        .map_err(|error| format!("cannot start {}: {error}", command.get_program().to_string_lossy()))?;
    let status: ExitStatus = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if interrupt.is_asked() {
            child.kill()?;
            child.wait()?;
            interrupt.check()?;
        }
        thread::sleep(LOOK);
    };
    let seconds = started.elapsed().as_secs_f64();
    let cpu = cpu_before.zip(process_usage::of_children());
    // Signals of the terminal reach the program too.
    interrupt.check()?;
    let (output, errors) = (content(&mut output)?, content(&mut errors)?);
    if !status.success() {
        let name = command.get_program().to_string_lossy().into_owned();
        return Err(format!("{name}: {status}: {}", format!("{output}{errors}").trim()).into());
    }
    Ok(Finished {
        seconds,
        cpu_seconds: cpu.map(|(before, after)| (after - before).as_secs_f64()),
        output: output + &errors,
    })
}

fn content(file: &mut File) -> Outcome<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
