//! One value of T-SQL, for code that works cell by cell: functions, conversions, variables. A datum does not know its type's
//! length, precision or scale, so it is always used together with a [`SqlType`]. In arrays values have the Exact form of
//! `rows::mapping`.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryBuilder, BooleanArray, Date32Array, Decimal128Array,
    FixedSizeBinaryBuilder, Float32Array, Float64Array, Int16Array, Int32Array, Int64Array, StringBuilder,
    Time32MillisecondArray, Time32SecondArray, Time64MicrosecondArray, Time64NanosecondArray,
    TimestampMicrosecondArray, TimestampMillisecondArray, TimestampSecondArray, UInt8Array, UInt64Array,
};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampSecondType, UInt8Type, UInt64Type,
};
use rows::mapping::Form;
use rows::text::number::POWERS_OF_TEN;
use tds::SqlType;

use tsql::SqlError;

/// Ticks of 100 ns in a second.
pub const TICKS_PER_SECOND: i64 = 10_000_000;
/// Ticks of 100 ns in a day.
pub const TICKS_PER_DAY: i64 = 86_400 * TICKS_PER_SECOND;
/// Days from 0001-01-01 to 1970-01-01.
pub const DAYS_TO_1970: i64 = 719_162;
/// Days from 0001-01-01 to 1900-01-01.
pub const DAYS_TO_1900: i64 = 693_595;
/// 9999-12-31, in days since 0001-01-01.
pub const DAYS_MAX: i64 = 3_652_058;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Datum {
    /// NULL of any type.
    Null,
    /// bit.
    Bit(bool),
    /// tinyint, smallint, int, bigint.
    Int(i64),
    /// real.
    Real(f32),
    /// float.
    Float(f64),
    /// decimal and numeric in units of 10^-scale; money and smallmoney in units of 1e-4.
    Decimal(i128),
    /// date: days since 0001-01-01.
    Date(i64),
    /// time: ticks of 100 ns since midnight.
    Time(i64),
    /// datetime2, datetime, smalldatetime: ticks of 100 ns since 0001-01-01.
    Moment(i64),
    /// datetimeoffset.
    Instant {
        /// Ticks of 100 ns since 0001-01-01 in UTC.
        ticks: i64,
        /// Offset of the local time.
        offset_minutes: i16,
    },
    /// Any character type, xml, json.
    Text(String),
    /// Any binary type, CLR types; sql_variant as its wire body.
    Binary(Vec<u8>),
    /// uniqueidentifier in the order of its text.
    Guid([u8; 16]),
    /// rowversion.
    RowVersion(u64),
}

