//! Text columns whose target is not text.

use arrow::array::{ArrayAccessor, AsArray};
use arrow::datatypes::DataType;

use super::{CastOptions, Fault, Source};
use crate::cell_error::CellErrorReason;
use crate::text::{ParseOptions, TextError};

/// Returns true if the column is text.
pub(super) fn is_text(source: &Source<'_, '_>) -> bool {
    matches!(source.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// Returns the load's options as the parsers take them.
pub(super) fn options(options: &CastOptions) -> ParseOptions {
    ParseOptions {
        allow_rounding: options.allow_rounding,
        drop_time_zone: options.drop_time_zone,
        date_order: options.spelling.date_order,
        year_cutoff: options.spelling.year_cutoff,
    }
}

/// Applies `parse` to every value; the result is the default where the row is NULL.
pub(super) fn map<U: Default>(
    source: &Source<'_, '_>,
    parse: impl Fn(&str) -> Result<U, TextError>,
) -> Result<Vec<U>, Fault> {
    let mut values = Vec::with_capacity(source.len());
    each(source, |text| {
        values.push(match text {
            Some(text) => parse(text)?,
            None => U::default(),
        });
        Ok(())
    })?;
    Ok(values)
}

/// Applies `parse` to every number, in SQL Server's spelling; the result is the default where the row is NULL.
pub(super) fn map_numbers<U: Default>(
    source: &Source<'_, '_>,
    parse: impl Fn(&str) -> Result<U, TextError>,
) -> Result<Vec<U>, Fault> {
    match source.options.spelling.numbers {
        None => map(source, parse),
        Some(numbers) => map(source, |text| parse(&numbers.plain(text)?)),
    }
}

/// Calls `visit` with every value in order.
pub(super) fn each(
    source: &Source<'_, '_>,
    visit: impl FnMut(Option<&str>) -> Result<(), TextError>,
) -> Result<(), Fault> {
    match source.data_type() {
        DataType::LargeUtf8 => each_of(source, source.array.as_string::<i64>(), visit),
        DataType::Utf8View => each_of(source, source.array.as_string_view(), visit),
        _ => each_of(source, source.array.as_string::<i32>(), visit),
    }
}

fn each_of<'a>(
    source: &Source<'_, '_>,
    texts: impl ArrayAccessor<Item = &'a str>,
    mut visit: impl FnMut(Option<&str>) -> Result<(), TextError>,
) -> Result<(), Fault> {
    for index in 0..texts.len() {
        let text = source.is_valid(index).then(|| texts.value(index));
        visit(text).map_err(|error| Fault { index, reason: CellErrorReason::Parse(error) })?;
    }
    Ok(())
}
