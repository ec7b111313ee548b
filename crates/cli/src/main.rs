//! The `bulkwire` command.
//!
//! Data goes to standard output and everything else to standard error. Exit code 0: done; 1: failed; 2: the command makes
//! no sense.

mod args;
mod connection;
mod describe_command;
mod export_command;
mod failure;
mod file_format;
mod load_command;
mod progress;
mod query_command;
mod serve;
mod table;

use std::process::ExitCode;

use args::{Arguments, Command};
use clap::{CommandFactory, Parser};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match arguments.command {
        Command::Load(arguments) => load_command::run(&arguments),
        Command::Export(arguments) => export_command::run(&arguments),
        Command::Query(arguments) => query_command::run(&arguments),
        Command::Describe(arguments) => describe_command::run(&arguments),
        Command::Serve(arguments) => match serve::run(&arguments.arguments) {
            Ok(code) => return code,
            Err(failure) => Err(failure),
        },
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Arguments::command(), "bulkwire", &mut std::io::stdout());
            Ok(())
        }
    };
    done.map_or_else(|failure| failure.report(), |()| ExitCode::SUCCESS)
}
