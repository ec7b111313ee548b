//! Appending and scanning eleven-column batches, beside a plain write and sync of the same bytes in the same run.
//!
//! `cargo bench -p bulkwire-store --bench append -- [ROWS] [DIRECTORY]`. Every run is verified by row count and checksum; times are
//! only ever printed as ratios of one run and with the spread of its repetitions.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array,
    RecordBatch, StringArray, TimestampMicrosecondArray, UInt8Array,
};
use arrow::datatypes::{Int64Type, Schema};
use bulkwire_store::{Database, Options, Sync};

const BATCH_ROWS: usize = 65_536;
const REPETITIONS: usize = 5;
const BYTES_PER_ROW: usize = 105;

fn main() {
    // `cargo bench` passes --bench; `cargo test --benches` does not and wants only to see it run.
    let benchmark = std::env::args().any(|argument| argument == "--bench");
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let rows = arguments.next().and_then(|rows| rows.parse().ok());
    let rows: usize = rows.unwrap_or(if benchmark { 6_000_000 } else { BATCH_ROWS });
    let parent = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let directory = tempfile::tempdir_in(parent).unwrap();

    let batches: Vec<RecordBatch> = (0..4).map(|number| batch(number * BATCH_ROWS)).collect();
    let count = rows.div_ceil(BATCH_ROWS);
    let load: Vec<&RecordBatch> = batches.iter().cycle().take(count).collect();
    let bytes = count * BATCH_ROWS * BYTES_PER_ROW;
    println!(
        "{count} batches of {BATCH_ROWS} rows, about {BYTES_PER_ROW} bytes each: {} MB",
        bytes / 1_000_000
    );

    let mut runs = Runs::default();
    for _ in 0..if benchmark { REPETITIONS } else { 1 } {
        runs.memory.push(append(&Database::in_memory(), &load));
        let written;
        {
            let path = directory.path().join("synced");
            let database = Database::open(&path, Options::default()).unwrap();
            runs.synced.push(append(&database, &load));
            written = database.snapshot().table("t").unwrap().bytes as usize;
            runs.scan.push(scan(&database, &load));
            drop(database);
            std::fs::remove_dir_all(&path).unwrap();
        }
        runs.plain.push(plain_write(&directory.path().join("plain"), written, true));
        {
            let path = directory.path().join("unsynced");
            let database = Database::open(&path, Options { sync: Sync::None, ..Options::default() }).unwrap();
            runs.unsynced.push(append(&database, &load));
            drop(database);
            std::fs::remove_dir_all(&path).unwrap();
        }
        runs.plain_unsynced.push(plain_write(&directory.path().join("plain"), written, false));
        runs.small.push(small_commits(&directory.path().join("small")));
        runs.small_plain.push(small_plain(&directory.path().join("small-plain")));
    }
    println!("{:<44}{:>10}{:>12}{:>18}", "", "median", "MB/s", "spread");
    report("append, memory (shares the batches)", &runs.memory, bytes);
    report("append and commit, synced", &runs.synced, bytes);
    report("plain write + sync of the same bytes", &runs.plain, bytes);
    report("append and commit, Sync::None", &runs.unsynced, bytes);
    report("plain write of the same bytes, no sync", &runs.plain_unsynced, bytes);
    report("scan from cache, all columns, checked", &runs.scan, bytes);
    report("100 one-row commits", &runs.small, 100);
    report("100 plain 1 KB appends, each synced", &runs.small_plain, 100);
    println!("synced append at {:.2} of the plain write's rate", ratio(&runs.plain, &runs.synced));
    println!(
        "unsynced append at {:.2} of the plain write's rate",
        ratio(&runs.plain_unsynced, &runs.unsynced)
    );
    println!("one-row commits at {:.2} of the plain appends' rate", ratio(&runs.small_plain, &runs.small));
}

#[derive(Default)]
struct Runs {
    memory: Vec<Duration>,
    synced: Vec<Duration>,
    plain: Vec<Duration>,
    unsynced: Vec<Duration>,
    plain_unsynced: Vec<Duration>,
    scan: Vec<Duration>,
    small: Vec<Duration>,
    small_plain: Vec<Duration>,
}

fn append(database: &Database, load: &[&RecordBatch]) -> Duration {
    let start = Instant::now();
    let mut transaction = database.begin();
    let table = transaction.create_table("t", load[0].schema(), "").unwrap();
    for batch in load {
        transaction.append(table, batch).unwrap();
    }
    transaction.commit().unwrap();
    let elapsed = start.elapsed();
    let snapshot = database.snapshot();
    let found = checksum(snapshot.scan(table, None).unwrap().map(Result::unwrap));
    assert_eq!(found, checksum(load.iter().map(|batch| (*batch).clone())));
    elapsed
}

fn scan(database: &Database, load: &[&RecordBatch]) -> Duration {
    let snapshot = database.snapshot();
    let table = snapshot.table("t").unwrap().id;
    let start = Instant::now();
    let rows: usize = snapshot.scan(table, None).unwrap().map(|batch| batch.unwrap().num_rows()).sum();
    let elapsed = start.elapsed();
    assert_eq!(rows, load.iter().map(|batch| batch.num_rows()).sum::<usize>());
    elapsed
}

