//! `bulkwire serve`: hands over to the server program that is installed beside this one.
//!
//! The server is a program of its own so that the client does not carry a query engine.

use std::env;
use std::io;
use std::path::PathBuf;
use std::process::Command;

use bulkwire_cli::ExitStatus;

/// Name of the server program, without the platform's suffix.
const SERVER_PROGRAM: &str = "bulkwire-server";

/// Runs the server with `arguments` and takes over its exit code.
pub fn run(arguments: &[String]) -> Result<ExitStatus, String> {
    let program = server_program();
    let mut command = Command::new(&program);
    command.args(arguments);
    start(command).map_err(|error| format!("cannot start {}: {error}", program.display()))
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
fn start(mut command: Command) -> io::Result<ExitStatus> {
    use std::os::unix::process::CommandExt;
    Err(command.exec())
}

#[cfg(not(unix))]
fn start(mut command: Command) -> io::Result<ExitStatus> {
    let status = command.status()?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitStatus::FAILURE, ExitStatus))
}
