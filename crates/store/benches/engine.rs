//! Bulk load and scan of the paged engine against the disk's own rates, in one run, as ratios.
//!
//! `cargo bench -p bulkwire-store --bench engine`. The directory is that of `TMPDIR`; every figure is the median of five rounds, in
//! which all cases take turns.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use bulkwire_store::engine::layout::Layout;
use bulkwire_store::engine::{Column, Engine, EngineOptions, Kind, RecoveryModel};

const ROUNDS: usize = 5;
const BATCH_ROWS: usize = 8192;
const PAGES_BYTES: usize = 512 << 20;

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    for (name, columns, batch) in [wide(), narrow()] {
        measure(name, &columns, &batch);
    }
}

fn measure(name: &str, columns: &[Column], batch: &RecordBatch) {
    let directory = tempfile::tempdir().unwrap();
    let layout = Layout::new(columns.to_vec()).unwrap();
    let mut plain = Vec::new();
    let mut cases: Vec<(String, Vec<Duration>)> = Vec::new();
    let mut bytes = 0;
    for _ in 0..ROUNDS {
        let mut note = |case: String, time: Duration| match cases.iter_mut().find(|(name, _)| *name == case) {
            Some((_, times)) => times.push(time),
            None => cases.push((case, vec![time])),
        };
        for (model, writers) in
            [(RecoveryModel::Simple, 1), (RecoveryModel::Simple, 2), (RecoveryModel::Full, 1)]
        {
            let path = directory.path().join("database");
            let options = EngineOptions { recovery_model: model, ..EngineOptions::default() };
            let engine = Engine::open(&path, options).unwrap();
            let mut transaction = engine.begin();
            transaction.create_table("t", columns.to_vec(), "").unwrap();
            transaction.commit().unwrap();
            let rows_per_batch = batch.num_rows();
            let per_row = layout.row_bytes(layout.variable_count, 0);
            let batches = PAGES_BYTES / (rows_per_batch * per_row.max(average_row(&layout, batch))) / writers;
            let start = Instant::now();
            std::thread::scope(|scope| {
                for _ in 0..writers {
                    let engine = engine.clone();
                    scope.spawn(move || {
                        let mut transaction = engine.begin();
                        let mut writer = transaction.bulk_writer("t").unwrap();
                        for _ in 0..batches {
                            writer.append(batch).unwrap();
                        }
                        transaction.finish_bulk("t", writer).unwrap();
                        transaction.commit().unwrap();
                    });
                }
            });
            let elapsed = start.elapsed();
            let snapshot = engine.snapshot();
            let table = snapshot.table("t").unwrap();
            assert_eq!(table.rows as usize, batches * writers * rows_per_batch);
            bytes = table.data_pages() as usize * 8192;
            note(format!("load, {model:?}, {writers} writer(s)"), elapsed);
            if model == RecoveryModel::Simple && writers == 1 {
                let start = Instant::now();
                let rows: usize =
                    snapshot.scan("t", None).unwrap().map(|batch| batch.unwrap().num_rows()).sum();
                note("scan to batches, 1 thread".to_owned(), start.elapsed());
                assert_eq!(rows as u64, table.rows);
            }
            drop(snapshot);
            drop(engine);
            std::fs::remove_dir_all(&path).unwrap();
        }
        plain.push(plain_write(&directory.path().join("plain"), bytes));
    }
    println!("\n{name}: {:.0} MB of pages", bytes as f64 / 1e6);
    report("plain sequential write, synced", &plain, &plain, bytes);
    for (case, times) in &cases {
        report(case, times, &plain, bytes);
    }
}

fn average_row(layout: &Layout, batch: &RecordBatch) -> usize {
    let text: usize = batch
        .columns()
        .iter()
        .filter(|column| column.data_type() == &arrow::datatypes::DataType::Utf8)
        .map(|column| column.get_buffer_memory_size())
        .sum();
    layout.row_bytes(layout.variable_count, text / batch.num_rows())
}

fn plain_write(path: &Path, bytes: usize) -> Duration {
    let block = vec![0x5A_u8; 1 << 20];
    let start = Instant::now();
    let mut file = File::create(path).unwrap();
    for _ in 0..bytes.div_ceil(block.len()) {
        file.write_all(&block).unwrap();
    }
    file.sync_data().unwrap();
    let elapsed = start.elapsed();
    std::fs::remove_file(path).unwrap();
    elapsed
}

fn report(name: &str, times: &[Duration], plain: &[Duration], bytes: usize) {
    let median = |times: &[Duration]| {
        let mut times = times.to_vec();
        times.sort();
        times[times.len() / 2].as_secs_f64()
    };
    let (least, most) =
        (times.iter().min().unwrap().as_secs_f64(), times.iter().max().unwrap().as_secs_f64());
    println!(
        "{name:<36}{:>8.2} GB/s{:>8.2} x plain write   ({:.2}..{:.2} s)",
        bytes as f64 / median(times) / 1e9,
        median(plain) / median(times),
        least,
        most
    );
}

/// Rows of 608 bytes: integers and text.
fn wide() -> (&'static str, Vec<Column>, RecordBatch) {
    let mut columns = vec![Column::required("id", Kind::Int), Column::new("n", Kind::Int)];
    columns.extend((0..11).map(|index| Column::new(format!("v{index}"), Kind::VarChar(Some(60)))));
    let layout = Layout::new(columns.clone()).unwrap();
    let mut arrays: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from_iter_values(0..BATCH_ROWS as i32)),
        Arc::new(Int32Array::from_iter_values((0..BATCH_ROWS as i32).map(|row| row / 7))),
    ];
    for index in 0..11 {
        let text = (0..BATCH_ROWS).map(|row| format!("{row:0>width$}", width = 46 + index));
        arrays.push(Arc::new(StringArray::from_iter_values(text)));
    }
    ("608-byte rows", columns, RecordBatch::try_new(layout.schema, arrays).unwrap())
}

/// Eight fixed columns and three of text.
fn narrow() -> (&'static str, Vec<Column>, RecordBatch) {
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
    let layout = Layout::new(columns.clone()).unwrap();
    let rows = BATCH_ROWS as i32;
    let int = |divisor: i32| -> ArrayRef {
        Arc::new(Int32Array::from_iter_values((0..rows).map(|row| row / divisor)))
    };
    let big = |factor: i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values((0..i64::from(rows)).map(|row| row * factor)))
    };
    let float = |divisor: f64| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values((0..rows).map(|row| f64::from(row) / divisor)))
    };
    let text = |width: usize| -> ArrayRef {
        Arc::new(StringArray::from_iter_values((0..rows).map(|row| format!("{row:0>width$}"))))
    };
    let arrays = vec![
        big(1),
        int(3),
        int(7),
        float(3.0),
        float(7.0),
        big(11),
        big(13),
        int(1),
        text(12),
        text(16),
        text(10),
    ];
    ("11 columns, 8 fixed and 3 text", columns, RecordBatch::try_new(layout.schema, arrays).unwrap())
}
