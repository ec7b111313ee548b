//! Faults that the server injects on purpose.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::client::{Client, batch_packets};
use crate::served::*;
use bulkwire_server::{DataLocation, RunningServer, Server, ServerOptions, StartError};
use tds::login::Login7;
use tds::packet::PacketType;

const NONE: [i32; 0] = [];

/// A server with these rules.
fn faulty(rules: &str) -> RunningServer {
    try_faulty(rules).unwrap()
}

fn try_faulty(rules: &str) -> Result<RunningServer, StartError> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), rules).unwrap();
    let options = options(SocketAddr::from(([127, 0, 0, 1], 0)), DataLocation::InMemory);
    Server::start(ServerOptions { faults: Some(file.path().to_owned()), ..options })
}

/// A client of a program that the rules name.
fn named(server: &RunningServer, application: &str) -> Client {
    let mut client = Client::connect(server.address());
    assert_no_error(&client.log_in(&Login7 { app_name: application.into(), ..login() }));
    client
}

fn load(client: &mut Client, ids: &[i32]) -> Vec<tds::token::Token> {
    assert_no_error(&client.batch(BULK));
    client.socket.write_all(&packets(PacketType::BulkLoad, &bulk_payload(ids))).unwrap();
    client.answer()
}

/// Whether the connection ends without another byte of an answer.
fn ends(client: &mut Client) -> bool {
    let mut rest = [0; 4096];
    loop {
        match client.socket.read(&mut rest) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

fn is_silent(client: &mut Client) -> bool {
    client.socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let read = client.socket.read(&mut [0]);
    client.socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    matches!(read, Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut))
}

/// Waits until a count is as wanted: a session that has lost its client is undone soon, but not at once.
fn comes_to(client: &mut Client, query: &str, wanted: i32) -> bool {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(20) {
        if scalar(client, query) == wanted {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

#[test]
fn an_error_comes_at_the_nth_request_that_fits_and_a_deadlock_takes_the_transaction() {
    let server = faulty(
        r#"{"rules": [
            {"fault": "error", "number": 1205, "on": "batch", "text": "VALUES (2)", "times": 1},
            {"fault": "error", "number": 40197, "on": "batch", "text": "hurt", "nth": 2},
            {"fault": "error", "number": 50123, "message": "mine", "class": 12, "state": 7, "text": "own"},
            {"fault": "error", "number": 40501, "text": "busy", "times": 1}
        ]}"#,
    );
    let mut client = connect(&server);
    assert_no_error(&client.batch("CREATE TABLE t (id int NOT NULL); BEGIN TRAN; INSERT t VALUES (1)"));
    assert_eq!(error_numbers(&client.batch("INSERT t VALUES (2)")), [1205]);
    assert_eq!(scalar(&mut client, "SELECT @@TRANCOUNT + COUNT(*) FROM t"), 0);
    assert_no_error(&client.batch("INSERT t VALUES (2)"));
    assert_no_error(&client.batch("SELECT 1 AS hurt"));
    assert_eq!(error_numbers(&client.batch("SELECT 1 AS hurt")), [40197]);
    assert_no_error(&client.batch("SELECT 1 AS hurt"));
    assert_eq!(error_numbers(&client.batch("SELECT 1 AS own")), [50123]);
    // Severity 20 ends the connection.
    assert_eq!(error_numbers(&client.batch("SELECT 1 AS busy")), [40501]);
    assert!(ends(&mut client));
    assert_no_error(&connect(&server).batch("SELECT 1 AS busy"));
}

#[test]
fn logins_fail_at_first_or_for_one_program() {
    let server = faulty(
        r#"{"rules": [
            {"fault": "error", "number": 40613, "on": "login", "times": 2},
            {"fault": "error", "number": 4060, "on": "login", "application": "shop"},
            {"fault": "cut", "on": "login", "application": "cut", "how": "close"},
            {"fault": "stall", "on": "login", "application": "slow", "seconds": 0.2}
        ]}"#,
    );
    let try_login = |application: &str| {
        let mut client = Client::connect(server.address());
        error_numbers(&client.log_in(&Login7 { app_name: application.into(), ..login() }))
    };
    assert_eq!(try_login("any"), [40613]);
    assert_eq!(try_login("any"), [40613]);
    assert_eq!(try_login("any"), NONE);
    assert_eq!(try_login("Shop"), [4060, 18456]);
    assert_eq!(try_login("slow"), NONE);
    let mut client = Client::connect(server.address());
    let cut = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        client.log_in(&Login7 { app_name: "cut".into(), ..login() })
    }));
    assert!(cut.is_err(), "the connection is closed instead of an answer");
}

