//! Metrics and health over HTTP: what they count, that the management views say the same, and that no request hurts the server.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;
use std::{fs, thread};

use crate::client::Client;
use crate::served::*;
use bulkwire_server::{DataLocation, Limits, RunningServer, Server, ServerOptions, StartError};
use tds::packet::PacketType;
use tds::token::Token;

const LOOPBACK: [u8; 4] = [127, 0, 0, 1];

fn start_observed(limits: Limits, data: DataLocation) -> RunningServer {
    let anywhere = SocketAddr::from((LOOPBACK, 0));
    let options = ServerOptions { limits, metrics: Some(anywhere), ..options(anywhere, data) };
    Server::start(options).unwrap()
}

fn observed() -> RunningServer {
    start_observed(limits(), DataLocation::InMemory)
}

/// The status, the head, and the body of an answer.
fn ask(address: SocketAddr, request: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    // A refusal may close the connection before everything is sent.
    let _ = stream.write_all(request.as_bytes());
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    let Some((head, body)) = answer.split_once("\r\n\r\n") else { return (0, answer, String::new()) };
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_owned(), body.to_owned())
}

fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let (status, _, body) =
        ask(address, &format!("GET {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
    (status, body)
}

/// The page's samples by name and labels, after its form has been checked.
fn scrape(server: &RunningServer) -> HashMap<String, f64> {
    let (status, page) = get(server.metrics_address().unwrap(), "/metrics");
    assert_eq!(status, 200, "{page}");
    assert!(page.ends_with('\n'), "{page}");
    let (mut samples, mut kinds) = (HashMap::new(), HashMap::new());
    for line in page.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            assert!(help.split_once(' ').is_some_and(|(_, text)| text.ends_with('.')), "{line}");
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap();
            assert!(kinds.insert(name.to_owned(), kind.to_owned()).is_none(), "{line}");
        } else {
            let (name, value) = line.rsplit_once(' ').unwrap();
            let family = name.split('{').next().unwrap();
            let family = kinds.keys().find(|known| family.starts_with(known.as_str()));
            assert!(family.is_some(), "{line}");
            assert!(samples.insert(name.to_owned(), value.parse().unwrap()).is_none(), "{line}");
        }
    }
    for (name, kind) in kinds {
        assert_eq!(name.ends_with("_total"), kind == "counter", "{name} is a {kind}");
    }
    samples
}

/// How much each sample has grown while something was done.
fn growth(server: &RunningServer, work: impl FnOnce()) -> HashMap<String, f64> {
    let before = scrape(server);
    work();
    let after = scrape(server);
    after.into_iter().map(|(name, value)| (name.clone(), value - before.get(&name).unwrap_or(&0.0))).collect()
}

fn load(client: &mut Client, rows: i32) -> Vec<Token> {
    assert_no_error(&client.batch(BULK));
    let ids: Vec<i32> = (0..rows).collect();
    client.socket.write_all(&packets(PacketType::BulkLoad, &bulk_payload(&ids))).unwrap();
    client.answer()
}

#[test]
fn what_clients_do_is_counted() {
    let server = observed();
    let mut client = connect(&server);
    assert_no_error(&client.batch("CREATE TABLE t (id int NOT NULL)"));
    let grown = growth(&server, || {
        assert_eq!(rows_loaded(&load(&mut client, 1000)), Some(1000));
        assert_eq!(count(&mut client), 1000);
        assert_no_error(&client.batch("SELECT TOP 10 id FROM t; SELECT 1"));
        assert_no_error(&client.batch("DECLARE @i int = 0; WHILE @i < 100 SET @i += 1"));
        assert_eq!(
            error_numbers(&client.batch("SELECT 1/0; RAISERROR('x', 12, 1); PRINT 'y'")),
            [8134, 50_000]
        );
    });
    for (name, expected) in [
        ("bulkwire_rows_loaded_total", 1000.0),
        ("bulkwire_rows_sent_total", 12.0),
        // INSERT BULK, COUNT, two, DECLARE, WHILE with a hundred SET, three.
        ("bulkwire_statements_total", 109.0),
        ("bulkwire_errors_total{class=\"16\"}", 1.0),
        ("bulkwire_errors_total{class=\"12\"}", 1.0),
        ("bulkwire_errors_total{class=\"14\"}", 0.0),
        ("bulkwire_request_duration_seconds_count{kind=\"batch\"}", 5.0),
        ("bulkwire_request_duration_seconds_count{kind=\"bulk_load\"}", 1.0),
        ("bulkwire_request_duration_seconds_bucket{kind=\"batch\",le=\"+Inf\"}", 5.0),
        ("bulkwire_request_duration_seconds_count{kind=\"call\"}", 0.0),
        ("bulkwire_bulk_rows_total{database=\"master\"}", 1000.0),
        ("bulkwire_connections", 0.0),
        ("bulkwire_ready", 0.0),
    ] {
        assert_eq!(grown.get(name), Some(&expected), "{name}");
    }
    // A row has five bytes at least.
    assert!(grown["bulkwire_received_bytes_total"] > 5000.0);
    assert!(grown["bulkwire_sent_bytes_total"] > 100.0);
    assert!(grown["bulkwire_log_written_bytes_total{database=\"master\"}"] > 0.0);
    let now = scrape(&server);
    for (name, expected) in [
        ("bulkwire_connections", 1.0),
        ("bulkwire_sessions", 1.0),
        ("bulkwire_connections_total", 1.0),
        ("bulkwire_logins_total", 1.0),
        ("bulkwire_ready", 1.0),
        ("bulkwire_requests_running", 0.0),
    ] {
        assert_eq!(now.get(name), Some(&expected), "{name}");
    }
    assert!(now["bulkwire_memory_bytes"] <= now["bulkwire_memory_limit_bytes"]);
    assert!(now["bulkwire_start_time_seconds"] > 1.7e9);
}

