//! Remains of bulk writers that were dropped before they had finished.

use std::sync::Arc;

use parking_lot::Mutex;

use super::unit_of_work::Savepoint;
use crate::database::shared::Shared;
use crate::page::ExtentId;

/// Extents and savepoints that a dropped writer has left.
#[derive(Debug)]
pub(crate) struct Leftover {
    /// Extents of the writer.
    pub allocated: Vec<ExtentId>,
    /// Savepoint at the start of the load, if the load can be undone alone.
    pub start: Option<(Savepoint, u64)>,
    /// Savepoints that the transaction had set when it began.
    pub began: u64,
}

/// Extents and savepoints that a transaction's dropped writers have left, until the transaction undoes them.
#[derive(Debug)]
pub(crate) struct Leftovers {
    shared: Arc<Shared>,
    /// Entries not undone yet; None: the transaction has ended.
    pub(super) waiting: Mutex<Option<Vec<Leftover>>>,
}

impl Leftovers {
    /// Creates the list for a transaction that begins.
    pub fn new(shared: &Arc<Shared>) -> Arc<Self> {
        Arc::new(Self { shared: Arc::clone(shared), waiting: Mutex::new(Some(Vec::new())) })
    }

    /// Takes over what a writer has left. If its transaction has been undone meanwhile, the extents are freed at once.
    pub fn leave(&self, leftover: Leftover) {
        let mut waiting = self.waiting.lock();
        if let Some(waiting) = &mut *waiting {
            return waiting.push(leftover);
        }
        // The log must have the undoing of these extents before they are given out again.
        let log = &self.shared.pager.log;
        match log.flush(log.position()) {
            Ok(()) => self.shared.allocator.release(leftover.allocated),
            Err(error) => log.shut(error.to_string()),
        }
    }

    pub(super) fn take(&self) -> Vec<Leftover> {
        self.waiting.lock().as_mut().map(std::mem::take).unwrap_or_default()
    }
}
