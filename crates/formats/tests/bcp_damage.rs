//! Files at odds with their description: what is loaded, what is said, and what `strict` refuses.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{self, Read};
use std::path::Path;

use arrow::array::RecordBatch;
use formats::bcp::{
    DataMode, Deviation, FileCodePage, FormatFile, HostReadOptions, HostReader, HostWriteOptions, HostWriter,
    LayoutOptions, Tolerance, UnmappableText, declare,
};
use formats::{Compression, FormatError, Location};
use tds::{CodePage, Column};

/// Result of reading, in few words.
#[derive(Debug, PartialEq)]
struct Outcome {
    rows: usize,
    rejected: Vec<String>,
    suffered: Vec<String>,
    error: Option<String>,
}

fn outcome(reader: Result<HostReader, FormatError>) -> Outcome {
    let mut outcome = Outcome { rows: 0, rejected: Vec::new(), suffered: Vec::new(), error: None };
    let mut reader = match reader {
        Ok(reader) => reader,
        Err(error) => return Outcome { error: Some(error.to_string()), ..outcome },
    };
    for batch in reader.by_ref() {
        match batch {
            Ok(batch) => {
                assert_eq!(outcome.error, None, "rows behind an error");
                outcome.rows += batch.batch.num_rows();
                outcome.rejected.extend(batch.rejected.iter().map(|row| {
                    format!(
                        "row {}, byte {}, {:?} {:?}: {}",
                        row.row, row.byte_offset, row.column, row.value, row.reason
                    )
                }));
            }
            Err(error) => outcome.error = Some(error.to_string()),
        }
    }
    outcome.suffered = reader.suffered().iter().map(ToString::to_string).collect();
    outcome
}

fn columns() -> Vec<Column> {
    declare("id int not null, name varchar(10) null, day date null").unwrap()
}

fn layout(columns: &[Column], mode: DataMode) -> FormatFile {
    FormatFile::for_columns(columns, mode, &LayoutOptions { collations: false, ..LayoutOptions::default() })
}

fn read(file: &[u8], columns: &[Column], mode: DataMode, options: &HostReadOptions) -> Outcome {
    let input = io::Cursor::new(file.to_vec());
    outcome(HostReader::new(input, "in.dat", &layout(columns, mode), columns, options))
}

fn character(file: &[u8]) -> Outcome {
    read(file, &columns(), DataMode::Character, &HostReadOptions::default())
}

fn strict(file: &[u8]) -> Outcome {
    let options = HostReadOptions { tolerance: Tolerance::strict(), ..HostReadOptions::default() };
    read(file, &columns(), DataMode::Character, &options)
}

fn expect(found: Outcome, rows: usize, rejected: &[&str], suffered: &[&str], error: Option<&str>) {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let expected = Outcome {
        rows,
        rejected: owned(rejected),
        suffered: owned(suffered),
        error: error.map(str::to_owned),
    };
    assert_eq!(found, expected);
}

