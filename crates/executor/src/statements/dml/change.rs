//! Changes of a table's rows, and their effects on the tables that refer to them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, UInt64Array, new_null_array,
};
use arrow::compute::{filter_record_batch, take, take_record_batch};
use databases::catalogue::{ForeignKey, TableDefinition};
use databases::storage::{KeyRange, LockMode, Reads, RowLocator};
use databases::store_error::store_error;
use databases::table::{InputRows, TableWriter, WriteOptions, encode, single};
use databases::transactions::TransactionAccess;
use query::datum::data_type;
use query::seek_any;
use tds::SqlType;
use tsql::SqlError;
use tsql::ast::ReferentialAction;

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::work::locks;
use crate::session::work::reads;
use crate::session::work::{OpenTable, Place};
use crate::statements::dml::destination;
use crate::statements::dml::fire::note_changes;
use crate::statements::dml::references;
use crate::statements::dml::target::Candidates;

/// Referential actions within referential actions beyond which a statement is refused. Their graph has no cycles, so
/// only a database of more tables in one chain gets there.
const CASCADES_MAX: u32 = 32;

/// Lost keys that are sought one by one; for more of them the child is read.
const LOST_SOUGHT_MAX: usize = 4096;

/// Rows of one table before and after a statement.
pub(crate) struct RowChanges {
    /// The table; its rows that change are locked.
    pub table: OpenTable,
    /// The rows before the change: all of them, or those that may change.
    pub candidates: Candidates,
    /// For each candidate whether it is deleted.
    pub gone: Vec<bool>,
    /// Numbers of those that change.
    pub changed: Vec<usize>,
    /// The new rows in the same order, complete and checked.
    pub new: Option<RecordBatch>,
    /// New rows, complete and checked.
    pub inserted: Vec<RecordBatch>,
}

impl RowChanges {
    /// Makes a set of changes that is empty yet.
    pub fn new(table: OpenTable, candidates: Candidates) -> RowChanges {
        let gone = vec![false; candidates.rows.num_rows()];
        RowChanges { table, candidates, gone, changed: Vec::new(), new: None, inserted: Vec::new() }
    }

    /// Returns the rows before the change.
    pub fn rows(&self) -> &RecordBatch {
        &self.candidates.rows
    }

    /// Returns the deleted rows.
    pub fn deleted(&self) -> Result<RecordBatch, SqlError> {
        filter_record_batch(self.rows(), &BooleanArray::from(self.gone.clone()))
            .map_err(|error| SqlError::internal(error))
    }

    /// Returns the changed rows as they were.
    pub fn old(&self) -> Result<RecordBatch, SqlError> {
        take_rows(self.rows(), &self.changed)
    }

    /// Puts the changes into the table: rows change where they lie.
    ///
    /// Errors: 2627, 2601.
    fn write(&self, access: &TransactionAccess) -> Result<(), SqlError> {
        let id = self.table.id;
        let locators = &self.candidates.locators;
        let of = |rows: &mut dyn Iterator<Item = usize>| -> Vec<RowLocator> {
            rows.filter_map(|row| locators.get(row).cloned()).collect()
        };
        let gone = self.gone.iter().enumerate().filter(|(_, gone)| **gone).map(|(row, _)| row);
        let gone = of(&mut gone.into_iter());
        let changed = of(&mut self.changed.iter().copied());
        access.write_keyed(&self.table.definition, |transaction| {
            if !gone.is_empty() {
                transaction.open(id)?.delete_located(&gone)?;
            }
            if let Some(new) = &self.new {
                transaction.open(id)?.update_located(&changed, new)?;
            }
            self.inserted.iter().try_for_each(|batch| transaction.open(id)?.append(batch))
        })
    }
}

/// Rows by their numbers.
pub(crate) fn take_rows(batch: &RecordBatch, rows: &[usize]) -> Result<RecordBatch, SqlError> {
    if batch.num_columns() == 0 {
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        return RecordBatch::try_new_with_options(batch.schema(), Vec::new(), &options)
            .map_err(|error| SqlError::internal(error));
    }
    let rows = UInt64Array::from_iter_values(rows.iter().map(|row| *row as u64));
    take_record_batch(batch, &rows).map_err(|error| SqlError::internal(error))
}

