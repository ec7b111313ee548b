//! What a load relies on that writes down in the same transaction what it has loaded: a ledger.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::client::{Client, batch_packets};
use crate::served::*;
use tds::packet::PacketType;

const LEDGER: &str = "CREATE TABLE ledger (load_id int NOT NULL, chunk int NOT NULL, rows int NOT NULL, CONSTRAINT pk_ledger PRIMARY KEY (load_id, chunk)); CREATE TABLE t (id int NOT NULL)";

/// Asks for a key as a writer does that is about to insert it.
fn asks(load: i32, chunk: i32) -> String {
    format!(
        "BEGIN TRAN; SELECT rows FROM ledger WITH (UPDLOCK, HOLDLOCK) WHERE load_id = {load} AND chunk = {chunk}"
    )
}

fn is_waiting(server: &bulkwire_server::RunningServer, client: &mut Client) -> bool {
    let mut watcher = connect(server);
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(10) {
        if scalar(&mut watcher, "SELECT COUNT(*) FROM sys.dm_os_waiting_tasks") > 0 {
            client.socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
            let nothing = client.socket.peek(&mut [0]).is_err();
            client.socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            return nothing;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

#[test]
fn a_key_that_was_asked_for_is_inserted_by_nobody_else_until_the_end() {
    let server = server();
    let mut first = connect(&server);
    assert_no_error(&first.batch(LEDGER));
    // Over no rows, over rows around the key, and behind the last one.
    for (before, chunk) in [("", 5), ("INSERT ledger VALUES (1, 4, 1), (1, 9, 1)", 5), ("", 20)] {
        assert_no_error(&first.batch(before));
        for end in ["COMMIT", "ROLLBACK"] {
            assert_no_error(&first.batch(&asks(1, chunk)));
            let mut second = connect(&server);
            assert_no_error(&second.batch("SET LOCK_TIMEOUT 0"));
            let insert = format!("INSERT ledger VALUES (1, {chunk}, 1)");
            assert_eq!(error_numbers(&second.batch(&insert)), [1222], "{chunk}, {end}");
            assert_no_error(&second.batch("SET LOCK_TIMEOUT -1"));
            second.socket.write_all(&batch_packets(&insert)).unwrap();
            assert!(is_waiting(&server, &mut second), "{chunk}, {end}");
            assert_no_error(&first.batch(&format!("INSERT ledger VALUES (1, {chunk}, 2); {end}")));
            let expected: &[i32] = if end == "COMMIT" { &[2627] } else { &[] };
            assert_eq!(error_numbers(&second.answer()), expected, "{chunk}, {end}");
            assert_no_error(&second.batch(&format!("DELETE ledger WHERE chunk = {chunk}")));
        }
    }
}

#[test]
fn two_writers_that_ask_for_one_key_take_turns() {
    let server = server();
    let mut first = connect(&server);
    assert_no_error(&first.batch(LEDGER));
    assert_no_error(&first.batch(&asks(7, 1)));
    let mut second = connect(&server);
    second.socket.write_all(&batch_packets(&asks(7, 1))).unwrap();
    assert!(is_waiting(&server, &mut second));
    assert_no_error(&first.batch("INSERT t VALUES (1), (2); INSERT ledger VALUES (7, 1, 2); COMMIT"));
    // It sees what the first one did, and does nothing.
    let rows = second.rows();
    assert_eq!(rows.iter().map(arrow::array::RecordBatch::num_rows).sum::<usize>(), 1);
    assert_no_error(&second.batch("ROLLBACK"));
    // The wait is known as its session's.
    let waits = "SELECT COUNT(*) FROM sys.dm_exec_session_wait_stats WHERE session_id = @@SPID AND wait_type LIKE 'LCK_M_%'";
    assert!(scalar(&mut second, waits) > 0);
    assert_eq!(scalar(&mut first, waits), 0);
    assert_eq!(scalar(&mut first, "SELECT COUNT(*) FROM ledger"), 1);
}

#[test]
fn a_duplicate_under_xact_abort_ends_the_batch_before_its_commit() {
    let server = server();
    let mut client = connect(&server);
    assert_no_error(&client.batch(LEDGER));
    assert_no_error(&client.batch("INSERT ledger VALUES (1, 1, 10)"));
    let answer = client.batch(
        "SET XACT_ABORT ON; BEGIN TRAN; INSERT t VALUES (1); INSERT ledger VALUES (1, 1, 1); INSERT t VALUES (2); COMMIT",
    );
    assert_eq!(error_numbers(&answer), [2627]);
    assert_eq!(scalar(&mut client, "SELECT COUNT(*) + @@TRANCOUNT FROM t"), 0);
    // A bulk load in the transaction goes with it.
    assert_no_error(&client.batch("BEGIN TRAN"));
    assert_no_error(&client.batch(BULK));
    client.socket.write_all(&packets(PacketType::BulkLoad, &bulk_payload(&[1, 2, 3]))).unwrap();
    assert_eq!(rows_loaded(&client.answer()), Some(3));
    assert_eq!(error_numbers(&client.batch("INSERT ledger VALUES (1, 1, 3); COMMIT")), [2627]);
    assert_eq!(scalar(&mut client, "SELECT COUNT(*) + @@TRANCOUNT FROM t"), 0);
    // Without it the statement alone fails, and what follows is done.
    let answer = client.batch(
        "SET XACT_ABORT OFF; BEGIN TRAN; INSERT t VALUES (1); INSERT ledger VALUES (1, 1, 1); INSERT t VALUES (2); COMMIT",
    );
    assert_eq!(error_numbers(&answer), [2627]);
    assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM t"), 2);
}

/// Ends a connection as a broken line does.
fn reset(client: Client) {
    socket2::SockRef::from(&client.socket).set_linger(Some(Duration::ZERO)).unwrap();
}

/// Whether all locks of others are gone soon.
fn is_free(client: &mut Client) -> bool {
    let started = Instant::now();
    error_numbers(
        &client.batch("SET LOCK_TIMEOUT 10000; BEGIN TRAN; ALTER TABLE t ADD extra int NULL; ROLLBACK"),
    )
    .is_empty()
        && error_numbers(&client.batch("BEGIN TRAN; ALTER TABLE ledger ADD extra int NULL; ROLLBACK"))
            .is_empty()
        && started.elapsed() < Duration::from_secs(10)
}

#[test]
fn a_session_whose_connection_is_reset_lets_go_of_everything() {
    let server = server();
    let mut watcher = connect(&server);
    assert_no_error(&watcher.batch(LEDGER));
    // Idle in a transaction.
    let mut idle = connect(&server);
    assert_no_error(&idle.batch(&asks(1, 1)));
    assert_no_error(&idle.batch("INSERT ledger VALUES (1, 1, 1); INSERT t VALUES (1)"));
    reset(idle);
    assert!(is_free(&mut watcher));
    // In the middle of a bulk load.
    let mut loading = connect(&server);
    assert_no_error(&loading.batch("BEGIN TRAN; INSERT ledger VALUES (1, 1, 1)"));
    assert_no_error(&loading.batch(BULK));
    let bytes = packets(PacketType::BulkLoad, &bulk_payload(&(0..300_000).collect::<Vec<_>>()));
    loading.socket.write_all(&bytes[..bytes.len() / 2]).unwrap();
    reset(loading);
    assert!(is_free(&mut watcher));
    // While its load waits for a lock, with more rows sent than the server takes meanwhile.
    assert_no_error(&watcher.batch("BEGIN TRAN; SELECT COUNT(*) FROM t WITH (TABLOCKX, HOLDLOCK)"));
    let mut waiting = connect(&server);
    assert_no_error(&waiting.batch("BEGIN TRAN; INSERT ledger VALUES (2, 2, 2)"));
    waiting.batch(BULK);
    waiting.socket.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    let bytes = packets(PacketType::BulkLoad, &bulk_payload(&(0..3_000_000).collect::<Vec<_>>()));
    let _ = waiting.socket.write_all(&bytes);
    reset(waiting);
    let mut other = connect(&server);
    assert!(error_numbers(&other.batch("SET LOCK_TIMEOUT 10000; INSERT ledger VALUES (2, 2, 1)")).is_empty());
    assert_no_error(&watcher.batch("ROLLBACK"));
    assert_eq!(scalar(&mut watcher, "SELECT COUNT(*) FROM t"), 0);
    assert_eq!(scalar(&mut watcher, "SELECT COUNT(*) FROM ledger"), 1);
}