#[test]
fn an_answer_is_lost_before_or_after_the_commit() {
    let server = faulty(
        r#"{"rules": [
            {"fault": "silence", "on": "commit", "when": "after", "application": "after"},
            {"fault": "silence", "on": "commit", "when": "before", "application": "before"},
            {"fault": "cut", "on": "commit", "when": "after", "application": "cut after"},
            {"fault": "cut", "on": "commit", "when": "before", "how": "close", "application": "cut before"}
        ]}"#,
    );
    let mut watcher = connect(&server);
    assert_no_error(&watcher.batch("CREATE TABLE t (id int NOT NULL PRIMARY KEY)"));
    for (application, stays, silent) in
        [("after", 1, true), ("before", 0, true), ("cut after", 1, false), ("cut before", 0, false)]
    {
        let mut client = named(&server, application);
        assert_no_error(&client.batch("BEGIN TRAN; INSERT t VALUES (1)"));
        client.socket.write_all(&batch_packets("COMMIT")).unwrap();
        assert_eq!(is_silent(&mut client), silent, "{application}");
        assert!(silent || ends(&mut client), "{application}");
        drop(client);
        // Waits for the transaction's end: committed, or rolled back because the client has gone.
        assert!(comes_to(&mut watcher, "SELECT COUNT(*) FROM t", stays), "{application}");
        assert_no_error(&watcher.batch("SET LOCK_TIMEOUT 20000; DELETE t"));
    }
}

#[test]
fn bulk_loads_fail_at_a_row_or_lose_their_answer() {
    let server = faulty(
        r#"{"rules": [
            {"fault": "error", "number": 1205, "on": "bulk", "after_rows": 5, "application": "deadlock"},
            {"fault": "cut", "on": "bulk", "after_rows": 5, "application": "cut"},
            {"fault": "stall", "on": "bulk", "after_rows": 5, "seconds": 0.2, "application": "stall"},
            {"fault": "stall", "on": "bulk", "after_rows": 5, "application": "for ever"},
            {"fault": "silence", "on": "bulk", "when": "after", "application": "lost"},
            {"fault": "cut", "on": "bulk", "when": "after", "application": "cut after"},
            {"fault": "error", "number": 40197, "on": "bulk", "when": "after", "application": "unknown"},
            {"fault": "error", "number": 1222, "on": "bulk", "application": "locked"},
            {"fault": "silence", "on": "bulk", "application": "deaf"}
        ]}"#,
    );
    let mut watcher = connect(&server);
    assert_no_error(&watcher.batch("CREATE TABLE t (id int NOT NULL)"));
    let ids: Vec<i32> = (0..10).collect();
    for (application, numbers, stays) in
        [("deadlock", &[1205][..], 0), ("stall", &[], 10), ("unknown", &[40197], 10), ("locked", &[1222], 0)]
    {
        let mut client = named(&server, application);
        assert_eq!(error_numbers(&load(&mut client, &ids)), numbers, "{application}");
        assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM t"), stays, "{application}");
        assert_no_error(&watcher.batch("TRUNCATE TABLE t"));
    }
    for (application, silent, stays) in [
        ("cut", false, 0),
        ("for ever", true, 0),
        ("lost", true, 10),
        ("cut after", false, 10),
        ("deaf", true, 0),
    ] {
        let mut client = named(&server, application);
        assert_no_error(&client.batch(BULK));
        client.socket.write_all(&packets(PacketType::BulkLoad, &bulk_payload(&ids))).unwrap();
        assert_eq!(is_silent(&mut client), silent, "{application}");
        assert!(silent || ends(&mut client), "{application}");
        drop(client);
        assert_no_error(
            &watcher.batch("SET LOCK_TIMEOUT 20000; BEGIN TRAN; ALTER TABLE t ADD c int; ROLLBACK"),
        );
        assert!(comes_to(&mut watcher, "SELECT COUNT(*) FROM t", stays), "{application}");
        assert_no_error(&watcher.batch("TRUNCATE TABLE t"));
    }
}