/// The change to a key that rows of another table refer to.
#[derive(Clone, Copy)]
enum Loss {
    Deleted,
    /// The changed row of this index has another one.
    Changed(usize),
}

/// Puts changes into the table, looks up what its rows refer to, and carries on to the tables that refer to them.
///
/// Errors: 547.
pub(crate) fn apply(
    session: &mut Session,
    changes: RowChanges,
    mut writer: TableWriter,
    statement: &'static str,
    frame: &Frame,
) -> Result<(), SqlError> {
    changes.write(&session.work.access(changes.table.place))?;
    changes.new.iter().chain(&changes.inserted).try_for_each(|rows| writer.check_written(rows))?;
    writer.finish()?;
    note_changes(session, &changes, None)?;
    follow(session, &changes, Cause { statement, frame, depth: 0 })
}

/// The change that causes referential actions.
#[derive(Clone, Copy)]
struct Cause<'a> {
    /// The word for the statement in messages.
    statement: &'static str,
    frame: &'a Frame,
    /// Actions that this one follows from.
    depth: u32,
}

fn follow(session: &mut Session, changes: &RowChanges, cause: Cause<'_>) -> Result<(), SqlError> {
    let parent = Arc::clone(&changes.table.definition);
    if changes.table.place != Place::Shared || parent.unique_keys().is_empty() {
        return Ok(());
    }
    for (child, key) in references::referring_tables(session, &parent)? {
        if key.disabled {
            continue;
        }
        let lost = lost_keys(changes, &key)?;
        if !lost.is_empty() {
            answer(session, changes, child, &key, &lost, cause)?;
        }
    }
    Ok(())
}

/// Does to the rows of `child` what its FOREIGN KEY says of lost keys.
fn answer(
    session: &mut Session,
    parent: &RowChanges,
    child: OpenTable,
    key: &ForeignKey,
    lost: &HashMap<Vec<u8>, (Loss, bool)>,
    cause: Cause<'_>,
) -> Result<(), SqlError> {
    let definition = Arc::clone(&child.definition);
    let columns = definition.positions(&key.columns);
    let acts = [key.on_delete, key.on_update].iter().any(|action| *action != ReferentialAction::NoAction);
    if acts {
        locks::lock(&session.work, &child, LockMode::Exclusive)?;
    } else {
        // Waits for transactions that inserted referencing rows; later ones no longer find the key.
        locks::lock_against_changes(&session.work, &child)?;
    }
    let child = reads::refresh(&session.work, &child)?;
    let place = |batch: &RecordBatch, position: usize| {
        let index = columns.iter().position(|column| *column == position)?;
        batch.columns().get(index).cloned()
    };
    let mut matches: Vec<(usize, Loss)> = Vec::new();
    let mut refer = |batch: &RecordBatch, number: &mut dyn FnMut(usize) -> usize| {
        let keys = encode(&definition, &columns, |position| place(batch, position))?;
        for (row, value) in keys.into_iter().enumerate() {
            let Some((loss, remains)) = value.and_then(|value| lost.get(&value)) else { continue };
            let action = match loss {
                Loss::Deleted => key.on_delete,
                Loss::Changed(_) => key.on_update,
            };
            match action {
                ReferentialAction::NoAction if *remains => {}
                ReferentialAction::NoAction => {
                    return Err(conflict(cause.statement, &parent.table.definition, &definition, key));
                }
                _ => matches.push((number(row), *loss)),
            }
        }
        Ok(())
    };
    // A key of the child that begins with the columns leads to the rows that may refer.
    let range = seek_lost(parent, key, lost, &definition, &columns)?;
    // Notes the locators of the referencing rows, if they are to be changed.
    let mut locators = Vec::new();
    if acts {
        let scan = reads::located_opener(&session.work, &child, Reads::Latest)(
            Some(columns.clone()),
            range.as_ref(),
        );
        for found in scan.map_err(store_error)? {
            let (batch, own) = found.map_err(store_error)?;
            refer(&batch, &mut |row| {
                locators.extend(own.get(row).cloned());
                locators.len() - 1
            })?;
        }
    } else {
        let mut first = 0;
        let scan =
            (reads::opener(&session.work, &child, Reads::Latest))(Some(columns.clone()), range.as_ref());
        for batch in scan.map_err(store_error)? {
            let batch = batch.map_err(store_error)?;
            refer(&batch, &mut |row| first + row)?;
            first += batch.num_rows();
        }
    }
    if matches.is_empty() {
        return Ok(());
    }
    if cause.depth >= CASCADES_MAX {
        return Err(SqlError::unsupported("A chain of more than 32 referential actions"));
    }
    let candidates = Candidates { rows: reads::rows_at(&session.work, &child, &locators)?, locators };
    cascade(session, parent, child, key, candidates, &matches, cause)
}

