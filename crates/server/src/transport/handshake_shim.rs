//! The TDS 7.x handshake wrapper: TLS records as the payload of type-0x12 packets, until the handshake is over.
//!
//! Each flight goes out as one TDS message (tedious expects one reply message per message it sends), fragmented at
//! the 4096 bytes that hold before a packet size is agreed. After the handshake the shim passes bytes through. If
//! only the login is encrypted, it passes one TLS record at a time, so that it swallows no clear bytes when TLS ends.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use sign_in::channel_binding::Flights;
use tds::conversation::wrapped_tls::{Sender, Unwrapper, wrap_flight};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

const TLS_RECORD_HEADER_LEN_BYTES: usize = 5;

/// A socket whose TLS handshake may be wrapped in TDS packets.
pub struct HandshakeShim<S> {
    socket: S,
    mode: Mode,
    unwrapper: Unwrapper,
    /// Bytes of the header of the TLS record that is being read.
    header: [u8; TLS_RECORD_HEADER_LEN_BYTES],
    header_len: usize,
    /// The bytes of `header` that were passed on; record headers are part of what rustls reads.
    header_given: usize,
    /// Bytes left in the record that is being read.
    body_remaining: usize,
    /// TLS bytes of the flight that is being written, not yet framed.
    flight: Vec<u8>,
    /// Framed bytes on their way to the socket.
    outgoing: Vec<u8>,
    outgoing_sent: usize,
    /// The handshake bytes of both ends, while they are wanted.
    flights: Option<Flights>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// The payload of type-0x12 packets.
    Wrapped,
    /// Plain TLS, one record at a time: the caller may leave TLS after any record.
    RecordBound,
    /// Plain TLS to the end of the connection.
    Open,
}

impl<S> HandshakeShim<S> {
    /// Makes a shim that wraps until [`pass_through`](Self::pass_through) is called.
    pub fn wrapped(socket: S) -> Self {
        Self::new(socket, Mode::Wrapped)
    }

    /// Makes a shim that never wraps (TDS 8.0).
    pub fn bare(socket: S) -> Self {
        Self::new(socket, Mode::Open)
    }

    /// Ends the wrapped mode: the handshake is complete. With `record_bound` no byte beyond the TLS record that
    /// rustls is reading leaves the socket, so that TLS can be dropped there.
    pub fn pass_through(&mut self, record_bound: bool) {
        self.mode = if record_bound { Mode::RecordBound } else { Mode::Open };
    }

    /// Keeps what both ends send, until it is [taken](Self::take_flights).
    pub fn keep_flights(&mut self) {
        self.flights = Some(Flights::default());
    }

    /// Takes the bytes of TLS that both ends have sent, and keeps no more.
    pub fn take_flights(&mut self) -> Option<Flights> {
        self.flights.take()
    }

    /// Returns the socket beneath.
    pub fn into_inner(self) -> S {
        self.socket
    }

    fn new(socket: S, mode: Mode) -> Self {
        HandshakeShim {
            socket,
            mode,
            unwrapper: Unwrapper::new(Sender::Client),
            header: [0; TLS_RECORD_HEADER_LEN_BYTES],
            header_len: 0,
            header_given: 0,
            body_remaining: 0,
            flight: Vec::new(),
            outgoing: Vec::new(),
            outgoing_sent: 0,
            flights: None,
        }
    }
}

impl<S: AsyncRead + Unpin> HandshakeShim<S> {
    /// Reads the rest of a record's header; `false` at a clean end of stream.
    fn poll_header(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        while let Some(space) = self.header.get_mut(self.header_len..).filter(|space| !space.is_empty()) {
            match ready!(poll_some(&mut self.socket, cx, space))? {
                0 if self.header_len == 0 => return Poll::Ready(Ok(false)),
                0 => return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
                read => self.header_len += read,
            }
        }
        Poll::Ready(Ok(true))
    }

    /// Copies bytes of a record to `buf`, at most what it still holds.
    fn poll_body(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.body_remaining -= ready!(poll_limited(&mut self.socket, cx, buf, self.body_remaining))?;
        if self.body_remaining == 0 {
            self.header_len = 0;
            self.header_given = 0;
        }
        Poll::Ready(Ok(()))
    }

