//! The `bulkwire` command as a library. The program and the Python package run it, each with the parts that it has.
//!
//! Data goes to standard output and everything else to standard error. [`ExitStatus`] lists the exit codes.
//!
//! `verbs` has a file or a folder for each verb. The modules beside it serve several: `args` (groups of flags), `host_file` (bcp's files
//! for all verbs), `event_log` (`--log-json`), `report_page`, `companion` (programs that the command hands over to), `manual`.

#[macro_use]
mod event_log;

mod args;
mod connection;
mod exit_status;
mod failure;
mod interrupt;
mod json_report;
mod manual;
mod parts;
mod progress;
mod report_page;
mod restore;
mod server_log;
mod table;
mod trace;
mod verbs;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

pub use args::WizardArgs;
use args::{Arguments, Command, LoadArgs};
use clap::{CommandFactory, Parser};
pub use event_log::warns;
pub use exit_status::ExitStatus;
use failure::Failure;
use interrupt::Left;
pub use parts::{Parts, RunProgram, ServeWizard};
pub use restore::{import, pack, restore};
pub use verbs::copy::report::{check_page, write_page as write_copy_page};
use verbs::load::command::Outcome;
use verbs::load::{forecast, recorded};
pub use verbs::package::run_words::run_package;
use verbs::{bcp, convert, describe, export, package, query, sniff};

/// The verb with which this program starts itself to make or check Kerberos tokens.
pub const KERBEROS_VERB: &str = sign_in::VERB;

/// Runs a command line, the program's name first. Wrong arguments, `--help` and `--version` end the process.
pub fn run(words: Vec<OsString>, parts: Parts) -> ExitStatus {
    let status = run_verb(words, parts);
    // After a failure, threads that are still at work hold the files that they have begun.
    formats::remove_unfinished();
    status
}

fn run_verb(words: Vec<OsString>, parts: Parts) -> ExitStatus {
    if words.get(1).is_some_and(|verb| verb == KERBEROS_VERB) {
        return converse(parts.kerberos);
    }
    // Before anything that takes time: who stops the command early gets its exit code too.
    if !has_signals_of_its_own(&words)
        && let Err(error) = interrupt::watch()
    {
        say!("warning: cannot watch for signals: {error}");
    }
    objects::register();
    if let Some(status) = as_bcp(&words) {
        return status;
    }
    let command = recorded::command_of(&words);
    let mut arguments = Arguments::parse_from(&words);
    if !matches!(arguments.command, Command::Serve(_) | Command::Bench(_)) {
        trace::subscribe(arguments.log_level);
    }
    interrupt::leaves(match arguments.command {
        Command::Load(_) | Command::Loads(_) | Command::Bcp(_) | Command::Wizard(_) => Left::Batches,
        Command::Copy(ref arguments) if arguments.loads_server() => Left::Batches,
        Command::Query(_) => Left::Unknown,
        Command::Run(_) => Left::Run,
        _ => Left::Nothing,
    });
    // Emits the start event only after the signal handlers are installed.
    if let Some(verb) = arguments.command.begin_events() {
        event_log::begin(verb);
    }
    let status = done(arguments.command, command, parts).unwrap_or_else(|failure| failure.report());
    let status = json_report::status(status);
    event_log::finish(status);
    status
}

