//! Loads that are killed, cut, refused and left without an answer, and continued: every row is there once.
//!
//! `BULKWIRE_SOAK_POINTS` is the number of rounds, `BULKWIRE_SOAK_SEED` chooses what happens in them.

use std::env;
use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::fixture::{Fixture, PASSWORD, text};

const ROWS: u64 = 12_000;
const BLANK_LINES: usize = 350;
const ROUNDS: usize = 24;
/// Rounds at a time; each has a server of its own.
const WORKERS: usize = 3;
/// Runs after which a load must have come to its end.
const RUNS_MAX: usize = 60;
const IMPATIENT_RUNS: usize = 6;
/// A client that has not ended by then hangs.
const PATIENCE: Duration = Duration::from_secs(120);

#[test]
fn every_row_is_there_once_whatever_breaks() {
    let rounds = env::var("BULKWIRE_SOAK_POINTS").map_or(ROUNDS, |text| text.parse().unwrap());
    let seed: u64 = env::var("BULKWIRE_SOAK_SEED").map_or(42, |text| text.parse().unwrap());
    let next = AtomicUsize::new(0);
    let faults = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let round = next.fetch_add(1, Ordering::SeqCst);
                    if round >= rounds {
                        return;
                    }
                    let seed = seed.wrapping_mul(1_000_003).wrapping_add(round as u64);
                    faults.fetch_add(Round::new(seed).run(), Ordering::SeqCst);
                }
            });
        }
    });
    let faults = faults.into_inner();
    eprintln!("{rounds} loads, {faults} faults, seed {seed}");
    assert!(faults >= rounds, "only {faults} faults in {rounds} loads");
}

/// One load, from its first run to its end.
struct Round {
    seed: u64,
    random: Random,
    fixture: Fixture,
    port: u16,
}

impl Round {
    fn new(seed: u64) -> Self {
        let fixture = Fixture::new();
        Self { seed, random: Random(seed.wrapping_mul(2).wrapping_add(1)), fixture, port: own_port() }
    }

    /// How many faults there were.
    fn run(&mut self) -> usize {
        let header = "n,s,amount\n".to_owned();
        let files = 1 + self.random.below(3);
        // Lines that are no rows, which make one file so large that several threads read it.
        let blank = "\n".repeat(if files == 1 && self.seed.is_multiple_of(2) { BLANK_LINES } else { 0 });
        let mut names = Vec::new();
        for file in 0..files {
            let rows = (0..ROWS).filter(|n| n % files == file);
            let rows: String = rows.map(|n| format!("{n},row {n},{}.25\n{blank}", n % 1000)).collect();
            names.push(format!("part{file}.csv"));
            self.fixture.file(&format!("part{file}.csv"), header.clone() + &rows);
        }
        let faults = self.fault_file();
        let data = self.fixture.path("data");
        let mut server = serve(&data, self.port, Some(&faults));
        let kind = self.random.below(11);
        let definition = match kind {
            0 | 4 | 5 | 7 => "n int NOT NULL PRIMARY KEY, s varchar(30) NULL, amount decimal(9, 2) NULL",
            _ => "n int NOT NULL, s varchar(30) NULL, amount decimal(9, 2) NULL",
        };
        let creates = kind == 1;
        let is_partitioned = kind >= 8;
        if is_partitioned {
            // Rows of all partitions come in turn.
            self.query("CREATE PARTITION FUNCTION by_amount (decimal(9, 2)) AS RANGE RIGHT FOR VALUES (100, 250, 251, 500, 900)");
            self.query("CREATE PARTITION SCHEME amounts AS PARTITION by_amount ALL TO ([PRIMARY])");
            self.query(
                "CREATE TABLE t (n int NOT NULL, s varchar(30) NULL, amount decimal(9, 2) NOT NULL, PRIMARY KEY (n, amount)) \
                 ON amounts (amount)",
            );
        } else if !creates {
            self.query(&format!("CREATE TABLE t ({definition})"));
        }
        let writers = (1 + self.random.below(8)).to_string();
        let batch_rows = (100 + self.random.below(2000)).to_string();
        let mut arguments = vec!["load", "t", "--quiet", "--resume", "--batch-rows", &batch_rows];
        arguments.extend(names.iter().map(String::as_str));
        match self.random.below(3) {
            0 => arguments.extend(["--writers", "auto"]),
            _ => arguments.extend(["--writers", &writers]),
        }
        if creates {
            arguments.push("--create");
        }
        if kind == 2 {
            self.query("INSERT INTO t VALUES (-1, 'to be gone', 0)");
            arguments.push("--truncate");
        }
        match kind {
            4 => arguments.extend(["--mode", "upsert", "--key", "n"]),
            5 => arguments.extend(["--mode", "insert-new", "--key", "n"]),
            6 => arguments.extend(["--mode", "replace"]),
            7 | 10 => arguments.extend(["--strategy", "heap-then-key"]),
            _ => {}
        }
        if matches!(kind, 4..=6) {
            let old = if kind == 5 { "row 3" } else { "to be changed" };
            self.query(&format!("INSERT INTO t VALUES (3, '{old}', 3.25)"));
        }
        let patience = ["0", "1", "20"][self.random.below(3) as usize];
        let mut happened = 0;
        let mut last = String::new();
        for run in 0..RUNS_MAX {
            // Without another try a run ends at its first fault, and may come nowhere.
            let patience = if run < IMPATIENT_RUNS { patience } else { "20" };
            let url = format!(
                "mssql://sa@127.0.0.1:{}/master?Encrypt=Off&Application%20Name=faulty&Command%20Timeout=2",
                self.port
            );
            let mut client = self.start(&url, &arguments, patience);
            let kill = self.random.below(4);
            let delay = Duration::from_millis(10 + self.random.below(700));
            match kill {
                0 => {
                    thread::sleep(delay);
                    happened += usize::from(client.kill().is_ok());
                }
                1 => {
                    thread::sleep(delay);
                    server.0.kill().unwrap();
                    server.0.wait().unwrap();
                    happened += 1;
                    server = serve(&data, self.port, Some(&faults));
                }
                _ => {}
            }
            let began = Instant::now();
            while client.try_wait().unwrap().is_none() {
                assert!(began.elapsed() < PATIENCE, "seed {}: the client hangs: {arguments:?}", self.seed);
                thread::sleep(Duration::from_millis(5));
            }
            let ended = client.wait_with_output().unwrap();
            last = String::from_utf8(ended.stderr).unwrap();
            match ended.status.code() {
                Some(0) => {
                    happened += server.stop();
                    server = serve(&data, self.port, None);
                    self.check();
                    happened += server.stop();
                    return happened;
                }
                Some(1 | 4) | None => happened += 1,
                code => panic!("seed {}: code {code:?}: {last}", self.seed),
            }
        }
        panic!("seed {}: not done after {RUNS_MAX} runs: {arguments:?}: {last}", self.seed);
    }

