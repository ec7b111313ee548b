//! `bulkwire export` over several connections: every row once, whatever the key, the files, the faults and the writers.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Int32Type;
use formats::{Checksum, Compression, ContentChecksum, Format, Location, ParquetOptions};
use load::{Client, Config};
use serde_json::Value as Json;

use crate::faulty_line::{Fault, Kind, Line, Way};
use crate::fixture::{Fixture, PASSWORD, Ran, text};

/// The batches of a Parquet file.
fn batches(path: &Path) -> Vec<RecordBatch> {
    let format = Format::Parquet(ParquetOptions::default());
    let location = Location::Path(path.to_owned());
    let read = formats::open(&location, &format, Compression::None, 4096).unwrap();
    read.map(Result::unwrap).collect()
}

fn checksum<'a>(batches: impl IntoIterator<Item = &'a RecordBatch>) -> Checksum {
    let mut sum = ContentChecksum::new();
    batches.into_iter().for_each(|batch| sum.update(batch).unwrap());
    sum.finish()
}

/// The files below a directory, in order.
fn files(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The report of an export with `--json`.
fn report(ran: &Ran) -> Json {
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    serde_json::from_str(ran.stderr.trim()).unwrap()
}

fn numbers(batches: &[RecordBatch], column: &str) -> Vec<i32> {
    batches
        .iter()
        .flat_map(|batch| batch.column_by_name(column).unwrap().as_primitive::<Int32Type>().values().to_vec())
        .collect()
}

/// Exports a table by one connection and by several; both have the same rows, and several ranges were read.
fn same_rows(fixture: &Fixture, table: &str, flags: &[&str]) -> Json {
    fixture.ok(&["export", table, "one.parquet", "--quiet"]);
    let expected = checksum(&batches(&fixture.path("one.parquet")));
    let mut arguments = vec!["export", table, "many.parquet", "--json"];
    arguments.extend(flags);
    let told = report(&fixture.run(&arguments));
    assert_eq!(checksum(&batches(&fixture.path("many.parquet"))), expected, "{table} {flags:?}: {told}");
    assert_eq!(told["rows"], expected.rows, "{table}");
    told
}

#[test]
fn every_type_of_key_splits_without_a_row_lost_or_doubled() {
    let fixture = Fixture::new();
    // A key's type, and an expression that makes it of a number `n` from 0 to 999.
    let keys = [
        ("tinyint", "n % 200"),
        ("smallint", "n - 500"),
        ("int", "n * n"),
        ("bigint", "CAST(n AS bigint) * 9000000000000000 - 4500000000000000000"),
        ("decimal(38, 4)", "(n - 500) * 1234567890.5"),
        ("numeric(9, 2)", "n / 8.0"),
        ("money", "n - 500.25"),
        ("smallmoney", "n * 3"),
        ("date", "DATEADD(day, n - 500, '2000-01-01')"),
        ("time(7)", "DATEADD(second, n * 80, CAST('00:00' AS time(7)))"),
        ("datetime", "DATEADD(minute, n * 7919, '1900-01-01')"),
        ("smalldatetime", "DATEADD(minute, n * 1440, '2000-01-01')"),
        ("datetime2(7)", "DATEADD(hour, n, CAST('1999-12-31 23:59:59.1234567' AS datetime2(7)))"),
        (
            "datetimeoffset(3)",
            "TODATETIMEOFFSET(DATEADD(hour, n, CAST('2020-01-01' AS datetime2(3))), n % 840)",
        ),
        ("uniqueidentifier", "NEWID()"),
        ("binary(6)", "CAST(CAST(n * 65537 AS bigint) AS binary(6))"),
        ("varbinary(20)", "CAST(n * 7919 AS varbinary(20))"),
        ("char(9)", "CONCAT(N'k', n % 37)"),
        ("varchar(20)", "CONCAT(CHAR(65 + n % 26), CHAR(97 + n % 7), n)"),
        ("varchar(20) COLLATE Greek_CI_AS", "CONCAT(NCHAR(913 + n % 17), n)"),
        ("nchar(6)", "CONCAT(NCHAR(1040 + n % 60), n)"),
        ("nvarchar(30)", "CONCAT(CHAR(65 + n % 58), N'é', n % 11)"),
        ("nvarchar(30) COLLATE Latin1_General_BIN2", "CONCAT(CHAR(65 + n % 58), N'ß', n)"),
        ("nvarchar(30) COLLATE Latin1_General_CI_AI", "CONCAT(CHAR(65 + n % 58), N'Å', n % 50)"),
    ];
    for (index, (sql_type, expression)) in keys.into_iter().enumerate() {
        for (form, nullable) in [("a", "NOT NULL"), ("d", "NULL")] {
            let table = format!("t{index}{form}");
            let direction = if form == "d" { "DESC" } else { "ASC" };
            let value = match nullable {
                "NULL" => format!("CASE WHEN n % 10 = 3 THEN NULL ELSE {expression} END"),
                _ => expression.to_owned(),
            };
            fixture.sql(&format!(
                "CREATE TABLE {table} (k {sql_type} {nullable}, n int NOT NULL);
                 CREATE CLUSTERED INDEX c ON {table} (k {direction});
                 INSERT INTO {table} SELECT {value}, n FROM (SELECT value AS n FROM GENERATE_SERIES(0, 999)) AS s"
            ));
            for flags in [&["--readers", "3"][..], &["--readers", "2", "--gentle"]] {
                let mut flags = flags.to_vec();
                flags.extend(["--guid-text", "--datetime2", "text", "--datetimeoffset-text"]);
                fixture.ok(&[
                    "export",
                    &table,
                    "one.parquet",
                    "--quiet",
                    "--guid-text",
                    "--datetime2",
                    "text",
                    "--datetimeoffset-text",
                ]);
                let expected = checksum(&batches(&fixture.path("one.parquet")));
                assert_eq!(expected.rows, 1000);
                let mut arguments = vec!["export", table.as_str(), "many.parquet", "--json", "--ranges", "9"];
                arguments.extend(flags);
                let told = report(&fixture.run(&arguments));
                let found = batches(&fixture.path("many.parquet"));
                assert_eq!(checksum(&found), expected, "{sql_type} {nullable}: {told}");
                // A gentle reader does not read all keys of text first.
                let is_split = told["ranges"].as_u64().unwrap() > 2;
                assert!(is_split || arguments.contains(&"--gentle"), "{sql_type} {nullable}: {told}");
            }
        }
    }
}

#[test]
fn one_file_has_the_order_of_the_key() {
    let fixture = Fixture::new();
    for (direction, table) in [("ASC", "up"), ("DESC", "down")] {
        fixture.sql(&format!(
            "CREATE TABLE {table} (a int NOT NULL, b int NOT NULL, x nvarchar(20), PRIMARY KEY (a {direction}, b));
             INSERT INTO {table} SELECT value / 7, value % 7, CONCAT('row ', value) FROM GENERATE_SERIES(0, 6999)"
        ));
        for flags in [&["--readers", "4"][..], &["--readers", "auto"], &["--readers", "4", "--gentle"]] {
            let mut arguments = vec!["export", table, "t.parquet", "--json", "--ranges", "13"];
            arguments.extend(flags);
            let told = report(&fixture.run(&arguments));
            assert_eq!(told["ranges"], 13, "{told}");
            let found = batches(&fixture.path("t.parquet"));
            let keys: Vec<(i32, i32)> = numbers(&found, "a").into_iter().zip(numbers(&found, "b")).collect();
            let mut expected: Vec<(i32, i32)> = (0..7000).map(|n| (n / 7, n % 7)).collect();
            if direction == "DESC" {
                expected.sort_by_key(|(a, b)| (-a, *b));
            }
            assert_eq!(keys, expected, "{direction} {flags:?}");
        }
    }
}

#[test]
fn what_cannot_be_split_is_read_by_one_reader_and_says_why() {
    let fixture = Fixture::new();
    fixture.sql(
        "SELECT value AS n, value % 9 AS g INTO heap FROM GENERATE_SERIES(1, 3000);
         CREATE TABLE floats (k float NOT NULL PRIMARY KEY); INSERT INTO floats SELECT n FROM heap;
         CREATE TABLE looked_up (k int NOT NULL PRIMARY KEY NONCLUSTERED); INSERT INTO looked_up SELECT n FROM heap",
    );
    fixture.sql("CREATE VIEW seen AS SELECT n FROM heap");
    for (table, why) in [
        ("heap", "a heap without a key"),
        ("floats", "floating point"),
        ("looked_up", "each row would be looked up"),
        ("seen", "a view has no key"),
    ] {
        let told = same_rows(&fixture, table, &["--readers", "4"]);
        assert_eq!((told["readers"].as_u64(), told["ranges"].as_u64()), (Some(1), Some(1)), "{told}");
        assert!(told["plan"].to_string().contains(why), "{told}");
    }
    for (table, column) in [("heap", "n"), ("heap", "G"), ("looked_up", "k"), ("seen", "n")] {
        let told = same_rows(&fixture, table, &["--readers", "4", "--split-by", column]);
        assert!(told["ranges"].as_u64().unwrap() > 1, "{told}");
    }
    for (arguments, says) in [
        (&["heap", "x.csv", "--gentle"][..], "name a column to split by"),
        (&["heap", "x.csv", "--split-by", "nothing"], "no such column"),
        (&["floats", "x.csv", "--split-by", "k"], "floating point"),
        (&["heap", "x.csv", "--split-by", "n", "--gentle", "--consistent", "lock"], "no transaction"),
        (&["--query", "SELECT 1 AS n", "x.csv", "--consistent", "lock"], "cannot be locked"),
        (&["--query", "SELECT 1 AS n", "x.csv", "--readers", "2", "--consistent", "snapshot"], "one reader"),
        (&["heap", "-", "--split-rows", "5"], "directory"),
        (&["heap", "x/", "--partition-by", "nothing"], "no column"),
        (&["heap", "x.csv", "--readers", "0"], "auto"),
    ] {
        let mut all = vec!["export"];
        all.extend(arguments);
        let ran = fixture.run(&all);
        assert!(ran.code != 0 && ran.stderr.contains(says), "{arguments:?}: {}", ran.stderr);
    }
    assert!(!fixture.path("x.csv").exists() && !fixture.path("x").exists());
}

#[test]
fn rows_that_lie_unevenly_are_found_by_a_scan_of_the_key() {
    let fixture = Fixture::new();
    fixture.sql(
        "CREATE TABLE t (k bigint NOT NULL PRIMARY KEY); INSERT INTO t SELECT value FROM GENERATE_SERIES(1, 5000);
         INSERT INTO t VALUES (900000000000000)",
    );
    let told = same_rows(&fixture, "t", &["--readers", "4"]);
    assert!(told["plan"].to_string().contains("a scan of all values"), "{told}");
    let told = same_rows(&fixture, "t", &["--readers", "auto", "--ranges", "8"]);
    assert!(told["plan"].to_string().contains("unevenly"), "{told}");
}

#[test]
fn a_number_of_readers_that_is_to_be_found_reads_small_ranges_several_at_a_time() {
    let fixture = Fixture::new();
    for (number, key) in ["k", "k DESC"].into_iter().enumerate() {
        let table = format!("t{number}");
        fixture.sql(&format!(
            "CREATE TABLE {table} (k int NULL, filler char(400) NOT NULL); CREATE CLUSTERED INDEX c ON {table} ({key});
             INSERT INTO {table} SELECT NULLIF(value % 19000, 7), CONCAT('row ', value) FROM GENERATE_SERIES(1, 20000)"
        ));
        let told = same_rows(&fixture, &table, &["--readers", "auto"]);
        assert!(told["ranges"].as_u64().unwrap() > 10, "{told}");
        assert!(told["plan"].to_string().contains("neighbours at a time"), "{told}");
        let told = same_rows(&fixture, &table, &["--readers", "2"]);
        assert!(!told["plan"].to_string().contains("neighbours at a time"), "{told}");
    }
}

#[test]
fn a_query_is_split_by_a_column() {
    let fixture = Fixture::new();
    fixture.sql("SELECT value AS n, CONCAT(N'name ', value) AS s INTO t FROM GENERATE_SERIES(1, 3000)");
    for column in ["n", "s", "m"] {
        let query = "SELECT n, s, n % 7 AS m FROM t WHERE n > 10 -- all but ten\n;";
        fixture.ok(&["export", "--query", query, "one.parquet", "--quiet"]);
        let expected = checksum(&batches(&fixture.path("one.parquet")));
        let told = report(&fixture.run(&[
            "export",
            "--query",
            query,
            "many.parquet",
            "--json",
            "--split-by",
            column,
            "--readers",
            "3",
        ]));
        assert_eq!(checksum(&batches(&fixture.path("many.parquet"))), expected, "{told}");
        assert!(told["ranges"].as_u64().unwrap() > 2, "{told}");
    }
    // What cannot stand in FROM is one statement, as it was given.
    let told = report(&fixture.run(&[
        "export",
        "--query",
        "WITH x AS (SELECT n FROM t) SELECT n FROM x ORDER BY n DESC",
        "many.parquet",
        "--json",
        "--consistent",
        "snapshot",
    ]));
    assert_eq!(told["consistency"], "snapshot");
    assert_eq!(numbers(&batches(&fixture.path("many.parquet")), "n"), (1..=3000).rev().collect::<Vec<_>>());
}

#[test]
fn directories_of_files_have_every_row_once() {
    let fixture = Fixture::new();
    fixture.sql(
        "CREATE TABLE t (k int NOT NULL PRIMARY KEY, land nvarchar(10) NULL, day date NOT NULL, x decimal(9, 2));
         INSERT INTO t SELECT value, CASE value % 5 WHEN 0 THEN NULL WHEN 1 THEN N'a/b=c' ELSE CONCAT(N'é', value % 5) END,
           DATEADD(day, value % 3, '2024-02-28'), value / 7.0 FROM GENERATE_SERIES(1, 5000)",
    );
    fixture.ok(&["export", "t", "one.parquet", "--quiet"]);
    let expected = checksum(&batches(&fixture.path("one.parquet")));

    let told = report(&fixture.run(&["export", "t", "ranges/", "--readers", "3", "--ranges", "8", "--json"]));
    assert_eq!((told["ranges"].as_u64(), told["readers"].as_u64()), (Some(8), Some(3)), "{told}");
    let found = files(&fixture.path("ranges"));
    assert_eq!(found.len(), 8);
    assert_eq!(checksum(found.iter().flat_map(|path| batches(path)).collect::<Vec<_>>().iter()), expected);

    fixture.ok(&["export", "t", "split", "--readers", "3", "--split-rows", "1500", "--quiet"]);
    let found = files(&fixture.path("split"));
    let rows: Vec<usize> =
        found.iter().map(|path| batches(path).iter().map(RecordBatch::num_rows).sum()).collect();
    assert_eq!(rows, [1500, 1500, 1500, 500]);
    assert_eq!(checksum(found.iter().flat_map(|path| batches(path)).collect::<Vec<_>>().iter()), expected);
    let keys: Vec<i32> = found.iter().flat_map(|path| numbers(&batches(path), "k")).collect();
    assert!(keys.is_sorted());

    fixture.ok(&["export", "t", "hive", "--partition-by", "LAND", "--readers", "2", "--quiet"]);
    let names: Vec<String> = files(&fixture.path("hive"))
        .iter()
        .map(|path| path.strip_prefix(fixture.path("hive")).unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        names,
        ["a%2Fb%3Dc", "__HIVE_DEFAULT_PARTITION__", "é2", "é3", "é4"]
            .map(|value| format!("land={value}/part-00001.parquet"))
            .into_iter()
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>()
    );
    fixture.ok(&[
        "export",
        "t",
        "days",
        "--partition-by",
        "day",
        "--format",
        "csv",
        "--compression",
        "gzip",
        "--quiet",
    ]);
    assert!(fixture.path("days/day=2024-02-29/part-00001.csv.gz").exists());
    fixture.ok(&[
        "export",
        "--query",
        "SELECT k, x, day FROM t WHERE land IS NULL",
        "nulls.parquet",
        "--quiet",
    ]);
    let nulls = checksum(&batches(&fixture.path("nulls.parquet")));
    fixture.ok(&[
        "export",
        "--query",
        "SELECT k, x, land, day FROM t",
        "columns",
        "--partition-by",
        "land",
        "--quiet",
    ]);
    let own = batches(&fixture.path("columns/land=__HIVE_DEFAULT_PARTITION__/part-00001.parquet"));
    assert_eq!(checksum(&own), nulls);

    // What is there stays, and what fails leaves nothing.
    let before = files(&fixture.path("split"));
    let ran = fixture.run(&["export", "t", "split", "--split-rows", "9"]);
    assert!(ran.code == 1 && ran.stderr.contains("has files"), "{}", ran.stderr);
    assert_eq!(files(&fixture.path("split")), before);
    let ran = fixture.run(&[
        "export",
        "--query",
        "SELECT k, 1 / (k - 4000) AS q FROM t",
        "broken/",
        "--split-by",
        "k",
        "--readers",
        "2",
    ]);
    assert!(ran.code == 1 && ran.stderr.contains("8134"), "{}", ran.stderr);
    let left: Vec<PathBuf> =
        fs::read_dir(fixture.path("")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.iter().all(|path| !text(path).contains("broken")), "{left:?}");
}

#[test]
fn empty_tables_have_a_file_with_their_columns() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (k int NOT NULL PRIMARY KEY, s nvarchar(7))");
    for (target, file) in [("a/", "a/part-00001.parquet"), ("b.parquet", "b.parquet")] {
        let told = report(&fixture.run(&["export", "t", target, "--readers", "4", "--json"]));
        assert_eq!((told["rows"].as_u64(), told["readers"].as_u64()), (Some(0), Some(1)), "{told}");
        fixture.ok(&["load", "again", file, "--create", "--quiet"]);
        let described = fixture.ok(&["describe", "again"]).stdout;
        assert!(described.contains("nvarchar(7)"), "{described}");
        fixture.sql("DROP TABLE again");
    }
}