/// Runs a verb. `command` is the command line as the ledger of loads records it.
fn done(verb: Command, command: Option<String>, parts: Parts) -> Result<ExitStatus, Failure> {
    match verb {
        Command::Load(arguments) => load(&arguments, command).map(status_of),
        Command::Loads(arguments) => recorded::run(arguments).map(status_of),
        Command::Run(arguments) => package::run::run(&arguments, parts.engine),
        Command::Package(arguments) => package::command::run(&arguments),
        Command::Export(arguments) => export::command::run(&arguments).map(success),
        Command::Copy(arguments) if arguments.options.transformation.is_given() && parts.engine.is_none() => {
            Err(Failure::Missing { what: "transformations" })
        }
        Command::Copy(arguments) => {
            verbs::copy::command::run(&arguments, parts.engine.as_ref()).map(status_of)
        }
        Command::Wizard(arguments) => {
            let wizard = parts.wizard.ok_or(Failure::Missing { what: "wizard" })?;
            wizard(&arguments, parts.engine).map_err(|reason| Failure::Wizard { reason })
        }
        Command::Convert(arguments) => convert::run(&arguments).map(status_of),
        Command::Sniff(arguments) => sniff::run(&arguments).map(success),
        Command::Query(arguments) => query::command::run(&arguments).map(success),
        Command::Describe(arguments) => describe::run(&arguments).map(success),
        Command::Serve(arguments) => parts::run("serve", parts.serve, &arguments.arguments),
        Command::Bench(arguments) => parts::run("bench", parts.bench, &arguments.arguments),
        Command::Bcp(arguments) => {
            Ok(bcp::run("bulkwire bcp", arguments.arguments.into_iter().map(Into::into)))
        }
        Command::Completions { shell } => print_completions(shell).map(success),
        Command::Manual { folder } => manual::write(&folder).map(success),
    }
}

/// Answers another process of this program that signs in with a ticket, or checks one.
fn converse(kerberos: fn() -> io::Result<()>) -> ExitStatus {
    match kerberos() {
        Ok(()) => ExitStatus::SUCCESS,
        Err(error) => {
            say!("error: {error}");
            ExitStatus::FAILURE
        }
    }
}

/// An option of a verb, as the command line defines it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinedOption {
    /// The verb.
    pub verb: String,
    /// The option, without its hyphens.
    pub name: String,
    /// The heading under which the help lists it.
    pub heading: String,
}

/// Returns every long option of every verb, for those who check that each is honoured or refused wherever it can stand.
pub fn defined_options() -> Vec<DefinedOption> {
    let command = Arguments::command();
    let options = command.get_subcommands().flat_map(|verb| {
        verb.get_arguments().filter_map(|argument| {
            Some(DefinedOption {
                verb: verb.get_name().to_owned(),
                name: argument.get_long()?.to_owned(),
                heading: argument.get_help_heading().unwrap_or_default().to_owned(),
            })
        })
    });
    options.collect()
}

/// Loads, and writes the page of `--report`, if there is anything to report.
fn load(arguments: &LoadArgs, command: Option<String>) -> Result<Outcome, Failure> {
    let page = arguments.report.report.as_deref();
    forecast::check(arguments)?;
    page.map(report_page::check).transpose()?;
    let done = verbs::load::command::run(arguments, command);
    if let Some(page) = page {
        report_page::write(page);
    }
    done
}

fn success((): ()) -> ExitStatus {
    ExitStatus::SUCCESS
}

fn status_of(outcome: Outcome) -> ExitStatus {
    match outcome {
        Outcome::Whole => ExitStatus::SUCCESS,
        Outcome::RowsRefused => ExitStatus::ROWS_REFUSED,
    }
}

fn print_completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    // Written whole: the generator itself panics when its output is closed.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "bulkwire", &mut script);
    io::stdout().write_all(&script).map_err(|source| Failure::Stream { stream: "output", source })
}

/// Runs as bcp if that is the verb, or the name of the program. Its command line has rules of its own.
fn as_bcp(words: &[OsString]) -> Option<ExitStatus> {
    let (program, words) = words.split_first()?;
    let name = Path::new(program).file_stem()?.to_str()?.to_ascii_lowercase();
    let (shown, words) = match words.split_first() {
        _ if name == "bcp" => ("bcp", words),
        Some((verb, words)) if verb == "bcp" => ("bulkwire bcp", words),
        _ => return None,
    };
    trace::subscribe(trace::level_of_environment());
    interrupt::leaves(Left::Batches);
    Some(bcp::run(shown, words.iter().cloned()))
}

/// Servers and benchmarks decide themselves what a signal means.
fn has_signals_of_its_own(words: &[OsString]) -> bool {
    words.get(1).is_some_and(|verb| verb == "serve" || verb == "bench")
}
