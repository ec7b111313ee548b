//! Types of the model, and the form of their values in the data.
//!
//! The data are close to bcp's Unicode native files; what differs is in `docs/database-files.md`.

use tds::{Length, SqlType, VectorBase};

use super::element::{Node, name_parts};

/// The way from the bytes of a value in the data to those of the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Both have the same bytes.
    Same,
    /// Precision, scale, sign, 16 bytes.
    Decimal { precision: u8, scale: u8 },
    /// Five bytes of 100 ns, then `rest` bytes as they are.
    Ticks { scale: u8, rest: usize },
    /// `[1,2,3]` as text.
    Vector { base: VectorBase },
}

/// The form of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Encoding {
    /// Bytes of the length before a value: 0, 1, 2, 4 or 8.
    pub prefix: u8,
    /// Bytes of a value without a length; with one, the most that it has.
    pub bytes: Option<usize>,
    pub form: Form,
}

/// Returns the encoding of a type, and the type as which its values are decoded.
///
/// # Errors
/// The type is not read, by the reason.
pub(crate) fn encoding(sql_type: &SqlType, is_nullable: bool) -> Result<(Encoding, SqlType), String> {
    let fixed =
        |bytes: usize| Encoding { prefix: u8::from(is_nullable), bytes: Some(bytes), form: Form::Same };
    let always = |bytes: usize, form: Form| Encoding { prefix: 1, bytes: Some(bytes), form };
    let short = |bytes: usize| Encoding { prefix: 2, bytes: Some(bytes), form: Form::Same };
    let long = |prefix: u8| Encoding { prefix, bytes: None, form: Form::Same };
    let ticks = |scale: u8, rest: usize| Encoding { form: Form::Ticks { scale, rest }, ..fixed(5 + rest) };
    let encoding = match sql_type {
        SqlType::TinyInt => fixed(1),
        SqlType::SmallInt => fixed(2),
        SqlType::Int | SqlType::Real | SqlType::SmallMoney | SqlType::SmallDateTime => fixed(4),
        SqlType::BigInt | SqlType::Float | SqlType::Money | SqlType::DateTime => fixed(8),
        SqlType::Date => fixed(3),
        SqlType::Time { scale } => ticks(*scale, 0),
        SqlType::DateTime2 { scale } => ticks(*scale, 3),
        SqlType::DateTimeOffset { scale } => ticks(*scale, 5),
        SqlType::Bit => always(1, Form::Same),
        SqlType::UniqueIdentifier => always(16, Form::Same),
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
            always(19, Form::Decimal { precision: *precision, scale: *scale })
        }
        SqlType::Char { length } if !is_nullable => {
            let encoding = Encoding { prefix: 0, bytes: Some(2 * usize::from(*length)), form: Form::Same };
            return Ok((encoding, as_unicode(*length)));
        }
        SqlType::Char { length } | SqlType::VarChar { length: Length::Units(length) } => {
            return Ok((short(2 * usize::from(*length)), as_unicode(*length)));
        }
        SqlType::NChar { length } | SqlType::NVarChar { length: Length::Units(length) } => {
            short(2 * usize::from(*length))
        }
        SqlType::Binary { length } | SqlType::VarBinary { length: Length::Units(length) } => {
            short(usize::from(*length))
        }
        SqlType::RowVersion => short(8),
        SqlType::Text => return Ok((long(4), SqlType::NText)),
        SqlType::NText | SqlType::Image => long(4),
        SqlType::VarChar { .. } | SqlType::Json => {
            return Ok((long(8), SqlType::NVarChar { length: Length::Max }));
        }
        SqlType::NVarChar { .. } | SqlType::VarBinary { .. } | SqlType::Xml | SqlType::Udt { .. } => long(8),
        SqlType::Vector { base, .. } => Encoding { form: Form::Vector { base: *base }, ..long(8) },
        SqlType::SqlVariant => {
            return Err("sql_variant is not read: its form in packages is unknown".to_owned());
        }
    };
    Ok((encoding, sql_type.clone()))
}

