//! Runs a program for what it prints, within a time.

use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// As much of a program's output as is read.
const OUTPUT_MAX_BYTES: u64 = 256 << 10;
/// From one look at a program that has closed its output to the next.
const LOOK: Duration = Duration::from_millis(5);

/// An error of a program that should have printed a secret.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The program cannot be started.
    #[error("cannot be started: {0}")]
    Start(#[source] io::Error),
    /// The program did not end in time, and was killed.
    #[error("did not end within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The output of the program cannot be read.
    #[error("cannot be read: {0}")]
    Output(#[source] io::Error),
}

/// The result of a program.
#[derive(Debug)]
pub struct Printed {
    /// The exit status of the program.
    pub status: ExitStatus,
    /// The bytes that the program wrote to standard output.
    pub output: Vec<u8>,
    /// The bytes that the program wrote to standard error, if they were captured.
    pub errors: Vec<u8>,
}

/// Makes a command line as the system's shell takes it.
pub fn shell(line: &str) -> Command {
    let (shell, option) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let mut command = Command::new(shell);
    command.arg(option).arg(line);
    command
}

/// Runs a program without input. With `catches_errors` what it says on standard error is returned, and is shown otherwise.
pub fn printed(mut command: Command, limit: Duration, catches_errors: bool) -> Result<Printed, CommandError> {
    let end = Instant::now() + limit;
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command.stderr(if catches_errors { Stdio::piped() } else { Stdio::inherit() });
    let mut process = command.spawn().map_err(CommandError::Start)?;
    let (output, errors) = (reader(process.stdout.take()), reader(process.stderr.take()));
    let collected = collect(&output, end).and_then(|output| Ok((output, collect(&errors, end)?)));
    match collected.and_then(|texts| Ok((texts, ended(&mut process, end)?))) {
        Ok(((output, errors), status)) => Ok(Printed { status, output, errors }),
        Err(problem) => {
            let _ = process.kill();
            let _ = process.wait();
            Err(match problem {
                Problem::Late => CommandError::TimedOut(limit),
                Problem::Io(error) => CommandError::Output(error),
            })
        }
    }
}

enum Problem {
    Late,
    Io(io::Error),
}

/// Reads on a thread of its own: a child of the program may hold the pipe longer than anybody waits.
fn reader(pipe: Option<impl Read + Send + 'static>) -> Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = sync_channel(1);
    if let Some(pipe) = pipe {
        thread::spawn(move || {
            let mut text = Vec::new();
            let read = pipe.take(OUTPUT_MAX_BYTES).read_to_end(&mut text);
            let _ = sender.send(read.map(|_| text));
        });
    }
    receiver
}

fn collect(receiver: &Receiver<io::Result<Vec<u8>>>, end: Instant) -> Result<Vec<u8>, Problem> {
    match receiver.recv_timeout(end.saturating_duration_since(Instant::now())) {
        Ok(read) => read.map_err(Problem::Io),
        Err(RecvTimeoutError::Timeout) => Err(Problem::Late),
        // Nothing was to be read.
        Err(RecvTimeoutError::Disconnected) => Ok(Vec::new()),
    }
}

fn ended(process: &mut Child, end: Instant) -> Result<ExitStatus, Problem> {
    loop {
        match process.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if Instant::now() >= end => return Err(Problem::Late),
            Ok(None) => thread::sleep(LOOK),
            Err(error) => return Err(Problem::Io(error)),
        }
    }
}
