//! `bulkwire-server`: the embedded server as a program.

use std::env;
use std::process::ExitCode;

/// Gives memory back to the system that other threads have freed, so that `--memory-limit` is kept in the long run too.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if bulkwire_server::run_program(env::args_os().collect()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
