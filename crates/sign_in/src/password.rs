//! The sources of a password.

use std::fs;
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::command::{CommandError, printed, shell};
use crate::secret::Secret;

/// A person may have to unlock what the command asks.
const COMMAND_TIME_MAX: Duration = Duration::from_secs(60);
/// More than any password has.
const FILE_MAX_BYTES: u64 = 64 << 10;

/// A password, or the place that has it. Places are asked when a connection is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Password {
    /// The password itself; may be empty.
    Given(Secret),
    /// A file whose only line it is.
    File(PathBuf),
    /// A command line of the system's shell, whose first line of output it is.
    Command(String),
    /// The system's keyring: the entry of this service and the user.
    Keyring(String),
}

/// The reason why there is no password. No variant carries one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PasswordError {
    /// The file cannot be read.
    #[error("the password file {}: {source}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// The file is no password.
    #[error("the password file {} {reason}", file.display())]
    Content {
        /// The file.
        file: PathBuf,
        /// A description of the mistake.
        reason: &'static str,
    },
    /// The command did not print a password.
    #[error("the password command {0}")]
    Command(String),
    /// The keyring did not give a password.
    #[error("{0}")]
    Keyring(String),
}

/// The answers of commands and the keyring, so that each is asked once, whatever the number of connections.
static SAID: Mutex<Vec<(Password, String, Secret)>> = Mutex::new(Vec::new());

impl Password {
    /// Returns the password, if it is known without asking anybody.
    pub fn given(&self) -> Option<&Secret> {
        match self {
            Self::Given(secret) => Some(secret),
            Self::File(_) | Self::Command(_) | Self::Keyring(_) => None,
        }
    }

    /// Obtains the password of `user`. A file is read each time; a command runs once in a process.
    pub fn obtain(&self, user: &str) -> Result<Secret, PasswordError> {
        match self {
            Self::Given(secret) => return Ok(secret.clone()),
            Self::File(file) => return of_file(file.clone()),
            Self::Command(_) | Self::Keyring(_) => {}
        }
        // Held while the command runs: other connections wait for its answer.
        let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, _, secret)) = said.iter().find(|(place, whose, _)| place == self && whose == user) {
            return Ok(secret.clone());
        }
        let secret = match self {
            Self::Keyring(service) => of_keyring(service, user)?,
            Self::Command(line) => of_command(shell(line)).map_err(|problem| {
                PasswordError::Command(match problem {
                    CommandProblem::Missing => "needs a shell, and there is none".to_owned(),
                    CommandProblem::Failed(what) => what,
                })
            })?,
            Self::Given(secret) => secret.clone(),
            Self::File(file) => of_file(file.clone())?,
        };
        said.push((self.clone(), user.to_owned(), secret.clone()));
        Ok(secret)
    }
}

fn of_file(file: PathBuf) -> Result<Secret, PasswordError> {
    let read = fs::File::open(&file).and_then(|opened| {
        let mut bytes = Vec::new();
        opened.take(FILE_MAX_BYTES + 1).read_to_end(&mut bytes).map(|_| bytes)
    });
    match read.map(|bytes| only_line(&bytes)) {
        Ok(Ok(line)) => Ok(line),
        Ok(Err(reason)) => Err(PasswordError::Content { file, reason }),
        Err(source) => Err(PasswordError::File { file, source }),
    }
}

fn only_line(bytes: &[u8]) -> Result<Secret, &'static str> {
    if bytes.len() as u64 > FILE_MAX_BYTES {
        return Err("is longer than 64 KiB");
    }
    let text = str::from_utf8(bytes).map_err(|_| "is not UTF-8 text")?;
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let line = text.strip_suffix('\n').unwrap_or(text);
    match line.strip_suffix('\r').unwrap_or(line) {
        "" => Err("is empty"),
        line if line.contains(['\n', '\r']) => Err("has more than one line"),
        line => Ok(Secret::new(line)),
    }
}

