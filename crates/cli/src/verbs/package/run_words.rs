//! Packages for other programs than the command: the words behind `bulkwire run`.

use std::sync::Arc;

use clap::Parser;
use copy::{CopyError, TransformEngine};
use load::Interruption;
use package::{Copies, Event, Observer};

use crate::args::{Arguments, Command, RunArgs};
use crate::failure::Failure;
use crate::verbs::package::command::checked;
use crate::verbs::package::log::RunLog;
use crate::verbs::package::page;
use crate::verbs::package::run::options;

/// Runs or plans a package by the words of the command. `heard` gets every event as the log has it, from several threads; `interruption` ends
/// the run from another thread. The report, or the plan, is what `--json` prints.
///
/// # Errors
/// Nothing ran: the words or the package are wrong, or another run is under way. A failed task is no error but part of the report.
pub fn run_package(
    words: &[String],
    heard: &(dyn Fn(String) + Send + Sync),
    interruption: &Interruption,
    engine: Option<Arc<dyn TransformEngine>>,
) -> Result<String, CopyError> {
    let words = ["bulkwire", "run", "--quiet"].into_iter().map(str::to_owned).chain(words.iter().cloned());
    let parsed =
        Arguments::try_parse_from(words).map_err(|error| CopyError::Usage(one_line(&error.to_string())))?;
    let Command::Run(arguments) = parsed.command else {
        return Err(CopyError::Usage("these are not the words of a run".to_owned()));
    };
    Ok(run(&arguments, heard, interruption, engine)?)
}

/// Shortens clap's message to one line, without its prefix and the usage.
fn one_line(text: &str) -> String {
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let sentence: Vec<&str> = text.split("\n\nUsage").next().unwrap_or(text).split_whitespace().collect();
    sentence.join(" ")
}

fn run(
    arguments: &RunArgs,
    heard: &(dyn Fn(String) + Send + Sync),
    interruption: &Interruption,
    engine: Option<Arc<dyn TransformEngine>>,
) -> Result<String, Failure> {
    let found = checked(&arguments.package)?;
    let Some(loaded) = found.package else {
        let path = arguments.package.display();
        let findings: Vec<String> =
            found.findings.iter().map(|finding| format!("{path}:{finding}")).collect();
        return Err(Failure::Usage(findings.join("\n")));
    };
    let copies = Copies { engine, ..Copies::default() };
    let options = options(arguments, &copies, interruption.clone());
    if arguments.dry_run {
        let planned = package::dry_run(&loaded, &options);
        return planned
            .map(|planned| planned.json().to_string())
            .map_err(|error| Failure::Usage(error.to_string()));
    }
    arguments.report.as_deref().map(page::check).transpose()?;
    let observer = Heard { tell: heard, log: arguments.log.as_deref().map(RunLog::open).transpose()? };
    let report = package::run(&loaded, &options, &observer);
    let report = report.map_err(|error| Failure::Usage(error.to_string()))?;
    if let Some(page) = &arguments.report {
        page::write(page, &report);
    }
    Ok(report.json().to_string())
}

/// Hands on what happens.
struct Heard<'a> {
    tell: &'a (dyn Fn(String) + Send + Sync),
    log: Option<RunLog>,
}

impl Observer for Heard<'_> {
    fn event(&self, event: &Event<'_>) {
        if let Some(log) = &self.log {
            log.event(event);
        }
        (self.tell)(event.json().to_string());
    }
}
