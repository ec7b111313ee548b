//! Converts one column's values to the table's type, or refuses them.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, BinaryBuilder, StringArray, StringBuilder};
use query::convert::{checked_json, checked_xml, convert, cut_text, in_code_page, length_limit};
use query::{Datum, is_finite};
use tds::{Collation, SqlType};
use tsql::SqlError;
use tsql::errors;

use crate::catalogue::{ColumnDefinition, TableDefinition};

/// Converts `array`, whose values are of type `from`, to the column's type.
///
/// # Errors
/// Error 2628 for a value that is too long (never 8152, its older form), and the errors of conversions.
pub(super) fn to_column(
    array: &ArrayRef,
    from: &SqlType,
    table: &TableDefinition,
    column: &ColumnDefinition,
) -> Result<ArrayRef, SqlError> {
    let to = &column.sql_type;
    // The doors before this one have errors of their own: nothing that is no number is ever stored.
    if !is_finite(array) {
        return Err(SqlError::overflow("", "float"));
    }
    if *to == SqlType::Xml && from == to {
        // Nobody has checked yet the xml of a client.
        return checked(array, checked_xml);
    }
    if *to == SqlType::Json && from == to {
        return checked(array, checked_json);
    }
    if to.is_character() && from.is_character() {
        return text(array, table, column).map(|array| kept(array, column));
    }
    if *from == SqlType::RowVersion && *to != SqlType::RowVersion && to.is_binary() {
        let bytes = SqlType::VarBinary { length: tds::Length::Units(8) };
        let values = (0..array.len())
            .map(|row| convert(Datum::read(array.as_ref(), from, row)?, from, &bytes, 0))
            .collect::<Result<Vec<_>, _>>()?;
        return to_column(&Datum::array(&values, &bytes), &bytes, table, column);
    }
    if to.is_binary() && from.is_binary() && array.as_binary_opt::<i32>().is_some() {
        return binary(array, table, column).map(|array| kept(array, column));
    }
    if from == to || (array.data_type() == &query::datum::data_type(to) && same_values(from, to)) {
        return Ok(Arc::clone(array));
    }
    let mut values = Vec::with_capacity(array.len());
    for row in 0..array.len() {
        let value = Datum::read(array.as_ref(), from, row)?;
        let value = match (&value, to) {
            // Text made of numbers must fit too; CAST would cut it.
            (Datum::Null, _) => Datum::Null,
            (_, to) if to.is_character() => {
                let wide = SqlType::NVarChar { length: tds::Length::Max };
                convert(value, from, &wide, 0)?
            }
            _ => convert(value, from, to, 0)?,
        };
        values.push(value);
    }
    if to.is_character() {
        let wide = SqlType::NVarChar { length: tds::Length::Max };
        return text(&Datum::array(&values, &wide), table, column).map(|array| kept(array, column));
    }
    Ok(kept(Datum::array(&values, to), column))
}

/// Returns values as their column keeps them: blanks and zeros at their end go if it was defined with
/// ANSI_PADDING OFF.
fn kept(array: ArrayRef, column: &ColumnDefinition) -> ArrayRef {
    if !column.trims_padding() {
        return array;
    }
    if let Some(texts) = array.as_string_opt::<i32>() {
        let trimmed = texts.iter().map(|text| text.map(|text| text.trim_end_matches(' ')));
        return Arc::new(trimmed.collect::<StringArray>());
    }
    let Some(values) = array.as_binary_opt::<i32>() else { return array };
    let trimmed = |value: &'_ [u8]| value.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let values = values.iter().map(|value| value.and_then(|value| value.get(..trimmed(value))));
    Arc::new(values.collect::<BinaryArray>())
}

/// Returns texts in the form that `check` gives each of them. Errors: those of `check`.
fn checked(array: &ArrayRef, check: impl Fn(&str) -> Result<String, SqlError>) -> Result<ArrayRef, SqlError> {
    let strings = array.as_string::<i32>();
    let mut builder = StringBuilder::with_capacity(strings.len(), strings.value_data().len());
    for value in strings {
        builder.append_option(value.map(&check).transpose()?);
    }
    Ok(Arc::new(builder.finish()))
}

