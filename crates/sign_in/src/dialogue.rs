//! One process, and the lines that are exchanged with it.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use crate::message::{LINE_MAX_BYTES, Reply, Request, Role, decoded, encoded};
use crate::program::{PROGRAM, PROGRAM_VARIABLE, VERB};

/// As much of the program's last words as an error repeats.
const LAST_WORDS_MAX_BYTES: u64 = 2000;

/// An error of the sign-in.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignInError {
    /// The program is not there, or cannot be started.
    #[error("Kerberos needs the program {PROGRAM}, and {} cannot be started: {source}; install it beside this one, or name it in \
             {PROGRAM_VARIABLE}", program.display())]
    Start {
        /// The path at which the program was expected.
        program: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// The mechanism found a reason.
    #[error("{0}")]
    Refused(String),
    /// The program did not answer in time.
    #[error("Kerberos took longer than the login may take: is the KDC reachable?")]
    TimedOut,
    /// The program ended or wrote something else than replies.
    #[error("{PROGRAM} broke off: {0}")]
    Broken(String),
}

/// The mechanism's answer to a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// A token for the other end; may be empty.
    pub token: Vec<u8>,
    /// True if the sign-in is complete at this end.
    pub done: bool,
    /// The name of the client, once a sign-in was accepted.
    pub principal: Option<String>,
}

/// One sign-in, at either end. Dropping it ends the process.
#[derive(Debug)]
pub struct Dialogue {
    process: Child,
    requests: ChildStdin,
    replies: Receiver<io::Result<String>>,
    last_words: Option<ChildStderr>,
    done: bool,
}

impl Dialogue {
    /// Starts the program, with `environment` beside its own variables, and says what for.
    pub fn start<'a>(
        program: PathBuf,
        role: Role,
        environment: impl IntoIterator<Item = (&'a str, &'a OsStr)>,
    ) -> Result<Self, SignInError> {
        let mut command = Command::new(&program);
        command
            .arg(VERB)
            .envs(environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = command.spawn().map_err(|source| SignInError::Start { program, source })?;
        let (Some(requests), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(SignInError::Broken("it has no input and output".to_owned()));
        };
        let (sender, replies) = sync_channel(1);
        thread::spawn(move || read_lines(BufReader::new(answers), &sender));
        let last_words = process.stderr.take();
        let mut this = Self { process, requests, replies, last_words, done: false };
        this.write(&Request { begin: Some(role), token: None })?;
        Ok(this)
    }

    /// Returns the client's first token; at a server's end nothing, once the program has the keys.
    pub fn first(&mut self, limit: Option<Duration>) -> Result<Step, SignInError> {
        self.read(limit)
    }

    /// Passes the other end's token to the mechanism, and returns its answer.
    pub fn step(&mut self, token: &[u8], limit: Option<Duration>) -> Result<Step, SignInError> {
        self.write(&Request { begin: None, token: Some(encoded(token)) })?;
        self.read(limit)
    }

    /// Returns true if the sign-in is complete at this end.
    pub fn is_done(&self) -> bool {
        self.done
    }

    fn write(&mut self, request: &Request) -> Result<(), SignInError> {
        let line = serde_json::to_string(request).map_err(|error| SignInError::Broken(error.to_string()))?;
        // A process that has ended says why in what it wrote.
        if writeln!(self.requests, "{line}").and_then(|()| self.requests.flush()).is_err() {
            return Err(self.ended());
        }
        Ok(())
    }

    fn read(&mut self, limit: Option<Duration>) -> Result<Step, SignInError> {
        let line = match limit {
            Some(limit) => self.replies.recv_timeout(limit),
            None => self.replies.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        let line = match line {
            Ok(Ok(line)) => line,
            Ok(Err(error)) => return Err(SignInError::Broken(error.to_string())),
            Err(RecvTimeoutError::Timeout) => return Err(SignInError::TimedOut),
            Err(RecvTimeoutError::Disconnected) => return Err(self.ended()),
        };
        let malformed = || SignInError::Broken("its reply is malformed".to_owned());
        let reply: Reply = serde_json::from_str(&line).map_err(|_| malformed())?;
        if let Some(error) = reply.error {
            return Err(SignInError::Refused(error));
        }
        let token = decoded(&reply.token.unwrap_or_default()).ok_or_else(malformed)?;
        self.done = reply.done;
        Ok(Step { token, done: reply.done, principal: reply.principal })
    }

    /// Says why the process ended.
    fn ended(&mut self) -> SignInError {
        let mut said = Vec::new();
        // It has closed its output, so its last words end too.
        let _ = self.process.kill();
        if let Some(words) = self.last_words.take() {
            let _ = words.take(LAST_WORDS_MAX_BYTES).read_to_end(&mut said);
        }
        let said = String::from_utf8_lossy(&said);
        match said.lines().find(|line| !line.trim().is_empty()) {
            Some(line) => SignInError::Broken(line.trim().to_owned()),
            None => SignInError::Broken("it ended without a reply".to_owned()),
        }
    }
}

impl Drop for Dialogue {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn read_lines(mut answers: impl BufRead, sender: &SyncSender<io::Result<String>>) {
    loop {
        let mut line = String::new();
        let read = (&mut answers).take(LINE_MAX_BYTES).read_line(&mut line);
        let line = match read {
            Ok(0) => return,
            Ok(_) => Ok(line),
            Err(error) => Err(error),
        };
        let failed = line.is_err();
        if sender.send(line).is_err() || failed {
            return;
        }
    }
}