impl Datum {
    /// Bytes beside its own.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Datum::Text(text) => text.len(),
            Datum::Binary(bytes) => bytes.len(),
            _ => 0,
        }
    }

    /// Returns true for NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Datum::Null)
    }

    /// Returns the text of a text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Datum::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the number of a whole number.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Datum::Int(value) => Some(*value),
            Datum::Bit(value) => Some(i64::from(*value)),
            _ => None,
        }
    }

    /// Errors: 8115 for a number beyond the range of `sql_type`, which an array would change.
    pub fn check(&self, sql_type: &SqlType) -> Result<(), SqlError> {
        let fits = match (self, sql_type) {
            (Datum::Float(value), _) => value.is_finite(),
            (Datum::Real(value), _) => value.is_finite(),
            (Datum::Int(value), SqlType::TinyInt) => u8::try_from(*value).is_ok(),
            (Datum::Int(value), SqlType::SmallInt) => i16::try_from(*value).is_ok(),
            (Datum::Int(value), SqlType::Int) => i32::try_from(*value).is_ok(),
            (
                Datum::Decimal(units),
                SqlType::Decimal { precision, .. } | SqlType::Numeric { precision, .. },
            ) => POWERS_OF_TEN
                .get(usize::from(*precision))
                .is_none_or(|limit| units.unsigned_abs() < limit.unsigned_abs()),
            (Datum::Decimal(units), SqlType::Money) => i64::try_from(*units).is_ok(),
            (Datum::Decimal(units), SqlType::SmallMoney) => i32::try_from(*units).is_ok(),
            _ => true,
        };
        if fits { Ok(()) } else { Err(SqlError::overflow("", &crate::convert::type_name(sql_type))) }
    }

    /// Reads the value at `row` of an array in the Exact form of `sql_type`.
    ///
    /// Errors: an array of another Arrow type, which is a defect of the caller.
    pub fn read(array: &dyn Array, sql_type: &SqlType, row: usize) -> Result<Datum, SqlError> {
        if row >= array.len() || array.is_null(row) || *array.data_type() == DataType::Null {
            return Ok(Datum::Null);
        }
        let expected = data_type(sql_type);
        if *array.data_type() != expected {
            return Err(Self::malformed(array, sql_type));
        }
        Ok(Self::present(array, sql_type, row))
    }

    /// Makes the error for an array of another Arrow type than that of `sql_type`.
    pub(crate) fn malformed(array: &dyn Array, sql_type: &SqlType) -> SqlError {
        let (found, expected) = (array.data_type(), data_type(sql_type));
        SqlError::internal(format!("a column of {sql_type} holds {found} instead of {expected}"))
    }

    /// Reads the value at `row`, which is not NULL, of an array whose Arrow type is that of `sql_type`.
    pub(crate) fn present(array: &dyn Array, sql_type: &SqlType, row: usize) -> Datum {
        match sql_type {
            SqlType::Bit => Datum::Bit(array.as_boolean().value(row)),
            SqlType::TinyInt => Datum::Int(i64::from(array.as_primitive::<UInt8Type>().value(row))),
            SqlType::SmallInt => Datum::Int(i64::from(array.as_primitive::<Int16Type>().value(row))),
            SqlType::Int => Datum::Int(i64::from(array.as_primitive::<Int32Type>().value(row))),
            SqlType::BigInt => Datum::Int(array.as_primitive::<Int64Type>().value(row)),
            SqlType::Real => Datum::Real(array.as_primitive::<Float32Type>().value(row)),
            SqlType::Float => Datum::Float(array.as_primitive::<Float64Type>().value(row)),
            SqlType::SmallMoney | SqlType::Money | SqlType::Decimal { .. } | SqlType::Numeric { .. } => {
                Datum::Decimal(array.as_primitive::<Decimal128Type>().value(row))
            }
            SqlType::Date => {
                Datum::Date(i64::from(array.as_primitive::<Date32Type>().value(row)) + DAYS_TO_1970)
            }
            SqlType::Time { scale } => Datum::Time(match scale {
                0 => i64::from(array.as_primitive::<Time32SecondType>().value(row)) * TICKS_PER_SECOND,
                1..=3 => i64::from(array.as_primitive::<Time32MillisecondType>().value(row)) * 10_000,
                4..=6 => array.as_primitive::<Time64MicrosecondType>().value(row) * 10,
                _ => array.as_primitive::<Time64NanosecondType>().value(row) / 100,
            }),
            SqlType::SmallDateTime => {
                from_unix(array.as_primitive::<TimestampSecondType>().value(row), TICKS_PER_SECOND)
            }
            SqlType::DateTime => {
                from_unix(array.as_primitive::<TimestampMillisecondType>().value(row), 10_000)
            }
            SqlType::DateTime2 { scale } => match scale {
                0 => from_unix(array.as_primitive::<TimestampSecondType>().value(row), TICKS_PER_SECOND),
                1..=3 => from_unix(array.as_primitive::<TimestampMillisecondType>().value(row), 10_000),
                4..=6 => from_unix(array.as_primitive::<TimestampMicrosecondType>().value(row), 10),
                _ => Datum::Moment(big_endian(array.as_fixed_size_binary().value(row))),
            },
            // The widths of these were compared with the array's type.
            SqlType::DateTimeOffset { .. } => {
                let bytes = array.as_fixed_size_binary().value(row);
                let offset = bytes.get(8..10).and_then(|bytes| bytes.try_into().ok()).unwrap_or([0x80, 0]);
                Datum::Instant {
                    ticks: big_endian(bytes.get(..8).unwrap_or_default()),
                    offset_minutes: (u16::from_be_bytes(offset) ^ 0x8000) as i16,
                }
            }
            SqlType::UniqueIdentifier => {
                Datum::Guid(array.as_fixed_size_binary().value(row).try_into().unwrap_or_default())
            }
            SqlType::RowVersion => Datum::RowVersion(array.as_primitive::<UInt64Type>().value(row)),
            SqlType::SqlVariant | SqlType::Image | SqlType::Udt { .. } | SqlType::Vector { .. } => {
                Datum::Binary(array.as_binary::<i32>().value(row).to_vec())
            }
            other if other.is_binary() => Datum::Binary(array.as_binary::<i32>().value(row).to_vec()),
            _ => Datum::Text(array.as_string::<i32>().value(row).to_string()),
        }
    }

    /// Makes an array in the Exact form of `sql_type`. A datum of another kind becomes NULL: callers convert first.
    pub fn array(values: &[Datum], sql_type: &SqlType) -> ArrayRef {
        match sql_type {
            SqlType::Bit => Arc::new(values.iter().map(Datum::as_bit).collect::<BooleanArray>()),
            SqlType::TinyInt => {
                Arc::new(values.iter().map(|v| v.as_int().map(|v| v as u8)).collect::<UInt8Array>())
            }
            SqlType::SmallInt => {
                Arc::new(values.iter().map(|v| v.as_int().map(|v| v as i16)).collect::<Int16Array>())
            }
            SqlType::Int => {
                Arc::new(values.iter().map(|v| v.as_int().map(|v| v as i32)).collect::<Int32Array>())
            }
            SqlType::BigInt => Arc::new(values.iter().map(Datum::as_int).collect::<Int64Array>()),
            SqlType::Real => Arc::new(
                values
                    .iter()
                    .map(|v| if let Datum::Real(v) = v { Some(*v) } else { None })
                    .collect::<Float32Array>(),
            ),
            SqlType::Float => Arc::new(
                values
                    .iter()
                    .map(|v| if let Datum::Float(v) = v { Some(*v) } else { None })
                    .collect::<Float64Array>(),
            ),
            SqlType::SmallMoney | SqlType::Money | SqlType::Decimal { .. } | SqlType::Numeric { .. } => {
                let array: Decimal128Array =
                    values.iter().map(|v| if let Datum::Decimal(v) = v { Some(*v) } else { None }).collect();
                Arc::new(array.with_data_type(data_type(sql_type)))
            }
            SqlType::Date => Arc::new(
                values
                    .iter()
                    .map(
                        |v| if let Datum::Date(days) = v { Some((days - DAYS_TO_1970) as i32) } else { None },
                    )
                    .collect::<Date32Array>(),
            ),
            SqlType::Time { scale } => {
                let ticks =
                    values.iter().map(|v| if let Datum::Time(ticks) = v { Some(*ticks) } else { None });
                match scale {
                    0 => Arc::new(
                        ticks
                            .map(|t| t.map(|t| (t / TICKS_PER_SECOND) as i32))
                            .collect::<Time32SecondArray>(),
                    ),
                    1..=3 => Arc::new(
                        ticks.map(|t| t.map(|t| (t / 10_000) as i32)).collect::<Time32MillisecondArray>(),
                    ),
                    4..=6 => Arc::new(ticks.map(|t| t.map(|t| t / 10)).collect::<Time64MicrosecondArray>()),
                    _ => Arc::new(ticks.map(|t| t.map(|t| t * 100)).collect::<Time64NanosecondArray>()),
                }
            }
            SqlType::SmallDateTime | SqlType::DateTime2 { scale: 0 } => {
                Arc::new(values.iter().map(|v| v.unix(TICKS_PER_SECOND)).collect::<TimestampSecondArray>())
            }
            SqlType::DateTime | SqlType::DateTime2 { scale: 1..=3 } => {
                Arc::new(values.iter().map(|v| v.unix(10_000)).collect::<TimestampMillisecondArray>())
            }
            SqlType::DateTime2 { scale: 4..=6 } => {
                Arc::new(values.iter().map(|v| v.unix(10)).collect::<TimestampMicrosecondArray>())
            }
            SqlType::DateTime2 { .. } => fixed(values, 8, |value, out| match value {
                Datum::Moment(ticks) => {
                    out.extend_from_slice(&ticks.to_be_bytes());
                    true
                }
                _ => false,
            }),
            SqlType::DateTimeOffset { .. } => fixed(values, 10, |value, out| match value {
                Datum::Instant { ticks, offset_minutes } => {
                    out.extend_from_slice(&ticks.to_be_bytes());
                    out.extend_from_slice(&(*offset_minutes as u16 ^ 0x8000).to_be_bytes());
                    true
                }
                _ => false,
            }),
            SqlType::UniqueIdentifier => fixed(values, 16, |value, out| match value {
                Datum::Guid(bytes) => {
                    out.extend_from_slice(bytes);
                    true
                }
                _ => false,
            }),
            SqlType::RowVersion => Arc::new(
                values
                    .iter()
                    .map(|v| if let Datum::RowVersion(v) = v { Some(*v) } else { None })
                    .collect::<UInt64Array>(),
            ),
            SqlType::SqlVariant | SqlType::Image | SqlType::Udt { .. } | SqlType::Vector { .. } => {
                binaries(values)
            }
            other if other.is_binary() => binaries(values),
            _ => {
                let mut builder = StringBuilder::with_capacity(values.len(), values.len() * 8);
                for value in values {
                    builder.append_option(value.as_text());
                }
                Arc::new(builder.finish())
            }
        }
    }

    fn as_bit(&self) -> Option<bool> {
        match self {
            Datum::Bit(value) => Some(*value),
            Datum::Int(value) => Some(*value != 0),
            _ => None,
        }
    }

    fn unix(&self, unit_ticks: i64) -> Option<i64> {
        match self {
            Datum::Moment(ticks) => Some((ticks - DAYS_TO_1970 * TICKS_PER_DAY).div_euclid(unit_ticks)),
            _ => None,
        }
    }
}

