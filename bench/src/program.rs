//! Measures the main job. Every run has a client process and a server process of its own. A figure counts only if row
//! counts and checksums are right. Figures are the median and spread of several interleaved runs, beside the rate of
//! a bare loopback connection in the same minutes.

use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process;

use crate::arrow_experiment::ArrowArguments;
use crate::bcp_race::BcpArguments;
use crate::case::{Case, Measurement, Settings};
use crate::comparison::ComparisonArguments;
use crate::compression_experiment::CompressionArguments;
use crate::demo::DemoArguments;
use crate::select_into_experiment::SelectIntoArguments;
use crate::showdown_experiment::ShowdownArguments;
use crate::statistics::Spread;
use crate::throughput_experiment::ThroughputArguments;
use crate::{case, loopback};
use clap::{Parser, Subcommand};
use serde::Serialize;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Measures loads and exports of the 11-column table, or, as a command, repeats a published experiment.
#[derive(Debug, Parser)]
#[command(
    name = "bulkwire bench",
    bin_name = "bulkwire bench",
    version,
    args_conflicts_with_subcommands = true,
    max_term_width = 100
)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Rows a run
    #[arg(long, default_value_t = 1_000_000)]
    rows: u64,
    /// Runs of each case
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Cases to run (default: all)
    #[arg(long, value_enum, value_delimiter = ',')]
    cases: Vec<Case>,
    /// Directory for the on-disk case (default: the system's temporary directory)
    #[arg(long)]
    directory: Option<PathBuf>,
    /// Write all measurements here, as JSON
    #[arg(long)]
    output: Option<PathBuf>,
    /// Run one measurement in this process and print it (what the runs are made of)
    #[arg(long, hide = true)]
    measure: Option<Case>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The main job on real data, proved in both directions: sample tables and a generated lineitem, loaded and read back
    Demo(DemoArguments),
    /// `bcp in -c` beside FreeTDS's freebcp: the same file into the same server, turn by turn
    Freebcp(BcpArguments),
    /// Arrow record batches into one table, by storage, batch size, table lock and method; into any server
    Arrow(Box<ArrowArguments>),
    /// INSERT ... SELECT into an empty table with DATA_COMPRESSION NONE, ROW and PAGE: times and sizes
    Compression(Box<CompressionArguments>),
    /// SELECT INTO file groups of several files with several degrees of parallelism: time, log, waits, input and output
    SelectInto(Box<SelectIntoArguments>),
    /// bcp, BULK INSERT and load beside each other: 608-byte rows in CSV, delimited, fixed-width and native files, both ways
    Showdown(Box<ShowdownArguments>),
    /// Threads that load small batches of random rows: what a service tier takes, and which resource is the limit
    Throughput(Box<ThroughputArguments>),
    /// Results of several runs (JSON files of --output in a folder) side by side on a page
    Report(ComparisonArguments),
    /// Results of many machines and clients on a page, the fastest first
    League(ComparisonArguments),
}

#[derive(Serialize)]
struct Summary {
    case: Case,
    rows: u64,
    rows_per_second: Spread,
    megabytes_per_second: Spread,
    share_of_loopback: Spread,
    client_cpu_ns_per_row: Spread,
    server_cpu_ns_per_row: Spread,
    client_peak_mib: Spread,
    server_peak_mib: Spread,
    runs: Vec<Measurement>,
}

/// Runs a command line of `bulkwire bench`, a name for the program first. Returns whether it succeeded; an error is on standard error.
/// Wrong arguments and `--help` end the process.
pub fn run_program(words: Vec<OsString>) -> bool {
    run(&Arguments::parse_from(words)).inspect_err(|error| eprintln!("error: {error}")).is_ok()
}

