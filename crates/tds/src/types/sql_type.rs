//! [`SqlType`]: the type of a column in T-SQL. [`TypeInfo`](crate::TypeInfo) is its form on the wire.

use std::fmt;

use crate::vector::{HEADER_BYTES, VectorBase};

/// A T-SQL data type with its length, precision and scale.
///
/// `Display` gives the T-SQL spelling (`nvarchar(50)`, `decimal(10, 2)`), `FromStr` takes that and T-SQL's synonyms.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SqlType {
    /// `bit`
    Bit,
    /// `tinyint`, unsigned
    TinyInt,
    /// `smallint`
    SmallInt,
    /// `int`
    Int,
    /// `bigint`
    BigInt,
    /// `real`, 4-byte IEEE 754
    Real,
    /// `float`, 8-byte IEEE 754
    Float,
    /// `smallmoney`, 32-bit count of 1/10,000
    SmallMoney,
    /// `money`, 64-bit count of 1/10,000
    Money,
    /// `smalldatetime`, whole minutes from 1900-01-01 to 2079-06-06
    SmallDateTime,
    /// `datetime`, 1/300 s from 1753-01-01 to 9999-12-31
    DateTime,
    /// `date`, 0001-01-01 to 9999-12-31
    Date,
    /// `time(scale)`
    Time {
        /// Decimal digits of the second, 0 to 7.
        scale: u8,
    },
    /// `datetime2(scale)`
    DateTime2 {
        /// Decimal digits of the second, 0 to 7.
        scale: u8,
    },
    /// `datetimeoffset(scale)`
    DateTimeOffset {
        /// Decimal digits of the second, 0 to 7.
        scale: u8,
    },
    /// `decimal(precision, scale)`
    Decimal {
        /// Decimal digits, 1 to 38.
        precision: u8,
        /// Digits after the point, at most `precision`.
        scale: u8,
    },
    /// `numeric(precision, scale)`: `decimal` under another name and token
    Numeric {
        /// Decimal digits, 1 to 38.
        precision: u8,
        /// Digits after the point, at most `precision`.
        scale: u8,
    },
    /// `char(length)`
    Char {
        /// Bytes in the collation's code page, 1 to 8000.
        length: u16,
    },
    /// `varchar(length)` or `varchar(max)`
    VarChar {
        /// Bytes in the collation's code page.
        length: Length,
    },
    /// `nchar(length)`
    NChar {
        /// UTF-16 code units, 1 to 4000.
        length: u16,
    },
    /// `nvarchar(length)` or `nvarchar(max)`
    NVarChar {
        /// UTF-16 code units.
        length: Length,
    },
    /// `binary(length)`
    Binary {
        /// Bytes, 1 to 8000.
        length: u16,
    },
    /// `varbinary(length)` or `varbinary(max)`
    VarBinary {
        /// Length in bytes.
        length: Length,
    },
    /// `uniqueidentifier`
    UniqueIdentifier,
    /// `xml`
    Xml,
    /// `json`
    Json,
    /// `sql_variant`
    SqlVariant,
    /// `text`, up to 2 GB in the collation's code page
    Text,
    /// `ntext`, up to 2 GB of UTF-16
    NText,
    /// `image`, up to 2 GB of bytes
    Image,
    /// `rowversion` (also spelled `timestamp`): 8 bytes, big-endian counter
    RowVersion,
    /// `vector(dimensions)` or `vector(dimensions, float16)`
    Vector {
        /// Number of elements: 1 to 1998, of half precision 1 to 3996. 0 in a TYPE_INFO that can carry only NULL.
        dimensions: u16,
        /// Type of the elements.
        base: VectorBase,
    },
    /// A CLR type: `geometry`, `geography`, `hierarchyid` or a user's own
    Udt {
        /// Database that owns the type; may be empty.
        database: String,
        /// Schema of the type; `sys` for the built-in ones.
        schema: String,
        /// Name of the type.
        name: String,
        /// Assembly-qualified class name, as a server sends it; a client sends none.
        assembly: String,
    },
}

