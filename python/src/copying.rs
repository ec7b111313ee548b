//! `bulkwire.copy`: a copy that keywords describe, with exceptions in place of exit codes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bulkwire_transform::Transformer;
use copy::{
    CopyError, CopyReport as Report, CopyWatch, Ends, FailedCopy, Language, Options, Spec, TableOutcome,
    TransformEngine, Voice,
};
use load::Interruption;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value};

use crate::pickled::pickled;
use crate::row_function::RowFunction;
use crate::{failure, interrupt};

/// The report of one copied table, file or query.
#[pyclass(frozen, get_all, module = "bulkwire")]
pub(crate) struct CopyReport {
    /// The source.
    source: String,
    /// The destination.
    destination: String,
    /// Rows that were read.
    rows_read: u64,
    /// Rows that were written.
    rows: u64,
    /// Rows that were refused.
    rejected: u64,
    /// Rows that an earlier run had committed.
    rows_committed_before: u64,
    /// Bytes that were written, `None` where the destination does not count them.
    bytes: Option<u64>,
    /// Connections that wrote.
    writers: usize,
    /// Wall-clock time.
    seconds: f64,
    /// The number of rows per action, by name, where each row names its own.
    actions: Option<BTreeMap<String, u64>>,
    /// The statement that made the table, if it was made.
    created_by: Option<String>,
    /// An earlier run had copied everything.
    done_before: bool,
    /// Every choice of the plan with its reason: (setting, value, reason).
    plan: Vec<(String, String, String)>,
    /// More about it.
    notes: Vec<String>,
}

impl CopyReport {
    fn of(report: Report) -> Self {
        let plan =
            report.plan.into_iter().map(|choice| (choice.setting.to_owned(), choice.value, choice.reason));
        Self {
            plan: plan.collect(),
            source: report.source,
            destination: report.destination,
            rows_read: report.rows_read,
            rows: report.rows_written,
            rejected: report.rows_refused,
            rows_committed_before: report.rows_skipped,
            bytes: report.bytes_written,
            writers: report.writers,
            actions: report.actions.map(|actions| {
                BTreeMap::from([
                    ("inserted".to_owned(), actions.inserted),
                    ("updated".to_owned(), actions.updated),
                    ("deleted".to_owned(), actions.deleted),
                    ("unchanged".to_owned(), actions.unchanged),
                    ("missing".to_owned(), actions.missing),
                    ("skipped".to_owned(), actions.skipped),
                ])
            }),
            seconds: report.elapsed.as_secs_f64(),
            created_by: report.created_by,
            done_before: report.was_done,
            notes: report.notes,
        }
    }
}

pickled!(CopyReport {
    source,
    destination,
    rows_read,
    rows,
    rejected,
    rows_committed_before,
    bytes,
    writers,
    seconds,
    actions,
    created_by,
    done_before,
    plan,
    notes,
});

/// Rebuilds a report; pickle calls it.
#[pyfunction]
pub(crate) fn _copy_report(fields: &Bound<'_, PyDict>) -> PyResult<CopyReport> {
    CopyReport::of_fields(fields)
}

#[pymethods]
impl CopyReport {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyDict>,))> {
        let restore = py.import("bulkwire._bulkwire")?.getattr("_copy_report")?;
        Ok((restore, (self.fields(py)?,)))
    }

    fn __repr__(&self) -> String {
        format!(
            "<bulkwire.CopyReport: {} -> {}, {} rows in {:.2} s>",
            self.source, self.destination, self.rows, self.seconds
        )
    }
}

/// The progress of all tables together.
#[derive(Default)]
struct Watch {
    interruption: Interruption,
    sent: AtomicU64,
    committed: AtomicU64,
}

impl CopyWatch for Watch {
    fn progress(&self, sent: u64, committed: u64) {
        self.sent.fetch_max(sent, Ordering::Relaxed);
        self.committed.fetch_max(committed, Ordering::Relaxed);
    }

    fn is_cancelled(&self) -> bool {
        self.interruption.is_asked()
    }

    fn interruption(&self) -> Option<&Interruption> {
        Some(&self.interruption)
    }
}

/// The result of each table: its name, and its report or its exception.
type Results = Vec<(String, Option<CopyReport>, Option<Py<PyAny>>, Vec<String>)>;

/// The arguments of a call.
struct Asked {
    source: String,
    destination: String,
    /// The options, by their keys.
    options: Map<String, Value>,
    lookups: Vec<(String, String)>,
    is_dry: bool,
    report: Option<PathBuf>,
}

