//! Commands that change a table or read it, and what they say of rows: the claim is compared with the table.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use load::{Client, Config};
use serde_json::Value as Json;

use crate::fixture::{Fixture, PASSWORD};

/// Rows of every scenario.
pub const ROWS: u64 = 300;
const BATCH_ROWS: u64 = 100;
/// Rows that a table has which is to be truncated.
const ROWS_BEFORE: u64 = 7;
/// A client that has not ended by then hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// A command that is run, and judged by its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scenario {
    LoadOneBatch,
    LoadBatches,
    LoadAutocommit,
    LoadCreated,
    LoadTruncated,
    LoadNoted,
    LoadStaged,
    LoadEncrypted,
    Upsert,
    BcpIn,
    BcpInBatches,
    Query,
    Export,
    BcpOut,
}

pub use Scenario::*;

pub const SCENARIOS: [Scenario; 14] = [
    LoadOneBatch,
    LoadBatches,
    LoadAutocommit,
    LoadCreated,
    LoadTruncated,
    LoadNoted,
    LoadStaged,
    LoadEncrypted,
    Upsert,
    BcpIn,
    BcpInBatches,
    Query,
    Export,
    BcpOut,
];

/// The client's words about its end.
#[derive(Debug, Default)]
pub struct Said {
    pub code: i32,
    /// `None`: it said nothing of rows.
    pub committed: Option<u64>,
    pub in_doubt: u64,
    /// The report's word on doubt; `None`: there is no report.
    pub is_in_doubt: Option<bool>,
    pub text: String,
}

impl Scenario {
    /// Returns true if the command prints a report for programs.
    fn has_report(self) -> bool {
        matches!(
            self,
            LoadOneBatch
                | LoadBatches
                | LoadAutocommit
                | LoadCreated
                | LoadTruncated
                | LoadNoted
                | LoadStaged
                | LoadEncrypted
        )
    }
}

/// A server with the rows and files of the scenarios.
pub fn fixture() -> Fixture {
    let fixture = Fixture::new();
    let rows: String = (0..ROWS).map(|n| format!("{n},row {n}\n")).collect();
    fixture.file("t.csv", format!("n,s\n{rows}"));
    fixture.file("t.bcp", rows.replace(',', "\t"));
    fixture.sql("CREATE TABLE origin (n int NOT NULL, s varchar(30) NULL)");
    fixture.ok(&["load", "origin", "t.csv", "--quiet"]);
    fixture
}

/// Returns the numbers of rows that the table may have after what was said.
pub fn allowed(scenario: Scenario, said: &Said) -> Result<Vec<u64>, String> {
    let before = if matches!(scenario, LoadTruncated | LoadStaged) { ROWS_BEFORE } else { 0 };
    if said.code == 0 {
        return Ok(vec![ROWS]);
    }
    if (said.code == 4) != said.text.contains("it is not known") {
        return Err("the exit code and the text differ".to_owned());
    }
    if scenario.has_report() && said.is_in_doubt != Some(said.code == 4) {
        return Err("the exit code and the report differ".to_owned());
    }
    if !scenario.has_report() && said.committed.is_some() && (said.code == 4) != (said.in_doubt > 0) {
        return Err("the exit code and the rows in doubt differ".to_owned());
    }
    let is_whole = said.committed == Some(0) && said.in_doubt == 0 && !said.text.contains("was emptied");
    Ok(match (said.committed, said.code) {
        // All of a stage, or nothing of it.
        (Some(_), 4) if scenario == LoadStaged => vec![before, ROWS],
        // The statement in front of the load.
        (Some(0), 4) if said.in_doubt == 0 => vec![before, 0],
        (Some(0), _) if is_whole => vec![before],
        (Some(committed), _) => vec![committed, committed + said.in_doubt],
        (None, 4) if scenario == Query => vec![0, ROWS],
        // The statement in front of the load.
        (None, 4) => vec![before, 0],
        // A request that was stopped in time says nothing of what it had done.
        (None, _) if scenario == Query && said.text.contains("time-out") => vec![0, ROWS],
        (None, _) if said.text.contains("was emptied") => vec![0],
        (None, _) => vec![before],
    })
}

/// A file is there whole, or it is not there.
pub fn judge_file(path: &Path, scenario: Scenario, said: &Said) -> Result<(), String> {
    match said.code {
        0 => {
            let text = fs::read(path).unwrap();
            let lines = text.iter().filter(|byte| **byte == b'\n').count() as u64;
            let header = u64::from(scenario == Export);
            if lines == ROWS + header { Ok(()) } else { Err(format!("{lines} lines in the file")) }
        }
        _ if path.exists() => Err("a file is left".to_owned()),
        _ => Ok(()),
    }
}

