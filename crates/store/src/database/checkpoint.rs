//! Checkpoints: where redo starts, and which log is truncated.

use std::sync::atomic::Ordering;

use super::control::Control;
use super::options::RecoveryModel;
use super::shared::Shared;
use crate::cache::pager::LogPosition;
use crate::error::EngineError;
use crate::figures::count;
use crate::page::lsn::Lsn;

/// State that each checkpoint leaves to the next.
#[derive(Debug)]
pub(crate) struct CheckpointState {
    log_bytes: u64,
    /// FULL and BULK_LOGGED keep the log from here on.
    last_log_backup: Lsn,
    /// Log position at which the last checkpoint began.
    redo_start: Lsn,
    /// The log from here on is being copied with the whole database.
    copied_from: Option<Lsn>,
}

impl CheckpointState {
    /// Begins with the state that a control file has.
    pub fn after(control: &Control) -> Self {
        Self {
            log_bytes: 0,
            last_log_backup: control.keep_from,
            redo_start: control.redo_start,
            copied_from: None,
        }
    }
}

impl Shared {
    pub fn checkpoint(&self) -> Result<(), EngineError> {
        self.checkpoint_with(false).map(drop)
    }

    /// Makes the checkpoint with which a copy of the database begins. The log that the copy needs is kept
    /// until [`end_copy`](Self::end_copy). Returns the contents of the copy's control file.
    pub fn checkpoint_for_copy(&self) -> Result<Control, EngineError> {
        self.checkpoint_with(true)
    }

    /// Ends a copy, complete or not.
    pub fn end_copy(&self) {
        self.checkpoint.lock().copied_from = None;
    }

    fn checkpoint_with(&self, copies: bool) -> Result<Control, EngineError> {
        let mut state = self.checkpoint.lock();
        let (mut control, dirty) = self.pager.start_checkpoint(|redo_start, open| {
            let oldest = open.values().map(|position| position.first).min().unwrap_or(redo_start);
            let control = Control {
                redo_start,
                keep_from: oldest.min(redo_start),
                open_transactions: open.iter().map(|(id, at)| (*id, at.first, at.last)).collect(),
                next_transaction: self.next_transaction.load(Ordering::Acquire),
                next_object: self.next_object.load(Ordering::Acquire),
                files: self.pager.files.layout(),
                catalogue_iam: self.catalogue_iam,
                recovery_model: self.recovery_model.load(Ordering::Acquire),
                row_counts: self.row_counts.lock().iter().map(|(object, rows)| (*object, *rows)).collect(),
                decisions: self.decisions.remembered(),
                former_keys: false,
            };
            (control, self.pager.cache.dirty())
        });
        count(&self.counters.checkpoints, 1);
        let needed = control.clone();
        if copies {
            state.copied_from = Some(control.keep_from);
        }
        state.log_bytes = self.pager.log.written_bytes();
        state.redo_start = control.redo_start;
        let reason =
            if self.recovery_model() != RecoveryModel::Simple && state.last_log_backup < control.keep_from {
                "LOG_BACKUP"
            } else if control.keep_from < control.redo_start {
                "ACTIVE_TRANSACTION"
            } else {
                "CHECKPOINT"
            };
        self.pager.log.set_kept_for(reason);
        if self.recovery_model() != RecoveryModel::Simple {
            control.keep_from = control.keep_from.min(state.last_log_backup);
        } else {
            state.last_log_backup = control.redo_start;
        }
        control.keep_from = control.keep_from.min(state.copied_from.unwrap_or(control.keep_from));
        dirty.iter().try_for_each(|frame| self.pager.cache.write_back(frame))?;
        drop(dirty);
        self.pager.sync_files()?;
        self.pager.log.flush(control.redo_start)?;
        if let Err(error) = control.write(&self.volume) {
            if !error.wants_space() {
                return Err(error);
            }
            // The log that this checkpoint gives up is worth more than the room it keeps.
            self.pager.log.give_up_room();
            control.write(&self.volume)?;
        }
        self.pager.log.truncate_before(control.keep_from)?;
        Ok(needed)
    }

    /// Returns two log positions: the start of recovery, and the start of the next log backup (under SIMPLE:
    /// of recovery).
    pub fn log_kept_from(&self) -> (Lsn, Lsn) {
        let state = self.checkpoint.lock();
        (state.redo_start, state.last_log_backup)
    }

    /// Notes that the log before `to` has been backed up.
    pub fn note_log_backup(&self, to: Lsn) {
        self.checkpoint.lock().last_log_backup = to;
    }

    /// Counts the bytes of records that were written since the last checkpoint.
    pub fn since_checkpoint_bytes(&self) -> u64 {
        let state = self.checkpoint.lock();
        self.pager.log.written_bytes() - state.log_bytes
    }

    /// Makes a checkpoint if enough log was written since the last.
    pub fn checkpoint_if_due(&self) -> Result<(), EngineError> {
        let since = self.since_checkpoint_bytes();
        // A log with a limit is given up before it is reached.
        let limit = self.options.log.limit_bytes.unwrap_or(u64::MAX);
        let due = since >= self.options.checkpoint_log_bytes
            || (since >= limit / 8 && self.pager.log.used_bytes() >= limit / 2);
        if due { self.checkpoint() } else { Ok(()) }
    }

    /// Does the work that is due after a commit. Failures do not affect the commit; the work is tried again
    /// after a later one.
    pub fn after_commit(&self) {
        self.release_given_up().and_then(|()| self.checkpoint_if_due()).ok();
    }

    /// Runs something while no checkpoint is made.
    pub fn without_checkpoint<T>(&self, work: impl FnOnce() -> T) -> T {
        let _no_checkpoint = self.checkpoint.lock();
        work()
    }

    /// Withdraws a commit that could not be made durable for lack of space: the transaction is open again. False if the commit is
    /// durable after all.
    pub fn withdraw_commit(
        &self,
        transaction: u64,
        ended: LogPosition,
        row_counts: &[(u32, i64)],
    ) -> Result<bool, EngineError> {
        // A checkpoint that has seen the transaction ended must not become one that counts.
        let _no_checkpoint = self.checkpoint.lock();
        if !self.pager.log.withdraw(ended.last)? {
            return Ok(false);
        }
        self.pager.resume(transaction, ended);
        let mut counts = self.row_counts.lock();
        for (object, difference) in row_counts {
            let rows = counts.entry(*object).or_default();
            *rows = rows.saturating_add_signed(difference.saturating_neg());
        }
        Ok(true)
    }
}
