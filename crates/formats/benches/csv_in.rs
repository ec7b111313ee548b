//! A CSV file of mixed types on its way in: read, checked and encoded as rows of the wire, beside arrow-csv, which reads the same
//! file to typed arrays. And the rate of reading a CSV and a Parquet file by one thread and by two. Ratios are of one run;
//! every figure is of a run whose row count was checked.
//!
//! `cargo bench -p bulkwire-formats --bench csv_in [-- FILE]`; FILE keeps the CSV for other readers. With `-- FILE read THREADS`
//! or `-- FILE wire THREADS` an existing FILE is read once, or also encoded, and the seconds are printed by the clock and on
//! processors: `clients/bench_csv_readers.py` does so in turn with readers in Python.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::csv::ReaderBuilder;
use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use formats::{Compression, CsvOptions, Format, Location, ParquetOptions, create, open};
use rows::{CastOptions, Mapping, Plan};
use tds::{Collation, Column, Length, SqlType};

const ROWS: usize = 2_000_000;
const BATCH_ROWS: usize = 65_536;
/// Rows encoded at a time, as a load does.
const CHUNK_ROWS: usize = 4096;
const RUNS: usize = 5;

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let (kept, once, threads) = (arguments.next(), arguments.next(), arguments.next());
    if let (Some(file), Some(what)) = (&kept, once) {
        let threads = threads.map_or(1, |text| text.parse().unwrap());
        let file = Path::new(file);
        let taken = measured(|| match what.as_str() {
            "read" => read(file, &Format::Csv(CsvOptions::default()), threads),
            "wire" => to_wire(file, threads),
            other => panic!("{other} is neither read nor wire"),
        });
        println!("{:.3} {:.2}", taken.elapsed.as_secs_f64(), taken.cpu.as_secs_f64());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let csv = kept.map_or_else(|| folder.path().join("t.csv"), PathBuf::from);
    std::fs::write(&csv, text()).unwrap();
    let bytes = std::fs::metadata(&csv).unwrap().len();
    let parquet = folder.path().join("t.parquet");
    let format = Format::Csv(CsvOptions::default());
    write_parquet(&csv, &parquet);

    let (mut ours, mut arrow, mut reading) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        ours.push(measured(|| to_wire(&csv, 1)));
        arrow.push(measured(|| by_arrow(&csv)));
        reading.push(measured(|| read(&csv, &format, 1)));
    }
    let ours = report("CSV to the wire", bytes, ours);
    report("  of it reading", bytes, reading);
    let arrow = report("arrow-csv to typed arrays", bytes, arrow);
    println!("to the wire takes {:.2} of arrow-csv's CPU time", ours / arrow);

    let parquet_format = Format::Parquet(ParquetOptions::default());
    for (name, path, format) in [("CSV", &csv, &format), ("Parquet", &parquet, &parquet_format)] {
        let (mut one, mut two) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            one.push(measured(|| read(path, format, 1)));
            two.push(measured(|| read(path, format, 2)));
        }
        report(&format!("{name} by one thread"), bytes, one);
        report(&format!("{name} by two threads"), bytes, two);
    }
}

/// Time of a run: by the clock, and on processors.
struct Taken {
    elapsed: Duration,
    cpu: Duration,
}

fn measured(run: impl FnOnce() -> usize) -> Taken {
    let (started, before) = (Instant::now(), process_cpu());
    assert_eq!(run(), ROWS);
    Taken { elapsed: started.elapsed(), cpu: process_cpu().saturating_sub(before) }
}

/// CPU time of the process, in steps of 10 ms (Linux).
fn process_cpu() -> Duration {
    let mut total = Duration::ZERO;
    let Ok(tasks) = std::fs::read_to_string("/proc/self/stat") else { return total };
    let fields: Vec<&str> = tasks.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    for ticks in fields.iter().skip(11).take(2) {
        total += Duration::from_millis(10 * ticks.parse::<u64>().unwrap_or(0));
    }
    total
}

/// Prints the medians; the CPU time in seconds.
fn report(name: &str, bytes: u64, mut runs: Vec<Taken>) -> f64 {
    runs.sort_by_key(|taken| taken.cpu);
    let cpu = runs[RUNS / 2].cpu.as_secs_f64();
    runs.sort_by_key(|taken| taken.elapsed);
    let elapsed = runs[RUNS / 2].elapsed.as_secs_f64();
    let rate = bytes as f64 / 1e6 / elapsed;
    println!("{name:28} {elapsed:6.3} s, CPU {cpu:5.2} s, {rate:6.0} MB/s of CSV");
    cpu
}

