//! `bulkwire run`.

use std::io::{self, Write};
use std::sync::Arc;

use copy::{TransformEngine, Voice};
use load::Interruption;
use package::{Copies, DryRun, Event, Loaded, Observer, Outcome, RunError, RunOptions, RunReport};

use crate::ExitStatus;
use crate::args::RunArgs;
use crate::event_log::{self, RunEvents};
use crate::failure::Failure;
use crate::json_report;
use crate::verbs::package::command::{checked, print_findings};
use crate::verbs::package::log::RunLog;
use crate::verbs::package::page;
use crate::verbs::package::progress::{RunProgress, summary};

/// Runs a package. Without an engine, one that may transform rows is refused.
pub fn run(arguments: &RunArgs, engine: Option<Arc<dyn TransformEngine>>) -> Result<ExitStatus, Failure> {
    let found = checked(&arguments.package)?;
    if engine.is_none() && found.package.as_ref().is_some_and(Loaded::may_transform) {
        return Err(Failure::Missing { what: "a package that transforms rows" });
    }
    let copies = Copies { engine, voice: Voice { warns: event_log::warns, ..Voice::default() } };
    if !arguments.quiet || found.package.is_none() {
        print_findings(&arguments.package, &found);
    }
    let Some(loaded) = found.package else { return Ok(ExitStatus::USAGE) };
    let options = options(arguments, &copies, Interruption::default());
    if arguments.dry_run {
        let planned = package::dry_run(&loaded, &options).map_err(failure)?;
        print_plan(&loaded, &planned).map_err(|source| Failure::Stream { stream: "output", source })?;
        return Ok(ExitStatus::SUCCESS);
    }
    arguments.report.as_deref().map(page::check).transpose()?;
    let mut heard: Vec<Box<dyn Observer>> = Vec::new();
    if !arguments.quiet {
        heard.push(Box::new(RunProgress));
    }
    if event_log::is_on() {
        heard.push(Box::new(RunEvents));
    }
    if let Some(log) = &arguments.log {
        heard.push(Box::new(RunLog::open(log)?));
    }
    let report = match package::run(&loaded, &options, &All(heard)) {
        Err(error @ RunError::Journal(package::journal::JournalError::Locked(_))) => {
            say!("error: {error}");
            return Ok(ExitStatus::UNDER_WAY);
        }
        ran => ran.map_err(failure)?,
    };
    if let Some(page) = &arguments.report {
        page::write(page, &report);
    }
    if arguments.json {
        json_report::print(&report.json());
    }
    if !arguments.quiet {
        say!("{}", summary(&report));
    } else {
        for task in report.tasks.iter().filter(|task| task.outcome.is_failure()) {
            say!("error: {}: {}", task.task, task.message.as_deref().unwrap_or(task.outcome.word()));
        }
    }
    Ok(status(&report))
}

/// Makes the options of a run from the flags.
pub fn options<'a>(arguments: &RunArgs, copies: &'a Copies, interruption: Interruption) -> RunOptions<'a> {
    RunOptions {
        set: arguments.set.clone(),
        state: arguments.state.clone(),
        from: arguments.from.clone(),
        only: arguments.only.clone(),
        is_new: arguments.new,
        is_forced: arguments.r#continue,
        redo: arguments.redo.clone(),
        done: arguments.done.clone(),
        jobs: arguments.jobs,
        copies: Some(copies),
        interruption,
    }
}

fn status(report: &RunReport) -> ExitStatus {
    match report.outcome {
        Outcome::InDoubt => ExitStatus::IN_DOUBT,
        Outcome::Failed => ExitStatus::FAILURE,
        _ if report.refused() > 0 => ExitStatus::ROWS_REFUSED,
        _ => ExitStatus::SUCCESS,
    }
}

/// Converts an error before the first task to a wrong command line, and an unwritable journal to a failure.
fn failure(error: RunError) -> Failure {
    match error {
        RunError::Journal(error) => Failure::Journal(error),
        other => Failure::Usage(other.to_string()),
    }
}

/// Several who hear what happens.
struct All(Vec<Box<dyn Observer>>);

impl Observer for All {
    fn event(&self, event: &Event<'_>) {
        self.0.iter().for_each(|one| one.event(event));
    }
}

fn print_plan(loaded: &Loaded, planned: &DryRun) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "package {}", loaded.name)?;
    for (title, pairs) in [("variables", &planned.variables), ("connections", &planned.connections)] {
        if !pairs.is_empty() {
            writeln!(out, "{title}")?;
        }
        for (name, value) in pairs {
            writeln!(out, "  {name} = {value}")?;
        }
    }
    writeln!(out, "tasks")?;
    for (number, task) in (1..).zip(&planned.tasks) {
        let when = if task.when.is_empty() { String::new() } else { format!(", {}", task.when.join(", ")) };
        let left_out = if task.is_left_out { " (left out)" } else { "" };
        writeln!(out, "  {number}. {} ({}){left_out}{when}", task.task, task.kind)?;
        for (key, value) in &task.settings {
            writeln!(out, "       {key} = {value}")?;
        }
        for line in &task.plan {
            writeln!(out, "       > {line}")?;
        }
        if let Some(reason) = &task.without_plan {
            writeln!(out, "       > no plan yet: {reason}")?;
        }
    }
    Ok(())
}
