//! Copies rows from any source to any destination.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use copy::rejects::{REJECTS_SHOWN_MAX, Rejected, described};
use copy::{
    Copied, CopyError, CopyReport, CopyWatch, DatabaseEndpoint, DestinationSpec, Ends, FileEndpoint,
    Language, LookupEnd, Options, Record, Recorded, Spec, SqlServerEndpoint, TableOutcome,
};
use load::report::grouped;
use load::{Interruption, TableName};
use serde_json::Value;

use crate::copies::Copies;
use crate::model::{Action, CopyTask, Endpoint, EndpointParts, Task};
use crate::run::event::Event;
use crate::scope::{Scope, Secrets};
use crate::server::Server;
use crate::task::step_mark::key_of;
use crate::task_context::{Done, TaskContext};
use crate::task_error::TaskError;

pub(super) fn run(task: &TaskContext<'_>) -> Result<Done, TaskError> {
    let Some(copies) = task.run.copies else {
        return Err(TaskError::last("this program has no means to copy rows"));
    };
    let tree = task.scope.tree(&task.step.raw, Secrets::Resolve)?;
    let copy = task_of(&tree)?;
    let spec = spec(&copy, task.scope, &task.server, copies, key_of(&task.identity()))?;
    let watch = Watch { task, rows: AtomicU64::new(0), shown: AtomicU64::new(0) };
    let copied = copy::run(&spec, copies.engine.as_ref(), &watch).map_err(|error| failed(&error))?;
    let mut done = Done { rows: Some(0), ..Done::default() };
    let (mut rows, mut refused) = (0_u64, 0_u64);
    for (name, report) in ended(copied)? {
        rows = rows.saturating_add(report.rows_written).saturating_add(report.rows_skipped);
        refused = refused.saturating_add(report.refused());
        let skipped = grouped(report.rows_skipped);
        let before = (report.rows_skipped > 0).then(|| format!("{skipped} rows were there already"));
        done.notes.extend(report.notes.into_iter().chain(before).map(|note| named(&name, note)));
    }
    done.rows = Some(rows);
    done.refused = refused;
    done.variables.extend(copy.rows_into.map(|name| (name, Some(rows.to_string()))));
    done.variables.extend(copy.refused_into.map(|name| (name, Some(refused.to_string()))));
    Ok(done)
}

/// Lists the choices that a copy would make, a line each. Looks at both ends, and changes nothing.
pub(crate) fn plan_of(
    tree: &Value,
    scope: &Scope,
    server: &Server<'_>,
    copies: &Copies,
) -> Result<Vec<String>, TaskError> {
    let spec = spec(&task_of(tree)?, scope, server, copies, String::new())?;
    let spec = Spec { is_dry: true, ..spec };
    let copied = copy::run(&spec, copies.engine.as_ref(), &()).map_err(|error| failed(&error))?;
    let mut lines = Vec::new();
    for (name, report) in ended(copied)? {
        let choices = report.plan.iter().map(|choice| match choice.reason.is_empty() {
            true => format!("{}: {}", choice.setting, choice.value),
            false => format!("{}: {} ({})", choice.setting, choice.value, choice.reason),
        });
        let created = report.created_by.map(|statement| {
            format!("makes the table: {}", statement.split_whitespace().collect::<Vec<_>>().join(" "))
        });
        lines.extend(created.into_iter().chain(choices).map(|line| named(&name, line)));
    }
    Ok(lines)
}

fn named(table: &str, line: String) -> String {
    if table.is_empty() { line } else { format!("{table}: {line}") }
}