/// Returns the type as which text of a code page is decoded: the data have it as UTF-16.
fn as_unicode(bytes: u16) -> SqlType {
    let length = if bytes <= 4000 { Length::Units(bytes) } else { Length::Max };
    SqlType::NVarChar { length }
}

/// Returns the type of a column or of an alias; `alias` finds alias types by their names.
///
/// # Errors
/// The type is unknown, by its name.
pub(crate) fn sql_type(owner: &Node, alias: impl Fn(&str) -> Option<SqlType>) -> Result<SqlType, String> {
    let specifier = owner.elements("TypeSpecifier").next();
    match specifier {
        Some(specifier) if specifier.kind() == "SqlXmlTypeSpecifier" => Ok(SqlType::Xml),
        Some(specifier) => named_type(specifier, alias),
        None => Err("the model gives it no type".to_owned()),
    }
}

/// Returns the type that an element names, with its length, precision and scale.
pub(crate) fn named_type(
    specifier: &Node,
    alias: impl Fn(&str) -> Option<SqlType>,
) -> Result<SqlType, String> {
    let name = specifier.references("Type").next().ok_or("the model gives it no type")?;
    let parts = name_parts(name);
    let number = |property: &str| specifier.property(property).and_then(|value| value.parse::<u16>().ok());
    let units = number("Length").unwrap_or(1);
    let length = if specifier.is("IsMax") { Length::Max } else { Length::Units(units) };
    let scale = u8::try_from(number("Scale").unwrap_or(0)).unwrap_or(u8::MAX);
    let precision = u8::try_from(number("Precision").unwrap_or(18)).unwrap_or(u8::MAX);
    let built_in = match parts.as_slice() {
        [name] => Some(name.as_str()),
        [schema, name] if schema == "sys" => Some(name.as_str()),
        _ => None,
    };
    let Some(built_in) = built_in else {
        return alias(name).ok_or_else(|| format!("the type {name} is not in the model"));
    };
    Ok(match built_in.to_ascii_lowercase().as_str() {
        "bit" => SqlType::Bit,
        "tinyint" => SqlType::TinyInt,
        "smallint" => SqlType::SmallInt,
        "int" => SqlType::Int,
        "bigint" => SqlType::BigInt,
        "real" => SqlType::Real,
        "float" if number("Precision").is_some_and(|bits| bits <= 24) => SqlType::Real,
        "float" => SqlType::Float,
        "smallmoney" => SqlType::SmallMoney,
        "money" => SqlType::Money,
        "smalldatetime" => SqlType::SmallDateTime,
        "datetime" => SqlType::DateTime,
        "date" => SqlType::Date,
        "time" => SqlType::Time { scale },
        "datetime2" => SqlType::DateTime2 { scale },
        "datetimeoffset" => SqlType::DateTimeOffset { scale },
        "decimal" => SqlType::Decimal { precision, scale },
        "numeric" => SqlType::Numeric { precision, scale },
        "char" => SqlType::Char { length: units },
        "varchar" => SqlType::VarChar { length },
        "nchar" => SqlType::NChar { length: units },
        "nvarchar" => SqlType::NVarChar { length },
        "sysname" => SqlType::NVarChar { length: Length::Units(128) },
        "binary" => SqlType::Binary { length: units },
        "varbinary" => SqlType::VarBinary { length },
        "uniqueidentifier" => SqlType::UniqueIdentifier,
        "xml" => SqlType::Xml,
        "json" => SqlType::Json,
        "sql_variant" => SqlType::SqlVariant,
        "text" => SqlType::Text,
        "ntext" => SqlType::NText,
        "image" => SqlType::Image,
        "timestamp" | "rowversion" => SqlType::RowVersion,
        "vector" => SqlType::Vector { dimensions: units, base: VectorBase::Float32 },
        name @ ("hierarchyid" | "geometry" | "geography") => SqlType::Udt {
            database: String::new(),
            schema: "sys".to_owned(),
            name: name.to_owned(),
            assembly: String::new(),
        },
        other => return Err(format!("the type {other} is unknown")),
    })
}
