//! Bad input: a clear error, and nothing lost.

use crate::fixture::{Fixture, PASSWORD};

#[test]
fn a_bad_value_is_named_with_file_line_row_column_and_reason() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NOT NULL, s varchar(3) NULL)");
    fixture.file("t.csv", "n,s\n1,\"a\nb\"\n2,abc\n3x,d\n");
    let ran = fixture.run(&["load", "t", "t.csv", "--quiet"]);
    assert_eq!(ran.code, 1);
    for expected in ["t.csv", "row 3", "\"n\"", "3x", "not a whole number", "line 5", "nothing was committed"]
    {
        assert!(ran.stderr.contains(expected), "{expected}: {}", ran.stderr);
    }
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t"), "0\n");
}

#[test]
fn long_text_is_refused_until_truncation_is_asked_for() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (s varchar(3) NULL)");
    fixture.file("t.csv", "s\nabcd\n");
    let refused = fixture.run(&["load", "t", "t.csv", "--quiet"]);
    assert_eq!(refused.code, 1);
    for expected in ["abcd", "--allow-truncate"] {
        assert!(refused.stderr.contains(expected), "{expected}: {}", refused.stderr);
    }
    fixture.ok(&["load", "t", "t.csv", "--allow-truncate"]);
    assert_eq!(fixture.rows("SELECT s FROM t"), "abc\n");
}

#[test]
fn rounding_and_replacement_are_asked_for_too() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (d decimal(5,1) NULL, s varchar(9) NULL)");
    fixture.file("t.csv", "d,s\n1.25,日本\n");
    let rounding = fixture.run(&["load", "t", "t.csv", "--quiet", "--replacement", "?"]);
    assert!(rounding.stderr.contains("--allow-rounding"), "{}", rounding.stderr);
    let replacing = fixture.run(&["load", "t", "t.csv", "--quiet", "--allow-rounding"]);
    assert!(replacing.stderr.contains("--replacement"), "{}", replacing.stderr);
    fixture.ok(&["load", "t", "t.csv", "--allow-rounding", "--replacement", "?"]);
    assert_eq!(fixture.rows("SELECT d, s FROM t"), "1.3,??\n");
}

#[test]
fn a_server_error_keeps_its_number_and_earlier_batches() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NOT NULL PRIMARY KEY)");
    fixture.file("t.csv", "n\n1\n2\n3\n2\n");
    let ran = fixture.run(&["load", "t", "t.csv", "--batch-rows", "2", "--quiet"]);
    assert_eq!(ran.code, 1);
    for expected in ["Msg 2627, Level 14", "batch 2", "rows 3 to 4", "2 rows before it are committed"] {
        assert!(ran.stderr.contains(expected), "{expected}: {}", ran.stderr);
    }
    assert_eq!(fixture.rows("SELECT n FROM t ORDER BY n"), "1\n2\n");
}

