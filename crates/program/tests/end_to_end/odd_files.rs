//! Files at odds with their description, and what each loader says of them.
//!
//! Every case is a file for `(n int NULL, s varchar(30) NULL)`; what is expected is the exit code, the rows that are in the
//! table afterwards, and words of the message.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::fixture::{Fixture, PASSWORD, text};

/// How a file is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loader {
    /// `bcp in -c`, `-w` or `-n`.
    Bcp(&'static str),
    /// `load`, as CSV.
    Csv,
    /// BULK INSERT in the embedded server.
    BulkInsert,
}

use Loader::{Bcp, BulkInsert, Csv};

/// What becomes of a file: exit code, rows, words of what is said.
type Outcome = (i32, &'static str, &'static str);

fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// A server that may read the folder of the file, and the table.
fn prepared() -> (Fixture, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let fixture = Fixture::with(|options| options.bulk_directories = vec![folder.path().to_owned()]);
    fixture.sql("CREATE TABLE t (n int NULL, s varchar(30) NULL)");
    (fixture, folder)
}

fn check(fixture: &Fixture, path: &str, loader: Loader, (code, rows, message): Outcome) {
    fixture.sql("TRUNCATE TABLE t");
    let bulk = format!("BULK INSERT t FROM '{path}'");
    let ran = match loader {
        Bcp(letter) => fixture.run(&["bcp", "t", "in", path, letter]),
        Csv => fixture.run(&["load", "t", path, "--format", "csv", "--quiet"]),
        BulkInsert => fixture.run(&["query", &bulk]),
    };
    let said = ran.stdout + &ran.stderr;
    assert_eq!(
        (ran.code, fixture.rows("SELECT n, s FROM t ORDER BY n").as_str()),
        (code, rows),
        "{loader:?}: {said}"
    );
    assert!(said.contains(message), "{loader:?}: {said}");
}

/// The same oddity for every loader.
fn check_all(cases: &[(Loader, Vec<u8>, Outcome)]) {
    let (fixture, folder) = prepared();
    for (loader, bytes, outcome) in cases {
        let path = folder.path().join("odd.dat");
        std::fs::write(&path, bytes).unwrap();
        check(&fixture, text(&path), *loader, *outcome);
    }
}

#[test]
fn short_rows() {
    let rows = "1\ta\n2\n3\tc\n";
    // bcp and BULK INSERT look for a tab behind the 2, and find it behind the 3.
    check_all(&[
        (
            Bcp("-c"),
            rows.into(),
            (0, "1,a\n", "row 2, byte 4, column \"n\": the field contains the row terminator"),
        ),
        (
            Bcp("-w"),
            wide(rows),
            (0, "1,a\n", "row 2, byte 8, column \"n\": the field contains the row terminator"),
        ),
        (
            Bcp("-n"),
            b"\x04\x01\0\0\0\x01\0a\x04\x02\0\0\0".to_vec(),
            (
                0,
                "1,a\n",
                "row 2, byte 8: the file ends at the start of a row, inside its first field or a length",
            ),
        ),
        (Csv, "n,s\n1,a\n2\n3,c\n".into(), (1, "", "line 3, byte 8: expected 2 fields, found 1")),
        (BulkInsert, rows.into(), (1, "1,a\n", "row 2, column 1 (n)")),
    ]);
}

#[test]
fn extra_fields() {
    let rows = "1\ta\tb\n2\tc\n";
    check_all(&[
        (Bcp("-c"), rows.into(), (0, "1,a\tb\n2,c\n", "more fields than described")),
        (Bcp("-w"), wide(rows), (0, "1,a\tb\n2,c\n", "more fields than described")),
        // What stands behind a row is the next one: a length of 98 bytes, and then the file ends.
        (
            Bcp("-n"),
            b"\x04\x01\0\0\0\x01\0a\x01\0b\x04\x02\0\0\0\x01\0c".to_vec(),
            (0, "1,a\n", "Unexpected EOF encountered in BCP data-file"),
        ),
        (Csv, "n,s\n1,a,b\n2,c\n".into(), (1, "", "line 2, byte 4: expected 2 fields, found 3")),
        (BulkInsert, rows.into(), (0, "1,a\tb\n2,c\n", "")),
    ]);
}

