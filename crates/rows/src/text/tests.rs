#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;

use arrow::array::*;
use arrow::datatypes::{DataType, Field, Int32Type, TimeUnit};
use proptest::prelude::*;

use super::binary::binary;
use super::bit::bit;
use super::calendar::{DAYS_MAX, civil_from_days, days_from_civil};
use super::datetime::*;
use super::guid::{guid, swap_order};
use super::money::{money, smallmoney};
use super::number::*;
use super::*;
use crate::column_text::{FormatTextError, TextOptions, format_column};

const STRICT: ParseOptions =
    ParseOptions { allow_rounding: false, drop_time_zone: false, date_order: None, year_cutoff: None };
const ROUNDING: ParseOptions = ParseOptions { allow_rounding: true, ..STRICT };

/// Checks lines of `text => result`, where the result is the value's Debug text or `! message`.
fn check<T: Debug>(parse: impl Fn(&str) -> Result<T, TextError>, script: &str) {
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (text, expected) = line.split_once("=>").unwrap_or_else(|| panic!("no => in {line}"));
        let text = text.trim().trim_matches('|');
        let found = match parse(text) {
            Ok(value) => format!("{value:?}"),
            Err(error) => format!("! {error}"),
        };
        assert_eq!(found, expected.trim(), "for {text:?}");
    }
}

#[test]
fn whole_numbers() {
    check(
        bigint,
        "0 => 0
         -0 => 0
         +7 => 7
         |  42\t| => 42
         007 => 7
         4.0 => 4
         4. => 4
         1e3 => 1000
         12.50e1 => 125
         0.0e99999999999 => 0
         9223372036854775807 => 9223372036854775807
         -9223372036854775808 => -9223372036854775808
         000000000000000000000000000000000000000000000005 => 5
         9223372036854775808 => ! out of the range of bigint
         1e40 => ! out of the range of bigint
         4.5 => ! not a whole number
         1e-1 => ! not a whole number
         1,000 => ! not a whole number
         0x10 => ! not a whole number
         - => ! not a whole number
         1 2 => ! not a whole number
         e5 => ! not a whole number
         . => ! not a whole number
         1e => ! not a whole number
         | | => ! the text is empty",
    );
    check(
        tinyint,
        "255 => 255\n 0 => 0\n 256 => ! out of the range of tinyint\n -1 => ! out of the range of tinyint",
    );
    check(smallint, "-32768 => -32768\n 32768 => ! out of the range of smallint");
    check(int, "2147483647 => 2147483647\n -2147483649 => ! out of the range of int");
}

#[test]
fn decimals() {
    check(
        |text| decimal(text, 10, 2, &STRICT),
        "123.45 => 12345
         -123.4 => -12340
         .5 => 50
         -.5 => -50
         5. => 500
         +0 => 0
         99999999.99 => 9999999999
         1.5e2 => 15000
         150e-2 => 150
         1.2300000000000000000000000000000000000000000000 => 123
         100000000 => ! more digits than decimal(10, 2) holds
         1e9999999999 => ! more digits than decimal(10, 2) holds
         1.005 => ! needs rounding to 2 digits after the point
         1e-3 => ! needs rounding to 2 digits after the point
         1,5 => ! not a decimal number
         $1 => ! not a decimal number
         nan => ! not a decimal number
         || => ! the text is empty",
    );
    check(
        |text| decimal(text, 10, 2, &ROUNDING),
        "1.005 => 101
         1.004999 => 100
         -1.005 => -101
         0.001 => 0
         1e-3 => 0
         5e-3 => 1
         99999999.994 => 9999999999
         99999999.995 => ! more digits than decimal(10, 2) holds",
    );
    check(
        |text| decimal(text, 38, 0, &STRICT),
        "99999999999999999999999999999999999999 => 99999999999999999999999999999999999999
         -99999999999999999999999999999999999999 => -99999999999999999999999999999999999999
         100000000000000000000000000000000000000 => ! more digits than decimal(38, 0) holds
         9e37 => 90000000000000000000000000000000000000
         1e38 => ! more digits than decimal(38, 0) holds",
    );
    check(
        |text| decimal(text, 38, 38, &STRICT),
        "0.12345678901234567890123456789012345678 => 12345678901234567890123456789012345678
         1e-38 => 1
         1 => ! more digits than decimal(38, 38) holds
         1e-39 => ! needs rounding to 38 digits after the point",
    );
}

