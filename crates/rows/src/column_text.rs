//! Columns of values to columns of SQL Server text.

use std::io::Write;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, FixedSizeBinaryArray, FixedSizeListArray,
    StringArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{
    DataType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Field,
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType,
    Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimeUnit, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use tds::{SqlType, Vector};

use crate::decode::variant::write_variant;
use crate::text::calendar::{DAYS_MAX, DAYS_TO_1970};
use crate::text::{split_sign, write};

/// Spelling of values. The default is the one that CONVERT prints; [`TextOptions::bcp`] is the one that `bcp
/// -c` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOptions {
    /// `0.50` rather than `.50` for decimals and money below one.
    pub leading_zero: bool,
    /// `0x` before binary values.
    pub binary_prefix: bool,
    /// Between date and time of day: a blank, or `T` for ISO 8601.
    pub date_time_separator: u8,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { leading_zero: true, binary_prefix: false, date_time_separator: b' ' }
    }
}

impl TextOptions {
    /// Returns the spellings of `bcp -c`: no zero before the point, no `0x`.
    pub fn bcp() -> Self {
        Self { leading_zero: false, ..Self::default() }
    }
}

/// Reason why a column could not be written as text.
#[derive(Debug, thiserror::Error)]
pub enum FormatTextError {
    /// Values of this Arrow type have no spelling.
    #[error("column {column}: {data_type} has no text form")]
    Unsupported {
        /// Name of the field.
        column: String,
        /// Arrow type of the column.
        data_type: DataType,
    },
    /// A value is beyond the range of SQL Server's types.
    #[error("column {column}, row {}: {reason}", row.saturating_add(1))]
    Value {
        /// Name of the field.
        column: String,
        /// Row in the array, from 0; the message counts from 1.
        row: usize,
        /// Reason why the value has no spelling.
        reason: &'static str,
    },
    /// The text would not fit the 2 GiB of one string array.
    #[error("column {column}: the text of {rows} rows exceeds 2 GiB")]
    TooLong {
        /// Name of the field.
        column: String,
        /// Rows in the array.
        rows: usize,
    },
    /// Arrow refused to decode a dictionary or to build the result.
    #[error("column {column}: {source}")]
    Arrow {
        /// Name of the field.
        column: String,
        /// Arrow's own error.
        source: arrow::error::ArrowError,
    },
}

/// Formats every value of `array` as text; nulls stay null.
///
/// The field's `sql_type` metadata decides where Arrow's type does not: the scale of times, and which
/// fixed-size binaries are a `uniqueidentifier`, a `datetime2(7)` or a `datetimeoffset`. Both forms of
/// the type mapping are understood, and plain Arrow columns from elsewhere.
pub fn format_column(
    array: &ArrayRef,
    field: &Field,
    options: &TextOptions,
) -> Result<StringArray, FormatTextError> {
    let sql_type = field.metadata().get("sql_type").and_then(|text| text.parse::<SqlType>().ok());
    let column = Column { array, name: field.name(), sql_type, options: *options };
    column.format()
}

struct Column<'a> {
    array: &'a ArrayRef,
    name: &'a str,
    sql_type: Option<SqlType>,
    options: TextOptions,
}

/// Result of writing a cell: an error is the reason why the value has no spelling.
type Spelled = Result<(), &'static str>;

const OUTSIDE_CALENDAR: &str = "the date lies outside 0001-01-01 to 9999-12-31";
const OUTSIDE_DAY: &str = "the time lies outside 00:00:00 to 23:59:59";
const MALFORMED: &str = "the stored bytes are not a value of the type";