/// Returns the Arrow type of `sql_type` inside the server.
pub fn data_type(sql_type: &SqlType) -> DataType {
    rows::mapping::data_type_for(sql_type, &Form::Exact)
}

fn from_unix(value: i64, unit_ticks: i64) -> Datum {
    Datum::Moment(value.saturating_mul(unit_ticks).saturating_add(DAYS_TO_1970 * TICKS_PER_DAY))
}

fn big_endian(bytes: &[u8]) -> i64 {
    bytes.iter().fold(0_i64, |value, byte| value << 8 | i64::from(*byte))
}

fn fixed(values: &[Datum], width: i32, write: impl Fn(&Datum, &mut Vec<u8>) -> bool) -> ArrayRef {
    let mut builder = FixedSizeBinaryBuilder::with_capacity(values.len(), width);
    let mut bytes = Vec::with_capacity(16);
    for value in values {
        bytes.clear();
        if !write(value, &mut bytes) || builder.append_value(&bytes).is_err() {
            builder.append_null();
        }
    }
    Arc::new(builder.finish())
}

fn binaries(values: &[Datum]) -> ArrayRef {
    let mut builder = BinaryBuilder::with_capacity(values.len(), values.len() * 8);
    for value in values {
        builder.append_option(if let Datum::Binary(bytes) = value { Some(bytes) } else { None });
    }
    Arc::new(builder.finish())
}

