//! Every verb that can be continued, cut at its messages and continued: the result is that of a run which nothing disturbed, or a
//! refusal that names what is different.
//!
//! With `BULKWIRE_SOAK_POINTS` every message is taken.

use std::env;
use std::fs;
use std::io::Write;
use std::ops::Range;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::dying_line::{DyingLine, Moment};
use crate::fixture::{Fixture, PASSWORD, Ran};

const ROWS: u64 = 600;
/// Messages of a verb at which it is cut, unless a soak takes all.
const POINTS: usize = 4;
const WORKERS: usize = 3;

/// A command whose words have `{url}` for the server, `{t}` for a name of its own, and what shows its result: a query, or its file.
struct Verb {
    name: &'static str,
    prepare: &'static str,
    words: &'static str,
    shows: &'static str,
}

const TABLE: &str = "CREATE TABLE {t} (n int NOT NULL, s varchar(30) NULL)";
const KEYED: &str = "CREATE TABLE {t} (n int NOT NULL PRIMARY KEY, s varchar(30) NULL); INSERT INTO {t} VALUES (3, 'old'), (9999, 'kept')";
/// The result is the file of the verb's name.
const FILE: &str = "";
const SUMS: &str =
    "SELECT COUNT(*), COUNT(DISTINCT n), SUM(CAST(n AS bigint)), CHECKSUM_AGG(CHECKSUM(n, s)) FROM {t}";

const VERBS: [Verb; 15] = [
    Verb {
        name: "load",
        prepare: TABLE,
        words: "load {t} t.csv --url {url} --resume --batch-rows 100 --retry-for 0",
        shows: SUMS,
    },
    Verb {
        name: "load --create",
        prepare: "",
        words: "load {t} t.csv --url {url} --resume --batch-rows 200 --retry-for 0 --create",
        shows: SUMS,
    },
    Verb {
        name: "load --truncate",
        prepare: KEYED,
        words: "load {t} t.csv --url {url} --resume --batch-rows 200 --retry-for 0 --truncate",
        shows: SUMS,
    },
    Verb {
        name: "load --mode upsert",
        prepare: KEYED,
        words: "load {t} t.csv --url {url} --resume --batch-rows 200 --retry-for 0 --mode upsert --key n",
        shows: SUMS,
    },
    Verb {
        name: "load --mode replace",
        prepare: KEYED,
        words: "load {t} t.csv --url {url} --resume --batch-rows 200 --retry-for 0 --mode replace",
        shows: SUMS,
    },
    Verb {
        name: "load --sole-writer",
        prepare: KEYED,
        words: "load {t} high.csv --url {url} --resume --batch-rows 200 --retry-for 0 --sole-writer",
        shows: SUMS,
    },
    Verb {
        name: "copy of a file",
        prepare: "",
        words: "copy t.csv {url}#{t} --resume --batch-rows 200 --retry-for 0",
        shows: SUMS,
    },
    Verb {
        name: "copy of tables",
        prepare: "CREATE SCHEMA [{t}]",
        words: "copy mssql: {url} --tables origin.* --to-schema {t} --with-keys --resume --jobs 1 --batch-rows 300 --retry-for 0",
        shows: "SELECT (SELECT COUNT(*) FROM [{t}].parent), (SELECT COUNT(*) FROM [{t}].child), \
                (SELECT SUM(CAST(parent AS bigint)) FROM [{t}].child), IDENT_CURRENT('{t}.child'); \
                SELECT t.name, i.name, i.is_unique, i.is_primary_key, i.type FROM sys.indexes AS i \
                JOIN sys.tables AS t ON t.object_id = i.object_id WHERE SCHEMA_NAME(t.schema_id) = '{t}' ORDER BY t.name, i.name; \
                SELECT name, is_not_trusted FROM sys.foreign_keys WHERE SCHEMA_NAME(schema_id) = '{t}' ORDER BY name; \
                SELECT name, is_not_trusted FROM sys.check_constraints WHERE SCHEMA_NAME(schema_id) = '{t}' ORDER BY name; \
                SELECT COUNT(*) FROM sys.default_constraints WHERE SCHEMA_NAME(schema_id) = '{t}'; \
                SELECT COUNT(*) FROM sys.extended_properties AS p JOIN sys.tables AS t ON t.object_id = p.major_id \
                WHERE SCHEMA_NAME(t.schema_id) = '{t}'",
    },
    Verb {
        name: "load --mode insert-new",
        prepare: KEYED,
        words: "load {t} t.csv --url {url} --resume --batch-rows 200 --retry-for 0 --mode insert-new --key n",
        shows: SUMS,
    },
    Verb {
        name: "load --writers",
        prepare: KEYED,
        words: "load {t} high.csv --url {url} --resume --batch-rows 200 --retry-for 0 --writers 3",
        shows: SUMS,
    },
    Verb {
        name: "load --mode replace --writers",
        prepare: KEYED,
        words: "load {t} t.csv --url {url} --resume --batch-rows 200 --retry-for 0 --mode replace --writers 2",
        shows: SUMS,
    },
    Verb {
        name: "copy of a table",
        prepare: "",
        words: "copy mssql:origin.child {url}#{t} --resume --batch-rows 300 --retry-for 0 --writers 2",
        shows: "SELECT COUNT(*), SUM(CAST(id AS bigint)), SUM(CAST(parent AS bigint)), SUM(v) FROM {t}",
    },
    Verb {
        name: "export",
        prepare: "",
        words: "export origin.parent {t}.csv --url {url} --quiet",
        shows: FILE,
    },
    Verb {
        name: "export --readers",
        prepare: "",
        words: "export origin.child {t}.csv --url {url} --quiet --readers 2 --retry-for 0",
        shows: FILE,
    },
    Verb { name: "run", prepare: "", words: "run {t}.toml", shows: FILE },
];

