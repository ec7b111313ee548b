//! Cells given byte by byte, from the tables and vectors of the protocol's description.

use super::*;
use crate::mapping::{GuidForm, OffsetForm, ReadOptions, Scale7};

/// Decodes one row of one column per line of `type | bytes => text` in `form`. `null` is NULL, `·` a blank,
/// `! reason` an error.
fn check(form: &Form, script: &str) {
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (left, expected) = line.split_once("=>").unwrap();
        let (sql_type, bytes) = left.split_once('|').unwrap();
        let (sql_type, nullable) = match sql_type.trim().strip_suffix("not null") {
            Some(sql_type) => (sql_type.trim(), false),
            None => (sql_type.trim(), true),
        };
        let mut row = vec![0xd1];
        row.extend(hex(bytes));
        let decoder = Decoder::new(&[column(sql_type, nullable)], form.clone()).unwrap();
        let found = match decode_all(decoder, &row) {
            Ok(batch) => spelled(&batch, 0)[0].clone().unwrap_or("null".to_owned()),
            Err(error) => format!("! {}", error.reason),
        };
        assert_eq!(found, expected.trim().replace('·', " "), "{line}");
    }
}

/// Values that both forms represent.
const BOTH: &str = "
    int | 04 07000000 => 7
    int | 00 => null
    int not null | f9ffffff => -7
    tinyint | 01 ff => 255
    tinyint not null | 80 => 128
    smallint | 02 0080 => -32768
    bigint | 08 ffffffffffffff7f => 9223372036854775807
    bigint not null | ffffffffffffffff => -1
    bit | 01 01 => 1
    bit not null | 00 => 0
    real | 04 0000c03f => 1.5
    float | 08 000000000000f03f => 1.0
    float not null | 000000000000f83f => 1.5
    money | 08 0000000010270000 => 1.0000
    money | 08 ffffffff f0d8ffff => -1.0000
    money not null | 02000000 00e40b54 => 1000000.0000
    smallmoney | 04 589effff => -2.5000
    smallmoney not null | 589effff => -2.5000
    decimal(10,2) | 09 01 3930000000000000 => 123.45
    decimal(10,2) | 05 00 39300000 => -123.45
    decimal(10,2) | 0d 01 393000000000000000000000 => 123.45
    decimal(10,2) | 11 00 39300000000000000000000000000000 => -123.45
    decimal(10,2) | 00 => null
    decimal(38,0) | 11 01 ffffffff3f228a097ac4865aa84c3b4b => 99999999999999999999999999999999999999
    numeric(5,5) | 05 01 01000000 => 0.00001
    date | 03 80460b => 2024-02-29
    date | 03 000000 => 0001-01-01
    date | 03 dab937 => 9999-12-31
    date | 00 => null
    time(7) | 05 0100000000 => 00:00:00.0000001
    time(0) | 03 7f5101 => 23:59:59
    time(3) | 04 ff5b2605 => 23:59:59.999
    datetime2(0) | 06 000000 3af90a => 1970-01-01 00:00:00
    datetime2(3) | 07 ff5b2605 5b950a => 1900-01-01 23:59:59.999
    datetime2(7) | 08 0000000000 3af90a => 1970-01-01 00:00:00.0000000
    datetime2(6) | 08 010000000039f90a => 1969-12-31 00:00:00.000001
    datetime | 08 0000000000000000 => 1900-01-01 00:00:00.000
    datetime not null | 0db40000 ff9f9c00 => 2026-03-14 09:30:15.250
    datetime | 08 462effff ff818b01 => 1753-01-01 23:59:59.997
    smalldatetime | 04 0db43a02 => 2026-03-14 09:30:00
    uniqueidentifier | 10 33221100554477668899aabbccddeeff => 00112233-4455-6677-8899-AABBCCDDEEFF
    uniqueidentifier | 00 => null
    nvarchar(10) | 0400 4100e900 => Aé
    nvarchar(10) | ffff => null
    nvarchar(10) | 0000 =>
    nvarchar(10) | 0400 3dd800de => 😀
    nchar(3) | 0600 41002000 2000 => A··
    nvarchar(max) | 0200000000000000 | 02000000 4100 | 00000000 => A
    nvarchar(max) | feffffffffffffff | 02000000 4100 | 00000000 => A
    nvarchar(max) | feffffffffffffff | 01000000 41 | 02000000 00e9 | 01000000 00 | 00000000 => Aé
    nvarchar(max) | 0000000000000000 | 00000000 =>
    nvarchar(max) | ffffffffffffffff => null
    varchar(10) | 0300 5a fc 80 => Zü€
    varchar(10) | ffff => null
    char(3) | 0300 412020 => A··
    varchar(max) | feffffffffffffff | 01000000 5a | 01000000 fc | 00000000 => Zü
    varbinary(4) | 0200 00ab => 00AB
    varbinary(max) | 0100000000000000 | 01000000 ab | 00000000 => AB
    binary(2) | 0200 00ab => 00AB
    xml | feffffffffffffff | 06000000 fffe 3c00 6100 | 00000000 => <a
    json | 0400000000000000 | 04000000 225ac3 bc | 00000000 => \"Zü
    text | 00 => null
    text | 10 64756d6d792074657874707472000000 64756d6d79545300 | 02000000 5afc => Zü
    ntext | 10 ffffffffffffffffffffffffffffffff ffffffffffffffff | 02000000 e900 => é
    image | 10 00000000000000000000000000000000 0000000000000000 | 00000000 =>
    rowversion | 0800 00000000000007d1 => 00000000000007D1
    sql_variant | 00000000 => null
    sql_variant | 06000000 38 00 2a000000 => 42
    sql_variant | 0e000000 a7 07 0904d00034 0500 68656c6c6f => hello
    sql_variant | 0d000000 e7 07 0904d00034 0400 4100e900 => Aé
    sql_variant | 15000000 6c 02 0803 00 39300000000000000000000000000000 => -12.345
    sql_variant | 0a000000 3d 00 0db40000ff9f9c00 => 2026-03-14 09:30:15.250
