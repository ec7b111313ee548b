#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
//! Input text to rows, or to the error a person would read.

use std::io::Cursor;

use arrow::array::{Array, AsArray};
use proptest::prelude::*;

use super::CsvReader;
use crate::csv::{CsvOptions, Encoding, RowTerminator};
use crate::{FormatError, Reason};

type Cells = Vec<Vec<Option<String>>>;

fn plain() -> CsvOptions {
    CsvOptions { header: false, ..CsvOptions::default() }
}

fn bar() -> CsvOptions {
    CsvOptions { delimiter: "|".into(), quote: None, ..plain() }
}

/// Reads all rows, and the error that ended them.
fn read(
    bytes: &[u8],
    options: &CsvOptions,
    block_bytes: usize,
    batch_rows: usize,
) -> (Cells, Option<FormatError>) {
    let input = Box::new(Cursor::new(bytes.to_vec()));
    match CsvReader::with_block_bytes(input, "t.csv", options, batch_rows, block_bytes) {
        Ok(reader) => cells_of(reader, batch_rows),
        Err(error) => (Vec::new(), Some(error)),
    }
}

/// Row, byte offset, text and reason.
type Refused = (u64, u64, Vec<u8>, String);

/// Reads as [`read`] does, and collects the rows of another shape.
fn read_collecting(
    bytes: &[u8],
    options: &CsvOptions,
    block_bytes: usize,
    batch_rows: usize,
) -> ((Cells, Option<FormatError>), Vec<Refused>) {
    use crate::BatchReader as _;
    let input = Box::new(Cursor::new(bytes.to_vec()));
    match CsvReader::with_block_bytes(input, "t.csv", options, batch_rows, block_bytes) {
        Ok(mut reader) => {
            let rejects = reader.rejects().unwrap();
            let read = cells_of(reader, batch_rows);
            let refused = rejects.take().into_iter();
            (read, refused.map(|row| (row.row, row.byte_offset, row.raw, row.reason.to_string())).collect())
        }
        Err(error) => ((Vec::new(), Some(error)), Vec::new()),
    }
}

fn cells_of(reader: CsvReader, batch_rows: usize) -> (Cells, Option<FormatError>) {
    let mut cells = Vec::new();
    for batch in reader {
        let batch = match batch {
            Ok(batch) => batch,
            Err(error) => return (cells, Some(error)),
        };
        assert!(batch.num_rows() > 0 && batch.num_rows() <= batch_rows);
        for row in 0..batch.num_rows() {
            let cell = |column: &std::sync::Arc<dyn Array>| {
                column.is_valid(row).then(|| column.as_string::<i32>().value(row).to_owned())
            };
            cells.push(batch.columns().iter().map(cell).collect());
        }
    }
    (cells, None)
}

/// Shows rows as text: cells in brackets, NULL as `-`; then the error, if any.
fn show(bytes: &[u8], options: &CsvOptions) -> String {
    let (cells, error) = read(bytes, options, 1 << 16, 1000);
    let mut lines: Vec<String> = cells
        .iter()
        .map(|row| {
            row.iter().map(|cell| cell.as_ref().map_or("-".into(), |text| format!("[{text}]"))).collect()
        })
        .collect();
    lines.extend(error.map(|error| format!("! {error}")));
    lines.join(" / ")
}

#[track_caller]
fn check(input: &str, options: &CsvOptions, expected: &str) {
    assert_eq!(show(input.as_bytes(), options), expected, "input {input:?}");
}

