//! A server as a process of its own: if it aborts, that is seen as a failure and does not end the tests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tds::login::Login7;
use tds::message_reader::MessageReader;
use tds::packet::{PACKET_SIZE_MAX_BYTES, PacketType, Status};
use tds::packet_framer::frame_message;
use tds::sql_batch::SqlBatch;
use tds::token::Token;
use tds::version::TdsVersion;

const PASSWORD: &str = "statements";

/// A server that runs.
pub struct ChildServer {
    child: Child,
    address: SocketAddr,
    /// What it has written to standard error.
    errors: Arc<Mutex<String>>,
}

impl ChildServer {
    /// Starts the server in memory with more arguments.
    pub fn start(arguments: &[&str]) -> ChildServer {
        ChildServer::start_any(&[&["--in-memory"], arguments].concat())
    }

    /// Starts the server, in memory or with a folder.
    pub fn start_any(arguments: &[&str]) -> ChildServer {
        let mut child = Command::new(env!("CARGO_BIN_EXE_bulkwire"))
            .args(["serve", "--port", "0", "--encryption", "off", "--password", PASSWORD])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        let port = line.trim_end().rsplit(':').next().and_then(|rest| rest.split(['/', '?']).next());
        let port: u16 = port.unwrap().parse().unwrap_or_else(|_| panic!("no port in {line:?}"));
        let errors = Arc::new(Mutex::new(String::new()));
        let (mut pipe, kept) = (child.stderr.take().unwrap(), Arc::clone(&errors));
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = pipe.read(&mut buffer) {
                kept.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..read]));
            }
        });
        thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        ChildServer { child, address: SocketAddr::from(([127, 0, 0, 1], port)), errors }
    }

    /// The process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it still runs.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// What it has written to standard error so far.
    pub fn errors(&self) -> String {
        self.errors.lock().unwrap().clone()
    }

    /// A session.
    pub fn connect(&self) -> Session {
        Session::open(self.address)
    }
}

impl Drop for ChildServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How a statement was answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Rows, counts or messages.
    Done,
    /// The first error's number and text.
    Error(i32, String),
    /// The attention was acknowledged.
    Cancelled,
    /// The connection ended without an answer.
    Closed,
    /// Nothing came in time.
    Late,
}

/// A connection that is logged in.
pub struct Session {
    socket: TcpStream,
    reader: MessageReader,
    received: Vec<u8>,
}

impl Session {
    fn open(address: SocketAddr) -> Session {
        let socket = TcpStream::connect(address).unwrap();
        let reader = MessageReader::new(PACKET_SIZE_MAX_BYTES, usize::MAX);
        let mut session = Session { socket, reader, received: Vec::new() };
        let prelogin = tds::prelogin::Prelogin {
            encryption: Some(tds::prelogin::EncryptionOption::NotSupported),
            ..Default::default()
        };
        session.send(PacketType::Prelogin, &prelogin.encode().unwrap());
        session.message(Instant::now() + LOGIN).unwrap();
        let login = Login7 {
            user_name: "sa".into(),
            password: PASSWORD.into(),
            packet_size_bytes: 4096,
            tds_version_number: 0x7400_0004,
            ..Login7::default()
        };
        session.send(PacketType::Login7, &login.encode().unwrap());
        session.message(Instant::now() + LOGIN).unwrap();
        session
    }

    fn send(&mut self, packet_type: PacketType, payload: &[u8]) {
        // A server that has closed is noticed when its answer is read.
        let _ = self.socket.write_all(&frame_message(packet_type, 4096, 0, Status::NORMAL, payload));
    }

    /// The next message; why there is none otherwise.
    fn message(&mut self, deadline: Instant) -> Result<Vec<u8>, Answer> {
        let mut payload = Vec::new();
        loop {
            let (consumed, head) = self.reader.collect(&self.received, &mut payload).unwrap();
            self.received.drain(..consumed);
            if head.is_some() {
                return Ok(payload);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Answer::Late);
            }
            self.socket.set_read_timeout(Some(left)).unwrap();
            let mut buffer = vec![0; 65_536];
            match self.socket.read(&mut buffer) {
                Ok(0) => return Err(Answer::Closed),
                Ok(read) => self.received.extend_from_slice(&buffer[..read]),
                Err(error)
                    if matches!(
                        error.kind(),
                        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                    ) =>
                {
                    return Err(Answer::Late);
                }
                Err(_) => return Err(Answer::Closed),
            }
        }
    }

    /// Sends a batch without waiting for its answer.
    pub fn begin(&mut self, sql: &str) {
        let payload = SqlBatch::new(sql, TdsVersion::V7_4, 0).encode().unwrap();
        self.send(PacketType::SqlBatch, &payload);
    }

    /// Runs a batch.
    pub fn run(&mut self, sql: &str, within: Duration) -> Answer {
        self.begin(sql);
        self.answer(within)
    }

    /// The answer to what was sent.
    pub fn answer(&mut self, within: Duration) -> Answer {
        match self.message(Instant::now() + within) {
            Err(answer) => answer,
            Ok(payload) => answer_of(&payload),
        }
    }

    /// Sends an attention and waits until it is acknowledged, which may come behind a whole answer.
    pub fn cancel(&mut self, within: Duration) -> Answer {
        let deadline = Instant::now() + within;
        self.send(PacketType::Attention, &[]);
        loop {
            match self.message(deadline) {
                Err(answer) => return answer,
                Ok(payload) if acknowledges(&payload) => return Answer::Cancelled,
                Ok(_) => {}
            }
        }
    }
}

/// How long logging in may take on a busy machine.
const LOGIN: Duration = Duration::from_secs(60);

fn answer_of(payload: &[u8]) -> Answer {
    let (tokens, _) = crate::client::tokens(payload);
    tokens
        .iter()
        .find_map(|token| match token {
            Token::Error(error) => Some(Answer::Error(error.number, error.message.clone())),
            _ => None,
        })
        .unwrap_or(Answer::Done)
}

/// Whether a message ends with a DONE that has the attention bit.
fn acknowledges(payload: &[u8]) -> bool {
    let last = payload.len().checked_sub(13).map(|start| &payload[start..]);
    matches!(last, Some([0xFD, low, ..]) if low & 0x20 != 0)
}