#[test]
fn floating_point() {
    check(
        float,
        "1 => 1.0
         -1.5E+2 => -150.0
         .5 => 0.5
         5. => 5.0
         0.10000000000000001 => 0.1
         1e-400 => 0.0
         1e400 => ! out of the range of float
         inf => ! not a floating-point number
         -nan => ! not a floating-point number
         1,5 => ! not a floating-point number
         1e => ! not a floating-point number
         |  | => ! the text is empty",
    );
    check(real, "3.4028235E+38 => 3.4028235e38\n 3.5e38 => ! out of the range of real\n |\t1.5 | => 1.5");
}

#[test]
fn amounts_of_money() {
    check(
        |text| money(text, &STRICT),
        "1 => 10000
         $1 => 10000
         -$1,234,567.8901 => -12345678901
         $-1 => -10000
         £ 12.5 => 125000
         € .5 => 5000
         1234567.1235 => 12345671235
         -922337203685477.5808 => -9223372036854775808
         922337203685477.5808 => ! out of the range of money
         1.00000 => 10000
         1.00001 => ! needs rounding to 4 digits after the point
         1.5,00 => ! not an amount of money
         $$1 => ! not an amount of money
         --1 => ! not an amount of money
         1 $ => ! not an amount of money
         , => ! not an amount of money
         $ => ! not an amount of money
         || => ! the text is empty",
    );
    check(|text| money(text, &ROUNDING), "1.00005 => 10001\n -$0.00005 => -1");
    check(
        |text| smallmoney(text, &STRICT),
        "214748.3647 => 2147483647\n 214748.3648 => ! out of the range of smallmoney",
    );
}

