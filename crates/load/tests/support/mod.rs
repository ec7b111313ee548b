//! A server that says what a test tells it to say, over a loopback socket.
//!
//! Replies are written byte by byte as MS-TDS lays them out, not with the encoder that the client's decoder belongs to.

#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    thread::{self, JoinHandle},
    time::Duration,
};

use tds::{HEADER_LEN_BYTES, PacketHeader, PacketType, Status, TdsVersion, packet_framer::frame_message};

/// A server thread.
pub struct Server<T> {
    pub port: u16,
    thread: JoinHandle<T>,
}

impl<T: Send + 'static> Server<T> {
    /// Runs `script` on the first connection.
    pub fn start(script: impl FnOnce(Peer) -> T + Send + 'static) -> Self {
        Self::listen(move |listener| script(Peer::accept(&listener)))
    }

    /// Runs `script` with the listener.
    pub fn listen(script: impl FnOnce(TcpListener) -> T + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        Self { port, thread: thread::spawn(move || script(listener)) }
    }

    /// A connection string for it, without encryption.
    pub fn config(&self, more: &str) -> bulkwire_load::Config {
        let text = format!("Server=127.0.0.1,{};Encrypt=Off;{more}", self.port);
        parse(&format!("{text};Uid=sa;Pwd=secret"))
    }

    pub fn client(&self) -> bulkwire_load::Client {
        bulkwire_load::Client::connect(&self.config("")).unwrap()
    }

    /// What the script returned.
    pub fn join(self) -> T {
        self.thread.join().unwrap()
    }
}

/// Parses a connection string without looking at the machine's environment.
pub fn parse(text: &str) -> bulkwire_load::Config {
    bulkwire_load::Config::parse_with(text, &|_| None).unwrap()
}

/// One message of a client.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    pub packet_type: PacketType,
    pub payload: Vec<u8>,
    pub packets: usize,
    /// It ended with the ignore bit.
    pub ignored: bool,
}

impl Message {
    /// T-SQL of a batch.
    pub fn sql(&self) -> String {
        assert_eq!(self.packet_type, PacketType::SqlBatch);
        tds::SqlBatch::decode(&self.payload, TdsVersion::V7_4).unwrap().text
    }
}

/// The server's end of a connection.
pub struct Peer {
    pub socket: TcpStream,
}

impl Peer {
    pub fn accept(listener: &TcpListener) -> Self {
        let (socket, _) = listener.accept().unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Self { socket }
    }

    /// Accepts a connection and lets the client in.
    pub fn accept_in(listener: &TcpListener) -> Self {
        let mut peer = Self::accept(listener);
        peer.log_in();
        peer
    }

    pub fn packet(&mut self) -> Option<(PacketHeader, Vec<u8>)> {
        let mut header = [0; HEADER_LEN_BYTES];
        self.socket.read_exact(&mut header).ok()?;
        let header = PacketHeader::parse(&header).unwrap();
        let mut payload = vec![0; header.payload_len()];
        self.socket.read_exact(&mut payload).ok()?;
        Some((header, payload))
    }

    /// The next message; `None` when the client is gone.
    pub fn message(&mut self) -> Option<Message> {
        let mut message =
            Message { packet_type: PacketType::Attention, payload: Vec::new(), packets: 0, ignored: false };
        loop {
            let (header, payload) = self.packet()?;
            message.packet_type = header.packet_type;
            message.payload.extend(payload);
            message.packets += 1;
            if header.ends_message() {
                message.ignored = header.status.contains(Status::IGNORE);
                return Some(message);
            }
        }
    }

    pub fn expect(&mut self, packet_type: PacketType) -> Message {
        let message = self.message().expect("the client closed the connection");
        assert_eq!(message.packet_type, packet_type);
        message
    }

    /// Sends a whole answer.
    pub fn reply(&mut self, payload: &[u8]) {
        self.socket
            .write_all(&frame_message(PacketType::TabularResult, 4096, 51, Status::NORMAL, payload))
            .unwrap();
    }

    /// Sends a packet that does not end the answer.
    pub fn reply_part(&mut self, payload: &[u8]) {
        let mut packet = frame_message(PacketType::TabularResult, 4096, 51, Status::NORMAL, payload);
        packet[1] = 0;
        self.socket.write_all(&packet).unwrap();
    }

