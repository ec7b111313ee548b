//! Types as ODBC's catalogue functions describe them, and sp_datatype_info.

use introspection::system_views::{View, precision, scale};
use query::Datum;
use query::convert::length_limit;
use tds::{Length, SqlType};
use tsql::SqlError;

use crate::statements::procedures::argument::Argument;
use crate::statements::procedures::parameters::Signature;

/// The spelling of types that a client wants.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dialect {
    /// ODBC 3 codes of dates and binary precision of floats (`@ODBCVer = 3`).
    pub odbc3: bool,
    /// The types of SQL Server 2008 (`sp_…_100`): without it dates are texts and (max) types are the old large ones.
    pub modern: bool,
}

impl Dialect {
    /// Returns the dialect of a procedure by its name's ending and its @ODBCVer.
    pub fn new(procedure: &str, odbc_version: Option<i64>) -> Dialect {
        Dialect { odbc3: odbc_version.unwrap_or(2) >= 3, modern: procedure.ends_with("_100") }
    }
}

/// A type as SQLColumns describes it.
pub(crate) struct OdbcType {
    /// DATA_TYPE.
    pub data_type: i64,
    /// TYPE_NAME.
    pub name: String,
    /// PRECISION: digits or characters.
    pub precision: i64,
    /// LENGTH: bytes of the transfer.
    pub length: i64,
    /// SCALE.
    pub scale: Option<i64>,
    /// RADIX.
    pub radix: Option<i64>,
    /// SQL_DATA_TYPE.
    pub sql_data_type: i64,
    /// SQL_DATETIME_SUB.
    pub datetime_sub: Option<i64>,
    /// CHAR_OCTET_LENGTH.
    pub octets: Option<i64>,
    /// SS_DATA_TYPE: the type of DB-Library.
    pub ss_data_type: i64,
}

const LONG_BYTES: i64 = 2_147_483_647;
const LONG_NATIONAL_BYTES: i64 = 2_147_483_646;
const LONG_NATIONAL: i64 = 1_073_741_823;

impl OdbcType {
    /// Describes a column's type.
    pub fn new(sql_type: &SqlType, nullable: bool, identity: bool, dialect: Dialect) -> OdbcType {
        let mut name = base_name(sql_type);
        if identity {
            name.push_str(" identity");
        }
        let data_type = data_type(sql_type, dialect);
        let (precision, length) = sizes(sql_type, dialect);
        let temporal = sql_type.is_temporal() && data_type != -9;
        let exact = exact_scale(sql_type);
        let approximate = matches!(sql_type, SqlType::Float | SqlType::Real);
        let octets = sql_type.is_character()
            || sql_type.is_binary()
            || matches!(sql_type, SqlType::Xml | SqlType::RowVersion | SqlType::Image)
            || data_type == -9;
        let (sql_data_type, datetime_sub) = match data_type {
            9 | 91 => (9, Some(1)),
            11 | 93 => (9, Some(3)),
            -154 | -155 => (data_type, Some(0)),
            other => (other, None),
        };
        OdbcType {
            data_type,
            name,
            precision,
            length,
            scale: if temporal { Some(i64::from(scale(sql_type))) } else { exact },
            radix: match (exact, approximate) {
                (Some(_), _) => Some(10),
                (None, true) => Some(if dialect.odbc3 { 2 } else { 10 }),
                (None, false) => None,
            },
            sql_data_type,
            datetime_sub,
            octets: octets.then_some(length),
            ss_data_type: ss_data_type(sql_type, nullable),
        }
    }
}

fn base_name(sql_type: &SqlType) -> String {
    match sql_type {
        SqlType::Decimal { .. } => "decimal".to_string(),
        other => query::convert::type_name(other),
    }
}

