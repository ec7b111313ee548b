//! Checks whether values in the caller's bytes are valid for their column and can be copied into a record.

use super::convert;
use super::kind::Kind;
use super::{LengthPrefix, ValueContent, ValueForm};

/// What the bytes of a value must be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Text {
    /// No text.
    Bytes,
    Ascii,
    Utf16,
}

impl Text {
    /// Returns the checks for a column of variable or padded values, or `None` if values of this form cannot be copied to it.
    pub fn of(kind: Kind, form: ValueForm) -> Option<Self> {
        if form.prefix != LengthPrefix::Short || form.content == ValueContent::SwappedHalves {
            return None;
        }
        let ascii = form.content == ValueContent::Ascii;
        Some(match kind {
            Kind::NChar(_) | Kind::NVarChar(_) if !ascii => Text::Utf16,
            Kind::NChar(_) | Kind::NVarChar(_) => return None,
            Kind::Binary(_) | Kind::VarBinary(_) if !ascii => Text::Bytes,
            _ => Text::Ascii,
        })
    }

    /// Whether a value can be copied unchanged.
    #[inline]
    pub fn allows(self, bytes: &[u8]) -> bool {
        match self {
            Text::Bytes => true,
            Text::Ascii => all_words(bytes) & 0x8080_8080_8080_8080 == 0,
            Text::Utf16 => {
                bytes.len().is_multiple_of(2)
                    && (all_words(bytes) & 0xFF80_FF80_FF80_FF80 == 0 || has_no_surrogate(bytes))
            }
        }
    }
}

/// All bits that are set in any eight bytes, counted from the start or, for the last of them, from the end.
#[inline]
fn all_words(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let found = words.iter().fold(0, |found, word| found | u64::from_le_bytes(*word));
    found
        | match bytes.last_chunk::<8>() {
            Some(word) => u64::from_le_bytes(*word),
            None => {
                let mut word = [0; 8];
                word.iter_mut().zip(rest).for_each(|(place, byte)| *place = *byte);
                u64::from_le_bytes(word)
            }
        }
}

/// Whether UTF-16 has no surrogates at all: what has some is looked at by those who can tell pairs from halves.
fn has_no_surrogate(bytes: &[u8]) -> bool {
    bytes.as_chunks::<2>().0.iter().fold(true, |none, [_, high]| none & (high & 0xF8 != 0xD8))
}

/// What fills the rest of a column of fixed width.
pub(super) fn padding(kind: Kind, form: ValueForm) -> &'static [u8] {
    match (kind, form.content) {
        (Kind::NChar(_), _) => b" \0",
        (Kind::Binary(_), ValueContent::Stored) => &[0],
        _ => b" ",
    }
}

/// Sign and magnitude below `limit`; a zero with a minus sign is kept without it, and so not as it is.
#[inline]
pub(super) fn is_decimal(value: &[u8], limit: u128) -> bool {
    match (value.split_first(), convert::decimal(value)) {
        (Some((sign, _)), Some(value)) => value.unsigned_abs() < limit && (*sign == 1 || value != 0),
        _ => false,
    }
}

/// Days since 1900 and ticks of 1/300 second on the wire: the halves of the stored form, swapped.
#[inline]
pub(super) fn is_date_time([a, b, c, d, e, f, g, h]: [u8; 8]) -> bool {
    let (days, ticks) = (i32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
    convert::DATETIME_DAYS.contains(&i64::from(days)) && ticks < 86_400 * 300
}

/// A moment with an offset of up to 14 hours. The calendar's first and last days, on which the local time may leave it, are not taken.
#[inline]
pub(super) fn is_offset(scale: u8, value: &[u8]) -> bool {
    let Some((moment, [low, high])) = value.split_last_chunk::<2>() else { return false };
    let Some((_, date)) = moment.split_last_chunk::<3>() else { return false };
    let inner = convert::date(*date).is_some_and(|days| convert::INNER_DAYS.contains(&days));
    inner
        && convert::ticks(scale, moment).is_some()
        && (-840..=840).contains(&i16::from_le_bytes([*low, *high]))
}
