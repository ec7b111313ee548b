//! `bulkwire serve` and `bulkwire bench`: hand over to the programs that are installed beside this one.
//!
//! They are programs of their own so that the client carries neither a query engine nor benchmarks.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use std::process::Command;

use crate::ExitStatus;

/// Name of the server program, without the platform's suffix.
pub const SERVER: &str = "bulkwire-server";
/// Name of the program that measures.
pub const BENCH: &str = "bulkwire-bench";

/// Name of the program that runs this one's command line with the engine for transformations.
pub const TRANSFORM: &str = "bulkwire-transform";

/// Runs the program of this name with `arguments` and takes over its exit code; or why it could not be started.
pub fn run(name: &str, arguments: &[impl AsRef<OsStr>]) -> Result<ExitStatus, String> {
    let program = beside(name);
    let mut command = Command::new(&program);
    command.args(arguments);
    start(command).map_err(|error| format!("cannot start {}: {error}", program.display()))
}

/// The program beside this one, or else whatever the search path offers.
fn beside(name: &str) -> PathBuf {
    let name = format!("{name}{}", env::consts::EXE_SUFFIX);
    own_path()
        .and_then(|own| Some(own.parent()?.join(&name)))
        .filter(|beside| beside.is_file())
        .unwrap_or_else(|| PathBuf::from(name))
}

/// This program. Without /proc, as in a bare root, Linux does not say it; a first argument with a folder does.
fn own_path() -> Option<PathBuf> {
    env::current_exe().ok().or_else(|| {
        let named = PathBuf::from(env::args_os().next()?);
        (named.components().count() > 1).then_some(named)
    })
}

/// Replaces this process, so that signals and the process id belong to the program.
#[cfg(unix)]
fn start(mut command: Command) -> io::Result<ExitStatus> {
    use std::os::unix::process::CommandExt;
    Err(command.exec())
}

#[cfg(windows)]
fn start(mut command: Command) -> io::Result<ExitStatus> {
    crate::interrupt::hand_over();
    let status = command.status()?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitStatus::FAILURE, ExitStatus))
}
