//! What is misspelt is refused: no token of a statement is read and left out of account.
//!
//! Every statement of the SQL scripts is read with one token replaced by a word that there is not, left out, written twice, or
//! swapped with the next. What is still accepted must differ: a word that nobody knows must stand in the tree as a name, and a
//! statement with a token more, less or elsewhere must be another statement. What is neither is in the lists below, with the reason.
//!
//! A part of them is looked at, the same each time; `MISSPELT=all` looks at all.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};

use bulkwire_tsql::lexer::{Token, TokenKind, tokenize};
use bulkwire_tsql::parse_batch;

/// A word that is none.
const NOBODYS: &str = "Zqxw";
/// One of so many changes is looked at.
const PART: u64 = 40;

/// What may be done to a token without a change, and why.
const ALLOWED: &[(&str, &str, &str)] = &[
    ("left out", ";", "ends a statement that ends anyway"),
    ("doubled", ";", "an empty statement"),
    ("swapped", ";", "an empty statement before one of a word"),
    ("swapped", "COMMIT", "an empty statement before it"),
    ("swapped", "ROLLBACK", "an empty statement before it"),
    ("swapped", "CHECKPOINT", "an empty statement before it"),
    ("swapped", "RETURN", "an empty statement before it"),
    ("swapped", "THROW", "an empty statement before it"),
    ("swapped", "END", "an empty statement before it"),
    ("swapped", "(", "parentheses around a value and its sign, or a condition and its NOT"),
    ("swapped", "-", "parentheses around a value and its sign"),
    ("swapped", "NOT", "parentheses around a condition and its NOT"),
    ("left out", ",", "hints of a table need none between them"),
    ("left out", "::", "the old spelling of the system's functions"),
    ("left out", ".", "a part of a name that is empty"),
    ("doubled", ".", "a part of a name that is empty"),
    ("left out", "AS", "optional before an alias, a type and the body of a function"),
    ("left out", "ASC", "the order anyway"),
    ("left out", "BOTH", "TRIM takes both ends anyway"),
    ("left out", "CASCADE", "nobody has a permission from somebody else"),
    ("left out", "CONSTRAINT", "optional in ALTER TABLE DROP"),
    ("left out", "EXEC", "optional before the first procedure of a batch"),
    ("left out", "FAST_FORWARD", "a cursor goes forward anyway"),
    ("left out", "FROM", "optional in DELETE and FETCH"),
    ("left out", "GLOBAL", "cursors are so anyway"),
    ("left out", "INTO", "optional in INSERT and MERGE"),
    ("left out", "LEFT", "ranges are so anyway"),
    ("left out", "MB", "the unit anyway"),
    ("left out", "NEXT", "FETCH takes the next row anyway"),
    ("left out", "NONCLUSTERED", "indexes are so anyway"),
    ("left out", "NULL", "parameters are so anyway"),
    ("left out", "OUTER", "optional in joins"),
    ("left out", "PRIVILEGES", "optional behind ALL"),
    ("left out", "REMOTE", "a join is planned anyway"),
    ("left out", "TRAN", "optional behind COMMIT and ROLLBACK"),
    ("left out", "TRANSACTION", "optional behind COMMIT and ROLLBACK"),
    ("left out", "WORK", "optional behind COMMIT and ROLLBACK"),
    ("left out", "WITH", "the old spelling of hints"),
    ("left out", "INNER", "joins are so anyway"),
    ("swapped", "CURSOR", "SCROLL stands on either side of it"),
    ("swapped", "SCROLL", "stands on either side of CURSOR"),
    ("swapped", "LOCAL", "options of a cursor are in any order"),
    ("swapped", "SPARSE", "attributes of a column are in any order"),
    ("swapped", "NULL", "attributes of a column are in any order"),
    ("swapped", "ROWGUIDCOL", "attributes of a column are in any order"),
    ("swapped", "IDENTITY", "attributes of a column are in any order"),
    ("doubled", "FORCESEEK", "hints are a set"),
    ("doubled", "HOLDLOCK", "hints are a set"),
    ("doubled", "IGNORE_CONSTRAINTS", "hints are a set"),
    ("doubled", "IGNORE_TRIGGERS", "hints are a set"),
    ("doubled", "KEEPDEFAULTS", "hints are a set"),
    ("doubled", "KEEPIDENTITY", "hints are a set"),
    ("doubled", "NOLOCK", "hints are a set"),
    ("doubled", "NOWAIT", "hints are a set"),
    ("doubled", "READCOMMITTEDLOCK", "hints are a set"),
    ("doubled", "READPAST", "hints are a set"),
    ("doubled", "ROWLOCK", "hints are a set"),
    ("doubled", "TABLOCK", "hints are a set"),
    ("doubled", "TABLOCKX", "hints are a set"),
    ("doubled", "UPDLOCK", "hints are a set"),
    ("doubled", "XLOCK", "hints are a set"),
];

/// Names that are not looked up, so that they leave no trace: of indexes in hints and in UPDATE STATISTICS, that of the
/// transaction behind COMMIT, those before the columns of an INSERT, and the columns that order segments.
const UNTRACED: &[&str] = &[
    "INDEX (",
    "INDEX(",
    "INDEX =",
    "UPDATE STATISTICS",
    "COMMIT TRAN",
    "INSERT INTO DBO.T (",
    "COLUMNSTORE ORDER",
];

