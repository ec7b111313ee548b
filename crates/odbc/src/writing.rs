//! Rows as arrays of parameters.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;

use adbc_core::error::{Result, Status};
use arrow::array::{
    Array, ArrayRef, ArrowNumericType, ArrowPrimitiveType, AsArray, OffsetSizeTrait, PrimitiveArray,
    RecordBatchReader,
};
use arrow::datatypes::{
    ArrowTemporalType, DataType, Date32Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    TimeUnit, TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow_odbc::odbc_api::buffers::{BoxColumBufferRefMut, BoxColumnBuffer, BufferDesc, Item};
use arrow_odbc::odbc_api::handles::StatementConnection;
use arrow_odbc::odbc_api::parameter::WithDataType;
use arrow_odbc::odbc_api::sys::{Date, Timestamp};
use arrow_odbc::odbc_api::{
    self, BindParamDesc, Bit, ColumnarBulkInserter, ConnectionTransitions, SharedConnection,
};
use chrono::{Datelike, NaiveDateTime, Timelike};
use drivers::refusal::refused;

use crate::error::from_odbc;
use crate::limits::Limits;
use crate::parameters::{self, Domain, Parameter};

/// Bytes that a value of a fixed size takes at most, its indicator among them.
const FIXED_BYTES: usize = 24;
/// The longest binary value that is sent as `VARBINARY(n)`.
const LONGEST_VARBINARY: usize = 8000;

/// Runs a statement once for each row, many rows at a time. Returns the number of rows.
pub(crate) fn execute_with(
    connection: &SharedConnection<'static>,
    sql: &str,
    rows: impl RecordBatchReader,
    limits: Limits,
) -> Result<u64> {
    let parameters = parameters::parameters_for(&rows.schema())?;
    let mut buffers: Option<Buffers> = None;
    let mut count = 0;
    for batch in rows {
        let batch = batch?;
        let columns = parameters::converted(&batch, &parameters, count)?;
        count += batch.num_rows() as u64;
        let longest: Vec<usize> = columns.iter().map(longest).collect();
        let at_hand = match buffers.take() {
            Some(at_hand) if at_hand.hold(&longest, limits) => buffers.insert(at_hand),
            _ => buffers.insert(Buffers::new(connection, sql, &parameters, &longest, limits)?),
        };
        at_hand.send(&columns, batch.num_rows())?;
    }
    Ok(count)
}

/// A prepared statement with buffers for its parameters.
struct Buffers {
    inserter:
        ColumnarBulkInserter<StatementConnection<SharedConnection<'static>>, WithDataType<BoxColumnBuffer>>,
    /// The longest value that each column has room for.
    lengths: Vec<usize>,
    capacity: usize,
}

impl Buffers {
    fn new(
        connection: &SharedConnection<'static>,
        sql: &str,
        parameters: &[Parameter],
        longest: &[usize],
        limits: Limits,
    ) -> Result<Self> {
        // Lengths are rounded up, so that a slightly longer value of a later batch does not need other
        // buffers.
        let lengths: Vec<usize> = longest.iter().map(|length| length.next_power_of_two().max(16)).collect();
        let capacity = capacity_for(&lengths, limits);
        let descriptions =
            parameters.iter().zip(&lengths).map(|(parameter, length)| buffer(parameter, *length));
        let inserter = Arc::clone(connection)
            .into_prepared(sql)
            .and_then(|prepared| prepared.into_column_inserter(capacity, descriptions))
            .map_err(|error| from_odbc(&error))?;
        Ok(Self { inserter, lengths, capacity })
    }

    /// Returns true if the buffers have room for values of these lengths, and not much more than that.
    fn hold(&self, longest: &[usize], limits: Limits) -> bool {
        let has_room = self.lengths.iter().zip(longest).all(|(has, wants)| has >= wants);
        has_room && self.capacity.saturating_mul(16) >= capacity_for(longest, limits)
    }

    fn send(&mut self, columns: &[ArrayRef], rows: usize) -> Result<()> {
        let mut start = 0;
        while start < rows {
            let end = rows.min(start + self.capacity);
            self.inserter.set_num_rows(end - start);
            for (index, array) in columns.iter().enumerate() {
                fill(self.inserter.column_mut(index), array, start..end).ok_or_else(|| {
                    refused(Status::Internal, "a buffer is of another type than its column")
                })?;
            }
            self.inserter.execute().map_err(|error| from_odbc(&error))?;
            start = end;
        }
        Ok(())
    }
}

/// Computes the number of rows like these that buffers can have: every value gets the room of the longest.
fn capacity_for(lengths: &[usize], limits: Limits) -> usize {
    // Units of text take two bytes.
    let width: usize =
        lengths.iter().map(|length| length.saturating_mul(2).saturating_add(FIXED_BYTES)).sum();
    (limits.max_bytes_per_batch / width.max(1)).clamp(1, limits.batch_rows.max(1))
}

fn buffer(parameter: &Parameter, length: usize) -> BindParamDesc {
    let as_text =
        |data_type| BindParamDesc { buffer_desc: BufferDesc::WText { max_str_len: length }, data_type };
    match (&parameter.data_type, parameter.domain) {
        (_, Domain::Decimal(precision, scale)) => as_text(odbc_api::DataType::Decimal {
            precision: usize::from(precision),
            scale: i16::from(scale),
        }),
        (_, Domain::Time(precision)) => as_text(odbc_api::DataType::Time { precision }),
        (DataType::Boolean, _) => BindParamDesc::bit(true),
        (DataType::Int16, _) => BindParamDesc::i16(true),
        (DataType::Int32, _) => BindParamDesc::i32(true),
        (DataType::Int64, _) => BindParamDesc::i64(true),
        (DataType::Float32, _) => BindParamDesc::f32(true),
        (DataType::Float64, _) => BindParamDesc::f64(true),
        (DataType::Date32, _) => BindParamDesc::date(true),
        (DataType::Timestamp(TimeUnit::Nanosecond, _), _) => BindParamDesc::timestamp(true, 7),
        (DataType::Timestamp(_, _), _) => BindParamDesc::timestamp(true, 6),
        (DataType::Binary, _) => {
            let bytes = NonZeroUsize::new(length);
            let data_type = match length <= LONGEST_VARBINARY {
                true => odbc_api::DataType::Varbinary { length: bytes },
                false => odbc_api::DataType::LongVarbinary { length: bytes },
            };
            BindParamDesc { buffer_desc: BufferDesc::Binary { max_bytes: length }, data_type }
        }
        _ => BindParamDesc::wide_text(length),
    }
}

/// Copies rows of a column to the start of its buffer; `None`: the buffer is of another type.
fn fill(column: BoxColumBufferRefMut<'_>, array: &ArrayRef, rows: Range<usize>) -> Option<()> {
    match array.data_type() {
        DataType::Boolean => {
            let values = array.as_boolean();
            let mut to = column.as_nullable_slice::<Bit>()?;
            for (place, row) in rows.enumerate() {
                to.set_cell(place, values.is_valid(row).then(|| Bit::from_bool(values.value(row))));
            }
        }
        DataType::Int16 => numbers::<Int16Type>(column, array, rows)?,
        DataType::Int32 => numbers::<Int32Type>(column, array, rows)?,
        DataType::Int64 => numbers::<Int64Type>(column, array, rows)?,
        DataType::Float32 => numbers::<Float32Type>(column, array, rows)?,
        DataType::Float64 => numbers::<Float64Type>(column, array, rows)?,
        DataType::Date32 => moments::<Date32Type, _>(column, array, rows, |moment| {
            Some(Date { year: year(&moment)?, month: small(moment.month())?, day: small(moment.day())? })
        })?,
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            moments::<TimestampNanosecondType, _>(column, array, rows, |moment| timestamp(&moment))?
        }
        DataType::Timestamp(_, _) => {
            moments::<TimestampMicrosecondType, _>(column, array, rows, |moment| timestamp(&moment))?
        }
        DataType::Binary => {
            let values = array.as_binary::<i32>();
            let mut to = column.as_binary()?;
            for (place, row) in rows.enumerate() {
                to.set_cell(place, values.is_valid(row).then(|| values.value(row)));
            }
        }
        DataType::LargeUtf8 => texts::<i64>(column, array, rows)?,
        _ => texts::<i32>(column, array, rows)?,
    }
    Some(())
}

