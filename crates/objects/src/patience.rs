//! Time for which requests are tried again, and the wait before each try.

use std::time::{Duration, Instant};

use crate::settings::{WAIT_MAX, WAIT_MIN, retry_for};

/// Tries of a name that does not exist: enough for one that has just been registered.
pub(crate) const UNKNOWN_HOST_TRIES: usize = 6;

/// Time left for tries that bring no byte, and the wait before the next try.
pub(crate) struct Patience {
    lasts: Duration,
    since: Instant,
    wait: Duration,
    unknown_hosts: usize,
}

impl Patience {
    /// Begins with the time that the environment gives.
    pub(crate) fn new() -> Self {
        Self::lasting(retry_for())
    }

    fn lasting(lasts: Duration) -> Self {
        Self { lasts, since: Instant::now(), wait: WAIT_MIN, unknown_hosts: 0 }
    }

    /// Begins the time again, since something has come.
    pub(crate) fn rest(&mut self) {
        *self = Self::lasting(self.lasts);
    }

    /// Waits after an error, or returns it if there were too many.
    pub(crate) async fn after<E>(&mut self, error: E) -> Result<(), E> {
        if self.since.elapsed() >= self.lasts {
            return Err(error);
        }
        tokio::time::sleep(self.wait).await;
        self.wait = (self.wait * 2).min(WAIT_MAX);
        Ok(())
    }

    /// Waits as [`after`](Self::after) does, after the answer that no host has such a name. That answer is
    /// seldom another a minute later.
    pub(crate) async fn after_unknown_host<E>(&mut self, error: E) -> Result<(), E> {
        self.unknown_hosts += 1;
        if self.unknown_hosts >= UNKNOWN_HOST_TRIES {
            return Err(error);
        }
        self.after(error).await
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Waits for nothing.
    pub(crate) fn hasty() -> Patience {
        Patience { wait: Duration::ZERO, ..Patience::lasting(Duration::MAX) }
    }

    #[tokio::test]
    async fn passing_trouble_is_tried_on_and_a_missing_name_a_few_times() {
        let mut patience = hasty();
        for _ in 0..100 {
            assert!(patience.after(()).await.is_ok());
        }
        let mut tries = 1;
        while patience.after_unknown_host(()).await.is_ok() {
            tries += 1;
        }
        assert_eq!(tries, UNKNOWN_HOST_TRIES);
        patience.rest();
        assert!(patience.after_unknown_host(()).await.is_ok());
    }

    #[tokio::test]
    async fn nothing_is_tried_again_when_the_time_is_over() {
        let mut patience = Patience { lasts: Duration::ZERO, ..hasty() };
        assert!(patience.after(()).await.is_err());
        assert!(patience.after_unknown_host(()).await.is_err());
    }
}
