//! Checks whether values in the caller's bytes are valid for their column and can be copied into a record.

use super::convert;
use super::kind::{Kind, Place};
use super::{LengthPrefix, ValueContent, ValueForm};

/// Bytes of a short value. Shorter ones are checked, and copied, as if they were as long as that.
pub(super) const SHORT_BYTES: usize = 64;

/// Requirement for the bytes of a value of variable length.
#[derive(Debug, Clone, Copy)]
pub(super) enum Text {
    /// Bytes that are no text.
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

    /// Returns true if a value, the first `length` of some bytes, is certain to be such that it can be copied
    /// unchanged. It takes as long for each length, and no branch depends on it.
    #[inline]
    pub fn is_plain(self, bytes: &[u8; SHORT_BYTES], length: usize) -> bool {
        let refused = match self {
            Text::Bytes => return true,
            Text::Ascii => 0x8080_8080_8080_8080,
            Text::Utf16 if length.is_multiple_of(2) => 0xFF80_FF80_FF80_FF80,
            Text::Utf16 => return false,
        };
        all_of_short(bytes, length) & refused == 0
    }

    /// Returns true if a value can be copied unchanged.
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

/// Collects all bits that are set in any eight bytes, counted from the start or, for the last of them, from
/// the end.
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

/// Masks: bytes that count, then as many that do not.
const COUNTING: [u8; 2 * SHORT_BYTES] = {
    let mut bytes = [0; 2 * SHORT_BYTES];
    let mut at = 0;
    while at < SHORT_BYTES {
        bytes[at] = 0xFF;
        at += 1;
    }
    bytes
};

/// Computes [`all_words`] of the first `length` of some bytes.
#[inline]
fn all_of_short(bytes: &[u8; SHORT_BYTES], length: usize) -> u64 {
    let first = SHORT_BYTES - length.min(SHORT_BYTES);
    let counting = COUNTING.get(first..).and_then(<[u8]>::first_chunk).unwrap_or(&[0xFF; SHORT_BYTES]);
    let words = bytes.as_chunks::<8>().0.iter().zip(counting.as_chunks::<8>().0);
    words.fold(0, |found, (word, counts)| found | u64::from_le_bytes(*word) & u64::from_le_bytes(*counts))
}

/// Returns true if UTF-16 has no surrogates at all. Text with surrogates goes to the check that tells pairs
/// from halves.
fn has_no_surrogate(bytes: &[u8]) -> bool {
    bytes.as_chunks::<2>().0.iter().fold(true, |none, [_, high]| none & (high & 0xF8 != 0xD8))
}

/// Returns the padding of a value in a column of fixed width.
pub(super) fn padding(kind: Kind, form: ValueForm) -> &'static [u8] {
    match (kind, form.content) {
        (Kind::NChar(_), _) => b" \0",
        (Kind::Binary(_), ValueContent::Stored) => &[0],
        _ => b" ",
    }
}

/// Requirement for the bytes of a value of fixed width.
#[derive(Debug, Clone, Copy)]
pub(super) enum ValueCheck {
    /// Any bytes are a value.
    None,
    Float,
    Real,
    /// A sign, and a magnitude below `limit` in eight bytes.
    Decimal9 {
        limit: u64,
    },
    /// A sign, and a magnitude below `limit`.
    Decimal {
        limit: u128,
    },
    Date,
    Time {
        scale: u8,
    },
    /// Units of a day, fewer than `day`, in five bytes; then the date.
    Moment8 {
        day: u64,
    },
    DateTime2 {
        scale: u8,
    },
    DateTimeOffset {
        scale: u8,
    },
    SmallDateTime,
    DateTime,
}

