//! The tables that are loaded and scanned.
#![allow(dead_code, reason = "not every benchmark uses all of them")]

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
};
use bulkwire_store::record::layout::Layout;
use bulkwire_store::{Column, Kind};

use crate::checksum::Checksum;

const BATCH_ROWS: i64 = 8192;

/// A table that is filled with one batch over and over.
pub struct Table {
    pub name: &'static str,
    pub columns: Vec<Column>,
    pub batch: RecordBatch,
    /// Checksum of the batch's rows.
    pub checksum: Checksum,
}

impl Table {
    fn new(name: &'static str, columns: Vec<Column>, arrays: Vec<ArrayRef>) -> Self {
        let layout = Layout::new(columns.clone()).unwrap();
        let batch = RecordBatch::try_new(layout.schema, arrays).unwrap();
        let checksum = Checksum::of(std::iter::once(batch.clone()));
        Self { name, columns, batch, checksum }
    }
}

/// All of them.
pub fn all() -> Vec<Table> {
    vec![narrow(), with_nulls(), wide(), lineitem(), unicode()]
}

/// Integers and eleven texts, 608 bytes a row.
pub fn wide() -> Table {
    let mut columns = vec![Column::required("id", Kind::Int), Column::new("n", Kind::Int)];
    columns.extend((0..11).map(|index| Column::new(format!("v{index}"), Kind::VarChar(Some(60)))));
    let layout = Layout::new(columns.clone()).unwrap();
    // The texts, of different lengths, share the bytes that the other columns leave of 608.
    let text = 608 - layout.row_bytes(layout.variable_count, 0);
    let mut arrays: Vec<ArrayRef> = vec![int(|row| row), int(|row| row / 7)];
    for index in 0..11 {
        let mean = (text * (index + 1) / 11 - text * index / 11) as i64;
        // A pair of rows is as long as two of the mean.
        arrays.push(texts(move |row| {
            let width = mean + if row % 2 == 0 { row / 2 % 4 } else { -(row / 2 % 4) };
            Some(format!("{row:0>width$}", width = width as usize))
        }));
    }
    Table::new("608-byte rows", columns, arrays)
}

/// Eight fixed columns and three of text.
pub fn narrow() -> Table {
    let (columns, arrays) = eleven(i64::MAX);
    Table::new("11 columns, 8 fixed and 3 text", columns, arrays)
}

/// Makes the table of eleven columns with one value in fifty null.
fn with_nulls() -> Table {
    let (columns, arrays) = eleven(50);
    Table::new("11 columns, one value in fifty null", columns, arrays)
}

fn eleven(null_every: i64) -> (Vec<Column>, Vec<ArrayRef>) {
    let mut columns = vec![
        Column::required("id", Kind::BigInt),
        Column::new("a", Kind::Int),
        Column::new("b", Kind::Int),
        Column::new("c", Kind::Float),
        Column::new("d", Kind::Float),
        Column::new("e", Kind::BigInt),
        Column::new("f", Kind::BigInt),
        Column::new("g", Kind::Int),
    ];
    columns.extend((0..3).map(|index| Column::new(format!("v{index}"), Kind::VarChar(Some(40)))));
    // Nulls of different columns are in different rows.
    let null = move |row: i64, column: i64| (row * 7 + column * 11) % null_every == null_every - 1;
    let int = |column: i64, divisor: i64| -> ArrayRef {
        let value = |row: i64| (!null(row, column)).then_some((row / divisor) as i32);
        Arc::new((0..BATCH_ROWS).map(value).collect::<Int32Array>())
    };
    let big = |column: i64, factor: i64| -> ArrayRef {
        let value = |row: i64| (!null(row, column)).then_some(row * factor);
        Arc::new((0..BATCH_ROWS).map(value).collect::<Int64Array>())
    };
    let float = |column: i64, divisor: f64| -> ArrayRef {
        let value = |row: i64| (!null(row, column)).then_some(row as f64 / divisor);
        Arc::new((0..BATCH_ROWS).map(value).collect::<Float64Array>())
    };
    let text = |column: i64, mean: i64| {
        texts(move |row| {
            let width = (mean - 3 + row % 7) as usize;
            (!null(row, column)).then(|| format!("{row:0>width$}"))
        })
    };
    let id: ArrayRef = Arc::new(Int64Array::from_iter_values(0..BATCH_ROWS));
    let arrays = vec![
        id,
        int(1, 3),
        int(2, 7),
        float(3, 3.0),
        float(4, 7.0),
        big(5, 11),
        big(6, 13),
        int(7, 1),
        text(8, 12),
        text(9, 16),
        text(10, 10),
    ];
    (columns, arrays)
}

