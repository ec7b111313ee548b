//! TDS messages over a socket, in the clear or inside TLS.
//!
//! One thread owns a [`Transport`]; a [`Canceller`] on any other thread may put an attention between its messages. What
//! both need, the socket and the TLS state, is in [`Shared`]. The lock is held while bytes are written or decrypted,
//! never while waiting for the server.

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
use tds::packet::{PACKET_SIZE_INITIAL_BYTES, PacketType, Status};

pub use cancel::Canceller;
pub(crate) use incoming::Incoming;
pub(crate) use outgoing::Outgoing;

use crate::error::Error;

/// What the connection is doing, as far as an attention is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Phase {
    /// No request under way.
    Idle = 0,
    /// A request is being written.
    Sending = 1,
    /// The answer is awaited or being read.
    Receiving = 2,
    /// An attention is out; its acknowledgement ends the answer.
    Attention = 3,
}

/// The parts of a connection that a canceller touches.
#[derive(Debug)]
pub(crate) struct Shared {
    tcp: TcpStream,
    link: Mutex<Link>,
    phase: AtomicU8,
    cancel_requested: AtomicBool,
    bytes_sent: AtomicU64,
    bytes_received: AtomicU64,
}

/// How packets travel.
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
    packet_size_bytes: usize,
    /// When the time for the current request is over.
    deadline: Option<Instant>,
    /// Whether the socket has a read time-out set, so that it is not set again for every read.
    timed: bool,
}

impl Transport {
    /// Wraps a connected socket; the packet size is the initial 4096 bytes.
    pub(crate) fn new(tcp: TcpStream) -> Self {
        let shared = Shared {
            tcp,
            link: Mutex::new(Link::Clear),
            phase: AtomicU8::new(Phase::Idle as u8),
            cancel_requested: AtomicBool::new(false),
            bytes_sent: AtomicU64::new(0),
            bytes_received: AtomicU64::new(0),
        };
        Self {
            shared: Arc::new(shared),
            incoming: Incoming::default(),
            packet_size_bytes: PACKET_SIZE_INITIAL_BYTES,
            deadline: None,
            timed: false,
        }
    }

    /// The socket, for a TLS handshake on it.
    pub(crate) fn socket(&self) -> &TcpStream {
        &self.shared.tcp
    }

    /// Puts everything that follows inside TLS.
    pub(crate) fn start_tls(&mut self, connection: ClientConnection) {
        *self.shared.lock() = Link::Tls(Box::new(connection));
    }

    /// Login-only encryption: everything that follows is clear again. No TLS record may be outstanding; the server sends
    /// none between its last handshake flight and the clear login response.
    pub(crate) fn stop_tls(&mut self) {
        *self.shared.lock() = Link::Clear;
    }

    /// Whether packets travel inside TLS.
    pub(crate) fn is_tls(&self) -> bool {
        matches!(*self.shared.lock(), Link::Tls(_))
    }

    /// Size of the packets to send, header included.
    pub(crate) fn packet_size_bytes(&self) -> usize {
        self.packet_size_bytes
    }

    /// Takes the size that the server granted.
    pub(crate) fn set_packet_size_bytes(&mut self, bytes: usize) {
        self.packet_size_bytes = bytes;
    }

    /// Limits the wait for the server from now on; `None` lifts the limit.
    pub(crate) fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// A handle that can interrupt the current request.
    pub(crate) fn canceller(&self) -> Canceller {
        Canceller::new(Arc::clone(&self.shared))
    }

    /// Bytes written to and read from the socket so far: packets and, with TLS, the records around them.
    pub(crate) fn bytes_on_wire(&self) -> (u64, u64) {
        (self.shared.bytes_sent.load(Ordering::Relaxed), self.shared.bytes_received.load(Ordering::Relaxed))
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
        self.shared.set_phase(Phase::Sending);
        Outgoing::new(packet_type, self.packet_size_bytes, status)
    }

    /// Sends an attention after the current request, unless one is out already.
    pub(crate) fn send_attention(&mut self) -> Result<(), Error> {
        if self.shared.phase() == Phase::Attention {
            return Ok(());
        }
        let mut link = self.shared.lock();
        cancel::send_attention(&self.shared, &mut link)
            .map_err(|source| Error::io("sending an attention", source))
    }

