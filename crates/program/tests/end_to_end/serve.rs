//! `bulkwire serve` as a program: init scripts, the request log, what it says and when.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use crate::fixture::{Fixture, PASSWORD, text};

/// A server that runs, and what it writes to standard error.
struct Serving {
    process: Child,
    url: String,
    stderr: JoinHandle<String>,
}

impl Serving {
    /// Starts it; `Err` is what it said before it gave up, with its exit code.
    fn start(arguments: &[&str]) -> Result<Serving, (i32, String, String)> {
        Self::start_with(arguments, Some(PASSWORD))
    }

    fn start_with(arguments: &[&str], password: Option<&str>) -> Result<Serving, (i32, String, String)> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bulkwire"));
        command.arg("serve").args(arguments);
        if !arguments.contains(&"--data") {
            command.arg("--in-memory");
        }
        match password {
            Some(password) => command.env("BULKWIRE_SERVER_PASSWORD", password),
            None => command.env_remove("BULKWIRE_SERVER_PASSWORD"),
        };
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = process.stderr.take().unwrap();
        let stderr = std::thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).unwrap();
            text
        });
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        match line.trim().strip_prefix("listening on ") {
            Some(url) => Ok(Serving { process, url: format!("{url}?Encrypt=Off"), stderr }),
            None => Err((process.wait().unwrap().code().unwrap_or(-1), line, stderr.join().unwrap())),
        }
    }

    fn rows(&self, fixture: &Fixture, sql: &str) -> String {
        let ran = fixture.run_with(&self.url, PASSWORD, &["query", sql, "--output", "csv"], "");
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stdout.split_once('\n').map(|(_, rows)| rows.to_owned()).unwrap_or_default()
    }

    /// Ends it and returns what it wrote to standard error.
    fn stop(mut self) -> String {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.stderr.join().unwrap()
    }
}

