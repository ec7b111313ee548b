//! Has the server itself read a file that it sees.

use load::{BulkInsertOptions, TableName, bulk_insert_statement};

use crate::model::BulkInsertTask;
use crate::task::step_mark;
use crate::task_context::{Done, TaskContext};
use crate::task_error::TaskError;

const FILE_TYPES: [&str; 4] = ["char", "native", "widechar", "widenative"];

pub(super) fn run(task: &TaskContext<'_>) -> Result<Done, TaskError> {
    let bulk: BulkInsertTask = task.action()?;
    let mut client = task.server.connect(&bulk.connection, task.scope, bulk.timeout.map(|span| span.0))?;
    if bulk.transaction == Some(false) {
        return insert(&bulk, &mut client);
    }
    step_mark::once(&mut client, &task.identity(), &mut |client| {
        insert(&bulk, client).map_err(|error| TaskError { is_in_doubt: false, ..error })
    })
}

/// Runs within a transaction on this connection.
pub(super) fn insert_here(task: &TaskContext<'_>, client: &mut load::Client) -> Result<Done, TaskError> {
    insert(&task.action()?, client)
}

fn insert(bulk: &BulkInsertTask, client: &mut load::Client) -> Result<Done, TaskError> {
    let table: TableName =
        bulk.table.parse().map_err(|error: load::Error| TaskError::last(error.to_string()))?;
    let result = client
        .execute(&bulk_insert_statement(&table, &bulk.file, &options(bulk)?))
        .map_err(TaskError::of_client)?;
    let mut done = Done { rows: Some(result.rows_affected), ..Done::default() };
    done.notes.extend(result.messages.iter().map(|message| message.message.clone()));
    if let Some(name) = &bulk.rows_into {
        done.variables.insert(name.clone(), Some(result.rows_affected.to_string()));
    }
    Ok(done)
}

fn options(bulk: &BulkInsertTask) -> Result<BulkInsertOptions, TaskError> {
    let data_file_type = match &bulk.data_file_type {
        None => None,
        Some(word) => {
            Some(*FILE_TYPES.iter().find(|known| known.eq_ignore_ascii_case(word)).ok_or_else(|| {
                TaskError::last(format!("data_file_type {word:?} is none of {}", FILE_TYPES.join(", ")))
            })?)
        }
    };
    let csv = match bulk.format.as_deref() {
        None => false,
        Some(word) if word.eq_ignore_ascii_case("csv") => true,
        Some(word) => return Err(TaskError::last(format!("format {word:?} is not known: CSV is"))),
    };
    let positive = |number: Option<i64>| number.and_then(|number| u64::try_from(number).ok());
    Ok(BulkInsertOptions {
        data_file_type,
        csv,
        field_terminator: bulk.field_terminator.clone(),
        row_terminator: bulk.row_terminator.clone(),
        code_page: bulk.code_page.clone(),
        format_file: bulk.format_file.clone(),
        first_row: positive(bulk.first_row),
        last_row: positive(bulk.last_row),
        max_errors: positive(bulk.max_errors),
        table_lock: bulk.table_lock,
        check_constraints: bulk.check_constraints,
        fire_triggers: bulk.fire_triggers,
        keep_identity: bulk.keep_identity,
        keep_nulls: bulk.keep_nulls,
        ..BulkInsertOptions::default()
    })
}
