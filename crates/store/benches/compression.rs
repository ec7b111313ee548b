//! Loading a table with and without compression, in one run: the shape of an INSERT … SELECT of 3,000,000 rows of a cached table
//! into an empty one.
//!
//! `cargo bench -p bulkwire-store --bench compression [-- ROWS]`. The directory is that of `TMPDIR`. The source is a heap of the
//! same database in the cache of the operating system; it is scanned in every load. In each of five rounds all settings take turns;
//! counts and a checksum of every loaded table are compared with the source's. The time of the processor (of the one thread that
//! loads, from Linux's scheduler) is reported beside the time of the clock: it says what compression costs where the machine has other work.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, Int32Array, RecordBatch, StringArray,
    TimestampMillisecondArray,
};
use arrow::datatypes::{Decimal128Type, Int32Type, TimestampMillisecondType};
use bulkwire_store::engine::layout::Layout;
use bulkwire_store::engine::{Column, Compression, Engine, EngineOptions, Kind, ScanDetail};

const ROUNDS: usize = 5;
const BATCH_ROWS: usize = 8192;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.iter().any(|argument| argument == "--test") {
        return;
    }
    let rows = arguments.iter().filter_map(|argument| argument.parse().ok()).next().unwrap_or(3_000_000);
    let directory = tempfile::tempdir().unwrap();
    let engine = Engine::open(&directory.path().join("database"), EngineOptions::default()).unwrap();
    let mut transaction = engine.begin();
    transaction.create_table("source", columns(), "").unwrap();
    transaction.bulk_load("source", &batches(rows)).unwrap();
    transaction.commit().unwrap();
    let expected = checksum(&engine, "source");
    assert_eq!(expected.0, rows);
    let settings = [Compression::None, Compression::Row, Compression::Page];
    let mut times = vec![Vec::new(); settings.len()];
    let mut processor = vec![Vec::new(); settings.len()];
    let mut pages = vec![(0, 0); settings.len()];
    for _ in 0..ROUNDS {
        for (index, setting) in settings.into_iter().enumerate() {
            let mut transaction = engine.begin();
            transaction.create_compressed_table("target", columns(), setting, "").unwrap();
            transaction.commit().unwrap();
            let (start, before) = (Instant::now(), processor_time());
            let snapshot = engine.snapshot();
            let mut transaction = engine.begin();
            let mut writer = transaction.bulk_writer("target").unwrap();
            for batch in snapshot.scan("source", None).unwrap() {
                writer.append(&batch.unwrap()).unwrap();
            }
            transaction.finish_bulk("target", writer).unwrap();
            transaction.commit().unwrap();
            times[index].push(start.elapsed());
            processor[index].push(processor_time() - before);
            drop(snapshot);
            assert_eq!(checksum(&engine, "target"), expected, "{setting}");
            let snapshot = engine.snapshot();
            let statistics = snapshot.physical_statistics("target", ScanDetail::Detailed).unwrap();
            pages[index] = (statistics[0].pages, statistics[0].contents.unwrap().compressed_pages);
            drop(snapshot);
            let mut transaction = engine.begin();
            transaction.drop_table("target").unwrap();
            transaction.commit().unwrap();
            engine.checkpoint().unwrap();
        }
    }
    println!(
        "\n{rows} rows into an empty heap, medians of {ROUNDS} rounds; ratios are medians of the rounds' own"
    );
    for (index, setting) in settings.iter().enumerate() {
        println!(
            "{setting:<5}{:>8.3} s{:>7.2} x NONE, processor{:>8.3} s{:>7.2} x NONE,{:>9} pages, {} compressed, {:.0} % of NONE",
            median(&times[index]),
            ratio(&times[index], &times[0]),
            median(&processor[index]),
            ratio(&processor[index], &processor[0]),
            pages[index].0,
            pages[index].1,
            100.0 * pages[index].0 as f64 / pages[0].0 as f64,
        );
    }
}

/// Rounds are compared pair by pair: what else the machine does is alike in a round.
fn ratio(times: &[Duration], none: &[Duration]) -> f64 {
    let ratios = times.iter().zip(none).map(|(time, none)| time.div_duration_f64(*none));
    median(&ratios.map(Duration::from_secs_f64).collect::<Vec<_>>())
}

