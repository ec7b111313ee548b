//! A request's work, whose waits are those of its session.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use store::SessionWaits;

/// A future each of whose polls works for a session.
pub(crate) struct Waited<F> {
    waits: Arc<SessionWaits>,
    work: F,
}

impl<F> Waited<F> {
    /// Wraps work for the session with these waits.
    pub fn new(waits: Arc<SessionWaits>, work: F) -> Waited<F> {
        Waited { waits, work }
    }
}

impl<F: Future + Unpin> Future for Waited<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Waited { waits, work } = self.get_mut();
        waits.during(|| Pin::new(work).poll(context))
    }
}
