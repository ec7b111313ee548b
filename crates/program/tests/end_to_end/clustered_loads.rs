//! Loads of tables with a clustered key, by several connections of one command and by several commands at a time.

use std::thread;

use crate::fixture::{Fixture, Ran};

const ROWS: u64 = 24_000;
const DEFINITION: &str = "CREATE TABLE t (id int NOT NULL PRIMARY KEY, name varchar(30) NOT NULL); \
     CREATE INDEX by_name ON t (name)";

fn lines(ids: impl Iterator<Item = u64>) -> String {
    let rows: String = ids.map(|id| format!("{id},name {}\n", id % 977)).collect();
    format!("id,name\n{rows}")
}

/// All numbers below `rows`, once each and in no order.
fn scattered(rows: u64) -> impl Iterator<Item = u64> {
    // A step without a factor in common with the number of rows visits each of them.
    (0..rows).map(move |row| row * 7919 % rows)
}

fn make(fixture: &Fixture, filled: bool) {
    let drop = fixture.run(&["query", "DROP TABLE IF EXISTS t"]);
    assert_eq!(drop.code, 0, "{}", drop.stderr);
    let made = fixture.run(&["query", DEFINITION]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    if filled {
        let row = fixture.run(&["query", "INSERT t VALUES (-1, 'first')"]);
        assert_eq!(row.code, 0, "{}", row.stderr);
    }
}

fn assert_whole(fixture: &Fixture, rows: u64, what: &str) {
    let count = fixture.run(&[
        "query",
        "SELECT COUNT(*), COUNT(DISTINCT id), SUM(CAST(id AS bigint)), (SELECT COUNT(*) FROM t WITH (INDEX (by_name)) \
         WHERE name > '') FROM t WHERE id >= 0",
        "--format",
        "csv",
    ]);
    let sum = rows * (rows - 1) / 2;
    let (Some(line), true) = (count.stdout.lines().nth(1), count.code == 0) else {
        panic!("{what}: {}{}", count.stdout, count.stderr)
    };
    assert!(line.starts_with(&format!("{rows},{rows},{sum},")), "{what}: {line}");
}

fn writers_line(ran: &Ran) -> String {
    let line = ran.stderr.lines().find(|line| line.starts_with("writers "));
    line.unwrap_or_else(|| panic!("{}", ran.stderr)).to_owned()
}

#[test]
fn any_number_of_writers_fills_a_clustered_table() {
    let fixture = Fixture::new();
    fixture.file("sorted.csv", lines(0..ROWS));
    fixture.file("scattered.csv", lines(scattered(ROWS)));
    for filled in [false, true] {
        for (file, order) in [("sorted.csv", &["--order", "id"][..]), ("scattered.csv", &[])] {
            for writers in ["1", "4", "8", "auto"] {
                let what = format!("{writers} writers, {file}, filled: {filled}");
                make(&fixture, filled);
                // Nothing is tried again, so a deadlock would fail the load.
                let mut arguments =
                    vec!["load", "t", file, "--writers", writers, "--batch-rows", "700", "--retry-for", "0"];
                arguments.extend(order);
                let loaded = fixture.run(&arguments);
                assert_eq!(loaded.code, 0, "{what}: {}", loaded.stderr);
                assert_whole(&fixture, ROWS, &what);
                let shared =
                    filled || writers == "4" || writers == "8" || (writers == "auto" && !order.is_empty());
                let lock = loaded.stderr.lines().find(|line| line.starts_with("TABLOCK ")).unwrap();
                assert_eq!(lock.contains(" off "), shared, "{what}: {lock}");
                if writers == "auto" {
                    let reason = match (filled, order.is_empty()) {
                        (_, false) => "a range of the key of its own",
                        (true, true) => "a deadlock's victim tries again",
                        (false, true) => "one writer under a table lock",
                    };
                    assert!(writers_line(&loaded).contains(reason), "{what}: {}", writers_line(&loaded));
                }
            }
        }
    }
}

#[test]
fn ten_commands_load_one_clustered_table_at_a_time() {
    const COMMANDS: u64 = 10;
    let fixture = Fixture::new();
    for (name, interleaved) in [("interleaved", true), ("disjoint", false)] {
        make(&fixture, false);
        let share = ROWS / COMMANDS;
        for command in 0..COMMANDS {
            let own = scattered(share);
            let content = match interleaved {
                true => lines(own.map(|row| row * COMMANDS + command)),
                false => lines(own.map(|row| command * share + row)),
            };
            fixture.file(&format!("{name}-{command}.csv"), content);
        }
        thread::scope(|scope| {
            for command in 0..COMMANDS {
                let fixture = &fixture;
                scope.spawn(move || {
                    let file = format!("{name}-{command}.csv");
                    let loaded = fixture.run(&[
                        "load",
                        "t",
                        &file,
                        "--quiet",
                        "--table-lock=off",
                        "--batch-rows",
                        "600",
                        "--retry-for",
                        "0",
                    ]);
                    assert_eq!(loaded.code, 0, "{file}: {}", loaded.stderr);
                });
            }
        });
        assert_whole(&fixture, ROWS, name);
    }
}

/// The plan's line for a setting.
fn line<'a>(ran: &'a Ran, setting: &str) -> &'a str {
    let line = ran.stderr.lines().find(|line| line.starts_with(&format!("{setting} ")));
    line.unwrap_or_else(|| panic!("{setting}: {}", ran.stderr))
}

