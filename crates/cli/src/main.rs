//! The `bulkwire` program.

mod serve;

use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    bulkwire_cli::run(env::args_os().collect(), serve::run).into()
}
