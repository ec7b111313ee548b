//! End of a transaction: the writing and publishing of its commit, and its undoing.

use std::sync::Arc;

use super::rows::{delete_rows, insert_rows};
use super::unit_of_work::Transaction;
use crate::catalogue::definition;
use crate::database::shared::GivenUp;
use crate::error::EngineError;
use crate::page::unit::CATALOGUE;
use crate::page::{ExtentId, UnitId};

/// Does everything that may still fail before the commit record.
pub(super) fn prepare(transaction: &Transaction) -> Result<(), EngineError> {
    for (unit, extents) in transaction.work.given_up.iter().map(|(_, given_up)| &**given_up) {
        transaction.shared.allocator.log_free(transaction.id, unit, extents)?;
    }
    for (_, unit) in transaction.work.given_up_units.iter() {
        for page in transaction.shared.allocator.iam_pages(unit) {
            transaction.shared.allocator.log_free_page(transaction.id, page)?;
        }
    }
    Ok(())
}

/// Puts the definitions of changed tables into the catalogue's heap.
pub(super) fn write_definitions(transaction: &mut Transaction) -> Result<(), EngineError> {
    let redefined = std::mem::take(&mut transaction.work.redefined);
    let catalogue = transaction.catalogue();
    if let (false, Some(heap)) = (redefined.is_empty(), catalogue.tables.get(CATALOGUE)) {
        transaction.work.changed.put(CATALOGUE, Some(Arc::clone(heap)));
    }
    for object in redefined.iter().map(|(object, ())| object as u32) {
        let table = transaction.work.changed.get(object).cloned();
        let old = catalogue.tables.get(object).map_or(&[][..], |table| &table.definition);
        delete_rows(transaction, CATALOGUE, old)?;
        if let Some(table) = table {
            let rows = insert_rows(transaction, CATALOGUE, &definition::rows_of(&table)?)?;
            drop(table);
            if let Some(table) = transaction.work.changed.get_mut(object) {
                table.definition = rows;
            }
        }
    }
    Ok(())
}

pub(super) fn insert_all_pending(transaction: &mut Transaction) -> Result<(), EngineError> {
    for (object, batches) in std::mem::take(&mut transaction.work.pending) {
        batches.iter().try_for_each(|batch| insert_rows(transaction, object, batch).map(drop))?;
    }
    Ok(())
}

pub(super) fn publish(transaction: &mut Transaction) -> u64 {
    let work = std::mem::take(&mut transaction.work);
    let mut current = transaction.shared.catalogue.write();
    let mut next = (**current).clone();
    next.sequence += 1;
    for (object, filled) in &work.filled {
        if let Some(table) = next.tables.get_mut(*object) {
            table.attach(filled);
        }
    }
    for (object, table) in work.changed.entries() {
        match table {
            Some(table) => drop(next.tables.put(object, Some(Arc::clone(table)))),
            None => next.tables.remove(object),
        }
    }
    let sequence = next.sequence;
    transaction.shared.pager.versions.commit(transaction.id, sequence);
    *current = Arc::new(next);
    drop(current);
    let extents: Vec<ExtentId> =
        work.given_up.iter().flat_map(|(_, given_up)| given_up.1.iter().copied()).collect();
    let units: Vec<UnitId> = work.given_up_units.iter().map(|(_, unit)| unit.id).collect();
    if !extents.is_empty() || !units.is_empty() {
        transaction.shared.given_up.lock().push(GivenUp { sequence, extents, units });
    }
    transaction.shared.allocator.publish_units(transaction.id);
    sequence
}
