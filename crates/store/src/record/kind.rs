//! The storage types of columns. Their widths are SQL Server's, and their values are passed as Arrow arrays.

use std::fmt;
use std::str::FromStr;

use arrow::datatypes::{DataType, TimeUnit};

/// Storage type of a column. The Arrow type that carries it is [`data_type`](Self::data_type).
///
/// Text of `char` and `varchar` is stored as UTF-8, that of `nchar` and `nvarchar` as UTF-16.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// One bit, packed with the table's other bits by eight to a byte.
    Bit,
    /// Unsigned integer of one byte.
    TinyInt,
    /// Signed integer of two bytes.
    SmallInt,
    /// Signed integer of four bytes.
    Int,
    /// Signed integer of eight bytes.
    BigInt,
    /// Four bytes, IEEE 754.
    Real,
    /// Eight bytes, IEEE 754.
    Float,
    /// Ten-thousandths in four bytes.
    SmallMoney,
    /// Ten-thousandths in eight bytes.
    Money,
    /// Sign and magnitude in 5, 9, 13 or 17 bytes.
    Decimal {
        /// Digits, 1 to 38.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// Days since 0001-01-01 in three bytes.
    Date,
    /// Units of 10^-scale seconds in 3 to 5 bytes.
    Time {
        /// Fractional digits, 0 to 7.
        scale: u8,
    },
    /// Minutes and days since 1900-01-01, two bytes each.
    SmallDateTime,
    /// Ticks of 1/300 second and days since 1900-01-01, four bytes each.
    DateTime,
    /// A time and a date.
    DateTime2 {
        /// Fractional digits, 0 to 7.
        scale: u8,
    },
    /// A time and a date in UTC, and the offset in minutes.
    DateTimeOffset {
        /// Fractional digits, 0 to 7.
        scale: u8,
    },
    /// Sixteen bytes, the first three fields little-endian.
    UniqueIdentifier,
    /// Eight bytes, big-endian.
    RowVersion,
    /// `n` bytes of text, padded with blanks.
    Char(u16),
    /// `n` UTF-16 code units, padded with blanks.
    NChar(u16),
    /// `n` bytes, padded with zeros.
    Binary(u16),
    /// Up to `n` bytes of text; None is `max`.
    VarChar(Option<u16>),
    /// Up to `n` UTF-16 code units; None is `max`.
    NVarChar(Option<u16>),
    /// Up to `n` bytes; None is `max`.
    VarBinary(Option<u16>),
}

/// Place of a value in its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Place in the fixed part, with this many bytes.
    Fixed(usize),
    /// Place in the fixed part, one bit.
    Bit,
    /// Place in the variable part. `limit_bytes` None: a large value that may move to pages of its own.
    Variable {
        /// Maximum number of bytes of a value.
        limit_bytes: Option<usize>,
    },
}

impl Kind {
    /// Returns true if values are text, which a collation orders.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Char(_) | Self::NChar(_) | Self::VarChar(_) | Self::NVarChar(_))
    }

    /// Returns true if values are bytes.
    pub fn is_bytes(self) -> bool {
        matches!(self, Self::Binary(_) | Self::VarBinary(_))
    }

    /// Returns the place and width of values.
    pub fn place(self) -> Place {
        let time = |scale: u8| match scale {
            0..=2 => 3,
            3..=4 => 4,
            _ => 5,
        };
        Place::Fixed(match self {
            Self::Bit => return Place::Bit,
            Self::TinyInt => 1,
            Self::SmallInt => 2,
            Self::Int | Self::Real | Self::SmallMoney | Self::SmallDateTime => 4,
            Self::BigInt | Self::Float | Self::Money | Self::DateTime | Self::RowVersion => 8,
            Self::Decimal { precision, .. } => match precision {
                0..=9 => 5,
                10..=19 => 9,
                20..=28 => 13,
                _ => 17,
            },
            Self::Date => 3,
            Self::Time { scale } => time(scale),
            Self::DateTime2 { scale } => time(scale) + 3,
            Self::DateTimeOffset { scale } => time(scale) + 5,
            Self::UniqueIdentifier => 16,
            Self::Char(n) | Self::Binary(n) => usize::from(n),
            Self::NChar(n) => 2 * usize::from(n),
            Self::VarChar(n) | Self::VarBinary(n) => {
                return Place::Variable { limit_bytes: n.map(usize::from) };
            }
            Self::NVarChar(n) => return Place::Variable { limit_bytes: n.map(|n| 2 * usize::from(n)) },
        })
    }

    /// Returns the Arrow type in which values arrive and leave: the exact form of `docs/type-mapping.md`.
    pub fn data_type(self) -> DataType {
        use DataType::{
            Binary, Boolean, Date32, Decimal128, FixedSizeBinary, Float32, Float64, Int16, Int32, Int64,
            Time32, Time64, Timestamp, UInt8, UInt64, Utf8,
        };
        match self {
            Self::Bit => Boolean,
            Self::TinyInt => UInt8,
            Self::SmallInt => Int16,
            Self::Int => Int32,
            Self::BigInt => Int64,
            Self::Real => Float32,
            Self::Float => Float64,
            Self::SmallMoney => Decimal128(10, 4),
            Self::Money => Decimal128(19, 4),
            Self::Decimal { precision, scale } => Decimal128(precision, scale as i8),
            Self::Date => Date32,
            Self::Time { scale: 0 } => Time32(TimeUnit::Second),
            Self::Time { scale: 1..=3 } => Time32(TimeUnit::Millisecond),
            Self::Time { scale: 4..=6 } => Time64(TimeUnit::Microsecond),
            Self::Time { .. } => Time64(TimeUnit::Nanosecond),
            Self::SmallDateTime | Self::DateTime2 { scale: 0 } => Timestamp(TimeUnit::Second, None),
            Self::DateTime | Self::DateTime2 { scale: 1..=3 } => Timestamp(TimeUnit::Millisecond, None),
            Self::DateTime2 { scale: 4..=6 } => Timestamp(TimeUnit::Microsecond, None),
            Self::DateTime2 { .. } => FixedSizeBinary(8),
            Self::DateTimeOffset { .. } => FixedSizeBinary(10),
            Self::UniqueIdentifier => FixedSizeBinary(16),
            Self::RowVersion => UInt64,
            Self::Char(_) | Self::NChar(_) | Self::VarChar(_) | Self::NVarChar(_) => Utf8,
            Self::Binary(_) | Self::VarBinary(_) => Binary,
        }
    }

    /// Returns true if a column can have this declaration.
    pub fn is_valid(self) -> bool {
        match self {
            Self::Decimal { precision, scale } => (1..=38).contains(&precision) && scale <= precision,
            Self::Time { scale } | Self::DateTime2 { scale } | Self::DateTimeOffset { scale } => scale <= 7,
            Self::Char(n) | Self::Binary(n) | Self::VarChar(Some(n)) | Self::VarBinary(Some(n)) => {
                (1..=8000).contains(&n)
            }
            Self::NChar(n) | Self::NVarChar(Some(n)) => (1..=4000).contains(&n),
            _ => true,
        }
    }
}

