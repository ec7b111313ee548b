//! The pace of attempts.

use std::time::Duration;

/// Returns the wait before an attempt, doubled each time, an hour at most.
pub(super) fn wait_before(first: Duration, attempt: u32) -> Duration {
    const LONGEST: Duration = Duration::from_secs(3600);
    let doubled = 1_u32.checked_shl(attempt.saturating_sub(2)).unwrap_or(u32::MAX);
    first.checked_mul(doubled).unwrap_or(LONGEST).min(LONGEST.max(first))
}
