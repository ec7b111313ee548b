//! Loading a table with and without compression, in one run: the shape of an INSERT … SELECT of 3,000,000 rows of a cached table
//! into an empty one.
//!
//! `cargo bench -p bulkwire-store --bench compression [-- ROWS [ROUNDS]] [merged]`. The directory is that of `TMPDIR`. The
//! source is a heap of the same database in the cache of the operating system; it is scanned in every load. A load
//! ends when its commit is on disk. In each of seven rounds all settings take turns: a heap with one writer and with
//! two, and a table with a clustered key. Rows come in the order of that key. At last the odd ones of up to 2,000,000
//! rows are loaded into a clustered table that has the even ones; these come from memory. The rows and a checksum of every loaded
//! table are compared with the source's. Beside them stand the processor time of all threads, the pages, and the
//! disk's own sequential write of as many bytes as the table without compression has, synced. Every ratio is taken
//! within its round, in which what else the machine does is much alike.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "shared/checksum.rs"]
mod checksum;
#[path = "shared/process_time.rs"]
mod process_time;

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{
    ArrayRef, Decimal128Array, Int32Array, RecordBatch, StringArray, TimestampMillisecondArray,
};
use bulkwire_store::record::layout::Layout;
use bulkwire_store::{
    BulkOptions, BulkWriter, Column, Compression, Engine, EngineOptions, IndexDefinition, Kind, Scan,
    ScanDetail,
};

use checksum::Checksum;
use process_time::process_time;

const BATCH_ROWS: usize = 8192;
const PAGE_BYTES: u64 = 8192;
const MERGED_ROWS: usize = 2_000_000;
const SETTINGS: [Compression; 3] = [Compression::None, Compression::Row, Compression::Page];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.iter().any(|argument| argument == "--test") {
        return;
    }
    let only_merged = arguments.iter().any(|argument| argument == "merged");
    let mut numbers = arguments.iter().filter_map(|argument| argument.parse::<usize>().ok());
    let (rows, rounds) = (numbers.next().unwrap_or(3_000_000), numbers.next().unwrap_or(7));
    let directory = tempfile::tempdir().unwrap();
    let engine = Engine::open(&directory.path().join("database"), EngineOptions::default()).unwrap();
    let mut transaction = engine.begin();
    transaction.create_table("source", columns(), "").unwrap();
    transaction.open_table("source").unwrap().bulk_load(&batches(rows)).unwrap();
    transaction.commit().unwrap();
    let expected = checksum(&engine, "source");
    assert_eq!(expected.rows, rows as u64);
    let source_bytes = engine.snapshot().table("source").unwrap().data_pages() * PAGE_BYTES;
    let mut plain = Vec::new();
    let halves = Halves::new(&engine, rows.min(MERGED_ROWS));
    let shapes = [Shape::Heap { writers: 1 }, Shape::Heap { writers: 2 }, Shape::Clustered, Shape::Merged];
    let shapes = shapes.into_iter().filter(|shape| !only_merged || matches!(shape, Shape::Merged));
    let mut cases: Vec<Case> = shapes.flat_map(Case::all).collect();
    for _ in 0..rounds {
        plain.push(plain_write(&directory.path().join("plain"), source_bytes));
        for case in &mut cases {
            match case.shape {
                Shape::Merged => case.merge(&engine, &halves),
                _ => case.run(&engine, expected),
            }
        }
    }
    println!("\n{rows} rows into an empty table, medians of {rounds} rounds (least..most)");
    let megabytes = source_bytes as f64 / 1e6;
    println!(
        "disk alone, {megabytes:.0} MB: {:.3} s, {:.0} MB/s",
        median(&plain),
        megabytes / median(&plain)
    );
    for group in cases.chunks(SETTINGS.len()) {
        println!("{:?}", group[0].shape);
        group.iter().for_each(|case| case.report(&group[0]));
        if let Shape::Merged = group[0].shape {
            for case in group {
                let micros = median(&case.processor) * 1e6 / halves.odd_rows() as f64;
                println!(
                    "{:<5}{micros:>7.3} us of the processor for each row that comes between others",
                    case.setting
                );
            }
        }
    }
}

/// Rows of the table that others come between, and these.
struct Halves {
    even: Vec<RecordBatch>,
    odd: Vec<RecordBatch>,
    expected: Checksum,
}

impl Halves {
    fn new(engine: &Engine, rows: usize) -> Self {
        let all = batches(rows);
        let half = |first: usize| {
            let take = |batch: &RecordBatch| {
                let places = (first..batch.num_rows()).step_by(2).map(|row| row as u32);
                arrow::compute::take_record_batch(batch, &places.collect::<arrow::array::UInt32Array>())
                    .unwrap()
            };
            all.iter().map(take).collect::<Vec<_>>()
        };
        // As the store gives them out.
        let mut transaction = engine.begin();
        transaction.create_table("halves", columns(), "").unwrap();
        transaction.open_table("halves").unwrap().bulk_load(&all).unwrap();
        transaction.commit().unwrap();
        let expected = checksum(engine, "halves");
        drop_table(engine, "halves");
        Self { even: half(0), odd: half(1), expected }
    }

    fn odd_rows(&self) -> usize {
        self.odd.iter().map(RecordBatch::num_rows).sum()
    }
}

fn drop_table(engine: &Engine, name: &str) {
    let mut transaction = engine.begin();
    transaction.open_table(name).unwrap().drop().unwrap();
    transaction.commit().unwrap();
    engine.checkpoint().unwrap();
}

