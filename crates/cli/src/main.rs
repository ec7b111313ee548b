//! The `bulkwire` program.

use std::env;
use std::process::ExitCode;

use bulkwire_cli::companion;

/// Musl's allocator takes one lock for all threads.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    bulkwire_cli::run(env::args_os().collect(), |arguments| companion::run(companion::SERVER, arguments))
        .into()
}