#[test]
fn a_short_row_swallows_the_next() {
    let file = b"1\tab\t2026-03-14\n2\tcd\n3\tef\t2026-03-16\n4\tgh\t2026-03-17\n";
    expect(
        character(file),
        2,
        &["row 2, byte 16, \"day\" \"ef\\t2026-03-16\": not a value of type date"],
        &[
            "row 2, byte 16, column \"name\": the field contains the row terminator: fields are missing and rows run together",
            "row 2, byte 16, column \"day\": the last field contains the field terminator: the row has more fields than described",
        ],
        None,
    );
    // A wide last column would have taken it; the field in front shows what happened.
    let file = b"1\tab\t\n2\n3\tef\t\n";
    expect(
        character(file),
        1,
        &["row 2, byte 6, \"id\" \"2\\n3\": not a value of type int"],
        &[
            "row 2, byte 6, column \"id\": the field contains the row terminator as data, or a row lacks fields and swallowed the next: the row has as many fields as described",
        ],
        None,
    );
    let names = declare("name varchar(10) null, more varchar(10) null").unwrap();
    let options = HostReadOptions::default();
    expect(
        read(b"a\nb\tc\n", &names, DataMode::Character, &options),
        1,
        &[],
        &[
            "row 1, byte 0, column \"name\": the field contains the row terminator as data, or a row lacks fields and swallowed the next: the row has as many fields as described",
        ],
        None,
    );
    // A terminator within a field is what bcp writes of such a value, so a reader by its rules takes it.
    let takes = Tolerance::strict().suffer(Deviation::RowEndInField);
    let whole = read(
        b"a\nb\tc\n",
        &names,
        DataMode::Character,
        &HostReadOptions { tolerance: takes, ..options.clone() },
    );
    assert_eq!((whole.rows, whole.rejected.len()), (1, 0));
    let torn = read(
        b"a\nb\tc\td\n",
        &names,
        DataMode::Character,
        &HostReadOptions { tolerance: takes, ..options.clone() },
    );
    assert_eq!((torn.rows, torn.rejected.len()), (0, 1));
    let options = HostReadOptions { tolerance: Tolerance::strict(), ..options };
    expect(
        read(b"a\nb\tc\n", &names, DataMode::Character, &options),
        0,
        &[
            "row 1, byte 0, \"name\" \"a\\nb\": the field contains the row terminator as data, or a row lacks fields and swallowed the next: the row has as many fields as described",
        ],
        &[],
        None,
    );
}

#[test]
fn too_many_fields_end_up_in_the_last() {
    let columns = declare("id int not null, name varchar(30) null").unwrap();
    let options = HostReadOptions::default();
    let note = "the last field contains the field terminator: the row has more fields than described";
    expect(
        read(b"1\tab\textra\n", &columns, DataMode::Character, &options),
        1,
        &[],
        &[&format!("row 1, byte 0, column \"name\": {note}")],
        None,
    );
    let options = HostReadOptions { tolerance: Tolerance::strict(), ..options };
    expect(
        read(b"1\tab\textra\n", &columns, DataMode::Character, &options),
        0,
        &[&format!("row 1, byte 0, \"name\" \"ab\\textra\": {note}")],
        &[],
        None,
    );
}

#[test]
fn the_end_of_the_file_comes_too_early() {
    let missing = "row 2, byte 6, column \"day\": the last row has no terminator";
    expect(character(b"1\tab\t\n2\tcd\t2026-03-14"), 2, &[], &[missing], None);
    expect(
        strict(b"1\tab\t\n2\tcd\t2026-03-14"),
        1,
        &["row 2, byte 6, \"day\" \"2026-03-14\": the last row has no terminator"],
        &[],
        None,
    );
    for tail in ["2\tcd", "2\t", "2", "\n"] {
        let column = if tail.contains('\t') { "name" } else { "id" };
        let message = format!("in.dat, row 2, byte 6, column {column:?}: the file ends inside this row");
        expect(character(format!("1\tab\t\n{tail}").as_bytes()), 1, &[], &[], Some(&message));
    }
    expect(character(b""), 0, &[], &[], None);
    expect(
        character(b"\n"),
        0,
        &[],
        &[],
        Some("in.dat, row 1, byte 0, column \"id\": the file ends inside this row"),
    );
}

#[test]
fn text_in_another_code_page() {
    let file = b"1\th\xE9\t\n";
    let invalid = "bytes are not text in the field's encoding";
    expect(
        character(file),
        1,
        &[],
        &[
            &format!("row 1, byte 0, column \"name\": {invalid}"),
            "row 1, byte 0, column \"name\": the column's code page lacks a character of the text",
        ],
        None,
    );
    expect(strict(file), 0, &[&format!("row 1, byte 0, \"name\" \"h\u{FFFD}\": {invalid}")], &[], None);
    let options = HostReadOptions {
        code_page: FileCodePage::Page(CodePage::Cp1252),
        tolerance: Tolerance::strict(),
        ..HostReadOptions::default()
    };
    expect(read(file, &columns(), DataMode::Character, &options), 1, &[], &[], None);
    let marked = b"\xEF\xBB\xBF1\th\xC3\xA9\t\n";
    expect(character(marked), 1, &[], &[], None);
    expect(
        read(marked, &columns(), DataMode::Character, &options),
        0,
        &[],
        &[],
        Some(
            "in.dat, row 1, byte 0, column \"id\": a byte-order mark at the start of the file is taken for data",
        ),
    );
}

