//! Parallel writers: several threads fill one heap within one transaction, each in extents of its own.

use std::sync::Arc;

use crate::storage::columns::TableForm;
use crate::storage::error::StoreError;
use arrow::array::RecordBatch;
use parking_lot::Mutex;
use store::{BulkWriter, EngineError};

/// One of several writers of a table, for a thread of its own. The transaction owns the writer and can end it at any time; later
/// rows are refused, so that no writer outlives its statement.
#[derive(Clone, Debug)]
pub struct SideWriter {
    form: Arc<TableForm>,
    slot: Arc<Slot>,
}

/// State of a side writer that its transaction keeps.
#[derive(Debug)]
pub(super) struct Slot {
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    Open(Box<BulkWriter>),
    /// An append has failed: what was written must be undone.
    Failed(Box<BulkWriter>),
    Ended,
}

impl SideWriter {
    pub(super) fn new(form: Arc<TableForm>, writer: BulkWriter) -> SideWriter {
        SideWriter { form, slot: Arc::new(Slot { state: Mutex::new(State::Open(Box::new(writer))) }) }
    }

    pub(super) fn slot(&self) -> Arc<Slot> {
        Arc::clone(&self.slot)
    }

    /// Adds rows. After an error the statement must be undone.
    pub fn append(&self, batch: &RecordBatch) -> Result<(), StoreError> {
        let batch = self.form.encode(batch)?;
        let mut state = self.slot.state.lock();
        match std::mem::replace(&mut *state, State::Ended) {
            State::Open(mut writer) => {
                let done = writer.append(&batch);
                *state = if done.is_ok() { State::Open(writer) } else { State::Failed(writer) };
                Ok(done?)
            }
            other => {
                *state = other;
                Err(EngineError::Doomed.into())
            }
        }
    }
}

impl Slot {
    /// Ends the writer, waiting for an append that is under way. The flag is true if all its rows were
    /// written.
    pub fn end(&self) -> Option<(BulkWriter, bool)> {
        match std::mem::replace(&mut *self.state.lock(), State::Ended) {
            State::Open(writer) => Some((*writer, true)),
            State::Failed(writer) => Some((*writer, false)),
            State::Ended => None,
        }
    }

    /// Counts the rows written so far.
    pub fn rows(&self) -> u64 {
        match &*self.state.lock() {
            State::Open(writer) | State::Failed(writer) => writer.rows(),
            State::Ended => 0,
        }
    }
}
