//! Commands of newcomers: what an error suggests, and what is done without being asked.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use crate::fixture::{Fixture, PASSWORD};

/// Runs a command that must fail, and returns what it says.
fn refused(fixture: &Fixture, arguments: &[&str]) -> String {
    let ran = fixture.run(arguments);
    assert_ne!(ran.code, 0, "{arguments:?}: {}", ran.stdout);
    ran.stderr
}

#[test]
fn names_that_nearly_match_are_suggested() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE dbo.orders (id int, customer_id int)");
    fixture.ok(&["query", "CREATE SCHEMA sales"]);
    fixture.sql("CREATE TABLE sales.invoices (id int)");
    fixture.file("o.csv", "id,custmer_id\n1,2\n");
    for arguments in [
        &["load", "dbo.oders", "o.csv"][..],
        &["copy", "o.csv", "mssql:dbo.oders", "--create=never"],
        &["copy", "mssql:dbo.oders", "o2.csv"],
        &["export", "dbo.oders", "o2.csv"],
        &["export", "dbo.oders", "o2.csv", "--readers", "2"],
        &["describe", "dbo.oders"],
    ] {
        let said = refused(&fixture, arguments);
        assert!(said.contains("did you mean [dbo].[orders]?"), "{arguments:?}: {said}");
    }
    let said = refused(&fixture, &["export", "invoices", "o2.csv"]);
    assert!(said.contains("did you mean [sales].[invoices]?"), "{said}");
    let said = refused(&fixture, &["export", "dbo.telephones", "o2.csv"]);
    assert!(said.contains("does not exist") && !said.contains("did you mean"), "{said}");
    for arguments in [&["load", "dbo.orders", "o.csv"][..], &["copy", "o.csv", "mssql:dbo.orders"]] {
        let said = refused(&fixture, arguments);
        assert!(said.contains("no column \"custmer_id\"; did you mean \"customer_id\"?"), "{said}");
    }
    let said = refused(&fixture, &["load", "dbo.orders", "o.csv", "--map", "idd=id"]);
    assert!(said.contains("the source has no column \"idd\"; did you mean \"id\"?"), "{said}");
}

#[test]
fn a_missing_schema_is_made_with_the_table() {
    let fixture = Fixture::new();
    fixture.file("o.csv", "id,name\n1,Ann\n2,Bob\n");
    let there = "SELECT COUNT(*) FROM sys.schemas WHERE name = 'stage'";
    let foreseen = fixture.ok(&["load", "stage.orders", "o.csv", "--create", "--dry-run", "--forecast"]);
    assert!(foreseen.stderr.contains("CREATE SCHEMA [stage]"), "{}", foreseen.stderr);
    assert!(foreseen.stderr.contains("target"), "{}", foreseen.stderr);
    assert!(foreseen.stdout.contains("2 rows"), "{}", foreseen.stdout);
    assert_eq!(fixture.rows(there).trim(), "0");
    fixture.ok(&["load", "stage.orders", "o.csv", "--create"]);
    assert_eq!(fixture.rows("SELECT id, name FROM stage.orders ORDER BY id"), "1,Ann\n2,Bob\n");
}

#[test]
fn rows_are_told_apart_by_the_primary_key() {
    let fixture = Fixture::new();
    fixture.sql(
        "CREATE TABLE t (a int, b int, n nvarchar(9), PRIMARY KEY (b, a)); INSERT t VALUES (1, 1, 'old')",
    );
    fixture.sql("CREATE TABLE heap (a int, n nvarchar(9))");
    fixture.file("t.csv", "a,b,n\n1,1,new\n2,1,more\n");
    let ran = fixture.ok(&["load", "t", "t.csv", "--mode", "upsert"]);
    assert!(ran.stderr.contains("a, b"), "{}", ran.stderr);
    assert_eq!(fixture.rows("SELECT a, b, n FROM t ORDER BY a"), "1,1,new\n2,1,more\n");
    fixture.file("t.csv", "a,b,n\n1,1,again\n3,1,third\n");
    fixture.ok(&["copy", "t.csv", "mssql:t", "--mode", "insert-new"]);
    assert_eq!(fixture.rows("SELECT a, b, n FROM t ORDER BY a"), "1,1,new\n2,1,more\n3,1,third\n");
    fixture.file("h.csv", "a,n\n1,x\n");
    for arguments in [&["load", "heap", "h.csv"][..], &["copy", "h.csv", "mssql:heap"]] {
        let said = refused(&fixture, &[arguments, &["--mode", "upsert"]].concat());
        assert!(said.contains("[dbo].[heap] has no primary key") && said.contains("--key A,B"), "{said}");
    }
}

