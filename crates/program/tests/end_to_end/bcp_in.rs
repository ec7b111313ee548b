//! `bulkwire bcp … in`: flags, messages, files and exit codes.

use std::fs;

use serde_json::{Value, json};

use crate::fixture::{Fixture, PASSWORD, Ran};

const TABLE: &str =
    "CREATE TABLE t (id int NOT NULL, n int NULL, s varchar(5) NULL, d decimal(5,2) NULL, dt date NULL)";

/// Standard output without the line that holds the time.
fn told(ran: &Ran) -> String {
    let lines = ran.stdout.lines().filter(|line| !line.starts_with("Clock Time"));
    lines.map(|line| format!("{line}\n")).collect()
}

/// What a copy of so many rows prints when nothing goes wrong.
fn copied(rows: u64) -> String {
    format!("\nStarting copy...\n\n{rows} rows copied.\nNetwork packet size (bytes): 4096\n")
}

fn diagnostic(state: &str, text: &str) -> String {
    format!("SQLState = {state}, NativeError = 0\nError = [bulkwire]{text}\n")
}

const CAST: &str = "Invalid character value for cast specification";

#[test]
fn a_character_file_is_loaded() {
    let fixture = Fixture::new();
    fixture.sql(TABLE);
    fixture.file("t.dat", "1\t10\tab\t1.50\t2026-03-01\n2\t\t\0\t\t\n");
    let ran = fixture.run(&["bcp", "t", "in", "t.dat", "-c"]);
    assert_eq!((ran.code, told(&ran), ran.stderr.as_str()), (0, copied(2), ""));
    assert!(ran.stdout.contains("\nClock Time (ms.) Total     : "), "{}", ran.stdout);
    assert_eq!(
        fixture.rows("SELECT id, n, s, d, dt FROM t ORDER BY id"),
        "1,10,ab,1.50,2026-03-01\n2,,\"\",,\n"
    );
}

#[test]
fn the_options_of_the_connection_are_used() {
    let fixture = Fixture::new();
    fixture.sql("CREATE DATABASE shop");
    fixture.sql("CREATE TABLE shop.dbo.t (n int NULL)");
    fixture.file("t.dat", "1\n");
    let server = format!("-Stcp:127.0.0.1,{}", fixture.server.address().port());
    let password = format!("-P{PASSWORD}");
    let run = |words: &[&str]| {
        let words = [&["bcp", "t", "in", "t.dat", "-c", &server, "-Usa", &password], words].concat();
        fixture.run_with("", "", &words, "")
    };
    let ran = run(&["-Yo", "-u", "-d", "shop", "-a", "8192", "-l", "20", "-KReadOnly"]);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    assert!(ran.stdout.contains("Network packet size (bytes): 8192\n"), "{}", ran.stdout);
    assert_eq!(run(&["-u", "-dshop"]).code, 0, "encryption is mandatory unless -Yo says otherwise");
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM shop.dbo.t"), "2\n");
    let untrusted = run(&["-dshop"]);
    assert_eq!(untrusted.code, 1);
    assert!(
        untrusted.stdout.starts_with("SQLState = 08001, NativeError = 0\nError = [bulkwire]"),
        "{}",
        untrusted.stdout
    );
}

#[test]
fn what_cannot_sign_in_says_why() {
    let fixture = Fixture::new();
    fixture.file("t.dat", "1\n");
    // Without the program for tickets; clients/test_kerberos.py signs in with one.
    let nowhere = [("BULKWIRE_KERBEROS", "/nowhere/bulkwire")];
    let trusted = fixture.run_in_locale(&nowhere, &["bcp", "t", "in", "t.dat", "-c", "-T"]);
    assert_eq!(trusted.code, 1);
    assert!(trusted.stdout.contains("Kerberos needs the program bulkwire"), "{}", trusted.stdout);
    let entra = fixture.run(&["bcp", "t", "in", "t.dat", "-c", "-G", "-U", "me@example.org"]);
    assert!(entra.code == 1 && entra.stdout.contains("-G -P FILE"), "{}", entra.stdout);
    let wrong = fixture.run(&["bcp", "t", "in", "t.dat", "-c", "-Usa", "-Pwrong"]);
    assert_eq!(wrong.code, 1);
    assert_eq!(
        wrong.stdout,
        "SQLState = 28000, NativeError = 18456\nError = [bulkwire][SQL Server]Login failed for user 'sa'.\n"
    );
}

