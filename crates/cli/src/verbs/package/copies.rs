//! Copies of packages, by the rules and flags of `bulkwire copy`.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Parser;
use copy::rejects::{self, Rejected, Rejects};
use copy::{
    Control, CopyReport, CopySettings, CopyWatch, Endpoint, Repeat, Source, SourceSettings, TransformEngine,
    TransformedSource, copy_table,
};
use load::{RejectedRow, Tolerance};
use package::{Copied, Copier, CopyFailure, CopyListener, CopyRequest};

use crate::args::{Arguments, Command, CopyArgs};
use crate::failure::Failure;
use crate::interrupt;
use crate::verbs::copy::command::one_line;
use crate::verbs::copy::endpoints::{self as copy_endpoints, Ends};
use crate::verbs::load::source::{self as load_source, REJECTS_SHOWN_MAX};

/// Does the copies of packages.
pub struct PackageCopies {
    /// What transforms rows, if this program has it.
    pub engine: Option<Arc<dyn TransformEngine>>,
}

impl Copier for PackageCopies {
    fn copy(&self, request: &CopyRequest, listener: &dyn CopyListener) -> Result<Copied, CopyFailure> {
        let report = run(request, listener, false, self.engine.as_ref()).map_err(failed)?;
        let rows = report.rows_written.saturating_add(report.rows_skipped);
        let mut notes = report.notes;
        if report.rows_skipped > 0 {
            notes.push(format!("{} rows were there already", load::report::grouped(report.rows_skipped)));
        }
        Ok(Copied { rows, refused: report.rows_refused, notes })
    }

    fn plan(&self, request: &CopyRequest) -> Result<Vec<String>, CopyFailure> {
        struct Silent;
        impl CopyListener for Silent {
            fn rows(&self, _: u64) {}
            fn note(&self, _: &str) {}
        }
        let report = run(request, &Silent, true, self.engine.as_ref()).map_err(failed)?;
        let choices = report.plan.iter().map(|choice| match choice.reason.is_empty() {
            true => format!("{}: {}", choice.setting, choice.value),
            false => format!("{}: {} ({})", choice.setting, choice.value, choice.reason),
        });
        let created = report.created_by.map(|statement| {
            format!("makes the table: {}", statement.split_whitespace().collect::<Vec<_>>().join(" "))
        });
        Ok(created.into_iter().chain(choices).collect())
    }
}

fn failed(failure: Failure) -> CopyFailure {
    let is_final = matches!(failure, Failure::Usage(_) | Failure::Config(_));
    CopyFailure { message: failure.to_string(), is_in_doubt: failure.is_in_doubt(), is_final }
}

fn run(
    request: &CopyRequest,
    listener: &dyn CopyListener,
    is_dry: bool,
    engine: Option<&Arc<dyn TransformEngine>>,
) -> Result<CopyReport, Failure> {
    let arguments = arguments(request)?;
    let ends = Ends { source: request.source.clone(), destination: request.destination.clone() };
    copy_endpoints::check(&arguments, &ends)?;
    ends.source.check_distinct(&ends.destination)?;
    let source = copy_endpoints::source_settings(&arguments, &ends)?;
    let mut destination = copy_endpoints::destination_settings(&arguments, &ends, None)?;
    destination.server.action =
        copy_endpoints::action_column(&arguments, request.transformation.query.is_some());
    let mut from = transformed(ends.source.source(&source)?, request, &arguments, engine)?;
    if let Some(load_id) = &request.load_id {
        match from.repeat()? {
            // A pipe is the same again only if the user says so.
            Repeat::IfNamed(_) if !request.must_resume => {}
            Repeat::InOrder(_) | Repeat::IfNamed(_) => {
                destination.server.resume = Some(copy::Resume {
                    load_id: Some(load_id.clone()),
                    ledger_schema: arguments.writers.ledger_schema.clone(),
                    command: String::new(),
                });
            }
            Repeat::No(reason) if request.must_resume => {
                return Err(Failure::Usage(format!("resume = true is not possible here: {reason}")));
            }
            Repeat::No(_) => {}
        }
    }
    let mut to = ends.destination.destination(&destination)?;
    let is_resumable = destination.server.resume.is_some();
    // A plan refuses no rows, and keeps the file of an earlier run.
    let refusals = match is_dry {
        true => Refusals::none(listener),
        false => Refusals::open(&arguments, is_resumable, listener)?,
    };
    let places = from.places();
    let of_source = from.name();
    let refuse = |mut row: RejectedRow| {
        let place = places.of(row.origin.row, &of_source);
        row.origin.row = place.row;
        refusals.take(&Rejected { line: place.line, ..rejects::of_load(&place.name, place.encoding, &row) })
    };
    let keep = || refusals.rejects.as_ref().map_or(Ok(()), Rejects::keep);
    let tolerance =
        Tolerance { reject: &refuse, bisect: arguments.refusals.bisect, keep: &keep, keep_open_batch: false };
    let watch = Watch(listener);
    let control = Control {
        watch: &watch,
        commits: &interrupt::Commits,
        tolerance: refusals.rejects.as_ref().map(|_| &tolerance),
    };
    let settings = CopySettings { is_dry, is_resumable };
    let report =
        copy_table(from.as_mut(), to.as_mut(), settings, &control, &mut |_| {}).map_err(Failure::Copy)?;
    if let Some(rejects) = &refusals.rejects {
        rejects.finish().map_err(|source| refusals.failure(source))?;
    }
    Ok(report)
}

/// The source with its transformation, if the copy has one.
fn transformed(
    source: Box<dyn Source>,
    request: &CopyRequest,
    arguments: &CopyArgs,
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
        this.rejects = Some(opened.map_err(|source| this.failure(source))?);
        Ok(this)
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

/// Hands on what a copy says.
struct Watch<'a>(&'a dyn CopyListener);

impl CopyWatch for Watch<'_> {
    fn progress(&self, sent: u64, committed: u64) {
        self.0.rows(sent.max(committed));
    }

    fn note(&self, text: &str) {
        self.0.note(text);
    }

    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}
