//! Tables that get another definition, and rows that have to satisfy it.

use std::sync::Arc;

use crate::catalogue::TableDefinition;
use crate::session::Session;
use crate::session::alter_columns;
use crate::session::interpreter::Frame;
use crate::session::work::OpenTable;
use crate::session::work::store_error;
use crate::storage::LockMode;
use crate::storage::Reads;
use crate::table::InputRows;
use tsql::SqlError;

/// Keeps a changed definition, rows unchanged.
pub(crate) fn redefine(
    session: &mut Session,
    table: &OpenTable,
    definition: &TableDefinition,
) -> Result<(), SqlError> {
    let properties = definition.to_properties().map_err(SqlError::internal)?;
    let access = session.work.access(table.place);
    access.write_keyed(definition, |transaction| transaction.set_properties(table.id, &properties))
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
    session.work.lock(table, LockMode::Exclusive)?;
    let changed = OpenTable { definition: Arc::new(definition.clone()), ..table.clone() };
    let options = super::modify::write_options("ALTER TABLE", "ALTER TABLE");
    let mut writer = alter_columns::writer_as_given(session, &changed, frame, options)?;
    for batch in (session.work.opener(table, Reads::Latest))(None, None).map_err(store_error)? {
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