#[test]
fn quoted_dialect() {
    for (input, expected) in [
        ("a,b\n1,2\n", "[a][b] / [1][2]"),
        ("a,b\n1,2", "[a][b] / [1][2]"),
        ("a,b\r\n1,2\r\n", "[a][b] / [1][2]"),
        ("a,b\r\n1,2\n3,4\r", "[a][b] / [1][2] / [3][4]"),
        ("a\rb,c\n", "[a\rb][c]"),
        (",\n", "--"),
        ("\"\",\n", "[]-"),
        (",\"\"\r\n", "-[]"),
        ("x,\r\n", "[x]-"),
        ("\"a,b\",\"c\nd\"\n", "[a,b][c\nd]"),
        ("\"a\r\nb\",c\n", "[a\r\nb][c]"),
        ("\"say \"\"hi\"\"\",\"\"\"\"\n", "[say \"hi\"][\"]"),
        ("\"\"\"\"\"\",x\n", "[\"\"][x]"),
        ("a\"b,\"c\"\n", "[a\"b][c]"),
        ("a,b\n\n\n1,2\n\n", "[a][b] / [1][2]"),
        ("\"a\",\"b\"", "[a][b]"),
        ("\"a\",\"b\"\r\n", "[a][b]"),
        ("é,\"ü\"\n", "[é][ü]"),
        (" a , b \n", "[ a ][ b ]"),
        ("a,b\n1\n", "[a][b] / ! t.csv, row 2, line 2, byte 4: expected 2 fields, found 1"),
        ("a,b\n1,2,3\n4,5\n", "[a][b] / ! t.csv, row 2, line 2, byte 4: expected 2 fields, found 3"),
        (
            "\"a\n\n\",b\n\n1,2\nx\n",
            "[a\n\n][b] / [1][2] / ! t.csv, row 3, line 6, byte 13: expected 2 fields, found 1",
        ),
        ("a,\"b\n1,2\n", "! t.csv, line 1, byte 0: a quoted field is never closed"),
        (
            "a,b\n1,\"b\"x\n",
            "[a][b] / ! t.csv, row 2, line 2, byte 9, column \"column2\": text follows a closing quote (a quote inside a \
             quoted field is written twice)",
        ),
        ("", "! t.csv: the file is empty: no header names its columns"),
        ("\n\n", "! t.csv: the file is empty: no header names its columns"),
    ] {
        check(input, &plain(), expected);
    }
}

#[test]
fn one_column_keeps_its_empty_lines() {
    let options = CsvOptions { columns: Some(vec!["a".into()]), ..plain() };
    check("x\n\n\"\"\n", &options, "[x] / - / []");
    check("", &options, "");
    check("\n", &options, "-");
    check("x\n\r\ny", &options, "[x] / - / [y]");
}

#[test]
fn quotes_are_text_when_quoting_is_off() {
    check("1|a \"raw\" quote|\n2|\"|x\n", &bar(), "[1][a \"raw\" quote]- / [2][\"][x]");
    check("1|2\r\n", &bar(), "[1][2]");
}

#[test]
fn delimiters_and_terminators_of_several_characters() {
    let options =
        CsvOptions { delimiter: "||".into(), row_terminator: RowTerminator::Text("|~\n".into()), ..plain() };
    check("a||b|~\nc|d||\"e||f\"|~\n", &options, "[a][b] / [c|d][e||f]");
    check("a|||b|~\n", &options, "[a][|b]");
    check("a||b|~", &options, "[a][b|~]");
    let options =
        CsvOptions { delimiter: "→".into(), row_terminator: RowTerminator::Text("\n".into()), ..plain() };
    check("a→b\r\nc→\n", &options, "[a][b\r] / [c]-");
    let options =
        CsvOptions { delimiter: "\0".into(), row_terminator: RowTerminator::Text("\0\0".into()), ..plain() };
    check("a\0b\0\0c\0d\0\0", &options, "[a][b] / [c][d]");
    let options = CsvOptions { row_terminator: RowTerminator::Text(";".into()), ..plain() };
    check("a,b;c;", &options, "[a][b] / ! t.csv, row 2, line 2, byte 4: expected 2 fields, found 1");
}

#[test]
fn null_text_takes_the_place_of_the_empty_field() {
    let options = CsvOptions { null_texts: vec!["NULL".into()], ..plain() };
    check("NULL,\"NULL\",,null\n", &options, "-[NULL][][null]");
}

