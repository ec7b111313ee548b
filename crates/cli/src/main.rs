//! The `bulkwire` program.

use std::env;
use std::process::ExitCode;

use bulkwire_cli::companion;

fn main() -> ExitCode {
    bulkwire_cli::run(env::args_os().collect(), |arguments| companion::run(companion::SERVER, arguments))
        .into()
}
