//! Rows one after the other: the lengths of key and record, the key, the record.

use crate::error::EngineError;

/// Bytes of the two lengths.
pub(super) const HEADER_BYTES: usize = 4;

/// Adds a row.
#[inline]
pub(super) fn write(key: &[u8], record: &[u8], out: &mut Vec<u8>) -> Result<(), EngineError> {
    let (Ok(key_length), Ok(length)) = (u16::try_from(key.len()), u16::try_from(record.len())) else {
        return Err(EngineError::internal("a row to sort that is longer than a page"));
    };
    let [a, b] = key_length.to_le_bytes();
    let [c, d] = length.to_le_bytes();
    out.extend_from_slice(&[a, b, c, d]);
    out.extend_from_slice(key);
    out.extend_from_slice(record);
    Ok(())
}

/// Reads the row at the beginning of `bytes`.
#[inline]
pub(super) fn read(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let ([a, b, c, d], rest) = bytes.split_first_chunk()?;
    let (key, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes([*a, *b])))?;
    Some((key, rest.get(..usize::from(u16::from_le_bytes([*c, *d])))?))
}

/// Returns all bytes of the row at the beginning of `bytes`.
#[inline]
pub(super) fn whole(bytes: &[u8]) -> Option<&[u8]> {
    let [a, b, c, d] = *bytes.first_chunk()?;
    bytes.get(
        ..HEADER_BYTES + usize::from(u16::from_le_bytes([a, b])) + usize::from(u16::from_le_bytes([c, d])),
    )
}

/// Computes the bytes that a row takes.
#[inline]
pub(super) fn bytes_of(key: &[u8], record: &[u8]) -> usize {
    HEADER_BYTES + key.len() + record.len()
}
