//! `bulkwire convert`, and bcp's formats in `load` and `export`.

use std::fs;

use serde_json::{Value, json};

use crate::fixture::Fixture;

const COLUMNS: &str = "id int not null, name nvarchar(20), price decimal(9,2), day date";
const CSV: &str =
    "id,name,price,day\n1,Åsa,1200.50,1984-02-29\n2,\"O'Brien, Pat\",,\n3,\"\",-0.25,2026-03-14\n";

#[test]
fn every_format_becomes_another_and_comes_back() {
    let fixture = Fixture::new();
    fixture.file("start.csv", CSV);
    let formats = [
        ("csv", "t.csv"),
        ("parquet", "t.parquet"),
        ("arrow", "t.arrow"),
        ("char", "t.c"),
        ("widechar", "t.w"),
        ("native", "t.n"),
        ("widenative", "t.N.zst"),
    ];
    fixture.ok(&["convert", "start.csv", "start.parquet", "--declare", COLUMNS]);
    let declared = ["--declare", COLUMNS, "--quiet"];
    let convert = |from: &str, source: &str, to: &str, target: &str| {
        let words = ["convert", source, target, "--from", from, "--to", to];
        let ran = fixture.ok(&[&words[..], &declared].concat());
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""), "{from} to {to}");
    };
    for (to, target) in formats {
        convert("parquet", "start.parquet", to, target);
    }
    // Round the ring, each into the next but one, so that every format is read and written beside another kind.
    for (index, (from, source)) in formats.into_iter().enumerate() {
        let (to, _) = formats[(index + 2) % formats.len()];
        convert(from, source, to, "other");
        convert(to, "other", "csv", "end.csv");
        let end = fs::read_to_string(fixture.path("end.csv")).unwrap();
        assert_eq!(end, CSV, "{from} to {to}");
    }
}

#[test]
fn rows_that_do_not_fit_are_refused_or_listed() {
    let fixture = Fixture::new();
    fixture.file("t.dat", "1\ta\nx\tb\n3\tc\n");
    let words = ["convert", "t.dat", "t.csv", "--from", "char", "--declare", "n int, s varchar(5)"];
    let refused = fixture.run(&words);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("row 2"), "{}", refused.stderr);
    assert!(!fixture.path("t.csv").exists());
    let ran = fixture.run(&[&words[..], &["--rejects", "r.json"]].concat());
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert_eq!(fs::read_to_string(fixture.path("t.csv")).unwrap(), "n,s\n1,a\n3,c\n");
    let row: Value = serde_json::from_str(&fs::read_to_string(fixture.path("r.json")).unwrap()).unwrap();
    assert_eq!((&row["row"], &row["raw"]), (&Value::from(2), &Value::from("x\tb\n")));
    assert_eq!(fixture.run(&[&words[..], &["--max-errors", "0"]].concat()).code, 1);
}

#[test]
fn csv_rows_that_do_not_fit_are_refused_in_order_into_every_format() {
    let fixture = Fixture::new();
    fixture.file("t.csv", "n,s\n1,a\nx,b\n3\n4,much too long\n\"5\",e\n");
    for (to, target) in [("csv", "o.csv"), ("parquet", "o.parquet"), ("char", "o.c"), ("native", "o.n")] {
        let declared = ["--declare", "n int not null, s varchar(5)"];
        let words = ["convert", "t.csv", target, "--to", to];
        let plain = fixture.run(&[&words[..], &declared].concat());
        assert_eq!(plain.code, 1, "{to}: {}", plain.stderr);
        let ran = fixture.run(&[&words[..], &declared, &["--rejects", "r.json"]].concat());
        assert_eq!(ran.code, 3, "{to}: {}", ran.stderr);
        let rejected = fs::read_to_string(fixture.path("r.json")).unwrap();
        let facts: Vec<Value> = rejected
            .lines()
            .map(|line| {
                let row: Value = serde_json::from_str(line).unwrap();
                json!([row["row"], row["byte_offset"], row["column"], row["value"], row["raw"]])
            })
            .collect();
        let expected = [
            json!([2, 8, "n", "x", "x,b\n"]),
            json!([3, 12, null, null, "3\n"]),
            json!([4, 14, "s", "much too long", "4,much too long\n"]),
        ];
        assert_eq!(facts, expected, "{to}");
        let back = [&["convert", target, "back.csv", "--from", to, "--to", "csv"][..], &declared].concat();
        fixture.ok(&back);
        assert_eq!(fs::read_to_string(fixture.path("back.csv")).unwrap(), "n,s\n1,a\n5,e\n", "{to}");
        let limited = fixture.run(&[&words[..], &declared, &["--max-errors", "2"]].concat());
        assert_eq!(limited.code, 1, "{to}: {}", limited.stderr);
        assert!(limited.stderr.contains("too many rows were refused"), "{to}: {}", limited.stderr);
    }
}

