//! Row changes of a table, locked exclusively or shared with others, through the heap's writer.

use std::sync::Arc;

use arrow::array::RecordBatch;

use super::unit_of_work::{Transaction, no_table};
use crate::error::EngineError;
use crate::heap::HeapWriter;
use crate::heap::claims::Beside;
use crate::page::RowId;

pub(super) fn insert_rows(
    transaction: &mut Transaction,
    object: u32,
    batch: &RecordBatch,
) -> Result<Vec<RowId>, EngineError> {
    with_rows(transaction, object, |heap| heap.insert_batch(batch))
}

pub(super) fn delete_rows(
    transaction: &mut Transaction,
    object: u32,
    addresses: &[RowId],
) -> Result<(), EngineError> {
    with_heap(transaction, object, |heap| addresses.iter().try_for_each(|address| heap.delete(*address)))
}

pub(super) fn with_heap<T>(
    transaction: &mut Transaction,
    object: u32,
    change: impl FnOnce(&mut HeapWriter<'_>) -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    let Transaction { shared, id, work, allocated, .. } = transaction;
    let table = work.changed.get_mut(object);
    let table = table.ok_or_else(|| no_table(&object.to_string()))?;
    change(&mut HeapWriter { shared, transaction: *id, table, allocated, beside: None })
}

/// Changes rows of a table that is held alone, or together with other transactions.
pub(super) fn with_rows<T>(
    transaction: &mut Transaction,
    object: u32,
    change: impl FnOnce(&mut HeapWriter<'_>) -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    if transaction.work.changed.contains(object) {
        return with_heap(transaction, object, change);
    }
    let committed = transaction.catalogue().tables.get(object).cloned();
    let base = committed.ok_or_else(|| no_table(&object.to_string()))?;
    let Transaction { shared, id, work, allocated, claims, copies, waiting, .. } = transaction;
    let filled = work.filled.entry(object).or_default();
    let known = copies.remove(&object).filter(|(known, _)| Arc::ptr_eq(known, &base));
    let mut table = known.map_or_else(
        || {
            let mut table = Arc::clone(&base);
            Arc::make_mut(&mut table).attach(filled);
            table
        },
        |(_, table)| table,
    );
    let rows = table.rows;
    let request = waiting.request(*id);
    let beside = Some(Beside { claims, filled, request });
    let done = change(&mut HeapWriter {
        shared,
        transaction: *id,
        table: Arc::make_mut(&mut table),
        allocated,
        beside,
    });
    let filled = work.filled.entry(object).or_default();
    filled.rows += table.rows as i64 - rows as i64;
    copies.insert(object, (base, table));
    done
}
