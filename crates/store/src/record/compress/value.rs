//! Converts values between uncompressed records and CD records, type by type.

use super::cell::{self, Cell, EMPTY, LONG, SHORT_LIMIT_BYTES, TRUE};
use super::{scsu, vardecimal};
use crate::record::kind::{Kind, Place};

/// Returns the most bytes that a value of a fixed width costs a CD record, an end offset included.
pub fn most_bytes(kind: Kind) -> usize {
    let longest = match (kind, kind.place()) {
        (Kind::Bit, _) => 0,
        (Kind::Decimal { precision, .. }, _) => 1 + (usize::from(precision).div_ceil(3) * 10).div_ceil(8),
        (_, Place::Fixed(width)) => width,
        _ => 0,
    };
    if longest > SHORT_LIMIT_BYTES { longest + 2 } else { longest }
}

/// Makes the cell of a value from its bytes in an uncompressed record; bytes of a long one are appended to
/// `data`.
pub fn shrink(kind: Kind, bytes: &[u8], data: &mut Vec<u8>) -> Cell {
    match kind {
        Kind::Bit => Cell { code: if bytes.first() == Some(&1) { TRUE } else { EMPTY }, word: 0 },
        Kind::TinyInt => match bytes.first() {
            Some(0) | None => Cell::EMPTY,
            Some(byte) => Cell { code: EMPTY + 1, word: u64::from(*byte) },
        },
        Kind::SmallInt
        | Kind::Int
        | Kind::BigInt
        | Kind::SmallMoney
        | Kind::Money
        | Kind::SmallDateTime
        | Kind::DateTime => Cell::integer(signed(bytes)),
        Kind::RowVersion => Cell::integer((cell::pack(bytes).swap_bytes()) as i64),
        Kind::Real | Kind::Float => Cell::float(cell::pack(bytes), bytes.len() as u32),
        Kind::Decimal { scale, .. } => {
            let Some(value) = crate::record::decimal(bytes) else { return Cell::EMPTY };
            stored(data, |data| vardecimal::put(value, scale, data))
        }
        Kind::Char(_) => keep(trim_end(bytes, b' '), data),
        Kind::Binary(_) => keep(trim_end(bytes, 0), data),
        Kind::NChar(_) => unicode(trim_blanks(bytes), data),
        Kind::NVarChar(Some(_)) => unicode(bytes, data),
        _ => keep(bytes, data),
    }
}

/// Writes the bytes that an uncompressed record has for a value of a fixed width; `long` are those of a long cell. None: not a
/// value that [`shrink`] makes.
pub fn expand_fixed(kind: Kind, cell: Cell, long: &[u8], out: &mut [u8]) -> Option<()> {
    let short = cell.word.to_le_bytes();
    let bytes = match cell.code {
        LONG => long,
        EMPTY..LONG => short.get(..cell.short_bytes())?,
        _ => return None,
    };
    let mut pad = |byte: &[u8]| {
        let (head, tail) = out.split_at_mut_checked(bytes.len())?;
        head.copy_from_slice(bytes);
        tail.iter_mut().zip(byte.iter().cycle()).for_each(|(place, byte)| *place = *byte);
        Some(())
    };
    match kind {
        Kind::TinyInt => pad(&[0]),
        Kind::SmallInt
        | Kind::Int
        | Kind::BigInt
        | Kind::SmallMoney
        | Kind::Money
        | Kind::SmallDateTime
        | Kind::DateTime => {
            let value = cell.to_integer()?;
            (signed(value.to_le_bytes().get(..out.len())?) == value).then_some(())?;
            out.copy_from_slice(value.to_le_bytes().get(..out.len())?);
            Some(())
        }
        Kind::RowVersion => {
            out.copy_from_slice(cell.to_integer()?.to_be_bytes().get(..out.len())?);
            Some(())
        }
        Kind::Real | Kind::Float => {
            let bits = cell.to_float(out.len() as u32)?;
            out.copy_from_slice(bits.to_le_bytes().get(..out.len())?);
            Some(())
        }
        Kind::Decimal { scale, .. } => {
            let value = vardecimal::read(bytes, scale)?;
            crate::record::put_decimal(value, out).ok()
        }
        Kind::Char(_) => pad(b" "),
        Kind::Binary(_) => pad(&[0]),
        Kind::NChar(_) => {
            let mut units = Vec::with_capacity(out.len());
            expand_unicode(bytes, &mut units)?;
            let (head, tail) = out.split_at_mut_checked(units.len())?;
            head.copy_from_slice(&units);
            tail.iter_mut().zip(b" \0".iter().cycle()).for_each(|(place, byte)| *place = *byte);
            Some(())
        }
        _ => {
            (bytes.len() == out.len()).then_some(())?;
            out.copy_from_slice(bytes);
            Some(())
        }
    }
}

/// Keeps a value as it is: short, or appended to `data`.
fn keep(bytes: &[u8], data: &mut Vec<u8>) -> Cell {
    if bytes.len() <= SHORT_LIMIT_BYTES {
        return Cell::short(bytes);
    }
    data.extend_from_slice(bytes);
    Cell::long(data.len() - bytes.len(), bytes.len())
}

fn unicode(bytes: &[u8], data: &mut Vec<u8>) -> Cell {
    stored(data, |data| {
        if !scsu::compress(bytes, data) {
            data.extend_from_slice(bytes);
        }
    })
}

fn expand_unicode(bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
    if scsu::is_compressed(bytes) {
        return scsu::expand_utf16(bytes, out);
    }
    out.extend_from_slice(bytes);
    Some(())
}

/// Makes the cell of the bytes that `put` appends.
fn stored(data: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>)) -> Cell {
    let start = data.len();
    put(data);
    let bytes = data.get(start..).unwrap_or_default();
    if bytes.len() > SHORT_LIMIT_BYTES {
        return Cell::long(start, bytes.len());
    }
    let cell = Cell::short(bytes);
    data.truncate(start);
    cell
}

/// Reads a signed little-endian number of up to eight bytes.
fn signed(bytes: &[u8]) -> i64 {
    let unused = 64 - 8 * bytes.len().clamp(1, 8) as u32;
    ((cell::pack(bytes) << unused) as i64) >> unused
}

fn trim_end(bytes: &[u8], padding: u8) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte != padding).map_or(0, |last| last + 1);
    bytes.get(..end).unwrap_or_default()
}

fn trim_blanks(utf16: &[u8]) -> &[u8] {
    let end = utf16.as_chunks::<2>().0.iter().rposition(|unit| *unit != [b' ', 0]).map_or(0, |last| last + 1);
    utf16.get(..2 * end).unwrap_or_default()
}
