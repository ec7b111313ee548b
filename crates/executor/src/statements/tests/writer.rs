//! Rows written without a connection or a statement: whole batches and row by row.

use query::Datum;
use tds::{Length, SqlType};
use tsql::{ObjectName, SqlError};

use crate::session::work::reads::renew_reads;
use crate::statements::dml::destination;
use crate::statements::evaluation::resolve;
use crate::statements::tests::Bench;
use databases::table::{InputRows, WriteOptions};

/// A column's name, and its values with their type.
type Given<'a> = (&'a str, SqlType, Vec<Datum>);

fn ints<'a>(name: &'a str, values: &[i64]) -> Given<'a> {
    (name, SqlType::Int, values.iter().map(|value| Datum::Int(*value)).collect())
}

fn texts<'a>(name: &'a str, values: &[&str]) -> Given<'a> {
    let values = values.iter().map(|value| Datum::Text((*value).to_string()));
    (name, SqlType::NVarChar { length: Length::Units(100) }, values.collect())
}

fn options() -> WriteOptions {
    destination::write_options("INSERT", "INSERT")
}

/// What a statement that writes rows leaves.
struct Written {
    /// The rows as they were stored.
    rows: Vec<Vec<Datum>>,
    last_identity: Option<i64>,
    /// Rows were left out.
    left_out: bool,
}

