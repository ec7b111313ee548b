//! A client that reads as Microsoft.Data.SqlClient does: what it receives at once is a part of one packet, and a chunk of a long value
//! is within the packet that it begins in. SQL Server sends it so, and that client takes it for granted.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::sync::Arc;

use bulkwire_server::{DataLocation, EncryptionPolicy, RunningServer, Server, ServerOptions};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use tds::conversation::wrapped_tls::wrap_flight;
use tds::env_change::EnvChange;
use tds::login::Login7;
use tds::packet::PacketType;
use tds::prelogin::{EncryptionOption, Prelogin};
use tds::token::Token;

use crate::client::{batch_packets, tokens};
use crate::served::*;

/// How the connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Off,
    LoginOnly,
    Whole,
    Strict,
}

const PACKET_SIZES: [u32; 10] = [512, 1000, 2048, 4096, 5000, 8000, 8192, 16_000, 16_380, 32_767];
/// Characters of the long values. Those near the size of a packet end near its end.
const LENGTHS: [usize; 21] = [
    0, 1, 10, 50, 240, 252, 500, 504, 505, 1000, 1990, 2040, 3990, 3999, 4000, 4001, 7990, 8000, 16_372,
    20_000, 100_000,
];
const HEADER_BYTES: usize = 8;

#[test]
fn no_receive_reaches_into_the_next_packet_and_no_chunk_over_the_end_of_its_own() {
    let server = served(EncryptionPolicy::Optional);
    let mut setup = connect(&server);
    assert_no_error(&setup.batch(
        "CREATE TABLE lg (i int NOT NULL, n nvarchar(max), v varchar(max), b varbinary(max), x xml, j json)",
    ));
    for (i, length) in LENGTHS.iter().enumerate() {
        let insert = format!(
            "DECLARE @n nvarchar(max) = REPLICATE(CAST(N'añ€' AS nvarchar(max)), {length}), @v varchar(max) = \
             REPLICATE(CAST('xyz' AS varchar(max)), {length}); \
             INSERT lg VALUES ({i}, LEFT(@n, {length}), LEFT(@v, {length}), CAST(LEFT(@v, {length}) AS varbinary(max)), \
             CAST('<a>-' + LEFT(@v, {length}) + '</a>' AS xml), '{{\"a\":\"' + LEFT(@v, {length}) + '\"}}')"
        );
        assert_no_error(&setup.batch(&insert));
    }
    // Ends of values come to lie everywhere in their packets.
    assert_no_error(&setup.batch(
        "INSERT lg SELECT 1000 + value, REPLICATE(N'q', value % 61), REPLICATE('r', value % 37), NULL, NULL, NULL \
         FROM GENERATE_SERIES(0, 299)",
    ));
    drop(setup);
    for mode in [Mode::Off, Mode::LoginOnly, Mode::Whole, Mode::Strict] {
        for packet_size in PACKET_SIZES {
            let mut peer = Peer::connect(&server, mode, packet_size);
            let message = peer.batch("SELECT i, n, v, b, x, j FROM lg ORDER BY i");
            check_rows(&message, &format!("{mode:?} {packet_size}"));
        }
    }
    let required = served(EncryptionPolicy::Required);
    let strict = served(EncryptionPolicy::Strict);
    for (server, mode) in [(&required, Mode::Whole), (&strict, Mode::Strict)] {
        let mut peer = Peer::connect(server, mode, 8000);
        let message = peer.batch("SELECT 1 AS i, REPLICATE(CAST(N'z' AS nvarchar(max)), 20000) AS n");
        assert!(message.payload.len() > 40_000);
    }
}

/// One message, and where its packets end.
struct Message {
    payload: Vec<u8>,
    ends: Vec<usize>,
}

struct Peer {
    socket: TcpStream,
    tls: Option<ClientConnection>,
    /// The largest packet.
    packet_size: usize,
}

