//! Scans and bulk loads of the paged engine against the disk's own rates, in one run, as ratios; and the memory that a load takes.
//!
//! `cargo bench -p bulkwire-store --bench engine [-- scan load memory] [-- MEGABYTES]`; `one-full-load` alone is for a profiler. The directory is that of `TMPDIR`. In each of
//! five rounds all cases take turns. What was loaded is read back, and counted and checked by content, outside of the times. The time of
//! the processor is that of the threads (scans) or of the process (loads), as Linux accounts for it: it says what the work costs where
//! the machine has other work.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../shared/checksum.rs"]
mod checksum;
#[path = "../shared/process_time.rs"]
mod process_time;
#[path = "../shared/tables.rs"]
mod tables;

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use bulkwire_store::{Engine, EngineOptions, RecoveryModel};

use checksum::Checksum;
use process_time::process_time;
use tables::Table;

const ROUNDS: usize = 5;
const PAGE_BYTES: usize = 8192;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    if has("--test") {
        return;
    }
    let megabytes = arguments.iter().find_map(|argument| argument.parse().ok());
    if has("one-full-load") {
        return load_once_fully(megabytes.unwrap_or(512) << 20);
    }
    if has("child-that-loads") {
        return load_and_report_memory(megabytes.unwrap_or(2560) << 20);
    }
    let all = !["scan", "load", "memory"].into_iter().any(has);
    if all || has("scan") {
        for table in tables::all() {
            scan(&table, megabytes.unwrap_or(1080) << 20);
        }
    }
    if all || has("load") {
        for table in [tables::wide(), tables::narrow()] {
            load(&table, megabytes.unwrap_or(512) << 20);
        }
    }
    if all || has("memory") {
        memory();
    }
}

/// Times of one case, round by round.
#[derive(Default)]
struct Times {
    clock: Vec<f64>,
    processor: Vec<f64>,
}

