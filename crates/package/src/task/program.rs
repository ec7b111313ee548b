//! Runs a program, without a shell.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::model::ProgramTask;
use crate::secrets::KnownSecrets;
use crate::task_context::{Done, TaskContext};
use crate::task_error::TaskError;

/// Output that a variable takes at most, in bytes.
const OUTPUT_MAX: usize = 1 << 20;
/// Bytes of a line that are shown.
const LINE_MAX: usize = 4096;
/// Last lines of its errors that a failure shows.
const LAST_LINES: usize = 8;
/// Between two looks at whether the program has ended.
const LOOK: Duration = Duration::from_millis(20);
/// The silence after which output counts as complete once the program has ended. Programs that it leaves behind may
/// hold its output for ever.
const QUIET: Duration = Duration::from_secs(1);
/// The longest time for which output is read after the program's end, even without silence.
const HEARD_AFTER_END: Duration = Duration::from_secs(10);
/// Pieces of output on their way.
const PIECES: usize = 64;

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
    let keeps = program.into.is_some();
    let pieces = pieces(&mut child, keeps);
    let mut output = Vec::new();
    let mut errors = VecDeque::new();
    let mut secrets = KnownSecrets::default();
    task.scope.note_secrets(&task.step.raw, &mut secrets);
    let timeout = program.timeout.map(|span| span.0);
    let ended = wait(&mut child, timeout, task, &pieces, &mut |piece| match piece {
        Piece::Output(bytes) => {
            let room = OUTPUT_MAX.saturating_sub(output.len());
            output.extend(bytes.into_iter().take(room));
        }
        Piece::Line { line, is_error } => {
            let line = secrets.hide(line);
            task.note(&line);
            if is_error {
                if errors.len() == LAST_LINES {
                    errors.pop_front();
                }
                errors.push_back(line);
            }
        }
    });
    let Some(status) = ended.map_err(|error| TaskError::new(format!("{name}: {error}")))? else {
        if task.run.is_interrupted() {
            return Err(TaskError::interrupted());
        }
        let seconds = timeout.map_or(0.0, |timeout| timeout.as_secs_f64());
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
        let output = String::from_utf8_lossy(&output);
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

/// A piece of what the program writes.
enum Piece {
    /// Bytes for a variable.
    Output(Vec<u8>),
    /// A line that people see.
    Line { line: String, is_error: bool },
}

/// Reads what the program writes, even if nobody listens: a full pipe would stop it.
fn pieces(child: &mut Child, keeps: bool) -> Receiver<Piece> {
    let (sender, receiver) = sync_channel(PIECES);
    if let Some(output) = child.stdout.take() {
        let sender = sender.clone();
        thread::spawn(move || match keeps {
            true => send_bytes(output, &sender),
            false => send_lines(output, &sender, false),
        });
    }
    if let Some(errors) = child.stderr.take() {
        thread::spawn(move || send_lines(errors, &sender, true));
    }
    receiver
}

fn send_bytes(mut output: impl Read, sender: &SyncSender<Piece>) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(read @ 1..) = output.read(&mut buffer) {
        let bytes = buffer.get(..read).unwrap_or_default().to_vec();
        // Nobody listens any more, but the pipe is emptied.
        let _ = sender.send(Piece::Output(bytes));
    }
}

fn send_lines(output: impl Read, sender: &SyncSender<Piece>, is_error: bool) {
    let mut reader = BufReader::new(output);
    let limit = u64::try_from(LINE_MAX).unwrap_or(u64::MAX);
    loop {
        let mut line = Vec::new();
        match reader.by_ref().take(limit).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let line = String::from_utf8_lossy(&line).trim_end().to_owned();
                if !line.is_empty() {
                    let _ = sender.send(Piece::Line { line, is_error });
                }
            }
        }
    }
}

/// Waits for the program's end and hears what it writes; None if it took too long, or the run is to end, and it was killed.
fn wait(
    child: &mut Child,
    timeout: Option<Duration>,
    task: &TaskContext<'_>,
    pieces: &Receiver<Piece>,
    hear: &mut dyn FnMut(Piece),
) -> std::io::Result<Option<ExitStatus>> {
    let began = Instant::now();
    let mut ended: Option<(ExitStatus, Instant)> = None;
    let mut heard = began;
    loop {
        let is_closed = match pieces.recv_timeout(LOOK) {
            Ok(piece) => {
                hear(piece);
                heard = Instant::now();
                false
            }
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => true,
        };
        if ended.is_none() {
            ended = child.try_wait()?.map(|status| (status, Instant::now()));
        }
        match &ended {
            Some((status, at)) => {
                let is_quiet = at.max(&heard).elapsed() >= QUIET;
                if is_closed || is_quiet || at.elapsed() >= HEARD_AFTER_END {
                    return Ok(Some(*status));
                }
            }
            None if task.run.is_interrupted()
                || timeout.is_some_and(|timeout| began.elapsed() >= timeout) =>
            {
                child.kill()?;
                child.wait()?;
                return Ok(None);
            }
            None if is_closed => thread::sleep(LOOK),
            None => {}
        }
    }
}
