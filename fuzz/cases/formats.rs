//! Fuzz cases of the file formats crate: delimited text and bcp's host files read the same whatever the blocks, what is
//! inferred holds for every value, and what is printed reads back.
//!
//! This file is part of two programs: the fuzzer, and the test of the formats crate that runs the saved corpus.
//! A case returns whether it accepted the input, which the driver takes as a hint that it is worth changing further.

use std::io::Cursor;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Field};
use arrow::record_batch::RecordBatch;
use formats::bcp::{
    DataMode, FormatFile, HostReadOptions, HostReader, HostWriteOptions, HostWriter, LayoutOptions, declare,
};
use formats::csv::CsvReader;
use formats::infer::infer_reader;
use formats::{BatchReader, CsvOptions, Encoding, FormatError, InferredColumn, RowTerminator};
use rows::text::{self, ParseOptions};

/// A case: given bytes, panics if something is wrong, else says whether the input was accepted.
pub type Case = fn(&[u8]) -> bool;

/// Name (that of its corpus directory too) and body of every case of this file.
pub const CASES: &[(&str, Case)] = &[
    ("csv_reader", csv_reader),
    ("csv_infer", csv_infer),
    ("host_character", host_character),
    ("host_native", host_native),
    ("format_file_text", format_file_text),
    ("format_file_xml", format_file_xml),
    ("sniff", sniff),
];

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
        null_texts: flag(4).then(|| "NULL".to_owned()).into_iter().collect(),
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

/// Tables whose host files are read; the first byte chooses.
const TABLES: &[&str] = &[
    "id int not null, v varchar(20) null",
    "id int not null, n nvarchar(20) null, d decimal(18,4) null, m money null",
    "b bit null, t tinyint null, s smallint null, g bigint not null, r real null, f float null",
    "da date null, ti time(3) null, dt datetime null, sd smalldatetime null, d2 datetime2(7) null, o datetimeoffset(7) null",
    "u uniqueidentifier null, vb varbinary(20) null, c char(10) not null, x xml null, vm varchar(max) null, sv sql_variant null",
];

/// Character files: the same rows, rejected rows and error whatever the size of blocks and batches.
pub fn host_character(data: &[u8]) -> bool {
    let Some((choice, file)) = data.split_first_chunk::<4>() else { return false };
    let mode = if choice[1] & 1 == 0 { DataMode::Character } else { DataMode::UnicodeCharacter };
    let terminators: [(&[u8], &[u8]); 3] = [(b"\t", b"\n"), (b"||", b"\r\n"), (b"|", b"|\n")];
    let (field, row) = terminators[usize::from(choice[1] >> 1) % terminators.len()];
    let layout = LayoutOptions {
        field_terminator: field.to_vec(),
        row_terminator: row.to_vec(),
        ..LayoutOptions::default()
    };
    host(choice, file, mode, &LayoutOptions { collations: false, ..layout })
}

/// Native files: the same, and what is read can be written and read again.
pub fn host_native(data: &[u8]) -> bool {
    let Some((choice, file)) = data.split_first_chunk::<4>() else { return false };
    let mode = if choice[1] & 1 == 0 { DataMode::Native } else { DataMode::UnicodeNative };
    host(choice, file, mode, &LayoutOptions { collations: false, ..LayoutOptions::default() })
}