#[test]
fn init_scripts_run_in_order_before_the_server_listens() {
    let fixture = Fixture::new();
    let schema = fixture.file(
        "schema.sql",
        "CREATE DATABASE shop\nGO\nUSE shop\nGO\nCREATE TABLE t (n int IDENTITY PRIMARY KEY, s nvarchar(20))\nPRINT 'made'\nGO\n",
    );
    // As SSMS saves it: UTF-16 with a mark.
    let rows = "USE shop\r\nGO\r\nINSERT INTO t (s) VALUES (N'größer\r\nGO\r\nals')\r\nGO 3\r\n";
    let rows: Vec<u8> =
        std::iter::once(0xFEFF).chain(rows.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let rows = fixture.file("rows.sql", rows);
    let serving = Serving::start(&["--port", "0", "--init", text(&schema), "--init", text(&rows)])
        .unwrap_or_else(|said| panic!("{said:?}"));
    let found = serving.rows(&fixture, "SELECT COUNT(*), MAX(n), MAX(LEN(s)) FROM shop.dbo.t");
    assert_eq!(found, "3,3,15\n");
    let said = serving.stop();
    assert!(said.contains("schema.sql: made"), "{said}");
}

#[test]
fn a_database_of_a_package_is_there_before_the_first_connection() {
    const SHOP: &[u8] = include_bytes!("../../../copy/tests/fixtures/shop.bacpac");
    let fixture = Fixture::new();
    let package = fixture.file("shop.bacpac", SHOP);
    let later = "INSERT INTO shop.shop.customer (name, code) VALUES (N'later', 'X')";
    let later = fixture.file("later.sql", later);
    let (restore, data) = (format!("shop={}", text(&package)), fixture.path("data"));
    let arguments = |restore: &str| {
        ["--port", "0", "--data", text(&data), "--init", text(&later), "--restore", restore]
            .map(str::to_owned)
    };
    let start = |restore: &str| {
        let words = arguments(restore);
        Serving::start(&words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    // The second time it is left as it is, and the script runs again.
    for (rows, said) in [("3,3\n", "shop is restored from"), ("4,4\n", "shop is there already")] {
        let serving = start(&restore).unwrap_or_else(|said| panic!("{said:?}"));
        assert_eq!(serving.rows(&fixture, "SELECT COUNT(*), MAX(id) FROM shop.shop.customer"), rows);
        assert_eq!(serving.rows(&fixture, "SELECT COUNT(*) FROM shop.sys.foreign_keys"), "1\n");
        let printed = serving.stop();
        assert!(printed.contains(said), "{printed}");
    }
    for mode in ["off", "required", "strict"] {
        let words = ["--port", "0", "--encryption", mode, "--restore", restore.as_str()];
        let serving = Serving::start(&words).unwrap_or_else(|said| panic!("{mode}: {said:?}"));
        let printed = serving.stop();
        assert!(printed.contains("shop is restored from"), "{mode}: {printed}");
    }
    for (restore, part) in [
        ("shop", "a name and a file: shop=shop.bak"),
        ("other=nix.bak", "cannot restore other: "),
        ("other=a.csv", "a.csv is no backup, data file or package"),
    ] {
        let Err((code, _, said)) = start(restore) else { panic!("{restore} is refused") };
        assert!(code != 0 && said.contains(part), "{said}");
    }
}

#[test]
fn backups_of_sql_server_are_restored_by_statements() {
    let fixture = Fixture::new();
    let folder = std::env::var("BULKWIRE_SQL_SERVER_FILES")
        .unwrap_or_else(|_| "../../../shared/data/sql-server-files".to_owned());
    let Ok(folder) = std::fs::canonicalize(&folder) else {
        println!("skipped: the files of SQL Server are not there");
        return;
    };
    let words = ["--port", "0", "--bulk-directory", text(&folder)];
    let serving = Serving::start(&words).unwrap_or_else(|said| panic!("{said:?}"));
    for (statement, wanted) in [
        ("RESTORE VERIFYONLY FROM DISK = 'northwind-655/northwind-full.bak'", ""),
        (
            "RESTORE DATABASE nw FROM DISK = 'northwind-655/northwind-full.bak' WITH MOVE 'Northwind' TO 'nw.mdf', STATS = 50",
            "",
        ),
        ("SELECT COUNT(*), MAX(OrderID) FROM nw.dbo.Orders", "830,11077\n"),
        ("SELECT COUNT(*) FROM nw.sys.foreign_keys", "13\n"),
        ("SELECT COUNT(*) FROM nw.dbo.[Order Subtotals]", "830\n"),
        ("EXEC nw.dbo.CustOrderHist 'ALFKI'", ""),
        // Again over itself, from the server of another version, by way of NORECOVERY.
        (
            "RESTORE DATABASE nw FROM DISK = 'northwind-611/northwind-full.bak' WITH REPLACE, NORECOVERY; RESTORE DATABASE nw WITH RECOVERY",
            "",
        ),
        ("SELECT COUNT(*) FROM nw.sys.tables", "14\n"),
        ("RESTORE DATABASE rentals FROM DISK = 'mit/TutorialDB.bak'", ""),
        ("SELECT COUNT(*) FROM rentals.dbo.rental_data", "453\n"),
    ] {
        let rows = serving.rows(&fixture, statement);
        assert!(wanted.is_empty() || rows == wanted, "{statement}: {rows}");
    }
    let label =
        serving.rows(&fixture, "RESTORE LABELONLY FROM DISK = 'northwind-stripe2of2/nortwindsql.bak'");
    assert!(label.contains(",2,2,") && label.contains("Microsoft SQL Server"), "{label}");
    let header = serving.rows(&fixture, "RESTORE HEADERONLY FROM DISK = 'northwind-655/northwind-full.bak'");
    for part in ["Northwind-Full Database Backup", "37000000032900001", "SQL_Latin1_General_CP1_CI_AS", "655"]
    {
        assert!(header.contains(part), "{part}: {header}");
    }
    let files = serving.rows(&fixture, "RESTORE FILELISTONLY FROM DISK = 'northwind-655/northwind-full.bak'");
    for part in ["Northwind_log", "northwnd.mdf", "PRIMARY", "3801088", "35184372080640"] {
        assert!(files.contains(part), "{part}: {files}");
    }
    serving.stop();
}

#[test]
fn backups_of_the_server_are_read_by_copies() {
    let fixture = Fixture::new();
    let folder = fixture.path("backups");
    std::fs::create_dir(&folder).unwrap();
    let words = ["--port", "0", "--bulk-directory", text(&folder)];
    let serving = Serving::start(&words).unwrap_or_else(|said| panic!("{said:?}"));
    for statement in [
        "CREATE DATABASE shop",
        "CREATE TABLE shop.dbo.people (id int NOT NULL PRIMARY KEY, name nvarchar(30) NULL); INSERT shop.dbo.people VALUES (1, N'Åsa'), (2, NULL)",
        "CREATE TABLE shop.dbo.odd (v sql_variant)",
        "BACKUP DATABASE shop TO DISK = 'odd.bak'",
        "DROP TABLE shop.dbo.odd",
        "BACKUP DATABASE shop TO DISK = 'shop.bak' WITH COMPRESSION, CHECKSUM",
        "BACKUP DATABASE shop TO DISK = 'shop.bak'",
        "RESTORE DATABASE again FROM DISK = 'odd.bak'",
    ] {
        serving.rows(&fixture, statement);
    }
    assert_eq!(serving.rows(&fixture, "SELECT COUNT(*) FROM again.dbo.odd"), "0\n");
    fixture.ok(&["copy", "backups/shop.bak#people", "people.csv", "--backup-set", "2", "--quiet"]);
    assert_eq!(std::fs::read_to_string(fixture.path("people.csv")).unwrap(), "id,name\n1,Åsa\n2,\n");
    let described = fixture.run(&["describe", "backups/shop.bak"]);
    assert!(described.stderr.contains("it has several backups"), "{}", described.stderr);
    let refused = fixture.run(&["copy", "backups/odd.bak#people", "people.csv", "--quiet"]);
    assert!(refused.stderr.contains("RESTORE DATABASE of that server reads it"), "{}", refused.stderr);
    serving.stop();
}

#[test]
fn a_failing_init_script_stops_the_start_and_names_the_place() {
    let fixture = Fixture::new();
    for (script, expected) in [
        (
            "SELECT 1\nGO\n\nCREATE TABLE t (n int)\nINSERT INTO nowhere VALUES (1)\nGO\n",
            "failing.sql, line 5 (batch beginning at line 3): Msg 208, Level 16, State 1: Invalid object name 'nowhere'.",
        ),
        ("SELECT 1\nGO\nSELEC 2", "failing.sql, line 3 (batch beginning at line 3): Msg "),
        ("RAISERROR('no %s', 16, 1, 'luck')", "Msg 50000, Level 16, State 1: no luck"),
        ("BEGIN TRANSACTION\nCREATE TABLE t (n int)\nGO\n", "leaves a transaction open"),
        ("SELECT 1\n:r other.sql\n", "failing.sql, line 2: commands of sqlcmd"),
    ] {
        let path = fixture.file("failing.sql", script);
        let Err((code, stdout, stderr)) = Serving::start(&["--port", "0", "--init", text(&path)]) else {
            panic!("{script:?} did not stop the start");
        };
        assert_eq!((code, stdout.as_str()), (1, ""), "{stderr}");
        assert!(stderr.contains(expected), "{stderr}");
    }
    let missing = fixture.path("missing.sql");
    let Err((_, _, stderr)) = Serving::start(&["--port", "0", "--init", text(&missing)]) else {
        panic!("a missing script did not stop the start");
    };
    assert!(stderr.contains("cannot read init script") && stderr.contains("missing.sql"), "{stderr}");
}

/// A secret that is missing where it should be leaves such a password.
#[test]
fn an_empty_password_is_refused_by_the_name_of_its_place() {
    let fixture = Fixture::new();
    let empty = fixture.file("empty", "");
    let blank = fixture.file("blank", "\n");
    for (password, arguments, place) in [
        (Some(""), vec![], "BULKWIRE_SERVER_PASSWORD is empty"),
        (None, vec!["--password="], "--password is empty"),
        (None, vec!["--password", ""], "--password is empty"),
        (None, vec!["--password-file", text(&empty)], "empty is empty"),
        (None, vec!["--password-file", text(&blank)], "blank is empty"),
    ] {
        let arguments = [vec!["--port", "0"], arguments].concat();
        let Err((code, line, stderr)) = Serving::start_with(&arguments, password) else {
            panic!("{arguments:?} opened a server");
        };
        assert_eq!((code, line.as_str()), (1, ""), "{arguments:?}: {stderr}");
        assert!(stderr.contains(place), "{arguments:?}: {stderr}");
    }
}

#[test]
fn a_made_up_password_is_told_only_by_a_server_that_listens() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let Err((code, _, stderr)) = Serving::start_with(&["--port", &port], None) else {
        panic!("the port was taken");
    };
    assert_eq!(code, 1);
    assert!(stderr.contains("cannot listen") && !stderr.contains("password"), "{stderr}");
    let serving = Serving::start_with(&["--port", "0"], None).unwrap_or_else(|said| panic!("{said:?}"));
    let said = serving.stop();
    assert!(said.contains("this run's password is "), "{said}");
}

#[test]
fn the_request_log_shows_requests_and_how_they_ended_but_no_password() {
    let fixture = Fixture::new();
    let serving =
        Serving::start(&["--port", "0", "--log-requests"]).unwrap_or_else(|said| panic!("{said:?}"));
    serving.rows(&fixture, "SELECT 1 AS first_request UNION ALL SELECT 2");
    let refused = fixture.run_with(&serving.url, PASSWORD, &["query", "SELECT * FROM nowhere"], "");
    assert_ne!(refused.code, 0);
    let refused = fixture.run_with(&serving.url, "Wrong-passw0rd", &["query", "SELECT 1"], "");
    assert_ne!(refused.code, 0);
    fixture.run_with(&serving.url, PASSWORD, &["query", "CREATE LOGIN l WITH PASSWORD = 'Secret-1'"], "");
    fixture.file("t.csv", "n\n1\n2\n");
    let loaded = fixture.run_with(&serving.url, PASSWORD, &["load", "t", "t.csv", "--create", "--quiet"], "");
    assert_eq!(loaded.code, 0, "{}", loaded.stderr);
    let log = serving.stop();
    for shown in [
        "LOGIN7 user=\"sa\"",
        "BATCH SELECT 1 AS first_request",
        "2 rows in ",
        "error 208: Invalid object name 'nowhere'.",
        "login refused",
        "CREATE LOGIN l WITH PASSWORD = '***'",
        "BULK 2 rows",
    ] {
        assert!(log.contains(shown), "{shown:?} is not in:\n{log}");
    }
    for secret in [PASSWORD, "Wrong-passw0rd", "Secret-1"] {
        assert!(!log.contains(secret), "{log}");
    }
}

#[test]
fn traces_name_sessions_and_requests_but_no_secret_and_no_literal() {
    let fixture = Fixture::new();
    let options = ["--port", "0", "--log-level", "trace"];
    let serving = Serving::start(&options).unwrap_or_else(|said| panic!("{said:?}"));
    fixture.file("t.csv", "n\nValue-1\nValue-2\n");
    let mut said = String::new();
    for (password, arguments, code) in [
        (PASSWORD, ["query", "SELECT 'Literal-1' AS a WHERE 'Literal-2' <> N'Literal-3'"].as_slice(), 0),
        (
            PASSWORD,
            &["query", "DECLARE @t nvarchar(99) = N'SELECT 1 AS [Literal-4]'; EXEC sp_executesql @t"],
            0,
        ),
        (PASSWORD, &["query", "CREATE LOGIN l WITH PASSWORD = 'Secret-1'"], 1),
        (PASSWORD, &["query", "SELECT CAST('Literal-5' AS int)"], 1),
        ("Wrong-passw0rd", &["query", "SELECT 1"], 1),
        (PASSWORD, &["load", "t", "t.csv", "--create", "--quiet"], 0),
    ] {
        let arguments = [&["--log-level", "trace"], arguments].concat();
        let ran = fixture.run_with(&serving.url, password, &arguments, "");
        assert_eq!(ran.code, code, "{arguments:?}: {}", ran.stderr);
        // What the command itself says of an error may name what it was about.
        said.extend(
            ran.stderr.lines().filter(|line| line.contains("bulkwire_")).map(|line| format!("{line}\n")),
        );
    }
    let log = serving.stop();
    for shown in [
        "listening address=",
        "session{spid=51 peer=127.0.0.1:",
        "user=\"sa\" database=\"master\" application=\"bulkwire\"",
        "login library=\"bulkwire\"",
        "request{kind=\"batch\" resets=false words=SELECT}",
        "words=CREATE LOGIN}",
        "answered rows=1 ",
        "error=245 ",
        "login refused user=\"sa\"",
        "request{kind=\"bulk load\"}",
        "answered rows=2",
    ] {
        assert!(log.contains(shown), "{shown:?} is not in:\n{log}");
    }
    for shown in [
        "connection{server=\"127.0.0.1\" port=",
        "connected encryption=",
        "request{kind=\"batch\" words=SELECT}",
        "answered error=245 ",
        "no session error=login refused",
        "batch confirmed rows=2",
    ] {
        assert!(said.contains(shown), "{shown:?} is not in:\n{said}");
    }
    for secret in [PASSWORD, "Wrong-passw0rd", "Secret-1", "Literal-", "Value-"] {
        assert!(!log.contains(secret), "{secret} is in:\n{log}");
        assert!(!said.contains(secret), "{secret} is in:\n{said}");
    }
}

#[test]
fn a_log_that_nobody_reads_does_not_stop_the_server() {
    let fixture = Fixture::new();
    let mut process = Command::new(env!("CARGO_BIN_EXE_bulkwire"))
        .args(["serve", "--in-memory", "--port", "0", "--log-requests", "--log-level", "trace"])
        .env("BULKWIRE_SERVER_PASSWORD", PASSWORD)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = format!("{}?Encrypt=Off", line.trim().strip_prefix("listening on ").unwrap());
    // Far more than a pipe holds: each request is written with its text.
    let long = format!("SELECT '{}' AS n", "x".repeat(2000));
    let script = fixture.file("long.sql", format!("{long}\nGO 2000\nSELECT 42 AS answer\n"));
    let ran = fixture.run_with(&url, PASSWORD, &["query", "--file", text(&script), "--output", "csv"], "");
    assert!(ran.code == 0 && ran.stdout.ends_with("42\n"), "{}", ran.stderr);
    process.kill().unwrap();
    process.wait().unwrap();
}

#[test]
fn standard_error_may_be_json() {
    let fixture = Fixture::new();
    let options = ["--port", "0", "--log-format", "json", "--log-level", "info", "--log-requests"];
    let server = Serving::start(&options).unwrap();
    server.rows(&fixture, "SELECT 'secret' AS x; SELECT 1 / 0 WHERE 1 = 0");
    let lines = server.stop();
    let lines: Vec<serde_json::Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    assert!(lines.iter().all(|line| line["timestamp"].is_string() && line["level"].is_string()), "{lines:?}");
    let answered = lines.iter().find(|line| line["message"] == "answered").unwrap();
    assert_eq!(
        (answered["request"]["kind"].as_str(), answered["session"]["user"].as_str()),
        (Some("batch"), Some("sa"))
    );
    assert!(answered["session"]["spid"].is_u64() && answered["rows"].is_u64(), "{answered}");
    assert!(lines.iter().any(|line| line["message"].as_str().is_some_and(|text| text.contains("LOGIN7"))));
    let (code, _, stderr) =
        Serving::start(&["--port", "0", "--log-format", "json", "--init", "nowhere.sql"]).err().unwrap();
    let line: serde_json::Value = serde_json::from_str(stderr.trim()).unwrap();
    assert_eq!((code, line["level"].as_str()), (1, Some("ERROR")), "{stderr}");
}
