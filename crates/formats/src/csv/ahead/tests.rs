#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
//! Whatever the number of threads: the rows, places, refused rows and errors of one thread.

use std::io::{Cursor, Read as _};

use arrow::array::{Array, AsArray};
use proptest::prelude::*;

use crate::csv::{CsvOptions, CsvReader, Encoding, RowTerminator};
use crate::{BatchReader as _, RowPositions};

/// All that can be learnt of a file.
#[derive(Debug, PartialEq, Default)]
struct Told {
    cells: Vec<Vec<Option<String>>>,
    places: Vec<(u64, u64, usize, Vec<u8>)>,
    refused: Vec<(u64, u64, Vec<u8>, String)>,
    lines: Vec<Option<u64>>,
    error: Option<String>,
}

fn told(bytes: &[u8], options: &CsvOptions, collects: bool, blocks: (usize, usize), threads: usize) -> Told {
    let (block_bytes, batch_rows) = blocks;
    let input = Box::new(Cursor::new(bytes.to_vec()));
    let reader = match CsvReader::with_block_bytes(input, "t.csv", options, batch_rows, block_bytes) {
        Ok(reader) => reader,
        Err(error) => return Told { error: Some(error.to_string()), ..Told::default() },
    };
    let mut reader = reader.with_threads(threads);
    let rejects = collects.then(|| reader.rejects().unwrap());
    let mut told = Told::default();
    while let Some(batch) = reader.next() {
        let batch = match batch {
            Ok(batch) => batch,
            Err(error) => {
                told.error = Some(error.to_string());
                break;
            }
        };
        assert!(batch.num_rows() > 0 && batch.num_rows() <= batch_rows);
        for row in 0..batch.num_rows() {
            let columns = batch.columns().iter().map(|column| column.as_string::<i32>());
            told.cells.push(
                columns.map(|texts| texts.is_valid(row).then(|| texts.value(row).to_owned())).collect(),
            );
        }
        if let Some(positions) = reader.positions() {
            assert_eq!(positions.len(), batch.num_rows());
            told.places.extend((0..positions.len()).map(|index| place(&positions, index)));
        }
    }
    assert!(reader.next().is_none());
    if let Some(rejects) = rejects {
        let refused = rejects.take().into_iter();
        told.refused =
            refused.map(|row| (row.row, row.byte_offset, row.raw, row.reason.to_string())).collect();
    }
    let rows = (told.cells.len() + told.refused.len()) as u64;
    told.lines = (0..=rows).map(|row| reader.row_lines().line_of_row(row)).collect();
    told
}

fn place(positions: &RowPositions, index: usize) -> (u64, u64, usize, Vec<u8>) {
    let raw = positions.raw(index).unwrap_or_default().to_vec();
    (positions.row(index), positions.byte_offset(index), positions.byte_len(index), raw)
}

fn dialects() -> Vec<CsvOptions> {
    let plain = CsvOptions { header: false, ..CsvOptions::default() };
    let text = |text: &str| RowTerminator::Text(text.to_owned());
    vec![
        plain.clone(),
        CsvOptions { header: true, ..plain.clone() },
        CsvOptions { quote: None, ..plain.clone() },
        CsvOptions { delimiter: "||".into(), row_terminator: text("|~\n"), ..plain.clone() },
        CsvOptions { columns: Some(vec!["only".into()]), null_texts: vec!["b".into()], ..plain },
    ]
}

fn encoded(text: &str, encoding: Encoding, mark: bool) -> Vec<u8> {
    let mark = if mark { "\u{FEFF}" } else { "" };
    match encoding {
        Encoding::Utf16Le => {
            mark.encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
        }
        Encoding::Utf8 => [mark, text].concat().into_bytes(),
        _ => text.chars().map(|character| character as u8).collect(),
    }
}

/// Generates a field: bare, with a quote within it, or quoted with any text that a row may hold.
fn field() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-cé]{0,4}",
        1 => "[a-c]{1,2}\"[a-c]{0,2}",
        3 => "\"([a-c,|]|\n|\r\n|\"\"|é){0,6}\"",
    ]
}

