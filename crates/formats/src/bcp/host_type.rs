//! The storage types of host fields: the second token of a format file's line.

use std::fmt;

use tds::{Length, SqlType};

/// The storage type of a field in a data file (documentation, "File storage type"). It describes the bytes in the file,
/// not the column they are loaded into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HostType {
    /// `SQLCHAR`: text in a code page.
    Char,
    /// `SQLNCHAR`: text in UTF-16LE.
    NChar,
    /// `SQLBINARY`: bytes as they are.
    Binary,
    /// `SQLIMAGE`: bytes as they are, of an `image` column.
    Image,
    /// `SQLBIT`: one byte.
    Bit,
    /// `SQLTINYINT`: one byte without sign.
    TinyInt,
    /// `SQLSMALLINT`: two bytes.
    SmallInt,
    /// `SQLINT`: four bytes.
    Int,
    /// `SQLBIGINT`: eight bytes.
    BigInt,
    /// `SQLFLT4`: IEEE single.
    Flt4,
    /// `SQLFLT8`: IEEE double.
    Flt8,
    /// `SQLDECIMAL`: precision, scale, sign, magnitude.
    Decimal,
    /// `SQLNUMERIC`: as [`HostType::Decimal`].
    Numeric,
    /// `SQLMONEY`: 64-bit count of 1/10000, high half first.
    Money,
    /// `SQLMONEY4`: 32-bit count of 1/10000.
    Money4,
    /// `SQLDATETIME`: days since 1900, 1/300 s since midnight.
    DateTime,
    /// `SQLDATETIM4`: days since 1900, minutes since midnight.
    DateTim4,
    /// `SQLDATE`: days since 0001-01-01.
    Date,
    /// `SQLTIME`: 100 ns since midnight.
    Time,
    /// `SQLDATETIME2`: time, then date.
    DateTime2,
    /// `SQLDATETIMEOFFSET`: time and date in UTC, then the offset in minutes.
    DateTimeOffset,
    /// `SQLUNIQUEID`: 16 bytes, the first three groups byte-swapped.
    UniqueId,
    /// `SQLVARIANT`: the value as TDS carries it.
    Variant,
    /// `SQLUDT`: a CLR type's serialised bytes.
    Udt,
}

/// Every host type with the name under which it is written, and the names under which it is also read: before 7.0 the
/// names began with `SYB`.
const NAMES: &[(HostType, &str, &[&str])] = &[
    (
        HostType::Char,
        "SQLCHAR",
        &["SQLCHARACTER", "SQLVARYCHAR", "SQLTEXT", "SYBCHAR", "SYBVARCHAR", "SYBTEXT"],
    ),
    (HostType::NChar, "SQLNCHAR", &["SQLNVARCHAR", "SQLNTEXT", "SQLXML"]),
    (HostType::Binary, "SQLBINARY", &["SQLVARYBIN", "SYBBINARY", "SYBVARBINARY"]),
    (HostType::Image, "SQLIMAGE", &["SYBIMAGE"]),
    (HostType::Bit, "SQLBIT", &["SYBBIT"]),
    (HostType::TinyInt, "SQLTINYINT", &["SYBINT1"]),
    (HostType::SmallInt, "SQLSMALLINT", &["SYBINT2"]),
    (HostType::Int, "SQLINT", &["SYBINT4"]),
    (HostType::BigInt, "SQLBIGINT", &[]),
    (HostType::Flt4, "SQLFLT4", &["SYBREAL"]),
    (HostType::Flt8, "SQLFLT8", &["SYBFLT8"]),
    (HostType::Decimal, "SQLDECIMAL", &["SYBDECIMAL"]),
    (HostType::Numeric, "SQLNUMERIC", &["SYBNUMERIC"]),
    (HostType::Money, "SQLMONEY", &["SYBMONEY"]),
    (HostType::Money4, "SQLMONEY4", &["SYBMONEY4"]),
    (HostType::DateTime, "SQLDATETIME", &["SQLDATETIM8", "SYBDATETIME"]),
    (HostType::DateTim4, "SQLDATETIM4", &["SYBDATETIME4"]),
    (HostType::Date, "SQLDATE", &[]),
    (HostType::Time, "SQLTIME", &[]),
    (HostType::DateTime2, "SQLDATETIME2", &[]),
    (HostType::DateTimeOffset, "SQLDATETIMEOFFSET", &[]),
    (HostType::UniqueId, "SQLUNIQUEID", &[]),
    (HostType::Variant, "SQLVARIANT", &[]),
    (HostType::Udt, "SQLUDT", &[]),
];

