//! The built-in functions of T-SQL.

mod aggregates;
mod as_written;
mod bits;
mod clr;
mod date;
mod format;
mod from_parts;
pub mod function;
pub mod growing;
mod json;
mod json_construct;
mod kernel;
mod math;
mod string;
mod table;
mod text;
mod time_zone;

use std::sync::LazyLock;

use tds::{Length, SqlType};

pub use bits::order_of;
pub use clr::{is_value_method, static_method, value_method};
pub use date::date_call;
pub use json::is_json;
pub use json_construct::construct;
pub use kernel::{Aggregate, Kernel, Window, Written};
pub use text::formatted;
pub use time_zone::{TIME_ZONES, zone_now};

use function::{Family, Function, FunctionTable};

use super::Datum;
use super::typed::{Typed, call, common_collation, in_page, paged};
use tsql::SqlError;

/// The functions of the language. Those of a session come through [`Facts::function`](super::Facts::function).
static TABLE: LazyLock<FunctionTable<Kernel>> = LazyLock::new(|| FunctionTable::new(FAMILIES));

const FAMILIES: &[Family<Kernel>] = &[
    Family { title: "Choices", functions: as_written::CHOICES },
    Family { title: "Text", functions: string::FUNCTIONS },
    Family { title: "Text", functions: text::FUNCTIONS },
    Family { title: "Text", functions: format::FUNCTIONS },
    Family { title: "Numbers", functions: math::FUNCTIONS },
    Family { title: "Dates and times", functions: date::FUNCTIONS },
    Family { title: "Dates and times", functions: as_written::DATES },
    Family { title: "Dates and times", functions: from_parts::FUNCTIONS },
    Family { title: "Dates and times", functions: time_zone::FUNCTIONS },
    Family { title: "Bits, bytes, several values", functions: bits::FUNCTIONS },
    Family { title: "JSON", functions: json::FUNCTIONS },
    Family { title: "JSON", functions: json_construct::FUNCTIONS },
    Family { title: "Aggregates", functions: aggregates::AGGREGATES },
    Family { title: "Aggregates", functions: as_written::GROUPINGS },
    Family { title: "Windows", functions: aggregates::WINDOWS },
    Family { title: "Functions that give rows", functions: table::FUNCTIONS },
];

/// The function of a name in any case.
pub fn find(name: &str) -> Option<&'static Function<Kernel>> {
    TABLE.find(name)
}

/// The aggregate of a name.
pub fn aggregate(name: &str) -> Option<Aggregate> {
    match find(name)?.kernel {
        Kernel::Aggregate(aggregate) => Some(aggregate),
        _ => None,
    }
}

/// The functions by their families' headings.
pub fn signatures() -> Vec<(&'static str, Vec<&'static function::Signature>)> {
    TABLE.signatures()
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

/// 1 for a value that can be converted, 0 for others.
fn is_convertible(name: &str, value: &Typed, to: &SqlType) -> Result<Typed, SqlError> {
    let converted = value.clone().convert(to, 0, true)?;
    let mut typed = call(name, vec![converted], SqlType::Int, |values| {
        Ok(Datum::Int(i64::from(!values.first().is_none_or(Datum::is_null))))
    });
    typed.nullable = false;
    Ok(typed)
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
