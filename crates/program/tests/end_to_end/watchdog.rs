//! A line that fails at every message and at random bytes: what the client says of committed rows is compared with the table.
//!
//! `BULKWIRE_SOAK_POINTS` is the number of random bytes (then every message boundary is taken too), `BULKWIRE_SOAK_SEED` chooses them.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use load::{Client, Config};
use serde_json::Value as Json;

use crate::faulty_line::{Fault, Kind, Line, Way};
use crate::fixture::{Fixture, PASSWORD};

const ROWS: u64 = 300;
const BATCH_ROWS: u64 = 100;
/// Rows that a table has which is to be truncated.
const ROWS_BEFORE: u64 = 7;
/// Faults of one run of the tests, unless a soak asks for all.
const FAULTS: usize = 110;
/// The client's limit for a silent server; a healthy one may be slow on a busy machine.
const SECONDS_IN_ORDER: u32 = 100;
const SECONDS_WITH_FAULT: u32 = 1;
/// A client that has not ended by then hangs.
const PATIENCE: Duration = Duration::from_secs(120);
const WORKERS: usize = 8;

/// What is run, and how it is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Scenario {
    LoadOneBatch,
    LoadBatches,
    LoadAutocommit,
    LoadCreated,
    LoadTruncated,
    LoadEncrypted,
    Upsert,
    BcpIn,
    BcpInBatches,
    Query,
    Export,
    BcpOut,
}

use Scenario::*;

const SCENARIOS: [Scenario; 12] = [
    LoadOneBatch,
    LoadBatches,
    LoadAutocommit,
    LoadCreated,
    LoadTruncated,
    LoadEncrypted,
    Upsert,
    BcpIn,
    BcpInBatches,
    Query,
    Export,
    BcpOut,
];

/// What the client said.
#[derive(Debug, Default)]
struct Said {
    code: i32,
    /// `None`: it said nothing of rows.
    committed: Option<u64>,
    in_doubt: u64,
    text: String,
}

#[test]
fn no_claim_is_wrong_wherever_the_line_fails() {
    let fixture = Fixture::new();
    let rows: String = (0..ROWS).map(|n| format!("{n},row {n}\n")).collect();
    fixture.file("t.csv", format!("n,s\n{rows}"));
    fixture.file("t.bcp", rows.replace(',', "\t"));
    fixture.sql("CREATE TABLE origin (n int NOT NULL, s varchar(30) NULL)");
    fixture.ok(&["load", "origin", "t.csv", "--quiet"]);
    let points: Option<usize> = env::var("BULKWIRE_SOAK_POINTS").ok().map(|text| text.parse().unwrap());
    let seed: u64 = env::var("BULKWIRE_SOAK_SEED").map_or(42, |text| text.parse().unwrap());
    let runs = chosen(&fixture, points, seed);
    let watchdog = Watchdog {
        fixture: &fixture,
        next: AtomicUsize::new(0),
        kept: Mutex::default(),
        wrong: Mutex::default(),
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(|| watchdog.work(&runs, seed))).collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
    // Nothing came or went after the client had spoken.
    let mut direct = direct(&fixture);
    let mut wrong = watchdog.wrong.into_inner().unwrap();
    for (table, (allowed, what)) in watchdog.kept.into_inner().unwrap() {
        let now = count(&mut direct, &table);
        if !allowed.contains(&now) {
            wrong.push(format!("{now} rows at the end, where {allowed:?} could be: {what}"));
        }
    }
    eprintln!("{} faults, seed {seed}", runs.len());
    assert!(wrong.is_empty(), "{} wrong claims:\n{}", wrong.len(), wrong.join("\n"));
}