/// Returns true if every value of the one type is one of the other, unchanged.
fn same_values(from: &SqlType, to: &SqlType) -> bool {
    match (from, to) {
        (SqlType::Decimal { precision: p1, scale: s1 }, SqlType::Numeric { precision: p2, scale: s2 })
        | (SqlType::Numeric { precision: p1, scale: s1 }, SqlType::Decimal { precision: p2, scale: s2 }) => {
            p1 == p2 && s1 == s2
        }
        (SqlType::DateTime2 { scale: low }, SqlType::DateTime2 { scale: high })
        | (SqlType::Time { scale: low }, SqlType::Time { scale: high })
        | (SqlType::DateTimeOffset { scale: low }, SqlType::DateTimeOffset { scale: high }) => low <= high,
        _ => false,
    }
}

fn text(array: &ArrayRef, table: &TableDefinition, column: &ColumnDefinition) -> Result<ArrayRef, SqlError> {
    let to = &column.sql_type;
    let strings = array.as_string::<i32>();
    let limit = length_limit(to);
    let fixed = matches!(to, SqlType::Char { .. } | SqlType::NChar { .. });
    let collation = column.collation().unwrap_or(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
    let rewritten = !to.is_unicode() && !collation.is_utf8() && !strings.value_data().is_ascii();
    // A text of few enough bytes is of few enough units in every encoding but UTF-8, where bytes are what counts.
    let all_fit = limit.is_none_or(|limit| strings.offsets().lengths().all(|length| length <= limit));
    if all_fit && !fixed && !rewritten {
        return Ok(Arc::clone(array));
    }
    let mut builder = StringBuilder::with_capacity(strings.len(), strings.value_data().len());
    for value in strings {
        let Some(value) = value else {
            builder.append_null();
            continue;
        };
        let mapped = if rewritten { in_code_page(value, collation.code_page()) } else { None };
        let value = mapped.as_deref().unwrap_or(value);
        let units = match limit {
            Some(limit) if value.len() > limit || fixed => units(value, to, collation),
            _ => 0,
        };
        if let Some(limit) = limit.filter(|limit| units > *limit) {
            // Blanks at the end may go.
            let trimmed = value.trim_end_matches(' ');
            if self::units(trimmed, to, collation) > limit {
                return Err(errors::TRUNCATED.with([
                    &table.full_name(),
                    &column.name,
                    &cut_text(value, to, limit),
                ]));
            }
            builder.append_value(cut_text(value, to, limit));
            continue;
        }
        if let (true, Some(limit)) = (fixed, limit) {
            let mut padded = value.to_string();
            padded.extend(std::iter::repeat_n(' ', limit - units));
            builder.append_value(padded);
        } else {
            builder.append_value(value);
        }
    }
    Ok(Arc::new(builder.finish()))
}

fn units(value: &str, to: &SqlType, collation: Collation) -> usize {
    if to.is_unicode() {
        return value.encode_utf16().count();
    }
    if collation.is_utf8() || value.is_ascii() {
        return value.len();
    }
    collation.code_page().encode(value).map_or(value.chars().count(), |bytes| bytes.len())
}

fn binary(
    array: &ArrayRef,
    table: &TableDefinition,
    column: &ColumnDefinition,
) -> Result<ArrayRef, SqlError> {
    let to = &column.sql_type;
    let Some(values) = array.as_binary_opt::<i32>() else {
        return Err(SqlError::internal("a binary column without bytes"));
    };
    let limit = length_limit(to);
    let fixed = matches!(to, SqlType::Binary { .. });
    let all_fit = limit.is_none_or(|limit| values.offsets().lengths().all(|length| length <= limit));
    if all_fit && !fixed {
        return Ok(Arc::clone(array));
    }
    let mut builder = BinaryBuilder::with_capacity(values.len(), values.value_data().len());
    for value in values {
        let Some(value) = value else {
            builder.append_null();
            continue;
        };
        let limit = limit.unwrap_or(usize::MAX);
        if value.len() > limit {
            return Err(errors::TRUNCATED.with([&table.full_name(), &column.name, ""]));
        }
        if fixed && value.len() < limit {
            let mut padded = value.to_vec();
            padded.resize(limit, 0);
            builder.append_value(padded);
        } else {
            builder.append_value(value);
        }
    }
    Ok(Arc::new(builder.finish()))
}
