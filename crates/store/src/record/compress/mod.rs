//! ROW and PAGE compression.
//!
//! ROW is another form of a record, the CD record (column descriptor): four bits per column say how many bytes its
//! value takes, and values lose what their types do not need. PAGE is ROW, with pages whose rows share beginnings of
//! values (an anchor per column) and whole values (a dictionary). Both stand in front of the rows: see
//! `docs/store-engine.md`, "A compressed record", "A compressed page". Compressing a page is done once, for all of
//! its rows.

mod anchor;
pub mod cell;
mod dictionary;
mod distinct;
pub mod fill;
pub mod grid;
pub mod information;
mod plan;
pub mod record;
pub mod row;
pub mod scsu;
pub mod value;
pub mod vardecimal;
pub mod writer;

use std::fmt;
use std::str::FromStr;

pub use information::PageInformation;

/// The compression of a table or an index (`DATA_COMPRESSION`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Compression {
    /// Records with fixed widths.
    #[default]
    None = 0,
    /// CD records.
    Row = 1,
    /// CD records, and pages compressed as a whole when they are full.
    Page = 2,
}

impl Compression {
    /// Returns the compression with this number in `sys.partitions.data_compression`: 0, 1, 2.
    pub fn from_number(number: u8) -> Option<Self> {
        [Self::None, Self::Row, Self::Page].into_iter().find(|known| *known as u8 == number)
    }
}

/// Prints the compression as T-SQL writes it.
impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "NONE",
            Self::Row => "ROW",
            Self::Page => "PAGE",
        })
    }
}

/// The text is not NONE, ROW or PAGE.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no compression setting: NONE, ROW or PAGE")]
pub struct ParseCompressionError {
    /// The text.
    pub text: String,
}

impl FromStr for Compression {
    type Err = ParseCompressionError;

    fn from_str(text: &str) -> Result<Self, ParseCompressionError> {
        [Self::None, Self::Row, Self::Page]
            .into_iter()
            .find(|known| known.to_string().eq_ignore_ascii_case(text))
            .ok_or_else(|| ParseCompressionError { text: text.to_owned() })
    }
}

/// Counts of pages that were tried and compressed (`sys.dm_db_index_operational_stats`:
/// page_compression_attempt_count and …_success_count).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CompressionCounts {
    /// Full pages that were tried.
    pub attempts: u64,
    /// Pages that were kept compressed because that saved space.
    pub successes: u64,
}

impl std::ops::AddAssign for CompressionCounts {
    fn add_assign(&mut self, other: Self) {
        self.attempts += other.attempts;
        self.successes += other.successes;
    }
}

/// Returns true if compressing a page pays. A page of `before` rows must hold `after` with its information
/// record: five rows more, or a quarter more.
pub fn pays(before: usize, after: usize) -> bool {
    after >= before + 5 || (after > before && after * 4 >= before * 5)
}

#[cfg(test)]
mod tests;