fn numbers<T: ArrowNumericType>(
    column: BoxColumBufferRefMut<'_>,
    array: &ArrayRef,
    rows: Range<usize>,
) -> Option<()>
where
    T::Native: Item,
{
    let values = array.as_primitive_opt::<T>()?;
    let mut to = column.as_nullable_slice::<T::Native>()?;
    for (place, row) in rows.enumerate() {
        to.set_cell(place, values.is_valid(row).then(|| values.value(row)));
    }
    Some(())
}

fn moments<T: ArrowPrimitiveType + ArrowTemporalType, I: Item>(
    column: BoxColumBufferRefMut<'_>,
    array: &ArrayRef,
    rows: Range<usize>,
    item: impl Fn(NaiveDateTime) -> Option<I>,
) -> Option<()>
where
    i64: From<T::Native>,
{
    let values: &PrimitiveArray<T> = array.as_primitive_opt::<T>()?;
    let mut to = column.as_nullable_slice::<I>()?;
    for (place, row) in rows.enumerate() {
        let value = match values.is_valid(row) {
            true => Some(values.value_as_datetime(row).and_then(&item)?),
            false => None,
        };
        to.set_cell(place, value);
    }
    Some(())
}

fn texts<O: OffsetSizeTrait>(
    column: BoxColumBufferRefMut<'_>,
    array: &ArrayRef,
    rows: Range<usize>,
) -> Option<()> {
    let values = array.as_string_opt::<O>()?;
    let mut to = column.as_wide_text()?;
    let mut units: Vec<u16> = Vec::new();
    for (place, row) in rows.enumerate() {
        if values.is_valid(row) {
            units.clear();
            units.extend(values.value(row).encode_utf16());
            to.set_cell(place, Some(&units));
        } else {
            to.set_cell(place, None);
        }
    }
    Some(())
}

