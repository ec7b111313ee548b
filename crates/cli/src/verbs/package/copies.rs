//! Copies of packages, by the rules and flags of `bulkwire copy`.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Parser;
use copy::rejects::{self, Rejected, Rejects};
use copy::{
    Control, CopyReport, CopySettings, CopyWatch, Endpoint, FailedCopy, Repeat, Resume, Source,
    SourceSettings, TableOutcome, TableTask, TransformEngine, TransformedSource, copy_table, copy_tables,
};
use load::{RejectedRow, Tolerance};
use package::{Copied, Copier, CopyFailure, CopyListener, CopyRequest};
use rows::Form;
use rows::text::DateOrder;

use crate::args::{Arguments, Command, CopyArgs};
use crate::failure::Failure;
use crate::interrupt;
use crate::verbs::copy::command::{one_line, several, without_keys};
use crate::verbs::copy::endpoints::{self as copy_endpoints, Ends};
use crate::verbs::load::source::{self as load_source, REJECTS_SHOWN_MAX};

/// Does the copies of packages.
pub struct PackageCopies {
    /// What transforms rows, if this program has it.
    pub engine: Option<Arc<dyn TransformEngine>>,
}

impl Copier for PackageCopies {
    fn copy(&self, request: &CopyRequest, listener: &dyn CopyListener) -> Result<Copied, CopyFailure> {
        let done = PackageCopy::of(request, listener, false, self.engine.as_ref()).and_then(PackageCopy::run);
        let mut copied = Copied::default();
        for Copy { name, report } in done.map_err(failed)? {
            let told = |note: String| if name.is_empty() { note } else { format!("{name}: {note}") };
            copied.rows += report.rows_written.saturating_add(report.rows_skipped);
            copied.refused += report.refused();
            let skipped = load::report::grouped(report.rows_skipped);
            let before = (report.rows_skipped > 0).then(|| format!("{skipped} rows were there already"));
            copied.notes.extend(report.notes.into_iter().chain(before).map(told));
        }
        Ok(copied)
    }

    fn plan(&self, request: &CopyRequest) -> Result<Vec<String>, CopyFailure> {
        struct Silent;
        impl CopyListener for Silent {
            fn rows(&self, _: u64) {}
            fn note(&self, _: &str) {}
        }
        let done = PackageCopy::of(request, &Silent, true, self.engine.as_ref()).and_then(PackageCopy::run);
        let mut lines = Vec::new();
        for Copy { name, report } in done.map_err(failed)? {
            let told = |line: String| if name.is_empty() { line } else { format!("{name}: {line}") };
            let choices = report.plan.iter().map(|choice| match choice.reason.is_empty() {
                true => format!("{}: {}", choice.setting, choice.value),
                false => format!("{}: {} ({})", choice.setting, choice.value, choice.reason),
            });
            let created = report.created_by.map(|statement| {
                format!("makes the table: {}", statement.split_whitespace().collect::<Vec<_>>().join(" "))
            });
            lines.extend(created.into_iter().chain(choices).map(told));
        }
        Ok(lines)
    }
}

fn failed(failure: Failure) -> CopyFailure {
    let is_final = matches!(failure, Failure::Usage(_) | Failure::Config(_));
    let message = match &failure {
        Failure::Tables { tables, failures } => {
            let reasons = failures.iter().map(|(name, failed)| format!("{name}: {}", failed.error));
            let reasons = reasons.collect::<Vec<_>>().join("; ");
            format!("{} of {tables} tables failed: {reasons}", failures.len())
        }
        failure => failure.to_string(),
    };
    CopyFailure { message, is_in_doubt: failure.is_in_doubt(), is_final }
}

/// One table that was copied.
struct Copy {
    /// Its name, if there are several.
    name: String,
    report: CopyReport,
}

/// A copy under way.
struct PackageCopy<'a> {
    arguments: CopyArgs,
    tasks: Vec<TableTask>,
    /// Whether each of them can be continued.
    resumable: Vec<bool>,
    is_dry: bool,
    listener: &'a dyn CopyListener,
}

impl<'a> PackageCopy<'a> {
    fn of(
        request: &CopyRequest,
        listener: &'a dyn CopyListener,
        is_dry: bool,
        engine: Option<&Arc<dyn TransformEngine>>,
    ) -> Result<Self, Failure> {
        let arguments = arguments(request)?;
        let ends = Ends { source: request.source.clone(), destination: request.destination.clone() };
        copy_endpoints::check(&arguments, &ends, !request.transformation.is_none())?;
        let source = copy_endpoints::source_settings(&arguments, &ends)?;
        let mut resumable = Vec::new();
        let mut open = |load_id: Option<String>, from: &Endpoint, to: &Endpoint| {
            let mut destination = copy_endpoints::destination_settings(&arguments, &ends, None)?;
            destination.server.action =
                copy_endpoints::action_column(&arguments, request.transformation.query.is_some());
            let mut from =
                transformed(from.source(&source)?, request, &arguments, &source.read.form, engine)?;
            if let Some(load_id) = load_id {
                destination.server.resume = resume(from.as_mut(), request, &arguments, load_id)?;
            }
            resumable.push(destination.server.resume.is_some());
            Ok((from, to.destination(&destination)?))
        };
        let tasks = match arguments.tables.is_empty() {
            true => {
                ends.source.check_distinct(&ends.destination)?;
                let (source, destination) = open(request.load_id.clone(), &ends.source, &ends.destination)?;
                vec![TableTask { name: String::new(), weight: 0, source, destination }]
            }
            false => {
                several(&arguments, &ends, &mut |name, from, to| open(request.load_id_of(name), from, to))?
            }
        };
        Ok(Self { arguments, tasks, resumable, is_dry, listener })
    }