#[test]
fn odd_bytes_and_zeros() {
    let columns = declare("name nvarchar(10) null").unwrap();
    let options = HostReadOptions::default();
    let native = b"\x03\0a\0b\x02\0c\0";
    expect(
        read(native, &columns, DataMode::Native, &options),
        2,
        &[],
        &["row 1, byte 0, column \"name\": UTF-16 text has an odd number of bytes; the last one is dropped"],
        None,
    );
    let options = HostReadOptions { tolerance: Tolerance::strict(), ..options };
    assert_eq!(read(native, &columns, DataMode::Native, &options).rejected.len(), 1);
    // One NUL alone is the empty string; among others it is a character.
    expect(character(b"1\t\0\t\n2\ta\0b\t\n"), 2, &[], &[], None);
    expect(character(b"\0\tab\t\n"), 1, &[], &[], None);
    expect(
        character(b"1\0\tab\t\n"),
        0,
        &["row 1, byte 0, \"id\" \"1\\0\": not a value of type int"],
        &[],
        None,
    );
}

#[test]
fn native_files_of_another_table() {
    let columns = declare("id int not null, name varchar(max) null, n int null").unwrap();
    let options = HostReadOptions::default();
    let row = b"\x01\0\0\0\x02\0\0\0\0\0\0\0ab\x04\x05\0\0\0";
    expect(read(row, &columns, DataMode::Native, &options), 1, &[], &[], None);
    // A length that reaches beyond the end, one that nothing has, and ends within a field, a length, a first field.
    let mut long = row.to_vec();
    long[4] = 0x7F;
    expect(
        read(&long, &columns, DataMode::Native, &options),
        0,
        &[],
        &[],
        Some("in.dat, row 1, byte 0, column \"name\": the file ends inside this row"),
    );
    long[11] = 0x7F;
    expect(
        read(&long, &columns, DataMode::Native, &options),
        0,
        &[],
        &[],
        Some(
            "in.dat, row 1, byte 0, column \"name\": a value is said to be 9151314442816847999 bytes long; is the file of another format?",
        ),
    );
    for (end, error) in [
        (13, Some("in.dat, row 1, byte 0, column \"name\": the file ends inside this row")),
        (17, Some("in.dat, row 1, byte 0, column \"n\": the file ends inside this row")),
    ] {
        expect(read(&row[..end], &columns, DataMode::Native, &options), 0, &[], &[], error);
    }
    let dropped =
        "the file ends at the start of a row, inside its first field or a length; the bytes are dropped";
    for end in [2, 8, 14] {
        let suffered = format!("row 1, byte 0: {dropped}");
        expect(read(&row[..end], &columns, DataMode::Native, &options), 0, &[], &[&suffered], None);
    }
    let options = HostReadOptions { tolerance: Tolerance::strict(), ..options };
    expect(
        read(&row[..2], &columns, DataMode::Native, &options),
        0,
        &[],
        &[],
        Some(&format!("in.dat, row 1, byte 0: {dropped}")),
    );
}

#[test]
fn a_field_without_end() {
    /// Letters for as long as anyone reads.
    struct Endless;
    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            buffer.fill(b'x');
            Ok(buffer.len())
        }
    }
    let columns = columns();
    let options = HostReadOptions { max_row_bytes: 4 << 20, ..HostReadOptions::default() };
    let reader =
        HostReader::new(Endless, "in.dat", &layout(&columns, DataMode::Character), &columns, &options);
    expect(
        outcome(reader),
        0,
        &[],
        &[],
        Some(
            "in.dat, row 1, byte 0: the row is longer than 4194304 bytes; is a quote left open, or the row terminator another?",
        ),
    );
}

