//! A bulk load over one connection. Each batch is an INSERT BULK, a message of type 07, and the server's row count.

use std::time::{Duration, Instant};

use arrow::record_batch::RecordBatch;
use tds::{Isolation, PacketType, Status};
use tracing::debug;

use crate::{
    client::{Client, bulk_metadata},
    error::Error,
    options::BatchTransaction,
    plan::{CountRule, LoadPlan},
    report::MESSAGES_MAX,
    transport::Outgoing,
};

/// DONE with status, command and count zero: the end of the rows (13 bytes since 7.2).
const DONE: [u8; 13] = [0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// Encoded rows sent at a time by [`BulkLoad::write`].
const CHUNK_BYTES: usize = 256 * 1024;
/// Time to find the server's explanation after a write failed.
const EXPLANATION_PATIENCE: Duration = Duration::from_secs(2);

/// A load under way. If it is dropped without [`BulkLoad::finish`], the open batch is rolled back; closed batches stay committed.
#[derive(Debug)]
pub struct BulkLoad<'c> {
    client: &'c mut Client,
    plan: &'c LoadPlan,
    statement: String,
    metadata: Vec<u8>,
    open: Option<OpenBatch>,
    buffer: Vec<u8>,
    progress: BulkProgress,
}

/// Counts what a load has done so far.
#[derive(Debug, Clone, Default)]
pub struct BulkProgress {
    /// Rows sent, the open batch included.
    pub rows_sent: u64,
    /// Rows that the server confirmed and committed.
    pub rows_committed: u64,
    /// Rows of these that the server has dropped, since their keys were there: IGNORE_DUP_KEY.
    pub rows_ignored: u64,
    /// Rows of the last batch, if it is not known whether it was committed.
    pub rows_in_doubt: u64,
    /// Batches committed.
    pub batches: u64,
    /// Time spent writing to the socket.
    pub send: Duration,
    /// Time spent waiting for answers.
    pub wait: Duration,
    /// Messages that came with the answers.
    pub messages: Vec<String>,
}

#[derive(Debug)]
struct OpenBatch {
    message: Outgoing,
    rows: u64,
    /// The transaction was begun for this batch.
    owns_transaction: bool,
}

impl Client {
    /// Starts a load. Nothing is sent before the first rows.
    pub fn bulk_load<'c>(&'c mut self, plan: &'c LoadPlan) -> Result<BulkLoad<'c>, Error> {
        let metadata = bulk_metadata(plan.rows.columns())?;
        let statement = plan.statement();
        Ok(BulkLoad {
            client: self,
            plan,
            statement,
            metadata,
            open: None,
            buffer: Vec::new(),
            progress: BulkProgress::default(),
        })
    }
}

