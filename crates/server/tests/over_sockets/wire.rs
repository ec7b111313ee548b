//! The server over a socket, with bytes that other people's clients really sent (`crates/tds/tests/fixtures`), whole, cut
//! off and damaged.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bulkwire_server::{
    DataLocation, EncryptionPolicy, Limits, Password, RunningServer, Server, ServerOptions,
};
use tds::done::DoneStatus;
use tds::login::Login7;
use tds::message_reader::{Event, MessageReader};
use tds::packet::{PACKET_SIZE_MAX_BYTES, PacketType, Status};
use tds::packet_framer::frame_message;
use tds::token::Token;

use crate::client::{Client, batch_packets};

const TABLE: &str = "CREATE TABLE tcap (id INT NOT NULL, col_int INT NULL, col_bigint BIGINT NULL, col_float FLOAT NULL, \
                     col_bit BIT NULL, col_date DATE NULL, col_datetime2 DATETIME2(6) NULL, col_decimal DECIMAL(18,4) NULL, \
                     col_str1 NVARCHAR(100) NULL, col_str2 VARCHAR(100) NULL, col_str3 NVARCHAR(100) NULL)";

#[test]
fn captured_clients_log_in_and_load_three_rows() {
    let mut rows_of_clients = Vec::new();
    for capture in captures() {
        let name = capture.display();
        let messages = messages(&fs::read(&capture).unwrap());
        let (server, login) = server_for(&messages);
        let mut own = Client::connect(server.address());
        own.log_in(&login);
        assert!(own.batch(TABLE).iter().all(|token| !matches!(token, Token::Error(_))));
        let mut client = Client::connect(server.address());
        let mut loaded = None;
        for message in &messages {
            client.socket.write_all(&message.bytes).unwrap();
            let tokens = client.answer();
            for token in &tokens {
                assert!(!matches!(token, Token::Error(_)), "{name}: {:?}: {token:?}", message.packet_type);
            }
            if message.packet_type == PacketType::BulkLoad {
                loaded = tokens.iter().find_map(|token| match token {
                    Token::Done(done) => done.rows(),
                    _ => None,
                });
            }
        }
        // The first connection of mssql-python only begins a transaction.
        if messages.iter().any(|message| message.packet_type == PacketType::BulkLoad) {
            assert_eq!(loaded, Some(3), "{name}");
            let select =
                "SELECT id, col_int, col_bigint, col_bit, col_str1, col_str2, col_str3 FROM tcap ORDER BY id";
            client.socket.write_all(&batch_packets(select)).unwrap();
            rows_of_clients.push((name.to_string(), client.rows().remove(0).columns().to_vec()));
        }
        server.stop();
    }
    assert_eq!(rows_of_clients.len(), 11);
    let (_, expected) = &rows_of_clients[0];
    for (name, rows) in &rows_of_clients {
        assert_eq!(rows, expected, "{name} loads other rows than the first client");
    }
}

#[test]
fn streams_cut_off_anywhere_leave_the_server_answering() {
    for capture in captures() {
        let bytes = fs::read(&capture).unwrap();
        let (server, login) = server_for(&messages(&bytes));
        for cut in (0..bytes.len()).step_by(23) {
            send_all(server.address(), &bytes[..cut]);
        }
        assert_answers(&server, &login);
    }
}

#[test]
fn damaged_streams_end_their_connection_and_nothing_else() {
    let mut random = 0x2545_F491_4F6C_DD1D_u64;
    for capture in captures() {
        let bytes = fs::read(&capture).unwrap();
        let (server, login) = server_for(&messages(&bytes));
        for _ in 0..40 {
            let mut damaged = bytes.clone();
            for _ in 0..3 {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let place = (random >> 8) as usize % damaged.len();
                damaged[place] = random as u8;
            }
            send_all(server.address(), &damaged);
        }
        assert_answers(&server, &login);
    }
}

#[test]
fn connections_come_and_go() {
    let capture = captures().remove(0);
    let (server, login) = server_for(&messages(&fs::read(capture).unwrap()));
    for _ in 0..300 {
        drop(TcpStream::connect(server.address()).unwrap());
    }
    for _ in 0..100 {
        Client::connect(server.address()).log_in(&login);
    }
    assert_answers(&server, &login);
}