/// Returns the SQL_… and SQL_SS_… codes.
fn data_type(sql_type: &SqlType, dialect: Dialect) -> i64 {
    let long = matches!(
        sql_type,
        SqlType::VarChar { length: Length::Max }
            | SqlType::NVarChar { length: Length::Max }
            | SqlType::VarBinary { length: Length::Max }
    );
    match sql_type {
        SqlType::Bit => -7,
        SqlType::TinyInt => -6,
        SqlType::SmallInt => 5,
        SqlType::Int => 4,
        SqlType::BigInt => -5,
        SqlType::Real => 7,
        SqlType::Float => 6,
        SqlType::Decimal { .. } | SqlType::Money | SqlType::SmallMoney => 3,
        SqlType::Numeric { .. } => 2,
        SqlType::DateTime | SqlType::SmallDateTime => {
            if dialect.odbc3 {
                93
            } else {
                11
            }
        }
        SqlType::Date | SqlType::Time { .. } | SqlType::DateTime2 { .. } | SqlType::DateTimeOffset { .. }
            if !dialect.modern =>
        {
            -9
        }
        SqlType::Date => {
            if dialect.odbc3 {
                91
            } else {
                9
            }
        }
        SqlType::DateTime2 { .. } => {
            if dialect.odbc3 {
                93
            } else {
                11
            }
        }
        SqlType::Time { .. } => -154,
        SqlType::DateTimeOffset { .. } => -155,
        SqlType::Char { .. } => 1,
        SqlType::Text => -1,
        SqlType::VarChar { .. } if long && !dialect.modern => -1,
        SqlType::VarChar { .. } => 12,
        SqlType::NChar { .. } => -8,
        SqlType::NText => -10,
        SqlType::NVarChar { .. } if long && !dialect.modern => -10,
        SqlType::NVarChar { .. } => -9,
        SqlType::Binary { .. } | SqlType::RowVersion => -2,
        SqlType::Image => -4,
        SqlType::VarBinary { .. } if long && !dialect.modern => -4,
        SqlType::VarBinary { .. } => -3,
        SqlType::UniqueIdentifier => -11,
        SqlType::SqlVariant => -150,
        SqlType::Xml if dialect.modern => -152,
        SqlType::Xml | SqlType::Json => -10,
        SqlType::Udt { .. } => -151,
        // Drivers that know no vectors see their text.
        SqlType::Vector { .. } if dialect.modern => 12,
        SqlType::Vector { .. } => -1,
    }
}

/// Returns PRECISION and LENGTH.
fn sizes(sql_type: &SqlType, dialect: Dialect) -> (i64, i64) {
    let digits = i64::from(precision(sql_type));
    match sql_type {
        SqlType::Bit => (1, 1),
        SqlType::TinyInt => (3, 1),
        SqlType::SmallInt => (5, 2),
        SqlType::Int => (10, 4),
        SqlType::BigInt => (19, 8),
        SqlType::Real => (if dialect.odbc3 { 24 } else { 7 }, 4),
        SqlType::Float => (if dialect.odbc3 { 53 } else { 15 }, 8),
        // The text of the number, with sign and point.
        SqlType::Decimal { .. } | SqlType::Numeric { .. } | SqlType::Money | SqlType::SmallMoney => {
            (digits, digits + 2)
        }
        SqlType::DateTime | SqlType::SmallDateTime => (digits, 16),
        SqlType::Date | SqlType::Time { .. } | SqlType::DateTime2 { .. } | SqlType::DateTimeOffset { .. }
            if !dialect.modern =>
        {
            (digits, 2 * digits)
        }
        SqlType::Date => (digits, 6),
        SqlType::Time { .. } => (digits, 12),
        SqlType::DateTime2 { .. } => (digits, 16),
        SqlType::DateTimeOffset { .. } => (digits, 20),
        SqlType::UniqueIdentifier => (36, 16),
        SqlType::RowVersion => (8, 8),
        SqlType::SqlVariant => (8000, 8000),
        SqlType::Text | SqlType::Image => (LONG_BYTES, LONG_BYTES),
        SqlType::NText => (LONG_NATIONAL, LONG_NATIONAL_BYTES),
        SqlType::Xml | SqlType::Json | SqlType::Udt { .. } | SqlType::Vector { .. } if dialect.modern => {
            (0, 0)
        }
        SqlType::Vector { .. } => (LONG_BYTES, LONG_BYTES),
        SqlType::Xml | SqlType::Json | SqlType::Udt { .. } => (LONG_NATIONAL, LONG_NATIONAL_BYTES),
        other => match (length_limit(other), other.is_unicode()) {
            (Some(units), true) => (units as i64, 2 * units as i64),
            (Some(units), false) => (units as i64, units as i64),
            // 0: SQL_SS_LENGTH_UNLIMITED.
            (None, _) if dialect.modern => (0, 0),
            (None, true) => (LONG_NATIONAL, LONG_NATIONAL_BYTES),
            (None, false) => (LONG_BYTES, LONG_BYTES),
        },
    }
}

