//! The TDS 7.x handshake wrapper: TLS records as the payload of type-0x12 packets, until the handshake is over.
//!
//! Each flight goes out as one TDS message (tedious expects one reply message per message it sends), fragmented at the
//! 4096 bytes that hold before a packet size is agreed. After the handshake the shim passes bytes through; where only
//! the login is encrypted it does so one TLS record at a time, so that TLS can be left without swallowing clear bytes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tds::packet::{HEADER_LEN_BYTES, PacketHeader, PacketType};
use tds::packet_framer::PacketFramer;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Packet size before login (MS-TDS 2.2.3.1.3).
const PACKET_SIZE_BYTES: usize = 4096;
const TLS_RECORD_HEADER_LEN_BYTES: usize = 5;

/// A socket whose TLS handshake may be wrapped in TDS packets.
pub struct HandshakeShim<S> {
    socket: S,
    mode: Mode,
    /// Bytes of the header (TDS or TLS) that is being read.
    header: [u8; HEADER_LEN_BYTES],
    header_len: usize,
    /// How much of `header` has been handed on (TLS record headers are part of what rustls reads).
    header_given: usize,
    /// Payload bytes left in the packet or record that is being read.
    body_remaining: usize,
    /// TLS bytes of the flight that is being written, not yet framed.
    flight: Vec<u8>,
    /// Framed bytes on their way to the socket.
    outgoing: Vec<u8>,
    outgoing_sent: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// The payload of type-0x12 packets.
    Wrapped,
    /// Bare TLS, one record at a time: the caller may leave TLS after any record.
    RecordBound,
    /// Bare TLS to the end of the connection.
    Open,
}

impl<S> HandshakeShim<S> {
    /// A shim that wraps until [`pass_through`](Self::pass_through) is called.
    pub fn wrapped(socket: S) -> Self {
        Self::new(socket, Mode::Wrapped)
    }

    /// A shim that never wraps (TDS 8.0).
    pub fn bare(socket: S) -> Self {
        Self::new(socket, Mode::Open)
    }

    /// Ends the wrapped mode: the handshake is complete. With `record_bound` no byte beyond the TLS record that rustls
    /// is reading leaves the socket, so that TLS can be dropped after it.
    pub fn pass_through(&mut self, record_bound: bool) {
        self.mode = if record_bound { Mode::RecordBound } else { Mode::Open };
        self.header_len = 0;
        self.header_given = 0;
        self.body_remaining = 0;
    }

    /// The socket beneath.
    pub fn into_inner(self) -> S {
        self.socket
    }

    fn new(socket: S, mode: Mode) -> Self {
        HandshakeShim {
            socket,
            mode,
            header: [0; HEADER_LEN_BYTES],
            header_len: 0,
            header_given: 0,
            body_remaining: 0,
            flight: Vec::new(),
            outgoing: Vec::new(),
            outgoing_sent: 0,
        }
    }
}

impl<S: AsyncRead + Unpin> HandshakeShim<S> {
    /// Reads the rest of a header of `wanted` bytes; `false` at a clean end of stream.
    fn poll_header(&mut self, cx: &mut Context<'_>, wanted: usize) -> Poll<io::Result<bool>> {
        while self.header_len < wanted {
            let Some(space) = self.header.get_mut(self.header_len..wanted) else {
                return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
            };
            let mut buf = ReadBuf::new(space);
            ready!(Pin::new(&mut self.socket).poll_read(cx, &mut buf))?;
            match buf.filled().len() {
                0 if self.header_len == 0 => return Poll::Ready(Ok(false)),
                0 => return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
                read => self.header_len += read,
            }
        }
        Poll::Ready(Ok(true))
    }

    /// Copies body bytes to `buf`, at most what the current packet or record still holds.
    fn poll_body(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let wanted = self.body_remaining.min(buf.remaining());
        let mut limited = ReadBuf::new(buf.initialize_unfilled_to(wanted));
        ready!(Pin::new(&mut self.socket).poll_read(cx, &mut limited))?;
        let read = limited.filled().len();
        if read == 0 {
            return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
        }
        buf.advance(read);
        self.body_remaining -= read;
        if self.body_remaining == 0 {
            self.header_len = 0;
            self.header_given = 0;
        }
        Poll::Ready(Ok(()))
    }

    fn poll_read_wrapped(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        while self.body_remaining == 0 {
            if !ready!(self.poll_header(cx, HEADER_LEN_BYTES))? {
                return Poll::Ready(Ok(()));
            }
            let header = PacketHeader::parse(&self.header).map_err(invalid_data)?;
            if header.packet_type != PacketType::Prelogin {
                return Poll::Ready(Err(invalid_data("a TLS handshake packet must have type 0x12")));
            }
            self.body_remaining = usize::from(header.length).saturating_sub(HEADER_LEN_BYTES);
            self.header_len = 0;
        }
        self.poll_body(cx, buf)
    }

    fn poll_read_record(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.body_remaining == 0 {
            if !ready!(self.poll_header(cx, TLS_RECORD_HEADER_LEN_BYTES))? {
                return Poll::Ready(Ok(()));
            }
            let pending = self.header.get(self.header_given..TLS_RECORD_HEADER_LEN_BYTES).unwrap_or_default();
            let given = pending.len().min(buf.remaining());
            buf.put_slice(pending.get(..given).unwrap_or_default());
            self.header_given += given;
            if self.header_given == TLS_RECORD_HEADER_LEN_BYTES {
                let [_, _, _, high, low, ..] = self.header;
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

impl<S: AsyncRead + Unpin> AsyncRead for HandshakeShim<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let shim = self.get_mut();
        match shim.mode {
            Mode::Wrapped => shim.poll_read_wrapped(cx, buf),
            Mode::RecordBound => shim.poll_read_record(cx, buf),
            Mode::Open => Pin::new(&mut shim.socket).poll_read(cx, buf),
        }
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
            return Poll::Ready(Ok(bytes.len()));
        }
        ready!(shim.poll_drain(cx))?;
        Pin::new(&mut shim.socket).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shim = self.get_mut();
        if !shim.flight.is_empty() {
            let mut framer = PacketFramer::new(PacketType::Prelogin, PACKET_SIZE_BYTES, 0);
            framer.frame_into(&shim.flight, true, &mut shim.outgoing);
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
