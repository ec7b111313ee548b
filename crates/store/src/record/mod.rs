//! Records: the bytes of a row in a page.
//!
//! Tables without compression have the record form of `docs/store-engine.md`, "A record"; the others have CD records
//! ([`compress`]), which this module only recognises. [`BoundBatch`] scatters the columns of an Arrow batch into records;
//! [`RowGatherer`] finds and checks the records of pages, [`BatchBuilder`] gathers columns from them. Both work column by column,
//! in chunks that fit the processor's cache. Values that do not fit a record are written to a [`LargeValueSink`] and read from a
//! [`LargeValueSource`].
//!
//! # Values outside of the row
//!
//! | Part | Bytes |
//! |---|---|
//! | pointer | type u8 (2 overflow, 4 large), level u8, zero u16, length u64 |
//! | each of up to five links behind it | end of its part u32, page u32, file u16, slot u16 |
//! | forwarded row | its home address as one more variable column |
//! | stub of a forwarded row | status byte, eight bytes of address |

pub mod compress;
pub mod kind;
pub mod layout;
pub(crate) mod stored;

mod batch;
mod cells;
mod columns;
mod convert;
mod entry_copier;
mod expand;
mod gather;
mod keyed_rows;
mod lying;
mod scatter;
mod uniquifier;
mod value_checks;
mod value_form;
mod values;
mod wire_rows;

pub use batch::{BatchBuilder, ExpectedSizes};
pub(crate) use convert::{decimal, put_decimal};
pub(crate) use entry_copier::EntryCopier;
pub use gather::RowGatherer;
pub(crate) use keyed_rows::{KeyedRows, Keys};
pub use lying::{FixedPlace, LyingRows, LyingValue, ValuePlace, VariableEnds};
pub use scatter::BoundBatch;
pub(crate) use uniquifier::with_uniquifier;
pub use value_form::{LengthPrefix, ValueContent, ValueForm};
pub(crate) use wire_rows::RECORD_ROOM_BYTES;
pub use wire_rows::{CopyRefusal, Records, WireForm, WireRowCopier, WireRows};

use crate::error::EngineError;
use crate::page::RowId;

/// First status byte: a NULL bitmap is present.
pub const HAS_BITMAP: u8 = 0x10;
/// First status byte: variable columns are present.
pub const HAS_VARIABLE: u8 = 0x20;
/// First status byte of an index record.
pub const INDEX_STATUS: u8 = 3 << 1;
/// First status byte of an uncompressed record: the bits of its type.
const TYPE_BITS: u8 = 7 << 1;
/// Status bits that mark a forwarded row.
const FORWARDED_STATUS: u8 = 1 << 1;
/// An end offset's high bit: the value is a pointer to its real place.
pub const COMPLEX: u16 = 0x8000;
/// Bytes of a row-overflow pointer, which replaces the value in its row.
pub const POINTER_BYTES: usize = 24;
/// Bytes of a forwarding stub: status, then the row address.
pub const STUB_BYTES: usize = 9;

/// Type of a record, bits 1 to 3 of the first status byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordType {
    /// A row at its own address.
    Primary,
    /// A row that moved here from its address.
    Forwarded,
    /// The new place of a row that moved.
    ForwardingStub,
    /// An entry of an upper level of a tree.
    Index,
    /// A piece of a large value.
    Fragment,
}

/// Returns the record's type; None if the engine does not write such records.
pub fn record_type(status: u8) -> Option<RecordType> {
    if compress::record::is_compressed(&[status]) {
        return match (status >> 2) & 7 {
            0 => Some(RecordType::Primary),
            4 => Some(RecordType::Forwarded),
            6 => Some(RecordType::Index),
            _ => None,
        };
    }
    match (status >> 1) & 7 {
        0 => Some(RecordType::Primary),
        1 => Some(RecordType::Forwarded),
        2 => Some(RecordType::ForwardingStub),
        3 => Some(RecordType::Index),
        4 => Some(RecordType::Fragment),
        _ => None,
    }
}

/// Computes the length of the record at the start of `bytes`, found from the record itself. `fixed_length` is
/// that of the page's header, which index records need.
pub fn length(bytes: &[u8], fixed_length: usize) -> Option<usize> {
    if compress::record::is_compressed(bytes) {
        return compress::record::length(bytes);
    }
    let status = *bytes.first()?;
    let mut end = match record_type(status)? {
        RecordType::ForwardingStub => return (bytes.len() >= STUB_BYTES).then_some(STUB_BYTES),
        RecordType::Fragment => {
            let length = usize::from(u16_at(bytes, 2)?);
            return (length >= FRAGMENT_HEADER_BYTES && length <= bytes.len()).then_some(length);
        }
        RecordType::Index => fixed_length,
        RecordType::Primary | RecordType::Forwarded => usize::from(u16_at(bytes, 2)?),
    };
    if status & HAS_BITMAP != 0 {
        let columns = usize::from(u16_at(bytes, end)?);
        end += 2 + columns.div_ceil(8);
    }
    if status & HAS_VARIABLE != 0 {
        let count = usize::from(u16_at(bytes, end)?);
        let last = end + 2 * count;
        let data = last + 2;
        end = usize::from(u16_at(bytes, last)? & !COMPLEX);
        if count == 0 || end < data {
            return None;
        }
    }
    (end > 0 && end <= bytes.len()).then_some(end)
}

