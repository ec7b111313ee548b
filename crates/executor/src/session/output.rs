//! Sending events, and the messages among them.

use arrow::record_batch::RecordBatch;
use databases::memory::Reservation;
use databases::waiting::Placement;
use query::Cancellation;
use tokio::sync::mpsc;
use tsql::SqlError;
use tsql::errors;

use crate::session::early_events::EarlyEvents;
use crate::session::response::{DoneKind, Response, StatementDone, command};

/// Sends the events of a request.
pub(crate) struct Output {
    events: mpsc::Sender<Response>,
    early: Option<EarlyEvents>,
    placement: Placement,
    cancellation: Cancellation,
    /// SET NOCOUNT ON: nothing is counted, and statements of procedures without rows say nothing of their ends.
    quiet: bool,
    /// Columns were sent whose rows are not at their end.
    in_result: bool,
    /// Results that are kept instead of sent, for INSERT … EXECUTE.
    results: Option<Captured>,
}

/// The results of a call, counted in the server's memory.
pub(crate) struct Captured {
    pub results: Vec<CapturedResult>,
    pub memory: Reservation,
    /// There was no room for all of it: nothing is kept any more.
    is_full: bool,
}

impl Captured {
    fn add(&mut self, batch: RecordBatch) {
        self.is_full = self.is_full || self.memory.take(batch.get_array_memory_size()).is_err();
        if self.is_full {
            self.results.clear();
            self.memory.shrink_to(0);
        } else if let Some(result) = self.results.last_mut() {
            result.batches.push(batch);
        }
    }

    /// Errors: 701.
    pub fn check(&self) -> Result<(), SqlError> {
        if self.is_full { Err(errors::OUT_OF_MEMORY.error()) } else { Ok(()) }
    }
}

/// A result that was kept.
pub(crate) struct CapturedResult {
    pub columns: Vec<tds::Column>,
    pub batches: Vec<RecordBatch>,
}

impl Output {
    pub fn new(events: mpsc::Sender<Response>, cancellation: Cancellation) -> Output {
        Output {
            events,
            early: None,
            placement: Placement::default(),
            cancellation,
            quiet: false,
            in_result: false,
            results: None,
        }
    }

    /// Makes an output for a request that begins on its connection's thread.
    pub fn beginning_early(self, early: EarlyEvents, placement: Placement) -> Output {
        Output { early: Some(early), placement, ..self }
    }

    /// Sends an event; waits while the client is slow. If the client has left, the request stops.
    pub async fn send(&mut self, event: Response) {
        let event = match (event, &mut self.results) {
            (Response::Columns(result), Some(captured)) => {
                captured.results.push(CapturedResult { columns: result.columns, batches: Vec::new() });
                return;
            }
            (Response::Batch(batch), Some(captured)) => {
                captured.add(batch);
                return;
            }
            // The ends and counts of the call are dropped; its errors are kept.
            (Response::Done(done), Some(_)) if !done.error => return,
            (Response::ReturnStatus(_) | Response::Order(_), Some(_)) => return,
            (event, _) => event,
        };
        match &event {
            Response::Columns(_) => self.in_result = true,
            Response::Done(_) => self.in_result = false,
            _ => {}
        }
        let event = match &self.early {
            Some(early) => match early.push(event) {
                None => return,
                Some(event) => {
                    // From here on somebody listens at the other end of the channel.
                    self.early = None;
                    self.placement.leave().await;
                    event
                }
            },
            None => event,
        };
        if self.events.send(event).await.is_err() {
            self.cancellation.cancel();
        }
    }

    /// Keeps results from now on instead of sending them, within the memory budget.
    pub fn capture(&mut self, memory: Reservation) {
        self.results = Some(Captured { results: Vec::new(), memory, is_full: false });
    }

    /// Returns true if results are captured instead of sent.
    pub fn captures(&self) -> bool {
        self.results.is_some()
    }

    /// Ends keeping results, and returns the kept ones.
    pub fn captured(&mut self) -> Option<Captured> {
        self.results.take()
    }

    /// Goes on with what was kept before [`captured`](Self::captured) was called.
    pub fn keep(&mut self, results: Option<Captured>) {
        self.results = results;
    }

    /// Follows SET NOCOUNT.
    pub fn set_quiet(&mut self, quiet: bool) {
        self.quiet = quiet;
    }

    /// Sends the end of a successful statement.
    pub async fn done(&mut self, kind: DoneKind, command: u16, count: Option<u64>) {
        // The end of a result is sent in any case: what follows would belong to it.
        if self.quiet && kind == DoneKind::InProcedure && count.is_none() && !self.in_result {
            return;
        }
        let count = count.filter(|_| !self.quiet);
        self.send(Response::Done(StatementDone { kind, command, count, error: false, fatal: false })).await;
    }

    /// Ends a result that was begun by a statement whose error a TRY catches.
    pub async fn end_result(&mut self, kind: DoneKind) {
        if self.in_result {
            self.done(kind, command::SELECT, None).await;
        }
    }

    /// Has the client get at once what was sent so far.
    pub async fn flush(&mut self) {
        if self.early.take().is_some() {
            self.placement.leave().await;
        }
        if self.events.send(Response::Flush).await.is_err() {
            self.cancellation.cancel();
        }
    }

    /// Returns true once the request is to stop.
    pub fn stopped(&self) -> bool {
        self.cancellation.is_cancelled()
    }

    /// Returns the error that unwinds a stopped request; it is never sent. Errors: 701 if the kept results exceed the
    /// memory budget.
    pub fn check(&self) -> Result<(), SqlError> {
        self.results.as_ref().map_or(Ok(()), Captured::check)?;
        if self.stopped() { Err(errors::CANCELLED.error()) } else { Ok(()) }
    }
}
