#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod captures;
mod cells;
mod errors;
mod splits;

use arrow::array::{ArrayRef, RecordBatch};
use tds::{Collation, Column, SqlType};

use super::*;
use crate::column_text::{TextOptions, format_column};
use crate::mapping::Form;

/// Parses bytes from hex text; blanks and `|` are for the reader.
fn hex(text: &str) -> Vec<u8> {
    let digits: String = text.chars().filter(|c| !c.is_whitespace() && *c != '|').collect();
    crate::text::binary::binary(&digits).unwrap()
}

fn column(sql_type: &str, nullable: bool) -> Column {
    let sql_type: SqlType = sql_type.parse().unwrap();
    Column::new("c", sql_type, nullable, Some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS))
}

/// Decodes everything, taking batches as they fill; the input must consist of rows only.
fn decode_all(mut decoder: Decoder, bytes: &[u8]) -> Result<RecordBatch, RowDecodeError> {
    let mut batches = Vec::new();
    let mut at = 0;
    loop {
        at += decoder.decode(&bytes[at..])?;
        batches.push(decoder.take_batch().unwrap());
        if at == bytes.len() || batches.last().unwrap().num_rows() == 0 {
            break;
        }
    }
    assert_eq!(at, bytes.len(), "not all consumed");
    Ok(arrow::compute::concat_batches(&decoder.schema(), &batches).unwrap())
}

/// Returns the text of each cell of one column.
fn spelled(batch: &RecordBatch, index: usize) -> Vec<Option<String>> {
    let array: &ArrayRef = batch.column(index);
    let text = format_column(array, batch.schema().field(index), &TextOptions::default()).unwrap();
    text.iter().map(|cell| cell.map(str::to_owned)).collect()
}