";

#[test]
fn values_decode_in_both_forms() {
    for form in [Form::default(), Form::Exact] {
        check(&form, BOTH);
    }
}

#[test]
fn instants_lose_their_offset_only_in_the_arrow_form() {
    let script = "
        datetimeoffset(0) | 08 000000 3af90a 3c00 => 1970-01-01 00:00:00 +00:00
        datetimeoffset(3) | 09 01000000 3af90a c4ff => 1970-01-01 00:00:00.001 +00:00
    ";
    check(&Form::default(), script);
    let kept = "
        datetimeoffset(0) | 08 000000 3af90a 3c00 => 1970-01-01 01:00:00 +01:00
        datetimeoffset(3) | 09 01000000 3af90a c4ff => 1969-12-31 23:00:00.001 -01:00
        datetimeoffset(7) | 0a 0100000000 3af90a 0000 => 1970-01-01 00:00:00.0000001 +00:00
    ";
    check(&Form::Exact, kept);
    let text = ReadOptions { date_time_offset: OffsetForm::Text, ..ReadOptions::default() };
    check(&Form::Arrow(text), kept);
}

#[test]
fn what_nanoseconds_cannot_hold_is_refused_and_can_be_read_otherwise() {
    let first = "datetime2(7) | 08 0000000000 000000";
    let last = "datetime2(7) | 08 ffbf692ac9 dab937";
    let refusal = "does not fit a timestamp in nanoseconds; read the column as microseconds or text";
    check(
        &Form::default(),
        &format!(
            "{first} => ! 0001-01-01 00:00:00.0000000 {refusal}
             {last} => ! 9999-12-31 23:59:59.9999999 {refusal}
             datetime2(7) | 08 0000000000 3a5809 => ! 1677-09-21 00:00:00.0000000 {refusal}
             datetime2(7) | 08 0000000000 3b5809 => 1677-09-22 00:00:00.0000000
             datetime2(7) | 08 ffbf692ac9 389a0c => 2262-04-10 23:59:59.9999999"
        ),
    );
    check(
        &Form::Exact,
        &format!("{first} => 0001-01-01 00:00:00.0000000\n {last} => 9999-12-31 23:59:59.9999999"),
    );
    let with = |scale_7| Form::Arrow(ReadOptions { scale_7, ..ReadOptions::default() });
    check(
        &with(Scale7::Text),
        &format!("{first} => 0001-01-01 00:00:00.0000000\n {last} => 9999-12-31 23:59:59.9999999"),
    );
    check(
        &with(Scale7::Microseconds),
        &format!(
            "{first} => 0001-01-01 00:00:00.000000
             {last} => ! 9999-12-31 23:59:59.9999999 has a seventh digit, which microseconds lose; read the column as \"cut\" or text"
        ),
    );
}

#[test]
fn guids_can_be_text() {
    let form = Form::Arrow(ReadOptions { guid: GuidForm::Text, ..ReadOptions::default() });
    check(
        &form,
        "uniqueidentifier | 10 33221100554477668899aabbccddeeff => 00112233-4455-6677-8899-AABBCCDDEEFF
         uniqueidentifier | 00 => null",
    );
}

#[test]
fn null_bitmaps_leave_cells_out() {
    // NBCROW: bit i of the bitmap says that column i is NULL and absent.
    let types = [
        "int",
        "nvarchar(10)",
        "decimal(10,2)",
        "varchar(max)",
        "date",
        "sql_variant",
        "text",
        "bit",
        "float",
    ];
    let columns: Vec<_> = types.iter().map(|sql_type| column(sql_type, true)).collect();
    let rows = hex("d2 ff 01 | d2 fe 01 04 2a000000 | d2 ff 00 08 000000000000f03f");
    let batch = decode_all(Decoder::new(&columns, Form::default()).unwrap(), &rows).unwrap();
    assert_eq!(spelled(&batch, 0), [None, Some("42".to_owned()), None]);
    assert_eq!(spelled(&batch, 8), [None, None, Some("1.0".to_owned())]);
    for index in 1..8 {
        assert_eq!(spelled(&batch, index), [None, None, None]);
    }
}

#[test]
fn long_text_takes_every_path_of_the_transcoder() {
    // Lengths around the block of 16 units, the odd character at every place; the last row has nothing behind it.
    for odd in ['x', 'é', '€', '😀'] {
        let texts: Vec<String> = (0..50usize)
            .flat_map(|length| (0..=length).map(move |place| (length, place)))
            .map(|(length, place)| {
                let letter = |index: usize| char::from(b'a' + (index % 26) as u8);
                (0..length).map(|index| if index == place { odd } else { letter(index) }).collect()
            })
            .collect();
        let mut rows = Vec::new();
        for text in &texts {
            let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let mut row = vec![0xd1];
            row.extend((utf16.len() as u16).to_le_bytes());
            row.extend(&utf16);
            let decoder = Decoder::new(&[column("nvarchar(200)", true)], Form::default()).unwrap();
            let alone = decode_all(decoder, &row).unwrap();
            assert_eq!(spelled(&alone, 0)[0].as_deref(), Some(&**text));
            rows.extend(row);
        }
        let decoder = Decoder::new(&[column("nvarchar(200)", true)], Form::default()).unwrap();
        let found = spelled(&decode_all(decoder, &rows).unwrap(), 0);
        assert_eq!(found.into_iter().map(Option::unwrap).collect::<Vec<_>>(), texts);
    }
}