    /// Copies every table.
    fn run(self) -> Result<Vec<Copy>, Failure> {
        let Self { arguments, tasks, resumable, is_dry, listener } = self;
        // A plan refuses no rows, and keeps the file of an earlier run.
        let refusals = match is_dry {
            true => Refusals::none(listener),
            false => {
                Refusals::open(&arguments, resumable.iter().any(|is_resumable| *is_resumable), listener)?
            }
        };
        let rows = Rows { listener, total: AtomicU64::new(0) };
        let one = |index: usize, task: &mut TableTask| {
            let is_resumable = resumable.get(index).copied().unwrap_or_default();
            refusals.copy(task, CopySettings { is_dry, is_resumable }, arguments.refusals.bisect, &rows)
        };
        let outcomes = copy_tables(tasks, arguments.jobs.into(), arguments.fail_fast, &one);
        if let Some(rejects) = &refusals.rejects {
            rejects.finish().map_err(|source| refusals.failure(source))?;
        }
        ended(outcomes, arguments.tables.is_empty())
    }
}

/// The reports of all tables, or why they are not all there.
fn ended(outcomes: Vec<TableOutcome>, is_single: bool) -> Result<Vec<Copy>, Failure> {
    let tables = outcomes.len();
    let (mut done, mut failures) = (Vec::new(), Vec::new());
    for TableOutcome { name, result, afterwards, failed_afterwards } in outcomes {
        match (result, failed_afterwards) {
            (Some(Ok(mut report)), None) => {
                report.notes.extend(afterwards);
                done.push(Copy { name, report });
            }
            (Some(Err(failed)), _) => failures.push((name, failed)),
            (_, Some(error)) => failures.push((name.clone(), without_keys(name, error))),
            (None, None) => {}
        }
    }
    match failures.pop() {
        None => Ok(done),
        Some((_, failed)) if is_single => Err(Failure::Copy(failed)),
        Some(last) => {
            failures.push(last);
            Err(Failure::Tables { tables, failures })
        }
    }
}

/// How the copy of a table is continued, if it can be.
fn resume(
    from: &mut dyn Source,
    request: &CopyRequest,
    arguments: &CopyArgs,
    load_id: String,
) -> Result<Option<Resume>, Failure> {
    match from.repeat()? {
        // A pipe is the same again only if the user says so.
        Repeat::IfNamed(_) if !request.must_resume => Ok(None),
        Repeat::InOrder(_) | Repeat::IfNamed(_) => Ok(Some(Resume {
            load_id: Some(load_id),
            ledger_schema: arguments.writers.ledger_schema.clone(),
            command: String::new(),
        })),
        Repeat::No(reason) if request.must_resume => {
            Err(Failure::Usage(format!("resume = true is not possible here: {reason}")))
        }
        Repeat::No(_) => Ok(None),
    }
}

/// The source with its transformation, if the copy has one.
fn transformed(
    source: Box<dyn Source>,
    request: &CopyRequest,
    arguments: &CopyArgs,
    form: &Form,
    engine: Option<&Arc<dyn TransformEngine>>,
) -> Result<Box<dyn Source>, Failure> {
    let flags = &arguments.transformation;
    if request.transformation.is_none() && request.lookups.is_empty() && flags.action.is_none() {
        return Ok(source);
    }
    let Some(engine) = engine else {
        let message = "select, where, transform, action and lookups of a copy need the query engine: use `bulkwire-transform run`";
        return Err(Failure::Usage(message.to_owned()));
    };
    let mut transformation = request.transformation.clone();
    transformation.action = flags.action.clone().filter(|_| transformation.query.is_none());
    transformation.collation = flags.collation.clone();
    transformation.files = flags.files.clone();
    transformation.form = form.clone();
    transformation.date_order = arguments.conversions.date_order.map(DateOrder::from);
    if let Some(limit) = flags.memory_limit {
        transformation.memory_limit = limit;
    }
    let mut lookups = Vec::with_capacity(request.lookups.len());
    for (name, endpoint, query) in &request.lookups {
        let settings = SourceSettings { query: query.clone(), ..SourceSettings::default() };
        lookups.push((name.clone(), endpoint.source(&settings)?));
    }
    Ok(Box::new(TransformedSource::new(source, Arc::clone(engine), transformation, lookups)))
}