#[test]
fn a_connection_is_cut_or_stalls_at_a_byte() {
    let server = faulty(
        r#"{"seed": 3, "rules": [
            {"fault": "cut", "direction": "to_server", "at_byte": 60000, "application": "up"},
            {"fault": "cut", "direction": "to_client", "at_byte": 60000, "how": "close", "application": "down"},
            {"fault": "stall", "direction": "to_client", "at_byte": 2000, "seconds": 0.2, "application": "slow"},
            {"fault": "stall", "direction": "to_server", "at_byte": 2000, "application": "stuck"},
            {"fault": "cut", "when": "within", "within_bytes": 1000, "text": "x", "application": "within"}
        ]}"#,
    );
    let mut watcher = connect(&server);
    assert_no_error(&watcher.batch("CREATE TABLE t (id int NOT NULL)"));
    let ids: Vec<i32> = (0..100_000).collect();

    let mut up = named(&server, "up");
    assert_no_error(&up.batch("BEGIN TRAN; INSERT t VALUES (1)"));
    assert_no_error(&up.batch(BULK));
    // The reset may come while the client still writes.
    let _ = up.socket.write_all(&packets(PacketType::BulkLoad, &bulk_payload(&ids)));
    assert!(ends(&mut up));
    assert!(comes_to(&mut watcher, "SELECT COUNT(*) FROM t", 0));
    assert_no_error(&watcher.batch("SET LOCK_TIMEOUT 20000; DELETE t"));

    let mut down = named(&server, "down");
    down.socket.write_all(&batch_packets("SELECT REPLICATE(CAST('x' AS varchar(max)), 200000)")).unwrap();
    let (mut received, mut buffer) = (0, [0; 8192]);
    while let Ok(read @ 1..) = down.socket.read(&mut buffer) {
        received += read;
    }
    assert!((50_000..60_000).contains(&received), "{received} after the login's bytes");

    let mut slow = named(&server, "slow");
    assert_no_error(&slow.batch("SELECT REPLICATE('x', 4000)"));

    let mut stuck = named(&server, "stuck");
    stuck.socket.write_all(&batch_packets(&format!("SELECT 1 -- {}", "x".repeat(4000)))).unwrap();
    assert!(is_silent(&mut stuck));

    let mut within = named(&server, "within");
    let mut answers = 0;
    while within.socket.write_all(&batch_packets("SELECT 'x'")).is_ok()
        && within.socket.peek(&mut [0]).is_ok_and(|n| n > 0)
    {
        let mut answer = [0; 512];
        let _ = within.socket.read(&mut answer);
        answers += 1;
        assert!(answers < 1000, "it was never cut");
    }
}

#[test]
fn a_slow_link_delays_a_round_trip_but_not_each_packet() {
    let server = faulty(
        r#"{"rules": [
            {"fault": "link", "delay_ms": 40, "application": "far"},
            {"fault": "link", "bytes_per_second": 100000, "application": "thin"}
        ]}"#,
    );
    let mut near = connect(&server);
    assert_no_error(&near.batch("CREATE TABLE t (id int NOT NULL)"));
    let mut far = named(&server, "far");
    let started = Instant::now();
    for _ in 0..3 {
        assert_no_error(&far.batch("SELECT 1"));
    }
    assert!(started.elapsed() >= Duration::from_millis(3 * 80));
    // Hundreds of packets: 40 ms for each would be a minute.
    let ids: Vec<i32> = (0..1_000_000).collect();
    let started = Instant::now();
    assert_eq!(rows_loaded(&load(&mut far, &ids)), Some(1_000_000));
    assert!(started.elapsed() < Duration::from_secs(30));

    let mut thin = named(&server, "thin");
    let started = Instant::now();
    assert_eq!(rows_loaded(&load(&mut thin, &ids[..10_000])), Some(10_000));
    assert!(started.elapsed() >= Duration::from_millis(400));
    assert_eq!(scalar(&mut near, "SELECT COUNT(*) FROM t"), 1_010_000);
}

