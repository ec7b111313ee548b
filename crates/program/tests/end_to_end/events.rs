//! `--log-json`: every line of standard error is an event, and none holds a secret.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::fixture::{Fixture, PASSWORD, Ran};

/// The events of a command, which all have what docs/events.md promises.
fn events(ran: &Ran) -> Vec<Value> {
    let lines = ran.stderr.lines();
    let events: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    for event in &events {
        let moment = event["timestamp"].as_str().unwrap();
        assert!(moment.len() == 27 && moment.ends_with('Z'), "{event}");
    }
    let names = names(&events);
    assert_eq!((names.first(), names.last()), (Some(&"began"), Some(&"finished")), "{names:?}");
    assert_eq!(names.iter().filter(|name| ["began", "finished"].contains(name)).count(), 2, "{names:?}");
    assert_eq!(events.last().unwrap()["exit_code"], ran.code, "{}", ran.stderr);
    assert!(!ran.stderr.contains(PASSWORD), "{}", ran.stderr);
    events
}

fn names(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["event"].as_str().unwrap()).collect()
}

fn all<'e>(events: &'e [Value], name: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["event"] == name).collect()
}

#[test]
fn a_load_says_what_it_does() {
    let fixture = Fixture::new();
    fixture.ok(&["query", "CREATE TABLE t (id int NOT NULL, name varchar(10))"]);
    let rows: String = (0..1000).map(|id| format!("{id},n{id}\n")).collect();
    fixture.file("rows.csv", format!("id,name\n{rows}bad,secret-value\n"));
    let words =
        ["load", "t", "rows.csv", "--log-json", "--batch-rows", "400", "--max-errors", "5", "--writers", "2"];
    let ran = fixture.run(&words);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{}", ran.stderr);
    let events = events(&ran);
    let began = &events[0];
    assert_eq!((began["command"].as_str(), began["process"].is_u64()), (Some("load"), true), "{began}");
    let plan = all(&events, "plan")[0];
    assert_eq!(
        (plan["source"].as_str(), plan["destination"].as_str()),
        (Some("rows.csv"), Some("[dbo].[t]")),
        "{plan}"
    );
    assert!(
        plan["choices"].as_array().unwrap().iter().any(|choice| choice["setting"] == "TABLOCK"),
        "{plan}"
    );
    let batches = all(&events, "batch_committed");
    assert_eq!(batches.iter().map(|batch| batch["rows"].as_u64().unwrap()).sum::<u64>(), 1000);
    assert!(batches.iter().all(|batch| batch["bytes"].as_u64().unwrap() > 0));
    assert!(batches.iter().all(|batch| batch["seconds"].as_f64().unwrap() > 0.0));
    let (added, removed) = (all(&events, "writer_added"), all(&events, "writer_removed"));
    assert!(!added.is_empty() && added.len() == removed.len(), "{:?}", names(&events));
    assert_eq!(removed.last().unwrap()["writers"], 0);
    let refused = all(&events, "row_refused");
    assert_eq!(refused.len(), 1, "{:?}", names(&events));
    assert_eq!((refused[0]["row"].as_u64(), refused[0]["column"].as_str()), (Some(1001), Some("id")));
    assert!(!ran.stderr.contains("secret-value"), "{}", ran.stderr);
    let loaded = all(&events, "loaded")[0];
    assert_eq!((loaded["rows"].as_u64(), loaded["rejected"].as_u64()), (Some(1000), Some(1)), "{loaded}");
    assert!(loaded["limited_by"].is_string(), "{loaded}");
    assert!(all(&events, "message").is_empty(), "{}", ran.stderr);
}