/// Deletes or changes the rows of `child` that match.
fn cascade(
    session: &mut Session,
    parent: &RowChanges,
    child: OpenTable,
    key: &ForeignKey,
    candidates: Candidates,
    matches: &[(usize, Loss)],
    cause: Cause<'_>,
) -> Result<(), SqlError> {
    let definition = Arc::clone(&child.definition);
    let mut changes = RowChanges::new(child, candidates);
    let (mut deleted, mut moved) = (Vec::new(), Vec::new());
    for (row, loss) in matches {
        match loss {
            Loss::Deleted if key.on_delete == ReferentialAction::Cascade => {
                if let Some(gone) = changes.gone.get_mut(*row) {
                    *gone = true;
                }
            }
            Loss::Deleted => deleted.push(*row),
            Loss::Changed(index) => moved.push((*row, *index)),
        }
    }
    changes.changed = deleted.iter().copied().chain(moved.iter().map(|(row, _)| *row)).collect();
    let options = WriteOptions {
        statement: "UPDATE",
        conflict: cause.statement,
        default_for_null: false,
        check_constraints: true,
        table_lock: false,
    };
    let table = changes.table.clone();
    let mut writer = destination::writer_with(session, &table, cause.frame, options, true)?;
    let mut batches = Vec::new();
    if !deleted.is_empty() {
        let rows = take_rows(changes.rows(), &deleted)?;
        batches.push(writer.prepare(rewritten(&definition, &rows, key, key.on_delete, None)?)?);
    }
    if !moved.is_empty() {
        let rows: Vec<usize> = moved.iter().map(|(row, _)| *row).collect();
        let rows = take_rows(changes.rows(), &rows)?;
        let indices = UInt64Array::from_iter_values(moved.iter().map(|(_, index)| *index as u64));
        let values = match &parent.new {
            Some(new) => parent
                .table
                .definition
                .positions(&key.referenced)
                .into_iter()
                .filter_map(|position| new.columns().get(position))
                .map(|array| take(array, &indices, None).map_err(|error| SqlError::internal(error)))
                .collect::<Result<Vec<ArrayRef>, _>>()?,
            None => Vec::new(),
        };
        batches.push(writer.prepare(rewritten(&definition, &rows, key, key.on_update, Some(values))?)?);
    }
    if let Some(batch) = batches.first() {
        let schema = batch.schema();
        changes.new = Some(
            arrow::compute::concat_batches(&schema, &batches).map_err(|error| SqlError::internal(error))?,
        );
    }
    changes.write(&session.work.access(changes.table.place))?;
    changes.new.iter().chain(&changes.inserted).try_for_each(|rows| writer.check_written(rows))?;
    writer.finish()?;
    note_changes(session, &changes, Some(definition.positions(&key.columns)))?;
    follow(session, &changes, Cause { depth: cause.depth + 1, ..cause })
}