fn host(choice: &[u8; 4], file: &[u8], mode: DataMode, layout: &LayoutOptions) -> bool {
    let columns = declare(TABLES[usize::from(choice[0]) % TABLES.len()]).expect("well declared");
    let format_file = FormatFile::for_columns(&columns, mode, layout);
    let read = |bytes: &[u8], block_bytes: usize, batch_rows: usize| {
        let options = HostReadOptions { batch_rows, keep_raw_rows: true, ..HostReadOptions::default() };
        let input = Box::new(Cursor::new(bytes.to_vec()));
        let mut reader =
            HostReader::with_block_bytes(input, "file", &format_file, &columns, &options, block_bytes)
                .expect("nothing of the file is needed to begin");
        let (mut batches, mut places, mut rejected, mut error) = (Vec::new(), Vec::new(), Vec::new(), None);
        for batch in reader.by_ref() {
            match batch {
                Ok(batch) => {
                    assert!(error.is_none(), "rows behind an error");
                    assert_eq!(batch.positions.len(), batch.batch.num_rows());
                    for row in 0..batch.positions.len() {
                        let raw = batch.positions.raw(row).expect("kept").to_vec();
                        let at = batch.positions.byte_offset(row) as usize;
                        assert_eq!(bytes.get(at..at + raw.len()), Some(raw.as_slice()));
                        places.push((batch.positions.row(row), raw));
                    }
                    rejected.extend(batch.rejected);
                    batches.push(batch.batch);
                }
                Err(found) => error = Some(found.to_string()),
            }
        }
        let schema = reader.schema();
        let batch = arrow::compute::concat_batches(&schema, &batches).expect("of one schema");
        (batch, places, rejected, reader.suffered().to_vec(), error)
    };
    let whole = read(file, 1 << 20, usize::MAX);
    let cut = read(file, usize::from(choice[2]), usize::from(choice[3]));
    assert!(cut == whole, "cut {cut:?}\nwhole {whole:?}");
    let batch = whole.0;
    let mut writer = HostWriter::new(
        Vec::new(),
        "file",
        &format_file,
        &columns,
        &batch.schema(),
        &HostWriteOptions::default(),
    )
    .expect("the columns are the file's own");
    // NULL in a column that has no way to say so cannot be written, and text may hold terminators.
    if writer.write_batch(&batch).is_ok() && mode != DataMode::Character && mode != DataMode::UnicodeCharacter
    {
        let again = read(&writer.into_output().expect("into memory"), 1 << 20, usize::MAX);
        assert_eq!(again.4, None);
        assert!(again.2.is_empty(), "{:?}", again.2);
        assert!(again.0 == batch, "again {:?}\nfirst {batch:?}", again.0);
    }
    batch.num_rows() > 0
}

/// Non-XML format files: what is read is printed and read again.
pub fn format_file_text(data: &[u8]) -> bool {
    let Ok(file) = FormatFile::parse(data, "file") else { return false };
    if file.rowset.is_some() {
        return false;
    }
    let mut again = FormatFile::parse(file.to_text().as_bytes(), "printed").expect("printed");
    for (again, field) in again.fields.iter_mut().zip(&file.fields) {
        // Blanks in names are not kept, and 7.0 has no collations.
        again.name.clone_from(&field.name);
    }
    assert_eq!(again, file);
    let _ = file.own_columns();
    true
}

/// XML format files: what is read is printed and read again.
pub fn format_file_xml(data: &[u8]) -> bool {
    let Ok(file) = FormatFile::parse(data, "file") else { return false };
    let (Some(_), Ok(columns)) = (&file.rowset, file.own_columns()) else { return false };
    if let Ok(printed) = file.to_xml(&columns) {
        let again = FormatFile::parse(printed.as_bytes(), "printed").expect("printed");
        assert_eq!(again.fields.len(), file.fields.len());
        assert_eq!(again.rowset.map(|rowset| rowset.len()), file.rowset.map(|rowset| rowset.len()));
    }
    true
}

/// Any file: a guess is made, and what it guesses of a delimited file names as many columns as it saw.
pub fn sniff(data: &[u8]) -> bool {
    use formats::sniff::{Content, sniff_bytes};
    let Some((first, file)) = data.split_first() else { return false };
    let sniffed = sniff_bytes(file, first & 1 == 0, "file").expect("in memory");
    assert!(!sniffed.to_string().is_empty());
    let Content::Text(text) = sniffed.content else { return false };
    if let Some(format_file) = text.format_file() {
        FormatFile::parse(format_file.to_text().as_bytes(), "guessed").expect("a format file");
    }
    declare(&text.declaration()).expect("declared");
    true
}
