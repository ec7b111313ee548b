//! Malformed rows are refused with their place, and nothing panics.

use proptest::prelude::*;
use tds::{Direction, Reader, Writer, decode_columns, encode_columns};

use super::*;

/// Returns the error of rows of one nullable column.
fn error(sql_type: &str, bytes: &str) -> String {
    let decoder = Decoder::new(&[column(sql_type, true)], Form::default()).unwrap();
    decode_all(decoder, &hex(bytes)).unwrap_err().to_string()
}

#[test]
fn errors_name_row_column_and_reason() {
    for (sql_type, rows, expected) in [
        ("int", "d1 00 d1 02 0000", "row 2, column c: a value of 2 bytes is no int"),
        ("date", "d1 03 dbb937", "row 1, column c: out of the range of date"),
        ("time(0)", "d1 03 805101", "row 1, column c: out of the range of time"),
        ("datetime2(0)", "d1 06 805101 000000", "row 1, column c: out of the range of datetime2"),
        ("datetime", "d1 08 452effff 00000000", "row 1, column c: out of the range of datetime"),
        ("datetime", "d1 08 00000000 00828b01", "row 1, column c: out of the range of datetime"),
        ("smalldatetime", "d1 04 0000 a005", "row 1, column c: out of the range of smalldatetime"),
        (
            "datetimeoffset(0)",
            "d1 08 000000 3af90a 4903",
            "row 1, column c: out of the range of datetimeoffset",
        ),
        ("decimal(3,0)", "d1 05 01 e8030000", "row 1, column c: more than the 3 digits declared"),
        ("decimal(3,0)", "d1 05 02 01000000", "row 1, column c: the sign byte of a decimal is 2, not 0 or 1"),
        (
            "decimal(3,0)",
            "d1 04 01 010000",
            "row 1, column c: a value of 4 bytes is no decimal (0, 5, 9, 13 or 17 bytes)",
        ),
        ("nvarchar(2)", "d1 0600 410041004100", "row 1, column c: 6 bytes exceed the declared 4"),
        ("nvarchar(9)", "d1 0300 410041", "row 1, column c: UTF-16 text of 3 bytes, an odd number"),
        (
            "nvarchar(9)",
            "d1 0400 4100 00d8",
            "row 1, column c: invalid UTF-16: an unpaired surrogate at code unit 1",
        ),
        (
            "nvarchar(9)",
            "d1 0600 4100 00dc 4100",
            "row 1, column c: invalid UTF-16: an unpaired surrogate at code unit 1",
        ),
        ("varchar(1)", "d1 0200 4141", "row 1, column c: 2 bytes exceed the declared 1"),
        ("json", "d1 feffffffffffffff 02000000 41ff 00000000", "row 1, column c: invalid UTF-8 at byte 1"),
        (
            "varbinary(max)",
            "d1 0300000000000000 02000000 4142 00000000",
            "row 1, column c: the chunks hold 2 bytes, 3 were announced",
        ),
        (
            "varbinary(max)",
            "d1 feffffffffffffff ffffffff",
            "row 1, column c: 4294967295 bytes exceed the declared 2147483647",
        ),
        (
            "image",
            "d1 10 00000000000000000000000000000000 0000000000000000 ffffffff",
            "row 1, column c: 4294967295 bytes exceed the declared 2147483647",
        ),
        (
            "sql_variant",
            "d1 02000000 ff 00",
            "row 1, column c: malformed sql_variant: unknown base type or properties",
        ),
        (
            "sql_variant",
            "d1 06000000 28 00 80460b00",
            "row 1, column c: malformed sql_variant: data of another length than the base type's",
        ),
        ("sql_variant", "d1 01000000 38", "row 1, column c: malformed sql_variant: shorter than its head"),
    ] {
        // A cell that would end the rows early must not be taken for an incomplete one.
        let found = error(sql_type, rows);
        assert_eq!(found, expected, "{sql_type} {rows}");
    }
}