#[test]
fn a_table_or_a_format_file_says_what_the_columns_are() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (id int NOT NULL, s varchar(5) NULL)");
    fixture.file("t.fmt", "14.0\n2\n1 SQLCHAR 0 5 \";\" 2 s \"\"\n2 SQLCHAR 0 12 \"\\n\" 1 id \"\"\n");
    fixture.file("t.dat", "a;1\n;2\n");
    fixture.ok(&["convert", "t.dat", "t.parquet", "--from-format-file", "t.fmt", "--table", "t"]);
    fixture.ok(&["convert", "t.parquet", "-", "--to", "csv"]);
    let ran = fixture.ok(&["convert", "t.parquet", "-", "--to", "csv", "--quiet"]);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("id,s\n1,a\n2,\n", ""));
    fixture.ok(&["convert", "t.parquet", "back.dat", "--to-format-file", "t.fmt", "--table", "t"]);
    assert_eq!(fs::read_to_string(fixture.path("back.dat")).unwrap(), "a;1\n;2\n");
    let unknown = fixture.run(&["convert", "t.dat", "t.csv", "--from", "native"]);
    assert!(unknown.code == 2 && unknown.stderr.contains("--declare"), "{}", unknown.stderr);
}

#[test]
fn bcp_files_are_loaded_and_exported() {
    let fixture = Fixture::new();
    fixture
        .sql("CREATE TABLE t (id int IDENTITY NOT NULL, s nvarchar(5) NULL DEFAULT 'none', n int NOT NULL)");
    fixture.file("t.dat", "9\tåb\t1\n9\t\t2\n");
    fixture.ok(&["load", "t", "t.dat", "--format", "char"]);
    assert_eq!(fixture.rows("SELECT * FROM t ORDER BY id"), "1,åb,1\n2,none,2\n");
    for (format, file) in [("native", "t.n"), ("widenative", "t.N.gz"), ("char", "t.c"), ("widechar", "t.w")]
    {
        fixture.ok(&["export", "t", file, "--format", format]);
        fixture.sql("TRUNCATE TABLE t");
        fixture.ok(&["load", "t", file, "--format", format, "--keep-identity"]);
        assert_eq!(fixture.rows("SELECT * FROM t ORDER BY id"), "1,åb,1\n2,none,2\n", "{format}");
    }
    fixture.file("t.fmt", "14.0\n2\n1 SQLCHAR 0 12 \",\" 3 n \"\"\n2 SQLCHAR 0 12 \"\\n\" 1 id \"\"\n");
    fixture.ok(&["export", "t", "o.dat", "--format-file", "t.fmt"]);
    assert_eq!(fs::read_to_string(fixture.path("o.dat")).unwrap(), "1,1\n2,2\n");
    fixture.file("o.dat", "5,7\nx,8\n6,9\n");
    let refused = fixture.run(&["load", "t", "o.dat", "--format-file", "t.fmt"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("o.dat: row 2") && refused.stderr.contains('x'), "{}", refused.stderr);
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t"), "2\n");
    let listed = fixture.run(&["load", "t", "o.dat", "--format-file", "t.fmt", "--rejects", "r.json"]);
    assert_eq!(listed.code, 3, "{}", listed.stderr);
    let row: Value = serde_json::from_str(&fs::read_to_string(fixture.path("r.json")).unwrap()).unwrap();
    assert_eq!((&row["row"], &row["byte_offset"], &row["column"]), (&2.into(), &4.into(), &"n".into()));
    assert_eq!(fixture.rows("SELECT n FROM t ORDER BY n"), "1\n2\n5\n6\n");
}

#[test]
fn what_bcp_would_load_wrongly_is_refused() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NULL, s varchar(30) NULL)");
    for bytes in ["1\ta\tb\n", "1\ta\n2\n3\tc\n", "1\ta\n2"] {
        fixture.file("t.dat", bytes);
        let ran = fixture.run(&["load", "t", "t.dat", "--format", "char"]);
        assert_eq!(ran.code, 1, "{bytes:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("t.dat"), "{}", ran.stderr);
    }
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t"), "0\n");
    let flags = fixture.run(&["load", "t", "t.dat", "--format", "char", "--no-header"]);
    assert!(flags.code == 2 && flags.stderr.contains("--no-header"), "{}", flags.stderr);
}

#[test]
fn an_unknown_file_is_described_and_then_converted_by_that_description() {
    let fixture = Fixture::new();
    fixture.file("people.txt", "id;name;born\n1;Åsa;1984-02-29\n2;Pat;1990-01-01\n3;Eve;2001-12-31\n");
    let ran = fixture.ok(&["sniff", "people.txt"]);
    for part in ["people.txt", ";", "name", "date"] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    let declared = fixture.ok(&["sniff", "people.txt", "--declare"]).stdout;
    assert!(declared.contains("born") && declared.contains("date"), "{declared}");
    let words =
        ["convert", "people.txt", "-", "--delimiter", ";", "--to", "csv", "--declare", declared.trim()];
    assert_eq!(
        fixture.ok(&words).stdout,
        "id,name,born\n1,Åsa,1984-02-29\n2,Pat,1990-01-01\n3,Eve,2001-12-31\n"
    );
}

