//! Runs work so that other Python threads, and Ctrl-C, do not have to wait for it.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, bounded};
use pyo3::prelude::*;

use crate::failure;

/// The interval at which signals are checked and progress is shown.
const PULSE: Duration = Duration::from_millis(100);

/// The latest of something, handed from the thread that works to the one that shows it.
pub(crate) struct Latest<T>(Mutex<Option<T>>);

impl<T> Latest<T> {
    /// Makes an empty slot.
    pub(crate) fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Replaces what was there.
    pub(crate) fn set(&self, value: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    }

    /// Takes what is there.
    pub(crate) fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Runs `work` on a thread of its own while the calling thread looks for signals and calls `pulse`. When either raises,
/// `stop` is called, again and again until the work has ended, and the exception is raised.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send,
    stop: impl Fn() + Sync,
    mut pulse: impl FnMut(Python<'_>) -> PyResult<()> + Send,
) -> PyResult<T> {
    let (done, finished) = bounded(1);
    let (value, raised) = py.detach(|| {
        thread::scope(|scope| {
            scope.spawn(move || {
                // The receiver outlives this thread.
                let _ = done.send(work());
            });
            let mut raised = None;
            loop {
                match finished.recv_timeout(PULSE) {
                    Ok(value) => return (Some(value), raised),
                    // The work panicked.
                    Err(RecvTimeoutError::Disconnected) => return (None, raised),
                    Err(RecvTimeoutError::Timeout) => {}
                }
                if raised.is_none() {
                    raised = Python::attach(|py| py.check_signals().and_then(|()| pulse(py)).err());
                }
                if raised.is_some() {
                    stop();
                }
            }
        })
    });
    match (value, raised) {
        (_, Some(error)) => Err(error),
        (Some(value), None) => {
            pulse(py)?;
            Ok(value)
        }
        (None, None) => Err(failure::named(py, "Error", "a worker thread stopped unexpectedly")),
    }
}
