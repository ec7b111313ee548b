//! A rate limit for a session's bulk loads.

use std::time::{Duration, Instant};

use crate::faults::rule::Cap;

/// Time unused that a session may catch up on.
const CREDIT: Duration = Duration::from_millis(50);

/// The longest wait for one chunk of rows.
const LONGEST: Duration = Duration::from_secs(86_400);

/// The time until which a load must wait, with the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PaceWait {
    /// The rate is one of rows, not of bytes.
    pub of_rows: bool,
    pub until: Instant,
}

/// The lead of a session over its rate.
#[derive(Debug)]
pub(crate) struct Pace {
    cap: Cap,
    /// The time at which the rows so far are within the rate.
    paid_at: Instant,
}

impl Pace {
    pub(super) fn new(cap: Cap, now: Instant) -> Pace {
        Pace { cap, paid_at: now }
    }

    /// Counts rows, and says when the load may continue.
    pub fn take(&mut self, rows: u64, bytes: u64, now: Instant) -> PaceWait {
        let (amount, rate, of_rows) = match self.cap {
            Cap::Rows(rate) => (rows, rate, true),
            Cap::Bytes(rate) => (bytes, rate, false),
        };
        let cost = Duration::try_from_secs_f64(amount as f64 / rate.max(1) as f64).unwrap_or(Duration::MAX);
        let begin = now.checked_sub(CREDIT).map_or(self.paid_at, |credit| credit.max(self.paid_at));
        self.paid_at = begin.checked_add(cost.min(LONGEST)).unwrap_or(begin);
        PaceWait { of_rows, until: self.paid_at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_paid_for_in_time() {
        let start = Instant::now();
        let mut pace = Pace::new(Cap::Rows(1000), start);
        assert_eq!(pace.take(500, 0, start).until, start + Duration::from_millis(500));
        assert_eq!(pace.take(500, 0, start).until, start + Duration::from_secs(1));
        // Idle time is forgotten but for the credit.
        let later = start + Duration::from_secs(10);
        let wait = pace.take(100, 0, later);
        assert_eq!((wait.until, wait.of_rows), (later + Duration::from_millis(50), true));
        let mut bytes = Pace::new(Cap::Bytes(1 << 20), start);
        assert_eq!(bytes.take(1, 1 << 20, start).until, start + Duration::from_secs(1));
    }
}