/// Keys that rows could refer to and that were deleted or changed; true if another row has the key now.
fn lost_keys(changes: &RowChanges, key: &ForeignKey) -> Result<HashMap<Vec<u8>, (Loss, bool)>, SqlError> {
    let definition = &changes.table.definition;
    let referenced = definition.positions(&key.referenced);
    let keys = |batch: &RecordBatch| {
        encode(definition, &referenced, |position| batch.columns().get(position).cloned())
    };
    let mut after: HashSet<Vec<u8>> = HashSet::new();
    for batch in changes.new.iter().chain(&changes.inserted) {
        after.extend(keys(batch)?.into_iter().flatten());
    }
    let mut lost = HashMap::new();
    for value in keys(&changes.deleted()?)?.into_iter().flatten() {
        // A key that was deleted and inserted again by one statement was never away.
        if !after.contains(&value) {
            lost.insert(value, (Loss::Deleted, false));
        }
    }
    if let Some(new) = &changes.new {
        let pairs = keys(&changes.old()?)?.into_iter().zip(keys(new)?);
        for (index, (old, new)) in pairs.enumerate() {
            if let Some(old) = old
                && Some(&old) != new.as_ref()
            {
                let remains = after.contains(&old);
                lost.insert(old, (Loss::Changed(index), remains));
            }
        }
    }
    Ok(lost)
}

/// Finds the ranges of a key of the child where rows with lost keys are. `None`: no key begins with these columns, or
/// they are too many.
fn seek_lost(
    parent: &RowChanges,
    key: &ForeignKey,
    lost: &HashMap<Vec<u8>, (Loss, bool)>,
    child: &TableDefinition,
    columns: &[usize],
) -> Result<Option<KeyRange>, SqlError> {
    if lost.len() > LOST_SOUGHT_MAX || !child.has_indexes() {
        return Ok(None);
    }
    let definition = &parent.table.definition;
    let referenced = definition.positions(&key.referenced);
    let mut values: Vec<Vec<ArrayRef>> = Vec::with_capacity(lost.len());
    for batch in [parent.deleted()?, parent.old()?] {
        let of = |position: usize| batch.columns().get(position).cloned();
        let keys = encode(definition, &referenced, of)?;
        for (row, _) in
            keys.iter().enumerate().filter(|(_, key)| key.as_ref().is_some_and(|key| lost.contains_key(key)))
        {
            values
                .push(referenced.iter().filter_map(|position| Some(of(*position)?.slice(row, 1))).collect());
        }
    }
    Ok(seek_any(child, columns, values.iter().map(Vec::as_slice)))
}

/// Makes error 547 for rows that others refer to.
fn conflict(
    statement: &str,
    parent: &TableDefinition,
    child: &TableDefinition,
    key: &ForeignKey,
) -> SqlError {
    let same = parent.object_id == child.object_id;
    SqlError::constraint_conflict(
        statement,
        if same { "SAME TABLE REFERENCE" } else { "REFERENCE" },
        &key.name,
        &child.database,
        &child.qualified_name(),
        single(&key.columns),
    )
}

/// Rows with other values in the columns of a FOREIGN KEY: NULL, the defaults, or (CASCADE) `values`.
fn rewritten(
    definition: &TableDefinition,
    rows: &RecordBatch,
    key: &ForeignKey,
    action: ReferentialAction,
    values: Option<Vec<ArrayRef>>,
) -> Result<InputRows, SqlError> {
    let positions = definition.positions(&key.columns);
    let columns = definition
        .columns
        .iter()
        .zip(rows.columns())
        .enumerate()
        .map(|(position, (column, array))| {
            let sql_type = column.sql_type.clone();
            if column.computed.is_some() || sql_type == SqlType::RowVersion {
                return None;
            }
            let Some(index) = positions.iter().position(|own| *own == position) else {
                return Some((Arc::clone(array), sql_type));
            };
            match action {
                ReferentialAction::SetDefault => None,
                ReferentialAction::Cascade => Some((values.as_ref()?.get(index).map(Arc::clone)?, sql_type)),
                _ => Some((new_null_array(&data_type(&sql_type), array.len()), sql_type)),
            }
        })
        .collect();
    Ok(InputRows { columns, rows: rows.num_rows() })
}
