//! The built-in functions of T-SQL.

mod aggregates;
mod as_written;
mod bits;
mod bytes;
mod clr;
mod date;
mod encoding;
mod format;
mod from_parts;
pub mod function;
pub mod growing;
mod json;
mod json_construct;
mod kernel;
mod math;
mod regexp;
mod similarity;
mod string;
mod table;
mod text;
mod time_zone;
mod typing;
mod vector;

use std::sync::LazyLock;

pub use bits::order_of;
pub use clr::{is_value_method, static_method, value_method};
pub use date::date_call;
pub use json::is_json;
pub use json_construct::construct;
pub use kernel::{Aggregate, Kernel, Window, Written};
pub use text::formatted;
pub use time_zone::{TIME_ZONES, zone_now};
pub(crate) use typing::is_convertible;
use typing::strict_by_column;
pub use typing::{long_text, name_type, strict, wide_text};

use function::{Family, Function, Functions};

/// The functions of the language. Those of a session come through [`Facts::function`](super::Facts::function).
static TABLE: LazyLock<Functions<Kernel>> = LazyLock::new(|| Functions::new(FAMILIES));

const FAMILIES: &[Family<Kernel>] = &[
    Family { title: "Choices", functions: as_written::CHOICES },
    Family { title: "Text", functions: string::FUNCTIONS },
    Family { title: "Text", functions: text::FUNCTIONS },
    Family { title: "Text", functions: format::FUNCTIONS },
    Family { title: "Text", functions: regexp::FUNCTIONS },
    Family { title: "Text", functions: encoding::FUNCTIONS },
    Family { title: "Text", functions: similarity::FUNCTIONS },
    Family { title: "Numbers", functions: math::FUNCTIONS },
    Family { title: "Dates and times", functions: date::FUNCTIONS },
    Family { title: "Dates and times", functions: as_written::DATES },
    Family { title: "Dates and times", functions: from_parts::FUNCTIONS },
    Family { title: "Dates and times", functions: time_zone::FUNCTIONS },
    Family { title: "Bits, bytes, several values", functions: bits::FUNCTIONS },
    Family { title: "JSON", functions: json::FUNCTIONS },
    Family { title: "JSON", functions: json_construct::FUNCTIONS },
    Family { title: "Vectors", functions: vector::FUNCTIONS },
    Family { title: "Aggregates", functions: aggregates::AGGREGATES },
    Family { title: "Aggregates", functions: as_written::GROUPINGS },
    Family { title: "Windows", functions: aggregates::WINDOWS },
    Family { title: "Functions that give rows", functions: table::FUNCTIONS },
    Family { title: "Functions that give rows", functions: regexp::TABLES },
];

/// Finds the function of a name in any case.
pub fn find(name: &str) -> Option<&'static Function<Kernel>> {
    TABLE.find(name)
}

/// Finds the aggregate of a name.
pub fn aggregate(name: &str) -> Option<Aggregate> {
    match find(name)?.kernel {
        Kernel::Aggregate(aggregate) => Some(aggregate),
        _ => None,
    }
}

/// Lists the functions by their families' headings.
pub fn signatures() -> Vec<(&'static str, Vec<&'static function::Signature>)> {
    TABLE.signatures()
}