#[test]
fn headers_and_names() {
    let names = |text: &str, options: &CsvOptions| -> Result<Vec<String>, FormatError> {
        let reader = CsvReader::new(Cursor::new(text.as_bytes().to_vec()), "t.csv", options, 10)?;
        Ok(reader.schema.fields().iter().map(|field| field.name().clone()).collect())
    };
    let header = CsvOptions::default();
    assert_eq!(
        names("id,\"full \"\"name\"\"\",\n1,2,3\n", &header).unwrap(),
        ["id", "full \"name\"", "column3"]
    );
    assert_eq!(names("\r\nid,b\r\n", &header).unwrap(), ["id", "b"]);
    assert_eq!(names("7,8\n", &plain()).unwrap(), ["column1", "column2"]);
    let named = CsvOptions { columns: Some(vec!["x".into(), "y".into()]), ..header };
    assert_eq!(names("id,b\n1,2\n", &named).unwrap(), ["x", "y"]);
    assert_eq!(show(b"id,b\n1,2\n", &named), "[1][2]");
    assert!(matches!(
        *names("id\n1\n", &named).unwrap_err().reason,
        Reason::Ragged { expected: 2, found: 1 }
    ));
}

#[test]
fn lines_of_rows_survive_breaks_blank_lines_and_the_header() {
    let text = "h,i\n1,2\n\n\"3\n\n\",4\n5,6\r\n7,8";
    for block_bytes in [1, 3, 1000] {
        for batch_rows in [1, 2, 100] {
            let input = Box::new(Cursor::new(text.as_bytes().to_vec()));
            let options = CsvOptions::default();
            let mut reader =
                CsvReader::with_block_bytes(input, "t", &options, batch_rows, block_bytes).unwrap();
            let lines = reader.row_lines();
            assert_eq!(reader.by_ref().map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 4);
            let found: Vec<_> = (0..=4).map(|row| lines.line_of_row(row)).collect();
            assert_eq!(found, [None, Some(2), Some(4), Some(7), Some(8)]);
        }
    }
}

#[test]
fn encodings_and_byte_order_marks() {
    let utf16 = |text: &str, to_bytes: fn(u16) -> [u8; 2]| {
        text.encode_utf16().flat_map(to_bytes).collect::<Vec<u8>>()
    };
    let with = |name: &str| CsvOptions { encoding: name.parse().unwrap(), ..plain() };
    let expected = "[naïve][€ 😀]";
    let text = "naïve,€ 😀\n";
    assert_eq!(show(text.as_bytes(), &plain()), expected);
    assert_eq!(show(format!("\u{FEFF}{text}").as_bytes(), &with("1252")), expected);
    assert_eq!(show(&utf16(text, u16::to_le_bytes), &with("utf-16le")), expected);
    assert_eq!(show(&utf16(&format!("\u{FEFF}{text}"), u16::to_le_bytes), &plain()), expected);
    assert_eq!(show(&utf16(text, u16::to_be_bytes), &with("utf-16be")), expected);
    assert_eq!(show(&utf16(&format!("\u{FEFF}{text}"), u16::to_be_bytes), &plain()), expected);
    assert_eq!(show(b"na\xEFve,\x80\n", &with("windows-1252")), "[naïve][€]");
    assert_eq!(show(b"na\x8Bve,\xD5\n", &with("cp850")), "[naïve][ı]");
    assert_eq!(show(b"na\xEFve,\x80\n", &with("latin1")), "[naïve][\u{80}]");
    // 0x7C, the bar, is the second byte of this character.
    assert_eq!(show(b"\x83\x7C|x\n", &CsvOptions { encoding: Encoding::CodePage(932), ..bar() }), "[ポ][x]");
    assert!("utf-7".parse::<Encoding>().is_err());
    assert_eq!("UTF-16".parse(), Ok(Encoding::Utf16Le));
}

