//! Types in messages.

use tds::SqlType;
use tsql::SqlError;
use tsql::errors;

/// Returns the name of a type as messages spell it: without length, and `numeric` for both decimal types.
pub fn type_name(sql_type: &SqlType) -> String {
    match sql_type {
        SqlType::Decimal { .. } | SqlType::Numeric { .. } => "numeric".to_string(),
        SqlType::RowVersion => "timestamp".to_string(),
        other => other.to_string().split('(').next().unwrap_or_default().to_string(),
    }
}

/// Makes error 529 for a pair of types, or 206 for a type that no sql_variant holds.
pub fn refused(from: &SqlType, to: &SqlType) -> SqlError {
    if *to == SqlType::SqlVariant && !matches!(from, SqlType::Vector { .. } | SqlType::Json) {
        let long = from.to_string();
        let name = if long.ends_with("(max)") { long } else { type_name(from) };
        return errors::TYPE_CLASH.with([&name, &type_name(to)]);
    }
    errors::NO_CONVERSION.with([&type_name(from), &type_name(to)])
}
