//! `bulkwire serve`: hands over to the server program that is installed beside this one.
//!
//! The server is a program of its own so that the client does not carry a query engine.

use std::env;
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use crate::failure::Failure;

/// Name of the server program, without the platform's suffix.
const SERVER_PROGRAM: &str = "bulkwire-server";

/// Runs the server with `arguments` and takes over its exit code.
pub fn run(arguments: &[String]) -> Result<ExitCode, Failure> {
    let program = server_program();
    let mut command = Command::new(&program);
    command.args(arguments);
    start(command).map_err(|source| Failure::ServerProgram { program, source })
}

/// The server program beside this one, or else whatever the search path offers.
fn server_program() -> PathBuf {
    let name = format!("{SERVER_PROGRAM}{}", env::consts::EXE_SUFFIX);
    env::current_exe()
        .ok()
        .and_then(|own| Some(own.parent()?.join(&name)))
        .filter(|beside| beside.is_file())
        .unwrap_or_else(|| PathBuf::from(name))
}

/// Replaces this process, so that signals and the process id belong to the server.
#[cfg(unix)]
fn start(mut command: Command) -> io::Result<ExitCode> {
    use std::os::unix::process::CommandExt;
    Err(command.exec())
}

#[cfg(not(unix))]
fn start(mut command: Command) -> io::Result<ExitCode> {
    let status = command.status()?;
    Ok(ExitCode::from(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1)))
}
