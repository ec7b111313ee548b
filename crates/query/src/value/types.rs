//! The type of an expression of two types ("Data type precedence" and "Precision, scale, and length" of the T-SQL reference).

use tds::{Length, SqlType};
use tsql::SqlError;
use tsql::errors;

use crate::convert::{length_limit, type_name};

/// Returns the rank in the precedence list; the operand of the lower rank is converted.
fn precedence(sql_type: &SqlType) -> u8 {
    match sql_type {
        SqlType::Vector { .. } => 32,
        SqlType::Udt { .. } => 31,
        SqlType::SqlVariant => 30,
        SqlType::Xml => 29,
        SqlType::DateTimeOffset { .. } => 28,
        SqlType::DateTime2 { .. } => 27,
        SqlType::DateTime => 26,
        SqlType::SmallDateTime => 25,
        SqlType::Date => 24,
        SqlType::Time { .. } => 23,
        SqlType::Float => 22,
        SqlType::Real => 21,
        SqlType::Decimal { .. } | SqlType::Numeric { .. } => 20,
        SqlType::Money => 19,
        SqlType::SmallMoney => 18,
        SqlType::BigInt => 17,
        SqlType::Int => 16,
        SqlType::SmallInt => 15,
        SqlType::TinyInt => 14,
        SqlType::Bit => 13,
        SqlType::NText => 12,
        SqlType::Text => 11,
        SqlType::Image => 10,
        SqlType::RowVersion => 9,
        SqlType::UniqueIdentifier => 8,
        SqlType::Json => 7,
        SqlType::NVarChar { .. } => 6,
        SqlType::NChar { .. } => 5,
        SqlType::VarChar { .. } => 4,
        SqlType::Char { .. } => 3,
        SqlType::VarBinary { .. } => 2,
        SqlType::Binary { .. } => 1,
    }
}

/// Returns the type of `CASE … THEN left ELSE right`, of a UNION's column, and of a comparison.
pub fn common_type(left: &SqlType, right: &SqlType) -> SqlType {
    if left == right {
        return left.clone();
    }
    if is_text(left) && is_text(right) {
        return common_text(left, right);
    }
    let (high, low) = if precedence(left) >= precedence(right) { (left, right) } else { (right, left) };
    match high {
        SqlType::Decimal { .. } | SqlType::Numeric { .. } => match as_decimal(low) {
            Some((low_precision, low_scale)) => {
                let (precision, scale) = as_decimal(high).unwrap_or((18, 0));
                let whole = (precision - scale).max(low_precision - low_scale);
                let scale = scale.max(low_scale);
                whole_first(u32::from(whole), 0, u32::from(scale))
            }
            None => high.clone(),
        },
        SqlType::DateTime2 { scale } => SqlType::DateTime2 { scale: (*scale).max(time_scale(low)) },
        SqlType::DateTimeOffset { scale } => SqlType::DateTimeOffset { scale: (*scale).max(time_scale(low)) },
        SqlType::Time { scale } => SqlType::Time { scale: (*scale).max(time_scale(low)) },
        SqlType::VarBinary { .. } | SqlType::Binary { .. } => {
            match (length_limit(left), length_limit(right)) {
                (Some(left), Some(right)) => {
                    SqlType::VarBinary { length: Length::Units(left.max(right) as u16) }
                }
                _ => SqlType::VarBinary { length: Length::Max },
            }
        }
        other => other.clone(),
    }
}

/// Returns the type of [`common_type`], for values of which one is implicitly converted to the other's type.
///
/// Errors: 206 for types without such a conversion.
pub fn agreed_type(left: &SqlType, right: &SqlType) -> Result<SqlType, SqlError> {
    if is_convertible(left, right) {
        return Ok(common_type(left, right));
    }
    let (high, low) = if precedence(left) >= precedence(right) { (left, right) } else { (right, left) };
    Err(errors::TYPE_CLASH.with([&type_name(low), &type_name(high)]))
}

/// Returns true if values of a type can be converted to another type at all. Each value may still be refused.
pub fn is_convertible(from: &SqlType, to: &SqlType) -> bool {
    let days = |sql_type: &SqlType| matches!(sql_type, SqlType::DateTime | SqlType::SmallDateTime);
    let guid = |sql_type: &SqlType| *sql_type == SqlType::UniqueIdentifier;
    let pair = |one: &SqlType, other: &SqlType| {
        is_moment(one) && (is_numeric(other) || guid(other))
            || guid(one) && (is_numeric(other) || days(other))
            || *one == SqlType::Date && matches!(other, SqlType::Time { .. })
    };
    let vector = |sql_type: &SqlType| matches!(sql_type, SqlType::Vector { .. });
    let fits_vector =
        |other: &SqlType| vector(other) || is_json_or_text(other) || *other == SqlType::SqlVariant;
    if vector(from) || vector(to) {
        return fits_vector(from) && fits_vector(to);
    }
    let xml = |one: &SqlType, other: &SqlType| {
        *one == SqlType::Xml && !(other.is_character() || other.is_binary() || *other == SqlType::Xml)
    };
    let json = |one: &SqlType, other: &SqlType| {
        *one == SqlType::Json && !(other.is_character() || *other == SqlType::Json)
    };
    let clr = |one: &SqlType, other: &SqlType| {
        matches!(one, SqlType::Udt { .. })
            && !(other.is_character() || other.is_binary() || matches!(other, SqlType::Udt { .. }))
    };
    if clr(from, to) || clr(to, from) {
        return false;
    }
    if xml(from, to) || xml(to, from) || json(from, to) || json(to, from) {
        return false;
    }
    let bytes_as_float = from.is_binary() && matches!(to, SqlType::Float | SqlType::Real);
    !(pair(from, to) || pair(to, from) || bytes_as_float)
}