impl Column<'_> {
    fn format(&self) -> Result<StringArray, FormatTextError> {
        let array = self.array;
        match array.data_type() {
            DataType::Null => Ok(StringArray::new_null(array.len())),
            DataType::Boolean => self.booleans(array.as_boolean()),
            DataType::Int8 => self.numbers::<Int8Type>(|out, value| write::signed(out, i64::from(value))),
            DataType::Int16 => self.numbers::<Int16Type>(|out, value| write::signed(out, i64::from(value))),
            DataType::Int32 => self.numbers::<Int32Type>(|out, value| write::signed(out, i64::from(value))),
            DataType::Int64 => self.numbers::<Int64Type>(write::signed),
            DataType::UInt8 => self.numbers::<UInt8Type>(|out, value| write::unsigned(out, u64::from(value))),
            DataType::UInt16 => {
                self.numbers::<UInt16Type>(|out, value| write::unsigned(out, u64::from(value)))
            }
            DataType::UInt32 => {
                self.numbers::<UInt32Type>(|out, value| write::unsigned(out, u64::from(value)))
            }
            DataType::UInt64 if self.sql_type == Some(SqlType::RowVersion) => {
                self.numbers::<UInt64Type>(|out, value| self.binary(out, &value.to_be_bytes()))
            }
            DataType::UInt64 => self.numbers::<UInt64Type>(write::unsigned),
            DataType::Float16 => self.numbers::<Float16Type>(|out, value| write::real(out, f32::from(value))),
            DataType::Float32 => self.numbers::<Float32Type>(write::real),
            DataType::Float64 => self.numbers::<Float64Type>(write::float),
            DataType::Decimal32(_, scale) => self.decimals::<Decimal32Type>(*scale),
            DataType::Decimal64(_, scale) => self.decimals::<Decimal64Type>(*scale),
            DataType::Decimal128(_, scale) => self.decimals::<Decimal128Type>(*scale),
            DataType::Decimal256(_, _) => self.wide_decimals(),
            DataType::Date32 => self.primitives::<Date32Type>(|out, value| self.date(out, i64::from(value))),
            DataType::Date64 => {
                self.primitives::<Date64Type>(|out, value| self.date(out, value.div_euclid(86_400_000)))
            }
            DataType::Time32(TimeUnit::Second) => {
                self.primitives::<Time32SecondType>(|out, value| self.time(out, i64::from(value), 0))
            }
            DataType::Time32(_) => {
                self.primitives::<Time32MillisecondType>(|out, value| self.time(out, i64::from(value), 3))
            }
            DataType::Time64(TimeUnit::Microsecond) => {
                self.primitives::<Time64MicrosecondType>(|out, value| self.time(out, value, 6))
            }
            DataType::Time64(_) => {
                self.primitives::<Time64NanosecondType>(|out, value| self.time(out, value, 9))
            }
            DataType::Timestamp(unit, zone) => self.timestamps(*unit, zone.is_some()),
            DataType::Utf8 => Ok(array.as_string::<i32>().clone()),
            DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Dictionary(_, _)
            | DataType::RunEndEncoded(_, _) => self.unwrapped(),
            DataType::Binary => {
                let values = array.as_binary::<i32>();
                self.cells(values.nulls(), values.value_data().len() * 2, |out, row| {
                    self.bytes(out, values.value(row))
                })
            }
            DataType::LargeBinary => {
                let values = array.as_binary::<i64>();
                self.cells(values.nulls(), values.value_data().len() * 2, |out, row| {
                    self.bytes(out, values.value(row))
                })
            }
            DataType::BinaryView => {
                let values = array.as_binary_view();
                self.cells(values.nulls(), 0, |out, row| self.bytes(out, values.value(row)))
            }
            DataType::FixedSizeList(item, _)
                if matches!(item.data_type(), DataType::Float32 | DataType::Float16) =>
            {
                self.vectors(array.as_fixed_size_list())
            }
            DataType::FixedSizeBinary(_) => self.fixed_binaries(array.as_fixed_size_binary()),
            other => {
                Err(FormatTextError::Unsupported { column: self.name.to_owned(), data_type: other.clone() })
            }
        }
    }

    /// Writes the valid rows one after another into one buffer.
    fn cells(
        &self,
        nulls: Option<&NullBuffer>,
        bytes_hint: usize,
        mut write: impl FnMut(&mut Vec<u8>, usize) -> Spelled,
    ) -> Result<StringArray, FormatTextError> {
        let rows = self.array.len();
        let mut text = Vec::with_capacity(bytes_hint);
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0i32);
        for row in 0..rows {
            if nulls.is_none_or(|nulls| nulls.is_valid(row)) {
                write(&mut text, row).map_err(|reason| FormatTextError::Value {
                    column: self.name.to_owned(),
                    row,
                    reason,
                })?;
            }
            let end = i32::try_from(text.len())
                .map_err(|_| FormatTextError::TooLong { column: self.name.to_owned(), rows })?;
            offsets.push(end);
        }
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        StringArray::try_new(offsets, text.into(), nulls.cloned()).map_err(|source| self.arrow(source))
    }

    fn primitives<T: ArrowPrimitiveType>(
        &self,
        mut write: impl FnMut(&mut Vec<u8>, T::Native) -> Spelled,
    ) -> Result<StringArray, FormatTextError> {
        let values = self.array.as_primitive::<T>();
        self.cells(values.nulls(), values.len() * 12, |out, row| write(out, values.value(row)))
    }

    fn numbers<T: ArrowPrimitiveType>(
        &self,
        write: impl Fn(&mut Vec<u8>, T::Native),
    ) -> Result<StringArray, FormatTextError> {
        self.primitives::<T>(|out, value| {
            write(out, value);
            Ok(())
        })
    }

    fn booleans(&self, values: &BooleanArray) -> Result<StringArray, FormatTextError> {
        self.cells(values.nulls(), values.len(), |out, row| {
            out.push(if values.value(row) { b'1' } else { b'0' });
            Ok(())
        })
    }

    fn decimals<T: ArrowPrimitiveType<Native: Into<i128>>>(
        &self,
        scale: i8,
    ) -> Result<StringArray, FormatTextError> {
        let zeros = usize::from(scale.min(0).unsigned_abs());
        let scale = u8::try_from(scale).unwrap_or(0);
        self.numbers::<T>(|out, value| {
            let value: i128 = value.into();
            write::scaled(out, value, scale, self.options.leading_zero);
            if value != 0 {
                out.extend(std::iter::repeat_n(b'0', zeros));
            }
        })
    }

    fn wide_decimals(&self) -> Result<StringArray, FormatTextError> {
        let values = self.array.as_primitive::<Decimal256Type>();
        self.cells(values.nulls(), values.len() * 24, |out, row| {
            let text = values.value_as_string(row);
            let (negative, digits) = split_sign(text.as_bytes());
            if negative {
                out.push(b'-');
            }
            let trimmed = match digits {
                [b'0', rest @ ..] if !self.options.leading_zero && rest.first() == Some(&b'.') => rest,
                whole => whole,
            };
            out.extend_from_slice(trimmed);
            Ok(())
        })
    }

    fn date(&self, out: &mut Vec<u8>, days_since_1970: i64) -> Spelled {
        write::date(out, day_of_calendar(days_since_1970.checked_add(i64::from(DAYS_TO_1970)))?);
        Ok(())
    }

    fn time(&self, out: &mut Vec<u8>, value: i64, digits: u8) -> Spelled {
        let ticks = u64::try_from(value).map_err(|_| OUTSIDE_DAY)?;
        if ticks >= 86_400 * 10u64.pow(u32::from(digits)) {
            return Err(OUTSIDE_DAY);
        }
        self.clock(out, ticks, digits);
        Ok(())
    }

    /// Writes a time of day in the declared scale; in all its digits if the declared scale would lose any.
    fn clock(&self, out: &mut Vec<u8>, ticks: u64, digits: u8) {
        let scale = match self.sql_type {
            Some(
                SqlType::Time { scale } | SqlType::DateTime2 { scale } | SqlType::DateTimeOffset { scale },
            ) => scale,
            Some(SqlType::SmallDateTime) => 0,
            _ => digits,
        };
        let spare = 10u64.pow(u32::from(digits.saturating_sub(scale)));
        if ticks.is_multiple_of(spare) && scale <= digits {
            write::time(out, ticks / spare, scale);
        } else {
            write::time(out, ticks, digits);
        }
    }

    fn timestamps(&self, unit: TimeUnit, zoned: bool) -> Result<StringArray, FormatTextError> {
        match unit {
            TimeUnit::Second => {
                self.primitives::<TimestampSecondType>(|out, value| self.timestamp(out, value, 0, zoned))
            }
            TimeUnit::Millisecond => {
                self.primitives::<TimestampMillisecondType>(|out, value| self.timestamp(out, value, 3, zoned))
            }
            TimeUnit::Microsecond => {
                self.primitives::<TimestampMicrosecondType>(|out, value| self.timestamp(out, value, 6, zoned))
            }
            TimeUnit::Nanosecond => {
                self.primitives::<TimestampNanosecondType>(|out, value| self.timestamp(out, value, 9, zoned))
            }
        }
    }

    /// Writes a count of 10^-digits s since 1970; with a zone it is an instant and is written in UTC.
    fn timestamp(&self, out: &mut Vec<u8>, value: i64, digits: u8, zoned: bool) -> Spelled {
        let per_day = 86_400 * 10i64.pow(u32::from(digits));
        let days = value.div_euclid(per_day).checked_add(i64::from(DAYS_TO_1970));
        let ticks = value.rem_euclid(per_day).unsigned_abs();
        write::date(out, day_of_calendar(days)?);
        out.push(self.options.date_time_separator);
        self.clock(out, ticks, digits);
        if zoned {
            write::offset(out, 0);
        }
        Ok(())
    }

    fn bytes(&self, out: &mut Vec<u8>, value: &[u8]) -> Spelled {
        if self.sql_type == Some(SqlType::SqlVariant) {
            return write_variant(out, value).map_err(|_| MALFORMED);
        }
        if let Some(SqlType::Vector { .. }) = self.sql_type {
            let vector = Vector::from_bytes(value).map_err(|_| MALFORMED)?;
            // Writing to a vector of bytes does not fail.
            let _ = write!(out, "{vector}");
            return Ok(());
        }
        self.binary(out, value);
        Ok(())
    }

    /// Writes JSON arrays of the shortest numbers that read back as the same.
    fn vectors(&self, values: &FixedSizeListArray) -> Result<StringArray, FormatTextError> {
        let elements =
            arrow::compute::cast(values.values(), &DataType::Float32).map_err(|source| self.arrow(source))?;
        let elements = elements.as_primitive::<Float32Type>();
        let width = usize::try_from(values.value_length()).unwrap_or(0);
        self.cells(values.nulls(), values.len() * width * 8, |out, row| {
            let first = usize::try_from(values.value_offset(row)).map_err(|_| MALFORMED)?;
            out.push(b'[');
            for index in first..first + width {
                if index > first {
                    out.push(b',');
                }
                write::real(out, elements.value(index));
            }
            out.push(b']');
            Ok(())
        })
    }

    fn binary(&self, out: &mut Vec<u8>, value: &[u8]) {
        if self.options.binary_prefix {
            out.extend_from_slice(b"0x");
        }
        write::hex(out, value);
    }

    fn fixed_binaries(&self, values: &FixedSizeBinaryArray) -> Result<StringArray, FormatTextError> {
        let hint = values.len() * 36;
        self.cells(values.nulls(), hint, |out, row| {
            let value = values.value(row);
            match self.sql_type {
                Some(SqlType::UniqueIdentifier) => write::guid(out, value.try_into().map_err(|_| MALFORMED)?),
                Some(SqlType::DateTime2 { .. }) => {
                    let ticks = u64::from_be_bytes(value.try_into().map_err(|_| MALFORMED)?);
                    self.hundred_nanoseconds(out, i128::from(ticks))?;
                }
                Some(SqlType::DateTimeOffset { .. }) => {
                    let (ticks, offset) = value.split_first_chunk::<8>().ok_or(MALFORMED)?;
                    let biased = u16::from_be_bytes(offset.try_into().map_err(|_| MALFORMED)?);
                    let minutes = (biased ^ 0x8000) as i16;
                    let local = i128::from(u64::from_be_bytes(*ticks)) + i128::from(minutes) * 600_000_000;
                    self.hundred_nanoseconds(out, local)?;
                    write::offset(out, minutes);
                }
                _ => self.binary(out, value),
            }
            Ok(())
        })
    }

    /// Writes a count of 100 ns since 0001-01-01.
    fn hundred_nanoseconds(&self, out: &mut Vec<u8>, count: i128) -> Spelled {
        const PER_DAY: i128 = 864_000_000_000;
        let days = i64::try_from(count.div_euclid(PER_DAY)).ok();
        let ticks = u64::try_from(count.rem_euclid(PER_DAY)).map_err(|_| MALFORMED)?;
        write::date(out, day_of_calendar(days)?);
        out.push(self.options.date_time_separator);
        self.clock(out, ticks, 7);
        Ok(())
    }

    /// Unpacks strings of other layouts, dictionaries and runs into a plain array.
    fn unwrapped(&self) -> Result<StringArray, FormatTextError> {
        let target = match self.array.data_type() {
            DataType::Dictionary(_, values) => values.as_ref().clone(),
            DataType::RunEndEncoded(_, values) => values.data_type().clone(),
            _ => DataType::Utf8,
        };
        let array = arrow::compute::cast(self.array, &target).map_err(|source| self.arrow(source))?;
        let inner =
            Column { array: &array, name: self.name, sql_type: self.sql_type.clone(), options: self.options };
        inner.format()
    }

    fn arrow(&self, source: arrow::error::ArrowError) -> FormatTextError {
        FormatTextError::Arrow { column: self.name.to_owned(), source }
    }
}

/// Converts days since 0001-01-01 to the calendar's type.
fn day_of_calendar(days: Option<i64>) -> Result<i32, &'static str> {
    let days = days.and_then(|days| i32::try_from(days).ok()).ok_or(OUTSIDE_CALENDAR)?;
    if (0..=DAYS_MAX).contains(&days) { Ok(days) } else { Err(OUTSIDE_CALENDAR) }
}
