//! FOREIGN KEYs from a table and to it.

use databases::catalogue::{ForeignKey, TableDefinition};
use databases::storage::LockMode;
use databases::table::Reference;
use tsql::SqlError;

use crate::session::Session;
use crate::session::work::locks;
use crate::session::work::reads;
use crate::session::work::{OpenTable, Place};

/// Returns the FOREIGN KEYs that rows of a table must satisfy, with their tables locked against deletions.
pub(crate) fn references_of(session: &mut Session, table: &OpenTable) -> Result<Vec<Reference>, SqlError> {
    let mut references = Vec::new();
    if table.place != Place::Shared {
        return Ok(references);
    }
    for key in table.definition.foreign_keys.iter().filter(|key| !key.disabled) {
        let same_table = table.definition.refers_to(key, &table.definition);
        let parent = if same_table {
            table.clone()
        } else {
            let Some(parent) = referenced_table(session, &table.definition, key)? else { continue };
            locks::lock(&session.work, &parent, LockMode::Append)?;
            reads::refresh(&session.work, &parent)?
        };
        let columns = table.definition.positions(&key.columns);
        let referenced = parent.definition.positions(&key.referenced);
        references.push(Reference { key: key.clone(), columns, parent, referenced, same_table });
    }
    Ok(references)
}

/// Finds the table that a FOREIGN KEY refers to.
pub(crate) fn referenced_table(
    session: &Session,
    table: &TableDefinition,
    key: &ForeignKey,
) -> Result<Option<OpenTable>, SqlError> {
    let name = tsql::ObjectName {
        database: Some(table.database.clone()),
        schema: Some(key.schema.clone()),
        name: key.table.clone(),
    };
    session.work.find(&name, &table.database)
}

/// Finds the tables that refer to a table, with their keys.
pub(crate) fn referring_tables(
    session: &Session,
    parent: &TableDefinition,
) -> Result<Vec<(OpenTable, ForeignKey)>, SqlError> {
    let mut referring = Vec::new();
    for table in session.work.view().referring(parent)? {
        for key in &table.definition.foreign_keys {
            if table.definition.refers_to(key, parent) {
                referring.push((table.clone(), key.clone()));
            }
        }
    }
    Ok(referring)
}