const ORIGIN: &str = "CREATE TABLE origin.parent (id int NOT NULL CONSTRAINT parent_key PRIMARY KEY, name varchar(30) NULL, \
     CONSTRAINT parent_name UNIQUE (name)); \
     CREATE TABLE origin.child (id int IDENTITY(5, 2) NOT NULL CONSTRAINT child_key PRIMARY KEY, parent int NOT NULL, \
     v int NOT NULL CONSTRAINT child_v DEFAULT 7, CONSTRAINT child_check CHECK (v > 0), \
     CONSTRAINT child_parent FOREIGN KEY (parent) REFERENCES origin.parent (id)); \
     CREATE INDEX child_by_parent ON origin.child (parent); \
     INSERT INTO origin.parent SELECT value, CONCAT('name ', value) FROM GENERATE_SERIES(1, 700); \
     INSERT INTO origin.child (parent) SELECT value FROM GENERATE_SERIES(1, 700)";

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    let rows = |first: u64| (first..first + ROWS).map(|n| format!("{n},row {n}\n")).collect::<String>();
    fixture.file("t.csv", format!("n,s\n{}", rows(0)));
    fixture.file("high.csv", format!("n,s\n{}", rows(20_000)));
    fixture.sql("CREATE SCHEMA origin");
    fixture.sql(ORIGIN);
    fixture
}

/// Runs a verb over a line.
fn run(fixture: &Fixture, verb: &Verb, table: &str, line: &DyingLine) -> Ran {
    run_over(fixture, verb, table, line.port)
}

fn run_over(fixture: &Fixture, verb: &Verb, table: &str, port: u16) -> Ran {
    let server = format!("mssql://sa@127.0.0.1:{port}/master");
    let words = verb.words.split(' ').map(|word| match word.split_once('#') {
        Some(("{url}", name)) => format!("{server}/{}?Encrypt=Off", name.replace("{t}", table)),
        _ if word == "{url}" => format!("{server}?Encrypt=Off"),
        _ => word.replace("{t}", table),
    });
    let words: Vec<String> = words.collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[0] {
        "copy" => fixture.run(&words),
        _ => {
            let variables = [("BULKWIRE_PASSWORD", PASSWORD), ("SERVER", &format!("{server}?Encrypt=Off"))];
            fixture.run_with_variables(&variables, &words)
        }
    }
}

