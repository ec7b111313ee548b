//! Passes over the rows of a batch.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::buffer::NullBuffer;
use tsql::SqlError;

use super::columns::{Columns, Texts};
use super::text_column::TextColumn;
use crate::convert::in_code_page;
use crate::datum::Datum;
use crate::running;

/// Rows between two looks at whether the request is to stop.
const ROWS_AT_ONCE: usize = 1 << 10;
/// Texts from here on are left to the value form, which can be stopped within one.
pub(super) const LONG_BYTES: usize = 1 << 16;

/// Makes a text for each row whose arguments are all present. `write` appends it, or returns false for a row that the
/// value form computes.
pub(super) fn texts(
    columns: &Columns<'_>,
    bytes: usize,
    write: impl FnMut(usize, &mut String) -> bool,
) -> Result<Option<ArrayRef>, SqlError> {
    let nulls = columns.nulls();
    texts_but(columns, nulls.as_ref(), bytes, write)
}

/// Makes texts like [`texts`], with NULL for the rows of `nulls`.
pub(super) fn texts_but(
    columns: &Columns<'_>,
    nulls: Option<&NullBuffer>,
    bytes: usize,
    mut write: impl FnMut(usize, &mut String) -> bool,
) -> Result<Option<ArrayRef>, SqlError> {
    let page = columns.page();
    let mut column = TextColumn::with_capacity(columns.rows(), bytes);
    for row in 0..columns.rows() {
        if row % ROWS_AT_ONCE == 0 {
            running::check()?;
        }
        if nulls.is_some_and(|nulls| nulls.is_null(row)) {
            column.push_null();
            continue;
        }
        let written = column.write(|text| {
            let start = text.len();
            let written = write(row, text);
            // The value form replaces characters that the code page lacks.
            written
                && page
                    .is_none_or(|page| text.get(start..).is_some_and(|own| in_code_page(own, page).is_none()))
        })?;
        if !written {
            match columns.value(row)? {
                Datum::Text(text) => column.push(&text)?,
                _ => column.push_null(),
            }
        }
    }
    column.finish().map(Some)
}

/// Computes a value for each row whose arguments are all present.
pub(super) fn values(
    columns: &Columns<'_>,
    mut compute: impl FnMut(usize) -> Result<Datum, SqlError>,
) -> Result<Option<ArrayRef>, SqlError> {
    let nulls = columns.nulls();
    let mut values = Vec::with_capacity(columns.rows());
    for row in 0..columns.rows() {
        if row % ROWS_AT_ONCE == 0 {
            running::check()?;
        }
        values.push(match &nulls {
            Some(nulls) if nulls.is_null(row) => Datum::Null,
            _ => {
                let value = compute(row)?;
                value.check(columns.result())?;
                value
            }
        });
    }
    Ok(Some(Datum::array(&values, columns.result())))
}

/// Takes a piece of the first argument for each row. `piece` returns its place, or `None` for a row that the value form
/// computes.
pub(super) fn pieces(
    columns: &Columns<'_>,
    texts: Texts<'_>,
    piece: impl Fn(usize, &str) -> Option<Range<usize>>,
) -> Result<Option<ArrayRef>, SqlError> {
    let nulls = columns.nulls();
    // A column from which nothing is cut is the result, as long as it says the same about NULL.
    if let Some(array) = texts.column()
        && nulls.as_ref().map_or(0, NullBuffer::null_count) == array.null_count()
        && (0..array.len()).all(|row| {
            let text = array.value(row);
            let fits = columns.page().is_none_or(|page| in_code_page(text, page).is_none());
            array.is_null(row) || (fits && piece(row, text) == Some(0..text.len()))
        })
    {
        return Ok(Some(Arc::new(array.clone())));
    }
    texts_but(columns, nulls.as_ref(), texts.bytes(), |row, out| {
        let text = texts.at(row);
        let Some(piece) = piece(row, text).and_then(|piece| text.get(piece)) else { return false };
        out.push_str(piece);
        true
    })
}
