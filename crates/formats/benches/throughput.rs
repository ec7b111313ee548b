//! MB/s of the delimited-text reader and writer, of inference and of the checksum, on one core. Every figure is of a
//! run whose row count was checked; the best of several runs is printed, with the slowest beside it.
//!
//! `cargo bench -p bulkwire-formats --bench throughput`
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::fmt::Write as _;
use std::io::Cursor;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::*;
use arrow::record_batch::RecordBatch;
use formats::csv::CsvReader;
use formats::{Compression, ContentChecksum, CsvOptions, Format, Location, create, infer};

const ROWS: usize = 1_000_000;
const RUNS: usize = 3;

fn main() {
    let plain = lineitem(false);
    let quoted = lineitem(true);
    let csv = CsvOptions::default();
    let bar = CsvOptions { delimiter: "|".into(), quote: None, ..CsvOptions::default() };
    measure("read, comma, quoting on, no quotes", plain.len(), || read(&plain, &csv));
    measure("read, comma, every text quoted", quoted.len(), || read(&quoted, &csv));
    let with_bars = plain.replace(',', "|");
    measure("read, bar, quoting off", with_bars.len(), || read(&with_bars, &bar));
    let with_two = plain.replace(',', "||");
    let two = CsvOptions { delimiter: "||".into(), ..CsvOptions::default() };
    measure("read, delimiter of two characters", with_two.len(), || read(&with_two, &two));

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.csv");
    std::fs::write(&path, &plain).unwrap();
    measure("infer", plain.len(), || {
        infer(&Location::Path(path.clone()), &csv, Compression::None, None).unwrap().rows as usize
    });
    let batch = typed();
    let target = Location::Path(directory.path().join("out.csv"));
    let mut write = writing(&batch, &target, &csv);
    write();
    let Location::Path(written) = &target else { unreachable!() };
    let bytes = std::fs::metadata(written).unwrap().len() as usize;
    measure("write, typed columns", bytes, write);
    measure("checksum, typed columns", batch.get_array_memory_size(), || {
        let mut checksum = ContentChecksum::new();
        for start in (0..ROWS).step_by(65_536) {
            checksum.update(&batch.slice(start, 65_536.min(ROWS - start))).unwrap();
        }
        checksum.finish().rows as usize
    });
}

fn writing<'a>(
    batch: &'a RecordBatch,
    target: &'a Location,
    csv: &'a CsvOptions,
) -> impl FnMut() -> usize + 'a {
    move || {
        let mut writer =
            create(target, batch.schema(), &Format::Csv(csv.clone()), Compression::None).unwrap();
        for start in (0..ROWS).step_by(65_536) {
            writer.write(&batch.slice(start, 65_536.min(ROWS - start))).unwrap();
        }
        writer.finish().unwrap().rows as usize
    }
}

fn measure(name: &str, bytes: usize, mut run: impl FnMut() -> usize) {
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
    let figure = |seconds: f64| bytes as f64 / 1e6 / seconds;
    let (best, worst) = (seconds[0], seconds[RUNS - 1]);
    println!(
        "{name:36} {:7.0} MB/s (slowest {:.0}), {:5.1} M rows/s",
        figure(best),
        figure(worst),
        ROWS as f64 / 1e6 / best
    );
}

/// Time this thread has spent on a processor, where the system tells (Linux): others' work does not count.
fn cpu_seconds() -> Option<f64> {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(statistics.split_whitespace().next()?.parse::<f64>().ok()? / 1e9)
}

fn read(text: &str, options: &CsvOptions) -> usize {
    let reader = CsvReader::new(Cursor::new(text.as_bytes().to_vec()), "bench", options, 65_536).unwrap();
    reader.map(|batch| batch.unwrap().num_rows()).sum()
}

/// Rows like TPC-H's lineitem: 16 columns, about 120 bytes.
fn lineitem(quoted: bool) -> String {
    let mut text = (1..=16).map(|number| format!("c{number}")).collect::<Vec<_>>().join(",") + "\n";
    let q = if quoted { "\"" } else { "" };
    for row in 0..ROWS {
        writeln!(
            text,
            "{},{},{},{},{},{}.{:02},0.0{},0.0{},{q}N{q},{q}O{q},1996-03-{:02},1996-02-12,1996-03-22,\
             {q}DELIVER IN PERSON{q},{q}TRUCK{q},{q}egular courts above the {row}{q}",
            row / 4,
            row * 7 % 200_000,
            row * 13 % 10_000,
            row % 7 + 1,
            row % 50 + 1,
            row * 31 % 90_000,
            row % 100,
            row % 10,
            row % 8,
            row % 28 + 1,
        )
        .unwrap();
    }
    text
}

fn typed() -> RecordBatch {
    let rows = || 0..ROWS as i64;
    let amounts = Decimal128Array::from_iter_values(rows().map(|row| i128::from(row * 31)));
    RecordBatch::try_from_iter([
        ("id", Arc::new(Int64Array::from_iter_values(rows())) as ArrayRef),
        ("quantity", Arc::new(Int32Array::from_iter_values(rows().map(|row| (row % 50) as i32)))),
        ("amount", Arc::new(amounts.with_precision_and_scale(15, 2).unwrap())),
        ("day", Arc::new(Date32Array::from_iter_values(rows().map(|row| (row % 10_000) as i32)))),
        ("moment", Arc::new(TimestampMicrosecondArray::from_iter_values(rows().map(|row| row * 1_000_003)))),
        (
            "comment",
            Arc::new(StringArray::from_iter_values(
                rows().map(|row| format!("regular courts above the {row}")),
            )),
        ),
    ])
    .unwrap()
}
