//! The request that a thread works for: whether it is cancelled, and the memory that its step has taken. The execution engine
//! passes only values to functions, so functions ask here.

use std::cell::RefCell;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use parking_lot::Mutex;

use crate::Cancellation;
use crate::date_format::{DateFormat, DateReading, SharedDateReading};
use crate::language::Language;
use crate::memory::{MemoryBudget, Reservation};
use tsql::SqlError;
use tsql::errors;

/// A request that runs.
#[derive(Debug, Clone)]
pub struct Running {
    cancellation: Cancellation,
    memory: Arc<MemoryBudget>,
    /// The memory that its statements hold until they end.
    held: Arc<Mutex<Reservation>>,
    /// The date reading of the running statement.
    dates: Arc<SharedDateReading>,
}

/// A piece of a request's work between two pauses. What it takes of memory is given back at its end: by then somebody else has
/// counted the rows that came of it.
struct Step {
    running: Running,
    /// The cancellation of the request around it, if that is another: a cursor's query runs within the request that
    /// fetches.
    outer: Option<Cancellation>,
    taken: Reservation,
}

thread_local! {
    static STEP: RefCell<Option<Step>> = const { RefCell::new(None) };
}

/// The step outside comes back, even if the one inside panics.
struct Outside(Option<Step>);

impl Drop for Outside {
    fn drop(&mut self) {
        let outside = self.0.take();
        // Dropped when the cell is free again.
        let _inside = STEP.with(|step| step.replace(outside));
    }
}

impl Running {
    /// Makes a request that `cancellation` stops.
    pub fn new(cancellation: &Cancellation, memory: &Arc<MemoryBudget>) -> Running {
        let held = Arc::new(Mutex::new(Reservation::new(memory)));
        // A request that begins within a statement reads dates as that does.
        let dates = Arc::new(SharedDateReading::new(date_reading(), language()));
        Running { cancellation: cancellation.clone(), memory: Arc::clone(memory), held, dates }
    }

    /// Returns the request with a way of its own to read dates.
    pub fn reading_dates(self, dates: DateReading) -> Running {
        Running { dates: Arc::new(SharedDateReading::new(dates, Language::ENGLISH)), ..self }
    }

    /// Returns the cancellation of the request.
    pub fn cancellation(&self) -> &Cancellation {
        &self.cancellation
    }

    /// Runs a step of the request's work on this thread.
    pub fn step<T>(&self, work: impl FnOnce() -> T) -> T {
        let taken = Reservation::new(&self.memory);
        let _outside = STEP.with_borrow_mut(|current| {
            let outer = current.as_ref().and_then(|around| {
                match around.running.cancellation.is_same(&self.cancellation) {
                    true => around.outer.clone(),
                    false => Some(around.running.cancellation.clone()),
                }
            });
            Outside(current.replace(Step { running: self.clone(), outer, taken }))
        });
        work()
    }

    /// Wraps a future, so that all of its work counts as steps of the request.
    pub fn all<F: Future>(self, work: F) -> Steps<F> {
        Steps { running: self, work: Box::pin(work) }
    }
}

/// A future each of whose polls is a step.
pub struct Steps<F> {
    running: Running,
    work: Pin<Box<F>>,
}

impl<F: Future> Future for Steps<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let running = self.running.clone();
        running.step(|| self.work.as_mut().poll(context))
    }
}

/// Returns the request that this thread works for.
pub fn current() -> Option<Running> {
    STEP.with_borrow(|step| step.as_ref().map(|step| step.running.clone()))
}

/// Returns the date reading of the running statement.
pub fn date_reading() -> DateReading {
    STEP.with_borrow(|step| step.as_ref().map(|step| step.running.dates.get()).unwrap_or_default())
}

/// Returns the SET DATEFORMAT of the session whose statement runs.
pub fn date_format() -> DateFormat {
    match date_reading() {
        DateReading::Session(format) => format,
        DateReading::Copy(_) => DateFormat::default(),
    }
}

/// Sets how the statement that begins reads and writes dates.
pub fn set_dates(format: DateFormat, language: &'static Language) {
    STEP.with_borrow(|step| {
        if let Some(step) = step {
            step.running.dates.set(DateReading::Session(format), language);
        }
    });
}

/// The SET LANGUAGE of the session whose statement runs.
pub fn language() -> &'static Language {
    STEP.with_borrow(|step| step.as_ref().map_or(Language::ENGLISH, |step| step.running.dates.language()))
}

/// Errors: 3617 if the request is to stop.
pub fn check() -> Result<(), SqlError> {
    let stops = STEP.with_borrow(|step| {
        step.as_ref().is_some_and(|step| {
            let outer = step.outer.as_ref().is_some_and(Cancellation::is_cancelled);
            outer || step.running.cancellation.is_cancelled()
        })
    });
    if stops { Err(errors::CANCELLED.error()) } else { Ok(()) }
}

/// Takes memory for the rest of the step. Errors: 701.
pub fn take(bytes: usize) -> Result<(), SqlError> {
    STEP.with_borrow_mut(|step| match step {
        Some(step) => step.taken.take(bytes),
        None => Ok(()),
    })
}

/// Makes an empty reservation in the request's budget, for values that outlive its statements.
pub fn reservation() -> Option<Reservation> {
    current().map(|running| Reservation::new(&running.memory))
}

/// Takes memory for the rest of the statement that runs. Errors: 701.
pub fn hold(bytes: usize) -> Result<(), SqlError> {
    current().map_or(Ok(()), |running| running.held.lock().take(bytes))
}

/// Returns the bytes that statements hold so far. Pass them to [`release`] when the statement that begins now has
/// ended.
pub fn held() -> usize {
    current().map_or(0, |running| running.held.lock().bytes())
}

/// Frees what a statement held, at its end.
pub fn release(held: usize) {
    if let Some(running) = current() {
        running.held.lock().shrink_to(held);
    }
    settle();
}

/// Gives back what the step has taken: its values are gone, or counted elsewhere.
fn settle() {
    STEP.with_borrow_mut(|step| {
        if let Some(step) = step {
            step.taken.shrink_to(0);
        }
    });
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn steps_nest() {
        let budget = MemoryBudget::new(100);
        let (outer, inner) = (Cancellation::new(), Cancellation::new());
        inner.cancel();
        Running::new(&outer, &budget).step(|| {
            take(50).unwrap();
            Running::new(&inner, &budget).step(|| {
                assert_eq!(check().unwrap_err().number, 3617);
                assert_eq!(take(60).unwrap_err().number, 701);
                take(40).unwrap();
            });
            assert!(check().is_ok());
            assert_eq!(budget.used(), 50);
            settle();
            assert_eq!(budget.used(), 0);
        });
        assert!(current().is_none());
    }
}