#[test]
fn a_wrong_password_is_answered_with_18456() {
    let capture = captures().remove(0);
    let (server, mut login) = server_for(&messages(&fs::read(capture).unwrap()));
    login.password = "wrong".into();
    let mut client = Client::connect(server.address());
    let tokens = client.log_in(&login);
    let error =
        tokens.iter().find_map(|token| if let Token::Error(error) = token { Some(error) } else { None });
    let error = error.expect("an error token");
    assert_eq!((error.number, error.class, error.state), (18456, 14, 1));
    assert!(
        tokens.iter().any(|token| matches!(token, Token::Done(done) if done.status == DoneStatus::ERROR))
    );
}

#[test]
fn an_attention_without_a_request_is_acknowledged() {
    let capture = captures().remove(0);
    let (server, login) = server_for(&messages(&fs::read(capture).unwrap()));
    let mut client = Client::connect(server.address());
    client.log_in(&login);
    let attention = frame_message(PacketType::Attention, 4096, 0, Status::NORMAL, &[]);
    client.socket.write_all(&attention).unwrap();
    let tokens = client.answer();
    assert!(
        matches!(&tokens[..], [Token::Done(done)] if done.status.contains(DoneStatus::ATTENTION)),
        "{tokens:?}"
    );
}

/// One message of a capture, packet headers included.
struct Captured {
    packet_type: PacketType,
    bytes: Vec<u8>,
    payload: Vec<u8>,
}

fn captures() -> Vec<PathBuf> {
    let folder = Path::new(".").join("../tds/tests/fixtures/wire-captures");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .flat_map(|path| fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "c2s"))
        .collect();
    files.sort();
    assert_eq!(files.len(), 12, "eleven clients, one of them with two connections");
    files
}

fn messages(stream: &[u8]) -> Vec<Captured> {
    let mut reader = MessageReader::new(PACKET_SIZE_MAX_BYTES, 1 << 20);
    let mut messages: Vec<Captured> = Vec::new();
    let mut position = 0;
    while position < stream.len() {
        let rest = &stream[position..];
        let Event::Packet(packet) = reader.next(rest).unwrap() else { panic!("a cut-off capture") };
        let whole = &rest[..packet.consumed()];
        let payload = &rest[packet.payload.clone()];
        if packet.starts_message {
            let packet_type = packet.header.packet_type;
            messages.push(Captured { packet_type, bytes: whole.to_vec(), payload: payload.to_vec() });
        } else {
            let last = messages.last_mut().unwrap();
            last.bytes.extend_from_slice(whole);
            last.payload.extend_from_slice(payload);
        }
        position += packet.consumed();
    }
    messages
}

/// A server that knows the capture's login.
fn server_for(messages: &[Captured]) -> (RunningServer, Login7) {
    let login = messages.iter().find(|message| message.packet_type == PacketType::Login7).unwrap();
    let login = Login7::decode(&login.payload).unwrap();
    let server = Server::start(ServerOptions {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        data: DataLocation::InMemory,
        init: Vec::new(),
        restoring: None,
        user: login.user_name.clone(),
        password: Password::new(login.password.expose().clone()),
        certificate: None,
        encryption: EncryptionPolicy::Optional,
        bulk_directories: Vec::new(),
        discard: false,
        log_requests: false,
        faults: None,
        kerberos: None,
        metrics: None,
        entra: None,
        limits: Limits { failed_login_delay: Duration::ZERO, ..Limits::default() },
    });
    (server.unwrap(), login)
}

fn assert_answers(server: &RunningServer, login: &Login7) {
    let mut client = Client::connect(server.address());
    client.log_in(login);
    client.socket.write_all(&batch_packets("SELECT 42 AS n")).unwrap();
    assert!(format!("{:?}", client.rows()).contains("42"));
}

/// Sends bytes and waits until the server has closed or has nothing more to say.
fn send_all(address: SocketAddr, bytes: &[u8]) {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    // The server may close half-way, which is what it should do with damaged bytes.
    let _ = socket.write_all(bytes);
    let _ = socket.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
}
