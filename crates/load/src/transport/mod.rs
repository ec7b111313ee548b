//! TDS messages over a socket, in the clear or inside TLS.
//!
//! One thread owns a [`Transport`]; a [`Canceller`] on any other thread may put an attention between its messages. Both use
//! [`Shared`], which has the socket and the TLS state. The lock is held while bytes are written or decrypted, never while waiting
//! for the server.

mod ahead;
mod cancel;
mod incoming;
mod outgoing;
#[cfg(test)]
mod tests;

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use rustls::ClientConnection;
use tds::{
    conversation::client::{PacketSize, Phase},
    packet::{PacketType, Status},
};

pub use cancel::Canceller;
pub(crate) use incoming::Incoming;
pub(crate) use outgoing::Outgoing;

use crate::error::Error;

/// The parts of a connection that a canceller touches.
#[derive(Debug)]
pub(crate) struct Shared {
    tcp: TcpStream,
    link: Mutex<Link>,
    phase: AtomicU8,
    cancel_requested: AtomicBool,
    waits: Mutex<Waits>,
    bytes_sent: AtomicU64,
    bytes_received: AtomicU64,
    /// Processor time of the threads that received ahead.
    ahead_cpu_nanos: AtomicU64,
}

/// The time at which a cancellation was requested, and the time that the server may take.
#[derive(Debug, Clone, Copy)]
struct Waits {
    cancel_asked: Option<Instant>,
    attention_sent: Option<Instant>,
    /// The longest time in which the server may take no byte of a message.
    silence: Option<Duration>,
    /// The longest time to acknowledge an attention.
    patience: Duration,
}

/// The channel of the packets: a plain socket or TLS.
#[derive(Debug)]
pub(crate) enum Link {
    /// As they are.
    Clear,
    /// Inside TLS records.
    Tls(Box<ClientConnection>),
}

/// A connection that carries TDS messages.
#[derive(Debug)]
pub(crate) struct Transport {
    shared: Arc<Shared>,
    incoming: Incoming,
    packet_size: PacketSize,
    /// The deadline of the current request.
    deadline: Option<Instant>,
    /// The socket's read time-out, so that it is not set again for every read.
    armed: Option<Duration>,
}

/// The time to wait for the acknowledgement of an attention before the connection is given up.
const ATTENTION_PATIENCE: Duration = Duration::from_secs(5);
/// Waits are cut in slices of this, between which deadlines and cancellers are heard.
const SLICE: Duration = Duration::from_millis(250);

impl Transport {
    /// Wraps a connected socket; the packet size is the initial 4096 bytes.
    pub(crate) fn new(tcp: TcpStream) -> Self {
        let shared = Shared {
            tcp,
            link: Mutex::new(Link::Clear),
            phase: AtomicU8::new(Phase::Idle as u8),
            cancel_requested: AtomicBool::new(false),
            waits: Mutex::new(Waits {
                cancel_asked: None,
                attention_sent: None,
                silence: None,
                patience: ATTENTION_PATIENCE,
            }),
            bytes_sent: AtomicU64::new(0),
            bytes_received: AtomicU64::new(0),
            ahead_cpu_nanos: AtomicU64::new(0),
        };
        Self {
            shared: Arc::new(shared),
            incoming: Incoming::default(),
            packet_size: PacketSize::default(),
            deadline: None,
            armed: None,
        }
    }

    /// Returns the socket, for a TLS handshake on it.
    pub(crate) fn socket(&self) -> &TcpStream {
        &self.shared.tcp
    }

    /// Puts everything that follows inside TLS.
    pub(crate) fn start_tls(&mut self, connection: ClientConnection) {
        *self.shared.lock() = Link::Tls(Box::new(connection));
    }

    /// Ends login-only encryption: everything that follows is clear again. No TLS record may be outstanding; the server
    /// sends none between its last handshake flight and the clear login response.
    pub(crate) fn stop_tls(&mut self) {
        *self.shared.lock() = Link::Clear;
    }

    /// Returns true if packets travel inside TLS.
    pub(crate) fn is_tls(&self) -> bool {
        matches!(*self.shared.lock(), Link::Tls(_))
    }

    /// Returns the size of the packets to send.
    pub(crate) fn packet_size(&mut self) -> &mut PacketSize {
        &mut self.packet_size
    }

    /// Limits reads and writes of the socket itself, for a TLS handshake on it.
    pub(crate) fn limit_socket(&mut self, left: Option<Duration>) -> io::Result<()> {
        self.armed = None;
        self.shared.tcp.set_read_timeout(left)?;
        self.shared.tcp.set_write_timeout(left)
    }

