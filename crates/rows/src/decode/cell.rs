//! Bytes of a single cell, of any length class.

use tds::LengthClass;

use super::error::RowDecodeErrorReason as Reason;
use super::plp;
use super::walk::NULL_CELL;

/// Returns the value's bytes, `None` for NULL. `joined` receives values that come in several chunks.
///
/// `start` is where the walk found the cell in `block`; the walk has checked that the cell ends inside.
pub(super) fn value<'a>(
    block: &'a [u8],
    start: u32,
    class: LengthClass,
    joined: &'a mut Vec<u8>,
) -> Option<&'a [u8]> {
    if start == NULL_CELL {
        return None;
    }
    let cell = block.get(start as usize..)?;
    match class {
        LengthClass::Fixed(0) => None,
        LengthClass::Fixed(width) => cell.get(..usize::from(width)),
        LengthClass::ByteLen => match cell.split_first()? {
            (0, _) => None,
            (&length, rest) => rest.get(..usize::from(length)),
        },
        LengthClass::UShortLen => {
            let (length, rest) = cell.split_first_chunk::<2>()?;
            match u16::from_le_bytes(*length) {
                u16::MAX => None,
                length => rest.get(..usize::from(length)),
            }
        }
        LengthClass::Plp => plp::value(cell, joined),
        LengthClass::LongLen => {
            let (&pointer, rest) = cell.split_first()?;
            if pointer == 0 {
                return None;
            }
            counted(rest.get(usize::from(pointer) + 8..)?)
        }
        LengthClass::Variant => counted(cell).filter(|body| !body.is_empty()),
    }
}

/// Reads bytes behind a four-byte count.
fn counted(bytes: &[u8]) -> Option<&[u8]> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.get(..u32::from_le_bytes(*length) as usize)
}

/// Refuses a value that is longer than its column declares (MS-TDS 2.2.5.5.2: a protocol error).
#[inline]
pub(super) fn check_declared(length: usize, limit: usize) -> Result<(), Reason> {
    if length > limit { Err(Reason::TooLong { length, limit }) } else { Ok(()) }
}