    /// Receives at least one packet of the answer and appends the payloads of all packets at hand to `payload`. True
    /// when the message is complete. `doing` names the wait in errors.
    pub(crate) fn receive(&mut self, payload: &mut Vec<u8>, doing: &'static str) -> Result<bool, Error> {
        loop {
            if let Some(complete) =
                self.incoming.unpack(payload).map_err(|error| Error::protocol("packet header", error))?
            {
                return Ok(complete);
            }
            self.fill(doing)?;
        }
    }

    /// True once bytes of an answer are here; never waits. Used while a message is still being written.
    pub(crate) fn answer_pending(&mut self) -> Result<bool, Error> {
        let doing = "looking for an early answer";
        self.shared.tcp.set_nonblocking(true).map_err(|source| Error::io(doing, source))?;
        let looked = self.incoming.fill(&self.shared);
        self.shared.tcp.set_nonblocking(false).map_err(|source| Error::io(doing, source))?;
        match looked {
            Ok(0) => Err(Error::closed(doing)),
            Ok(_) => Ok(!self.incoming.is_empty()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(!self.incoming.is_empty()),
            Err(error) => Err(Error::io(doing, error)),
        }
    }

    /// The request is over; the next one may start.
    pub(crate) fn finish_request(&mut self) {
        self.shared.set_phase(Phase::Idle);
    }

    /// Whether an attention is out.
    pub(crate) fn attention_sent(&self) -> bool {
        self.shared.phase() == Phase::Attention
    }

    /// Whether a canceller wants the message that is being written to end.
    pub(crate) fn cancel_requested(&self) -> bool {
        self.shared.cancel_requested.load(Ordering::SeqCst)
    }

    /// Writes clear bytes to the socket or through TLS, gathered from slices.
    fn write(&mut self, slices: &mut [io::IoSlice<'_>]) -> io::Result<()> {
        let mut link = self.shared.lock();
        link.write(&self.shared, slices)
    }

    fn fill(&mut self, doing: &'static str) -> Result<(), Error> {
        self.arm(doing)?;
        match self.incoming.fill(&self.shared) {
            Ok(0) => Err(Error::closed(doing)),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                Err(Error::TimedOut { doing })
            }
            Err(error) => Err(Error::io(doing, error)),
        }
    }

    /// Gives the socket the time that is left.
    fn arm(&mut self, doing: &'static str) -> Result<(), Error> {
        let left = match self.deadline {
            None if !self.timed => return Ok(()),
            None => None,
            Some(at) => Some(at.saturating_duration_since(Instant::now())),
        };
        if left == Some(Duration::ZERO) {
            return Err(Error::TimedOut { doing });
        }
        self.timed = left.is_some();
        self.shared.tcp.set_read_timeout(left).map_err(|source| Error::io(doing, source))
    }
}

impl Drop for Transport {
    /// A canceller may outlive the connection, but must not keep it open.
    fn drop(&mut self) {
        // It may be closed already.
        let _ = self.shared.tcp.shutdown(std::net::Shutdown::Both);
    }
}

impl Shared {
    /// A poisoned lock means that another thread panicked between two writes; the connection's own checks will find
    /// what it left behind.
    fn lock(&self) -> MutexGuard<'_, Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn phase(&self) -> Phase {
        match self.phase.load(Ordering::SeqCst) {
            1 => Phase::Sending,
            2 => Phase::Receiving,
            3 => Phase::Attention,
            _ => Phase::Idle,
        }
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
                write_all_vectored(&shared.tcp, slices)?;
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
    while connection.wants_write() {
        let written = connection.write_tls(&mut &shared.tcp)?;
        shared.bytes_sent.fetch_add(written as u64, Ordering::Relaxed);
    }
    Ok(())
}

fn write_all_vectored(mut tcp: &TcpStream, mut slices: &mut [io::IoSlice<'_>]) -> io::Result<()> {
    io::IoSlice::advance_slices(&mut slices, 0);
    while !slices.is_empty() {
        match tcp.write_vectored(slices) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => io::IoSlice::advance_slices(&mut slices, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads once from the socket, counting.
fn read_socket(shared: &Shared, into: &mut [u8]) -> io::Result<usize> {
    let read = (&shared.tcp).read(into)?;
    shared.bytes_received.fetch_add(read as u64, Ordering::Relaxed);
    Ok(read)
}
