//! How a transaction ends: what its commit still has to write and to show, and how it is undone.

use std::sync::Arc;

use super::leftover::settle_all;
use super::rows::{delete_rows, insert_rows};
use super::{EngineError, Transaction};
use crate::catalogue::definition;
use crate::database::shared::GivenUp;
use crate::figures::count;
use crate::log::Operation;
use crate::page::lsn::Lsn;
use crate::page::unit::CATALOGUE;
use crate::page::{ExtentId, UnitId};

/// Everything that may still fail before the commit record.
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

pub(super) fn roll_back_all(transaction: &mut Transaction) {
    if std::mem::replace(&mut transaction.ended, true) {
        return;
    }
    settle_all(transaction);
    let allocated = std::mem::take(&mut transaction.allocated);
    let undone = undo(transaction, Lsn::ZERO)
        .and_then(|()| transaction.shared.pager.end(transaction.id, Operation::End, || ()))
        .map(|logged| count(&transaction.shared.counters.rolled_back, u64::from(logged.is_some())));
    // The pages are not what they should be; the next recovery undoes it.
    let shut = |error: EngineError| {
        transaction.shared.pager.log.shut(format!("a transaction could not be undone: {error}"))
    };
    let is_undone = undone.map_err(shut).is_ok();
    transaction.shared.pager.versions.roll_back(transaction.id);
    transaction.shared.locks.release_all(transaction.id);
    if is_undone {
        // Only now: the next owner of an extent locks its pages.
        give_back(transaction, allocated).map_err(shut).ok();
    }
    if transaction.shared.pager.log.lacks_space() && transaction.shared.pager.log.is_shut().is_none() {
        // It may give up old log. If it fails, there is no more room than before.
        transaction.shared.checkpoint().ok();
    }
}

pub(super) fn undo(transaction: &Transaction, until: Lsn) -> Result<(), EngineError> {
    // Until splits are undone, nobody follows the trees.
    let _latches = transaction.shared.latches.take(transaction.claims.restructured());
    transaction.shared.pager.undo(transaction.id, until)
}

pub(super) fn give_back(transaction: &Transaction, extents: Vec<ExtentId>) -> Result<(), EngineError> {
    if !extents.is_empty() {
        // A minimally logged load may fill them at once, past the log. If then the power goes, this undoing must be known:
        // done once more, it would find pages that are no longer what they were.
        let undone = transaction.shared.pager.log.position();
        match transaction.shared.pager.log.flush(undone) {
            Err(error) if error.is_log_full() => transaction.shared.release_when_durable(undone, extents),
            flushed => {
                flushed?;
                transaction.shared.allocator.release(extents);
            }
        }
    }
    transaction.shared.allocator.take_back_undone(transaction.id)
}
