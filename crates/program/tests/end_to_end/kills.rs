//! Processes killed in the middle of a load: whole batches stay, nothing is half there.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::fixture::{Fixture, PASSWORD, text};

const BATCH_ROWS: u64 = 500;
const ROWS: u64 = 40_000;

#[test]
fn a_killed_server_keeps_whole_batches() {
    let fixture = Fixture::new();
    let data = fixture.path("data");
    let csv: String = (0..ROWS).map(|n| format!("{n},row {n}\n")).collect();
    fixture.file("t.csv", format!("n,s\n{csv}"));
    for (round, delay_ms) in [40, 150, 400].into_iter().enumerate() {
        let table = format!("t{round}");
        let (mut server, url) = serve(&data);
        let created = format!("CREATE TABLE {table} (n int NOT NULL, s varchar(30) NULL)");
        assert_eq!(fixture.run_with(&url, PASSWORD, &["query", &created], "").code, 0);
        let load = load(&fixture, &url, &table);
        sleep(Duration::from_millis(delay_ms));
        server.kill().unwrap();
        server.wait().unwrap();
        let loaded = load.wait_with_output().unwrap();
        let (mut server, url) = serve(&data);
        let kept = count(&fixture, &url, &table);
        let said = String::from_utf8(loaded.stderr).unwrap();
        assert!(kept >= committed(&said), "{kept} rows after {said}");
        server.kill().unwrap();
        server.wait().unwrap();
    }
}

#[test]
fn a_killed_client_leaves_whole_batches_and_a_server_that_answers() {
    let fixture = Fixture::new();
    let csv: String = (0..ROWS).map(|n| format!("{n},row {n}\n")).collect();
    fixture.file("t.csv", format!("n,s\n{csv}"));
    let url = fixture.url("Encrypt=Off");
    for (round, delay_ms) in [40, 150, 400].into_iter().enumerate() {
        let table = format!("t{round}");
        fixture.sql(&format!("CREATE TABLE {table} (n int NOT NULL, s varchar(30) NULL)"));
        let mut load = load(&fixture, &url, &table);
        sleep(Duration::from_millis(delay_ms));
        load.kill().unwrap();
        load.wait().unwrap();
        count(&fixture, &url, &table);
    }
}

/// The rows of the table, after a look at whether they are the first so many of the file, in whole batches.
fn count(fixture: &Fixture, url: &str, table: &str) -> u64 {
    let sql = format!("SELECT COUNT(*), COALESCE(SUM(CAST(n AS bigint)), 0), COUNT(DISTINCT n) FROM {table}");
    let ran = fixture.run_with(url, PASSWORD, &["query", &sql, "-o", "csv"], "");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let numbers: Vec<u64> =
        ran.stdout.lines().nth(1).unwrap().split(',').map(|number| number.parse().unwrap()).collect();
    let rows = numbers[0];
    assert_eq!(rows % BATCH_ROWS, 0, "{rows} rows");
    assert_eq!(numbers[1], rows * rows.saturating_sub(1) / 2, "the first {rows} rows, each once");
    assert_eq!(numbers[2], rows);
    rows
}

/// What the client says was committed before its load failed; all of it if the load did not fail, nothing if it had not begun.
fn committed(stderr: &str) -> u64 {
    match stderr.split_once("; ") {
        Some((_, rest)) => rest.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0),
        None if stderr.is_empty() => ROWS,
        None => 0,
    }
}

fn load(fixture: &Fixture, url: &str, table: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_bulkwire"))
        .args(["load", table, "t.csv", "--quiet", "--batch-rows", &BATCH_ROWS.to_string()])
        .current_dir(fixture.path(""))
        .env("BULKWIRE_URL", url)
        .env("BULKWIRE_PASSWORD", PASSWORD)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// `bulkwire serve` on a directory.
fn serve(data: &Path) -> (Child, String) {
    let mut server = Command::new(env!("CARGO_BIN_EXE_bulkwire"))
        .args(["serve", "--port", "0", "--data", text(data)])
        .env("BULKWIRE_SERVER_PASSWORD", PASSWORD)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("the server said {line:?}"));
    (server, format!("{url}?Encrypt=Off"))
}

#[cfg(unix)]
#[test]
fn an_interrupted_load_says_how_many_rows_are_committed() {
    let fixture = Fixture::new();
    let csv: String = (0..ROWS).map(|n| format!("{n},row {n}\n")).collect();
    fixture.file("t.csv", format!("n,s\n{csv}"));
    let url = fixture.url("Encrypt=Off");
    for (round, delay_ms) in [80, 200, 400].into_iter().enumerate() {
        let table = format!("t{round}");
        fixture.sql(&format!("CREATE TABLE {table} (n int NOT NULL, s varchar(30) NULL)"));
        let load = load(&fixture, &url, &table);
        sleep(Duration::from_millis(delay_ms));
        let kill = Command::new("kill").args(["-s", "INT", &load.id().to_string()]).status().unwrap();
        let ended = load.wait_with_output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        let kept = count(&fixture, &url, &table);
        // Too early or too late for the load to hear it.
        if !kill.success() || ended.status.code() != Some(130) {
            continue;
        }
        let told = said.split_once("interrupted; ").unwrap_or_else(|| panic!("{said}")).1;
        let told: u64 = told.split(' ').next().unwrap().replace(',', "").parse().unwrap();
        let doubtful = if said.contains("it is not known") { BATCH_ROWS } else { 0 };
        assert!(kept == told || kept == told + doubtful, "{kept} rows after {said}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_export_leaves_no_file() {
    let fixture = Fixture::new();
    let digits = "(VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) AS";
    let sql = format!(
        "SELECT a.n FROM {digits} a(n), {digits} b(n), {digits} c(n), {digits} d(n), {digits} e(n), {digits} f(n), \
         {digits} g(n), {digits} h(n), {digits} i(n)"
    );
    let folder = fixture.path("out");
    std::fs::create_dir(&folder).unwrap();
    let files = || std::fs::read_dir(&folder).unwrap().count();
    for signal in ["INT", "TERM"] {
        let mut export = Command::new(env!("CARGO_BIN_EXE_bulkwire"))
            .args(["export", "--query", &sql, "out/t.csv", "--quiet"])
            .current_dir(folder.parent().unwrap())
            .env("BULKWIRE_URL", fixture.url("Encrypt=Off"))
            .env("BULKWIRE_PASSWORD", PASSWORD)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        while files() == 0 {
            assert!(export.try_wait().unwrap().is_none(), "the export ended before it began to write");
            sleep(Duration::from_millis(5));
        }
        let kill = Command::new("kill").args(["-s", signal, &export.id().to_string()]).status().unwrap();
        assert!(kill.success());
        let ended = export.wait_with_output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(if signal == "INT" { 130 } else { 143 }), "{said}");
        assert!(said.contains("interrupted"), "{said}");
        assert_eq!(files(), 0);
    }
}
