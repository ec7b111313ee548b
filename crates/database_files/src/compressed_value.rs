//! Values of compressed rows, restored to the bytes that they have in rows without compression.
//!
//! Integers, money and dates with times are big-endian with the sign bit turned, in as few bytes as hold them; floats lack their low
//! zeros, fixed text its blanks, `binary` its zeros; Unicode is compressed where its length is odd; decimals are digits in threes.

use tds::SqlType;

use crate::scsu;

/// The way from the bytes of a compressed row to those of a plain one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expansion {
    /// Both have the same bytes.
    Same,
    /// A bit.
    Bit,
    /// One byte without sign.
    TinyInt,
    /// A signed number of so many bytes.
    Integer(usize),
    /// A counter whose high byte comes first.
    RowVersion,
    /// A binary floating point number of so many bytes.
    Float(usize),
    /// A decimal of a scale, in so many bytes with its sign.
    Decimal { scale: u8, bytes: usize },
    /// Bytes that are filled up to a length.
    Filled { bytes: usize, with: u8 },
    /// Unicode text, filled up with blanks to so many bytes if the type has a fixed length.
    Unicode(Option<usize>),
}

impl Expansion {
    /// Returns the expansion of a type.
    pub(crate) fn of(sql_type: &SqlType) -> Self {
        match *sql_type {
            SqlType::Bit => Self::Bit,
            SqlType::TinyInt => Self::TinyInt,
            SqlType::SmallInt => Self::Integer(2),
            SqlType::Int | SqlType::SmallMoney | SqlType::SmallDateTime => Self::Integer(4),
            SqlType::BigInt | SqlType::Money | SqlType::DateTime => Self::Integer(8),
            SqlType::RowVersion => Self::RowVersion,
            SqlType::Real => Self::Float(4),
            SqlType::Float => Self::Float(8),
            SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
                let magnitude = match precision {
                    ..10 => 4,
                    10..20 => 8,
                    20..29 => 12,
                    _ => 16,
                };
                Self::Decimal { scale, bytes: 1 + magnitude }
            }
            SqlType::Char { length } => Self::Filled { bytes: length.into(), with: b' ' },
            SqlType::Binary { length } => Self::Filled { bytes: length.into(), with: 0 },
            SqlType::NChar { length } => Self::Unicode(Some(2 * usize::from(length))),
            SqlType::NVarChar { length: tds::Length::Units(_) } => Self::Unicode(None),
            _ => Self::Same,
        }
    }

    /// Returns the value of a plain row. `into` is a buffer for values that change. None: bytes that are no value of the type.
    pub(crate) fn apply<'a>(self, value: &'a [u8], into: &'a mut Vec<u8>) -> Option<&'a [u8]> {
        into.clear();
        match self {
            Self::Same => return Some(value),
            // The bit 1 has a code of its own.
            Self::Bit => into.push(u8::from(!value.is_empty())),
            Self::TinyInt => match value {
                [] => into.push(0),
                [byte] => into.push(*byte),
                _ => return None,
            },
            Self::Integer(bytes) => {
                let number = integer(value).filter(|_| value.len() <= bytes)?;
                into.extend(number.to_le_bytes().get(..bytes)?);
            }
            Self::RowVersion => into.extend(integer(value)?.to_be_bytes()),
            Self::Float(bytes) => {
                into.resize(bytes.checked_sub(value.len())?, 0);
                into.extend(value);
            }
            Self::Decimal { scale, bytes } => decimal(value, scale, bytes, into)?,
            Self::Filled { bytes, with } => {
                into.extend(value);
                into.resize(bytes.max(value.len()), with);
            }
            Self::Unicode(bytes) => {
                match value.len() % 2 {
                    0 => into.extend(value),
                    _ => scsu::expand(value, into)?,
                }
                while bytes.is_some_and(|bytes| into.len() < bytes) {
                    into.extend([b' ', 0]);
                }
            }
        }
        Some(into)
    }
}

