//! CAST, CONVERT and implicit conversions.

use std::sync::Arc;

use arrow::array::{Array, AsArray, Decimal128Array};
use arrow::datatypes::{Date32Type, Decimal128Type};
use rows::text::calendar::DAYS_TO_1970;
use rows::text::write;
use tds::{CodePage, SqlType};

use super::ColumnForm;
use super::decimals::{limit_of, whole_as_decimal};
use super::passes::{LONG_BYTES, pieces, texts, values};
use crate::convert::{in_code_page, length_limit, of_text, rescale, text_length};
use crate::datum::{Datum, data_type};
use crate::running;
use crate::types::{as_decimal, is_integer, is_text};

/// Returns the column form of a conversion, if it has one. `lenient` gives NULL instead of an error.
pub(crate) fn conversion(
    from: &SqlType,
    to: &SqlType,
    style: i32,
    lenient: bool,
    page: CodePage,
) -> Option<ColumnForm> {
    match (is_text(from), is_text(to)) {
        (true, true) => Some(text_to_text(to.clone(), page)),
        (true, false) if of_text("", from, to, style).is_some() => {
            Some(from_text(from.clone(), to.clone(), style, lenient))
        }
        (false, true) => to_text(from, to, style),
        _ if from.is_decimal() && to.is_decimal() => rescaled(from, to.clone()),
        _ if is_integer(from) && to.is_decimal() => whole_as_decimal(to),
        _ => None,
    }
}

/// Converts between texts: cuts texts that are too long, and pads types of fixed length.
fn text_to_text(to: SqlType, page: CodePage) -> ColumnForm {
    let limit = length_limit(&to);
    let is_fixed = matches!(to, SqlType::Char { .. } | SqlType::NChar { .. });
    let page = (!to.is_unicode()).then_some(page);
    // The bytes of the text that are kept, and its units. None for a text that the value form converts.
    let kept = move |text: &str| {
        if text.len() >= LONG_BYTES {
            return None;
        }
        if text.is_ascii() {
            let length = limit.map_or(text.len(), |limit| limit.min(text.len()));
            return Some((length, length));
        }
        let fits =
            page.is_none_or(|page| page.max_char_len_bytes() == 1 && in_code_page(text, page).is_none());
        let units = text_length(text, &to);
        (fits && limit.is_none_or(|limit| units <= limit)).then_some((text.len(), units))
    };
    Arc::new(move |columns| {
        let Some(own) = columns.texts(0) else { return Ok(None) };
        let Some(width) = limit.filter(|_| is_fixed) else {
            return pieces(columns, own, |_, text| Some(0..kept(text)?.0));
        };
        texts(columns, columns.rows().saturating_mul(width), |row, out| {
            let text = own.at(row);
            let Some((end, units)) = kept(text) else { return false };
            out.push_str(text.get(..end).unwrap_or_default());
            out.extend(std::iter::repeat_n(' ', width.saturating_sub(units)));
            true
        })
    })
}

/// Converts a text to a number, date or time.
fn from_text(from: SqlType, to: SqlType, style: i32, lenient: bool) -> ColumnForm {
    Arc::new(move |columns| {
        let Some(own) = columns.texts(0) else { return Ok(None) };
        values(columns, |row| match of_text(own.at(row), &from, &to, style) {
            Some(Err(_)) if lenient => Ok(Datum::Null),
            Some(value) => value,
            None => columns.value(row),
        })
    })
}

/// Writes a value of a column as text.
type Writer = fn(&dyn Array, usize, &SqlType, &mut Vec<u8>);

/// Converts a whole number, a decimal or a date to text.
fn to_text(from: &SqlType, to: &SqlType, style: i32) -> Option<ColumnForm> {
    let writer: Writer = match from {
        from if is_integer(from) => |array, row, from, out| {
            write::signed(out, Datum::present(array, from, row).as_int().unwrap_or_default());
        },
        SqlType::Decimal { .. } | SqlType::Numeric { .. } => |array, row, from, out| {
            let scale = as_decimal(from).map_or(0, |(_, scale)| scale);
            write::scaled(out, array.as_primitive::<Decimal128Type>().value(row), scale, true);
        },
        SqlType::Date if matches!(style, 0 | 20 | 23 | 120 | 121) => |array, row, _, out| {
            write::date(out, array.as_primitive::<Date32Type>().value(row).saturating_add(DAYS_TO_1970));
        },
        _ => return None,
    };
    let (from, limit) = (from.clone(), length_limit(to));
    let is_fixed = matches!(to, SqlType::Char { .. } | SqlType::NChar { .. });
    Some(Arc::new(move |columns| {
        let Some(array) = columns.array(0) else { return Ok(None) };
        let mut digits = Vec::with_capacity(48);
        texts(columns, columns.rows() * 8, |row, out| {
            digits.clear();
            writer(array.as_ref(), row, &from, &mut digits);
            let Ok(text) = str::from_utf8(&digits) else { return false };
            // Each type has its own rule for a text that is too long.
            if limit.is_some_and(|limit| text.len() > limit) {
                return false;
            }
            out.push_str(text);
            if let Some(limit) = limit.filter(|_| is_fixed) {
                out.extend(std::iter::repeat_n(' ', limit - text.len()));
            }
            true
        })
    }))
}

/// Converts a decimal to a decimal of another shape.
fn rescaled(from: &SqlType, to: SqlType) -> Option<ColumnForm> {
    let (from_precision, from_scale) = as_decimal(from)?;
    let (to_precision, to_scale) = as_decimal(&to)?;
    // Every value of the one type is one of the other, in the same units.
    let is_wider = from_scale == to_scale && from_precision <= to_precision;
    let limit = limit_of(&to);
    Some(Arc::new(move |columns| {
        let Some(array) = columns.array(0).and_then(|array| array.as_primitive_opt::<Decimal128Type>())
        else {
            return Ok(None);
        };
        running::check()?;
        if is_wider {
            return Ok(Some(Arc::new(array.clone().with_data_type(data_type(&to)))));
        }
        let mut units = Vec::with_capacity(array.len());
        for (row, value) in array.values().iter().enumerate() {
            match rescale(*value, from_scale, to_scale) {
                Some(value) if value.unsigned_abs() < limit => units.push(value),
                _ if array.is_null(row) => units.push(0),
                // The value form tells what a value is that does not fit.
                _ => return Ok(None),
            }
        }
        let column = Decimal128Array::new(units.into(), array.nulls().cloned());
        Ok(Some(Arc::new(column.with_data_type(data_type(&to)))))
    }))
}
