//! Thousands of connections, dropped in every state, leave nothing behind: no session, no connection, no file descriptor, no
//! thread, no lock, and no memory worth mentioning. One test, because it counts what the whole process has.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod client;
mod served;

use std::fs;
use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use bulkwire_server::RunningServer;
use client::{Client, batch_packets};
use served::*;
use tds::packet::PacketType;
use tds::prelogin::{EncryptionOption, Prelogin};

/// Rounds through all states before and after the counts that are compared.
const ROUNDS: usize = 20;
/// Connections in each state and round.
const CONNECTIONS: usize = 6;
/// What memory may grow by between two equal spans of work: allocators keep some.
const GROWTH_MAX_KIB: u64 = 24 << 10;

/// Opens a connection, brings it into a state, and drops it.
type State = &'static dyn Fn(&RunningServer);

#[test]
fn connections_dropped_in_every_state_leave_nothing() {
    let server = server_with_table(2000);
    let mut last = connect(&server);
    let states: [(&str, State); 12] = [
        ("connected", &|server| drop(socket(server))),
        ("half a PRELOGIN", &|server| {
            socket(server).write_all(&prelogin(EncryptionOption::On)[..11]).unwrap()
        }),
        ("in the TLS handshake", &|server| {
            let mut socket = socket(server);
            socket.write_all(&prelogin(EncryptionOption::On)).unwrap();
            socket.write_all(&[0x12, 1, 0, 200, 0, 0, 0, 0, 0x16, 3, 1, 0, 180, 1]).unwrap();
        }),
        ("half a LOGIN7", &|server| {
            let mut socket = socket(server);
            socket.write_all(&prelogin(EncryptionOption::NotSupported)).unwrap();
            let login = packets(PacketType::Login7, &login().encode().unwrap());
            socket.write_all(&login[..login.len() / 2]).unwrap();
        }),
        ("refused", &|server| {
            let mut login = login();
            login.password = "wrong".into();
            Client::connect(server.address()).log_in(&login);
        }),
        ("logged in", &|server| drop(connect(server))),
        ("with temporary tables and prepared statements", &|server| {
            let mut client = connect(server);
            assert_no_error(&client.batch("CREATE TABLE #x (a int); INSERT INTO #x VALUES (1)"));
            assert_no_error(
                &client.batch("DECLARE @h int; EXEC sp_prepare @h OUTPUT, N'@a int', N'SELECT @a'"),
            );
        }),
        ("half a batch", &|server| {
            let packets = batch_packets("SELECT 1 AS something_longer");
            connect(server).socket.write_all(&packets[..20]).unwrap();
        }),
        ("in a query", &|server| {
            let query = batch_packets("SELECT COUNT(*) FROM t a, t b, t c");
            connect(server).socket.write_all(&query).unwrap();
        }),
        ("in a result", &|server| {
            let query = batch_packets("SELECT a.id FROM t a, t b, t c");
            connect(server).socket.write_all(&query).unwrap();
        }),
        ("in a transaction", &|server| {
            let batch = "SET LOCK_TIMEOUT 5000; BEGIN TRAN; INSERT INTO t VALUES (1)";
            assert_no_error(&connect(server).batch(batch));
        }),
        ("in a bulk load", &|server| {
            let mut client = connect(server);
            assert_no_error(&client.batch(BULK));
            let load = packets(PacketType::BulkLoad, &bulk_payload(&[1; 5000]));
            client.socket.write_all(&load[..9000]).unwrap();
        }),
    ];
    let round = || {
        for (_, state) in &states {
            (0..CONNECTIONS).for_each(|_| state(&server));
        }
    };
    (0..ROUNDS).for_each(|_| round());
    settle(&server, 1);
    let before = Counts::now();
    (0..ROUNDS).for_each(|_| round());
    settle(&server, 1);
    let after = settle_threads(before.threads);
    assert_eq!(after.files, before.files, "file descriptors");
    assert!(after.threads <= before.threads, "{after:?} after {before:?}");
    assert!(after.resident_kib <= before.resident_kib + GROWTH_MAX_KIB, "{after:?} after {before:?}");
    assert_eq!(scalar(&mut last, "SELECT COUNT(*) FROM sys.dm_exec_sessions"), 1);
    assert_no_error(&last.batch("SET LOCK_TIMEOUT 0; BEGIN TRAN; UPDATE t SET id = id; ROLLBACK"));
    assert_eq!(scalar(&mut last, "SELECT SUM(id) FROM t"), 1999 * 1000, "nothing of it was committed");
}

/// Waits until no more than `open` connections are left.
fn settle(server: &RunningServer, open: usize) {
    let begin = Instant::now();
    while server.connections() > open || server.sessions() > open {
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "{} connections and {} sessions are left",
            server.connections(),
            server.sessions()
        );
        thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until no more than `threads` are left, and tells what is there then or after a minute. Threads of a pool outlive their
/// work by some seconds, and how many of them a round needs differs from round to round; those of a connection would stay.
fn settle_threads(threads: u64) -> Counts {
    let begin = Instant::now();
    loop {
        let counts = Counts::now();
        if counts.threads <= threads || begin.elapsed() > Duration::from_secs(60) {
            return counts;
        }
        thread::sleep(Duration::from_millis(100));
    }
}

/// What the process has.
#[derive(Debug)]
struct Counts {
    files: usize,
    threads: u64,
    resident_kib: u64,
}

impl Counts {
    fn now() -> Counts {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let number = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().nth(1).unwrap().parse().unwrap()
        };
        Counts {
            files: fs::read_dir("/proc/self/fd").unwrap().count(),
            threads: number("Threads:"),
            resident_kib: number("VmRSS:"),
        }
    }
}

fn prelogin(encryption: EncryptionOption) -> Vec<u8> {
    let prelogin = Prelogin { encryption: Some(encryption), ..Default::default() };
    packets(PacketType::Prelogin, &prelogin.encode().unwrap())
}
