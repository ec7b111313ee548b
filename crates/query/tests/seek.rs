//! Which ranges of which key a condition becomes: from text through the binder to what a scan is asked for.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use bulkwire_query::memory::MemoryBudget;
use bulkwire_query::{
    Bound, BoundTable, Cancellation, Engine, KeyRange, KeyTree, KeyedColumn, KeyedTable, OutputColumn,
    RowScan, StoredTable, Tables, exact_schema,
};
use parking_lot::Mutex;
use tds::{Collation, Length, SqlType};
use tsql::SqlError;

/// A condition, and the ranges that it becomes; an empty text: all rows are read.
///
/// The table has the clustered key (a, b), unique, and the indexes `by_c` (c, descending, a) and `by_name` (name).
const CASES: &[(&str, &str)] = &[
    // The whole unique key: one row.
    ("a = 1 AND b = 2", "key one [a=1,b=2 .. a=1,b=2]"),
    ("b = 2 AND a = 1 AND c = 3", "key one [a=1,b=2 .. a=1,b=2]"),
    ("1 = a AND 2 = b", "key one [a=1,b=2 .. a=1,b=2]"),
    // A first part of it.
    ("a = 1", "key [a=1 .. a=1]"),
    ("a = 1 AND b > 5", "key [a=1,b>5 .. a=1]"),
    ("a = 1 AND b BETWEEN 5 AND 9", "key [a=1,b=5 .. a=1,b=9]"),
    ("a > 1", "key [a>1 .. ]"),
    ("a <= 7", "key [ .. a=7]"),
    ("a >= 1 AND a < 7", "key [a=1 .. a<7]"),
    // Several values.
    ("a IN (3, 5)", "key [a=3 .. a=3] [a=5 .. a=5]"),
    ("a = 3 OR a = 5 AND b = 1", "key [a=3 .. a=3] [a=5,b=1 .. a=5,b=1]"),
    (
        "a IN (1, 2) AND b IN (8, 9)",
        "key [a=1,b=8 .. a=1,b=8] [a=1,b=9 .. a=1,b=9] [a=2,b=8 .. a=2,b=8] [a=2,b=9 .. a=2,b=9]",
    ),
    ("a IN (3, NULL)", "key [a=3 .. a=3]"),
    // A descending column: the greater value comes first.
    ("c = 4", "by_c [c=4 .. c=4]"),
    ("c > 4 AND c < 9", "by_c [c<9 .. c>4]"),
    ("c = 4 AND a > 2", "by_c [c=4,a>2 .. c=4]"),
    // Half a range of an index alone may be most of the table.
    ("c > 4", ""),
    // The clustered key is worth half a range.
    ("c > 4 AND a > 1", "key [a>1 .. ]"),
    // Text is found by its key, blanks at the end or not, and by its beginning.
    ("name = 'Ann'", "by_name [name=ann .. name=ann]"),
    ("name = N'Ann'", "by_name [name=ann .. name=ann]"),
    ("name = 'Ann   '", "by_name [name=ann .. name=ann]"),
    ("name LIKE 'An%'", "by_name [name=An .. name=An] begins"),
    ("name LIKE '%nn'", ""),
    ("name LIKE '[A]nn'", ""),
    // A value that the column cannot hold gives no range, nor does what is no comparison with a constant.
    ("a = 1.5", ""),
    ("a + 1 = 2", ""),
    ("a = b", ""),
    ("a <> 1", ""),
    ("NOT a = 1", ""),
    ("a = 1 OR c = 2", ""),
    ("b = 2", ""),
    // What is never true reads nothing.
    ("a = NULL", "nothing is read"),
];