#[test]
fn malformed_text_is_an_error_behind_the_rows_before_it() {
    let cases: [(&[u8], &str, &str); 5] = [
        (b"a,b\nc,d\xFFe\nf,g\n", "utf-8", "! t.csv, row 2, line 2, byte 7: bytes FF are not valid UTF-8"),
        (b"a,b\nc,\"d\n\xC3", "utf-8", "! t.csv, row 2, line 3, byte 9: bytes C3 are not valid UTF-8"),
        (
            b"a,b\nc,d\x81\xFF\n",
            "cp932",
            "! t.csv, row 2, line 2, byte 7: bytes 81 FF are not valid code page 932",
        ),
        (b"a,b\nc,\xE9\n", "ascii", "! t.csv, row 2, line 2, byte 6: bytes E9 are not valid code page 20127"),
        (
            b"a\0,\0b\0\n\0\x00\xD8x\0\n\0",
            "utf-16le",
            "! t.csv, row 2, line 2, byte 8: bytes 00 D8 are not valid UTF-16LE",
        ),
    ];
    for (bytes, encoding, expected) in cases {
        let options = CsvOptions { encoding: encoding.parse().unwrap(), ..plain() };
        assert_eq!(show(bytes, &options), format!("[a][b] / {expected}"));
    }
}

#[test]
fn byte_offsets_count_bytes_of_the_file() {
    // Every character before the faulty row takes another number of bytes in the file than in UTF-8.
    let text = "é€😀,b\nfaulty\n";
    let utf16: Vec<u8> =
        "\u{FEFF}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let byte_offset = |bytes: &[u8], options: &CsvOptions| {
        let (_, error) = read(bytes, options, 5, 10);
        error.unwrap().place.byte_offset
    };
    assert_eq!(byte_offset(&utf16, &plain()), Some(2 + 2 * 7));
    assert_eq!(byte_offset(text.as_bytes(), &plain()), Some(12));
    let with = |number| CsvOptions { encoding: Encoding::CodePage(number), ..plain() };
    assert_eq!(byte_offset(b"\xE9\x80,b\nfaulty\n", &with(1252)), Some(5));
    assert_eq!(byte_offset(b"\x83\x7C,b\nfaulty\n", &with(932)), Some(5));
}

#[test]
fn a_row_without_end_is_refused_before_it_fills_memory() {
    struct Endless(u64);
    impl std::io::Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            buffer.fill(b'x');
            self.0 += buffer.len() as u64;
            assert!(self.0 < 1 << 20, "read on after the limit");
            Ok(buffer.len())
        }
    }
    let options = CsvOptions { max_row_bytes: 100_000, columns: Some(vec!["a".into()]), ..plain() };
    let mut reader = CsvReader::new(Endless(0), "t", &options, 10).unwrap();
    let error = reader.next().unwrap().unwrap_err();
    assert!(matches!(*error.reason, Reason::RowTooLong { limit_bytes: 100_000 }), "{error}");
    assert!(reader.next().is_none());
}

#[test]
fn dialects_that_cannot_be_told_apart_are_refused() {
    let refused = |options: CsvOptions| options.check().unwrap_err().to_string();
    let text = |text: &str| RowTerminator::Text(text.into());
    for (options, option) in [
        (CsvOptions { delimiter: String::new(), ..plain() }, "option delimiter"),
        (CsvOptions { delimiter: "\n".into(), ..plain() }, "option delimiter"),
        (
            CsvOptions { delimiter: "||".into(), row_terminator: text("|"), ..plain() },
            "option row terminator",
        ),
        (CsvOptions { row_terminator: text(""), ..plain() }, "option row terminator"),
        (CsvOptions { delimiter: "\"".into(), ..plain() }, "option quote"),
        (CsvOptions { null_texts: vec!["a,b".into()], ..plain() }, "option null text"),
        (CsvOptions { max_row_bytes: 0, ..plain() }, "option max_row_bytes"),
        (CsvOptions { columns: Some(Vec::new()), ..plain() }, "option columns"),
    ] {
        assert!(refused(options).starts_with(option));
    }
}