fn timestamp(moment: &NaiveDateTime) -> Option<Timestamp> {
    Some(Timestamp {
        year: year(moment)?,
        month: small(moment.month())?,
        day: small(moment.day())?,
        hour: small(moment.hour())?,
        minute: small(moment.minute())?,
        second: small(moment.second())?,
        fraction: moment.nanosecond(),
    })
}

fn year(moment: &NaiveDateTime) -> Option<i16> {
    i16::try_from(moment.year()).ok()
}

fn small(number: u32) -> Option<u16> {
    u16::try_from(number).ok()
}

/// Counts the bytes of the longest value; units of UTF-16 are never more than bytes of UTF-8.
fn longest(array: &ArrayRef) -> usize {
    match array.data_type() {
        DataType::Utf8 => longest_of(array.as_string::<i32>().value_offsets()),
        DataType::LargeUtf8 => longest_of(array.as_string::<i64>().value_offsets()),
        DataType::Binary => longest_of(array.as_binary::<i32>().value_offsets()),
        _ => 0,
    }
}

fn longest_of<O: OffsetSizeTrait>(offsets: &[O]) -> usize {
    let lengths = offsets.windows(2).map(|pair| match pair {
        [start, end] => end.as_usize().saturating_sub(start.as_usize()),
        _ => 0,
    });
    lengths.max().unwrap_or_default()
}
