//! What is written is read back: every type, every format, every compression.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::NullBuffer;
use arrow::datatypes::*;
use arrow::record_batch::RecordBatch;
use formats::{
    Checksum, Compression, ContentChecksum, CsvOptions, Encoding, Format, IpcCompression, IpcContainer,
    IpcOptions, Location, ParquetCompression, ParquetOptions, Reason, RowTerminator, create, open,
};
use proptest::prelude::*;

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .unwrap()
}

/// Three rows of every type that has a text form: an ordinary value, NULL, an extreme.
fn every_type() -> RecordBatch {
    let nulls = || Some(NullBuffer::from(vec![true, false, true]));
    macro_rules! of {
        ($array:ty, $a:expr, $b:expr) => {
            Arc::new(<$array>::new(vec![$a, $a, $b].into(), nulls())) as ArrayRef
        };
    }
    let decimal = Decimal128Array::new(vec![12345, 0, -(10i128.pow(38) - 1)].into(), nulls());
    batch(vec![
        ("bool", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]))),
        ("i8", of!(Int8Array, 1, i8::MIN)),
        ("i16", of!(Int16Array, 1, i16::MIN)),
        ("i32", of!(Int32Array, 1, i32::MIN)),
        ("i64", of!(Int64Array, 1, i64::MIN)),
        ("u8", of!(UInt8Array, 1, u8::MAX)),
        ("u16", of!(UInt16Array, 1, u16::MAX)),
        ("u32", of!(UInt32Array, 1, u32::MAX)),
        ("u64", of!(UInt64Array, 1, u64::MAX)),
        ("f32", of!(Float32Array, 0.1, f32::MAX)),
        ("f64", of!(Float64Array, 0.1, -f64::MIN_POSITIVE)),
        ("decimal", Arc::new(decimal.with_precision_and_scale(38, 4).unwrap())),
        ("date", of!(Date32Array, 19_000, -719_162)),
        ("time_s", of!(Time32SecondArray, 0, 86_399)),
        ("time_ms", of!(Time32MillisecondArray, 1, 86_399_999)),
        ("time_us", of!(Time64MicrosecondArray, 1, 86_399_999_999)),
        ("time_ns", of!(Time64NanosecondArray, 100, 86_399_999_999_900)),
        ("ts_s", of!(TimestampSecondArray, 1, -62_135_596_800)),
        ("ts_ms", of!(TimestampMillisecondArray, 1, 253_402_300_799_999)),
        ("ts_us", of!(TimestampMicrosecondArray, -1, 253_402_300_799_999_999)),
        ("ts_ns", of!(TimestampNanosecondArray, -100, i64::MAX / 100 * 100)),
        (
            "ts_utc",
            Arc::new(TimestampMicrosecondArray::new(vec![1, 2, -3].into(), nulls()).with_timezone("UTC")),
        ),
        ("utf8", Arc::new(StringArray::from(vec![Some("plain"), None, Some("")]))),
        ("large_utf8", Arc::new(LargeStringArray::from(vec![Some("a,\"b\"\r\nc "), None, Some("😀")]))),
        (
            "utf8_view",
            Arc::new(StringViewArray::from(vec![Some("longer than twelve bytes"), None, Some("")])),
        ),
        ("binary", Arc::new(BinaryArray::from(vec![Some(&b"\x00\xFF"[..]), None, Some(b"")]))),
        ("large_binary", Arc::new(LargeBinaryArray::from(vec![Some(&b"\x00\xFF"[..]), None, Some(b"")]))),
        ("binary_view", Arc::new(BinaryViewArray::from(vec![Some(&b"\x00\xFF"[..]), None, Some(b"")]))),
        (
            "fixed",
            Arc::new(
                FixedSizeBinaryArray::try_from_sparse_iter_with_size(
                    [Some([1u8; 16]), None, Some([255; 16])].into_iter(),
                    16,
                )
                .unwrap(),
            ),
        ),
        (
            "dictionary",
            Arc::new([Some("x"), None, Some("y")].into_iter().collect::<DictionaryArray<Int32Type>>()),
        ),
        ("null", Arc::new(NullArray::new(3))),
    ])
}

fn write(path: &Path, format: &Format, compression: Compression, batches: &[RecordBatch]) {
    let mut writer = create(&Location::Path(path.into()), batches[0].schema(), format, compression).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    assert!(!path.exists(), "nothing stands under the final name before finish");
    let written = writer.finish().unwrap();
    assert_eq!(written.rows, batches.iter().map(|batch| batch.num_rows() as u64).sum::<u64>());
    assert_eq!(written.bytes, std::fs::metadata(path).unwrap().len());
}

fn read(path: &Path, format: &Format, compression: Compression) -> Vec<RecordBatch> {
    open(&Location::Path(path.into()), format, compression, 2).unwrap().map(|batch| batch.unwrap()).collect()
}