/// Returns true for the types that hold vectors as JSON: json, char, varchar, nchar and nvarchar.
pub fn is_json_or_text(sql_type: &SqlType) -> bool {
    is_text(sql_type) || *sql_type == SqlType::Json
}

/// Returns true for the types of moments that do not count days.
pub fn is_moment(sql_type: &SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::Date | SqlType::Time { .. } | SqlType::DateTime2 { .. } | SqlType::DateTimeOffset { .. }
    )
}

/// Returns true for char, varchar, nchar and nvarchar of any length.
pub fn is_text(sql_type: &SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::Char { .. } | SqlType::VarChar { .. } | SqlType::NChar { .. } | SqlType::NVarChar { .. }
    )
}

/// Returns true for the whole-number types, without bit.
pub fn is_integer(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt)
}

/// Returns true for the types that arithmetic works on.
pub fn is_numeric(sql_type: &SqlType) -> bool {
    is_integer(sql_type)
        || sql_type.is_decimal()
        || matches!(
            sql_type,
            SqlType::Float | SqlType::Real | SqlType::Money | SqlType::SmallMoney | SqlType::Bit
        )
}

fn time_scale(sql_type: &SqlType) -> u8 {
    match sql_type {
        SqlType::Time { scale } | SqlType::DateTime2 { scale } | SqlType::DateTimeOffset { scale } => *scale,
        SqlType::DateTime => 3,
        _ => 0,
    }
}

fn common_text(left: &SqlType, right: &SqlType) -> SqlType {
    let unicode = left.is_unicode() || right.is_unicode();
    let length = match (length_limit(left), length_limit(right)) {
        (Some(left), Some(right)) => Some(left.max(right)),
        _ => None,
    };
    let fixed = matches!(left, SqlType::Char { .. } | SqlType::NChar { .. })
        && matches!(right, SqlType::Char { .. } | SqlType::NChar { .. });
    match (length, fixed) {
        (Some(length), true) if unicode => SqlType::NChar { length: length.min(4000) as u16 },
        (Some(length), true) => SqlType::Char { length: length.min(8000) as u16 },
        _ => text_of(unicode, length),
    }
}

/// Returns nvarchar or varchar of at least `length` units, (max) for `None`.
pub fn text_of(unicode: bool, length: Option<usize>) -> SqlType {
    let limit = if unicode { 4000 } else { 8000 };
    let length = match length {
        Some(length) => Length::Units(length.clamp(1, limit) as u16),
        None => Length::Max,
    };
    if unicode { SqlType::NVarChar { length } } else { SqlType::VarChar { length } }
}

/// Returns precision and scale of a number as a decimal; `None` for float, real and everything else.
pub fn as_decimal(sql_type: &SqlType) -> Option<(u8, u8)> {
    Some(match sql_type {
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => (*precision, *scale),
        SqlType::Bit => (1, 0),
        SqlType::TinyInt => (3, 0),
        SqlType::SmallInt => (5, 0),
        SqlType::Int => (10, 0),
        SqlType::BigInt => (19, 0),
        SqlType::SmallMoney => (10, 4),
        SqlType::Money => (19, 4),
        _ => return None,
    })
}

/// Returns the decimal of sums and of set operators: `whole` digits, one more for a `carry`, and the remaining room for
/// the scale.
pub fn whole_first(whole: u32, carry: u32, scale: u32) -> SqlType {
    let precision = (whole + carry + scale).clamp(1, 38);
    let scale = if whole + carry + scale > 38 { scale.min(38_u32.saturating_sub(whole)) } else { scale };
    SqlType::Numeric { precision: precision as u8, scale: scale as u8 }
}

/// Squeezes decimal(precision, scale) into 38 digits: whole digits are kept first, but up to six of the scale survive.
pub fn bounded_decimal(precision: u32, scale: u32) -> SqlType {
    let (precision, scale) = if precision <= 38 {
        (precision.max(1), scale)
    } else {
        let whole = precision - scale;
        let kept = if scale > 6 { (38_u32.saturating_sub(whole)).max(6).min(scale) } else { scale };
        (38, kept)
    };
    SqlType::Numeric { precision: precision as u8, scale: scale.min(precision) as u8 }
}
