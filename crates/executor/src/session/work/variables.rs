//! Table variables, table-valued parameters, and the tables `inserted` and `deleted` of a trigger.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatch;
use databases::catalogue::TableDefinition;
use databases::storage::TableId;
use databases::store_error::store_error;
use tsql::SqlError;

use crate::session::work::Work;
use crate::session::work::temporary::{drop_objects, variable_key};

/// The table variables and temporary tables that a batch or procedure has made.
#[derive(Debug, Default, Clone)]
pub(crate) struct TableScope {
    /// The table variables, by name in lower case.
    pub(crate) variables: HashMap<String, VariableTable>,
    /// Temporary tables, by their names in the store, which go when a procedure ends.
    pub(crate) temporary: Vec<(String, i32)>,
    /// The store's names of temporary tables that hide those of callers, by name in lower case, the innermost last. Scopes
    /// within this one have them too.
    pub(crate) hiding: Arc<HashMap<String, Vec<String>>>,
}

/// A table variable as a scope knows it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct VariableTable {
    /// The name of the table in the store.
    key: String,
    id: TableId,
    /// The table type that it was declared with.
    pub type_id: Option<i32>,
    /// The permission of statements to change it.
    pub access: VariableAccess,
    /// The scope does not drop it, since it belongs to the caller.
    borrowed: bool,
}

/// The changes that statements may make to a table variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VariableAccess {
    /// Everything.
    Own,
    /// READONLY.
    ReadOnly,
    /// `inserted` or `deleted`.
    Logical,
}

impl VariableTable {
    /// Restricts the access to the table.
    pub fn with_access(self, access: VariableAccess) -> VariableTable {
        VariableTable { access, ..self }
    }

    /// Lends the table to a scope that may only read it.
    pub fn lent(&self, access: VariableAccess) -> VariableTable {
        VariableTable { access, borrowed: true, ..self.clone() }
    }
}

impl TableScope {
    /// Finds the table of a name: a variable's with its `@`, or `inserted` or `deleted`.
    pub fn table(&self, name: &str) -> Option<&VariableTable> {
        if self.variables.is_empty() { None } else { self.variables.get(&name.to_lowercase()) }
    }

    /// Returns the tables that end with the scope.
    pub(crate) fn own_tables(&self) -> impl Iterator<Item = &VariableTable> {
        self.variables.values().filter(|table| !table.borrowed)
    }
}

impl VariableTable {
    pub fn key(&self) -> &str {
        &self.key
    }
}

/// Makes a table variable of the innermost scope. Errors: 134 if it has one of that name.
pub(crate) fn declare_table(
    work: &mut Work,
    definition: &TableDefinition,
    type_id: Option<i32>,
) -> Result<(), SqlError> {
    let name = definition.name.to_lowercase();
    let Some(scope) = work.scopes.last() else {
        return Err(SqlError::internal("a table variable outside of a batch"));
    };
    // DECLARE inside a loop is passed again and again; only its first time makes the table.
    if scope.variables.contains_key(&name) {
        return Ok(());
    }
    let table = make_variable(work, definition, type_id, &[])?;
    put_variable(work, &definition.name, table);
    Ok(())
}

/// Makes a table variable that no scope knows yet, with rows that are complete and checked.
pub(crate) fn make_variable(
    work: &mut Work,
    definition: &TableDefinition,
    type_id: Option<i32>,
    rows: &[RecordBatch],
) -> Result<VariableTable, SqlError> {
    let properties = definition.to_properties().map_err(|error| SqlError::internal(error))?;
    let key = variable_key(&definition.name, work.temporary.number(), definition.object_id);
    let mut transaction = work.new_transaction();
    let id = transaction.create_table(&key, definition.arrow_schema(), &properties).map_err(store_error)?;
    for batch in rows {
        transaction.open(id).and_then(|mut table| table.append(batch)).map_err(store_error)?;
    }
    transaction.commit().map_err(store_error)?;
    work.temporary.add_variable(id);
    Ok(VariableTable { key, id, type_id, access: VariableAccess::Own, borrowed: false })
}

/// Drops what [`make_variable`](Self::make_variable) has made.
pub(crate) fn drop_variables<'a>(work: &Work, tables: impl Iterator<Item = &'a VariableTable>) {
    let ids: Vec<TableId> = tables.map(|table| table.id).collect();
    if ids.is_empty() {
        return;
    }
    // A table that a scan on another thread still holds is dropped with the session.
    if drop_objects(&work.instance, &ids, Duration::ZERO).is_ok() {
        ids.into_iter().for_each(|id| work.temporary.remove_variable(id));
    }
}

/// Drops a single table variable.
pub(crate) fn drop_variable(work: &Work, table: &VariableTable) {
    drop_variables(work, std::iter::once(table));
}

/// Gives the innermost scope a table.
pub(crate) fn put_variable(work: &mut Work, name: &str, table: VariableTable) {
    if let Some(scope) = work.scopes.last_mut() {
        Arc::make_mut(scope).variables.insert(name.to_lowercase(), table);
    }
}

/// Takes a table from the innermost scope, which does not drop it any more.
pub(crate) fn take_variable(work: &mut Work, name: &str) -> Option<VariableTable> {
    work.scopes.last_mut().and_then(|scope| Arc::make_mut(scope).variables.remove(&name.to_lowercase()))
}

/// Finds the table that the innermost scope has under a name.
pub(crate) fn variable_named<'w>(work: &'w Work, name: &str) -> Option<&'w VariableTable> {
    work.scopes.last()?.table(name)
}