/// The columns of TPC-H's lineitem with values like its own.
fn lineitem() -> Table {
    let money = Kind::Decimal { precision: 15, scale: 2 };
    let columns = vec![
        Column::required("l_orderkey", Kind::BigInt),
        Column::required("l_partkey", Kind::Int),
        Column::required("l_suppkey", Kind::Int),
        Column::required("l_linenumber", Kind::Int),
        Column::required("l_quantity", money),
        Column::required("l_extendedprice", money),
        Column::required("l_discount", money),
        Column::required("l_tax", money),
        Column::required("l_returnflag", Kind::Char(1)),
        Column::required("l_linestatus", Kind::Char(1)),
        Column::required("l_shipdate", Kind::Date),
        Column::required("l_commitdate", Kind::Date),
        Column::required("l_receiptdate", Kind::Date),
        Column::required("l_shipinstruct", Kind::Char(25)),
        Column::required("l_shipmode", Kind::Char(10)),
        Column::required("l_comment", Kind::VarChar(Some(44))),
    ];
    let decimal = |value: fn(i64) -> i64| -> ArrayRef {
        let values = (0..BATCH_ROWS).map(|row| i128::from(value(mixed(row))));
        let array = Decimal128Array::from_iter_values(values);
        Arc::new(array.with_precision_and_scale(15, 2).unwrap())
    };
    let date = |later: i64| -> ArrayRef {
        Arc::new(Date32Array::from_iter_values(
            (0..BATCH_ROWS).map(|row| (8_000 + mixed(row) % 2_500 + later) as i32),
        ))
    };
    const INSTRUCTIONS: [&str; 4] = ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"];
    const MODES: [&str; 7] = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"];
    const COMMENT: &str = "carefully final packages haggle quickly along the furiously regular deposits";
    let pick = |row: i64, words: &[&'static str], width: usize| {
        Some(format!("{:<width$}", words[mixed(row) as usize % words.len()]))
    };
    let arrays = vec![
        big(|row| row / 4),
        int(|row| mixed(row) % 200_000),
        int(|row| mixed(row) % 10_000),
        int(|row| row % 7),
        decimal(|value| value % 50 * 100),
        decimal(|value| value % 10_000_000),
        decimal(|value| value % 11),
        decimal(|value| value % 9),
        texts(|row| Some(["A", "N", "R"][mixed(row) as usize % 3].to_owned())),
        texts(|row| Some(["O", "F"][mixed(row) as usize % 2].to_owned())),
        date(0),
        date(20),
        date(40),
        texts(move |row| pick(row, &INSTRUCTIONS, 25)),
        texts(move |row| pick(row, &MODES, 10)),
        texts(|row| {
            let start = mixed(row) as usize % 30;
            Some(COMMENT[start..start + 10 + mixed(row) as usize % 34].to_owned())
        }),
    ];
    Table::new("lineitem", columns, arrays)
}

/// Text as UTF-16, ASCII and not.
fn unicode() -> Table {
    let columns = vec![
        Column::required("id", Kind::Int),
        Column::new("ascii", Kind::NVarChar(Some(40))),
        Column::new("latin", Kind::NVarChar(Some(40))),
        Column::new("time", Kind::DateTime2 { scale: 6 }),
    ];
    let times = (0..BATCH_ROWS).map(|row| 1_700_000_000_000_000 + mixed(row));
    let arrays = vec![
        int(|row| row),
        texts(|row| Some(format!("{row:0>width$}", width = 20 + (row % 9) as usize))),
        texts(|row| Some(format!("Žluťoučký kůň {row}"))),
        Arc::new(arrow::array::TimestampMicrosecondArray::from_iter_values(times)) as ArrayRef,
    ];
    Table::new("nvarchar", columns, arrays)
}

/// Numbers without an order.
fn mixed(row: i64) -> i64 {
    ((row as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as i64
}

fn int(value: impl Fn(i64) -> i64) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values((0..BATCH_ROWS).map(|row| value(row) as i32)))
}

fn big(value: impl Fn(i64) -> i64) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values((0..BATCH_ROWS).map(value)))
}

fn texts(value: impl Fn(i64) -> Option<String>) -> ArrayRef {
    Arc::new((0..BATCH_ROWS).map(value).collect::<StringArray>())
}