#[test]
fn bits_binary_and_guids() {
    check(
        bit,
        "1 => true\n 0 => false\n | TRUE| => true\n False => false\n 2 => ! not a bit (0, 1, true or false)
         || => ! the text is empty",
    );
    check(
        binary,
        "0x => []
         || => []
         0xDEADbeef => [222, 173, 190, 239]
         00FF => [0, 255]
         0x123 => ! an odd number of hex digits (3)
         0x1g => ! not hexadecimal text
         0x1g3 => ! not hexadecimal text
         12z => ! not hexadecimal text",
    );
    check(
        |text| guid(text).map(|guid| format!("{:032x}", u128::from_be_bytes(guid))),
        "00112233-4455-6677-8899-aabbccddeeff => \"00112233445566778899aabbccddeeff\"
         {00112233-4455-6677-8899-AABBCCDDEEFF} => \"00112233445566778899aabbccddeeff\"
         00112233445566778899aabbccddeeff => ! not a GUID (8-4-4-4-12 hex digits)
         {00112233-4455-6677-8899-aabbccddeeff => ! not a GUID (8-4-4-4-12 hex digits)
         0011223g-4455-6677-8899-aabbccddeeff => ! not a GUID (8-4-4-4-12 hex digits)
         || => ! the text is empty",
    );
    // The example of the protocol's byte order.
    let wire =
        [0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff];
    assert_eq!(swap_order(guid("00112233-4455-6677-8899-aabbccddeeff").unwrap()), wire);
}

#[test]
fn dates() {
    check(
        |text| date(text, &STRICT),
        "0001-01-01 => 0
         1900-01-01 => 693595
         1970-01-01 => 719162
         2024-02-29 => 738944
         9999-12-31 => 3652058
         20240229 => 738944
         2024/2/29 => 738944
         2024.02.29 => 738944
         Feb 29 2024 => 738944
         february 29, 2024 => 738944
         29 Feb 2024 => 738944
         29-FEB-2024 => 738944
         {d '2024-02-29'} => 738944
         2024-02-29 00:00:00.000 => 738944
         2024-02-29T00:00 => 738944
         2023-02-29 => ! there is no such day
         0000-01-01 => ! out of the range of the calendar (0001-01-01 to 9999-12-31)
         2024-13-01 => ! there is no such day
         2024-02-29 00:00:01 => ! the time of day would be lost
         2024-02-29 00:00:00Z => ! the offset from UTC would be lost
         02/03/2024 => ! the order of day and month is not known
         2/3/24 => ! the year has fewer than four digits
         29 Feb 24 => ! the year has fewer than four digits
         29 Foo 2024 => ! not a date or time
         2024 => ! not a date or time
         240229 => ! not a date or time
         12:30 => ! not a date
         2024-02-29x => ! not a date or time
         2024-02/29 => ! not a date or time
         || => ! the text is empty",
    );
    let ordered = |order| move |text: &str| date(text, &ParseOptions { date_order: Some(order), ..STRICT });
    check(
        ordered(DateOrder::MonthDayYear),
        "2/29/2024 => 738944
         02-29-2024 => 738944
         29/2/2024 => ! there is no such day
         2024-02-29 => 738944",
    );
    check(ordered(DateOrder::DayMonthYear), "29/2/2024 => 738944\n 29.02.2024 => 738944");
    check(|text| date(text, &ROUNDING), "2024-02-29 23:59:59 => 738944");
}

#[test]
fn times() {
    check(
        |text| time(text, 7, &STRICT),
        "00:00:00.0000001 => 1
         12:30 => 450000000000
         12:30:15.25 => 450152500000
         9:5:1 => 327010000000
         12:30 PM => 450000000000
         12:30AM => 18000000000
         1PM => 468000000000
         12 am => 0
         1900-01-01 00:00:01 => 10000000
         {t '00:00:01'} => 10000000
         23:59:59.99999990 => 863999999999
         23:59:59.99999991 => ! needs rounding to 7 digits after the point
         24:00:00 => ! out of the range of a day's time (00:00:00 to 23:59:59)
         13:00 PM => ! out of the range of a day's time (00:00:00 to 23:59:59)
         12:60 => ! out of the range of a day's time (00:00:00 to 23:59:59)
         2024-02-29 => ! not a time
         2024-02-29 12:30 => ! the date would be lost
         12 => ! not a date or time
         12: => ! not a date or time
         12:30: => ! not a date or time
         12:30:15. => ! not a date or time
         12:30:15.5x => ! not a date or time",
    );
    check(
        |text| time(text, 3, &ROUNDING),
        "00:00:00.0005 => 1
         00:00:00.000499999 => 0
         23:59:59.9996 => ! out of the range of time
         2024-02-29 00:00:01 => 1000",
    );
}

#[test]
fn dates_with_times() {
    check(
        |text| datetime2(text, 7, &STRICT),
        "2010-12-29 => (734134, 0)
         2010-12-29 00:00:00.000 => (734134, 0)
         2010-12-29T12:30:15.1234567 => (734134, 450151234567)
         2010-12-29 12:30 => (734134, 450000000000)
         20101229 12:30 => (734134, 450000000000)
         Jan 29 2010 12:00AM => (733800, 0)
         Jan 29 2010 12:00:00:003PM => (733800, 432000030000)
         {ts '2010-12-29 12:30:15'} => (734134, 450150000000)
         2010-12-29 12:30:15+01:00 => ! the offset from UTC would be lost
         2010-12-29T => ! not a date or time
         2010-12-2912:30 => ! not a date or time
         12:30 => ! not a date and time",
    );
    let zoneless = ParseOptions { drop_time_zone: true, ..STRICT };
    check(|text| datetime2(text, 0, &zoneless), "2010-12-29 12:30:15+01:00 => (734134, 45015)");
    check(
        |text| datetime2(text, 0, &ROUNDING),
        "2010-12-29 23:59:59.5 => (734135, 0)\n 9999-12-31 23:59:59.5 => ! out of the range of datetime2",
    );
    check(
        |text| datetimeoffset(text, 0, &STRICT),
        "1970-01-01 01:00 +01:00 => (719162, 0, 60)
         1970-01-01T00:00:00Z => (719162, 0, 0)
         1970-01-01 00:00 => (719162, 0, 0)
         1970-01-01 00:30:00+0100 => (719161, 84600, 60)
         1970-01-01 23:30:00 -01 => (719163, 1800, -60)
         0001-01-01 00:00:00 +14:00 => ! out of the range of datetimeoffset
         1970-01-01 00:00 +14:01 => ! out of the range of an offset (-14:00 to +14:00)
         1970-01-01 00:00 +1 => ! not a date or time
         1970-01-01 00:00 UTC => ! not a date or time",
    );
    check(
        |text| datetime(text, &STRICT),
        "1900-01-01 => (0, 0)
         1753-01-01 => (-53690, 0)
         2026-03-14 09:30:15.250 => (46093, 10264575)
         2026-03-14 09:30:15.251 => ! needs rounding to 1/300 s, the unit of datetime
         2026-03-14 09:30:15.2533333 => ! needs rounding to 1/300 s, the unit of datetime
         2026-03-14 09:30:15.253 => (46093, 10264576)
         2026-03-14 23:59:59.997 => (46093, 25919999)
         1752-12-31 => ! out of the range of datetime (1753-01-01 to 9999-12-31)",
    );
    check(
        |text| datetime(text, &ROUNDING),
        "2026-03-14 09:30:15.251 => (46093, 10264575)
         2026-03-14 09:30:15.2516666 => (46093, 10264575)
         2026-03-14 09:30:15.2516667 => (46093, 10264576)
         2026-03-14 23:59:59.999 => (46094, 0)
         9999-12-31 23:59:59.999 => ! out of the range of datetime (1753-01-01 to 9999-12-31)",
    );
    check(
        |text| smalldatetime(text, &STRICT),
        "2026-03-14 09:30 => (46093, 570)
         2079-06-06 23:59 => (65535, 1439)
         2079-06-07 => ! out of the range of smalldatetime (1900-01-01 to 2079-06-06)
         2026-03-14 09:30:01 => ! needs rounding to a minute, the unit of smalldatetime",
    );
    check(
        |text| smalldatetime(text, &ROUNDING),
        "2026-03-14 09:30:29.9 => (46093, 570)\n 2026-03-14 23:59:30 => (46094, 0)",
    );
}

fn field(data_type: &DataType, sql_type: &str) -> Field {
    let metadata = match sql_type {
        "" => HashMap::new(),
        sql_type => HashMap::from([("sql_type".to_owned(), sql_type.to_owned())]),
    };
    Field::new("c", data_type.clone(), true).with_metadata(metadata)
}

#[track_caller]
fn formatted(array: impl Array + 'static, sql_type: &str, options: &TextOptions, expected: &[Option<&str>]) {
    let array: ArrayRef = Arc::new(array);
    let text = format_column(&array, &field(array.data_type(), sql_type), options).unwrap();
    assert_eq!(text.iter().collect::<Vec<_>>(), expected);
}

#[test]
fn values_are_spelled_as_sql_server_does() {
    let options = TextOptions::default();
    formatted(
        BooleanArray::from(vec![Some(true), None, Some(false)]),
        "bit",
        &options,
        &[Some("1"), None, Some("0")],
    );
    formatted(
        Int64Array::from(vec![i64::MIN, -7, 0, 100, i64::MAX]),
        "bigint",
        &options,
        &[Some("-9223372036854775808"), Some("-7"), Some("0"), Some("100"), Some("9223372036854775807")],
    );
    formatted(
        Float64Array::from(vec![100.0, 0.1, 1e16, 1.5e300, 1e-7, -0.5, 0.0]),
        "float",
        &options,
        &["100.0", "0.1", "1.0E+16", "1.5E+300", "1.0E-7", "-0.5", "0.0"].map(Some),
    );
    formatted(Float32Array::from(vec![f32::MAX, 0.1]), "real", &options, &["3.4028235E+38", "0.1"].map(Some));
    let decimals =
        Decimal128Array::from(vec![50, -50, 12345, 0, -1]).with_precision_and_scale(10, 2).unwrap();
    formatted(
        decimals.clone(),
        "decimal(10, 2)",
        &options,
        &["0.50", "-0.50", "123.45", "0.00", "-0.01"].map(Some),
    );
    formatted(
        decimals,
        "decimal(10, 2)",
        &TextOptions::bcp(),
        &[".50", "-.50", "123.45", ".00", "-.01"].map(Some),
    );
    let wide = Decimal128Array::from(vec![10i128.pow(38) - 1, -(10i128.pow(38) - 1), 10i128.pow(19)]);
    formatted(
        wide.with_precision_and_scale(38, 37).unwrap(),
        "",
        &options,
        &[
            Some("9.9999999999999999999999999999999999999"),
            Some("-9.9999999999999999999999999999999999999"),
            Some("0.0000000000000000010000000000000000000"),
        ],
    );
    formatted(
        BinaryArray::from(vec![&b"\x00\xab"[..], b""]),
        "varbinary(8)",
        &options,
        &["00AB", ""].map(Some),
    );
    let prefixed = TextOptions { binary_prefix: true, ..options };
    formatted(BinaryArray::from(vec![&b"\x00\xab"[..]]), "varbinary(8)", &prefixed, &[Some("0x00AB")]);
    let guid =
        FixedSizeBinaryArray::try_from_iter([guid("00112233-4455-6677-8899-aabbccddeeff").unwrap()].iter());
    formatted(guid.unwrap(), "uniqueidentifier", &options, &[Some("00112233-4455-6677-8899-AABBCCDDEEFF")]);
    formatted(UInt64Array::from(vec![0x7d1]), "rowversion", &options, &[Some("00000000000007D1")]);
}

#[test]
fn times_are_spelled_in_their_scale() {
    let options = TextOptions::default();
    formatted(
        Date32Array::from(vec![0, -719_162, 2_932_896]),
        "date",
        &options,
        &["1970-01-01", "0001-01-01", "9999-12-31"].map(Some),
    );
    formatted(
        Time64MicrosecondArray::from(vec![45_015_123_450]),
        "time(5)",
        &options,
        &[Some("12:30:15.12345")],
    );
    formatted(Time32SecondArray::from(vec![45_015]), "time(0)", &options, &[Some("12:30:15")]);
    let milliseconds = TimestampMillisecondArray::from(vec![1_293_580_800_000, -1]);
    formatted(
        milliseconds.clone(),
        "datetime",
        &options,
        &["2010-12-29 00:00:00.000", "1969-12-31 23:59:59.999"].map(Some),
    );
    formatted(
        milliseconds,
        "datetime",
        &TextOptions { date_time_separator: b'T', ..options },
        &["2010-12-29T00:00:00.000", "1969-12-31T23:59:59.999"].map(Some),
    );
    formatted(
        TimestampSecondArray::from(vec![1_293_580_800]),
        "smalldatetime",
        &options,
        &[Some("2010-12-29 00:00:00")],
    );
    formatted(
        TimestampNanosecondArray::from(vec![100]),
        "datetime2(7)",
        &options,
        &[Some("1970-01-01 00:00:00.0000001")],
    );
    formatted(
        TimestampNanosecondArray::from(vec![1]),
        "datetime2(7)",
        &options,
        &[Some("1970-01-01 00:00:00.000000001")],
    );
    formatted(
        TimestampMicrosecondArray::from(vec![0]).with_timezone("UTC"),
        "",
        &options,
        &[Some("1970-01-01 00:00:00.000000 +00:00")],
    );
    // The exact forms: 100 ns since 0001-01-01.
    let ticks = (719_162u64 * 864_000_000_000 + 1).to_be_bytes();
    formatted(
        FixedSizeBinaryArray::try_from_iter([ticks].iter()).unwrap(),
        "datetime2(7)",
        &options,
        &[Some("1970-01-01 00:00:00.0000001")],
    );
    let mut zoned = (719_162u64 * 864_000_000_000).to_be_bytes().to_vec();
    zoned.extend_from_slice(&(60u16 ^ 0x8000).to_be_bytes());
    formatted(
        FixedSizeBinaryArray::try_from_iter([zoned].iter()).unwrap(),
        "datetimeoffset(0)",
        &options,
        &[Some("1970-01-01 01:00:00 +01:00")],
    );
}

#[test]
fn other_layouts_are_unpacked_and_nested_types_refused() {
    let options = TextOptions::default();
    let dictionary: DictionaryArray<Int32Type> = vec![Some("a"), None, Some("a")].into_iter().collect();
    formatted(dictionary, "", &options, &[Some("a"), None, Some("a")]);
    formatted(StringViewArray::from(vec![Some("é"), None]), "", &options, &[Some("é"), None]);
    formatted(NullArray::new(2), "", &options, &[None, None]);
    let list: ArrayRef =
        Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(vec![Some(vec![Some(1)])]));
    let error = format_column(&list, &field(list.data_type(), ""), &options).unwrap_err();
    assert!(matches!(error, FormatTextError::Unsupported { .. }));
    let late: ArrayRef = Arc::new(TimestampSecondArray::from(vec![0, i64::MAX]));
    let error =
        format_column(&late, &field(&DataType::Timestamp(TimeUnit::Second, None), ""), &options).unwrap_err();
    assert_eq!(error.to_string(), "column c, row 2: the date lies outside 0001-01-01 to 9999-12-31");
}