pub fn run(fixture: &Fixture, scenario: Scenario, port: u16, seconds: u32, table: &str, out: &str) -> Said {
    let mut direct = direct(fixture);
    match scenario {
        Export | BcpOut | LoadCreated => {}
        _ => {
            let key = if scenario == Upsert { " PRIMARY KEY" } else { "" };
            let created = format!("CREATE TABLE {table} (n int NOT NULL{key}, s varchar(30) NULL)");
            direct.execute(&created).unwrap();
        }
    }
    if matches!(scenario, LoadTruncated | LoadStaged) {
        direct.execute(&format!("INSERT INTO {table} SELECT TOP ({ROWS_BEFORE}) n, s FROM origin")).unwrap();
    }
    let encrypted = scenario == LoadEncrypted;
    let parameters = if encrypted { "Encrypt=yes&TrustServerCertificate=yes" } else { "Encrypt=Off" };
    let url = format!("mssql://sa@127.0.0.1:{}/master?{parameters}", port);
    if scenario == Upsert {
        return upsert(&url, seconds, table);
    }
    let batch_rows = BATCH_ROWS.to_string();
    let insert = format!("INSERT INTO {table} SELECT n, s FROM origin; SELECT COUNT(*) FROM {table}");
    let load = |more: &[&'static str]| {
        let common = ["load", table, "t.csv", "--json", "--quiet", "--batch-rows", &batch_rows];
        common.iter().chain(more).map(|word| (*word).to_owned()).collect::<Vec<_>>()
    };
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut arguments = match scenario {
        LoadOneBatch => words(&["load", table, "t.csv", "--json", "--quiet"]),
        LoadBatches | LoadEncrypted => load(&[]),
        LoadAutocommit => load(&["--autocommit"]),
        LoadCreated => load(&["--create"]),
        LoadTruncated => load(&["--truncate"]),
        LoadNoted => load(&["--resume", "--retry-for", "0"]),
        LoadStaged => load(&["--mode", "replace"]),
        BcpIn => words(&["bcp", table, "in", "t.bcp", "-c", "-Usa"]),
        BcpInBatches => words(&["bcp", table, "in", "t.bcp", "-c", "-Usa", "-b", &batch_rows]),
        Query => words(&["query", &insert, "--output", "csv"]),
        Export => words(&["export", "origin", out, "--format", "csv", "--quiet"]),
        BcpOut => words(&["bcp", "origin", "out", out, "-c", "-Usa"]),
        Upsert => unreachable!(),
    };
    arguments.extend(words(&["--command-timeout", &seconds.to_string()]));
    match arguments[0] == "bcp" {
        true => arguments.extend(words(&[&format!("-S127.0.0.1,{}", port), "--no-encryption", "-l20"])),
        false => arguments.extend(words(&["--connect-timeout", "20", "--url", &url])),
    }
    said(fixture, scenario, &arguments)
}

/// Runs the command and reads what it says of rows.
fn said(fixture: &Fixture, scenario: Scenario, arguments: &[String]) -> Said {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bulkwire"))
        .args(arguments)
        .current_dir(fixture.path(""))
        .env_remove("BULKWIRE_URL")
        .env("BULKWIRE_PASSWORD", PASSWORD)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("{arguments:?} hangs");
        }
        thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut said = Said { code: output.status.code().unwrap_or(-1), ..Said::default() };
    match scenario {
        BcpIn | BcpInBatches => {
            let number = |words: &str| {
                let (before, _) = stderr.split_once(words)?;
                before.rsplit(' ').next()?.parse::<u64>().ok()
            };
            said.committed = number(" rows are committed");
            said.in_doubt = number(" more are committed").unwrap_or_default();
        }
        _ => {
            let report: Option<Json> = stdout.lines().last().and_then(|line| serde_json::from_str(line).ok());
            let field = |name: &str| report.as_ref().and_then(|report| report.get(name)?.as_u64());
            said.committed = field("rows_committed");
            said.in_doubt = field("rows_in_doubt").unwrap_or_default();
            said.is_in_doubt = report.as_ref().and_then(|report| report.get("in_doubt")?.as_bool());
        }
    }
    said.text = format!("{stdout}{stderr}");
    said
}

/// An upsert by the library: what a Python program gets to see.
fn upsert(url: &str, seconds: u32, table: &str) -> Said {
    use arrow::array::{ArrayRef, Int32Array, StringArray};
    use arrow::record_batch::RecordBatch;
    use std::sync::Arc;
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..ROWS as i32));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..ROWS).map(|n| format!("row {n}"))));
    let batch = RecordBatch::try_from_iter([("n", numbers), ("s", texts)]).unwrap();
    let schema = batch.schema();
    let done = (|| {
        let mut config = config(url);
        config.command_timeout = Some(Duration::from_secs(seconds.into()));
        config.connect_timeout = Some(Duration::from_secs(20));
        let before = load::LoadError::before_rows;
        let mut client = Client::connect(&config).map_err(before)?;
        let target = client.describe(&table.parse().unwrap()).map_err(before)?;
        let source = vec![Ok::<_, std::io::Error>(batch)].into_iter();
        let options = load::LoadOptions::default();
        load::upsert(&mut client, &target, &schema, source, &["n".to_owned()], &options, &mut |_| {})
    })();
    match done {
        Ok(_) => Said::default(),
        Err(error) => Said {
            code: if error.rows_in_doubt > 0 { 4 } else { 1 },
            committed: Some(error.rows_committed),
            in_doubt: error.rows_in_doubt,
            is_in_doubt: None,
            text: error.to_string(),
        },
    }
}

fn config(url: &str) -> Config {
    Config::parse_with(url, &|_| Some(PASSWORD.to_owned())).unwrap()
}

pub fn direct(fixture: &Fixture) -> Client {
    Client::connect(&config(&fixture.url("Encrypt=Off"))).unwrap()
}

/// Rows of a table; none of one that is not there.
pub fn count(client: &mut Client, table: &str) -> u64 {
    match client.query_values(&format!("SELECT COUNT_BIG(*) FROM {table}")) {
        Ok(tables) => tables[0].rows[0][0].to_string().parse().unwrap(),
        Err(error) if error.server_message().is_some_and(|message| message.number == 208) => 0,
        Err(error) => panic!("{error}"),
    }
}

/// Numbers by chance, the same for the same seed (xorshift).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}
