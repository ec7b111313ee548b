//! Reading a [`SqlType`] from T-SQL text: the base spellings, their synonyms, defaults and limits.

use std::str::FromStr;

use crate::sql_type::{BYTE_LENGTH_MAX, Length, PRECISION_MAX, SqlType, TIME_SCALE_MAX, UNIT_LENGTH_MAX};
use crate::vector::VectorBase;

/// Error of a text that is not a type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a SQL type: {reason}")]
pub struct ParseTypeError {
    /// The text that was read.
    pub text: String,
    /// Rule that the text breaks.
    pub reason: ParseTypeErrorReason,
}

/// The ways in which text can fail to be a type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseTypeErrorReason {
    /// No type has this name.
    #[error("no type has this name")]
    UnknownName,
    /// Brackets, parentheses or numbers are malformed.
    #[error("malformed")]
    Malformed,
    /// The type does not take that many arguments.
    #[error("{given} arguments given, at most {allowed} allowed")]
    Arguments {
        /// Number of arguments in the text.
        given: usize,
        /// Greatest value that the type allows.
        allowed: usize,
    },
    /// A length, precision or scale is out of range.
    #[error("{value} is outside {min} to {max}")]
    OutOfRange {
        /// The number in the text.
        value: u32,
        /// Smallest number allowed.
        min: u32,
        /// Largest number allowed.
        max: u32,
    },
    /// `max` for a type without such a length.
    #[error("the type has no max length")]
    NoMax,
}

impl FromStr for SqlType {
    type Err = ParseTypeError;

    /// Reads T-SQL's spelling in any case, with or without brackets and a `sys.` prefix.
    ///
    /// A missing length, precision or scale takes the default of a column definition: 1 for lengths, (18, 0) for
    /// decimals, 7 for times. `float(1)` to `float(24)` is `real`, as in T-SQL; `sysname` is `nvarchar(128)`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).map_err(|reason| ParseTypeError { text: text.to_owned(), reason })
    }
}

use ParseTypeErrorReason as Reason;

fn parse(text: &str) -> Result<SqlType, Reason> {
    let (name, arguments) = split(text)?;
    let arguments = Arguments(arguments);
    let sql_type = match name.as_str() {
        "bit" => arguments.none(SqlType::Bit)?,
        "tinyint" => arguments.none(SqlType::TinyInt)?,
        "smallint" => arguments.none(SqlType::SmallInt)?,
        "int" | "integer" => arguments.none(SqlType::Int)?,
        "bigint" => arguments.none(SqlType::BigInt)?,
        "real" => arguments.none(SqlType::Real)?,
        "double precision" => arguments.none(SqlType::Float)?,
        "float" => match arguments.number(0, 1, 1, 53, 53)? {
            1..=24 => SqlType::Real,
            _ => SqlType::Float,
        },
        "smallmoney" => arguments.none(SqlType::SmallMoney)?,
        "money" => arguments.none(SqlType::Money)?,
        "smalldatetime" => arguments.none(SqlType::SmallDateTime)?,
        "datetime" => arguments.none(SqlType::DateTime)?,
        "date" => arguments.none(SqlType::Date)?,
        "time" => SqlType::Time { scale: arguments.time_scale()? },
        "datetime2" => SqlType::DateTime2 { scale: arguments.time_scale()? },
        "datetimeoffset" => SqlType::DateTimeOffset { scale: arguments.time_scale()? },
        "decimal" | "dec" => {
            let (precision, scale) = arguments.precision_and_scale()?;
            SqlType::Decimal { precision, scale }
        }
        "numeric" => {
            let (precision, scale) = arguments.precision_and_scale()?;
            SqlType::Numeric { precision, scale }
        }
        "char" | "character" => SqlType::Char { length: arguments.fixed(BYTE_LENGTH_MAX)? },
        "varchar" | "char varying" | "character varying" => {
            SqlType::VarChar { length: arguments.variable(BYTE_LENGTH_MAX)? }
        }
        "nchar" | "national char" | "national character" => {
            SqlType::NChar { length: arguments.fixed(UNIT_LENGTH_MAX)? }
        }
        "nvarchar" | "national char varying" | "national character varying" => {
            SqlType::NVarChar { length: arguments.variable(UNIT_LENGTH_MAX)? }
        }
        "sysname" => arguments.none(SqlType::NVarChar { length: Length::Units(128) })?,
        "binary" => SqlType::Binary { length: arguments.fixed(BYTE_LENGTH_MAX)? },
        "varbinary" | "binary varying" => SqlType::VarBinary { length: arguments.variable(BYTE_LENGTH_MAX)? },
        "uniqueidentifier" => arguments.none(SqlType::UniqueIdentifier)?,
        "xml" => arguments.none(SqlType::Xml)?,
        "json" => arguments.none(SqlType::Json)?,
        "sql_variant" => arguments.none(SqlType::SqlVariant)?,
        "text" => arguments.none(SqlType::Text)?,
        "ntext" | "national text" => arguments.none(SqlType::NText)?,
        "image" => arguments.none(SqlType::Image)?,
        "rowversion" | "timestamp" => arguments.none(SqlType::RowVersion)?,
        "vector" => arguments.vector()?,
        "geometry" | "geography" | "hierarchyid" => arguments.none(SqlType::Udt {
            database: String::new(),
            schema: "sys".to_owned(),
            name: name.clone(),
            assembly: String::new(),
        })?,
        _ => return Err(Reason::UnknownName),
    };
    Ok(sql_type)
}