fn client(fixture: &Fixture) -> Client {
    let url = format!("{}&Password={PASSWORD}", fixture.url("Encrypt=Off"));
    Client::connect(&Config::parse(&url).unwrap()).unwrap()
}

#[test]
fn consistent_readers_see_one_point_in_time() {
    let fixture = Fixture::new();
    fixture.sql(
        "CREATE TABLE accounts (id int NOT NULL PRIMARY KEY, amount int NOT NULL, pad char(200) NOT NULL);
         INSERT INTO accounts SELECT value, 100, 'x' FROM GENERATE_SERIES(0, 3999)",
    );
    let moved = AtomicU64::new(0);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let (fixture, moved, done) = (&fixture, &moved, &done);
        scope.spawn(move || {
            let mut writer = client(fixture);
            let mut number = 1_u64;
            while !done.load(Ordering::SeqCst) {
                // From one end of the table to the other, so that readers of different ranges see both sides.
                number = number.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let (from, to) = (number >> 33 & 1999, 2000 + (number >> 45 & 1999));
                let sql = format!(
                    "BEGIN TRAN; UPDATE accounts SET amount = amount - 7 WHERE id = {from}; \
                     UPDATE accounts SET amount = amount + 7 WHERE id = {to}; COMMIT"
                );
                match writer.execute(&sql) {
                    Ok(_) => _ = moved.fetch_add(1, Ordering::SeqCst),
                    Err(error) => assert!(error.server_message().is_some(), "{error}"),
                }
            }
        });
        for round in 0..6 {
            let before = moved.load(Ordering::SeqCst);
            while moved.load(Ordering::SeqCst) == before {
                thread::yield_now();
            }
            let consistent = if round % 2 == 0 { "snapshot" } else { "lock" };
            let readers = if round < 4 { "4" } else { "auto" };
            let flags = ["--readers", readers, "--ranges", "8", "--consistent", consistent];
            let mut arguments = vec!["export", "accounts", "t.parquet", "--json"];
            arguments.extend(flags);
            let told = report(&fixture.run(&arguments));
            assert_eq!(told["consistency"], consistent);
            let found = batches(&fixture.path("t.parquet"));
            assert_eq!(numbers(&found, "id"), (0..4000).collect::<Vec<_>>());
            let sum: i64 = numbers(&found, "amount").into_iter().map(i64::from).sum();
            assert_eq!(sum, 400_000, "{consistent}");
        }
        done.store(true, Ordering::SeqCst);
    });
}

