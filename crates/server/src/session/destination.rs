//! The table that rows go to: found, locked, and with the columns that get values.

use std::sync::Arc;

use crate::catalogue::TableDefinition;
use crate::session::Session;
use crate::session::environment::SessionEnvironment;
use crate::session::interpreter::Frame;
use crate::session::isolation;
use crate::session::references;
use crate::session::tries;
use crate::session::uncommittable::uncommittable;
use crate::session::work::OpenTable;
use crate::session::work::Place;
use crate::storage::LockMode;
use crate::table::TableWriter;
use crate::table::WriteOptions;
use crate::table::WritePlan;
use query::Binder;
use tds::SqlType;
use tsql::ObjectName;
use tsql::SqlError;

/// The table of a name that rows go to. Errors: 208, 10700 and 286 for what may only be read.
pub(crate) fn writable(session: &Session, name: &ObjectName) -> Result<OpenTable, SqlError> {
    super::table_argument::check_writable(session, name)?;
    let table = opened(session, name)?;
    if session.work.is_doomed() && table.place != Place::Variable {
        return Err(uncommittable());
    }
    Ok(table)
}

/// The table of a name, as rows of it may be locked.
pub(crate) fn opened(session: &Session, name: &ObjectName) -> Result<OpenTable, SqlError> {
    match session.work.find(name, &session.database)? {
        Some(table) => {
            isolation::check_snapshot(session, &table)?;
            Ok(table)
        }
        None if name.is_variable() => Err(SqlError::undeclared_table(&name.name)),
        None => Err(SqlError::invalid_object(&name.to_string())),
    }
}

/// A writer for a statement that has begun.
pub(crate) fn writer_of(
    session: &mut Session,
    table: &OpenTable,
    frame: &Frame,
    statement: &'static str,
    fresh: bool,
) -> Result<TableWriter, SqlError> {
    let options = super::modify::write_options(statement, statement);
    writer_with(session, table, frame, options, fresh)
}

/// A writer with options. Locks the table: alone if its keys change with its rows or that is asked for, else beside other writers.
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
    // Whoever changes rows has locked what he changes.
    let alone = options.table_lock
        || session.work.writes_alone(table)
        || tries::locks_ranges(session) && session.work.loads_alone(table);
    // Referenced tables first: whoever deletes from one goes on to this table.
    let mut references =
        if options.check_constraints { references::references_of(session, table)? } else { Vec::new() };
    session.work.lock(table, if alone { LockMode::Exclusive } else { LockMode::Append })?;
    // The lock may have been waited for: what is in the table now is what counts.
    let now = session.work.refresh(table)?;
    for reference in references.iter_mut().filter(|reference| reference.same_table) {
        reference.parent = now.clone();
    }
    TableWriter::new(
        Arc::clone(&session.instance),
        session.work.pair(),
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
    let keeps = keeps_identity(session, table);
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
        let position = table.position(name).ok_or_else(|| SqlError::invalid_column(name))?;
        if targets.contains(&position) {
            return Err(SqlError::column_named_twice(name));
        }
        if let Some(column) = table.columns.get(position) {
            if column.computed.is_some() {
                return Err(SqlError::computed_column(&column.name));
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
                return Err(SqlError::identity_insert_off(&table.name));
            }
        }
        targets.push(position);
    }
    if let Some((position, _)) = table.identity()
        && keeps
        && !targets.contains(&position)
    {
        return Err(SqlError::identity_value_missing(&table.name));
    }
    Ok(targets)
}

/// Whether SET IDENTITY_INSERT is on for the table.
fn keeps_identity(session: &Session, table: &TableDefinition) -> bool {
    let Some(name) = &session.settings.identity_insert else { return false };
    session
        .work
        .find(name, &session.database)
        .ok()
        .flatten()
        .is_some_and(|found| found.definition.object_id == table.object_id)
}