/// Returns the reports of all tables with their names (none for a single copy), or the reason why not all are copied.
fn ended(copied: Copied) -> Result<Vec<(String, CopyReport)>, TaskError> {
    let Copied { tables, is_single, .. } = copied;
    let count = tables.len();
    let (mut done, mut failures) = (Vec::new(), Vec::new());
    for TableOutcome { name, result, afterwards, failed_afterwards } in tables {
        match (result, failed_afterwards) {
            (Some(Ok(mut report)), None) => {
                report.notes.extend(afterwards);
                done.push((if is_single { String::new() } else { name }, report));
            }
            (Some(Err(failed)), _) => failures.push((name, failed.error)),
            (_, Some(error)) => failures.push((name, error)),
            (None, None) => {}
        }
    }
    match failures.as_slice() {
        [] => Ok(done),
        [(_, error)] if is_single => Err(TaskError { is_final: false, ..failed(error) }),
        failures => {
            let reasons: Vec<String> =
                failures.iter().map(|(name, error)| format!("{name}: {error}")).collect();
            Err(TaskError {
                message: format!("{} of {count} tables failed: {}", failures.len(), reasons.join("; ")),
                is_in_doubt: failures.iter().any(|(_, error)| error.is_in_doubt()),
                is_final: false,
            })
        }
    }
}

fn failed(error: &CopyError) -> TaskError {
    TaskError {
        message: error.to_string(),
        is_in_doubt: error.is_in_doubt(),
        is_final: matches!(error, CopyError::Usage(_) | CopyError::Config { .. }),
    }
}

/// Hears of a copy for its task.
struct Watch<'a, 'b> {
    task: &'a TaskContext<'b>,
    /// The rows of all tables.
    rows: AtomicU64,
    /// Refused rows that were shown.
    shown: AtomicU64,
}

impl CopyWatch for Watch<'_, '_> {
    fn note(&self, text: &str) {
        self.task.note(text);
    }

    fn is_cancelled(&self) -> bool {
        self.task.run.is_interrupted()
    }

    fn interruption(&self) -> Option<&Interruption> {
        Some(&self.task.run.interruption)
    }

    fn of_table(&self, _name: &str) -> Option<Box<dyn CopyWatch + '_>> {
        Some(Box::new(TableWatch { all: self, rows: AtomicU64::new(0) }))
    }
}

/// Hears of one table.
struct TableWatch<'a, 't, 'b> {
    all: &'a Watch<'t, 'b>,
    rows: AtomicU64,
}

impl CopyWatch for TableWatch<'_, '_, '_> {
    fn progress(&self, sent: u64, committed: u64) {
        let now = sent.max(committed);
        let more = now.saturating_sub(self.rows.fetch_max(now, Ordering::Relaxed));
        let before = self.all.rows.fetch_add(more, Ordering::Relaxed);
        let rows = before.saturating_add(more);
        let task = self.all.task;
        task.run.observer.event(&Event::Rows { task: task.path, rows });
    }

    fn note(&self, text: &str) {
        self.all.note(text);
    }

    fn is_cancelled(&self) -> bool {
        self.all.is_cancelled()
    }

    fn refused(&self, row: &Rejected<'_>, _before: u64) {
        if self.all.shown.fetch_add(1, Ordering::Relaxed) < REJECTS_SHOWN_MAX {
            self.note(&format!("refused: {}", described(row)));
        }
    }
}

fn task_of(tree: &Value) -> Result<CopyTask, TaskError> {
    let task: Result<Task, _> = serde_json::from_value(tree.clone());
    match task.map_err(|error| TaskError::last(error.to_string()))?.action {
        Action::Copy(copy) => Ok(*copy),
        _ => Err(TaskError::last("this is no task that copies")),
    }
}