#[test]
fn buckets_only_grow_from_one_to_the_next() {
    let server = observed();
    let mut client = connect(&server);
    (0..20).for_each(|_| assert_no_error(&client.batch("SELECT 1")));
    let (_, page) = get(server.metrics_address().unwrap(), "/metrics");
    let buckets = page.lines().filter(|line| line.contains("_bucket{kind=\"batch\""));
    let counts: Vec<u64> = buckets.map(|line| line.rsplit(' ').next().unwrap().parse().unwrap()).collect();
    assert_eq!(counts.len(), 13);
    assert!(counts.is_sorted() && counts.last() == Some(&20), "{counts:?}");
}

#[test]
fn logins_that_fail_are_counted_by_their_reason() {
    let server = start_observed(Limits { connections: 1, ..limits() }, DataLocation::InMemory);
    let grown = growth(&server, || {
        let mut wrong = login();
        wrong.password = "no".into();
        Client::connect(server.address()).log_in(&wrong);
        while server.connections() > 0 {
            thread::sleep(Duration::from_millis(5));
        }
        let mut nowhere = login();
        nowhere.database = "nowhere".into();
        Client::connect(server.address()).log_in(&nowhere);
        while server.connections() > 0 {
            thread::sleep(Duration::from_millis(5));
        }
        let _first = connect(&server);
        let mut one_too_many = TcpStream::connect(server.address()).unwrap();
        assert_closed(&mut one_too_many);
    });
    for (name, expected) in [
        ("bulkwire_logins_refused_total{reason=\"credentials\"}", 1.0),
        ("bulkwire_logins_refused_total{reason=\"database\"}", 1.0),
        ("bulkwire_logins_refused_total{reason=\"recovering\"}", 0.0),
        ("bulkwire_logins_total", 1.0),
        ("bulkwire_connections_total", 4.0),
        ("bulkwire_connections_refused_total", 1.0),
        ("bulkwire_errors_total{class=\"14\"}", 1.0),
        ("bulkwire_errors_total{class=\"11\"}", 1.0),
    ] {
        assert_eq!(grown.get(name), Some(&expected), "{name}");
    }
}

#[test]
fn locks_and_deadlocks_are_counted() {
    let server = observed();
    let (mut one, mut other) = (connect(&server), connect(&server));
    assert_no_error(&one.batch("CREATE TABLE a (id int); CREATE TABLE b (id int)"));
    assert_no_error(&one.batch("INSERT INTO a VALUES (1); INSERT INTO b VALUES (1)"));
    assert_no_error(&one.batch("BEGIN TRAN; UPDATE a WITH (TABLOCKX) SET id = 2"));
    let held = scrape(&server);
    assert_eq!(held["bulkwire_transactions_open{database=\"master\"}"], 1.0);
    assert!(held["bulkwire_locks_held{database=\"master\"}"] > 0.0);
    let grown = growth(&server, || {
        assert_eq!(error_numbers(&other.batch("SET LOCK_TIMEOUT 10; UPDATE a SET id = 3")), [1222]);
        assert_no_error(&other.batch("SET LOCK_TIMEOUT -1; BEGIN TRAN; UPDATE b WITH (TABLOCKX) SET id = 2"));
        send(&mut other, "UPDATE a SET id = 3");
        assert_eq!(scrape(&server)["bulkwire_locks_waiting{database=\"master\"}"], 1.0);
        assert_eq!(scrape(&server)["bulkwire_requests_running"], 1.0);
        let first = error_numbers(&one.batch("UPDATE b SET id = 3; ROLLBACK"));
        let second = error_numbers(&other.answer());
        assert_eq!([first, second].concat().iter().filter(|number| **number == 1205).count(), 1);
        other.batch("IF @@TRANCOUNT > 0 ROLLBACK");
    });
    assert_eq!(grown["bulkwire_lock_timeouts_total{database=\"master\"}"], 1.0);
    assert_eq!(grown["bulkwire_deadlocks_total{database=\"master\"}"], 1.0);
    let waits: f64 = grown
        .iter()
        .filter(|(name, _)| name.starts_with("bulkwire_waits_total{type=\"LCK_M_"))
        .map(|(_, waits)| waits)
        .sum();
    assert_eq!(waits, 3.0);
}

