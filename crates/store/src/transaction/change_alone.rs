//! Tables that a transaction has locked exclusively, and the extents that it frees.

use std::sync::Arc;

use super::locks::{lock, share_catalogue};
use super::rows::with_heap;
use super::unit_of_work::{Transaction, Work, no_table};
use crate::catalogue::Table;
use crate::error::EngineError;
use crate::lock::LockMode;
use crate::page::PageId;
use crate::page::unit::{CATALOGUE, Unit};
use crate::tree::index::{IndexDefinition, Tree};

/// Locks a table and makes its working copy.
pub(super) fn lock_in(transaction: &mut Transaction, object: u32, mode: LockMode) -> Result<(), EngineError> {
    lock(transaction, object, mode)?;
    work_on(transaction, object)
}

/// Makes the working copy of a table.
pub(super) fn work_on(transaction: &mut Transaction, object: u32) -> Result<(), EngineError> {
    transaction.copies.remove(&object);
    if !transaction.work.changed.contains(object)
        && let Some(table) = transaction.catalogue().tables.get(object)
    {
        check_unchanged(transaction, object)?;
        let mut table = Arc::clone(table);
        if let Some(filled) = transaction.work.filled.remove(&object) {
            Arc::make_mut(&mut table).attach(&filled);
        }
        transaction.work.changed.put(object, Some(table));
    }
    Ok(())
}

/// Gives a table without extents its trees: that of `key`, and those of its indexes again.
pub(super) fn plant(
    transaction: &mut Transaction,
    object: u32,
    key: Option<&IndexDefinition>,
) -> Result<(), EngineError> {
    let order = transaction.shared.options.text_order;
    with_heap(transaction, object, |heap| {
        let layout = Arc::clone(&heap.table.layout);
        heap.table.clustered = match key {
            Some(key) => {
                let mut tree = Tree::clustered(&layout, key.clone(), PageId::NONE, order)?;
                tree.root = heap.tree(&tree).new_root()?;
                Some(Arc::new(tree))
            }
            None => None,
        };
        for index in heap.table.indexes.clone() {
            let definition = index.tree.definition.clone();
            heap.plant_index(index.id, definition, index.unit, order)?;
        }
        heap.shared.pager.note_tree(heap.table.storage, heap.table.clustered.is_some());
        Ok(())
    })
}

/// Takes all extents from a table; its trees have no roots then. Returns what it was.
pub(super) fn clear(transaction: &mut Transaction, object: u32) -> Result<Table, EngineError> {
    let old = transaction.work.table(object)?;
    let mut table = old.clone();
    give_up(&mut transaction.work, old.all_units());
    for kind in table.unit_kinds() {
        let unit = table.unit_mut(kind);
        transaction.shared.room.forget_all(unit.id);
        unit.extents = Arc::default();
    }
    table.rows = 0;
    transaction.work.put(table);
    Ok(old)
}

/// Gives up one unit with the commit; the table has it no more.
pub(super) fn give_up_unit(work: &mut Work, unit: Unit) {
    give_up(work, std::iter::once(&unit));
    work.given_up_units.push(unit);
}

/// Gives up the extents of units with the commit.
pub(super) fn give_up<'a>(work: &mut Work, units: impl Iterator<Item = &'a Unit>) {
    for unit in units {
        if !unit.extents.is_empty() {
            let extents = unit.extents.iter().map(|extent| extent.extent).collect();
            work.given_up.push(Arc::new((unit.clone(), extents)));
        }
    }
}

/// Refuses a table that was dropped or renamed while it was waited for.
pub(super) fn check_locked(transaction: &Transaction, object: u32, name: &str) -> Result<(), EngineError> {
    let is_there = match transaction.work.changed.entry(object) {
        Some(own) => own.is_some_and(|table| *table.name == *name),
        None => {
            let catalogue = transaction.shared.catalogue.read();
            catalogue.tables.get(object).is_some_and(|table| *table.name == *name)
        }
    };
    if is_there { Ok(()) } else { Err(no_table(name)) }
}

/// Checks that a table to be locked exclusively has not changed since the state that the transaction reads.
fn check_unchanged(transaction: &Transaction, object: u32) -> Result<(), EngineError> {
    let Some(base) = transaction.reads.base().filter(|_| object != CATALOGUE) else { return Ok(()) };
    let catalogue = transaction.catalogue();
    let now = catalogue.tables.get(object);
    match (base.table_of(object), now) {
        (Some(then), Some(now)) if !Arc::ptr_eq(then, now) => {
            Err(EngineError::UpdateConflict { table: now.name.to_string() })
        }
        _ => Ok(()),
    }
}

/// Notes that the commit writes the definition of a table once more.
pub(super) fn redefine(transaction: &mut Transaction, object: u32) -> Result<(), EngineError> {
    share_catalogue(transaction)?;
    transaction.work.redefined.insert(u64::from(object), ());
    Ok(())
}
