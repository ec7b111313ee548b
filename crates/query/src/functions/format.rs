//! FORMAT and PARSE: numbers and moments by the patterns of .NET.

mod culture;
mod moment;
mod number;
mod parse;

use tds::{Length, SqlType};

use super::super::running;
use super::super::typed::Typed;
use super::super::types::is_numeric;
use super::super::{Datum, Facts, convert};
use super::function::{Call, Function};
use super::kernel::{Kernel, scalar};
use super::wide_text;
use super::{name_type, strict};
use culture::Culture;
use tsql::SqlError;

/// FORMAT, and PARSE as the parser spells it.
pub(super) const FUNCTIONS: &[Function<Kernel>] = &[
    scalar("FORMAT", &["value", "pattern"], "nvarchar(4000)", format).optional(&["culture"]),
    scalar("PARSE AS", &["text", "type"], "the type", |call| parse::parse(call, false))
        .optional(&["culture"])
        .written("PARSE(text AS type [USING culture])"),
    scalar("TRY_PARSE AS", &["text", "type"], "the type", |call| parse::parse(call, true))
        .optional(&["culture"])
        .written("TRY_PARSE(text AS type [USING culture])"),
];

fn format(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value, pattern] = call.take()?;
    let culture = call.argument_or(2, Datum::Text(running::language().culture.into()), name_type())?;
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
        let culture = Culture::named(culture)?;
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
