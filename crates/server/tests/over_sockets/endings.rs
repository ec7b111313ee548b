//! How sessions and statements end that are stopped from outside: KILL, errors that end a connection, attentions, logins that come too early.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use crate::client::{Client, batch_packets};
use crate::served::*;
use bulkwire_server::{DataLocation, Server, ServerOptions};
use tds::token::Token;

fn spid(client: &mut Client) -> i32 {
    scalar(client, "SELECT CAST(@@SPID AS int)")
}

/// Waits for a session to be gone: KILL only tells it.
fn gone(admin: &mut Client, spid: i32) {
    while scalar(admin, &format!("SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE session_id = {spid}")) > 0 {
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn kill_ends_an_idle_session() {
    let server = server_with_table(3);
    let (mut idle, mut admin) = (connect(&server), connect(&server));
    let id = spid(&mut idle);
    assert_no_error(&admin.batch(&format!("KILL {id}")));
    gone(&mut admin, id);
    // A pool looks whether there is something to read: it must find the end, and nothing else.
    assert!(matches!(idle.socket.read(&mut [0]), Ok(0)));
    assert_eq!(error_numbers(&admin.batch(&format!("KILL {id}"))), [6106]);
    let own = spid(&mut admin);
    assert_eq!(error_numbers(&admin.batch(&format!("KILL {own}"))), [6104]);
    assert_eq!(error_numbers(&admin.batch(&format!("BEGIN TRAN; KILL {own}"))), [6115]);
}

#[test]
fn kill_rolls_back_a_session_in_a_transaction() {
    let server = server_with_table(3);
    let (mut holder, mut admin) = (connect(&server), connect(&server));
    let id = spid(&mut holder);
    holder.batch("BEGIN TRAN; UPDATE t SET id = id + 10; CREATE TABLE made (a int)");
    assert_no_error(&admin.batch(&format!("KILL {id}")));
    gone(&mut admin, id);
    assert_closed(&mut holder.socket);
    // Nothing holds a lock any more.
    assert_no_error(&admin.batch("SET LOCK_TIMEOUT 0; UPDATE t SET id = id + 1"));
    assert_eq!(scalar(&mut admin, "SELECT MAX(id) FROM t"), 3);
    assert_eq!(scalar(&mut admin, "SELECT COUNT(OBJECT_ID('made'))"), 0);
}

#[test]
fn kill_ends_a_statement_with_its_error() {
    let server = server_with_table(3);
    let (mut waiting, mut admin) = (connect(&server), connect(&server));
    let id = spid(&mut waiting);
    send(&mut waiting, "BEGIN TRAN; UPDATE t SET id = 7; WAITFOR DELAY '00:10:00'");
    assert_no_error(&admin.batch(&format!("KILL {id}")));
    assert_eq!(error_numbers(&waiting.answer()), [596]);
    assert_closed(&mut waiting.socket);
    assert_eq!(scalar(&mut admin, "SELECT MAX(id) FROM t"), 2);
}

#[test]
fn an_error_of_severity_20_ends_the_connection_after_it_is_sent() {
    let server = server();
    for severity in [20, 25] {
        let mut client = connect(&server);
        assert_eq!(error_numbers(&client.batch(&format!("RAISERROR('no log', {severity}, 1)"))), [2754]);
        let tokens =
            client.batch(&format!("RAISERROR('the end of %d', {severity}, 3, 7) WITH LOG; SELECT 1"));
        let errors: Vec<_> = tokens
            .iter()
            .filter_map(|token| if let Token::Error(error) = token { Some(error) } else { None })
            .collect();
        let said = errors.iter().find(|error| error.number == 50_000).expect("the message itself");
        assert_eq!((said.class, said.state, said.message.as_str()), (severity, 3, "the end of 7"));
        assert!(!tokens.iter().any(|token| matches!(token, Token::ColMetaData(_))), "{tokens:?}");
        assert_closed(&mut client.socket);
    }
    // In reach of a TRY, too.
    let mut client = connect(&server);
    let tokens =
        client.batch("BEGIN TRY RAISERROR('x', 20, 1) WITH LOG END TRY BEGIN CATCH SELECT 1 END CATCH");
    assert!(error_numbers(&tokens).contains(&50_000), "{tokens:?}");
    assert_closed(&mut client.socket);
}

/// Waits until the bytes of an answer that goes on hold a text.
fn wait_for(client: &mut Client, texts: &[&str]) {
    let texts: Vec<Vec<u8>> = texts.iter().map(|text| wide(text)).collect();
    let mut seen: Vec<u8> = Vec::new();
    // One read may bring several of them.
    while !texts.iter().all(|text| seen.windows(text.len()).any(|part| part == text)) {
        let mut buffer = [0; 512];
        let read = client.socket.read(&mut buffer).unwrap();
        assert_ne!(read, 0);
        client.receive(&buffer[..read]);
        seen.extend(&buffer[..read]);
    }
}

#[test]
fn raiserror_with_nowait_is_sent_at_once() {
    let server = server();
    let mut client = connect(&server);
    assert_no_error(&client.batch("CREATE PROCEDURE tells AS SELECT 1 AS a RAISERROR('half', 0, 1) WITH NOWAIT RAISERROR('bad', 16, 1) WITH LOG, NOWAIT WAITFOR DELAY '00:10:00'"));
    for batch in [
        "PRINT 'first' RAISERROR('half', 0, 1) WITH NOWAIT RAISERROR('bad', 16, 1) WITH NOWAIT WAITFOR DELAY '00:10:00'",
        "EXEC tells",
    ] {
        client.socket.write_all(&batch_packets(batch)).unwrap();
        wait_for(&mut client, &["half", "bad"]);
        send_attention(&mut client);
        let tokens = client.answer();
        assert_eq!(error_numbers(&tokens), [50_000]);
        client.answer();
        assert_eq!(scalar(&mut client, "SELECT 5"), 5);
    }
}

/// The ends that an answer tells: which token, whether it counts, and what stands before it.
fn told(tokens: &[Token]) -> Vec<String> {
    let done = |name: &str, done: &tds::done::Done| match done.rows() {
        Some(rows) => format!("{name} {rows}"),
        None => name.to_string(),
    };
    tokens
        .iter()
        .filter_map(|token| match token {
            Token::ColMetaData(_) => Some("columns".to_string()),
            Token::Error(error) => Some(format!("error {}", error.number)),
            Token::Info(notice) => Some(format!("info {} {}", notice.procedure, notice.message)),
            Token::Done(end) => Some(done("done", end)),
            Token::DoneInProc(end) => Some(done("in", end)),
            Token::DoneProc(end) => Some(done("proc", end)),
            _ => None,
        })
        .collect()
}

#[test]
fn a_result_ends_under_nocount_too_and_messages_name_their_procedure() {
    let server = server();
    let mut client = connect(&server);
    assert_no_error(&client.batch("CREATE TABLE t (a int PRIMARY KEY)"));
    assert_no_error(&client.batch("CREATE PROCEDURE quiet AS SET NOCOUNT ON INSERT t OUTPUT inserted.a VALUES (1) INSERT t VALUES (1) SELECT 1 AS a"));
    assert_no_error(&client.batch("CREATE PROCEDURE says AS PRINT 'text' RAISERROR('note', 5, 1)"));
    let ended = told(&client.batch("EXEC quiet"));
    let statement = "info quiet The statement has been terminated.";
    // The first is that of SET NOCOUNT itself.
    assert_eq!(ended, ["in", "columns", "in", "error 2627", statement, "in", "columns", "in", "proc"]);
    assert_eq!(told(&client.batch("SELECT 1 AS a")), ["columns", "done 1"]);
    assert_eq!(told(&client.batch("EXEC says")), ["info says text", "in", "info says note", "in", "proc"]);
    // Within a TRY, and under XACT_ABORT, nothing is said of the statement.
    assert_eq!(
        told(&client.batch("BEGIN TRY INSERT t VALUES (1) END TRY BEGIN CATCH PRINT 'caught' END CATCH")),
        ["info  caught", "done"]
    );
    assert_eq!(told(&client.batch("SET XACT_ABORT ON INSERT t VALUES (1)")), ["done", "error 2627", "done"]);
}

#[test]
fn an_attention_ends_a_statement_that_is_being_planned() {
    let server = server_with_table(3);
    let mut client = connect(&server);
    let item = "(SELECT MAX(i.id) FROM t AS i JOIN t AS j ON i.id = j.id WHERE i.id < o.id)";
    let items = vec![item; 600].join(", ");
    send(&mut client, &format!("SELECT {items} FROM t AS o"));
    send_attention(&mut client);
    // No column was described yet: the statement had not been planned.
    let tokens = client.answer();
    assert!(!tokens.iter().any(|token| matches!(token, Token::ColMetaData(_))), "{tokens:?}");
    assert_no_error(&tokens);
    client.answer();
    assert_eq!(count(&mut client), 3);
}

fn health(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /health HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_login_while_databases_recover_is_refused_with_922() {
    let folder = tempfile::tempdir().unwrap();
    let data = DataLocation::Directory { path: folder.path().to_owned(), sync: true };
    let mut databases = 0;
    // Logins of the first second wait, so the opening has to take longer: databases are opened one after the other.
    let refused = (0..6).any(|_| {
        {
            let server = start(limits(), data.clone());
            let mut client = connect(&server);
            let more = databases.max(100);
            let names = databases..databases + more;
            names.for_each(|number| assert_no_error(&client.batch(&format!("CREATE DATABASE d{number}"))));
            databases += more;
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let metrics = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let options = ServerOptions { metrics: Some(metrics), ..options(port, data.clone()) };
        let opening = thread::spawn(move || Server::start(options).unwrap());
        let told = loop {
            if TcpStream::connect(port).is_ok() {
                let refused = error_numbers(&Client::connect(port).log_in(&login()));
                if !refused.is_empty() && !opening.is_finished() {
                    assert!(health(metrics).starts_with("HTTP/1.1 503 "));
                }
                break refused;
            }
            thread::sleep(Duration::from_millis(1));
        };
        drop(opening.join().unwrap());
        assert!(told.is_empty() || told == [922, 18456], "{told:?}");
        !told.is_empty()
    });
    assert!(refused, "{databases} databases were open within a second");
}
