//! Runs a request on a thread of its own. The operating system shares the processors among requests that compute, so none of them
//! delays the others.

use std::pin::Pin;

use executor::session::{Cancellation, Session, StopOnDrop};
use futures::future::{Aborted, abortable};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tracing::{Instrument, Span};

/// The running request, which gives the session back at its end.
pub(super) type Work = Pin<Box<dyn Future<Output = Box<Session>> + Send>>;

/// Runs a request on a thread of `threads`. Dropping the returned handle ends the request early.
pub(super) fn spawn(
    work: Work,
    threads: &Handle,
    cancellation: &Cancellation,
) -> (JoinHandle<Result<Box<Session>, Aborted>>, StopOnDrop) {
    let (work, abort) = abortable(work.instrument(Span::current()));
    let handle = threads.clone();
    let execution = threads.spawn_blocking(move || handle.block_on(work));
    (execution, StopOnDrop { cancellation: cancellation.clone(), task: Some(abort) })
}
