//! The `bulkwire` command as a library. The program and the Python package run it, each with its own way to start the server.
//!
//! Data goes to standard output and everything else to standard error. [`ExitStatus`] lists the exit codes.
//!
//! `verbs` has a file or a folder for each verb. The modules beside it serve several: `args` (groups of flags), `host_file` (bcp's files
//! for all verbs), `event_log` (`--log-json`), `report_page`, `companion` (programs that the command hands over to), `manual`.

#[macro_use]
mod event_log;

mod args;
pub mod companion;
mod connection;
mod exit_status;
mod failure;
mod interrupt;
mod manual;
mod progress;
mod report_page;
mod server_log;
mod table;
mod trace;
mod verbs;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use ::copy::TransformEngine;
pub use args::WizardArgs;
use args::{Arguments, Command, LoadArgs};
use clap::{CommandFactory, Parser};
pub use event_log::warns;
pub use exit_status::ExitStatus;
use failure::Failure;
use interrupt::Left;
pub use verbs::copy::report::{check_page, write_page as write_copy_page};
use verbs::load::command::Outcome;
use verbs::load::{forecast, recorded};
pub use verbs::package::run_words::run_package;
use verbs::{bcp, convert, describe, export, package, query, sniff};

/// Runs a server with the arguments after `serve`. Returns its exit status, or why it could not be started.
pub type Serve = fn(&[String]) -> Result<ExitStatus, String>;

/// Serves the wizard until it is no longer needed, or says why it could not be started. It gets the engine for transformations.
pub type ServeWizard = fn(&WizardArgs, Option<Arc<dyn TransformEngine>>) -> Result<ExitStatus, String>;

/// Runs a command line, the program's name first. Wrong arguments, `--help` and `--version` end the process.
pub fn run(words: Vec<OsString>, serve: Serve) -> ExitStatus {
    run_with(words, serve, None, None)
}

/// The same with an engine for transformations, and with the wizard. A command that needs one that is missing is handed to the program
/// that has both.
pub fn run_with(
    words: Vec<OsString>,
    serve: Serve,
    engine: Option<Arc<dyn TransformEngine>>,
    wizard: Option<ServeWizard>,
) -> ExitStatus {
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
    let hand_over = || {
        let own = words.get(1..).unwrap_or_default();
        companion::run(companion::TRANSFORM, own).map_err(|reason| Failure::Companion { reason })
    };
    if let (Command::Copy(arguments), None) = (&arguments.command, &engine)
        && arguments.options.transformation.is_given()
    {
        return hand_over().unwrap_or_else(|failure| failure.report());
    }
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
    // Only now: who sees this may interrupt the command.
    if let Some(verb) = arguments.command.begin_events() {
        event_log::begin(verb);
    }
    let done = match arguments.command {
        Command::Load(arguments) => load(&arguments, command).map(status_of),
        Command::Loads(arguments) => recorded::run(arguments).map(status_of),
        Command::Run(arguments) => package::run::run(&arguments, engine, hand_over),
        Command::Package(arguments) => package::command::run(&arguments),
        Command::Export(arguments) => export::command::run(&arguments).map(success),
        Command::Copy(arguments) => verbs::copy::command::run(&arguments, engine.as_ref()).map(status_of),
        Command::Wizard(arguments) => match wizard {
            Some(wizard) => wizard(&arguments, engine).map_err(|reason| Failure::Companion { reason }),
            None => hand_over(),
        },
        Command::Convert(arguments) => convert::run(&arguments).map(status_of),
        Command::Sniff(arguments) => sniff::run(&arguments).map(success),
        Command::Query(arguments) => query::command::run(&arguments).map(success),
        Command::Describe(arguments) => describe::run(&arguments).map(success),
        Command::Serve(arguments) => {
            serve(&arguments.arguments).map_err(|reason| Failure::Companion { reason })
        }
        Command::Bench(arguments) => companion::run(companion::BENCH, &arguments.arguments)
            .map_err(|reason| Failure::Companion { reason }),
        Command::Bcp(arguments) => {
            return bcp::run("bulkwire bcp", arguments.arguments.into_iter().map(Into::into));
        }
        Command::Completions { shell } => print_completions(shell).map(success),
        Command::Manual { folder } => manual::write(&folder).map(success),
    };
    let status = done.unwrap_or_else(|failure| failure.report());
    event_log::finish(status);
    status
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