#[test]
fn a_database_without_snapshots_says_so() {
    let fixture = Fixture::new();
    fixture.sql("CREATE DATABASE plain");
    fixture.sql("SELECT value AS n INTO plain.dbo.t FROM GENERATE_SERIES(1, 10)");
    let ran = fixture.run(&["export", "plain.dbo.t", "t.csv", "--consistent", "snapshot"]);
    assert!(ran.code == 1 && ran.stderr.contains("3952"), "{}", ran.stderr);
    fixture.ok(&["export", "plain.dbo.t", "t.csv", "--consistent", "lock", "--quiet"]);
}

/// The faults of a line's connections, by the seed of a run.
fn faults(seed: u64, healthy_every: usize) -> impl Fn(usize) -> Option<Fault> + Send + 'static {
    move |number| {
        // The first connection plans.
        if number == 0 || number % healthy_every == 0 {
            return None;
        }
        let mut state = seed.wrapping_add(number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        state ^= state >> 31;
        state = state.wrapping_mul(0xBF58_476D_1CE4_E5B9);
        state ^= state >> 29;
        let kind = if state & 1 == 0 { Kind::Fin } else { Kind::Reset };
        let way = if state & 6 == 0 { Way::Up } else { Way::Down };
        let range = if way == Way::Up { 1500 } else { 60_000 };
        Some(Fault { way, at: state % range, kind })
    }
}