fn checksum(batches: &[RecordBatch]) -> Checksum {
    let mut checksum = ContentChecksum::new();
    batches.iter().for_each(|batch| checksum.update(batch).unwrap());
    checksum.finish()
}

#[test]
fn every_type_through_parquet_and_ipc() {
    let directory = tempfile::tempdir().unwrap();
    let schema =
        every_type().schema().as_ref().clone().with_metadata(HashMap::from([("origin".into(), "t".into())]));
    let batch = every_type().with_schema(Arc::new(schema)).unwrap();
    let mut formats = Vec::new();
    for compression in [
        ParquetCompression::None,
        ParquetCompression::Snappy,
        ParquetCompression::Zstd,
        ParquetCompression::Lz4,
    ] {
        formats.push(Format::Parquet(ParquetOptions {
            compression,
            row_group_rows: 2,
            ..ParquetOptions::default()
        }));
    }
    for container in [IpcContainer::File, IpcContainer::Stream] {
        for compression in [IpcCompression::None, IpcCompression::Lz4, IpcCompression::Zstd] {
            formats.push(Format::ArrowIpc(IpcOptions { container, compression }));
        }
    }
    for (number, format) in formats.iter().enumerate() {
        for compression in [Compression::None, Compression::Gzip, Compression::Zstd] {
            let path = directory.path().join(format!("{number}{compression:?}"));
            write(&path, format, compression, &[batch.clone(), batch.slice(1, 2)]);
            let found = read(&path, format, compression);
            assert!(found.iter().all(|batch| batch.num_rows() <= 2));
            let expected =
                arrow::compute::concat_batches(&batch.schema(), &[batch.clone(), batch.slice(1, 2)]).unwrap();
            let found_schema = found[0].schema();
            assert_eq!(found_schema, batch.schema(), "{format:?}");
            assert_eq!(
                arrow::compute::concat_batches(&found_schema, &found).unwrap(),
                expected,
                "{format:?}"
            );
            assert_eq!(checksum(&found), checksum(&[expected]));
        }
    }
}

#[test]
fn empty_tables_keep_their_schema() {
    let directory = tempfile::tempdir().unwrap();
    let batch = every_type().slice(0, 0);
    for format in [Format::Parquet(ParquetOptions::default()), Format::ArrowIpc(IpcOptions::default())] {
        let path = directory.path().join(format!("{format:?}").split('(').next().unwrap());
        write(&path, &format, Compression::None, std::slice::from_ref(&batch));
        let mut reader = open(&Location::Path(path), &format, Compression::None, 2).unwrap();
        assert_eq!(reader.schema(), batch.schema());
        assert_eq!(reader.by_ref().map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 0);
    }
}

/// SQL Server's spellings of the extremes.
#[test]
fn csv_spells_values_as_sql_server_does() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.csv");
    let format = Format::Csv(CsvOptions::default());
    let wanted =
        ["bool", "i8", "u64", "decimal", "date", "time_us", "ts_s", "ts_ms", "utf8", "large_utf8", "binary"];
    let batch = every_type();
    let indices: Vec<usize> = wanted.iter().map(|name| batch.schema().index_of(name).unwrap()).collect();
    write(&path, &format, Compression::None, &[batch.project(&indices).unwrap()]);
    let text = std::fs::read_to_string(&path).unwrap();
    let (header, rows) = text.split_once('\n').unwrap();
    assert_eq!(header, wanted.join(","));
    assert_eq!(
        rows,
        "1,1,1,1.2345,2022-01-08,00:00:00.000001,1970-01-01 00:00:01,1970-01-01 00:00:00.001,plain,\
         \"a,\"\"b\"\"\r\nc \",0x00FF\n,,,,,,,,,,\n\
         0,-128,18446744073709551615,-9999999999999999999999999999999999.9999,0001-01-01,23:59:59.999999,\
         0001-01-01 00:00:00,9999-12-31 23:59:59.999,\"\",😀,0x\n"
    );
}