/// Returns SCALE of the exact numbers.
fn exact_scale(sql_type: &SqlType) -> Option<i64> {
    match sql_type {
        SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt => Some(0),
        SqlType::Decimal { scale, .. } | SqlType::Numeric { scale, .. } => Some(i64::from(*scale)),
        SqlType::Money | SqlType::SmallMoney => Some(4),
        _ => None,
    }
}

/// Returns the token of TDS 4.2: one for NOT NULL, one for nullable columns.
fn ss_data_type(sql_type: &SqlType, nullable: bool) -> i64 {
    let (fixed, with_null) = match sql_type {
        SqlType::Bit => (50, 50),
        SqlType::TinyInt => (48, 38),
        SqlType::SmallInt => (52, 38),
        SqlType::Int => (56, 38),
        SqlType::BigInt => (63, 108),
        SqlType::Real => (59, 109),
        SqlType::Float => (62, 109),
        SqlType::SmallMoney => (122, 110),
        SqlType::Money => (60, 110),
        SqlType::SmallDateTime => (58, 111),
        SqlType::DateTime => (61, 111),
        SqlType::Decimal { .. } => (55, 106),
        SqlType::Numeric { .. } => (63, 108),
        SqlType::Char { .. } | SqlType::NChar { .. } => (47, 39),
        SqlType::VarChar { .. } | SqlType::NVarChar { .. } | SqlType::SqlVariant => (39, 39),
        SqlType::Text | SqlType::NText => (35, 35),
        SqlType::Image => (34, 34),
        SqlType::Binary { .. } | SqlType::RowVersion => (45, 37),
        SqlType::VarBinary { .. } | SqlType::UniqueIdentifier => (37, 37),
        _ => (0, 0),
    };
    if nullable { with_null } else { fixed }
}

const DATATYPE_INFO: Signature =
    Signature { name: "sp_datatype_info", parameters: &["@data_type", "@ODBCVer"], required: 0 };

/// Returns the spelling of a type's values and its searchability: literal prefix and suffix, parameters of its
/// declaration, SEARCHABLE.
fn writing(sql_type: &SqlType) -> (Option<&'static str>, Option<&'static str>, Option<&'static str>, i64) {
    let quote = Some("'");
    let national = Some("N'");
    match sql_type {
        SqlType::Char { .. } => (quote, quote, Some("length"), 3),
        SqlType::VarChar { .. } => (quote, quote, Some("max length"), 3),
        SqlType::NChar { .. } => (national, quote, Some("length"), 3),
        SqlType::NVarChar { .. } => (national, quote, Some("max length"), 3),
        SqlType::Text => (quote, quote, None, 1),
        SqlType::NText => (national, quote, None, 1),
        SqlType::Xml => (national, quote, None, 0),
        SqlType::UniqueIdentifier => (quote, quote, None, 2),
        SqlType::Date | SqlType::DateTime | SqlType::SmallDateTime => (quote, quote, None, 3),
        SqlType::Time { .. } | SqlType::DateTime2 { .. } | SqlType::DateTimeOffset { .. } => {
            (quote, quote, Some("scale"), 3)
        }
        SqlType::Binary { .. } => (Some("0x"), None, Some("length"), 2),
        SqlType::VarBinary { .. } => (Some("0x"), None, Some("max length"), 2),
        SqlType::RowVersion => (Some("0x"), None, None, 2),
        SqlType::Image => (Some("0x"), None, None, 0),
        SqlType::Money | SqlType::SmallMoney => (Some("$"), None, None, 2),
        SqlType::Decimal { .. } | SqlType::Numeric { .. } => (None, None, Some("precision,scale"), 2),
        _ => (None, None, None, 2),
    }
}