#[test]
fn a_view_is_named_as_one() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (id int)");
    fixture.sql("CREATE VIEW v AS SELECT id FROM t");
    fixture.file("t.csv", "id\n1\n");
    let said = refused(&fixture, &["load", "v", "t.csv"]);
    assert!(said.contains("through the view 'dbo.v'"), "{said}");
}

#[test]
fn a_port_of_another_service_is_told_at_once() {
    let fixture = Fixture::new();
    // It answers when a line has ended, and otherwise never.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let service = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut line = Vec::new();
        BufReader::new(socket.try_clone().unwrap()).read_until(b'\n', &mut line).unwrap();
        socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    });
    let url = format!("mssql://sa@127.0.0.1:{port}/master?Encrypt=Off&ConnectRetryCount=0");
    let ran = fixture.run_with(&url, PASSWORD, &["query", "SELECT 1"], "");
    service.join().unwrap();
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("does not speak TDS"), "{}", ran.stderr);
    assert!(ran.stderr.contains("\"HTTP/1.1 400 Bad Request\""), "{}", ran.stderr);
}

#[test]
fn a_port_where_nothing_listens_is_named_once() {
    let fixture = Fixture::new();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("mssql://sa@{closed}/master?ConnectRetryCount=0");
    let ran = fixture.run_with(&url, PASSWORD, &["query", "SELECT 1"], "");
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert_eq!(ran.stderr.matches(&closed.to_string()).count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("is the server running"), "{}", ran.stderr);
}

#[test]
fn lines_at_the_end_are_left_out_on_request() {
    let fixture = Fixture::new();
    fixture.file("t.csv", "id,amount\r\n1,2.50\r\n2,3.50\r\n\r\nTotal\r\n2 rows,6.00,x\r\n\r\n");
    fixture.ok(&["load", "t", "t.csv", "--create", "--skip-footer", "2"]);
    assert_eq!(fixture.rows("SELECT * FROM t ORDER BY id"), "1,2.50\n2,3.50\n");
    let types =
        "SELECT DATA_TYPE FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = 't' ORDER BY ORDINAL_POSITION";
    assert_eq!(fixture.rows(types), "int\ndecimal\n");
    fixture.ok(&["convert", "t.csv", "t.parquet", "--skip-footer", "2"]);
    fixture.ok(&["copy", "t.parquet", "mssql:u"]);
    assert_eq!(fixture.rows("SELECT id FROM u ORDER BY id"), "1\n2\n");
}

#[test]
fn one_thing_has_one_name_on_every_verb() {
    let fixture = Fixture::new();
    fixture.file("t.dat", "id;n\n1;x\n");
    fixture.ok(&["convert", "t.dat", "t.out", "--format", "csv", "--to-format", "csv", "--delimiter", ";"]);
    assert_eq!(std::fs::read_to_string(fixture.path("t.out")).unwrap(), "id,n\n1,x\n");
    let ran = fixture.ok(&["copy", "t.out", "t.parquet", "--format", "csv", "--json"]);
    assert!(ran.stdout.starts_with("{\"copied\":1"), "{}", ran.stdout);
}

#[test]
fn changed_rows_are_counted_and_a_reason_comes_first() {
    let fixture = Fixture::new();
    let ran = fixture
        .ok(&["query", "CREATE TABLE t (id int); INSERT t VALUES (1), (2), (3); DELETE t WHERE id = 1"]);
    assert!(ran.stderr.contains("(3 rows affected)"), "{}", ran.stderr);
    assert!(ran.stderr.contains("(1 row affected)"), "{}", ran.stderr);
    fixture.file("t.csv", "id\n1\n");
    let said = refused(&fixture, &["load", "t", "t.csv", "--create", "--quiet"]);
    let error = said.lines().find(|line| line.starts_with("error:")).unwrap_or_default().to_owned();
    assert!(error.find("Msg 2714") < error.find("CREATE TABLE"), "{said}");
}