    /// PRELOGIN without encryption, and the LOGIN7 that follows.
    pub fn greet(&mut self) -> tds::Login7 {
        self.expect(PacketType::Prelogin);
        self.reply(&hex(PRELOGIN_REPLY_WITHOUT_TLS));
        tds::Login7::decode(&self.expect(PacketType::Login7).payload).unwrap()
    }

    /// Lets the client in, as SQL Server does.
    pub fn log_in(&mut self) -> tds::Login7 {
        let login = self.greet();
        self.reply(&login_reply(&[]));
        login
    }
}

/// A reply of SQL Server 2025, with encryption 02 (not supported) in place of 00.
pub const PRELOGIN_REPLY_WITHOUT_TLS: &str = "00 001f 0006 01 0025 0001 02 0026 0001 03 0027 0000 04 0027 0001 05 0028 0000 ff 11 00 03e8 0000 02 00 00";

/// The login answer of SQL Server 2025 in the order and with the bytes of a published capture; `before_done` goes in front
/// of the last token.
pub fn login_reply(before_done: &[u8]) -> Vec<u8> {
    let mut reply = hex("e3 1b00 01 06");
    reply.extend(utf16("master"));
    reply.push(6);
    reply.extend(utf16("master"));
    reply.extend(message(0xAB, 5701, 2, 0, "Changed database context to 'master'."));
    reply.extend(hex("e3 0800 07 05 09 04 d0 00 34 00"));
    reply.extend(hex("e3 1700 02 0a"));
    reply.extend(utf16("us_english"));
    reply.push(0);
    reply.extend(message(0xAB, 5703, 1, 0, "Changed language setting to us_english."));
    reply.extend(hex("ad 3600 01 74000004 16"));
    reply.extend(utf16("Microsoft SQL Server\0\0"));
    reply.extend(hex("11 00 03 e8"));
    reply.extend(hex("e3 1300 04 04 3400 3000 3900 3600 04 3400 3000 3900 3600"));
    reply.extend(before_done);
    reply.extend(done(0, 0, 0));
    reply
}

pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

pub fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// DONE.
pub fn done(status: u16, command: u16, count: u64) -> Vec<u8> {
    let mut token = vec![0xFD];
    token.extend(status.to_le_bytes());
    token.extend(command.to_le_bytes());
    token.extend(count.to_le_bytes());
    token
}

/// ERROR (`AA`) or INFO (`AB`), line 1, no procedure.
pub fn message(token: u8, number: i32, state: u8, class: u8, text: &str) -> Vec<u8> {
    let mut body = number.to_le_bytes().to_vec();
    body.extend([state, class]);
    body.extend(u16::try_from(text.encode_utf16().count()).unwrap().to_le_bytes());
    body.extend(utf16(text));
    body.extend([0, 0]);
    body.extend(1_u32.to_le_bytes());
    let mut out = vec![token];
    out.extend(u16::try_from(body.len()).unwrap().to_le_bytes());
    out.extend(body);
    out
}

pub fn error(number: i32, state: u8, class: u8, text: &str) -> Vec<u8> {
    message(0xAA, number, state, class, text)
}

/// COLMETADATA of one `int NULL` column "n".
pub fn int_column() -> Vec<u8> {
    hex("81 0100 00000000 0900 26 04 01 6e00")
}

/// ROW of that column.
pub fn int_row(value: i32) -> Vec<u8> {
    let mut row = vec![0xD1, 4];
    row.extend(value.to_le_bytes());
    row
}

/// ENVCHANGE 8 (begin) with a descriptor.
pub fn transaction_began(descriptor: u64) -> Vec<u8> {
    [hex("e3 0b00 08 08"), descriptor.to_le_bytes().to_vec(), vec![0]].concat()
}

/// ENVCHANGE 9 (commit) or 10 (rollback).
pub fn transaction_ended(kind: u8, descriptor: u64) -> Vec<u8> {
    [hex("e3 0b00"), vec![kind, 0, 8], descriptor.to_le_bytes().to_vec()].concat()
}