#[test]
fn readers_whose_lines_are_cut_lose_and_double_nothing() {
    let fixture = Fixture::new();
    fixture.sql(
        "CREATE TABLE t (a int NOT NULL, b varchar(20) NOT NULL, x nvarchar(50), PRIMARY KEY (a, b));
         INSERT INTO t SELECT value / 10, CONCAT('k', value % 10), CONCAT(N'text ', value) FROM GENERATE_SERIES(0, 19999)",
    );
    fixture.ok(&["export", "t", "one.parquet", "--quiet"]);
    let expected = checksum(&batches(&fixture.path("one.parquet")));
    let mut retries = 0;
    for seed in 0..12_u64 {
        let line = Line::each(fixture.server.address(), faults(seed, 3));
        let url = format!("mssql://sa@127.0.0.1:{}/master?Encrypt=Off", line.port);
        let target = if seed % 3 == 2 { "files/" } else { "many.parquet" };
        let mut arguments = vec!["export", "t", target, "--json", "--readers", "4", "--ranges", "12"];
        if seed % 3 == 1 {
            arguments.push("--gentle");
        }
        let told = report(&fixture.run_with(&url, PASSWORD, &arguments, ""));
        retries += told["retries"].as_u64().unwrap();
        let found: Vec<RecordBatch> = match target {
            "files/" => files(&fixture.path("files")).iter().flat_map(|path| batches(path)).collect(),
            _ => batches(&fixture.path("many.parquet")),
        };
        assert_eq!(checksum(&found), expected, "seed {seed}: {told}");
        assert_eq!(told["rows"], expected.rows, "seed {seed}: rows that came twice are not counted twice");
        let _ = fs::remove_dir_all(fixture.path("files"));
    }
    assert!(retries > 10, "{retries} retries: the lines were hardly cut");
}

