//! `bulkwire load --rejects`, `--max-errors` and `--bisect`.

use serde_json::{Value, json};

use crate::fixture::Fixture;

/// The objects of a file of refused rows.
fn rejected(fixture: &Fixture, name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(fixture.path(name)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Rows 1 to `count`; those for which `bad` holds have `bad_text` for a number.
fn numbers(count: u64, bad: impl Fn(u64) -> bool) -> String {
    let rows = (1..=count).map(|n| if bad(n) { format!("x{n},{n}\n") } else { format!("{n},{n}\n") });
    std::iter::once("n,m\n".to_owned()).chain(rows).collect()
}

#[test]
fn bad_values_are_refused_and_the_others_loaded() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NULL, s varchar(3) NULL)");
    fixture.file("t.csv", "n,s\n1,a\nx,b\n3,\"c\nd\"\n4,long\n5,e\n");
    let ran = fixture.run(&["load", "t", "t.csv", "--rejects", "r.json", "--json"]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(ran.stdout.contains("\"rows\":3") && ran.stdout.contains("\"rejected\":2"), "{}", ran.stdout);
    assert!(ran.stderr.contains("refused: t.csv, row 2 (line 3), column \"n\""), "{}", ran.stderr);
    assert_eq!(fixture.rows("SELECT n FROM t ORDER BY n"), "1\n3\n5\n");
    let rows = rejected(&fixture, "r.json");
    assert_eq!(rows.len(), 2);
    let facts = |row: &Value| {
        let values = &row["values"];
        json!([
            row["file"],
            row["row"],
            row["line"],
            row["byte_offset"],
            row["column"],
            row["value"],
            row["raw"],
            values
        ])
    };
    assert_eq!(facts(&rows[0]), json!(["t.csv", 2, 3, 8, "n", "x", "x,b\n", {"n": "x", "s": "b"}]));
    assert_eq!(facts(&rows[1]), json!(["t.csv", 4, 6, 20, "s", "long", "4,long\n", {"n": "4", "s": "long"}]));
    assert_eq!(rows[0]["reason"], "not a whole number");
}

#[test]
fn the_limit_ends_the_load_and_earlier_batches_stay() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NULL, m int NULL)");
    fixture.file("t.csv", numbers(100, |n| n % 30 == 0));
    let load = ["load", "t", "t.csv", "--batch-rows", "10", "--rejects", "r.json", "--max-errors"];
    let refused = fixture.run(&[&load[..], &["1"]].concat());
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("too many rows were refused"), "{}", refused.stderr);
    assert!(refused.stderr.contains("hint: --max-errors"), "{}", refused.stderr);
    assert_eq!(rejected(&fixture, "r.json").len(), 2);
    // Rows 1 to 59 without row 30 were read when the second bad one came: five whole batches of ten.
    assert_eq!(fixture.rows("SELECT COUNT(*), MAX(m) FROM t"), "50,51\n");
    fixture.sql("TRUNCATE TABLE t");
    assert_eq!(fixture.run(&[&load[..], &["3"]].concat()).code, 3);
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t"), "97\n");
}

#[test]
fn without_the_options_the_first_bad_row_ends_the_load() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NULL, m int NULL)");
    fixture.file("t.csv", numbers(9, |n| n == 5));
    assert_eq!(fixture.run(&["load", "t", "t.csv"]).code, 1);
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t"), "0\n");
    assert_eq!(fixture.run(&["load", "t", "t.csv", "--max-errors", "0"]).code, 1);
    assert_eq!(fixture.run(&["load", "t", "t.csv", "--max-errors", "1"]).code, 3);
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t"), "8\n");
}

#[test]
fn every_row_may_be_bad() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NULL, m int NULL)");
    fixture.file("t.csv", numbers(5000, |_| true));
    let ran = fixture.run(&["load", "t", "t.csv", "--rejects", "r.json", "--quiet"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (3, ""));
    assert_eq!(rejected(&fixture, "r.json").len(), 5000);
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t"), "0\n");
}

#[test]
fn duplicate_keys_are_found_by_halving() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NOT NULL PRIMARY KEY, m int NULL)");
    fixture.sql("INSERT INTO t VALUES (500, -1)");
    let rows: String = (1..=1000).map(|n| format!("{},{n}\n", if n == 777 { 3 } else { n })).collect();
    fixture.file("t.csv", format!("n,m\n{rows}"));
    let plain = fixture.run(&["load", "t", "t.csv", "--rejects", "r.json"]);
    assert!(plain.code == 1 && plain.stderr.contains("2627"), "{}", plain.stderr);
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t"), "1\n");
    let halved = fixture.run(&["load", "t", "t.csv", "--rejects", "r.json", "--bisect"]);
    assert_eq!(halved.code, 3, "{}", halved.stderr);
    // Of two rows with one key, the first in the file is kept.
    assert_eq!(fixture.rows("SELECT COUNT(*), SUM(n) FROM t"), format!("999,{}\n", 500_500 - 777));
    let rows = rejected(&fixture, "r.json");
    let facts: Vec<Value> =
        rows.iter().map(|row| json!([row["row"], row["code"], row["values"]["n"]])).collect();
    assert_eq!(facts, [json!([500, "2627", "500"]), json!([777, "2627", "3"])]);
}

