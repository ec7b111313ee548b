//! Opens TCP connections to a host name.

mod browser;
#[cfg(test)]
mod tests;

use std::{
    io::{self, Read, Write},
    net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

pub use browser::{BrowserError, instance_port};

/// Addresses that are tried at once under MultiSubnetFailover; SQL Server's own clients stop at the same number.
const PARALLEL_ATTEMPTS_MAX: usize = 64;
/// Idle time before the first keep-alive probe, as SQL Server's own clients set it. Gateways drop silent connections
/// after a few minutes, and a long batch is silent while the server commits.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// Between further probes. A host that is gone is so noticed within a minute or two, whatever the system's own settings.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(5);

/// An error of opening a TCP connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The name has no address.
    #[error("cannot resolve host \"{host}\": {source}")]
    Resolve {
        /// The name.
        host: String,
        /// The resolver's words.
        source: io::Error,
    },
    /// No address accepted the connection.
    #[error("cannot connect to {host}:{port}: {}", reasons(host, attempts))]
    Refused {
        /// The name.
        host: String,
        /// The port.
        port: u16,
        /// Every address tried, with its error.
        attempts: Vec<(SocketAddr, io::Error)>,
    },
    /// The connect time-out passed.
    #[error("connecting to {host} took longer than {} s (Connect Timeout)", limit.as_secs())]
    TimedOut {
        /// The name.
        host: String,
        /// The limit.
        limit: Duration,
    },
    /// The port takes connections, and nothing came back to the first message.
    #[error(
        "{host}:{port} took the connection, and its answer took longer than {} s (Connect Timeout): is that the port of a SQL Server?",
        limit.as_secs()
    )]
    Silent {
        /// The name.
        host: String,
        /// The port.
        port: u16,
        /// The limit.
        limit: Duration,
    },
    /// The port answers in another protocol.
    #[error("{host}:{port} does not speak TDS, so it is not a SQL Server's port: {answer}")]
    OtherProtocol {
        /// The name.
        host: String,
        /// The port.
        port: u16,
        /// The beginning of the answer, or what came instead.
        answer: String,
    },
    /// SQL Server Browser did not give the port of a named instance.
    #[error(transparent)]
    Browser(#[from] BrowserError),
}

/// Words the failed attempts. An address that was given as such is not repeated.
fn reasons(host: &str, attempts: &[(SocketAddr, io::Error)]) -> String {
    let is_alone = attempts.len() == 1;
    let each = attempts.iter().map(|(address, error)| match address.ip().to_string() {
        ip if is_alone && ip == host => error.to_string(),
        ip => format!("{ip}: {error}"),
    });
    let mut text = each.collect::<Vec<_>>().join("; ");
    let is_refused = |(_, error): &(_, io::Error)| error.kind() == io::ErrorKind::ConnectionRefused;
    if !attempts.is_empty() && attempts.iter().all(is_refused) {
        text.push_str("; nothing listens there: is the server running, and is this its port?");
    }
    text
}

impl ConnectError {
    /// Names the server that redirected to this place.
    pub(crate) fn redirected_by(self, gateway: &str) -> Self {
        let place = |host: String| format!("{host} (where {gateway} redirects)");
        match self {
            Self::Resolve { host, source } => Self::Resolve { host: place(host), source },
            // The port stands behind the host.
            Self::Refused { host, port, attempts } => {
                Self::Refused { host: format!("where {gateway} redirects, {host}"), port, attempts }
            }
            Self::TimedOut { host, limit } => Self::TimedOut { host: place(host), limit },
            Self::Silent { host, port, limit } => {
                Self::Silent { host: format!("where {gateway} redirects, {host}"), port, limit }
            }
            Self::OtherProtocol { host, port, answer } => {
                Self::OtherProtocol { host: format!("where {gateway} redirects, {host}"), port, answer }
            }
            Self::Browser(error) => Self::Browser(error),
        }
    }
}

/// The moment by which connecting must be finished, with the limit it came from.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    at: Option<Instant>,
    limit: Duration,
}

impl Deadline {
    /// Makes a deadline `limit` from now; `None` never passes.
    pub fn after(limit: Option<Duration>) -> Self {
        Self { at: limit.map(|limit| Instant::now() + limit), limit: limit.unwrap_or_default() }
    }

    /// Makes the error of a wait that the deadline has ended.
    pub(crate) fn passed(&self, host: &str) -> ConnectError {
        ConnectError::TimedOut { host: host.to_owned(), limit: self.limit }
    }

    /// Makes the error of a port that has not answered when the deadline passed.
    pub(crate) fn passed_in_silence(&self, host: &str, port: u16) -> ConnectError {
        ConnectError::Silent { host: host.to_owned(), port, limit: self.limit }
    }

    /// Returns the time left: `None` without a limit, an error when there is none.
    pub fn remaining(&self, host: &str) -> Result<Option<Duration>, ConnectError> {
        match self.at.map(|at| at.saturating_duration_since(Instant::now())) {
            Some(Duration::ZERO) => Err(self.passed(host)),
            left => Ok(left),
        }
    }
}