/// Generates rows of three fields, with rows of another shape, blank lines and a last row without its end.
fn rows() -> impl Strategy<Value = String> {
    let row = (prop::collection::vec(field(), 3), prop_oneof![9 => Just(0), 1 => 1..4usize]);
    let end = prop_oneof![5 => Just("\n"), 2 => Just("\r\n"), 1 => Just("\n\n")];
    (prop::collection::vec((row, end), 0..40), any::<bool>()).prop_map(|(rows, ends)| {
        let mut text = String::new();
        for ((fields, damage), end) in rows {
            let row = match damage {
                0 => fields.join(","),
                1 => fields[..2].join(","),
                2 => format!("{},x", fields.join(",")),
                _ => format!("\"a\"b,{}", fields[1..].join(",")),
            };
            text += &row;
            text += end;
        }
        if !ends {
            text.truncate(text.trim_end_matches(['\r', '\n']).len());
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn threads_read_what_one_thread_reads(
        text in prop_oneof![4 => rows(), 1 => "[ab,|~\"\r\né\n]{0,200}"],
        encoding in prop_oneof![Just(Encoding::Utf8), Just(Encoding::Utf16Le), Just(Encoding::CodePage(1252))],
        mark in any::<bool>(),
        dialect in 0..5usize,
        block_bytes in 1..60usize,
        batch_rows in 1..6usize,
        threads in 2..5usize,
        max_row_bytes in prop_oneof![Just(1000usize), 10..80usize],
        max_batch_bytes in prop_oneof![Just(1000usize), 1..50usize],
        collects in any::<bool>(),
    ) {
        let options = CsvOptions { encoding, max_row_bytes, max_batch_bytes, ..dialects()[dialect].clone() };
        let bytes = encoded(&text, encoding, mark);
        let one = told(&bytes, &options, collects, (1 << 16, 1000), 1);
        let several = told(&bytes, &options, collects, (block_bytes, batch_rows), threads);
        prop_assert_eq!(one, several);
    }

    #[test]
    fn malformed_text_ends_the_file_where_one_thread_ends(
        bytes in prop::collection::vec(
            prop_oneof![1 => any::<u8>(), 20 => Just(b'a'), 4 => Just(b','), 2 => Just(b'"'), 4 => Just(b'\n')],
            0..300,
        ),
        block_bytes in 1..64usize,
        threads in 2..4usize,
    ) {
        let options = &dialects()[0];
        let one = told(&bytes, options, true, (block_bytes, 3), 1);
        prop_assert_eq!(one, told(&bytes, options, true, (block_bytes, 3), threads));
    }
}

#[test]
fn blank_lines_before_a_row_that_is_no_text_are_no_part_of_it() {
    let options = &dialects()[0];
    let bytes = b"a,b\n1,2\n\n\n\x80,c\n3,4\n";
    let wanted = told(bytes, options, true, (64, 3), 1);
    for (block_bytes, threads) in (1..24).flat_map(|bytes| [1, 2, 3].map(|threads| (bytes, threads))) {
        assert_eq!(told(bytes, options, true, (block_bytes, 3), threads), wanted, "{block_bytes}, {threads}");
    }
}

#[test]
fn a_reader_that_is_dropped_early_leaves_no_thread_waiting() {
    let text = "a,b\n1,2\n".repeat(10_000);
    let input = Box::new(Cursor::new(text.into_bytes()));
    let reader = CsvReader::with_block_bytes(input, "t.csv", &CsvOptions::default(), 100, 64).unwrap();
    let mut reader = reader.with_threads(3);
    assert!(reader.next().unwrap().unwrap().num_rows() > 0);
}

#[test]
fn an_error_of_the_disk_comes_behind_the_rows_before_it() {
    struct Failing;
    impl std::io::Read for Failing {
        fn read(&mut self, _buffer: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is gone"))
        }
    }
    for threads in [1, 3] {
        let options = CsvOptions { header: false, ..CsvOptions::default() };
        let input = Box::new(Cursor::new("1,2\n".repeat(1000).into_bytes()).chain(Failing));
        let reader = CsvReader::with_block_bytes(input, "t.csv", &options, 10, 32).unwrap();
        let mut rows = 0;
        let mut error = None;
        for batch in reader.with_threads(threads) {
            match batch {
                Ok(batch) => rows += batch.num_rows(),
                Err(found) => error = Some(found.to_string()),
            }
        }
        // The text that came with the error is lost, as much as a block.
        assert!((980..=1000).contains(&rows), "{rows} rows");
        let error = error.unwrap();
        assert!(
            error.contains("the disk is gone") && error.contains(&format!("row {}", rows + 1)),
            "{error}"
        );
    }
}
