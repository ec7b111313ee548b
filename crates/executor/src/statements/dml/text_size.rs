//! TEXTSIZE: the most bytes of a large value that SELECT returns.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BinaryArray, RecordBatch, RecordBatchOptions, StringArray};
use query::convert::{code_page_bytes, cut_text};
use tds::{Column, Length, SqlType};
use tsql::SqlError;

/// Returns true if values of the column are cut.
fn is_cut(column: &Column) -> bool {
    matches!(
        column.sql_type(),
        SqlType::VarChar { length: Length::Max }
            | SqlType::NVarChar { length: Length::Max }
            | SqlType::VarBinary { length: Length::Max }
            | SqlType::Text
            | SqlType::NText
            | SqlType::Image
    )
}

/// Returns true if a result has values that a limit may cut.
pub(crate) fn applies(columns: &[Column], limit_bytes: i32) -> bool {
    limit_bytes >= 0 && limit_bytes != i32::MAX && columns.iter().any(is_cut)
}

/// Cuts each large value of some rows to a number of bytes.
pub fn cut(batch: &RecordBatch, columns: &[Column], limit_bytes: i32) -> Result<RecordBatch, SqlError> {
    let limit = usize::try_from(limit_bytes).unwrap_or(usize::MAX);
    let arrays = batch.columns().iter().zip(columns).map(|(array, column)| match is_cut(column) {
        true => cut_array(array, column, limit),
        false => Arc::clone(array),
    });
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), arrays.collect(), &options)
        .map_err(|error| SqlError::internal(error))
}

fn cut_array(array: &ArrayRef, column: &Column, limit: usize) -> ArrayRef {
    if let Some(values) = array.as_binary_opt::<i32>() {
        let values = values.iter().map(|value| value.map(|value| value.get(..limit).unwrap_or(value)));
        return Arc::new(values.collect::<BinaryArray>());
    }
    let Some(texts) = array.as_string_opt::<i32>() else { return Arc::clone(array) };
    if texts.offsets().lengths().all(|length| length <= limit / 2) {
        return Arc::clone(array);
    }
    let sql_type = column.sql_type();
    let page = column.type_info.collation.unwrap_or_default().code_page();
    let cut = |text: &str| match sql_type.is_unicode() {
        true => cut_text(text, sql_type, limit / 2),
        false if page.max_char_len_bytes() == 1 => cut_text(text, sql_type, limit),
        // As many whole characters as the bytes have room for.
        false => {
            let mut used = 0;
            let fits = |ch: &char| {
                used += code_page_bytes(ch.encode_utf8(&mut [0; 4]), page).len();
                used <= limit
            };
            text.chars().take_while(fits).collect()
        }
    };
    Arc::new(texts.iter().map(|text| text.map(cut)).collect::<StringArray>())
}