impl Peer {
    fn connect(server: &RunningServer, mode: Mode, packet_size: u32) -> Peer {
        let socket = socket(server);
        let mut peer = Peer { socket, tls: None, packet_size: 4096 };
        if mode == Mode::Strict {
            let mut config = config();
            config.alpn_protocols = vec![b"tds/8.0".to_vec()];
            peer.shake_hands(config, false);
        }
        let encryption = match mode {
            Mode::Off => EncryptionOption::NotSupported,
            Mode::LoginOnly => EncryptionOption::Off,
            Mode::Whole | Mode::Strict => EncryptionOption::On,
        };
        let prelogin = Prelogin { encryption: Some(encryption), ..Prelogin::default() };
        peer.send(&packets(PacketType::Prelogin, &prelogin.encode().unwrap()));
        peer.message();
        if matches!(mode, Mode::LoginOnly | Mode::Whole) {
            peer.shake_hands(config(), true);
        }
        let login = Login7 { packet_size_bytes: packet_size, ..login() };
        peer.send(&packets(PacketType::Login7, &login.encode().unwrap()));
        if mode == Mode::LoginOnly {
            peer.tls = None;
        }
        let (tokens, _) = tokens(&peer.message().payload);
        let granted = tokens.iter().find_map(|token| match token {
            Token::EnvChange(EnvChange::PacketSize { new, .. }) => Some(*new),
            _ => None,
        });
        peer.packet_size = granted.expect("a packet size") as usize;
        assert!(peer.packet_size <= packet_size.max(512) as usize);
        peer
    }

    /// With records of their own, or within packets of PRELOGIN.
    fn shake_hands(&mut self, config: ClientConfig, wrapped: bool) {
        let name = ServerName::try_from("localhost").unwrap();
        let mut tls = ClientConnection::new(Arc::new(config), name).unwrap();
        while tls.is_handshaking() {
            let mut flight = Vec::new();
            while tls.wants_write() {
                tls.write_tls(&mut flight).unwrap();
            }
            if !flight.is_empty() {
                let mut bytes = Vec::new();
                match wrapped {
                    true => wrap_flight(&flight, &mut bytes),
                    false => bytes = flight,
                }
                self.socket.write_all(&bytes).unwrap();
            }
            if !tls.is_handshaking() {
                break;
            }
            let records = match wrapped {
                true => self.message().payload,
                false => self.record(),
            };
            let mut rest = records.as_slice();
            while !rest.is_empty() {
                tls.read_tls(&mut rest).unwrap();
                tls.process_new_packets().unwrap();
            }
        }
        self.tls = Some(tls);
        self.send(&[]);
    }

    fn send(&mut self, bytes: &[u8]) {
        let Some(tls) = &mut self.tls else { return self.socket.write_all(bytes).unwrap() };
        tls.writer().write_all(bytes).unwrap();
        while tls.wants_write() {
            tls.write_tls(&mut self.socket).unwrap();
        }
    }

    /// One record of TLS as it came.
    fn record(&mut self) -> Vec<u8> {
        let mut record = vec![0; 5];
        self.socket.read_exact(&mut record).unwrap();
        let length = usize::from(u16::from_be_bytes([record[3], record[4]]));
        record.resize(5 + length, 0);
        self.socket.read_exact(&mut record[5..]).unwrap();
        record
    }

    /// What the client receives at once: with TLS that is what a record has.
    fn receive(&mut self, wanted: usize) -> Vec<u8> {
        let mut plain = Vec::new();
        if self.tls.is_none() {
            plain.resize(wanted, 0);
            self.socket.read_exact(&mut plain).unwrap();
            return plain;
        }
        while plain.is_empty() {
            let record = self.record();
            let tls = self.tls.as_mut().unwrap();
            let mut rest = record.as_slice();
            while !rest.is_empty() {
                tls.read_tls(&mut rest).unwrap();
                let state = tls.process_new_packets().unwrap();
                let from = plain.len();
                plain.resize(from + state.plaintext_bytes_to_read(), 0);
                tls.reader().read_exact(&mut plain[from..]).unwrap();
            }
        }
        plain
    }

    fn message(&mut self) -> Message {
        let mut message = Message { payload: Vec::new(), ends: Vec::new() };
        loop {
            let mut packet = self.receive(HEADER_BYTES);
            assert!(packet.len() >= HEADER_BYTES, "a receive of {} bytes", packet.len());
            let length = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
            assert!(length <= self.packet_size.max(4096), "a packet of {length} bytes");
            if self.tls.is_some() {
                assert_eq!(packet.len(), length, "a record of the session is a packet");
            } else {
                packet.extend(self.receive(length - HEADER_BYTES));
            }
            message.payload.extend_from_slice(&packet[HEADER_BYTES..]);
            message.ends.push(message.payload.len());
            if packet[1] & 1 != 0 {
                return message;
            }
        }
    }

