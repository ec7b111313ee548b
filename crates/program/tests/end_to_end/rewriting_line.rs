//! A line on which a server seems to be another one: it refuses a statement, reads another text than was sent, or gets a COMMIT
//! late or never.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Packets of MS-TDS 2.2.3.1.1, and the request of a transaction manager that commits (2.2.6.9).
const SQL_BATCH: u8 = 1;
const TABULAR_RESULT: u8 = 4;
const TRANSACTION_MANAGER: u8 = 14;
const COMMIT: u16 = 7;
const END_OF_MESSAGE: u8 = 1;
/// Bytes of a packet that this line writes.
const PACKET: usize = 4096;

/// The fate of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    AsSent,
    Instead(String),
    /// An error of this number, of which the server never hears.
    Refused(i32),
}

/// The fate of a COMMIT, whose client is reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// The server hears it, and the client never hears the answer.
    Unheard,
    /// The server hears it when the client has come to its end.
    AfterTheClient,
    /// The server hears it when the client connects again, to look.
    WithTheLook,
    /// The server sees the connection end.
    Never,
}

/// Decides the reading of a batch, by its number over all connections, from 0.
type Reader = dyn Fn(usize, &str) -> Reading + Send + Sync;

/// The line.
pub struct RewritingLine {
    pub port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    reading: Box<Reader>,
    /// The COMMIT with this number, from 1, and what becomes of it.
    held: Option<(usize, Arrival)>,
    release: Sender<()>,
    released: Mutex<Option<Receiver<()>>>,
    holder: Mutex<Option<JoinHandle<()>>>,
    batches: Mutex<Vec<String>>,
    commits: AtomicUsize,
    is_held: AtomicBool,
    is_closing: AtomicBool,
}

impl RewritingLine {
    pub fn new(
        server: SocketAddr,
        reading: impl Fn(usize, &str) -> Reading + Send + Sync + 'static,
        held: Option<(usize, Arrival)>,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (release, released) = channel();
        let shared = Arc::new(Shared {
            reading: Box::new(reading),
            held,
            release,
            released: Mutex::new(Some(released)),
            holder: Mutex::default(),
            batches: Mutex::default(),
            commits: AtomicUsize::new(0),
            is_held: AtomicBool::new(false),
            is_closing: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming() {
                if accepting.is_closing.load(Ordering::SeqCst) {
                    return;
                }
                if accepting.is_held.load(Ordering::SeqCst)
                    && accepting.held.is_some_and(|(_, arrival)| arrival == Arrival::WithTheLook)
                {
                    let _ = accepting.release.send(());
                }
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(server)) else { continue };
                accepting.connect(client, server);
            }
        });
        Self { port, shared }
    }

    /// Returns the batches so far, as the client has sent them.
    pub fn batches(&self) -> Vec<String> {
        self.shared.batches.lock().unwrap().clone()
    }

    /// Returns the number of COMMITs so far.
    pub fn commits(&self) -> usize {
        self.shared.commits.load(Ordering::SeqCst)
    }

    /// Lets a COMMIT go on that is held, and waits until the server has answered it.
    pub fn release(&self) {
        let _ = self.shared.release.send(());
        if let Some(holder) = self.shared.holder.lock().unwrap().take() {
            holder.join().unwrap();
        }
    }
}

