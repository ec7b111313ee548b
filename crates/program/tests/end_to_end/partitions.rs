//! Loads into partitioned tables and exports of them.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use arrow::array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use load::{
    Client, Config, LoadOptions, LoadWay, Mode, RetryPolicy, Strategy, TASK_COLUMN, TableName, TaskJob,
    TaskRows, TaskStage, WholeLoad,
};

use crate::fixture::{Fixture, PASSWORD};

/// Rows of the files.
const ROWS: usize = 20_000;

/// A fixture with the scheme `days` over twelve partitions, and a table `t` on it.
fn fixture(range: &str, table: &str) -> Fixture {
    let fixture = Fixture::new();
    let boundaries: Vec<String> = (1..12).map(|month| format!("'2026-{month:02}-15'")).collect();
    fixture.sql(&format!(
        "CREATE PARTITION FUNCTION by_day (date) AS RANGE {range} FOR VALUES ({})",
        boundaries.join(", ")
    ));
    fixture.sql("CREATE PARTITION SCHEME days AS PARTITION by_day ALL TO ([PRIMARY])");
    fixture.sql(table);
    fixture
}

const HEAP: &str = "CREATE TABLE t (id int NOT NULL, day date NULL, v varchar(20) NULL) ON days (day)";
const KEYED: &str = "CREATE TABLE t (id int NOT NULL, day date NOT NULL, v varchar(20) NULL, \
                     CONSTRAINT t_key PRIMARY KEY (id, day)) ON days (day)";

/// The day of a row: days of all months in turn, boundaries among them.
fn day(row: usize) -> String {
    let day = row * 7919 % 360;
    format!("2026-{:02}-{:02}", day / 30 + 1, day % 28 + 1)
}

fn line(row: usize) -> String {
    format!("{row},{},value {row}\n", day(row))
}

fn csv(rows: impl Iterator<Item = usize>) -> String {
    "id,day,v\n".to_owned() + &rows.map(line).collect::<String>()
}

/// Count, sum and checksum of a table's rows.
const SUMS: &str = "SELECT COUNT(*), COUNT(DISTINCT id), SUM(CAST(id AS bigint)), \
                    SUM(CASE WHEN v = CONCAT('value ', id) THEN 1 ELSE 0 END), \
                    SUM(CAST(DATEDIFF(day, '2026-01-01', day) AS bigint)) FROM t";

fn sums(rows: impl Iterator<Item = usize> + Clone) -> String {
    let months = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let since = |row: usize| {
        let day = row * 7919 % 360;
        months[..day / 30].iter().sum::<usize>() + day % 28
    };
    let count = rows.clone().count();
    let (ids, days): (usize, usize) = (rows.clone().sum(), rows.map(since).sum());
    format!("{count},{count},{ids},{count},{days}\n")
}

/// The rows of each partition, as the catalogue counts them and as their values say.
fn by_partition(fixture: &Fixture) -> (String, String) {
    let counted = fixture.rows(
        "SELECT partition_number, rows FROM sys.partitions WHERE object_id = OBJECT_ID('t') AND index_id IN (0, 1) \
         AND rows > 0 ORDER BY partition_number",
    );
    let real = fixture
        .rows("SELECT $PARTITION.by_day(day), COUNT(*) FROM t GROUP BY $PARTITION.by_day(day) ORDER BY 1");
    (counted, real)
}

