//! The facts about the session that expressions use, frozen for one statement.

use std::fmt;
use std::sync::Arc;

use super::datum::{DAYS_TO_1970, TICKS_PER_DAY, TICKS_PER_SECOND};
use super::typed::Typed;
use tsql::SqlError;

/// A statement's view of its session.
pub trait Facts: fmt::Debug + Send + Sync {
    /// Ticks of 100 ns since 0001-01-01 UTC when the statement began.
    fn now(&self) -> i64;
    /// Returns DATEFIRST: 1 for Monday to 7 for Sunday.
    fn date_first(&self) -> u8;
    /// Returns `@@OPTIONS`.
    fn options(&self) -> i64;
    /// Returns the last rowversion value given out.
    fn row_version(&self) -> u64;
    /// Returns the text of a message that users or the system have under a number.
    fn message(&self, number: i64) -> Option<String> {
        tsql::system_messages::find(number).map(|message| message.text.to_owned())
    }
    /// Calls a function of the session, the server or the catalogue (`DB_NAME`, `OBJECT_ID`); `None` for an unknown
    /// name.
    ///
    /// # Errors
    /// An argument is wrong for the function.
    fn function(self: Arc<Self>, name: &str, arguments: &[Typed]) -> Result<Option<Typed>, SqlError>;
}

/// Seconds from 1970-01-01 to the last one of 9999, the last year of every type of dates.
const SECONDS_TO_10000: i64 = 253_402_300_799;

/// Ticks of 100 ns since 0001-01-01 UTC. A clock that stands before 1970 or after 9999 is taken for the nearest of these.
pub fn now() -> i64 {
    ticks_of(std::time::SystemTime::now())
}

fn ticks_of(time: std::time::SystemTime) -> i64 {
    let since = time.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX).min(SECONDS_TO_10000);
    DAYS_TO_1970 * TICKS_PER_DAY + seconds * TICKS_PER_SECOND + i64::from(since.subsec_nanos() / 100)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn a_clock_outside_of_the_calendar_is_its_edge() {
        let first = DAYS_TO_1970 * TICKS_PER_DAY;
        assert_eq!(ticks_of(UNIX_EPOCH.checked_sub(Duration::from_secs(9)).unwrap()), first);
        let last = first + SECONDS_TO_10000 * TICKS_PER_SECOND;
        for seconds in [253_402_300_799, 253_402_300_800, 1_000_000_000_000] {
            assert_eq!(ticks_of(UNIX_EPOCH + Duration::from_secs(seconds)), last);
        }
    }
}
