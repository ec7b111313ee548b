//! The reference: for every row and column look at the type, make a [`Value`], have `tds` encode it.

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::*;
use arrow::util::display::array_value_to_string;
use tds::{Column, Length, SqlType, TypeInfo, Value, ValuePlace, VariantValue, Writer, encode_value};

/// The ROW token of every row.
pub fn rows(batch: &RecordBatch, columns: &[Column], place: ValuePlace) -> Vec<Vec<u8>> {
    (0..batch.num_rows())
        .map(|row| {
            let mut writer = Writer::new();
            writer.u8(0xD1);
            for (array, column) in batch.columns().iter().zip(columns) {
                let value = value(array, row, column.sql_type());
                encode_value(&value, &column.type_info, &mut writer, place);
            }
            writer.finish().unwrap()
        })
        .collect()
}

const DAYS_TO_1970: i128 = 719_162;
const DAYS_TO_1900: i32 = 693_595;
const NANOS_PER_DAY: i128 = 86_400_000_000_000;

/// The value of one cell for a column of `sql_type`.
pub fn value(array: &dyn Array, row: usize, sql_type: &SqlType) -> Value {
    match array.data_type() {
        DataType::Null => return Value::Null,
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            if dictionary.keys().is_null(row) {
                return Value::Null;
            }
            return value(dictionary.values(), dictionary.normalized_keys()[row], sql_type);
        }
        DataType::RunEndEncoded(..) => {
            let runs = array.as_run::<Int32Type>();
            return value(runs.values(), runs.get_physical_index(row), sql_type);
        }
        _ if array.is_null(row) => return Value::Null,
        _ => {}
    }
    if *sql_type == SqlType::SqlVariant {
        return variant(array, row);
    }
    match array.data_type() {
        DataType::Boolean => number(i128::from(array.as_boolean().value(row)), 0, sql_type),
        DataType::Int8 => number(array.as_primitive::<Int8Type>().value(row).into(), 0, sql_type),
        DataType::Int16 => number(array.as_primitive::<Int16Type>().value(row).into(), 0, sql_type),
        DataType::Int32 => number(array.as_primitive::<Int32Type>().value(row).into(), 0, sql_type),
        DataType::Int64 => number(array.as_primitive::<Int64Type>().value(row).into(), 0, sql_type),
        DataType::UInt8 => number(array.as_primitive::<UInt8Type>().value(row).into(), 0, sql_type),
        DataType::UInt16 => number(array.as_primitive::<UInt16Type>().value(row).into(), 0, sql_type),
        DataType::UInt32 => number(array.as_primitive::<UInt32Type>().value(row).into(), 0, sql_type),
        DataType::UInt64 => number(array.as_primitive::<UInt64Type>().value(row).into(), 0, sql_type),
        DataType::Float16 => float(array.as_primitive::<Float16Type>().value(row).into(), sql_type),
        DataType::Float32 => float(array.as_primitive::<Float32Type>().value(row).into(), sql_type),
        DataType::Float64 => float(array.as_primitive::<Float64Type>().value(row), sql_type),
        DataType::Decimal32(_, scale) => {
            number(array.as_primitive::<Decimal32Type>().value(row).into(), *scale, sql_type)
        }
        DataType::Decimal64(_, scale) => {
            number(array.as_primitive::<Decimal64Type>().value(row).into(), *scale, sql_type)
        }
        DataType::Decimal128(_, scale) => {
            number(array.as_primitive::<Decimal128Type>().value(row), *scale, sql_type)
        }
        DataType::Decimal256(_, scale) => {
            let value = array.as_primitive::<Decimal256Type>().value(row);
            number(value.to_i128().unwrap(), *scale, sql_type)
        }
        DataType::Utf8 => text(array.as_string::<i32>().value(row), sql_type),
        DataType::LargeUtf8 => text(array.as_string::<i64>().value(row), sql_type),
        DataType::Utf8View => text(array.as_string_view().value(row), sql_type),
        DataType::Binary => Value::Binary(array.as_binary::<i32>().value(row).to_vec()),
        DataType::LargeBinary => Value::Binary(array.as_binary::<i64>().value(row).to_vec()),
        DataType::BinaryView => Value::Binary(array.as_binary_view().value(row).to_vec()),
        DataType::FixedSizeBinary(_) => bytes(array.as_fixed_size_binary().value(row), sql_type),
        DataType::Date32 => {
            moment(i128::from(array.as_primitive::<Date32Type>().value(row)) * NANOS_PER_DAY, 0, sql_type)
        }
        DataType::Date64 => {
            moment(i128::from(array.as_primitive::<Date64Type>().value(row)) * 1_000_000, 0, sql_type)
        }
        DataType::Time32(TimeUnit::Second) => {
            time(i128::from(array.as_primitive::<Time32SecondType>().value(row)) * 1_000_000_000, sql_type)
        }
        DataType::Time32(_) => {
            time(i128::from(array.as_primitive::<Time32MillisecondType>().value(row)) * 1_000_000, sql_type)
        }
        DataType::Time64(TimeUnit::Microsecond) => {
            time(i128::from(array.as_primitive::<Time64MicrosecondType>().value(row)) * 1000, sql_type)
        }
        DataType::Time64(_) => time(array.as_primitive::<Time64NanosecondType>().value(row).into(), sql_type),
        DataType::Timestamp(unit, zone) => {
            let (value, nanos) = match unit {
                TimeUnit::Second => (array.as_primitive::<TimestampSecondType>().value(row), 1_000_000_000),
                TimeUnit::Millisecond => {
                    (array.as_primitive::<TimestampMillisecondType>().value(row), 1_000_000)
                }
                TimeUnit::Microsecond => (array.as_primitive::<TimestampMicrosecondType>().value(row), 1000),
                TimeUnit::Nanosecond => (array.as_primitive::<TimestampNanosecondType>().value(row), 1),
            };
            let offset = if zone.as_deref() == Some("+05:30") { 330 } else { 0 };
            moment(i128::from(value) * nanos, offset, sql_type)
        }
        _ => Value::String(array_value_to_json(array, row)),
    }
}

