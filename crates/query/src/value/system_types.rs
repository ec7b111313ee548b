//! The system types and the numbers that describe a type (`sys.types`).

use tds::{Length, SqlType};

/// A system type: name, `system_type_id`, `user_type_id`, `max_length`, precision, scale.
#[derive(Debug)]
pub struct SystemType {
    /// As T-SQL spells it.
    pub name: &'static str,
    /// The number of the storage type.
    pub system_type_id: u8,
    /// The number of the type itself.
    pub user_type_id: i32,
    /// Most bytes of a value; -1: (max).
    pub max_length: i16,
    /// Digits.
    pub precision: u8,
    /// Digits behind the point.
    pub scale: u8,
}

const fn system(
    name: &'static str,
    id: u8,
    user: i32,
    max_length: i16,
    precision: u8,
    scale: u8,
) -> SystemType {
    SystemType { name, system_type_id: id, user_type_id: user, max_length, precision, scale }
}

/// All of `sys.types` of a new database.
pub const SYSTEM_TYPES: &[SystemType] = &[
    system("image", 34, 34, 16, 0, 0),
    system("text", 35, 35, 16, 0, 0),
    system("uniqueidentifier", 36, 36, 16, 0, 0),
    system("date", 40, 40, 3, 10, 0),
    system("time", 41, 41, 5, 16, 7),
    system("datetime2", 42, 42, 8, 27, 7),
    system("datetimeoffset", 43, 43, 10, 34, 7),
    system("tinyint", 48, 48, 1, 3, 0),
    system("smallint", 52, 52, 2, 5, 0),
    system("int", 56, 56, 4, 10, 0),
    system("smalldatetime", 58, 58, 4, 16, 0),
    system("real", 59, 59, 4, 24, 0),
    system("money", 60, 60, 8, 19, 4),
    system("datetime", 61, 61, 8, 23, 3),
    system("float", 62, 62, 8, 53, 0),
    system("sql_variant", 98, 98, 8016, 0, 0),
    system("ntext", 99, 99, 16, 0, 0),
    system("bit", 104, 104, 1, 1, 0),
    system("decimal", 106, 106, 17, 38, 38),
    system("numeric", 108, 108, 17, 38, 38),
    system("smallmoney", 122, 122, 4, 10, 4),
    system("bigint", 127, 127, 8, 19, 0),
    system("hierarchyid", 240, 128, 892, 0, 0),
    system("geometry", 240, 129, -1, 0, 0),
    system("geography", 240, 130, -1, 0, 0),
    system("varbinary", 165, 165, 8000, 0, 0),
    system("varchar", 167, 167, 8000, 0, 0),
    system("binary", 173, 173, 8000, 0, 0),
    system("char", 175, 175, 8000, 0, 0),
    system("timestamp", 189, 189, 8, 0, 0),
    system("nvarchar", 231, 231, 8000, 0, 0),
    system("nchar", 239, 239, 8000, 0, 0),
    system("xml", 241, 241, -1, 0, 0),
    system("sysname", 231, 256, 256, 0, 0),
    system("json", 244, 244, -1, 0, 0),
    system("vector", 165, 255, 8000, 0, 0),
];

/// Returns `TYPE_NAME(id)`.
pub fn type_name_of_id(id: i64) -> Option<&'static str> {
    SYSTEM_TYPES.iter().find(|system| i64::from(system.user_type_id) == id).map(|system| system.name)
}

/// Returns `TYPE_ID(name)`.
pub fn type_id_of_name(name: &str) -> Option<i32> {
    let name = name.trim().trim_start_matches("sys.").trim_matches(['[', ']']);
    let name = if name.eq_ignore_ascii_case("rowversion") { "timestamp" } else { name };
    SYSTEM_TYPES
        .iter()
        .find(|system| system.name.eq_ignore_ascii_case(name))
        .map(|system| system.user_type_id)
}

/// Returns the row of `sys.types` for a column's type.
pub fn system_type(sql_type: &SqlType) -> &'static SystemType {
    let spelled = sql_type.to_string();
    let name = spelled.split('(').next().unwrap_or_default();
    let name = if name == "rowversion" { "timestamp" } else { name };
    let by_name = |name: &str| SYSTEM_TYPES.iter().find(|system| system.name == name);
    // Every type but CLR types of users is in the list; those are shown as varbinary.
    by_name(name).or_else(|| by_name("varbinary")).unwrap_or(&FALLBACK)
}

const FALLBACK: SystemType = system("varbinary", 165, 165, 8000, 0, 0);

/// Returns `sys.columns.max_length`: bytes, -1 for (max), 16 for the old large types.
pub fn max_length(sql_type: &SqlType) -> i16 {
    match sql_type {
        SqlType::Char { length } | SqlType::Binary { length } => *length as i16,
        SqlType::NChar { length } => (*length * 2) as i16,
        SqlType::VarChar { length: Length::Units(length) }
        | SqlType::VarBinary { length: Length::Units(length) } => *length as i16,
        SqlType::NVarChar { length: Length::Units(length) } => (*length * 2) as i16,
        SqlType::VarChar { .. }
        | SqlType::NVarChar { .. }
        | SqlType::VarBinary { .. }
        | SqlType::Xml
        | SqlType::Json => -1,
        SqlType::Decimal { precision, .. } | SqlType::Numeric { precision, .. } => match precision {
            0..=9 => 5,
            10..=19 => 9,
            20..=28 => 13,
            _ => 17,
        },
        SqlType::Time { scale } => time_bytes(*scale),
        SqlType::DateTime2 { scale } => time_bytes(*scale) + 3,
        SqlType::DateTimeOffset { scale } => time_bytes(*scale) + 5,
        SqlType::Udt { name, .. } if !name.eq_ignore_ascii_case("hierarchyid") => -1,
        SqlType::Vector { .. } => sql_type.max_length_bytes().map_or(-1, |bytes| bytes as i16),
        other => system_type(other).max_length,
    }
}

fn time_bytes(scale: u8) -> i16 {
    match scale {
        0..=2 => 3,
        3..=4 => 4,
        _ => 5,
    }
}

/// Returns `sys.columns.precision`.
pub fn precision(sql_type: &SqlType) -> u8 {
    match sql_type {
        SqlType::Decimal { precision, .. } | SqlType::Numeric { precision, .. } => *precision,
        SqlType::Time { scale } => 8 + point(*scale),
        SqlType::DateTime2 { scale } => 19 + point(*scale),
        SqlType::DateTimeOffset { scale } => 26 + point(*scale),
        other => system_type(other).precision,
    }
}

fn point(scale: u8) -> u8 {
    if scale == 0 { 0 } else { scale + 1 }
}

/// Returns `sys.columns.scale`.
pub fn scale(sql_type: &SqlType) -> u8 {
    match sql_type {
        SqlType::Decimal { scale, .. }
        | SqlType::Numeric { scale, .. }
        | SqlType::Time { scale }
        | SqlType::DateTime2 { scale }
        | SqlType::DateTimeOffset { scale } => *scale,
        other => system_type(other).scale,
    }
}