/// Reads a big-endian number whose sign bit is turned; no bytes are 0.
fn integer(value: &[u8]) -> Option<i64> {
    let (first, rest) = match value.split_first() {
        Some((first, rest)) if rest.len() < 8 => (first, rest),
        Some(_) => return None,
        None => return Some(0),
    };
    let first = i64::from((first ^ 0x80) as i8);
    Some(rest.iter().fold(first, |number, byte| number << 8 | i64::from(*byte)))
}

/// Digits of a group, which has ten bits.
const GROUP_DIGITS: i32 = 3;
/// The exponent that the first byte holds for 10^0.
const EXPONENT_BIAS: i32 = 64;

/// Writes a sign and a magnitude. The first byte is the sign (80: not negative) and the power of ten of the first digit; digits
/// follow in threes, ten bits each, without zeros at the end.
fn decimal(value: &[u8], scale: u8, bytes: usize, into: &mut Vec<u8>) -> Option<()> {
    let Some((&head, digits)) = value.split_first() else {
        into.push(1);
        into.resize(bytes, 0);
        return Some(());
    };
    // The last digit of the number stands for 10^-scale; the last of the group for a power of its own.
    let mut power = i32::from(head & 0x7f) - EXPONENT_BIAS + i32::from(scale) - (GROUP_DIGITS - 1);
    let mut magnitude = 0_u128;
    let mut at = 0;
    while at < 8 * digits.len() {
        let group = bits(digits, at);
        if group > 999 {
            return None;
        }
        magnitude = magnitude.checked_add(scaled(group, power)?)?;
        power -= GROUP_DIGITS;
        at += 10;
    }
    into.push(u8::from(head & 0x80 != 0));
    let (kept, rest) = magnitude
        .to_le_bytes()
        .split_at_checked(bytes - 1)
        .map(|(kept, rest)| (kept.to_vec(), rest.to_vec()))?;
    into.extend(kept);
    rest.iter().all(|byte| *byte == 0).then_some(())
}

/// Returns ten bits from a bit on; those behind the end are 0.
fn bits(bytes: &[u8], at: usize) -> u32 {
    let byte = |index: usize| u32::from(bytes.get(index).copied().unwrap_or_default());
    let three = byte(at / 8) << 16 | byte(at / 8 + 1) << 8 | byte(at / 8 + 2);
    three >> (24 - 10 - at % 8) & 0x3ff
}