#[test]
fn halving_works_across_batches_beside_bad_values() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NOT NULL CHECK (n <> 13), m int NULL)");
    fixture.file("t.csv", numbers(60, |n| n == 5 || n == 31));
    let arguments = [
        "load",
        "t",
        "t.csv",
        "--check-constraints",
        "--bisect",
        "--rejects",
        "r.json",
        "--batch-rows",
        "7",
        "--max-errors",
        "3",
    ];
    let ran = fixture.run(&arguments);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert_eq!(fixture.rows("SELECT COUNT(*), COUNT(DISTINCT n) FROM t"), "57,57\n");
    let mut rows: Vec<u64> =
        rejected(&fixture, "r.json").iter().map(|row| row["row"].as_u64().unwrap()).collect();
    rows.sort_unstable();
    assert_eq!(rows, [5, 13, 31]);
}

#[test]
fn halving_alone_names_the_row_and_loads_what_came_before() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NOT NULL PRIMARY KEY, m int NULL)");
    fixture.file("t.csv", "n,m\n1,1\n2,2\n1,3\n4,4\n");
    let ran = fixture.run(&["load", "t", "t.csv", "--bisect"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("refused: t.csv, row 3 (line 4): "), "{}", ran.stderr);
    assert_eq!(fixture.rows("SELECT n FROM t ORDER BY n"), "1\n2\n");
}

#[test]
fn what_is_no_fault_of_a_row_ends_the_load() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NULL, m int NULL)");
    fixture.file("t.csv", "n,m\n1,1\n");
    let ran = fixture.run(&["load", "t", "t.csv", "--rejects", "no/such/folder/r.json"]);
    assert!(ran.code == 1 && ran.stderr.contains("no/such/folder/r.json"), "{}", ran.stderr);
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t"), "0\n");
    // Where a quote that nothing closes would end, nobody knows.
    fixture.file("open.csv", "n,m\n1,1\n\"2,2\n3,3\n");
    let gone = fixture.run(&["load", "t", "open.csv", "--bisect", "--rejects", "r.json"]);
    assert_eq!(gone.code, 1, "{}", gone.stderr);
}

#[test]
fn rows_of_another_shape_are_refused_and_the_others_loaded() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NULL, s varchar(9) NULL)");
    let rows = ["n,s", "1,a", "2", "\"3\"x,c", "x,d", "5,\"e", "e\"", "6,f,g", "7,h", "1,2,3"];
    fixture.file("t.csv", rows.join("\n") + "\n");
    // Without the options, nothing is loaded.
    let plain = fixture.run(&["load", "t", "t.csv"]);
    assert!(plain.code == 1 && plain.stderr.contains("expected 2 fields, found 1"), "{}", plain.stderr);
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t"), "0\n");
    let ran = fixture.run(&["load", "t", "t.csv", "--rejects", "r.json", "--json"]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(ran.stdout.contains("\"rows\":3") && ran.stdout.contains("\"rejected\":5"), "{}", ran.stdout);
    assert!(
        ran.stderr.contains("refused: t.csv, row 2 (line 3): expected 2 fields, found 1"),
        "{}",
        ran.stderr
    );
    assert_eq!(fixture.rows("SELECT n FROM t ORDER BY n"), "1\n5\n7\n");
    // In the order of the file, whatever is wrong with a row.
    let facts: Vec<Value> = rejected(&fixture, "r.json")
        .iter()
        .map(|row| json!([row["row"], row["line"], row["byte_offset"], row["column"], row["raw"]]))
        .collect();
    let expected = [
        json!([2, 3, 8, null, "2\n"]),
        json!([3, 4, 10, "n", "\"3\"x,c\n"]),
        // Its shape is right; what is wrong is a value.
        json!([4, 5, 17, "n", "x,d\n"]),
        json!([6, 8, 29, null, "6,f,g\n"]),
        json!([8, 10, 39, null, "1,2,3\n"]),
    ];
    assert_eq!(facts, expected);
}