/// The batches of the scripts that this parser accepts.
fn batches() -> Vec<String> {
    let scripts = Path::new("../server/tests/scripts");
    let mut paths: Vec<_> = std::fs::read_dir(scripts).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut batches = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(path).unwrap();
        for block in text.split("\n\n") {
            if let Some((batch, _)) = block.split_once("\n----")
                && understood(batch).is_some()
            {
                batches.push(batch.trim_matches('\n').to_owned());
            }
        }
    }
    assert!(batches.len() > 1000, "{} batches", batches.len());
    batches
}

/// A batch as it was understood: its tree without the texts that are kept beside it. None: refused.
fn understood(batch: &str) -> Option<String> {
    let tree = format!("{:?}", parse_batch(batch, true).ok()?);
    // Refused by name when it runs.
    if tree.contains("Unsupported(") || tree.contains("Refused(") {
        return None;
    }
    let mut kept = String::with_capacity(tree.len());
    let mut rest = tree.as_str();
    while let Some((before, text)) = rest.split_once("text: \"") {
        kept.push_str(before);
        let mut escaped = false;
        let end = text.char_indices().find(|(_, ch)| {
            let ends = *ch == '"' && !escaped;
            escaped = *ch == '\\' && !escaped;
            ends
        });
        rest = end.map_or("", |(end, _)| &text[end..]);
    }
    kept.push_str(rest);
    Some(kept)
}

/// A batch whose tokens from `first` to `last` are written otherwise.
fn with(batch: &str, first: &Token, last: &Token, other: &str) -> String {
    format!("{} {other} {}", &batch[..first.start], &batch[last.end..])
}

fn allowed(kind: &str, token: &str) -> bool {
    ALLOWED.iter().any(|(of, known, _)| *of == kind && known.eq_ignore_ascii_case(token))
}

/// A batch with its tokens, and how it was understood once that has been asked for.
struct Looked {
    batch: String,
    tokens: Vec<Token>,
    original: OnceLock<String>,
}

/// A change of a token: the number of its batch, its own number, and what is done to it.
type Change = (usize, usize, &'static str);

/// The changes that are looked at, the same each time.
fn changes(batches: &[Looked], all: bool) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut seed = 7_u64;
    for (number, Looked { batch, tokens, .. }) in batches.iter().enumerate() {
        for (at, token) in tokens.iter().enumerate() {
            let text = &batch[token.start..token.end];
            // The statement up to here names what is not looked up.
            let before = &batch[..token.start];
            let near = before[before.floor_char_boundary(before.len().saturating_sub(60))..].to_uppercase();
            let untraced =
                UNTRACED.iter().any(|head| near.rfind(head).is_some_and(|at| near.len() - at < 40));
            if untraced {
                continue;
            }
            for kind in ["replaced", "left out", "doubled", "swapped"] {
                // Xorshift: the same part each time.
                seed ^= seed << 13;
                seed ^= seed >> 7;
                seed ^= seed << 17;
                if (all || seed.is_multiple_of(PART)) && !allowed(kind, text) {
                    changes.push((number, at, kind));
                }
            }
        }
    }
    changes
}

/// Returns the changed batch; None if the change is none.
fn changed(looked: &Looked, at: usize, kind: &str) -> Option<String> {
    let Looked { batch, tokens, .. } = looked;
    let token = &tokens[at];
    let text = &batch[token.start..token.end];
    Some(match (kind, tokens.get(at + 1)) {
        ("replaced", _) if matches!(token.kind, TokenKind::Word(_)) => with(batch, token, token, NOBODYS),
        ("left out", _) => with(batch, token, token, ""),
        ("doubled", _) => with(batch, token, token, &format!("{text} {text}")),
        ("swapped", Some(next)) if next.kind != token.kind => {
            with(batch, token, next, &format!("{} {text}", &batch[next.start..next.end]))
        }
        _ => return None,
    })
}

/// Returns true if a changed batch is understood as if nothing had been changed.
fn is_swallowed(looked: &Looked, other: &str, kind: &str) -> bool {
    let Some(tree) = understood(other) else { return false };
    match kind {
        "replaced" => !tree.to_lowercase().contains(&NOBODYS.to_lowercase()),
        _ => tree == *looked.original.get_or_init(|| understood(&looked.batch).unwrap()),
    }
}

/// What was swallowed, by the change and the token: how often, and an example.
type Found = BTreeMap<(&'static str, String), (usize, String)>;

#[test]
fn what_is_misspelt_is_refused() {
    let all = std::env::var("MISSPELT").is_ok_and(|value| value == "all");
    let batches: Vec<Looked> = batches()
        .into_iter()
        .map(|batch| {
            let tokens = tokenize(&batch, true).unwrap();
            Looked { batch, tokens, original: OnceLock::new() }
        })
        .collect();
    let changes = changes(&batches, all);
    let (next, looked) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let found = Mutex::new(Found::new());
    let work = || {
        while let Some((number, at, kind)) = changes.get(next.fetch_add(1, Relaxed)) {
            let of = &batches[*number];
            let Some(other) = changed(of, *at, kind) else { continue };
            looked.fetch_add(1, Relaxed);
            if is_swallowed(of, &other, kind) {
                let token = &of.tokens[*at];
                let text = of.batch[token.start..token.end].to_uppercase();
                found.lock().unwrap().entry((*kind, text)).or_insert((0, other)).0 += 1;
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let looked = looked.into_inner();
    assert!(looked > 1000, "{looked} looked at");
    let list: Vec<String> = found
        .into_inner()
        .unwrap()
        .iter()
        .map(|((kind, token), (count, batch))| format!("{kind} {token} ({count}): {batch}"))
        .collect();
    assert!(list.is_empty(), "{} of {looked}:\n{}", list.len(), list.join("\n"));
    println!("{looked} changes looked at");
}
