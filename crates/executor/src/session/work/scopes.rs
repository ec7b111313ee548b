//! Scopes, and the objects of tempdb that are dropped with them or with the session.

use std::sync::Arc;

use databases::catalogue::TableDefinition;
use databases::storage::TableId;
use tsql::SqlError;

use crate::session::work::OpenTable;
use crate::session::work::Place;
use crate::session::work::Work;
use crate::session::work::temporary::hiding_key;
use crate::session::work::variables;
use crate::session::work::variables::TableScope;

/// Begins a batch or procedure: it sees only its own table variables.
pub(crate) fn enter(work: &mut Work) {
    let hiding = work.scopes.last().map(|scope| Arc::clone(&scope.hiding)).unwrap_or_default();
    work.scopes.push(Arc::new(TableScope { hiding, ..TableScope::default() }));
}

/// Ends a batch or procedure: drops its table variables, and a procedure's temporary tables.
pub(crate) fn leave(work: &mut Work) -> Result<(), SqlError> {
    let Some(scope) = work.scopes.pop() else { return Ok(()) };
    variables::drop_variables(work, scope.own_tables());
    if work.scopes.is_empty() || scope.temporary.is_empty() {
        return Ok(());
    }
    let mark = work.start_statement()?;
    let result = scope.temporary.iter().try_for_each(|(key, object_id)| {
        let table = work.view().temporary_at(key)?;
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

/// Notes a temporary table under its name in the store, for the end of the procedure that has made it.
pub(crate) fn note_temporary(work: &mut Work, definition: &TableDefinition, key: String) {
    work.temporary.note_own();
    if let Some(scope) = work.scopes.last_mut() {
        Arc::make_mut(scope).temporary.push((key, definition.object_id));
    }
}

/// Returns true if a new table of the same name may hide this one: it is a temporary one that a caller has made.
pub(crate) fn may_hide(work: &Work, table: &OpenTable) -> bool {
    let own = |scope: &Arc<TableScope>| {
        scope.temporary.iter().any(|(_, object_id)| *object_id == table.definition.object_id)
    };
    // Temporary tables that batches have made belong to the session, whichever batch made them.
    table.place == Place::Temporary && work.scopes.len() > 1 && !work.scopes.last().is_some_and(own)
}

/// Returns the name in the store of a new temporary table that is to hide one of the same name; `None` if that [may not
/// be](may_hide).
pub(crate) fn hide(work: &mut Work, hidden: &OpenTable, definition: &TableDefinition) -> Option<String> {
    if !may_hide(work, hidden) {
        return None;
    }
    let key = hiding_key(&definition.name, work.temporary.number(), definition.object_id);
    let scope = work.scopes.last_mut()?;
    let hiding = Arc::make_mut(&mut Arc::make_mut(scope).hiding);
    hiding.entry(definition.name.to_lowercase()).or_default().push(key.clone());
    Some(key)
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

/// Drops all temporary objects.
pub(crate) fn drop_temporary(work: &mut Work) {
    work.temporary.clear();
}
