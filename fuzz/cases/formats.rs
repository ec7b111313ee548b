//! Fuzz cases of the file formats crate: delimited text reads the same whatever the blocks, and what is inferred of it
//! holds for every value.
//!
//! This file is part of two programs: the fuzzer, and the test of the formats crate that runs the saved corpus.
//! A case returns whether it accepted the input, which the driver takes as a hint that it is worth changing further.

use std::io::Cursor;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Field};
use arrow::record_batch::RecordBatch;
use formats::csv::CsvReader;
use formats::infer::infer_reader;
use formats::{BatchReader, CsvOptions, Encoding, FormatError, InferredColumn, RowTerminator};
use rows::text::{self, ParseOptions};

/// A case: given bytes, panics if something is wrong, else says whether the input was accepted.
pub type Case = fn(&[u8]) -> bool;

/// Name (that of its corpus directory too) and body of every case of this file.
pub const CASES: &[(&str, Case)] = &[("csv_reader", csv_reader), ("csv_infer", csv_infer)];

/// Delimited text: the same rows and the same error whatever the size of blocks and batches. The first two bytes choose
/// the dialect, the next two those sizes.
pub fn csv_reader(data: &[u8]) -> bool {
    let Some((choice, text)) = data.split_first_chunk::<4>() else { return false };
    let options = dialect([choice[0], choice[1]]);
    let whole = read(text, &options, 1 << 20, usize::MAX);
    let cut = read(text, &options, usize::from(choice[2]), usize::from(choice[3]));
    assert_eq!(cut, whole);
    whole.rows > 0
}

/// What one way of reading a text gave.
#[derive(Debug, PartialEq)]
struct Read {
    batch: Option<RecordBatch>,
    rows: usize,
    /// The line of each row.
    lines: Vec<Option<u64>>,
    error: Option<String>,
}

fn read(text: &[u8], options: &CsvOptions, block_bytes: usize, batch_rows: usize) -> Read {
    let failed = |error: FormatError| Some(format!("{error} at {:?}", error.place));
    let input = Box::new(Cursor::new(text.to_vec()));
    let mut reader = match CsvReader::with_block_bytes(input, "text", options, batch_rows, block_bytes) {
        Ok(reader) => reader,
        Err(error) => return Read { batch: None, rows: 0, lines: Vec::new(), error: failed(error) },
    };
    let (mut batches, mut error) = (Vec::new(), None);
    for batch in reader.by_ref() {
        match batch {
            Ok(batch) => {
                assert!(error.is_none(), "rows behind an error");
                assert!((1..=batch_rows.max(1)).contains(&batch.num_rows()));
                batches.push(batch);
            }
            Err(found) => error = failed(found),
        }
    }
    let batch = arrow::compute::concat_batches(&reader.schema(), &batches).expect("of one schema");
    let lines = reader.row_lines();
    let rows = batch.num_rows();
    let lines = (1..=rows as u64).map(|row| lines.line_of_row(row)).collect();
    Read { batch: Some(batch), rows, lines, error }
}

/// Delimited text in the dialect that the first two bytes choose: every value must be one of its column's inferred type.
pub fn csv_infer(data: &[u8]) -> bool {
    let Some((choice, text)) = data.split_first_chunk::<2>() else { return false };
    let options = dialect(*choice);
    let Some(reader) = csv_of(text, &options) else { return false };
    let Ok(inferred) = infer_reader(reader, None) else { return false };
    let mut rows = 0;
    for batch in csv_of(text, &options).expect("opened before") {
        let batch = batch.expect("read before");
        rows += batch.num_rows() as u64;
        for (array, column) in batch.columns().iter().zip(&inferred.columns) {
            let texts = array.as_string::<i32>();
            assert!(column.field.is_nullable() || texts.null_count() == 0);
            texts.iter().flatten().for_each(|text| check_value(text, column));
        }
    }
    assert!(inferred.is_complete && inferred.rows == rows);
    let narrower = infer_reader(csv_of(text, &options).expect("opened before"), Some(1));
    assert_eq!(narrower.map(|inferred| inferred.rows).ok(), Some(rows.min(1)));
    rows > 0
}

