//! `bulkwire copy`.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use copy::rejects::{self, Rejected, Rejects};
use copy::{
    Control, CopyError, CopyReport, CopySettings, CopyWatch, Destination, DestinationSettings, Endpoint,
    FailedCopy, Source, SourceSettings, TableOutcome, TablePatterns, TableTask, TransformEngine, copy_table,
    copy_tables,
};
use indicatif::MultiProgress;
use load::{Interruption, RejectedRow, Tolerance};

use crate::args::{CopyArgs, ReportForm};
use crate::event_log::{self, Batches};
use crate::failure::Failure;
use crate::report_page;
use crate::verbs::copy::endpoints::{self, Ends};
use crate::verbs::copy::transformation::CopyTransformation;
use crate::verbs::copy::watch::Line;
use crate::verbs::copy::{report, source};
use crate::verbs::load::command::Outcome;
use crate::verbs::load::source as load_source;
use crate::verbs::load::source::REJECTS_SHOWN_MAX;

/// Copies what a command line names, for other programs than the command: the words behind `bulkwire copy`. `watch` hears of all tables
/// together, and `engine` transforms rows.
///
/// # Errors
/// The words are wrong, or an endpoint is. What becomes of each table is in its outcome.
pub fn copy(
    words: &[String],
    watch: &dyn CopyWatch,
    engine: Option<Arc<dyn TransformEngine>>,
) -> Result<Vec<TableOutcome>, CopyError> {
    let arguments = source::parsed(words)?;
    let (tasks, is_single) = all_tasks(&arguments, engine.as_ref(), watch.interruption())?;
    let rejects = open_rejects(&arguments)?;
    let run = Run {
        arguments: &arguments,
        rejects: rejects.as_ref(),
        lines: MultiProgress::new(),
        refused: AtomicU64::new(0),
        is_single,
        watch: Some(watch),
    };
    let outcomes = copy_tables(tasks, arguments.jobs.into(), arguments.fail_fast, &|_, task| run.copy(task));
    if let Some(rejects) = &rejects {
        rejects.finish().map_err(|source| rejects_failure(&arguments, source))?;
    }
    if let Some(page) = &arguments.report {
        report::write_page(page, &outcomes);
    }
    Ok(outcomes)
}

/// What clap says, without its word for it and without the usage.
pub fn one_line(text: &str) -> String {
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let sentence: Vec<&str> = text.split("\n\nUsage").next().unwrap_or(text).split_whitespace().collect();
    sentence.join(" ")
}

/// The copies that a command line asks for, and whether it is one by itself.
fn all_tasks(
    arguments: &CopyArgs,
    engine: Option<&Arc<dyn TransformEngine>>,
    interruption: Option<&Interruption>,
) -> Result<(Vec<TableTask>, bool), Failure> {
    arguments.report.as_deref().map(report_page::check).transpose()?;
    let mut ends = endpoints::ends(arguments)?;
    if let Some(interruption) = interruption {
        ends.source.interrupted_by(interruption);
        ends.destination.interrupted_by(interruption);
    }
    let mut source = endpoints::source_settings(arguments, &ends)?;
    source.interruption = interruption.cloned();
    // A URL in the command line may hold a password, so the command is not recorded.
    let destination = endpoints::destination_settings(arguments, &ends, None)?;
    let transformation = CopyTransformation::of(arguments, &source.read.form, engine)?;
    let is_single = arguments.tables.is_empty();
    let tasks = match is_single {
        true => vec![one_task(&ends, &source, &destination)?],
        false => several(arguments, &ends, &mut |_, from, to| {
            Ok((from.source(&source)?, to.destination(&destination)?))
        })?,
    };
    let Some(transformation) = transformation else { return Ok((tasks, is_single)) };
    let transformed = |task: TableTask| Ok(TableTask { source: transformation.over(task.source)?, ..task });
    Ok((tasks.into_iter().map(transformed).collect::<Result<_, Failure>>()?, is_single))
}

/// Copies what the command line names.
pub fn run(arguments: &CopyArgs, engine: Option<&Arc<dyn TransformEngine>>) -> Result<Outcome, Failure> {
    if arguments.output == ReportForm::Json && arguments.destination == "-" {
        return Err(Failure::Usage(
            "--output json writes to standard output, and so do the rows: name a file".to_owned(),
        ));
    }
    let (tasks, is_single) = all_tasks(arguments, engine, None)?;
    let rejects = open_rejects(arguments)?;
    let run = Run {
        arguments,
        rejects: rejects.as_ref(),
        lines: MultiProgress::new(),
        refused: AtomicU64::new(0),
        is_single,
        watch: None,
    };
    let outcomes = copy_tables(tasks, arguments.jobs.into(), arguments.fail_fast, &|_, task| run.copy(task));
    if let Some(rejects) = &rejects {
        rejects.finish().map_err(|source| rejects_failure(arguments, source))?;
    }
    if let Some(page) = &arguments.report {
        report::write_page(page, &outcomes);
    }
    end(arguments, outcomes, is_single, run.refused.into_inner())
}