/// Reads a text without errors of quoting by RFC 4180 and the rules of this reader, in the simplest way.
fn reference(text: &str, quote: Option<char>) -> Option<Cells> {
    let mut rows: Vec<Vec<Option<String>>> = Vec::new();
    let mut row: Vec<Option<String>> = Vec::new();
    let mut rest = text;
    while !rest.is_empty() || !row.is_empty() {
        let value;
        if let Some(inner) = quote.and_then(|quote| rest.strip_prefix(quote)) {
            let quote = quote?;
            let mut unquoted = String::new();
            let mut chars = inner.chars().peekable();
            loop {
                match chars.next()? {
                    c if c == quote && chars.peek() == Some(&quote) => {
                        chars.next();
                        unquoted.push(quote);
                    }
                    c if c == quote => break,
                    c => unquoted.push(c),
                }
            }
            rest = &rest[rest.len() - chars.collect::<String>().len()..];
            if rest.starts_with("\r\n") || rest == "\r" {
                rest = &rest[1..];
            }
            value = Some(unquoted);
            if !rest.is_empty() && !rest.starts_with([',', '\n']) {
                return None;
            }
        } else {
            let end = rest.find([',', '\n']).unwrap_or(rest.len());
            let mut bare = &rest[..end];
            if !rest[end..].starts_with(',') {
                bare = bare.strip_suffix('\r').unwrap_or(bare);
            }
            rest = &rest[end..];
            value = (!bare.is_empty()).then(|| bare.to_owned());
        }
        row.push(value);
        match rest.strip_prefix(',') {
            Some(after) if !after.is_empty() => rest = after,
            Some(_) => {
                row.push(None);
                rest = "";
                rows.push(std::mem::take(&mut row));
            }
            None => {
                rest = rest.strip_prefix('\n').unwrap_or(rest);
                rows.push(std::mem::take(&mut row));
            }
        }
    }
    rows.retain(|row| row != &[None]);
    let columns = rows.first()?.len();
    rows.iter().all(|row| row.len() == columns).then_some(rows)
}

/// Reason, row, line and byte offset.
type Shown = (String, Option<u64>, Option<u64>, Option<u64>);

fn shown(error: Option<FormatError>) -> Option<Shown> {
    error.map(|error| (error.reason.to_string(), error.place.row, error.place.line, error.place.byte_offset))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn agrees_with_a_plain_reading(text in "[ab,\"\r\né\n]{0,40}", quoting: bool) {
        let options = CsvOptions { quote: quoting.then_some(b'"'), ..plain() };
        // Lone carriage returns that end rows are tested apart.
        let ends = super::RowEnds::new(&options).look(text.as_bytes(), true);
        if ends == super::RowEnd::Feed && let Some(expected) = reference(&text, quoting.then_some('"')) {
            // One column is special (empty lines are rows) and tested apart.
            if expected[0].len() > 1 {
                let (cells, error) = read(text.as_bytes(), &options, 1 << 16, 1000);
                prop_assert!(error.is_none(), "{}", error.unwrap());
                prop_assert_eq!(cells, expected);
            }
        }
    }

    #[test]
    fn any_split_of_the_input_gives_the_same_rows(
        text in prop_oneof!["[ab,|~\"\r\né\n]{0,60}", "([a-c]{0,3},){2}[a-c\"]{0,3}\n{0,1}".prop_map(|row| row.repeat(5))],
        encoding in prop_oneof![Just(Encoding::Utf8), Just(Encoding::Utf16Le), Just(Encoding::CodePage(1252))],
        dialect in 0..4usize,
        block_bytes in 1..20usize,
        batch_rows in 1..5usize,
        max_row_bytes in 10..80usize,
    ) {
        let dialects = [
            plain(),
            bar(),
            CsvOptions { delimiter: "||".into(), row_terminator: RowTerminator::Text("|~\n".into()), ..plain() },
            CsvOptions { header: true, ..plain() },
        ];
        let options = CsvOptions { encoding, max_row_bytes, ..dialects[dialect].clone() };
        let bytes: Vec<u8> = match encoding {
            Encoding::Utf16Le => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            Encoding::Utf8 => text.into_bytes(),
            _ => text.chars().map(|character| character as u8).collect(),
        };
        let (whole, whole_error) = read(&bytes, &options, 1 << 16, 1000);
        let (split, split_error) = read(&bytes, &options, block_bytes, batch_rows);
        prop_assert_eq!(whole, split);
        prop_assert_eq!(shown(whole_error), shown(split_error));

        let ((whole, whole_error), whole_refused) = read_collecting(&bytes, &options, 1 << 16, 1000);
        let ((split, split_error), split_refused) = read_collecting(&bytes, &options, block_bytes, batch_rows);
        prop_assert_eq!(whole, split);
        prop_assert_eq!(shown(whole_error), shown(split_error));
        prop_assert_eq!(whole_refused, split_refused);
    }

    #[test]
    fn random_bytes_never_panic(
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(b','), Just(b'"'), Just(b'\n')], 0..200),
        encoding in prop_oneof![
            Just(Encoding::Utf8), Just(Encoding::Utf16Le), Just(Encoding::Utf16Be), Just(Encoding::CodePage(932)),
            Just(Encoding::CodePage(437)), Just(Encoding::CodePage(857)), Just(Encoding::CodePage(54936)),
        ],
        block_bytes in 1..64usize,
    ) {
        let options = CsvOptions { encoding, ..plain() };
        let (whole, whole_error) = read(&bytes, &options, 1 << 16, 1000);
        let (split, split_error) = read(&bytes, &options, block_bytes, 3);
        prop_assert_eq!(whole, split);
        prop_assert_eq!(shown(whole_error), shown(split_error));
    }
}