#[test]
fn a_sorted_file_is_loaded_in_order_without_being_told_so() {
    let fixture = Fixture::new();
    for (name, ids) in [
        ("rising", "n"),
        ("falling", "-n"),
        ("scattered", "n * 7919 % 24000"),
        ("doubled", "CASE n WHEN 23999 THEN 23998 ELSE n END"),
    ] {
        let rows = "SELECT TOP (24000) CAST(ROW_NUMBER() OVER (ORDER BY (SELECT 1)) - 1 AS int) AS n \
                    FROM (VALUES (1),(2),(3),(4),(5),(6),(7),(8),(9),(10)) a(x), (VALUES (1),(2),(3),(4),(5),(6),(7),(8),(9),(10)) b(x), \
                    (VALUES (1),(2),(3),(4),(5),(6),(7),(8),(9),(10)) c(x), (VALUES (1),(2),(3),(4),(5),(6),(7),(8),(9),(10)) d(x), \
                    (VALUES (1),(2),(3)) e(x)";
        let query = format!(
            "SELECT {ids} AS id, 'name ' + CAST(n % 977 AS varchar(10)) AS name FROM ({rows}) t ORDER BY n"
        );
        for kind in ["parquet", "arrow"] {
            fixture.ok(&["export", "--query", &query, &format!("{name}.{kind}"), "--quiet"]);
        }
    }
    let reason = "the file's key was read; it is the clustered key";
    for (file, key, order) in [
        ("rising.parquet", "id", Some("id ")),
        ("rising.arrow", "id", Some("id ")),
        ("falling.parquet", "id DESC", Some("id DESC ")),
        ("falling.arrow", "id DESC", Some("id DESC ")),
        ("falling.parquet", "id", None),
        ("scattered.parquet", "id", None),
        ("scattered.arrow", "id", None),
    ] {
        let create = format!(
            "DROP TABLE IF EXISTS t; CREATE TABLE t (id int NOT NULL, name varchar(30), PRIMARY KEY ({key}))"
        );
        for writers in [&[][..], &["--writers", "3"], &["--writers", "auto"]] {
            fixture.ok(&["query", &create]);
            let mut arguments = vec!["load", "t", file, "--batch-rows", "5000"];
            arguments.extend(writers);
            let loaded = fixture.run(&arguments);
            assert_eq!(loaded.code, 0, "{file} {key}: {}", loaded.stderr);
            let said = line(&loaded, "ORDER");
            match order {
                Some(order) => assert!(said.contains(order) && said.contains(reason), "{said}"),
                None => assert!(said.contains("none"), "{said}"),
            }
            let count = fixture.run(&["query", "SELECT COUNT(*), SUM(ABS(id)) FROM t", "--format", "csv"]);
            assert_eq!(count.stdout.lines().nth(1), Some("24000,287988000"), "{file} {key}");
        }
    }
    // Rows with the same key are no order by a unique one, and refused as ever.
    fixture.ok(&["query", "DROP TABLE t; CREATE TABLE t (id int NOT NULL PRIMARY KEY, name varchar(30))"]);
    let refused = fixture.run(&["load", "t", "doubled.parquet", "--quiet"]);
    assert!(refused.code == 1 && refused.stderr.contains("duplicate key"), "{}", refused.stderr);
    fixture.ok(&["query", "DROP TABLE t; CREATE TABLE t (id int NOT NULL, name varchar(30)); CREATE CLUSTERED INDEX c ON t (id)"]);
    let loaded = fixture.run(&["load", "t", "doubled.parquet"]);
    assert!(line(&loaded, "ORDER").contains(reason), "{}", loaded.stderr);
    // Text is sorted by a collation, and numbers of text by their letters.
    fixture.ok(&[
        "query",
        "DROP TABLE t; CREATE TABLE t (id varchar(20) NOT NULL PRIMARY KEY, name varchar(30))",
    ]);
    let loaded = fixture.run(&["load", "t", "rising.parquet", "--map", "name=name", "--map", "id=id"]);
    assert!(loaded.code != 0 || line(&loaded, "ORDER").contains("none"), "{}", loaded.stderr);
}

