//! ROW and PAGE compression.
//!
//! ROW is another form of a record, the CD record (column descriptor). Four bits per column give the number
//! of bytes of its value, and values lose what their types do not need. PAGE is ROW, with pages whose rows
//! share beginnings of values (an anchor per column) and whole values (a dictionary). Both stand in front of
//! the rows. Compressing a page is done once, for all of its rows. `docs/store-engine.md`, "Compression",
//! says when.
//!
//! # A compressed record
//!
//! With ROW or PAGE compression (`Layout::compression`), a heap, tree or index has CD records (column descriptor) instead:
//!
//! | Bytes | What |
//! |---|---|
//! | 1 | bit 0: a CD record; bits 2–4: 0 row, 4 forwarded row, 6 row of an index or entry of an upper page; bit 5: there is a long data region |
//! | 1 or 2 | number of columns; above 127 two bytes, the higher first, with its top bit set |
//! | ⌈columns / 2⌉ | four bits per column, the lower half first: 0 null, 1 no bytes (zero, empty, bit 0), 2 to 9 one to eight bytes of short data, A long data, B bit 1, C one byte that names an entry of the page's dictionary |
//! | (columns − 1) / 30 | length of the short data of each cluster of 30 columns but the last |
//! | – | short data, one after the other |
//! | 1 | *long data region:* 1 (ends have two bytes) + 2 if some values are pointers |
//! | 2 | number of its values |
//! | 2 each | where each ends, from the first byte of the values; high bit: a pointer |
//! | (columns − 1) / 30 | number of long values of each cluster but the last |
//! | – | the values |
//! | 8 | *of a forwarded row:* its home address |
//!
//! So `int` 300, `char(10)` 'ab', `bit` 1 and a null are `01 04 33 0B 81 2C 61 62`. What a value takes:
//!
//! | Type | Bytes |
//! |---|---|
//! | `smallint`, `int`, `bigint`, `money`, `smallmoney`, `rowversion` | big-endian with the sign bit flipped, as few bytes as hold it: 1 is `81`, −1 `7F`, 128 `80 80`, 113,538 `81 BB 82`; `tinyint` its byte |
//! | `datetime`, `smalldatetime` | the same of date and time as one number, date first |
//! | `float`, `real` | little-endian without the zeros at its start: 1.0 is `F0 3F` |
//! | `decimal` | sign bit (80: not negative) + exponent of the first digit + 64; digits in threes, ten bits each, without zeros at the end: 123.456 is `C2 1E DC 80` |
//! | `char`, `binary` | without the padding at the end |
//! | `nchar`, `nvarchar(n)` | Unicode compression (UTS 6, single-byte mode) if that is shorter, of odd length to tell it from UTF-16; a tag without effect (`10`) is added if needed |
//! | `varchar`, `varbinary`, `max` types in their rows, `date`, `time`, `datetime2`, `datetimeoffset`, `uniqueidentifier` | unchanged |
//!
//! An entry of an upper page of a compressed tree is a CD record of the key's columns and the child's address in six bytes:
//! `19 02 74 8F 42 40 78 00 00 00 01 00` is `int` 1,000,000 and page 120 of file 1.
//!
//! Values leave a row by its uncompressed length, so a row fits compressed exactly if it fits uncompressed. A table whose fixed
//! columns could be too long as a CD record is refused. Values outside of rows, and forwarding stubs, are not compressed.
//!
//! # A compressed page
//!
//! A page with type flag 80 has an information record at byte 96, in front of its rows; it has no slot. Ends are counted from byte
//! 96:
//!
//! | Offset | Bytes | Field |
//! |---|---|---|
//! | 0 | 1 | 2 = anchors, 4 = dictionary |
//! | 1 | 2 | changes of rows since the page was compressed |
//! | 3 | 2 | end of the anchors, start of the dictionary |
//! | 5 | 2 | with a dictionary: end of all |
//! | 5 or 7 | – | anchors: a CD record with one value per column, or null |
//! | – | – | dictionary: number of entries (at most 256), their ends from its start (two bytes each), their bytes |
//!
//! In a column with an anchor, a value begins with the number of bytes that it shares with the anchor's beginning (from 128 on two
//! bytes: the low seven bits with the top bit set, then the rest), followed by its other bytes. A remainder that occurs more than
//! once may become a dictionary entry, and each occurrence one byte. Pointers take no part.

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
    /// ROW compression: CD records.
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
    /// Text that is no compression.
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
