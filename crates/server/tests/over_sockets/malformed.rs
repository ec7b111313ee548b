//! Messages that are wrong at any place, and right ones at the wrong time: each ends its own connection with an error, or is
//! answered, and nothing else happens. No panic, no session left, and everybody else is served.

use std::fs;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::client::{Client, batch_packets, tokens};
use crate::served::*;
use bulkwire_server::RunningServer;
use tds::done::DoneStatus;
use tds::message_reader::MessageReader;
use tds::packet::{PACKET_SIZE_MAX_BYTES, PacketType, Status};
use tds::packet_framer::frame_message;
use tds::rpc::{Parameter, ProcId, Procedure, RpcMessage, RpcRequest, parameter_status};
use tds::sql_batch::SqlBatch;
use tds::token::Token;
use tds::transaction_request::{BeginTransaction, Isolation, TransactionMessage, TransactionRequest};
use tds::type_info::TypeInfo;
use tds::version::TdsVersion;
use tds::{Collation, FeatureRequest, Length, SqlType, Value};

const VERSION: TdsVersion = TdsVersion::V7_4;

/// Panics of the server's threads, which the runtime would otherwise swallow.
static PANICS: AtomicUsize = AtomicUsize::new(0);

fn count_panics() {
    std::panic::set_hook(Box::new(|info| {
        let of_server = thread::current().name().is_some_and(|name| name.starts_with("bulkwire"));
        PANICS.fetch_add(of_server.into(), Ordering::SeqCst);
        eprintln!("{info}");
    }));
}

/// What became of bytes that were sent.
#[derive(Debug, PartialEq)]
enum Outcome {
    /// A whole message came back; the numbers of its errors.
    Answered(Vec<i32>),
    /// The connection was closed without one.
    Closed,
}