/// Splits `name(argument, …)` into the lower-case name, without brackets and `sys.`, and its arguments.
fn split(text: &str) -> Result<(String, Vec<&str>), Reason> {
    let text = text.trim();
    let (name, arguments) = match text.split_once('(') {
        None => (text, Vec::new()),
        Some((name, rest)) => {
            let inside = rest.trim_end().strip_suffix(')').ok_or(Reason::Malformed)?;
            (name, inside.split(',').map(str::trim).collect())
        }
    };
    let mut name = name.split_whitespace().collect::<Vec<_>>().join(" ").to_ascii_lowercase();
    for prefix in ["[sys].", "sys."] {
        if let Some(bare) = name.strip_prefix(prefix) {
            name = bare.to_owned();
            break;
        }
    }
    if let Some(bare) = name.strip_prefix('[') {
        name = bare.strip_suffix(']').ok_or(Reason::Malformed)?.to_owned();
    }
    Ok((name, arguments))
}

struct Arguments<'a>(Vec<&'a str>);

impl Arguments<'_> {
    fn at_most(&self, allowed: usize) -> Result<(), Reason> {
        match self.0.len() {
            given if given > allowed => Err(Reason::Arguments { given, allowed }),
            _ => Ok(()),
        }
    }

    fn none(&self, sql_type: SqlType) -> Result<SqlType, Reason> {
        self.at_most(0).map(|()| sql_type)
    }

    /// Returns the number at `index` of at most `allowed` arguments, `default` if it is not there.
    fn number(&self, index: usize, allowed: usize, min: u32, max: u32, default: u32) -> Result<u32, Reason> {
        self.at_most(allowed)?;
        let Some(text) = self.0.get(index) else { return Ok(default) };
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Reason::Malformed);
        }
        let value: u32 = text.parse().map_err(|_| Reason::Malformed)?;
        if (min..=max).contains(&value) { Ok(value) } else { Err(Reason::OutOfRange { value, min, max }) }
    }

    fn time_scale(&self) -> Result<u8, Reason> {
        let max = u32::from(TIME_SCALE_MAX);
        self.number(0, 1, 0, max, max).map(narrow_u8)
    }

    fn precision_and_scale(&self) -> Result<(u8, u8), Reason> {
        let precision = self.number(0, 2, 1, u32::from(PRECISION_MAX), 18)?;
        let scale = self.number(1, 2, 0, precision, 0)?;
        Ok((narrow_u8(precision), narrow_u8(scale)))
    }

    fn fixed(&self, max: u16) -> Result<u16, Reason> {
        if self.is_max() {
            return Err(Reason::NoMax);
        }
        self.number(0, 1, 1, u32::from(max), 1).map(narrow_u16)
    }

    fn variable(&self, max: u16) -> Result<Length, Reason> {
        match self.is_max() {
            true => Ok(Length::Max),
            false => self.fixed(max).map(Length::Units),
        }
    }

    /// Parses the dimensions of a vector, which have no default, and its base type.
    fn vector(&self) -> Result<SqlType, Reason> {
        let base = match self.0.get(1) {
            Some(name) => name.parse().map_err(|()| Reason::Malformed)?,
            None => VectorBase::default(),
        };
        let max = u32::from(base.max_dimensions());
        let dimensions = self.number(0, 2, 1, max, 0)?;
        match dimensions {
            0 => Err(Reason::OutOfRange { value: 0, min: 1, max }),
            _ => Ok(SqlType::Vector { dimensions: narrow_u16(dimensions), base }),
        }
    }

    fn is_max(&self) -> bool {
        matches!(self.0.as_slice(), [one] if one.eq_ignore_ascii_case("max"))
    }
}