/// Returns a package whose every task may be repeated, or is done in a transaction.
fn package(table: &str) -> String {
    format!(
        "[connections]\ndb = {{ url = '${{env:SERVER}}', password_env = 'BULKWIRE_PASSWORD' }}\n\
         [tasks.make]\ntype = 'sql'\nconnection = 'db'\ntransaction = true\n\
         statement = \"IF OBJECT_ID('{table}') IS NULL CREATE TABLE {table} (n int NOT NULL, s varchar(30) NULL)\"\n\
         [tasks.fill]\ntype = 'copy'\nafter = ['make']\nsource = 't.csv'\n\
         destination = {{ connection = 'db', table = '{table}' }}\nmode = 'truncate'\nbatch_rows = 200\nretry_for = 0\n\
         [tasks.add]\ntype = 'sql'\nafter = ['fill']\nconnection = 'db'\ntransaction = true\n\
         statement = 'INSERT INTO {table} SELECT n + 10000, s FROM {table}'\n\
         [tasks.show]\ntype = 'copy'\nafter = ['add']\ndestination = '{table}.csv'\n\
         source = {{ connection = 'db', query = 'SELECT n, s FROM {table} ORDER BY n' }}\n"
    )
}

fn prepare(fixture: &Fixture, verb: &Verb, table: &str) {
    if verb.name == "run" {
        fixture.file(&format!("{table}.toml"), package(table));
    }
    if !verb.prepare.is_empty() {
        fixture.sql(&verb.prepare.replace("{t}", table));
    }
}

fn shown(fixture: &Fixture, verb: &Verb, table: &str) -> String {
    if verb.shows == FILE {
        return file(fixture, table).unwrap();
    }
    let ran = fixture.ok(&["query", &verb.shows.replace("{t}", table)]);
    ran.stdout
}

/// Returns the lines of a verb's file in order, if it is there. Readers may finish in another order.
fn file(fixture: &Fixture, table: &str) -> Option<String> {
    let text = fs::read_to_string(fixture.path(&format!("{table}.csv"))).ok()?;
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    Some(lines.join("\n"))
}

#[test]
fn a_verb_that_is_cut_and_continued_ends_as_one_that_is_not() {
    let fixture = fixture();
    let all = env::var("BULKWIRE_SOAK_POINTS").is_ok();
    let mut cuts = Vec::new();
    let mut expected = Vec::new();
    for (index, verb) in VERBS.iter().enumerate() {
        let table = format!("whole{index}");
        prepare(&fixture, verb, &table);
        let line = DyingLine::new(fixture.server.address(), None);
        let ran = run(&fixture, verb, &table, &line);
        assert_eq!(ran.code, 0, "{}: {}", verb.name, ran.stderr);
        let again = run(&fixture, verb, &table, &line);
        assert_eq!(again.code, 0, "{}, again: {}", verb.name, again.stderr);
        expected.push(shown(&fixture, verb, &table).replace(&table, "{t}"));
        let messages = line.messages();
        let step = if all { 1 } else { messages.div_ceil(POINTS).max(1) };
        for at in (1 + index % step.max(1)..=messages).step_by(step) {
            let moments: &[Moment] = match (all, at % 2) {
                (true, _) => &[Moment::Before, Moment::After],
                (false, 0) => &[Moment::Before],
                (false, _) => &[Moment::After],
            };
            cuts.extend(moments.iter().map(|moment| (index, at, *moment)));
        }
    }
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    let Some(&(index, at, moment)) = cuts.get(number) else { return };
                    let verb = &VERBS[index];
                    let table = format!("cut{number}");
                    prepare(&fixture, verb, &table);
                    let line = DyingLine::new(fixture.server.address(), Some((at, moment)));
                    let first = run(&fixture, verb, &table, &line);
                    drop(line);
                    let what = format!("{} cut at message {at}, {moment:?}", verb.name);
                    assert!([0, 1, 4].contains(&first.code), "{what}: {} {}", first.code, first.stderr);
                    if let Some(found) = file(&fixture, &table) {
                        assert_eq!(
                            found, expected[index],
                            "{what}: a file that is not whole: {}",
                            first.stderr
                        );
                    }
                    let second = run_over(&fixture, verb, &table, fixture.server.address().port());
                    assert_eq!(
                        second.code, 0,
                        "{what}: first {} {}\nthen {}",
                        first.code, first.stderr, second.stderr
                    );
                    let found = shown(&fixture, verb, &table).replace(&table, "{t}");
                    assert_eq!(found, expected[index], "{what}: first {}", first.stderr);
                }
            });
        }
    });
    eprintln!("{} cuts", cuts.len());
}

