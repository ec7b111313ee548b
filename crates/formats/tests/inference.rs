//! Values of a column to its type.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use arrow::array::*;
use arrow::record_batch::RecordBatch;
use formats::{
    Compression, CsvOptions, Format, InferredSchema, IpcOptions, Location, ParquetOptions, create, infer,
    measure,
};

fn inferred(values: &[&str], rows_max: Option<u64>) -> InferredSchema {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.csv");
    let quoted = |value: &&str| if *value == "NULL" { String::new() } else { format!("\"{value}\"") };
    std::fs::write(&path, values.iter().map(quoted).collect::<Vec<_>>().join("\n") + "\n").unwrap();
    let options = CsvOptions { header: false, columns: Some(vec!["c".into()]), ..CsvOptions::default() };
    infer(&Location::Path(path), &options, Compression::None, rows_max).unwrap()
}

/// The Arrow type, and the SQL type where Arrow's does not say it.
fn type_of(values: &[&str]) -> String {
    let schema = inferred(values, None);
    let field = &schema.columns[0].field;
    let data_type = field.data_type().to_string();
    match field.metadata().get("sql_type") {
        Some(sql_type) => format!("{data_type} {sql_type}"),
        None => data_type,
    }
}

#[test]
fn the_narrowest_type_that_loses_nothing() {
    for (values, expected) in [
        (&["0", "255"][..], "UInt8"),
        (&["-1", "255"], "Int16"),
        (&["256"], "Int16"),
        (&["32768"], "Int32"),
        (&["2147483648"], "Int64"),
        (&["-9223372036854775808"], "Int64"),
        (&["9223372036854775808"], "Decimal128(19, 0)"),
        (&["12345678901234567890123456789012345678"], "Decimal128(38, 0)"),
        (&["123456789012345678901234567890123456789"], "Utf8"),
        (&["1.50", "100.00"], "Decimal128(5, 2)"),
        (&["1.5", "100", "2.25"], "Decimal128(5, 2)"),
        (&["1.50", "100"], "Decimal128(5, 2)"),
        (&["5", "0", "19.90"], "Decimal128(4, 2)"),
        (&["1", "1.00"], "Decimal128(3, 2)"),
        (&["1.0", "100.0", "2.25"], "Decimal128(5, 2)"),
        (&["0.5", "-0.25"], "Decimal128(2, 2)"),
        (&[".50", "-.25"], "Decimal128(2, 2)"),
        (&["0.00", "-12.50"], "Decimal128(4, 2)"),
        (&["1e+05", "2.5"], "Float64"),
        (&["1E-300"], "Float64"),
        (&["1.0E7", "2.5"], "Float64"),
        (&["-0.0", "2.5"], "Float64"),
        (&["1.50e+03", "2.25e-01", "0.00e+00"], "Float64"),
        (&["5.0000000000000003E-2", "0.10000000000000001"], "Float64"),
        (&["4.9406564584124654e-324", "0.5"], "Float64"),
        // Spellings that no number's value says.
        (&["1.9", "1.10"], "Utf8"),
        (&["0.5", "-.25"], "Utf8"),
        (&["-0", "5"], "Utf8"),
        (&["-0.00", "1.50"], "Utf8"),
        (&["1E5", "2E7"], "Utf8"),
        (&["12E3"], "Utf8"),
        (&["12.5e+3"], "Utf8"),
        (&["1e+05", "1E+06"], "Utf8"),
        (&["1e+05", "1e+5"], "Utf8"),
        (&["1000000", "1e+05"], "Utf8"),
        (&["1.50e+03", "2.5"], "Utf8"),
        // Digits and magnitudes that no double has.
        (&["1.23456789012345678901234e+5"], "Utf8"),
        (&["1e-400"], "Utf8"),
        (&["1e999"], "Utf8"),
        (&["1e+5", "12345678901234567890"], "Utf8"),
        (&["00123", "5"], "Utf8"),
        (&["+49891234"], "Utf8"),
        (&["1,000"], "Utf8"),
        (&[" 1"], "Utf8"),
        (&["1."], "Utf8"),
        (&["-"], "Utf8"),
        (&["."], "Utf8"),
        (&[""], "Utf8"),
        (&["NULL", "NULL"], "Utf8"),
        (&["true", "FALSE"], "Boolean"),
        (&["true", "1"], "Utf8"),
        (&["2024-02-29"], "Date32"),
        (&["2023-02-29"], "Utf8"),
        (&["0000-01-01"], "Utf8"),
        (&["12:30:15.1230000"], "Time32(ms) time(3)"),
        (&["12:30", "23:59:59.1234567"], "Time64(ns) time(7)"),
        (&["24:00:00"], "Utf8"),
        (&["2024-01-01 00:00:00.0000000"], "Timestamp(s) datetime2(0)"),
        (&["2024-01-01T12:00:00.25", "2024-01-02"], "Timestamp(ms) datetime2(2)"),
        (&["2024-01-01 12:00:00.12345678"], "Utf8"),
        (
            &["2024-01-01 12:00:00.5 +02:00", "2024-01-01T12:00:00Z"],
            "Timestamp(ms, \"UTC\") datetimeoffset(1)",
        ),
        (&["2024-01-01 12:00:00 +15:00"], "Utf8"),
        // The instant lies outside of the years that the type has.
        (&["0001-01-01T00:00:00+02:00"], "Utf8"),
        (&["9999-12-31T23:00:00-01:00"], "Utf8"),
        (&["0001-01-01T02:00:00+02:00"], "Timestamp(s, \"UTC\") datetimeoffset(0)"),
        (&["2024-01-01 12:00:00 +02:00", "2024-01-01 12:00:00"], "Utf8"),
        (&["2024-01-01", "12:00:00"], "Utf8"),
        (
            &["6F9619FF-8B86-D011-B42D-00C04FC964FF", "{0f9619ff-8b86-d011-b42d-00c04fc964ff}"],
            "FixedSizeBinary(16) uniqueidentifier",
        ),
        (&["6F9619FF-8B86-D011-B42D-00C04FC964F"], "Utf8"),
        (&["0xDEADBEEF", "0x"], "Binary"),
        (&["0xABC"], "Utf8"),
        (&["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"], "Utf8"),
        (&["0xdeadbeef"], "Utf8"),
        (&["0XDEADBEEF"], "Utf8"),
        (&["DEADBEEF"], "Utf8"),
    ] {
        assert_eq!(type_of(values), expected, "{values:?}");
        let reversed: Vec<&str> = values.iter().rev().copied().collect();
        assert_eq!(type_of(&reversed), expected, "{reversed:?}");
        let with_null: Vec<&str> = values.iter().copied().chain(["NULL"]).collect();
        assert_eq!(type_of(&with_null), expected, "{with_null:?}");
    }
}