/// Declared length of a variable-length type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Length {
    /// Bytes for `varchar` and `varbinary`, UTF-16 code units for `nvarchar`.
    Units(u16),
    /// `max`: up to 2 GB.
    Max,
}

/// Largest declared length of `char`, `varchar`, `binary` and `varbinary`, in bytes.
pub const BYTE_LENGTH_MAX: u16 = 8000;
/// Largest declared length of `nchar` and `nvarchar`, in UTF-16 code units.
pub const UNIT_LENGTH_MAX: u16 = 4000;
/// Largest precision of `decimal`.
pub const PRECISION_MAX: u8 = 38;
/// Largest scale of `time`, `datetime2` and `datetimeoffset`.
pub const TIME_SCALE_MAX: u8 = 7;

impl SqlType {
    /// Returns true for text of any kind that has a collation: `char`, `varchar`, `text` and their Unicode
    /// forms.
    pub fn is_character(&self) -> bool {
        matches!(self, Self::Char { .. } | Self::VarChar { .. } | Self::Text) || self.is_unicode()
    }

    /// Returns true for text stored as UTF-16: `nchar`, `nvarchar`, `ntext`.
    pub fn is_unicode(&self) -> bool {
        matches!(self, Self::NChar { .. } | Self::NVarChar { .. } | Self::NText)
    }

    /// Returns true for plain bytes: `binary`, `varbinary`, `image`, `rowversion`.
    pub fn is_binary(&self) -> bool {
        matches!(self, Self::Binary { .. } | Self::VarBinary { .. } | Self::Image | Self::RowVersion)
    }

    /// Returns true if values travel in chunks (partially length-prefixed, MS-TDS 2.2.5.2.3): the `max`
    /// types, `xml`, `json` and CLR types.
    pub fn is_plp(&self) -> bool {
        match self {
            Self::VarChar { length } | Self::NVarChar { length } | Self::VarBinary { length } => {
                *length == Length::Max
            }
            Self::Xml | Self::Json | Self::Udt { .. } => true,
            _ => false,
        }
    }

    /// Returns true for `text`, `ntext` and `image`, which travel behind a text pointer.
    pub fn is_legacy_lob(&self) -> bool {
        matches!(self, Self::Text | Self::NText | Self::Image)
    }

    /// Returns true for `decimal` and `numeric`.
    pub fn is_decimal(&self) -> bool {
        matches!(self, Self::Decimal { .. } | Self::Numeric { .. })
    }

    /// Returns true for every type with a date or a time of day.
    pub fn is_temporal(&self) -> bool {
        matches!(
            self,
            Self::SmallDateTime
                | Self::DateTime
                | Self::Date
                | Self::Time { .. }
                | Self::DateTime2 { .. }
                | Self::DateTimeOffset { .. }
        )
    }

    /// Returns the largest number of data bytes that a value takes on the wire, without its length prefix;
    /// `None` for types that have no limit below 2 GB.
    pub fn max_length_bytes(&self) -> Option<u32> {
        let bytes = match self {
            Self::Bit | Self::TinyInt => 1,
            Self::SmallInt => 2,
            Self::Int | Self::Real | Self::SmallMoney | Self::SmallDateTime => 4,
            Self::BigInt | Self::Float | Self::Money | Self::DateTime | Self::RowVersion => 8,
            Self::Date => 3,
            Self::Time { scale } => u32::from(time_len_bytes(*scale)),
            Self::DateTime2 { scale } => u32::from(time_len_bytes(*scale)) + 3,
            Self::DateTimeOffset { scale } => u32::from(time_len_bytes(*scale)) + 5,
            Self::Decimal { precision, .. } | Self::Numeric { precision, .. } => {
                u32::from(decimal_len_bytes(*precision))
            }
            Self::Char { length } | Self::Binary { length } => u32::from(*length),
            Self::NChar { length } => u32::from(*length) * 2,
            Self::VarChar { length: Length::Units(units) }
            | Self::VarBinary { length: Length::Units(units) } => u32::from(*units),
            Self::NVarChar { length: Length::Units(units) } => u32::from(*units) * 2,
            Self::UniqueIdentifier => 16,
            Self::Vector { dimensions, base } => vector_len_bytes(*dimensions, *base),
            Self::SqlVariant => VARIANT_LENGTH_MAX,
            Self::VarChar { length: Length::Max }
            | Self::NVarChar { length: Length::Max }
            | Self::VarBinary { length: Length::Max }
            | Self::Xml
            | Self::Json
            | Self::Text
            | Self::NText
            | Self::Image
            | Self::Udt { .. } => return None,
        };
        Some(bytes)
    }
}