/// Cuts a plain load when some of its batches are committed.
fn half_loaded(fixture: &Fixture, table: &str, more: &[&str]) -> Vec<String> {
    fixture.sql(&TABLE.replace("{t}", table));
    let mut words: Vec<String> =
        ["load", table, "t.csv", "--resume", "--batch-rows", "100"].map(str::to_owned).into();
    words.extend(more.iter().map(|word| (*word).to_owned()));
    for at in (5..200).step_by(2) {
        let line = DyingLine::new(fixture.server.address(), Some((at, Moment::Before)));
        let url = format!("mssql://sa@127.0.0.1:{}/master?Encrypt=Off", line.port);
        let mut first: Vec<&str> = words.iter().map(String::as_str).collect();
        first.extend(["--retry-for", "0", "--url", &url]);
        let ran = fixture.run_with_variables(&[("BULKWIRE_PASSWORD", PASSWORD)], &first);
        assert!([1, 4].contains(&ran.code), "{}", ran.stderr);
        drop(line);
        if !fixture.rows(&format!("SELECT COUNT(*) FROM {table} HAVING COUNT(*) > 100")).is_empty() {
            return words;
        }
    }
    panic!("no batch was committed");
}

fn again(fixture: &Fixture, words: &[String]) -> Ran {
    fixture.run(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// A load from a pipe that has committed some of its rows, and waits for more.
struct OpenLoad {
    load: Child,
    rows: ChildStdin,
}

impl OpenLoad {
    /// More rows than a reading of the pipe holds, so that whole batches go out.
    const FIRST: u32 = 300_000;

    fn begin(fixture: &Fixture, table: &str, more: &[&str]) -> Self {
        let mut load = Command::new(env!("CARGO_BIN_EXE_bulkwire"))
            .args(["load", table, "-", "--format", "csv", "--batch-rows", "1000", "--quiet"])
            .args(more)
            .env("BULKWIRE_URL", fixture.url("Encrypt=Off"))
            .env("BULKWIRE_PASSWORD", PASSWORD)
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut rows = load.stdin.take().unwrap();
        rows.write_all(format!("n,s\n{}", Self::text(0..Self::FIRST)).as_bytes()).unwrap();
        while fixture.rows(&format!("SELECT COUNT(*) FROM {table} HAVING COUNT(*) > 1000")).is_empty() {
            thread::sleep(Duration::from_millis(20));
        }
        Self { load, rows }
    }

    fn text(range: Range<u32>) -> String {
        range.map(|n| format!("{n},row\n")).collect()
    }

    /// Sends more rows. A load that has failed takes none.
    fn send(&mut self, count: u32) {
        let _ = self.rows.write_all(Self::text(Self::FIRST..Self::FIRST + count).as_bytes());
    }

    fn end(self) -> (Option<i32>, String) {
        drop(self.rows);
        let output = self.load.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }
}

#[test]
fn a_load_whose_table_is_replaced_meanwhile_is_not_done() {
    let fixture = fixture();
    for (table, batches) in [
        ("replaced", "DROP TABLE {t}; CREATE TABLE {t} (n int NOT NULL, s varchar(30) NULL)"),
        ("renamed", "EXEC sp_rename '{t}', '{t}_old'; CREATE TABLE {t} (n int NOT NULL, s varchar(30) NULL)"),
    ] {
        fixture.sql(&TABLE.replace("{t}", table));
        let mut load = OpenLoad::begin(&fixture, table, &["--resume", "--load-id", table]);
        for batch in batches.replace("{t}", table).split("; ") {
            fixture.sql(batch);
        }
        load.send(2000);
        let (code, said) = load.end();
        assert_eq!(code, Some(1), "{table}: {said}");
        assert!(
            said.contains("another table has taken the place") || said.contains("Msg 208"),
            "{table}: {said}"
        );
    }
}

#[test]
fn a_load_whose_table_is_altered_meanwhile_ends_with_the_documented_error() {
    let fixture = fixture();
    for (table, change) in [
        ("widened", "ALTER TABLE {t} ADD more int NULL"),
        ("narrowed", "ALTER TABLE {t} DROP COLUMN s"),
        ("changed", "ALTER TABLE {t} ALTER COLUMN n bigint NOT NULL"),
    ] {
        fixture.sql(&TABLE.replace("{t}", table));
        let mut load = OpenLoad::begin(&fixture, table, &[]);
        let change = change.replace("{t}", table);
        let held = format!("BEGIN TRANSACTION; {change}; WAITFOR DELAY '00:00:01'; COMMIT");
        thread::scope(|scope| {
            scope.spawn(|| fixture.sql(&held));
            // The next batches are announced before or behind the change, or while it holds its lock.
            for _ in 0..40 {
                load.send(5000);
                thread::sleep(Duration::from_millis(40));
            }
        });
        let (code, said) = load.end();
        assert!(!said.contains("596"), "{table}: {said}");
        let is_known = ["4891", "207"].iter().any(|number| said.contains(&format!("Msg {number},")));
        assert!(code == Some(0) || is_known, "{table}: {code:?} {said}");
    }
}

#[test]
fn a_load_does_not_go_on_in_another_table() {
    let fixture = fixture();
    let cases: [(&str, &str, &[&str]); 6] = [
        ("dropped", "DROP TABLE {t}; CREATE TABLE {t} (n int NOT NULL, s varchar(30) NULL)", &[]),
        (
            "renamed",
            "EXEC sp_rename '{t}', '{t}_old'; CREATE TABLE {t} (n int NOT NULL, s varchar(30) NULL)",
            &[],
        ),
        ("gone", "DROP TABLE {t}", &[]),
        ("truncated", "TRUNCATE TABLE {t}", &[]),
        ("lessened", "DELETE {t} WHERE n < 50", &[]),
        ("changed", "DELETE {t} WHERE n = 5; INSERT {t} VALUES (-1, 'x'), (-2, 'y')", &["--sole-writer"]),
    ];
    for (table, change, more) in cases {
        let words = half_loaded(&fixture, table, more);
        for batch in change.replace("{t}", table).split("; ") {
            fixture.sql(batch);
        }
        let ran = again(&fixture, &words);
        assert_eq!(ran.code, 1, "{table}: {}", ran.stderr);
        let said = ran.stderr.contains("is not the table that load") || ran.stderr.contains("does not exist");
        assert!(said, "{table}: {}", ran.stderr);
        if table != "gone" {
            let last = fixture.rows(&format!("SELECT COUNT(*) FROM {table} WHERE n = {}", ROWS - 1));
            assert_eq!(last, fixture.rows("SELECT 0"), "{table}");
        }
        // What is different by intention begins again.
        if table != "gone" {
            fixture.ok(&["query", &format!("TRUNCATE TABLE {table}")]);
            let mut fresh: Vec<&str> = words.iter().map(String::as_str).collect();
            fresh.extend(["--load-id", table]);
            fixture.ok(&fresh);
        }
    }
    // Rows of others beside the load's are no reason to refuse it, and neither is an index.
    let words = half_loaded(&fixture, "shared", &[]);
    fixture.sql("INSERT shared VALUES (-1, 'x'); CREATE INDEX by_s ON shared (s)");
    let ran = again(&fixture, &words);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM shared"), fixture.rows(&format!("SELECT {}", ROWS + 1)));
    // Nothing was committed: any table will do.
    fixture.sql("CREATE TABLE early (n int NOT NULL, s varchar(30) NULL)");
    let line = DyingLine::new(fixture.server.address(), Some((6, Moment::Before)));
    let url = format!("mssql://sa@127.0.0.1:{}/master?Encrypt=Off", line.port);
    let words = ["load", "early", "t.csv", "--resume", "--retry-for", "0", "--url", &url];
    assert_eq!(fixture.run_with_variables(&[("BULKWIRE_PASSWORD", PASSWORD)], &words).code, 1);
    drop(line);
    fixture.sql("DROP TABLE early");
    fixture.sql("CREATE TABLE early (n int NOT NULL, s varchar(30) NULL)");
    fixture.ok(&["load", "early", "t.csv", "--resume"]);
}

#[cfg(unix)]
#[test]
fn a_load_goes_on_however_its_file_is_named() {
    let fixture = fixture();
    std::os::unix::fs::symlink(fixture.path("t.csv"), fixture.path("latest.csv")).unwrap();
    fs::create_dir(fixture.path("in")).unwrap();
    for (table, spelled) in [("linked", "latest.csv"), ("dotted", "in/../t.csv")] {
        let mut words = half_loaded(&fixture, table, &[]);
        words[2] = spelled.to_owned();
        let ran = again(&fixture, &words);
        assert_eq!(ran.code, 0, "{table}: {}", ran.stderr);
        let whole = format!("SELECT COUNT(*), COUNT(DISTINCT n) FROM {table}");
        assert_eq!(fixture.rows(&whole), format!("{ROWS},{ROWS}\n"), "{table}");
        words[2] = "t.csv".to_owned();
        assert!(again(&fixture, &words).stderr.contains("is done already"), "{table}");
    }
    // A copy of the file holds the same rows, of which some are in the table.
    let words = half_loaded(&fixture, "twin", &[]);
    fs::copy(fixture.path("t.csv"), fixture.path("copied.csv")).unwrap();
    let mut copied = words.clone();
    copied[2] = "copied.csv".to_owned();
    let ran = again(&fixture, &copied);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("has committed rows of the same data"), "{}", ran.stderr);
    assert_eq!(again(&fixture, &words).code, 0);
    let whole = "SELECT COUNT(*), COUNT(DISTINCT n) FROM twin";
    assert_eq!(fixture.rows(whole), format!("{ROWS},{ROWS}\n"));
    // A finished load and a name of one's own are no hindrance.
    copied.extend(["--load-id".to_owned(), "once more".to_owned()]);
    assert_eq!(again(&fixture, &copied).code, 0);
    assert_eq!(fixture.rows(whole), format!("{},{ROWS}\n", 2 * ROWS));
}

#[test]
fn a_finished_load_is_not_done_in_another_table_or_with_another_file() {
    let fixture = fixture();
    fixture.sql(&TABLE.replace("{t}", "done"));
    let words = ["load", "done", "t.csv", "--resume"];
    fixture.ok(&words);
    let ran = fixture.ok(&words);
    assert!(ran.stderr.contains("is done already"), "{}", ran.stderr);
    // Copied again, it is the same file.
    let content = fs::read(fixture.path("t.csv")).unwrap();
    fs::remove_file(fixture.path("t.csv")).unwrap();
    fixture.file("t.csv", &content);
    let ran = fixture.ok(&words);
    assert!(ran.stderr.contains("is done already"), "{}", ran.stderr);
    fixture.sql("DROP TABLE done");
    fixture.sql(&TABLE.replace("{t}", "done"));
    let ran = fixture.run(&words);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("is not the table that load"), "{}", ran.stderr);
    // A correction that is as long as the mistake, in the middle of a large file.
    let filler = "x".repeat(1_000);
    let rows: String = (0..6_000).map(|n| format!("{n},{filler}\n")).collect();
    let mut large = format!("n,s\n{rows}").into_bytes();
    fixture.file("large.csv", &large);
    fixture.sql("CREATE TABLE corrected (n int NOT NULL PRIMARY KEY, s varchar(1000) NULL)");
    let words = ["load", "corrected", "large.csv", "--resume", "--mode", "upsert", "--key", "n", "--quiet"];
    fixture.ok(&words);
    let place = large.len() * 37 / 100;
    let line_end = place + large[place..].iter().position(|byte| *byte == b'\n').unwrap();
    large[line_end - 1] = b'y';
    fixture.file("large.csv", &large);
    fixture.ok(&words);
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM corrected WHERE s LIKE '%y'"), fixture.rows("SELECT 1"));
}

