//! Copies that are killed and continued: every row once.

use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::fixture::{Fixture, PASSWORD};

const SUMS: &str =
    "SELECT COUNT(*), COUNT(DISTINCT n), SUM(CAST(n AS bigint)), CHECKSUM_AGG(CHECKSUM(n, s)) FROM";

#[test]
fn a_killed_copy_of_a_table_goes_on_where_it_stopped() {
    let fixture = Fixture::new();
    let rows: String = (0..60_000).map(|n| format!("{n},row {n}\n")).collect();
    fixture.file("t.csv", format!("n,s\n{rows}"));
    fixture.sql("CREATE TABLE s (n int NOT NULL PRIMARY KEY, s varchar(30) NULL)");
    fixture.ok(&["copy", "t.csv", "mssql:s", "--quiet"]);
    for (round, (source, delay_ms)) in
        [("mssql:s", 150), ("mssql:s", 500), ("t.csv", 150), ("t.csv", 400)].into_iter().enumerate()
    {
        let target = format!("mssql:t{round}");
        let words = ["copy", source, &target, "--resume", "--batch-rows", "500"];
        let mut copy = Command::new(env!("CARGO_BIN_EXE_bulkwire"))
            .args(words)
            .env("BULKWIRE_URL", fixture.url("Encrypt=Off"))
            .env("BULKWIRE_PASSWORD", PASSWORD)
            .current_dir(fixture.path("."))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        sleep(Duration::from_millis(delay_ms));
        copy.kill().unwrap();
        copy.wait().unwrap();
        fixture.ok(&words);
        assert_eq!(
            fixture.rows(&format!("{SUMS} t{round}")),
            fixture.rows(&format!("{SUMS} s")),
            "{words:?}"
        );
        let done = fixture.ok(&words);
        assert!(done.stderr.contains("an earlier run has copied everything"), "{}", done.stderr);
    }
}

#[test]
fn what_has_no_order_cannot_be_continued() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE heap (n int NOT NULL); CREATE TABLE t (n int NOT NULL)");
    let ran = fixture.run(&["copy", "mssql:heap", "mssql:t", "--resume"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("no unique clustered key"), "{}", ran.stderr);
    let ran = fixture.run(&["copy", "mssql:", "mssql:t", "--query", "SELECT 1 AS n", "--resume"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    let words = ["copy", "-", "mssql:t", "--format", "csv", "--resume"];
    let ran = fixture.run_with(&fixture.url("Encrypt=Off"), PASSWORD, &words, "n\n1\n");
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("--load-id"), "{}", ran.stderr);
}