    fn batch(&mut self, sql: &str) -> Message {
        self.send(&batch_packets(sql));
        self.message()
    }
}

/// The values are those that were inserted, and their chunks are within packets.
fn check_rows(message: &Message, what: &str) {
    let (_, batches) = tokens(&message.payload);
    let rows: usize = batches.iter().map(|batch| batch.num_rows()).sum();
    assert_eq!(rows, LENGTHS.len() + 300, "{what}: our own client");
    let payload = &message.payload;
    let (token, consumed) =
        tds::token::TokenReader::new(tds::version::TdsVersion::V7_4).next(payload).unwrap().unwrap();
    assert!(matches!(token, Token::ColMetaData(Some(_))), "{what}: {token:?}");
    let mut at = consumed;
    // The order of the rows: one column, in a token of its own.
    assert_eq!(payload[at..at + 5], [0xA9, 2, 0, 1, 0], "{what}: ORDER");
    at += 5;
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
    for row in 0..rows {
        assert_eq!(payload[at], 0xD1, "{what}: row {row}");
        at += 1;
        let i = i32::from_le_bytes(payload[at..at + 4].try_into().unwrap());
        at += 4;
        let values: Vec<Option<Vec<u8>>> = (0..5).map(|_| value(message, &mut at, what)).collect();
        let expected = match LENGTHS.get(usize::try_from(i).unwrap()) {
            Some(&length) => {
                let text: String = "añ€".chars().cycle().take(length).collect();
                let ascii: String = "xyz".chars().cycle().take(length).collect();
                let xml = format!("<a>-{ascii}</a>");
                let json = format!("{{\"a\":\"{ascii}\"}}");
                [
                    Some(wide(&text)),
                    Some(ascii.clone().into_bytes()),
                    Some(ascii.into_bytes()),
                    Some(wide(&xml)),
                    Some(json.into_bytes()),
                ]
            }
            None => {
                let number = usize::try_from(i).unwrap() - 1000;
                let (n, v) = ("q".repeat(number % 61), "r".repeat(number % 37));
                [Some(wide(&n)), Some(v.into_bytes()), None, None, None]
            }
        };
        for (column, (value, expected)) in values.iter().zip(&expected).enumerate() {
            let is_same = match (value, expected) {
                (Some(value), Some(expected)) => {
                    // The byte order mark of XML is no part of what was inserted.
                    value == expected
                        || value.strip_prefix(&[0xFF, 0xFE]) == Some(expected)
                        // Clients that do not know json get text.
                        || *value == wide(&String::from_utf8_lossy(expected))
                }
                (None, None) => true,
                _ => false,
            };
            assert!(is_same, "{what}: row {i}, column {column}");
        }
    }
}

/// A partially length-prefixed value.
fn value(message: &Message, at: &mut usize, what: &str) -> Option<Vec<u8>> {
    let payload = &message.payload;
    let total = u64::from_le_bytes(payload[*at..*at + 8].try_into().unwrap());
    *at += 8;
    if total == u64::MAX {
        return None;
    }
    let within = |part: Range<usize>| {
        let next = message.ends.partition_point(|end| *end <= part.start);
        let end = message.ends[next];
        assert!(part.end <= end, "{what}: a chunk at {part:?}, the packet ends at {end}");
    };
    let mut value = Vec::new();
    loop {
        let length = u32::from_le_bytes(payload[*at..*at + 4].try_into().unwrap()) as usize;
        within(*at..*at + 4 + length);
        *at += 4;
        if length == 0 {
            break;
        }
        value.extend_from_slice(&payload[*at..*at + length]);
        *at += length;
    }
    assert_eq!(value.len() as u64, total, "{what}");
    Some(value)
}

fn served(encryption: EncryptionPolicy) -> RunningServer {
    let options = options(([127, 0, 0, 1], 0).into(), DataLocation::InMemory);
    Server::start(ServerOptions { encryption, ..options }).unwrap()
}

fn config() -> ClientConfig {
    let provider = Arc::new(ring::default_provider());
    ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody(provider)))
        .with_no_client_auth()
}

/// Trusts any certificate: the server has made its own.
#[derive(Debug)]
struct Anybody(Arc<rustls::crypto::CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