#[test]
fn code_pages_are_decoded_and_undefined_bytes_refused() {
    let greek = Collation::from_name("Greek_CI_AS").unwrap();
    let column = Column::new("c", "varchar(9)".parse().unwrap(), true, Some(greek));
    let decode = |bytes| {
        decode_all(Decoder::new(std::slice::from_ref(&column), Form::default()).unwrap(), &hex(bytes))
    };
    assert_eq!(spelled(&decode("d1 0200 e1e2").unwrap(), 0)[0].as_deref(), Some("αβ"));
    let japanese = Collation::from_name("Japanese_CI_AS").unwrap();
    let column = Column::new("c", "varchar(9)".parse().unwrap(), true, Some(japanese));
    let decode = |bytes| {
        decode_all(Decoder::new(std::slice::from_ref(&column), Form::default()).unwrap(), &hex(bytes))
    };
    assert_eq!(spelled(&decode("d1 0500 93fa967b41").unwrap(), 0)[0].as_deref(), Some("日本A"));
    let error = decode("d1 0100 41 d1 0300 93fa96").unwrap_err();
    assert_eq!(error.to_string(), "row 2, column c: byte 2 is no character of the column's code page (932)");
}

#[test]
fn the_first_bad_row_is_named_whatever_its_column() {
    let columns = [column("varchar(9)", true), column("int", true)];
    // Row 0 is sound, row 1 has a bad int, row 2 too long a text, row 3 a value without end.
    let rows = hex("d1 0100 41 00 | d1 0100 41 02 0000 | d1 0a00 41414141414141414141 00 | d1 0f00");
    let error = decode_all(Decoder::new(&columns, Form::default()).unwrap(), &rows).unwrap_err();
    assert_eq!((error.row, &*error.column), (1, "c"));
    assert!(matches!(error.reason, RowDecodeErrorReason::Length { length: 2, .. }));
}

#[test]
fn the_first_bad_row_of_a_column_is_named_whatever_its_fault() {
    let japanese = Collation::from_name("Japanese_CI_AS").unwrap();
    let text = Column::new("c", "varchar(9)".parse().unwrap(), false, Some(japanese));
    // Found while the cells are read: too long a text in row 2. Found in another way: NULL in row 1, or half a
    // character of code page 932.
    for (rows, expected) in [
        ("d1 0100 41 | d1 ffff | d1 0a00 41414141414141414141", "row 2, column c: NULL in a column"),
        ("d1 0100 41 | d1 0100 96 | d1 0a00 41414141414141414141", "row 2, column c: byte 0 is no character"),
        ("d1 0100 41 | d1 0100 42 | d1 0a00 41414141414141414141", "row 3, column c: 10 bytes exceed"),
    ] {
        let decoder = Decoder::new(std::slice::from_ref(&text), Form::default()).unwrap();
        let error = decode_all(decoder, &hex(rows)).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{rows}: {error}");
    }
    // The first bad row is reported for values of fixed length, too.
    for (sql_type, row, null, bad) in [
        ("int", "d1 04 01000000", "d1 00", "d1 02 0000"),
        ("decimal(9,0)", "d1 05 01 01000000", "d1 00", "d1 05 02 01000000"),
    ] {
        let mut info = column(sql_type, true);
        info.flags.0 &= !tds::ColumnFlags::NULLABLE;
        let rows = hex(&format!("{row} {null} {row} {bad}"));
        let error = decode_all(Decoder::new(&[info], Form::default()).unwrap(), &rows).unwrap_err();
        assert_eq!((error.row, error.reason), (1, RowDecodeErrorReason::UnexpectedNull), "{sql_type}");
    }
}

#[test]
fn an_error_is_repeated_and_rows_are_counted_over_batches() {
    let mut decoder = Decoder::new(&[column("int", true)], Form::default()).unwrap();
    let sound = hex("d1 04 01000000");
    for _ in 0..3 {
        assert_eq!(decoder.decode(&sound), Ok(6));
    }
    assert_eq!(decoder.take_batch().unwrap().num_rows(), 3);
    let error = decoder.decode(&hex("d1 00 d1 01 00")).unwrap_err();
    assert_eq!(error.row, 4);
    assert_eq!(decoder.decode(&sound), Err(error));
}