#[test]
fn a_load_that_fails_says_why() {
    let fixture = Fixture::new();
    fixture.ok(&["query", "CREATE TABLE t (id int NOT NULL PRIMARY KEY)"]);
    fixture.file("rows.csv", "id\n1\n2\n2\n");
    let ran = fixture.run(&["load", "t", "rows.csv", "--log-json"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let seen = events(&ran);
    let failed = all(&seen, "load_failed")[0];
    assert!(failed["error"].as_str().unwrap().contains("2627"), "{failed}");
    assert_eq!(failed["rows_committed"], 0);
    let message = all(&seen, "message")[0];
    assert_eq!(message["level"], "error");
    // Nothing could be begun.
    let ran = fixture.run(&["load", "missing", "rows.csv", "--log-json", "--log-level", "debug"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let seen = events(&ran);
    assert!(!all(&seen, "message").is_empty() && !all(&seen, "trace").is_empty(), "{:?}", names(&seen));
}

#[test]
fn retries_are_numbered() {
    let fixture = Fixture::with(|options| {
        let rules = r#"{"rules": [{"fault": "error", "number": 1205, "on": "bulk", "times": 2}]}"#;
        let file = std::env::temp_dir().join(format!("bulkwire-events-{}.json", std::process::id()));
        fs::write(&file, rules).unwrap();
        options.faults = Some(file);
    });
    fixture.ok(&["query", "CREATE TABLE t (id int NOT NULL)"]);
    fixture.file("rows.csv", "id\n1\n2\n");
    let ran = fixture.run(&["load", "t", "rows.csv", "--log-json", "--retry-for", "60"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let seen = events(&ran);
    let retries = all(&seen, "retry");
    let numbers: Vec<u64> = retries.iter().map(|retry| retry["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [1, 2], "{}", ran.stderr);
    assert!(retries[0]["error"].as_str().unwrap().contains("1205") && retries[0]["wait_seconds"].is_f64());
    assert_eq!(all(&seen, "batch_committed").len(), 1);
}

#[test]
fn a_stage_is_published() {
    let fixture = Fixture::new();
    fixture.ok(&["query", "CREATE TABLE t (id int NOT NULL PRIMARY KEY); INSERT INTO t VALUES (1)"]);
    fixture.file("rows.csv", "id\n1\n2\n");
    let ran = fixture.ok(&["load", "t", "rows.csv", "--log-json", "--mode", "upsert", "--key", "id"]);
    let seen = events(&ran);
    let published = all(&seen, "published")[0];
    assert_eq!(
        (published["inserted"].as_u64(), published["table"].as_str()),
        (Some(1), Some("[dbo].[t]")),
        "{published}"
    );
}

#[test]
fn exports_and_copies_say_what_they_do() {
    let fixture = Fixture::new();
    fixture.ok(&["query", "CREATE TABLE t (id int NOT NULL); INSERT INTO t VALUES (1), (2)"]);
    let ran = fixture.ok(&["export", "t", "out.csv", "--log-json"]);
    let seen = events(&ran);
    let exported = all(&seen, "exported")[0];
    assert_eq!(
        (exported["rows"].as_u64(), exported["file"].as_str()),
        (Some(2), Some("out.csv")),
        "{exported}"
    );
    let ran = fixture.ok(&["export", "t", "-", "--format", "csv", "--log-json", "--json"]);
    assert_eq!(ran.stdout, "id\n1\n2\n");
    events(&ran);
    let ran = fixture.ok(&["export", "t", "folder/", "--format", "csv", "--log-json"]);
    assert_eq!(all(&events(&ran), "exported").len(), 1);
    let ran = fixture.ok(&["copy", "out.csv", "mssql:copied", "--log-json"]);
    let seen = events(&ran);
    let plan = all(&seen, "plan")[0];
    assert!(plan["created_by"].as_str().unwrap().starts_with("CREATE TABLE"), "{plan}");
    let copied = all(&seen, "copied")[0];
    assert_eq!((copied["rows"].as_u64(), copied["source"].as_str()), (Some(2), Some("out.csv")), "{copied}");
    assert_eq!(all(&seen, "batch_committed").len(), 1);
    fixture.file("bad.csv", "id\nx\n");
    let url = format!("{}&Password={PASSWORD}", fixture.url("Encrypt=Off"));
    let to = url.replace("/master?", "/master/dbo.copied?");
    let ran = fixture.run(&["copy", "bad.csv", &to, "--log-json"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert_eq!(all(&events(&ran), "copy_failed").len(), 1, "{}", ran.stderr);
}

#[test]
fn a_run_says_what_its_tasks_do() {
    let fixture = Fixture::new();
    fixture.file("in.csv", "id\n1\n");
    let package = "[tasks.first]\ntype = \"copy\"\nsource = \"in.csv\"\ndestination = \"out.csv\"\n";
    fixture.file("job.toml", package);
    let ran = fixture.ok(&["run", "job.toml", "--log-json"]);
    let seen = events(&ran);
    let of_run: Vec<&str> =
        names(&seen).into_iter().filter(|name| *name != "task_rows" && *name != "task_note").collect();
    assert_eq!(
        of_run,
        ["began", "run", "task_began", "task_ended", "run_ended", "finished"],
        "{}",
        ran.stderr
    );
    assert_eq!(all(&seen, "task_ended")[0]["task"], "first");
    fixture.file("wrong.toml", "[tasks.first]\ntype = \"nothing\"\n");
    let ran = fixture.run(&["run", "wrong.toml", "--log-json"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(!all(&events(&ran), "message").is_empty());
}

#[test]
fn an_interrupted_load_ends_its_events() {
    let fixture = Fixture::new();
    fixture.ok(&["query", "CREATE TABLE t (id int NOT NULL)"]);
    let mut child = Command::new(env!("CARGO_BIN_EXE_bulkwire"))
        .args(["load", "t", "-", "--format", "csv", "--log-json"])
        .env("BULKWIRE_URL", fixture.url("Encrypt=Off"))
        .env("BULKWIRE_PASSWORD", PASSWORD)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"id\n1\n").unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut stderr = String::new();
    while !stderr.contains("\"began\"") {
        lines.read_line(&mut stderr).unwrap();
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    lines.read_to_string(&mut stderr).unwrap();
    let code = child.wait().unwrap().code().unwrap();
    drop(input);
    let ran = Ran { code, stdout: String::new(), stderr };
    assert_eq!(ran.code, 130, "{}", ran.stderr);
    let seen = events(&ran);
    let message = all(&seen, "message")[0];
    assert!(message["text"].as_str().unwrap().starts_with("interrupted"), "{message}");
}