/// Rows, sum of the keys, and length of all text.
fn checksum(batches: impl Iterator<Item = RecordBatch>) -> (usize, i64, usize) {
    batches.fold((0, 0, 0), |(rows, keys, text), batch| {
        let key = arrow::array::AsArray::as_primitive::<Int64Type>(batch.column(0));
        let sum = key.values().iter().fold(keys, |sum: i64, key| sum.wrapping_add(*key));
        let strings = arrow::array::AsArray::as_string::<i32>(batch.column(8));
        let length: usize =
            strings.iter().flatten().map(|text| text.bytes().map(usize::from).sum::<usize>()).sum();
        (rows + batch.num_rows(), sum, text + length)
    })
}

fn plain_write(path: &Path, bytes: usize, sync: bool) -> Duration {
    let block = vec![0x5A_u8; 6 << 20];
    let start = Instant::now();
    let mut file = File::create(path).unwrap();
    let mut left = bytes;
    while left > 0 {
        let length = left.min(block.len());
        file.write_all(&block[..length]).unwrap();
        left -= length;
    }
    if sync {
        file.sync_data().unwrap();
    }
    let elapsed = start.elapsed();
    assert_eq!(file.metadata().unwrap().len() as usize, bytes);
    drop(file);
    std::fs::remove_file(path).unwrap();
    elapsed
}

fn small_commits(path: &Path) -> Duration {
    let database = Database::open(path, Options::default()).unwrap();
    let row = batch(0).slice(0, 1);
    let mut transaction = database.begin();
    let table = transaction.create_table("t", row.schema(), "").unwrap();
    transaction.commit().unwrap();
    let start = Instant::now();
    for _ in 0..100 {
        let mut transaction = database.begin();
        transaction.append(table, &row).unwrap();
        transaction.commit().unwrap();
    }
    let elapsed = start.elapsed();
    assert_eq!(database.snapshot().table("t").unwrap().rows, 100);
    drop(database);
    std::fs::remove_dir_all(path).unwrap();
    elapsed
}

fn small_plain(path: &Path) -> Duration {
    let mut file = File::create(path).unwrap();
    let start = Instant::now();
    for _ in 0..100 {
        file.write_all(&[0x5A; 1024]).unwrap();
        file.sync_data().unwrap();
    }
    let elapsed = start.elapsed();
    std::fs::remove_file(path).unwrap();
    elapsed
}

/// Key, integers, decimal, float, date, timestamp, flags and text.
fn batch(first: usize) -> RecordBatch {
    let rows = first..first + BATCH_ROWS;
    let text = |length: usize| -> ArrayRef {
        Arc::new(rows.clone().map(|row| Some(format!("{row:0>length$}"))).collect::<StringArray>())
    };
    let columns: Vec<ArrayRef> = vec![
        Arc::new(rows.clone().map(|row| row as i64).collect::<Vec<_>>().into_iter().collect::<Int64Array>()),
        Arc::new(rows.clone().map(|row| Some(row as i32 / 7)).collect::<Int32Array>()),
        Arc::new(rows.clone().map(|row| (row % 9 != 0).then_some(row as i32)).collect::<Int32Array>()),
        Arc::new(rows.clone().map(|row| Some(row as u8)).collect::<UInt8Array>()),
        Arc::new(rows.clone().map(|row| Some(row as i128 * 100)).collect::<Decimal128Array>()),
        Arc::new(rows.clone().map(|row| Some(row as f64 / 3.0)).collect::<Float64Array>()),
        Arc::new(rows.clone().map(|row| Some(row as i32 % 20_000)).collect::<Date32Array>()),
        Arc::new(rows.clone().map(|row| Some(row as i64 * 1_000)).collect::<TimestampMicrosecondArray>()),
        text(24),
        text(16),
        Arc::new(rows.clone().map(|row| Some(row % 2 == 0)).collect::<BooleanArray>()),
    ];
    let fields = columns.iter().enumerate().map(|(index, column)| {
        arrow::datatypes::Field::new(format!("c{index}"), column.data_type().clone(), true)
    });
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    RecordBatch::try_new(schema, columns).unwrap()
}

fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort();
    times[times.len() / 2]
}

fn ratio(reference: &[Duration], measured: &[Duration]) -> f64 {
    median(reference).as_secs_f64() / median(measured).as_secs_f64()
}

fn report(name: &str, times: &[Duration], bytes: usize) {
    let (middle, least) = (median(times), times.iter().min().unwrap());
    let most = times.iter().max().unwrap();
    let spread = format!("{:.0}..{:.0} ms", least.as_secs_f64() * 1e3, most.as_secs_f64() * 1e3);
    let rate = bytes as f64 / middle.as_secs_f64() / 1e6;
    println!("{name:<44}{:>7.1} ms{rate:>12.0}{spread:>18}", middle.as_secs_f64() * 1e3);
}
