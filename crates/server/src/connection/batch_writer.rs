//! Writes the batches of a bulk load, all but the last on a thread of their own, while the rows behind them are decoded.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use arrow::array::RecordBatch;
use executor::statements::BulkWriter;
use store::SessionWaits;
use tokio::runtime::Handle;
use tracing::Span;
use tsql::SqlError;

use crate::serving::STACK_BYTES;

/// A larger batch is written before the next is decoded.
const AWAY_BYTES_MAX: usize = 32 << 20;

/// The parts of the session that the writer's thread needs.
#[derive(Debug, Clone)]
pub(super) struct WriterContext {
    /// The runtime for functions that constraints call.
    pub threads: Handle,
    /// The wait counters of the session.
    pub waits: Arc<SessionWaits>,
}

/// The writer of a load. It is either here, or with a batch on its thread. If it is dropped, no row stays, and its thread has ended.
pub(super) struct BatchWriter {
    /// The writer; `None` if it is on the other thread, or the load has failed.
    here: Option<BulkWriter>,
    away: Option<Away>,
    context: WriterContext,
}

/// The thread that writes batches.
struct Away {
    batches: SyncSender<(BulkWriter, RecordBatch)>,
    written: Receiver<Result<BulkWriter, SqlError>>,
    thread: JoinHandle<()>,
}

impl BatchWriter {
    /// Wraps a writer that is here.
    pub fn new(writer: BulkWriter, context: WriterContext) -> BatchWriter {
        BatchWriter { here: Some(writer), away: None, context }
    }

    /// Returns the writer, after the batch that it may still be writing. Errors: those of that batch, after which the
    /// load is over.
    pub fn here(&mut self) -> Result<&mut BulkWriter, SqlError> {
        let writer = self.take()?;
        Ok(self.here.insert(writer))
    }

    /// Says why the batch that it may still be writing was refused. `None`: it was not.
    pub fn failure(&mut self) -> Option<SqlError> {
        self.away.is_some().then(|| self.here().err()).flatten()
    }

    /// Writes a batch while the caller goes on. Errors: those of the batch before.
    pub fn append(&mut self, batch: RecordBatch) -> Result<(), SqlError> {
        self.here()?;
        // Two large batches at a time would double what a load holds.
        if batch.get_array_memory_size() > AWAY_BYTES_MAX || self.thread().is_none() {
            return self.here()?.append(batch);
        }
        self.here()?.charge()?;
        match (self.here.take(), &self.away) {
            (Some(writer), Some(away)) => away.batches.send((writer, batch)).map_err(|_| lost()),
            _ => Err(lost()),
        }
    }

    /// Writes the last batch and ends the load. Returns its rows.
    pub fn finish(mut self, last: Option<RecordBatch>) -> Result<u64, SqlError> {
        let mut writer = self.take()?;
        if let Some(batch) = last {
            writer.append(batch)?;
        }
        writer.finish()
    }

    fn take(&mut self) -> Result<BulkWriter, SqlError> {
        let written = match (self.here.take(), &self.away) {
            (Some(writer), _) => return Ok(writer),
            (None, Some(away)) => away.written.recv().ok(),
            (None, None) => None,
        };
        match written {
            Some(Ok(writer)) => Ok(writer),
            Some(Err(error)) => {
                let _ = self.end_thread();
                Err(error)
            }
            // A panic there is one here: the connection ends with it.
            None => match self.end_thread() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => Err(lost()),
            },
        }
    }

    /// Returns the thread. `None`: the machine has one processor, or no thread to give.
    fn thread(&mut self) -> Option<&Away> {
        if self.away.is_none() && thread::available_parallelism().is_ok_and(|processors| processors.get() > 1)
        {
            self.away = Away::start(&self.context);
        }
        self.away.as_ref()
    }

    /// Ends the thread. The load is undone before anybody hears that it failed.
    fn end_thread(&mut self) -> thread::Result<()> {
        let Some(Away { batches, written, thread }) = self.away.take() else { return Ok(()) };
        drop((batches, written));
        thread.join()
    }
}

impl Drop for BatchWriter {
    fn drop(&mut self) {
        let _ = self.end_thread();
    }
}

impl Away {
    fn start(context: &WriterContext) -> Option<Away> {
        let WriterContext { threads, waits } = context.clone();
        let (batches, queue) = sync_channel::<(BulkWriter, RecordBatch)>(1);
        let (done, written) = sync_channel(1);
        let span = Span::current();
        let write = move || {
            let _runtime = threads.enter();
            span.in_scope(|| {
                waits.during(|| {
                    for (mut writer, batch) in queue {
                        // Counted from here on.
                        let appended = writer.charge().and_then(|()| writer.append(batch));
                        let appended = appended.and_then(|()| writer.charge());
                        // The receiver is gone and wants no row: the writer is dropped with the rows.
                        if done.send(appended.map(|()| writer)).is_err() {
                            break;
                        }
                    }
                });
            });
        };
        let thread = thread::Builder::new()
            .name("bulkwire-write".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(write)
            .ok()?;
        Some(Away { batches, written, thread })
    }
}

fn lost() -> SqlError {
    SqlError::internal("the writer of a bulk load has ended")
}
