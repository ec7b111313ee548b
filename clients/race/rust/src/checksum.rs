//! The checksum of a read: for each column, how many values are not NULL and their sum modulo 2^64.

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float64Type, Int32Type, Int64Type, TimeUnit,
    TimestampMicrosecondType,
};

use crate::Failure;
use crate::rows::COLUMNS;

/// Adds up values; the order of rows does not matter.
#[derive(Default)]
pub struct Checksum([(u64, u64); COLUMNS]);

impl Checksum {
    /// Adds a value that counts as a number.
    pub fn add(&mut self, column: usize, value: u64) {
        if let Some((count, sum)) = self.0.get_mut(column) {
            *count += 1;
            *sum = sum.wrapping_add(value);
        }
    }

    /// Adds a string: its bytes, each multiplied by its position.
    pub fn add_text(&mut self, column: usize, text: &str) {
        self.add(
            column,
            (1..).zip(text.bytes()).map(|(place, byte): (u64, u8)| place * u64::from(byte)).sum(),
        );
    }

    /// Adds the values of a batch that has the types of the benchmark's table.
    pub fn add_batch(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        for (index, column) in batch.columns().iter().enumerate() {
            self.add_column(index, column.as_ref())?;
        }
        Ok(())
    }

    fn add_column(&mut self, index: usize, column: &dyn Array) -> Result<(), Failure> {
        macro_rules! numbers {
            ($type:ty, $as:expr) => {
                column.as_primitive::<$type>().iter().flatten().for_each(|value| self.add(index, $as(value)))
            };
        }
        match column.data_type() {
            DataType::Int32 => numbers!(Int32Type, |value| i64::from(value) as u64),
            DataType::Int64 => numbers!(Int64Type, |value| value as u64),
            DataType::Float64 => numbers!(Float64Type, f64::to_bits),
            DataType::Boolean => {
                column.as_boolean().iter().flatten().for_each(|value| self.add(index, value.into()));
            }
            DataType::Date32 => numbers!(Date32Type, |value| i64::from(value) as u64),
            DataType::Timestamp(TimeUnit::Microsecond, None) => {
                numbers!(TimestampMicrosecondType, |value| value as u64);
            }
            DataType::Decimal128(_, 4) => numbers!(Decimal128Type, |value| value as u64),
            DataType::Utf8 => {
                column.as_string::<i32>().iter().flatten().for_each(|text| self.add_text(index, text));
            }
            other => return Err(format!("column {index} is {other}").into()),
        }
        Ok(())
    }

    /// `COUNT:SUM` of each column.
    pub fn text(&self) -> String {
        self.0.iter().map(|(count, sum)| format!("{count}:{sum}")).collect::<Vec<_>>().join(" ")
    }
}