// The ranges checked above fit; saturation only spares an unreachable panic.
fn narrow_u8(value: u32) -> u8 {
    u8::try_from(value).unwrap_or(u8::MAX)
}

fn narrow_u16(value: u32) -> u16 {
    u16::try_from(value).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    /// `spelling => printed`, one per line.
    const SPELLINGS: &str = "
        bit => bit
        INTEGER => int
        [sys].[int] => int
        [Varchar] ( 50 ) => varchar(50)
        varchar => varchar(1)
        varchar(MAX) => varchar(max)
        nvarchar(4000) => nvarchar(4000)
        national character varying(7) => nvarchar(7)
        national  char (3) => nchar(3)
        character varying (9) => varchar(9)
        binary varying(max) => varbinary(max)
        national text => ntext
        sysname => nvarchar(128)
        double precision => float
        float => float
        float(24) => real
        float(25) => float
        dec(10,2) => decimal(10, 2)
        decimal => decimal(18, 0)
        numeric(38, 38) => numeric(38, 38)
        decimal(5) => decimal(5, 0)
        time => time(7)
        datetime2(0) => datetime2(0)
        datetimeoffset(3) => datetimeoffset(3)
        timestamp => rowversion
        geography => geography
        sql_variant => sql_variant
        VECTOR(3) => vector(3)
        vector(1998, float32) => vector(1998)
        [vector](3996,FLOAT16) => vector(3996, float16)
    ";

    #[test]
    fn spellings_and_synonyms() {
        for line in SPELLINGS.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (text, printed) = line.split_once(" => ").unwrap();
            assert_eq!(text.parse::<SqlType>().unwrap().to_string(), printed, "{text}");
        }
    }

    #[test]
    fn refusals_say_why() {
        for (text, reason) in [
            ("varchr(3)", Reason::UnknownName),
            ("", Reason::UnknownName),
            ("varchar(3", Reason::Malformed),
            ("[varchar(3)", Reason::Malformed),
            ("varchar(x)", Reason::Malformed),
            ("varchar(-1)", Reason::Malformed),
            ("varchar()", Reason::Malformed),
            ("varchar(8001)", Reason::OutOfRange { value: 8001, min: 1, max: 8000 }),
            ("nvarchar(4001)", Reason::OutOfRange { value: 4001, min: 1, max: 4000 }),
            ("varchar(0)", Reason::OutOfRange { value: 0, min: 1, max: 8000 }),
            ("char(max)", Reason::NoMax),
            ("decimal(39, 0)", Reason::OutOfRange { value: 39, min: 1, max: 38 }),
            ("decimal(5, 6)", Reason::OutOfRange { value: 6, min: 0, max: 5 }),
            ("datetime2(8)", Reason::OutOfRange { value: 8, min: 0, max: 7 }),
            ("int(4)", Reason::Arguments { given: 1, allowed: 0 }),
            ("vector", Reason::OutOfRange { value: 0, min: 1, max: 1998 }),
            ("vector(0)", Reason::OutOfRange { value: 0, min: 1, max: 1998 }),
            ("vector(1999)", Reason::OutOfRange { value: 1999, min: 1, max: 1998 }),
            ("vector(3997, float16)", Reason::OutOfRange { value: 3997, min: 1, max: 3996 }),
            ("vector(3, float64)", Reason::Malformed),
            ("vector(max)", Reason::Malformed),
            ("float(54)", Reason::OutOfRange { value: 54, min: 1, max: 53 }),
        ] {
            assert_eq!(text.parse::<SqlType>().unwrap_err().reason, reason, "{text}");
        }
    }

    #[test]
    fn lengths_on_the_wire() {
        for (text, bytes) in [
            ("bit", Some(1)),
            ("money", Some(8)),
            ("time(2)", Some(3)),
            ("datetime2(4)", Some(7)),
            ("datetimeoffset(7)", Some(10)),
            ("decimal(9, 0)", Some(5)),
            ("decimal(10, 0)", Some(9)),
            ("numeric(28, 1)", Some(13)),
            ("numeric(29, 1)", Some(17)),
            ("nchar(10)", Some(20)),
            ("nvarchar(4000)", Some(8000)),
            ("vector(1998)", Some(8000)),
            ("vector(3, float16)", Some(14)),
            ("nvarchar(max)", None),
            ("text", None),
        ] {
            assert_eq!(text.parse::<SqlType>().unwrap().max_length_bytes(), bytes, "{text}");
        }
    }
}