/// The faults of this run: of a soak every boundary and so many random bytes, else some of both.
fn chosen(fixture: &Fixture, points: Option<usize>, seed: u64) -> Vec<(Scenario, Fault)> {
    let mut random = Random(seed | 1);
    let mut must = Vec::new();
    let mut may = Vec::new();
    for (index, scenario) in SCENARIOS.into_iter().enumerate() {
        let line = Line::new(fixture.server.address(), None);
        let out = format!("clean{index}");
        let said = run(fixture, scenario, &line, SECONDS_IN_ORDER, &table_of(index), &out);
        assert_eq!(said.code, 0, "{scenario:?} without a fault: {}", said.text);
        let passed = line.passed();
        let [ups, downs] = &passed;
        for (way, stream) in [(Way::Up, ups), (Way::Down, downs)] {
            let ends = boundaries(stream);
            for (nth, at) in ends.iter().copied().enumerate() {
                let kinds = [Kind::Fin, Kind::Reset, Kind::Stall];
                let faults = kinds.map(|kind| (scenario, Fault { way, at, kind }));
                // The last messages are where commits are.
                let is_late = scenario != Export && scenario != BcpOut && nth + 3 >= ends.len();
                if is_late { must.extend(faults) } else { may.extend(faults) }
            }
        }
        if matches!(scenario, LoadBatches | BcpInBatches) {
            let at = random.below(ups.len() as u64);
            must.push((scenario, Fault { way: Way::Up, at, kind: Kind::Choke }));
        }
        for _ in 0..points.unwrap_or(60).div_ceil(SCENARIOS.len()) {
            let is_up = random.below(2) == 0;
            let (way, stream) = if is_up { (Way::Up, ups) } else { (Way::Down, downs) };
            let kind = match random.below(5) {
                0 => Kind::Fin,
                1 => Kind::Reset,
                2 => Kind::Stall,
                _ => Kind::Corrupt(1 + random.below(255) as u8),
            };
            may.push((scenario, Fault { way, at: random.below(stream.len() as u64), kind }));
        }
    }
    if points.is_none() {
        let room = FAULTS.saturating_sub(must.len()).max(40);
        for index in (1..may.len()).rev() {
            may.swap(index, random.below(index as u64 + 1) as usize);
        }
        may.truncate(room);
    }
    must.extend(may);
    must
}

/// Where messages end. Encrypted messages cannot be distinguished: TLS records stand for packets.
fn boundaries(stream: &[u8]) -> Vec<u64> {
    let mut ends = vec![0];
    let mut at = 0;
    while let Some(header) = stream.get(at..at + 8) {
        let is_record = (20..=23).contains(&header[0]) && header[1] == 3;
        let length = match is_record {
            true => 5 + usize::from(u16::from_be_bytes([header[3], header[4]])),
            false => usize::from(u16::from_be_bytes([header[2], header[3]])),
        };
        at += length.max(5);
        if is_record || header[1] & 1 == 1 {
            ends.push(at.min(stream.len()) as u64);
        }
    }
    ends
}

struct Watchdog<'a> {
    fixture: &'a Fixture,
    next: AtomicUsize,
    /// Tables, and what they may hold.
    kept: Mutex<BTreeMap<String, (Vec<u64>, String)>>,
    wrong: Mutex<Vec<String>>,
}

impl Watchdog<'_> {
    fn work(&self, runs: &[(Scenario, Fault)], seed: u64) {
        let mut direct = direct(self.fixture);
        loop {
            let index = self.next.fetch_add(1, Ordering::SeqCst);
            let Some(&(scenario, fault)) = runs.get(index) else { return };
            let table = table_of(SCENARIOS.len() + index);
            let line = Line::new(self.fixture.server.address(), Some(fault));
            let file = format!("out{index}");
            let said = run(self.fixture, scenario, &line, SECONDS_WITH_FAULT, &table, &file);
            drop(line);
            let what = format!("{scenario:?}, {fault:?}, seed {seed}: {said:?}");
            let judged = match scenario {
                // A panic of the client is code 101, a signal has none.
                _ if !(0..=4).contains(&said.code) => Err("it broke down".to_owned()),
                Export | BcpOut => judge_file(&self.fixture.path(&file), scenario, &said),
                _ => allowed(scenario, fault, &said).and_then(|allowed| {
                    let now = count(&mut direct, &table);
                    let is_right = allowed.contains(&now);
                    let wrong = format!("{now} rows, where {allowed:?} could be");
                    self.kept.lock().unwrap().insert(table, (allowed, what.clone()));
                    if is_right { Ok(()) } else { Err(wrong) }
                }),
            };
            if let Err(wrong) = judged {
                self.wrong.lock().unwrap().push(format!("{wrong}: {what}"));
            }
        }
    }
}