#[test]
fn a_password_is_read_from_standard_input() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NULL)");
    fixture.file("t.dat", "1\n");
    let server = format!("-S127.0.0.1,{}", fixture.server.address().port());
    let words = ["bcp", "t", "in", "t.dat", "-c", &server, "-Usa", "-Yo", "-u"];
    let ran = fixture.run_without_password(&words, &format!("{PASSWORD}\n"));
    assert_eq!(ran.code, 0, "{}", ran.stdout);
}

#[test]
fn progress_is_told_at_every_batch_or_thousand() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NULL)");
    fixture.file("t.dat", (0..2500).map(|n| format!("{n}\n")).collect::<String>());
    let ran = fixture.ok(&["bcp", "t", "in", "t.dat", "-c"]);
    assert!(
        ran.stdout.contains(
            "\nStarting copy...\n1000 rows sent to SQL Server. Total sent: 1000\n\
             1000 rows sent to SQL Server. Total sent: 2000\n\n2500 rows copied.\n"
        ),
        "{}",
        ran.stdout
    );
    let ran = fixture.ok(&["bcp", "t", "in", "t.dat", "-c", "-b", "700"]);
    assert!(
        ran.stdout.contains("700 rows sent to SQL Server. Total sent: 2100\n\n2500 rows copied.\n"),
        "{}",
        ran.stdout
    );
}

#[test]
fn bad_rows_are_left_out_and_stand_in_the_error_file() {
    let fixture = Fixture::new();
    fixture.sql(TABLE);
    fixture.file(
        "t.dat",
        "1\t10\ta\t1\t2026-01-01\n2\tabc\tx\t\t\n3\t1\ttoolong\t1\t\n4\t99999999999\t\t\t\n5\t5\t\t\t\n",
    );
    let words = ["bcp", "t", "in", "t.dat", "-c", "-e", "t.err", "--rejects", "t.json"];
    let ran = fixture.run(&words);
    let expected = format!(
        "\nStarting copy...\n{}{}{}\n2 rows copied.\nNetwork packet size (bytes): 4096\n",
        diagnostic("22005", CAST),
        diagnostic("22001", "String data, right truncation"),
        diagnostic("22003", "Numeric value out of range"),
    );
    assert_eq!((ran.code, told(&ran)), (0, expected));
    assert!(ran.stderr.contains("3 rows were refused"), "{}", ran.stderr);
    assert_eq!(
        fs::read_to_string(fixture.path("t.err")).unwrap(),
        "#@ Row 2, Column 2: Invalid character value for cast specification @#\n2\tabc\tx\t<NULL>\t<NULL>\n\
         #@ Row 3, Column 3: String data, right truncation @#\n3\t1\ttoolong\t1\t<NULL>\n\
         #@ Row 4, Column 2: Numeric value out of range @#\n4\t99999999999\t<NULL>\t<NULL>\t<NULL>\n"
    );
    let text = fs::read_to_string(fixture.path("t.json")).unwrap();
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(text.lines().count(), 3);
    let facts = json!([
        first["row"],
        first["byte_offset"],
        first["field"],
        first["column"],
        first["value"],
        first["code"],
        first["raw"]
    ]);
    assert_eq!(facts, json!([2, 20, 2, "n", "abc", "22018", "2\tabc\tx\t\t\n"]));
    assert_eq!(fixture.rows("SELECT id FROM t ORDER BY id"), "1\n5\n");
    assert_eq!(
        fixture.run(&[&words[..], &["--strict"]].concat()).code,
        1,
        "--strict makes refused rows a failure"
    );
}