/// Returns MINIMUM_SCALE and MAXIMUM_SCALE.
fn scales(sql_type: &SqlType, identity: bool) -> (Option<i64>, Option<i64>) {
    match sql_type {
        SqlType::Time { .. } | SqlType::DateTime2 { .. } | SqlType::DateTimeOffset { .. } => {
            (Some(0), Some(7))
        }
        SqlType::Date => (None, Some(0)),
        SqlType::DateTime => (Some(3), Some(3)),
        SqlType::Money | SqlType::SmallMoney => (Some(4), Some(4)),
        SqlType::Decimal { .. } | SqlType::Numeric { .. } => (Some(0), Some(if identity { 0 } else { 38 })),
        SqlType::Bit
        | SqlType::TinyInt
        | SqlType::SmallInt
        | SqlType::Int
        | SqlType::BigInt
        | SqlType::SmallDateTime
        | SqlType::SqlVariant => (Some(0), Some(0)),
        _ => (None, None),
    }
}

/// Returns USERTYPE, the number of `systypes` before SQL Server 7.
fn user_type(sql_type: &SqlType) -> i64 {
    match sql_type {
        SqlType::Char { .. } => 1,
        SqlType::VarChar { .. } => 2,
        SqlType::Binary { .. } => 3,
        SqlType::VarBinary { .. } => 4,
        SqlType::TinyInt => 5,
        SqlType::SmallInt => 6,
        SqlType::Int => 7,
        SqlType::Float => 8,
        SqlType::Numeric { .. } => 10,
        SqlType::Money => 11,
        SqlType::DateTime => 12,
        SqlType::Bit => 16,
        SqlType::Text => 19,
        SqlType::Image => 20,
        SqlType::SmallMoney => 21,
        SqlType::SmallDateTime => 22,
        SqlType::Real => 23,
        SqlType::Decimal { .. } => 24,
        SqlType::RowVersion => 80,
        _ => 0,
    }
}

/// Lists the types; after the number types stands their identity form.
fn listed_types() -> Vec<SqlType> {
    vec![
        SqlType::DateTimeOffset { scale: 7 },
        SqlType::Time { scale: 7 },
        SqlType::Xml,
        SqlType::SqlVariant,
        SqlType::UniqueIdentifier,
        SqlType::NText,
        SqlType::NVarChar { length: Length::Units(4000) },
        SqlType::NChar { length: 4000 },
        SqlType::Bit,
        SqlType::TinyInt,
        SqlType::BigInt,
        SqlType::Image,
        SqlType::VarBinary { length: Length::Units(8000) },
        SqlType::Binary { length: 8000 },
        SqlType::RowVersion,
        SqlType::Text,
        SqlType::Char { length: 8000 },
        SqlType::Numeric { precision: 38, scale: 0 },
        SqlType::Decimal { precision: 38, scale: 0 },
        SqlType::Money,
        SqlType::SmallMoney,
        SqlType::Int,
        SqlType::SmallInt,
        SqlType::Float,
        SqlType::Real,
        SqlType::VarChar { length: Length::Units(8000) },
        SqlType::Date,
        SqlType::DateTime2 { scale: 7 },
        SqlType::DateTime,
        SqlType::SmallDateTime,
    ]
}