#[test]
fn a_partitioned_table_is_described() {
    let fixture = fixture("LEFT", KEYED);
    fixture.sql("CREATE INDEX beside ON t (v) ON [PRIMARY]");
    fixture
        .sql("INSERT INTO t VALUES (1, '2026-01-15', 'a'), (2, '2026-01-16', 'b'), (3, '2026-12-24', 'c')");
    let shown = fixture.ok(&["describe", "t"]).stdout;
    let expected = "\n12 partitions by [day] (RANGE LEFT, function by_day, scheme days)\n\
                    partition  values                                                               rows\n";
    assert!(shown.contains(&expected[..expected.find("\npartition").unwrap()]), "{shown}");
    for line in ["1  up to 2026-01-15", "2  behind 2026-01-15 up to 2026-02-15", "12  behind 2026-11-15"] {
        assert!(
            shown.lines().any(|shown| shown.trim_start().starts_with(line) && shown.ends_with(" 1")),
            "{shown}"
        );
    }
    assert!(shown.contains("index beside is not partitioned as the table is\n"), "{shown}");
    let json = fixture.ok(&["describe", "t", "--json"]).stdout;
    let described: serde_json::Value = serde_json::from_str(&json).unwrap();
    let partitioning = &described["partitioning"];
    assert_eq!(partitioning["column"], "day");
    assert_eq!(partitioning["range"], "left");
    assert_eq!(partitioning["boundaries"][0], "2026-01-15");
    assert_eq!(partitioning["rows"], serde_json::json!([1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]));
    assert_eq!(partitioning["unaligned_indexes"], serde_json::json!(["beside"]));
    fixture.sql("CREATE TABLE plain (id int)");
    let json = fixture.ok(&["describe", "plain", "--json"]).stdout;
    let described: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(described["partitioning"].is_null());
}

/// The line of the plan that says how partitions are shared.
fn plan(fixture: &Fixture, words: &[&str]) -> String {
    let ran = fixture.ok(&[&["load", "t", "a.csv", "--dry-run"], words].concat());
    let lines: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("partitions ")).collect();
    lines.join("\n").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_plan_says_whether_writers_share_partitions_and_why() {
    let fixture = fixture("RIGHT", KEYED);
    fixture.file("a.csv", csv(0..10));
    assert_eq!(
        plan(&fixture, &["--writers", "4"]),
        "partitions a writer each a writer a partition: rows go by [day] (RANGE RIGHT), so that no two writers meet in one partition's tree"
    );
    let auto = fixture.ok(&["load", "t", "a.csv", "--dry-run", "--writers", "auto"]).stderr;
    assert!(auto.contains("auto, up to 12"), "{auto}");
    assert!(auto.contains("a writer a partition"), "{auto}");
    let shared = |words: &[&str], why: &str| {
        assert_eq!(plan(&fixture, words), format!("partitions shared by writers {why}"));
    };
    shared(&[], "one writer meets no other");
    shared(&["--writers", "4", "--by-partition=off"], "as asked");
    shared(&["--writers", "4", "--table-lock"], "a table lock lets in one writer at a time");
    shared(
        &["--writers", "4", "--order", "id,day"],
        "the source is sorted: each batch is a range of the key of its own, and whole partitions follow one another",
    );
    fixture.sql("DROP TABLE t");
    fixture.sql(HEAP);
    shared(
        &["--writers", "4"],
        "a heap without indexes under TABLOCK: writers share its bulk-update lock and do not meet",
    );
    fixture.sql("CREATE INDEX by_v ON t (v)");
    assert!(plan(&fixture, &["--writers", "4"]).contains("a writer a partition"));
    fixture.file("b.csv", "id,v\n1,a\n");
    let missing = fixture.ok(&["load", "t", "b.csv", "--dry-run", "--writers", "4"]).stderr;
    assert!(
        missing
            .contains("writers may meet in a partition: the partitioning column [day] is not in the source"),
        "{missing}"
    );
    let refused = fixture.run(&["load", "t", "b.csv", "--writers", "4", "--by-partition"]);
    assert_eq!(refused.code, 1);
    assert!(
        refused
            .stderr
            .contains("rows cannot go by partition: the partitioning column [day] is not in the source"),
        "{}",
        refused.stderr
    );
    fixture.sql("CREATE TABLE plain (id int, v varchar(20))");
    let refused = fixture.run(&["load", "plain", "b.csv", "--writers", "4", "--by-partition"]);
    assert!(
        refused.stderr.contains("rows cannot go by partition: the table has one partition"),
        "{}",
        refused.stderr
    );
}