impl Asked {
    fn spec(&self) -> Result<Spec, CopyError> {
        let mut options = Options::from_keys(&self.options, Language::Python)?;
        options.transformation.lookups.clone_from(&self.lookups);
        if options.connection.url.is_none() {
            options.connection.url = std::env::var("BULKWIRE_URL").ok().filter(|url| !url.is_empty());
        }
        let voice = Voice { warns: bulkwire_cli::warns, ..Voice::default() };
        let ends = Ends::parse(&self.source, &self.destination, &options, voice)?;
        let spec = Spec::new(&ends, &options, Language::Python, voice)?;
        Ok(Spec { is_dry: self.is_dry, ..spec })
    }

    fn run(&self, engine: &Arc<dyn TransformEngine>, watch: &Watch) -> Result<Vec<TableOutcome>, CopyError> {
        self.report.as_deref().map(bulkwire_cli::check_page).transpose()?;
        let copied = copy::run(&self.spec()?, Some(engine), watch)?;
        if let Some(page) = &self.report {
            bulkwire_cli::write_copy_page(page, &copied.tables);
        }
        Ok(copied.tables)
    }
}

/// Runs a copy of one end into the other. `said` is an object of JSON with the keys of [`copy::Options`], and the lookups; `ran` is
/// whether nothing is copied, and the page about the copy.
#[pyfunction]
pub(crate) fn run_copy(
    py: Python<'_>,
    ends: (String, String),
    said: (String, Vec<(String, String)>),
    ran: (bool, Option<PathBuf>),
    on_progress: Option<Py<PyAny>>,
    function: Option<Py<PyAny>>,
) -> PyResult<Results> {
    let ((source, destination), (options, lookups), (is_dry, report)) = (ends, said, ran);
    let options = serde_json::from_str(&options).map_err(|error| failure::usage(py, error.to_string()))?;
    let asked = Asked { source, destination, options, lookups, is_dry, report };
    let watch = Watch::default();
    let engine: Arc<dyn TransformEngine> = match function {
        Some(function) => Arc::new(RowFunction::new(function)),
        None => Arc::new(Transformer),
    };
    let outcomes = interrupt::run(
        py,
        || asked.run(&engine, &watch),
        || watch.interruption.interrupt(),
        |py| match &on_progress {
            Some(call) => {
                let at = (watch.sent.load(Ordering::Relaxed), watch.committed.load(Ordering::Relaxed));
                call.call1(py, at).map(drop)
            }
            None => Ok(()),
        },
    )?;
    let outcomes = outcomes.map_err(|error| raised(py, error))?;
    Ok(outcomes.into_iter().map(|outcome| result(py, outcome)).collect())
}

fn result(
    py: Python<'_>,
    outcome: TableOutcome,
) -> (String, Option<CopyReport>, Option<Py<PyAny>>, Vec<String>) {
    let TableOutcome { name, result, afterwards, failed_afterwards } = outcome;
    let failed = |error: CopyError| Some(raised(py, error).into_value(py).into_any());
    match (result, failed_afterwards) {
        (Some(Ok(report)), None) => (name, Some(CopyReport::of(report)), None, afterwards),
        (Some(Ok(report)), Some(error)) => (name, Some(CopyReport::of(report)), failed(error), afterwards),
        (Some(Err(done)), _) => {
            let FailedCopy { error, left, .. } = *done;
            (name, None, failed(error), left)
        }
        (None, _) => (name, None, None, vec!["not begun".to_owned()]),
    }
}

pub(crate) fn raised(py: Python<'_>, error: CopyError) -> PyErr {
    let error = match error {
        // The exception that a function over rows has raised.
        CopyError::Stream(source) | CopyError::Endpoint { source, .. } if source.is::<PyErr>() => {
            return source
                .downcast::<PyErr>()
                .map_or_else(|source| failure::named(py, "Error", source.to_string()), |raised| *raised);
        }
        other => other,
    };
    let text = error.to_string();
    match error {
        CopyError::Usage(_) => failure::usage(py, text),
        CopyError::Config { .. } => failure::named(py, "ConfigError", text),
        CopyError::Client { source, .. } => failure::from_error(py, *source),
        CopyError::Unfit { error, .. } | CopyError::Statement { error, .. } => {
            failure::from_error(py, *error)
        }
        CopyError::Load { error, .. } => failure::from_load(py, *error),
        CopyError::Count { .. } => failure::named(py, "CountMismatchError", text),
        CopyError::Cancelled => failure::named(py, "CancelledError", text),
        CopyError::Format(_) | CopyError::Row { .. } | CopyError::Stream(_) => {
            failure::named(py, "SourceError", text)
        }
        _ => failure::named(py, "Error", text),
    }
}
