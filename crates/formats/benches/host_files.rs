//! Host files of bcp beside what parses and stores the same rows otherwise, on one core: character files beside arrow-csv,
//! native files beside Parquet, fixed width beside delimited. Ratios are of one run; every figure is of a run whose row
//! count was checked. At last both kinds of files are read by one thread and by two in turn, by the clock.
//!
//! `cargo bench -p bulkwire-formats --bench host_files [-- threads]`
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::fmt::Write as _;
use std::io::Cursor;
use std::sync::Arc;
use std::time::Instant;

use arrow::csv::ReaderBuilder;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::record_batch::RecordBatch;
use formats::bcp::{
    DataMode, FormatFile, HostField, HostReadOptions, HostReader, HostType, HostWriteOptions, HostWriter,
    LayoutOptions, declare,
};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tds::Column;

const ROWS: usize = 1_000_000;
const RUNS: usize = 3;
const ROUNDS: usize = 7;

fn main() {
    let columns = columns();
    let text = lines();
    let character = layout(&columns, DataMode::Character);
    let native = layout(&columns, DataMode::Native);
    if std::env::args().any(|argument| argument == "threads") {
        let batches = batches(&text, &character, &columns);
        let native_bytes = write(&batches, &native, &columns);
        compare_threads("in -c", &text, &character, &columns);
        compare_threads("in -n", &native_bytes, &native, &columns);
        return;
    }

    let arrow_csv = measure("parse, arrow-csv", text.len(), || {
        let schema = Arc::new(Schema::new(vec![
            Field::new("id", DataType::Int32, true),
            Field::new("quantity", DataType::Int64, true),
            Field::new("price", DataType::Decimal128(15, 2), true),
            Field::new("day", DataType::Date32, true),
            Field::new("name", DataType::Utf8, true),
            Field::new("comment", DataType::Utf8, true),
        ]));
        let reader = ReaderBuilder::new(schema).with_delimiter(b'\t').with_batch_size(16_384);
        reader.build(Cursor::new(&text)).unwrap().map(|batch| batch.unwrap().num_rows()).sum()
    });
    let in_c = measure("in -c", text.len(), || read(&text, &character, &columns));
    println!("  in -c takes {:.2} of arrow-csv's time", in_c / arrow_csv);

    let batches = batches(&text, &character, &columns);
    let mut out_n = Vec::new();
    let native_out = measure("out -n", text.len(), || {
        out_n = write(&batches, &native, &columns);
        ROWS
    });
    let mut file = Vec::new();
    let parquet_out = measure("write, Parquet", text.len(), || {
        let mut writer = ArrowWriter::try_new(Vec::new(), batches[0].schema(), None).unwrap();
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        file = writer.into_inner().unwrap();
        ROWS
    });
    println!("  out -n takes {:.2} of Parquet's time", native_out / parquet_out);
    let native_in = measure("in -n", text.len(), || read(&out_n, &native, &columns));
    let stored = bytes::Bytes::from(file);
    let parquet_in = measure("read, Parquet", text.len(), || {
        let builder = ParquetRecordBatchReaderBuilder::try_new(stored.clone()).unwrap();
        builder.with_batch_size(16_384).build().unwrap().map(|batch| batch.unwrap().num_rows()).sum()
    });
    println!("  in -n takes {:.2} of Parquet's time", native_in / parquet_in);

    let fixed = fixed_width(&character);
    let wide = write(&batches, &fixed, &columns);
    let padded = measure("in, fixed width", wide.len(), || {
        let options = HostReadOptions { blank_is_null: true, ..HostReadOptions::default() };
        read_with(&wide, &fixed, &columns, &options)
    });
    println!(
        "  fixed width has {:.2} of the bytes and takes {:.2} of the time of -c",
        wide.len() as f64 / text.len() as f64,
        padded / in_c
    );
    compare_threads("in -c", &text, &character, &columns);
    compare_threads("in -n", &out_n, &native, &columns);
}

/// Seconds by the clock, and of the processor.
type Took = (f64, f64);

