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
//!
//! Each script is a test. `SCRIPTS=write cargo test … scripts` writes the answers that differ into the scripts instead of failing:
//! read the difference before it is committed.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use crate::answers::{answer, login};
use crate::instances::{empty, on_deep_stacks};
use bulkwire_server::FileAccess;
use executor::session::Session;
use executor::statements::open_session;

/// The lines of an answer that are compared: columns, row counts and the status only where the script writes them.
fn kept<'a>(expected: &[String], actual: &'a [String]) -> Vec<&'a String> {
    let columns = expected.iter().any(|line| line.starts_with('['));
    let status = expected.iter().any(|line| line.starts_with("status "));
    let affected = expected.iter().any(|line| line.starts_with("affected "));
    actual
        .iter()
        .filter(|line| (columns || !line.starts_with('[')) && (status || !line.starts_with("status ")))
        // `affected` of a SELECT that only assigns, and of statements before, is compared only where it is written.
        .filter(|line| affected || !line.starts_with("affected "))
        .collect()
}

fn agree(expected: &[String], actual: &[String]) -> bool {
    let kept = kept(expected, actual);
    kept.len() == expected.len()
        && kept.iter().zip(expected).all(|(actual, expected)| {
            *actual == expected
                || (expected.starts_with("error ")
                    && !expected.contains(':')
                    && actual.starts_with(&format!("{expected}:")))
        })
}

/// The files of BULK INSERT, in a directory of the script's own, into which it may write.
fn copied_files() -> tempfile::TempDir {
    let files = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(Path::new(".").join("tests/files")).unwrap() {
        let file = file.unwrap().path();
        std::fs::copy(&file, files.path().join(file.file_name().unwrap())).unwrap();
    }
    files
}

/// A batch that has answered otherwise than its script says.
struct Difference {
    batch: String,
    expected: Vec<String>,
    actual: Vec<String>,
}

/// Runs a script on a server of its own.
async fn run(text: &str) -> Vec<Difference> {
    let files = copied_files();
    let access = FileAccess::new([files.path().to_owned()]).unwrap();
    let instance = Arc::new(empty().with_files(access));
    let mut sessions: HashMap<String, Session> = HashMap::new();
    let mut differences = Vec::new();
    for (batch, expected) in text.split("\n\n").filter_map(|block| block.split_once("\n----")) {
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
        // The way of a query is what it is said to be only where nothing else is asked for.
        if expected.iter().any(|line| line.starts_with("Path(")) && std::env::var(QUERY_PATH).is_ok() {
            continue;
        }
        if !agree(&expected, &actual) {
            differences.push(Difference { batch: batch.to_owned(), expected, actual });
        }
    }
    differences
}

/// Runs the script of that name, and fails or writes its answers where they differ.
fn check(name: &str) {
    let path = Path::new("tests/scripts").join(name).with_extension("sql");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("\n----"), "{name} has no batch");
    let script = text.clone();
    let differences = on_deep_stacks(async move { run(&script).await });
    if std::env::var("SCRIPTS").is_ok_and(|wanted| wanted == "write") {
        std::fs::write(&path, rewritten(&text, &differences)).unwrap();
        return;
    }
    let shown: Vec<String> = differences
        .iter()
        .map(|difference| {
            let (expected, actual) = (difference.expected.join("\n"), difference.actual.join("\n"));
            format!("{}\n---- expected\n{expected}\n---- actual\n{actual}\n", difference.batch)
        })
        .collect();
    assert!(shown.is_empty(), "{name}: {} batches differ:\n\n{}", shown.len(), shown.join("\n"));
}

/// Returns the script with the answers that were given. What a block leaves out stays left out.
fn rewritten(text: &str, differences: &[Difference]) -> String {
    let mut differences = differences.iter().peekable();
    let blocks = text.split("\n\n").map(|block| match (block.split_once("\n----"), differences.peek()) {
        (Some((batch, expected)), Some(difference)) if batch.trim_matches('\n') == difference.batch => {
            let unordered = if expected.trim_start().starts_with("unordered") { "\nunordered" } else { "" };
            let answer: String = kept(&difference.expected, &difference.actual)
                .into_iter()
                .map(|line| format!("\n{line}"))
                .collect();
            differences.next();
            format!("{batch}\n----{unordered}{answer}")
        }
        _ => block.to_owned(),
    });
    let text = blocks.collect::<Vec<_>>().join("\n\n");
    format!("{}\n", text.trim_end())
}

/// Which way queries take, whatever the size of their tables.
const QUERY_PATH: &str = "BULKWIRE_QUERY_PATH";

/// What a query gives does not depend on whether its rows are few.
#[test]
fn scripts_answer_alike_row_by_row_and_planned() {
    for path in ["rows", "plans"] {
        let run = std::process::Command::new(std::env::current_exe().unwrap())
            .arg("scripts::script::")
            .env(QUERY_PATH, path)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success(), "{path}: {text}{}", String::from_utf8_lossy(&run.stderr));
        assert!(text.contains(&format!("{} passed", NAMES.len())), "{path}: {text}");
    }
}

macro_rules! scripts {
    ($($name:ident)*) => {
        mod script {
            $(
                #[test]
                fn $name() {
                    super::check(stringify!($name));
                }
            )*
        }

        /// Scripts that are tests.
        const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

scripts! {
    aborts
    administration
    alter_columns
    ansi_padding
    apply
    bulk_insert
    bytes_and_dates
    catalogue
    catalogue_tools
    changed_rows
    check_option
    checksum
    clients
    clr_types
    column_attributes
    concatenation
    constraints
    control
    cultures
    cursors
    dbcc
    ddl
    decided
    dml
    encodings
    everyday
    expressions
    extended_properties
    filtered_indexes
    for_json
    for_xml
    foreign_keys
    functions
    grouping
    ignore_dup_key
    indexes
    inline_indexes
    json_aggregates
    kept_properties
    key_lookup
    key_order
    labels
    languages
    large_tables
    merge
    metadata
    misspelt
    modules
    names
    nested_queries
    normal_forms
    odbc_escapes
    output
    own_rows
    pages_counters
    pages_databases
    pages_files
    pages_fill_factor
    pages_index
    pages_isolation
    pages_log
    pages_space
    partitions
    partitions_rows
    partitions_switch
    percentiles
    pivot
    positioned
    procedures
    queries
    recursion
    refused_by_name
    regular_expressions
    show_plan
    situations
    spellings
    switch
    table_variables
    targets
    temporary_modules
    temporary_tables
    transactions
    triggers
    types
    user_types
    values
    vectors
    view_columns
    views
    wide_keys
    windows
}

#[test]
fn every_script_is_a_test() {
    let mut files: Vec<String> = std::fs::read_dir("tests/scripts")
        .unwrap()
        .map(|file| file.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    files.sort();
    assert_eq!(files, NAMES);
}

#[test]
fn answers_that_differ_are_written_as_the_script_would_have_them() {
    let text = "SELECT 1\n----\n2\n\nSELECT 3\n----\nunordered\n4\n\nSELECT 5\n----\n5\n";
    let difference = |batch: &str, expected: &str, actual: &[&str]| Difference {
        batch: batch.to_owned(),
        expected: vec![expected.to_owned()],
        actual: actual.iter().map(|line| line.to_string()).collect(),
    };
    let differences =
        [difference("SELECT 1", "2", &["[ int]", "1"]), difference("SELECT 3", "4", &["[ int]", "3"])];
    let expected = "SELECT 1\n----\n1\n\nSELECT 3\n----\nunordered\n3\n\nSELECT 5\n----\n5\n";
    assert_eq!(rewritten(text, &differences), expected);
}