impl ValueCheck {
    /// Returns the check of a kind's values.
    pub fn of(kind: Kind) -> Self {
        match kind {
            Kind::Decimal { precision, .. } => match 10_u64.checked_pow(precision.into()) {
                Some(limit) if matches!(kind.place(), Place::Fixed(9)) => ValueCheck::Decimal9 { limit },
                _ => {
                    let limit = 10_u128.checked_pow(precision.into()).unwrap_or(u128::MAX);
                    ValueCheck::Decimal { limit }
                }
            },
            Kind::Float => ValueCheck::Float,
            Kind::Real => ValueCheck::Real,
            Kind::Date => ValueCheck::Date,
            Kind::Time { scale } => ValueCheck::Time { scale },
            Kind::DateTime2 { scale } if convert::time_bytes(scale) == 5 => {
                ValueCheck::Moment8 { day: convert::day_units(scale) as u64 }
            }
            Kind::DateTime2 { scale } => ValueCheck::DateTime2 { scale },
            Kind::DateTimeOffset { scale } => ValueCheck::DateTimeOffset { scale },
            Kind::SmallDateTime => ValueCheck::SmallDateTime,
            Kind::DateTime => ValueCheck::DateTime,
            _ => ValueCheck::None,
        }
    }

    /// Returns true if bytes of the kind's width are a valid value of it.
    #[inline]
    pub fn passes(self, value: &[u8]) -> bool {
        match self {
            ValueCheck::None => true,
            ValueCheck::Float => {
                value.first_chunk().is_some_and(|value| f64::from_le_bytes(*value).is_finite())
            }
            ValueCheck::Real => {
                value.first_chunk().is_some_and(|value| f32::from_le_bytes(*value).is_finite())
            }
            ValueCheck::Decimal9 { limit } => match value {
                [sign, rest @ ..] => rest.first_chunk().is_some_and(|magnitude| {
                    let magnitude = u64::from_le_bytes(*magnitude);
                    magnitude < limit && (*sign == 1 || (*sign == 0 && magnitude != 0))
                }),
                [] => false,
            },
            ValueCheck::Decimal { limit } => is_decimal(value, limit),
            ValueCheck::Date => value.first_chunk().is_some_and(|value| convert::date(*value).is_some()),
            ValueCheck::Time { scale } => convert::is_time(scale, value),
            ValueCheck::Moment8 { day } => value.first_chunk().is_some_and(|value| {
                let value = u64::from_le_bytes(*value);
                (value & 0xFF_FFFF_FFFF) < day && convert::is_day(value >> 40)
            }),
            ValueCheck::DateTime2 { scale } => convert::ticks(scale, value).is_some(),
            ValueCheck::DateTimeOffset { scale } => is_offset(scale, value),
            ValueCheck::SmallDateTime => {
                value.last_chunk().is_some_and(|minutes| u16::from_le_bytes(*minutes) < 1440)
            }
            ValueCheck::DateTime => value.first_chunk().is_some_and(|value| is_date_time(*value)),
        }
    }
}

/// Checks sign and magnitude below `limit`; a zero with a minus sign is kept without it, and so not as it is.
#[inline]
fn is_decimal(value: &[u8], limit: u128) -> bool {
    match (value.split_first(), convert::decimal(value)) {
        (Some((sign, _)), Some(value)) => value.unsigned_abs() < limit && (*sign == 1 || value != 0),
        _ => false,
    }
}

/// Checks a `datetime` on the wire: days since 1900, then ticks of 1/300 second. The stored form has the
/// halves swapped.
#[inline]
fn is_date_time([a, b, c, d, e, f, g, h]: [u8; 8]) -> bool {
    let (days, ticks) = (i32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
    convert::DATETIME_DAYS.contains(&i64::from(days)) && ticks < 86_400 * 300
}

/// Checks a moment with an offset of up to 14 hours. The calendar's first and last days, on which the local
/// time may leave it, are not taken.
#[inline]
fn is_offset(scale: u8, value: &[u8]) -> bool {
    let Some((moment, [low, high])) = value.split_last_chunk::<2>() else { return false };
    let Some((_, date)) = moment.split_last_chunk::<3>() else { return false };
    let inner = convert::date(*date).is_some_and(|days| convert::INNER_DAYS.contains(&days));
    inner
        && convert::ticks(scale, moment).is_some()
        && (-840..=840).contains(&i16::from_le_bytes([*low, *high]))
}
