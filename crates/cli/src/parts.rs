//! Parts of the program outside of this crate, which verbs start.

use std::ffi::OsString;
use std::io;
use std::sync::Arc;

use ::copy::TransformEngine;

use crate::args::WizardArgs;
use crate::{ExitStatus, Failure};

/// Runs a program that is part of this one with its words, a name first. Returns whether it succeeded; it says itself why not.
pub type RunProgram = fn(Vec<OsString>) -> bool;

/// Serves the wizard until it is no longer needed, or says why it could not be started. It gets the engine for transformations.
pub type ServeWizard = fn(&WizardArgs, Option<Arc<dyn TransformEngine>>) -> Result<ExitStatus, String>;

/// The parts of the program that the command line only starts. A verb whose part is missing is refused.
pub struct Parts {
    /// Makes or checks Kerberos tokens for another process of this program, over standard input and output.
    pub kerberos: fn() -> io::Result<()>,
    /// The embedded server: `serve`.
    pub serve: Option<RunProgram>,
    /// Benchmarks and experiments: `bench`.
    pub bench: Option<RunProgram>,
    /// Transformations in T-SQL: `copy --select` and its like, packages, the wizard.
    pub engine: Option<Arc<dyn TransformEngine>>,
    /// `wizard`.
    pub wizard: Option<ServeWizard>,
}

/// Runs a part with the words behind its verb.
pub(crate) fn run(
    verb: &'static str,
    part: Option<RunProgram>,
    words: &[String],
) -> Result<ExitStatus, Failure> {
    let part = part.ok_or(Failure::Missing { what: verb })?;
    let words = std::iter::once(format!("bulkwire {verb}")).chain(words.iter().cloned());
    let succeeded = part(words.map(OsString::from).collect());
    Ok(if succeeded { ExitStatus::SUCCESS } else { ExitStatus::FAILURE })
}
