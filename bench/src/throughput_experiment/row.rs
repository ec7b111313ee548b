//! The rows: random, about 400 bytes of data, with a sequential primary key.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow::error::ArrowError;
use load::TableName;

/// Texts of a row.
const TEXTS: u64 = 4;
/// Bytes of the columns of fixed width: two of 8, one of 4, two of 8.
const FIXED_BYTES: u64 = 36;
/// Shortest text; the longest has 20 letters more. On average a row has 36 + 4 * 91 = 400 bytes.
const TEXT_MIN: u64 = 81;

/// Writes CREATE TABLE.
pub fn create_table(table: &TableName) -> String {
    format!(
        "CREATE TABLE {table} (id bigint NOT NULL PRIMARY KEY CLUSTERED, account bigint NOT NULL, kind int NOT NULL, amount float NOT NULL, \
         happened datetime2(6) NOT NULL, t1 varchar(101) NOT NULL, t2 varchar(101) NOT NULL, t3 varchar(101) NOT NULL, \
         t4 varchar(101) NOT NULL)"
    )
}

/// Returns the Arrow schema of the rows.
pub fn schema() -> SchemaRef {
    let field = |name: String, data_type: DataType| Field::new(name, data_type, false);
    let fixed = [
        field("id".to_owned(), DataType::Int64),
        field("account".to_owned(), DataType::Int64),
        field("kind".to_owned(), DataType::Int32),
        field("amount".to_owned(), DataType::Float64),
        field("happened".to_owned(), DataType::Timestamp(TimeUnit::Microsecond, None)),
    ];
    let texts = (1..=TEXTS).map(|number| field(format!("t{number}"), DataType::Utf8));
    Arc::new(Schema::new(fixed.into_iter().chain(texts).collect::<Vec<_>>()))
}

/// Makes the rows of these numbers of a thread: the same every time.
///
/// # Errors
/// None that can be met: the columns are those of the schema.
pub fn batch(thread: u16, ids: Range<u64>) -> Result<RecordBatch, ArrowError> {
    let value =
        |column: u64, id: u64| mix((u64::from(thread) << 48) ^ id.wrapping_mul(16).wrapping_add(column));
    let text = |column: u64| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(ids.clone().map(|id| letters(value(column, id)))))
    };
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(ids.clone().map(|id| id as i64))),
        Arc::new(Int64Array::from_iter_values(ids.clone().map(|id| value(1, id) as i64))),
        Arc::new(Int32Array::from_iter_values(ids.clone().map(|id| value(2, id) as i32))),
        Arc::new(Float64Array::from_iter_values(ids.clone().map(|id| (value(3, id) >> 20) as f64 / 1024.0))),
        Arc::new(TimestampMicrosecondArray::from_iter_values(
            ids.clone().map(|id| (value(4, id) % 2_000_000_000_000_000) as i64),
        )),
    ];
    columns.extend((5..5 + TEXTS).map(text));
    RecordBatch::try_new(schema(), columns)
}

/// Counts the bytes of data of a batch, by type.
pub fn data_bytes(batch: &RecordBatch) -> u64 {
    let texts = batch.columns().iter().filter_map(|column| column.as_any().downcast_ref::<StringArray>());
    let text_bytes: u64 = texts.map(|texts| texts.value_data().len() as u64).sum();
    batch.num_rows() as u64 * FIXED_BYTES + text_bytes
}

/// Applies SplitMix64's finaliser: a bijection of 64-bit numbers that looks random.
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn letters(hash: u64) -> String {
    let length = TEXT_MIN + hash % 21;
    let mut state = hash;
    (0..length)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b'a' + (state >> 59) as u8 % 26)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn rows_have_four_hundred_bytes_and_are_always_the_same() {
        let one = batch(3, 100..2100).unwrap();
        assert_eq!(one.slice(5, 7), batch(3, 105..112).unwrap());
        assert_ne!(one.column(1), batch(4, 100..2100).unwrap().column(1));
        let mean = data_bytes(&one) as f64 / 2000.0;
        assert!((398.0..402.0).contains(&mean), "{mean}");
    }
}