#[test]
fn rows_out_of_order_fill_a_heap_before_the_key_where_that_pays() {
    let fixture = Fixture::new();
    // Few rows, but enough bytes.
    const WIDE: u64 = 4_500;
    let filler = "x".repeat(7_600);
    let content = |ids: &mut dyn Iterator<Item = u64>| {
        let rows: String = ids.map(|id| format!("{id},{filler}\n")).collect();
        format!("id,name\n{rows}")
    };
    fixture.file("scattered.csv", content(&mut scattered(WIDE)));
    fixture.file("sorted.csv", content(&mut (0..WIDE)));
    fixture.file("small.csv", lines(scattered(1000)));
    let create = "CREATE TABLE t (id int NOT NULL PRIMARY KEY, name varchar(8000) NOT NULL)";
    let load = |file: &str, create: &str, flags: &[&str]| {
        fixture.ok(&["query", &format!("DROP TABLE IF EXISTS t; {create}")]);
        let mut arguments = vec!["load", "t", file];
        arguments.extend(flags);
        let loaded = fixture.run(&arguments);
        assert_eq!(loaded.code, 0, "{file} {flags:?}: {}", loaded.stderr);
        let heap = loaded
            .stderr
            .lines()
            .any(|line| line.starts_with("strategy  ") && line.contains("heap-then-key"));
        assert_eq!(heap, loaded.stderr.contains("published by"), "{file} {flags:?}: {}", loaded.stderr);
        let rows = if file == "small.csv" { 1000 } else { WIDE };
        let count =
            fixture.run(&["query", "SELECT COUNT(*), COUNT(DISTINCT id), SUM(id) FROM t", "--format", "csv"]);
        assert_eq!(count.stdout.lines().nth(1), Some(&*format!("{rows},{rows},{}", rows * (rows - 1) / 2)));
        heap
    };
    assert!(load("scattered.csv", create, &["--writers", "2"]));
    assert!(load("scattered.csv", create, &["--writers", "auto"]));
    // The plan's own number of connections leaves sorted rows to one of them.
    assert!(!load("sorted.csv", create, &["--writers", "auto"]));
    assert!(load("sorted.csv", create, &["--writers", "2"]));
    // One connection would sort and merge each of several batches.
    assert!(load("scattered.csv", create, &[]));
    assert!(load("scattered.csv", create, &["--writers", "1"]));
    assert!(!load("sorted.csv", create, &[]));
    for flags in [
        &["--batch-rows", "2000"][..],
        &["--strategy", "direct"],
        &["--writers", "2", "--strategy", "direct"],
        &["--writers", "2", "--table-lock=off"],
        &["--writers", "2", "--sole-writer"],
        &["--writers", "2", "--resume"],
    ] {
        assert!(!load("scattered.csv", create, flags), "{flags:?}");
    }
    assert!(!load("sorted.csv", create, &["--writers", "2", "--order", "id"]));
    assert!(!load("small.csv", create, &["--writers", "2"]));
    // What a load into the table itself would do otherwise.
    for create in [
        "CREATE TABLE t (id int NOT NULL PRIMARY KEY, name varchar(8000) NOT NULL CHECK (name > ''))",
        "CREATE TABLE t (id int NOT NULL PRIMARY KEY, name varchar(8000) NOT NULL, n int IDENTITY)",
        "CREATE TABLE t (id int NOT NULL PRIMARY KEY NONCLUSTERED, name varchar(8000) NOT NULL, n int IDENTITY)",
    ] {
        assert!(!load("scattered.csv", create, &["--writers", "2"]), "{create}");
    }
    // Batches are merged into other indexes whatever the order of the rows.
    for create in [
        "CREATE TABLE t (id int NOT NULL PRIMARY KEY NONCLUSTERED, name varchar(8000) NOT NULL); CREATE INDEX i ON t (id)",
        "CREATE TABLE t (id int NOT NULL PRIMARY KEY, name varchar(8000) NOT NULL); CREATE INDEX i ON t (id)",
        "CREATE TABLE t (id int NOT NULL, name varchar(8000) NOT NULL); CREATE INDEX i ON t (id) INCLUDE (name)",
    ] {
        for file in ["scattered.csv", "sorted.csv"] {
            for flags in [&[][..], &["--writers", "auto"], &["--writers", "2"]] {
                assert!(load(file, create, flags), "{create} {file} {flags:?}");
                fixture.sql("DBCC CHECKTABLE ('t') WITH NO_INFOMSGS");
                let by_index = fixture.rows("SELECT COUNT(*), SUM(id) FROM t WITH (INDEX (i)) WHERE id > 0");
                assert_eq!(by_index, format!("{},{}\n", WIDE - 1, WIDE * (WIDE - 1) / 2), "{create} {file}");
            }
        }
        assert!(!load("small.csv", create, &[]), "{create}");
        assert!(!load("sorted.csv", create, &["--batch-rows", "2000"]), "{create}");
        assert!(!load("sorted.csv", create, &["--strategy", "direct"]), "{create}");
    }
    assert!(load(
        "sorted.csv",
        "CREATE TABLE t (id int NOT NULL PRIMARY KEY, name varchar(8000) NOT NULL); CREATE INDEX i ON t (id)",
        &["--order", "id"]
    ));
    assert!(!load(
        "sorted.csv",
        "CREATE TABLE t (id int NOT NULL, name varchar(8000) NOT NULL)",
        &["--writers", "2"]
    ));
    // A constraint that nobody trusts is kept by the rows of a load that is to be checked.
    let untrusted = "CREATE TABLE t (id int NOT NULL, name varchar(8000) NOT NULL); CREATE INDEX i ON t (id); \
                     ALTER TABLE t WITH NOCHECK ADD CONSTRAINT least CHECK (id > 0)";
    fixture.ok(&["query", &format!("DROP TABLE IF EXISTS t; {untrusted}")]);
    let refused = fixture.run(&["load", "t", "sorted.csv", "--check-constraints"]);
    assert!(refused.code == 1 && refused.stderr.contains("least"), "{}", refused.stderr);
    assert!(!load("sorted.csv", &untrusted.replace("id > 0", "id >= 0"), &["--check-constraints"]));
    assert!(!load(
        "sorted.csv",
        "CREATE TABLE t (id int NOT NULL, name varchar(8000) NOT NULL); CREATE INDEX i ON t (id)",
        &["--time-limit", "600"]
    ));
    let left = fixture.run(&[
        "query",
        "SELECT COUNT(*) FROM sys.tables WHERE name LIKE '%bulkwire%' AND name NOT LIKE 'bulkwire%'",
        "--format",
        "csv",
    ]);
    assert_eq!(left.stdout.lines().nth(1), Some("0"));
}