/// Sends a whole message, or more, and waits for what the server does.
fn outcome(client: &mut Client, bytes: &[u8]) -> Outcome {
    // The server may close before it has read all of it.
    let _ = client.socket.write_all(bytes);
    let mut reader = MessageReader::new(PACKET_SIZE_MAX_BYTES, usize::MAX);
    let (mut received, mut payload) = (Vec::new(), Vec::new());
    let mut buffer = [0; 8192];
    loop {
        let (consumed, head) = reader.collect(&received, &mut payload).unwrap();
        received.drain(..consumed);
        if head.is_some() {
            return Outcome::Answered(error_numbers(&tokens(&payload).0));
        }
        match client.socket.read(&mut buffer) {
            Ok(0) => return Outcome::Closed,
            Ok(read) => received.extend_from_slice(&buffer[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return Outcome::Closed,
            Err(error) => panic!("neither an answer nor an end: {error}"),
        }
    }
}

/// Sends bytes and leaves; returns when the server has closed, too.
fn send_and_leave(client: &mut Client, bytes: &[u8]) {
    let _ = client.socket.write_all(bytes);
    let _ = client.socket.shutdown(Shutdown::Write);
    assert_closed(&mut client.socket);
}

fn assert_unharmed(server: &RunningServer) {
    assert_eq!(PANICS.load(Ordering::SeqCst), 0, "a thread of the server panicked");
    let mut client = connect(server);
    assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM t"), 3);
    assert_no_error(&client.batch("SET LOCK_TIMEOUT 5000; BEGIN TRAN; UPDATE t SET id = id; ROLLBACK"));
    drop(client);
    let begin = Instant::now();
    while server.connections() > 0 || server.sessions() > 0 {
        assert!(begin.elapsed() < Duration::from_secs(60), "{} sessions are left", server.sessions());
        thread::sleep(Duration::from_millis(10));
    }
}

fn parameter(name: &str, sql_type: SqlType, value: Value) -> Parameter {
    let collation = sql_type.is_character().then_some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
    let type_info = TypeInfo::new(sql_type, true, collation);
    Parameter { name: name.to_owned(), status: 0, type_info, value, table: None }
}

fn text(name: &str, value: &str) -> Parameter {
    parameter(name, SqlType::NVarChar { length: Length::Units(4000) }, Value::String(value.to_owned()))
}

fn rpc(procedure: Procedure, parameters: Vec<Parameter>) -> Vec<u8> {
    let request = RpcRequest { procedure, flags: 0, parameters, no_execute: false };
    RpcMessage::new(request, VERSION, 0).encode(VERSION).unwrap()
}

/// Whole messages, of every kind that a client sends after login.
fn messages() -> Vec<(&'static str, PacketType, Vec<u8>)> {
    let transaction = |request| TransactionMessage::new(request, VERSION, 0).encode().unwrap();
    let begin = BeginTransaction { isolation: Isolation::ReadCommitted, name: "named".to_owned() };
    let typed = vec![
        text("", "SELECT @a, @b, @c, @d, @e, @f, @g, @h, @i, @j, @k"),
        text(
            "",
            "@a int, @b nvarchar(max), @c varbinary(8), @d decimal(9,2), @e datetime2(3), @f date, @g time(7), @h datetimeoffset(0), @i uniqueidentifier, @j money, @k float",
        ),
        parameter("@a", SqlType::Int, Value::Int(7)),
        parameter("@b", SqlType::NVarChar { length: Length::Max }, Value::String("größer".repeat(20))),
        parameter("@c", SqlType::VarBinary { length: Length::Units(8) }, Value::Binary(vec![1, 2, 3])),
        parameter(
            "@d",
            SqlType::Decimal { precision: 9, scale: 2 },
            Value::Decimal { magnitude: 12_345, negative: true, precision: 9, scale: 2 },
        ),
        parameter(
            "@e",
            SqlType::DateTime2 { scale: 3 },
            Value::DateTime2 { days: 738_000, ticks: 1_000, scale: 3 },
        ),
        parameter("@f", SqlType::Date, Value::Date(738_000)),
        parameter("@g", SqlType::Time { scale: 7 }, Value::Time { ticks: 863_999_999_999, scale: 7 }),
        parameter(
            "@h",
            SqlType::DateTimeOffset { scale: 0 },
            Value::DateTimeOffset { days: 738_000, ticks: 60, scale: 0, offset_minutes: -300 },
        ),
        parameter("@i", SqlType::UniqueIdentifier, Value::Guid([9; 16])),
        parameter("@j", SqlType::Money, Value::Money(-12_345)),
        parameter("@k", SqlType::Float, Value::Float(1.5)),
    ];
    let mut output = parameter("@o", SqlType::Int, Value::Null);
    output.status = parameter_status::BY_REFERENCE;
    vec![
        ("batch", PacketType::SqlBatch, SqlBatch::new("SELECT id FROM t", VERSION, 0).encode().unwrap()),
        ("typed parameters", PacketType::Rpc, rpc(Procedure::Id(ProcId::ExecuteSql), typed)),
        (
            "output parameter by name",
            PacketType::Rpc,
            rpc(
                Procedure::Name("sp_executesql".to_owned()),
                vec![text("", "SET @o = 5"), text("", "@o int OUTPUT"), output],
            ),
        ),
        ("begin", PacketType::TransactionManager, transaction(TransactionRequest::Begin(begin.clone()))),
        (
            "commit and begin",
            PacketType::TransactionManager,
            transaction(TransactionRequest::Commit { name: String::new(), begin: Some(begin) }),
        ),
        (
            "rollback",
            PacketType::TransactionManager,
            transaction(TransactionRequest::Rollback { name: "named".to_owned(), begin: None }),
        ),
        (
            "save",
            PacketType::TransactionManager,
            transaction(TransactionRequest::Save { name: "s".to_owned() }),
        ),
        ("attention", PacketType::Attention, Vec::new()),
    ]
}

/// Deterministic numbers for damage.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }
}

#[test]
fn requests_cut_off_or_damaged_anywhere_harm_nobody_else() {
    count_panics();
    let server = server_with_table(3);
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for (name, packet_type, payload) in messages() {
        let whole = outcome(&mut connect(&server), &packets(packet_type, &payload));
        assert!(matches!(whole, Outcome::Answered(_)), "{name}: {whole:?}");
        let step = (payload.len() / 60).max(1);
        for end in (0..payload.len()).step_by(step) {
            // A message that says it is complete, and one that just stops.
            let ended = outcome(&mut connect(&server), &packets(packet_type, &payload[..end]));
            assert!(matches!(ended, Outcome::Answered(_)), "{name}, {end} bytes: {ended:?}");
            send_and_leave(&mut connect(&server), &packets(packet_type, &payload)[..8 + end]);
        }
        for _ in 0..60 {
            let mut damaged = packets(packet_type, &payload);
            for _ in 0..1 + random.below(3) {
                let place = random.below(damaged.len());
                damaged[place] = random.below(256) as u8;
            }
            send_and_leave(&mut connect(&server), &damaged);
        }
    }
    assert_unharmed(&server);
}

#[test]
fn logins_cut_off_or_damaged_anywhere_are_refused() {
    count_panics();
    let server = server_with_table(3);
    let mut login = login();
    login.database = "master".into();
    login.app_name = "malformed".into();
    login.features = vec![
        FeatureRequest::SessionRecovery(vec![0; 12]),
        FeatureRequest::ColumnEncryption(1),
        FeatureRequest::Utf8Support,
        FeatureRequest::UserAgent(b"agent".to_vec()),
        FeatureRequest::Unknown { id: 0x7E, data: vec![1, 2, 3] },
    ];
    let payload = login.encode().unwrap();
    let prelogin = tds::prelogin::Prelogin {
        encryption: Some(tds::prelogin::EncryptionOption::NotSupported),
        ..Default::default()
    };
    let prelogin = packets(PacketType::Prelogin, &prelogin.encode().unwrap());
    let attempt = |login: &[u8]| {
        let mut client = Client::connect(server.address());
        let _ = client.socket.write_all(&prelogin);
        client.answer();
        outcome(&mut client, &packets(PacketType::Login7, login))
    };
    assert_eq!(attempt(&payload), Outcome::Answered(Vec::new()));
    for end in (0..payload.len()).step_by(5) {
        let ended = attempt(&payload[..end]);
        assert_eq!(ended, Outcome::Closed, "after {end} bytes");
    }
    let mut random = Random(0x2545_F491_4F6C_DD1D);
    for _ in 0..150 {
        let mut damaged = payload.clone();
        let place = random.below(damaged.len());
        damaged[place] = random.below(256) as u8;
        attempt(&damaged);
    }
    assert_unharmed(&server);
}

#[test]
fn bulk_messages_cut_off_or_damaged_anywhere_leave_no_row() {
    count_panics();
    let server = server_with_table(3);
    let payload = bulk_payload(&[1, 2, 3, 4, 5, 6, 7, 8]);
    let loading = || {
        let mut client = connect(&server);
        // Nothing of it is to stay: the transaction goes with its connection.
        assert_no_error(&client.batch("BEGIN TRAN"));
        assert_no_error(&client.batch(BULK));
        client
    };
    for end in 0..payload.len() {
        let answered = outcome(&mut loading(), &packets(PacketType::BulkLoad, &payload[..end]));
        assert!(matches!(answered, Outcome::Answered(_)), "{end} bytes: {answered:?}");
        send_and_leave(&mut loading(), &packets(PacketType::BulkLoad, &payload)[..8 + end]);
    }
    let mut random = Random(0xD1B5_4A32_D192_ED03);
    for _ in 0..200 {
        let mut damaged = packets(PacketType::BulkLoad, &payload);
        let place = random.below(damaged.len());
        damaged[place] = random.below(256) as u8;
        send_and_leave(&mut loading(), &damaged);
    }
    assert_unharmed(&server);
}

#[test]
fn saved_fuzz_cases_are_answered_or_end_their_connection() {
    count_panics();
    let server = server_with_table(3);
    let corpus = Path::new(".").join("../../fuzz/corpus");
    let mut sent = 0;
    for (folder, packet_type) in [
        ("rpc", PacketType::Rpc),
        ("sql_batch", PacketType::SqlBatch),
        ("transaction_request", PacketType::TransactionManager),
        ("bulk_stream", PacketType::BulkLoad),
        ("login7", PacketType::Login7),
        ("prelogin", PacketType::Prelogin),
    ] {
        for case in fs::read_dir(corpus.join(folder)).unwrap() {
            let bytes = fs::read(case.unwrap().path()).unwrap();
            let mut client = connect(&server);
            assert_no_error(&client.batch("BEGIN TRAN"));
            if packet_type == PacketType::BulkLoad {
                assert_no_error(&client.batch(BULK));
            }
            let ended = outcome(&mut client, &packets(packet_type, &bytes));
            assert!(matches!(ended, Outcome::Answered(_)), "{folder}: {ended:?}");
            sent += 1;
        }
    }
    for case in fs::read_dir(corpus.join("packets")).unwrap() {
        send_and_leave(&mut connect(&server), &fs::read(case.unwrap().path()).unwrap());
        sent += 1;
    }
    assert!(sent > 20, "only {sent} cases were found");
    assert_unharmed(&server);
}

/// A packet with a status of its own.
fn packet(packet_type: u8, status: u8, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(8 + payload.len()).unwrap().to_be_bytes();
    [&[packet_type, status, length[0], length[1], 0, 0, 1, 0], payload].concat()
}

#[test]
fn right_messages_at_the_wrong_time_are_refused() {
    count_panics();
    let server = server_with_table(3);
    let batch = SqlBatch::new("SELECT id FROM t", VERSION, 0).encode().unwrap();
    let (head, tail) = batch.split_at(30);
    let bulk = bulk_payload(&[1]);
    let malformed = Outcome::Answered(vec![4002]);
    let cases: Vec<(&str, Vec<u8>, Outcome)> = vec![
        ("an empty batch", packet(1, 1, &[]), malformed),
        ("an empty call", packet(3, 1, &[]), Outcome::Answered(vec![4002])),
        ("an empty transaction request", packet(14, 1, &[]), Outcome::Answered(vec![4002])),
        ("bulk data that nobody announced", packet(7, 1, &bulk), Outcome::Answered(vec![4002])),
        ("no bulk data that nobody announced", packet(7, 1, &[]), Outcome::Answered(vec![4002])),
        ("a second login", packet(16, 1, &login().encode().unwrap()), Outcome::Answered(vec![4002])),
        ("a second prelogin", packet(18, 1, &[0xFF]), Outcome::Answered(vec![4002])),
        ("a login of TDS 4", packet(2, 1, &[0; 512]), Outcome::Answered(vec![4002])),
        (
            "a server's message",
            packet(4, 1, &[0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
            Outcome::Answered(vec![4002]),
        ),
        ("an authentication token", packet(8, 1, &[0; 8]), Outcome::Answered(vec![4002])),
        ("a type that does not exist", packet(0x7F, 1, &batch), Outcome::Closed),
        ("a length below the header's", vec![1, 1, 0, 7, 0, 0, 1, 0], Outcome::Closed),
        ("a length of nothing", vec![1, 1, 0, 0, 0, 0, 1, 0], Outcome::Closed),
        ("another type within a message", [packet(1, 0, head), packet(3, 1, tail)].concat(), Outcome::Closed),
        (
            "an attention within a message",
            [packet(1, 0, head), packet(6, 1, &[])].concat(),
            Outcome::Answered(vec![]),
        ),
        (
            "empty packets before the last",
            [packet(1, 0, &[]).repeat(1000), packet(1, 1, &batch)].concat(),
            Outcome::Answered(vec![]),
        ),
        (
            "a message taken back",
            [packet(1, 0, head), packet(1, 3, tail)].concat(),
            Outcome::Answered(vec![]),
        ),
        ("a whole message taken back", packet(1, 3, &batch), Outcome::Answered(vec![])),
        ("an attention with a payload", packet(6, 1, &[1, 2, 3]), Outcome::Answered(vec![])),
        ("nothing but the end of a message", packet(6, 1, &[]), Outcome::Answered(vec![])),
    ];
    for (name, bytes, expected) in cases {
        let mut client = connect(&server);
        assert_eq!(outcome(&mut client, &bytes), expected, "{name}");
    }
    assert_unharmed(&server);
}

#[test]
fn an_attention_ends_a_bulk_load_at_any_packet() {
    count_panics();
    let server = server_with_table(3);
    let payload = bulk_payload(&[4; 2000]);
    let chunks: Vec<&[u8]> = payload.chunks(1000).collect();
    for sent in [0, 1, 2, chunks.len() - 1] {
        let mut client = connect(&server);
        assert_no_error(&client.batch(BULK));
        for chunk in &chunks[..sent] {
            client.socket.write_all(&packet(7, 0, chunk)).unwrap();
        }
        send_attention(&mut client);
        let tokens = client.answer();
        assert!(
            matches!(&tokens[..], [Token::Done(done)] if done.status.contains(DoneStatus::ATTENTION)),
            "after {sent} packets: {tokens:?}"
        );
        assert_eq!(count(&mut client), 3);
        // The connection goes on with the next load.
        assert_no_error(&client.batch("BEGIN TRAN"));
        assert_no_error(&client.batch(BULK));
        client.socket.write_all(&packets(PacketType::BulkLoad, &payload)).unwrap();
        assert_eq!(rows_loaded(&client.answer()), Some(2000));
        assert_no_error(&client.batch("ROLLBACK"));
    }
    assert_unharmed(&server);
}

#[test]
fn reset_flags_count_on_the_first_packet_of_a_request() {
    count_panics();
    let server = server_with_table(3);
    for (name, packet_type, payload) in messages().into_iter().filter(|(name, ..)| *name != "attention") {
        for flags in [Status::RESET_CONNECTION, Status::RESET_CONNECTION_SKIP_TRAN] {
            let mut client = connect(&server);
            assert_no_error(&client.batch("SET LOCK_TIMEOUT 7; CREATE TABLE #x (a int)"));
            client.socket.write_all(&frame_message(packet_type, 4096, 0, flags, &payload)).unwrap();
            let tokens = client.answer();
            let acknowledged =
                matches!(tokens.first(), Some(Token::EnvChange(tds::EnvChange::ResetConnectionAck)));
            assert!(acknowledged, "{name}: {tokens:?}");
            assert_eq!(scalar(&mut client, "SELECT @@LOCK_TIMEOUT"), -1, "{name}");
        }
    }
    // In the middle of a message they mean nothing.
    let batch = SqlBatch::new("SELECT 1 AS one", VERSION, 0).encode().unwrap();
    let (head, tail) = batch.split_at(30);
    let mut client = connect(&server);
    assert_no_error(&client.batch("SET LOCK_TIMEOUT 7"));
    client.socket.write_all(&[packet(1, 0, head), packet(1, 9, tail)].concat()).unwrap();
    client.answer();
    assert_eq!(scalar(&mut client, "SELECT @@LOCK_TIMEOUT"), 7);
    assert_no_error(&client.batch("SELECT 1"));
    drop(client);
    assert_unharmed(&server);
}

#[test]
fn loops_waits_and_plans_are_cancelled() {
    count_panics();
    let server = server_with_table(3);
    let joins: String = (0..12).map(|number| format!(" JOIN t t{number} ON t{number}.id = t.id")).collect();
    let planned = format!("WHILE 1 = 1 SELECT COUNT(*) FROM t{joins}");
    for endless in [
        "WHILE 1 = 1 BEGIN DECLARE @x int END",
        "DECLARE @i bigint = 0 WHILE 1 = 1 SET @i += 1",
        "WHILE 1 = 1 INSERT INTO #x VALUES (1)",
        "BEGIN TRY WHILE 1 = 1 SELECT 1 / 0 END TRY BEGIN CATCH WHILE 1 = 1 WAITFOR DELAY '00:00:01' END CATCH",
        "WAITFOR DELAY '23:59:59'",
        planned.as_str(),
    ] {
        let mut client = connect(&server);
        assert_no_error(&client.batch("CREATE TABLE #x (a int)"));
        client.socket.write_all(&batch_packets(endless)).unwrap();
        thread::sleep(Duration::from_millis(60));
        send_attention(&mut client);
        // What there was of the answer, and then the acknowledgement in a message of its own.
        client.answer();
        let acknowledged = client.answer();
        assert!(
            matches!(&acknowledged[..], [Token::Done(done)] if done.status == DoneStatus::ATTENTION),
            "{endless}: {acknowledged:?}"
        );
        assert_no_error(&client.batch("SELECT 1"));
    }
    assert_unharmed(&server);
}