#[test]
fn text_is_not_routed_and_the_plan_says_why() {
    let fixture = Fixture::new();
    fixture.sql("CREATE PARTITION FUNCTION by_name (varchar(20)) AS RANGE RIGHT FOR VALUES ('m')");
    fixture.sql("CREATE PARTITION SCHEME names AS PARTITION by_name ALL TO ([PRIMARY])");
    fixture.sql("CREATE TABLE t (id int NOT NULL, v varchar(20) NOT NULL, PRIMARY KEY (v, id)) ON names (v)");
    fixture.file("a.csv", "id,v\n1,a\n2,z\n");
    assert_eq!(
        plan(&fixture, &["--writers", "2"]),
        "partitions shared by writers writers may meet in a partition: [v]: text compares by its collation, which the server alone knows"
    );
    fixture.ok(&["load", "t", "a.csv", "--writers", "2", "--quiet"]);
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t"), "2\n");
}

#[test]
fn rows_come_into_their_partitions_over_any_number_of_connections() {
    for (range, table, writers) in [
        ("LEFT", KEYED, "1"),
        ("RIGHT", KEYED, "2"),
        ("LEFT", KEYED, "8"),
        ("RIGHT", HEAP, "5"),
        ("RIGHT", KEYED, "auto"),
    ] {
        let fixture = fixture(range, table);
        if table == HEAP {
            fixture.sql("CREATE INDEX by_id ON t (id)");
        }
        fixture.file("a.csv", csv(0..ROWS));
        fixture.file("b.csv", csv(ROWS..2 * ROWS));
        // Into an empty table, and into a filled one.
        for file in ["a.csv", "b.csv"] {
            let ran = fixture.ok(&["load", "t", file, "--writers", writers, "--batch-rows", "500"]);
            assert!(!ran.stderr.contains("\ntried again"), "{range} {writers}: {}", ran.stderr);
        }
        assert_eq!(fixture.rows(SUMS), sums(0..2 * ROWS), "{range} {writers}");
        let (counted, real) = by_partition(&fixture);
        assert_eq!(counted, real);
        assert_eq!(real.lines().count(), 12);
    }
}

