//! Copies rows from any source to any destination.

use std::path::Path;

use copy::{DatabaseEndpoint, FileEndpoint, SqlServerEndpoint, Transformation};
use load::TableName;
use serde_json::Value;

use crate::copier::{Copied, CopyListener, CopyRequest};
use crate::model::{CopyTask, Endpoint, EndpointParts, NO_FLAGS};
use crate::run::event::Event;
use crate::scope::{Scope, Secrets};
use crate::server::Server;
use crate::task::step_mark::key_of;
use crate::task_context::{Done, TaskContext};
use crate::task_error::TaskError;

/// Flags whose values are paths.
const PATHS: [&str; 1] = ["format_file"];

pub(super) fn run(task: &TaskContext<'_>) -> Result<Done, TaskError> {
    let Some(copier) = task.run.copier else {
        return Err(TaskError::last("this program has no means to copy rows"));
    };
    let tree = task.scope.tree(&task.step.raw, Secrets::Resolve)?;
    let mut request = request(&tree, task.scope, &task.server)?;
    if request.load_id.is_some() {
        request.load_id = Some(key_of(&task.identity()));
    }
    let copy: CopyTask = serde_json::from_value(tree).map_err(|error| TaskError::last(error.to_string()))?;
    let Copied { rows, refused, notes } = copier.copy(&request, &Listener(task)).map_err(|failure| {
        TaskError { message: failure.message, is_in_doubt: failure.is_in_doubt, is_final: failure.is_final }
    })?;
    let mut done = Done { rows: Some(rows), refused, notes, ..Done::default() };
    done.variables.extend(copy.rows_into.map(|name| (name, Some(rows.to_string()))));
    done.variables.extend(copy.refused_into.map(|name| (name, Some(refused.to_string()))));
    Ok(done)
}

struct Listener<'a, 'b>(&'a TaskContext<'b>);

impl CopyListener for Listener<'_, '_> {
    fn rows(&self, rows: u64) {
        self.0.run.observer.event(&Event::Rows { task: self.0.path, rows });
    }

    fn note(&self, note: &str) {
        self.0.note(note);
    }

    fn is_cancelled(&self) -> bool {
        self.0.run.is_interrupted()
    }
}

/// The copy that an expanded task asks for. Its load has no name yet.
pub(crate) fn request(tree: &Value, scope: &Scope, server: &Server<'_>) -> Result<CopyRequest, TaskError> {
    let copy: CopyTask =
        serde_json::from_value(tree.clone()).map_err(|error| TaskError::last(error.to_string()))?;
    let (source, query) = endpoint(&copy.source, scope, server)?;
    let (destination, _) = endpoint(&copy.destination, scope, server)?;
    let mut flags = Vec::new();
    for (key, value) in tree.as_object().into_iter().flatten() {
        if !NO_FLAGS.contains(&key.as_str()) {
            flag(key, value, scope.folder(), &mut flags);
        }
    }
    if let Some(file) = &copy.rejects {
        flags.extend(["--rejects".to_owned(), scope.folder().join(file).display().to_string()]);
    }
    let query_of_file = match &copy.transform {
        Some(file) => Some(
            std::fs::read_to_string(scope.folder().join(file))
                .map_err(|error| TaskError::new(format!("{file}: {error}")))?,
        ),
        None => copy.transform_sql.clone(),
    };
    let mut lookups = Vec::new();
    for (name, lookup) in &copy.lookups {
        let (endpoint, query) = endpoint(lookup, scope, server)?;
        lookups.push((name.clone(), endpoint, query));
    }
    let loads_server = matches!(destination, copy::Endpoint::SqlServer(_));
    Ok(CopyRequest {
        source,
        query,
        destination,
        flags,
        transformation: Transformation {
            select: copy.select,
            condition: copy.condition,
            query: query_of_file,
            ..Transformation::default()
        },
        lookups,
        load_id: (loads_server && copy.resume != Some(false)).then(String::new),
        must_resume: copy.resume == Some(true),
    })
}

/// A key as a flag of `bulkwire copy`.
fn flag(key: &str, value: &Value, folder: &Path, flags: &mut Vec<String>) {
    let name = format!("--{}", key.replace('_', "-"));
    match value {
        Value::Bool(true) => flags.push(name),
        Value::Bool(false) | Value::Null | Value::Object(_) => {}
        Value::Array(items) => items.iter().for_each(|item| flag(key, item, folder, flags)),
        Value::String(text) if PATHS.contains(&key) => {
            flags.push(format!("{name}={}", folder.join(text).display()));
        }
        Value::String(text) => flags.push(format!("{name}={text}")),
        other => flags.push(format!("{name}={other}")),
    }
}

/// An endpoint, and a query in place of a table.
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
        return Ok((within(copy::Endpoint::Files(FileEndpoint::parse(path)), scope.folder()), None));
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
        other => other,
    }
}