/// Returns the first line that a command prints; otherwise the error, without a word of its output.
fn of_command(command: Command) -> Result<Secret, CommandProblem> {
    let printed = match printed(command, COMMAND_TIME_MAX, false) {
        Err(CommandError::Start(error)) if error.kind() == io::ErrorKind::NotFound => {
            return Err(CommandProblem::Missing);
        }
        printed => printed.map_err(|error| CommandProblem::Failed(error.to_string()))?,
    };
    if !printed.status.success() {
        return Err(CommandProblem::Failed(format!("failed ({})", printed.status)));
    }
    let text = str::from_utf8(&printed.output)
        .map_err(|_| CommandProblem::Failed("printed what is not UTF-8 text".to_owned()))?;
    match text.lines().next() {
        None | Some("") => Err(CommandProblem::Failed("printed no password".to_owned())),
        Some(line) => Ok(Secret::new(line)),
    }
}

enum CommandProblem {
    /// There is no such program.
    Missing,
    /// The command did something else than printing a password.
    Failed(String),
}

/// Asks the program that comes with the system's keyring, so that no library of it is linked.
fn of_keyring(service: &str, user: &str) -> Result<Secret, PasswordError> {
    let (program, arguments, package) = if cfg!(target_os = "macos") {
        let arguments = vec!["find-generic-password", "-w", "-s", service, "-a", user];
        ("security", arguments, "it is part of macOS")
    } else if cfg!(unix) {
        let package = "libsecret-tools on Debian and Ubuntu, libsecret on Fedora";
        ("secret-tool", vec!["lookup", "service", service, "username", user], package)
    } else {
        return Err(PasswordError::Keyring(
            "no program of this system prints a password of its keyring; give a password command instead"
                .to_owned(),
        ));
    };
    let mut command = Command::new(program);
    command.args(arguments);
    of_command(command).map_err(|problem| {
        PasswordError::Keyring(match problem {
            CommandProblem::Missing => {
                format!("the keyring is asked by the program {program}, which is not installed: {package}")
            }
            CommandProblem::Failed(what) => {
                format!("the keyring's entry of service {service:?} and user {user:?}: {program} {what}")
            }
        })
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_file_is_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("password");
        let cases: [(&[u8], Result<&str, &str>); 9] = [
            (b"pw", Ok("pw")),
            (b"pw\n", Ok("pw")),
            (b" p w \r\n", Ok(" p w ")),
            (b"\xEF\xBB\xBFpw\n", Ok("pw")),
            (b"pw\n\n", Err("more than one line")),
            (b"pw\nuser: x\n", Err("more than one line")),
            (b"", Err("is empty")),
            (b"\n", Err("is empty")),
            (b"\xFF\xFE", Err("not UTF-8")),
        ];
        for (content, expected) in cases {
            fs::write(&file, content).unwrap();
            match (Password::File(file.clone()).obtain("u"), expected) {
                (Ok(secret), Ok(expected)) => assert_eq!(secret.expose(), expected),
                (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{error}"),
                (got, expected) => assert_eq!(got.is_ok(), expected.is_ok(), "{content:?}"),
            }
        }
        let missing = Password::File(folder.path().join("none")).obtain("u").unwrap_err();
        assert!(missing.to_string().contains("none"), "{missing}");
        fs::write(&file, vec![b'x'; 70_000]).unwrap();
        assert!(Password::File(file).obtain("u").unwrap_err().to_string().contains("64 KiB"));
    }

    #[cfg(unix)]
    #[test]
    fn a_command_says_its_first_line_and_is_asked_once() {
        let folder = tempfile::tempdir().unwrap();
        let runs = folder.path().join("runs");
        let password = Password::Command(format!("echo x >> {}; echo hunter2; echo more", runs.display()));
        for _ in 0..3 {
            assert_eq!(password.obtain("u").unwrap().expose(), "hunter2");
        }
        assert_eq!(fs::read_to_string(&runs).unwrap(), "x\n");
        // Another user's password is another one.
        password.obtain("v").unwrap();
        assert_eq!(fs::read_to_string(&runs).unwrap(), "x\nx\n");
        for (line, expected) in [
            ("echo hunter2; exit 3", "failed (exit status: 3)"),
            ("true # hunter2", "printed no password"),
            ("printf '\\377hunter2'", "not UTF-8"),
        ] {
            let error = Password::Command(line.to_owned()).obtain("u").unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains("hunter2"), "{error}");
        }
    }
}
