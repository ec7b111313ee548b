//! Who waits for whom: locks by SQL Server's rules, time-outs, deadlocks, and readers that see only what is committed.

use std::io::Write;

use crate::client::{Client, batch_packets};
use crate::served::*;
use tds::env_change::EnvChange;
use tds::packet::PacketType;
use tds::token::Token;

const NONE: [i32; 0] = [];

/// What a session does in an open transaction, and whether each of a second session's statements has to wait for it.
#[test]
fn statements_share_a_table_or_exclude_each_other() {
    let server = server_with_table(3);
    connect(&server).batch("CREATE TABLE keyed (id int NOT NULL PRIMARY KEY)");
    const ALL: [&str; 5] = [
        "INSERT INTO t VALUES (9)",
        "UPDATE t SET id = id",
        "DELETE FROM t WHERE id = 1",
        "TRUNCATE TABLE t",
        "ALTER TABLE t ADD extra int NULL",
    ];
    let cases: [(&str, &[&str]); 7] = [
        // Inserts run side by side. A change of rows of the same page waits, and so does a change of the table.
        ("INSERT INTO t VALUES (8)", &ALL[3..]),
        ("UPDATE t SET id = id", &ALL[1..]),
        ("DELETE FROM t WHERE id = 2", &ALL[1..]),
        ("UPDATE t WITH (TABLOCKX) SET id = id WHERE id = 1", &ALL),
        ("TRUNCATE TABLE t", &ALL),
        ("ALTER TABLE t ADD extra int NULL", &ALL),
        ("SELECT id FROM t", &[]),
    ];
    for (held, waiting) in cases {
        let mut holder = connect(&server);
        assert_no_error(&holder.batch(&format!("BEGIN TRAN; {held}")));
        let mut other = connect(&server);
        other.batch("SET LOCK_TIMEOUT 0");
        for statement in ALL {
            let numbers = error_numbers(&other.batch(&format!("BEGIN TRAN; {statement}; ROLLBACK")));
            let expected: &[i32] = if waiting.contains(&statement) { &[1222] } else { &[] };
            assert_eq!(numbers, expected, "{held}, then {statement}");
        }
        assert_no_error(&other.batch("UPDATE keyed SET id = id"));
        assert_no_error(&holder.batch("ROLLBACK"));
        assert_no_error(&other.batch("BEGIN TRAN; DELETE t; ROLLBACK"));
    }
}

#[test]
fn bulk_loads_that_lock_the_table_share_it_with_each_other_alone() {
    let server = server_with_table(1);
    const TABLOCK: &str = "INSERT BULK t (id int) WITH (TABLOCK)";
    let load = |client: &mut Client, statement: &str| {
        assert_no_error(&client.batch(statement));
        client.socket.write_all(&packets(PacketType::BulkLoad, &bulk_payload(&[5, 6]))).unwrap();
        error_numbers(&client.answer())
    };
    let mut holder = connect(&server);
    holder.batch("BEGIN TRAN");
    assert_eq!(load(&mut holder, TABLOCK), NONE);
    let mut other = connect(&server);
    other.batch("SET LOCK_TIMEOUT 0");
    assert_eq!(load(&mut other, TABLOCK), NONE, "BU beside BU");
    assert_eq!(load(&mut other, BULK), [1222], "IX beside BU");
    assert_eq!(error_numbers(&other.batch("INSERT INTO t VALUES (1)")), [1222], "IX beside BU");
    holder.batch("COMMIT");
    assert_eq!(load(&mut other, BULK), NONE);
    holder.batch("BEGIN TRAN; INSERT INTO t VALUES (1)");
    assert_eq!(load(&mut other, BULK), NONE, "IX beside IX");
    assert_eq!(load(&mut other, TABLOCK), [1222], "BU beside IX");
    holder.batch("COMMIT");
    assert_eq!(count(&mut other), 1 + 2 + 2 + 2 + 1 + 2);
    // With an index a load that locks the table has it alone.
    holder.batch("CREATE TABLE k (id int NOT NULL PRIMARY KEY)");
    holder.batch("BEGIN TRAN");
    assert_eq!(load(&mut holder, "INSERT BULK k (id int) WITH (TABLOCK)"), NONE);
    assert_no_error(&other.batch("INSERT BULK k (id int) WITH (TABLOCK)"));
    other.socket.write_all(&packets(PacketType::BulkLoad, &bulk_payload(&[7]))).unwrap();
    assert_eq!(error_numbers(&other.answer()), [1222]);
    holder.batch("ROLLBACK");
    // One that does not takes its rows beside others, and waits only to add them to a tree.
    holder.batch("BEGIN TRAN");
    assert_eq!(load(&mut holder, "INSERT BULK k (id int)"), NONE);
    other.batch("SET LOCK_TIMEOUT -1");
    assert_no_error(&other.batch("INSERT BULK k (id int)"));
    other.socket.write_all(&packets(PacketType::BulkLoad, &bulk_payload(&[7]))).unwrap();
    assert_eq!(scalar(&mut holder, "SELECT COUNT(*) FROM k"), 2);
    holder.batch("COMMIT");
    assert_eq!(error_numbers(&other.answer()), NONE);
    assert_eq!(scalar(&mut holder, "SELECT COUNT(*) FROM k"), 3);
}