fn number(mantissa: i128, scale: i8, sql_type: &SqlType) -> Value {
    let whole = mantissa / 10_i128.pow(scale.max(0) as u32);
    let ten_thousandths = |mantissa: i128| mantissa * 10_i128.pow(4 - scale as u32);
    match sql_type {
        SqlType::Bit => Value::Bit(whole == 1),
        SqlType::TinyInt => Value::TinyInt(whole.try_into().unwrap()),
        SqlType::SmallInt => Value::SmallInt(whole.try_into().unwrap()),
        SqlType::Int => Value::Int(whole.try_into().unwrap()),
        SqlType::BigInt => Value::BigInt(whole.try_into().unwrap()),
        SqlType::Real => Value::Real(whole as f32),
        SqlType::Float => Value::Float(whole as f64),
        SqlType::SmallMoney => Value::SmallMoney(ten_thousandths(mantissa).try_into().unwrap()),
        SqlType::Money => Value::Money(ten_thousandths(mantissa).try_into().unwrap()),
        SqlType::Decimal { precision, scale: to } | SqlType::Numeric { precision, scale: to } => {
            let magnitude = mantissa.unsigned_abs() * 10_u128.pow((*to as i8 - scale) as u32);
            Value::Decimal { magnitude, negative: mantissa < 0, precision: *precision, scale: *to }
        }
        SqlType::RowVersion => Value::Binary((mantissa as u64).to_be_bytes().to_vec()),
        _ if scale == 0 => Value::String(mantissa.to_string()),
        other => panic!("no number for {other}"),
    }
}

fn float(value: f64, sql_type: &SqlType) -> Value {
    match sql_type {
        SqlType::Real => Value::Real(value as f32),
        SqlType::Float => Value::Float(value),
        other => panic!("no float for {other}"),
    }
}

fn text(text: &str, sql_type: &SqlType) -> Value {
    match sql_type {
        SqlType::Int => Value::Int(text.parse().unwrap()),
        SqlType::UniqueIdentifier => {
            let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
            let bytes: Vec<u8> = (0..16)
                .map(|byte| u8::from_str_radix(&digits[2 * byte..2 * byte + 2], 16).unwrap())
                .collect();
            bytes_to_guid(&bytes)
        }
        SqlType::VarBinary { .. } => {
            let byte = |index: usize| u8::from_str_radix(&text[index..index + 2], 16).unwrap();
            Value::Binary((0..text.len()).step_by(2).map(byte).collect())
        }
        _ => Value::String(text.to_owned()),
    }
}

