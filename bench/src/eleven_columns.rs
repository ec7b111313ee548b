//! The 11-column table of the Arrow-over-ODBC experiment (docs/benchmarks.md, case `eleven`): eight fixed-width columns,
//! three strings, about 105 bytes of data and 143 bytes on the wire a row.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringArray, TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow::error::ArrowError;

/// Writes CREATE TABLE for the case.
pub fn create_table(name: &str) -> String {
    format!(
        "CREATE TABLE {name} (id INT NOT NULL, col_int INT NULL, col_bigint BIGINT NULL, col_float FLOAT NULL, \
         col_bit BIT NULL, col_date DATE NULL, col_datetime2 DATETIME2(6) NULL, col_decimal DECIMAL(18,4) NULL, \
         col_str1 NVARCHAR(100) NULL, col_str2 VARCHAR(100) NULL, col_str3 NVARCHAR(100) NULL)"
    )
}

/// Returns the Arrow schema of the source.
pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int32, false),
        Field::new("col_int", DataType::Int32, true),
        Field::new("col_bigint", DataType::Int64, true),
        Field::new("col_float", DataType::Float64, true),
        Field::new("col_bit", DataType::Boolean, true),
        Field::new("col_date", DataType::Date32, true),
        Field::new("col_datetime2", DataType::Timestamp(TimeUnit::Microsecond, None), true),
        Field::new("col_decimal", DataType::Decimal128(18, 4), true),
        Field::new("col_str1", DataType::Utf8, true),
        Field::new("col_str2", DataType::Utf8, true),
        Field::new("col_str3", DataType::Utf8, true),
    ]))
}

/// Makes rows `first..first + rows` of the case. The same row number always gives the same values; about one
/// value in fifty of a nullable column is NULL.
pub fn batch(first: usize, rows: usize) -> Result<RecordBatch, ArrowError> {
    let numbers = || (first..first + rows).map(|row| row as u64);
    let value = |column: u64, row: u64| mix(row.wrapping_mul(11).wrapping_add(column));
    let nullable = |column: u64, row: u64| Some(value(column, row)).filter(|hash| hash % 50 != 0);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from_iter_values(numbers().map(|row| row as i32))),
        Arc::new(numbers().map(|row| nullable(1, row).map(|v| (v >> 16) as i32)).collect::<Int32Array>()),
        Arc::new(numbers().map(|row| nullable(2, row).map(|v| v as i64)).collect::<Int64Array>()),
        Arc::new(
            numbers()
                .map(|row| nullable(3, row).map(|v| (v >> 20) as f64 / 1024.0))
                .collect::<Float64Array>(),
        ),
        Arc::new(numbers().map(|row| nullable(4, row).map(|v| v & 2 == 2)).collect::<BooleanArray>()),
        Arc::new(numbers().map(|row| nullable(5, row).map(|v| (v % 20_000) as i32)).collect::<Date32Array>()),
        Arc::new(
            numbers()
                .map(|row| nullable(6, row).map(|v| (v % 2_000_000_000_000_000) as i64))
                .collect::<TimestampMicrosecondArray>(),
        ),
        Arc::new(
            numbers()
                .map(|row| nullable(7, row).map(|v| i128::from((v % 100_000_000_000_000) as i64)))
                .collect::<Decimal128Array>()
                .with_precision_and_scale(18, 4)?,
        ),
        Arc::new(numbers().map(|row| nullable(8, row).map(|v| words(v, 12))).collect::<StringArray>()),
        Arc::new(numbers().map(|row| nullable(9, row).map(|v| words(v, 20))).collect::<StringArray>()),
        Arc::new(numbers().map(|row| nullable(10, row).map(|v| words(v, 12))).collect::<StringArray>()),
    ];
    RecordBatch::try_new(schema(), columns)
}

/// Makes all batches of a run, `batch_rows` rows each but for the last.
pub fn batches(
    rows: usize,
    batch_rows: usize,
) -> impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send {
    (0..rows.div_ceil(batch_rows)).map(move |index| {
        let first = index * batch_rows;
        batch(first, batch_rows.min(rows - first))
    })
}

/// Applies SplitMix64's finaliser: a bijection of 64-bit numbers that looks random.
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Makes a lower-case text of `shortest..shortest + 8` letters.
fn words(hash: u64, shortest: usize) -> String {
    let length = shortest + (hash >> 8 & 7) as usize;
    let mut state = hash;
    (0..length)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b'a' + (state >> 59) as u8 % 26)
        })
        .collect()
}
