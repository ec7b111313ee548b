//! `bulkwire bcp … out`, `queryout` and `format`, and files that go round.

use std::fs;

use crate::fixture::{Fixture, PASSWORD, Ran};

/// A table with something in every mode's way: NULL, an empty string, letters beyond ASCII, a fraction below one.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.sql(
        "CREATE TABLE t (id int NOT NULL, s varchar(10) NULL, w nvarchar(10) NULL, d decimal(5,2) NULL)",
    );
    fixture.sql("INSERT INTO t VALUES (1, 'café', N'日本', 0.5), (2, '', N'', -12), (3, NULL, NULL, NULL)");
    fixture
}

fn copied(ran: &Ran, rows: u64) {
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let expected =
        format!("\nStarting copy...\n\n{rows} rows copied.\nNetwork packet size (bytes): 4096\nClock Time");
    assert!(ran.stdout.starts_with(&expected), "{}", ran.stdout);
    assert_eq!(ran.stderr, "");
}

fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn character_files_have_null_as_nothing_and_empty_text_as_nul() {
    let fixture = fixture();
    copied(&fixture.run(&["bcp", "t", "out", "t.dat", "-c"]), 3);
    let text = "1\tcafé\t日本\t.50\n2\t\0\t\0\t-12.00\n3\t\t\t\n";
    assert_eq!(fs::read_to_string(fixture.path("t.dat")).unwrap(), text);
    copied(&fixture.run(&["bcp", "t", "out", "t.dat", "-w"]), 3);
    assert_eq!(fs::read(fixture.path("t.dat")).unwrap(), wide(&format!("\u{FEFF}{text}")));
    copied(&fixture.run(&["bcp", "t", "out", "t.dat", "-c", "-t;", "-r", "\\r\\n", "-L1"]), 1);
    assert_eq!(fs::read_to_string(fixture.path("t.dat")).unwrap(), "1;café;日本;.50\r\n");
}

#[test]
fn code_pages_are_written() {
    let fixture = fixture();
    let pages: [(&str, &[u8]); 4] =
        [("1252", b"caf\xE9"), ("850", b"caf\x82"), ("RAW", b"caf\xE9"), ("65001", "café".as_bytes())];
    for (page, expected) in pages {
        copied(
            &fixture.run(&["bcp", "SELECT s FROM t WHERE id = 1", "queryout", "t.dat", "-c", "-C", page]),
            1,
        );
        assert_eq!(fs::read(fixture.path("t.dat")).unwrap(), [expected, b"\n"].concat(), "{page}");
    }
}

#[test]
fn native_files_have_prefixes() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NOT NULL, m int NULL, s varchar(10) NULL)");
    fixture.sql("INSERT INTO t VALUES (1, 42, 'hé'), (2, NULL, NULL)");
    copied(&fixture.run(&["bcp", "t", "out", "t.dat", "-n", "-C1252"]), 2);
    let narrow = b"\x01\0\0\0\x04\x2A\0\0\0\x02\0h\xE9\x02\0\0\0\xFF\xFF\xFF";
    assert_eq!(fs::read(fixture.path("t.dat")).unwrap(), narrow);
    copied(&fixture.run(&["bcp", "t", "out", "t.dat", "-N"]), 2);
    let unicode = b"\x01\0\0\0\x04\x2A\0\0\0\x04\0h\0\xE9\0\x02\0\0\0\xFF\xFF\xFF";
    assert_eq!(fs::read(fixture.path("t.dat")).unwrap(), unicode);
}

#[test]
fn older_native_files_have_their_own_prefixes() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (s varchar(max) NULL, d date NULL)");
    fixture.sql("INSERT INTO t VALUES ('abc', '2024-02-29')");
    fixture.ok(&["bcp", "t", "out", "t.dat", "-n", "-V", "80"]);
    let date = wide("2024-02-29");
    let old = [&b"\x03\0\0\0abc\x14\0"[..], &date].concat();
    assert_eq!(fs::read(fixture.path("t.dat")).unwrap(), old);
    fixture.ok(&["bcp", "t", "in", "t.dat", "-n", "-V80"]);
    fixture.ok(&["bcp", "t", "out", "t.dat", "-n", "-V", "160", "-L1"]);
    let new = b"\x03\0\0\0\0\0\0\0abc\x03\x80\x46\x0B";
    assert_eq!(fs::read(fixture.path("t.dat")).unwrap(), new);
    assert_eq!(fixture.rows("SELECT COUNT(*), MIN(d), MAX(d) FROM t"), "2,2024-02-29,2024-02-29\n");
}

