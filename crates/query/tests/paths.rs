//! Which way a query takes, and that it gives the same on each: rows, types, names, collations and errors.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray};
use arrow::util::pretty::pretty_format_batches;
use bulkwire_query::memory::MemoryBudget;
use bulkwire_query::{
    BoundTable, Cancellation, Engine, OutputColumn, Path, ResultStream, RowScan, StoredTable, Tables,
    exact_schema,
};
use tds::{Collation, Length, SqlType};
use tsql::SqlError;

/// Queries of tables of a few rows, and the ways that they take.
const QUERIES: &[(&str, &str)] = &[
    ("SELECT 1 AS x", "Simple"),
    ("SELECT * FROM t", "Simple"),
    ("SELECT a FROM t WHERE b = 2", "Simple"),
    ("SELECT a FROM t WHERE b = NULL", "Simple"),
    ("SELECT COUNT(*), MAX(a) FROM t WHERE b = NULL AND a = 1", "Simple"),
    ("SELECT a FROM t WHERE NOT b = 2 OR b IS NULL", "Simple"),
    ("SELECT a, b FROM t ORDER BY b DESC, a", "Simple"),
    ("SELECT TOP 2 a FROM t ORDER BY b, a", "Simple"),
    ("SELECT a FROM t ORDER BY a OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY", "Simple"),
    ("SELECT DISTINCT b FROM t", "Simple"),
    ("SELECT b, COUNT(*), SUM(a), AVG(f) FROM t GROUP BY b", "Simple"),
    ("SELECT b, SUM(a) AS s FROM t GROUP BY b HAVING SUM(a) > 2 ORDER BY s", "Simple"),
    ("SELECT CASE WHEN b > 1 THEN a ELSE b END FROM t", "Simple"),
    ("SELECT x FROM (SELECT a + 1 AS x FROM t WHERE b < 3) AS d WHERE x > 2", "Simple"),
    ("SELECT UPPER(name), LEN(name), COALESCE(b, a) FROM t WHERE name IN ('ann', 'BOB ')", "Simple"),
    ("SELECT 1 / (a - 1) FROM t", "Simple"),
    ("SELECT CAST(name AS int) FROM t", "Simple"),
    // Several sources.
    ("SELECT a FROM t UNION ALL SELECT id FROM u", "Simple"),
    ("SELECT a, name FROM t UNION ALL SELECT f, NULL FROM t ORDER BY 1", "Simple"),
    ("SELECT a FROM t UNION SELECT id FROM u", "Simple"),
    ("SELECT TOP 3 x FROM (SELECT a AS x FROM t UNION ALL SELECT id FROM u) d", "Simple"),
    ("SELECT t.a, u.city FROM t JOIN u ON u.id = t.b", "Simple"),
    ("SELECT t.a, u.city FROM t, u WHERE u.id = t.b AND t.a > 1", "Simple"),
    ("SELECT t.a, u.city FROM t JOIN u ON u.id = t.b AND u.city > t.name", "Simple"),
    ("SELECT t.a, u.city FROM t LEFT JOIN u ON u.id = t.b", "Simple"),
    ("SELECT t.a, u.city FROM t LEFT JOIN u ON u.id = t.b AND u.city = 'Oslo' WHERE t.a < 4", "Simple"),
    ("SELECT t.a FROM t LEFT JOIN u ON u.id = t.b WHERE u.id IS NULL", "Simple"),
    ("SELECT t.a, v.id FROM t JOIN u ON u.id = t.b JOIN u AS v ON v.city = u.city", "Simple"),
    ("SELECT t.name, u.city FROM t JOIN u ON u.city = t.name", "Simple"),
    ("SELECT u.id, COUNT(*) FROM t JOIN u ON u.id = t.b + 1 GROUP BY u.id", "Simple"),
    ("SELECT t.a FROM t JOIN u ON u.id = t.b WHERE 1 / (t.a - t.a) = 1", "Simple"),
    ("SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.b)", "Simple"),
    ("SELECT a FROM t WHERE NOT EXISTS (SELECT * FROM u WHERE u.id = t.b AND u.city <> 'Oslo')", "Simple"),
    (
        "SELECT a FROM t WHERE a > 1 AND EXISTS (SELECT 1 / 0 FROM u WHERE t.b = u.id AND u.city > t.name)",
        "Simple",
    ),
    // What the engine is left to.
    (
        "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.b AND EXISTS (SELECT 1 FROM t AS v WHERE v.a = u.id))",
        "Full",
    ),
    ("SELECT e.a, t.a FROM t AS e LEFT JOIN t ON t.b = e.a AND t.a = NULL", "Full"),
    ("SELECT u.city, MIN(t.name) FROM t JOIN u ON u.id = t.b GROUP BY u.city", "Full"),
    ("SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id > t.b)", "Full"),
    ("SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.b OR u.id = 1)", "Full"),
    ("SELECT a FROM t WHERE EXISTS (SELECT TOP 1 1 FROM u WHERE u.id = t.b)", "Full"),
    ("SELECT t.a, u.id FROM t CROSS JOIN u", "Full"),
    ("SELECT t.a, u.id FROM t JOIN u ON u.id > t.a", "Full"),
    ("SELECT t.a, u.id FROM t RIGHT JOIN u ON u.id = t.a", "Full"),
    ("SELECT t.a FROM t JOIN t AS o ON o.f = t.f", "Full"),
    ("SELECT a FROM t WHERE b IN (SELECT id FROM u)", "Full"),
    ("SELECT a, ROW_NUMBER() OVER (ORDER BY b, a) FROM t", "Full"),
    ("SELECT a, (SELECT COUNT(*) FROM u WHERE u.id = t.b) FROM t", "Full"),
    ("SELECT a FROM t EXCEPT SELECT id FROM u", "Full"),
    ("SELECT COUNT(DISTINCT b) FROM t", "Full"),
    // A query of few rows for each row of another, which needs no plan of its own.
    ("SELECT a, (SELECT COUNT(*) FROM u WHERE u.id < t.b) FROM t", "Full"),
    ("SELECT a, (SELECT TOP 1 city FROM u WHERE u.id > t.b ORDER BY u.id) FROM t", "Full"),
    ("SELECT a, (SELECT city FROM u WHERE u.id < t.a) FROM t", "Full"),
    ("SELECT a, (SELECT MAX(id) FROM u WHERE 1 / (t.a - 2) <= id) FROM t", "Full"),
    ("SELECT a, (SELECT SUM(x) FROM (SELECT id + t.a AS x FROM u UNION ALL SELECT t.b) d) FROM t", "Full"),
    (
        "SELECT t.a, o.city FROM t CROSS APPLY (SELECT TOP 2 city FROM u WHERE u.id >= t.b ORDER BY id DESC, city) o",
        "Full",
    ),
    (
        "SELECT t.a, o.n FROM t OUTER APPLY (SELECT id AS n FROM u WHERE u.id = t.b AND u.city > t.name) o",
        "Full",
    ),
    ("SELECT a FROM t WHERE b > (SELECT COUNT(*) FROM u JOIN t AS v ON v.b = u.id WHERE v.a < t.a)", "Full"),
    ("SELECT a, (SELECT COUNT(*) FROM large WHERE large.a < t.b) FROM t", "Full"),
    // A large table.
    ("SELECT * FROM large", "Plain"),
    ("SELECT a, b FROM large AS l", "Plain"),
    ("SELECT a FROM large WHERE b = 1", "Full"),
    ("SELECT a FROM large WHERE b = NULL", "Simple"),
    ("SELECT l.a FROM large AS l JOIN u ON u.id = l.a", "Full"),
];