#[test]
fn a_number_of_a_hundred_thousand_digits_is_text() {
    let long = format!("1.{}", "5".repeat(100_000));
    assert_eq!(type_of(&[&long, "2.5"]), "Utf8");
    assert_eq!(type_of(&[&format!("{long}e+3")]), "Utf8");
}

#[test]
fn lengths_are_counted_in_every_unit() {
    let column = inferred(&["abc", "é😀", "NULL"], None).columns.remove(0);
    assert_eq!((column.max_chars, column.max_utf16_units, column.max_utf8_bytes), (3, 3, 6));
    assert_eq!((column.nulls, column.ascii_only, column.field.is_nullable()), (1, false, true));
    let column = inferred(&["0xDEADBEEF"], None).columns.remove(0);
    assert_eq!(
        (column.max_binary_bytes, column.ascii_only, column.field.is_nullable()),
        (Some(4), true, false)
    );
    let column = inferred(&["1.25", "100.00"], None).columns.remove(0);
    assert_eq!((column.precision, column.scale), (Some(5), Some(2)));
}

#[test]
fn a_limit_leaves_the_rest_open() {
    let schema = inferred(&["1", "2", "x"], Some(2));
    assert_eq!((schema.rows, schema.is_complete), (2, false));
    assert_eq!(schema.columns[0].field.data_type().to_string(), "UInt8");
    assert!(schema.columns[0].field.is_nullable());
    let schema = inferred(&["1", "2"], Some(2));
    assert_eq!((schema.rows, schema.is_complete), (2, true));
}

