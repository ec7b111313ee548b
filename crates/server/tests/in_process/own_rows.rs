//! A statement reads the state at its start: tables are written from themselves, in every way to read them, and never meet their own
//! rows.

use std::sync::Arc;

use crate::answers::{answer, login};
use crate::instances::empty;
use executor::session::Session;
use executor::statements::open_session;

/// How a table lies. `$t` is its name; each row has a `v`, which counts from 0, and a `p` that makes rows long.
const TABLES: [(&str, &str); 7] = [
    ("heap", "(v int NOT NULL, p char(200) NOT NULL)"),
    ("heap with a key", "(v int NOT NULL UNIQUE NONCLUSTERED, p char(200) NOT NULL)"),
    ("clustered", "(v int NOT NULL PRIMARY KEY, p char(200) NOT NULL)"),
    ("long rows", "(v int NOT NULL PRIMARY KEY, p char(200) NOT NULL, q char(3000) NOT NULL DEFAULT '')"),
    ("identity", "(id int IDENTITY PRIMARY KEY, v int NOT NULL, p char(200) NOT NULL)"),
    (
        "guid",
        "(id uniqueidentifier NOT NULL DEFAULT NEWID() PRIMARY KEY, v int NOT NULL, p char(200) NOT NULL)",
    ),
    (
        "guid and a key",
        "(id uniqueidentifier NOT NULL DEFAULT NEWID() PRIMARY KEY, v int NOT NULL UNIQUE, p char(200) NOT NULL)",
    ),
];

/// Statements that add `v + $n` for each of `$n` rows.
const PLAIN: [&str; 15] = [
    "INSERT $t (v, p) SELECT v + $n, p FROM $t",
    "INSERT $t (v, p) SELECT v + $n, p FROM $t WHERE v >= 0",
    "INSERT $t (v, p) SELECT v + $n, p FROM $t WHERE v BETWEEN 0 AND 100000000 AND p >= ''",
    "INSERT $t (v, p) SELECT TOP (1000000) v + $n, p FROM $t",
    "INSERT TOP (1000000) $t (v, p) SELECT v + $n, p FROM $t",
    "INSERT $t (v, p) SELECT v + $n, p FROM $t WHERE v % 2 = 0 UNION ALL SELECT v + $n, p FROM $t WHERE v % 2 = 1",
    "WITH c AS (SELECT v, p FROM $t) INSERT $t (v, p) SELECT v + $n, p FROM c",
    "INSERT $t (v, p) SELECT x.v + $n, x.p FROM (VALUES (0), (1), (2)) g (k) CROSS APPLY (SELECT v, p FROM $t WHERE v % 3 = k) x",
    "INSERT $t (v, p) SELECT v + $n, p FROM $t WHERE (SELECT COUNT(*) FROM $t x WHERE x.v >= 0) = $n",
    "INSERT $t (v, p) SELECT a.v + $n, a.p FROM $t a JOIN $t b ON a.v = b.v",
    "INSERT $t (v, p) SELECT a.v + $n, a.p FROM $t a WHERE EXISTS (SELECT 1 FROM $t b WHERE a.v = b.v)",
    "INSERT $t (v, p) SELECT value + $n, '' FROM GENERATE_SERIES(0, $n - 1) s WHERE NOT EXISTS (SELECT 1 FROM $t b WHERE b.v = s.value + $n)",
    "INSERT $t (v, p) SELECT v + $n, p FROM $t ORDER BY v DESC",
    "INSERT $t (v, p) SELECT value + (SELECT MAX(v) + 1 FROM $t), '' FROM GENERATE_SERIES(0, $n - 1)",
    "INSERT $t (v, p) OUTPUT inserted.v INTO #out SELECT v + $n, p FROM $t",
];

/// The same by what only tables with a name for all may have.
const NAMED: [&str; 5] = [
    "INSERT $t (v, p) SELECT v + $n, p FROM view_of_t",
    "INSERT $t (v, p) SELECT v + $n, p FROM dbo.inline_of_t()",
    "INSERT $t (v, p) SELECT v + $n, p FROM dbo.rows_of_t()",
    "INSERT $t (v, p) SELECT value + dbo.count_of_t(), '' FROM GENERATE_SERIES(0, $n - 1)",
    "INSERT view_of_t (v, p) SELECT v + $n, p FROM $t",
];

/// Level by level: for few rows.
const RECURSIVE: &str = "WITH r AS (SELECT v, p FROM $t WHERE v = 0 UNION ALL SELECT t.v, t.p FROM $t t JOIN r ON t.v = r.v + 1) \
     INSERT $t (v, p) SELECT v + $n, p FROM r OPTION (MAXRECURSION 0)";

struct Place {
    session: Session,
}

impl Place {
    fn new() -> Place {
        Place { session: open_session(Arc::new(empty()), login(51)).unwrap() }
    }

    /// Rows, errors and messages of a batch.
    async fn ask(&mut self, batch: &str) -> Vec<String> {
        let lines = answer(&mut self.session, batch).await;
        lines.into_iter().filter(|line| !line.starts_with('[') && !line.starts_with("affected")).collect()
    }

    async fn run(&mut self, batch: &str) {
        assert_eq!(self.ask(batch).await, [""; 0], "{batch}");
    }