/// Views and metrics read the same numbers; a view's own query counts too, so that these are asked while nothing else happens.
#[test]
fn management_views_say_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let data = DataLocation::Directory { path: folder.path().to_owned(), sync: true };
    let server = start_observed(limits(), data);
    let mut client = connect(&server);
    assert_no_error(&client.batch("CREATE DATABASE shop"));
    assert_no_error(&client.batch("USE shop; CREATE TABLE t (id int NOT NULL)"));
    assert_eq!(rows_loaded(&load(&mut client, 5000)), Some(5000));
    assert_no_error(&client.batch("INSERT INTO t VALUES (1); DELETE FROM t WHERE id < 100; CHECKPOINT"));
    let mut holder = connect(&server);
    assert_no_error(&holder.batch("USE shop; BEGIN TRAN; UPDATE t SET id = 0 WHERE id = 4000"));
    let counter = |client: &mut Client, object: &str, name: &str, instance: &str| {
        let query = format!(
            "SELECT CAST(cntr_value AS int) FROM sys.dm_os_performance_counters WHERE object_name = 'SQLServer:{object}' AND counter_name = '{name}' AND instance_name = '{instance}'"
        );
        f64::from(scalar(client, &query))
    };
    for (metric, object, name, instance) in [
        ("bulkwire_sessions", "General Statistics", "User Connections", ""),
        ("bulkwire_logins_total", "General Statistics", "Logins/sec", ""),
        ("bulkwire_cache_pages", "Buffer Manager", "Database pages", ""),
        ("bulkwire_cache_limit_pages", "Buffer Manager", "Target pages", ""),
        ("bulkwire_cache_misses_total", "Buffer Manager", "Page reads/sec", ""),
        ("bulkwire_cache_written_pages_total", "Buffer Manager", "Page writes/sec", ""),
        ("bulkwire_transactions_open{database=\"shop\"}", "Databases", "Active Transactions", "shop"),
        (
            "bulkwire_transactions_committed_total{database=\"shop\"}",
            "Databases",
            "Write Transactions/sec",
            "shop",
        ),
        ("bulkwire_bulk_rows_total{database=\"shop\"}", "Databases", "Bulk Copy Rows/sec", "shop"),
        ("bulkwire_log_flushes_total{database=\"shop\"}", "Databases", "Log Flushes/sec", "shop"),
        ("bulkwire_log_flushed_bytes_total{database=\"shop\"}", "Databases", "Log Bytes Flushed/sec", "shop"),
        ("bulkwire_log_flush_waits_total{database=\"shop\"}", "Databases", "Log Flush Waits/sec", "shop"),
        ("bulkwire_deadlocks_total{database=\"shop\"}", "Locks", "Number of Deadlocks/sec", "_Total"),
        (
            "bulkwire_lock_timeouts_total{database=\"shop\"}",
            "Locks",
            "Lock Timeouts (timeout > 0)/sec",
            "_Total",
        ),
    ] {
        let shown = counter(&mut client, object, name, instance);
        assert_eq!(scrape(&server).get(metric), Some(&shown), "{metric}");
    }
    // The view is asked within the last batch that it counts not yet.
    let batches = counter(&mut client, "SQL Statistics", "Batch Requests/sec", "");
    let kinds = ["batch", "call", "transaction"]
        .map(|kind| format!("bulkwire_request_duration_seconds_count{{kind=\"{kind}\"}}"));
    let page = scrape(&server);
    assert_eq!(kinds.iter().map(|kind| page[kind]).sum::<f64>(), batches + 1.0);
    let waits = scalar(
        &mut client,
        "SELECT CAST(waiting_tasks_count AS int) FROM sys.dm_os_wait_stats WHERE wait_type = 'WRITELOG'",
    );
    assert_eq!(scrape(&server)["bulkwire_waits_total{type=\"WRITELOG\"}"], f64::from(waits));
    let locks = scalar(
        &mut client,
        "SELECT COUNT(*) FROM sys.dm_tran_locks WHERE resource_database_id = DB_ID('shop')",
    );
    assert_eq!(scrape(&server)["bulkwire_locks_held{database=\"shop\"}"], f64::from(locks));
    let connections = scalar(&mut client, "SELECT COUNT(*) FROM sys.dm_exec_connections");
    assert_eq!(scrape(&server)["bulkwire_connections"], f64::from(connections));
    assert_no_error(&holder.batch("ROLLBACK"));
    assert_eq!(scrape(&server)["bulkwire_transactions_rolled_back_total{database=\"shop\"}"], 1.0);
}