#[test]
fn readers_see_what_is_committed_and_never_wait() {
    let server = server_with_table(3);
    let mut writer = connect(&server);
    let mut reader = connect(&server);
    reader.batch("SET LOCK_TIMEOUT 0");
    for change in ["INSERT INTO t VALUES (100)", "UPDATE t SET id = id + 50", "DELETE t", "TRUNCATE TABLE t"]
    {
        assert_no_error(&writer.batch(&format!("BEGIN TRAN; {change}")));
        assert_eq!(scalar(&mut reader, "SELECT SUM(id) FROM t"), 3, "{change} is not committed");
        assert_no_error(&writer.batch("ROLLBACK"));
    }
    assert_no_error(&writer.batch("BEGIN TRAN; DELETE t; INSERT INTO t VALUES (7)"));
    assert_eq!(scalar(&mut writer, "SELECT SUM(id) FROM t"), 7, "its own changes show");
    assert_eq!(scalar(&mut reader, "SELECT SUM(id) FROM t"), 3);
    writer.batch("COMMIT");
    assert_eq!(scalar(&mut reader, "SELECT SUM(id) FROM t"), 7);
}

#[test]
fn a_lock_timeout_is_1222_and_leaves_the_transaction() {
    let server = server_with_table(3);
    let mut holder = connect(&server);
    holder.batch("BEGIN TRAN; DELETE t WITH (TABLOCKX)");
    let mut other = connect(&server);
    other.batch("SET LOCK_TIMEOUT 50; CREATE TABLE own (a int); BEGIN TRAN; INSERT INTO own VALUES (1)");
    // An INSERT begins on its connection's thread, an UPDATE does not: both wait and give up.
    for statement in ["INSERT INTO t VALUES (1)", "UPDATE t SET id = 0"] {
        assert_eq!(error_numbers(&other.batch(statement)), [1222], "{statement}");
        assert_eq!(scalar(&mut other, "SELECT @@TRANCOUNT"), 1);
    }
    other.batch("COMMIT");
    assert_eq!(scalar(&mut other, "SELECT COUNT(*) FROM own"), 1);
}

#[test]
fn a_deadlock_ends_with_1205_for_one_and_success_for_the_other() {
    let server = server_with_table(3);
    let mut first = connect(&server);
    first.batch("CREATE TABLE u (id int NOT NULL); INSERT INTO u VALUES (1)");
    let mut second = connect(&server);
    // The second waits for the first, which closes the circle. Once by UPDATE, once by INSERT. Who has to give way is the
    // storage's choice.
    for closing in ["UPDATE u SET id = 5", "INSERT INTO u VALUES (5)"] {
        first.batch("BEGIN TRAN; UPDATE t SET id = id + 1");
        second.batch("BEGIN TRAN; UPDATE u WITH (TABLOCKX) SET id = id + 1");
        send(&mut second, "UPDATE t SET id = id + 10");
        let answers = [first.batch(closing), second.answer()];
        let victim = answers.iter().position(|tokens| error_numbers(tokens) == [1205]).expect(closing);
        assert_no_error(&answers[1 - victim]);
        let rolled_back = answers[victim]
            .iter()
            .any(|token| matches!(token, Token::EnvChange(EnvChange::Transaction { .. })));
        assert!(rolled_back, "{:?}", answers[victim]);
        let clients = [&mut first, &mut second];
        assert_eq!(scalar(clients[victim], "SELECT @@TRANCOUNT"), 0);
        assert_no_error(&clients[1 - victim].batch("ROLLBACK"));
        assert_eq!(scalar(&mut second, "SELECT SUM(id) FROM t"), 3);
        assert_eq!(scalar(&mut second, "SELECT SUM(id) FROM u"), 1);
    }
}

#[test]
fn a_name_taken_while_waiting_for_it_is_refused_in_the_same_words() {
    let cases = [
        ("CREATE TABLE made (id int)", 2714, "There is already an object named 'Made' in the database."),
        (
            "CREATE VIEW made AS SELECT 1 AS one",
            2714,
            "There is already an object named 'Made' in the database.",
        ),
        ("EXEC sp_rename 't', 'Made'", 15335, "'Made'"),
    ];
    for (other, expected, words) in cases {
        let server = server_with_table(1);
        let mut holder = connect(&server);
        assert_no_error(&holder.batch("BEGIN TRAN; CREATE TABLE made (id int)"));
        let mut waiting = connect(&server);
        send(&mut waiting, &other.replace("made", "Made"));
        let mut watcher = connect(&server);
        while scalar(&mut watcher, "SELECT COUNT(*) FROM sys.dm_tran_locks WHERE request_status = 'WAIT'")
            == 0
        {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert_no_error(&holder.batch("COMMIT"));
        let answer = waiting.answer();
        let Some(Token::Error(error)) = answer.iter().find(|token| matches!(token, Token::Error(_))) else {
            panic!("{other}: {answer:?}")
        };
        assert_eq!(error.number, expected, "{other}: {}", error.message);
        assert!(error.message.contains(words), "{other}: {}", error.message);
    }
}

#[test]
fn a_light_insert_waits_for_its_lock_elsewhere_and_hears_its_client() {
    let server = server_with_table(3);
    let mut holder = connect(&server);
    holder.batch("BEGIN TRAN; DELETE t WITH (TABLOCKX)");
    // More of them than there are threads for sockets: all wait, and others are still served.
    let mut waiting: Vec<Client> = (0..8).map(|_| connect(&server)).collect();
    for client in &mut waiting {
        client.socket.write_all(&batch_packets("INSERT INTO t VALUES (1)")).unwrap();
    }
    let mut other = connect(&server);
    assert_eq!(scalar(&mut other, "SELECT 1"), 1);
    for client in waiting.iter_mut().take(4) {
        send_attention(client);
        client.answer();
        assert!(matches!(&client.answer()[..], [Token::Done(_)]), "the acknowledgement");
    }
    holder.batch("ROLLBACK");
    for client in waiting.iter_mut().skip(4) {
        assert_no_error(&client.answer());
    }
    assert_eq!(count(&mut other), 3 + 4);
}
