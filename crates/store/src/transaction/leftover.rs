//! What bulk writers leave behind that are dropped before they have ended.

use std::sync::Arc;

use parking_lot::Mutex;

use super::load::undo_load;
use super::{Savepoint, Transaction};
use crate::database::shared::Shared;
use crate::page::ExtentId;

/// What one writer has left.
#[derive(Debug)]
pub(crate) struct Leftover {
    /// Extents that it was given.
    pub allocated: Vec<ExtentId>,
    /// Where the load began, if it can be undone alone.
    pub start: Option<(Savepoint, u64)>,
    /// Savepoints that the transaction had set when it began.
    pub began: u64,
}

/// Where a transaction finds what its dropped writers have left.
#[derive(Debug)]
pub(crate) struct Leftovers {
    shared: Arc<Shared>,
    /// None: the transaction has ended.
    waiting: Mutex<Option<Vec<Leftover>>>,
}

impl Leftovers {
    /// Of a transaction that begins.
    pub fn new(shared: &Arc<Shared>) -> Arc<Self> {
        Arc::new(Self { shared: Arc::clone(shared), waiting: Mutex::new(Some(Vec::new())) })
    }

    /// Notes what a writer has left. If its transaction has been undone meanwhile, the extents are free at once.
    pub fn leave(&self, leftover: Leftover) {
        let mut waiting = self.waiting.lock();
        if let Some(waiting) = &mut *waiting {
            return waiting.push(leftover);
        }
        // What undid them must be known before somebody else fills them.
        let log = &self.shared.pager.log;
        match log.flush(log.position()) {
            Ok(()) => self.shared.allocator.release(leftover.allocated),
            Err(error) => log.shut(error.to_string()),
        }
    }

    fn take(&self) -> Vec<Leftover> {
        self.waiting.lock().as_mut().map(std::mem::take).unwrap_or_default()
    }
}

impl Transaction {
    /// Undoes the loads of writers that were dropped before they had ended.
    pub(crate) fn settle(&mut self) {
        for Leftover { allocated, start, .. } in self.leftovers.take() {
            self.allocated.extend(allocated);
            self.open_writers = self.open_writers.saturating_sub(1);
            undo_load(self, start);
        }
    }
}

/// Takes over the extents of such writers that began after a savepoint, because everything since is undone. False: others began
/// before it.
pub(super) fn settle_since(transaction: &mut Transaction, savepoint: &Savepoint) -> bool {
    let (later, earlier): (Vec<_>, Vec<_>) =
        transaction.leftovers.take().into_iter().partition(|leftover| leftover.began >= savepoint.number);
    transaction.open_writers = transaction.open_writers.saturating_sub(later.len() as u64);
    transaction.allocated.extend(later.into_iter().flat_map(|leftover| leftover.allocated));
    let settled = earlier.is_empty();
    earlier.into_iter().for_each(|leftover| transaction.leftovers.leave(leftover));
    settled
}

/// The transaction is being undone as a whole: all extents of dropped writers. What is dropped later is free at once.
pub(super) fn settle_all(transaction: &mut Transaction) {
    let left = transaction.leftovers.waiting.lock().take().unwrap_or_default();
    transaction.allocated.extend(left.into_iter().flat_map(|leftover| leftover.allocated));
}