#[test]
fn files_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let columns = columns();
    let open = |path: &Path| {
        let location = Location::Path(path.to_owned());
        let layout = layout(&columns, DataMode::Character);
        let options = HostReadOptions::default();
        outcome(HostReader::open(&location, Compression::None, &layout, &columns, &options))
    };
    let missing = folder.path().join("missing.dat");
    let message = format!("{}: No such file or directory (os error 2)", missing.display());
    expect(open(&missing), 0, &[], &[], Some(&message));
    let message = format!("{}: Is a directory (os error 21)", folder.path().display());
    expect(open(folder.path()), 0, &[], &[], Some(&message));

    /// A disk that fails.
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::new(io::ErrorKind::PermissionDenied, "permission denied"))
        }
    }
    let layout = layout(&columns, DataMode::Character);
    let reader = HostReader::new(Broken, "in.dat", &layout, &columns, &HostReadOptions::default());
    expect(outcome(reader), 0, &[], &[], Some("in.dat: permission denied"));
}

#[test]
fn rows_are_kept_as_they_stand_in_the_file() {
    let columns = columns();
    let options = HostReadOptions {
        keep_raw_rows: true,
        first_row: 2,
        last_row: Some(4),
        ..HostReadOptions::default()
    };
    let file = b"1\ta\t\n2\tb\t\nx\tc\t\n4\td\t\n5\te\t\n".to_vec();
    let layout = layout(&columns, DataMode::Character);
    let mut reader = HostReader::with_block_bytes(
        Box::new(io::Cursor::new(file)),
        "in.dat",
        &layout,
        &columns,
        &options,
        3,
    )
    .unwrap();
    let batch = reader.next().unwrap().unwrap();
    let rows: Vec<(u64, u64, &[u8])> = (0..batch.positions.len())
        .map(|index| {
            let positions = &batch.positions;
            (positions.row(index), positions.byte_offset(index), positions.raw(index).unwrap())
        })
        .collect();
    assert_eq!(rows, [(2, 5, &b"2\tb\t\n"[..]), (4, 15, b"4\td\t\n")]);
    assert_eq!((batch.rejected[0].row, batch.rejected[0].raw.as_slice()), (3, &b"x\tc\t\n"[..]));
    assert!(reader.next().is_none());
    assert_eq!(reader.rows_seen(), 4);
}

#[test]
fn what_a_written_file_cannot_give_back() {
    let columns = declare("name nvarchar(10) null").unwrap();
    let array = arrow::array::StringArray::from(vec![Some("a\nb"), Some("Ω€"), None]);
    let batch =
        RecordBatch::try_from_iter([("name", std::sync::Arc::new(array) as arrow::array::ArrayRef)]).unwrap();
    let write = |options: &HostWriteOptions| -> (String, Vec<String>) {
        let layout = layout(&columns, DataMode::Character);
        let mut writer =
            HostWriter::new(Vec::new(), "out.dat", &layout, &columns, &batch.schema(), options).unwrap();
        let result = match writer.write_batch(&batch) {
            Ok(()) => "written".to_owned(),
            Err(error) => error.to_string(),
        };
        (result, writer.suffered().iter().map(ToString::to_string).collect())
    };
    let page = FileCodePage::Page(CodePage::Cp850);
    let options = HostWriteOptions { code_page: page, ..HostWriteOptions::default() };
    assert_eq!(
        write(&options),
        (
            "written".to_owned(),
            vec![
                "row 2, byte 0, column \"name\": the column's code page lacks a character of the text".to_owned(),
                "row 1, byte 0, column \"name\": the value contains the field's terminator; the file will not read back"
                    .to_owned()
            ]
        )
    );
    let refusing = HostWriteOptions { unmappable: UnmappableText::Refuse, ..options.clone() };
    assert_eq!(
        write(&refusing).0,
        "out.dat, row 2, column \"name\": code page 850 has no character 'Ω' (U+03A9)"
    );
    let refusing = HostWriteOptions { refuse_terminators: true, ..options };
    assert_eq!(
        write(&refusing).0,
        "out.dat, row 1, column \"name\": the value contains the field's terminator; the file will not read back (value \"a\\nb\")"
    );
    assert_eq!(Deviation::ALL.len(), 21);
}
