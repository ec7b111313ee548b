//! `bulkwire copy`: files, sheets and tables, into one another.

use std::fs;

use crate::fixture::{Fixture, PASSWORD, text};

const BOOK: &[u8] = include_bytes!("../../../copy/tests/fixtures/book.xlsx");

#[test]
fn a_file_makes_its_table_and_the_table_makes_a_file() {
    let fixture = Fixture::new();
    fixture.file("a.csv", "id,name,amount\n1,Ärger,1.50\n2,,-3.25\n");
    let made = fixture.ok(&["copy", "a.csv", "mssql:dbo.t"]);
    assert!(made.stderr.contains("CREATE TABLE [dbo].[t]"), "{}", made.stderr);
    assert_eq!(fixture.rows("SELECT id, name, amount FROM t ORDER BY id"), "1,Ärger,1.50\n2,,-3.25\n");
    // A table that is there takes more rows.
    fixture.ok(&["copy", "a.csv", "mssql:t"]);
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t"), "4\n");
    fixture.ok(&["copy", "a.csv", "mssql:t", "--mode", "truncate"]);
    fixture.ok(&["copy", "mssql:t", "b.csv", "--quiet"]);
    assert_eq!(
        fs::read_to_string(fixture.path("b.csv")).unwrap(),
        "id,name,amount\n1,Ärger,1.50\n2,,-3.25\n"
    );
    fixture.ok(&["copy", "mssql:", "c.csv", "--query", "SELECT id FROM t WHERE id = 2"]);
    assert_eq!(fs::read_to_string(fixture.path("c.csv")).unwrap(), "id\n2\n");
}

#[test]
fn files_become_files_of_another_format_with_types() {
    let fixture = Fixture::new();
    fixture.file("a1.csv", "id,at\n007,2026-01-02\n");
    fixture.file("a2.csv", "id,at\n8,2026-01-03\n");
    fixture.ok(&["copy", "a*.csv", "a.parquet"]);
    fixture.ok(&["copy", "a.parquet", "mssql:t"]);
    let types = "SELECT name, TYPE_NAME(system_type_id) FROM sys.columns WHERE object_id = OBJECT_ID('t') ORDER BY column_id";
    assert!(fixture.rows(types).ends_with("at,date\n"), "{}", fixture.rows(types));
    // Text stays text on its way into text.
    fixture.ok(&["copy", "a?.csv", "all.csv"]);
    assert_eq!(fs::read_to_string(fixture.path("all.csv")).unwrap(), "id,at\n007,2026-01-02\n8,2026-01-03\n");
    let out = fixture.ok(&["copy", "a.parquet", "-", "--to-format", "csv", "--quiet"]);
    assert!(out.stdout.starts_with("id,at\n"), "{}", out.stdout);
    let piped = fixture.run_with(
        &fixture.url("Encrypt=Off"),
        PASSWORD,
        &["copy", "-", "mssql:piped", "--format", "csv"],
        "n,s\n1,x\n",
    );
    assert_eq!(piped.code, 0, "{}", piped.stderr);
    assert_eq!(fixture.rows("SELECT * FROM piped"), "1,x\n");
}

#[test]
fn a_sheet_has_the_types_of_its_cells_and_names_the_bad_ones() {
    let fixture = Fixture::new();
    fixture.file("book.xlsx", BOOK);
    let refused = fixture.run(&["copy", "book.xlsx", "mssql:orders"]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("Orders!C5: #DIV/0!"), "{}", refused.stderr);
    let copied = fixture.run(&["copy", "book.xlsx#orders", "mssql:orders", "--rejects", "bad.jsonl"]);
    assert_eq!(copied.code, 3, "{}", copied.stderr);
    assert_eq!(
        fixture.rows("SELECT id, name, price, day, at, paid, note FROM orders ORDER BY id"),
        "1,Ärger,9.5,2024-01-01,2024-01-01 18:00:00.000,1,12\n2,,10.0,2024-01-02,2024-01-02 12:00:00.000,0,x\n4,last,0.25,2024-01-04,2024-01-04 00:00:00.000,1,\n"
    );
    assert!(fs::read_to_string(fixture.path("bad.jsonl")).unwrap().contains("Orders!C5"));
    fixture.ok(&["copy", "book.xlsx", "bare.csv", "--sheet", "Bare", "--no-header", "--columns", "n,word"]);
    assert_eq!(fs::read_to_string(fixture.path("bare.csv")).unwrap(), "n,word\n7,seven\n");
    let missing = fixture.run(&["copy", "book.xlsx#Nope", "x.csv"]);
    assert!(missing.stderr.contains("the workbook has Orders, Bare"), "{}", missing.stderr);
}