#[test]
fn a_copy_whose_table_is_made_by_somebody_else_says_so() {
    let fixture = Fixture::new();
    // The name is free for a table until it is made, as it is for the later one of two copies.
    fixture.sql("CREATE PROCEDURE taken AS SELECT 1");
    fixture.file("t.csv", "n\n1\n");
    let ran = fixture.run(&["copy", "t.csv", "mssql:taken", "--quiet"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    for expected in ["Msg 2714", "another load has just made it"] {
        assert!(ran.stderr.contains(expected), "{expected}: {}", ran.stderr);
    }
}

#[test]
fn ragged_and_cut_off_files_load_nothing() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (a int NULL, b int NULL)");
    fixture.file("ragged.csv", "a,b\n1,2\n3\n");
    let ragged = fixture.run(&["load", "t", "ragged.csv", "--quiet"]);
    assert_eq!(ragged.code, 1);
    assert!(ragged.stderr.contains("line 3"), "{}", ragged.stderr);
    fixture.ok(&["export", "--query", "SELECT 1 AS a, 2 AS b", "whole.parquet"]);
    let whole = std::fs::read(fixture.path("whole.parquet")).unwrap();
    fixture.file("cut.parquet", &whole[..whole.len() / 2]);
    let cut = fixture.run(&["load", "t", "cut.parquet", "--quiet"]);
    assert_eq!(cut.code, 1);
    assert!(cut.stderr.contains("cut.parquet"), "{}", cut.stderr);
    let missing = fixture.run(&["load", "t", "absent.csv", "--quiet"]);
    assert!(missing.stderr.contains("absent.csv"), "{}", missing.stderr);
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t"), "0\n");
}

#[test]
fn missing_tables_and_columns_are_named() {
    let fixture = Fixture::new();
    fixture.file("t.csv", "a,b\n1,2\n");
    let table = fixture.run(&["load", "nowhere", "t.csv", "--quiet"]);
    assert!(table.stderr.contains("nowhere") && table.stderr.contains("--create"), "{}", table.stderr);
    fixture.sql("CREATE TABLE t (a int NULL)");
    let column = fixture.run(&["load", "t", "t.csv", "--quiet"]);
    assert_eq!(column.code, 1);
    assert!(column.stderr.contains('b'), "{}", column.stderr);
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t"), "0\n");
}

#[test]
fn null_for_a_not_null_column_names_the_row() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (a int NOT NULL, b int NULL)");
    fixture.file("t.csv", "a,b\n1,\n,2\n");
    let ran = fixture.run(&["load", "t", "t.csv", "--quiet"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("row 2") && ran.stderr.contains("NULL"), "{}", ran.stderr);
}

#[test]
fn a_refused_login_shows_the_server_s_words_and_no_password() {
    let fixture = Fixture::new();
    let url = fixture.url("Encrypt=Off");
    let ran = fixture.run_with(&url, "my-secret-guess", &["query", "SELECT 1"], "");
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("18456") && ran.stderr.contains("Login failed"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("my-secret-guess"), "{}", ran.stderr);
    let no_database = format!("mssql://sa@{}/nowhere?Encrypt=Off", fixture.server.address());
    let ran = fixture.run_with(&no_database, PASSWORD, &["query", "SELECT 1"], "");
    assert!(ran.stderr.contains("4060"), "{}", ran.stderr);
}

#[test]
fn senseless_commands_exit_with_2() {
    let fixture = Fixture::new();
    let cases: [&[&str]; 5] = [
        &["export", "only_a_table"],
        &["load", "t", "file.of_no_known_kind"],
        &["load", "t", "-"],
        &["export", "t", "out.parquet", "--delimiter", ";"],
        &["query", "SELECT 1", "--url", "Server=x;Nonsense=1"],
    ];
    for arguments in cases {
        let ran = fixture.run(arguments);
        assert!(ran.code == 2 || ran.stderr.contains("suffix"), "{arguments:?}: {} {}", ran.code, ran.stderr);
        assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    }
}

#[test]
fn a_file_that_does_not_fit_costs_no_rows_though_truncation_is_asked_for() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (a int NULL)");
    fixture.sql("INSERT INTO t VALUES (7)");
    fixture.file("fits.csv", "a\n1\n");
    fixture.file("other.csv", "b\n1\n");
    for files in [&["absent.csv"][..], &["other.csv"], &["fits.csv", "absent.csv"]] {
        let ran = fixture.run(&[&["load", "t", "--truncate", "--quiet"], files].concat());
        assert_eq!(ran.code, 1);
        assert!(ran.stderr.contains(files[files.len() - 1]), "{}", ran.stderr);
        assert_eq!(fixture.rows("SELECT a FROM t"), "7\n", "{files:?}");
    }
    fixture.file("bad.csv", "a\nx\n");
    let ran = fixture.run(&["load", "t", "bad.csv", "--truncate", "--quiet"]);
    assert!(ran.stderr.contains("[t] was emptied before"), "{}", ran.stderr);
}

