//! The target table of rows: found and locked, with the columns that get values.

use std::sync::Arc;

use databases::catalogue::{ColumnDefinition, TableDefinition};
use databases::storage::LockMode;
use databases::store_error::uncommittable;
use databases::table::{TableWriter, WriteOptions, WritePlan};
use query::Binder;
use tds::SqlType;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::ast::{Insert, InsertSource};
use tsql::errors;
use tsql::expression::Expr;

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::work::locks;
use crate::session::work::reads;
use crate::session::work::variables;
use crate::session::work::{OpenTable, Place, VariableAccess};
use crate::statements::dml::references;
use crate::statements::evaluation::environment::SessionEnvironment;
use crate::statements::evaluation::isolation;
use crate::statements::evaluation::resolve::{opened, view_module};

/// Finds the table that rows go to. Errors: 208; 10700 and 286 for one that may only be read.
pub(crate) fn writable(session: &Session, name: &ObjectName) -> Result<OpenTable, SqlError> {
    check_writable(session, name)?;
    let table = opened(session, name)?;
    if session.work.is_doomed() && table.place != Place::Variable {
        return Err(uncommittable());
    }
    Ok(table)
}

/// Finds the table of a bulk load, by the rules of [`writable`]. Errors: 40515 for a view, which SQL Server loads through.
pub(crate) fn loadable(session: &Session, name: &ObjectName) -> Result<OpenTable, SqlError> {
    if view_module(session, name)?.is_some() {
        let what = format!("A bulk load through the view '{name}' (load its table instead)");
        return Err(errors::UNSUPPORTED.with([&what]));
    }
    writable(session, name)
}

/// Makes a writer for a statement that has begun.
pub(crate) fn writer_of(
    session: &mut Session,
    table: &OpenTable,
    frame: &Frame,
    statement: &'static str,
    fresh: bool,
) -> Result<TableWriter, SqlError> {
    let options = write_options(statement, statement);
    writer_with(session, table, frame, options, fresh)
}

/// Makes a writer with options. Locks the table: exclusively if its keys change with its rows or if that is requested,
/// else beside other writers.
pub(crate) fn writer_with(
    session: &mut Session,
    table: &OpenTable,
    frame: &Frame,
    options: WriteOptions,
    fresh: bool,
) -> Result<TableWriter, SqlError> {
    let plan = {
        let environment = SessionEnvironment::new(session, frame);
        WritePlan::new(Arc::clone(&table.definition), &Binder::new(&environment))?
    };
    // A statement that changes rows has locked them.
    let alone = options.table_lock
        || locks::writes_alone(table)
        || isolation::locks_ranges(session) && locks::loads_alone(table);
    // Referenced tables come first: a DELETE from one goes on to this table.
    let mut references =
        if options.check_constraints { references::references_of(session, table)? } else { Vec::new() };
    locks::lock(&session.work, table, if alone { LockMode::Exclusive } else { LockMode::Append })?;
    // The lock may have been waited for: what is in the table now is what counts.
    let now = reads::refresh(&session.work, table)?;
    for reference in references.iter_mut().filter(|reference| reference.same_table) {
        reference.parent = now.clone();
    }
    TableWriter::new(
        Arc::clone(&session.instance),
        session.work.transactions(),
        now,
        plan,
        options,
        fresh,
        references,
    )
}

/// Positions in the table of the columns that get values. Errors: 207, 264, 271, 273, 544, 545, 213.
pub(crate) fn target_columns(
    session: &Session,
    name: &ObjectName,
    columns: Option<&[String]>,
    table: &TableDefinition,
) -> Result<Vec<usize>, SqlError> {
    let keeps = keeps_identity(session, table)?;
    let Some(names) = columns else {
        let targets: Vec<usize> = table
            .columns
            .iter()
            .enumerate()
            .filter(|(_, column)| column.computed.is_none() && column.sql_type != SqlType::RowVersion)
            .filter(|(_, column)| column.identity.is_none())
            .map(|(position, _)| position)
            .collect();
        if keeps {
            return Err(SqlError::new(
                8101,
                16,
                1,
                format!(
                    "An explicit value for the identity column in table '{}' can only be specified when a column list is used and IDENTITY_INSERT is ON.",
                    name
                ),
            ));
        }
        return Ok(targets);
    };
    let mut targets = Vec::with_capacity(names.len());
    for name in names {
        let position = table.position(name).ok_or_else(|| errors::INVALID_COLUMN.with([name]))?;
        if targets.contains(&position) {
            return Err(errors::COLUMN_NAMED_TWICE.with([name]));
        }
        if let Some(column) = table.columns.get(position) {
            if column.computed.is_some() {
                return Err(errors::COMPUTED_COLUMN.with([&column.name]));
            }
            if column.sql_type == SqlType::RowVersion {
                return Err(SqlError::new(
                    273,
                    16,
                    1,
                    "Cannot insert an explicit value into a timestamp column. Use INSERT with a column list to exclude the timestamp column, or insert a DEFAULT into the timestamp column.",
                ));
            }
            if column.identity.is_some() && !keeps {
                return Err(errors::IDENTITY_INSERT_OFF.with([&table.name]));
            }
        }
        targets.push(position);
    }
    if let Some((position, _)) = table.identity()
        && keeps
        && !targets.contains(&position)
    {
        return Err(errors::IDENTITY_VALUE_MISSING.with([&table.name]));
    }
    Ok(targets)
}

