//! The `bulkwire` program with the engine for transformations and the wizard in it.

use std::env;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bulkwire_cli::{ExitStatus, WizardArgs, companion};
use bulkwire_transform::Transformer;
use bulkwire_wizard::Engine;

fn main() -> ExitCode {
    let words = env::args_os().collect();
    let serve = |arguments: &[String]| companion::run(companion::SERVER, arguments);
    bulkwire_cli::run_with(words, serve, Some(Arc::new(Transformer)), Some(wizard)).into()
}

/// `bulkwire wizard`.
fn wizard(arguments: &WizardArgs, engine: Engine) -> Result<ExitStatus, String> {
    let options = bulkwire_wizard::Options {
        port: arguments.port,
        opens_browser: !arguments.no_open,
        idle_limit: (arguments.idle_limit > 0).then(|| Duration::from_secs(arguments.idle_limit.into())),
        source: arguments.source.clone(),
    };
    let served = bulkwire_wizard::serve(&options, engine).map_err(|error| error.to_string());
    served.map(|()| ExitStatus::SUCCESS)
}