#[test]
fn typed_files_are_measured() {
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("number", Arc::new(Int32Array::from(vec![Some(1), None, None])) as ArrayRef, true),
        ("text", Arc::new(StringArray::from(vec![Some("é😀"), Some("abcd"), None])), true),
        (
            "coded",
            Arc::new(
                vec!["abc", "abc", "d"].into_iter().collect::<DictionaryArray<arrow::datatypes::Int8Type>>(),
            ),
            true,
        ),
        ("binary", Arc::new(BinaryArray::from(vec![Some(&b"12345"[..]), None, Some(b"")])), true),
        (
            "guid",
            Arc::new(FixedSizeBinaryArray::try_from_iter([[0u8; 16], [1; 16], [2; 16]].into_iter()).unwrap()),
            true,
        ),
        (
            "amount",
            Arc::new(Decimal128Array::from(vec![1, 2, 3]).with_precision_and_scale(9, 2).unwrap()),
            true,
        ),
    ])
    .unwrap();
    let directory = tempfile::tempdir().unwrap();
    for format in [
        Format::Parquet(ParquetOptions { row_group_rows: 2, ..ParquetOptions::default() }),
        Format::ArrowIpc(IpcOptions::default()),
    ] {
        let target = Location::Path(directory.path().join("t"));
        let mut writer = create(&target, batch.schema(), &format, Compression::None).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        let measured = measure(&target, &format, Compression::None).unwrap();
        assert_eq!((measured.rows, measured.is_complete), (3, true));
        assert_eq!(&measured.schema(), batch.schema().as_ref());
        let nulls: Vec<u64> = measured.columns.iter().map(|column| column.nulls).collect();
        assert_eq!(nulls, [2, 1, 0, 1, 0, 0]);
        let text = &measured.columns[1];
        assert_eq!(
            (text.max_chars, text.max_utf16_units, text.max_utf8_bytes, text.ascii_only),
            (4, 4, 6, false)
        );
        assert_eq!((measured.columns[2].max_utf8_bytes, measured.columns[2].ascii_only), (3, true));
        let binary: Vec<Option<u64>> =
            measured.columns.iter().map(|column| column.max_binary_bytes).collect();
        assert_eq!(binary, [None, None, None, Some(5), Some(16), None]);
        assert_eq!((measured.columns[5].precision, measured.columns[5].scale), (Some(9), Some(2)));
    }
}

/// The type of one column, and what decided it.
fn decided_by(values: &[&str]) -> String {
    inferred(values, None).columns[0].evidence.as_ref().map_or_else(|| "no value".into(), ToString::to_string)
}

#[test]
fn the_value_that_decided_a_type_is_named() {
    for (values, expected) in [
        (&["1", "2", "A12", "B", "3"][..], "tinyint until row 3: \"A12\""),
        // A longer number of the same type decides nothing.
        (&["5", "10", "200"], "like row 1: \"5\""),
        (&["1", "70000", "5", "99999"], "tinyint until row 2: \"70000\""),
        (&["1", "300", "70000"], "smallint until row 3: \"70000\""),
        (&["NULL", "2024-01-01", "2024-01-02"], "like row 2: \"2024-01-01\""),
        (&["2024-01-01", "2024-01-02 10:00"], "date until row 2: \"2024-01-02 10:00\""),
        (&["1.5", "22.25"], "decimal(2,1) until row 2: \"22.25\""),
        // A spelling that a number does not keep.
        (&["7", "NULL", "007"], "tinyint until row 3: \"007\""),
        (&["NULL", "NULL"], "no value"),
        (&["text", "more"], "like row 1: \"text\""),
    ] {
        assert_eq!(decided_by(values), expected, "{values:?}");
    }
    let long = "x".repeat(100);
    assert_eq!(decided_by(&["1", &long]), format!("tinyint until row 2: \"{}…\"", "x".repeat(40)));
}

#[test]
fn the_deciding_row_is_counted_as_the_file_counts_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.csv");
    // Row 2 has a field too many.
    std::fs::write(&path, "n\n1\n2,3\nx\n").unwrap();
    let options = CsvOptions::default();
    let location = Location::Path(path.clone());
    let skipping = formats::measure_readable(&location, &Format::Csv(options), Compression::None).unwrap();
    assert_eq!(skipping.columns[0].evidence.as_ref().unwrap().row, 3);
    let second = directory.path().join("u.csv");
    std::fs::write(&path, "n\n1\n").unwrap();
    std::fs::write(&second, "n\n1\ny\n").unwrap();
    let csv = Format::Csv(CsvOptions::default());
    let second = Location::Path(second);
    let both = [(&location, &csv, Compression::None), (&second, &csv, Compression::None)];
    let evidence = formats::measure_all(&both, false).unwrap().columns.remove(0).evidence.unwrap();
    assert_eq!((evidence.file, evidence.row, evidence.value.as_str()), (1, 2, "y"));
}