#[test]
fn a_row_longer_than_allowed_is_refused_until_the_limit_is_raised() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (s varchar(50) NULL)");
    fixture.file("t.csv", "s\n0123456789\n");
    let short = fixture.run(&["load", "t", "t.csv", "--max-row-bytes", "5"]);
    assert!(short.code == 1 && short.stderr.contains("longer than 5 bytes"), "{}", short.stderr);
    fixture.ok(&["load", "t", "t.csv", "--max-row-bytes", "100"]);
    assert_eq!(fixture.run(&["load", "t", "t.csv", "--max-row-bytes", "0"]).code, 2);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_and_no_panic() {
    use std::fs::File;
    use std::process::{Command, Stdio};
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (a int NULL)");
    let file = fixture.file("t.csv", "a\n1\n");
    let load = ["load", "t", crate::fixture::text(&file), "--json", "--quiet"];
    for arguments in [&load[..], &["completions", "bash"], &["export", "t", "-", "--format", "csv"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_bulkwire"))
            .args(arguments)
            .env("BULKWIRE_URL", fixture.url("Encrypt=Off"))
            .env("BULKWIRE_PASSWORD", PASSWORD)
            .stdout(Stdio::from(File::options().write(true).open("/dev/full").unwrap()))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
            .wait_with_output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {stderr}");
        assert!(stderr.starts_with("error: ") && stderr.contains("standard output"), "{stderr}");
    }
}

#[test]
fn hints_name_the_option_that_helps_and_only_where_it_does() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (d datetime2(3) NULL)");
    fixture.ok(&[
        "export",
        "--query",
        "SELECT CAST('2024-01-01 00:00:00 +02:00' AS datetimeoffset(0)) AS d",
        "z.parquet",
    ]);
    let zone = fixture.run(&["load", "t", "z.parquet"]);
    assert!(zone.stderr.contains("hint: --drop-time-zone"), "{}", zone.stderr);
    fixture.file("x.csv", "other\n1\n");
    let name = fixture.run(&["load", "t", "x.csv"]);
    for expected in ["x.csv cannot be loaded into [t]", "\"other\"", "hint: --map"] {
        assert!(name.stderr.contains(expected), "{expected}: {}", name.stderr);
    }
    let early = fixture.run(&["export", "--query", "SELECT CAST('0001-01-01' AS datetime2) AS d", "e.csv"]);
    assert!(early.stderr.contains("hint: --datetime2"), "{}", early.stderr);
    let described = fixture.run(&["describe", "absent"]);
    assert!(
        described.stderr.contains("absent") && !described.stderr.contains("hint"),
        "{}",
        described.stderr
    );
}

#[test]
fn files_of_other_kinds_are_named_with_what_reads_them() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int)");
    for name in ["shop.bak", "shop.MDF", "shop.bacpac", "rows.csv.zip", "rows.tar.gz", "rows.xyz"] {
        fixture.file(name, "x");
    }
    std::fs::create_dir(fixture.path("folder")).unwrap();
    let cases = [
        ("shop.bak", "`bulkwire copy shop.bak#SCHEMA.TABLE DESTINATION` reads a table of it"),
        ("shop.bak#dbo.t", "`bulkwire copy shop.bak#SCHEMA.TABLE DESTINATION` reads a table of it"),
        ("shop.MDF", "`bulkwire describe shop.MDF` lists them"),
        ("shop.bacpac", "`bulkwire copy shop.bacpac#SCHEMA.TABLE DESTINATION`"),
        ("folder", "`bulkwire copy` takes folders, other commands take files or a pattern (folder/*.csv)"),
        ("folder/", "(folder/*.csv)"),
        ("rows.csv.zip", "unpack it"),
        ("rows.tar.gz", "unpack it"),
        ("rows.xyz", "no known format has this suffix"),
        ("mssql://sa:hidden@h/d/t", "`bulkwire copy mssql:… DESTINATION` reads it"),
    ];
    for (file, said) in cases {
        for words in [vec!["load", "t", file], vec!["convert", file, "out.csv"]] {
            let ran = fixture.run(&words);
            assert_eq!(ran.code, 1, "{words:?}: {}", ran.stderr);
            assert!(ran.stderr.contains(said), "{words:?}: {}", ran.stderr);
            assert!(!ran.stderr.contains("hidden"), "{words:?}: {}", ran.stderr);
        }
    }
}