#[test]
fn the_copy_fails_when_the_limit_is_reached_and_keeps_what_was_sent() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NULL)");
    fixture.file("t.dat", "1\nx\n2\ny\n3\nz\n4\n");
    let ran = fixture.run(&["bcp", "t", "in", "t.dat", "-c", "-m", "2"]);
    let expected = format!(
        "\nStarting copy...\n{}{}\nBCP copy in failed\n",
        diagnostic("22005", CAST),
        diagnostic("22005", CAST)
    );
    assert_eq!((ran.code, told(&ran)), (1, expected));
    assert_eq!(fixture.rows("SELECT n FROM t ORDER BY n"), "1\n2\n");
    for (limit, code, rows) in [("-m4", 0, "4\n"), ("-m0", 0, "4\n"), ("-m3", 1, "3\n")] {
        fixture.sql("TRUNCATE TABLE t");
        assert_eq!(fixture.run(&["bcp", "t", "in", "t.dat", "-c", limit]).code, code, "{limit}");
        assert_eq!(fixture.rows("SELECT COUNT(*) FROM t"), rows, "{limit}");
    }
}

#[test]
fn an_error_of_the_server_fails_its_batch_and_those_behind() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NOT NULL PRIMARY KEY)");
    fixture.file("t.dat", "1\n2\n3\n1\n5\n6\n");
    let ran = fixture.run(&["bcp", "t", "in", "t.dat", "-c", "-b2", "-e", "t.err"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stdout.contains("SQLState = 23000, NativeError = 2627\nError = [bulkwire][SQL Server]"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.ends_with("\nBCP copy in failed\n"), "{}", ran.stdout);
    assert_eq!(fixture.rows("SELECT n FROM t ORDER BY n"), "1\n2\n");
    assert_eq!(fs::read_to_string(fixture.path("t.err")).unwrap(), "");
    let halved =
        fixture.run(&["bcp", "t", "in", "t.dat", "-c", "-F3", "-b2", "--bisect", "--rejects", "t.json"]);
    assert_eq!(halved.code, 0, "{}", halved.stdout);
    assert!(halved.stdout.contains("\n3 rows copied.\n"), "{}", halved.stdout);
    assert_eq!(fixture.rows("SELECT n FROM t ORDER BY n"), "1\n2\n3\n5\n6\n");
    let reject: Value = serde_json::from_str(&fs::read_to_string(fixture.path("t.json")).unwrap()).unwrap();
    assert_eq!(
        json!([reject["row"], reject["byte_offset"], reject["code"], reject["raw"]]),
        json!([4, 6, "2627", "1\n"])
    );
}

#[test]
fn null_takes_the_default_or_stays() {
    let fixture = Fixture::new();
    fixture
        .sql("CREATE TABLE t (n int NOT NULL, s varchar(9) NULL DEFAULT 'none', m int NOT NULL DEFAULT 7)");
    fixture.file("t.dat", "1\t\t\n");
    fixture.ok(&["bcp", "t", "in", "t.dat", "-c"]);
    assert_eq!(fixture.rows("SELECT * FROM t"), "1,none,7\n");
    fixture.file("t.dat", "2\t\t5\n");
    fixture.ok(&["bcp", "t", "in", "t.dat", "-c", "-k"]);
    assert_eq!(fixture.rows("SELECT * FROM t WHERE n = 2"), "2,,5\n");
    fixture.file("t.dat", "\ta\t5\n");
    let null = fixture.run(&["bcp", "t", "in", "t.dat", "-c"]);
    assert_eq!(null.code, 1);
    assert!(null.stdout.contains("SQLState = 23000, NativeError = 515\n"), "{}", null.stdout);
}

#[test]
fn generated_columns_have_a_field_that_is_skipped() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (id int IDENTITY(10,5) NOT NULL, n int NULL, twice AS n * 2, v rowversion)");
    fixture.file("t.dat", "99\t1\t77\t0000000000000001\n98\t2\tgarbage\tgarbage\n");
    fixture.ok(&["bcp", "t", "in", "t.dat", "-c"]);
    assert_eq!(fixture.rows("SELECT id, n, twice FROM t ORDER BY id"), "10,1,2\n15,2,4\n");
    fixture.ok(&["bcp", "t", "in", "t.dat", "-c", "-E", "-L1"]);
    assert_eq!(fixture.rows("SELECT id, n FROM t WHERE id = 99"), "99,1\n");
}

