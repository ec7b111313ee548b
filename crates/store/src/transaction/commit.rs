//! Committing: first everything that may still fail, then the commit record.

use std::sync::Arc;

use super::end::{insert_all_pending, prepare, publish, write_definitions};
use super::unit_of_work::Transaction;
use super::unit_of_work::roll_back_all;
use crate::cache::pager::LogPosition;
use crate::database::shared::Shared;
use crate::error::EngineError;
use crate::figures::count;
use crate::lock::turns::Turn;
use crate::log::{Log, Operation};
use crate::page::lsn::Lsn;

impl Transaction {
    /// Makes everything durable, then visible, at once. Returns the commit's number. Bulk writers must have ended. A transaction
    /// over several databases is committed by [`commit_together`](crate::engine::global::commit_together).
    pub fn commit(self) -> Result<u64, EngineError> {
        self.ready()?.commit()
    }

    /// Does everything that may still fail, so that only a record of the log is missing.
    pub(crate) fn ready(mut self) -> Result<Ready, EngineError> {
        self.settle();
        self.check()?;
        if self.open_writers > 0 {
            let reason = format!("{} bulk writers of the transaction have not ended", self.open_writers);
            return Err(EngineError::Schema { reason });
        }
        let shared = Arc::clone(&self.shared);
        // The transaction reads no more: rows that it still writes go next to those of others.
        shared.pager.versions.stop_keeping(self.id);
        let forced =
            if self.forced && !shared.options.is_temporary { shared.pager.sync_files() } else { Ok(()) };
        // A commit that changes a shared table or the catalogue keeps its turn from here until it is
        // published.
        let turn = self.work.is_together().then(|| Turn::wait(&shared.turns));
        let prepared = forced.and_then(|()| write_definitions(&mut self)).and_then(|()| {
            insert_all_pending(&mut self)?;
            prepare(&self)
        });
        if let Err(error) = prepared {
            roll_back_all(&mut self);
            return Err(error);
        }
        let row_counts = self.work.row_differences(&self.catalogue());
        Ok(Ready { transaction: self, row_counts, _turn: turn })
    }
}

/// A transaction that only waits for its last record. Dropped, it is undone.
#[derive(Debug)]
pub(crate) struct Ready {
    transaction: Transaction,
    row_counts: Vec<(u32, i64)>,
    // Let go after the transaction is undone.
    _turn: Option<Turn>,
}

impl Ready {
    /// Returns the number of the transaction's database.
    pub fn database(&self) -> u64 {
        self.transaction.shared.number
    }

    /// Returns true if the transaction's changes need not survive the process.
    pub fn is_temporary(&self) -> bool {
        self.shared().options.is_temporary
    }

    /// Returns true if the transaction has changed anything.
    pub fn has_changes(&self) -> bool {
        self.shared().pager.log_position(self.transaction.id).first != Lsn::ZERO
    }

    /// Commits it by itself.
    pub fn commit(mut self) -> Result<u64, EngineError> {
        let shared = Arc::clone(self.shared());
        let logged = self.log_commit();
        let mut flushed = match &logged {
            Ok(Some(_)) if self.is_temporary() => Ok(true),
            Ok(Some(ended)) => shared.pager.log.flush(ended.last).map(|()| true),
            Ok(None) => Ok(false),
            Err(error) => Err(EngineError::Shut { reason: error.to_string() }),
        };
        if let (Err(error), Ok(Some(ended))) = (&flushed, &logged)
            && error.is_log_full()
        {
            match shared.withdraw_commit(self.transaction.id, *ended, &self.row_counts) {
                Ok(true) => {
                    roll_back_all(&mut self.transaction);
                    return flushed.map(|_| 0);
                }
                withdrawn => flushed = withdrawn.map(|_| true),
            }
        }
        match flushed {
            Ok(changed) => Ok(self.publish(changed)),
            // It is unknown if the record is on disk. The log takes no more records until the next recovery
            // has found out.
            Err(error) => Err(self.leave(&error)),
        }
    }

    /// Leaves the decision to a coordinator, for which the transaction is `global`. It is durable only after a flush up to the
    /// returned position; None if there is nothing to commit.
    pub fn prepare(&mut self, global: u64) -> Result<Option<Lsn>, EngineError> {
        let prepare = Operation::Prepare { global, row_counts: self.row_counts.clone() };
        self.shared().pager.prepare(self.transaction.id, prepare)
    }

    /// Makes durable what was prepared.
    pub fn flush(&self, lsn: Lsn) -> Result<(), EngineError> {
        self.shared().pager.log.flush(lsn)
    }

    /// Commits a prepared transaction whose decision is durable, without waiting. Returns the log position that must be durable
    /// before the decision can be dropped.
    pub fn commit_decided(mut self) -> Result<Option<(Arc<Log>, Lsn)>, EngineError> {
        let log = Arc::clone(&self.shared().pager.log);
        match self.log_commit() {
            Ok(ended) => {
                self.publish(ended.is_some());
                Ok(ended.map(|ended| (log, ended.last)))
            }
            // The transaction is committed all the same: the next recovery completes it.
            Err(error) => Err(self.leave(&error)),
        }
    }

    /// Leaves a transaction with an unknown outcome to the next recovery.
    pub fn leave(mut self, error: &EngineError) -> EngineError {
        let Transaction { shared, id, .. } = &self.transaction;
        shared.pager.log.shut(error.to_string());
        shared.locks.release_all(*id);
        self.transaction.ended = true;
        EngineError::Shut { reason: error.to_string() }
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.transaction.shared
    }

    fn log_commit(&self) -> Result<Option<LogPosition>, EngineError> {
        let (shared, row_counts) = (self.shared(), &self.row_counts);
        let commit = Operation::Commit { row_counts: row_counts.clone() };
        shared.pager.end(self.transaction.id, commit, || {
            let mut counts = shared.row_counts.lock();
            for (object, difference) in row_counts {
                let rows = counts.entry(*object).or_default();
                *rows = rows.saturating_add_signed(*difference);
            }
        })
    }

    /// Publishes the committed changes.
    fn publish(&mut self, changed: bool) -> u64 {
        let Self { transaction, _turn: turn, .. } = self;
        let shared = Arc::clone(&transaction.shared);
        transaction.ended = true;
        if changed {
            count(&shared.counters.write_transactions, 1);
        }
        let changed = || transaction.work.changed.entries();
        let kept: Vec<u32> = changed().filter_map(|(_, table)| Some(table?.storage)).collect();
        for (object, _) in changed().filter(|(_, table)| table.is_none()) {
            shared.row_counts.lock().remove(&object);
            // The pages of a dropped table may belong to another table by now.
            let storage = shared.catalogue.read().tables.get(object).map_or(object, |table| table.storage);
            if !kept.contains(&storage) {
                shared.forget_storage(storage);
            }
        }
        let sequence = publish(transaction);
        drop(turn.take());
        shared.locks.release_all(transaction.id);
        shared.after_commit();
        sequence
    }
}
