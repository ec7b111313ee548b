//! `bulkwire wizard`, for the programs that have the engine.

use std::sync::Arc;
use std::time::Duration;

use bulkwire_cli::{ExitStatus, WizardArgs};
use copy::TransformEngine;

/// Serves the wizard until it is no longer needed.
///
/// # Errors
/// The wizard could not be started.
pub fn wizard(
    arguments: &WizardArgs,
    engine: Option<Arc<dyn TransformEngine>>,
) -> Result<ExitStatus, String> {
    let options = bulkwire_wizard::Options {
        port: arguments.port,
        opens_browser: !arguments.no_open,
        idle_limit: (arguments.idle_limit > 0).then(|| Duration::from_secs(arguments.idle_limit.into())),
        source: arguments.source.clone(),
    };
    let served = bulkwire_wizard::serve(&options, engine).map_err(|error| error.to_string());
    served.map(|()| ExitStatus::SUCCESS)
}
