//! T-SQL by text scripts: statements with the columns, rows and errors that SQL Server's documentation promises.
//!
//! A script is blocks separated by blank lines: a batch, `----`, and what it must answer, line by line:
//!
//! | Line | Meaning |
//! |---|---|
//! | `[a int, b varchar(3) null]` | a result's columns (left out, they are not compared) |
//! | `1 \| x` | a row |
//! | `affected 3` | a row count of a statement that is no query |
//! | `error 208: text` or `error 208` | an error |
//! | `info: text` | a notice |
//! | `status 0` | a procedure's return status (left out, it is not compared) |
//!
//! A batch that begins with `-- @name` runs in a session of that name; others in the first. Every script begins with
//! an empty server in memory.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use bulkwire_server::engine::Datum;
use bulkwire_server::engine::convert::display;
use bulkwire_server::session::response::Response;
use bulkwire_server::session::{Cancellation, Instance, LoginSettings, Request, Session};
use tds::SqlType;
use tokio::sync::mpsc;

fn login(spid: u16) -> LoginSettings {
    LoginSettings {
        database: String::new(),
        user: "sa".into(),
        application: "scripts".into(),
        host: "host".into(),
        spid,
        ansi_defaults: true,
    }
}

async fn answer(session: &mut Session, batch: &str) -> Vec<String> {
    let (events, mut queue) = mpsc::channel(2);
    let (_, lines) = tokio::join!(
        session.execute(Request::Batch(batch.to_string()), events, Cancellation::new()),
        async {
            let mut lines = Vec::new();
            let mut types: Vec<SqlType> = Vec::new();
            let mut in_result = false;
            while let Some(event) = queue.recv().await {
                match event {
                    Response::Columns(result) => {
                        in_result = true;
                        types = result.columns.iter().map(|column| column.sql_type().clone()).collect();
                        let columns: Vec<String> = result
                            .columns
                            .iter()
                            .map(|column| {
                                let null = if column.flags.is_nullable() { " null" } else { "" };
                                format!("{} {}{null}", column.name, column.sql_type())
                            })
                            .collect();
                        for (column, field) in result.columns.iter().zip(result.schema.fields()) {
                            assert_eq!(column.flags.is_nullable(), field.is_nullable(), "{batch}");
                            assert_eq!(&column.name, field.name());
                        }
                        lines.push(format!("[{}]", columns.join(", ")));
                    }
                    Response::Batch(rows) => {
                        for row in 0..rows.num_rows() {
                            let cells: Vec<String> = rows
                                .columns()
                                .iter()
                                .zip(&types)
                                .map(|(array, sql_type)| {
                                    match Datum::read(array.as_ref(), sql_type, row).unwrap() {
                                        Datum::Null => "NULL".to_string(),
                                        value => display(&value, sql_type),
                                    }
                                })
                                .collect();
                            lines.push(cells.join(" | "));
                        }
                    }
                    Response::Done(done) => {
                        if let Some(count) = done.count.filter(|_| !in_result) {
                            lines.push(format!("affected {count}"));
                        }
                        in_result = false;
                    }
                    Response::Error(message) => {
                        in_result = false;
                        lines.push(format!("error {}: {}", message.number, message.message));
                    }
                    Response::Info(message) if message.number == 5701 => {}
                    Response::Info(message) => lines.push(format!("info: {}", message.message)),
                    Response::ReturnStatus(status) => lines.push(format!("status {status}")),
                    _ => {}
                }
            }
            lines
        }
    );
    lines
}

fn agree(expected: &[String], actual: &[String]) -> bool {
    let columns = expected.iter().any(|line| line.starts_with('['));
    let status = expected.iter().any(|line| line.starts_with("status "));
    let affected = expected.iter().any(|line| line.starts_with("affected "));
    let kept: Vec<&String> = actual
        .iter()
        .filter(|line| (columns || !line.starts_with('[')) && (status || !line.starts_with("status ")))
        // `affected` of a SELECT that only assigns, and of statements before, is compared only where it is written.
        .filter(|line| affected || !line.starts_with("affected "))
        .collect();
    kept.len() == expected.len()
        && kept.iter().zip(expected).all(|(actual, expected)| {
            *actual == expected
                || (expected.starts_with("error ")
                    && !expected.contains(':')
                    && actual.starts_with(&format!("{expected}:")))
        })
}

async fn run(path: &Path) -> (usize, Vec<String>) {
    let instance = Arc::new(Instance::in_memory().unwrap());
    let mut sessions: HashMap<String, Session> = HashMap::new();
    let text = std::fs::read_to_string(path).unwrap();
    let (mut statements, mut failures) = (0, Vec::new());
    for block in text.split("\n\n").filter(|block| block.contains("\n----")) {
        let (batch, expected) = block.split_once("\n----").unwrap();
        let batch = batch.trim_matches('\n');
        let name = batch.lines().next().and_then(|line| line.strip_prefix("-- @")).unwrap_or("").to_string();
        let spid = 51 + sessions.len() as u16;
        let session = sessions
            .entry(name)
            .or_insert_with(|| Session::open(Arc::clone(&instance), login(spid)).unwrap());
        let expected: Vec<String> = expected
            .lines()
            .map(|line| line.trim_end().to_string())
            .filter(|line| !line.is_empty())
            .collect();
        let actual: Vec<String> =
            answer(session, batch).await.into_iter().map(|line| line.trim_end().to_string()).collect();
        statements += 1;
        if !agree(&expected, &actual) {
            failures.push(format!(
                "{}\n{batch}\n---- expected\n{}\n---- actual\n{}\n",
                path.file_name().unwrap().to_string_lossy(),
                expected.join("\n"),
                actual.join("\n")
            ));
        }
    }
    (statements, failures)
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_answer_as_documented() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut paths: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let wanted = std::env::var("SCRIPT").ok();
    let (mut statements, mut failures) = (0, Vec::new());
    for path in paths
        .iter()
        .filter(|path| wanted.as_ref().is_none_or(|wanted| path.to_string_lossy().contains(wanted.as_str())))
    {
        let (count, failed) = run(path).await;
        statements += count;
        failures.extend(failed);
    }
    assert!(statements > 0, "no script was found");
    assert!(
        failures.is_empty(),
        "{} of {statements} batches differ:\n\n{}",
        failures.len(),
        failures.join("\n")
    );
    println!("{statements} batches");
}
