//! Runs SQL on a server.

use std::collections::BTreeMap;

use load::{Client, Error, ValueTable};
use tds::{SqlType, Value};

use crate::model::{Into, Plain, SqlTask};
use crate::scalar::Scalar;
use crate::scope::Secrets;
use crate::sql_script::{Batch, batches, script_text};
use crate::task::step_mark;
use crate::task_context::{Done, TaskContext};
use crate::task_error::TaskError;
use crate::template::Template;

type Parameter = (String, SqlType, Value);

pub(super) fn run(task: &TaskContext<'_>, raw: &SqlTask) -> Result<Done, TaskError> {
    let sql: SqlTask = task.action()?;
    let mut client = task.server.connect(&sql.connection, task.scope, sql.timeout.map(|span| span.0))?;
    match sql.transaction {
        Some(true) => {
            step_mark::once(&mut client, &task.identity(), &mut |client| statements(task, raw, client, true))
        }
        _ => statements(task, raw, &mut client, false),
    }
}

/// Runs the batches of a task on a connection.
pub(super) fn statements(
    task: &TaskContext<'_>,
    raw: &SqlTask,
    client: &mut Client,
    in_transaction: bool,
) -> Result<Done, TaskError> {
    let sql: SqlTask = task.action()?;
    let (place, text) = script(task, &sql)?;
    let parameters = parameters(task, raw)?;
    let mut done = Done::default();
    let mut first: Option<ValueTable> = None;
    let mut rows = 0_u64;
    for Batch { sql: batch, line, count } in
        batches(&text).map_err(|error| TaskError::last(error.to_string()))?
    {
        let used: Vec<(&str, SqlType, Value)> = parameters
            .iter()
            .filter(|(name, ..)| mentions(&batch, name))
            .map(|(name, sql_type, value)| (name.as_str(), sql_type.clone(), value.clone()))
            .collect();
        for _ in 0..count {
            let ran = run_batch(task, client, &batch, &used, sql.into.is_some(), &mut first, &mut done);
            rows = rows.saturating_add(ran.map_err(|error| {
                // Within a transaction, what is lost is rolled back.
                let error = if in_transaction { error.settled() } else { error };
                let failed = TaskError::of_client(error);
                TaskError { message: format!("{place}, line {line}: {}", failed.message), ..failed }
            })?);
        }
    }
    match &sql.into {
        Some(into) => taken(into, first.as_ref(), &mut done.variables)?,
        None => done.rows = Some(rows),
    }
    if let Some(name) = sql.rows_into {
        done.variables.insert(name, Some(rows.to_string()));
    }
    Ok(done)
}

fn run_batch(
    task: &TaskContext<'_>,
    client: &mut Client,
    batch: &str,
    parameters: &[(&str, SqlType, Value)],
    wants_rows: bool,
    first: &mut Option<ValueTable>,
    done: &mut Done,
) -> Result<u64, Error> {
    if wants_rows {
        let tables = match parameters {
            [] => client.query_values(batch),
            parameters => client.query_values_with(batch, parameters),
        };
        let tables = client.doubted(tables)?;
        if first.is_none() {
            *first = tables.into_iter().next();
        }
        return Ok(0);
    }
    let result = match parameters {
        [] => client.execute(batch),
        parameters => client.execute_with(batch, parameters),
    }?;
    for message in &result.messages {
        task.note(&message.message);
        // A script that prints in a loop must not fill the report.
        if done.notes.len() < 20 {
            done.notes.push(message.message.clone());
        }
    }
    Ok(result.rows_affected)
}

/// Returns the SQL, and the name of its place.
fn script(task: &TaskContext<'_>, sql: &SqlTask) -> Result<(String, String), TaskError> {
    let Some(file) = &sql.file else {
        return Ok(("statement".to_owned(), sql.statement.clone().unwrap_or_default()));
    };
    let bytes = std::fs::read(task.scope.folder().join(file))
        .map_err(|error| TaskError::new(format!("{file}: {error}")))?;
    let text = script_text(&bytes).ok_or_else(|| {
        TaskError::last(format!("{file} is neither UTF-8 nor UTF-16 with a byte-order mark"))
    })?;
    Ok((file.clone(), text))
}

/// Returns the parameters, each in the type of its variable.
fn parameters(task: &TaskContext<'_>, raw: &SqlTask) -> Result<Vec<Parameter>, TaskError> {
    raw.parameters
        .iter()
        .map(|(name, plain)| {
            let value = match plain {
                Plain::Text(text) => {
                    let template =
                        Template::parse(text).map_err(|error| TaskError::last(error.to_string()))?;
                    match template.only_variable().and_then(|variable| task.scope.get(variable)) {
                        Some(value) => value,
                        None => Scalar::text(task.scope.text(text, Secrets::Resolve)?),
                    }
                }
                other => Scalar::of_plain(other),
            };
            let (sql_type, value) = value.parameter();
            Ok((format!("@{name}"), sql_type, value))
        })
        .collect()
}

/// Returns true if a batch mentions a parameter. A mention within a comment does no harm.
fn mentions(batch: &str, name: &str) -> bool {
    let (batch, name) = (batch.to_lowercase(), name.to_lowercase());
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '@' | '#' | '$');
    batch.match_indices(&name).any(|(at, _)| {
        let before = batch.get(..at).and_then(|text| text.chars().next_back());
        let behind = batch.get(at + name.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(is_name) && !behind.is_some_and(is_name)
    })
}

/// Sets the variables that take values of the first row.
fn taken(
    into: &Into,
    first: Option<&ValueTable>,
    variables: &mut BTreeMap<String, Option<String>>,
) -> Result<(), TaskError> {
    let table = first.ok_or_else(|| TaskError::new("the SQL returns no result, and `into` wants one"))?;
    let row =
        table.rows.first().ok_or_else(|| TaskError::new("the result has no row, and `into` wants one"))?;
    let text = |value: &Value| (!value.is_null()).then(|| value.to_string());
    match into {
        Into::First(name) => {
            variables.insert(name.clone(), row.first().and_then(text));
        }
        Into::Columns(columns) => {
            for (name, column) in columns {
                let index = table.columns.iter().position(|known| known.eq_ignore_ascii_case(column));
                let value = index.and_then(|index| row.get(index));
                let value =
                    value.ok_or_else(|| TaskError::last(format!("the result has no column {column:?}")))?;
                variables.insert(name.clone(), text(value));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::mentions;

    #[test]
    fn parameters_are_found_by_their_whole_name() {
        assert!(mentions("SELECT @Day", "@day"));
        assert!(mentions("WHERE d=@day;", "@day"));
        assert!(!mentions("SELECT @days, @@day", "@day"));
    }
}
