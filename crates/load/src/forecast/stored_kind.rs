//! The stored form of a column's values, and their form on the wire.

use tds::{
    Length, SqlType,
    sql_type::{decimal_len_bytes, time_len_bytes},
};

/// Most bytes of a sql_variant.
const VARIANT_LIMIT_BYTES: usize = 8016;

/// The stored form of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StoredKind {
    /// A bit of a byte that up to eight such columns share.
    Bit,
    /// An unsigned byte.
    TinyInt,
    /// A whole number of so many bytes; money and the old date types are some, too.
    Integer(usize),
    /// A floating-point number of so many bytes.
    Float(usize),
    /// A sign and a magnitude.
    Decimal { bytes: usize, scale: u8 },
    /// Other values of one length.
    Fixed(usize),
    /// Text in a code page, filled up with blanks.
    Char(usize),
    /// UTF-16, filled up with blanks.
    NChar(usize),
    /// Bytes, filled up with zeros.
    Binary(usize),
    /// As long as the value; no limit of bytes: a large value.
    Variable { limit_bytes: Option<usize>, is_unicode: bool },
    /// Eight bytes that the server counts up.
    RowVersion,
}

/// The room that a column takes in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Bit,
    Fixed(usize),
    Variable,
}

impl StoredKind {
    pub fn of(sql_type: &SqlType) -> Self {
        let variable =
            |limit_bytes, is_unicode| Self::Variable { limit_bytes: Some(limit_bytes), is_unicode };
        let large = Self::Variable { limit_bytes: None, is_unicode: false };
        match sql_type {
            SqlType::Bit => Self::Bit,
            SqlType::TinyInt => Self::TinyInt,
            SqlType::SmallInt => Self::Integer(2),
            SqlType::Int | SqlType::SmallMoney | SqlType::SmallDateTime => Self::Integer(4),
            SqlType::BigInt | SqlType::Money | SqlType::DateTime => Self::Integer(8),
            SqlType::Real => Self::Float(4),
            SqlType::Float => Self::Float(8),
            SqlType::Date => Self::Fixed(3),
            SqlType::Time { scale } => Self::Fixed(time_len_bytes(*scale).into()),
            SqlType::DateTime2 { scale } => Self::Fixed(usize::from(time_len_bytes(*scale)) + 3),
            SqlType::DateTimeOffset { scale } => Self::Fixed(usize::from(time_len_bytes(*scale)) + 5),
            SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
                Self::Decimal { bytes: decimal_len_bytes(*precision).into(), scale: *scale }
            }
            SqlType::Char { length } => Self::Char((*length).into()),
            SqlType::NChar { length } => Self::NChar(2 * usize::from(*length)),
            SqlType::Binary { length } => Self::Binary((*length).into()),
            SqlType::VarChar { length: Length::Units(length) }
            | SqlType::VarBinary { length: Length::Units(length) } => variable((*length).into(), false),
            SqlType::NVarChar { length: Length::Units(length) } => variable(2 * usize::from(*length), true),
            SqlType::UniqueIdentifier => Self::Fixed(16),
            SqlType::SqlVariant => variable(VARIANT_LIMIT_BYTES, false),
            SqlType::RowVersion => Self::RowVersion,
            _ => large,
        }
    }

    pub fn place(self) -> Place {
        match self {
            Self::Bit => Place::Bit,
            Self::TinyInt => Place::Fixed(1),
            Self::Integer(bytes)
            | Self::Float(bytes)
            | Self::Decimal { bytes, .. }
            | Self::Fixed(bytes)
            | Self::Char(bytes)
            | Self::NChar(bytes)
            | Self::Binary(bytes) => Place::Fixed(bytes),
            Self::RowVersion => Place::Fixed(8),
            Self::Variable { .. } => Place::Variable,
        }
    }

    /// Returns true for text, which is ordered without its trailing blanks.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Char(_) | Self::NChar(_) | Self::Variable { .. })
    }

    pub fn is_utf16(self) -> bool {
        matches!(self, Self::NChar(_) | Self::Variable { is_unicode: true, .. })
    }
}

/// Returns the bytes of a whole number, lowest first. On the wire the halves of some types are swapped.
pub(super) fn whole_number(sql_type: &SqlType, wire: &[u8]) -> Option<Vec<u8>> {
    let bytes = match (sql_type, wire) {
        // The higher half comes first; of a date and time, that is the date.
        (SqlType::Money | SqlType::DateTime, [a, b, c, d, low @ ..]) => [low, &[*a, *b, *c, *d]].concat(),
        (SqlType::SmallDateTime, [a, b, low @ ..]) => [low, &[*a, *b]].concat(),
        _ => return None,
    };
    Some(bytes)
}
