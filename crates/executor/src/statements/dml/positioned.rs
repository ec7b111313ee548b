//! UPDATE and DELETE of the row that a cursor has fetched. The cursor's query returns the keys of its tables in hidden columns,
//! by which the row is found again.

use arrow::record_batch::RecordBatch;
use databases::catalogue::{TableDefinition, same_name};
use query::{Datum, OutputColumn};
use tds::SqlType;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::ast::{Delete, Update};
use tsql::cursor::{CursorDeclaration, CursorName};
use tsql::expression::{Comparison, Expr};
use tsql::query::{Query, QueryBody, SelectItem, TableSource};

use crate::session::Session;
use crate::session::cursor::{KeyedTable, NamedCursor, Positions};
use crate::session::frame::Frame;

/// Names a hidden column or the variable of its value; no T-SQL name has a blank.
fn hidden(number: usize) -> String {
    format!("@ key {number}")
}

/// Adds the keys of its tables to a cursor's query; `None` if rows of it are none of a table's, or nothing may be changed.
pub(crate) fn keyed(
    session: &Session,
    declaration: &CursorDeclaration,
) -> Result<Option<(Query, Vec<KeyedTable>)>, SqlError> {
    let mut query = declaration.query.clone();
    let QueryBody::Select(select) = &mut query.body else { return Ok(None) };
    let plain = !select.distinct
        && select.group_by.is_empty()
        && select.grouping_sets.is_none()
        && select.having.is_none()
        && query.with.is_empty()
        && query.for_clause.is_none();
    if declaration.read_only || !plain {
        return Ok(None);
    }
    let mut sources = Vec::new();
    for source in &select.from {
        named_tables(source, &mut sources);
    }
    let mut tables = Vec::new();
    let mut number = 0;
    for (alias, name) in sources {
        let Some(found) = session.work.find(&name, &session.database)? else { continue };
        let Some(columns) = key_of(&found.definition) else { continue };
        for column in &columns {
            let expr = Expr::Column(vec![alias.clone(), column.clone()]);
            select.items.push(SelectItem::Value { expr, alias: Some(hidden(number)) });
            number += 1;
        }
        tables.push(KeyedTable { table: found.definition.object_id, first: number - columns.len(), columns });
    }
    Ok(Some((query, tables)).filter(|(_, tables)| !tables.is_empty()))
}

/// Lists the tables of FROM by the names that they have there.
fn named_tables(source: &TableSource, found: &mut Vec<(String, ObjectName)>) {
    match source {
        TableSource::Table { name, alias, .. } => {
            found.push((alias.clone().unwrap_or_else(|| name.name.clone()), name.clone()));
        }
        TableSource::Join { left, right, .. } => {
            named_tables(left, found);
            named_tables(right, found);
        }
        _ => {}
    }
}

/// Returns the columns of a table's key: its primary key, or another that is unique and never NULL.
fn key_of(table: &TableDefinition) -> Option<Vec<String>> {
    let never_null = |columns: &[(String, bool)]| {
        columns.iter().all(|(name, _)| {
            let column = table.position(name).and_then(|position| table.columns.get(position));
            column.is_some_and(|column| !column.nullable)
        })
    };
    let primary = table.keys.iter().filter(|key| key.primary).map(|key| &key.columns);
    let keys = table.keys.iter().filter(|key| !key.primary).map(|key| &key.columns);
    let indexes = table.indexes.iter().filter(|index| index.unique && index.filter.is_none());
    let mut all = primary.chain(keys).chain(indexes.map(|index| &index.columns));
    let key = all.find(|columns| never_null(columns))?;
    Some(key.iter().map(|(name, _)| name.clone()).collect())
}

/// Notes the keys of the row that was fetched, and returns the rows without them.
pub(crate) fn noted(
    positions: &mut Positions,
    columns: &[OutputColumn],
    batches: Vec<RecordBatch>,
) -> Result<Vec<RecordBatch>, SqlError> {
    let keys = columns.get(positions.visible..).unwrap_or_default();
    positions.current = match batches.first().filter(|batch| batch.num_rows() > 0) {
        None => None,
        Some(batch) => {
            let arrays = batch.columns().iter().skip(positions.visible);
            let values = keys.iter().zip(arrays).map(|(column, array)| {
                let value = Datum::read(array.as_ref(), &column.sql_type, 0)?;
                Ok((value, column.sql_type.clone()))
            });
            Some(values.collect::<Result<Vec<_>, SqlError>>()?)
        }
    };
    let visible: Vec<usize> = (0..positions.visible).collect();
    let shown =
        batches.iter().map(|batch| batch.project(&visible).map_err(|error| SqlError::internal(error)));
    shown.collect()
}