/// Makes the copy of an expanded task. `load_id` names the record of its rows.
fn spec(
    copy: &CopyTask,
    scope: &Scope,
    server: &Server<'_>,
    copies: &Copies,
    load_id: String,
) -> Result<Spec, TaskError> {
    let (source, query) = endpoint(&copy.source, scope, server)?;
    let (destination, _) = endpoint(&copy.destination, scope, server)?;
    let usage = |error: CopyError| failed(&error);
    let mut options = Options::from_keys(&copy.options.0, Language::Toml).map_err(usage)?;
    options.place_in(scope.folder());
    options.tables.query = query;
    let mut lookups = Vec::new();
    for (name, lookup) in &copy.lookups {
        let (endpoint, query) = endpoint(lookup, scope, server)?;
        lookups.push(LookupEnd { name: name.clone(), endpoint, query });
    }
    let ends = Ends { source, destination, lookups };
    let mut spec = Spec::new(&ends, &options, Language::Toml, copies.voice).map_err(usage)?;
    spec.refusals.is_kept_between_runs = true;
    if let DestinationSpec::Server(target) = &mut spec.destination
        && copy.resume != Some(false)
    {
        target.record = Record::IfRepeatable(Recorded {
            load_id,
            name_of: |load_id, table| key_of(&format!("{load_id} {table}")),
            is_required: copy.resume == Some(true),
            ledger_schema: options.writers.ledger_schema.clone(),
        });
    }
    Ok(spec)
}

/// Makes an endpoint, and a query in place of a table.
fn endpoint(
    endpoint: &Endpoint,
    scope: &Scope,
    server: &Server<'_>,
) -> Result<(copy::Endpoint, Option<String>), TaskError> {
    let parts = match endpoint {
        Endpoint::Spelled(text) => {
            return Ok((within(server.endpoint(text)?, scope.folder()), None));
        }
        Endpoint::Parts(parts) => parts,
    };
    let EndpointParts { connection, table, query, query_file, path } = parts;
    if let Some(path) = path {
        return Ok((within(copy::Endpoint::of_path(path), scope.folder()), None));
    }
    let name = connection.as_deref().ok_or_else(|| TaskError::last("an endpoint has no connection"))?;
    let query = match query_file {
        Some(file) => {
            let bytes = std::fs::read(scope.folder().join(file))
                .map_err(|error| TaskError::new(format!("{file}: {error}")))?;
            let text = crate::sql_script::script_text(&bytes);
            Some(text.ok_or_else(|| TaskError::last(format!("{file} is neither UTF-8 nor UTF-16")))?)
        }
        None => query.clone(),
    };
    if server.is_sql_server(name) {
        let table = match table {
            Some(table) => {
                Some(table.parse::<TableName>().map_err(|error| TaskError::last(error.to_string()))?)
            }
            None => None,
        };
        let config = server.config(name, scope)?;
        return Ok((copy::Endpoint::SqlServer(Box::new(SqlServerEndpoint { config, table })), query));
    }
    let url = server.url(name, scope)?;
    let parsed = copy::Endpoint::parse(&url, None).map_err(|error| TaskError::last(error.to_string()))?;
    Ok(match parsed {
        copy::Endpoint::Database(database) => {
            (copy::Endpoint::Database(DatabaseEndpoint { table: table.clone(), ..database }), query)
        }
        // A workbook, whose tables are its sheets.
        copy::Endpoint::Files(files) => {
            let files = FileEndpoint { sheet: table.clone().or(files.sheet), ..files };
            (within(copy::Endpoint::Files(files), scope.folder()), query)
        }
        copy::Endpoint::DatabaseFile(files) => {
            let files = files.with_table(table.clone().or(files.table.clone()));
            (within(copy::Endpoint::DatabaseFile(files), scope.folder()), query)
        }
        other => (other, query),
    })
}

/// Paths are relative to the package's folder.
fn within(endpoint: copy::Endpoint, folder: &Path) -> copy::Endpoint {
    match endpoint {
        copy::Endpoint::Files(files) if files.path != "-" => {
            let path = folder.join(&files.path).to_string_lossy().into_owned();
            copy::Endpoint::Files(FileEndpoint { path, ..files })
        }
        copy::Endpoint::DatabaseFile(files) => copy::Endpoint::DatabaseFile(files.within(folder)),
        other => other,
    }
}