/// Returns an INSERT of VALUES without its rowversion column, if every row has DEFAULT for it; None for any other.
pub(crate) fn without_row_version(insert: &Insert, table: &TableDefinition) -> Option<Insert> {
    let InsertSource::Values(rows) = &insert.source else { return None };
    let is_row_version = |column: &ColumnDefinition| column.sql_type == SqlType::RowVersion;
    let place = match &insert.columns {
        Some(names) => names.iter().position(|name| {
            table.position(name).and_then(|place| table.columns.get(place)).is_some_and(is_row_version)
        })?,
        // Without a list the values are those of all columns that may get one.
        None => {
            let given = |column: &&ColumnDefinition| column.computed.is_none() && column.identity.is_none();
            let columns: Vec<&ColumnDefinition> = table.columns.iter().filter(given).collect();
            let place = columns.iter().position(|column| is_row_version(column))?;
            rows.iter().all(|row| row.len() == columns.len()).then_some(place)?
        }
    };
    if !rows.iter().all(|row| matches!(row.get(place), Some(None))) {
        return None;
    }
    let without = |row: &Vec<Option<Expr>>| {
        let (before, after) = row.split_at_checked(place)?;
        Some(before.iter().chain(after.get(1..)?).cloned().collect())
    };
    let rows: Option<Vec<Vec<Option<Expr>>>> = rows.iter().map(without).collect();
    let columns = insert.columns.as_ref().map(|names| {
        let kept = names.iter().enumerate().filter(|(at, _)| *at != place);
        kept.map(|(_, name)| name.clone()).collect()
    });
    Some(Insert { columns, source: InsertSource::Values(rows?), ..insert.clone() })
}

/// Returns true if SET IDENTITY_INSERT is on for the table.
fn keeps_identity(session: &Session, table: &TableDefinition) -> Result<bool, SqlError> {
    let Some(name) = &session.settings.identity_insert else { return Ok(false) };
    let found = session.work.find(name, &session.database)?;
    Ok(found.is_some_and(|found| found.definition.object_id == table.object_id))
}

/// Options of a statement that rewrites a table.
pub(crate) fn write_options(statement: &'static str, conflict: &'static str) -> WriteOptions {
    WriteOptions { statement, conflict, default_for_null: false, check_constraints: true, table_lock: false }
}

/// Refuses a table-valued parameter (10700), and `inserted` and `deleted` (286), which may not be changed.
pub(crate) fn check_writable(session: &Session, name: &ObjectName) -> Result<(), SqlError> {
    if name.schema.is_some() {
        return Ok(());
    }
    match variables::variable_named(&session.work, &name.name).map(|table| table.access) {
        None | Some(VariableAccess::Own) => Ok(()),
        Some(VariableAccess::ReadOnly) => {
            let text =
                format!("The table-valued parameter \"{}\" is READONLY and cannot be modified.", name.name);
            Err(SqlError::new(10700, 16, 1, text))
        }
        Some(VariableAccess::Logical) => {
            let text = "The logical tables INSERTED and DELETED cannot be updated.";
            Err(SqlError::new(286, 16, 1, text))
        }
    }
}

pub(crate) fn count_matches(given: usize, wanted: usize, listed: bool) -> Result<(), SqlError> {
    if given == wanted {
        return Ok(());
    }
    if !listed {
        return Err(errors::COLUMN_COUNT_MISMATCH.error());
    }
    let (number, than) = if given < wanted { (120, "fewer") } else { (121, "more") };
    Err(SqlError::new(
        number,
        15,
        1,
        format!(
            "The select list for the INSERT statement contains {than} items than the insert list. The number of SELECT values must match the number of INSERT columns."
        ),
    ))
}

/// Checks that VALUES has as many values as there are columns. Errors: 213, 109, 110.
pub(crate) fn value_count_matches(given: usize, wanted: usize, listed: bool) -> Result<(), SqlError> {
    if given == wanted {
        return Ok(());
    }
    if !listed {
        return Err(errors::COLUMN_COUNT_MISMATCH.error());
    }
    let (number, than) = if given < wanted { (109, "more") } else { (110, "fewer") };
    Err(SqlError::new(
        number,
        15,
        1,
        format!(
            "There are {than} columns in the INSERT statement than values specified in the VALUES clause. The number of values in the VALUES clause must match the number of columns specified in the INSERT statement."
        ),
    ))
}
