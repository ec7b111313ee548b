//! Chooses the gather for a column by its SQL type and the Arrow type of the mapping.

use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Field, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimeUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
    UInt8Type, UInt64Type,
};
use tds::{Column, LengthClass, SqlType, TypeInfo};

use super::charset::Charset;
use super::decimal::{self, DecimalColumn};
use super::error::{DecoderError, RowDecodeErrorReason as Reason};
use super::fixed::{FixedColumn, IntoArray, booleans, byte_arrays, primitives};
use super::gather::Gather;
use super::strings::{BinaryColumn, CodePageColumn, Render, RenderedColumn, Utf16Column, VariantColumn};
use super::temporal::{self, Unit};
use super::variant::{write_datetime2, write_datetimeoffset, write_time, write_variant};
use super::vectors::{StoredVectorColumn, VectorColumn};
use crate::text::guid::swap_order;
use crate::text::write;

/// Creates the gather of `column`, whose values become those of `field`. `cuts`: times that are finer are cut
/// off.
pub(super) fn gather_for(
    column: &Column,
    field: &Field,
    cuts: bool,
) -> Result<Box<dyn Gather>, DecoderError> {
    let info = &column.type_info;
    let made = if info.form == tds::Form::Null { None } else { typed(info, field.data_type(), cuts) };
    made.ok_or_else(|| DecoderError::Unsupported {
        column: column.name.clone(),
        sql_type: info.sql_type.to_string(),
        data_type: field.data_type().to_string(),
    })
}

fn typed(info: &TypeInfo, to: &DataType, cuts: bool) -> Option<Box<dyn Gather>> {
    let class = info.length_class();
    Some(match (&info.sql_type, to) {
        (SqlType::Bit, DataType::Boolean) => {
            FixedColumn::boxed(class, "bit", to, booleans, |[byte]: [u8; 1]| Ok(byte))
        }
        (SqlType::TinyInt, DataType::UInt8) => {
            FixedColumn::boxed(class, "tinyint", to, primitives::<UInt8Type>, |[byte]: [u8; 1]| Ok(byte))
        }
        (SqlType::SmallInt, DataType::Int16) => {
            FixedColumn::boxed(class, "smallint", to, primitives::<Int16Type>, |data| {
                Ok(i16::from_le_bytes(data))
            })
        }
        (SqlType::Int, DataType::Int32) => {
            FixedColumn::boxed(class, "int", to, primitives::<Int32Type>, |data| Ok(i32::from_le_bytes(data)))
        }
        (SqlType::BigInt, DataType::Int64) => {
            FixedColumn::boxed(class, "bigint", to, primitives::<Int64Type>, |data| {
                Ok(i64::from_le_bytes(data))
            })
        }
        (SqlType::Real, DataType::Float32) => {
            FixedColumn::boxed(class, "real", to, primitives::<Float32Type>, |data| {
                Ok(f32::from_le_bytes(data))
            })
        }
        (SqlType::Float, DataType::Float64) => {
            FixedColumn::boxed(class, "float", to, primitives::<Float64Type>, |data| {
                Ok(f64::from_le_bytes(data))
            })
        }
        (SqlType::SmallMoney, DataType::Decimal128(_, 4)) => {
            FixedColumn::boxed(class, "smallmoney", to, primitives::<Decimal128Type>, |data| {
                Ok(i128::from(i32::from_le_bytes(data)))
            })
        }
        (SqlType::Money, DataType::Decimal128(_, 4)) => {
            FixedColumn::boxed(class, "money", to, primitives::<Decimal128Type>, |data| {
                Ok(i128::from(decimal::money(data)))
            })
        }
        (
            SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale },
            DataType::Decimal128(_, to_scale),
        ) if i16::from(*scale) == i16::from(*to_scale) => Box::new(DecimalColumn::new(*precision, to)),
        (SqlType::UniqueIdentifier, DataType::FixedSizeBinary(16)) => {
            FixedColumn::boxed(class, "uniqueidentifier", to, byte_arrays::<16>, |data| Ok(swap_order(data)))
        }
        (SqlType::RowVersion, DataType::FixedSizeBinary(8)) => {
            FixedColumn::boxed(class, "rowversion", to, byte_arrays::<8>, |data: [u8; 8]| Ok(data))
        }
        (SqlType::RowVersion, DataType::UInt64) => {
            FixedColumn::boxed(class, "rowversion", to, primitives::<UInt64Type>, |data| {
                Ok(u64::from_be_bytes(data))
            })
        }
        (sql_type, _) if sql_type.is_temporal() => return temporal(sql_type, class, to, cuts),
        (_, DataType::Utf8) => return text(info, class),
        (
            SqlType::Binary { .. } | SqlType::VarBinary { .. } | SqlType::Image | SqlType::Udt { .. },
            DataType::Binary,
        ) => Box::new(BinaryColumn::new(class, limit(info, class))),
        (&SqlType::Vector { dimensions, base }, DataType::FixedSizeList(..)) => {
            Box::new(VectorColumn::new(class, base, dimensions, to)?)
        }
        (&SqlType::Vector { dimensions, base }, DataType::Binary) => {
            Box::new(StoredVectorColumn::new(class, base, dimensions))
        }
        (SqlType::SqlVariant, DataType::Binary) => Box::new(VariantColumn::new(class, limit(info, class))),
        _ => return None,
    })
}