#[test]
fn null_where_none_may_be_is_refused() {
    let mut not_null = column("nvarchar(9)", false);
    not_null.name = "name".to_owned();
    let decoder = Decoder::new(&[column("int", true), not_null.clone()], Form::default()).unwrap();
    let rows = hex("d1 00 0000 | d1 00 0000 | d1 00 ffff");
    let error = decode_all(decoder, &rows).unwrap_err();
    assert_eq!(error.to_string(), "row 3, column name: NULL in a column that is NOT NULL");
    let decoder = Decoder::new(&[not_null], Form::default()).unwrap();
    let error = decode_all(decoder, &hex("d2 01")).unwrap_err();
    assert_eq!(error.reason, RowDecodeErrorReason::UnexpectedNull);
}

#[test]
fn streams_without_columns_or_of_untyped_null_have_no_decoder() {
    assert_eq!(Decoder::new(&[], Form::Exact).err(), Some(DecoderError::NoColumns));
    let mut untyped = column("int", true);
    untyped.type_info.form = tds::Form::Null;
    assert!(matches!(Decoder::new(&[untyped], Form::Exact), Err(DecoderError::Unsupported { .. })));
}

/// Lists every type that a column can have.
pub(super) fn all_types() -> Vec<&'static str> {
    "bit tinyint smallint int bigint real float smallmoney money smalldatetime datetime date time(0) time(3) time(7)
     datetime2(0) datetime2(3) datetime2(6) datetime2(7) datetimeoffset(0) datetimeoffset(4) datetimeoffset(7)
     decimal(9,2) decimal(18,4) decimal(38,10) numeric(28,0) char(5) varchar(20) varchar(max) nchar(5) nvarchar(20)
     nvarchar(max) binary(5) varbinary(20) varbinary(max) uniqueidentifier xml json sql_variant text ntext image
     rowversion geography"
        .split_whitespace()
        .collect()
}

#[test]
fn column_descriptions_survive_the_wire() {
    // The decoder's idea of a value's shape must be the one that COLMETADATA announces.
    for sql_type in all_types() {
        if sql_type == "geography" {
            continue;
        }
        for nullable in [false, true] {
            let sent = column(sql_type, nullable);
            let mut w = Writer::new();
            encode_columns(Some(std::slice::from_ref(&sent)), &mut w, Direction::ServerToClient);
            let bytes = w.finish().unwrap();
            let got = decode_columns(&mut Reader::new(&bytes), Direction::ServerToClient).unwrap().unwrap();
            assert_eq!(got[0].type_info.length_class(), sent.type_info.length_class(), "{sql_type}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn random_bytes_never_panic(
        types in proptest::collection::vec((proptest::sample::select(all_types()), any::<bool>()), 1..6),
        mut bytes in proptest::collection::vec(prop_oneof![Just(0u8), Just(1), Just(4), Just(8), Just(0xff), Just(0xfe), any::<u8>()], 0..300),
        token in prop_oneof![Just(0xd1u8), Just(0xd2)],
        exact: bool,
    ) {
        let columns: Vec<_> = types.iter().filter(|(name, _)| *name != "geography").map(|(name, nullable)| column(name, *nullable)).collect();
        prop_assume!(!columns.is_empty());
        if let Some(first) = bytes.first_mut() {
            *first = token;
        }
        let form = if exact { Form::Exact } else { Form::default() };
        let mut decoder = Decoder::new(&columns, form).unwrap();
        if let Ok(used) = decoder.decode(&bytes) {
            prop_assert!(used <= bytes.len());
            let rows = decoder.rows_buffered();
            prop_assert_eq!(decoder.take_batch().unwrap().num_rows(), rows);
        }
    }
}
