//! State that the statements of a transaction read.

use std::sync::Arc;

use super::unit_of_work::Transaction;
use crate::catalogue::Table;
use crate::database::shared::Shared;
use crate::database::snapshot::Snapshot;
use crate::error::EngineError;

/// The snapshots that a transaction reads.
#[derive(Debug)]
pub struct Reads {
    shared: Arc<Shared>,
    transaction: u64,
    /// Snapshot that the running statement reads.
    pinned: Option<Snapshot>,
    /// True if all statements read the same state.
    keeps: bool,
    /// Rows in pages that others have locked are left out.
    passes: bool,
    /// Snapshot that all statements read, from the first reading on.
    base: Option<Snapshot>,
}

impl Reads {
    pub(super) fn new(shared: &Arc<Shared>, transaction: u64) -> Self {
        Self {
            shared: Arc::clone(shared),
            transaction,
            pinned: None,
            keeps: false,
            passes: false,
            base: None,
        }
    }

    /// Pins what is committed now: until
    /// [`WriteTable::claim_rows`](super::write_table::WriteTable::claim_rows), rows are read as of this
    /// moment, and as this transaction has made them.
    pub fn pin(&mut self) {
        if self.pinned.is_some() {
            return;
        }
        if !self.keeps {
            self.pinned = Some(Snapshot::open(&self.shared));
            return;
        }
        let base = self.base.get_or_insert_with(|| {
            let base = Snapshot::open(&self.shared);
            self.shared.pager.versions.keep_to(self.transaction, base.sequence());
            base
        });
        self.pinned = Some(base.clone());
    }

    /// Ends [`pin`](Self::pin).
    pub fn unpin(&mut self) {
        self.pinned = None;
    }

    /// Interrupts [`pin`](Self::pin) until [`return_to`](Self::return_to).
    pub fn park(&mut self) -> Option<Snapshot> {
        self.pinned.take()
    }

    /// Restores the snapshot that was pinned before.
    pub fn return_to(&mut self, pinned: Option<Snapshot>) {
        self.pinned = pinned;
    }

    /// Sets snapshot isolation: every [`pin`](Self::pin) then gives the snapshot of the first one. The transaction cannot change
    /// what others have changed since: [`UpdateConflict`](EngineError::UpdateConflict).
    pub fn keep(&mut self, keeps: bool) {
        self.keeps = keeps;
        self.pinned = None;
    }

    /// Returns true if snapshot isolation is set.
    pub fn keeps(&self) -> bool {
        self.keeps
    }

    /// Sets whether new scans skip rows in pages that others have locked to change them (READPAST).
    pub fn set_passes(&mut self, passes: bool) {
        self.passes = passes;
    }

    pub(super) fn passes(&self) -> bool {
        self.passes
    }

    /// Returns the snapshot that all statements keep to, if one has been read.
    pub(super) fn base(&self) -> Option<&Snapshot> {
        self.base.as_ref()
    }
}

/// Returns the snapshot that a scan reads, and the table as it then is.
///
/// # Errors
/// The transaction keeps to a snapshot in which the table is another one.
pub(super) fn snapshot_of(
    transaction: &Transaction,
    table: Arc<Table>,
) -> Result<(Snapshot, Arc<Table>), EngineError> {
    let Reads { shared, pinned, keeps, .. } = &transaction.reads;
    let snapshot = pinned.clone().unwrap_or_else(|| Snapshot::open(shared));
    if *keeps && pinned.is_some() {
        let then = snapshot.table_of(table.object);
        let is_same = |then: &&Arc<Table>| {
            Arc::ptr_eq(&then.layout, &table.layout) && then.properties == table.properties
        };
        return match then.filter(is_same) {
            Some(then) => Ok((snapshot.clone(), transaction.with_filled(then))),
            None => Err(EngineError::DefinitionChanged { table: table.name.to_string() }),
        };
    }
    // Another commit may have replaced the table since it was looked up. The snapshot must read its own
    // version.
    let same = snapshot.table_of(table.object).filter(|own| Arc::ptr_eq(&own.layout, &table.layout));
    let table = same.map_or(table, |own| transaction.with_filled(own));
    Ok((snapshot, table))
}
