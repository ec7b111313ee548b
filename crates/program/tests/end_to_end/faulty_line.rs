//! A line between client and server that fails at a chosen byte.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
}

/// How the line fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Both ends see that the other has closed.
    Fin,
    /// Both ends are reset.
    Reset,
    /// Bytes of this direction are lost from here on; the other direction works.
    Stall,
    /// Bytes of this direction are not taken any more.
    Choke,
    /// One byte is another: it is combined with this one by XOR.
    Corrupt(u8),
}

/// A failure: the bytes before `at` pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    pub way: Way,
    pub at: u64,
    pub kind: Kind,
}

/// The line. Its first connection fails as `fault` says, later ones do not; or each fails in its own way.
pub struct Line {
    pub port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    closing: AtomicBool,
    /// What passed over the first connection, up and down.
    passed: Mutex<[Vec<u8>; 2]>,
}

/// One direction of one connection.
struct Pump {
    from: Arc<TcpStream>,
    to: Arc<TcpStream>,
    way: Way,
    fault: Option<Fault>,
    is_first: bool,
    reset: Arc<AtomicBool>,
    shared: Arc<Shared>,
}

impl Line {
    pub fn new(server: SocketAddr, fault: Option<Fault>) -> Self {
        Self::each(server, move |number| fault.filter(|_| number == 0))
    }

    /// A line whose connections, counted from 0, fail each in its way.
    pub fn each(server: SocketAddr, fault: impl Fn(usize) -> Option<Fault> + Send + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared { closing: AtomicBool::new(false), passed: Mutex::default() });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for (number, client) in listener.incoming().enumerate() {
                if accepting.closing.load(Ordering::SeqCst) {
                    return;
                }
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(server)) else { continue };
                connect(client, server, fault(number), number == 0, &accepting);
            }
        });
        Self { port, shared }
    }

    /// What passed over the first connection, up and down.
    pub fn passed(&self) -> [Vec<u8>; 2] {
        self.shared.passed.lock().unwrap().clone()
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::SeqCst);
        // The listener looks at the flag when a connection comes.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

fn connect(client: TcpStream, server: TcpStream, fault: Option<Fault>, is_first: bool, shared: &Arc<Shared>) {
    let _ = client.set_nodelay(true).and_then(|()| server.set_nodelay(true));
    let (client, server) = (Arc::new(client), Arc::new(server));
    let reset = Arc::new(AtomicBool::new(false));
    for (from, to, way) in [(&client, &server, Way::Up), (&server, &client, Way::Down)] {
        let fault = fault.filter(|fault| fault.way == way);
        let (from, to, reset, shared) =
            (Arc::clone(from), Arc::clone(to), Arc::clone(&reset), Arc::clone(shared));
        let pump = Pump { from, to, way, fault, is_first, reset, shared };
        thread::spawn(move || pump.run());
    }
}

impl Pump {
    fn run(self) {
        let mut buffer = vec![0; 64 * 1024];
        let mut passed = 0_u64;
        let mut is_lost = false;
        if self.fault.is_some_and(|fault| fault.at == 0) && self.fail(&mut is_lost) {
            return;
        }
        loop {
            let read = match (&*self.from).read(&mut buffer) {
                Ok(0) | Err(_) => break,
                Ok(read) => read,
            };
            if is_lost {
                continue;
            }
            let mut bytes = &mut buffer[..read];
            let before = passed;
            passed += read as u64;
            let here = self.fault.filter(|fault| (before..passed).contains(&fault.at) || fault.at == passed);
            let Some(fault) = here else {
                if !self.pass(bytes) {
                    break;
                }
                continue;
            };
            let index = (fault.at - before) as usize;
            if let Kind::Corrupt(mask) = fault.kind {
                if let Some(byte) = bytes.get_mut(index) {
                    *byte ^= mask;
                }
                if !self.pass(bytes) {
                    break;
                }
                continue;
            }
            bytes = &mut bytes[..index];
            if !self.pass(bytes) || self.fail(&mut is_lost) {
                return;
            }
        }
        if !self.reset.load(Ordering::SeqCst) {
            let _ = self.to.shutdown(Shutdown::Write);
        }
    }

    fn pass(&self, bytes: &[u8]) -> bool {
        if self.is_first {
            self.shared.passed.lock().unwrap()[usize::from(self.way == Way::Down)].extend_from_slice(bytes);
        }
        (&*self.to).write_all(bytes).is_ok()
    }

    /// Fails the line; true if this direction is over.
    fn fail(&self, is_lost: &mut bool) -> bool {
        match self.fault.map(|fault| fault.kind) {
            Some(Kind::Fin) => {
                let _ = self.from.shutdown(Shutdown::Both);
                let _ = self.to.shutdown(Shutdown::Both);
                true
            }
            Some(Kind::Reset) => {
                self.reset.store(true, Ordering::SeqCst);
                for socket in [&self.from, &self.to] {
                    // The reset goes out when the last holder lets go; the other direction's pump is woken for that.
                    let _ = socket2::SockRef::from(&**socket).set_linger(Some(Duration::ZERO));
                    let _ = socket.shutdown(Shutdown::Read);
                }
                true
            }
            Some(Kind::Stall) => {
                *is_lost = true;
                false
            }
            Some(Kind::Choke) => {
                while !self.shared.closing.load(Ordering::SeqCst) {
                    thread::sleep(Duration::from_millis(20));
                }
                let _ = self.from.shutdown(Shutdown::Both);
                let _ = self.to.shutdown(Shutdown::Both);
                true
            }
            Some(Kind::Corrupt(_)) | None => false,
        }
    }
}
