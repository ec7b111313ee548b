//! The `bulkwire` program with the engine for transformations and the wizard in it.

use std::env;
use std::process::ExitCode;
use std::sync::Arc;

use bulkwire_cli::companion;
use bulkwire_transform::{Transformer, wizard};

/// Musl's allocator takes one lock for all threads.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let words = env::args_os().collect();
    let serve = |arguments: &[String]| companion::run(companion::SERVER, arguments);
    bulkwire_cli::run_with(words, serve, Some(Arc::new(Transformer)), Some(wizard)).into()
}