#[test]
fn a_damaged_ledger_is_said_to_be_damaged() {
    let fixture = fixture();
    for (table, damage) in [
        ("entries", "DELETE bulkwire_load_chunks"),
        ("entry", "DELETE TOP (1) bulkwire_load_chunks"),
        ("listing", "DROP TABLE bulkwire_load_chunks"),
    ] {
        let words = half_loaded(&fixture, table, &[]);
        fixture.sql(damage);
        let ran = again(&fixture, &words);
        assert_eq!(ran.code, 1, "{table}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("the ledger of load") && ran.stderr.contains("is damaged"),
            "{}",
            ran.stderr
        );
        // Else the next damage would be found for this load.
        fixture.sql("DELETE bulkwire_loads; DELETE bulkwire_load_sources");
        fixture
            .ok(&["query", "IF OBJECT_ID('bulkwire_load_chunks') IS NOT NULL DELETE bulkwire_load_chunks"]);
    }
}

#[test]
fn the_first_connection_is_waited_for() {
    for number in [921, 922, 4060, 18401, 40197, 40501, 40613, 42108] {
        let fixture = Fixture::with(|options| {
            let rules = format!(
                r#"{{"rules": [{{"fault": "error", "number": {number}, "on": "login", "application": "patient", "times": 2}}]}}"#
            );
            let name = format!("bulkwire-resumed-{}-{number}.json", std::process::id());
            let file = std::env::temp_dir().join(name);
            fs::write(&file, rules).unwrap();
            options.faults = Some(file);
        });
        fixture.file("t.csv", "n,s\n1,a\n");
        fixture.sql("CREATE TABLE t (n int NOT NULL, s varchar(30) NULL)");
        let url = fixture.url("Encrypt=Off&Application%20Name=patient");
        let ran = fixture.run_with(&url, PASSWORD, &["load", "t", "t.csv", "--retry-for", "60"], "");
        assert_eq!(ran.code, 0, "{number}: {}", ran.stderr);
        assert!(ran.stderr.contains("this is tried again"), "{number}: {}", ran.stderr);
    }
    // Without a word nothing is waited for, and with these keywords so many tries.
    for (keywords, code) in [
        ("", 1),
        ("&ConnectRetryCount=1&ConnectRetryInterval=1", 1),
        ("&ConnectRetryCount=2&ConnectRetryInterval=1", 0),
    ] {
        let fixture = Fixture::with(|options| {
            let rules = r#"{"rules": [{"fault": "error", "number": 40613, "on": "login", "application": "patient", "times": 2}]}"#;
            let name =
                format!("bulkwire-resumed-{}-{}.json", std::process::id(), keywords.len() + code as usize);
            let file = std::env::temp_dir().join(name);
            fs::write(&file, rules).unwrap();
            options.faults = Some(file);
        });
        let url = fixture.url(&format!("Encrypt=Off&Application%20Name=patient{keywords}"));
        let ran = fixture.run_with(&url, PASSWORD, &["query", "SELECT 1"], "");
        assert_eq!(ran.code, code, "{keywords}: {}", ran.stderr);
    }
}