#[test]
fn queries_take_the_expected_way() {
    let wrong = QUERIES.iter().filter_map(|(text, expected)| {
        let path = Path::of(&tables().bind(text).unwrap()).unwrap();
        (path.name() != *expected).then(|| format!("{text}\n  expected {expected}, is {}", path.name()))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a query for each row of another gives must not depend on how many rows there are to read.
#[test]
fn rows_around_a_query_are_seen_by_it() {
    let text = "SELECT a, (SELECT COUNT(*) FROM u WHERE u.id < t.b) AS n, (SELECT TOP 1 id FROM u WHERE u.id > t.b ORDER BY id) AS m
        FROM t";
    let shown = run(text, false).unwrap();
    let rows = shown.lines().filter(|line| line.starts_with("| ")).skip(1);
    let cells = |line: &str| line.split('|').map(str::trim).collect::<Vec<_>>().join(" ").trim().to_owned();
    let rows: Vec<String> = rows.map(cells).collect();
    assert_eq!(rows, ["1 1 9", "2 0", "3 0 2", "4 1 9", "5 3 9"]);
}

#[test]
fn each_way_gives_the_same() {
    for (text, _) in QUERIES {
        let (short, full) = (run(text, false), run(text, true));
        assert_eq!(short, full, "{text}");
    }
}

/// Columns and rows of a query, or its error.
fn run(text: &str, always_full: bool) -> Result<String, (i32, u8, String)> {
    let collected = runtime().block_on(async {
        let query = tables().bind(text)?;
        let engine = Engine::new(&MemoryBudget::new(64 << 20), None)?;
        let (columns, cancellation) = (query.columns.clone(), Cancellation::new());
        let stream = match Path::of(&query)? {
            Path::Simple(simple) if !always_full => {
                ResultStream::simple(exact_schema(&columns), simple, &cancellation)
            }
            _ => engine.start_full(query, &cancellation).await?,
        };
        Ok((stream.collect().await?, columns))
    });
    match collected {
        Ok((batches, columns)) => {
            let schema = exact_schema(&columns);
            assert!(batches.iter().all(|batch| batch.schema() == schema), "{text}");
            let rows = match batches.is_empty() {
                true => String::new(),
                false => pretty_format_batches(&batches).unwrap().to_string(),
            };
            Ok(format!("{columns:?}\n{rows}"))
        }
        Err::<_, SqlError>(error) => Err((error.number, error.class, error.message)),
    }
}

fn tables() -> Tables {
    let text = SqlType::VarChar { length: Length::Units(20) };
    let column = |name: &str, sql_type: &SqlType| OutputColumn {
        collation: (*sql_type == text).then_some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS),
        ..OutputColumn::expression(name, sql_type.clone(), true)
    };
    let numbers = |values: &[Option<i32>]| -> ArrayRef { Arc::new(Int32Array::from(values.to_vec())) };
    let texts = |values: &[Option<&str>]| -> ArrayRef { Arc::new(StringArray::from(values.to_vec())) };
    let (int, float) = (SqlType::Int, SqlType::Float);
    let t = vec![column("a", &int), column("b", &int), column("name", &text), column("f", &float)];
    let rows: Vec<ArrayRef> = vec![
        numbers(&[Some(1), Some(2), Some(3), Some(4), Some(5)]),
        numbers(&[Some(2), None, Some(1), Some(2), Some(7)]),
        texts(&[Some("Ann"), Some("bob"), None, Some("ANN "), Some("oslo")]),
        Arc::new(Float64Array::from(vec![Some(0.0), Some(-0.0), Some(1.5), None, Some(2.5)])),
    ];
    let u = vec![column("id", &int), column("city", &text)];
    let cities: Vec<ArrayRef> = vec![
        numbers(&[Some(2), Some(1), Some(2), None, Some(9)]),
        texts(&[Some("Oslo"), Some("Rome"), Some("Bonn"), Some("Paris"), None]),
    ];
    let large = vec![column("a", &int), column("b", &int)];
    let many: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from_iter_values(0..20_000)),
        Arc::new(Int32Array::from_iter_values((0..20_000).map(|row| row % 7))),
    ];
    let mut tables = Tables::new();
    for (name, columns, arrays) in [("t", t, rows), ("u", u, cities), ("large", large, many)] {
        let batch = RecordBatch::try_new(exact_schema(&columns), arrays).unwrap();
        let provider = StoredTable::new(&exact_schema(&columns), None, move |projection, _| {
            let batch = match projection {
                Some(columns) => batch.project(&columns).unwrap(),
                None => batch.clone(),
            };
            Ok(Box::new(Rows(Some(batch))))
        });
        tables.add_table(name, BoundTable { columns, provider: Arc::new(provider) });
    }
    tables
}

struct Rows(Option<RecordBatch>);

impl Iterator for Rows {
    type Item = Result<RecordBatch, SqlError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(Ok)
    }
}

impl RowScan for Rows {
    fn rows(&self) -> u64 {
        self.0.as_ref().map_or(0, |batch| batch.num_rows() as u64)
    }

    fn bytes(&self) -> u64 {
        self.0.as_ref().map_or(0, |batch| batch.get_array_memory_size() as u64)
    }

    fn partitions(self: Box<Self>, _: usize) -> Vec<Box<dyn RowScan>> {
        vec![self]
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}