/// A socket whose reads and writes end with a deadline, however many there are.
#[derive(Debug)]
pub(crate) struct TimedSocket<'a> {
    socket: &'a TcpStream,
    deadline: Deadline,
}

impl<'a> TimedSocket<'a> {
    pub(crate) fn new(socket: &'a TcpStream, deadline: Deadline) -> Self {
        Self { socket, deadline }
    }

    /// Returns the time left.
    fn left(&self) -> io::Result<Option<Duration>> {
        match self.deadline.at.map(|at| at.saturating_duration_since(Instant::now())) {
            Some(Duration::ZERO) => Err(io::ErrorKind::TimedOut.into()),
            left => Ok(left),
        }
    }
}

impl Read for TimedSocket<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(self.left()?)?;
        let mut socket = self.socket;
        socket.read(into)
    }
}

impl Write for TimedSocket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(self.left()?)?;
        let mut socket = self.socket;
        socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut socket = self.socket;
        socket.flush()
    }
}

/// Connects to `host:port`: its addresses one after the other, or all at once (`parallel`, MultiSubnetFailover).
/// The socket has Nagle's algorithm off and keep-alive on.
pub fn connect(host: &str, port: u16, parallel: bool, deadline: Deadline) -> Result<TcpStream, ConnectError> {
    let addresses = resolve(host, port, deadline)?;
    let stream = match parallel && addresses.len() > 1 {
        true => connect_parallel(host, port, &addresses, deadline),
        false => connect_in_turn(host, port, &addresses, deadline),
    }?;
    let refused = |source| ConnectError::Refused { host: host.to_owned(), port, attempts: source };
    let tuned = stream.set_nodelay(true).and_then(|()| {
        let probes = socket2::TcpKeepalive::new().with_time(KEEP_ALIVE);
        #[cfg(any(target_os = "linux", target_os = "macos", windows))]
        let probes = probes.with_interval(KEEP_ALIVE_INTERVAL);
        socket2::SockRef::from(&stream).set_tcp_keepalive(&probes)
    });
    match (tuned, stream.peer_addr()) {
        (Err(error), Ok(address)) => Err(refused(vec![(address, error)])),
        (Err(_), Err(_)) => Err(refused(Vec::new())),
        (Ok(()), _) => Ok(stream),
    }
}

/// Resolves a name; the resolver has no time-out of its own, so it runs beside the clock.
fn resolve(host: &str, port: u16, deadline: Deadline) -> Result<Vec<SocketAddr>, ConnectError> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let (sender, receiver) = mpsc::channel();
    let name = host.to_owned();
    thread::spawn(move || {
        sender.send((name.as_str(), port).to_socket_addrs().map(Iterator::collect::<Vec<_>>))
    });
    let answer = match deadline.remaining(host)? {
        Some(left) => receiver.recv_timeout(left).ok(),
        None => receiver.recv().ok(),
    };
    match answer {
        Some(Ok(addresses)) if !addresses.is_empty() => Ok(addresses),
        Some(Ok(_)) => {
            let source = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
            Err(ConnectError::Resolve { host: host.to_owned(), source })
        }
        Some(Err(source)) => Err(ConnectError::Resolve { host: host.to_owned(), source }),
        None => Err(deadline.passed(host)),
    }
}

fn connect_in_turn(
    host: &str,
    port: u16,
    addresses: &[SocketAddr],
    deadline: Deadline,
) -> Result<TcpStream, ConnectError> {
    let mut attempts = Vec::new();
    for (index, address) in addresses.iter().enumerate() {
        // An address that swallows packets must not eat the time of those behind it.
        let share = deadline
            .remaining(host)?
            .map(|left| left / u32::try_from(addresses.len() - index).unwrap_or(1).max(1));
        match connect_one(*address, share) {
            Ok(stream) => return Ok(stream),
            Err(error) => attempts.push((*address, error)),
        }
    }
    deadline.remaining(host)?;
    Err(ConnectError::Refused { host: host.to_owned(), port, attempts })
}

fn connect_parallel(
    host: &str,
    port: u16,
    addresses: &[SocketAddr],
    deadline: Deadline,
) -> Result<TcpStream, ConnectError> {
    let (sender, receiver) = mpsc::channel();
    let left = deadline.remaining(host)?;
    let tried = addresses.iter().take(PARALLEL_ATTEMPTS_MAX);
    for address in tried {
        let (sender, address) = (sender.clone(), *address);
        // A late winner finds the channel closed and is dropped, which closes its socket.
        thread::spawn(move || sender.send((address, connect_one(address, left))));
    }
    drop(sender);
    let mut attempts = Vec::new();
    for (address, result) in receiver {
        match result {
            Ok(stream) => return Ok(stream),
            Err(error) => attempts.push((address, error)),
        }
    }
    deadline.remaining(host)?;
    Err(ConnectError::Refused { host: host.to_owned(), port, attempts })
}

fn connect_one(address: SocketAddr, limit: Option<Duration>) -> io::Result<TcpStream> {
    match limit {
        Some(limit) => TcpStream::connect_timeout(&address, limit),
        None => TcpStream::connect(address),
    }
}
