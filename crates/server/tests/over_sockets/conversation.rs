//! What a connection must survive: cancellation at any moment, clients that leave, limits, errors in bulk loads.

use std::io::{Read, Write};
use std::thread;
use std::time::Duration;

use crate::client::{Client, batch_packets};
use crate::served::*;
use bulkwire_server::{DataLocation, Limits};
use tds::done::DoneStatus;
use tds::env_change::EnvChange;
use tds::packet::PacketType;
use tds::token::Token;

#[test]
fn the_login_reply_is_the_one_of_real_servers() {
    let server = server();
    let mut client = Client::connect(server.address());
    let login = login();
    let prelogin = tds::prelogin::Prelogin {
        encryption: Some(tds::prelogin::EncryptionOption::NotSupported),
        ..Default::default()
    };
    client.socket.write_all(&packets(PacketType::Prelogin, &prelogin.encode().unwrap())).unwrap();
    client.message();
    client.socket.write_all(&packets(PacketType::Login7, &login.encode().unwrap())).unwrap();
    let reply = client.message();
    // The capture's order and bytes; only the version is this server's (16.0.1000) and there is a server name in INFO.
    let info = |number: i32, state: u8, text: &str| {
        let mut body = number.to_le_bytes().to_vec();
        body.extend([state, 0]);
        body.extend(u16::try_from(text.len()).unwrap().to_le_bytes());
        body.extend(wide(text));
        body.push(8);
        body.extend(wide("bulkwire"));
        body.push(0);
        body.extend(1_i32.to_le_bytes());
        [vec![0xAB], u16::try_from(body.len()).unwrap().to_le_bytes().to_vec(), body].concat()
    };
    let expected = [
        vec![0xE3, 0x1B, 0, 1, 6],
        wide("master"),
        vec![6],
        wide("master"),
        info(5701, 2, "Changed database context to 'master'."),
        vec![0xE3, 8, 0, 7, 5, 0x09, 0x04, 0xD0, 0x00, 0x34, 0],
        vec![0xE3, 0x17, 0, 2, 0x0A],
        wide("us_english"),
        vec![0],
        info(5703, 1, "Changed language setting to us_english."),
        vec![0xAD, 0x36, 0, 1, 0x74, 0, 0, 4, 0x16],
        wide("Microsoft SQL Server\0\0"),
        vec![16, 0, 0x03, 0xE8],
        vec![0xE3, 0x13, 0, 4, 4],
        wide("4096"),
        vec![4],
        wide("4096"),
        vec![0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    ]
    .concat();
    assert_eq!(reply, expected);
}

#[test]
fn a_streaming_query_is_cancelled() {
    let server = server_with_table(2000);
    let mut client = connect(&server);
    client.socket.write_all(&batch_packets("SELECT a.id FROM t a CROSS JOIN t b CROSS JOIN t c")).unwrap();
    let mut head = [0; 4096];
    client.socket.read_exact(&mut head).unwrap();
    client.receive(&head);
    send_attention(&mut client);
    let tokens = cancelled_answer(&mut client);
    assert!(matches!(tokens[0], Token::ColMetaData(Some(_))));
    assert_eq!(count(&mut client), 2000);
}

#[test]
fn a_computing_query_is_cancelled() {
    let server = server_with_table(2000);
    let mut client = connect(&server);
    send(&mut client, "SELECT COUNT(*) FROM t a, t b, t c");
    send_attention(&mut client);
    cancelled_answer(&mut client);
    assert_eq!(count(&mut client), 2000);
}

/// ODBC reports HY008 only if the statement itself ended with an error; SqlClient's "severe error on the current command" is the
/// same bit.
#[test]
fn a_cancelled_statement_ends_with_the_error_bit_before_the_acknowledgement() {
    let server = server_with_table(3);
    let mut client = connect(&server);
    send(&mut client, "SELECT 1 AS one; WAITFOR DELAY '00:10:00'; SELECT 2 AS two");
    send_attention(&mut client);
    let tokens = cancelled_answer(&mut client);
    let Some(Token::Done(statement)) = tokens.last() else { panic!("{tokens:?}") };
    assert_eq!(statement.status, DoneStatus::ERROR);
}

/// Drivers put a connection away for the bit of its own.
#[test]
fn an_error_of_severity_20_ends_the_batch_and_the_connection() {
    let server = server_with_table(3);
    let mut client = connect(&server);
    let tokens = client.batch("RAISERROR('fatal', 20, 1) WITH LOG DELETE t");
    assert_eq!(error_numbers(&tokens), [50000], "{tokens:?}");
    let Some(Token::Done(statement)) = tokens.last() else { panic!("{tokens:?}") };
    assert_eq!(statement.status, DoneStatus::SERVER_ERROR);
    assert!(matches!(client.socket.read(&mut [0]), Ok(0) | Err(_)));
    assert_eq!(count(&mut connect(&server)), 3);
}

/// Their columns are datetimes and not nullable; the clock knows more digits, and of other sessions little is known.
#[test]
fn every_session_is_listed_whole() {
    let server = server_with_table(1);
    // The session that has made the table may still be leaving.
    while server.sessions() > 0 {
        thread::sleep(Duration::from_millis(5));
    }
    let mut others = [connect(&server), connect(&server)];
    let mut client = connect(&server);
    let tokens = client.batch("SELECT * FROM sys.dm_exec_sessions");
    assert_no_error(&tokens);
    assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM sys.dm_exec_sessions"), 3);
    assert_eq!(scalar(&mut others[0], "SELECT COUNT(row_count + database_id) FROM sys.dm_exec_sessions"), 3);
}

#[test]
fn a_wait_for_a_lock_is_cancelled_and_the_transaction_stays() {
    let server = server_with_table(3);
    let mut holder = connect(&server);
    holder.batch("BEGIN TRAN; UPDATE t SET id = id + 10");
    let mut waiter = connect(&server);
    waiter.batch("BEGIN TRAN");
    send(&mut waiter, "UPDATE t SET id = 0");
    send_attention(&mut waiter);
    cancelled_answer(&mut waiter);
    assert_eq!(scalar(&mut waiter, "SELECT @@TRANCOUNT"), 1);
    holder.batch("COMMIT");
    assert_eq!(scalar(&mut waiter, "SELECT MIN(id) FROM t"), 10);
}

#[test]
fn under_xact_abort_a_cancelled_statement_rolls_the_transaction_back() {
    let server = server_with_table(3);
    let mut client = connect(&server);
    client.batch("SET XACT_ABORT ON; BEGIN TRAN; DELETE t");
    send(&mut client, "WAITFOR DELAY '00:10:00'");
    send_attention(&mut client);
    let tokens = cancelled_answer(&mut client);
    assert!(tokens.iter().any(|token| matches!(token, Token::EnvChange(EnvChange::Transaction { .. }))));
    assert_eq!(count(&mut client), 3);
}

#[test]
fn a_client_that_leaves_holds_no_lock() {
    let server = server_with_table(2000);
    let bulk = bulk_payload(&[7; 5000]);
    // In an open transaction, in a wait for a lock, in a query, in the middle of a bulk message and behind its end.
    let leave: [&dyn Fn(&mut Client); 5] = [
        &|client| drop(client.batch("BEGIN TRAN; DELETE t")),
        &|client| send(client, "UPDATE t SET id = 0"),
        &|client| send(client, "BEGIN TRAN; DELETE t; SELECT COUNT(*) FROM t a, t b, t c"),
        &|client| {
            client.batch(BULK);
            client.socket.write_all(&packets(PacketType::BulkLoad, &bulk)[..9000]).unwrap();
        },
        &|client| {
            client.batch("BEGIN TRAN; DELETE t");
            client.batch(BULK);
            client.socket.write_all(&packets(PacketType::BulkLoad, &bulk)).unwrap();
        },
    ];
    let mut last = connect(&server);
    for (number, act) in leave.into_iter().enumerate() {
        let mut client = connect(&server);
        let mut holder = connect(&server);
        let waits = number == 1;
        if waits {
            holder.batch("BEGIN TRAN; UPDATE t SET id = id");
        }
        act(&mut client);
        drop(client);
        if waits {
            // Time for the server to notice, so that the update is not granted the lock first.
            thread::sleep(Duration::from_millis(300));
        }
        drop(holder);
        // Waits until the lock is free.
        assert_no_error(&last.batch("BEGIN TRAN; UPDATE t SET id = id; ROLLBACK"));
        assert_eq!(scalar(&mut last, "SELECT SUM(id) FROM t"), 1999 * 1000);
    }
}

#[test]
fn a_bulk_load_is_taken_back() {
    let server = server_with_table(1);
    let mut client = connect(&server);
    let payload = bulk_payload(&[5; 3000]);
    let whole = packets(PacketType::BulkLoad, &payload);

    assert_no_error(&client.batch(BULK));
    client.socket.write_all(&whole[..8192]).unwrap();
    send_attention(&mut client);
    assert_acknowledged(&mut client);

    assert_no_error(&client.batch(BULK));
    let mut ignored = packets(PacketType::BulkLoad, &payload[..2000]);
    ignored[1] = 0x03;
    client.socket.write_all(&ignored).unwrap();
    let tokens = client.answer();
    assert!(matches!(&tokens[..], [Token::Done(done)] if done.status == DoneStatus::FINAL), "{tokens:?}");

    // Instead of the data.
    assert_no_error(&client.batch(BULK));
    send_attention(&mut client);
    assert_acknowledged(&mut client);
    assert_eq!(count(&mut client), 1);

    assert_no_error(&client.batch(BULK));
    client.socket.write_all(&whole).unwrap();
    assert_eq!(rows_loaded(&client.answer()), Some(3000));
    assert_eq!(scalar(&mut client, "SELECT @@ROWCOUNT"), 3000);
}

#[test]
fn a_complete_bulk_message_that_waits_for_a_lock_is_taken_back() {
    let server = server_with_table(1);
    let mut holder = connect(&server);
    // Changed rows alone would keep nobody from adding others.
    holder.batch("BEGIN TRAN; UPDATE t WITH (TABLOCKX) SET id = id");
    let mut client = connect(&server);
    assert_no_error(&client.batch(BULK));
    client.socket.write_all(&packets(PacketType::BulkLoad, &bulk_payload(&[1, 2]))).unwrap();
    send_attention(&mut client);
    cancelled_answer(&mut client);
    holder.batch("COMMIT");
    assert_eq!(count(&mut client), 1);
}

#[test]
fn failed_loads_name_their_error_and_leave_nothing() {
    let server = server();
    let mut client = connect(&server);
    client.batch("CREATE TABLE k (id int NOT NULL PRIMARY KEY, s varchar(3) NULL, n int NOT NULL)");
    // COLMETADATA columns: INTN and BIGVARCHR of 8000, or of 2 bytes, or INTN once more.
    let int = |name: &str| [&[0, 0, 0, 0, 9, 0, 0x26, 4][..], &[2], &wide(name)].concat();
    let text = |bytes: u16| {
        let bytes = bytes.to_le_bytes();
        [&[0, 0, 0, 0, 9, 0, 0xA7][..], &bytes, &[9, 4, 0xD0, 0, 0x34, 1], &wide("s")].concat()
    };
    let value = |number: i32| [&[4][..], &number.to_le_bytes()].concat();
    let string = |text: &str| [&[text.len() as u8, 0][..], text.as_bytes()].concat();
    let row = |id: i32, s: &str, n: Option<i32>| {
        [vec![0xD1], value(id), string(s), n.map_or(vec![0], value)].concat()
    };
    let head = |columns: &[Vec<u8>]| [vec![0x81, columns.len() as u8, 0], columns.concat()].concat();
    let wide_text = head(&[int("id"), text(8000), int("nn")]);
    let narrow_text = head(&[int("id"), text(2), int("nn")]);
    let cases = [
        (2627, [wide_text.clone(), row(1, "a", Some(1)), row(1, "b", Some(1))].concat()),
        (515, [wide_text.clone(), row(1, "a", None)].concat()),
        (2628, [wide_text.clone(), row(1, "abcd", Some(1))].concat()),
        // More than the stream and the statement declare.
        (4815, [narrow_text.clone(), row(1, "abcd", Some(1))].concat()),
        (4816, [head(&[int("id"), text(8000)]), vec![0xD1], value(1), string("a")].concat()),
        (4804, [wide_text.clone(), row(1, "a", Some(1))[..6].to_vec()].concat()),
        (4894, row(1, "a", Some(1))),
    ];
    for (number, payload) in cases {
        assert_no_error(&client.batch("INSERT BULK k (id int, s varchar(3), n int)"));
        client.socket.write_all(&packets(PacketType::BulkLoad, &payload)).unwrap();
        let tokens = client.answer();
        assert_eq!(error_numbers(&tokens), [number], "{tokens:?}");
        assert!(matches!(tokens.last(), Some(Token::Done(done)) if done.status == DoneStatus::ERROR));
        assert_eq!(scalar(&mut client, "SELECT @@ERROR"), number);
        assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM k"), 0);
    }
    let payload = [wide_text, row(1, "abc", Some(1))].concat();
    assert_no_error(&client.batch("INSERT BULK k (id int, s varchar(3), n int)"));
    client.socket.write_all(&packets(PacketType::BulkLoad, &payload)).unwrap();
    assert_eq!(rows_loaded(&client.answer()), Some(1));
    // Text is held to the statement's length where the stream declares less.
    let payload = [narrow_text, row(2, "abc", Some(1))].concat();
    assert_no_error(&client.batch("INSERT BULK k (id int, s varchar(3), n int)"));
    client.socket.write_all(&packets(PacketType::BulkLoad, &payload)).unwrap();
    assert_eq!(rows_loaded(&client.answer()), Some(1));
}

#[test]
fn a_reset_connection_waits_for_locks_again() {
    let server = server_with_table(1);
    let mut holder = connect(&server);
    holder.batch("BEGIN TRAN; UPDATE t SET id = id");
    let mut client = connect(&server);
    client.batch("SET LOCK_TIMEOUT 0");
    assert_eq!(error_numbers(&client.batch("UPDATE t SET id = id")), [1222]);
    let mut reset = batch_packets("UPDATE t SET id = id");
    reset[1] |= 0x08;
    client.socket.write_all(&reset).unwrap();
    send_attention(&mut client);
    let tokens = cancelled_answer(&mut client);
    assert!(matches!(tokens[0], Token::EnvChange(EnvChange::ResetConnectionAck)), "{tokens:?}");
}

#[test]
fn a_malformed_request_is_answered_before_the_connection_ends() {
    let server = server();
    for packet_type in [PacketType::SqlBatch, PacketType::Rpc, PacketType::TransactionManager] {
        let mut client = connect(&server);
        client.socket.write_all(&packets(packet_type, &[0xFF; 9])).unwrap();
        assert_eq!(error_numbers(&client.answer()), [4002]);
        assert_closed(&mut client.socket);
    }
}

#[test]
fn a_message_beyond_the_limit_ends_its_connection() {
    let server = start(Limits { message_bytes: 10_000, ..limits() }, DataLocation::InMemory);
    let mut client = connect(&server);
    // The server may close before the last byte is written.
    let _ = client.socket.write_all(&batch_packets(&format!("SELECT '{}'", "x".repeat(10_000))));
    assert_closed(&mut client.socket);
    connect(&server);
}

#[test]
fn a_client_that_does_not_log_in_is_closed() {
    let limits = Limits { login_timeout: Duration::from_millis(100), ..limits() };
    let server = start(limits, DataLocation::InMemory);
    let prelogin = tds::prelogin::Prelogin {
        encryption: Some(tds::prelogin::EncryptionOption::On),
        ..Default::default()
    };
    let prelogin = packets(PacketType::Prelogin, &prelogin.encode().unwrap());
    // Nothing; half a header; a PRELOGIN and no TLS; half a wrapped handshake packet; half a TLS record.
    let half_handshake = [&prelogin[..], &[0x12, 1, 0, 200, 0, 0, 0, 0, 0x16, 3, 1]].concat();
    for sent in [&[][..], &prelogin[..5], &prelogin, &half_handshake, &[0x16, 3, 1, 2, 0, 1]] {
        let mut socket = socket(&server);
        socket.write_all(sent).unwrap();
        assert_closed(&mut socket);
    }
}

#[test]
fn a_connection_too_many_is_closed_at_once() {
    let server = start(Limits { connections: 2, ..limits() }, DataLocation::InMemory);
    let mut first = connect(&server);
    let second = connect(&server);
    assert_closed(&mut socket(&server));
    assert_eq!(scalar(&mut first, "SELECT 1"), 1);
    drop(second);
    // The place is free once the server has noticed.
    while !Client::connect(server.address()).try_log_in(&login()) {
        thread::yield_now();
    }
}

#[test]
fn sessions_that_compute_keep_nobody_waiting() {
    let server = server_with_table(2000);
    let mut busy: Vec<Client> = (0..8).map(|_| connect(&server)).collect();
    for client in &mut busy {
        send(client, "SELECT COUNT(*) FROM t a, t b, t c");
    }
    let mut client = connect(&server);
    assert_eq!(scalar(&mut client, "SELECT 1"), 1);
    for client in &mut busy {
        send_attention(client);
        cancelled_answer(client);
    }
}

#[test]
fn stopping_ends_loads_and_waits_and_commits_no_half() {
    let folder = tempfile::tempdir().unwrap();
    let data = DataLocation::Directory { path: folder.path().to_owned(), sync: false };
    let server = start(limits(), data.clone());
    let mut client = connect(&server);
    client.batch("CREATE TABLE t (id int NOT NULL)");
    let payload = bulk_payload(&[1; 400_000]);
    client.batch(BULK);
    client.socket.write_all(&packets(PacketType::BulkLoad, &payload)[..2_000_000]).unwrap();
    let mut holder = connect(&server);
    holder.batch("CREATE TABLE u (id int); BEGIN TRAN; DELETE u; INSERT u VALUES (1)");
    let mut waiter = connect(&server);
    send(&mut waiter, "UPDATE u SET id = 2");
    server.stop();
    assert_closed(&mut client.socket);
    assert_closed(&mut waiter.socket);

    let server = start(limits(), data);
    let mut client = connect(&server);
    assert_eq!(count(&mut client), 0);
    assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM u"), 0);
}

/// A program that is started at that moment inherits the open files until its exec.
#[test]
fn a_data_directory_is_free_when_its_server_has_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let data = DataLocation::Directory { path: folder.path().to_owned(), sync: false };
    let started = std::sync::atomic::AtomicBool::new(true);
    thread::scope(|scope| {
        scope.spawn(|| {
            while started.load(std::sync::atomic::Ordering::Relaxed) {
                let exe = std::env::current_exe().unwrap();
                let output = std::process::Command::new(exe).arg("--list").output().unwrap();
                assert!(output.status.success());
            }
        });
        for round in 0..12 {
            let server = start(limits(), data.clone());
            let mut client = connect(&server);
            let tokens =
                client.batch(&format!("CREATE DATABASE d{round}; CREATE TABLE d{round}..t (id int)"));
            assert_no_error(&tokens);
            client.batch("BEGIN TRAN; CREATE TABLE ##left (id int)");
            send(&mut connect(&server), "SELECT COUNT(*) FROM sys.objects a, sys.objects b, sys.objects c");
            server.stop();
        }
        started.store(false, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn a_chain_of_operators_too_long_for_the_stack_is_refused() {
    let server = server();
    let mut client = connect(&server);
    for (chain, errors) in [("1+", &[191][..]), ("1*", &[191]), ("1=1 AND ", &[]), ("1=0 OR ", &[])] {
        let condition = format!("SELECT 1 WHERE {}1=1", chain.repeat(20_000));
        assert_eq!(error_numbers(&client.batch(&condition)), errors, "{chain}");
    }
}

/// The answer of the cancelled request ends as a message of its own, without an error, and a second message acknowledges the
/// attention.
fn cancelled_answer(client: &mut Client) -> Vec<Token> {
    let tokens = client.answer();
    assert_no_error(&tokens);
    let dones: Vec<DoneStatus> = tokens
        .iter()
        .filter_map(|token| match token {
            Token::Done(done) | Token::DoneProc(done) | Token::DoneInProc(done) => Some(done.status),
            _ => None,
        })
        .collect();
    let (last, before) = dones.split_last().expect("a DONE");
    assert!(!last.contains(DoneStatus::MORE) && !last.contains(DoneStatus::ATTENTION), "{dones:?}");
    assert!(before.iter().all(|status| status.contains(DoneStatus::MORE)), "{dones:?}");
    assert_acknowledged(client);
    tokens
}

/// The next message acknowledges an attention, and does nothing else.
fn assert_acknowledged(client: &mut Client) {
    let tokens = client.answer();
    assert!(matches!(&tokens[..], [Token::Done(done)] if done.status == DoneStatus::ATTENTION), "{tokens:?}");
}