/// Returns an UPDATE … WHERE CURRENT OF with the condition that finds the row. Errors: those of [`filter`].
pub(super) fn update_of(
    session: &Session,
    update: &Update,
    cursor: &CursorName,
    frame: &mut Frame,
) -> Result<Update, SqlError> {
    let assigned: Vec<&str> =
        update.assignments.iter().filter_map(|assignment| assignment.column.as_deref()).collect();
    let filter = filter(session, cursor, (&update.target, &update.from), &assigned, frame)?;
    Ok(Update { filter: Some(filter), current_of: None, ..update.clone() })
}

/// Returns a DELETE … WHERE CURRENT OF with the condition that finds the row. Errors: those of [`filter`].
pub(super) fn delete_of(
    session: &Session,
    delete: &Delete,
    cursor: &CursorName,
    frame: &mut Frame,
) -> Result<Delete, SqlError> {
    let filter = filter(session, cursor, (&delete.target, &delete.from), &[], frame)?;
    Ok(Delete { filter: Some(filter), current_of: None, ..delete.clone() })
}

/// Looks whether the row was still there. Errors: 16947.
pub(super) fn changed_one(session: &Session) -> Result<(), SqlError> {
    match session.last.rows {
        0 => Err(SqlError::new(16947, 16, 1, "No rows were updated or deleted.")),
        _ => Ok(()),
    }
}

/// Makes the condition that finds a cursor's row. Errors: 16916 for an unknown cursor, 16917 for a closed one, 16929 for one through
/// which nothing is changed, 16931 without a row, 16932 for a column that FOR UPDATE does not list, 16933 for a table that
/// the cursor does not have.
fn filter(
    session: &Session,
    name: &CursorName,
    (target, from): (&ObjectName, &[TableSource]),
    assigned: &[&str],
    frame: &mut Frame,
) -> Result<Expr, SqlError> {
    let mut sources = Vec::new();
    from.iter().for_each(|source| named_tables(source, &mut sources));
    let aliased = sources.iter().find(|(alias, _)| same_name(alias, &target.name)).map(|(_, name)| name);
    let table = session.work.find(aliased.unwrap_or(target), &session.database)?;
    let table = table.map(|found| found.definition.object_id);
    let key = name.name.to_lowercase();
    let own = Some(&frame.cursors).filter(|_| !name.global).and_then(|cursors| cursors.get(&key));
    let Some(cursor) = own.or_else(|| session.cursors.get(&key)) else {
        let text = format!("A cursor with the name '{}' does not exist.", name.name);
        return Err(SqlError::new(16916, 16, 1, text));
    };
    let (found, values) = position_of(cursor, table)?;
    let allowed = |column: &&str| {
        let listed = cursor.declaration.updatable.as_ref();
        listed.is_none_or(|listed| listed.iter().any(|own| own.eq_ignore_ascii_case(column)))
    };
    if !assigned.iter().all(allowed) {
        let text =
            "The cursor has a FOR UPDATE list and the requested column to be updated is not in this list.";
        return Err(SqlError::new(16932, 16, 1, text));
    }
    let mut condition: Option<Expr> = None;
    for (number, (column, (value, sql_type))) in (found.first..).zip(found.columns.into_iter().zip(values)) {
        frame.declare(&hidden(number), sql_type, value);
        let path = if !from.is_empty() { vec![target.name.clone(), column] } else { vec![column] };
        let variable = Box::new(Expr::Variable(hidden(number)));
        let equal = Expr::Compare(Box::new(Expr::Column(path)), Comparison::Equal, variable);
        condition = Some(match condition {
            Some(before) => Expr::And(Box::new(before), Box::new(equal)),
            None => equal,
        });
    }
    condition.ok_or_else(|| SqlError::internal("a key without columns"))
}

/// Returns the table of a cursor that is to be changed, and the values of its key in the fetched row.
fn position_of(
    cursor: &NamedCursor,
    table: Option<i32>,
) -> Result<(KeyedTable, Vec<(Datum, SqlType)>), SqlError> {
    if cursor.open.is_none() {
        return Err(SqlError::new(16917, 16, 1, "Cursor is not open."));
    }
    let Some(positions) = &cursor.positions else {
        return Err(SqlError::new(16929, 16, 1, "The cursor is READ ONLY."));
    };
    let Some(found) = positions.tables.iter().find(|keyed| Some(keyed.table) == table) else {
        let text = "The cursor does not include the table being modified or the table is not updatable through the cursor.";
        return Err(SqlError::new(16933, 16, 1, text));
    };
    let Some(current) = &positions.current else {
        return Err(SqlError::new(16931, 16, 1, "There are no rows in the current fetch buffer."));
    };
    let values = current.iter().skip(found.first).take(found.columns.len()).cloned().collect();
    Ok((found.clone(), values))
}
