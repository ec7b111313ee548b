//! Scopes, and the objects of tempdb that are dropped with them or with the session.

use std::sync::Arc;

use databases::catalogue::TableDefinition;
use databases::storage::TableId;
use tsql::ObjectName;
use tsql::SqlError;

use crate::session::work::Place;
use crate::session::work::Work;
use crate::session::work::variables;

/// A batch or procedure begins: it sees no table variable but its own.
pub(crate) fn enter(work: &mut Work) {
    work.scopes.push(Arc::default());
}

/// A batch or procedure ends: drops its table variables, and a procedure's temporary tables.
pub(crate) fn leave(work: &mut Work) -> Result<(), SqlError> {
    let Some(scope) = work.scopes.pop() else { return Ok(()) };
    variables::drop_variables(work, scope.own_tables());
    if work.scopes.is_empty() || scope.temporary.is_empty() {
        return Ok(());
    }
    let mark = work.start_statement()?;
    let result = scope.temporary.iter().try_for_each(|(name, object_id)| {
        let table = work.find(&ObjectName::bare(name.clone()), "")?;
        match table.filter(|table| table.definition.object_id == *object_id) {
            Some(table) => {
                work.instance.forget_table(table.id);
                work.write(table.place, |transaction| transaction.open(table.id)?.drop_table())
            }
            None => Ok(()),
        }
    });
    work.end_statement(&mark, result.is_ok())?;
    result
}

/// Notes a temporary table, for the end of the procedure that has made it.
pub(crate) fn note_temporary(work: &mut Work, definition: &TableDefinition) {
    work.temporary.note_own();
    if let Some(scope) = work.scopes.last_mut() {
        Arc::make_mut(scope).temporary.push((definition.name.clone(), definition.object_id));
    }
}

/// Notes an object of tempdb that is no table, which goes with the session.
pub(crate) fn note_module(work: &mut Work, place: Place) {
    if place == Place::Temporary {
        work.temporary.note_own();
    }
}

/// Notes a `##` object, which goes with the session.
pub(crate) fn note_global(work: &mut Work, id: TableId) {
    work.temporary.add_global(id);
}

/// All temporary objects go.
pub(crate) fn drop_temporary(work: &mut Work) {
    work.temporary.clear();
}
