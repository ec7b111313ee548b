//! Sessions that change rows of one table in pages at the same time: nothing is lost, and keys and references stay right.

use std::thread;

use crate::client::Client;
use crate::served::*;
use bulkwire_server::{DataLocation, RunningServer};

const NONE: [i32; 0] = [];

fn in_pages() -> RunningServer {
    start(limits(), DataLocation::InMemory)
}

/// With `wide (id int PRIMARY KEY, n int, filler)` of ids 10, 20, … 200, two rows a page.
fn with_wide_rows() -> RunningServer {
    let server = in_pages();
    let mut client = connect(&server);
    assert_no_error(&client.batch(
        "CREATE TABLE wide (id int NOT NULL PRIMARY KEY, n int NOT NULL, filler char(3500) NOT NULL DEFAULT '');
         DECLARE @i int = 1; WHILE @i <= 20 BEGIN INSERT INTO wide (id, n) VALUES (@i * 10, 0); SET @i += 1; END",
    ));
    server
}

fn impatient(server: &RunningServer) -> Client {
    let mut client = connect(server);
    client.batch("SET LOCK_TIMEOUT 0");
    client
}

/// Statements one after the other; those that are victims of a deadlock once more.
fn insist(client: &mut Client, batch: &str) {
    for _ in 0..1000 {
        match error_numbers(&client.batch(batch))[..] {
            [] => return,
            [1205] => {}
            ref other => panic!("{other:?}"),
        }
    }
    panic!("a victim a thousand times");
}

#[test]
fn no_increment_is_lost() {
    let server = in_pages();
    connect(&server).batch("CREATE TABLE counted (n int NOT NULL); INSERT INTO counted VALUES (0)");
    thread::scope(|scope| {
        for _ in 0..8 {
            let mut client = connect(&server);
            scope.spawn(move || {
                for _ in 0..200 {
                    // A statement that is a transaction of its own never fails because others are there.
                    assert_no_error(&client.batch("UPDATE counted SET n = n + 1"));
                }
            });
        }
    });
    assert_eq!(scalar(&mut connect(&server), "SELECT n FROM counted"), 1600);
}

#[test]
fn transfers_between_rows_of_several_pages_keep_the_sum() {
    let server = with_wide_rows();
    thread::scope(|scope| {
        for session in 0..4 {
            let mut client = connect(&server);
            scope.spawn(move || {
                for round in 0..40 {
                    let from = (session * 7 + round * 3) % 10 * 10 + 110;
                    let to = (session * 5 + round * 11 + 4) % 10 * 10 + 110;
                    insist(
                        &mut client,
                        &format!(
                            "BEGIN TRAN; UPDATE wide SET n = n - {round} WHERE id = {from};
                             UPDATE wide SET n += {round} WHERE id = {to}; COMMIT"
                        ),
                    );
                }
            });
        }
        // Pages before them are split and emptied.
        let mut client = connect(&server);
        scope.spawn(move || {
            for id in 0..100 {
                insist(&mut client, &format!("INSERT INTO wide (id, n) VALUES ({}, 0)", id * 2 + 1));
                insist(&mut client, &format!("DELETE wide WHERE id = {}", id + 1));
            }
        });
        let mut reader = connect(&server);
        for _ in 0..20 {
            // A reader sees both halves of a transfer or none.
            assert_eq!(scalar(&mut reader, "SELECT SUM(n) FROM wide WHERE id > 100 AND id % 10 = 0"), 0);
        }
    });
    let mut client = connect(&server);
    assert_eq!(scalar(&mut client, "SELECT SUM(n) FROM wide"), 0);
    assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM wide WHERE id > 100 AND id % 10 = 0"), 10);
    assert!(scalar(&mut client, "SELECT SUM(ABS(n)) FROM wide") > 0);
    assert_no_error(&client.batch("DBCC CHECKTABLE ('wide') WITH NO_INFOMSGS"));
}