/// How many rows the table may have after what was said.
fn allowed(scenario: Scenario, fault: Fault, said: &Said) -> Result<Vec<u64>, String> {
    let before = if scenario == LoadTruncated { ROWS_BEFORE } else { 0 };
    if said.code == 0 {
        return Ok(vec![ROWS]);
    }
    if matches!(fault.kind, Kind::Corrupt(_)) && scenario != LoadEncrypted {
        // In the clear the server may have said something else than what arrived.
        return Ok((0..=ROWS).collect());
    }
    if (said.code == 4) != said.text.contains("it is not known") {
        return Err("the exit code and the text differ".to_owned());
    }
    if said.committed.is_some() && (said.code == 4) != (said.in_doubt > 0) {
        return Err("the exit code and the rows in doubt differ".to_owned());
    }
    Ok(match (said.committed, said.code) {
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
fn judge_file(path: &Path, scenario: Scenario, said: &Said) -> Result<(), String> {
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

fn run(fixture: &Fixture, scenario: Scenario, line: &Line, seconds: u32, table: &str, out: &str) -> Said {
    let mut direct = direct(fixture);
    match scenario {
        Export | BcpOut | LoadCreated => {}
        _ => {
            let key = if scenario == Upsert { " PRIMARY KEY" } else { "" };
            let created = format!("CREATE TABLE {table} (n int NOT NULL{key}, s varchar(30) NULL)");
            direct.execute(&created).unwrap();
        }
    }
    if scenario == LoadTruncated {
        direct.execute(&format!("INSERT INTO {table} SELECT TOP ({ROWS_BEFORE}) n, s FROM origin")).unwrap();
    }
    let encrypted = scenario == LoadEncrypted;
    let parameters = if encrypted { "Encrypt=yes&TrustServerCertificate=yes" } else { "Encrypt=Off" };
    let url = format!("mssql://sa@127.0.0.1:{}/master?{parameters}", line.port);
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
        BcpIn => words(&["bcp", table, "in", "t.bcp", "-c", "-Usa"]),
        BcpInBatches => words(&["bcp", table, "in", "t.bcp", "-c", "-Usa", "-b", &batch_rows]),
        Query => words(&["query", &insert, "--output", "csv"]),
        Export => words(&["export", "origin", out, "--format", "csv", "--quiet"]),
        BcpOut => words(&["bcp", "origin", "out", out, "-c", "-Usa"]),
        Upsert => unreachable!(),
    };
    arguments.extend(words(&["--command-timeout", &seconds.to_string()]));
    match arguments[0] == "bcp" {
        true => arguments.extend(words(&[&format!("-S127.0.0.1,{}", line.port), "--no-encryption", "-l20"])),
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
            text: error.to_string(),
        },
    }
}

fn config(url: &str) -> Config {
    Config::parse_with(url, &|_| Some(PASSWORD.to_owned())).unwrap()
}

fn direct(fixture: &Fixture) -> Client {
    Client::connect(&config(&fixture.url("Encrypt=Off"))).unwrap()
}

/// Rows of a table; none of one that is not there.
fn count(client: &mut Client, table: &str) -> u64 {
    match client.query_values(&format!("SELECT COUNT_BIG(*) FROM {table}")) {
        Ok(tables) => tables[0].rows[0][0].to_string().parse().unwrap(),
        Err(error) if error.server_message().is_some_and(|message| message.number == 208) => 0,
        Err(error) => panic!("{error}"),
    }
}

/// A name that no other becomes by one wrong byte.
fn table_of(index: usize) -> String {
    let digits = format!("{index:05}");
    format!("t{}", digits.chars().flat_map(|digit| [digit, digit]).collect::<String>())
}

/// Numbers by chance, the same for the same seed (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}