/// Makes the stub at the address of a row that moved.
pub fn stub(target: RowId) -> Vec<u8> {
    let mut stub = vec![2 << 1];
    stub.extend_from_slice(&target.to_bytes());
    stub
}

/// Returns the target of a stub; None if the record is not a stub.
pub fn stub_target(record: &[u8]) -> Option<RowId> {
    let (status, target) = record.split_first()?;
    (record_type(*status)? == RecordType::ForwardingStub).then_some(RowId::from_bytes(*target.first_chunk()?))
}

/// Makes the record of a row that moves away from `home`. One more variable column holds that address.
pub fn forwarded(record: &[u8], home: RowId) -> Option<Vec<u8>> {
    if compress::record::is_compressed(record) {
        return compress::record::forwarded(record, home);
    }
    let status = *record.first()?;
    let fixed = usize::from(u16_at(record, 2)?);
    let array = fixed + 2 + usize::from(u16_at(record, fixed)?).div_ceil(8);
    let count = if status & HAS_VARIABLE != 0 { usize::from(u16_at(record, array)?) } else { 0 };
    let data = if count > 0 { array + 2 + 2 * count } else { array };
    // The array grows by one entry of two bytes, and by its count if there was none.
    let grown = if count > 0 { 2 } else { 4 };
    let mut out = record.get(..array)?.to_vec();
    *out.first_mut()? = (status & !TYPE_BITS) | FORWARDED_STATUS | HAS_VARIABLE;
    out.extend_from_slice(&(count as u16 + 1).to_le_bytes());
    for index in 0..count {
        let end = u16_at(record, array + 2 + 2 * index)?;
        out.extend_from_slice(&end.wrapping_add(grown).to_le_bytes());
    }
    out.extend_from_slice(&((record.len() + usize::from(grown) + 8) as u16).to_le_bytes());
    out.extend_from_slice(record.get(data..)?);
    out.extend_from_slice(&home.to_bytes());
    Some(out)
}

/// Returns the address under which a forwarded row is known; None if the record was not forwarded.
pub fn forwarded_from(record: &[u8]) -> Option<RowId> {
    if compress::record::is_compressed(record) {
        return compress::record::forwarded_from(record);
    }
    if record_type(*record.first()?)? != RecordType::Forwarded {
        return None;
    }
    let end = length(record, 0)?;
    record.get(end.checked_sub(8)?..end)?.first_chunk().map(|bytes| RowId::from_bytes(*bytes))
}

/// Lists the pointers of a row's values that are stored outside it.
pub fn pointers(record: &[u8]) -> Vec<&[u8]> {
    if compress::record::is_compressed(record) {
        return compress::record::pointers(record);
    }
    let found = || {
        let status = *record.first()?;
        if status & HAS_VARIABLE == 0 {
            return None;
        }
        let fixed = usize::from(u16_at(record, 2)?);
        let array = fixed + 2 + usize::from(u16_at(record, fixed)?).div_ceil(8);
        let count = usize::from(u16_at(record, array)?);
        let mut start = array + 2 + 2 * count;
        let mut pointers = Vec::new();
        for index in 0..count {
            let end = u16_at(record, array + 2 + 2 * index)?;
            if end & COMPLEX != 0 {
                pointers.push(record.get(start..usize::from(end & !COMPLEX))?);
            }
            start = usize::from(end & !COMPLEX);
        }
        Some(pointers)
    };
    found().unwrap_or_default()
}

/// Bytes of a fragment's header: status, length u16, blob id u64, type.
pub const FRAGMENT_HEADER_BYTES: usize = 14;

/// The kind of a value that is stored outside of its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LargeUse {
    /// A value of a limited type, moved because its row was too long: ROW_OVERFLOW_DATA.
    Overflow,
    /// A value of a `max` type: LOB_DATA.
    Large,
}

/// Stores values that do not stay in their rows.
pub trait LargeValueSink {
    /// Stores a value and returns what the row keeps instead: [`POINTER_BYTES`] for an overflowing value, 24 to 72 for a large one.
    fn store(&mut self, purpose: LargeUse, value: &[u8]) -> Result<Vec<u8>, EngineError>;
}

/// Creates a sink for rows that are known to fit.
pub(crate) fn no_large_values() -> impl LargeValueSink {
    struct None;
    impl LargeValueSink for None {
        fn store(&mut self, _purpose: LargeUse, value: &[u8]) -> Result<Vec<u8>, EngineError> {
            let limit_bytes = crate::page::ROW_LIMIT_BYTES;
            Err(EngineError::RowTooLarge { bytes: value.len(), limit_bytes })
        }
    }
    None
}

/// Reads values by the pointers in their rows.
pub trait LargeValueSource {
    /// Appends the value to `out`.
    fn read(&self, pointer: &[u8], out: &mut Vec<u8>) -> Result<(), EngineError>;
}

/// Creates a source for readers that do not want large values: each is empty.
pub(crate) fn empty_large_values() -> impl LargeValueSource {
    struct Empty;
    impl LargeValueSource for Empty {
        fn read(&self, _pointer: &[u8], _out: &mut Vec<u8>) -> Result<(), EngineError> {
            Ok(())
        }
    }
    Empty
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|chunk| u16::from_le_bytes(*chunk))
}

#[cfg(test)]
pub(crate) mod tests;