#[test]
fn a_cap_holds_each_session_to_its_rate_and_shows_as_a_wait() {
    let server = faulty(
        r#"{"rules": [
            {"fault": "cap", "rows_per_second": 10000, "application": "rows"},
            {"fault": "cap", "bytes_per_second": 50000, "application": "bytes"}
        ]}"#,
    );
    assert_no_error(&connect(&server).batch("CREATE TABLE t (id int NOT NULL)"));
    let ids: Vec<i32> = (0..5_000).collect();
    for (application, wait) in [("rows", "BULKWIRE_ROW_RATE"), ("bytes", "LOG_RATE_GOVERNOR")] {
        let mut client = named(&server, application);
        let started = Instant::now();
        assert_eq!(rows_loaded(&load(&mut client, &ids)), Some(5_000));
        assert!(started.elapsed() >= Duration::from_millis(350), "{application}");
        let waited = format!(
            "SELECT CAST(SUM(wait_time_ms) AS int) FROM sys.dm_os_wait_stats WHERE wait_type = '{wait}'"
        );
        assert!(scalar(&mut client, &waited) >= 300, "{application}");
        let own = format!(
            "SELECT CAST(SUM(wait_time_ms) AS int) FROM sys.dm_exec_session_wait_stats WHERE session_id = @@SPID AND wait_type = '{wait}'"
        );
        assert!(scalar(&mut client, &own) >= 300, "{application}");
        // While it waits, others see it.
        let mut watcher = connect(&server);
        assert_no_error(&client.batch(BULK));
        client.socket.write_all(&packets(PacketType::BulkLoad, &bulk_payload(&ids))).unwrap();
        let now = format!(
            "SELECT COUNT(*) FROM sys.dm_exec_requests WHERE wait_type = '{wait}' AND status = 'suspended'"
        );
        assert!(comes_to(&mut watcher, &now, 1), "{application}");
        assert_eq!(rows_loaded(&client.answer()), Some(5_000));
        let others = format!(
            "SELECT COUNT(*) FROM sys.dm_exec_session_wait_stats WHERE session_id = @@SPID AND wait_type = '{wait}'"
        );
        assert_eq!(scalar(&mut watcher, &others), 0, "{application}");
    }
}

#[test]
fn what_happens_by_chance_depends_on_the_seed_alone() {
    let outcomes = |seed: u64| {
        let rules = format!(
            r#"{{"seed": {seed}, "rules": [{{"fault": "error", "number": 1222, "chance": 0.5, "every": 2}}]}}"#
        );
        let server = faulty(&rules);
        let mut first = connect(&server);
        let mut second = connect(&server);
        (0..40).for_each(|_| assert_no_error(&first.batch("SELECT 1")));
        (0..40).map(|_| error_numbers(&second.batch("SELECT 1")).len()).collect::<Vec<_>>()
    };
    let seven = outcomes(7);
    assert_eq!(seven, outcomes(7));
    assert_ne!(seven, outcomes(8));
    assert!((8..32).contains(&seven.iter().sum::<usize>()), "{seven:?}");
}

#[test]
fn a_file_that_makes_no_sense_keeps_the_server_from_starting() {
    for (rules, expected) in [
        ("", "EOF"),
        (r#"{"rules": [{"fault": "link", "dely_ms": 1}]}"#, "unknown field `dely_ms`"),
        (r#"{"rules": [{"fault": "link"}, {"fault": "cap"}]}"#, "rule 2: a cap has"),
        (r#"{"rules": [{"fault": "error", "number": 1205, "seconds": 1}]}"#, "seconds means nothing"),
    ] {
        let error = try_faulty(rules).map(drop).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