impl Datum {
    /// Returns the wire's form of the value.
    pub fn to_value(&self, sql_type: &SqlType) -> tds::Value {
        use tds::Value;
        let units = |ticks: i64, scale: u8| (ticks / 10_i64.pow(u32::from(7 - scale.min(7)))).unsigned_abs();
        let split = |ticks: i64| (ticks.div_euclid(TICKS_PER_DAY) as i32, ticks.rem_euclid(TICKS_PER_DAY));
        match (self, sql_type) {
            (Datum::Null, _) => Value::Null,
            (Datum::Bit(value), _) => Value::Bit(*value),
            (Datum::Int(value), SqlType::TinyInt) => Value::TinyInt(*value as u8),
            (Datum::Int(value), SqlType::SmallInt) => Value::SmallInt(*value as i16),
            (Datum::Int(value), SqlType::Int) => Value::Int(*value as i32),
            (Datum::Int(value), _) => Value::BigInt(*value),
            (Datum::Real(value), _) => Value::Real(*value),
            (Datum::Float(value), _) => Value::Float(*value),
            (Datum::Decimal(units), SqlType::SmallMoney) => Value::SmallMoney(*units as i32),
            (Datum::Decimal(units), SqlType::Money) => Value::Money(*units as i64),
            (
                Datum::Decimal(units),
                SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale },
            ) => Value::Decimal {
                magnitude: units.unsigned_abs(),
                negative: *units < 0,
                precision: *precision,
                scale: *scale,
            },
            (Datum::Decimal(units), _) => Value::Decimal {
                magnitude: units.unsigned_abs(),
                negative: *units < 0,
                precision: 38,
                scale: 0,
            },
            (Datum::Date(days), _) => Value::Date(*days as i32),
            (Datum::Time(ticks), SqlType::Time { scale }) => {
                Value::Time { ticks: units(*ticks, *scale), scale: *scale }
            }
            (Datum::Time(ticks), _) => Value::Time { ticks: ticks.unsigned_abs(), scale: 7 },
            (Datum::Moment(ticks), SqlType::DateTime) => {
                let (days, rest) = split(*ticks);
                let thirds = (rest * 300 + TICKS_PER_SECOND / 2) / TICKS_PER_SECOND;
                Value::DateTime { days: days - DAYS_TO_1900 as i32, ticks: thirds as u32 }
            }
            (Datum::Moment(ticks), SqlType::SmallDateTime) => {
                let (days, rest) = split(*ticks);
                Value::SmallDateTime {
                    days: (i64::from(days) - DAYS_TO_1900) as u16,
                    minutes: (rest / (60 * TICKS_PER_SECOND)) as u16,
                }
            }
            (Datum::Moment(ticks), other) => {
                let scale = if let SqlType::DateTime2 { scale } = other { *scale } else { 7 };
                let (days, rest) = split(*ticks);
                Value::DateTime2 { days, ticks: units(rest, scale), scale }
            }
            (Datum::Instant { ticks, offset_minutes }, other) => {
                let scale = if let SqlType::DateTimeOffset { scale } = other { *scale } else { 7 };
                let (days, rest) = split(*ticks);
                Value::DateTimeOffset {
                    days,
                    ticks: units(rest, scale),
                    scale,
                    offset_minutes: *offset_minutes,
                }
            }
            (Datum::Text(text), _) => Value::String(text.clone()),
            (Datum::Binary(body), SqlType::SqlVariant) => {
                crate::convert::variant_value(body).unwrap_or(Value::Null)
            }
            (Datum::Binary(bytes), SqlType::Vector { .. }) => {
                tds::Vector::from_bytes(bytes).map_or(Value::Null, Value::Vector)
            }
            (Datum::Binary(bytes), _) => Value::Binary(bytes.clone()),
            (Datum::Guid(guid), _) => Value::Guid(rows::text::guid::swap_order(*guid)),
            (Datum::RowVersion(version), _) => Value::Binary(version.to_be_bytes().to_vec()),
        }
    }

    /// Converts a parameter's value, with its type if the value knows better than the declaration.
    ///
    /// A sql_variant becomes its base value.
    pub fn from_value(value: &tds::Value) -> Datum {
        use tds::Value;
        let ticks =
            |ticks: u64, scale: u8| (ticks as i64).saturating_mul(10_i64.pow(u32::from(7 - scale.min(7))));
        match value {
            Value::Null => Datum::Null,
            Value::Bit(value) => Datum::Bit(*value),
            Value::TinyInt(value) => Datum::Int(i64::from(*value)),
            Value::SmallInt(value) => Datum::Int(i64::from(*value)),
            Value::Int(value) => Datum::Int(i64::from(*value)),
            Value::BigInt(value) => Datum::Int(*value),
            Value::Real(value) => Datum::Real(*value),
            Value::Float(value) => Datum::Float(*value),
            Value::SmallMoney(units) => Datum::Decimal(i128::from(*units)),
            Value::Money(units) => Datum::Decimal(i128::from(*units)),
            Value::Decimal { magnitude, negative, .. } => {
                let magnitude = i128::try_from(*magnitude).unwrap_or(i128::MAX);
                Datum::Decimal(if *negative { -magnitude } else { magnitude })
            }
            Value::Date(days) => Datum::Date(i64::from(*days)),
            Value::Time { ticks: count, scale } => Datum::Time(ticks(*count, *scale)),
            Value::DateTime2 { days, ticks: count, scale } => {
                Datum::Moment(i64::from(*days) * TICKS_PER_DAY + ticks(*count, *scale))
            }
            Value::DateTimeOffset { days, ticks: count, scale, offset_minutes } => Datum::Instant {
                ticks: i64::from(*days) * TICKS_PER_DAY + ticks(*count, *scale),
                offset_minutes: *offset_minutes,
            },
            Value::DateTime { days, ticks: thirds } => {
                let milliseconds = (i64::from(*thirds) * 10 + 1) / 3;
                Datum::Moment((i64::from(*days) + DAYS_TO_1900) * TICKS_PER_DAY + milliseconds * 10_000)
            }
            Value::SmallDateTime { days, minutes } => Datum::Moment(
                (i64::from(*days) + DAYS_TO_1900) * TICKS_PER_DAY
                    + i64::from(*minutes) * 60 * TICKS_PER_SECOND,
            ),
            Value::String(text) => Datum::Text(text.clone()),
            Value::Vector(vector) => Datum::Binary(vector.to_bytes()),
            Value::Binary(bytes) => Datum::Binary(bytes.clone()),
            Value::Guid(guid) => Datum::Guid(rows::text::guid::swap_order(*guid)),
            Value::Variant(variant) => Datum::from_value(&variant.value),
        }
    }
}
