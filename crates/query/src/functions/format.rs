//! FORMAT: numbers and moments by the patterns of .NET, for en-US and the invariant culture.

mod moment;
mod number;

use tds::{Length, SqlType};

use super::super::typed::Typed;
use super::super::types::is_numeric;
use super::super::{Datum, Facts, convert};
use super::function::{Call, Function};
use super::kernel::{Kernel, scalar};
use super::wide_text;
use super::{name_type, strict};
use tsql::SqlError;

/// A culture whose patterns are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Culture {
    UnitedStates,
    Invariant,
}

/// FORMAT.
pub(super) const FUNCTIONS: &[Function<Kernel>] =
    &[scalar("FORMAT", &["value", "pattern"], "nvarchar(4000)", format).optional(&["culture"])];

fn format(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value, pattern] = call.take()?;
    let culture = call.argument_or(2, Datum::Text("en-US".into()), name_type())?;
    let sql_type = value.sql_type.clone();
    let temporal = sql_type.is_temporal();
    if !temporal && (!is_numeric(&sql_type) || sql_type == SqlType::Bit) {
        return Err(SqlError::new(
            8116,
            16,
            1,
            format!(
                "Argument data type {} is invalid for argument 1 of format function.",
                convert::type_name(&sql_type)
            ),
        ));
    }
    let from = sql_type.clone();
    let cast = vec![(value, sql_type.clone()), (pattern, wide_text()), (culture, name_type())];
    let result = SqlType::NVarChar { length: Length::Units(4000) };
    let key = format!("FORMAT_{sql_type}");
    let mut typed = strict(&key, cast, result, move |values| {
        let (Some(value), Some(pattern), Some(culture)) =
            (values.first(), values.get(1).and_then(Datum::as_text), values.get(2).and_then(Datum::as_text))
        else {
            return Ok(Datum::Null);
        };
        let culture = match culture.to_ascii_lowercase().as_str() {
            "en-us" | "en" => Culture::UnitedStates,
            "" | "iv" => Culture::Invariant,
            other => {
                let text = format!(
                    "The culture parameter '{other}' provided in the function call is not supported."
                );
                return Err(SqlError::new(9818, 16, 1, text));
            }
        };
        let text = if temporal {
            moment::format(value, pattern, culture)
        } else {
            number::format(value, &from, pattern, culture)?
        };
        // A pattern that does not fit the type gives NULL, not an error.
        Ok(text.map_or(Datum::Null, Datum::Text))
    })?;
    typed.nullable = true;
    Ok(typed)
}