#[test]
fn terminators_rows_and_code_pages_are_chosen() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NULL, s nvarchar(20) NULL)");
    let load = |words: &[&str]| {
        fixture.sql("TRUNCATE TABLE t");
        fixture.ok(&[&["bcp", "t", "in", "t.dat"], words].concat());
        fixture.rows("SELECT n, s FROM t ORDER BY n")
    };
    fixture.file("t.dat", "1,a\r\n2,b\r\n");
    assert_eq!(load(&["-c", "-t,", "-r", "\\r\\n"]), "1,a\n2,b\n");
    fixture.file("t.dat", "1||a|||\n2||b|||\n");
    assert_eq!(load(&["-c", "-t", "||", "-r", "0x7c7c7c0a"]), "1,a\n2,b\n");
    fixture.file("t.dat", "1\ta\n2\tb\n3\tc\n4\td\n");
    assert_eq!(load(&["-c", "-F2", "-L3"]), "2,b\n3,c\n");
    fixture.file("t.dat", b"1\tcaf\xE9\n");
    assert_eq!(load(&["-c", "-C", "1252"]), "1,café\n");
    fixture.file("t.dat", b"1\tcaf\x82\n");
    assert_eq!(load(&["-c", "-C850"]), "1,café\n");
    fixture.file("t.dat", b"1\t\x93\xFA\x96\x7B\n");
    assert_eq!(load(&["-c", "-C932"]), "1,日本\n");
    fixture.file("t.dat", "1\tcafé\n");
    assert_eq!(load(&["-c", "-C65001"]), "1,café\n");
    let wide: Vec<u8> = "\u{FEFF}1\tcafé\n2\tb\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    fixture.file("t.dat", &wide);
    assert_eq!(load(&["-w"]), "1,café\n2,b\n");
    fixture.file("t.dat", &wide[2..]);
    assert_eq!(load(&["-w"]), "1,café\n2,b\n");
    let refused = fixture.run(&["bcp", "t", "in", "t.dat", "-c", "-C", "12345"]);
    assert_eq!(refused.code, 1);
    assert!(
        refused.stdout.contains("The code page specified for bcp operation is not supported on the machine.")
    );
}

#[test]
fn native_files_are_loaded() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NOT NULL, m int NULL, s nvarchar(10) NULL)");
    // int NOT NULL has no prefix, int NULL one byte, text two.
    let rows = b"\x01\0\0\0\x04\x2A\0\0\0\x04\0h\0\xE9\0\x02\0\0\0\xFF\xFF\xFF";
    fixture.file("t.dat", rows);
    for letter in ["-n", "-N"] {
        fixture.sql("TRUNCATE TABLE t");
        fixture.ok(&["bcp", "t", "in", "t.dat", letter]);
        assert_eq!(fixture.rows("SELECT * FROM t ORDER BY n"), "1,42,hé\n2,,\n", "{letter}");
    }
}

#[test]
fn format_files_order_and_skip() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (a int NULL, b varchar(9) NULL, c int NULL)");
    fixture.file(
        "t.fmt",
        "14.0\n3\n1 SQLCHAR 0 12 \",\" 3 c \"\"\n2 SQLCHAR 0 9 \",\" 0 junk \"\"\n3 SQLCHAR 0 12 \"\\n\" 1 a \"\"\n",
    );
    fixture.file("t.dat", "30,x,1\n40,y,2\n");
    let ran = fixture.ok(&["bcp", "t", "in", "t.dat", "-f", "t.fmt"]);
    assert!(ran.stdout.contains("Warning: BCP import with a format file"), "{}", ran.stdout);
    assert_eq!(fixture.rows("SELECT * FROM t ORDER BY a"), "1,,30\n2,,40\n");
    let both = fixture.ok(&["bcp", "t", "in", "t.dat", "-f", "t.fmt", "-c"]);
    assert!(both.stdout.starts_with("Warning: -f overrides -c.\n"), "{}", both.stdout);
}