/// Runs sp_datatype_info, which SQLGetTypeInfo shows.
pub(crate) fn datatype_info(procedure: &str, arguments: &[Argument]) -> Result<View, SqlError> {
    let parameters = DATATYPE_INFO.bind(arguments)?;
    let wanted = parameters.int(0).unwrap_or(0);
    let dialect = Dialect::new(procedure, parameters.int(1));
    let mut view = View::new(&[
        ("TYPE_NAME", "name!"),
        ("DATA_TYPE", "smallint!"),
        ("PRECISION", "int"),
        ("LITERAL_PREFIX", "varchar(32)"),
        ("LITERAL_SUFFIX", "varchar(32)"),
        ("CREATE_PARAMS", "varchar(32)"),
        ("NULLABLE", "smallint!"),
        ("CASE_SENSITIVE", "smallint!"),
        ("SEARCHABLE", "smallint!"),
        ("UNSIGNED_ATTRIBUTE", "smallint"),
        ("MONEY", "smallint!"),
        ("AUTO_INCREMENT", "smallint"),
        ("LOCAL_TYPE_NAME", "name"),
        ("MINIMUM_SCALE", "smallint"),
        ("MAXIMUM_SCALE", "smallint"),
        ("SQL_DATA_TYPE", "smallint!"),
        ("SQL_DATETIME_SUB", "smallint"),
        ("NUM_PREC_RADIX", "int"),
        ("INTERVAL_PRECISION", "smallint"),
        ("USERTYPE", "smallint!"),
    ]);
    // Sort key: DATA_TYPE, AUTO_INCREMENT (NULL first), MONEY, USERTYPE.
    let mut rows: Vec<InfoRow> = Vec::new();
    for sql_type in listed_types() {
        let whole = exact_scale(&sql_type).is_some();
        let has_identity = whole && !matches!(sql_type, SqlType::Money | SqlType::SmallMoney);
        rows.push(info_row(&sql_type, false, None, dialect));
        if has_identity {
            rows.push(info_row(&sql_type, true, None, dialect));
        }
        if matches!(sql_type, SqlType::NVarChar { .. }) {
            rows.push(info_row(
                &SqlType::NVarChar { length: Length::Units(128) },
                false,
                Some("sysname"),
                dialect,
            ));
        }
    }
    rows.retain(|((data_type, ..), _)| wanted == 0 || *data_type == wanted);
    rows.sort_by_key(|(key, _)| *key);
    view.rows = rows.into_iter().map(|(_, row)| row).collect();
    Ok(view)
}

type InfoRow = ((i64, Option<i64>, i64, i64), Vec<Datum>);

fn info_row(sql_type: &SqlType, identity: bool, alias: Option<&str>, dialect: Dialect) -> InfoRow {
    let described = OdbcType::new(sql_type, true, false, dialect);
    let decimal = sql_type.is_decimal();
    let number = exact_scale(sql_type).is_some() || matches!(sql_type, SqlType::Float | SqlType::Real);
    let (prefix, suffix, create, searchable) = writing(sql_type);
    let create = match (alias, identity && decimal) {
        (Some(_), _) => None,
        (None, true) => Some("precision"),
        (None, false) => create,
    };
    let (low, high) = scales(sql_type, identity);
    let name = match (alias, identity) {
        (Some(alias), _) => alias.to_string(),
        (None, true) if decimal => format!("{}() identity", described.name),
        (None, true) => format!("{} identity", described.name),
        (None, false) => described.name.clone(),
    };
    let money = i64::from(matches!(sql_type, SqlType::Money | SqlType::SmallMoney));
    let auto = number.then_some(i64::from(identity));
    let user = if alias.is_some() { 18 } else { user_type(sql_type) };
    let nullable = !identity && alias.is_none() && *sql_type != SqlType::RowVersion;
    let variant = *sql_type == SqlType::SqlVariant;
    let int = |value: i64| Datum::Int(value);
    let maybe = |value: Option<i64>| value.map_or(Datum::Null, Datum::Int);
    let text = |value: Option<&str>| value.map_or(Datum::Null, |value| Datum::Text(value.to_string()));
    let row = vec![
        text(Some(&name)),
        int(described.data_type),
        int(described.precision),
        text(prefix),
        text(suffix),
        text(create),
        int(i64::from(nullable)),
        int(i64::from(*sql_type == SqlType::Xml)),
        int(searchable),
        maybe(number.then_some(i64::from(*sql_type == SqlType::TinyInt))),
        int(money),
        maybe(auto),
        text(Some(&name)),
        maybe(low),
        maybe(high),
        int(described.sql_data_type),
        maybe(described.datetime_sub),
        maybe(if variant { Some(10) } else { described.radix }),
        Datum::Null,
        int(user),
    ];
    ((described.data_type, auto, money, user), row)
}