/// Multiplies a group by a power of ten. None if that is no whole number, or too large.
fn scaled(group: u32, power: i32) -> Option<u128> {
    let group = u128::from(group);
    match power {
        _ if group == 0 => Some(0),
        0.. => group.checked_mul(10_u128.checked_pow(power.unsigned_abs())?),
        _ => {
            let unit = 10_u128.checked_pow(power.unsigned_abs())?;
            (group % unit == 0).then_some(group / unit)
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn expanded(sql_type: SqlType, value: &[u8]) -> Option<Vec<u8>> {
        let mut into = Vec::new();
        Expansion::of(&sql_type).apply(value, &mut into).map(<[u8]>::to_vec)
    }

    #[test]
    fn integers_are_restored() {
        let int = |value: &[u8]| {
            expanded(SqlType::Int, value).map(|bytes| i32::from_le_bytes(bytes.try_into().unwrap()))
        };
        let cases: [(&[u8], i32); 8] = [
            (&[], 0),
            (&[0x81], 1),
            (&[0x7f], -1),
            (&[0xff], 127),
            (&[0x80, 0x80], 128),
            (&[0x7f, 0x7e], -130),
            (&[0x81, 0x2c], 300),
            (&[0x81, 0xbb, 0x82], 113_538),
        ];
        for (value, number) in cases {
            assert_eq!(int(value), Some(number), "{value:x?}");
        }
        assert_eq!(int(&[1, 2, 3, 4, 5]), None);
        assert_eq!(expanded(SqlType::TinyInt, &[200]).unwrap(), [200]);
        assert_eq!(expanded(SqlType::RowVersion, &[0x87, 0xd1]).unwrap(), [0, 0, 0, 0, 0, 0, 7, 0xd1]);
        // A day and a time: 1900-01-02 00:00:00.01.
        assert_eq!(expanded(SqlType::DateTime, &[0x81, 0, 0, 0, 3]).unwrap(), [3, 0, 0, 0, 1, 0, 0, 0]);
    }

    #[test]
    fn decimals_are_restored() {
        let decimal = |value: &[u8], scale| expanded(SqlType::Decimal { precision: 9, scale }, value);
        let number = |sign: u8, number: u32| {
            let mut bytes = vec![sign];
            bytes.extend(number.to_le_bytes());
            Some(bytes)
        };
        assert_eq!(decimal(&[0xc2, 0x1e, 0xdc, 0x80], 3), number(1, 123_456));
        assert_eq!(decimal(&[0x42, 0x1e, 0xdc, 0x80], 4), number(0, 1_234_560));
        assert_eq!(decimal(&[], 2), number(1, 0));
        // 1, with and without the byte of zeros at its end; 0.01.
        assert_eq!(decimal(&[0xc0, 0x19, 0x00], 2), number(1, 100));
        assert_eq!(decimal(&[0xc0, 0x19], 2), number(1, 100));
        assert_eq!(decimal(&[0xbe, 0x19], 2), number(1, 1));
        // More digits than the scale has, or than the type holds.
        assert_eq!(decimal(&[0xbe, 0x19], 1), None);
        assert_eq!(decimal(&[0xe0, 0x19], 0), None);
    }

    #[test]
    fn fixed_widths_are_filled_up() {
        assert_eq!(expanded(SqlType::Float, &[0xf0, 0x3f]).unwrap(), 1_f64.to_le_bytes());
        assert_eq!(expanded(SqlType::Char { length: 4 }, b"ab").unwrap(), b"ab  ");
        assert_eq!(expanded(SqlType::Binary { length: 3 }, &[7]).unwrap(), [7, 0, 0]);
        assert_eq!(expanded(SqlType::NChar { length: 3 }, b"a").unwrap(), [b'a', 0, b' ', 0, b' ', 0]);
        assert_eq!(expanded(SqlType::NChar { length: 2 }, &[0x2d, 0x4e]).unwrap(), [0x2d, 0x4e, b' ', 0]);
        assert_eq!(expanded(SqlType::Bit, &[]).unwrap(), [0]);
    }

    /// Bytes by chance, which begin as records, anchors and texts do: none of the decoders of compressed pages panics.
    #[test]
    fn bytes_by_chance_are_values_or_none() {
        use crate::records::{PageInformation, Shared, compressed};

        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let types = [
            SqlType::Int,
            SqlType::Float,
            SqlType::Decimal { precision: 38, scale: 38 },
            SqlType::NChar { length: 3 },
            SqlType::Char { length: 3 },
            SqlType::RowVersion,
        ];
        let mut found = 0;
        for _ in 0..200_000 {
            let length = random() as usize % 40;
            let mut bytes: Vec<u8> = (0..length).map(|_| random() as u8).collect();
            let first = [0x01, 0x21, 0x02, 0x04, 0x06, 0x18][random() as usize % 6];
            bytes.first_mut().into_iter().for_each(|byte| *byte = first);
            let mut cells = Vec::new();
            found += usize::from(compressed::cells(&bytes, &mut cells).is_some());
            if let Some(information) = PageInformation::parse(&bytes) {
                for column in 0..3 {
                    let mut into = Vec::new();
                    let _ = information.value(column, Shared::Bytes(&bytes), &mut into);
                    let _ = information.value(column, Shared::Symbol(length), &mut into);
                }
            }
            for sql_type in &types {
                let _ = expanded(sql_type.clone(), &bytes);
            }
        }
        assert!(found > 500, "{found}");
    }
}