#[test]
fn rows_are_chosen_and_progress_is_told() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NULL)");
    fixture.file("t.dat", (1..=2500).map(|n| format!("{n}\n")).collect::<String>());
    fixture.ok(&["bcp", "t", "in", "t.dat", "-c"]);
    let ran = fixture.ok(&["bcp", "SELECT n FROM t ORDER BY n", "queryout", "o.dat", "-c"]);
    let line = "1000 rows successfully bulk-copied to host-file. Total received: 1000\n";
    assert!(ran.stdout.contains(line) && ran.stdout.contains("Total received: 2000\n"), "{}", ran.stdout);
    assert_eq!(fs::read(fixture.path("o.dat")).unwrap(), fs::read(fixture.path("t.dat")).unwrap());
    copied(&fixture.run(&["bcp", "SELECT n FROM t ORDER BY n", "queryout", "o.dat", "-c", "-F3", "-L5"]), 3);
    assert_eq!(fs::read_to_string(fixture.path("o.dat")).unwrap(), "3\n4\n5\n");
    copied(&fixture.run(&["bcp", "t", "out", "o.dat", "-c", "-F", "9999"]), 0);
    assert_eq!(fs::read_to_string(fixture.path("o.dat")).unwrap(), "");
}

#[test]
fn standard_output_carries_the_data_alone() {
    let fixture = fixture();
    let ran = fixture.run(&["bcp", "SELECT id FROM t ORDER BY id", "queryout", "-", "-c"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "1\n2\n3\n"));
    assert!(ran.stderr.contains("3 rows copied."), "{}", ran.stderr);
    let url = fixture.url("Encrypt=Off");
    fixture.sql("CREATE TABLE u (id int NULL)");
    let back = fixture.run_with(&url, PASSWORD, &["bcp", "u", "in", "-", "-c"], &ran.stdout);
    assert_eq!(back.code, 0, "{}", back.stdout);
}

#[test]
fn compressed_files_go_round() {
    let fixture = fixture();
    for file in ["t.dat.gz", "t.dat.zst"] {
        fixture.ok(&["bcp", "t", "out", file, "-n"]);
        let packed = fs::read(fixture.path(file)).unwrap();
        assert!(packed.starts_with(b"\x1F\x8B") || packed.starts_with(b"\x28\xB5\x2F\xFD"));
        fixture.ok(&["bcp", "t", "in", file, "-n"]);
    }
    assert_eq!(fixture.rows("SELECT COUNT(*), COUNT(DISTINCT id) FROM t"), "12,3\n");
}

#[test]
fn what_cannot_be_copied_out_is_told() {
    let fixture = fixture();
    let absent = fixture.run(&["bcp", "absent", "out", "t.dat", "-c"]);
    assert_eq!(absent.code, 1);
    assert!(
        absent.stdout.starts_with("SQLState = S0002, NativeError = 208\nError = [bulkwire][SQL Server]"),
        "{}",
        absent.stdout
    );
    let folder = fixture.run(&["bcp", "t", "out", ".", "-c"]);
    assert_eq!(folder.code, 1);
    assert!(
        folder.stdout.contains("Error = [bulkwire]Unable to open BCP host data-file\n"),
        "{}",
        folder.stdout
    );
    let nothing = fixture.run(&["bcp", "DECLARE @a int", "queryout", "t.dat", "-c"]);
    assert_eq!(nothing.code, 1);
    assert!(nothing.stdout.contains("BCP host-files must contain at least one column"), "{}", nothing.stdout);
    let two = fixture.run(&["bcp", "SELECT 1 AS a SELECT 2 AS a", "queryout", "t.dat", "-c"]);
    assert_eq!(two.code, 0, "{}", two.stdout);
    assert!(two.stderr.contains("only the first is in the file"), "{}", two.stderr);
    assert_eq!(fs::read_to_string(fixture.path("t.dat")).unwrap(), "1\n");
    assert_eq!(
        fixture.run(&["bcp", "SELECT 1 AS a SELECT 2 AS a", "queryout", "t.dat", "-c", "--strict"]).code,
        1
    );
}

