//! `bulkwire copy`.

use std::sync::Arc;

use copy::{Copied, CopyError, Ends, FailedCopy, Language, Spec, TableOutcome, TransformEngine, Voice};

use crate::args::{CopyArgs, ReportForm};
use crate::event_log;
use crate::failure::Failure;
use crate::report_page;
use crate::verbs::copy::report;
use crate::verbs::copy::watch::{Lines, Shown};
use crate::verbs::load::command::Outcome;
use crate::verbs::load::options::hears;

/// Copies what the command line names.
pub fn run(arguments: &CopyArgs, engine: Option<&Arc<dyn TransformEngine>>) -> Result<Outcome, Failure> {
    if arguments.form() == ReportForm::Json && arguments.destination == "-" {
        return Err(Failure::Usage(
            "--output json writes to standard output, and so do the rows: name a file".to_owned(),
        ));
    }
    arguments.report.as_deref().map(report_page::check).transpose()?;
    let spec = spec(arguments)?;
    let lines = Lines::new(Shown {
        is_quiet: arguments.quiet,
        is_text: arguments.form() == ReportForm::Text,
        is_dry: arguments.dry_run,
        is_single: spec.tables.is_none(),
    });
    let copied = copy::run(&spec, engine, &lines)?;
    if let Some(page) = &arguments.report {
        report::write_page(page, &copied.tables);
    }
    end(arguments, copied)
}

/// Makes the copy of a command line.
fn spec(arguments: &CopyArgs) -> Result<Spec, Failure> {
    let voice = Voice { warns: event_log::warns, retries: if arguments.quiet { |_| {} } else { hears } };
    let options = &arguments.options;
    let ends = Ends::parse(&arguments.source, &arguments.destination, options, voice)?;
    let spec = Spec::new(&ends, options, Language::Command, voice)?;
    Ok(Spec { is_dry: arguments.dry_run, ..spec })
}

/// Makes the failure of a table whose rows have arrived, but not its keys.
fn without_keys(name: String, error: CopyError) -> Box<FailedCopy> {
    let left = vec!["the rows are there".to_owned()];
    Box::new(FailedCopy { source: name, destination: String::new(), rows_written: 0, error, left })
}

/// Says how everything ended.
fn end(arguments: &CopyArgs, copied: Copied) -> Result<Outcome, Failure> {
    let Copied { tables: outcomes, is_single, refused } = copied;
    if arguments.form() == ReportForm::Json {
        report::print_json(&outcomes);
    }
    if !arguments.quiet {
        for note in outcomes.iter().flat_map(|outcome| &outcome.afterwards) {
            say!("{note}");
        }
        if !is_single && arguments.form() == ReportForm::Text && !arguments.dry_run {
            say!("{}", report::summary(&outcomes));
        }
    }
    let reports = outcomes.iter().filter_map(|outcome| outcome.result.as_ref()?.as_ref().ok());
    let refused = reports.fold(refused, |sum, report| sum.saturating_add(report.rows_refused_before));
    let mut failures = Vec::new();
    let tables = outcomes.len();
    for TableOutcome { name, result, failed_afterwards, .. } in outcomes {
        match (result, failed_afterwards) {
            (Some(Err(failed)), _) => failures.push((name, failed)),
            (_, Some(error)) => failures.push((name.clone(), without_keys(name, error))),
            _ => {}
        }
    }
    if is_single && let Some((_, failed)) = failures.pop() {
        return Err(Failure::Copy(failed));
    }
    match failures.is_empty() {
        true if refused > 0 => Ok(Outcome::RowsRefused),
        true => Ok(Outcome::Whole),
        false => Err(Failure::Tables { tables, failures }),
    }
}
