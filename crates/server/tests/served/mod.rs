//! A server in this process, and clients that are logged in to it.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use bulkwire_server::{
    DataLocation, EncryptionPolicy, Limits, Password, RunningServer, Server, ServerOptions,
};
use tds::login::Login7;
use tds::packet::{PacketType, Status};
use tds::packet_framer::frame_message;
use tds::token::Token;

use crate::client::{Client, batch_packets};

pub const BULK: &str = "INSERT BULK t (id int)";

pub fn login() -> Login7 {
    Login7 {
        user_name: "sa".into(),
        password: "pw".into(),
        packet_size_bytes: 4096,
        tds_version_number: 0x7400_0004,
        ..Login7::default()
    }
}

pub fn limits() -> Limits {
    Limits { failed_login_delay: Duration::ZERO, ..Limits::default() }
}

pub fn server() -> RunningServer {
    start(limits(), DataLocation::InMemory)
}

pub fn start(limits: Limits, data: DataLocation) -> RunningServer {
    Server::start(ServerOptions { limits, ..options(SocketAddr::from(([127, 0, 0, 1], 0)), data) }).unwrap()
}

/// How these servers are started.
pub fn options(listen: SocketAddr, data: DataLocation) -> ServerOptions {
    ServerOptions {
        listen,
        data,
        init: Vec::new(),
        restoring: None,
        user: "sa".into(),
        password: Password::new("pw"),
        certificate: Some(bulkwire_server::CertificateSource::SelfSigned),
        encryption: EncryptionPolicy::Optional,
        bulk_directories: Vec::new(),
        discard: false,
        log_requests: false,
        faults: None,
        kerberos: None,
        metrics: None,
        entra: None,
        limits: limits(),
    }
}

/// With `t (id int)` of so many rows.
pub fn server_with_table(rows: i32) -> RunningServer {
    let server = server();
    let mut client = connect(&server);
    client.batch("CREATE TABLE t (id int NOT NULL)");
    client.batch(BULK);
    let ids: Vec<i32> = (0..rows).collect();
    client.socket.write_all(&packets(PacketType::BulkLoad, &bulk_payload(&ids))).unwrap();
    assert_eq!(rows_loaded(&client.answer()), Some(rows.unsigned_abs().into()));
    server
}

pub fn connect(server: &RunningServer) -> Client {
    let mut client = Client::connect(server.address());
    assert_no_error(&client.log_in(&login()));
    client
}

pub fn socket(server: &RunningServer) -> TcpStream {
    let socket = TcpStream::connect(server.address()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket
}

pub fn packets(packet_type: PacketType, payload: &[u8]) -> Vec<u8> {
    frame_message(packet_type, 4096, 0, Status::NORMAL, payload)
}

/// One NOT NULL int column and its rows, without a DONE.
pub fn bulk_payload(ids: &[i32]) -> Vec<u8> {
    let mut payload = vec![0x81, 1, 0, 0, 0, 0, 0, 8, 0, 0x38, 2];
    payload.extend(wide("id"));
    for id in ids {
        payload.push(0xD1);
        payload.extend(id.to_le_bytes());
    }
    payload
}

pub fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// Sends a batch and gives the server a moment to begin it, so that what follows meets it at work.
pub fn send(client: &mut Client, sql: &str) {
    client.socket.write_all(&batch_packets(sql)).unwrap();
    thread::sleep(Duration::from_millis(100));
}

pub fn send_attention(client: &mut Client) {
    client.socket.write_all(&packets(PacketType::Attention, &[])).unwrap();
}

pub fn count(client: &mut Client) -> i32 {
    scalar(client, "SELECT COUNT(*) FROM t")
}

pub fn scalar(client: &mut Client, sql: &str) -> i32 {
    client.socket.write_all(&batch_packets(sql)).unwrap();
    let batch = client.rows().remove(0);
    let column = batch.column(0).as_any().downcast_ref::<arrow::array::Int32Array>().expect("an int");
    column.value(0)
}

pub fn rows_loaded(tokens: &[Token]) -> Option<u64> {
    assert_no_error(tokens);
    tokens.iter().find_map(|token| if let Token::Done(done) = token { done.rows() } else { None })
}

pub fn error_numbers(tokens: &[Token]) -> Vec<i32> {
    tokens
        .iter()
        .filter_map(|token| if let Token::Error(error) = token { Some(error.number) } else { None })
        .collect()
}

pub fn assert_no_error(tokens: &[Token]) {
    assert_eq!(error_numbers(tokens), [0; 0], "{tokens:?}");
}

pub fn assert_closed(socket: &mut TcpStream) {
    let mut rest = Vec::new();
    match socket.read_to_end(&mut rest) {
        // A reset is an end too: the server closed with bytes unread.
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
    }
}