#[test]
fn a_table_keeps_types_lengths_collation_and_identity() {
    let fixture = Fixture::new();
    fixture.sql(
        "CREATE TABLE s (id int IDENTITY(5, 2) NOT NULL, c char(3) NOT NULL, v nvarchar(17) COLLATE Latin1_General_BIN2 NULL, \
         d decimal(9, 2) NULL, t datetime2(7) NULL, o datetimeoffset(7) NULL, g uniqueidentifier NULL, r rowversion, m money NULL, b varbinary(20) NULL)",
    );
    fixture.sql(
        "INSERT INTO s (c, v, d, t, o, g, m, b) VALUES ('abc', N'größe', 1.25, '9999-12-31T23:59:59.9999999', '0001-01-02T00:00:00.1234567+14:00', \
         '6F9619FF-8B86-D011-B42D-00C04FC964FF', 1.2345, 0x0102), ('x', NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    );
    fixture.ok(&["copy", "mssql:s", "mssql:other.t"]);
    let shape = |name: &str| {
        fixture.rows(&format!(
            "SELECT name, TYPE_NAME(user_type_id), max_length, precision, scale, is_nullable, collation_name, is_identity \
             FROM sys.columns WHERE object_id = OBJECT_ID('{name}') AND name <> 'r' ORDER BY column_id"
        ))
    };
    assert_eq!(shape("s"), shape("other.t"));
    let rows = |name: &str| {
        fixture
            .rows(&format!("SELECT id, c, v, d, t, o, g, CAST(r AS binary(8)), m, b FROM {name} ORDER BY id"))
    };
    assert_eq!(rows("s"), rows("other.t"));
    fixture.sql("INSERT INTO other.t (c, r) VALUES ('new', 0x00)");
    assert_eq!(fixture.rows("SELECT MAX(id) FROM other.t"), "9\n");
}

#[test]
fn keys_come_behind_the_rows_and_foreign_keys_last() {
    let fixture = Fixture::new();
    fixture.sql("CREATE DATABASE target");
    fixture.sql("CREATE SCHEMA sales");
    fixture.sql(
        "CREATE TABLE sales.customers (id int NOT NULL CONSTRAINT pk_customers PRIMARY KEY, name nvarchar(20) NOT NULL CONSTRAINT u_name UNIQUE); \
         CREATE TABLE sales.orders (id int IDENTITY NOT NULL CONSTRAINT pk_orders PRIMARY KEY, customer int NOT NULL CONSTRAINT fk_customer REFERENCES sales.customers (id), \
         amount decimal(9, 2) NOT NULL CONSTRAINT d_amount DEFAULT (1), twice AS (amount * 2), CONSTRAINT c_amount CHECK (amount > 0)); \
         CREATE INDEX i_customer ON sales.orders (customer) INCLUDE (amount)",
    );
    fixture.sql(
        "INSERT INTO sales.customers VALUES (1, 'a'), (2, 'b'); INSERT INTO sales.orders (customer, amount) VALUES (1, 10), (2, 20), (2, 30)",
    );
    let to = fixture.url("Encrypt=Off").replace("/master?", "/target?");
    let ran = fixture.ok(&["copy", "mssql:", &to, "--tables", "sales.*", "--with-keys", "--jobs", "2"]);
    assert!(ran.stderr.contains("2 of 2 tables, 5 rows"), "{}", ran.stderr);
    let of = |sql: &str| {
        let ran = fixture.run_with(&to, PASSWORD, &["query", sql, "-o", "csv"], "");
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stdout.split_once('\n').unwrap().1.to_owned()
    };
    assert_eq!(
        of("SELECT id, customer, amount, twice FROM sales.orders ORDER BY id"),
        "1,1,10.00,20.00\n2,2,20.00,40.00\n3,2,30.00,60.00\n"
    );
    let keys = "SELECT name FROM sys.indexes WHERE object_id IN (OBJECT_ID('sales.orders'), OBJECT_ID('sales.customers')) ORDER BY name";
    assert_eq!(of(keys), "i_customer\npk_customers\npk_orders\nu_name\n");
    assert_eq!(of("SELECT name, is_not_trusted FROM sys.foreign_keys"), "fk_customer,0\n");
    assert_eq!(of("SELECT name FROM sys.check_constraints"), "c_amount\n");
    assert_eq!(of("SELECT name FROM sys.default_constraints"), "d_amount\n");
    // Again, into the tables that are there: computed columns are left out and identities are kept.
    let again = fixture.ok(&[
        "copy",
        "mssql:sales.orders",
        &to.replace("/target?", "/target/sales.orders?"),
        "--mode",
        "replace",
    ]);
    assert!(again.stderr.contains("left out"), "{}", again.stderr);
    assert_eq!(of("SELECT COUNT(*), SUM(id) FROM sales.orders"), "3,6\n");
}

#[test]
fn many_tables_go_to_files_and_a_bad_one_stops_none() {
    let fixture = Fixture::new();
    for n in 1..=3 {
        fixture.sql(&format!("CREATE TABLE t{n} (n int NOT NULL); INSERT INTO t{n} VALUES ({n}), ({n})"));
    }
    fixture.sql("CREATE VIEW v AS SELECT n FROM t1");
    let ran = fixture.ok(&[
        "copy",
        "mssql:",
        "out/",
        "--tables",
        "dbo.t?,v",
        "--exclude",
        "t3",
        "--to-format",
        "csv",
        "-o",
        "json",
        "--quiet",
    ]);
    assert!(ran.stdout.contains("\"copied\":3") && ran.stdout.contains("\"rows\":6"), "{}", ran.stdout);
    assert_eq!(fs::read_to_string(fixture.path("out/dbo.t1.csv")).unwrap(), "n\n1\n1\n");
    assert!(fixture.path("out/dbo.v.csv").exists() && !fixture.path("out/dbo.t3.csv").exists());
    fixture.sql("CREATE SCHEMA b");
    fixture.sql("CREATE TABLE b.t2 (other int NOT NULL)");
    let ran = fixture.run(&[
        "copy",
        "mssql:",
        "mssql:",
        "--tables",
        "dbo.t1,dbo.t2,dbo.t3",
        "--to-schema",
        "b",
        "--jobs",
        "1",
    ]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("dbo.t2: FAILED") && ran.stderr.contains("2 of 3 tables"), "{}", ran.stderr);
    assert_eq!(
        fixture.rows("SELECT COUNT(*) FROM b.t1") + &fixture.rows("SELECT COUNT(*) FROM b.t3"),
        "2\n2\n"
    );
}

#[test]
fn what_cannot_be_copied_is_said_before_anything_changes() {
    let fixture = Fixture::new();
    fixture.file("a.csv", "id\n1\n");
    fixture.sql("CREATE TABLE t (id int NOT NULL)");
    let cases: &[(&[&str], i32, &str)] = &[
        (&["a.csv", "mssql://sa@127.0.0.1:1/master/t?Encrypt=Off"], 1, "127.0.0.1:1"),
        (&["missing.csv", "mssql:t"], 1, "missing.csv"),
        (&["none-*.csv", "mssql:t"], 2, "no file has such a name"),
        (&["mssql:missing", "b.csv"], 1, "missing"),
        (&["mssql:t", "mssql:dbo.T"], 2, "both source and destination"),
        (&["a.csv", "./a.csv"], 2, "both source and destination"),
        (&["a.csv", "mssql:t", "--create"], 2, "there is such a table already"),
        (&["a.csv", "mssql:u", "--create=never"], 1, "u"),
        (&["a.csv", "mssql:u", "--mode", "upsert", "--key", "id"], 2, "there is no such table"),
        (&["a.csv", "mssql:"], 2, "name the table that takes the rows"),
        (&["mssql:", "b.csv"], 2, "name a table"),
        (
            &["mssql:t", "b.csv", "--delimiter", ";"],
            2,
            "--delimiter is for text and other files that are read",
        ),
        (&["a.csv", "b.csv", "--writers", "2"], 2, "--writers is for loading SQL Server"),
        (&["a.csv", "b.parquet", "--mode", "append"], 2, "--mode is for tables"),
        (&["a.csv", "mssql:t", "--readers", "2"], 2, "--readers is for reading SQL Server"),
        (&["a.csv", "mssql:u", "--with-keys"], 2, "--with-keys"),
        (&["mssql:", "b.csv", "--tables", "t"], 2, "takes one table"),
        (&["mssql:", "out/", "--tables", "nope.*"], 2, "has no such table"),
        (&["a.csv", "--tables", "t", "out/"], 2, "--tables chooses tables of a database"),
        (&["ftp://host/a", "b.csv"], 2, "ftp:// is not understood"),
        (&["a.csv", "book.xlsx"], 2, "workbooks are read and not written"),
        (&["a.csv", "-", "--output", "json"], 2, "standard output"),
        (&["mssql:t", "-"], 2, "--to-format"),
        (&["a.csv", "mssql:t", "--query", "SELECT 1"], 2, "--query is for databases"),
        (&["mssql:", "b.csv", "--query", "PRINT 1"], 2, "returns no result"),
    ];
    for (words, code, said) in cases {
        let ran = fixture.run(&[&["copy"], *words].concat());
        assert_eq!(ran.code, *code, "{words:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{words:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains(PASSWORD), "{words:?}: {}", ran.stderr);
    }
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t"), "0\n");
    assert!(!fixture.path("b.csv").exists() && !fixture.path("out").exists());
}

#[test]
fn rows_that_do_not_fit_are_refused_by_file_and_line() {
    let fixture = Fixture::new();
    fixture.file("p1.csv", "id\n1\n2\n");
    fixture.file("p2.csv", "id\n3\nx\n5\n");
    fixture.sql("CREATE TABLE t (id int NOT NULL)");
    let ran = fixture.run(&["copy", "p*.csv", "mssql:t", "--rejects", "bad.jsonl"]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    let bad = fs::read_to_string(fixture.path("bad.jsonl")).unwrap();
    assert!(
        bad.contains("\"file\":\"p2.csv\"") && bad.contains("\"row\":2") && bad.contains("\"line\":3"),
        "{bad}"
    );
    assert_eq!(fixture.rows("SELECT COUNT(*), SUM(id) FROM t"), "4,11\n");
    let failed = fixture.run(&["copy", "p*.csv", "mssql:t2", "--declare", "x int"]);
    assert_eq!(failed.code, 2, "{}", failed.stderr);
    // A table that was made for nothing goes again.
    fixture.file("wide.csv", "id,bad\n1,x\n2\n");
    let failed = fixture.run(&["copy", "wide.csv", "mssql:made"]);
    assert_eq!(failed.code, 1, "{}", failed.stderr);
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM sys.tables WHERE name = 'made'"), "0\n");
}

#[test]
fn a_plan_changes_nothing() {
    let fixture = Fixture::new();
    fixture.file("a.csv", "id\n1\n");
    let dry = fixture.ok(&["copy", "a.csv", "mssql:t", "--dry-run"]);
    assert!(dry.stderr.contains("CREATE TABLE"), "{}", dry.stderr);
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM sys.tables"), "0\n");
    fixture.ok(&["copy", "a.csv", "b.parquet", "--dry-run"]);
    assert!(!fixture.path("b.parquet").exists());
    fixture.ok(&["copy", "a.csv", "mssql:t", "--report", "page.html", "--quiet"]);
    let page = fs::read_to_string(fixture.path("page.html")).unwrap();
    assert!(page.contains("Copy report") && page.contains("a.csv") && page.contains("Plan of"), "{page}");
}

#[test]
fn a_full_disk_leaves_no_file() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NOT NULL); INSERT INTO t VALUES (1)");
    let ran = fixture.run(&["copy", "mssql:t", "/dev/full", "--to-format", "csv"]);
    assert_ne!(ran.code, 0, "{}", ran.stderr);
    let text_of = text(fixture.path("none").as_path()).to_owned();
    let ran = fixture.run(&["copy", "mssql:t", &format!("{text_of}/deeper/x.csv")]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
}

#[test]
fn a_copy_out_of_order_fills_a_heap_before_the_key() {
    // By their types these are some 80 MB: more than a batch.
    const ROWS: u32 = 10_000;
    let fixture = Fixture::new();
    let columns = "(id int NOT NULL, n int NOT NULL, a char(4000) NOT NULL, b char(4000) NOT NULL";
    fixture.sql(&format!("CREATE TABLE s {columns}); CREATE TABLE t {columns}, CONSTRAINT pk_t PRIMARY KEY (id)); CREATE INDEX ix_t ON t (n)"));
    fixture.sql(&format!(
        "INSERT s SELECT value * 7919 % {ROWS}, value, 'x', 'y' FROM GENERATE_SERIES(1, {ROWS})"
    ));
    let whole = format!("{ROWS},{}\n", u64::from(ROWS) * u64::from(ROWS - 1) / 2);
    let copied = |options: &[&str], is_staged: bool| {
        let done = fixture.ok(&[&["copy", "mssql:s", "mssql:t"], options].concat());
        assert_eq!(done.stderr.contains("heap-then-key"), is_staged, "{options:?}: {}", done.stderr);
        assert_eq!(fixture.rows("SELECT COUNT(*), SUM(CAST(id AS bigint)) FROM t"), whole, "{options:?}");
        assert_eq!(fixture.rows("SELECT COUNT(*) FROM sys.indexes WHERE object_id = OBJECT_ID('t')"), "2\n");
        assert_eq!(fixture.rows("SELECT COUNT(*) FROM sys.tables"), "2\n", "{options:?}: a stage is left");
        fixture.sql("TRUNCATE TABLE t");
    };
    copied(&[], true);
    copied(&["--writers", "auto"], true);
    // Who says when rows are to be seen, or that nobody else is there, wants them in the table itself.
    copied(&["--batch-rows", "1000"], false);
    copied(&["--sole-writer"], false);
    // A row that the key refuses leaves both tables as they were.
    fixture.sql("INSERT s VALUES (5, 5, 'again', 'again')");
    let refused = fixture.run(&["copy", "mssql:s", "mssql:t"]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("duplicate key"), "{}", refused.stderr);
    assert_eq!(fixture.rows("SELECT (SELECT COUNT(*) FROM t), (SELECT COUNT(*) FROM sys.tables)"), "0,2\n");
}

#[test]
fn rows_that_come_in_the_order_of_the_key_are_not_sorted_again() {
    let fixture = Fixture::new();
    let key = |name: &str, key: &str| {
        format!(
            "CREATE TABLE {name} (id int NOT NULL, day date NOT NULL, name varchar(10), PRIMARY KEY ({key}));"
        )
    };
    fixture.sql(
        &[key("a", "id"), key("b", "id"), key("c", "id DESC"), key("d", "name"), key("e", "id, day")]
            .concat()
            .replace("name varchar(10)", "name varchar(10) NOT NULL"),
    );
    fixture.sql("INSERT a SELECT value, '2026-01-01', CONCAT('n', value) FROM GENERATE_SERIES(1, 500)");
    for (target, order) in [("b", "id  "), ("c", "none"), ("d", "none"), ("e", "none")] {
        let copied = fixture.ok(&["copy", "mssql:a", &format!("mssql:{target}"), "--mode", "append"]);
        let line = copied
            .stderr
            .lines()
            .find(|line| line.starts_with("ORDER "))
            .unwrap_or_else(|| panic!("{}", copied.stderr));
        assert_eq!(line.contains("in the order of the source's key"), order != "none", "{target}: {line}");
        assert!(line.contains(order), "{target}: {line}");
        assert_eq!(fixture.rows(&format!("SELECT COUNT(*), SUM(id) FROM {target}")), "500,125250\n");
    }
    fixture.ok(&["copy", "mssql:e", "e.parquet", "--quiet"]);
    fixture.sql("TRUNCATE TABLE e");
    let copied = fixture.ok(&["copy", "e.parquet", "mssql:e"]);
    assert!(copied.stderr.contains("the file's key was read"), "{}", copied.stderr);
    assert_eq!(fixture.rows("SELECT COUNT(*), SUM(id) FROM e"), "500,125250\n");
}
