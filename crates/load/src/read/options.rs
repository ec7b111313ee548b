//! The options of a read.

use std::{fmt, str::FromStr, time::Duration};

use rows::mapping::Form;

use super::consistency::Consistency;
use crate::{error::Error, retry::RetryPolicy};

/// Most readers that are ever at work.
pub(crate) const READERS_MAX: usize = 64;
/// Most readers that `auto` tries.
pub(crate) const AUTO_READERS_MAX: usize = 16;

/// The number of connections that read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// A fixed number of connections, if there are as many ranges.
    Count(usize),
    /// One at first, and more while that makes the read faster.
    Auto,
}

impl Default for Readers {
    fn default() -> Self {
        Self::Count(1)
    }
}

impl FromStr for Readers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.eq_ignore_ascii_case("auto") {
            return Ok(Self::Auto);
        }
        match text.parse() {
            Ok(count) if (1..=READERS_MAX).contains(&count) => Ok(Self::Count(count)),
            _ => Err(format!("\"{text}\" is neither \"auto\" nor a number from 1 to {READERS_MAX}")),
        }
    }
}

impl fmt::Display for Readers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Auto => f.write_str("auto"),
        }
    }
}

/// The limits of a read that should disturb other sessions little.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gentle {
    /// The target duration of a statement, which decides its number of rows.
    pub statement_time: Duration,
    /// The rest of a reader between two statements.
    pub pause: Duration,
    /// The time that a statement waits for a lock before it is tried again later.
    pub lock_timeout: Duration,
}

impl Default for Gentle {
    fn default() -> Self {
        Self {
            statement_time: Duration::from_millis(500),
            pause: Duration::ZERO,
            lock_timeout: Duration::from_secs(5),
        }
    }
}

/// Settings of a read. The [plan](super::SplitPlan) chooses a value, with a reason, for each setting that is `None`.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// The number of connections that read.
    pub readers: Readers,
    /// The column that splits the rows; without one, a table's clustered key.
    pub split_by: Option<String>,
    /// The number of ranges to aim at.
    pub ranges: Option<usize>,
    /// Estimated bytes that a range should have.
    pub range_bytes: u64,
    /// Each range is a result of its own: neighbours are not read as one.
    pub keeps_ranges: bool,
    /// The point in time that all readers see.
    pub consistency: Consistency,
    /// Short statements, and no transaction beyond one.
    pub gentle: Option<Gentle>,
    /// The rows' form.
    pub form: Form,
    /// Rows of a record batch.
    pub batch_rows: Option<usize>,
    /// The time for which a range is retried after transient errors without progress.
    pub retry_for: Duration,
    /// The time for which the first connection and the look at the rows are retried after transient errors.
    pub beginning: RetryPolicy,
    /// Hears of the first failure of a beginning that is tried again.
    pub hears: fn(&Error),
}

/// A range that is read ahead stays in memory until its turn comes.
pub(crate) const RANGE_BYTES: u64 = 8 << 20;

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            readers: Readers::default(),
            split_by: None,
            ranges: None,
            range_bytes: RANGE_BYTES,
            keeps_ranges: false,
            consistency: Consistency::None,
            gentle: None,
            form: Form::default(),
            batch_rows: None,
            retry_for: Duration::from_secs(60),
            beginning: RetryPolicy::NONE,
            hears: |_| {},
        }
    }
}