#[test]
fn hints_reach_the_server_as_they_are_written() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NULL CHECK (n > 0))");
    fixture.file("t.dat", "-1\n");
    fixture.ok(&["bcp", "t", "in", "t.dat", "-c"]);
    fixture.ok(&["bcp", "t", "in", "t.dat", "-c", "-h", "TABLOCK, ROWS_PER_BATCH = 10"]);
    let checked = fixture.run(&["bcp", "t", "in", "t.dat", "-c", "-h", "TABLOCK,CHECK_CONSTRAINTS"]);
    assert_eq!(checked.code, 1);
    assert!(checked.stdout.contains("SQLState = 23000, NativeError = 547\n"), "{}", checked.stdout);
    let unknown = fixture.run(&["bcp", "t", "in", "t.dat", "-c", "-h", "NO_SUCH_HINT"]);
    assert!(unknown.code == 1 && unknown.stdout.contains("[SQL Server]"), "{}", unknown.stdout);
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t"), "2\n");
}

#[test]
fn files_that_cannot_be_opened_are_told_of_before_the_copy_starts() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NULL)");
    fixture.file("t.dat", "1\n");
    let no_data = diagnostic("S1000", "Unable to open BCP host data-file");
    for file in ["absent.dat", "."] {
        let ran = fixture.run(&["bcp", "t", "in", file, "-c"]);
        assert_eq!((ran.code, ran.stdout), (1, no_data.clone()), "{file}");
    }
    let ran = fixture.run(&["bcp", "t", "in", "t.dat", "-c", "-e", "no/such/folder/e"]);
    assert_eq!((ran.code, ran.stdout), (1, diagnostic("S1000", "Unable to open BCP error-file")));
    let ran = fixture.run(&["bcp", "t", "in", "t.dat", "-f", "absent.fmt"]);
    assert_eq!(ran.code, 1);
    let words = "Format file could not be opened. Invalid name specified or access denied.";
    assert!(
        ran.stdout.starts_with(&format!("\nStarting copy...\n{}", diagnostic("S1000", words))),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.ends_with("\nBCP copy in failed\n"), "{}", ran.stdout);
    let ran = fixture.run(&["bcp", "absent", "in", "t.dat", "-c"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("SQLState = S0002, NativeError = 208\n"), "{}", ran.stdout);
}

#[test]
fn odd_files_load_as_the_original_loads_them_with_a_warning() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NULL, s varchar(30) NULL)");
    let cases: [(&[u8], &str, &str); 5] = [
        (b"", "", ""),
        (b"1\ta\n2\tb", "1,a\n2,b\n", "the last row has no terminator"),
        (b"1\ta\tb\n2\tc\n", "1,a\tb\n2,c\n", "more fields than described"),
        (b"\xEF\xBB\xBF1\ta\n", "1,a\n", ""),
        (b"1\ta\n2\n3\tc\n", "1,a\n", "a row lacks fields and swallowed the next"),
    ];
    for (bytes, rows, warning) in cases {
        fixture.sql("TRUNCATE TABLE t");
        fixture.file("t.dat", bytes);
        let ran = fixture.run(&["bcp", "t", "in", "t.dat", "-c"]);
        assert_eq!(ran.code, 0, "{}", ran.stdout);
        assert_eq!(fixture.rows("SELECT n, s FROM t ORDER BY n"), rows, "{bytes:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(warning), "{bytes:?}: {}", ran.stderr);
        assert_eq!(warning.is_empty(), ran.stderr.is_empty(), "{bytes:?}: {}", ran.stderr);
        fixture.sql("TRUNCATE TABLE t");
        let strict = fixture.run(&["bcp", "t", "in", "t.dat", "-c", "--strict"]);
        assert_eq!(strict.code == 0, warning.is_empty(), "{bytes:?}: {}{}", strict.stdout, strict.stderr);
    }
}

#[test]
fn a_file_that_ends_in_a_row_loads_the_rows_before() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NULL, s varchar(30) NULL)");
    fixture.file("t.dat", "1\ta\n2");
    let ran = fixture.run(&["bcp", "t", "in", "t.dat", "-c", "-r", "\\r\\n"]);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    fixture.file("n.dat", b"\x04\x01\0\0\0\x01\0a\x04\x02\0\0\0\x05\0b");
    let ran = fixture.run(&["bcp", "t", "in", "n.dat", "-n"]);
    let expected = format!(
        "\nStarting copy...\n{}\n1 rows copied.\nNetwork packet size (bytes): 4096\n",
        diagnostic("S1000", "Unexpected EOF encountered in BCP data-file")
    );
    assert_eq!((ran.code, told(&ran)), (0, expected), "{}", ran.stderr);
    assert!(ran.stderr.contains("the rows before it are loaded"), "{}", ran.stderr);
    let strict = fixture.run(&["bcp", "t", "in", "n.dat", "-n", "--strict"]);
    assert_eq!(strict.code, 1);
}

