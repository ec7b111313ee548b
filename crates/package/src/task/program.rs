//! Runs a program, without a shell.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::model::ProgramTask;
use crate::task_context::{Done, TaskContext};
use crate::task_error::TaskError;

/// Output that a variable takes at most, in bytes.
const OUTPUT_MAX: u64 = 1 << 20;
/// Bytes of a line that are shown.
const LINE_MAX: usize = 4096;
/// Last lines of its errors that a failure shows.
const LAST_LINES: usize = 8;
const LOOK: Duration = Duration::from_millis(20);

pub(super) fn run(task: &TaskContext<'_>) -> Result<Done, TaskError> {
    let program: ProgramTask = task.action()?;
    let (name, arguments) =
        program.command.split_first().ok_or_else(|| TaskError::last("no program is named"))?;
    let folder = program
        .folder
        .as_ref()
        .map_or_else(|| task.scope.folder().to_owned(), |f| task.scope.folder().join(f));
    let mut command = Command::new(name);
    command.args(arguments).current_dir(&folder).envs(&program.environment);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| {
        TaskError::new(format!("{name} cannot be started in {}: {error}", folder.display()))
    })?;
    let (output, errors) = (child.stdout.take(), child.stderr.take());
    let keeps = program.into.is_some();
    let (ended, output, errors) = thread::scope(|threads| {
        let output = threads.spawn(move || match output {
            Some(output) if keeps => kept(output),
            Some(output) => {
                last_lines(output, &|line| task.note(line));
                String::new()
            }
            None => String::new(),
        });
        let errors = threads.spawn(move || match errors {
            Some(errors) => last_lines(errors, &|line| task.note(line)),
            None => VecDeque::new(),
        });
        let ended = wait(&mut child, program.timeout.map(|span| span.0));
        (ended, output.join().unwrap_or_default(), errors.join().unwrap_or_default())
    });
    let Some(status) = ended.map_err(|error| TaskError::new(format!("{name}: {error}")))? else {
        let seconds = program.timeout.map_or(0.0, |span| span.0.as_secs_f64());
        return Err(TaskError::new(format!("{name} was ended after {seconds} s")));
    };
    let code = status.code();
    let expected = program.exit_codes.unwrap_or_else(|| vec![0]);
    if !code.is_some_and(|code| expected.contains(&code)) {
        let ended = code.map_or_else(
            || format!("{name} was ended by a signal"),
            |code| format!("{name} ended with exit code {code}"),
        );
        let said: Vec<&str> = errors.iter().map(String::as_str).collect();
        let said = if said.is_empty() { String::new() } else { format!(": {}", said.join(" | ")) };
        return Err(TaskError::new(format!("{ended}{said}")));
    }
    let mut done = Done::default();
    if let Some(name) = program.into {
        let text = output.strip_suffix('\n').unwrap_or(&output);
        done.variables.insert(name, Some(text.strip_suffix('\r').unwrap_or(text).to_owned()));
    }
    if let (Some(name), Some(code)) = (program.exit_code_into, code) {
        done.variables.insert(name, Some(code.to_string()));
        if code != 0 {
            done.notes.push(format!("exit code {code}"));
        }
    }
    Ok(done)
}

/// Waits for its end; None if it took too long and was killed.
fn wait(child: &mut Child, timeout: Option<Duration>) -> std::io::Result<Option<ExitStatus>> {
    let Some(timeout) = timeout else { return child.wait().map(Some) };
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if began.elapsed() >= timeout {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(LOOK.min(timeout));
    }
}

/// What it writes, up to a limit; the rest is read and dropped, so that the program does not wait.
fn kept(mut output: impl Read) -> String {
    let mut bytes = Vec::new();
    let _ = output.by_ref().take(OUTPUT_MAX).read_to_end(&mut bytes);
    let _ = std::io::copy(&mut output, &mut std::io::sink());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Says each line, and keeps the last ones.
fn last_lines(output: impl Read, say: &dyn Fn(&str)) -> VecDeque<String> {
    let mut last = VecDeque::new();
    let mut reader = BufReader::new(output);
    loop {
        let mut line = Vec::new();
        let limit = u64::try_from(LINE_MAX).unwrap_or(u64::MAX);
        match reader.by_ref().take(limit).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return last,
            Ok(_) => {
                let text = String::from_utf8_lossy(&line).trim_end().to_owned();
                if text.is_empty() {
                    continue;
                }
                say(&text);
                if last.len() == LAST_LINES {
                    last.pop_front();
                }
                last.push_back(text);
            }
        }
    }
}