/// Standard output that takes nothing.
#[cfg(target_os = "linux")]
#[test]
fn a_report_that_cannot_be_written_stops_nothing() {
    use std::process::{Command, Stdio};
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int)");
    fixture.file("t.csv", "n\n1\n");
    fixture.file("bad.csv", "n\n1\nx\n");
    let cases: [(&[&str], i32); 4] = [
        (&["load", "t", "t.csv", "t.csv", "--json"], 1),
        (&["copy", "t.csv", "mssql:t", "--output", "json"], 1),
        (&["load", "t", "bad.csv", "--json"], 1),
        (&["load", "t", "bad.csv", "--json", "--max-errors", "5"], 1),
    ];
    for (words, code) in cases {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_bulkwire"));
        command.args(words).current_dir(fixture.path(""));
        command.env("BULKWIRE_URL", fixture.url("Encrypt=Off")).env("BULKWIRE_PASSWORD", PASSWORD);
        let output = command.stdin(Stdio::null()).stdout(full).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
        assert!(said.contains("what it tells of has happened"), "{words:?}: {said}");
    }
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t").trim(), "4");
    // A reader that has gone away keeps no file from being loaded.
    let mut command = Command::new(env!("CARGO_BIN_EXE_bulkwire"));
    command.args(["load", "t", "t.csv", "t.csv", "t.csv", "--json"]).current_dir(fixture.path(""));
    command.env("BULKWIRE_URL", fixture.url("Encrypt=Off")).env("BULKWIRE_PASSWORD", PASSWORD);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t").trim(), "7");
    // Refused rows that cannot be written: what is committed is said all the same.
    for words in [
        vec!["load", "t", "bad.csv", "--rejects", "/dev/full"],
        vec!["copy", "bad.csv", "mssql:t", "--rejects", "/dev/full"],
    ] {
        let ran = fixture.run(&words);
        assert_eq!(ran.code, 1, "{words:?}: {}", ran.stderr);
        let is_told = ran.stderr.contains("committed") || ran.stderr.contains("the rows are there");
        assert!(is_told && ran.stderr.contains("/dev/full"), "{words:?}: {}", ran.stderr);
    }
}

/// A file that is read is not emptied for something that is written.
#[test]
fn a_file_that_is_read_is_not_written_over() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int)");
    let rows = "n\n1\nx\n";
    fixture.file("t.csv", rows);
    std::fs::create_dir(fixture.path("in")).unwrap();
    fixture.file("in/t.csv", rows);
    #[cfg(unix)]
    std::os::unix::fs::symlink("t.csv", fixture.path("link.csv")).unwrap();
    std::fs::hard_link(fixture.path("t.csv"), fixture.path("second.csv")).unwrap();
    let package = format!(
        "[connections]\ndb = {{ url = 'mssql://sa@{}/master?Encrypt=Off', password_env = 'BULKWIRE_PASSWORD' }}\n\
         [tasks.fill]\ntype = 'copy'\nsource = 't.csv'\nrejects = 't.csv'\nmax_errors = 5\n\
         destination = {{ connection = 'db', table = 't' }}\n",
        fixture.server.address()
    );
    fixture.file("p.toml", package);
    let mut cases: Vec<Vec<&str>> = vec![
        vec!["load", "t", "t.csv", "--rejects", "t.csv"],
        vec!["load", "t", "t.csv", "--rejects", "./t.csv"],
        vec!["load", "t", "t.csv", "--rejects", "second.csv"],
        vec!["load", "t", "t.csv", "--rejects", "t.csv", "--resume"],
        vec!["copy", "t.csv", "mssql:t", "--rejects", "t.csv"],
        vec!["copy", "in/", "mssql:t", "--rejects", "in/t.csv"],
        vec!["copy", "in/*.csv", "mssql:t", "--rejects", "in/t.csv"],
        vec!["copy", "t.csv", "out.csv", "--rejects", "out.csv"],
        vec!["convert", "t.csv", "out.parquet", "--rejects", "t.csv"],
        vec!["convert", "t.csv", "out.csv", "--rejects", "out.csv"],
        vec!["sniff", "t.csv", "--write-format-file", "t.csv"],
        vec!["bcp", "t", "in", "t.csv", "-c", "-e", "t.csv"],
        vec!["bcp", "t", "in", "t.csv", "-c", "-o", "t.csv"],
        vec!["bcp", "t", "in", "t.csv", "-c", "--rejects", "t.csv"],
        vec!["bcp", "t", "in", "t.csv", "-c", "-e", "e.txt", "-o", "e.txt"],
        vec!["run", "p.toml"],
        vec!["run", "p.toml", "--log", "t.csv"],
    ];
    if cfg!(unix) {
        cases.push(vec!["load", "t", "link.csv", "--rejects", "t.csv"]);
        cases.push(vec!["load", "t", "t.csv", "--rejects", "link.csv"]);
    }
    for words in cases {
        let ran = fixture.run(&words);
        let code = if ["bcp", "run"].contains(&words[0]) { 1 } else { 2 };
        assert_eq!(ran.code, code, "{words:?}: {}{}", ran.stdout, ran.stderr);
        for file in ["t.csv", "in/t.csv"] {
            assert_eq!(std::fs::read_to_string(fixture.path(file)).unwrap(), rows, "{words:?}");
        }
    }
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t").trim(), "0");
}
