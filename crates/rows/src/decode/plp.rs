//! The two forms of partially length-prefixed values (MS-TDS 2.2.5.2.3): a known or an unknown total,
//! then chunks, then an empty chunk.

/// The header of NULL.
pub(crate) const NULL: u64 = u64::MAX;
/// The header of a value whose total is not announced.
pub(crate) const UNKNOWN: u64 = u64::MAX - 1;

/// Returns the bytes of the chunked value at the head of `cell`, or `None` for NULL. A value in one chunk is
/// borrowed; several are joined in `joined`. The walk has checked the structure.
pub(crate) fn value<'a>(cell: &'a [u8], joined: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    let (header, mut rest) = cell.split_first_chunk::<8>()?;
    if u64::from_le_bytes(*header) == NULL {
        return None;
    }
    let Some((first, after)) = chunk(rest) else { return Some(&[]) };
    rest = after;
    let Some((second, after)) = chunk(rest) else { return Some(first) };
    rest = after;
    joined.clear();
    joined.extend_from_slice(first);
    joined.extend_from_slice(second);
    while let Some((next, after)) = chunk(rest) {
        joined.extend_from_slice(next);
        rest = after;
    }
    Some(joined)
}

/// Splits off the first chunk; `None` at the empty chunk that ends the value.
fn chunk(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    match u32::from_le_bytes(*length) as usize {
        0 => None,
        length => rest.split_at_checked(length),
    }
}