#[test]
fn a_last_row_without_terminator() {
    check_all(&[
        (Bcp("-c"), "1\ta\n2\tb".into(), (0, "1,a\n2,b\n", "the last row has no terminator")),
        (Bcp("-w"), wide("1\ta\n2\tb"), (0, "1,a\n2,b\n", "the last row has no terminator")),
        (Csv, "n,s\n1,a\n2,b".into(), (0, "1,a\n2,b\n", "")),
        (BulkInsert, "1\ta\n2\tb".into(), (0, "1,a\n2,b\n", "")),
        // Within the row it is another matter.
        (Bcp("-c"), "1\ta\n2".into(), (0, "1,a\n", "Unexpected EOF encountered in BCP data-file")),
        (Csv, "n,s\n1,a\n2".into(), (1, "", "line 3, byte 8: expected 2 fields, found 1")),
        (BulkInsert, "1\ta\n2".into(), (1, "", "Msg 4832")),
    ]);
}

#[test]
fn text_of_another_code_page() {
    check_all(&[
        (Bcp("-c"), b"1\tcaf\xE9\n".to_vec(), (0, "1,caf?\n", "not text")),
        (Bcp("-n"), b"\x04\x01\0\0\0\x04\0caf\xE9".to_vec(), (0, "1,caf?\n", "not text")),
        // Half a surrogate pair.
        (Bcp("-w"), [&wide("1\tx")[..], b"\x3D\xD8", &wide("\n")].concat(), (0, "1,x?\n", "not text")),
        (Csv, b"n,s\n1,caf\xE9\n".to_vec(), (1, "", "line 2, byte 9: bytes E9 are not valid UTF-8")),
        (BulkInsert, b"1\tcaf\xE9\n".to_vec(), (0, "1,caf?\n", "")),
    ]);
}

#[test]
fn an_odd_number_of_bytes() {
    let rows = wide("1\ta\n2\tb\n");
    check_all(&[
        // One byte is missing, one is too many, and one is missing at the front.
        (
            Bcp("-w"),
            rows[..rows.len() - 1].to_vec(),
            (0, "1,a\n2,b\n", "UTF-16 text has an odd number of bytes; the last one is dropped"),
        ),
        (
            Bcp("-w"),
            [&rows[..], b"x"].concat(),
            (0, "1,a\n2,b\n", "Unexpected EOF encountered in BCP data-file"),
        ),
        (Bcp("-w"), rows[1..].to_vec(), (0, "", "Unexpected EOF encountered in BCP data-file")),
        (
            Bcp("-n"),
            b"\x04\x01\0\0\0\x01\0a\x04\x02\0".to_vec(),
            (0, "1,a\n", "Unexpected EOF encountered in BCP data-file"),
        ),
    ]);
}

#[test]
fn nul_bytes() {
    check_all(&[
        // A lone NUL is the empty string; others are data, of which a number is none.
        (
            Bcp("-c"),
            b"1\t\0\n2\ta\0b\n\x003\tc\n".to_vec(),
            (0, "1,\"\"\n2,a\0b\n", "Invalid character value for cast"),
        ),
        (
            Bcp("-w"),
            wide("1\t\0\n2\ta\0b\n\x003\tc\n"),
            (0, "1,\"\"\n2,a\0b\n", "Invalid character value for cast"),
        ),
        (Bcp("-n"), b"\x04\x01\0\0\0\x02\0a\0".to_vec(), (0, "1,a\0\n", "")),
        (Csv, b"n,s\n1,\0\n2,a\0b\n".to_vec(), (0, "1,\0\n2,a\0b\n", "")),
        (Csv, b"n,s\n\x003,c\n".to_vec(), (1, "", "line 2")),
        (BulkInsert, b"1\t\0\n2\ta\0b\n\x003\tc\n".to_vec(), (1, "1,\"\"\n2,a\0b\n", "row 3, column 1 (n)")),
    ]);
}

#[test]
fn empty_files() {
    check_all(&[
        (Bcp("-c"), Vec::new(), (0, "", "\n0 rows copied.\n")),
        (Bcp("-w"), Vec::new(), (0, "", "\n0 rows copied.\n")),
        (Bcp("-n"), Vec::new(), (0, "", "\n0 rows copied.\n")),
        (Csv, Vec::new(), (1, "", "the file is empty")),
        (BulkInsert, Vec::new(), (0, "", "")),
    ]);
}

