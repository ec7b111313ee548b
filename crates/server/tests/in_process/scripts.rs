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
//! | `unordered` | first of all: the lines come in any order, as those of OUTPUT may |
//! | `status 0` | a procedure's return status (left out, it is not compared) |
//!
//! A batch that begins with `-- @name` runs in a session of that name; others in the first. Every script begins with
//! an empty server in memory, and with the files of `tests/files` for BULK INSERT.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use crate::answers::{answer, login};
use crate::instances::{empty, on_deep_stacks};
use bulkwire_server::FileAccess;
use executor::session::Session;
use executor::statements::open_session;

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
    // The files of BULK INSERT, in a directory of the script's own, into which it may write.
    let files = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(Path::new(".").join("tests/files")).unwrap() {
        let file = file.unwrap().path();
        std::fs::copy(&file, files.path().join(file.file_name().unwrap())).unwrap();
    }
    let access = FileAccess::new([files.path().to_owned()]).unwrap();
    let instance = Arc::new(empty().with_files(access));
    let mut sessions: HashMap<String, Session> = HashMap::new();
    let text = std::fs::read_to_string(path).unwrap();
    let (mut statements, mut failures) = (0, Vec::new());
    for block in text.split("\n\n").filter(|block| block.contains("\n----")) {
        let (batch, expected) = block.split_once("\n----").unwrap();
        let batch = batch.trim_matches('\n');
        let name = batch.lines().next().and_then(|line| line.strip_prefix("-- @")).unwrap_or("").to_string();
        let spid = 51 + sessions.len() as u16;
        let session =
            sessions.entry(name).or_insert_with(|| open_session(Arc::clone(&instance), login(spid)).unwrap());
        let mut expected: Vec<String> = expected
            .lines()
            .map(|line| line.trim_end().to_string())
            .filter(|line| !line.is_empty())
            .collect();
        let mut actual: Vec<String> =
            answer(session, batch).await.into_iter().map(|line| line.trim_end().to_string()).collect();
        if expected.first().is_some_and(|line| line == "unordered") {
            expected.remove(0);
            expected.sort();
            actual.sort();
        }
        statements += 1;
        // The way of a query is what it is said to be only where nothing else is asked for.
        if expected.iter().any(|line| line.starts_with("Path(")) && std::env::var(QUERY_PATH).is_ok() {
            continue;
        }
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

/// Which way queries take, whatever the size of their tables.
const QUERY_PATH: &str = "BULKWIRE_QUERY_PATH";

/// What a query gives does not depend on whether its rows are few.
#[test]
fn scripts_answer_alike_row_by_row_and_planned() {
    for path in ["rows", "plans"] {
        let run = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "scripts::scripts_answer_as_documented"])
            .env(QUERY_PATH, path)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success(), "{path}: {text}{}", String::from_utf8_lossy(&run.stderr));
    }
}

#[test]
fn scripts_answer_as_documented() {
    on_deep_stacks(run_all());
}

async fn run_all() {
    let directory = Path::new(".").join("tests/scripts");
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
