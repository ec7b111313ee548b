//! Time limit of a request for a token.

use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

use crate::error::EntraError;

/// Longest time of one request, within any time for all.
const REQUEST_TIME_MAX: Duration = Duration::from_secs(30);
/// Sleep between two looks for an interruption.
const LOOK: Duration = Duration::from_millis(50);

/// A time limit, and a function by which the caller may give up before.
#[derive(Clone, Copy)]
pub struct Patience<'a> {
    end: Option<Instant>,
    is_interrupted: &'a dyn Fn() -> bool,
}

impl fmt::Debug for Patience<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Patience").field("end", &self.end).finish_non_exhaustive()
    }
}

impl<'a> Patience<'a> {
    /// Sets the end, if there is one.
    pub fn until(end: Option<Instant>, is_interrupted: &'a dyn Fn() -> bool) -> Self {
        Self { end, is_interrupted }
    }

    /// Limits the time to this long from now, if that is earlier.
    pub(crate) fn at_most(self, time: Duration) -> Self {
        let end = Instant::now() + time;
        Self { end: Some(self.end.map_or(end, |own| own.min(end))), ..self }
    }

    /// Returns the time for one request.
    pub(crate) fn for_request(&self) -> Result<Duration, EntraError> {
        if (self.is_interrupted)() {
            return Err(EntraError::Interrupted);
        }
        let left = self.end.map_or(REQUEST_TIME_MAX, |end| end.saturating_duration_since(Instant::now()));
        match left.is_zero() {
            true => Err(EntraError::TimedOut(None)),
            false => Ok(left.min(REQUEST_TIME_MAX)),
        }
    }

    /// Waits, unless that would take longer than there is time.
    pub(crate) fn wait(&self, time: Duration) -> Result<(), EntraError> {
        let wake = Instant::now() + time;
        if self.end.is_some_and(|end| wake >= end) {
            return Err(EntraError::TimedOut(None));
        }
        loop {
            if (self.is_interrupted)() {
                return Err(EntraError::Interrupted);
            }
            let left = wake.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(LOOK));
        }
    }
}