#[test]
fn format_files_are_written_as_the_original_writes_them() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (id int NOT NULL, v varchar(20) NULL)");
    let format = |words: &[&str]| {
        let ran = fixture.ok(&[&["bcp", "t", "format", "nul", "-f", "t.fmt"], words].concat());
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("\n", ""));
        fs::read_to_string(fixture.path("t.fmt")).unwrap()
    };
    let collation = "SQL_Latin1_General_CP1_CI_AS";
    assert_eq!(
        format(&["-c"]),
        format!(
            "14.0\n2\n1       SQLCHAR             0       12      \"\\t\"   1     id           \"\"\n\
             2       SQLCHAR             0       20      \"\\n\"   2     v            {collation}\n"
        )
    );
    assert!(format(&["-n"]).starts_with("14.0\n2\n1       SQLINT              0       4       \"\""));
    assert!(format(&["-w", "-t,"]).contains("SQLNCHAR            0       24      \",\\0\""));
}

#[test]
fn files_go_round_through_every_layout() {
    let fixture = fixture();
    let whole = "SELECT id, s, w, d FROM t ORDER BY id";
    let before = fixture.rows(whole);
    let layouts: [&[&str]; 7] = [
        &["-c"],
        &["-c", "-t", "|~|", "-r", "\\r\\n"],
        &["-w"],
        &["-n"],
        &["-N"],
        &["-f", "w.fmt"],
        &["-f", "n.fmt"],
    ];
    fixture.ok(&["bcp", "t", "format", "nul", "-w", "-f", "w.fmt"]);
    fixture.ok(&["bcp", "t", "format", "nul", "-N", "-f", "n.fmt"]);
    for layout in layouts {
        fixture.ok(&[&["bcp", "t", "out", "t.dat"], layout].concat());
        let first = fs::read(fixture.path("t.dat")).unwrap();
        fixture.sql("TRUNCATE TABLE t");
        fixture.ok(&[&["bcp", "t", "in", "t.dat", "-k"], layout].concat());
        assert_eq!(fixture.rows(whole), before, "{layout:?}");
        fixture.ok(&[&["bcp", "t", "out", "t.dat"], layout].concat());
        assert_eq!(fs::read(fixture.path("t.dat")).unwrap(), first, "{layout:?}");
    }
}

#[test]
fn a_format_file_orders_what_goes_out() {
    let fixture = fixture();
    fixture.file("t.fmt", "14.0\n2\n1 SQLCHAR 0 41 \",\" 4 d \"\"\n2 SQLCHAR 0 12 \"\\n\" 1 id \"\"\n");
    fixture.ok(&["bcp", "t", "out", "t.dat", "-f", "t.fmt"]);
    assert_eq!(fs::read_to_string(fixture.path("t.dat")).unwrap(), ".50,1\n-12.00,2\n,3\n");
}

#[test]
fn questions_are_asked_when_nothing_describes_the_file() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NULL, s varchar(9) NULL)");
    fixture.sql("INSERT INTO t VALUES (1, 'a'), (2, NULL)");
    let url = fixture.url("Encrypt=Off");
    let answers = "c\n0\n\n;\nc\n0\n\n\\n\ny\nmy.fmt\n";
    let ran = fixture.run_with(&url, PASSWORD, &["bcp", "t", "out", "t.dat"], answers);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.starts_with("Enter the file storage type of field n [int]: "), "{}", ran.stdout);
    for question in
        ["Enter length of field n [12]: ", "Do you want to save this format information in a file? [Y/n] "]
    {
        assert!(ran.stdout.contains(question), "{question}: {}", ran.stdout);
    }
    let end = if cfg!(windows) { "\r\n" } else { "\n" };
    assert_eq!(fs::read_to_string(fixture.path("t.dat")).unwrap(), format!("1;a{end}2;{end}"));
    fixture.sql("TRUNCATE TABLE t");
    fixture.ok(&["bcp", "t", "in", "t.dat", "-f", "my.fmt"]);
    fixture.file("answers.txt", answers.replace("my.fmt", "other.fmt"));
    fixture.ok(&["bcp", "t", "in", "t.dat", "-i", "answers.txt"]);
    assert_eq!(fixture.rows("SELECT n, s FROM t ORDER BY n"), "1,a\n1,a\n2,\n2,\n");
    let same = |name: &str| fs::read_to_string(fixture.path(name)).unwrap();
    assert_eq!(same("my.fmt"), same("other.fmt"));
    let few = fixture.run_with(&url, PASSWORD, &["bcp", "t", "out", "t.dat"], "\n");
    assert_eq!(few.code, 1);
    assert!(few.stdout.contains("The answers end at the question"), "{}", few.stdout);
}

