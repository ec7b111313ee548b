//! A client that several owners share and use one at a time, and results that are read on a thread of their own.

use std::{
    fmt, mem,
    ops::{Deref, DerefMut},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use arrow::{datatypes::SchemaRef, record_batch::RecordBatch};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use rows::mapping::Form;
use tds::{SqlType, Value};

use crate::{
    client::{CancelHandle, Client},
    error::Error,
};

/// Record batches between the thread that decodes and the one that reads.
const BATCHES_MAX: usize = 2;

/// A client for language bindings, whose objects have no lifetimes: it is lent to one request, or one result, at a time.
#[derive(Clone)]
pub struct SharedClient(Arc<Mutex<Slot>>);

enum Slot {
    Ready(Box<Client>),
    /// Lent.
    Busy(CancelHandle),
    Closed,
}

/// The reason why a client was not lent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// A request is under way, or a result is not read to its end.
    #[error(
        "the connection is in use: read its result to the end or close it first (another thread needs a connection of its own)"
    )]
    Busy,
    /// The client was closed.
    #[error("the connection is closed")]
    Closed,
}

/// A client on loan. When it is dropped, the client is returned, unless the connection was closed meanwhile.
pub struct LentClient {
    /// `None` only while it is dropped.
    client: Option<Box<Client>>,
    owner: SharedClient,
}

impl SharedClient {
    /// Shares a client.
    pub fn new(client: Client) -> Self {
        Self(Arc::new(Mutex::new(Slot::Ready(Box::new(client)))))
    }

    /// Borrows the client.
    pub fn lend(&self) -> Result<LentClient, Unavailable> {
        let mut slot = self.lock();
        match mem::replace(&mut *slot, Slot::Closed) {
            Slot::Ready(client) => {
                *slot = Slot::Busy(client.cancel_handle());
                Ok(LentClient { client: Some(client), owner: self.clone() })
            }
            Slot::Busy(handle) => {
                *slot = Slot::Busy(handle);
                Err(Unavailable::Busy)
            }
            Slot::Closed => Err(Unavailable::Closed),
        }
    }

    /// Interrupts the request under way, if there is one.
    pub fn cancel(&self) -> std::io::Result<()> {
        let handle = match &*self.lock() {
            Slot::Busy(handle) => handle.clone(),
            Slot::Ready(_) | Slot::Closed => return Ok(()),
        };
        handle.cancel()
    }

    /// Closes the connection; a request under way is cancelled.
    pub fn close(&self) {
        let before = mem::replace(&mut *self.lock(), Slot::Closed);
        if let Slot::Busy(handle) = before {
            // A connection that is already gone needs no cancelling.
            let _ = handle.cancel();
        }
    }

    /// Returns true if the client was closed.
    pub fn is_closed(&self) -> bool {
        matches!(*self.lock(), Slot::Closed)
    }

    fn lock(&self) -> MutexGuard<'_, Slot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Deref for LentClient {
    type Target = Client;

    fn deref(&self) -> &Client {
        match &self.client {
            Some(client) => client,
            None => unreachable!("the client leaves in drop alone"),
        }
    }
}

impl DerefMut for LentClient {
    fn deref_mut(&mut self) -> &mut Client {
        match &mut self.client {
            Some(client) => client,
            None => unreachable!("the client leaves in drop alone"),
        }
    }
}

impl Drop for LentClient {
    fn drop(&mut self) {
        let mut slot = self.owner.lock();
        if let (Slot::Busy(_), Some(client)) = (&*slot, self.client.take()) {
            *slot = Slot::Ready(client);
        }
    }
}

impl fmt::Debug for SharedClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match *self.lock() {
            Slot::Ready(_) => "ready",
            Slot::Busy(_) => "busy",
            Slot::Closed => "closed",
        };
        write!(f, "SharedClient({state})")
    }
}

impl fmt::Debug for LentClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LentClient")
    }
}

/// A query to be read as a [`RowStream`].
#[derive(Debug, Clone)]
pub struct Query {
    /// The statement.
    pub sql: String,
    /// Parameters: name with `@`, declared type, value. Without any it is sent as a batch.
    pub parameters: Vec<(String, SqlType, Value)>,
    /// The rows' form.
    pub form: Form,
    /// Rows of a record batch.
    pub batch_rows: usize,
}

/// The one result of a query, read on a thread of its own, at most a few batches ahead. The client is free again before the
/// consumer sees the end. If the stream is dropped before its end, it cancels the query and waits until it has ended. A query
/// with a second result ends with [`Error::SeveralResults`].
pub struct RowStream {
    columns: Receiver<SchemaRef>,
    batches: Option<Receiver<Result<RecordBatch, Error>>>,
    thread: Option<JoinHandle<()>>,
    handle: CancelHandle,
}

