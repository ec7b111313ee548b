//! The `bulkwire` command.
//!
//! Data goes to standard output and everything else to standard error. Exit code 0: done; 1: failed; 2: the command makes
//! no sense; 3: done without rows that were refused, as `--rejects` or `--max-errors` allow.

mod args;
mod bcp;
mod connection;
mod convert_command;
mod describe_command;
mod export_command;
mod failure;
mod file_format;
mod host_file;
mod interrupt;
mod load_command;
mod loaded_file;
mod progress;
mod query_command;
mod rejects;
mod serve;
mod server_side;
mod sniff_command;
mod table;

use std::env;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use args::{Arguments, Command};
use clap::{CommandFactory, Parser};
use failure::Failure;

/// The exit code of a load that left rows out.
const EXIT_ROWS_REFUSED: u8 = 3;

fn main() -> ExitCode {
    if let Some(code) = as_bcp() {
        return code;
    }
    let arguments = Arguments::parse();
    let watched = match arguments.command {
        // The server program that takes over this process has signals of its own.
        Command::Serve(_) | Command::Bcp(_) => Ok(()),
        _ => interrupt::watch(),
    };
    if let Err(error) = watched {
        eprintln!("warning: cannot watch for signals: {error}");
    }
    let done = match arguments.command {
        Command::Load(arguments) => match load_command::run(&arguments) {
            Ok(load_command::Outcome::RowsRefused) => return ExitCode::from(EXIT_ROWS_REFUSED),
            loaded => loaded.map(|_| ()),
        },
        Command::Export(arguments) => export_command::run(&arguments),
        Command::Convert(arguments) => match convert_command::run(&arguments) {
            Ok(load_command::Outcome::RowsRefused) => return ExitCode::from(EXIT_ROWS_REFUSED),
            converted => converted.map(|_| ()),
        },
        Command::Sniff(arguments) => sniff_command::run(&arguments),
        Command::Query(arguments) => query_command::run(&arguments),
        Command::Describe(arguments) => describe_command::run(&arguments),
        Command::Serve(arguments) => match serve::run(&arguments.arguments) {
            Ok(code) => return code,
            Err(failure) => Err(failure),
        },
        Command::Bcp(arguments) => {
            return bcp::run("bulkwire bcp", arguments.arguments.into_iter().map(Into::into));
        }
        Command::Completions { shell } => {
            // Written whole: the generator itself panics when its output is closed.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "bulkwire", &mut script);
            io::stdout().write_all(&script).map_err(|source| Failure::Stream { stream: "output", source })
        }
    };
    done.map_or_else(|failure| failure.report(), |()| ExitCode::SUCCESS)
}

/// Runs as bcp if that is the verb, or the name of the program. Its command line has rules of its own.
fn as_bcp() -> Option<ExitCode> {
    let mut words = env::args_os();
    let program = words.next()?;
    let name = Path::new(&program).file_stem()?.to_str()?.to_ascii_lowercase();
    let mut words = words.peekable();
    let shown = if name == "bcp" {
        "bcp"
    } else {
        words.next_if(|verb| verb == "bcp")?;
        "bulkwire bcp"
    };
    if let Err(error) = interrupt::watch() {
        eprintln!("warning: cannot watch for signals: {error}");
    }
    Some(bcp::run(shown, words))
}