#[test]
fn conditions_become_ranges() {
    let mut wrong = Vec::new();
    for (condition, expected) in CASES {
        let found = ranges(condition);
        if found != *expected {
            wrong.push(format!("{condition}\n  expected {expected}\n  found    {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Queries that need no plan, and the range that has exactly their rows; an empty text: all rows are; `planned`: they need one. Only `a` is
/// never NULL.
const EXACT: &[(&str, &str)] = &[
    ("SELECT a, c FROM t", ""),
    ("SELECT c FROM t WHERE a >= 1 AND a < 7", "key [a=1 .. a<7]"),
    ("SELECT c, name FROM t AS x WHERE 7 > x.a", "key [ .. a<7]"),
    ("SELECT * FROM t WHERE a BETWEEN 3 AND 5", "key [a=3 .. a=5]"),
    ("SELECT * FROM t WHERE a = 2 AND b > 3", "key [a=2,b>3 .. a=2]"),
    ("SELECT * FROM t WHERE a = 2 AND b <= 3 AND b > 1", "key [a=2,b>1 .. a=2,b=3]"),
    ("SELECT * FROM t WHERE a = 2 AND b = 3", "key one [a=2,b=3 .. a=2,b=3]"),
    ("SELECT * FROM t WHERE a > CAST(5 AS bigint)", "key [a>5 .. ]"),
    ("SELECT a AS x, b FROM t WHERE a > 5 ORDER BY x, b", "key [a>5 .. ]"),
    ("SELECT a FROM t ORDER BY a", "key [ .. ]"),
    // NULL is less than 3, and not a row of it.
    ("SELECT * FROM t WHERE a = 2 AND b < 3", "planned"),
    // Conditions that are no part of the range.
    ("SELECT * FROM t WHERE a > 1 AND c = 2", "planned"),
    ("SELECT * FROM t WHERE a > 1 AND a > 3", "planned"),
    ("SELECT * FROM t WHERE a > 1 AND b > 3", "planned"),
    ("SELECT * FROM t WHERE b = 3", "planned"),
    ("SELECT * FROM t WHERE a > 1 OR a = 0", "planned"),
    ("SELECT * FROM t WHERE NOT a > 1", "planned"),
    ("SELECT * FROM t WHERE a <> 1", "planned"),
    ("SELECT * FROM t WHERE a > 1.5", "planned"),
    ("SELECT * FROM t WHERE a IN (1, 2)", "planned"),
    ("SELECT * FROM t WHERE a IS NOT NULL", "planned"),
    // Orders that are not the key's, and rows that are not all.
    ("SELECT * FROM t WHERE a > 1 ORDER BY a DESC", "planned"),
    ("SELECT * FROM t ORDER BY b", "planned"),
    ("SELECT * FROM t ORDER BY a, c", "planned"),
    ("SELECT TOP 3 * FROM t WHERE a > 1", "planned"),
    ("SELECT DISTINCT a FROM t WHERE a > 1", "planned"),
    ("SELECT a + 1 FROM t WHERE a > 1", "planned"),
    ("SELECT x FROM (SELECT a AS x FROM t) AS d WHERE x > 1", "key [a>1 .. ]"),
];

#[test]
fn plain_queries_read_exactly_their_rows() {
    let mut wrong = Vec::new();
    for (text, expected) in EXACT {
        let (tables, asked) = people();
        let found = match tables.bind(text).unwrap().plain() {
            Some(query) => {
                query.open().unwrap();
                assert_eq!(query.has_range(), !asked.lock().is_empty(), "{text}");
                asked.lock().clone()
            }
            None => "planned".to_owned(),
        };
        if found != *expected {
            wrong.push(format!("{text}\n  expected {expected}\n  found    {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What the scan of the table is asked for when a query with this condition runs.
fn ranges(condition: &str) -> String {
    let (tables, asked) = people();
    let query = tables.bind(&format!("SELECT a FROM t WHERE {condition}")).unwrap();
    let engine = Engine::new(&MemoryBudget::new(64 << 20), None).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(engine.collect(query, &Cancellation::new())).unwrap();
    let found = asked.lock();
    found.clone()
}

/// The table, and what its last scan was asked for.
fn people() -> (Tables, Arc<Mutex<String>>) {
    let asked = Arc::new(Mutex::new("nothing is read".to_owned()));
    let note = Arc::clone(&asked);
    let columns: Vec<OutputColumn> = COLUMNS
        .iter()
        .map(|name| OutputColumn {
            collation: (*name == "name").then_some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS),
            ..OutputColumn::expression(*name, type_of(name), *name != "a")
        })
        .collect();
    let provider = StoredTable::new(&exact_schema(&columns), Some(Arc::new(People)), move |_, range| {
        *note.lock() = range.map_or_else(String::new, shown);
        Ok(Box::new(NoRows))
    });
    let mut tables = Tables::new();
    tables.add_table("t", BoundTable { columns, provider: Arc::new(provider) });
    (tables, asked)
}

const COLUMNS: [&str; 4] = ["a", "b", "c", "name"];

fn type_of(name: &str) -> SqlType {
    match name {
        "name" => SqlType::VarChar { length: Length::Units(20) },
        _ => SqlType::Int,
    }
}

#[derive(Debug)]
struct People;

static INT: SqlType = SqlType::Int;
static TEXT: SqlType = SqlType::VarChar { length: Length::Units(20) };

impl KeyedTable for People {
    fn position(&self, name: &str) -> Option<usize> {
        COLUMNS.iter().position(|own| *own == name)
    }

    fn column(&self, position: usize) -> Option<KeyedColumn<'_>> {
        let is_text = *COLUMNS.get(position)? == "name";
        Some(KeyedColumn {
            sql_type: if is_text { &TEXT } else { &INT },
            collation: is_text.then_some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS),
            trims_padding: false,
        })
    }

    fn has_keys(&self) -> bool {
        true
    }

    fn keys(&self) -> Vec<KeyTree> {
        let tree = |index: Option<&str>, columns: &[(usize, bool)], unique| KeyTree {
            index: index.map(str::to_owned),
            columns: columns.to_vec(),
            unique,
        };
        vec![
            tree(None, &[(0, false), (1, false)], true),
            tree(Some("by_c"), &[(2, true), (0, false)], false),
            tree(Some("by_name"), &[(3, false)], false),
        ]
    }
}

struct NoRows;

impl Iterator for NoRows {
    type Item = Result<RecordBatch, SqlError>;

    fn next(&mut self) -> Option<Self::Item> {
        None
    }
}

impl RowScan for NoRows {
    fn rows(&self) -> u64 {
        0
    }

    fn bytes(&self) -> u64 {
        0
    }

    fn partitions(self: Box<Self>, _: usize) -> Vec<Box<dyn RowScan>> {
        vec![self]
    }
}

fn shown(range: &KeyRange) -> String {
    let mut text = range.index.clone().unwrap_or_else(|| "key".to_owned());
    if range.single {
        text.push_str(" one");
    }
    for span in &range.spans {
        let (from, to) = if span.descends { ('<', '>') } else { ('>', '<') };
        let bound = |bound: &Option<Bound>, strict| bound.as_ref().map(|bound| bound_text(bound, strict));
        let (from, to) = (bound(&span.from, from), bound(&span.to, to));
        text.push_str(&format!(" [{} .. {}]", from.unwrap_or_default(), to.unwrap_or_default()));
        if span.begins {
            text.push_str(" begins");
        }
    }
    text
}

fn bound_text(bound: &Bound, strict: char) -> String {
    let values = bound.columns.iter().zip(&bound.values);
    let last = bound.columns.last();
    let parts = values.map(|(column, value)| {
        let sign = if !bound.included && Some(column) == last { strict } else { '=' };
        format!("{}{sign}{}", COLUMNS[*column], value_text(value))
    });
    parts.collect::<Vec<_>>().join(",")
}

fn value_text(value: &ArrayRef) -> String {
    assert_eq!(value.len(), 1);
    ArrayFormatter::try_new(value, &FormatOptions::default()).unwrap().value(0).to_string()
}
