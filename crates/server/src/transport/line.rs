//! The bytes under everything: a socket, or a socket behind a relay that delays and breaks it on purpose.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::net::TcpStream;

use crate::transport::relay;
use crate::transport::relay::LineControl;

/// Bytes between the relay and the connection in each direction.
const RELAYED_BYTES: usize = 256 << 10;

/// A connection's bytes.
pub(crate) enum Line {
    /// The socket.
    Socket(TcpStream),
    /// This end of a relay.
    Relayed(DuplexStream),
}

impl Line {
    /// Puts a relay before the socket.
    pub(crate) fn relayed(socket: TcpStream, control: Arc<LineControl>) -> Line {
        let (near, far) = tokio::io::duplex(RELAYED_BYTES);
        tokio::spawn(relay::run(socket, far, control));
        Line::Relayed(near)
    }
}

impl AsyncRead for Line {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Line::Socket(socket) => Pin::new(socket).poll_read(cx, buf),
            Line::Relayed(near) => Pin::new(near).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Line {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Line::Socket(socket) => Pin::new(socket).poll_write(cx, bytes),
            Line::Relayed(near) => Pin::new(near).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Line::Socket(socket) => Pin::new(socket).poll_flush(cx),
            Line::Relayed(near) => Pin::new(near).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Line::Socket(socket) => Pin::new(socket).poll_shutdown(cx),
            Line::Relayed(near) => Pin::new(near).poll_shutdown(cx),
        }
    }
}