impl Drop for RewritingLine {
    fn drop(&mut self) {
        self.shared.is_closing.store(true, Ordering::SeqCst);
        // The listener looks at the flag when a connection comes.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

impl Shared {
    fn connect(self: &Arc<Self>, client: TcpStream, server: TcpStream) {
        let _ = client.set_nodelay(true).and_then(|()| server.set_nodelay(true));
        let (mut answers, mut to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        let answering = thread::spawn(move || {
            let _ = std::io::copy(&mut answers, &mut to_client);
            let _ = to_client.shutdown(Shutdown::Write);
        });
        let shared = Arc::clone(self);
        thread::spawn(move || shared.up(client, server, answering));
    }

    fn up(&self, mut client: TcpStream, mut server: TcpStream, answering: JoinHandle<()>) {
        while let Some(message) = Message::read(&mut client) {
            if message.commits() {
                let number = self.commits.fetch_add(1, Ordering::SeqCst) + 1;
                if let Some((_, arrival)) = self.held.filter(|(held, _)| *held == number) {
                    return self.hold(&message, arrival, client, server, answering);
                }
            }
            let written = match message.text().map(|text| self.read(&text)) {
                Some(Reading::Instead(text)) => server.write_all(&message.with_text(&text)),
                Some(Reading::Refused(number)) => client.write_all(&refusal(number)),
                Some(Reading::AsSent) | None => server.write_all(&message.packets),
            };
            if written.is_err() {
                break;
            }
        }
        let _ = server.shutdown(Shutdown::Write);
    }

    fn read(&self, text: &str) -> Reading {
        let mut batches = self.batches.lock().unwrap();
        batches.push(text.to_owned());
        (self.reading)(batches.len() - 1, text)
    }

    fn hold(
        &self,
        message: &Message,
        arrival: Arrival,
        client: TcpStream,
        mut server: TcpStream,
        answering: JoinHandle<()>,
    ) {
        let _ = socket2::SockRef::from(&client).set_linger(Some(Duration::ZERO));
        let _ = client.shutdown(Shutdown::Both);
        drop(client);
        let packets = message.packets.clone();
        let arrive = move || {
            let _ = server.write_all(&packets);
            // Its answer goes nowhere, and is waited for: then it has happened.
            let _ = server.shutdown(Shutdown::Write);
            answering.join().unwrap();
        };
        match arrival {
            Arrival::Never => {}
            Arrival::Unheard => arrive(),
            Arrival::AfterTheClient | Arrival::WithTheLook => {
                let Some(released) = self.released.lock().unwrap().take() else { return };
                let holder = thread::spawn(move || {
                    let _ = released.recv();
                    arrive();
                });
                *self.holder.lock().unwrap() = Some(holder);
                self.is_held.store(true, Ordering::SeqCst);
            }
        }
    }
}

/// A message of the client.
struct Message {
    kind: u8,
    status: u8,
    packets: Vec<u8>,
    payload: Vec<u8>,
}

impl Message {
    fn read(client: &mut TcpStream) -> Option<Self> {
        let mut message = Self { kind: 0, status: 0, packets: Vec::new(), payload: Vec::new() };
        loop {
            let mut header = [0; 8];
            client.read_exact(&mut header).ok()?;
            let length = usize::from(u16::from_be_bytes([header[2], header[3]])).max(8);
            let mut content = vec![0; length - 8];
            client.read_exact(&mut content).ok()?;
            if message.packets.is_empty() {
                (message.kind, message.status) = (header[0], header[1] & !END_OF_MESSAGE);
            }
            message.packets.extend(header);
            message.packets.extend(&content);
            message.payload.extend(content);
            if header[1] & END_OF_MESSAGE != 0 {
                return Some(message);
            }
        }
    }

    /// Returns the bytes of ALL_HEADERS, which stand before the text (MS-TDS 2.2.5.3).
    fn headers(&self) -> usize {
        let length = self.payload.get(..4).map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap()));
        (length.unwrap_or(0) as usize).min(self.payload.len())
    }

    /// Returns true if it is a driver's request to commit, or a batch that commits.
    fn commits(&self) -> bool {
        let at = self.headers();
        let request = self.payload.get(at..at + 2).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
        (self.kind == TRANSACTION_MANAGER && request == Some(COMMIT))
            || self.text().is_some_and(|text| text.contains("COMMIT TRANSACTION"))
    }

    fn text(&self) -> Option<String> {
        let bytes = &self.payload[self.headers()..];
        let units = bytes.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
        (self.kind == SQL_BATCH).then(|| char::decode_utf16(units).map(|unit| unit.unwrap()).collect())
    }

    /// Returns the packets of the same message with another text.
    fn with_text(&self, text: &str) -> Vec<u8> {
        let mut payload = self.payload[..self.headers()].to_vec();
        payload.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
        packets(self.kind, self.status, &payload)
    }
}

fn packets(kind: u8, status: u8, payload: &[u8]) -> Vec<u8> {
    let count = payload.len().div_ceil(PACKET - 8).max(1);
    let mut bytes = Vec::new();
    for (index, content) in payload.chunks(PACKET - 8).enumerate() {
        let end = if index + 1 == count { END_OF_MESSAGE } else { 0 };
        let length = u16::try_from(content.len() + 8).unwrap().to_be_bytes();
        bytes.extend([kind, status | end, length[0], length[1], 0, 0, index as u8, 0]);
        bytes.extend(content);
    }
    bytes
}

/// Returns an answer that consists of an error of severity 16.
fn refusal(number: i32) -> Vec<u8> {
    let text: Vec<u16> = "This server does not do that.".encode_utf16().collect();
    let mut error = number.to_le_bytes().to_vec();
    error.extend([1, 16]);
    error.extend((text.len() as u16).to_le_bytes());
    error.extend(text.into_iter().flat_map(u16::to_le_bytes));
    // Neither server nor procedure has a name; line 1.
    error.extend([0, 0, 1, 0, 0, 0]);
    let mut payload = vec![0xAA];
    payload.extend((error.len() as u16).to_le_bytes());
    payload.extend(error);
    // DONE with the error bit.
    payload.extend([0xFD, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    packets(TABULAR_RESULT, 0, &payload)
}
