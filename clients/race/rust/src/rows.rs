//! The rows of the benchmark's table, column by column as Arrow has them.

use arrow::array::{
    AsArray, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringArray, TimestampMicrosecondArray,
};

use crate::Failure;

/// Columns of the table.
pub const COLUMNS: usize = 11;
/// Days from 0001-01-01 to 1970-01-01.
pub const EPOCH_DAYS: i64 = 719_162;
/// Microseconds of a day.
pub const DAY_MICROSECONDS: i64 = 86_400_000_000;
/// Precision and scale of the decimal column.
pub const DECIMAL: (u8, u8) = (18, 4);

/// The typed columns of a batch.
pub struct Rows<'a> {
    pub id: &'a Int32Array,
    pub int: &'a Int32Array,
    pub bigint: &'a Int64Array,
    pub float: &'a Float64Array,
    pub bit: &'a BooleanArray,
    pub date: &'a Date32Array,
    pub datetime2: &'a TimestampMicrosecondArray,
    pub decimal: &'a Decimal128Array,
    pub texts: [&'a StringArray; 3],
}

impl<'a> Rows<'a> {
    /// The columns, if the batch has their types in their order.
    pub fn of(batch: &'a RecordBatch) -> Result<Rows<'a>, Failure> {
        let [id, int, bigint, float, bit, date, datetime2, decimal, text1, text2, text3] = batch.columns()
        else {
            return Err(format!("{} columns", batch.num_columns()).into());
        };
        let typed = || {
            Some(Rows {
                id: id.as_primitive_opt()?,
                int: int.as_primitive_opt()?,
                bigint: bigint.as_primitive_opt()?,
                float: float.as_primitive_opt()?,
                bit: bit.as_boolean_opt()?,
                date: date.as_primitive_opt()?,
                datetime2: datetime2.as_primitive_opt()?,
                decimal: decimal.as_primitive_opt()?,
                texts: [text1.as_string_opt()?, text2.as_string_opt()?, text3.as_string_opt()?],
            })
        };
        typed().ok_or_else(|| format!("not the benchmark's columns: {}", batch.schema()).into())
    }
}

/// Days since 0001-01-01 and microseconds since midnight of a datetime2.
pub fn day_and_time(microseconds: i64) -> (i64, i64) {
    (microseconds.div_euclid(DAY_MICROSECONDS) + EPOCH_DAYS, microseconds.rem_euclid(DAY_MICROSECONDS))
}