#[test]
fn pipes_and_compressed_files_are_read() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NULL)");
    let url = fixture.url("Encrypt=Off");
    let ran = fixture.run_with(&url, PASSWORD, &["bcp", "t", "in", "-", "-c"], "1\n2\n");
    assert_eq!((ran.code, told(&ran)), (0, copied(2)));
    for (file, n) in [("t.gz", 3), ("t.zst", 4)] {
        let query = format!("SELECT {n} AS n");
        let csv = file.replace("t.", "t.csv.");
        fixture.ok(&["export", "--query", &query, &csv, "--no-header"]);
        fs::rename(fixture.path(&csv), fixture.path(file)).unwrap();
        fixture.ok(&["bcp", "t", "in", file, "-c"]);
    }
    assert_eq!(fixture.rows("SELECT n FROM t ORDER BY n"), "1\n2\n3\n4\n");
}

#[test]
fn messages_go_to_the_file_of_o() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NULL)");
    fixture.file("t.dat", "1\n");
    let ran = fixture.ok(&["bcp", "t", "in", "t.dat", "-c", "-o", "log.txt"]);
    assert_eq!(ran.stdout, "");
    assert!(fs::read_to_string(fixture.path("log.txt")).unwrap().starts_with(&copied(1)));
}

#[test]
fn names_may_be_quoted_and_have_blanks() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE [order lines] (n int NULL)");
    fixture.file("t.dat", "1\n");
    for name in ["[order lines]", "dbo.[order lines]", "master.dbo.order lines", "\"order lines\""] {
        fixture.ok(&["bcp", name, "in", "t.dat", "-c", "-q"]);
    }
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM [order lines]"), "4\n");
}

#[test]
fn the_program_is_bcp_under_that_name() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NULL)");
    fixture.file("t.dat", "1\n");
    let link = fixture.path("bcp");
    #[cfg(unix)]
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_bulkwire"), &link).unwrap();
    #[cfg(not(unix))]
    fs::copy(env!("CARGO_BIN_EXE_bulkwire"), &link).unwrap();
    let ran = fixture.run_program(&link, &["t", "in", "t.dat", "-c"]);
    assert_eq!((ran.code, told(&ran)), (0, copied(1)));
    let version = fixture.run_program(&link, &["-v"]);
    assert_eq!((version.code, version.stdout.lines().count()), (0, 3));
    assert!(version.stdout.starts_with("BCP of bulkwire"), "{}", version.stdout);
    let usage = fixture.run_program(&link, &[]);
    assert_eq!(usage.code, 1);
    assert!(usage.stdout.starts_with("usage: bcp {dbtable | query}"), "{}", usage.stdout);
    let unknown = fixture.run_program(&link, &["t", "in", "t.dat", "-c", "-X"]);
    assert_eq!(unknown.code, 1);
    assert!(
        unknown.stdout.starts_with("Unknown argument '-X' on command line.\nusage: bcp"),
        "{}",
        unknown.stdout
    );
}

