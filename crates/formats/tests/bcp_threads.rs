//! Host files that several threads read: rows, places, refused rows, warnings and errors of one thread, in its order.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{Cursor, Write};

use arrow::compute::concat_batches;
use arrow::record_batch::RecordBatch;
use formats::bcp::{
    DataMode, FormatFile, HostFormat, HostReadOptions, HostReader, HostType, HostWriteOptions, HostWriter,
    LayoutOptions, Tolerance, declare,
};
use formats::{Compression, Format, Location, open};
use proptest::prelude::*;
use tds::Column;

/// All that a reader says of a file.
#[derive(Debug, PartialEq)]
struct Told {
    rows: RecordBatch,
    places: Vec<(u64, u64, usize, Option<Vec<u8>>)>,
    rejected: Vec<String>,
    suffered: Vec<String>,
    error: Option<String>,
    rows_seen: u64,
}

fn told(mut reader: HostReader) -> Told {
    let (mut batches, mut places, mut rejected, mut error) = (Vec::new(), Vec::new(), Vec::new(), None);
    for batch in reader.by_ref() {
        assert_eq!(error, None, "rows behind an error");
        match batch {
            Ok(batch) => {
                let positions = &batch.positions;
                places.extend((0..positions.len()).map(|row| {
                    let raw = positions.raw(row).map(<[u8]>::to_vec);
                    (positions.row(row), positions.byte_offset(row), positions.byte_len(row), raw)
                }));
                rejected.extend(batch.rejected.iter().map(|row| format!("{row:?}")));
                batches.push(batch.batch);
            }
            Err(found) => error = Some(found.to_string()),
        }
    }
    assert!(reader.next().is_none());
    Told {
        rows: concat_batches(&reader.schema(), &batches).unwrap(),
        places,
        rejected,
        suffered: reader.suffered().iter().map(|suffered| format!("{suffered:?}")).collect(),
        error,
        rows_seen: reader.rows_seen(),
    }
}

/// Reads a file by one thread, and by several in blocks of another size.
fn compare(
    file: &[u8],
    layout: &FormatFile,
    columns: &[Column],
    options: &HostReadOptions,
    (blocks, threads): (usize, usize),
) -> Result<(), TestCaseError> {
    let open = |block_bytes| {
        let input = Box::new(Cursor::new(file.to_vec()));
        HostReader::with_block_bytes(input, "in.dat", layout, columns, options, block_bytes)
    };
    let (one, several) = (open(1 << 20), open(blocks));
    match (one, several) {
        (Ok(one), Ok(mut several)) => {
            several.read_ahead(threads);
            prop_assert_eq!(told(several), told(one));
        }
        (one, several) => {
            prop_assert_eq!(several.err().map(|e| e.to_string()), one.err().map(|e| e.to_string()))
        }
    }
    Ok(())
}

const TABLE: &str =
    "id int not null, name varchar(12) null, code nvarchar(6) null, amount decimal(9,2) null, day date null";

/// Field and row terminators: of one byte and of several, one that begins another, the same for both.
const ENDS: &[(&str, &str)] =
    &[("\t", "\n"), ("|", "\r\n"), ("||", "|\n"), (",", ",\n"), ("ab", "\0"), ("\n", "\n"), (";", "aab")];

fn layout(columns: &[Column], mode: DataMode, (field, row): (&str, &str)) -> FormatFile {
    let options = LayoutOptions {
        field_terminator: field.as_bytes().to_vec(),
        row_terminator: row.as_bytes().to_vec(),
        collations: false,
        ..LayoutOptions::default()
    };
    FormatFile::for_columns(columns, mode, &options)
}

/// Fields of fixed width, with or without something behind them.
fn fixed(columns: &[Column], end: &str) -> FormatFile {
    let mut layout = layout(columns, DataMode::Character, ("", end));
    let last = layout.fields.len() - 1;
    for (index, field) in layout.fields.iter_mut().enumerate() {
        (field.host_type, field.length) = (HostType::Char, 10);
        if index < last {
            field.terminator.clear();
        }
    }
    layout
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[0-9]{1,4}",
        2 => "-?[0-9]{1,3}\\.[0-9]{1,2}",
        2 => "20[0-9]{2}-0[1-9]-[012][0-9]",
        2 => "[a-cé ]{0,8}",
        1 => Just(String::new()),
        // Characters that end fields and rows in other files.
        1 => "[\t\n|,\r;ab\u{0}]{0,3}",
    ]
}

fn options(
    strict: bool,
    (first, last): (u64, Option<u64>),
    keep_raw_rows: bool,
    batch_rows: usize,
) -> HostReadOptions {
    HostReadOptions {
        tolerance: if strict { Tolerance::strict() } else { Tolerance::vendor() },
        first_row: first,
        last_row: last,
        keep_raw_rows,
        batch_rows,
        ..HostReadOptions::default()
    }
}

