//! A line that dies as a whole at a chosen message of the client, as if the client had been killed: no connection survives it.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Where in its message the line dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The server never gets the message.
    Before,
    /// The server has answered it, and the client does not hear that.
    After,
}

/// The line. Messages are counted from 1, over all connections; their login is in the clear.
pub struct DyingLine {
    pub port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    death: Option<(usize, Moment)>,
    messages: AtomicUsize,
    is_dead: AtomicBool,
    is_closing: AtomicBool,
    sockets: Mutex<Vec<Arc<TcpStream>>>,
}

impl DyingLine {
    pub fn new(server: SocketAddr, death: Option<(usize, Moment)>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            death,
            messages: AtomicUsize::new(0),
            is_dead: AtomicBool::new(false),
            is_closing: AtomicBool::new(false),
            sockets: Mutex::default(),
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming() {
                if accepting.is_closing.load(Ordering::SeqCst) {
                    return;
                }
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(server)) else { continue };
                accepting.connect(client, server);
            }
        });
        Self { port, shared }
    }

    /// Messages of the client so far.
    pub fn messages(&self) -> usize {
        self.shared.messages.load(Ordering::SeqCst)
    }
}

impl Drop for DyingLine {
    fn drop(&mut self) {
        self.shared.is_closing.store(true, Ordering::SeqCst);
        self.shared.die();
        // The listener looks at the flag when a connection comes.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

impl Shared {
    fn connect(self: &Arc<Self>, client: TcpStream, server: TcpStream) {
        if self.is_dead.load(Ordering::SeqCst) {
            return;
        }
        let _ = client.set_nodelay(true).and_then(|()| server.set_nodelay(true));
        let (client, server) = (Arc::new(client), Arc::new(server));
        self.sockets.lock().unwrap().extend([Arc::clone(&client), Arc::clone(&server)]);
        // Answers are dropped once the line waits for the last of them.
        let is_deaf = Arc::new(AtomicBool::new(false));
        let (shared, from, to, deaf) =
            (Arc::clone(self), Arc::clone(&client), Arc::clone(&server), Arc::clone(&is_deaf));
        thread::spawn(move || shared.up(&from, &to, &deaf));
        let shared = Arc::clone(self);
        thread::spawn(move || shared.down(&server, &client, &is_deaf));
    }

    /// Passes packets on, and counts the messages that they end.
    fn up(&self, from: &TcpStream, to: &TcpStream, is_deaf: &AtomicBool) {
        let mut header = [0; 8];
        let (mut from, mut to) = (from, to);
        while from.read_exact(&mut header).is_ok() {
            let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
            let mut packet = header.to_vec();
            packet.resize(length.max(8), 0);
            if from.read_exact(&mut packet[8..]).is_err() {
                break;
            }
            let ends = header[1] & 1 == 1;
            let number = if ends { self.messages.fetch_add(1, Ordering::SeqCst) + 1 } else { 0 };
            match self.death {
                Some((at, Moment::Before)) if number == at => return self.die(),
                Some((at, Moment::After)) if number == at => is_deaf.store(true, Ordering::SeqCst),
                _ => {}
            }
            if to.write_all(&packet).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    }

    fn down(&self, from: &TcpStream, to: &TcpStream, is_deaf: &AtomicBool) {
        let mut buffer = vec![0; 64 * 1024];
        let (mut from, mut to) = (from, to);
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            if is_deaf.load(Ordering::SeqCst) {
                return self.die();
            }
            if to.write_all(&buffer[..read]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    }

    fn die(&self) {
        self.is_dead.store(true, Ordering::SeqCst);
        for socket in self.sockets.lock().unwrap().drain(..) {
            let _ = socket2::SockRef::from(&*socket).set_linger(Some(Duration::ZERO));
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}