/// Largest length of a `sql_variant` value including its base type and properties, in bytes (MS-TDS 2.2.5.5.4).
pub const VARIANT_LENGTH_MAX: u32 = 8009;

/// Returns the bytes of the time-of-day part for a scale: 3 for 0–2, 4 for 3–4, 5 for 5–7 (MS-TDS
/// 2.2.5.5.1.8).
pub fn time_len_bytes(scale: u8) -> u8 {
    match scale {
        0..=2 => 3,
        3..=4 => 4,
        _ => 5,
    }
}

/// Returns the bytes of a decimal value, sign included, for a precision: 5, 9, 13 or 17 (MS-TDS 2.2.5.5.1.6).
pub fn decimal_len_bytes(precision: u8) -> u8 {
    match precision {
        0..=9 => 5,
        10..=19 => 9,
        20..=28 => 13,
        _ => 17,
    }
}

/// Returns the bytes of a vector, its header included (MS-TDS 2.2.5.5.7).
fn vector_len_bytes(dimensions: u16, base: VectorBase) -> u32 {
    let bytes = HEADER_BYTES + usize::from(dimensions) * base.element_bytes();
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Units(units) => units.fmt(f),
            Self::Max => f.write_str("max"),
        }
    }
}

impl fmt::Display for SqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bit => f.write_str("bit"),
            Self::TinyInt => f.write_str("tinyint"),
            Self::SmallInt => f.write_str("smallint"),
            Self::Int => f.write_str("int"),
            Self::BigInt => f.write_str("bigint"),
            Self::Real => f.write_str("real"),
            Self::Float => f.write_str("float"),
            Self::SmallMoney => f.write_str("smallmoney"),
            Self::Money => f.write_str("money"),
            Self::SmallDateTime => f.write_str("smalldatetime"),
            Self::DateTime => f.write_str("datetime"),
            Self::Date => f.write_str("date"),
            Self::Time { scale } => write!(f, "time({scale})"),
            Self::DateTime2 { scale } => write!(f, "datetime2({scale})"),
            Self::DateTimeOffset { scale } => write!(f, "datetimeoffset({scale})"),
            Self::Decimal { precision, scale } => write!(f, "decimal({precision}, {scale})"),
            Self::Numeric { precision, scale } => write!(f, "numeric({precision}, {scale})"),
            Self::Char { length } => write!(f, "char({length})"),
            Self::VarChar { length } => write!(f, "varchar({length})"),
            Self::NChar { length } => write!(f, "nchar({length})"),
            Self::NVarChar { length } => write!(f, "nvarchar({length})"),
            Self::Binary { length } => write!(f, "binary({length})"),
            Self::VarBinary { length } => write!(f, "varbinary({length})"),
            Self::UniqueIdentifier => f.write_str("uniqueidentifier"),
            Self::Xml => f.write_str("xml"),
            Self::Json => f.write_str("json"),
            Self::SqlVariant => f.write_str("sql_variant"),
            Self::Text => f.write_str("text"),
            Self::NText => f.write_str("ntext"),
            Self::Image => f.write_str("image"),
            Self::RowVersion => f.write_str("rowversion"),
            Self::Vector { dimensions, base: VectorBase::Float32 } => write!(f, "vector({dimensions})"),
            Self::Vector { dimensions, base } => write!(f, "vector({dimensions}, {base})"),
            Self::Udt { schema, name, .. } if schema.is_empty() || schema.eq_ignore_ascii_case("sys") => {
                f.write_str(name)
            }
            Self::Udt { schema, name, .. } => {
                write!(f, "[{}].[{}]", schema.replace(']', "]]"), name.replace(']', "]]"))
            }
        }
    }
}
