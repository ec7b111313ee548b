//! Text files that are not what was assumed: what `load` and `convert` say, and the options that read them.

use crate::fixture::Fixture;

struct Files {
    fixture: Fixture,
    folder: tempfile::TempDir,
}

impl Files {
    fn new() -> Self {
        Self { fixture: Fixture::new(), folder: tempfile::tempdir().unwrap() }
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Rows as CSV.
    fn rows(&self, sql: &str) -> String {
        self.fixture.rows(sql).trim_end().to_owned()
    }

    /// `load t FILE --create` with further arguments: exit code, the table's rows, and what was said.
    fn create(&self, file: &str, arguments: &[&str]) -> (i32, String, String) {
        self.fixture.sql("DROP TABLE IF EXISTS t");
        let ran = self.fixture.run(&[&["load", "t", file, "--create"], arguments].concat());
        let made = self.rows("SELECT name FROM sys.tables WHERE name = 't'");
        let rows = if made.is_empty() { "no table".to_owned() } else { self.rows("SELECT * FROM t") };
        (ran.code, rows, ran.stderr)
    }
}

#[test]
fn a_delimiter_that_the_file_contradicts_is_refused() {
    let files = Files::new();
    for (text, remedy, arguments, rows) in [
        ("a|b|c\n1|x|2\n3|y|4\n", "--delimiter '|'", &["--delimiter", "|"][..], "1,x,2\n3,y,4"),
        ("a\tb\n1\tx\n3\ty\n", "--delimiter '\\t'", &["--delimiter", "\\t"], "1,x\n3,y"),
        ("a||b\n1||x\n3||y\n", "--delimiter '||'", &["--delimiter", "||"], "1,x\n3,y"),
        (
            "sep=;\na;b\n1;x\n3;y\n",
            "--skip-lines 1 --delimiter ';'",
            &["--skip-lines", "1", "--delimiter", ";"],
            "1,x\n3,y",
        ),
        (
            "1+|two\nlines&|\n3+|y&|\n",
            "--delimiter '+|' --row-terminator '&|\\n' --no-quote",
            &["--delimiter", "+|", "--row-terminator", "&|\\n", "--no-quote", "--no-header"],
            "1,\"two\nlines\"\n3,y",
        ),
    ] {
        let file = files.write("t.csv", text);
        let (code, made, said) = files.create(&file, &[]);
        assert_eq!((code, made.as_str()), (2, "no table"), "{said}");
        assert!(said.contains(remedy) && said.contains("bulkwire sniff"), "{said}");
        let target = files.folder.path().join("t.parquet");
        let converted = files.fixture.run(&["convert", &file, target.to_str().unwrap()]);
        assert_eq!(converted.code, 2, "{}", converted.stderr);
        assert!(converted.stderr.contains(remedy), "{}", converted.stderr);

        let (code, made, said) = files.create(&file, arguments);
        assert_eq!((code, made.as_str()), (0, rows), "{said}");
        let converted =
            files.fixture.run(&[&["convert", &file, target.to_str().unwrap()], arguments].concat());
        assert_eq!(converted.code, 0, "{}", converted.stderr);
    }
    // A delimiter that was named is believed, with a warning.
    let file = files.write("t.csv", "a|b\n1|x\n3|y\n");
    let (code, made, said) = files.create(&file, &["--delimiter", ","]);
    assert_eq!((code, made.as_str()), (0, "1|x\n3|y"), "{said}");
    assert!(said.contains("warning: "), "{said}");
}

#[test]
fn rows_may_end_with_carriage_returns() {
    let files = Files::new();
    for text in ["a,b\r1,x\r2,y\r", "a,b\r\r\n1,x\r\r\n2,y\r\r\n"] {
        let (code, rows, said) = files.create(&files.write("t.csv", text), &[]);
        assert_eq!((code, rows.as_str()), (0, "1,x\n2,y"), "{text:?}: {said}");
    }
}

#[test]
fn errors_name_the_option_that_helps() {
    let files = Files::new();
    for (bytes, option) in [
        (&b"a,b\n1,K\xF6ln\n"[..], "--encoding"),
        (b"a,b\n1,2,3\n", "--delimiter"),
        (b"a,b\n1,\"open\n2,x\n", "--no-quote"),
    ] {
        let (code, made, said) = files.create(&files.write("t.csv", bytes), &[]);
        assert_eq!((code, made.as_str()), (1, "no table"), "{said}");
        assert!(said.contains("hint: ") && said.contains(option), "{said}");
    }
    let file = files.write("t.csv", "a,b\n1,x\n2,\"open\n");
    let rejects = files.write("refused.jsonl", "");
    let (code, rows, said) = files.create(&file, &["--rejects", &rejects]);
    assert_eq!((code, rows.as_str()), (3, "1,x"), "{said}");
    assert!(std::fs::read_to_string(&rejects).unwrap().contains("never closed"));
}

#[test]
fn a_table_that_was_made_for_a_load_that_fails_is_dropped() {
    let files = Files::new();
    // All files have a say in the columns.
    let good = files.write("1.csv", "a\n5\n6\n");
    let text = files.write("2.csv", "a\nx\n");
    let (code, rows, said) = files.create(&good, &[&text]);
    assert_eq!((code, rows.as_str()), (0, "5\n6\nx"), "{said}");
    files.fixture.sql("DROP TABLE t");
    let ran = files.fixture.run(&["load", "t", &good, "--create", "--map", "nothing=a"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("dropped again"), "{}", ran.stderr);
    assert_eq!(files.rows("SELECT name FROM sys.tables"), "");
    let zone = files.write("t.csv", "a\n0001-01-01T00:00:00+02:00\n");
    let (code, rows, said) = files.create(&zone, &[]);
    assert_eq!((code, rows.as_str()), (0, "0001-01-01T00:00:00+02:00"), "{said}");
}

#[test]
fn spellings_stay_and_digits_are_not_lost_in_silence() {
    let files = Files::new();
    let text = "a,b,c,d,e\n1E5,-0,1.9,1e-400,1.23456789012345678901234e+5\n2E7,5,1.10,0.5,1.5\n";
    let (code, rows, said) = files.create(&files.write("t.csv", text), &[]);
    let expected = "1E5,-0,1.9,1e-400,1.23456789012345678901234e+5\n2E7,5,1.10,0.5,1.5";
    assert_eq!((code, rows.as_str()), (0, expected), "{said}");

    files.fixture.sql("CREATE TABLE f (x float NULL, y real NULL)");
    for (x, y, problem) in [
        ("1e-400", "", "has digits that float does not keep"),
        ("1.23456789012345678901234e5", "", "has digits that float does not keep"),
        ("12345678901234567890", "", "has digits that float does not keep"),
        ("", "1e-60", "has digits that real does not keep"),
        ("", "0.123456789123", "has digits that real does not keep"),
        ("0.1", "3.4028235E+38", ""),
        ("2.9999999999999999E-2", "0.10000000149011612", ""),
        ("1.50000000000000000000000", "16777216", ""),
    ] {
        files.fixture.sql("TRUNCATE TABLE f");
        let file = files.write("f.csv", format!("x,y\n{x},{y}\n"));
        let ran = files.fixture.run(&["load", "f", &file, "--quiet"]);
        assert_eq!(ran.code, i32::from(!problem.is_empty()), "{x} {y}: {}", ran.stderr);
        assert!(ran.stderr.contains(problem), "{}", ran.stderr);
        if !problem.is_empty() {
            assert!(ran.stderr.contains("--allow-rounding"), "{}", ran.stderr);
            let ran = files.fixture.run(&["load", "f", &file, "--quiet", "--allow-rounding"]);
            assert_eq!(ran.code, 0, "{}", ran.stderr);
        }
    }
}

#[test]
fn an_encoding_that_is_asked_for_is_not_dropped_for_a_format_file() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = Fixture::with(|options| options.bulk_directories = vec![folder.path().to_owned()]);
    let files = Files { fixture, folder };
    files.fixture.sql("CREATE TABLE c (n int NULL, s nvarchar(30) NULL)");
    let layout =
        "14.0\n2\n1 SQLCHAR 0 12 \"\\t\" 1 n \"\"\n2 SQLCHAR 0 30 \"\\n\" 2 s SQL_Latin1_General_CP1_CI_AS\n";
    let layout = files.write("c.fmt", layout);
    let file = files.write("c.txt", "1\tKöln\n");
    let target = files.folder.path().join("c.csv").to_str().unwrap().to_owned();
    let load = |encoding: &[&str]| {
        files.fixture.sql("TRUNCATE TABLE c");
        let ran = files
            .fixture
            .run(&[&["load", "c", &file, "--format-file", &layout, "--quiet"], encoding].concat());
        (ran.code, files.rows("SELECT s FROM c"), ran.stderr)
    };
    assert_eq!(load(&["--encoding", "utf-8"]), (0, "Köln".to_owned(), String::new()));
    assert_eq!(load(&["--encoding", "1252"]).1, "KÃ¶ln");
    for other in ["850", "raw"] {
        let (code, rows, said) = load(&["--encoding", other]);
        assert_eq!((code, rows.as_str()), (2, ""), "{said}");
        assert!(said.contains("contradicts the format file"), "{said}");
    }
    let converted =
        ["convert", &file, &target, "--from-format-file", &layout, "--encoding", "utf-8", "--to-no-header"];
    assert_eq!(files.fixture.run(&converted).code, 0);
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "1,Köln\n");