fn csv_of(text: &[u8], options: &CsvOptions) -> Option<CsvReader> {
    CsvReader::new(Cursor::new(text.to_vec()), "text", options, 3).ok()
}

fn check_value(value: &str, column: &InferredColumn) {
    assert!(value.len() as u64 <= column.max_utf8_bytes);
    assert!(value.chars().count() as u64 <= column.max_chars);
    assert!(value.is_ascii() || !column.ascii_only);
    let scale = column.scale.unwrap_or(0);
    let options = ParseOptions::default();
    let problem = match column.field.data_type() {
        DataType::Utf8 => None,
        DataType::Boolean => text::bit::bit(value).err(),
        DataType::UInt8 => text::number::tinyint(value).err(),
        DataType::Int16 => text::number::smallint(value).err(),
        DataType::Int32 => text::number::int(value).err(),
        DataType::Int64 => text::number::bigint(value).err(),
        DataType::Float64 => text::number::float(value).err(),
        DataType::Decimal128(precision, scale) => {
            text::number::decimal(value, *precision, *scale as u8, &options).err()
        }
        DataType::Date32 => text::datetime::date(value, &options).err(),
        DataType::Time32(_) | DataType::Time64(_) => text::datetime::time(value, scale, &options).err(),
        DataType::Timestamp(_, None) => text::datetime::datetime2(value, scale, &options).err(),
        DataType::Timestamp(_, Some(_)) => text::datetime::datetimeoffset(value, scale, &options).err(),
        DataType::FixedSizeBinary(16) => text::guid::guid(value).err(),
        DataType::Binary => {
            let bytes = text::binary::binary(value);
            let longest = column.max_binary_bytes.expect("measured for binary columns");
            assert!(bytes.as_ref().is_ok_and(|bytes| bytes.len() as u64 <= longest), "{value:?}");
            None
        }
        other => panic!("{other} is not a type that is inferred"),
    };
    let described = |field: &Field| format!("{} {:?}", field.data_type(), field.metadata());
    assert_eq!(problem, None, "{value:?} in a column inferred as {}", described(&column.field));
}

/// A dialect with one- or two-character delimiters, with and without quotes, header, NULL text and limits.
fn dialect(choice: [u8; 2]) -> CsvOptions {
    let flag = |bit: u8| choice[0] & bit != 0;
    CsvOptions {
        delimiter: match (flag(1), flag(2)) {
            (false, false) => ",",
            (true, false) => "|",
            (false, true) => "||",
            (true, true) => "|\n",
        }
        .to_owned(),
        null_text: flag(4).then(|| "NULL".to_owned()),
        header: !flag(8),
        columns: flag(0x10).then(|| vec!["first".to_owned(), "second".to_owned()]),
        max_row_bytes: if flag(0x20) { 20 } else { 1 << 20 },
        max_batch_bytes: if flag(0x40) { 10 } else { 1 << 20 },
        row_terminator: match (flag(0x80), choice[1] & 3) {
            (false, _) => RowTerminator::Auto,
            (true, 0) => RowTerminator::Text("\r\n".to_owned()),
            (true, 1) => RowTerminator::Text("\n".to_owned()),
            (true, 2) => RowTerminator::Text("\r".to_owned()),
            (true, _) => RowTerminator::Text("|#|".to_owned()),
        },
        quote: match choice[1] >> 2 & 3 {
            0 | 1 => Some(b'"'),
            2 => Some(b'\''),
            _ => None,
        },
        encoding: match choice[1] >> 4 & 7 {
            0 => Encoding::Utf8,
            1 => Encoding::Utf16Le,
            2 => Encoding::Utf16Be,
            3 => Encoding::CodePage(1252),
            4 => Encoding::CodePage(932),
            5 => Encoding::CodePage(936),
            6 => Encoding::CodePage(54936),
            _ => Encoding::CodePage(850),
        },
        ..CsvOptions::default()
    }
}