#[derive(Debug, Clone, Copy)]
enum Shape {
    Heap {
        writers: usize,
    },
    Clustered,
    /// Rows between others.
    Merged,
}

/// Loads of one shape with one setting.
struct Case {
    setting: Compression,
    shape: Shape,
    times: Vec<Duration>,
    processor: Vec<Duration>,
    pages: u64,
    compressed_pages: u64,
}

impl Case {
    fn all(shape: Shape) -> [Self; 3] {
        SETTINGS.map(|setting| Self {
            setting,
            shape,
            times: Vec::new(),
            processor: Vec::new(),
            pages: 0,
            compressed_pages: 0,
        })
    }

    fn create(&self, engine: &Engine) {
        let mut transaction = engine.begin();
        match self.shape {
            Shape::Heap { .. } => {
                transaction
                    .create_table_on(
                        "target",
                        columns(),
                        None,
                        self.setting,
                        &bulkwire_store::Placement::default(),
                        "",
                    )
                    .unwrap();
            }
            Shape::Clustered | Shape::Merged => {
                let key = IndexDefinition {
                    compression: Some(self.setting),
                    ..IndexDefinition::unique("target_key", &[0])
                };
                transaction.create_tree("target", columns(), &key, "").unwrap();
            }
        }
        transaction.commit().unwrap();
    }

    fn run(&mut self, engine: &Engine, expected: Checksum) {
        self.create(engine);
        let (start, before) = (Instant::now(), process_time());
        let snapshot = engine.snapshot();
        let mut transaction = engine.begin();
        let options = BulkOptions { sorted: true, ..BulkOptions::default() };
        let writers = if let Shape::Heap { writers } = self.shape { writers } else { 1 };
        let parts = snapshot.read_table("source").unwrap().scan(None).unwrap().partitions(writers);
        let writers: Vec<_> = parts
            .into_iter()
            .map(|part| (part, transaction.open_table("target").unwrap().bulk_writer_with(options).unwrap()))
            .collect();
        let fill = |(part, mut writer): (Scan, BulkWriter)| {
            part.for_each(|batch| writer.append(&batch.unwrap()).unwrap());
            writer
        };
        let filled: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                writers.into_iter().map(|writer| scope.spawn(move || fill(writer))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for writer in filled {
            transaction.open_table("target").unwrap().finish_bulk(writer).unwrap();
        }
        transaction.commit().unwrap();
        self.times.push(start.elapsed());
        self.processor.push(process_time() - before);
        drop(snapshot);
        self.finish(engine, expected);
    }

    /// Loads rows between others.
    fn merge(&mut self, engine: &Engine, halves: &Halves) {
        self.create(engine);
        let load = |batches: &[RecordBatch]| {
            let mut transaction = engine.begin();
            transaction.open_table("target").unwrap().bulk_load(batches).unwrap();
            transaction.commit().unwrap();
        };
        load(&halves.even);
        engine.checkpoint().unwrap();
        let (start, before) = (Instant::now(), process_time());
        load(&halves.odd);
        self.times.push(start.elapsed());
        self.processor.push(process_time() - before);
        self.finish(engine, halves.expected);
    }

    /// Checks what was loaded, notes its pages and drops it.
    fn finish(&mut self, engine: &Engine, expected: Checksum) {
        assert_eq!(checksum(engine, "target"), expected, "{}", self.setting);
        let snapshot = engine.snapshot();
        let statistics = snapshot.physical_statistics("target", ScanDetail::Detailed).unwrap();
        // Leaves come first, and there is nothing above those of a heap.
        self.pages = statistics[0].pages;
        self.compressed_pages = statistics[0].contents.unwrap().compressed_pages;
        drop(snapshot);
        drop_table(engine, "target");
    }

    fn report(&self, none: &Self) {
        let time = Ratio::of(&self.times, &none.times);
        println!(
            "{:<5}{:>7.3} s, {time} of NONE, processor{:>7.3} s, {:.2} of NONE, {:>6} pages, {:>6} compressed, {:.1} % of NONE",
            self.setting.to_string(),
            median(&self.times),
            median(&self.processor),
            Ratio::of(&self.processor, &none.processor).median,
            self.pages,
            self.compressed_pages,
            100.0 * self.pages as f64 / none.pages as f64,
        );
    }
}

struct Ratio {
    median: f64,
    least: f64,
    most: f64,
}

impl Ratio {
    fn of(times: &[Duration], none: &[Duration]) -> Self {
        let mut ratios: Vec<f64> =
            times.iter().zip(none).map(|(time, none)| time.div_duration_f64(*none)).collect();
        ratios.sort_by(f64::total_cmp);
        Self { median: ratios[ratios.len() / 2], least: ratios[0], most: ratios[ratios.len() - 1] }
    }
}

impl std::fmt::Display for Ratio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.2} ({:.2}..{:.2})", self.median, self.least, self.most)
    }
}

fn plain_write(path: &Path, bytes: u64) -> Duration {
    let block = vec![0x5A_u8; 1 << 20];
    let start = Instant::now();
    let mut file = File::create(path).unwrap();
    for _ in 0..bytes.div_ceil(block.len() as u64) {
        file.write_all(&block).unwrap();
    }
    file.sync_data().unwrap();
    let elapsed = start.elapsed();
    std::fs::remove_file(path).unwrap();
    elapsed
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

fn checksum(engine: &Engine, table: &str) -> Checksum {
    Checksum::of(engine.snapshot().read_table(table).unwrap().scan(None).unwrap().map(Result::unwrap))
}