/// As with Microsoft's library on Linux; on Windows they would name the encoding.
#[cfg(unix)]
#[test]
fn collations_in_a_format_file_say_nothing_of_the_file_s_encoding() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (s nvarchar(9) NULL)");
    fixture.ok(&["bcp", "t", "format", "nul", "-c", "-f", "t.fmt"]);
    let format_file = fs::read_to_string(fixture.path("t.fmt")).unwrap();
    assert!(format_file.contains("SQL_Latin1_General_CP1_CI_AS"), "{format_file}");
    fixture.file("t.dat", "é\n");
    for (code_page, row) in [("65001", "é\n"), ("1252", "Ã©\n"), ("850", "├®\n")] {
        fixture.sql("TRUNCATE TABLE t");
        let ran = fixture.ok(&["bcp", "t", "in", "t.dat", "-f", "t.fmt", "-C", code_page, "--strict"]);
        assert_eq!((fixture.rows("SELECT s FROM t").as_str(), ran.stderr.as_str()), (row, ""), "{code_page}");
        fixture.ok(&["bcp", "t", "out", "o.dat", "-f", "t.fmt", "-C", code_page]);
        assert_eq!(fs::read(fixture.path("o.dat")).unwrap(), "é\n".as_bytes(), "{code_page}");
    }
    // Nothing said: the locale's.
    fixture.sql("TRUNCATE TABLE t");
    let ran = fixture.run_in_locale(&[("LANG", "en_US.CP1252")], &["bcp", "t", "in", "t.dat", "-f", "t.fmt"]);
    assert_eq!((ran.code, fixture.rows("SELECT s FROM t").as_str()), (0, "Ã©\n"), "{}", ran.stdout);
}

#[test]
fn a_data_source_names_the_server() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NULL)");
    fixture.file("t.dat", "1\n");
    let port = fixture.server.address().port();
    let ini = format!(
        "[shop]\nDriver = any\nServer = 127.0.0.1\nPort = {port}\nUID = sa\nPWD = {PASSWORD}\nEncrypt = no\n\
         TrustServerCertificate = yes\n"
    );
    let file = fixture.file("odbc.ini", ini);
    let run = |name: &str| {
        fixture.run_with_variable(("ODBCINI", &file), &["bcp", "t", "in", "t.dat", "-c", "-D", "-S", name])
    };
    let ran = run("shop");
    assert_eq!((ran.code, told(&ran)), (0, copied(1)), "{}", ran.stderr);
    let unknown = run("nowhere");
    assert!(unknown.code == 1 && unknown.stdout.contains("no data source \"nowhere\""), "{}", unknown.stdout);
}

#[test]
fn what_has_no_effect_is_said() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n float NULL)");
    fixture.file("t.dat", "1\n");
    fixture.ok(&["bcp", "t", "in", "t.dat", "-c"]);
    let regional = fixture.ok(&["bcp", "t", "out", "-", "-c", "-R"]);
    assert_eq!(regional.stderr.matches("-R is for in").count(), 1, "{}", regional.stderr);
    // What SQL Server could not compute with is refused, though the original sends it.
    fixture.file("t.dat", [&[8][..], &f64::NAN.to_le_bytes(), &[8], &1.5_f64.to_le_bytes()].concat());
    let nan = fixture.ok(&["bcp", "t", "in", "t.dat", "-n"]);
    assert!(
        nan.stdout.contains("Numeric value out of range") && nan.stdout.contains("\n1 rows copied.\n"),
        "{}",
        nan.stdout
    );
    assert_eq!(fixture.rows("SELECT COUNT(*), MAX(n) FROM t"), "2,1.5\n");
    let both = fixture.run(&["bcp", "SELECT 1 AS a SELECT 2 AS a", "queryout", "-", "-c"]);
    assert_eq!(both.stderr.matches("only the first is in the file").count(), 1, "{}", both.stderr);
}

#[test]
fn values_that_sql_server_has_not_are_refused_and_those_it_has_are_loaded() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (id int NOT NULL, f float NULL, d datetime NULL, x time(7) NULL)");
    let rows = [
        "1\tnan\t\t",
        "2\t1.5\t2026-03-14\t09:30:15.1234567",
        "3\tinf\t\t",
        "4\t\t-001-01-01\t",
        "5\t\t\t09:30:15.12345678",
    ];
    fixture.file("t.dat", rows.join("\n") + "\n");
    let ran = fixture.run(&["bcp", "t", "in", "t.dat", "-c", "--rejects", "t.json"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(fixture.rows("SELECT id, CAST(x AS varchar(20)) FROM t"), "2,09:30:15.1234567\n");
    let listed = fs::read_to_string(fixture.path("t.json")).unwrap();
    let mut refused: Vec<u64> = listed
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["row"].as_u64().unwrap())
        .collect();
    refused.sort_unstable();
    assert_eq!(refused, [1, 3, 4, 5]);
}