#[test]
fn a_beginning_that_breaks_is_begun_again() {
    let fixture = fixture();
    // Up to the first rows, whatever comes before them: login, ledger, table, plan, TRUNCATE.
    for (index, more) in [&["--resume"] as &[&str], &["--truncate"], &["--mode", "upsert", "--key", "n"]]
        .into_iter()
        .enumerate()
    {
        for at in 1..=9 {
            let table = format!("begun{index}_{at}");
            fixture.sql(&KEYED.replace("{t}", &table).replace("; INSERT", "; INSERT "));
            // The line is dead for its first connections, and there again for the next.
            let line = crate::faulty_line::Line::each(fixture.server.address(), move |number| {
                let fault = crate::faulty_line::Fault {
                    way: crate::faulty_line::Way::Up,
                    at: at * 150,
                    kind: crate::faulty_line::Kind::Reset,
                };
                (number < 2).then_some(fault)
            });
            let url = format!("mssql://sa@127.0.0.1:{}/master?Encrypt=Off", line.port);
            let mut words = vec!["load", &table, "high.csv", "--quiet", "--url", &url];
            words.extend(more);
            let mut patient = words.clone();
            patient.extend(["--retry-for", "60"]);
            let ran = fixture.run_with_variables(&[("BULKWIRE_PASSWORD", PASSWORD)], &patient);
            assert_eq!(ran.code, 0, "{more:?}, {at}: {}", ran.stderr);
            let before = if more[0] == "--truncate" { 0 } else { 2 };
            assert_eq!(
                fixture.rows(&format!("SELECT COUNT(*) FROM {table}")),
                fixture.rows(&format!("SELECT {}", ROWS + before)),
                "{more:?}, {at}"
            );
        }
    }
}