#[test]
fn a_value_that_cannot_be_written_names_its_cell() {
    let directory = tempfile::tempdir().unwrap();
    let target = Location::Path(directory.path().join("t.csv"));
    let texts = |values: Vec<&str>| {
        batch(vec![
            ("a", Arc::new(StringArray::from(vec!["x"; values.len()]))),
            ("b", Arc::new(StringArray::from(values))),
        ])
    };
    let options = || CsvOptions { header: false, ..CsvOptions::default() };
    let unquoted = || CsvOptions { quote: None, ..options() };
    for (options, value, expected) in [
        (
            CsvOptions { encoding: Encoding::CodePage(1252), ..options() },
            "śnieg",
            "code page 1252 has no character 'ś' (U+015B) (value \"śnieg\")",
        ),
        (
            CsvOptions { encoding: Encoding::CodePage(437), ..options() },
            "10 €",
            "code page 437 has no character '€' (U+20AC) (value \"10 €\")",
        ),
        (unquoted(), "a,b", "the value contains the delimiter and quoting is off (value \"a,b\")"),
        (unquoted(), "a\nb", "the value contains the row terminator and quoting is off (value \"a\\nb\")"),
        (unquoted(), "a\r", "the value ends in a carriage return and quoting is off (value \"a\\r\")"),
        (unquoted(), "", "the value is the text of NULL and quoting is off (value \"\")"),
        (
            CsvOptions { delimiter: "||".into(), ..unquoted() },
            "a|",
            "the value contains the delimiter and quoting is off (value \"a|\")",
        ),
    ] {
        let batch = texts(vec!["fine", "fine", value, "fine"]);
        let mut writer = create(&target, batch.schema(), &Format::Csv(options), Compression::None).unwrap();
        writer.write(&batch.slice(0, 2)).unwrap();
        let error = writer.write(&batch.slice(2, 2)).unwrap_err();
        assert_eq!(error.to_string(), format!("{target}, row 3, column \"b\": {expected}"));
        drop(writer);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "a failed file leaves nothing");
    }
}

#[test]
fn files_replace_what_was_there_only_when_finished() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.parquet");
    std::fs::write(&path, "before").unwrap();
    let batch = every_type();
    for format in [
        Format::Parquet(ParquetOptions::default()),
        Format::Csv(CsvOptions::default()),
        Format::ArrowIpc(IpcOptions::default()),
    ] {
        for compression in [Compression::None, Compression::Gzip, Compression::Zstd] {
            let start = || {
                let mut writer =
                    create(&Location::Path(path.clone()), batch.schema(), &format, compression).unwrap();
                writer.write(&batch).unwrap();
                writer
            };
            let before = std::fs::read(&path).unwrap();
            drop(start());
            assert_eq!(std::fs::read(&path).unwrap(), before);
            start().finish().unwrap();
            assert_ne!(std::fs::read(&path).unwrap(), before);
            assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
        }
    }
}

#[test]
fn batches_of_other_types_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let other = batch(vec![("i32", Arc::new(StringArray::from(vec!["1"])))]);
    let schema = Arc::new(Schema::new(vec![Field::new("i32", DataType::Int32, true)]));
    for format in [
        Format::Parquet(ParquetOptions::default()),
        Format::Csv(CsvOptions::default()),
        Format::ArrowIpc(IpcOptions::default()),
    ] {
        let target = Location::Path(directory.path().join("t"));
        let mut writer = create(&target, schema.clone(), &format, Compression::None).unwrap();
        assert!(matches!(*writer.write(&other).unwrap_err().reason, Reason::SchemaMismatch { .. }));
    }
}

#[test]
fn several_gzip_members_and_zstd_frames_are_one_file() {
    let directory = tempfile::tempdir().unwrap();
    for (compression, suffix) in [(Compression::Gzip, "gz"), (Compression::Zstd, "zst")] {
        let part = directory.path().join(format!("part.csv.{suffix}"));
        let (format, found) = Format::from_path(&part).unwrap();
        assert_eq!(found, compression);
        let options = CsvOptions { header: false, ..CsvOptions::default() };
        let mut whole = Vec::new();
        for text in ["a", "b"] {
            let column: ArrayRef = Arc::new(StringArray::from(vec![text; 1000]));
            let batch = batch(vec![("x", column.clone()), ("y", column)]);
            let format = Format::Csv(options.clone());
            let path = directory.path().join(format!("{text}.{suffix}"));
            write(&path, &format, compression, &[batch]);
            whole.extend(std::fs::read(&path).unwrap());
        }
        std::fs::write(&part, &whole).unwrap();
        assert!(matches!(format, Format::Csv(_)));
        let rows = |path: &Path| -> Result<usize, formats::FormatError> {
            open(&Location::Path(path.into()), &Format::Csv(options.clone()), compression, 100)?
                .map(|batch| batch.map(|batch| batch.num_rows()))
                .sum()
        };
        assert_eq!(rows(&part).unwrap(), 2000);
        std::fs::write(&part, &whole[..whole.len() - 5]).unwrap();
        let error = rows(&part).unwrap_err();
        assert!(matches!(*error.reason, Reason::Io(_)), "a file cut short is an error, not its end: {error}");
    }
}