impl Times {
    fn measure<T>(&mut self, processor: fn() -> Duration, work: impl FnOnce() -> T) -> T {
        let (start, before) = (Instant::now(), processor());
        let result = work();
        self.clock.push(start.elapsed().as_secs_f64());
        self.processor.push((processor() - before).as_secs_f64());
        result
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Fills a new table. Each writer has a transaction of its own.
fn fill(engine: &Engine, table: &Table, batches: usize, writers: usize) {
    std::thread::scope(|scope| {
        for _ in 0..writers {
            scope.spawn(|| {
                let mut transaction = engine.begin();
                let mut writer = transaction.open_table("t").unwrap().bulk_writer().unwrap();
                for _ in 0..batches / writers {
                    writer.append(&table.batch).unwrap();
                }
                transaction.open_table("t").unwrap().finish_bulk(writer).unwrap();
                transaction.commit().unwrap();
            });
        }
    });
}

fn create(engine: &Engine, table: &Table) {
    let mut transaction = engine.begin();
    transaction.create_table("t", table.columns.clone(), "").unwrap();
    transaction.commit().unwrap();
}

/// Returns the number of batches, always even, that fill about `bytes` of pages.
fn batches_for(table: &Table, bytes: usize) -> usize {
    let engine = Engine::in_memory(EngineOptions::default()).unwrap();
    create(&engine, table);
    fill(&engine, table, 4, 1);
    let pages = engine.snapshot().table("t").unwrap().data_pages() as usize;
    (bytes * 4 / (pages * PAGE_BYTES)).next_multiple_of(2)
}

fn checked(engine: &Engine, table: &Table, batches: usize) {
    let rows = engine.snapshot().read_table("t").unwrap().scan(None).unwrap().map(Result::unwrap);
    assert_eq!(Checksum::of(rows), table.checksum.times(batches as u64), "{}", table.name);
    assert_eq!(engine.snapshot().table("t").unwrap().rows, table.checksum.rows * batches as u64);
}

fn scan(table: &Table, bytes: usize) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("database");
    let batches = batches_for(table, bytes);
    let cached = EngineOptions { cache_bytes: 3 * bytes, ..EngineOptions::default() };
    let engine = Engine::open(&path, cached).unwrap();
    create(&engine, table);
    fill(&engine, table, batches, 1);
    checked(&engine, table, batches);
    let pages = engine.snapshot().table("t").unwrap().data_pages();
    let bytes = pages as f64 * PAGE_BYTES as f64;
    let rows = table.checksum.rows * batches as u64;
    let read = |engine: &Engine, threads: usize| {
        let parts = engine.snapshot().read_table("t").unwrap().scan(None).unwrap().partitions(threads);
        let count =
            |part: bulkwire_store::Scan| -> u64 { part.map(|batch| batch.unwrap().num_rows() as u64).sum() };
        let found: u64 = match threads {
            1 => parts.into_iter().map(count).sum(),
            _ => std::thread::scope(|scope| {
                let threads: Vec<_> = parts.into_iter().map(|part| scope.spawn(|| count(part))).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).sum()
            }),
        };
        assert_eq!(found, rows);
    };
    let (mut one, mut two, mut past) = (Times::default(), Times::default(), Times::default());
    let misses = engine.cache_counts().misses;
    for _ in 0..ROUNDS {
        one.measure(thread_time, || read(&engine, 1));
        two.measure(process_time, || read(&engine, 2));
    }
    assert_eq!(engine.cache_counts().misses, misses, "everything was in the cache");
    drop(engine);
    // A cache that is too small to keep the table.
    let small = EngineOptions { cache_bytes: bytes as usize / 4, ..EngineOptions::default() };
    let engine = Engine::open(&path, small).unwrap();
    for _ in 0..ROUNDS {
        past.measure(thread_time, || read(&engine, 1));
    }
    println!("\n{}: {rows} rows, {:.0} MB of pages", table.name, bytes / 1e6);
    let cases = [
        ("scan, cached, 1 thread", &one, 1.0),
        ("scan, cached, 2 threads", &two, 2.0),
        ("scan, past the cache, 1 thread", &past, 1.0),
    ];
    for (case, times, _) in cases {
        let rate = |times: &[f64]| bytes / median(times.iter().copied()) / 1e9;
        let spread = |best: fn(f64, f64) -> f64| times.clock.iter().copied().reduce(best).unwrap();
        println!(
            "{case:<32}{:>6.2} GB/s ({:.2}..{:.2}), {:>6.2} GB per second of processor, {:>5.1} ns a row",
            rate(&times.clock),
            bytes / spread(f64::max) / 1e9,
            bytes / spread(f64::min) / 1e9,
            rate(&times.processor),
            median(times.processor.iter().copied()) * 1e9 / rows as f64,
        );
    }
}

fn load(table: &Table, target_bytes: usize) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("database");
    let batches = batches_for(table, target_bytes);
    let cases = [(RecoveryModel::Simple, 1), (RecoveryModel::Simple, 2), (RecoveryModel::Full, 1)];
    let mut times: Vec<Times> = cases.iter().map(|_| Times::default()).collect();
    let (mut plain, mut bytes) = ([Times::default(), Times::default()], 0);
    // Every case begins after a plain write that was removed: with the memory and the journal as that leaves them.
    let plain_path = directory.path().join("plain");
    let settle = |bytes: usize| {
        plain_write(&plain_path, bytes, true);
        std::fs::remove_file(&plain_path).unwrap();
        File::open(directory.path()).and_then(|directory| directory.sync_all()).unwrap();
    };
    for _ in 0..ROUNDS {
        for ((model, writers), times) in cases.into_iter().zip(&mut times) {
            let options = EngineOptions { recovery_model: model, ..EngineOptions::default() };
            let engine = Engine::open(&path, options).unwrap();
            create(&engine, table);
            settle(target_bytes);
            // Its pages are synced when the commit returns.
            times.measure(process_time, || fill(&engine, table, batches, writers));
            checked(&engine, table, batches);
            bytes = engine.snapshot().table("t").unwrap().data_pages() as usize * PAGE_BYTES;
            drop(engine);
            std::fs::remove_dir_all(&path).unwrap();
        }
        for (times, has_length) in plain.iter_mut().zip([false, true]) {
            settle(target_bytes);
            times.measure(process_time, || plain_write(&plain_path, bytes, has_length));
            std::fs::remove_file(&plain_path).unwrap();
        }
    }
    println!(
        "\n{}: {} rows, {:.0} MB of pages",
        table.name,
        table.checksum.rows * batches as u64,
        bytes as f64 / 1e6
    );
    let [growing, sized] = &plain;
    let faster = Times {
        clock: growing.clock.iter().zip(&sized.clock).map(|(one, other)| one.min(*other)).collect(),
        processor: Vec::new(),
    };
    report("plain write, growing file, synced", growing, &faster, bytes);
    report("plain write, file of full length", sized, &faster, bytes);
    for ((model, writers), times) in cases.iter().zip(&times) {
        report(&format!("load, {model:?}, {writers} writer(s)"), times, &faster, bytes);
    }
}