#[test]
fn every_day_has_its_date() {
    let mut expected = (1u32, 1u32, 1u32);
    for days in 0..=DAYS_MAX {
        assert_eq!(civil_from_days(days), expected);
        assert_eq!(days_from_civil(expected.0, expected.1, expected.2), Some(days));
        expected.2 += 1;
        if days_from_civil(expected.0, expected.1, expected.2).is_none() {
            expected =
                if expected.1 == 12 { (expected.0 + 1, 1, 1) } else { (expected.0, expected.1 + 1, 1) };
        }
    }
    assert_eq!(expected.0, 10_000);
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(text in "\\PC{0,40}|[-+0-9.,:eETZ /$x{}'dts]{0,30}") {
        for options in [STRICT, ROUNDING] {
            let _ = (bigint(&text), float(&text), real(&text), bit(&text), binary(&text), guid(&text));
            let _ = (decimal(&text, 38, 10, &options), money(&text, &options));
            let _ = (date(&text, &options), time(&text, 3, &options), datetime2(&text, 7, &options));
            let _ = (datetimeoffset(&text, 7, &options), datetime(&text, &options), smalldatetime(&text, &options));
        }
    }

    #[test]
    fn numbers_read_back(whole: i64, double in proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL, single in proptest::num::f32::NORMAL) {
        let written = |write: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            write(&mut out);
            String::from_utf8(out).unwrap()
        };
        let text = written(&|out| write::signed(out, whole));
        prop_assert_eq!(&text, &whole.to_string());
        prop_assert_eq!(bigint(&text), Ok(whole));
        prop_assert_eq!(float(&written(&|out| write::float(out, double))), Ok(double));
        prop_assert_eq!(real(&written(&|out| write::real(out, single))), Ok(single));
        prop_assert_eq!(money(&written(&|out| write::scaled(out, i128::from(whole), 4, false)), &STRICT), Ok(whole));
    }

    #[test]
    fn decimals_read_back(value in -(10i128.pow(38) - 1)..10i128.pow(38), scale in 0u8..=38, leading_zero: bool) {
        let mut out = Vec::new();
        write::scaled(&mut out, value, scale, leading_zero);
        let text = String::from_utf8(out).unwrap();
        prop_assert_eq!(decimal(&text, 38, scale, &STRICT), Ok(value), "{}", text);
    }

    /// Zeros in front make a number that is read in another way.
    #[test]
    fn short_and_long_decimals_are_rounded_alike(value in 0..10u64.pow(17), place in 0usize..=17, scale in 0u8..=9, allow_rounding: bool, negative: bool) {
        let mut digits = value.to_string();
        digits.insert(place.min(digits.len()), '.');
        let sign = if negative { "-" } else { "" };
        let options = ParseOptions { allow_rounding, ..STRICT };
        let read = |zeros: usize| decimal(&format!("{sign}{}{digits}", "0".repeat(zeros)), 38, scale, &options);
        prop_assert_eq!(read(0), read(20));
    }

    #[test]
    fn moments_read_back(days in 0..=DAYS_MAX, tick in 0u64..864_000_000_000, scale in 0u8..=7, minutes in -840i16..=840) {
        let ticks = tick / 10u64.pow(u32::from(7 - scale));
        let mut out = Vec::new();
        write::date(&mut out, days);
        prop_assert_eq!(date(std::str::from_utf8(&out).unwrap(), &STRICT), Ok(days));
        out.push(b' ');
        write::time(&mut out, ticks, scale);
        let text = String::from_utf8(out.clone()).unwrap();
        prop_assert_eq!(datetime2(&text, scale, &STRICT), Ok((days, ticks)), "{}", text);
        write::offset(&mut out, minutes);
        let text = String::from_utf8(out).unwrap();
        if (1..DAYS_MAX).contains(&days) {
            let (utc_days, utc_ticks, offset) = datetimeoffset(&text, scale, &STRICT).unwrap();
            prop_assert_eq!(offset, minutes);
            let per_day = clock::ticks_per_day(scale) as i64;
            let local = i64::from(utc_days) * per_day + utc_ticks as i64 + i64::from(minutes) * (per_day / 1440);
            prop_assert_eq!(local, i64::from(days) * per_day + ticks as i64);
        }
    }

    #[test]
    fn bytes_read_back(bytes: Vec<u8>, id: [u8; 16]) {
        let mut out = Vec::new();
        write::hex(&mut out, &bytes);
        prop_assert_eq!(binary(std::str::from_utf8(&out).unwrap()), Ok(bytes));
        let mut out = Vec::new();
        write::guid(&mut out, &id);
        prop_assert_eq!(guid(std::str::from_utf8(&out).unwrap()), Ok(id));
        prop_assert_eq!(swap_order(swap_order(id)), id);
    }
}

