//! INSERT … SELECT … FROM OPENROWSET(BULK …): the rows are a file's, and the target's hints are those of bulk loads.

use arrow::array::ArrayRef;
use databases::catalogue::TableDefinition;
use databases::table::{InputRows, WriteOptions};
use tds::SqlType;
use tsql::SqlError;
use tsql::ast::Insert;
use tsql::errors;

use crate::session::Session;
use crate::statements::dml::destination;

/// Positions of the columns that the file's columns go to. The file has one for the identity too, whose values count only
/// with KEEPIDENTITY.
pub(crate) fn file_targets(
    session: &Session,
    insert: &Insert,
    table: &TableDefinition,
) -> Result<Vec<usize>, SqlError> {
    let Some(names) = &insert.columns else {
        let loadable = table
            .columns
            .iter()
            .enumerate()
            .filter(|(_, column)| column.computed.is_none() && column.sql_type != SqlType::RowVersion);
        return Ok(loadable.map(|(position, _)| position).collect());
    };
    let identity = table.identity().map(|(position, _)| position);
    let others: Vec<String> = names
        .iter()
        .filter(|name| table.position(name).is_none_or(|at| Some(at) != identity))
        .cloned()
        .collect();
    destination::target_columns(session, &insert.table, Some(&others), table)?;
    names.iter().map(|name| table.position(name).ok_or_else(|| errors::INVALID_COLUMN.with([name]))).collect()
}

/// Returns the options of writing the rows.
pub(crate) fn file_write_options(insert: &Insert) -> WriteOptions {
    WriteOptions {
        statement: "INSERT",
        conflict: "INSERT",
        default_for_null: insert.from_file.keep_defaults,
        check_constraints: !insert.from_file.ignore_constraints,
        table_lock: insert.table_lock,
    }
}

/// Puts a batch of a SELECT into the places of its columns. Values for an identity that is not kept are dropped.
pub(crate) fn placed(
    insert: &Insert,
    table: &TableDefinition,
    targets: &[usize],
    arrays: &[ArrayRef],
    types: &[SqlType],
) -> InputRows {
    let rows = arrays.first().map_or(0, |array| array.len());
    let mut input = InputRows::placed(table.columns.len(), targets, arrays, types, rows);
    let dropped = insert.reads_file() && !insert.from_file.keep_identity;
    if let Some((identity, _)) = table.identity().filter(|_| dropped)
        && let Some(slot) = input.columns.get_mut(identity)
    {
        *slot = None;
    }
    input
}