    files.fixture.sql("TRUNCATE TABLE c");
    files
        .fixture
        .sql(&format!("BULK INSERT c FROM '{file}' WITH (FORMATFILE = '{layout}', CODEPAGE = '65001')"));
    assert_eq!(files.rows("SELECT s FROM c"), "Köln");
}

#[test]
fn a_format_file_reads_line_feeds_inside_every_field() {
    let files = Files::new();
    files.fixture.sql("CREATE TABLE c (n int NULL, s nvarchar(30) NULL, u nvarchar(30) NULL)");
    let layout = "14.0\n3\n1 SQLCHAR 0 12 \"+|\" 1 n \"\"\n2 SQLCHAR 0 30 \"+|\" 2 s \"\"\n3 SQLCHAR 0 30 \"&|\\n\" 3 u \"\"\n";
    let layout = files.write("c.fmt", layout);
    let file = files.write("c.txt", "1+|a\nb+|c\nd&|\n2+|e+|f&|\n");
    let ran = files.fixture.run(&["load", "c", &file, "--format-file", &layout, "--quiet"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(files.rows("SELECT * FROM c"), "1,\"a\nb\",\"c\nd\"\n2,e,f");
}

#[test]
fn a_first_row_of_data_is_not_lost() {
    let files = Files::new();
    let file = files.write("u.csv", "2024-01-01,Ann,5.5\n2024-01-02,Bob,6.5\n");
    let target = files.folder.path().join("t.parquet");
    for arguments in [
        &["load", "t", &file, "--create"][..],
        &["convert", &file, target.to_str().unwrap()],
        &["copy", &file, target.to_str().unwrap()],
    ] {
        let ran = files.fixture.run(arguments);
        assert_eq!(ran.code, 2, "{arguments:?}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("looks like data") && ran.stderr.contains("--no-header"),
            "{}",
            ran.stderr
        );
    }
    let (code, rows, said) = files.create(&file, &["--no-header"]);
    assert_eq!((code, rows.as_str()), (0, "2024-01-01,Ann,5.5\n2024-01-02,Bob,6.5"), "{said}");
    // Years are names, and numbers may be.
    let years = files.write("years.csv", "country,1990,1991\nFrance,56,57\n");
    let (code, rows, said) = files.create(&years, &[]);
    assert_eq!((code, rows.as_str()), (0, "France,56,57"), "{said}");
    assert!(said.contains("warning: ") && said.contains("--no-header"), "{said}");
}

#[test]
fn an_uneven_delimiter_is_told_with_the_right_one() {
    let files = Files::new();
    let file = files.write("de.csv", "id;amount\n1;1,50\n2;2,75\n");
    let (code, made, said) = files.create(&file, &[]);
    assert_eq!((code, made.as_str()), (2, "no table"), "{said}");
    assert!(said.contains("--delimiter ';'") && said.contains("unevenly"), "{said}");
}

#[test]
fn a_row_with_bytes_that_are_no_text_is_refused_alone() {
    let files = Files::new();
    let file = files.write("t.csv", b"id,name\n1,Ann\n2,M\xFCller\n3,\x1A\n4,\xFF\xFE\xFD\n5,Bob\n");
    let rejects = files.write("refused.jsonl", "");
    let (code, rows, said) = files.create(&file, &["--rejects", &rejects]);
    assert_eq!((code, rows.as_str()), (3, "1,Ann\n3,\u{1A}\n5,Bob"), "{said}");
    let refused = std::fs::read_to_string(&rejects).unwrap();
    let lines: Vec<&str> = refused.lines().collect();
    assert_eq!(lines.len(), 2, "{refused}");
    assert!(
        lines[0].contains("\"raw_hex\":\"322c4dfc6c6c65720a\"") && lines[0].contains("\"row\":2"),
        "{refused}"
    );
    assert!(lines[0].contains("\"line\":3") && lines[0].contains("\"column\":\"name\""), "{refused}");
    assert!(lines[1].contains("\"raw_hex\":\"342cfffefd0a\""), "{refused}");
    let target = files.folder.path().join("t.parquet");
    let copied = files.fixture.run(&["copy", &file, target.to_str().unwrap(), "--rejects", &rejects]);
    assert_eq!(copied.code, 3, "{}", copied.stderr);
}

#[test]
fn a_name_that_is_there_twice_gets_a_number() {
    let files = Files::new();
    let file = files.write("d.csv", "Jahr;Jahr;x\n1951;year;1\n");
    let (code, rows, said) = files.create(&file, &["--delimiter", ";"]);
    assert_eq!((code, rows.as_str()), (0, "1951,year,1"), "{said}");
    let names =
        files.rows("SELECT name FROM sys.columns WHERE object_id = OBJECT_ID('t') ORDER BY column_id");
    assert_eq!(names, "Jahr\nJahr_2\nx");
}

#[test]
fn text_is_kept_where_it_is_asked_for() {
    let files = Files::new();
    let file = files.write("t.csv", "hash,n\n0xAB,1\n0xCD,2\n");
    let types = "SELECT t.name FROM sys.columns c JOIN sys.types t ON t.user_type_id = c.user_type_id \
                 WHERE c.object_id = OBJECT_ID('t') ORDER BY column_id";
    let (code, rows, said) = files.create(&file, &["--keep-text"]);
    assert_eq!((code, rows.as_str()), (0, "0xAB,1\n0xCD,2"), "{said}");
    assert_eq!(files.rows(types), "nvarchar\nnvarchar");
    files.fixture.sql("DROP TABLE t");
    files.fixture.ok(&["copy", &file, "mssql:t", "--keep-text"]);
    assert_eq!(files.rows(types), "nvarchar\nnvarchar");
    files.fixture.sql("DROP TABLE t");
    files.fixture.ok(&["copy", &file, "mssql:t"]);
    assert_eq!(files.rows(types).lines().next(), Some("varbinary"));
}

#[test]
fn csv_keeps_the_offset_of_a_datetimeoffset_and_parquet_says_that_it_does_not() {
    let files = Files::new();
    files.fixture.sql("CREATE TABLE o (d datetimeoffset(0) NULL)");
    files.fixture.sql("INSERT o VALUES ('2024-01-02 03:04:05 +05:30')");
    let out = files.folder.path().join("o.csv");
    let out = out.to_str().unwrap();
    for arguments in [
        &["export", "o", out][..],
        &["export", "o", out, "--readers", "2"],
        &["copy", "mssql:o", out],
        &["copy", "mssql:o", out, "--to-format", "tsv"],
    ] {
        files.fixture.ok(arguments);
        let text = std::fs::read_to_string(out).unwrap();
        assert_eq!(text, "d\n2024-01-02 03:04:05 +05:30\n", "{arguments:?}");
    }
    let parquet = files.folder.path().join("o.parquet");
    let parquet = parquet.to_str().unwrap();
    for arguments in [&["export", "o", parquet][..], &["copy", "mssql:o", parquet]] {
        let said = files.fixture.ok(arguments).stderr;
        assert!(said.contains("d: datetimeoffset as instants in UTC"), "{arguments:?}: {said}");
        let said = files.fixture.ok(&[arguments, &["--datetimeoffset-text"]].concat()).stderr;
        assert!(!said.contains("instants in UTC"), "{said}");
    }
}

#[test]
fn fields_of_a_format_file_may_be_in_quotes() {
    let files = Files::new();
    let format =
        files.write("q.fmt", "14.0\n2\n1 SQLCHAR 0 12 \",\" 1 id \"\"\n2 SQLCHAR 0 20 \"\\n\" 2 name \"\"\n");
    let file = files.write("q.csv", "1,\"plain\"\n2,\"a,b\"\n");
    files.fixture.sql("CREATE TABLE q (id int, name varchar(20))");
    files.fixture.ok(&["load", "q", &file, "--format", "csv", "--format-file", &format]);
    assert_eq!(files.rows("SELECT * FROM q ORDER BY id"), "1,plain\n2,\"a,b\"");
}

#[test]
fn dates_of_a_format_file_have_the_spellings_of_other_files() {
    let files = Files::new();
    let format =
        files.write("d.fmt", "14.0\n2\n1 SQLCHAR 0 12 \",\" 1 id \"\"\n2 SQLCHAR 0 30 \"\\n\" 2 d \"\"\n");
    files.fixture.sql("CREATE TABLE d (id int, d date)");
    files.fixture.sql("CREATE TABLE m (id int, d datetime)");
    let plain = files.write("plain.txt", "1,20240101\n2,2024-02-29\n3,29 Feb 2024\n");
    let us = files.write("us.txt", "1,03/04/2026\n");
    for table in ["d", "m"] {
        files.fixture.ok(&["load", table, &plain, "--format-file", &format]);
        let refused = files.fixture.run(&["load", table, &us, "--format-file", &format]);
        assert_eq!(refused.code, 1, "{}", refused.stderr);
        assert!(refused.stderr.contains("--date-order"), "{}", refused.stderr);
        for (order, day) in [("mdy", "2026-03-04"), ("dmy", "2026-04-03")] {
            files.fixture.sql(&format!("TRUNCATE TABLE {table}"));
            files.fixture.ok(&["load", table, &us, "--format-file", &format, "--date-order", order]);
            assert_eq!(files.rows(&format!("SELECT CAST(d AS date) FROM {table}")), day);
        }
    }
}
