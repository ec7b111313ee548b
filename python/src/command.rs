//! The `bulkwire` command as the wheel installs it.

use std::ffi::OsString;
use std::sync::Arc;

use bulkwire_cli::ExitStatus;
use bulkwire_transform::{Transformer, wizard};
use pyo3::prelude::*;

/// Runs a command line, the program's name first, and returns its exit code. It should be the only work of its process: it
/// handles signals, and wrong arguments end the process.
#[pyfunction]
pub fn run_command(python: Python<'_>, words: Vec<OsString>) -> u8 {
    python.detach(|| bulkwire_cli::run_with(words, serve, Some(Arc::new(Transformer)), Some(wizard))).0
}

/// The wheel's server is in this library.
fn serve(arguments: &[String]) -> Result<ExitStatus, String> {
    let words = std::iter::once("bulkwire serve").chain(arguments.iter().map(String::as_str));
    let stopped = bulkwire_server::run_program(words.map(OsString::from).collect());
    Ok(if stopped { ExitStatus::SUCCESS } else { ExitStatus::FAILURE })
}