fn run(arguments: &Arguments) -> Outcome<()> {
    match &arguments.command {
        Some(Command::Demo(arguments)) => return arguments.run(),
        Some(Command::Freebcp(arguments)) => return arguments.run(),
        Some(Command::Arrow(arguments)) => return arguments.run(),
        Some(Command::Compression(arguments)) => return arguments.run(),
        Some(Command::SelectInto(arguments)) => return arguments.run(),
        Some(Command::Showdown(arguments)) => return arguments.run(),
        Some(Command::Throughput(arguments)) => return arguments.run(),
        Some(Command::Report(arguments)) => return arguments.report(),
        Some(Command::League(arguments)) => return arguments.league(),
        None => {}
    }
    if let Some(case) = arguments.measure {
        let settings = Settings { rows: arguments.rows, directory: arguments.directory.clone() };
        println!("{}", serde_json::to_string(&case::measure(case, &settings)?)?);
        return Ok(());
    }
    let cases = if arguments.cases.is_empty() { Case::ALL.to_vec() } else { arguments.cases.clone() };
    let mut measured: BTreeMap<Case, Vec<Run>> = BTreeMap::new();
    for turn in 0..arguments.runs {
        for &case in &cases {
            // Measured beside every run, because the machine's speed drifts.
            let loopback = loopback::bytes_per_second(512 << 20)?;
            let run = measure_in_a_process(case, arguments)?;
            eprintln!("run {} of {case}: {:.2} M rows/s", turn + 1, run.rows_per_second() / 1e6);
            measured.entry(case).or_default().push((run, loopback));
        }
    }
    let summaries: Vec<Summary> = measured.into_iter().map(|(case, runs)| summary(case, runs)).collect();
    print_summaries(&summaries);
    if let Some(path) = &arguments.output {
        std::fs::write(path, serde_json::to_string_pretty(&summaries)?)?;
    }
    Ok(())
}

/// A run, and the bytes a second of the bare connection measured with it.
type Run = (Measurement, f64);

fn measure_in_a_process(case: Case, arguments: &Arguments) -> Outcome<Measurement> {
    let mut command = process::Command::new(std::env::current_exe()?);
    command.args(["bench", "--measure", &case.to_string(), "--rows", &arguments.rows.to_string()]);
    if let Some(directory) = &arguments.directory {
        command.arg("--directory").arg(directory);
    }
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("{case}: {}", String::from_utf8_lossy(&output.stderr).trim()).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn summary(case: Case, runs: Vec<Run>) -> Summary {
    let spread = |figure: &dyn Fn(&Measurement) -> f64| Spread::of(runs.iter().map(|(run, _)| figure(run)));
    let per_row =
        |seconds: Option<f64>, run: &Measurement| seconds.unwrap_or(f64::NAN) * 1e9 / run.rows as f64;
    let mib = |bytes: Option<u64>| bytes.unwrap_or(0) as f64 / f64::from(1 << 20);
    Summary {
        case,
        rows: runs.first().map_or(0, |(run, _)| run.rows),
        rows_per_second: spread(&Measurement::rows_per_second),
        megabytes_per_second: spread(&|run| run.bytes_per_second() / 1e6),
        share_of_loopback: Spread::of(runs.iter().map(|(run, loopback)| run.bytes_per_second() / loopback)),
        client_cpu_ns_per_row: spread(&|run| per_row(run.client_cpu_seconds, run)),
        server_cpu_ns_per_row: spread(&|run| per_row(run.server_cpu_seconds, run)),
        client_peak_mib: spread(&|run| mib(run.client_peak_bytes)),
        server_peak_mib: spread(&|run| mib(run.server_peak_bytes)),
        runs: runs.into_iter().map(|(run, _)| run).collect(),
    }
}

fn print_summaries(summaries: &[Summary]) {
    println!(
        "| case | rows | M rows/s (min-max) | MB/s | of loopback | client ns/row | server ns/row | client MiB | server MiB |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for summary in summaries {
        let rate = summary.rows_per_second;
        println!(
            "| {} | {} | {:.2} ({:.2}-{:.2}) | {:.0} | {:.0} % | {:.0} | {:.0} | {:.0} | {:.0} |",
            summary.case,
            summary.rows,
            rate.median / 1e6,
            rate.min / 1e6,
            rate.max / 1e6,
            summary.megabytes_per_second.median,
            summary.share_of_loopback.median * 100.0,
            summary.client_cpu_ns_per_row.median,
            summary.server_cpu_ns_per_row.median,
            summary.client_peak_mib.median,
            summary.server_peak_mib.median,
        );
        if let Some(run) = summary.runs.first() {
            let phases: Vec<String> =
                run.phase_seconds.iter().map(|(phase, seconds)| format!("{phase} {seconds:.3} s")).collect();
            println!("| | | {} | | | | | | |", phases.join(", "));
        }
    }
}