#[test]
fn what_cannot_be_resumed_fails_and_leaves_nothing() {
    let fixture = Fixture::new();
    fixture.sql("SELECT value AS n, CAST('x' AS char(500)) AS pad INTO heap FROM GENERATE_SERIES(1, 60000)");
    let mut seen = HashSet::new();
    for at in [2_000_000, 20_000_000] {
        let fault = Fault { way: Way::Down, at, kind: Kind::Reset };
        let line = Line::each(fixture.server.address(), move |number| (number == 0).then_some(fault));
        let url = format!("mssql://sa@127.0.0.1:{}/master?Encrypt=Off", line.port);
        // Without a key: as long as nobody has taken its rows a range begins again, and else it fails.
        let ran = fixture.run_with(
            &url,
            PASSWORD,
            &["export", "heap", "t.parquet", "--retry-for", "30", "--json"],
            "",
        );
        seen.insert(ran.code);
        match ran.code {
            0 => assert_eq!(report(&ran)["rows"], 60_000),
            _ => {
                assert!(ran.stderr.contains("cannot be resumed"), "{}", ran.stderr);
                assert!(!fixture.path("t.parquet").exists());
            }
        }
        let _ = fs::remove_file(fixture.path("t.parquet"));
    }
    assert!(seen.contains(&1), "the second cut comes when rows have been written");
    // A snapshot is gone with its connection.
    fixture
        .sql("CREATE TABLE t (n int NOT NULL PRIMARY KEY, pad char(500)); INSERT INTO t SELECT * FROM heap");
    let fault = Fault { way: Way::Down, at: 100_000, kind: Kind::Reset };
    let line = Line::each(fixture.server.address(), move |number| (number == 2).then_some(fault));
    let url = format!("mssql://sa@127.0.0.1:{}/master?Encrypt=Off", line.port);
    let arguments = ["export", "t", "t.parquet", "--readers", "3", "--consistent", "snapshot"];
    let ran = fixture.run_with(&url, PASSWORD, &arguments, "");
    assert!(ran.code == 1 && ran.stderr.contains("the snapshot of this read is lost"), "{}", ran.stderr);
    assert!(!fixture.path("t.parquet").exists());
}