    /// Sets how long the server may be silent, and (within bounds) how long attentions may take.
    pub(crate) fn set_silence(&mut self, silence: Option<Duration>) -> io::Result<()> {
        let mut waits = self.shared.waits();
        waits.silence = silence;
        waits.patience = silence.map_or(ATTENTION_PATIENCE, |limit| limit.min(ATTENTION_PATIENCE));
        drop(waits);
        self.armed = None;
        self.shared.tcp.set_write_timeout(Some(SLICE))
    }

    /// Ends the connection at once, without another word to the server.
    pub(crate) fn shut_down(&self) {
        // It may be closed already.
        let _ = self.shared.tcp.shutdown(std::net::Shutdown::Both);
    }

    /// Limits the wait for the server from now on; `None` lifts the limit.
    pub(crate) fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// Returns a handle that can interrupt the current request.
    pub(crate) fn canceller(&self) -> Canceller {
        Canceller::new(Arc::clone(&self.shared))
    }

    /// Bytes written to and read from the socket so far: packets and, with TLS, the records around them.
    pub(crate) fn bytes_on_wire(&self) -> (u64, u64) {
        (self.shared.bytes_sent.load(Ordering::Relaxed), self.shared.bytes_received.load(Ordering::Relaxed))
    }

    /// Returns the processor time of separate threads that have received.
    pub(crate) fn helpers_cpu(&self) -> Duration {
        Duration::from_nanos(self.shared.ahead_cpu_nanos.load(Ordering::Relaxed))
    }

    /// Sends one whole message and expects an answer.
    pub(crate) fn send(
        &mut self,
        packet_type: PacketType,
        status: Status,
        payload: &[u8],
    ) -> Result<(), Error> {
        let mut message = self.begin(packet_type, status);
        message.finish(self, payload)
    }

    /// Starts a message that is written piece by piece.
    pub(crate) fn begin(&mut self, packet_type: PacketType, status: Status) -> Outgoing {
        self.shared.cancel_requested.store(false, Ordering::SeqCst);
        let mut waits = self.shared.waits();
        (waits.cancel_asked, waits.attention_sent) = (None, None);
        drop(waits);
        self.shared.set_phase(Phase::Sending);
        Outgoing::new(packet_type, self.packet_size.bytes(), status)
    }

    /// Sends an attention after the current request, unless one is out already.
    pub(crate) fn send_attention(&mut self) -> Result<(), Error> {
        if self.shared.phase() == Phase::Attention {
            return Ok(());
        }
        let mut link = self.shared.lock();
        cancel::send_attention(&self.shared, &mut link)
            .map_err(|source| Error::sending("sending an attention", source))
    }

    /// Receives at least one packet of the answer and appends the payloads of all packets at hand to `payload`. True
    /// when the message is complete. `doing` names the wait in errors.
    pub(crate) fn receive(&mut self, payload: &mut Vec<u8>, doing: &'static str) -> Result<bool, Error> {
        loop {
            if let Some(complete) =
                self.incoming.unpack(payload).map_err(|error| Error::conversation(doing, error))?
            {
                // A server that never named its packet size shows it in answers of several packets.
                if let Some(bytes) = self.incoming.packet_size_bytes() {
                    self.packet_size.limit(bytes);
                }
                return Ok(complete);
            }
            self.fill(doing)?;
        }
    }

    /// Returns the bytes that were received and do not belong to a packet yet.
    pub(crate) fn unread(&self) -> &[u8] {
        self.incoming.unread()
    }