/// Columns as people of many countries write them: the values, the type, and the values as they are handed to the typed table or,
/// for a column that stays text, the reason.
///
/// The values were judged by hand and, where it reads them, by Python's `decimal` and `datetime`.
const SPELLED: &str = r#"
10.861,80 | 1,5 | 12 => Decimal128(7, 2) | 10861.80 | 1.5 | 12
10.861,80 | 1.234 => Decimal128(7, 2) | 10861.80 | 1234
1.234 | 5.678 => Decimal128(4, 3) | 1.234 | 5.678
1.234 | 10.861,80 | 7 => Decimal128(7, 2) | 1234 | 10861.80 | 7
1.5 | 10.861,80 => Utf8 | row 2: "10.861,80" (a comma in a number; --decimal and --thousands say what it is); it was decimal(2,1) until then
1,234 | 5,678 => Utf8 | 1,234 may be 1234 or 1.234; --decimal and --thousands say which
1,234 | 5,678.50 => Decimal128(6, 2) | 1234 | 5678.50
1,234 | 12,345,678 => Int32 | 1234 | 12345678
1,5 | 2,25 | 100 => Decimal128(5, 2) | 1.5 | 2.25 | 100
1,50 | 100 => Decimal128(5, 2) | 1.50 | 100
1 234,50 | 7,00 => Decimal128(6, 2) | 1234.50 | 7.00
555 123 456 | 555 123 457 => Utf8 |
192.168.100.200 | 192.168.100.201 => Utf8 |
12.345.678 | 23.456.789 => Utf8 |
1'234.50 | 12'345.00 => Decimal128(7, 2) | 1234.50 | 12345.00
(12.50) | 3.25 => Decimal128(4, 2) | -12.50 | 3.25
12.50- | 3.25 => Decimal128(4, 2) | -12.50 | 3.25
12- | 3 => Utf8 |
$12.50 => Utf8 | a currency sign; --currency leaves it out (row 1: "$12.50")
12% => Utf8 | a percent sign; --percent says what it means (row 1: "12%")
+5 | 7 => Utf8 | a plus sign; --types gives the column a type (row 1: "+5")
007,5 | 12,5 => Utf8 | a comma in a number; --decimal and --thousands say what it is (row 1: "007,5")
01067 | 80331 => Utf8 | leading zeros; --types gives the column a type (row 1: "01067")
1.9 | 1.10 => Utf8 | row 2: "1.10" (decimals of several lengths, as versions have; --types gives the column a type); it was decimal(2,1) until then
0x5aAe => Utf8 | hexadecimal digits in small letters, whose case a binary value loses (row 1: "0x5aAe")
NULL | 5 => UInt8 | - | 5
5 | N/A | \N => UInt8 | 5 | - | -
n/a | 10.861,80 => Decimal128(7, 2) | - | 10861.80
NULL | anna => Utf8 | NULL is text in 1 of 2 values; --null-text makes it NULL
NULL | N/A => Utf8 | NULL is text in 2 of 2 values; --null-text makes it NULL
31.12.2024 | 01.02.2025 => Date32 | 2024-12-31 | 2025-02-01
12/31/2024 | 1/2/2025 => Date32 | 2024-12-31 | 2025-01-02
03/04/2026 | 05/06/2026 => Utf8 | 03/04/2026 may be 2026-04-03 or 2026-03-04; --date-order says which
05/05/2026 | 06/06/2026 => Date32 | 2026-05-05 | 2026-06-06
05/05/26 | 13/06/26 => Utf8 | 05/05/26 may be 2026-05-05 or 2005-05-26; --date-order says which
31/12/99 | 01/02/99 => Date32 | 1999-12-31 | 1999-02-01
12/31/24 | 1/2/24 => Date32 | 2024-12-31 | 2024-01-02
31.12.49 | 01.02.50 => Date32 | 2049-12-31 | 1950-02-01
1.2.24 | 13.10.31 => Utf8 | a date of which not all values leave one order; --date-order and --types say it (row 1: "1.2.24")
2024-1-5 | 2024-12-31 => Date32 | 2024-01-05 | 2024-12-31
2024/01/05 => Date32 | 2024-01-05
5-Dec-2024 | 31 January 2024 => Date32 | 2024-12-05 | 2024-01-31
Dec 5, 2024 => Date32 | 2024-12-05
31-DEC-24 => Date32 | 2024-12-31
31.12.2024 10:30 | 01.02.2025 23:59:59.5 => Timestamp(ms) datetime2(1) | 2024-12-31 10:30:00.0000000 | 2025-02-01 23:59:59.5000000
12/31/2024 1:30 PM => Timestamp(s) datetime2(0) | 2024-12-31 13:30:00.0000000
2024-01-05 | 31.12.2024 => Date32 | 2024-01-05 | 2024-12-31
31.12.2024 | 12/31/2024 => Utf8 | a date of which not all values leave one order; --date-order and --types say it (row 1: "31.12.2024")
30.02.2024 => Utf8 | a date of which not all values leave one order; --date-order and --types say it (row 1: "30.02.2024")
31.12.2024 | later => Utf8 | a date of which not all values leave one order; --date-order and --types say it (row 1: "31.12.2024")
"#;