/// The flags as `bulkwire copy` reads them. The endpoints are known already; these only have their kinds.
fn arguments(request: &CopyRequest) -> Result<CopyArgs, Failure> {
    let spelled = |endpoint: &Endpoint| match endpoint {
        Endpoint::SqlServer(_) => "mssql:".to_owned(),
        other => other.to_string(),
    };
    let mut words = vec!["bulkwire".to_owned(), "copy".to_owned(), "--quiet".to_owned()];
    words.extend(request.flags.iter().cloned());
    words.extend(request.query.iter().map(|query| format!("--query={query}")));
    words.extend(["--".to_owned(), spelled(&request.source), spelled(&request.destination)]);
    let parsed =
        Arguments::try_parse_from(words).map_err(|error| Failure::Usage(one_line(&error.to_string())))?;
    match parsed.command {
        Command::Copy(arguments) => Ok(*arguments),
        _ => Err(Failure::Usage("this is no copy".to_owned())),
    }
}

/// What becomes of refused rows.
struct Refusals<'a> {
    rejects: Option<Rejects>,
    path: Option<PathBuf>,
    listener: &'a dyn CopyListener,
    shown: AtomicU64,
}

impl<'a> Refusals<'a> {
    fn none(listener: &'a dyn CopyListener) -> Self {
        Self { rejects: None, path: None, listener, shown: AtomicU64::new(0) }
    }

    fn open(
        arguments: &CopyArgs,
        is_resumable: bool,
        listener: &'a dyn CopyListener,
    ) -> Result<Self, Failure> {
        let flags = &arguments.refusals;
        let mut this = Self { path: flags.rejects.clone(), ..Self::none(listener) };
        let limit = match (flags.max_errors, &flags.rejects) {
            (None, None) if !flags.bisect => return Ok(this),
            (Some(limit), _) => Some(limit),
            (None, Some(_)) => None,
            (None, None) => Some(0),
        };
        let opened = match (&flags.rejects, is_resumable) {
            // Rows that are committed are not read again, and so their refusals are kept.
            (Some(path), true) => Rejects::reopen(path, limit, |_, _| true),
            (path, _) => Rejects::open(path.as_ref(), limit),
        };
        let rejects = opened.map_err(|source| this.failure(source))?;
        if let Some(path) = &flags.rejects {
            rejects.remove_if_empty(path);
        }
        this.rejects = Some(rejects);
        Ok(this)
    }

    /// Copies a table.
    fn copy(
        &self,
        task: &mut TableTask,
        settings: CopySettings,
        bisect: bool,
        rows: &Rows<'_>,
    ) -> Result<CopyReport, Box<FailedCopy>> {
        let places = task.source.places();
        let of_source = task.source.name();
        let refuse = |mut row: RejectedRow| {
            let place = places.of(row.origin.row, &of_source);
            row.origin.row = place.row;
            self.take(&Rejected { line: place.line, ..rejects::of_load(&place.name, place.encoding, &row) })
        };
        let keep = || self.rejects.as_ref().map_or(Ok(()), Rejects::keep);
        let tolerance = Tolerance { reject: &refuse, bisect, keep: &keep, keep_open_batch: false };
        let watch = Watch { rows, of_table: AtomicU64::new(0) };
        let control = Control {
            watch: &watch,
            commits: &interrupt::Commits,
            tolerance: self.rejects.as_ref().map(|_| &tolerance),
        };
        let (source, destination) = (task.source.as_mut(), task.destination.as_mut());
        let mut report = copy_table(source, destination, settings, &control, &mut |_| {})?;
        if let Some(rejects) = self.rejects.as_ref().filter(|_| report.was_done) {
            // The load is over, and its ledger with it: what it has refused stands in the file alone.
            report.rows_refused_before = report.rows_refused_before.max(rejects.count_before(&of_source));
        }
        Ok(report)
    }

    fn failure(&self, source: std::io::Error) -> Failure {
        let file = self.path.as_ref().map(|path| path.display().to_string());
        Failure::Rejects { file: file.unwrap_or_default(), source }
    }

    fn take(&self, rejected: &Rejected<'_>) -> ControlFlow<()> {
        let Some(rejects) = &self.rejects else { return ControlFlow::Break(()) };
        if self.shown.fetch_add(1, Ordering::Relaxed) < REJECTS_SHOWN_MAX {
            self.listener.note(&format!("refused: {}", load_source::described(rejected)));
        }
        rejects.take(rejected)
    }
}

/// The rows of all tables.
struct Rows<'a> {
    listener: &'a dyn CopyListener,
    total: AtomicU64,
}

/// Hands on what the copy of a table says.
struct Watch<'a> {
    rows: &'a Rows<'a>,
    of_table: AtomicU64,
}

impl CopyWatch for Watch<'_> {
    fn progress(&self, sent: u64, committed: u64) {
        let now = sent.max(committed);
        let more = now.saturating_sub(self.of_table.fetch_max(now, Ordering::Relaxed));
        let before = self.rows.total.fetch_add(more, Ordering::Relaxed);
        self.rows.listener.rows(before.saturating_add(more));
    }

    fn note(&self, text: &str) {
        self.rows.listener.note(text);
    }

    fn is_cancelled(&self) -> bool {
        self.rows.listener.is_cancelled()
    }
}