#[test]
fn directories_and_files_that_cannot_be_opened_or_read() {
    let (fixture, folder) = prepared();
    let absent = folder.path().join("absent.dat");
    for loader in [Bcp("-c"), Bcp("-w"), Bcp("-n")] {
        check(&fixture, text(folder.path()), loader, (1, "", "Unable to open BCP host data-file"));
        check(&fixture, text(&absent), loader, (1, "", "Unable to open BCP host data-file"));
    }
    check(&fixture, text(folder.path()), Csv, (1, "", "Is a directory"));
    check(&fixture, text(&absent), Csv, (1, "", "No such file or directory"));
    check(&fixture, text(folder.path()), BulkInsert, (1, "", "Msg 4861"));
    check(&fixture, text(&absent), BulkInsert, (1, "", "Msg 4860"));
    // Of another owner; who runs the tests as root may read it.
    let closed = folder.path().join("closed.dat");
    std::fs::write(&closed, "1\ta\n").unwrap();
    #[cfg(unix)]
    std::fs::set_permissions(&closed, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    if std::fs::File::open(&closed).is_err() {
        check(&fixture, text(&closed), Bcp("-c"), (1, "", "Unable to open BCP host data-file"));
        check(&fixture, text(&closed), Csv, (1, "", "Permission denied"));
        check(&fixture, text(&closed), BulkInsert, (1, "", "Msg 4861"));
    }
    // Opened, but every read fails: no process has memory at address 0.
    if cfg!(target_os = "linux") {
        for loader in [Bcp("-c"), Bcp("-w"), Bcp("-n"), Csv] {
            check(&fixture, "/proc/self/mem", loader, (1, "", "Input/output error"));
        }
    }
}

/// 2 GB that are one field, from a pipe or from a file that takes no room on the disk, in a process that may not have as
/// much memory.
#[cfg(target_os = "linux")]
#[test]
fn a_field_of_two_gigabytes() {
    let (fixture, folder) = prepared();
    let endless = |words: &[&str], head: &[u8]| {
        let mut child = Command::new("sh")
            .args(["-c", "ulimit -v 1200000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_bulkwire")])
            .args(words)
            .env("BULKWIRE_URL", fixture.url("Encrypt=Off"))
            .env("BULKWIRE_PASSWORD", PASSWORD)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let block = vec![b'x'; 1 << 20];
        let mut written = input.write_all(head);
        for _ in 0..2048 {
            // It stops reading long before the end.
            written = written.and_then(|()| input.write_all(&block));
        }
        drop(input);
        assert!(written.is_err(), "{words:?} has read two gigabytes");
        let ran = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(1), "{words:?}: {said}");
        said
    };
    let said = endless(&["bcp", "t", "in", "-", "-c"], b"1\ta\n2\t");
    assert!(said.contains("row 2, byte 4: the row is longer than 134217728 bytes"), "{said}");
    let said = endless(&["bcp", "t", "in", "-", "-w"], &wide("1\ta\n2\t"));
    assert!(said.contains("row 2, byte 8: the row is longer than 134217728 bytes"), "{said}");
    let said = endless(&["load", "t", "-", "--format", "csv", "--quiet"], b"n,s\n1,a\n2,\"");
    assert!(said.contains("the row is longer than 67108864 bytes"), "{said}");
    // A native value says how long it is.
    fixture.sql("CREATE TABLE l (n int NOT NULL, s varchar(max) NULL)");
    let said = endless(&["bcp", "l", "in", "-", "-n"], b"\x01\0\0\0\0\0\0\x80\0\0\0\0");
    assert!(said.contains("a value is said to be 2147483648 bytes long"), "{said}");
    let sparse = folder.path().join("sparse.dat");
    let file = std::fs::File::create(&sparse).unwrap();
    file.set_len(2 << 30).unwrap();
    check(&fixture, text(&sparse), BulkInsert, (1, "", "Msg 4866"));
}

#[test]
fn a_load_says_where_two_rows_may_be_one() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE u (n int NULL, s varchar(30) NULL, r varchar(30) NULL)");
    // Either a line feed in the second field, or two rows that lack a field each.
    fixture.file("u.txt", "1\ta\n2\tb\n3\tc\td\n");
    let ran = fixture.ok(&["load", "u", "u.txt", "--format", "char"]);
    assert!(
        ran.stderr
            .contains("warning: u.txt: row 1, byte 0, column \"s\": the field contains the row terminator"),
        "{}",
        ran.stderr
    );
    assert_eq!(fixture.rows("SELECT COUNT(*), MAX(DATALENGTH(s)) FROM u"), "2,3\n");
    fixture.file("v.txt", "1\ta\tb\n");
    let ran = fixture.ok(&["load", "u", "v.txt", "--format", "char"]);
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
}