/// A type, boundaries of a partition function, and the text of row `n` in a file.
type Kind = (&'static str, &'static [&'static str], fn(usize) -> String);

const KINDS: [Kind; 16] = [
    ("tinyint", &["1", "100", "200"], |n| (n % 256).to_string()),
    ("smallint", &["-5", "0", "300"], |n| (n as i64 % 1000 - 500).to_string()),
    ("int", &["-7", "0", "7"], |n| (n as i64 % 31 - 15).to_string()),
    ("bigint", &["-3000000000", "0", "3000000000"], |n| ((n as i64 % 9 - 4) * 1_500_000_000).to_string()),
    ("decimal(12, 3)", &["-1.5", "0.001", "2.25"], |n| format!("{:.3}", (n as f64 % 17.0 - 8.0) / 4.0)),
    ("money", &["-1", "0.5", "2.0001"], |n| format!("{}.{:04}", n % 4, n % 3)),
    ("float", &["-1.5", "0", "2.5E1"], |n| format!("{}.5", n as i64 % 61 - 30)),
    ("date", &["'2026-01-05'", "'2026-01-20'"], |n| format!("2026-01-{:02}", n % 28 + 1)),
    ("time(2)", &["'06:00:00.01'", "'12:00'"], |n| format!("{:02}:00:00.0{}", n % 24, n % 3)),
    ("datetime", &["'2026-01-05T00:00:00.003'", "'2026-01-20'"], |n| {
        format!("2026-01-{:02}T00:00:00.00{}", n % 28 + 1, [0, 3, 7][n % 3])
    }),
    ("smalldatetime", &["'2026-01-05T00:01:00'", "'2026-01-20'"], |n| {
        format!("2026-01-{:02}T00:0{}:00", n % 28 + 1, n % 3)
    }),
    ("datetime2(7)", &["'2026-01-05T00:00:00.0000001'", "'2026-01-20'"], |n| {
        format!("2026-01-{:02}T00:00:00.000000{}", n % 28 + 1, n % 3)
    }),
    ("datetimeoffset(0)", &["'2026-01-05T00:00:00+05:00'", "'2026-01-20T00:00:00Z'"], |n| {
        format!("2026-01-{:02}T{:02}:00:00+0{}:00", n % 28 + 1, n % 24, n % 8)
    }),
    (
        "uniqueidentifier",
        &["'00000000-0000-0000-0000-100000000000'", "'00000000-0000-0000-0100-200000000000'"],
        |n| format!("00000000-0000-0000-0{}00-{}00000000000", n % 3, n % 4),
    ),
    (
        "uniqueidentifier",
        &["'00000002-0000-0000-0000-000000000000'", "'02000001-0100-0001-0000-000000000000'"],
        |n| format!("0{}00000{}-0{}0{}-000{}-0000-000000000000", n % 4, n % 3, n % 2, n % 5 % 2, n % 7 % 2),
    ),
    ("bit", &["1"], |n| (n % 2).to_string()),
];

#[test]
fn a_row_is_in_the_partition_that_the_client_expects() {
    let mut seen = 0;
    for (kind, boundaries, value) in KINDS {
        for range in ["LEFT", "RIGHT"] {
            let fixture = Fixture::new();
            fixture.sql(&format!(
                "CREATE PARTITION FUNCTION f ({kind}) AS RANGE {range} FOR VALUES ({})",
                boundaries.join(", ")
            ));
            fixture.sql("CREATE PARTITION SCHEME s AS PARTITION f ALL TO ([PRIMARY])");
            fixture.sql(&format!("CREATE TABLE t (id int NOT NULL, k {kind} NULL) ON s (k)"));
            fixture.sql("CREATE CLUSTERED INDEX i ON t (id, k) ON s (k)");
            let lines: String = (0..1_500)
                .map(|n| if n % 50 == 7 { format!("{n},\n") } else { format!("{n},{}\n", value(n)) })
                .collect();
            // The last row does not fit, so that the records of the load stay.
            fixture.file("a.csv", format!("id,k\n{lines}1500,zzz\n"));
            let words =
                ["load", "t", "a.csv", "--quiet", "--load-id", "l", "--batch-rows", "40", "--writers", "3"];
            let failed = fixture.run(&words);
            assert_eq!(failed.code, 1, "{kind}: {}", failed.stderr);
            assert!(failed.stderr.contains("row 1501, column \"k\""), "{kind}: {}", failed.stderr);
            let chunks = fixture.rows(
                "SELECT COUNT(*), COALESCE(SUM(fits), 0) FROM (SELECT CASE WHEN c.row_count = (SELECT COUNT(*) FROM t WHERE \
                 t.id >= c.first_row AND t.id < c.end_row AND $PARTITION.f(t.k) = c.lane + 1) THEN 1 ELSE 0 END AS fits \
                 FROM bulkwire_load_chunks AS c) AS looked",
            );
            let (all, right) = chunks.trim().split_once(',').unwrap();
            assert_eq!(all, right, "{kind} {range}");
            seen += all.parse::<usize>().unwrap();
        }
    }
    assert!(seen > 100, "{seen} transactions");
}

#[test]
fn refused_rows_of_every_lane_are_in_the_file_once() {
    let fixture = fixture("RIGHT", KEYED);
    let lines = (0..3_000).map(|row| match row % 10 {
        3 => format!("{row},no day,x\n"),
        7 => format!("{row},{},{}\n", day(row), "x".repeat(30)),
        _ => line(row),
    });
    fixture.file("a.csv", "id,day,v\n".to_owned() + &lines.collect::<String>());
    fixture.sql(&format!("INSERT INTO t VALUES (5, '{}', 'there before')", day(5)));
    let words = [
        "load",
        "t",
        "a.csv",
        "--writers",
        "4",
        "--batch-rows",
        "100",
        "--rejects",
        "bad.json",
        "--bisect",
        "--quiet",
    ];
    assert_eq!(fixture.run(&[&words[..], &["--resume"]].concat()).code, 3);
    let bad = std::fs::read_to_string(fixture.path("bad.json")).unwrap();
    let mut rows: Vec<u64> = bad
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["row"].as_u64().unwrap() - 1)
        .collect();
    rows.sort_unstable();
    let expected: Vec<u64> = (0..3_000).filter(|row| matches!(row % 10, 3 | 7) || *row == 5).collect();
    assert_eq!(rows, expected);
    assert_eq!(fixture.rows("SELECT COUNT(*), COUNT(DISTINCT id) FROM t"), "2400,2400\n");
}

/// Starts a load, kills it after a while, and says whether it was too late.
fn killed(fixture: &Fixture, words: &[&str], after: Duration) -> bool {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bulkwire"))
        .args(words)
        .current_dir(fixture.path(""))
        .env("BULKWIRE_URL", fixture.url("Encrypt=Off"))
        .env("BULKWIRE_PASSWORD", PASSWORD)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    thread::sleep(after);
    let is_done = child.try_wait().unwrap().is_some();
    let _ = child.kill();
    child.wait().unwrap();
    is_done
}

#[test]
fn a_killed_load_goes_on_by_lane_over_any_number_of_connections() {
    let fixture = fixture("RIGHT", KEYED);
    fixture.file("a.csv", csv(0..ROWS));
    let writers = ["4", "1", "8", "2", "3"];
    for (round, delay) in [5, 20, 40, 60, 90, 120].into_iter().enumerate() {
        fixture.sql("TRUNCATE TABLE t");
        let id = format!("round-{round}");
        let words = |run: usize| {
            [
                "load",
                "t",
                "a.csv",
                "--quiet",
                "--batch-rows",
                "150",
                "--load-id",
                &id,
                "--writers",
                writers[run % 5],
            ]
            .map(str::to_owned)
        };
        let mut run = 0;
        while run < 4 {
            let words = words(run);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            if killed(&fixture, &words, Duration::from_millis(delay * (run as u64 + 1))) {
                break;
            }
            run += 1;
        }
        let words = words(run);
        fixture.ok(&words.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(fixture.rows(SUMS), sums(0..ROWS), "round {round}");
    }
}

#[test]
fn a_load_goes_on_after_the_partitions_have_changed() {
    let fixture = fixture("RIGHT", KEYED);
    fixture.file("a.csv", csv(0..ROWS));
    let words =
        ["load", "t", "a.csv", "--quiet", "--batch-rows", "200", "--load-id", "split", "--writers", "4"];
    killed(&fixture, &words, Duration::from_millis(120));
    fixture.sql("ALTER PARTITION SCHEME days NEXT USED [PRIMARY]");
    fixture.sql("ALTER PARTITION FUNCTION by_day () SPLIT RANGE ('2026-03-01')");
    fixture.sql("ALTER PARTITION FUNCTION by_day () MERGE RANGE ('2026-08-15')");
    fixture.ok(&words);
    assert_eq!(fixture.rows(SUMS), sums(0..ROWS));
    let (counted, real) = by_partition(&fixture);
    assert_eq!(counted, real);
}

#[test]
fn a_load_that_went_by_other_conversions_is_not_continued() {
    let fixture = fixture("RIGHT", KEYED);
    fixture.sql("CREATE TABLE parents (id int PRIMARY KEY)");
    fixture.file("a.csv", csv(0..ROWS) + "x,2026-01-01,bad\n");
    let words =
        ["load", "t", "a.csv", "--quiet", "--batch-rows", "500", "--load-id", "other", "--writers", "4"];
    assert_eq!(fixture.run(&words).code, 1);
    let again = fixture.run(&[&words[..], &["--allow-rounding"]].concat());
    assert_eq!(again.code, 1);
    assert!(again.stderr.contains("its rows went by partition"), "{}", again.stderr);
}

/// Rows of a stage come into a table: by the words of the command, and the rows that the table then has.
fn staged(table: &str, before: &str, words: &[&str], file: String, said: &str) -> Fixture {
    let fixture = fixture("RIGHT", table);
    fixture.sql("CREATE INDEX by_v ON t (v)");
    if !before.is_empty() {
        fixture.sql(before);
    }
    fixture.file("a.csv", file);
    let ran = fixture.ok(&[&["load", "t", "a.csv"], words].concat());
    assert!(ran.stderr.contains(said), "{words:?}: {}", ran.stderr);
    let (counted, real) = by_partition(&fixture);
    assert_eq!(counted, real);
    let stages = fixture.rows("SELECT COUNT(*) FROM sys.tables WHERE name LIKE 't[_][_]bulkwire%'");
    assert_eq!(stages, "0\n");
    fixture
}

#[test]
fn stages_come_into_partitions() {
    const OLD: &str = "INSERT INTO t VALUES (70001, '2026-02-02', 'old'), (70002, '2026-11-30', 'old')";
    for table in [HEAP, KEYED] {
        for strategy in ["heap-then-key", "swap"] {
            for words in [&["--mode", "replace", "--writers", "4"][..], &["--writers", "2"]] {
                let before = if words.contains(&"replace") { OLD } else { "" };
                let words = [words, &["--strategy", strategy]].concat();
                let fixture = staged(table, before, &words, csv(0..2_000), "published by SWITCH: 2,000 rows");
                assert_eq!(fixture.rows(SUMS), sums(0..2_000), "{table} {words:?}");
                // The table has its indexes, on its scheme.
                let indexes = fixture.rows(
                    "SELECT COUNT(DISTINCT i.index_id), COUNT(*) FROM sys.indexes AS i JOIN sys.partition_schemes AS s \
                     ON s.data_space_id = i.data_space_id WHERE i.object_id = OBJECT_ID('t') AND s.name = 'days'",
                );
                assert_eq!(indexes, "2,2\n", "{table} {words:?}");
            }
        }
    }
}

#[test]
fn rows_by_key_come_into_partitions() {
    let known = format!("INSERT INTO t VALUES (3, '{}', 'old'), (70001, '2026-11-30', 'stays')", day(3));
    for (mode, changed) in [("upsert", "0\n"), ("insert-new", "1\n")] {
        let words = ["--mode", mode, "--key", "id,day", "--writers", "4"];
        let fixture = staged(KEYED, &known, &words, csv(0..2_000), "1,999 inserted");
        assert_eq!(fixture.rows("SELECT COUNT(*), COUNT(DISTINCT id) FROM t"), "2001,2001\n");
        assert_eq!(fixture.rows("SELECT COUNT(*) FROM t WHERE v = 'old'"), changed);
    }
}

#[test]
fn a_stage_fills_empty_partitions_of_a_filled_table() {
    let march = |row: usize| format!("{row},2026-03-{:02},value {row}\n", row % 28 + 1);
    let file = || "id,day,v\n".to_owned() + &(0..500).map(march).collect::<String>();
    let before = "INSERT INTO t VALUES (70001, '2026-11-30', 'old')";
    let words = ["--strategy", "heap-then-key", "--writers", "2"];
    let fixture = staged(KEYED, before, &words, file(), "published by SWITCH: 500 rows");
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t"), "501\n");
    // Now March has rows.
    fixture.file("b.csv", "id,day,v\n9001,2026-03-20,x\n9002,2026-06-20,x\n");
    let refused = fixture.run(&["load", "t", "b.csv", "--strategy", "heap-then-key"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("partition 4 of [dbo].[t] has rows"), "{}", refused.stderr);
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t"), "501\n");
    let stages = fixture.rows("SELECT COUNT(*) FROM sys.tables WHERE name LIKE 't[_][_]bulkwire%'");
    assert_eq!(stages, "0\n");
}

#[test]
fn an_index_that_is_not_aligned_excludes_a_stage() {
    let fixture = fixture("RIGHT", KEYED);
    fixture.sql("CREATE INDEX beside ON t (v) ON [PRIMARY]");
    fixture.file("a.csv", csv(0..10));
    let refused = fixture.run(&["load", "t", "a.csv", "--mode", "replace"]);
    assert_eq!(refused.code, 1);
    assert!(
        refused.stderr.contains("an index that is not partitioned as the table is (beside)"),
        "{}",
        refused.stderr
    );
    fixture.ok(&["load", "t", "a.csv", "--writers", "2", "--quiet"]);
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t"), "10\n");
}

#[test]
fn exports_are_split_by_partition() {
    let by_day = "CREATE TABLE t (id int NOT NULL, day date NULL, v varchar(20) NULL) ON days (day); \
                  CREATE CLUSTERED INDEX by_day ON t (day, id) ON days (day)";
    for (range, table, said) in [
        ("LEFT", HEAP, "the partitioning column of a heap: each range reads partitions of its own"),
        ("RIGHT", HEAP, "whole partitions, of 12 (function by_day)"),
        ("RIGHT", by_day, "along 12 partitions, large ones by "),
        ("LEFT", by_day, "along 12 partitions, large ones by "),
        ("RIGHT", KEYED, "first column of the clustered key ([id], [day])"),
    ] {
        let fixture = fixture(range, table);
        fixture.file("a.csv", csv(0..ROWS));
        fixture.ok(&["load", "t", "a.csv", "--quiet"]);
        if table != KEYED {
            fixture.sql("INSERT INTO t VALUES (70001, NULL, 'value 70001')");
        }
        let total = fixture.rows("SELECT COUNT(*), SUM(CAST(id AS bigint)) FROM t");
        for readers in ["3", "auto"] {
            let ran = fixture.ok(&["export", "t", "out.csv", "--readers", readers, "--ranges", "9"]);
            assert!(ran.stderr.contains(said), "{table} {readers}: {}", ran.stderr);
            let out = std::fs::read_to_string(fixture.path("out.csv")).unwrap();
            let ids: Vec<u64> =
                out.lines().skip(1).map(|line| line.split(',').next().unwrap().parse().unwrap()).collect();
            assert_eq!(format!("{},{}\n", ids.len(), ids.iter().sum::<u64>()), total, "{table} {readers}");
        }
    }
}

fn client(fixture: &Fixture) -> Client {
    let url = fixture.url("Encrypt=Off").replace("sa@", &format!("sa:{PASSWORD}@"));
    Client::connect(&Config::parse_with(&url, &|_| None).unwrap()).unwrap()
}

/// Rows as a program has them.
fn batch(rows: std::ops::Range<usize>) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int32Array::from_iter_values(rows.clone().map(|row| row as i32)));
    let days: ArrayRef = Arc::new(StringArray::from_iter_values(rows.clone().map(day)));
    let values: ArrayRef = Arc::new(StringArray::from_iter_values(rows.map(|row| format!("value {row}"))));
    RecordBatch::try_from_iter([("id", ids), ("day", days), ("v", values)]).unwrap()
}

#[test]
fn a_stream_of_a_program_is_routed_too() {
    let fixture = fixture("LEFT", KEYED);
    let mut client = client(&fixture);
    for writers in [None, Some(3)] {
        let load = WholeLoad {
            table: &"dbo.t".parse::<TableName>().unwrap(),
            way: LoadWay::default(),
            options: &LoadOptions { may_stage: true, ..LoadOptions::default() }.with_writers(writers),
            writers,
            retry: RetryPolicy::NONE,
            ledger: None,
            watch: &(),
            order: &(),
        };
        let batches =
            (0..ROWS).step_by(1_000).map(|first| Ok::<_, std::io::Error>(batch(first..first + 1_000)));
        let done = load::load_whole(&mut client, &load, &batch(0..1).schema(), batches, &mut |_| {}).unwrap();
        assert!(done.plan.routes, "{}", done.plan);
        assert_eq!((done.loaded.unwrap().retries, fixture.rows(SUMS)), (0, sums(0..ROWS)), "{writers:?}");
        fixture.sql("TRUNCATE TABLE t");
    }
}

#[test]
fn rows_of_tasks_come_into_partitions() {
    const OLD: &str = "INSERT INTO t VALUES (70001, '2026-02-02', 'old')";
    let ways = [
        (Mode::Append, Strategy::Auto, 1),
        (Mode::Replace, Strategy::Auto, 0),
        (Mode::Replace, Strategy::Swap, 0),
        (Mode::Upsert { keys: vec!["id".to_owned(), "day".to_owned()] }, Strategy::Auto, 1),
    ];
    for (mode, strategy, old) in ways {
        let fixture = fixture("RIGHT", KEYED);
        fixture.sql("CREATE INDEX by_v ON t (v)");
        fixture.sql(OLD);
        let mut client = client(&fixture);
        let schema = batch(0..1).schema();
        let way = LoadWay { mode, strategy, is_named: true };
        let job = TaskJob {
            table: &"dbo.t".parse::<TableName>().unwrap(),
            schema: &schema,
            way: &way,
            options: &LoadOptions::default(),
            create: None,
            load_id: "0a1b2c3d",
            stays: false,
        };
        let stage = TaskStage::plan(&mut client, &job).unwrap();
        stage.create(&mut client).unwrap();
        // Of three attempts two count.
        for task in 0..3_i64 {
            let first = task as usize * 500;
            let rows = batch(first..first + 500);
            let mut columns = rows.columns().to_vec();
            columns.push(Arc::new(Int64Array::from(vec![task; 500])));
            let mut fields: Vec<_> = schema.fields().iter().cloned().collect();
            fields.push(Arc::new(Field::new(TASK_COLUMN, DataType::Int64, false)));
            let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
            let load = WholeLoad {
                table: stage.name(),
                way: LoadWay::default(),
                options: &LoadOptions::default(),
                writers: Some(1),
                retry: RetryPolicy::NONE,
                ledger: None,
                watch: &(),
                order: &(),
            };
            let (schema, rows) = (rows.schema(), std::iter::once(Ok::<_, std::io::Error>(rows)));
            load::load_whole(&mut client, &load, &schema, rows, &mut |_| {}).unwrap();
        }
        let tasks = [0, 2].map(|task| TaskRows { task, rows: 500 });
        let done = stage.publish(&mut client, &tasks, None, RetryPolicy::NONE).unwrap();
        assert_eq!(done.rows, 1_000, "{way:?}");
        assert_eq!(
            fixture.rows("SELECT COUNT(*) FROM t WHERE id < 500 OR id BETWEEN 1000 AND 1499"),
            "1000\n"
        );
        assert_eq!(fixture.rows("SELECT COUNT(*) FROM t"), format!("{}\n", 1_000 + old), "{way:?}");
        let (counted, real) = by_partition(&fixture);
        assert_eq!(counted, real, "{way:?}");
        assert_eq!(fixture.rows("SELECT COUNT(*) FROM sys.tables"), "1\n", "{way:?}");
    }
}