/// Reads a file by one thread and by two in turn: rows a second by the clock, the ratio within each round, and the processor's time.
fn compare_threads(name: &str, bytes: &[u8], file: &FormatFile, columns: &[Column]) {
    let options = HostReadOptions { batch_rows: 16_384, ..HostReadOptions::default() };
    let read = |threads: usize| {
        let source = Cursor::new(bytes.to_vec());
        let mut reader = HostReader::new(source, "bench", file, columns, &options).unwrap();
        reader.read_ahead(threads);
        let (start, before) = (Instant::now(), cpu_seconds());
        let (mut rows, mut helpers) = (0, 0.0);
        while let Some(batch) = reader.next() {
            rows += batch.unwrap().batch.num_rows();
            helpers += reader.take_helpers_cpu().as_secs_f64();
        }
        assert_eq!(rows, ROWS, "{name}");
        let own = before.zip(cpu_seconds()).map_or(0.0, |(before, after)| after - before);
        (start.elapsed().as_secs_f64(), own + helpers)
    };
    let rounds: Vec<_> = (0..ROUNDS).map(|_| (read(1), read(2))).collect();
    let sorted = |of: &dyn Fn(&(Took, Took)) -> f64| {
        let mut values: Vec<f64> = rounds.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        (values[ROUNDS / 2], values[0], values[ROUNDS - 1])
    };
    let (one, _, _) = sorted(&|round| round.0.0);
    let (two, _, _) = sorted(&|round| round.1.0);
    let (ratio, least, most) = sorted(&|round| round.0.0 / round.1.0);
    let (cpu, _, _) = sorted(&|round| round.1.1 / round.0.1);
    let rate = |seconds: f64| ROWS as f64 / 1e6 / seconds;
    println!(
        "{name}: one thread {:.2} M rows/s, two {:.2} M rows/s, {ratio:.2} times ({least:.2} to {most:.2}), {cpu:.2} of the processor's time",
        rate(one),
        rate(two)
    );
}

fn columns() -> Vec<Column> {
    declare(
        "id int not null, quantity bigint null, price decimal(15,2) null, day date null, name varchar(25) null, \
         comment varchar(80) null",
    )
    .unwrap()
}

fn lines() -> Vec<u8> {
    let mut text = String::new();
    for row in 0..ROWS {
        writeln!(
            text,
            "{row}\t{}\t{}.{:02}\t1996-03-{:02}\tname {}\tregular courts above the {row}",
            row * 7 % 200_000,
            row * 31 % 90_000,
            row % 100,
            row % 28 + 1,
            row % 1000
        )
        .unwrap();
    }
    text.into_bytes()
}

fn layout(columns: &[Column], mode: DataMode) -> FormatFile {
    FormatFile::for_columns(columns, mode, &LayoutOptions { collations: false, ..LayoutOptions::default() })
}

/// Returns the format file with fields of the widths of their columns.
fn fixed_width(character: &FormatFile) -> FormatFile {
    let mut file = character.clone();
    for field in &mut file.fields {
        field.terminator.clear();
    }
    let mut end = HostField::delimited(HostType::Char, b"\n", 1, "end");
    end.column = None;
    file.fields.push(end);
    file
}

fn batches(text: &[u8], file: &FormatFile, columns: &[Column]) -> Vec<RecordBatch> {
    let options = HostReadOptions { batch_rows: 16_384, ..HostReadOptions::default() };
    let reader = HostReader::new(Cursor::new(text.to_vec()), "bench", file, columns, &options).unwrap();
    reader.map(|batch| batch.unwrap().batch).collect()
}

fn read(bytes: &[u8], file: &FormatFile, columns: &[Column]) -> usize {
    read_with(bytes, file, columns, &HostReadOptions::default())
}

fn read_with(bytes: &[u8], file: &FormatFile, columns: &[Column], options: &HostReadOptions) -> usize {
    let options = HostReadOptions { batch_rows: 16_384, ..options.clone() };
    let reader = HostReader::new(Cursor::new(bytes.to_vec()), "bench", file, columns, &options).unwrap();
    reader
        .map(|batch| batch.unwrap())
        .inspect(|batch| assert!(batch.rejected.is_empty()))
        .map(|batch| batch.batch.num_rows())
        .sum()
}

fn write(batches: &[RecordBatch], file: &FormatFile, columns: &[Column]) -> Vec<u8> {
    let options = HostWriteOptions::default();
    let schema = batches[0].schema();
    let mut writer = HostWriter::new(Vec::new(), "bench", file, columns, &schema, &options).unwrap();
    batches.iter().for_each(|batch| writer.write_batch(batch).unwrap());
    writer.into_output().unwrap()
}

/// Prints a figure; returns the best run's seconds.
fn measure(name: &str, bytes: usize, mut run: impl FnMut() -> usize) -> f64 {
    let mut seconds: Vec<f64> = (0..RUNS)
        .map(|_| {
            let (start, cpu_start) = (Instant::now(), cpu_seconds());
            assert_eq!(run(), ROWS, "{name}");
            match (cpu_start, cpu_seconds()) {
                (Some(before), Some(after)) => after - before,
                _ => start.elapsed().as_secs_f64(),
            }
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    let (best, worst) = (seconds[0], seconds[RUNS - 1]);
    println!(
        "{name:20} {:7.0} MB/s (slowest {:.0}), {:5.1} M rows/s",
        bytes as f64 / 1e6 / best,
        bytes as f64 / 1e6 / worst,
        ROWS as f64 / 1e6 / best
    );
    best
}

/// Time this thread has spent on a processor, where the system tells (Linux): others' work does not count.
fn cpu_seconds() -> Option<f64> {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(statistics.split_whitespace().next()?.parse::<f64>().ok()? / 1e9)
}
