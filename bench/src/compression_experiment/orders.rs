//! The table that is copied: nine columns, about 105 bytes a row, of which ROW and PAGE compression can make less.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Decimal128Array, Int32Array, RecordBatch, StringArray, TimestampMillisecondArray,
};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow::error::ArrowError;

const BATCH_ROWS: u64 = 8192;
const STATES: [&str; 5] = ["new", "paid", "shipped", "delivered", "returned"];
/// 2008-01-10 21:20:00, in milliseconds of Unix time: the first order's.
const FIRST_ORDER_MS: i64 = 1_200_000_000_000;

/// The columns as CREATE TABLE has them, without the brackets.
pub const COLUMNS: &str = "id int NOT NULL, customer int NOT NULL, product int NOT NULL, quantity int NOT NULL, ordered datetime NOT NULL, \
     price money NOT NULL, code char(12) NOT NULL, description varchar(60) NULL, state varchar(20) NOT NULL";

/// Returns the Arrow schema of the rows.
pub fn schema() -> SchemaRef {
    let field = |name: &str, data_type: DataType| Field::new(name, data_type, name == "description");
    Arc::new(Schema::new(vec![
        field("id", DataType::Int32),
        field("customer", DataType::Int32),
        field("product", DataType::Int32),
        field("quantity", DataType::Int32),
        field("ordered", DataType::Timestamp(TimeUnit::Millisecond, None)),
        field("price", DataType::Decimal128(19, 4)),
        field("code", DataType::Utf8),
        field("description", DataType::Utf8),
        field("state", DataType::Utf8),
    ]))
}

/// Makes all rows, in the order of `id`, always the same.
pub fn batches(rows: u64) -> impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut next = move |below: u64| {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    (0..rows.div_ceil(BATCH_ROWS)).map(move |index| {
        let first = index * BATCH_ROWS;
        batch(first, BATCH_ROWS.min(rows - first), &mut next)
    })
}

fn batch(first: u64, rows: u64, next: &mut impl FnMut(u64) -> u64) -> Result<RecordBatch, ArrowError> {
    let numbers = || first..first + rows;
    let products: Vec<i32> = numbers().map(|_| next(2000) as i32).collect();
    let customers: Int32Array = numbers().map(|_| Some(next(100_000) as i32)).collect();
    let quantities: Int32Array = numbers().map(|_| Some(1 + next(12) as i32)).collect();
    let states =
        numbers().map(|_| STATES.get(next(STATES.len() as u64) as usize).copied()).collect::<StringArray>();
    let prices = products.iter().map(|product| i128::from(product % 700 + 1) * 12_300);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from_iter_values(numbers().map(|row| row as i32))),
        Arc::new(customers),
        Arc::new(Int32Array::from(products.clone())),
        Arc::new(quantities),
        // Fifty orders a minute.
        Arc::new(TimestampMillisecondArray::from_iter_values(
            numbers().map(|row| FIRST_ORDER_MS + row as i64 / 50 * 60_000),
        )),
        Arc::new(Decimal128Array::from_iter_values(prices).with_precision_and_scale(19, 4)?),
        Arc::new(StringArray::from_iter_values(numbers().map(|row| format!("AB-{:06}   ", row % 1_000_000)))),
        Arc::new(StringArray::from_iter_values(
            products.iter().map(|product| format!("product {product} of the spring collection")),
        )),
        Arc::new(states),
    ];
    RecordBatch::try_new(schema(), columns)
}