/// The copy of the two endpoints as they are.
fn one_task(
    ends: &Ends,
    source: &SourceSettings,
    destination: &DestinationSettings,
) -> Result<TableTask, Failure> {
    ends.source.check_distinct(&ends.destination)?;
    Ok(TableTask {
        name: ends.source.to_string(),
        weight: 0,
        source: ends.source.source(source)?,
        destination: ends.destination.destination(destination)?,
    })
}

/// Both ends of the copy of a table, by its name and its endpoints.
pub type OpenEnds<'a> =
    &'a mut dyn FnMut(&str, &Endpoint, &Endpoint) -> Result<(Box<dyn Source>, Box<dyn Destination>), Failure>;

/// A copy for each table that is meant.
pub fn several(arguments: &CopyArgs, ends: &Ends, open: OpenEnds<'_>) -> Result<Vec<TableTask>, Failure> {
    let patterns = TablePatterns { included: arguments.tables.clone(), excluded: arguments.exclude.clone() };
    let all = ends.source.tables()?;
    if let Some(pattern) = patterns.without_tables(&all) {
        return Err(Failure::Usage(format!("--tables {pattern}: {} has no such table", ends.source)));
    }
    let suffix = endpoints::suffix(arguments);
    let meant = all.into_iter().filter(|table| patterns.matches(table));
    let mut tasks = Vec::new();
    for table in meant {
        let from = ends.source.with_table(&table);
        let to = ends.destination.for_table(&table, arguments.to_schema.as_deref(), &suffix)?;
        from.check_distinct(&to)?;
        let name = table.full_name();
        let (source, destination) = open(&name, &from, &to)?;
        let weight = table.bytes.or(table.rows).unwrap_or_default();
        tasks.push(TableTask { name, weight, source, destination });
    }
    if tasks.is_empty() {
        return Err(Failure::Usage("--exclude leaves out every table that --tables means".to_owned()));
    }
    if let Endpoint::Files(files) = &ends.destination
        && !formats::objects::is_object_url(&files.path)
    {
        std::fs::create_dir_all(&files.path)
            .map_err(|source| Failure::Unreadable { file: files.path.clone(), source })?;
    }
    Ok(tasks)
}

/// What the copies of a command share.
struct Run<'a> {
    arguments: &'a CopyArgs,
    rejects: Option<&'a Rejects>,
    lines: MultiProgress,
    refused: AtomicU64,
    /// One copy, whose plan is shown.
    is_single: bool,
    /// Who hears of it in place of a person.
    watch: Option<&'a dyn CopyWatch>,
}

