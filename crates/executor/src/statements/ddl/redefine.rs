//! Changes a table's definition, and checks its rows against it.

use std::sync::Arc;

use databases::catalogue::TableDefinition;
use databases::storage::{LockMode, Reads};
use databases::store_error::store_error;
use databases::table::{InputRows, TableWriter, WriteOptions, WritePlan};
use tsql::SqlError;

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::work::OpenTable;
use crate::session::work::locks;
use crate::session::work::reads;
use crate::statements::dml::destination;
use crate::statements::dml::references;
use crate::statements::evaluation::environment::SessionEnvironment;

/// Keeps a changed definition, rows unchanged.
pub(crate) fn redefine(
    session: &mut Session,
    table: &OpenTable,
    definition: &TableDefinition,
) -> Result<(), SqlError> {
    let properties = definition.to_properties().map_err(|error| SqlError::internal(error))?;
    let access = session.work.access(table.place);
    access.write_keyed(definition, |transaction| transaction.open(table.id)?.set_properties(&properties))
}

/// Checks that the rows satisfy the constraints of a changed definition.
pub(crate) fn check_rows(
    session: &mut Session,
    table: &OpenTable,
    definition: &TableDefinition,
    frame: &Frame,
) -> Result<(), SqlError> {
    if table.rows == 0 {
        return Ok(());
    }
    locks::lock(&session.work, table, LockMode::Exclusive)?;
    let changed = OpenTable { definition: Arc::new(definition.clone()), ..table.clone() };
    let options = destination::write_options("ALTER TABLE", "ALTER TABLE");
    let mut writer = writer_as_given(session, &changed, frame, options)?;
    for batch in (reads::opener(&session.work, table, Reads::Latest))(None, None).map_err(store_error)? {
        let batch = batch.map_err(store_error)?;
        let columns = batch
            .columns()
            .iter()
            .cloned()
            .zip(definition.columns.iter().map(|column| column.sql_type.clone()))
            .map(Some)
            .collect();
        writer.complete(InputRows { columns, rows: batch.num_rows() })?;
    }
    writer.finish()
}

/// Makes a writer over a definition that is not the stored one yet; it only completes and checks rows.
pub(crate) fn writer_as_given(
    session: &mut Session,
    table: &OpenTable,
    frame: &Frame,
    options: WriteOptions,
) -> Result<TableWriter, SqlError> {
    let plan = {
        let environment = SessionEnvironment::new(session, frame);
        WritePlan::new(Arc::clone(&table.definition), &query::Binder::new(&environment))?
    };
    let references = references::references_of(session, table)?;
    TableWriter::new(
        Arc::clone(&session.instance),
        session.work.transactions(),
        table.clone(),
        plan,
        options,
        true,
        references,
    )
}