#[test]
fn values_in_the_spelling_of_other_countries() {
    for line in SPELLED.lines().filter(|line| !line.is_empty()) {
        let (values, expected) = line.split_once(" => ").unwrap();
        let directory = tempfile::tempdir().unwrap();
        let location = Location::Path(directory.path().join("t.csv"));
        let Location::Path(path) = &location else { unreachable!() };
        std::fs::write(path, values.split(" | ").collect::<Vec<_>>().join("\n") + "\n").unwrap();
        let options = CsvOptions {
            header: false,
            columns: Some(vec!["c".into()]),
            delimiter: "\t".into(),
            ..CsvOptions::default()
        };
        let schema = infer(&location, &options, Compression::None, None).unwrap();
        let column = &schema.columns[0];
        let mut found = column.field.data_type().to_string();
        if let Some(sql_type) = column.field.metadata().get("sql_type") {
            found += &format!(" {sql_type}");
        }
        if found == "Utf8" {
            assert_eq!(schema.readings(), None, "{line}");
            let reasons: Vec<String> = column.findings().into_iter().map(|finding| finding.reason).collect();
            found += &format!(" | {}", reasons.join("; "));
        } else {
            let options = CsvOptions { readings: schema.readings(), ..options };
            let batch = formats::open(&location, &Format::Csv(options), Compression::None, 100)
                .unwrap()
                .next()
                .unwrap()
                .unwrap();
            for text in batch.column(0).as_string::<i32>() {
                found += &format!(" | {}", text.unwrap_or("-"));
            }
        }
        assert_eq!(found.trim_end(), expected.trim_end(), "{line}");
    }
}

/// A declared spelling decides where the values do not, and nothing is read otherwise.
#[test]
fn a_declared_spelling_decides() {
    use rows::text::DateOrder;
    use rows::text::spelling::{DecimalMark, NumberSpelling, TextSpelling, ThousandsMark};
    let comma = NumberSpelling {
        decimal: DecimalMark::Comma,
        thousands: Some(ThousandsMark::Point),
        ..NumberSpelling::default()
    };
    let german = TextSpelling {
        date_order: Some(DateOrder::DayMonthYear),
        year_cutoff: Some(2049),
        numbers: Some(comma),
    };
    let euros = TextSpelling {
        numbers: Some(NumberSpelling { currency: Some("€".parse().unwrap()), ..comma }),
        ..TextSpelling::default()
    };
    for (spelling, values, expected) in [
        (german, &["03/04/2026"][..], "Date32"),
        (german, &["03/04/26", "2026-01-01"], "Date32"),
        (german, &["1.234"], "Int16"),
        (german, &["1,234"], "Decimal128(4, 3)"),
        (german, &["1.5"], "Utf8"),
        (german, &["01067"], "Utf8"),
        (euros, &["12,50 €", "3"], "Decimal128(4, 2)"),
        (euros, &["12,50 $"], "Utf8"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.csv");
        std::fs::write(&path, values.join("\n") + "\n").unwrap();
        let options = CsvOptions {
            header: false,
            columns: Some(vec!["c".into()]),
            delimiter: "\t".into(),
            spelling,
            ..CsvOptions::default()
        };
        let schema = infer(&Location::Path(path), &options, Compression::None, None).unwrap();
        assert_eq!(schema.columns[0].field.data_type().to_string(), expected, "{values:?}");
        assert_eq!(schema.readings(), None, "the reader's customers know the declared spelling: {values:?}");
    }
}