prop_compose! {
    fn any_options()(
        strict in prop::bool::weighted(0.2),
        first in prop_oneof![4 => Just(1_u64), 1 => 1_u64..40],
        last in prop_oneof![4 => Just(None), 1 => (1_u64..60).prop_map(Some)],
        raw in any::<bool>(),
        batch_rows in prop_oneof![Just(7_usize), Just(65_536)],
    ) -> HostReadOptions {
        options(strict, (first, last), raw, batch_rows)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn text_of_any_terminators(
        rows in prop::collection::vec(prop::collection::vec(value(), 5), 0..120),
        ends in prop::sample::select(ENDS),
        wide in any::<bool>(),
        whole in any::<bool>(),
        cut in prop_oneof![3 => Just(None), 1 => (0_usize..4000).prop_map(Some)],
        mark in any::<bool>(),
        options in any_options(),
        reading in (1_usize..600, 2_usize..5),
    ) {
        let columns = declare(TABLE).unwrap();
        let mode = if wide { DataMode::UnicodeCharacter } else { DataMode::Character };
        let mut text: String = if mark { "\u{FEFF}".to_owned() } else { String::new() };
        text += &rows.iter().map(|row| row.join(ends.0)).collect::<Vec<_>>().join(ends.1);
        if whole {
            text += ends.1;
        }
        let mut file: Vec<u8> = match wide {
            true => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            false => text.into_bytes(),
        };
        file.truncate(cut.unwrap_or(usize::MAX));
        compare(&file, &layout(&columns, mode, ends), &columns, &options, reading)?;
    }

    #[test]
    fn fields_of_fixed_width(
        rows in prop::collection::vec(prop::collection::vec("[0-9]{0,10}", 5), 0..120),
        end in prop::sample::select(&["", "\n", "\r\n"][..]),
        cut in prop_oneof![3 => Just(None), 1 => (0_usize..4000).prop_map(Some)],
        blank in any::<bool>(),
        options in any_options(),
        reading in (1_usize..600, 2_usize..5),
    ) {
        let columns = declare(TABLE).unwrap();
        let row = |row: &Vec<String>| row.iter().map(|value| format!("{value:<10}")).collect::<String>() + end;
        let mut file = rows.iter().map(row).collect::<String>().into_bytes();
        file.truncate(cut.unwrap_or(usize::MAX));
        let options = HostReadOptions { blank_is_null: blank, ..options };
        compare(&file, &fixed(&columns, end), &columns, &options, reading)?;
    }

    #[test]
    fn native_values_behind_their_lengths(
        rows in prop::collection::vec((any::<i32>(), prop::option::of("[a-zé\n\t]{0,12}"), prop::option::of("[a-z日]{0,6}")), 0..200),
        wide in any::<bool>(),
        cut in prop_oneof![2 => Just(None), 1 => (0_usize..4000).prop_map(Some)],
        damage in prop_oneof![3 => Just(None), 1 => (0_usize..4000, any::<u8>()).prop_map(Some)],
        options in any_options(),
        reading in (1_usize..600, 2_usize..5),
    ) {
        let columns = declare("id int not null, name varchar(12) null, code nvarchar(6) null").unwrap();
        let text = rows.iter().map(|(id, name, code)| {
            // The reader of text makes batches for the writer of native values.
            let text = |value: &Option<String>| value.as_ref().map_or(String::new(), |text| match text.as_str() {
                "" => "\0".to_owned(),
                text => text.to_owned(),
            });
            format!("{id}\u{1}{}\u{1}{}\u{2}", text(name), text(code))
        });
        let text = text.collect::<String>().into_bytes();
        let ends = ("\u{1}", "\u{2}");
        let character = layout(&columns, DataMode::Character, ends);
        let reader = HostReader::new(Cursor::new(text), "t", &character, &columns, &HostReadOptions::default()).unwrap();
        let mode = if wide { DataMode::UnicodeNative } else { DataMode::Native };
        let native = layout(&columns, mode, ends);
        let schema = reader.schema();
        let mut writer =
            HostWriter::new(Vec::new(), "t", &native, &columns, &schema, &HostWriteOptions::default()).unwrap();
        for batch in reader {
            writer.write_batch(&batch.unwrap().batch).unwrap();
        }
        let mut file = writer.into_output().unwrap();
        file.truncate(cut.unwrap_or(usize::MAX));
        if let Some((at, byte)) = damage
            && let Some(place) = file.get_mut(at)
        {
            *place = byte;
        }
        compare(&file, &native, &columns, &options, reading)?;
    }
}

#[test]
fn a_large_file_is_read_by_threads_that_its_user_asks_for() {
    let columns = declare(TABLE).unwrap();
    let mut text = Vec::new();
    for row in 0..200_000 {
        writeln!(
            text,
            "{row}\tname {}\tä{}\t{}.25\t2026-01-0{}",
            row % 977,
            row % 99,
            row % 1000,
            1 + row % 9
        )
        .unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.dat");
    std::fs::write(&path, &text).unwrap();
    let format = Format::Host(Box::new(HostFormat::for_columns(
        columns,
        DataMode::Character,
        &LayoutOptions::default(),
    )));
    let read = |threads: usize| {
        let mut reader = open(&Location::Path(path.clone()), &format, Compression::None, 65_536).unwrap();
        reader.use_threads(threads);
        let batches: Vec<RecordBatch> = reader.by_ref().map(Result::unwrap).collect();
        (concat_batches(&reader.schema(), &batches).unwrap(), batches.len())
    };
    let (one, batches) = read(1);
    assert_eq!((one.num_rows(), batches), (200_000, 4));
    let (several, batches) = read(3);
    assert_eq!(several, one);
    assert!(batches > 4, "one thread has read");
}