fn text(info: &TypeInfo, class: LengthClass) -> Option<Box<dyn Gather>> {
    let limit = limit(info, class);
    let render: Render = match &info.sql_type {
        SqlType::NChar { .. } | SqlType::NVarChar { .. } | SqlType::NText => {
            return Some(Box::new(Utf16Column::new(class, limit, false)));
        }
        SqlType::Xml => return Some(Box::new(Utf16Column::new(class, limit, true))),
        SqlType::Json => return Some(Box::new(CodePageColumn::new(class, limit, Charset::Utf8))),
        SqlType::Char { .. } | SqlType::VarChar { .. } | SqlType::Text => {
            return Some(Box::new(CodePageColumn::new(class, limit, Charset::new(info.collation))));
        }
        SqlType::UniqueIdentifier => Box::new(|data, out| {
            let data = data
                .try_into()
                .map_err(|_| Reason::Length { length: data.len(), expected: "uniqueidentifier" })?;
            write::guid(out, &swap_order(data));
            Ok(())
        }),
        SqlType::SqlVariant => Box::new(|data, out| write_variant(out, data)),
        _ => return None,
    };
    Some(Box::new(RenderedColumn::new(class, limit, render)))
}

fn temporal(sql_type: &SqlType, class: LengthClass, to: &DataType, cuts: bool) -> Option<Box<dyn Gather>> {
    Some(match (sql_type, to) {
        (SqlType::Date, DataType::Date32) => {
            FixedColumn::boxed(class, "date", to, primitives::<Date32Type>, temporal::date)
        }
        (SqlType::SmallDateTime, DataType::Timestamp(TimeUnit::Second, _)) => FixedColumn::boxed(
            class,
            "smalldatetime",
            to,
            timestamps(TimeUnit::Second),
            temporal::smalldatetime,
        ),
        (SqlType::DateTime, DataType::Timestamp(TimeUnit::Millisecond, _)) => {
            FixedColumn::boxed(class, "datetime", to, timestamps(TimeUnit::Millisecond), temporal::datetime)
        }
        (&SqlType::Time { scale }, DataType::Time32(unit)) => {
            let into_array: IntoArray<i32> = match unit {
                TimeUnit::Second => primitives::<Time32SecondType>,
                _ => primitives::<Time32MillisecondType>,
            };
            let unit = Unit::new(scale, *unit, cuts);
            // Milliseconds of a day fit 32 bits.
            let convert = move |ticks| unit.time(ticks).map(|time| time as i32);
            sized_time(scale, class, to, into_array, convert)
        }
        (&SqlType::Time { scale }, DataType::Time64(unit)) => {
            let into_array: IntoArray<i64> = match unit {
                TimeUnit::Microsecond => primitives::<Time64MicrosecondType>,
                _ => primitives::<Time64NanosecondType>,
            };
            let unit = Unit::new(scale, *unit, cuts);
            sized_time(scale, class, to, into_array, move |ticks| unit.time(ticks))
        }
        (&SqlType::Time { scale }, DataType::Utf8) => {
            rendered(class, move |data, out| write_time(out, data, scale))
        }
        (&SqlType::DateTime2 { scale }, DataType::Timestamp(unit, _)) => {
            let (into_array, unit) = (timestamps(*unit), Unit::new(scale, *unit, cuts));
            let convert = move |moment| unit.timestamp(moment, "datetime2");
            match scale {
                0..=2 => FixedColumn::boxed(class, "datetime2", to, into_array, move |data| {
                    convert(temporal::datetime2::<6>(data))
                }),
                3..=4 => FixedColumn::boxed(class, "datetime2", to, into_array, move |data| {
                    convert(temporal::datetime2::<7>(data))
                }),
                _ => FixedColumn::boxed(class, "datetime2", to, into_array, move |data| {
                    convert(temporal::datetime2::<8>(data))
                }),
            }
        }
        (SqlType::DateTime2 { scale: 7 }, DataType::FixedSizeBinary(8)) => {
            FixedColumn::boxed(class, "datetime2", to, byte_arrays::<8>, |data| {
                temporal::exact(temporal::datetime2::<8>(data), 7, "datetime2")
            })
        }
        (&SqlType::DateTime2 { scale }, DataType::Utf8) => {
            rendered(class, move |data, out| write_datetime2(out, data, scale))
        }
        (&SqlType::DateTimeOffset { scale }, DataType::Timestamp(unit, _)) => {
            let (into_array, unit) = (timestamps(*unit), Unit::new(scale, *unit, cuts));
            let convert = move |(moment, _)| unit.timestamp(moment, "datetimeoffset");
            sized_offset(scale, class, to, into_array, convert)
        }
        (&SqlType::DateTimeOffset { scale }, DataType::FixedSizeBinary(10)) => {
            let convert = move |moment| temporal::exact_offset(moment, scale);
            sized_offset(scale, class, to, byte_arrays::<10>, convert)
        }
        (&SqlType::DateTimeOffset { scale }, DataType::Utf8) => {
            rendered(class, move |data, out| write_datetimeoffset(out, data, scale))
        }
        _ => return None,
    })
}