/// Numbers as other countries write them: a spelling, and what it makes of texts.
#[test]
fn spelled_numbers() {
    use super::spelling::{DecimalMark, NumberSpelling, Percent, ThousandsMark};
    let of = |spelling: NumberSpelling| {
        move |text: &str| spelling.plain(text).map(|plain| Shown(plain.into_owned()))
    };
    let german = NumberSpelling {
        decimal: DecimalMark::Comma,
        thousands: Some(ThousandsMark::Point),
        ..NumberSpelling::default()
    };
    check(
        of(german),
        "10.861,80 => 10861.80
         1.234.567 => 1234567
         1,5 => 1.5
         ,5 => .5
         -1.000,25 => -1000.25
         1.000,25- => -1000.25
         (1.000,25) => -1000.25
         −7 => -7
         |  12,50 | => 12.50
         1,5E+05 => 1.5E+05
         1.5 => ! not a number with a decimal comma, as the options spell it
         12.34,5 => ! not a number with a decimal comma, as the options spell it
         1234.567,8 => ! not a number with a decimal comma, as the options spell it
         1,234,567 => ! not a number with a decimal comma, as the options spell it
         --5 => ! not a number with a decimal comma, as the options spell it
         12,50 € => ! not a number with a decimal comma, as the options spell it
         5% => ! not a number with a decimal comma, as the options spell it
         || => ! the text is empty",
    );
    let euros = NumberSpelling { currency: Some("€".parse().unwrap()), ..german };
    check(
        of(euros),
        "1.200,50 € => 1200.50
         € -3 => -3
         -€3 => -3
         € => ! not a number with a decimal comma, as the options spell it
         €3€ => ! not a number with a decimal comma, as the options spell it
         $3 => ! not a number with a decimal comma, as the options spell it",
    );
    let french = NumberSpelling { thousands: Some(ThousandsMark::Blank), ..german };
    check(
        of(french),
        "1 234,5 => 1234.5
         1\u{a0}234\u{202f}567,5 => 1234567.5
         12 34 => ! not a number with a decimal comma, as the options spell it",
    );
    let swiss = NumberSpelling { thousands: Some(ThousandsMark::Apostrophe), ..NumberSpelling::default() };
    check(of(swiss), "1'234.50 => 1234.50\n 1’234 => 1234");
    let indian = NumberSpelling { thousands: Some(ThousandsMark::Comma), ..NumberSpelling::default() };
    check(
        of(indian),
        "12,34,567.5 => 1234567.5
         1,234,567 => 1234567
         1,23,45 => ! not a number with a decimal point, as the options spell it",
    );
    let fraction = NumberSpelling { percent: Some(Percent::Fraction), ..NumberSpelling::default() };
    check(
        of(fraction),
        "12% => 0.12
         5 % => 0.05
         %7.5 => 0.075
         -112.5% => -1.125
         (12.5)% => -0.125
         (12.5%) => -0.125
         3 => 3",
    );
    let number = NumberSpelling { percent: Some(Percent::Number), ..NumberSpelling::default() };
    check(of(number), "12% => 12\n 12%% => ! not a number with a decimal point, as the options spell it");
}

/// A text that shows itself without quotes.
struct Shown(String);

impl Debug for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Years of two digits are of the hundred up to the cutoff.
#[test]
fn short_years() {
    let by = |order, cutoff| {
        move |text: &str| {
            let options = ParseOptions { date_order: order, year_cutoff: Some(cutoff), ..STRICT };
            let (year, month, day) = civil_from_days(date(text, &options)?);
            Ok(Shown(format!("{year:04}-{month:02}-{day:02}")))
        }
    };
    check(
        by(Some(DateOrder::DayMonthYear), 2049),
        "31.12.49 => 2049-12-31
         31.12.50 => 1950-12-31
         1/2/05 => 2005-02-01
         2-jan-75 => 1975-01-02
         31.12.050 => ! the year has fewer than four digits
         1/2/2005 => 2005-02-01",
    );
    check(
        by(Some(DateOrder::YearMonthDay), 2010),
        "10-12-31 => 2010-12-31
         11/1/2 => 1911-01-02
         31/12/2024 => ! the order of day and month is not known
         2024-1-5 => 2024-01-05",
    );
    check(
        by(None, 2049),
        "5 Dec 24 => 2024-12-05
         1/2/24 => ! the order of day and month is not known",
    );
}
