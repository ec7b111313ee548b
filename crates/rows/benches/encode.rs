//! Encodes the 11-column case, Arrow batches in, ROW tokens out, on one core, and compares in the same run with two
//! row-by-row encoders: one that makes a `tds::Value` of each cell and has `tds` encode it, and a lean one of its own whose
//! enum borrows and pushes bytes.
//!
//! `cargo bench -p bulkwire-rows --bench encode [-- REPEATS]`. Checks and casts (`Plan::bind`) are part of the time. The bytes
//! of all encoders are counted and compared by checksum; the best and the median of the repeats are printed.
#![allow(clippy::expect_used)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::*;
use arrow::datatypes::*;
use arrow::record_batch::RecordBatch;
use rows::{CastOptions, Mapping, Plan};
use tds::{Collation, Column, Length, SqlType, Value, ValuePlace, Writer, encode_value};

/// Rows of a batch, as in the published experiment.
const BATCH_ROWS: usize = 50_000;
/// Rows encoded at a time, as a sender would between two writes.
const CHUNK_ROWS: usize = 2048;

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let repeats: usize = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(100);
    println!("{repeats} times a batch of {BATCH_ROWS} rows, one thread");
    let cases = [
        ("one cell in fifty NULL", Case { null_every: 50, letter: 'a' }),
        ("no NULLs", Case { null_every: 0, letter: 'a' }),
        ("half the cells NULL", Case { null_every: 2, letter: 'a' }),
        ("text with é, one cell in fifty NULL", Case { null_every: 50, letter: 'é' }),
    ];
    for (name, case) in cases {
        println!("\n{name}");
        run(&case, repeats);
    }
}

struct Case {
    null_every: u64,
    letter: char,
}

fn run(case: &Case, repeats: usize) {
    let batch = batch(case);
    let plan =
        Plan::new(&batch.schema(), &columns(), &Mapping::ByName, CastOptions::default()).expect("a plan");

    let (mut columnar, mut bind, mut row_by_row, mut by_value) = (vec![], vec![], vec![], vec![]);
    let mut out = Vec::new();
    for repeat in 0..repeats {
        let (mut bytes, mut expected) = (0, 0);
        columnar.push(seconds(|| {
            let bound = plan.bind(black_box(&batch), (repeat * BATCH_ROWS) as u64).expect("a bound batch");
            for first in (0..BATCH_ROWS).step_by(CHUNK_ROWS) {
                out.clear();
                bound.encode(first..first + CHUNK_ROWS, &mut out);
                bytes += black_box(&out).len();
            }
        }));
        bind.push(seconds(|| {
            black_box(plan.bind(black_box(&batch), 0).expect("a bound batch"));
        }));
        row_by_row.push(seconds(|| {
            for first in (0..BATCH_ROWS).step_by(CHUNK_ROWS) {
                out.clear();
                encode_row_by_row(black_box(&batch), first..(first + CHUNK_ROWS).min(BATCH_ROWS), &mut out);
                expected += black_box(&out).len();
            }
        }));
        assert_eq!(bytes, expected, "all encoders write the same number of bytes");
        let mut expected = 0;
        by_value.push(seconds(|| {
            for first in (0..BATCH_ROWS).step_by(CHUNK_ROWS) {
                let rows = first..(first + CHUNK_ROWS).min(BATCH_ROWS);
                expected += black_box(encode_by_value(black_box(&batch), rows)).len();
            }
        }));
        assert_eq!(bytes, expected, "all encoders write the same number of bytes");
    }
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    plan.bind(&batch, 0).expect("a bound batch").encode(0..BATCH_ROWS, &mut ours);
    encode_row_by_row(&batch, 0..BATCH_ROWS, &mut theirs);
    assert_eq!(checksum(&ours), checksum(&theirs), "all encoders write the same bytes");
    let theirs = encode_by_value(&batch, 0..BATCH_ROWS);
    assert_eq!(checksum(&ours), checksum(&theirs), "all encoders write the same bytes");

    let row_bytes = ours.len() as f64 / BATCH_ROWS as f64;
    println!("  {row_bytes:.1} bytes a row, checksum {:016x}", checksum(&ours));
    let (best, median) = report("columnar", &mut columnar, row_bytes);
    report("  of it bind", &mut bind, row_bytes);
    for (name, times) in [("by tds::Value", &mut by_value), ("by lean enum", &mut row_by_row)] {
        let (slow_best, slow_median) = report(name, times, row_bytes);
        println!(
            "    columnar is {:.1}x by the best runs, {:.1}x by the medians",
            slow_best / best,
            slow_median / median
        );
    }
}

fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

fn report(name: &str, times: &mut [f64], row_bytes: f64) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    let (best, median) = (times[0], times[times.len() / 2]);
    let million = |seconds: f64| BATCH_ROWS as f64 / seconds / 1e6;
    println!(
        "  {name:<14} {:6.2} M rows/s, {:.2} GB/s (median {:.2} M rows/s)",
        million(best),
        million(best) * row_bytes / 1e3,
        million(median),
    );
    (best, median)
}

/// FNV-1a.
fn checksum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xCBF2_9CE4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3))
}

fn columns() -> Vec<Column> {
    let text = |length| Length::Units(length);
    let types = [
        ("id", SqlType::Int, false),
        ("quantity", SqlType::Int, true),
        ("account", SqlType::BigInt, true),
        ("price", SqlType::Float, true),
        ("active", SqlType::Bit, true),
        ("day", SqlType::Date, true),
        ("changed", SqlType::DateTime2 { scale: 6 }, true),
        ("amount", SqlType::Decimal { precision: 18, scale: 4 }, true),
        ("name", SqlType::NVarChar { length: text(100) }, true),
        ("city", SqlType::NVarChar { length: text(100) }, true),
        ("code", SqlType::VarChar { length: text(100) }, true),
    ];
    let latin1 = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
    types
        .into_iter()
        .map(|(name, sql_type, nullable)| {
            let collation = sql_type.is_character().then_some(latin1);
            Column::new(name, sql_type, nullable, collation)
        })
        .collect()
}

fn batch(case: &Case) -> RecordBatch {
    let mut state = 1_u64;
    let mut next = move || {
        // splitmix64
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    macro_rules! values {
        ($value:expr) => {
            (0..BATCH_ROWS)
                .map(|_| (case.null_every == 0 || next() % case.null_every != 0).then(|| $value))
                .collect()
        };
    }
    let ints: Int32Array = values!(next() as i32);
    let longs: Int64Array = values!(next() as i64);
    let floats: Float64Array = values!(next() as u32 as f64 / 7.0);
    let bits: BooleanArray = values!(next().is_multiple_of(2));
    let days: Date32Array = values!((next() % 20_000) as i32);
    let instants: TimestampMicrosecondArray = values!((next() % 2_000_000_000_000_000) as i64);
    let decimals: Decimal128Array = values!(i128::from(next() as i64 / 100));
    let decimals = decimals.with_precision_and_scale(18, 4).expect("a decimal(18, 4)");
    macro_rules! texts {
        () => {
            values!({
                let mut text = format!("{:x}{:x}", next(), next());
                text.truncate(6 + (next() % 23) as usize);
                text.push(case.letter);
                text
            })
        };
    }
    let [names, cities, codes]: [StringArray; 3] = [texts!(), texts!(), texts!()];
    let arrays: [ArrayRef; 11] = [
        Arc::new(Int32Array::from_iter_values(0..BATCH_ROWS as i32)),
        Arc::new(ints),
        Arc::new(longs),
        Arc::new(floats),
        Arc::new(bits),
        Arc::new(days),
        Arc::new(instants),
        Arc::new(decimals),
        Arc::new(names),
        Arc::new(cities),
        Arc::new(codes),
    ];
    let fields: Vec<Field> = columns()
        .iter()
        .zip(&arrays)
        .map(|(column, array)| Field::new(&column.name, array.data_type().clone(), true))
        .collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays.to_vec()).expect("a batch")
}

/// One cell of the straightforward encoder.
enum Cell<'a> {
    Null,
    Bit(bool),
    Int(i32),
    BigInt(i64),
    Float(f64),
    Date(i32),
    DateTime2(i64),
    Decimal(i128),
    Text(&'a str),
}

/// Encodes as most clients do: for each row and column it looks at the type, fetches the value, and appends
/// its bytes.
fn encode_row_by_row(batch: &RecordBatch, rows: std::ops::Range<usize>, out: &mut Vec<u8>) {
    let targets = columns();
    for row in rows {
        out.push(0xD1);
        for (array, column) in batch.columns().iter().zip(&targets) {
            let cell = cell(array, row);
            let nullable = column.flags.is_nullable();
            push(&cell, column.sql_type(), nullable, out);
        }
    }
}