/// Prints the kind as T-SQL declares it; the catalogue stores this spelling.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = |n: &Option<u16>| n.map_or("max".to_owned(), |n| n.to_string());
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
            Self::Decimal { precision, scale } => write!(f, "decimal({precision},{scale})"),
            Self::Date => f.write_str("date"),
            Self::Time { scale } => write!(f, "time({scale})"),
            Self::SmallDateTime => f.write_str("smalldatetime"),
            Self::DateTime => f.write_str("datetime"),
            Self::DateTime2 { scale } => write!(f, "datetime2({scale})"),
            Self::DateTimeOffset { scale } => write!(f, "datetimeoffset({scale})"),
            Self::UniqueIdentifier => f.write_str("uniqueidentifier"),
            Self::RowVersion => f.write_str("rowversion"),
            Self::Char(n) => write!(f, "char({n})"),
            Self::NChar(n) => write!(f, "nchar({n})"),
            Self::Binary(n) => write!(f, "binary({n})"),
            Self::VarChar(n) => write!(f, "varchar({})", limit(n)),
            Self::NVarChar(n) => write!(f, "nvarchar({})", limit(n)),
            Self::VarBinary(n) => write!(f, "varbinary({})", limit(n)),
        }
    }
}

/// The text is not a declaration that [`Kind`]'s `Display` writes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a storage type")]
pub struct ParseKindError {
    /// Text that is not a storage type.
    pub text: String,
}

impl FromStr for Kind {
    type Err = ParseKindError;

    fn from_str(text: &str) -> Result<Self, ParseKindError> {
        let error = || ParseKindError { text: text.to_owned() };
        let (name, arguments) = match text.split_once('(') {
            Some((name, rest)) => (name, rest.strip_suffix(')').ok_or_else(error)?),
            None => (text, ""),
        };
        let number = || arguments.parse::<u16>().map_err(|_| error());
        let scale = || arguments.parse::<u8>().map_err(|_| error());
        let limit = || if arguments == "max" { Ok(None) } else { number().map(Some) };
        let kind = match name {
            "bit" => Self::Bit,
            "tinyint" => Self::TinyInt,
            "smallint" => Self::SmallInt,
            "int" => Self::Int,
            "bigint" => Self::BigInt,
            "real" => Self::Real,
            "float" => Self::Float,
            "smallmoney" => Self::SmallMoney,
            "money" => Self::Money,
            "decimal" => {
                let (precision, scale) = arguments.split_once(',').ok_or_else(error)?;
                let part = |part: &str| part.parse().map_err(|_| error());
                Self::Decimal { precision: part(precision)?, scale: part(scale)? }
            }
            "date" => Self::Date,
            "time" => Self::Time { scale: scale()? },
            "smalldatetime" => Self::SmallDateTime,
            "datetime" => Self::DateTime,
            "datetime2" => Self::DateTime2 { scale: scale()? },
            "datetimeoffset" => Self::DateTimeOffset { scale: scale()? },
            "uniqueidentifier" => Self::UniqueIdentifier,
            "rowversion" => Self::RowVersion,
            "char" => Self::Char(number()?),
            "nchar" => Self::NChar(number()?),
            "binary" => Self::Binary(number()?),
            "varchar" => Self::VarChar(limit()?),
            "nvarchar" => Self::NVarChar(limit()?),
            "varbinary" => Self::VarBinary(limit()?),
            _ => return Err(error()),
        };
        if kind.is_valid() && kind.to_string() == text { Ok(kind) } else { Err(error()) }
    }
}