    /// Does the statement to `n` rows of a table that begins to exist, and compares all of it.
    async fn check(
        &mut self,
        (kind, columns): (&str, &str),
        name: &str,
        statement: &str,
        n: usize,
        around: (&str, &str),
    ) {
        let (before, after) = around;
        let fill = format!("INSERT {name} (v, p) SELECT value, 'x' FROM GENERATE_SERIES(0, {n} - 1)");
        let statement = statement.replace("$t", name).replace("$n", &n.to_string());
        let look =
            format!("SELECT COUNT(*), COUNT(DISTINCT v), MIN(v), MAX(v), SUM(CAST(v AS bigint)) FROM {name}");
        let make = match name.strip_prefix('@') {
            Some(_) => format!("DECLARE {name} TABLE {columns}"),
            None => format!("CREATE TABLE {name} {columns}"),
        };
        let batch = match name.starts_with('@') {
            true => format!("{make}; {fill}; {before} {statement}; SELECT @@ROWCOUNT; {after} {look}"),
            false => {
                self.run(&format!("{make}; {fill}")).await;
                format!("{before} {statement}; SELECT @@ROWCOUNT; {after} {look}")
            }
        };
        let all = 2 * n;
        let sum = (all - 1) * all / 2;
        let expected = [n.to_string(), format!("{all} | {all} | 0 | {} | {sum}", all - 1)];
        assert_eq!(self.ask(&batch).await, expected, "{kind}, {n} rows: {statement}");
        if !name.starts_with('@') {
            self.run(&format!("DROP TABLE {name}")).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_are_written_from_themselves() {
    let mut place = Place::new();
    place.run("CREATE TABLE #out (v int)").await;
    for table in TABLES {
        // From two pages on, and from two batches of rows on.
        for statement in PLAIN {
            place.check(table, "dbo.t", statement, 240, ("", "")).await;
        }
        place.check(table, "dbo.t", PLAIN[0], 9000, ("", "")).await;
        for (name, n, around) in [
            ("dbo.t", 2, ("", "")),
            ("#t", 90, ("", "")),
            ("@t", 90, ("", "")),
            ("dbo.t", 90, ("BEGIN TRAN;", "COMMIT;")),
        ] {
            for statement in [PLAIN[0], PLAIN[5], PLAIN[7]] {
                place.check(table, name, statement, n, around).await;
            }
            place.check(table, name, RECURSIVE, n.min(20), around).await;
        }
    }
    place.check(TABLES[5], "dbo.t", PLAIN[0], 20_000, ("", "")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_are_written_from_themselves_by_views_and_functions() {
    let mut place = Place::new();
    for table in [TABLES[0], TABLES[2], TABLES[5]] {
        for statement in NAMED {
            // Views and functions need a table to be made.
            place.run(&format!("CREATE TABLE dbo.t {}", table.1)).await;
            for module in [
                "CREATE OR ALTER VIEW view_of_t AS SELECT v, p FROM dbo.t",
                "CREATE OR ALTER FUNCTION dbo.inline_of_t() RETURNS TABLE AS RETURN SELECT v, p FROM dbo.t",
                "CREATE OR ALTER FUNCTION dbo.rows_of_t() RETURNS @r TABLE (v int, p char(200)) AS BEGIN \
                 INSERT @r SELECT v, p FROM dbo.t RETURN END",
                "CREATE OR ALTER FUNCTION dbo.count_of_t() RETURNS int AS BEGIN RETURN (SELECT COUNT(*) FROM dbo.t) END",
            ] {
                place.run(module).await;
            }
            place.run("DROP TABLE dbo.t").await;
            // Each row calls it.
            let n = if statement.contains("count_of_t") { 40 } else { 400 };
            place.check(table, "dbo.t", statement, n, ("", "")).await;
        }
    }
}

/// Also where a batch of rows is written before the next is computed.
#[tokio::test(flavor = "multi_thread")]
async fn defaults_that_count_rows_count_those_before_the_statement() {
    let mut place = Place::new();
    for batch in [
        "CREATE TABLE dbo.d (id int IDENTITY PRIMARY KEY, v int)",
        "CREATE FUNCTION dbo.count_of_d() RETURNS int AS BEGIN RETURN (SELECT COUNT(*) FROM dbo.d) END",
        "ALTER TABLE dbo.d ADD n int NOT NULL CONSTRAINT by_count DEFAULT dbo.count_of_d()",
        "INSERT d (v) VALUES (1), (2), (3)",
        "INSERT d (v) SELECT value FROM GENERATE_SERIES(1, 8300)",
    ] {
        place.run(batch).await;
    }
    assert_eq!(place.ask("SELECT n, COUNT(*) FROM d GROUP BY n ORDER BY n").await, ["0 | 3", "3 | 8300"]);
}

/// A cursor reads on while its table grows: what it shows of new rows is its own affair, but each old row comes once.
#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_reads_on_while_its_table_grows() {
    for around in [("", ""), ("BEGIN TRAN;", "COMMIT;")] {
        for table in TABLES {
            let mut place = Place::new();
            place.run(&format!("CREATE TABLE dbo.t {}", table.1)).await;
            place.run("INSERT t (v, p) SELECT value, 'x' FROM GENERATE_SERIES(0, 99)").await;
            let (begin, end) = around;
            let lines = place
                .ask(&format!(
                    "SET NOCOUNT ON; {begin} DECLARE @v int, @i int = 0; CREATE TABLE #seen (v int); \
                     DECLARE c CURSOR FOR SELECT v FROM t WHERE v < 100; OPEN c; FETCH NEXT FROM c INTO @v; \
                     WHILE @@FETCH_STATUS = 0 BEGIN \
                     INSERT #seen VALUES (@v); INSERT t (v, p) VALUES (100 + @i, 'y'); SET @i += 1; FETCH NEXT FROM c INTO @v END; \
                     CLOSE c; DEALLOCATE c; {end} SELECT COUNT(*), COUNT(DISTINCT v) FROM #seen; SELECT COUNT(*) FROM t"
                ))
                .await;
            assert_eq!(lines, ["100 | 100", "200"], "{} {around:?}", table.0);
        }
    }
}