impl BulkLoad<'_> {
    /// Returns the counts of the load so far.
    pub fn progress(&self) -> &BulkProgress {
        &self.progress
    }

    /// Rows sent in the batch that is open.
    pub fn rows_in_batch(&self) -> u64 {
        self.open.as_ref().map_or(0, |open| open.rows)
    }

    /// Bytes written to the socket by this connection.
    pub fn bytes_sent(&mut self) -> u64 {
        self.client.bytes_on_wire().0
    }

    /// Checks, encodes and sends a record batch, closing batches of the plan's size on the way. It encodes and sends in turn;
    /// [`load`](crate::load()) encodes on another thread.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        let plan = self.plan;
        let bound = plan.rows.bind(batch, self.progress.rows_sent)?;
        let mut next = 0;
        while next < bound.rows() {
            let room = usize::try_from(plan.batch_rows - self.rows_in_batch()).unwrap_or(usize::MAX);
            let end = bound.rows().min(next.saturating_add(room)).min(next + rows_of(CHUNK_BYTES, &bound));
            let mut buffer = std::mem::take(&mut self.buffer);
            buffer.clear();
            bound.encode(next..end, &mut buffer);
            let sent = self.send(&buffer, (end - next) as u64);
            self.buffer = buffer;
            sent?;
            next = end;
            if self.rows_in_batch() >= plan.batch_rows {
                self.close_batch()?;
            }
        }
        Ok(())
    }

    /// Sends encoded ROW tokens, which must be whole rows of the plan's columns.
    pub(crate) fn send(&mut self, rows: &[u8], row_count: u64) -> Result<(), Error> {
        if self.open.is_none() {
            self.open_batch()?;
        }
        let Some(open) = &mut self.open else { return Err(Error::Broken) };
        let started = Instant::now();
        let transport = &mut self.client.session().transport;
        let sent = open.message.write(transport, rows);
        let stop = sent.and_then(|()| Ok(transport.cancel_requested() || transport.answer_pending()?));
        self.progress.send += started.elapsed();
        open.rows += row_count;
        self.progress.rows_sent += row_count;
        match stop {
            Ok(false) => Ok(()),
            // Someone cancels, or the server has already given up on the batch: stop sending and hear why.
            Ok(true) => {
                let is_cancelled = self.client.session().transport.cancel_requested();
                Err(match self.abandon() {
                    Err(error) if !is_cancelled || matches!(error, Error::Server(_)) => error,
                    // A connection that breaks behind this has ended the batch too.
                    _ => Error::Cancelled,
                })
            }
            Err(error) => Err(self.explain(error)),
        }
    }

    /// Returns true if the end of the open batch's message commits it.
    fn commits_itself(&self, open: &OpenBatch) -> bool {
        !open.owns_transaction && !self.client.in_transaction()
    }

    /// Marks an error behind the end of a message that commits itself as in doubt. An answer with an error says that it
    /// did not commit.
    fn doubted(&mut self, open: &OpenBatch, error: Error) -> Error {
        match error {
            Error::Server(_) if !self.client.is_broken() => error,
            error => {
                self.progress.rows_in_doubt = open.rows;
                self.client.session().close();
                Error::in_doubt("the batch was committed", error)
            }
        }
    }

    /// Ends the open batch: the server's count is compared with what was sent, and the batch is committed.
    pub(crate) fn close_batch(&mut self) -> Result<(), Error> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        let started = Instant::now();
        let session = self.client.session();
        let sent = open.message.finish(&mut session.transport, &DONE);
        self.progress.send += started.elapsed();
        let commits_itself = self.commits_itself(&open);
        if let Err(error) = sent {
            let error = self.explain(error);
            return Err(if commits_itself { self.doubted(&open, error) } else { error });
        }
        let started = Instant::now();
        let closed = self.confirm(&open);
        self.progress.wait += started.elapsed();
        if closed.is_err() && open.owns_transaction && !self.client.is_broken() {
            // The error of the batch matters more than that of its rollback, which a lost connection implies anyway.
            let _ = self.client.rollback();
        }
        let ignored = closed?;
        debug!(rows = open.rows, "batch confirmed");
        self.progress.batches += 1;
        self.progress.rows_committed += open.rows;
        self.progress.rows_ignored += ignored;
        Ok(())
    }

    /// Closes the open batch and ends the load.
    pub fn finish(mut self) -> Result<BulkProgress, Error> {
        self.close_batch()?;
        Ok(std::mem::take(&mut self.progress))
    }

    fn open_batch(&mut self) -> Result<(), Error> {
        let started = Instant::now();
        let owns_transaction =
            self.plan.transaction == BatchTransaction::Explicit && !self.client.in_transaction();
        if owns_transaction {
            self.client.begin(Isolation::Current)?;
        }
        let accepted = self.client.run(&self.statement);
        self.progress.wait += started.elapsed();
        let accepted = match accepted {
            Ok(result) => result,
            Err(error) => {
                if owns_transaction && !self.client.is_broken() {
                    let _ = self.client.rollback();
                }
                return Err(error);
            }
        };
        self.note(accepted.messages);
        let transport = &mut self.client.session().transport;
        let mut message = transport.begin(PacketType::BulkLoad, Status::NORMAL);
        let written = message.write(transport, &self.metadata);
        self.open = Some(OpenBatch { message, rows: 0, owns_transaction });
        written.map_err(|error| self.explain(error))
    }

    /// Confirms a batch, and returns the rows of it that the server has dropped.
    fn confirm(&mut self, open: &OpenBatch) -> Result<u64, Error> {
        let commits_itself = self.commits_itself(open);
        let session = self.client.session();
        session.expect_answer();
        let answer = match session.finish_answer("waiting for the end of a batch") {
            Ok(answer) => answer,
            Err(error) if commits_itself => return Err(self.doubted(open, error)),
            Err(error) => return Err(error),
        };
        let session = self.client.session();
        let messages = session.take_messages();
        self.note(messages);
        let acknowledged = answer.counts.last().map_or(0, |done| done.row_count);
        let fits = match self.plan.count_rule {
            CountRule::Exact => acknowledged == open.rows,
            CountRule::AtMost => acknowledged <= open.rows,
            CountRule::Unchecked => true,
        };
        if !fits {
            let committed = commits_itself;
            self.progress.rows_in_doubt = if committed { open.rows } else { 0 };
            return Err(Error::CountMismatch { sent: open.rows, acknowledged, committed });
        }
        let ignored = match self.plan.count_rule {
            CountRule::AtMost => open.rows.saturating_sub(acknowledged),
            CountRule::Exact | CountRule::Unchecked => 0,
        };
        if !open.owns_transaction {
            return Ok(ignored);
        }
        let committed = self.client.commit();
        if committed.as_ref().is_err_and(Error::is_in_doubt) {
            self.progress.rows_in_doubt = open.rows;
        }
        committed.map(|()| ignored)
    }

    /// Has the server drop the message, reads what it has to say, and rolls back.
    fn abandon(&mut self) -> Result<(), Error> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let session = self.client.session();
        let ended = open.message.abandon(&mut session.transport);
        session.check(ended)?;
        session.expect_answer();
        let answer = session.finish_answer("abandoning a batch");
        if open.owns_transaction && !self.client.is_broken() {
            self.client.rollback()?;
        }
        answer.map(|_| ())
    }

    /// Reads the explanation that the server may have left before it closed the connection, after a failed write.
    fn explain(&mut self, error: Error) -> Error {
        self.open = None;
        let session = self.client.session();
        if session.transport.cancel_requested() {
            // A server that takes no more bytes hears no attention either.
            session.close();
            return Error::Cancelled;
        }
        session.expect_answer();
        session.transport.set_deadline(Some(Instant::now() + EXPLANATION_PATIENCE));
        let answer = session.finish_answer("looking for the reason of a broken connection");
        let error = match answer {
            Err(explained @ Error::Server(_)) => explained,
            _ => error,
        };
        session.check::<()>(Err(error)).err().unwrap_or(Error::Broken)
    }

    fn note(&mut self, messages: Vec<tds::ServerMessage>) {
        let room = MESSAGES_MAX.saturating_sub(self.progress.messages.len());
        self.progress.messages.extend(messages.into_iter().take(room).map(|message| message.message));
    }
}

impl Drop for BulkLoad<'_> {
    fn drop(&mut self) {
        if self.open.is_some() && self.client.session().closes_failed_loads {
            self.client.session().close();
        }
        if !self.client.is_broken() {
            // A failure leaves the connection marked as broken; the server rolls back when it closes.
            let _ = self.abandon();
        }
    }
}

/// Rows that take about this many bytes, at least one.
pub(crate) fn rows_of(bytes: usize, bound: &rows::BoundBatch<'_>) -> usize {
    let total = bound.encoded_len(0..bound.rows()).max(1);
    let rows = bytes as u128 * bound.rows() as u128 / total as u128;
    usize::try_from(rows).unwrap_or(usize::MAX).max(1)
}
