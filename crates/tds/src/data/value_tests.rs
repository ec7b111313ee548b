#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use proptest::prelude::*;

use super::*;
use crate::collation::Collation;
use crate::data::value_data::{DAYS_MAX, power_of_ten, ticks_per_day};
use crate::sql_type::{Length, SqlType};
use crate::type_info::{Direction, Form, XmlSchema};
use crate::vector::VectorBase;

const LATIN1: Collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;

fn hex(text: &str) -> Vec<u8> {
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

fn type_info(text: &str) -> TypeInfo {
    TypeInfo::new(text.parse().unwrap(), true, Some(LATIN1))
}

fn encoded(value: &Value, type_info: &TypeInfo, place: ValuePlace) -> Vec<u8> {
    let mut w = Writer::new();
    encode_value(value, type_info, &mut w, place);
    w.finish().unwrap()
}

fn refused(value: &Value, type_info: &TypeInfo) -> String {
    let mut w = Writer::new();
    encode_value(value, type_info, &mut w, ValuePlace::Row);
    w.finish().unwrap_err().to_string()
}

fn decoded(bytes: &[u8], type_info: &TypeInfo, place: ValuePlace) -> Result<Value, DecodeError> {
    let mut r = Reader::new_complete(bytes);
    let value = decode_value(&mut r, type_info, place)?;
    r.finish("value")?;
    Ok(value)
}

/// Returns `type, TYPE_INFO, value bytes, value` of the examples of the published protocol notes.
fn vectors() -> Vec<(&'static str, &'static str, &'static str, Value)> {
    let text = |text: &str| Value::String(text.to_owned());
    vec![
        ("int", "26 04", "04 07000000", Value::Int(7)),
        ("int", "26 04", "00", Value::Null),
        ("nvarchar(10)", "e7 1400 0904d00034", "0400 4100e900", text("Aé")),
        ("nvarchar(10)", "e7 1400 0904d00034", "ffff", Value::Null),
        ("nvarchar(max)", "e7 ffff 0904d00034", "0200000000000000 02000000 4100 00000000", text("A")),
        ("nvarchar(max)", "e7 ffff 0904d00034", "0000000000000000 00000000", text("")),
        ("nvarchar(max)", "e7 ffff 0904d00034", "ffffffffffffffff", Value::Null),
        (
            "decimal(10, 2)",
            "6a 11 0a 02",
            "09 01 3930000000000000",
            Value::Decimal { magnitude: 12345, negative: false, precision: 10, scale: 2 },
        ),
        ("decimal(10, 2)", "6a 11 0a 02", "00", Value::Null),
        ("date", "28", "03 80460b", Value::Date(738_944)),
        ("date", "28", "03 5b950a", Value::Date(693_595)),
        ("time(7)", "29 07", "05 0100000000", Value::Time { ticks: 1, scale: 7 }),
        (
            "datetime2(7)",
            "2a 07",
            "08 0000000000 3af90a",
            Value::DateTime2 { days: 719_162, ticks: 0, scale: 7 },
        ),
        ("datetime", "6f 08", "08 00000000 00000000", Value::DateTime { days: 0, ticks: 0 }),
        (
            "datetimeoffset(0)",
            "2b 00",
            "08 000000 3af90a 3c00",
            Value::DateTimeOffset { days: 719_162, ticks: 0, scale: 0, offset_minutes: 60 },
        ),
        ("bit", "68 01", "01 01", Value::Bit(true)),
        ("float", "6d 08", "08 000000000000f03f", Value::Float(1.0)),
        ("money", "6e 08", "08 00000000 10270000", Value::Money(10_000)),
        ("money", "6e 08", "08 ffffffff f0d8ffff", Value::Money(-10_000)),
        ("uniqueidentifier", "24 10", "00", Value::Null),
        (
            "uniqueidentifier",
            "24 10",
            "10 33221100 5544 7766 8899aabbccddeeff",
            Value::Guid([
                0x33, 0x22, 0x11, 0, 0x55, 0x44, 0x77, 0x66, 0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF,
            ]),
        ),
        ("varchar(10)", "a7 0a00 0904d00034", "0200 80e9", text("€é")),
        ("char(2)", "af 0200 0904d00034", "0200 4120", text("A ")),
        ("nchar(2)", "ef 0400 0904d00034", "0400 41002000", text("A ")),
        ("varbinary(max)", "a5 ffff", "0100000000000000 01000000 ff 00000000", Value::Binary(vec![0xFF])),
        ("binary(2)", "ad 0200", "0200 0102", Value::Binary(vec![1, 2])),
        ("rowversion", "ad 0800", "0800 00000000000007d1", Value::Binary(vec![0, 0, 0, 0, 0, 0, 7, 0xD1])),
        (
            "text",
            "23 ffffff7f 0904d00034",
            "10 64756d6d7920746578747074720000 00 64756d6d79545300 01000000 e9",
            text("é"),
        ),
        ("xml", "f1 00", "0400000000000000 04000000 3c002f00 00000000", text("</")),
        ("json", "f4", "0200000000000000 02000000 7b7d 00000000", text("{}")),
        (
            "vector(2)",
            "f5 1000 00",
            "1000 a901020000000000 0000803f 000000c0",
            Value::Vector(Vector::new(VectorBase::Float32, vec![1.0, -2.0]).unwrap()),
        ),
        (
            "vector(2, float16)",
            "f5 0c00 01",
            "0c00 a901020001000000 003c 00c0",
            Value::Vector(Vector::new(VectorBase::Float16, vec![1.0, -2.0]).unwrap()),
        ),
        ("vector(2)", "f5 1000 00", "ffff", Value::Null),
        ("sql_variant", "62 491f0000", "00000000", Value::Null),
        (
            "sql_variant",
            "62 491f0000",
            "06000000 38 00 07000000",
            Value::Variant(Box::new(VariantValue {
                type_info: TypeInfo::new(SqlType::Int, false, None),
                value: Value::Int(7),
            })),
        ),
    ]
}

#[test]
fn published_vectors() {
    for (name, info_bytes, value_bytes, value) in vectors() {
        let type_info = type_info(name);
        let mut w = Writer::new();
        type_info.encode(&mut w, Direction::ServerToClient);
        assert_eq!(w.finish().unwrap(), hex(info_bytes), "TYPE_INFO of {name}");
        assert_eq!(encoded(&value, &type_info, ValuePlace::Row), hex(value_bytes), "{name} {value}");
        assert_eq!(decoded(&hex(value_bytes), &type_info, ValuePlace::Row), Ok(value), "{name}");
    }
}

#[test]
fn other_forms_that_decode() {
    for (name, place, bytes, text) in [
        ("nvarchar(max)", ValuePlace::Row, "feffffffffffffff 02000000 4100 00000000", "A"),
        ("varchar(max)", ValuePlace::Row, "feffffffffffffff 01000000 41 02000000 4243 00000000", "ABC"),
        ("decimal(10, 2)", ValuePlace::Row, "05 00 39300000", "-123.45"),
        ("decimal(10, 2)", ValuePlace::Row, "11 01 39300000000000000000000000000000", "123.45"),
        ("text", ValuePlace::Parameter, "02000000 4142", "AB"),
        ("ntext", ValuePlace::Parameter, "ffffffff", "NULL"),
        ("ntext", ValuePlace::Row, "00", "NULL"),
        ("image", ValuePlace::Row, "01 00 0000000000000000 01000000 ab", "AB"),
        ("xml", ValuePlace::Parameter, "feffffffffffffff 04000000 fffe4100 00000000", "A"),
        (
            "sql_variant",
            ValuePlace::Row,
            "15000000 6a 02 0a02 00 39300000000000000000000000000000",
            "-123.45",
        ),
        ("sql_variant", ValuePlace::Row, "0b000000 a7 07 0904d00034 0a00 80e9", "€é"),
    ] {
        assert_eq!(
            decoded(&hex(bytes), &type_info(name), place).unwrap().to_string(),
            text,
            "{name} {bytes}"
        );
    }
}

#[test]
fn legacy_tokens_of_parameters() {
    for (bytes, value, name, text) in [
        ("27 0a", "02 4142", "varchar(10)", "AB"),
        ("2f 05", "00", "char(5)", "NULL"),
        ("25 ff", "01 ff", "varbinary(255)", "FF"),
        ("2d 02", "02 0102", "binary(2)", "0102"),
        ("37 11 0a 02", "05 01 39300000", "decimal(10, 2)", "123.45"),
        ("3f 05 05 00", "00", "numeric(5, 0)", "NULL"),
        ("1f", "", "int", "NULL"),
    ] {
        let info_bytes = hex(bytes);
        let mut r = Reader::new_complete(&info_bytes);
        let type_info = TypeInfo::decode(&mut r, Direction::ClientToServer).unwrap();
        r.finish("TYPE_INFO").unwrap();
        assert_eq!(type_info.sql_type.to_string(), name);
        let decoded = decoded(&hex(value), &type_info, ValuePlace::Parameter).unwrap();
        assert_eq!(decoded.to_string(), text, "{bytes}");
        let mut w = Writer::new();
        type_info.encode(&mut w, Direction::ClientToServer);
        assert_eq!(w.finish().unwrap(), info_bytes);
        if name != "decimal(10, 2)" {
            assert_eq!(encoded(&decoded, &type_info, ValuePlace::Parameter), hex(value));
        }
    }
}

#[test]
fn not_null_columns_have_fixed_tokens() {
    for (name, token, value, bytes) in [
        ("tinyint", "30", Value::TinyInt(255), "ff"),
        ("bit", "32", Value::Bit(false), "00"),
        ("smallint", "34", Value::SmallInt(i16::MIN), "0080"),
        ("int", "38", Value::Int(i32::MAX), "ffffff7f"),
        ("bigint", "7f", Value::BigInt(i64::MIN), "0000000000000080"),
        ("real", "3b", Value::Real(-0.0), "00000080"),
        ("float", "3e", Value::Float(f64::MAX), "ffffffffffffef7f"),
        ("smallmoney", "7a", Value::SmallMoney(i32::MIN), "00000080"),
        ("money", "3c", Value::Money(i64::MAX), "ffffff7f ffffffff"),
        ("smalldatetime", "3a", Value::SmallDateTime { days: 65_535, minutes: 1439 }, "ffff 9f05"),
        ("datetime", "3d", Value::DateTime { days: -53_690, ticks: 25_919_999 }, "462effff ff818b01"),
    ] {
        let type_info = TypeInfo::new(name.parse().unwrap(), false, None);
        assert_eq!(type_info.form, Form::Fixed);
        let mut w = Writer::new();
        type_info.encode(&mut w, Direction::ServerToClient);
        assert_eq!(w.finish().unwrap(), hex(token));
        assert_eq!(encoded(&value, &type_info, ValuePlace::Row), hex(bytes), "{name}");
        assert_eq!(decoded(&hex(bytes), &type_info, ValuePlace::Row), Ok(value));
        assert!(refused(&Value::Null, &type_info).contains("NOT NULL"));
    }
}

#[test]
fn malformed_values_are_refused() {
    for (name, bytes, what) in [
        ("int", "03 010203", "3 bytes are no int"),
        ("date", "03 dbb937", "date 3652059 days after 0001-01-01"),
        ("time(0)", "03 805101", "86400 units of 10^-0 s are no time of day"),
        ("datetime", "08 00000000 00828b01", "datetime of 0 days and 25920000 ticks"),
        ("datetime", "08 452effff 00000000", "datetime of -53691 days and 0 ticks"),
        ("smalldatetime", "04 0000 a005", "smalldatetime of 1440 minutes"),
        ("datetimeoffset(0)", "08 000000 000000 4903", "offset of 841 minutes"),
        ("decimal(3, 0)", "05 01 e8030000", "1000 has more than 3 digits"),
        ("decimal(38, 0)", "11 01 00000000 40228a09 7ac4865a a84c3b4b", "has more than 38 digits"),
        ("decimal(38, 0)", "01 01", "1 bytes are no decimal(38, 0)"),
        ("nvarchar(10)", "0300 410042", "unpaired surrogate"),
        ("nvarchar(10)", "0200 00d8", "unpaired surrogate"),
        ("varchar(max)", "0300000000000000 02000000 4142 00000000", "length 3 announced, 2 bytes in chunks"),
        ("json", "0100000000000000 01000000 ff 00000000", "invalid utf-8"),
        ("sql_variant", "02000000 62 00", "62 is no base type of a variant"),
        ("sql_variant", "0b000000 a7 07 0904d00034 ffff 80e9", "length 65535 of token A7"),
        ("sql_variant", "07000000 38 01 00 07000000", "1 bytes left over"),
        ("int", "04 0102", "4 bytes needed"),
    ] {
        let error = decoded(&hex(bytes), &type_info(name), ValuePlace::Row).unwrap_err();
        assert!(error.to_string().contains(what), "{name} {bytes}: {error}");
    }
}

#[test]
fn what_does_not_fit_its_type_never_leaves() {
    for (name, value, what) in [
        ("varchar(2)", Value::String("abc".into()), "length 3 exceeds the limit of 2"),
        ("nvarchar(2)", Value::String("abc".into()), "length 6 exceeds the limit of 4"),
        ("varchar(20)", Value::String("Łódź".into()), "code page 1252 has no 'Ł'"),
        ("int", Value::BigInt(1), "1 is no int"),
        (
            "decimal(3, 1)",
            Value::Decimal { magnitude: 1000, negative: false, precision: 4, scale: 1 },
            "100.0 is no",
        ),
        (
            "decimal(3, 1)",
            Value::Decimal { magnitude: 10, negative: false, precision: 3, scale: 2 },
            "0.10 is no",
        ),
        ("time(0)", Value::Time { ticks: 86_400, scale: 0 }, "no time of day"),
        ("date", Value::Date(-1), "no date"),
        ("sql_variant", Value::Int(1), "no base type"),
    ] {
        assert!(
            refused(&value, &type_info(name)).contains(what),
            "{name} {value:?}: {}",
            refused(&value, &type_info(name))
        );
    }
}

#[test]
fn clr_types_and_xml_schemas() {
    let sql_type = SqlType::Udt {
        database: "db".into(),
        schema: "sys".into(),
        name: "geography".into(),
        assembly: "Microsoft.SqlServer.Types.SqlGeography".into(),
    };
    let mut xml = TypeInfo::new(SqlType::Xml, true, None);
    xml.xml_schema =
        Some(Box::new(XmlSchema { database: "d".into(), owner: "o".into(), collection: "c".into() }));
    for type_info in [TypeInfo::new(sql_type, true, None), xml] {
        for direction in [Direction::ServerToClient, Direction::ClientToServer] {
            let mut expected = type_info.clone();
            if let (SqlType::Udt { assembly, .. }, Direction::ClientToServer) =
                (&mut expected.sql_type, direction)
            {
                assembly.clear();
            }
            let mut w = Writer::new();
            type_info.encode(&mut w, direction);
            let bytes = w.finish().unwrap();
            let mut r = Reader::new_complete(&bytes);
            assert_eq!(TypeInfo::decode(&mut r, direction), Ok(expected));
            r.finish("TYPE_INFO").unwrap();
        }
    }
}

fn length(max: u16) -> impl Strategy<Value = Length> {
    prop_oneof![(1..=max).prop_map(Length::Units), Just(Length::Max)]
}

/// Generates any type, with a value of it.
fn typed_value() -> impl Strategy<Value = (SqlType, Value)> {
    let day = 0..=DAYS_MAX;
    let time = (0..=7_u8).prop_flat_map(|scale| (0..ticks_per_day(scale), Just(scale)));
    let decimal = (1..=38_u8).prop_flat_map(|precision| {
        (0..power_of_ten(precision), any::<bool>(), Just(precision), 0..=precision)
    });
    let latin = || "[ -~äöüÄÖÜßéèñ€]{0,40}";
    let exact = |(sql_type, value)| (sql_type, value);
    prop_oneof![
        any::<bool>().prop_map(|v| (SqlType::Bit, Value::Bit(v))),
        any::<u8>().prop_map(|v| (SqlType::TinyInt, Value::TinyInt(v))),
        any::<i16>().prop_map(|v| (SqlType::SmallInt, Value::SmallInt(v))),
        any::<i32>().prop_map(|v| (SqlType::Int, Value::Int(v))),
        any::<i64>().prop_map(|v| (SqlType::BigInt, Value::BigInt(v))),
        any::<f32>().prop_map(|v| (SqlType::Real, Value::Real(v))),
        any::<f64>().prop_map(|v| (SqlType::Float, Value::Float(v))),
        any::<i32>().prop_map(|v| (SqlType::SmallMoney, Value::SmallMoney(v))),
        any::<i64>().prop_map(|v| (SqlType::Money, Value::Money(v))),
        any::<[u8; 16]>().prop_map(|v| (SqlType::UniqueIdentifier, Value::Guid(v))),
        (any::<u16>(), 0..1440_u16)
            .prop_map(|(days, minutes)| (SqlType::SmallDateTime, Value::SmallDateTime { days, minutes })),
        (-53_690..=2_958_463, 0..25_920_000_u32)
            .prop_map(|(days, ticks)| (SqlType::DateTime, Value::DateTime { days, ticks })),
        day.clone().prop_map(|days| (SqlType::Date, Value::Date(days))),
        time.clone().prop_map(|(ticks, scale)| (SqlType::Time { scale }, Value::Time { ticks, scale })),
        (day.clone(), time.clone()).prop_map(|(days, (ticks, scale))| {
            (SqlType::DateTime2 { scale }, Value::DateTime2 { days, ticks, scale })
        }),
        (day, time, -840..=840_i16).prop_map(|(days, (ticks, scale), offset_minutes)| {
            let value = Value::DateTimeOffset { days, ticks, scale, offset_minutes };
            (SqlType::DateTimeOffset { scale }, value)
        }),
        (decimal, any::<bool>()).prop_map(|((magnitude, negative, precision, scale), numeric)| {
            let value = Value::Decimal { magnitude, negative, precision, scale };
            match numeric {
                true => (SqlType::Numeric { precision, scale }, value),
                false => (SqlType::Decimal { precision, scale }, value),
            }
        }),
        (length(8000), latin())
            .prop_map(|(_, text)| (SqlType::VarChar { length: Length::Units(100) }, Value::String(text))),
        latin().prop_map(|text| (SqlType::VarChar { length: Length::Max }, Value::String(text))),
        latin().prop_map(|text| (SqlType::Char { length: 8000 }, Value::String(text))),
        latin().prop_map(|text| (SqlType::Text, Value::String(text))),
        any::<String>()
            .prop_map(|text| (SqlType::NVarChar { length: Length::Units(4000) }, Value::String(text))),
        any::<String>().prop_map(|text| (SqlType::NVarChar { length: Length::Max }, Value::String(text))),
        any::<String>().prop_map(|text| (SqlType::NChar { length: 4000 }, Value::String(text))),
        any::<String>().prop_map(|text| (SqlType::NText, Value::String(text))),
        "[a-z<>/😀]{0,20}".prop_map(|text| (SqlType::Xml, Value::String(text))),
        any::<String>().prop_map(|text| (SqlType::Json, Value::String(text))),
        any::<Vec<u8>>().prop_map(|v| (SqlType::VarBinary { length: Length::Units(8000) }, Value::Binary(v))),
        any::<Vec<u8>>().prop_map(|v| (SqlType::VarBinary { length: Length::Max }, Value::Binary(v))),
        any::<Vec<u8>>().prop_map(|v| (SqlType::Binary { length: 8000 }, Value::Binary(v))),
        any::<Vec<u8>>().prop_map(|v| (SqlType::Image, Value::Binary(v))),
        any::<[u8; 8]>().prop_map(|v| (SqlType::RowVersion, Value::Binary(v.into()))),
    ]
    .prop_map(exact)
}

fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        // NaN is not equal to itself.
        (Value::Real(left), Value::Real(right)) => left.to_bits() == right.to_bits(),
        (Value::Float(left), Value::Float(right)) => left.to_bits() == right.to_bits(),
        (Value::Variant(left), Value::Variant(right)) => {
            left.type_info == right.type_info && same(&left.value, &right.value)
        }
        (left, right) => left == right,
    }
}

