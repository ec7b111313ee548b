//! Writes the batches of a bulk load, all but the last on a thread of their own, while the rows behind them are decoded.

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

/// What the thread of a writer needs of its session.
#[derive(Debug, Clone)]
pub(super) struct WriterContext {
    /// The runtime for functions that constraints call.
    pub threads: Handle,
    /// What the session waits for.
    pub waits: Arc<SessionWaits>,
}

/// The writer of a load. It is either here, or with a batch on its thread. If it is dropped, no row stays, and its thread has ended.
pub(super) struct BatchWriter {
    /// None: it is away, or the load has failed.
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
    /// A writer that is here.
    pub fn new(writer: BulkWriter, context: WriterContext) -> BatchWriter {
        BatchWriter { here: Some(writer), away: None, context }
    }

    /// The writer, after the batch that it may still be writing. Errors: those of that batch, after which the load is over.
    pub fn here(&mut self) -> Result<&mut BulkWriter, SqlError> {
        let writer = self.take()?;
        Ok(self.here.insert(writer))
    }

    /// Why the batch that it may still be writing was refused. None: it was not.
    pub fn failure(&mut self) -> Option<SqlError> {
        self.away.is_some().then(|| self.here().err()).flatten()
    }

    /// Writes a batch while the caller goes on. Errors: those of the batch before.
    pub fn append(&mut self, batch: RecordBatch) -> Result<(), SqlError> {
        let mut writer = self.take()?;
        match self.thread() {
            Some(away) => {
                writer.charge()?;
                away.batches.send((writer, batch)).map_err(|_| lost())
            }
            None => {
                let appended = writer.append(batch);
                self.here = Some(writer);
                appended
            }
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
            (None, Some(away)) => away.written.recv().unwrap_or_else(|_| Err(lost())),
            (None, None) => Err(lost()),
        };
        if written.is_err() {
            self.end_thread();
        }
        written
    }

    /// None: the machine has one processor, or no thread to give.
    fn thread(&mut self) -> Option<&Away> {
        if self.away.is_none() && thread::available_parallelism().is_ok_and(|processors| processors.get() > 1)
        {
            self.away = Away::start(&self.context);
        }
        self.away.as_ref()
    }

    /// The load is undone before anybody hears that it failed.
    fn end_thread(&mut self) {
        if let Some(Away { batches, written, thread }) = self.away.take() {
            drop((batches, written));
            let _ = thread.join();
        }
    }
}

impl Drop for BatchWriter {
    fn drop(&mut self) {
        self.end_thread();
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
                        let appended = writer.append(batch);
                        // Who is gone wants no row: the writer is dropped with what was sent.
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
