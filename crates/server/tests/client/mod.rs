//! A client for looking at answers token by token.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use rows::{Decoder, Form};
use tds::login::Login7;
use tds::message_reader::MessageReader;
use tds::packet::{PACKET_SIZE_MAX_BYTES, PacketType, Status};
use tds::packet_framer::frame_message;
use tds::sql_batch::SqlBatch;
use tds::token::{Token, TokenReader};
use tds::version::TdsVersion;

/// A batch, framed.
pub fn batch_packets(sql: &str) -> Vec<u8> {
    let payload = SqlBatch::new(sql, TdsVersion::V7_4, 0).encode().unwrap();
    frame_message(PacketType::SqlBatch, 4096, 0, Status::NORMAL, &payload)
}

/// A connection.
pub struct Client {
    pub socket: TcpStream,
    reader: MessageReader,
    received: Vec<u8>,
    prelogin_answered: bool,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Client {
        let socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let reader = MessageReader::new(PACKET_SIZE_MAX_BYTES, usize::MAX);
        Client { socket, reader, received: Vec::new(), prelogin_answered: false }
    }

    pub fn log_in(&mut self, login: &Login7) -> Vec<Token> {
        let prelogin = tds::prelogin::Prelogin {
            encryption: Some(tds::prelogin::EncryptionOption::NotSupported),
            ..Default::default()
        };
        let prelogin =
            frame_message(PacketType::Prelogin, 4096, 0, Status::NORMAL, &prelogin.encode().unwrap());
        self.socket.write_all(&prelogin).unwrap();
        self.answer();
        let login = frame_message(PacketType::Login7, 4096, 0, Status::NORMAL, &login.encode().unwrap());
        self.socket.write_all(&login).unwrap();
        self.answer()
    }

    /// Whether the server took the connection and the login.
    pub fn try_log_in(&mut self, login: &Login7) -> bool {
        let prelogin = tds::prelogin::Prelogin {
            encryption: Some(tds::prelogin::EncryptionOption::NotSupported),
            ..Default::default()
        };
        let prelogin = prelogin.encode().unwrap();
        let sent =
            self.socket.write_all(&frame_message(PacketType::Prelogin, 4096, 0, Status::NORMAL, &prelogin));
        let mut first = [0];
        if sent.is_err() || !self.socket.read(&mut first).is_ok_and(|read| read == 1) {
            return false;
        }
        self.receive(&first);
        self.answer();
        let login = login.encode().unwrap();
        self.socket.write_all(&frame_message(PacketType::Login7, 4096, 0, Status::NORMAL, &login)).unwrap();
        self.answer().iter().any(|token| matches!(token, Token::LoginAck(_)))
    }

    /// Bytes that were read from the socket already.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.received.extend_from_slice(bytes);
    }

    pub fn batch(&mut self, sql: &str) -> Vec<Token> {
        self.socket.write_all(&batch_packets(sql)).unwrap();
        self.answer()
    }

    /// The tokens of the next message; none for the answer to PRELOGIN, which has no tokens. Rows are passed over.
    pub fn answer(&mut self) -> Vec<Token> {
        let payload = self.message();
        if !std::mem::replace(&mut self.prelogin_answered, true) {
            return Vec::new();
        }
        tokens(&payload).0
    }

    /// The rows of the next message's only result.
    pub fn rows(&mut self) -> Vec<arrow::record_batch::RecordBatch> {
        let payload = self.message();
        tokens(&payload).1
    }

    pub fn message(&mut self) -> Vec<u8> {
        let mut payload = Vec::new();
        loop {
            let (consumed, head) = self.reader.collect(&self.received, &mut payload).unwrap();
            self.received.drain(..consumed);
            if head.is_some() {
                return payload;
            }
            let mut buffer = [0; 8192];
            let read = self.socket.read(&mut buffer).unwrap();
            assert_ne!(read, 0, "the server closed instead of answering");
            self.received.extend_from_slice(&buffer[..read]);
        }
    }
}

/// Takes an answer apart.
pub fn tokens(payload: &[u8]) -> (Vec<Token>, Vec<arrow::record_batch::RecordBatch>) {
    let reader = TokenReader::new(TdsVersion::V7_4);
    let (mut tokens, mut batches) = (Vec::new(), Vec::new());
    let mut decoder: Option<Decoder> = None;
    let mut position = 0;
    while position < payload.len() {
        let (token, consumed) = reader.next(&payload[position..]).unwrap().expect("a whole token");
        position += consumed;
        match &token {
            Token::ColMetaData(Some(columns)) => {
                decoder = Some(Decoder::new(columns, Form::default()).unwrap())
            }
            Token::Row | Token::NbcRow => {
                let decoder = decoder.as_mut().expect("columns before rows");
                position += decoder.decode(&payload[position..]).unwrap();
                batches.push(decoder.take_batch().unwrap());
            }
            _ => {}
        }
        tokens.push(token);
    }
    (tokens, batches)
}
