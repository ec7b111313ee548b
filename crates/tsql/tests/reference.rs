//! The statements of the Transact-SQL reference with their variants: which are served, which are refused by name when they run,
//! and which are errors of syntax.
//!
//! Each line of `reference/*.sql` is a batch, below the outcome that all lines share up to the next one: `== runs`,
//! `== refused: NAME` or `== error N`. Words of the grammar are in capitals there, and names are not.
//!
//! `cargo test … --test reference -- --nocapture` shows how many there are of each.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use bulkwire_tsql::ast::{Statement, StatementKind};
use bulkwire_tsql::lexer::{Token, TokenKind, tokenize};
use bulkwire_tsql::{SqlError, errors, parse_batch};
use proptest::prelude::*;

/// A batch, where it stands, and what is expected of it.
struct Case {
    place: String,
    outcome: String,
    batch: String,
}

fn cases() -> Vec<Case> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(Path::new("tests/reference")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut cases = Vec::new();
    for path in paths {
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let mut outcome = String::new();
        for (number, line) in text.lines().enumerate() {
            match line.strip_prefix("== ") {
                Some(next) => next.clone_into(&mut outcome),
                None if line.is_empty() || line.starts_with('#') => {}
                None => cases.push(Case {
                    place: format!("{file}:{}", number + 1),
                    outcome: outcome.clone(),
                    batch: line.to_owned(),
                }),
            }
        }
    }
    assert!(cases.len() > 500, "{} cases", cases.len());
    cases
}

/// Returns the outcome of a batch in the words of the files.
fn outcome(batch: &str) -> String {
    match parse_batch(batch, true) {
        Err(error) => format!("error {}", error.number),
        Ok(statements) => match refused(&statements) {
            None => "runs".to_owned(),
            Some(error) if error.number == errors::UNSUPPORTED.number => {
                let name = error.message.strip_suffix(" is not supported by this server.");
                format!("refused: {}", name.unwrap_or(&error.message))
            }
            // A part of ALTER DATABASE, whose other parts run.
            Some(error) if error.number == 0 => "refused: part".to_owned(),
            Some(error) => format!("refused: {}", error.number),
        },
    }
}

/// Returns the first statement among others, and in blocks, that is refused when it runs.
fn refused(statements: &[Statement]) -> Option<SqlError> {
    let error = format!("{statements:?}");
    statements.iter().find_map(|statement| match &statement.kind {
        StatementKind::Unsupported(error) => Some(error.as_ref().clone()),
        StatementKind::Block(statements) => refused(statements),
        _ => error.contains("Refused(SqlError").then(|| SqlError::new(0, 0, 0, "part")),
    })
}