#[test]
fn rows_of_different_pages_are_changed_side_by_side() {
    let server = with_wide_rows();
    let mut holder = connect(&server);
    let mut other = impatient(&server);
    assert_no_error(&holder.batch("BEGIN TRAN; UPDATE wide SET n = 1 WHERE id = 10"));
    for statement in [
        "UPDATE wide SET n = 2 WHERE id = 200",
        "DELETE wide WHERE id = 190",
        "INSERT INTO wide (id, n) VALUES (1000, 0)",
        "MERGE wide USING (SELECT 180 AS id) AS s ON wide.id = s.id WHEN MATCHED THEN UPDATE SET n = 3;",
    ] {
        assert_eq!(error_numbers(&other.batch(statement)), NONE, "{statement}");
    }
    for statement in [
        "UPDATE wide SET n = 2 WHERE id = 10",
        "UPDATE wide SET n = n",
        "UPDATE wide WITH (TABLOCKX) SET n = 2 WHERE id = 200",
        "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; UPDATE wide SET n = 2 WHERE id = 200",
        "TRUNCATE TABLE wide",
    ] {
        assert_eq!(error_numbers(&other.batch(statement)), [1222], "{statement}");
        other.batch("SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
    }
    let locks = |client: &mut Client, what: &str| {
        let query =
            format!("SELECT COUNT(*) FROM sys.dm_tran_locks WHERE request_status = 'GRANT' AND {what}");
        scalar(client, &query)
    };
    let page = "resource_type = 'PAGE' AND request_mode = 'X' AND resource_description LIKE '1:%'";
    assert_eq!(locks(&mut other, page), 1);
    assert_eq!(locks(&mut other, "resource_type = 'OBJECT' AND request_mode = 'IX'"), 1);
    assert_eq!(scalar(&mut other, "SELECT n FROM wide WHERE id = 10"), 0, "a reader does not wait");
    assert_no_error(&holder.batch("COMMIT"));
    assert_eq!(scalar(&mut other, "SELECT n FROM wide WHERE id = 10"), 1);
    assert_eq!(locks(&mut other, "resource_type = 'PAGE'"), 0);
}

#[test]
fn a_key_that_another_session_has_in_hand_is_waited_for() {
    let server = with_wide_rows();
    let mut first = connect(&server);
    let mut second = connect(&server);
    for (end, expected) in [("COMMIT", &[2627][..]), ("ROLLBACK", &[])] {
        assert_no_error(&first.batch("BEGIN TRAN; INSERT INTO wide (id, n) VALUES (15, 1)"));
        send(&mut second, "INSERT INTO wide (id, n) VALUES (15, 2)");
        assert_no_error(&first.batch(end));
        assert_eq!(error_numbers(&second.answer()), expected, "{end}");
        assert_no_error(&first.batch("DELETE wide WHERE id = 15"));
    }
    // A row that changed meanwhile is read again.
    assert_no_error(&first.batch("BEGIN TRAN; UPDATE wide SET n = 7 WHERE id = 20"));
    send(&mut second, "UPDATE wide SET n = n * 10 WHERE id = 20 AND n < 5");
    assert_no_error(&first.batch("COMMIT"));
    assert_no_error(&second.answer());
    assert_eq!(scalar(&mut first, "SELECT n FROM wide WHERE id = 20"), 7);
}

#[test]
fn references_hold_between_open_transactions() {
    let server = with_wide_rows();
    let mut parent = connect(&server);
    let mut child = connect(&server);
    assert_no_error(&parent.batch(
        "CREATE TABLE part (id int NOT NULL PRIMARY KEY, wide_id int NOT NULL REFERENCES wide (id));
         CREATE TABLE owned (id int NOT NULL PRIMARY KEY, wide_id int NOT NULL REFERENCES wide (id) ON DELETE CASCADE)",
    ));
    // A row that refers is not committed: the deletion of its key waits for it.
    for (end, expected) in [("COMMIT", &[547][..]), ("ROLLBACK", &[])] {
        assert_no_error(&child.batch("BEGIN TRAN; INSERT INTO part VALUES (1, 50)"));
        send(&mut parent, "DELETE wide WHERE id = 50");
        assert_no_error(&child.batch(end));
        assert_eq!(error_numbers(&parent.answer()), expected, "{end}");
        assert_no_error(&child.batch("DELETE part"));
    }
    // What it refers to is deleted, but not committed.
    for (end, expected) in [("COMMIT", &[547][..]), ("ROLLBACK", &[])] {
        assert_no_error(&parent.batch("BEGIN TRAN; DELETE wide WHERE id = 60"));
        send(&mut child, "INSERT INTO part VALUES (2, 60)");
        assert_no_error(&parent.batch(end));
        assert_eq!(error_numbers(&child.answer()), expected, "{end}");
        assert_no_error(&parent.batch("DELETE part; IF NOT EXISTS (SELECT * FROM wide WHERE id = 60) INSERT INTO wide (id, n) VALUES (60, 0)"));
    }
    // What it refers to is there, but not committed.
    for (end, expected) in [("COMMIT", &[][..]), ("ROLLBACK", &[547])] {
        assert_no_error(&parent.batch("BEGIN TRAN; INSERT INTO wide (id, n) VALUES (65, 0)"));
        send(&mut child, "INSERT INTO part VALUES (3, 65)");
        assert_no_error(&parent.batch(end));
        assert_eq!(error_numbers(&child.answer()), expected, "{end}");
        assert_no_error(&parent.batch("DELETE part; DELETE wide WHERE id = 65"));
    }
    // Rows that refer go with what they refer to, also those that were not committed when it went.
    assert_no_error(&child.batch("BEGIN TRAN; INSERT INTO owned VALUES (1, 70)"));
    send(&mut parent, "DELETE wide WHERE id = 70");
    assert_no_error(&child.batch("COMMIT"));
    assert_no_error(&parent.answer());
    assert_eq!(scalar(&mut parent, "SELECT COUNT(*) FROM owned"), 0);
}

#[test]
fn identities_and_keys_of_many_sessions_are_all_there() {
    let server = in_pages();
    connect(&server).batch(
        "CREATE TABLE ledger (id int IDENTITY PRIMARY KEY, session int NOT NULL, line int NOT NULL, UNIQUE (session, line));
         CREATE TABLE noted (session int NOT NULL, line int NOT NULL, note varchar(200))",
    );
    thread::scope(|scope| {
        for session in 0..6 {
            let mut client = connect(&server);
            scope.spawn(move || {
                for line in 0..50 {
                    let insert = format!("INSERT INTO ledger (session, line) VALUES ({session}, {line})");
                    let note = format!("INSERT INTO noted VALUES ({session}, {line}, REPLICATE('n', {}))", line * 4);
                    match line % 5 {
                        0 => insist(&mut client, &format!("BEGIN TRAN; {insert}; {note}; COMMIT")),
                        1 => {
                            let done = client.batch(&format!("BEGIN TRAN; {insert}; {note}; ROLLBACK"));
                            assert!(matches!(error_numbers(&done)[..], [] | [1205]));
                            client.batch(&insert);
                            client.batch(&note);
                        }
                        _ => {
                            assert_no_error(&client.batch(&insert));
                            assert_no_error(&client.batch(&note));
                            assert_no_error(&client.batch(&format!(
                                "UPDATE noted SET note = 'x' + note WHERE session = {session} AND line = {line}"
                            )));
                        }
                    }
                }
            });
        }
    });
    let mut client = connect(&server);
    assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM ledger"), 300);
    assert_eq!(scalar(&mut client, "SELECT COUNT(DISTINCT id) FROM ledger"), 300);
    assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM noted"), 300);
    assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM noted WHERE note LIKE 'x%'"), 180);
    assert_no_error(
        &client
            .batch("DBCC CHECKTABLE ('ledger') WITH NO_INFOMSGS; DBCC CHECKTABLE ('noted') WITH NO_INFOMSGS"),
    );
}