/// The result of a wait with a limit.
#[derive(Debug)]
pub enum Waited<T> {
    /// The awaited result.
    Ready(T),
    /// Nothing yet.
    NotYet,
}

impl RowStream {
    /// Sends the query. Its error is returned by [`RowStream::schema`].
    pub fn start(client: LentClient, query: Query) -> std::io::Result<Self> {
        let handle = client.cancel_handle();
        let (found, columns) = bounded(1);
        let (sender, batches) = bounded(BATCHES_MAX);
        let thread = thread::Builder::new().name("bulkwire-read".to_owned()).spawn(move || {
            let mut client = client;
            let done = run(&mut client, query, found, &sender);
            // Free before the reader sees the end. A reader that is gone has no use for it.
            drop(client);
            match done {
                Ok(Some((columns, schema))) => drop(columns.send(schema)),
                Ok(None) => {}
                Err(error) => drop(sender.send(Err(error))),
            }
        })?;
        Ok(Self { columns, batches: Some(batches), thread: Some(thread), handle })
    }

    /// Waits at most `patience` for the columns. Call it until it succeeds, before the first batch.
    pub fn schema(&mut self, patience: Duration) -> Result<Waited<SchemaRef>, Error> {
        match self.columns.recv_timeout(patience) {
            Ok(schema) => Ok(Waited::Ready(schema)),
            Err(RecvTimeoutError::Timeout) => Ok(Waited::NotYet),
            Err(RecvTimeoutError::Disconnected) => match self.next_blocking() {
                Some(Err(error)) => Err(error),
                _ => Err(Error::Worker { worker: "reading" }),
            },
        }
    }

    /// Waits at most `patience` for the next batch; `None` is the end.
    pub fn next_within(&mut self, patience: Duration) -> Waited<Option<Result<RecordBatch, Error>>> {
        let Some(queue) = &self.batches else { return Waited::Ready(None) };
        match queue.recv_timeout(patience) {
            Ok(Ok(batch)) => Waited::Ready(Some(Ok(batch))),
            Err(RecvTimeoutError::Timeout) => Waited::NotYet,
            last => {
                self.batches = None;
                Waited::Ready(last.ok())
            }
        }
    }

    /// Waits for the next batch; `None` is the end.
    pub fn next_blocking(&mut self) -> Option<Result<RecordBatch, Error>> {
        let next = self.batches.as_ref()?.recv();
        if !matches!(next, Ok(Ok(_))) {
            self.batches = None;
        }
        next.ok()
    }

    /// Interrupts the query.
    pub fn cancel_handle(&self) -> CancelHandle {
        self.handle.clone()
    }
}

impl Drop for RowStream {
    fn drop(&mut self) {
        if self.batches.take().is_some() {
            // If the connection is gone, so is the query.
            let _ = self.handle.cancel();
        }
        if let Some(thread) = self.thread.take() {
            // A panic over there has been reported there.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for RowStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowStream").field("ended", &self.batches.is_none()).finish_non_exhaustive()
    }
}

/// Runs the query and hands its rows over. Of one that has no result the schema comes back, to be sent when the client is free:
/// nobody reads such a result to its end.
fn run(
    client: &mut Client,
    query: Query,
    columns: Sender<SchemaRef>,
    batches: &Sender<Result<RecordBatch, Error>>,
) -> Result<Option<(Sender<SchemaRef>, SchemaRef)>, Error> {
    let parameters: Vec<(&str, SqlType, Value)> = query
        .parameters
        .iter()
        .map(|(name, sql_type, value)| (name.as_str(), sql_type.clone(), value.clone()))
        .collect();
    let stream = match parameters.is_empty() {
        true => client.query(&query.sql, query.form)?,
        false => client.query_with(&query.sql, &parameters, query.form)?,
    };
    let mut stream = stream.with_batch_rows(query.batch_rows)?;
    let schema = stream.schema();
    let unannounced = match schema.fields().is_empty() {
        true => Some((columns, schema)),
        false if columns.send(schema).is_err() => return Ok(None),
        false => None,
    };
    while let Some(batch) = stream.next_batch()? {
        if batches.send(Ok(batch)).is_err() {
            return Ok(None);
        }
    }
    match stream.next_result()? {
        true => Err(Error::SeveralResults),
        false => Ok(unannounced),
    }
}