#[test]
fn every_statement_of_the_reference_has_its_outcome() {
    let (mut served, mut by_name, mut syntax) = (0, 0, 0);
    let mut wrong = Vec::new();
    let cases = cases();
    for case in &cases {
        let found = outcome(&case.batch);
        match found.split([' ', ':']).next() {
            Some("runs") => served += 1,
            Some("refused") => by_name += 1,
            _ => syntax += 1,
        }
        if found != case.outcome {
            let near = parse_batch(&case.batch, true).err().map(|error| error.message).unwrap_or_default();
            wrong.push(format!("{} {found} {near}, not {}: {}", case.place, case.outcome, case.batch));
        }
    }
    println!(
        "{} batches: {served} served, {by_name} refused by name, {syntax} errors of syntax",
        cases.len()
    );
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

/// A word that is none.
const NOBODYS: &str = "Zqxw";

/// Words in whose place another one is no error, and why.
const REPLACED: &[(&str, &str)] = &[
    ("ADD", "a type, in ALTER COLUMN"),
    ("AES_256", "an algorithm's name in BACKUP"),
    ("ALL", "a trigger's name"),
    ("ANY", "a contract's name"),
    ("CONSTRAINT", "a column's name"),
    ("CONTAINS", "a function's name"),
    ("CREATE_DATABASE", "an event's name"),
    ("CREATE_TABLE", "an event's name"),
    ("CREATE_VIEW", "an event's name"),
    ("CURSOR", "a type"),
    ("DATABASE", "a table's name"),
    ("DDL_LOGIN_EVENTS", "an event's name"),
    ("DDL_TABLE_EVENTS", "an event's name"),
    ("DELIMITEDTEXT", "a format's name"),
    ("DROP", "a type, in ALTER COLUMN"),
    ("DROP_TABLE", "an event's name"),
    ("EXEC", "a procedure's name"),
    ("FIXED", "a kind of chunks"),
    ("FREETEXTTABLE", "a function's name"),
    ("GETDATE", "a function's name"),
    ("HADOOP", "a kind of source"),
    ("JSON_ARRAYAGG", "a function's name"),
    ("KILL", "a procedure's name"),
    ("LINENO", "a procedure's name"),
    ("LOGON", "an event's name"),
    ("NONE", "a language"),
    ("NULL", "a name"),
    ("OFF", "a stoplist's name"),
    ("ONNX", "a runtime's name"),
    ("OPENQUERY", "a function's name"),
    ("OPENROWSET", "a function's name"),
    ("OPENXML", "a function's name"),
    ("PARQUET", "a format's name"),
    ("QUEUE_ACTIVATION", "an event's name"),
    ("RCFILE", "a format's name"),
    ("RDBMS", "a kind of source"),
    ("SEMANTICKEYPHRASETABLE", "a function's name"),
    ("SET", "a procedure's name"),
    ("SETUSER", "a procedure's name"),
    ("SHUTDOWN", "a procedure's name"),
    ("STRING_AGG", "a function's name"),
    ("SYSTEM", "a stoplist's name"),
    ("TSEQUAL", "a function's name"),
    ("WRITE", "a method's name"),
];

/// Words that may be written twice, and why.
const DOUBLED: &[(&str, &str)] = &[
    ("APPROXIMATE", "then a column of that name"),
    ("NOLOCK", "hints are a set"),
    ("NOT", "twice is not at all"),
    ("NULL", "NOT NULL, NULL in an external table"),
    ("RECONFIGURE", "two statements"),
    ("RETURN", "two statements"),
    ("REVERT", "two statements"),
    ("ROLLBACK", "two statements"),
    ("SETUSER", "two statements"),
    ("SHUTDOWN", "two statements"),
    ("SNAPSHOT", "hints are a set"),
    ("UNIQUE", "two constraints"),
];

/// Writes a token of a batch otherwise.
fn with(batch: &str, token: &Token, other: &str) -> String {
    format!("{} {other} {}", &batch[..token.start], &batch[token.end..])
}

#[test]
fn what_is_misspelt_in_a_refused_statement_is_an_error_of_syntax() {
    let mut taken = Vec::new();
    let mut looked = 0;
    for case in cases().iter().filter(|case| case.outcome.starts_with("refused: ")) {
        for token in tokenize(&case.batch, true).unwrap() {
            let text = &case.batch[token.start..token.end];
            let is_grammar = matches!(token.kind, TokenKind::Word(_))
                && text.chars().all(|ch| ch.is_ascii_uppercase() || ch.is_ascii_digit() || ch == '_')
                && text.len() > 1;
            if !is_grammar {
                continue;
            }
            let twice = format!("{text} {text}");
            for (kind, allowed, other) in [("replaced", REPLACED, NOBODYS), ("doubled", DOUBLED, &twice)] {
                if allowed.iter().any(|(word, _)| *word == text) {
                    continue;
                }
                looked += 1;
                let other = with(&case.batch, &token, other);
                if parse_batch(&other, true).is_ok() {
                    taken.push(format!("{} {kind} {text}: {other}", case.place));
                }
            }
        }
    }
    assert!(looked > 1000, "{looked} looked at");
    assert!(taken.is_empty(), "{} of {looked}:\n{}", taken.len(), taken.join("\n"));
}

proptest! {
    /// Statements whose tokens are left out, doubled, and mixed with those of others are read or refused: no panic, no endless parse.
    #[test]
    fn statements_in_pieces_are_read_or_refused(
        lines in prop::collection::vec(prop::sample::select(lines()), 1..4),
        places in prop::collection::vec((any::<prop::sample::Index>(), 0..3_u8), 1..8),
    ) {
        let batch = lines.join(" ");
        let Ok(mut tokens) = tokenize(&batch, true) else { return Ok(()) };
        for (place, change) in places {
            if tokens.is_empty() {
                break;
            }
            let at = place.index(tokens.len());
            match change {
                0 => drop(tokens.remove(at)),
                1 => tokens.insert(at, tokens[at].clone()),
                _ => tokens.swap(at, at / 2),
            }
        }
        let pieces: Vec<&str> = tokens.iter().map(|token| &batch[token.start..token.end]).collect();
        let _ = parse_batch(&pieces.join(" "), true);
    }
}

fn lines() -> Vec<String> {
    cases().into_iter().map(|case| case.batch).collect()
}