#[test]
fn terminators_inside_values_are_warned_of() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (s varchar(20) NULL, n int NULL)");
    fixture.sql("INSERT INTO t VALUES ('a;b', 1)");
    let ran = fixture.run(&["bcp", "t", "out", "t.dat", "-c", "-t;"]);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    assert!(ran.stderr.contains("terminator") && ran.stderr.contains("row 1"), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(fixture.path("t.dat")).unwrap(), "a;b;1\n");
    let strict = fixture.run(&["bcp", "t", "out", "t.dat", "-c", "-t;", "--strict"]);
    assert_eq!(strict.code, 1, "{}", strict.stdout);
    assert!(strict.stdout.ends_with("\nBCP copy out failed\n"), "{}", strict.stdout);
    assert_eq!(fs::read_to_string(fixture.path("t.dat")).unwrap(), "a;b;1\n", "the old file stays");
}

#[test]
fn characters_that_the_file_s_code_page_lacks_are_replaced_or_refused() {
    let fixture = Fixture::new();
    let words = ["bcp", "SELECT N'a日b' AS s", "queryout", "t.dat", "-c", "-C1252"];
    let ran = fixture.run(&words);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    assert_eq!(fs::read_to_string(fixture.path("t.dat")).unwrap(), "a?b\n");
    assert!(!ran.stderr.is_empty());
    assert_eq!(fixture.run(&[&words[..], &["--strict"]].concat()).code, 1);
}

#[test]
fn xml_format_files_are_written_and_read() {
    let fixture = fixture();
    fixture.ok(&["bcp", "t", "format", "nul", "-w", "-x", "-f", "w.xml"]);
    let xml = fs::read_to_string(fixture.path("w.xml")).unwrap();
    for part in [
        "http://schemas.microsoft.com/sqlserver/2004/bulkload/format",
        "<FIELD ID=\"1\" xsi:type=\"NCharTerm\"",
        "<COLUMN SOURCE=\"4\" NAME=\"d\" xsi:type=\"SQLDECIMAL\"",
    ] {
        assert!(xml.contains(part), "{part}: {xml}");
    }
    fixture.ok(&["bcp", "t", "format", "nul", "-N", "-x", "-f", "n.xml"]);
    let before = fixture.rows("SELECT * FROM t ORDER BY id");
    for file in ["w.xml", "n.xml"] {
        fixture.ok(&["bcp", "t", "out", "t.dat", "-f", file]);
        fixture.sql("TRUNCATE TABLE t");
        fixture.ok(&["bcp", "t", "in", "t.dat", "-f", file]);
        assert_eq!(fixture.rows("SELECT * FROM t ORDER BY id"), before, "{file}");
    }
    fixture.file("bad.xml", "<BCPFORMAT/>");
    let bad = fixture.run(&["bcp", "t", "in", "t.dat", "-f", "bad.xml"]);
    assert_eq!(bad.code, 1);
    assert!(bad.stdout.contains("bad.xml") && bad.stdout.ends_with("BCP copy in failed\n"), "{}", bad.stdout);
}

/// One value into a file, as a picture is taken out of a table: its bytes and nothing else.
#[test]
fn a_field_without_an_end_is_the_bytes_of_its_value() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE docs (id int, body varbinary(max), note nvarchar(20))");
    fixture.sql("INSERT docs VALUES (1, 0x00FF0A25504446, N'Zoë')");
    for (host_type, column, bytes) in [
        ("SQLBINARY", "body", &b"\x00\xFF\x0A%PDF"[..]),
        ("SQLIMAGE", "body", b"\x00\xFF\x0A%PDF"),
        ("SQLCHAR", "note", "Zo\u{eb}".as_bytes()),
        ("SQLNCHAR", "note", b"Z\0o\0\xEB\0"),
    ] {
        fixture.file("raw.fmt", format!("14.0\n1\n1 {host_type} 0 0 \"\" 1 {column} \"\"\n"));
        let query = format!("SELECT {column} FROM docs");
        copied(&fixture.run(&["bcp", &query, "queryout", "out.bin", "-f", "raw.fmt"]), 1);
        assert_eq!(fs::read(fixture.path("out.bin")).unwrap(), bytes, "{host_type}");
    }
    fixture.sql("CREATE TABLE taken (body varbinary(max))");
    let refused = fixture.run(&["bcp", "taken", "in", "out.bin", "-f", "raw.fmt"]);
    assert!(
        refused.code != 0 && refused.stdout.contains("nothing says where its values end"),
        "{}",
        refused.stdout
    );
}