/// Writes rows into a table, `step` at a time, as one statement.
fn write(
    bench: &mut Bench,
    table: &str,
    options: WriteOptions,
    given: &[Given<'_>],
    step: usize,
) -> Result<Written, SqlError> {
    let table = resolve::opened(&bench.session, &ObjectName::bare(table.to_string()))?;
    let columns = &table.definition.columns;
    let mark = bench.session.work.start_statement()?;
    let mut written = || {
        let session = &mut bench.session;
        let mut writer = destination::writer_with(session, &table, &bench.frame, options.clone(), false)?;
        let mut rows = Vec::new();
        let count = given[0].2.len();
        for first in (0..count).step_by(step) {
            let end = count.min(first + step);
            let mut input = InputRows { columns: vec![None; columns.len()], rows: end - first };
            for (name, sql_type, values) in given {
                let position = table.definition.position(name).unwrap();
                let array = Datum::array(&values[first..end], sql_type);
                input.columns[position] = Some((array, sql_type.clone()));
            }
            let batch = writer.write(input)?;
            for row in 0..batch.num_rows() {
                let arrays = batch.columns().iter().zip(columns);
                rows.push(
                    arrays
                        .map(|(array, column)| Datum::read(array, &column.sql_type, row).unwrap())
                        .collect(),
                );
            }
        }
        writer.finish()?;
        Ok(Written { rows, last_identity: writer.last_identity, left_out: false })
    };
    let result = written();
    bench.session.work.end_statement(&mark, result.is_ok())?;
    let left_out = bench.session.work.take_ignored();
    renew_reads(&mut bench.session.work, false);
    result.map(|written| Written { left_out, ..written })
}

fn rows_of(bench: &Bench, table: &str) -> u64 {
    resolve::opened(&bench.session, &ObjectName::bare(table.to_string())).unwrap().rows
}

async fn with(made: &str) -> Bench {
    let mut bench = Bench::new();
    bench.run(made).await.unwrap();
    bench
}

/// Rows of which one is refused, in one batch and row by row; a table has none of them afterwards.
async fn refused(made: &str, given: &[Given<'_>], number: i32) -> SqlError {
    let mut last = None;
    for step in [usize::from(u16::MAX), 1] {
        let mut bench = with(made).await;
        let before = rows_of(&bench, "t");
        let error = write(&mut bench, "t", options(), given, step).err().unwrap();
        assert_eq!(error.number, number, "{made}: {}", error.message);
        assert_eq!(rows_of(&bench, "t"), before, "{made}, {step} at a time");
        last = Some(error);
    }
    last.unwrap()
}

/// The rows that are stored, in one batch and row by row.
async fn stored(made: &str, given: &[Given<'_>]) -> Vec<Vec<Datum>> {
    let whole = write(&mut with(made).await, "t", options(), given, usize::from(u16::MAX)).unwrap();
    let single = write(&mut with(made).await, "t", options(), given, 1).unwrap();
    assert_eq!(whole.rows, single.rows, "{made}");
    assert_eq!(whole.last_identity, single.last_identity, "{made}");
    whole.rows
}

#[tokio::test]
async fn a_null_is_refused_where_the_table_takes_none() {
    let null = ("a", SqlType::Int, vec![Datum::Int(1), Datum::Null]);
    let error = refused("CREATE TABLE t (a int NOT NULL)", std::slice::from_ref(&null), 515).await;
    assert!(error.message.contains("column 'a'"), "{}", error.message);
    // A column that gets no value, and one that is computed.
    refused("CREATE TABLE t (a int NULL, b int NOT NULL)", std::slice::from_ref(&null), 515).await;
    refused("CREATE TABLE t (a int NULL, b AS a + 1 PERSISTED NOT NULL)", &[null], 515).await;
}

#[tokio::test]
async fn a_check_refuses_what_is_false_and_takes_what_is_unknown() {
    let made = "CREATE TABLE t (a int NULL CONSTRAINT positive CHECK (a > 0))";
    let error = refused(made, &[ints("a", &[1, 2, 0])], 547).await;
    assert!(error.message.contains("\"positive\""), "{}", error.message);
    let unknown = ("a", SqlType::Int, vec![Datum::Int(1), Datum::Null]);
    assert_eq!(stored(made, &[unknown]).await.len(), 2);
    // Over several columns, one of them computed.
    let made = "CREATE TABLE t (a int, b int, c AS a + b, CHECK (c < 10))";
    refused(made, &[ints("a", &[1, 5]), ints("b", &[1, 5])], 547).await;
    // A load without CHECK_CONSTRAINTS looks at none.
    let mut bench = with("CREATE TABLE t (a int CHECK (a > 0))").await;
    let unchecked = WriteOptions { check_constraints: false, ..options() };
    assert!(write(&mut bench, "t", unchecked, &[ints("a", &[0])], 1).is_ok());
}

#[tokio::test]
async fn keys_are_unique_among_new_rows_and_those_before_them() {
    for (made, number) in [
        ("CREATE TABLE t (a int PRIMARY KEY)", 2627),
        ("CREATE TABLE t (a int NOT NULL PRIMARY KEY NONCLUSTERED)", 2627),
        ("CREATE TABLE t (a int UNIQUE)", 2627),
        ("CREATE TABLE t (a int) CREATE UNIQUE INDEX i ON t (a)", 2601),
    ] {
        refused(made, &[ints("a", &[1, 2, 1])], number).await;
        refused(&format!("{made} INSERT INTO t VALUES (7)"), &[ints("a", &[1, 7])], number).await;
        assert_eq!(stored(made, &[ints("a", &[3, 1, 2])]).await.len(), 3);
    }
    // NULL is a key like any other, unless the index leaves it out.
    let nulls = ("a", SqlType::Int, vec![Datum::Null, Datum::Null]);
    refused("CREATE TABLE t (a int UNIQUE)", std::slice::from_ref(&nulls), 2627).await;
    let filtered = "CREATE TABLE t (a int) CREATE UNIQUE INDEX i ON t (a) WHERE a IS NOT NULL";
    assert_eq!(stored(filtered, &[nulls]).await.len(), 2);
}

#[tokio::test]
async fn duplicates_are_left_out_where_the_index_says_so() {
    let made = "CREATE TABLE t (a int, b int) CREATE UNIQUE INDEX i ON t (a) WITH (IGNORE_DUP_KEY = ON) INSERT INTO t VALUES (1, 0)";
    for step in [10, 1] {
        let mut bench = with(made).await;
        let given = [ints("a", &[1, 2, 2, 3]), ints("b", &[10, 20, 21, 30])];
        let written = write(&mut bench, "t", options(), &given, step).unwrap();
        assert!(written.left_out);
        let row = |a, b| vec![Datum::Int(a), Datum::Int(b)];
        assert_eq!(written.rows, [row(2, 20), row(3, 30)]);
        assert_eq!(rows_of(&bench, "t"), 3);
        assert!(!write(&mut bench, "t", options(), &[ints("a", &[4])], step).unwrap().left_out);
    }
}

#[tokio::test]
async fn rows_refer_to_rows_that_are_there_once_all_are_written() {
    let made = "CREATE TABLE p (a int PRIMARY KEY) INSERT INTO p VALUES (1), (2)
        CREATE TABLE t (a int NULL CONSTRAINT f REFERENCES p)";
    let error = refused(made, &[ints("a", &[1, 3])], 547).await;
    assert!(error.message.contains("FOREIGN KEY constraint \"f\""), "{}", error.message);
    let given = ("a", SqlType::Int, vec![Datum::Int(2), Datum::Null, Datum::Int(2)]);
    assert_eq!(stored(made, &[given]).await.len(), 3);
    // A row may come before the one of its own table that it refers to.
    let tree = "CREATE TABLE t (a int PRIMARY KEY, up int NULL REFERENCES t)";
    let up = |values: [i64; 3]| [ints("a", &[1, 2, 3]), ints("up", &values)];
    assert_eq!(stored(tree, &up([3, 1, 3])).await.len(), 3);
    refused(tree, &up([3, 1, 4]), 547).await;
}

#[tokio::test]
async fn identities_go_on_from_batch_to_batch() {
    let made = "CREATE TABLE t (id smallint IDENTITY(10, -5), a int)";
    let rows = stored(made, &[ints("a", &[1, 2, 3])]).await;
    let ids: Vec<Datum> = rows.into_iter().map(|mut row| row.remove(0)).collect();
    assert_eq!(ids, [Datum::Int(10), Datum::Int(5), Datum::Int(0)]);
    // A value that is given moves them on if it is ahead, and no further number is lost.
    let mut bench = with("CREATE TABLE t (id int IDENTITY, a int)").await;
    for (given, last) in [
        (ints("a", &[0]), 1),
        (ints("id", &[40]), 40),
        (ints("a", &[0]), 41),
        (ints("id", &[7]), 7),
        (ints("a", &[0]), 42),
    ] {
        let written = write(&mut bench, "t", options(), &[given], 1).unwrap();
        assert_eq!(written.last_identity, Some(last));
    }
    // The type ends.
    let error =
        refused("CREATE TABLE t (id tinyint IDENTITY(254, 1), a int)", &[ints("a", &[0; 3])], 8115).await;
    assert!(error.message.contains("IDENTITY to data type tinyint"), "{}", error.message);
}

#[tokio::test]
async fn defaults_stand_for_what_is_not_given_and_for_null_if_asked() {
    let made = "CREATE TABLE t (a int NULL DEFAULT 5, b int NULL DEFAULT (2 * 3), c AS a + b)";
    let row = |a, b, c| vec![a, b, c];
    let rows = stored(made, &[ints("b", &[1, 2])]).await;
    let five = || Datum::Int(5);
    assert_eq!(rows, [row(five(), Datum::Int(1), Datum::Int(6)), row(five(), Datum::Int(2), Datum::Int(7))]);
    let null = ("a", SqlType::Int, vec![Datum::Null, Datum::Int(1)]);
    let kept = stored(made, std::slice::from_ref(&null)).await;
    assert_eq!(kept[0], row(Datum::Null, Datum::Int(6), Datum::Null));
    let replaced = WriteOptions { default_for_null: true, ..options() };
    for step in [10, 1] {
        let written = write(&mut with(made).await, "t", replaced.clone(), std::slice::from_ref(&null), step);
        let rows = written.unwrap().rows;
        assert_eq!(
            rows,
            [row(five(), Datum::Int(6), Datum::Int(11)), row(Datum::Int(1), Datum::Int(6), Datum::Int(7))]
        );
    }
    // A default is held to the table's rules like any value.
    refused("CREATE TABLE t (a int, b int DEFAULT 0 CHECK (b > 0))", &[ints("a", &[1])], 547).await;
}

#[tokio::test]
async fn values_become_the_columns_type_or_are_refused() {
    let rows = stored(
        "CREATE TABLE t (a smallint, b varchar(3))",
        &[texts("a", &["12", "-3"]), texts("b", &["ab ", "abc"])],
    )
    .await;
    assert_eq!(rows[0], [Datum::Int(12), Datum::Text("ab ".into())]);
    refused("CREATE TABLE t (a int)", &[texts("a", &["1", "x"])], 245).await;
    refused("CREATE TABLE t (a tinyint)", &[ints("a", &[1, 256])], 220).await;
    let error = refused("CREATE TABLE t (a varchar(3))", &[texts("a", &["abc", "abcd"])], 2628).await;
    assert!(error.message.contains("Truncated value: 'abc'"), "{}", error.message);
    // Blanks that are too many go.
    assert_eq!(
        stored("CREATE TABLE t (a varchar(3))", &[texts("a", &["abc  "])]).await[0],
        [Datum::Text("abc".into())]
    );
}

#[tokio::test]
async fn keys_too_long_for_an_index_are_refused() {
    let made = "CREATE TABLE t (a varchar(900) NOT NULL, b varchar(900) NOT NULL) CREATE INDEX i ON t (a, b)";
    let long = |bytes: usize| {
        let value = "x".repeat(bytes);
        let sql_type = SqlType::VarChar { length: Length::Units(900) };
        ["a", "b"]
            .map(|name| (name, sql_type.clone(), vec![Datum::Text("s".into()), Datum::Text(value.clone())]))
    };
    assert_eq!(stored(made, &long(850)).await.len(), 2);
    refused(made, &long(851), 1946).await;
}

#[tokio::test]
async fn a_table_that_is_locked_alone_takes_many_rows() {
    let mut bench = with("CREATE TABLE t (a int PRIMARY KEY, b AS a % 10)").await;
    let values: Vec<i64> = (0..3000).rev().collect();
    let locked = WriteOptions { table_lock: true, ..options() };
    assert!(write(&mut bench, "t", locked.clone(), &[ints("a", &values)], 700).is_ok());
    assert_eq!(bench.value("(SELECT SUM(b) FROM t)").await, Datum::Int(13_500));
    let again = write(&mut bench, "t", locked, &[ints("a", &[4000, 4001, 2999])], 3);
    assert_eq!(again.err().unwrap().number, 2627);
    assert_eq!(rows_of(&bench, "t"), 3000);
}