    fn poll_read_wrapped(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            let inside = self.unwrapper.is_inside_packet();
            let Some(space) = self.unwrapper.header_room() else { break };
            match ready!(poll_some(&mut self.socket, cx, space))? {
                0 if !inside => return Poll::Ready(Ok(())),
                0 => return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
                read => self.unwrapper.header_read(read).map_err(invalid_data)?,
            }
        }
        let read = ready!(poll_limited(&mut self.socket, cx, buf, self.unwrapper.payload_left()))?;
        self.unwrapper.payload_read(read);
        Poll::Ready(Ok(()))
    }

    fn poll_read_record(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.body_remaining == 0 {
            if !ready!(self.poll_header(cx))? {
                return Poll::Ready(Ok(()));
            }
            let pending = self.header.get(self.header_given..).unwrap_or_default();
            let given = pending.len().min(buf.remaining());
            buf.put_slice(pending.get(..given).unwrap_or_default());
            self.header_given += given;
            if self.header_given == TLS_RECORD_HEADER_LEN_BYTES {
                let [_, _, _, high, low] = self.header;
                self.body_remaining = usize::from(u16::from_be_bytes([high, low]));
                if self.body_remaining == 0 {
                    self.header_len = 0;
                    self.header_given = 0;
                }
            }
            return Poll::Ready(Ok(()));
        }
        self.poll_body(cx, buf)
    }
}

/// Reads once into `space`.
fn poll_some<S: AsyncRead + Unpin>(
    socket: &mut S,
    cx: &mut Context<'_>,
    space: &mut [u8],
) -> Poll<io::Result<usize>> {
    let mut buf = ReadBuf::new(space);
    ready!(Pin::new(socket).poll_read(cx, &mut buf))?;
    Poll::Ready(Ok(buf.filled().len()))
}

/// Reads at most `limit` bytes, but not the end of the stream.
fn poll_limited<S: AsyncRead + Unpin>(
    socket: &mut S,
    cx: &mut Context<'_>,
    buf: &mut ReadBuf<'_>,
    limit: usize,
) -> Poll<io::Result<usize>> {
    let wanted = limit.min(buf.remaining());
    let read = ready!(poll_some(socket, cx, buf.initialize_unfilled_to(wanted)))?;
    if read == 0 {
        return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
    }
    buf.advance(read);
    Poll::Ready(Ok(read))
}

impl<S: AsyncRead + Unpin> AsyncRead for HandshakeShim<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let shim = self.get_mut();
        let before = buf.filled().len();
        ready!(match shim.mode {
            Mode::Wrapped => shim.poll_read_wrapped(cx, buf),
            Mode::RecordBound => shim.poll_read_record(cx, buf),
            Mode::Open => Pin::new(&mut shim.socket).poll_read(cx, buf),
        })?;
        if let Some(flights) = &mut shim.flights {
            flights.client_sent(buf.filled().get(before..).unwrap_or_default());
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> HandshakeShim<S> {
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(pending) = self.outgoing.get(self.outgoing_sent..).filter(|bytes| !bytes.is_empty()) {
            let sent = ready!(Pin::new(&mut self.socket).poll_write(cx, pending))?;
            if sent == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.outgoing_sent += sent;
        }
        self.outgoing.clear();
        self.outgoing_sent = 0;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for HandshakeShim<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let shim = self.get_mut();
        if shim.mode == Mode::Wrapped {
            shim.flight.extend_from_slice(bytes);
            if let Some(flights) = &mut shim.flights {
                flights.server_sent(bytes);
            }
            return Poll::Ready(Ok(bytes.len()));
        }
        ready!(shim.poll_drain(cx))?;
        let sent = ready!(Pin::new(&mut shim.socket).poll_write(cx, bytes))?;
        if let Some(flights) = &mut shim.flights {
            flights.server_sent(bytes.get(..sent).unwrap_or_default());
        }
        Poll::Ready(Ok(sent))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shim = self.get_mut();
        if !shim.flight.is_empty() {
            wrap_flight(&shim.flight, &mut shim.outgoing);
            shim.flight.clear();
        }
        ready!(shim.poll_drain(cx))?;
        Pin::new(&mut shim.socket).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shim = self.get_mut();
        ready!(shim.poll_drain(cx))?;
        Pin::new(&mut shim.socket).poll_shutdown(cx)
    }
}

fn invalid_data(reason: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason.to_string())
}
