//! The measured cases: each moves the 11-column table, verifies what it moved, and reports what it cost.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use formats::{Checksum, ContentChecksum};
use load::{Client, Config, LoadOptions, LoadPlan, table_query};
use rows::mapping::Form;
use serde::{Deserialize, Serialize};

use crate::eleven_columns;
use crate::process_usage::{self, Usage};
use crate::server_process::ServerProcess;
use crate::source::Source;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const TABLE: &str = "dbo.eleven";

/// Case of the benchmark: the direction of the move, and the server's storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Case {
    /// Load into a server that counts rows and drops them.
    Sink,
    /// Load into a server that keeps rows in memory.
    Memory,
    /// Load into a server that keeps rows on disk and waits for the disk at commit.
    Disk,
    /// Export from a server that keeps rows in memory.
    Export,
}

impl Case {
    /// All cases of the benchmark.
    pub const ALL: [Case; 4] = [Case::Sink, Case::Memory, Case::Disk, Case::Export];
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Case::Sink => "sink",
            Case::Memory => "memory",
            Case::Disk => "disk",
            Case::Export => "export",
        })
    }
}

/// Settings of a measurement.
pub struct Settings {
    /// Rows to move.
    pub rows: u64,
    /// Directory of the on-disk case's data; None: the system's temporary one.
    pub directory: Option<PathBuf>,
}

/// A verified run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measurement {
    /// Rows moved; the server's count and, where rows are kept, a content checksum agree.
    pub rows: u64,
    /// Bytes on the wire, packet headers included.
    pub bytes: u64,
    /// Wall-clock time of the run, in seconds.
    pub seconds: f64,
    /// Parts of the client's time; activities overlap.
    pub phase_seconds: BTreeMap<String, f64>,
    /// CPU time of the client's process during the move.
    pub client_cpu_seconds: Option<f64>,
    /// CPU time of the server's process during the move.
    pub server_cpu_seconds: Option<f64>,
    /// Largest resident set of the client.
    pub client_peak_bytes: Option<u64>,
    /// Largest resident set of the server.
    pub server_peak_bytes: Option<u64>,
}

impl Measurement {
    /// Returns the rows a second.
    pub fn rows_per_second(&self) -> f64 {
        self.rows as f64 / self.seconds
    }

    /// Returns the bytes a second.
    pub fn bytes_per_second(&self) -> f64 {
        self.bytes as f64 / self.seconds
    }
}

/// Runs one case once.
pub fn measure(case: Case, settings: &Settings) -> Outcome<Measurement> {
    let folder = match &settings.directory {
        Some(directory) => tempfile::tempdir_in(directory)?,
        None => tempfile::tempdir()?,
    };
    let data = folder.path().join("data");
    let data = data.to_string_lossy();
    let mut arguments: Vec<&str> = Vec::new();
    match case {
        Case::Sink => arguments.extend(["--in-memory", "--discard"]),
        Case::Memory | Case::Export => arguments.push("--in-memory"),
        Case::Disk => arguments.extend(["--data", &data]),
    }
    let server = ServerProcess::start(&arguments)?;
    let source = Source::new(settings.rows)?;
    let mut client = Client::connect(&Config::parse(&server.url())?)?;
    client.execute(&eleven_columns::create_table(TABLE))?;
    let before = Meter::start(&server);
    let loaded = load_all(&mut client, &source)?;
    let loaded = before.stop(loaded, &server);
    if loaded.rows != source.rows() {
        return Err(format!("{} rows were loaded instead of {}", loaded.rows, source.rows()).into());
    }
    if case == Case::Sink {
        return Ok(loaded);
    }
    let before = Meter::start(&server);
    let exported = before.stop(export_all(&mut client)?, &server);
    let checksum = read_checksum(&mut client)?;
    let expected = source.checksum(source.rows())?;
    if checksum != expected {
        return Err(
            format!("the rows that came back are not those that were sent: {checksum}, {expected}").into()
        );
    }
    Ok(if case == Case::Export { exported } else { loaded })
}

/// A move without the costs that only the meter knows.
struct Moved {
    rows: u64,
    bytes: u64,
    elapsed: Duration,
    phases: Vec<(&'static str, Duration)>,
}

fn load_all(client: &mut Client, source: &Source) -> Outcome<Moved> {
    let target = client.describe(&TABLE.parse()?)?;
    let plan = LoadPlan::new(client, &target, &eleven_columns::schema(), &LoadOptions::default())?;
    let report = load::load(client, &plan, source.iter(), &mut |_| {})?;
    let phases = report.phases;
    Ok(Moved {
        rows: report.rows,
        bytes: report.bytes_on_wire,
        elapsed: report.elapsed,
        phases: vec![
            ("read", phases.read),
            ("encode", phases.encode),
            ("send", phases.send),
            ("wait", phases.wait),
        ],
    })
}

/// Reads the table and drops the rows.
fn export_all(client: &mut Client) -> Outcome<Moved> {
    let query = table_query(&TABLE.parse()?, None);
    let report = load::export(client.query(&query, Form::default())?, |_| Ok::<_, std::io::Error>(()))?;
    Ok(Moved {
        rows: report.rows,
        bytes: report.bytes_on_wire,
        elapsed: report.elapsed,
        phases: vec![("wait", report.wait), ("decode", report.decode), ("write", report.write)],
    })
}

/// Reads the table once more, off the clock, for its checksum.
fn read_checksum(client: &mut Client) -> Outcome<Checksum> {
    let mut checksum = ContentChecksum::new();
    let mut stream = client.query(&table_query(&TABLE.parse()?, None), Form::default())?;
    while let Some(batch) = stream.next_batch()? {
        checksum.update(&batch)?;
    }
    Ok(checksum.finish())
}

/// CPU accounts of both processes at the start of a move.
struct Meter {
    client: Option<Usage>,
    server: Option<Usage>,
}

impl Meter {
    fn start(server: &ServerProcess) -> Meter {
        Meter { client: process_usage::of_self(), server: server.usage() }
    }

    fn stop(self, moved: Moved, server: &ServerProcess) -> Measurement {
        let (client, server) = (process_usage::of_self(), server.usage());
        let cpu = |before: Option<Usage>, after: Option<Usage>| {
            Some(after?.cpu.saturating_sub(before?.cpu).as_secs_f64())
        };
        Measurement {
            rows: moved.rows,
            bytes: moved.bytes,
            seconds: moved.elapsed.as_secs_f64(),
            phase_seconds: moved
                .phases
                .iter()
                .map(|(name, time)| ((*name).to_owned(), time.as_secs_f64()))
                .collect(),
            client_cpu_seconds: cpu(self.client, client),
            server_cpu_seconds: cpu(self.server, server),
            client_peak_bytes: client.map(|usage| usage.peak_memory_bytes),
            server_peak_bytes: server.map(|usage| usage.peak_memory_bytes),
        }
    }
}