    /// Returns true once bytes of an answer are here; never waits. Used while a message is still being written.
    pub(crate) fn answer_pending(&mut self) -> Result<bool, Error> {
        let doing = "looking for an early answer";
        self.shared.tcp.set_nonblocking(true).map_err(|source| Error::io(doing, source))?;
        let looked = self.incoming.fill(&self.shared, Duration::ZERO);
        self.shared.tcp.set_nonblocking(false).map_err(|source| Error::io(doing, source))?;
        match looked {
            Ok(0) => Err(Error::closed(doing)),
            Ok(_) => Ok(!self.incoming.is_empty()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(!self.incoming.is_empty()),
            Err(error) => Err(Error::io(doing, error)),
        }
    }

    /// Ends the request, so that the next one may start.
    pub(crate) fn finish_request(&mut self) {
        self.shared.set_phase(Phase::Idle);
    }

    /// Returns true if an attention was sent and is not acknowledged.
    pub(crate) fn attention_sent(&self) -> bool {
        self.shared.phase() == Phase::Attention
    }

    /// Returns true if a canceller wants the message that is being written to end.
    pub(crate) fn cancel_requested(&self) -> bool {
        self.shared.cancel_requested.load(Ordering::SeqCst)
    }

    /// Writes clear bytes to the socket or through TLS, gathered from slices.
    fn write(&mut self, slices: &mut [io::IoSlice<'_>]) -> io::Result<()> {
        let mut link = self.shared.lock();
        link.write(&self.shared, slices)
    }

    fn fill(&mut self, doing: &'static str) -> Result<(), Error> {
        use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
        loop {
            let patience = self.arm(doing)?;
            match self.incoming.fill(&self.shared, patience) {
                Ok(0) => return Err(Error::closed(doing)),
                Ok(_) => return Ok(()),
                // The end of the time is noticed when the next slice is armed.
                Err(error) if matches!(error.kind(), Interrupted | WouldBlock | TimedOut) => {}
                Err(error) => return Err(Error::io(doing, error)),
            }
        }
    }

    /// Gives the socket a slice of the time that is left, and returns it.
    fn arm(&mut self, doing: &'static str) -> Result<Duration, Error> {
        let attention_ends = self.shared.waits().attention_ends();
        let ends = self.deadline.into_iter().chain(attention_ends).min();
        let left = ends.map_or(SLICE, |at| at.saturating_duration_since(Instant::now()).min(SLICE));
        if left.is_zero() {
            return Err(Error::TimedOut { doing });
        }
        if self.armed != Some(left) {
            self.armed = Some(left);
            self.shared.tcp.set_read_timeout(Some(left)).map_err(|source| Error::io(doing, source))?;
        }
        Ok(left)
    }
}

impl Drop for Transport {
    /// Closes the socket: a canceller may outlive the connection, but must not keep it open.
    fn drop(&mut self) {
        self.shut_down();
    }
}

impl Waits {
    fn attention_ends(&self) -> Option<Instant> {
        self.attention_sent?.checked_add(self.patience)
    }

    /// Returns true if a write that made no progress since `since` should be given up.
    fn is_over(&self, since: Instant) -> bool {
        self.silence.is_some_and(|silence| since.elapsed() >= silence)
            || self.cancel_asked.is_some_and(|asked| asked.elapsed() >= self.patience)
    }
}

impl Shared {
    /// Locks the link. A poisoned lock means that another thread panicked between two writes; the connection's own
    /// checks will find what it left behind.
    fn lock(&self) -> MutexGuard<'_, Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waits(&self) -> MutexGuard<'_, Waits> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn phase(&self) -> Phase {
        Phase::from_number(self.phase.load(Ordering::SeqCst))
    }

    fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::SeqCst);
    }
}

impl Link {
    /// Writes all of the slices. Inside TLS, one call is one packet and becomes one record.
    fn write(&mut self, shared: &Shared, slices: &mut [io::IoSlice<'_>]) -> io::Result<()> {
        match self {
            Self::Clear => {
                let length: usize = slices.iter().map(|slice| slice.len()).sum();
                write_all_vectored(shared, slices)?;
                shared.bytes_sent.fetch_add(length as u64, Ordering::Relaxed);
                Ok(())
            }
            Self::Tls(connection) => {
                let mut rest = slices;
                while !rest.is_empty() {
                    let taken = connection.writer().write_vectored(rest)?;
                    io::IoSlice::advance_slices(&mut rest, taken);
                    flush_tls(connection, shared)?;
                }
                Ok(())
            }
        }
    }
}

/// Writes the records that TLS has ready.
fn flush_tls(connection: &mut ClientConnection, shared: &Shared) -> io::Result<()> {
    let mut since = Instant::now();
    while connection.wants_write() {
        match connection.write_tls(&mut &shared.tcp) {
            Ok(written) => {
                shared.bytes_sent.fetch_add(written as u64, Ordering::Relaxed);
                since = Instant::now();
            }
            Err(error) => wait_on(shared, since, error)?,
        }
    }
    Ok(())
}

fn write_all_vectored(shared: &Shared, mut slices: &mut [io::IoSlice<'_>]) -> io::Result<()> {
    io::IoSlice::advance_slices(&mut slices, 0);
    let mut since = Instant::now();
    while !slices.is_empty() {
        match (&shared.tcp).write_vectored(slices) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                io::IoSlice::advance_slices(&mut slices, written);
                since = Instant::now();
            }
            Err(error) => wait_on(shared, since, error)?,
        }
    }
    Ok(())
}

/// Returns an error if no time is left, after a write that a slice of time ended.
fn wait_on(shared: &Shared, since: Instant, error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::Interrupted => Ok(()),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut if !shared.waits().is_over(since) => Ok(()),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Err(io::ErrorKind::TimedOut.into()),
        _ => Err(error),
    }
}

/// Reads once from the socket, counting.
fn read_socket(shared: &Shared, into: &mut [u8]) -> io::Result<usize> {
    let read = (&shared.tcp).read(into)?;
    shared.bytes_received.fetch_add(read as u64, Ordering::Relaxed);
    Ok(read)
}