    fn check(&self) {
        let sql = "SELECT COUNT(*), COUNT(DISTINCT n), SUM(CAST(n AS bigint)), SUM(amount), \
                   SUM(CASE WHEN s = CONCAT('row ', n) THEN 1 ELSE 0 END) FROM t";
        let seen = self.query(sql);
        let amounts: u64 = (0..ROWS).map(|n| (n % 1000) * 100 + 25).sum();
        let expected =
            format!("{ROWS},{ROWS},{},{}.{:02},{ROWS}", ROWS * (ROWS - 1) / 2, amounts / 100, amounts % 100);
        assert_eq!(seen.lines().nth(1), Some(expected.as_str()), "seed {}", self.seed);
    }

    /// What the server does to connections of the loads.
    fn fault_file(&mut self) -> std::path::PathBuf {
        let mut rules = Vec::new();
        let kinds = [
            r#""fault": "cut", "on": "request", "when": "within", "within_bytes": 60000, "chance": 0.05"#,
            r#""fault": "cut", "on": "commit", "when": "after", "chance": 0.1"#,
            r#""fault": "cut", "on": "commit", "when": "after", "how": "close", "chance": 0.1"#,
            r#""fault": "cut", "on": "commit", "when": "before", "chance": 0.1"#,
            r#""fault": "silence", "on": "commit", "when": "after", "chance": 0.03"#,
            r#""fault": "silence", "on": "bulk", "when": "after", "chance": 0.03"#,
            r#""fault": "stall", "on": "request", "seconds": 0.3, "chance": 0.05"#,
            r#""fault": "error", "number": 1205, "on": "bulk", "chance": 0.1"#,
            r#""fault": "error", "number": 40197, "on": "commit", "chance": 0.1"#,
            r#""fault": "error", "number": 10928, "on": "login", "chance": 0.2"#,
            r#""fault": "error", "number": 40613, "on": "request", "chance": 0.05"#,
        ];
        for kind in kinds {
            if self.random.below(3) == 0 {
                rules.push(format!(r#"{{{kind}, "application": "faulty"}}"#));
            }
        }
        let seed = self.random.below(1 << 30);
        self.fixture.file("faults.json", format!(r#"{{"seed": {seed}, "rules": [{}]}}"#, rules.join(",\n")))
    }

    fn query(&self, sql: &str) -> String {
        let url = format!("mssql://sa@127.0.0.1:{}/master?Encrypt=Off", self.port);
        let ran = self.fixture.run_with(&url, PASSWORD, &["query", sql, "-o", "csv"], "");
        assert_eq!(ran.code, 0, "seed {}: {sql}: {}", self.seed, ran.stderr);
        ran.stdout
    }

    fn start(&self, url: &str, arguments: &[&str], patience: &str) -> Child {
        Command::new(env!("CARGO_BIN_EXE_bulkwire"))
            .args(arguments)
            .args(["--retry-for", patience])
            .current_dir(self.fixture.path(""))
            .env("BULKWIRE_URL", url)
            .env("BULKWIRE_PASSWORD", PASSWORD)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }
}

/// A server that ends with the test.
struct Served(Child);

impl Served {
    /// Ends the server: how many faults its log names.
    fn stop(&mut self) -> usize {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
        let log = self.0.stderr.take().map(BufReader::new);
        log.map_or(0, |log| {
            log.lines().map_while(Result::ok).filter(|line| line.starts_with("fault:")).count()
        })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A port that a server can be given again and again: none that the system hands to others meanwhile.
fn own_port() -> u16 {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    loop {
        let number = std::process::id() as usize * 97 + NEXT.fetch_add(1, Ordering::SeqCst);
        let port = 12_000 + (number % 18_000) as u16;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
}

fn serve(data: &Path, port: u16, faults: Option<&Path>) -> Served {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bulkwire"));
    command.args(["serve", "--port", &port.to_string(), "--data", text(data)]);
    if let Some(faults) = faults {
        command.args(["--faults", text(faults)]);
    }
    let server = command
        .env("BULKWIRE_SERVER_PASSWORD", PASSWORD)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut server = Served(server);
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    if !line.starts_with("listening on ") {
        let mut said = String::new();
        server.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        panic!("the server did not start: {line}{said}");
    }
    server
}

/// A small generator, so that a seed says everything.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
