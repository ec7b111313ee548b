//! A table into another one, as SELECT INTO does it: scan partitions that write through private extents of one transaction, at one and
//! two tasks, with 1, 2, 8 and 32 data files, under BULK_LOGGED.
//!
//! `cargo bench -p bulkwire-store --bench select_into`. The directory is that of `TMPDIR`; all configurations take turns, each round
//! beginning with another; counts and a checksum are verified after every run. CPU time is the operating system's account (Linux).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "shared/checksum.rs"]
mod checksum;
#[path = "shared/process_time.rs"]
mod process_time;
#[path = "shared/tables.rs"]
mod tables;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use bulkwire_store::{Engine, EngineOptions, RecoveryModel};

use checksum::Checksum;
use process_time::process_time;

const ROUNDS: usize = 5;
const ROWS: usize = 2_000_000;
const FILES: [u16; 4] = [1, 2, 8, 32];
const TASKS: [usize; 2] = [1, 2];

/// Cost of one run.
struct Run {
    elapsed: Duration,
    cpu: Duration,
    /// Number and time of waits by type.
    waits: BTreeMap<&'static str, (u64, Duration)>,
    /// Records and bytes of log by operation and context.
    log: BTreeMap<(&'static str, &'static str), (u64, u64)>,
    pages: u64,
}

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let configurations: Vec<(u16, usize)> =
        FILES.iter().flat_map(|files| TASKS.map(|tasks| (*files, tasks))).collect();
    let mut runs: BTreeMap<(u16, usize), Vec<Run>> = BTreeMap::new();
    for round in 0..ROUNDS {
        for turn in 0..configurations.len() {
            let (files, tasks) = configurations[(round + turn) % configurations.len()];
            let directory = tempfile::tempdir().unwrap();
            runs.entry((files, tasks)).or_default().push(run(directory.path(), files, tasks));
        }
    }
    report(&runs);
}

fn run(directory: &Path, files: u16, tasks: usize) -> Run {
    let options =
        EngineOptions { files, recovery_model: RecoveryModel::BulkLogged, ..EngineOptions::default() };
    let engine = Engine::open(&directory.join("database"), options).unwrap();
    let table = tables::narrow();
    let mut transaction = engine.begin();
    transaction.create_table("source", table.columns.clone(), "").unwrap();
    let mut writer = transaction.open_table("source").unwrap().bulk_writer().unwrap();
    for _ in 0..ROWS.div_ceil(table.batch.num_rows()) {
        writer.append(&table.batch).unwrap();
    }
    transaction.open_table("source").unwrap().finish_bulk(writer).unwrap();
    transaction.commit().unwrap();
    engine.checkpoint().unwrap();

    let (waits, log, cpu) = (engine.waits(), engine.log_counts(), process_time());
    let start = Instant::now();
    let parts = engine.snapshot().read_table("source").unwrap().scan(None).unwrap().partitions(tasks);
    let mut transaction = engine.begin();
    transaction.create_table("target", table.columns, "").unwrap();
    let writers: Vec<_> =
        parts.iter().map(|_| transaction.open_table("target").unwrap().bulk_writer().unwrap()).collect();
    let filled = std::thread::scope(|scope| {
        let tasks = parts.into_iter().zip(writers).map(|(part, mut writer)| {
            scope.spawn(move || {
                for batch in part {
                    writer.append(&batch.unwrap()).unwrap();
                }
                writer
            })
        });
        let tasks: Vec<_> = tasks.collect();
        tasks.into_iter().map(|task| task.join().unwrap()).collect::<Vec<_>>()
    });
    for writer in filled {
        assert!(writer.minimal_logging().granted());
        transaction.open_table("target").unwrap().finish_bulk(writer).unwrap();
    }
    transaction.commit().unwrap();
    let (elapsed, cpu) = (start.elapsed(), process_time().saturating_sub(cpu));

    let mut waited: BTreeMap<&'static str, (u64, Duration)> = BTreeMap::new();
    for after in engine.waits() {
        let before = waits.iter().find(|known| known.wait == after.wait);
        let (count, total) = before.map_or((0, Duration::ZERO), |known| (known.count, known.total));
        waited.insert(after.wait.name(), (after.count - count, after.total - total));
    }
    let mut logged: BTreeMap<(&'static str, &'static str), (u64, u64)> = BTreeMap::new();
    for count in engine.log_counts() {
        let before =
            log.iter().find(|known| (known.operation, known.context) == (count.operation, count.context));
        let (records, bytes) = before.map_or((0, 0), |known| (known.records, known.bytes));
        if count.records > records {
            let key = (count.operation.name(), count.context.name());
            logged.insert(key, (count.records - records, count.bytes - bytes));
        }
    }
    let snapshot = engine.snapshot();
    assert_eq!(snapshot.table("target").unwrap().rows, snapshot.table("source").unwrap().rows);
    assert_eq!(checksum(&engine, "target"), checksum(&engine, "source"));
    let pages = snapshot.table("target").unwrap().data_pages();
    Run { elapsed, cpu, waits: waited, log: logged, pages }
}