/// Creates the gather of a `time`: 3, 4 or 5 bytes by scale.
fn sized_time<T: Copy + Default + Send + 'static>(
    scale: u8,
    class: LengthClass,
    to: &DataType,
    into_array: IntoArray<T>,
    convert: impl Fn(u64) -> Result<T, Reason> + Send + 'static,
) -> Box<dyn Gather> {
    match scale {
        0..=2 => FixedColumn::boxed(class, "time", to, into_array, move |data| {
            convert(temporal::number::<3>(data))
        }),
        3..=4 => FixedColumn::boxed(class, "time", to, into_array, move |data| {
            convert(temporal::number::<4>(data))
        }),
        _ => FixedColumn::boxed(class, "time", to, into_array, move |data| {
            convert(temporal::number::<5>(data))
        }),
    }
}

/// Creates the gather of a `datetimeoffset`: 8, 9 or 10 bytes by scale.
fn sized_offset<T: Copy + Default + Send + 'static>(
    scale: u8,
    class: LengthClass,
    to: &DataType,
    into_array: IntoArray<T>,
    convert: impl Fn((temporal::Moment, i16)) -> Result<T, Reason> + Send + 'static,
) -> Box<dyn Gather> {
    const NAME: &str = "datetimeoffset";
    match scale {
        0..=2 => FixedColumn::boxed(class, NAME, to, into_array, move |data| {
            convert(temporal::datetimeoffset::<8>(data)?)
        }),
        3..=4 => FixedColumn::boxed(class, NAME, to, into_array, move |data| {
            convert(temporal::datetimeoffset::<9>(data)?)
        }),
        _ => FixedColumn::boxed(class, NAME, to, into_array, move |data| {
            convert(temporal::datetimeoffset::<10>(data)?)
        }),
    }
}

fn rendered(
    class: LengthClass,
    render: impl Fn(&[u8], &mut Vec<u8>) -> Result<(), Reason> + Send + 'static,
) -> Box<dyn Gather> {
    Box::new(RenderedColumn::new(class, usize::from(u8::MAX), Box::new(render)))
}

fn timestamps(unit: TimeUnit) -> IntoArray<i64> {
    match unit {
        TimeUnit::Second => primitives::<TimestampSecondType>,
        TimeUnit::Millisecond => primitives::<TimestampMillisecondType>,
        TimeUnit::Microsecond => primitives::<TimestampMicrosecondType>,
        TimeUnit::Nanosecond => primitives::<TimestampNanosecondType>,
    }
}

/// Returns the most bytes that a value may have: as declared, except where the declaration says "max".
fn limit(info: &TypeInfo, class: LengthClass) -> usize {
    match class {
        LengthClass::Plp => usize::MAX,
        _ => usize::try_from(info.max_length).unwrap_or(usize::MAX),
    }
}