proptest! {
    #[test]
    fn values_of_every_type_round_trip((sql_type, value) in typed_value(), nullable: bool, parameter: bool) {
        let place = if parameter { ValuePlace::Parameter } else { ValuePlace::Row };
        let type_info = TypeInfo::new(sql_type, nullable, Some(LATIN1));
        let mut w = Writer::new();
        type_info.encode(&mut w, Direction::ClientToServer);
        encode_value(&value, &type_info, &mut w, place);
        let bytes = w.finish().unwrap();

        let mut r = Reader::new_complete(&bytes);
        let decoded_info = TypeInfo::decode(&mut r, Direction::ClientToServer).unwrap();
        if type_info.sql_type != SqlType::RowVersion {
            prop_assert_eq!(&decoded_info, &type_info);
        }
        let decoded = decode_value(&mut r, &decoded_info, place).unwrap();
        prop_assert!(same(&decoded, &value), "{:?} is not {:?}", decoded, value);
        prop_assert!(r.is_empty());
        for len in 0..bytes.len() {
            let mut r = Reader::new(&bytes[..len]);
            let error = TypeInfo::decode(&mut r, Direction::ClientToServer)
                .and_then(|info| decode_value(&mut r, &info, place))
                .unwrap_err();
            prop_assert!(error.is_truncated(), "{} of {} bytes: {}", len, bytes.len(), error);
        }
    }

    #[test]
    fn variants_of_every_type_round_trip((sql_type, value) in typed_value()) {
        let base = TypeInfo::new(sql_type.clone(), false, Some(LATIN1));
        let variant = Value::Variant(Box::new(VariantValue { type_info: base, value }));
        let mut w = Writer::new();
        encode_value(&variant, &type_info("sql_variant"), &mut w, ValuePlace::Row);
        let allowed = !sql_type.is_plp() && !sql_type.is_legacy_lob() && sql_type != SqlType::RowVersion;
        match w.finish() {
            Ok(bytes) => {
                prop_assert!(allowed);
                let decoded = decoded(&bytes, &type_info("sql_variant"), ValuePlace::Row).unwrap();
                prop_assert!(same(&decoded, &variant), "{:?} is not {:?}", decoded, variant);
            }
            Err(_) => prop_assert!(!allowed),
        }
    }

    #[test]
    fn the_row_walk_agrees_with_the_decoder((sql_type, value) in typed_value(), nullable: bool) {
        let column = crate::column::Column::new("c", sql_type, nullable, Some(LATIN1));
        let layout = crate::row_span::RowLayout::new(std::slice::from_ref(&column));
        let mut bytes = encoded(&value, &column.type_info, ValuePlace::Row);
        bytes.insert(0, crate::row_span::ROW);
        prop_assert_eq!(layout.row_len(&bytes), Ok(Some(bytes.len())));
        prop_assert_eq!(layout.row_len(&bytes[..bytes.len() - 1]).unwrap_or_default(), None);
    }

    #[test]
    fn types_survive_their_spelling((sql_type, _) in typed_value()) {
        prop_assert_eq!(sql_type.to_string().parse::<SqlType>().unwrap(), sql_type);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>, parameter: bool) {
        let place = if parameter { ValuePlace::Parameter } else { ValuePlace::Row };
        let mut r = Reader::new(&bytes);
        if let Ok(info) = TypeInfo::decode(&mut r, Direction::ClientToServer) {
            let _ = decode_value(&mut r, &info, place).map(|value| value.to_string());
        }
        let mut r = Reader::new(&bytes);
        let _ = crate::column::decode_columns(&mut r, Direction::ServerToClient);
    }
}