fn bytes_to_guid(bytes: &[u8]) -> Value {
    let wire_order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    Value::Guid(wire_order.map(|index| bytes[index]))
}

fn bytes(bytes: &[u8], sql_type: &SqlType) -> Value {
    let nanos = |bytes: &[u8]| {
        i128::from(u64::from_be_bytes(bytes[..8].try_into().unwrap())) * 100 - DAYS_TO_1970 * NANOS_PER_DAY
    };
    match sql_type {
        SqlType::UniqueIdentifier => bytes_to_guid(bytes),
        SqlType::DateTime2 { .. } => moment(nanos(bytes), 0, sql_type),
        SqlType::DateTimeOffset { .. } => {
            let biased = i32::from(u16::from_be_bytes([bytes[8], bytes[9]]));
            moment(nanos(bytes), (biased - 0x8000) as i16, sql_type)
        }
        _ => Value::Binary(bytes.to_vec()),
    }
}

fn time(nanos: i128, sql_type: &SqlType) -> Value {
    match sql_type {
        SqlType::Time { scale } => {
            Value::Time { ticks: (nanos / 10_i128.pow(9 - u32::from(*scale))) as u64, scale: *scale }
        }
        other => panic!("no time for {other}"),
    }
}

/// A moment in nanoseconds since 1970, UTC.
fn moment(nanos: i128, offset_minutes: i16, sql_type: &SqlType) -> Value {
    let days = (nanos.div_euclid(NANOS_PER_DAY) + DAYS_TO_1970) as i32;
    let of_day = nanos.rem_euclid(NANOS_PER_DAY);
    let ticks = |scale: u8| (of_day / 10_i128.pow(9 - u32::from(scale))) as u64;
    match sql_type {
        SqlType::Date => Value::Date(days),
        SqlType::DateTime2 { scale } => Value::DateTime2 { days, ticks: ticks(*scale), scale: *scale },
        SqlType::DateTimeOffset { scale } => {
            Value::DateTimeOffset { days, ticks: ticks(*scale), scale: *scale, offset_minutes }
        }
        SqlType::DateTime => {
            let ticks = (of_day as f64 / 1e9 * 300.0).round() as u32;
            Value::DateTime { days: days - DAYS_TO_1900, ticks }
        }
        SqlType::SmallDateTime => Value::SmallDateTime {
            days: (days - DAYS_TO_1900) as u16,
            minutes: (of_day / 60_000_000_000) as u16,
        },
        other => panic!("no moment for {other}"),
    }
}

fn variant(array: &dyn Array, row: usize) -> Value {
    let base = match array.data_type() {
        DataType::Boolean => SqlType::Bit,
        DataType::Int32 => SqlType::Int,
        DataType::Float64 => SqlType::Float,
        DataType::Utf8 => SqlType::NVarChar { length: Length::Units(4000) },
        DataType::Binary => SqlType::VarBinary { length: Length::Units(8000) },
        DataType::Date32 => SqlType::Date,
        DataType::Decimal128(precision, scale) => {
            SqlType::Decimal { precision: *precision, scale: *scale as u8 }
        }
        DataType::Timestamp(..) => SqlType::DateTime2 { scale: 6 },
        other => panic!("no variant for {other}"),
    };
    let collation = base.is_character().then_some(tds::Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
    let value = value(array, row, &base);
    Value::Variant(Box::new(VariantValue { type_info: TypeInfo::new(base, true, collation), value }))
}

/// JSON of a list of integers, the nested type of the test's columns.
fn array_value_to_json(array: &dyn Array, row: usize) -> String {
    let items = array.as_list::<i32>().value(row);
    let items: Vec<String> = (0..items.len())
        .map(|index| match items.is_null(index) {
            true => "null".to_owned(),
            false => array_value_to_string(&items, index).unwrap(),
        })
        .collect();
    format!("[{}]", items.join(","))
}