/// A rate, and how it compares with the faster plain write of the same round.
fn report(name: &str, times: &Times, plain: &Times, bytes: usize) {
    let ratios = || plain.clock.iter().zip(&times.clock).map(|(plain, time)| plain / time);
    println!(
        "{name:<34}{:>6.2} GB/s,{:>6.2} x plain write ({:.2}..{:.2}), {:>5.2} GB per second of processor",
        bytes as f64 / median(times.clock.iter().copied()) / 1e9,
        median(ratios()),
        ratios().reduce(f64::min).unwrap(),
        ratios().reduce(f64::max).unwrap(),
        bytes as f64 / median(times.processor.iter().copied()) / 1e9,
    );
}

fn plain_write(path: &Path, bytes: usize, has_length: bool) {
    let block = vec![0x5A_u8; 1 << 20];
    let mut file = File::create(path).unwrap();
    if has_length {
        file.set_len(bytes as u64).unwrap();
    }
    for _ in 0..bytes.div_ceil(block.len()) {
        file.write_all(&block).unwrap();
    }
    file.sync_data().unwrap();
}

/// A process of its own, since the peak of this one is that of all cases.
fn memory() {
    let program = std::env::current_exe().unwrap();
    let run = |megabytes: &str| {
        let output =
            std::process::Command::new(&program).args(["child-that-loads", megabytes]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    println!("\ncache of 256 MiB, peak of resident memory:");
    for megabytes in ["256", "2560"] {
        println!("{}", run(megabytes));
    }
}

fn load_and_report_memory(bytes: usize) {
    let table = tables::wide();
    let directory = tempfile::tempdir().unwrap();
    let batches = batches_for(&table, bytes);
    let engine = Engine::open(&directory.path().join("database"), EngineOptions::default()).unwrap();
    create(&engine, &table);
    let before = peak_bytes();
    fill(&engine, &table, batches, 2);
    let after = peak_bytes();
    checked(&engine, &table, batches);
    println!(
        "{:>6} MiB of pages loaded by 2 writers: {} MiB (before: {}; after reading them once: {})",
        (engine.snapshot().table("t").unwrap().data_pages() as usize * PAGE_BYTES) >> 20,
        after >> 20,
        before >> 20,
        peak_bytes() >> 20
    );
}

/// One fully logged load of each table and nothing else, for a profiler: instructions a byte do not depend on other work of the machine.
fn load_once_fully(bytes: usize) {
    for table in [tables::wide(), tables::narrow()] {
        let directory = tempfile::tempdir().unwrap();
        let batches = batches_for(&table, bytes);
        let options = EngineOptions { recovery_model: RecoveryModel::Full, ..EngineOptions::default() };
        let engine = Engine::open(&directory.path().join("database"), options).unwrap();
        create(&engine, &table);
        let mut times = Times::default();
        times.measure(process_time, || fill(&engine, &table, batches, 1));
        let pages = engine.snapshot().table("t").unwrap().data_pages();
        let bytes = pages as f64 * PAGE_BYTES as f64;
        println!(
            "{}: {:.0} MB of pages, {:.0} MB of log, {:.2} s, {:.2} s of processor",
            table.name,
            bytes / 1e6,
            engine.usage().log_written_bytes as f64 / 1e6,
            median(times.clock.iter().copied()),
            median(times.processor.iter().copied()),
        );
    }
}

fn peak_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kilobytes.and_then(|kilobytes| kilobytes.parse::<usize>().ok()).unwrap_or(0) << 10
}

/// Time that this thread has had a processor.
fn thread_time() -> Duration {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = statistics.split_whitespace().next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}