#[test]
fn names_of_databases_may_have_quotes() {
    let server = observed();
    assert_no_error(&connect(&server).batch("CREATE DATABASE [a\"b\\c]"));
    assert!(scrape(&server).contains_key("bulkwire_locks_held{database=\"a\\\"b\\\\c\"}"));
}

#[test]
fn a_server_that_serves_is_healthy_and_one_that_recovers_is_not() {
    let server = observed();
    let address = server.metrics_address().unwrap();
    assert_eq!(get(address, "/health"), (200, "{\"reasons\":[],\"status\":\"ready\"}\n".to_owned()));
    assert_eq!(get(address, "/live"), (200, "live\n".to_owned()));
    drop(server);
    assert!(TcpStream::connect(address).is_err());
    // A script that takes its time comes before the first client.
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("slow.sql");
    fs::write(&script, "WAITFOR DELAY '00:00:02'").unwrap();
    let metrics = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let anywhere = SocketAddr::from((LOOPBACK, 0));
    let options = ServerOptions {
        init: vec![script],
        metrics: Some(metrics),
        ..options(anywhere, DataLocation::InMemory)
    };
    let starting = thread::spawn(move || Server::start(options).unwrap());
    let mut seen = Vec::new();
    let server = loop {
        if TcpStream::connect(metrics).is_ok() {
            let (status, body) = get(metrics, "/health");
            let (_, page) = get(metrics, "/metrics");
            assert_eq!(get(metrics, "/live").0, 200);
            assert!(
                page.contains("bulkwire_ready ") && page.contains("bulkwire_connections_total "),
                "{page}"
            );
            let state: serde_json::Value = serde_json::from_str(&body).unwrap();
            let name = state["status"].as_str().unwrap().to_owned();
            assert_eq!(status, if name == "ready" { 200 } else { 503 }, "{body}");
            assert_eq!(state["reasons"].as_array().unwrap().is_empty(), name == "ready", "{body}");
            seen.push(name);
        }
        if starting.is_finished() {
            break starting.join().unwrap();
        }
        thread::sleep(Duration::from_millis(20));
    };
    assert!(seen.contains(&"running init scripts".to_owned()), "{seen:?}");
    assert_eq!(get(metrics, "/health").0, 200);
    drop(server);
}

#[test]
fn no_request_hurts_the_server() {
    let server = observed();
    let address = server.metrics_address().unwrap();
    for (request, status) in [
        ("POST /metrics HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", 405),
        ("GET /nowhere HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", 404),
        ("GET /../../etc/passwd HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", 404),
        ("GET http://h/metrics HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("\x12\x01\0\x2f\0\0\x01\0 no HTTP\r\n\r\n", 400),
        (&format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(20_000)), 431),
        (&format!("POST /health HTTP/1.1\r\nContent-Length: 2000\r\n\r\n{}", "a".repeat(2000)), 413),
    ] {
        assert_eq!(ask(address, request).0, status, "{request:.60}");
    }
    let (_, head, _) = ask(address, "GET /metrics HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
    assert!(!head.contains("access-control"), "{head}");
    // Many that say nothing keep neither the server's clients nor, once they have left, its observers out.
    let silent: Vec<_> = (0..200).filter_map(|_| TcpStream::connect(address).ok()).collect();
    assert_eq!(scalar(&mut connect(&server), "SELECT 1"), 1);
    drop(silent);
    let heard = (0..500).any(|_| {
        thread::sleep(Duration::from_millis(10));
        get_if_heard(address) == Some(200)
    });
    assert!(heard);
}

fn get_if_heard(address: SocketAddr) -> Option<u16> {
    let (status, ..) = ask(address, "GET /live HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    (status > 0).then_some(status)
}

#[test]
fn a_port_that_is_taken_is_an_error() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let options = ServerOptions {
        metrics: Some(address),
        ..options(SocketAddr::from((LOOPBACK, 0)), DataLocation::InMemory)
    };
    let Err(error) = Server::start(options) else { panic!("it started") };
    assert!(matches!(error, StartError::Metrics { .. }), "{error}");
    assert!(error.to_string().contains(&address.to_string()), "{error}");
}
