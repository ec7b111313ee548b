//! The built-in functions of T-SQL.

mod bits;
mod clr;
mod date;
mod format;
mod from_parts;
pub mod growing;
mod json;
mod json_construct;
mod math;
mod string;
mod table;
mod text;
mod time_zone;

use std::sync::Arc;

use tds::{Length, SqlType};

pub use bits::order_of;
pub use clr::{is_value_method, static_method, value_method};
pub use date::date_call;
pub use json_construct::construct;
pub use table::table_function;
pub use text::formatted;
pub use time_zone::{TIME_ZONES, zone_now};

use super::Datum;
use super::facts::Facts;
use super::typed::{Typed, call, common_collation, in_page, paged};
use tsql::SqlError;

/// Binds a call. Errors: 195 for an unknown name, 174 for a wrong number of arguments.
pub fn call_function(name: &str, arguments: Vec<Typed>, facts: &Arc<dyn Facts>) -> Result<Typed, SqlError> {
    for family in [
        text::bind,
        bits::bind,
        format::bind,
        from_parts::bind,
        json::bind,
        string::bind,
        math::bind,
        date::bind,
        time_zone::bind,
    ] {
        if let Some(typed) = family(name, &arguments, facts)? {
            return Ok(typed);
        }
    }
    if let Some(typed) = Arc::clone(facts).function(name, &arguments)? {
        return Ok(typed);
    }
    Err(SqlError::unknown_function(&name.to_lowercase()))
}

/// nvarchar(max).
pub fn long_text() -> SqlType {
    SqlType::NVarChar { length: Length::Max }
}

/// nvarchar(4000), the type of texts of moderate length.
pub fn wide_text() -> SqlType {
    SqlType::NVarChar { length: Length::Units(4000) }
}

/// nvarchar(128), the type of names.
pub fn name_type() -> SqlType {
    SqlType::NVarChar { length: Length::Units(128) }
}

/// The arguments, if there are as many as wanted.
pub fn take<const N: usize>(name: &str, arguments: &[Typed]) -> Result<[Typed; N], SqlError> {
    <[Typed; N]>::try_from(arguments.to_vec()).map_err(|_| SqlError::argument_count(&name.to_lowercase(), N))
}

/// A call whose arguments are cast first; NULL in, NULL out.
pub fn strict(
    name: &str,
    arguments: Vec<(Typed, SqlType)>,
    result: SqlType,
    kernel: impl Fn(&[Datum]) -> Result<Datum, SqlError> + Send + Sync + 'static,
) -> Result<Typed, SqlError> {
    let arguments =
        arguments.into_iter().map(|(value, to)| value.cast(&to)).collect::<Result<Vec<_>, _>>()?;
    let collation = if result.is_character() { common_collation(&arguments) } else { (None, false) };
    let page = paged(&result, &arguments);
    let constant = arguments.iter().map(|argument| argument.constant.clone()).collect::<Option<Vec<_>>>();
    let kernel = move |values: &[Datum]| {
        if values.iter().any(Datum::is_null) { Ok(Datum::Null) } else { kernel(values) }
    };
    // Constants are folded, so that INSERT … VALUES needs no plan; errors are left to the run.
    if let Some(values) = constant
        && let Ok(value) = kernel(&values)
        && value.check(&result).is_ok()
    {
        return Ok(Typed::constant(in_page(value, page), result)?.collated(collation));
    }
    let mut typed = call(name, arguments, result, kernel);
    typed.nullable = true;
    Ok(typed)
}
