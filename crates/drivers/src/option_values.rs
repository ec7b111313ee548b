//! Values of ADBC options, which come as text or typed.

use adbc_core::error::Result;
use adbc_core::options::OptionValue;

use crate::refusal::invalid;

/// Returns the text of an option. Errors: another type than text or a whole number.
pub fn text(key: &str, value: OptionValue) -> Result<String> {
    match value {
        OptionValue::String(text) => Ok(text),
        OptionValue::Int(number) => Ok(number.to_string()),
        _ => Err(invalid(format!("option {key} takes text"))),
    }
}

/// Parses `true` or `false`, as ADBC writes them. Errors: anything else.
pub fn flag(key: &str, value: OptionValue) -> Result<bool> {
    match text(key, value)?.as_str() {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        other => Err(invalid(format!("option {key} is \"true\" or \"false\", not \"{other}\""))),
    }
}

/// Parses a number of at least 1. Errors: anything else.
pub fn count(key: &str, value: OptionValue) -> Result<u64> {
    let number = match value {
        OptionValue::Int(number) => u64::try_from(number).ok(),
        OptionValue::String(text) => text.parse().ok(),
        _ => None,
    };
    number
        .filter(|number| *number > 0)
        .ok_or_else(|| invalid(format!("option {key} is a number of at least 1")))
}