/// Time that this thread has run; zero where the system does not tell.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split_whitespace().next().and_then(|field| field.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

fn median(times: &[Duration]) -> f64 {
    let mut times = times.to_vec();
    times.sort();
    times[times.len() / 2].as_secs_f64()
}

/// Rows like those of an order line: a key, numbers of few digits, a date, a price, a code, a description and a state.
fn columns() -> Vec<Column> {
    vec![
        Column::required("id", Kind::Int),
        Column::required("customer", Kind::Int),
        Column::required("product", Kind::Int),
        Column::required("quantity", Kind::Int),
        Column::required("ordered", Kind::DateTime),
        Column::required("price", Kind::Money),
        Column::required("code", Kind::Char(12)),
        Column::new("description", Kind::VarChar(Some(60))),
        Column::required("state", Kind::VarChar(Some(20))),
    ]
}

fn batches(rows: usize) -> Vec<RecordBatch> {
    let schema = Layout::new(columns()).unwrap().schema;
    let states = ["new", "paid", "shipped", "delivered", "returned"];
    let mut random = 0x2545_F491_4F6C_DD1D_u64;
    let mut next = move |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    (0..rows)
        .step_by(BATCH_ROWS)
        .map(|first| {
            let count = BATCH_ROWS.min(rows - first);
            let products: Vec<i32> = (0..count).map(|_| next(2000) as i32).collect();
            let arrays: Vec<ArrayRef> = vec![
                Arc::new(Int32Array::from_iter_values((first..first + count).map(|row| row as i32))),
                Arc::new(Int32Array::from_iter_values((0..count).map(|_| next(100_000) as i32))),
                Arc::new(Int32Array::from(products.clone())),
                Arc::new(Int32Array::from_iter_values((0..count).map(|_| 1 + next(12) as i32))),
                Arc::new(TimestampMillisecondArray::from_iter_values(
                    (first..first + count).map(|row| 1_200_000_000_000 + row as i64 / 50 * 60_000),
                )),
                Arc::new(
                    Decimal128Array::from_iter_values(
                        products.iter().map(|product| i128::from(*product % 700 + 1) * 12_300),
                    )
                    .with_precision_and_scale(19, 4)
                    .unwrap(),
                ),
                Arc::new(StringArray::from_iter_values(
                    (0..count).map(|row| format!("AB-{:06}   ", (first + row) % 1_000_000)),
                )),
                Arc::new(StringArray::from_iter_values(
                    products.iter().map(|product| format!("product {product} of the spring collection")),
                )),
                Arc::new(StringArray::from_iter_values((0..count).map(|_| states[next(5) as usize]))),
            ];
            RecordBatch::try_new(schema.clone(), arrays).unwrap()
        })
        .collect()
}

/// Number of rows, and sums over all columns that do not depend on their order.
fn checksum(engine: &Engine, table: &str) -> (usize, u64) {
    let (mut rows, mut sum) = (0, 0_u64);
    for batch in engine.snapshot().scan(table, None).unwrap() {
        let batch = batch.unwrap();
        rows += batch.num_rows();
        for row in 0..batch.num_rows() {
            let mut hash = 0xCBF2_9CE4_8422_2325_u64;
            let mut mix = |value: u64| hash = (hash ^ value).wrapping_mul(0x0100_0000_01B3).rotate_left(23);
            for column in batch.columns() {
                if let Some(array) = column.as_primitive_opt::<Int32Type>() {
                    mix(array.value(row) as u64);
                } else if let Some(array) = column.as_primitive_opt::<TimestampMillisecondType>() {
                    mix(array.value(row) as u64);
                } else if let Some(array) = column.as_primitive_opt::<Decimal128Type>() {
                    mix(array.value(row) as u64);
                } else {
                    column.as_string::<i32>().value(row).bytes().for_each(|byte| mix(byte.into()));
                }
                mix(u64::from(column.is_null(row)));
            }
            sum = sum.wrapping_add(hash);
        }
    }
    (rows, sum)
}
