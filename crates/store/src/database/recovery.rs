//! Recovery when a database is opened: the log is redone, then unfinished transactions are undone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::control::Control;
use super::progress::{RecoveryStep, Teller};
use crate::cache::pager::{FIRST_SYSTEM_TRANSACTION, LogPosition, Pager};
use crate::error::EngineError;
use crate::figures::WaitType;
use crate::log::{Change, LogRecord, LogScan, Operation};
use crate::page::Page;
use crate::page::lsn::Lsn;

/// Findings of reading the log during recovery.
#[derive(Debug)]
pub(crate) struct Recovered {
    /// Rows of each table.
    pub row_counts: BTreeMap<u32, u64>,
    /// Ids below this have been used.
    pub next_transaction: u64,
    /// Transactions over several databases that this one, as their coordinator, has decided to commit.
    pub decisions: BTreeSet<u64>,
}

/// Brings all pages to the state after the last commit in the log. `decided` knows what another database, the coordinator, has decided to
/// commit; what it does not know was not decided.
pub(crate) fn recover(
    pager: &Arc<Pager>,
    scan: &LogScan,
    control: &Control,
    decided: &dyn Fn(u64) -> bool,
    teller: &mut Teller<'_>,
) -> Result<Recovered, EngineError> {
    let mut open: BTreeMap<u64, LogPosition> = control
        .open_transactions
        .iter()
        .map(|(id, first, last)| (*id, LogPosition { first: *first, last: *last, reserved_bytes: 0 }))
        .collect();
    let mut row_counts: BTreeMap<u32, u64> = control.row_counts.iter().copied().collect();
    let mut next_transaction = control.next_transaction;
    let mut decisions: BTreeSet<u64> = control.decisions.iter().copied().collect();
    // Number of changes to be undone, by the number of the open transaction.
    let mut changes: BTreeMap<u64, u64> = BTreeMap::new();
    scan.for_each(control.redo_start, |lsn, record| {
        teller.record(RecoveryStep::Redo, || scan.reached(lsn));
        let LogRecord { transaction, operation, .. } = record;
        if transaction != 0 {
            if transaction < FIRST_SYSTEM_TRANSACTION {
                next_transaction = next_transaction.max(transaction + 1);
            }
            let position = open.entry(transaction).or_default();
            if position.first == Lsn::ZERO {
                position.first = lsn;
            }
            position.last = lsn;
            *changes.entry(transaction).or_default() += 1;
        }
        match operation {
            Operation::Begin | Operation::Withdrawn { .. } | Operation::Prepare { .. } => Ok(()),
            Operation::Decision { global } => {
                if global != 0 {
                    decisions.insert(global);
                }
                Ok(())
            }
            Operation::Commit { row_counts: differences } => {
                open.remove(&transaction);
                changes.remove(&transaction);
                add(&mut row_counts, &differences);
                Ok(())
            }
            Operation::End => {
                open.remove(&transaction);
                changes.remove(&transaction);
                Ok(())
            }
            Operation::Change(change) | Operation::Compensation { change, .. } => redo(pager, lsn, &change),
        }
    })?;
    // Every page that undoing changes is first logged as a whole: what redoing left may not be on disk yet.
    pager.start_checkpoint(|_, _| ());
    for (transaction, position) in &open {
        pager.resume(*transaction, *position);
    }
    let (mut undone, all) = (0, changes.values().sum::<u64>());
    for (transaction, position) in open.into_iter().rev() {
        // After the record that prepares a transaction, the log has only the outcome of that transaction.
        match pager.log.read(position.last)?.operation {
            Operation::Prepare { global, row_counts: differences }
                if decisions.contains(&global) || decided(global) =>
            {
                add(&mut row_counts, &differences);
                pager.end(transaction, Operation::Commit { row_counts: differences }, || ())?;
            }
            _ => {
                pager.undo_each(transaction, Lsn::ZERO, &mut || {
                    undone += 1;
                    teller.record(RecoveryStep::Undo, || (undone, all.max(undone)));
                })?;
                pager.end(transaction, Operation::End, || ())?;
            }
        }
    }
    Ok(Recovered { row_counts, next_transaction, decisions })
}

fn add(row_counts: &mut BTreeMap<u32, u64>, differences: &[(u32, i64)]) {
    for (object, difference) in differences {
        let rows = row_counts.entry(*object).or_default();
        *rows = rows.saturating_add_signed(*difference);
    }
}

/// Makes a change again, unless the page has it.
fn redo(pager: &Pager, lsn: Lsn, change: &Change) -> Result<(), EngineError> {
    let id = change.page();
    if !pager.files.has(id.file) {
        // The file was empty, and was removed, later in the log that a restore has put together.
        return Ok(());
    }
    let frame = pager.cache.frame(id)?;
    let mut state = frame.lock();
    let mut page = if change.is_whole() {
        // The page on disk may be torn. If it is whole and newer, the log need not know its content (a page
        // that was given to a minimally logged load since).
        let present = match &state.page {
            Some(page) => Some((**page).clone()),
            None => {
                let page = pager.files.read_page_unverified(id, WaitType::PageIoLatchExclusive)?;
                Some(page).filter(|page| page.verify(id).is_ok())
            }
        };
        match present.filter(|page| page.lsn() >= lsn) {
            Some(page) => {
                state.page.get_or_insert_with(|| Arc::new(page));
                return Ok(());
            }
            None => Page::zeroed(),
        }
    } else {
        let page = pager.cache.load(&mut state, id, WaitType::PageIoLatchExclusive)?;
        if page.lsn() >= lsn {
            return Ok(());
        }
        (*page).clone()
    };
    if !change.apply(&mut page) {
        let reason = format!("the change at {lsn} cannot be made again");
        return Err(EngineError::DamagedPage { page: id, reason });
    }
    page.set_lsn(lsn);
    state.page = Some(Arc::new(page));
    state.dirty = true;
    Ok(())
}