/// Values that are not in their rows are in the entries of indexes all the same.
#[test]
fn indexes_have_the_values_that_their_rows_have_elsewhere() {
    const LONG: u64 = 60;
    let fixture = Fixture::new();
    let rows: String = scattered(LONG)
        .map(|id| format!("{id},{},{},{},{}\n", id % 7, "a".repeat(4500), "b".repeat(4800), id * 3))
        .collect();
    fixture.file("long.csv", format!("id,k,a,b,n\n{rows}"));
    for key in ["UNIQUE CLUSTERED INDEX c ON t (id)", "CLUSTERED INDEX c ON t (k)"] {
        for compression in ["NONE", "PAGE"] {
            for before in ["", "INSERT t VALUES (-1, 3, 'x', 'y', 0), (-2, 3, 'x', 'y', 0);"] {
                for flags in [&[][..], &["--table-lock=off"]] {
                    fixture.sql(&format!(
                        "DROP TABLE IF EXISTS t; CREATE TABLE t (id int NOT NULL, k int NOT NULL, a varchar(5000) NOT NULL, \
                         b varchar(5000) NOT NULL, n int); CREATE {key} WITH (DATA_COMPRESSION = {compression}); \
                         CREATE INDEX i ON t (n) INCLUDE (b); CREATE INDEX j ON t (n) INCLUDE (a) WHERE n > 50; {before}"
                    ));
                    let mut arguments = vec!["load", "t", "long.csv", "--quiet"];
                    arguments.extend(flags);
                    fixture.ok(&arguments);
                    fixture.sql("DBCC CHECKTABLE ('t') WITH NO_INFOMSGS");
                    let long =
                        fixture.rows("SELECT COUNT(*), SUM(LEN(b)) FROM t WITH (INDEX (i)) WHERE n > 0");
                    assert_eq!(long, format!("{},{}\n", LONG - 1, (LONG - 1) * 4800), "{key} {compression}");
                }
            }
        }
    }
}
