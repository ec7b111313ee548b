//! `bulkwire-server`: the embedded server as a program.

use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    if bulkwire_server::run_program(env::args_os().collect()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
