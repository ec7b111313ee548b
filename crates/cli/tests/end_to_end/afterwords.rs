//! What is said of a load when it is done.

use serde_json::Value;

use crate::fixture::Fixture;

/// A file that is large enough for the server to be asked.
fn numbers(fixture: &Fixture, rows: usize) -> String {
    let mut text = String::from("id,name\n");
    for row in 0..rows {
        text.push_str(&format!("{row},the name of number {row} among many\n"));
    }
    fixture.file("numbers.csv", text).to_string_lossy().into_owned()
}

fn report(fixture: &Fixture, arguments: &[&str]) -> Value {
    let ran = fixture.run(arguments);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn the_report_says_what_the_server_logged_and_waited_for() {
    let fixture = Fixture::new();
    let file = numbers(&fixture, 40_000);
    let made = "CREATE DATABASE logged; ALTER DATABASE logged SET RECOVERY FULL; \
        CREATE TABLE logged.dbo.one (id int, name varchar(60)); CREATE TABLE logged.dbo.many (id int, name varchar(60))";
    assert_eq!(fixture.run(&["query", made]).code, 0);
    for (table, writers) in [("logged.dbo.one", None), ("logged.dbo.many", Some("3"))] {
        let mut arguments = vec!["load", table, &file, "--json", "--quiet"];
        arguments.extend(writers.iter().flat_map(|writers| ["--writers", *writers]));
        let report = report(&fixture, &arguments);
        assert_eq!(report["rows"], 40_000, "{report}");
        // Rows of 13 bytes besides their text of 36 to 40, each logged in its page.
        let logged = report["server_log_bytes"].as_u64().unwrap();
        assert!((40_000 * 50..40_000 * 80).contains(&logged), "{logged}");
        let waits = report["server_waits"].as_array().unwrap();
        assert!(waits.iter().all(|wait| wait["wait_type"].is_string() && wait["milliseconds"].is_u64()));
        let longest: Vec<u64> = waits.iter().map(|wait| wait["milliseconds"].as_u64().unwrap()).collect();
        assert!(longest.is_sorted_by(|one, other| one >= other), "{longest:?}");
        let changes = report["writer_changes"].as_array().unwrap();
        let most = changes.iter().map(|change| change["writers"].as_u64().unwrap()).max();
        assert_eq!(most, Some(if writers.is_some() { 3 } else { 1 }), "{report}");
        assert_eq!(changes.last().unwrap()["writers"], 0, "{report}");
    }
    let ran = fixture.run(&["load", "logged.dbo.one", &file]);
    assert!(ran.stderr.contains("server log: ") && ran.stderr.contains("server waits: "), "{}", ran.stderr);
}

#[test]
fn a_short_file_costs_no_questions() {
    let fixture = Fixture::new();
    let file = numbers(&fixture, 10);
    assert_eq!(fixture.run(&["query", "CREATE TABLE dbo.few (id int, name varchar(60))"]).code, 0);
    let report = report(&fixture, &["load", "dbo.few", &file, "--json", "--quiet"]);
    assert_eq!((&report["server_log_bytes"], &report["server_waits"]), (&Value::Null, &Value::Null));
}