fn text() -> String {
    let mut text = "id,quantity,price,day,changed,name,city,comment\n".to_owned();
    for row in 0..ROWS as u64 {
        let hash = row.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        writeln!(
            text,
            "{row},{},{}.{:02},20{:02}-{:02}-{:02},2024-{:02}-{:02} {:02}:{:02}:{:02}.{:06},name {:x},\"{}, {}\",{}",
            hash % 100_000,
            hash % 1_000_000,
            row % 100,
            row % 26,
            row % 12 + 1,
            row % 28 + 1,
            row % 12 + 1,
            row % 28 + 1,
            row % 24,
            row % 60,
            hash % 60,
            hash % 1_000_000,
            hash >> 40,
            ["Oslo", "Wien", "Lima"][row as usize % 3],
            row % 90,
            ["", "quickly", "carefully final deposits"][(hash >> 20) as usize % 3],
        )
        .unwrap();
    }
    text
}

fn location(path: &Path) -> Location {
    Location::Path(path.to_owned())
}

fn read(path: &Path, format: &Format, threads: usize) -> usize {
    let mut reader = open(&location(path), format, Compression::None, BATCH_ROWS).unwrap();
    reader.use_threads(threads);
    reader.map(|batch| batch.unwrap().num_rows()).sum()
}

fn to_wire(path: &Path, threads: usize) -> usize {
    let format = Format::Csv(CsvOptions::default());
    let mut reader = open(&location(path), &format, Compression::None, BATCH_ROWS).unwrap();
    reader.use_threads(threads);
    let plan = Plan::new(&reader.schema(), &columns(), &Mapping::ByName, CastOptions::default()).unwrap();
    let mut out = Vec::new();
    let mut rows = 0;
    for batch in reader {
        let batch = batch.unwrap();
        for first in (0..batch.num_rows()).step_by(CHUNK_ROWS) {
            let slice = batch.slice(first, CHUNK_ROWS.min(batch.num_rows() - first));
            let bound = plan.bind(&slice, 0).unwrap();
            out.clear();
            bound.encode(0..slice.num_rows(), &mut out);
            std::hint::black_box(&out);
        }
        rows += batch.num_rows();
    }
    rows
}

fn columns() -> Vec<Column> {
    let latin1 = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
    let column = |name: &str, sql_type: SqlType| {
        let collation = sql_type.is_character().then_some(latin1);
        Column::new(name, sql_type, true, collation)
    };
    vec![
        column("id", SqlType::Int),
        column("quantity", SqlType::BigInt),
        column("price", SqlType::Decimal { precision: 15, scale: 2 }),
        column("day", SqlType::Date),
        column("changed", SqlType::DateTime2 { scale: 6 }),
        column("name", SqlType::NVarChar { length: Length::Units(100) }),
        column("city", SqlType::NVarChar { length: Length::Units(100) }),
        column("comment", SqlType::VarChar { length: Length::Units(100) }),
    ]
}

fn by_arrow(path: &Path) -> usize {
    typed(path).map(|batch| batch.unwrap().num_rows()).sum()
}

fn typed(path: &Path) -> arrow::csv::Reader<File> {
    let schema = Schema::new(vec![
        Field::new("id", DataType::Int32, true),
        Field::new("quantity", DataType::Int64, true),
        Field::new("price", DataType::Decimal128(15, 2), true),
        Field::new("day", DataType::Date32, true),
        Field::new("changed", DataType::Timestamp(TimeUnit::Microsecond, None), true),
        Field::new("name", DataType::Utf8, true),
        Field::new("city", DataType::Utf8, true),
        Field::new("comment", DataType::Utf8, true),
    ]);
    let reader = ReaderBuilder::new(Arc::new(schema)).with_header(true).with_batch_size(16_384);
    reader.build(File::open(path).unwrap()).unwrap()
}

fn write_parquet(csv: &Path, parquet: &Path) {
    let reader = typed(csv);
    let format = Format::Parquet(ParquetOptions::default());
    let mut writer = create(&location(parquet), reader.schema(), &format, Compression::None).unwrap();
    reader.for_each(|batch| writer.write(&batch.unwrap()).unwrap());
    writer.finish().unwrap();
}