#[test]
fn rows_of_another_shape_count_towards_the_limit() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NULL, m int NULL)");
    fixture.file("t.csv", "n,m\n1,1\n2\n3,x\n4,4\n");
    let load = ["load", "t", "t.csv", "--max-errors"];
    let ended = fixture.run(&[&load[..], &["0"]].concat());
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("too many rows were refused"), "{}", ended.stderr);
    assert!(ended.stderr.contains("hint: --max-errors"), "{}", ended.stderr);
    assert_eq!(fixture.run(&[&load[..], &["1"]].concat()).code, 1);
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t"), "0\n");
    assert_eq!(fixture.run(&[&load[..], &["2"]].concat()).code, 3);
    assert_eq!(fixture.rows("SELECT n FROM t ORDER BY n"), "1\n4\n");
    fixture.file("none.csv", "n,m\n1\n2\n");
    let none = fixture.run(&["load", "t", "none.csv", "--rejects", "r.json"]);
    assert_eq!(none.code, 3, "{}", none.stderr);
    assert_eq!(rejected(&fixture, "r.json").len(), 2);
}

#[test]
fn rows_of_files_in_other_encodings_are_told_as_text_with_the_encoding() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NULL, s nvarchar(3) NULL)");
    let text = "n,s\n1,日本\n\n2,日本語だ\nx\n日,ä\n";
    let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    fixture.file("t.csv", [&b"\xFF\xFE"[..], &utf16].concat());
    let ran = fixture.run(&["load", "t", "t.csv", "--rejects", "r.json", "--truncate"]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    let facts = |rows: &[Value]| -> Vec<Value> {
        let fact = |row: &Value| json!([row["row"], row["byte_offset"], row["raw"], row["encoding"]]);
        rows.iter().map(fact).collect()
    };
    let offset_of = |part: &str| 2 + 2 * text[..text.find(part).unwrap()].encode_utf16().count();
    let expected = [
        json!([2, offset_of("2,"), "2,日本語だ\n", "UTF-16LE"]),
        json!([3, offset_of("x\n"), "x\n", "UTF-16LE"]),
        json!([4, offset_of("日,ä"), "日,ä\n", "UTF-16LE"]),
    ];
    assert_eq!(facts(&rejected(&fixture, "r.json")), expected);
    // One byte a character, and compressed.
    fixture.file("u.csv", b"n,s\n1,\xE5\xE4\n\xE5,x\n");
    fixture.ok(&["convert", "u.csv", "u.csv.gz", "--encoding", "1252"]);
    let ran = fixture.run(&["load", "t", "u.csv", "--encoding", "1252", "--rejects", "r.json"]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert_eq!(facts(&rejected(&fixture, "r.json")), [json!([2, 9, "å,x\n", "code page 1252"])]);
    let ran = fixture.run(&["load", "t", "u.csv.gz", "--rejects", "r.json"]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert_eq!(facts(&rejected(&fixture, "r.json")), [json!([2, 11, "å,x\n", null])]);
}

#[test]
fn refused_rows_stand_in_the_order_of_the_file_and_the_limit_is_exact() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NULL, m int NULL)");
    // Rows of every kind, over several batches of reading.
    let rows: String = (1..=200_000)
        .map(|n| match n % 5000 {
            17 => format!("{n}\n"),
            18 => format!("x,{n}\n"),
            4017 => format!("{n},{n},{n}\n"),
            _ => format!("{n},{n}\n"),
        })
        .collect();
    fixture.file("t.csv", format!("n,m\n{rows}"));
    let load = ["load", "t", "t.csv", "--rejects", "r.json", "--quiet", "--truncate"];
    assert_eq!(fixture.run(&load).code, 3);
    let numbers = || -> Vec<u64> {
        rejected(&fixture, "r.json").iter().map(|row| row["row"].as_u64().unwrap()).collect()
    };
    let expected: Vec<u64> = (1..=200_000).filter(|n| matches!(n % 5000, 17 | 18 | 4017)).collect();
    assert_eq!(numbers(), expected);
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t"), "199880\n");
    let limited = fixture.run(&[&load[..], &["--max-errors", "100", "--batch-rows", "10000"]].concat());
    assert_eq!(limited.code, 1, "{}", limited.stderr);
    assert_eq!(numbers(), expected[..101]);
    // The 101st is row 165018, refused 16th batch: 160,000 good rows stand in whole batches before it.
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t"), "160000\n");
}

#[test]
fn a_table_is_created_from_the_rows_that_can_be_read() {
    let fixture = Fixture::new();
    fixture.file("t.csv", "n,s\n1,a\n2\n3,b,a very long text\n4,\"c\"d\n5,e\n");
    let plain = fixture.run(&["load", "t", "t.csv", "--create"]);
    assert_eq!(plain.code, 1, "{}", plain.stderr);
    let ran = fixture.run(&["load", "t", "t.csv", "--create", "--rejects", "r.json"]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert_eq!(fixture.rows("SELECT n, s FROM t ORDER BY n"), "1,a\n5,e\n");
    assert_eq!(rejected(&fixture, "r.json").len(), 3);
    let limited = fixture.run(&["load", "u", "t.csv", "--create", "--max-errors", "2"]);
    assert!(limited.code == 1 && limited.stderr.contains("too many rows were refused"), "{}", limited.stderr);
}