#[test]
fn a_row_is_too_long_before_it_is_malformed_whatever_the_blocks() {
    let delimiters = CsvOptions { delimiter: "||".into(), max_row_bytes: 4, ..plain() };
    let lines = CsvOptions { max_row_bytes: 4, columns: Some(vec!["a".into()]), ..plain() };
    let cases = [
        ("\"ab\"|x", &delimiters, true),
        ("\"ab\"|", &delimiters, true),
        ("\"ab\"x|", &delimiters, false),
        ("\"ab\"\rx\n", &lines, true),
        ("\"a\"\rx\n", &lines, false),
    ];
    for (text, options, too_long) in cases {
        for block_bytes in [1, 2, 3, 100] {
            let (_, error) = read(text.as_bytes(), options, block_bytes, 1);
            let reason = error.unwrap().reason;
            let expected =
                if too_long { Reason::RowTooLong { limit_bytes: 4 } } else { Reason::TextAfterQuote };
            assert_eq!(reason.to_string(), expected.to_string(), "{text:?} in blocks of {block_bytes}");
        }
    }
}

#[test]
fn rows_of_another_shape_are_handed_back_if_someone_collects_them() {
    use crate::BatchReader as _;
    let text = "a,b\n1,2\n3\n\"4\"x,5\n6,7,8\n\"9\n9\",10\n11,12";
    for block_bytes in [1, 5, 1000] {
        let input = Box::new(std::io::Cursor::new(text.as_bytes().to_vec()));
        let mut reader =
            CsvReader::with_block_bytes(input, "text", &CsvOptions::default(), 100, block_bytes).unwrap();
        let rejects = reader.rejects().unwrap();
        let lines = reader.row_lines();
        let rows: usize = reader.map(|batch| batch.unwrap().num_rows()).sum();
        assert_eq!(rows, 3);
        let numbers: Vec<Option<u64>> = (1..=6).map(|row| lines.line_of_row(row)).collect();
        assert_eq!(numbers, [2, 3, 4, 5, 6, 8].map(Some));
        let found: Vec<(u64, u64, String, String)> = rejects
            .take()
            .into_iter()
            .map(|row| {
                let raw = String::from_utf8(row.raw).unwrap();
                (row.row, row.byte_offset, raw, row.reason.to_string())
            })
            .collect();
        let expected = [
            (2, 8, "3\n", "expected 2 fields, found 1"),
            (
                3,
                10,
                "\"4\"x,5\n",
                "text follows a closing quote (a quote inside a quoted field is written twice)",
            ),
            (4, 17, "6,7,8\n", "expected 2 fields, found 3"),
        ]
        .map(|(row, byte, raw, reason)| (row, byte, raw.to_owned(), reason.to_owned()));
        assert_eq!(found, expected, "blocks of {block_bytes}");
    }
}