impl Run<'_> {
    fn copy(&self, task: &mut TableTask) -> Result<CopyReport, Box<FailedCopy>> {
        let TableTask { name, source, destination, .. } = task;
        let line = Line::new(&self.lines, name, self.arguments.quiet || self.arguments.dry_run);
        let places = source.places();
        let of_source = source.name();
        let of_table = self.watch.and_then(|watch| watch.of_table(name));
        let watch = of_table.as_deref().or(self.watch);
        let refuse = |row: RejectedRow| {
            let place = places.of(row.origin.row, &of_source);
            let mut row = row;
            row.origin.row = place.row;
            let rejected =
                Rejected { line: place.line, ..rejects::of_load(&place.name, place.encoding, &row) };
            if let Some(watch) = watch {
                watch.refused(&rejected);
            }
            self.refuse(&rejected, &line)
        };
        let keep = || self.rejects.map_or(Ok(()), Rejects::keep);
        let tolerance = Tolerance {
            reject: &refuse,
            bisect: self.arguments.refusals.bisect,
            keep: &keep,
            keep_open_batch: false,
        };
        let batches = Batches::default();
        let control = Control {
            watch: watch.unwrap_or(&line),
            commits: match watch {
                Some(_) => &(),
                None => &batches,
            },
            tolerance: self.rejects.map(|_| &tolerance),
        };
        let done = self.transfer(source.as_mut(), destination.as_mut(), &control, &line);
        line.end();
        if self.watch.is_none() {
            report::write_event(name, &done);
        }
        if !self.arguments.quiet && self.arguments.output == ReportForm::Text {
            match &done {
                Ok(_) if self.arguments.dry_run => {}
                Ok(report) => line.say(&report::line(name, report)),
                Err(failed) if !self.is_single => line.say(&report::failed_line(name, failed)),
                Err(_) => {}
            }
        }
        done
    }

    fn transfer(
        &self,
        source: &mut dyn Source,
        destination: &mut dyn Destination,
        control: &Control<'_>,
        line: &Line,
    ) -> Result<CopyReport, Box<FailedCopy>> {
        let settings = CopySettings {
            is_dry: self.arguments.dry_run,
            is_resumable: self.arguments.writers.is_resumable(),
        };
        let shows_plan = !self.arguments.quiet
            && self.arguments.output == ReportForm::Text
            && (self.is_single || self.arguments.dry_run);
        let bytes = source.bytes_read();
        copy_table(source, destination, settings, control, &mut |report| {
            line.watch_bytes(bytes.clone());
            if self.watch.is_none() {
                report::write_plan(report);
            }
            if shows_plan {
                line.say(&report::plan(report));
            }
        })
    }

    /// Shows a refused row and writes it down.
    fn refuse(&self, rejected: &Rejected<'_>, line: &Line) -> ControlFlow<()> {
        let Some(rejects) = self.rejects else { return ControlFlow::Break(()) };
        self.refused.fetch_add(1, Ordering::Relaxed);
        if self.watch.is_none() {
            event_log::refused(rejected);
        }
        let is_shown = !self.arguments.quiet && rejects.count() < REJECTS_SHOWN_MAX;
        if is_shown {
            line.say(&format!("refused: {}", load_source::described(rejected)));
        }
        let goes_on = rejects.take(rejected);
        if goes_on.is_break() && !is_shown && self.watch.is_none() {
            // The one that ends the copy is named in any case.
            line.say(&format!("refused: {}", load_source::described(rejected)));
        }
        goes_on
    }
}

/// Where refused rows go; nothing if the first one is to end the copy.
fn open_rejects(arguments: &CopyArgs) -> Result<Option<Rejects>, Failure> {
    let refusals = &arguments.refusals;
    let limit = match (refusals.max_errors, &refusals.rejects) {
        (None, None) if !refusals.bisect => return Ok(None),
        (Some(limit), _) => Some(limit),
        (None, Some(_)) => None,
        (None, None) => Some(0),
    };
    let opened = match (&refusals.rejects, arguments.writers.is_resumable()) {
        // Rows of an earlier run that are committed are not read again, and so their refusals are kept.
        (Some(path), true) => Rejects::reopen(path, limit, |_, _| true),
        (path, _) => Rejects::open(path.as_ref(), limit),
    };
    opened.map(Some).map_err(|source| rejects_failure(arguments, source))
}

fn rejects_failure(arguments: &CopyArgs, source: std::io::Error) -> Failure {
    let file = arguments.refusals.rejects.as_ref().map(|path| path.display().to_string());
    Failure::Rejects { file: file.unwrap_or_default(), source }
}

/// A table whose rows are there, and not what was to be made when all tables were.
pub fn without_keys(name: String, error: CopyError) -> Box<FailedCopy> {
    let left = vec!["the rows are there".to_owned()];
    Box::new(FailedCopy { source: name, destination: String::new(), rows_written: 0, error, left })
}

/// Says how everything ended.
fn end(
    arguments: &CopyArgs,
    outcomes: Vec<TableOutcome>,
    is_single: bool,
    refused: u64,
) -> Result<Outcome, Failure> {
    if arguments.output == ReportForm::Json {
        report::print_json(&outcomes)?;
    }
    if !arguments.quiet {
        for note in outcomes.iter().flat_map(|outcome| &outcome.afterwards) {
            say!("{note}");
        }
        if !is_single && arguments.output == ReportForm::Text && !arguments.dry_run {
            say!("{}", report::summary(&outcomes));
        }
    }
    let reports = outcomes.iter().filter_map(|outcome| outcome.result.as_ref()?.as_ref().ok());
    let refused = reports.fold(refused, |sum, report| sum.saturating_add(report.rows_refused_before));
    let mut failures = Vec::new();
    let tables = outcomes.len();
    for outcome in outcomes {
        match (outcome.result, outcome.failed_afterwards) {
            (Some(Err(failed)), _) => failures.push((outcome.name, failed)),
            (_, Some(error)) => failures.push((outcome.name.clone(), without_keys(outcome.name, error))),
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