/// Encodes row by row through the enum that the protocol crate has for single values.
fn encode_by_value(batch: &RecordBatch, rows: std::ops::Range<usize>) -> Vec<u8> {
    let targets = columns();
    let mut writer = Writer::new();
    for row in rows {
        writer.u8(0xD1);
        for (array, column) in batch.columns().iter().zip(&targets) {
            let value = value(cell(array, row));
            encode_value(&value, &column.type_info, &mut writer, ValuePlace::Row);
        }
    }
    writer.finish().expect("values that fit")
}

fn value(cell: Cell<'_>) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Bit(value) => Value::Bit(value),
        Cell::Int(value) => Value::Int(value),
        Cell::BigInt(value) => Value::BigInt(value),
        Cell::Float(value) => Value::Float(value),
        Cell::Date(days) => Value::Date(days + 719_162),
        Cell::DateTime2(value) => Value::DateTime2 {
            days: (value.div_euclid(MICROSECONDS_PER_DAY) + 719_162) as i32,
            ticks: value.rem_euclid(MICROSECONDS_PER_DAY) as u64,
            scale: 6,
        },
        Cell::Decimal(value) => {
            Value::Decimal { magnitude: value.unsigned_abs(), negative: value < 0, precision: 18, scale: 4 }
        }
        Cell::Text(text) => Value::String(text.to_owned()),
    }
}

const MICROSECONDS_PER_DAY: i64 = 86_400_000_000;

fn cell(array: &ArrayRef, row: usize) -> Cell<'_> {
    if array.is_null(row) {
        return Cell::Null;
    }
    match array.data_type() {
        DataType::Boolean => Cell::Bit(array.as_boolean().value(row)),
        DataType::Int32 => Cell::Int(array.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => Cell::BigInt(array.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => Cell::Float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Date32 => Cell::Date(array.as_primitive::<Date32Type>().value(row)),
        DataType::Timestamp(..) => {
            Cell::DateTime2(array.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        DataType::Decimal128(..) => Cell::Decimal(array.as_primitive::<Decimal128Type>().value(row)),
        DataType::Utf8 => Cell::Text(array.as_string::<i32>().value(row)),
        other => unreachable!("{other} is not in the case"),
    }
}

fn push(cell: &Cell<'_>, sql_type: &SqlType, nullable: bool, out: &mut Vec<u8>) {
    let length = |out: &mut Vec<u8>, length: u8| {
        if nullable {
            out.push(length);
        }
    };
    match (cell, sql_type) {
        (Cell::Null, sql_type) if sql_type.is_character() => out.extend_from_slice(&[0xFF, 0xFF]),
        (Cell::Null, _) => out.push(0),
        (Cell::Bit(value), _) => {
            length(out, 1);
            out.push(u8::from(*value));
        }
        (Cell::Int(value), _) => {
            length(out, 4);
            out.extend_from_slice(&value.to_le_bytes());
        }
        (Cell::BigInt(value), _) => {
            length(out, 8);
            out.extend_from_slice(&value.to_le_bytes());
        }
        (Cell::Float(value), _) => {
            length(out, 8);
            out.extend_from_slice(&value.to_le_bytes());
        }
        (Cell::Date(days), _) => {
            length(out, 3);
            out.extend_from_slice(&(days + 719_162).to_le_bytes()[..3]);
        }
        (Cell::DateTime2(value), _) => {
            length(out, 8);
            out.extend_from_slice(&value.rem_euclid(MICROSECONDS_PER_DAY).to_le_bytes()[..5]);
            out.extend_from_slice(&(value.div_euclid(MICROSECONDS_PER_DAY) + 719_162).to_le_bytes()[..3]);
        }
        (Cell::Decimal(value), _) => {
            length(out, 9);
            out.push(u8::from(*value >= 0));
            out.extend_from_slice(&value.unsigned_abs().to_le_bytes()[..8]);
        }
        (Cell::Text(text), SqlType::NVarChar { .. }) => {
            let units: Vec<u16> = text.encode_utf16().collect();
            out.extend_from_slice(&(2 * units.len() as u16).to_le_bytes());
            for unit in units {
                out.extend_from_slice(&unit.to_le_bytes());
            }
        }
        (Cell::Text(text), _) => {
            let code_page = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS.code_page();
            let bytes = code_page.encode(text).expect("text of the code page");
            out.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
            out.extend_from_slice(&bytes);
        }
    }
}
