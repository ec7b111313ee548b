//! Any values of any type, through every mode and back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Cursor;

use arrow::array::RecordBatch;
use formats::bcp::{
    ByteOrderMark, DataMode, FormatFile, HostReadOptions, HostReader, HostWriteOptions, HostWriter,
    LayoutOptions, LongValues, NativeVersion, declare,
};
use proptest::prelude::*;
use rows::text::calendar::{DAYS_MAX, DAYS_TO_1753, DAYS_TO_1900, civil_from_days};
use tds::{Collation, Column};

/// The text of one value of each type, from any number.
type Spelling = fn(u64) -> String;

fn date(days: i32) -> String {
    let (year, month, day) = civil_from_days(days);
    format!("{year:04}-{month:02}-{day:02}")
}

fn clock(number: u64, digits: u32) -> String {
    let seconds = number % 86_400;
    let fraction = (number / 86_400) % 10_u64.pow(digits);
    let clock = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if digits == 0 { clock } else { format!("{clock}.{fraction:0width$}", width = digits as usize) }
}

fn any_day(number: u64) -> i32 {
    (number % (DAYS_MAX as u64 + 1)) as i32
}

fn text(number: u64) -> String {
    // Letters of one to four bytes, and no terminator.
    let letters = ['a', 'Z', ' ', '"', '\'', 'é', 'ß', '€', '日', '😀', '\u{7F}'];
    (0..number % 9).map(|place| letters[(number >> (place * 5)) as usize % letters.len()]).collect()
}

const TYPES: &[(&str, Spelling)] = &[
    ("bit", |n| (n & 1).to_string()),
    ("tinyint", |n| (n as u8).to_string()),
    ("smallint", |n| (n as i16).to_string()),
    ("int", |n| (n as i32).to_string()),
    ("bigint", |n| (n as i64).to_string()),
    ("real", |n| format!("{:?}", finite(f64::from(f32::from_bits(n as u32))) as f32)),
    ("float", |n| format!("{:?}", finite(f64::from_bits(n)))),
    ("decimal(38,10)", |n| format!("{}.{:010}", n as i64, n % 10_000_000_000)),
    ("numeric(5,0)", |n| (n as i64 % 100_000).to_string()),
    ("money", |n| format!("{}.{:04}", n as i64 / 10_000, n % 10_000)),
    ("smallmoney", |n| format!("{}.{:04}", n as i32 / 10_001, n % 10_000)),
    ("date", |n| date(any_day(n))),
    ("time(0)", |n| clock(n, 0)),
    ("time(3)", |n| clock(n, 3)),
    ("time(7)", |n| clock(n, 7)),
    ("datetime2(0)", |n| format!("{} {}", date(any_day(n)), clock(n, 0))),
    ("datetime2(5)", |n| format!("{} {}", date(any_day(n)), clock(n, 5))),
    ("datetime2(7)", |n| format!("{} {}", date(any_day(n)), clock(n, 7))),
    ("datetimeoffset(7)", |n| {
        let offset = n % 841;
        let days = 1 + any_day(n) % (DAYS_MAX - 1);
        format!(
            "{} {} {}{:02}:{:02}",
            date(days),
            clock(n, 7),
            if n & 1 == 0 { '+' } else { '-' },
            offset / 60,
            offset % 60
        )
    }),
    ("datetime", |n| {
        let days = DAYS_TO_1753 + (n % (DAYS_MAX - DAYS_TO_1753) as u64) as i32;
        let clock = clock(n, 2);
        format!("{} {clock}{}", date(days), [0, 3, 7][n as usize % 3])
    }),
    ("smalldatetime", |n| {
        format!("{} {:02}:{:02}:00", date(DAYS_TO_1900 + (n % 65_536) as i32), n % 24, n / 24 % 60)
    }),
    ("uniqueidentifier", |n| {
        let wide = u128::from(n) << 64 | u128::from(n.rotate_left(17));
        let digits = format!("{wide:032X}");
        format!(
            "{}-{}-{}-{}-{}",
            &digits[..8],
            &digits[8..12],
            &digits[12..16],
            &digits[16..20],
            &digits[20..]
        )
    }),
    ("nvarchar(20)", text),
    ("nvarchar(max)", |n| text(n).repeat((n % 300) as usize)),
    ("varchar(80) collate Latin1_General_100_CI_AS_SC_UTF8", text),
    ("xml", |n| format!("<a>{}</a>", "é".repeat((n % 1200) as usize))),
    ("varbinary(8)", |n| {
        n.to_le_bytes()[..(n % 9) as usize].iter().map(|byte| format!("{byte:02X}")).collect()
    }),
    ("varbinary(max)", |n| format!("{n:016X}").repeat((n % 200) as usize)),
    ("rowversion", |n| format!("{n:016X}")),
    ("sql_variant", |n| format!("v{n}")),
];

fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.5 }
}

fn layout(columns: &[Column], mode: DataMode, version: NativeVersion) -> FormatFile {
    let options = LayoutOptions { collations: false, native_version: version, ..LayoutOptions::default() };
    FormatFile::for_columns(columns, mode, &options)
}

fn read(
    file: Vec<u8>,
    columns: &[Column],
    mode: DataMode,
    version: NativeVersion,
    block_bytes: usize,
) -> RecordBatch {
    let options = HostReadOptions {
        byte_order_mark: ByteOrderMark::Strip,
        native_version: version,
        ..HostReadOptions::default()
    };
    let layout = layout(columns, mode, version);
    let mut reader = HostReader::with_block_bytes(
        Box::new(Cursor::new(file)),
        "file",
        &layout,
        columns,
        &options,
        block_bytes,
    )
    .unwrap();
    let mut batches = Vec::new();
    for batch in reader.by_ref() {
        let batch = batch.unwrap();
        assert_eq!(batch.rejected, []);
        batches.push(batch.batch);
    }
    assert_eq!(reader.suffered(), []);
    arrow::compute::concat_batches(&reader.schema(), &batches).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_type_comes_back_from_every_mode(
        numbers in prop::collection::vec(prop::option::of(any::<u64>()), 1..40),
        block_bytes in 1_usize..3000,
    ) {
        for (declaration, spelling) in TYPES {
            let mut columns = declare(&format!("id int not null, v {declaration} null")).unwrap();
            columns[1].type_info.collation.get_or_insert(Collation::default());
            let mut file = String::new();
            for (id, number) in numbers.iter().enumerate() {
                let value = number.map(spelling).map(|value| {
                    // The empty string is one NUL.
                    if value.is_empty() { "\0".to_owned() } else { value }
                });
                file += &format!("{id}\t{}\n", value.unwrap_or_default());
            }
            let current = NativeVersion::Current;
            let batch = read(file.into_bytes(), &columns, DataMode::Character, current, block_bytes);
            prop_assert_eq!(batch.num_rows(), numbers.len());
            for (mode, version, long_values) in [
                (DataMode::Character, current, LongValues::Vendor),
                (DataMode::UnicodeCharacter, current, LongValues::Vendor),
                (DataMode::Native, current, LongValues::Vendor),
                (DataMode::Native, current, LongValues::Pieces),
                (DataMode::UnicodeNative, current, LongValues::Whole),
                (DataMode::Native, NativeVersion::V80, LongValues::Vendor),
                (DataMode::UnicodeNative, NativeVersion::V70, LongValues::Vendor),
            ] {
                if *declaration == "sql_variant" && (version != current || mode == DataMode::UnicodeCharacter) {
                    // Its type is lost there.
                    continue;
                }
                let options = HostWriteOptions {
                    native_version: version,
                    long_values,
                    shortest_floats: true,
                    byte_order_mark: mode == DataMode::UnicodeCharacter,
                    ..HostWriteOptions::default()
                };
                let layout = layout(&columns, mode, version);
                let mut writer =
                    HostWriter::new(Vec::new(), "file", &layout, &columns, &batch.schema(), &options).unwrap();
                writer.write_batch(&batch).unwrap();
                let again = read(writer.into_output().unwrap(), &columns, mode, version, block_bytes);
                prop_assert!(again == batch, "{declaration} {mode:?} {version:?}: {again:?} for {batch:?}");
            }
        }
    }
}
