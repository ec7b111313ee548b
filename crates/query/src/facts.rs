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

/// Ticks of 100 ns since 0001-01-01 UTC.
pub fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    DAYS_TO_1970 * TICKS_PER_DAY
        + since.as_secs() as i64 * TICKS_PER_SECOND
        + i64::from(since.subsec_nanos() / 100)
}
