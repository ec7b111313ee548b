//! The `bulkwire` command as the wheel installs it.

use std::ffi::OsString;
use std::sync::Arc;

use bulkwire_cli::Parts;
use bulkwire_transform::{Transformer, wizard};
use pyo3::prelude::*;

use crate::server::restorer;

/// Runs a command line, the program's name first, and returns its exit code. It should be the only work of its process: it
/// handles signals, and wrong arguments end the process.
#[pyfunction]
pub fn run_command(python: Python<'_>, words: Vec<OsString>) -> u8 {
    let parts = Parts {
        kerberos: bulkwire_kerberos::converse,
        serve: Some(|words| bulkwire_server::run_program(words, restorer)),
        bench: Some(bulkwire_bench::run_program),
        engine: Some(Arc::new(Transformer)),
        wizard: Some(wizard),
    };
    python.detach(|| bulkwire_cli::run(words, parts)).0
}
