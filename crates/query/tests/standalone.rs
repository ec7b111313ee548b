//! Queries over batches, without a server: what they give, and what they refuse.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::{Int32Array, RecordBatch, StringArray};
use arrow::util::pretty::pretty_format_batches;
use bulkwire_query::memory::MemoryBudget;
use bulkwire_query::{Cancellation, Engine, OutputColumn, Tables, exact_schema};
use tds::{Length, SqlType};
use tsql::SqlError;

#[test]
fn expressions_names_and_lookups_are_those_of_tsql() {
    let text = "
        SELECT s.id, UPPER(TRIM(s.name)) AS name, CAST(s.amount AS decimal(9, 2)) / 3 AS third, l.city
        FROM Source AS s LEFT JOIN lookup AS l ON l.id = s.id
        WHERE s.name <> 'BOB' ORDER BY s.id";
    let expected = "\
+----+-------+-------------+--------+
| id | name  | third       | city   |
+----+-------+-------------+--------+
| 1  | ALICE | 3.333333    | Lisbon |
| 3  | CAROL |             |        |
+----+-------+-------------+--------+";
    assert_eq!(squeezed(&shown(&collect(text).unwrap())), squeezed(expected));
}

#[test]
fn a_failed_conversion_is_an_error_of_the_query() {
    let error = collect("SELECT CAST(name AS int) FROM source").unwrap_err();
    assert_eq!((error.number, error.class), (245, 16));
}

#[test]
fn what_needs_a_server_is_refused_by_its_number() {
    for (text, number) in [
        ("SELECT * FROM missing", 208),
        ("SELECT * FROM dbo.source", 208),
        ("SELECT @v FROM source", 137),
        ("SELECT dbo.f(1)", 4121),
        ("SELECT DB_NAME()", 195),
        ("SELECT nothing FROM source", 207),
        ("DELETE FROM source", 102),
        ("SELECT 1 SELECT 2", 102),
        ("SELECT FROM", 156),
    ] {
        assert_eq!(collect(text).map(|rows| rows.len()).unwrap_err().number, number, "{text}");
    }
}

/// A stream of a million rows passes through a budget that could not hold it, batch by batch.
#[test]
fn rows_stream_through() {
    const BATCHES: usize = 250;
    const ROWS: i32 = 4096;
    let read = Arc::new(AtomicUsize::new(0));
    let columns = vec![OutputColumn::expression("n", SqlType::Int, true)];
    let schema = exact_schema(&columns);
    let counter = Arc::clone(&read);
    let batches = (0..BATCHES).map(move |batch| {
        counter.fetch_add(1, Ordering::Relaxed);
        let first = batch as i32 * ROWS;
        let values = Int32Array::from_iter_values(first..first + ROWS);
        Ok(RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(values)]).unwrap())
    });
    let mut tables = Tables::new();
    tables.add("source", columns, batches);
    let query = tables.bind("SELECT n * 2 AS n FROM source WHERE n % 2 = 0").unwrap();
    let engine = Engine::new(&MemoryBudget::new(1 << 20), None).unwrap();
    let (mut rows, mut sum, mut most_ahead) = (0_usize, 0_i64, 0);
    runtime().block_on(async {
        let mut stream = engine.start(query, &Cancellation::new()).await.unwrap();
        let mut seen = 0;
        while let Some(batch) = stream.next().await.unwrap() {
            seen += 1;
            // Half of the rows are left out, and what is left is put together to batches of 8,192.
            most_ahead = most_ahead.max(read.load(Ordering::Relaxed).saturating_sub(4 * seen));
            rows += batch.num_rows();
            let values = batch.column(0).as_any().downcast_ref::<Int32Array>().unwrap();
            sum += values.iter().flatten().map(i64::from).sum::<i64>();
        }
    });
    let half = (BATCHES as i64 * i64::from(ROWS)) / 2;
    assert_eq!((rows as i64, sum), (half, 2 * half * (half - 1)));
    assert!(most_ahead < 8, "{most_ahead} batches were read ahead of those passed on");
}

#[test]
fn a_query_that_is_to_stop_ends_with_3617() {
    let cancellation = Cancellation::new();
    cancellation.cancel();
    let engine = Engine::new(&MemoryBudget::new(1 << 20), None).unwrap();
    let query = tables().bind("SELECT COUNT(*) FROM source").unwrap();
    let error = runtime().block_on(engine.collect(query, &cancellation)).unwrap_err();
    assert_eq!(error.number, 3617);
}

fn collect(text: &str) -> Result<Vec<RecordBatch>, SqlError> {
    let query = tables().bind(text)?;
    let engine = Engine::new(&MemoryBudget::new(64 << 20), None)?;
    runtime().block_on(engine.collect(query, &Cancellation::new()))
}

fn tables() -> Tables {
    let text = || SqlType::VarChar { length: Length::Units(20) };
    let column = |name: &str, sql_type: SqlType| OutputColumn::expression(name, sql_type, true);
    let source = vec![column("id", SqlType::Int), column("name", text()), column("amount", text())];
    let rows = RecordBatch::try_new(
        exact_schema(&source),
        vec![
            Arc::new(Int32Array::from(vec![3, 1, 2])),
            Arc::new(StringArray::from(vec![" carol", "alice ", "bob"])),
            Arc::new(StringArray::from(vec![None, Some("10"), Some("1.5")])),
        ],
    );
    let lookup = vec![column("id", SqlType::Int), column("city", text())];
    let cities = RecordBatch::try_new(
        exact_schema(&lookup),
        vec![Arc::new(Int32Array::from(vec![1])), Arc::new(StringArray::from(vec!["Lisbon"]))],
    );
    let mut tables = Tables::new();
    tables.add("source", source, [Ok(rows.unwrap())]);
    tables.add("lookup", lookup, [Ok(cities.unwrap())]);
    tables
}

fn shown(batches: &[RecordBatch]) -> String {
    pretty_format_batches(batches).unwrap().to_string()
}

/// Without the widths of columns.
fn squeezed(table: &str) -> Vec<String> {
    let lines = table.lines().filter(|line| !line.starts_with('+'));
    lines.map(|line| line.split('|').map(str::trim).collect::<Vec<_>>().join("|")).collect()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}