#[test]
fn the_value_that_decides_a_column_is_shown_when_all_rows_are_read() {
    let fixture = Fixture::new();
    let rows: String = (1..5000).map(|row| format!("{row};{}\n", row * 3)).collect();
    fixture.file("codes.txt", format!("id;code\n{rows}5000;X7\n"));
    let shown = fixture.ok(&["sniff", "codes.txt", "--all-rows"]).stdout;
    let words: Vec<Vec<&str>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words[2][..2], ["id", "int"], "{shown}");
    assert_eq!(words[3][..4], ["code", "nvarchar(10)", "0", "5"], "{shown}");
    assert!(shown.contains("smallint until row 5000: \"X7\"") && shown.ends_with("5000 rows\n"), "{shown}");
    let created = fixture.ok(&["load", "codes", "codes.txt", "--delimiter", ";", "--create"]).stderr;
    let note = "note: column \"code\": text: row 5000: \"X7\"; it was smallint until then";
    assert!(created.contains("[code] nvarchar(10)") && created.contains(note), "{created}");
    assert!(!created.contains("column \"id\": text"), "{created}");
    let refused =
        fixture.run(&["sniff", "--all-rows", crate::fixture::text(&fixture.file("b", b"\0\x01\x02"))]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
}

#[test]
fn column_breaks_are_guessed_and_become_a_format_file() {
    let fixture = Fixture::new();
    let names = [
        "widget",
        "left-handed hammer",
        "nut",
        "bolt of steel",
        "big brass screw",
        "oil",
        "paint, light grey",
        "glue",
        "rope",
        "iron bar",
        "lamp",
        "a very long cable",
        "sandpaper",
        "two-part resin",
    ];
    let row = |(n, name): (usize, &&str)| {
        format!("{:<6}{name:<22}{:>8}\n", n * n * 7 + 1, format!("{}.50", n * 13))
    };
    let text: String = names.iter().enumerate().map(row).collect();
    fixture.file("parts.txt", &text);
    let ran = fixture.ok(&["sniff", "parts.txt", "--write-format-file", "parts.fmt"]);
    assert!(ran.stdout.contains("left-handed hammer"), "{}", ran.stdout);
    let format_file = fs::read_to_string(fixture.path("parts.fmt")).unwrap();
    assert!(format_file.contains("SQLCHAR") && format_file.lines().count() >= 5, "{format_file}");
    let binary = fixture.file("t.n", b"\x01\0\0\0\xFF\xFE\0\0\x02\0\0\0\x80\0");
    let refused = fixture.run(&["sniff", crate::fixture::text(&binary), "--write-format-file", "x.fmt"]);
    assert_eq!(refused.code, 2, "{}{}", refused.stdout, refused.stderr);
    assert!(!fixture.path("x.fmt").exists());
}

/// Fields padded with blanks: data, as bcp takes them, unless they are to be trimmed.
#[test]
fn blanks_of_fixed_width_fields_are_trimmed_on_demand() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (id int NOT NULL, s varchar(8) NULL)");
    fixture.file(
        "t.fmt",
        "14.0\n3\n1 SQLCHAR 0 4 \"\" 1 id \"\"\n2 SQLCHAR 0 8 \"\" 2 s \"\"\n3 SQLCHAR 0 1 \"\" 0 end \"\"\n",
    );
    fixture.file("t.dat", "1   a b     \n2           \n3   12345678\n");
    let words = ["load", "t", "t.dat", "--format-file", "t.fmt", "--truncate"];
    fixture.ok(&words);
    let lengths = || {
        let query = "SELECT id, DATALENGTH(s) AS bytes FROM t ORDER BY id";
        fixture.ok(&["export", "--query", query, "-", "--format", "csv", "--quiet"]).stdout
    };
    assert_eq!(lengths(), "id,bytes\n1,8\n2,8\n3,8\n");
    fixture.ok(&[&words[..], &["--trim-blanks"]].concat());
    assert_eq!(lengths(), "id,bytes\n1,3\n2,\n3,8\n");
}

/// The last column takes the rest of its line; lines above the rows are skipped, and a byte-order mark is no data.
#[test]
fn lines_of_fixed_width_are_rows() {
    let fixture = Fixture::new();
    fixture.file(
        "t.fmt",
        "14.0\n2\n1 SQLNCHAR 0 8 \"\" 1 id \"\"\n2 SQLNCHAR 0 0 \"\\r\\0\\n\\0\" 2 name \"\"\n",
    );
    let text = "\u{FEFF}ID  NAME\r\n1   漢字  \r\n22\r\n\r\n333 x y\r\n";
    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    fixture.file("t.txt", &wide);
    let words = ["copy", "t.txt", "-", "--to-format", "csv", "--format-file", "t.fmt", "--quiet"];
    let ran = fixture.ok(&[&words[..], &["--trim-blanks", "--skip-lines", "1"]].concat());
    assert_eq!(ran.stdout, "id,name\n1,漢字\n22,\n333,x y\n");
}