#[test]
fn damaged_files_are_errors() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t");
    for format in [
        Format::Parquet(ParquetOptions::default()),
        Format::ArrowIpc(IpcOptions::default()),
        Format::ArrowIpc(IpcOptions { container: IpcContainer::Stream, ..IpcOptions::default() }),
    ] {
        let whole = directory.path().join("whole");
        let _ = std::fs::remove_file(&whole);
        write(&whole, &format, Compression::None, &[every_type()]);
        let bytes = std::fs::read(&whole).unwrap();
        for cut in [0, 1, 7, 20, bytes.len() / 2] {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            let read = open(&Location::Path(path.clone()), &format, Compression::None, 10)
                .and_then(|reader| reader.collect::<Result<Vec<_>, _>>());
            assert!(read.is_err(), "{format:?} cut at {cut}");
        }
    }
    assert!(
        open(
            &Location::Path(directory.path().join("absent")),
            &Format::Csv(CsvOptions::default()),
            Compression::None,
            1
        )
        .is_err()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn texts_survive_csv_in_every_dialect(
        cells in prop::collection::vec(prop::option::of("[ab,;|~\"'\r\né\u{FEFF}ÿNUL]{0,5}"), 6),
        columns in 1..4usize,
        header: bool,
        dialect in 0..6usize,
        encoding in prop_oneof![Just(Encoding::Utf8), Just(Encoding::Utf16Le), Just(Encoding::Utf16Be), Just(Encoding::CodePage(54936))],
        compression in prop_oneof![Just(Compression::None), Just(Compression::Gzip), Just(Compression::Zstd)],
    ) {
        let base = CsvOptions { header, encoding, ..CsvOptions::default() };
        let options = [
            base.clone(),
            CsvOptions { delimiter: ";".into(), quote: Some(b'\''), ..base.clone() },
            CsvOptions { delimiter: "||".into(), ..base.clone() },
            CsvOptions { row_terminator: RowTerminator::Text("|~\n".into()), ..base.clone() },
            CsvOptions { null_texts: vec!["NULL".into()], ..base.clone() },
            CsvOptions { delimiter: "~".into(), row_terminator: RowTerminator::Text("\r\n".into()), null_texts: vec!["N".into()], ..base },
        ][dialect].clone();
        let rows = cells.len() / columns;
        let arrays: Vec<(String, ArrayRef)> = (0..columns)
            .map(|column| {
                let values: Vec<_> = (0..rows).map(|row| cells[row * columns + column].clone()).collect();
                (format!("c{column}"), Arc::new(StringArray::from(values)) as ArrayRef)
            })
            .collect();
        let expected = RecordBatch::try_from_iter_with_nullable(arrays.iter().map(|(name, array)| (name, array.clone(), true))).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.csv");
        write(&path, &Format::Csv(options.clone()), compression, std::slice::from_ref(&expected));
        let names = arrays.iter().map(|(name, _)| name.clone()).collect();
        let options = CsvOptions { columns: (!header).then_some(names), ..options };
        let found = read(&path, &Format::Csv(options), compression);
        prop_assert_eq!(arrow::compute::concat_batches(&expected.schema(), &found).unwrap(), expected);
    }
}

/// A flipped bit is an error or another value, never a panic.
#[test]
fn flipped_bits_never_panic() {
    let directory = tempfile::tempdir().unwrap();
    for (name, format) in [
        ("parquet", Format::Parquet(ParquetOptions::default())),
        ("file", Format::ArrowIpc(IpcOptions::default())),
        ("stream", Format::ArrowIpc(IpcOptions { container: IpcContainer::Stream, ..IpcOptions::default() })),
    ] {
        let whole = directory.path().join(name);
        write(&whole, &format, Compression::None, &[every_type()]);
        let bytes = std::fs::read(&whole).unwrap();
        let path = directory.path().join("flipped");
        for position in (0..bytes.len()).step_by(41) {
            let mut flipped = bytes.clone();
            flipped[position] ^= 1 << (position % 8);
            std::fs::write(&path, &flipped).unwrap();
            let read = open(&Location::Path(path.clone()), &format, Compression::None, 10)
                .and_then(|reader| reader.collect::<Result<Vec<_>, _>>());
            drop(read);
        }
    }
}

#[cfg(unix)]
#[test]
fn devices_are_written_and_links_kept() {
    let csv = Format::Csv(CsvOptions::default());
    let batch = batch(vec![("a", Arc::new(Int32Array::from(vec![1])))]);
    let mut writer = create(&Location::target("/dev/null"), batch.schema(), &csv, Compression::None).unwrap();
    writer.write(&batch).unwrap();
    assert_eq!(writer.finish().unwrap().bytes, 4);
    let directory = tempfile::tempdir().unwrap();
    let (file, link) = (directory.path().join("file"), directory.path().join("link"));
    std::fs::write(&file, "before").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let mut writer = create(&Location::Path(link.clone()), batch.schema(), &csv, Compression::None).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "a\n1\n");
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
}