fn checksum(engine: &Engine, table: &str) -> Checksum {
    Checksum::of(engine.snapshot().read_table(table).unwrap().scan(None).unwrap().map(Result::unwrap))
}

fn report(runs: &BTreeMap<(u16, usize), Vec<Run>>) {
    let median = |values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let seconds = |runs: &[Run]| runs.iter().map(|run| run.elapsed.as_secs_f64()).collect::<Vec<_>>();
    let base = seconds(&runs[&(1, 1)]);
    println!("| files | tasks | seconds (min-max) | of 1 file, 1 task (min-max) | CPU s | MB/s of pages |");
    println!("|---|---|---|---|---|---|");
    for ((files, tasks), all) in runs {
        let times = seconds(all);
        // A ratio is of the runs of one round, in which the machine was the same.
        let mut ratios: Vec<f64> = times.iter().zip(&base).map(|(time, base)| time / base).collect();
        let ratio = median(&mut ratios);
        let (low, high) = (ratios[0], ratios[ratios.len() - 1]);
        let mut times = times;
        let middle = median(&mut times);
        let cpu = median(&mut all.iter().map(|run| run.cpu.as_secs_f64()).collect());
        let rate = all[0].pages as f64 * 8192.0 / middle / 1e6;
        println!(
            "| {files} | {tasks} | {middle:.3} ({:.3}-{:.3}) | {ratio:.2} ({low:.2}-{high:.2}) | {cpu:.2} | {rate:.0} |",
            times[0],
            times[times.len() - 1]
        );
    }
    println!("\n| files | tasks | waits: number, milliseconds (of the median run) |\n|---|---|---|");
    for ((files, tasks), all) in runs {
        let waits = middle_run(all).waits.iter().filter(|(_, (count, _))| *count > 0);
        let shown: Vec<String> = waits
            .map(|(name, (count, time))| format!("{name} {count}, {:.1}", time.as_secs_f64() * 1e3))
            .collect();
        println!("| {files} | {tasks} | {} |", shown.join("; "));
    }
    println!("\n| files | tasks | log: operation, context, records, bytes |\n|---|---|---|");
    for ((files, tasks), all) in runs {
        let log = middle_run(all).log.iter();
        let shown: Vec<String> = log
            .map(|((operation, context), (records, bytes))| {
                format!("{operation} {context} {records}, {bytes}")
            })
            .collect();
        println!("| {files} | {tasks} | {} |", shown.join("; "));
    }
}

fn middle_run(runs: &[Run]) -> &Run {
    let mut order: Vec<&Run> = runs.iter().collect();
    order.sort_by_key(|run| run.elapsed);
    order[order.len() / 2]
}