impl HostType {
    /// Lists the host types.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|(host_type, ..)| *host_type)
    }

    /// Returns the host type of this name. Names are upper case only, as in the vendor's reader.
    pub fn from_name(name: &str) -> Option<Self> {
        NAMES
            .iter()
            .find(|(_, written, also)| *written == name || also.contains(&name))
            .map(|(host_type, ..)| *host_type)
    }

    /// Returns the name as format files have it.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(host_type, ..)| *host_type == self).map_or("", |(_, name, _)| name)
    }

    /// Returns the bytes of a value, for the types that have one size. For decimals, the size that is
    /// written.
    pub fn size_bytes(self) -> Option<usize> {
        Some(match self {
            Self::Bit | Self::TinyInt => 1,
            Self::SmallInt => 2,
            Self::Int | Self::Flt4 | Self::Money4 | Self::DateTim4 => 4,
            Self::BigInt | Self::Flt8 | Self::Money | Self::DateTime | Self::DateTime2 => 8,
            Self::Date => 3,
            Self::Time => 5,
            Self::DateTimeOffset => 10,
            Self::UniqueId => 16,
            Self::Decimal | Self::Numeric => 19,
            Self::Char | Self::NChar | Self::Binary | Self::Image | Self::Variant | Self::Udt => return None,
        })
    }

    /// Returns true if the bytes are text.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Char | Self::NChar)
    }

    /// Returns the type in which a field is stored natively (`-n`), or with `unicode` (`-N`).
    pub fn native(sql_type: &SqlType, unicode: bool) -> Self {
        match sql_type {
            SqlType::Char { .. } | SqlType::VarChar { .. } | SqlType::Text if !unicode => Self::Char,
            SqlType::Char { .. }
            | SqlType::VarChar { .. }
            | SqlType::Text
            | SqlType::NChar { .. }
            | SqlType::NVarChar { .. }
            | SqlType::NText
            | SqlType::Xml
            | SqlType::Json => Self::NChar,
            SqlType::Binary { .. }
            | SqlType::VarBinary { .. }
            | SqlType::RowVersion
            | SqlType::Vector { .. } => Self::Binary,
            SqlType::Image => Self::Image,
            SqlType::Bit => Self::Bit,
            SqlType::TinyInt => Self::TinyInt,
            SqlType::SmallInt => Self::SmallInt,
            SqlType::Int => Self::Int,
            SqlType::BigInt => Self::BigInt,
            SqlType::Real => Self::Flt4,
            SqlType::Float => Self::Flt8,
            SqlType::Decimal { .. } => Self::Decimal,
            SqlType::Numeric { .. } => Self::Numeric,
            SqlType::Money => Self::Money,
            SqlType::SmallMoney => Self::Money4,
            SqlType::DateTime => Self::DateTime,
            SqlType::SmallDateTime => Self::DateTim4,
            SqlType::Date => Self::Date,
            SqlType::Time { .. } => Self::Time,
            SqlType::DateTime2 { .. } => Self::DateTime2,
            SqlType::DateTimeOffset { .. } => Self::DateTimeOffset,
            SqlType::UniqueIdentifier => Self::UniqueId,
            SqlType::SqlVariant => Self::Variant,
            SqlType::Udt { .. } => Self::Udt,
        }
    }

    /// Returns the SQL type of a native field if no column is known. `None` for decimals, whose precision and
    /// scale are in each value.
    pub fn natural_sql_type(self) -> Option<SqlType> {
        Some(match self {
            Self::Char => SqlType::VarChar { length: Length::Max },
            Self::NChar => SqlType::NVarChar { length: Length::Max },
            Self::Binary | Self::Image | Self::Udt => SqlType::VarBinary { length: Length::Max },
            Self::Bit => SqlType::Bit,
            Self::TinyInt => SqlType::TinyInt,
            Self::SmallInt => SqlType::SmallInt,
            Self::Int => SqlType::Int,
            Self::BigInt => SqlType::BigInt,
            Self::Flt4 => SqlType::Real,
            Self::Flt8 => SqlType::Float,
            Self::Decimal | Self::Numeric => return None,
            Self::Money => SqlType::Money,
            Self::Money4 => SqlType::SmallMoney,
            Self::DateTime => SqlType::DateTime,
            Self::DateTim4 => SqlType::SmallDateTime,
            Self::Date => SqlType::Date,
            Self::Time => SqlType::Time { scale: 7 },
            Self::DateTime2 => SqlType::DateTime2 { scale: 7 },
            Self::DateTimeOffset => SqlType::DateTimeOffset { scale: 7 },
            Self::UniqueId => SqlType::UniqueIdentifier,
            Self::Variant => SqlType::SqlVariant,
        })
    }
}

impl fmt::Display for HostType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
