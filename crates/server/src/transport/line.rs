//! The lowest byte stream: a socket, or a socket with a relay that delays and breaks it on purpose.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};

use databases::instance::counts::Counts;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, Interest, ReadBuf};
use tokio::net::TcpStream;

use crate::transport::relay;
use crate::transport::relay::LineControl;

/// Bytes between the relay and the connection in each direction.
const RELAYED_BYTES: usize = 256 << 10;

/// A connection's bytes.
pub(crate) enum Line {
    /// The socket.
    Socket(Socket),
    /// The server's end of a relay.
    Relayed(DuplexStream),
}

/// A socket that may be watched while nobody reads it. Its bytes are counted.
#[derive(Clone)]
pub(crate) struct Socket {
    stream: Arc<TcpStream>,
    counts: Arc<Counts>,
}

/// Notices that a connection is broken, also while its bytes are left unread. It does not keep the socket open.
pub(crate) struct Broken {
    socket: Weak<TcpStream>,
    control: Option<Arc<LineControl>>,
}

impl Line {
    /// Makes a line of a socket, with a relay if there is a control for one, and a watcher of its end.
    pub fn new(socket: TcpStream, counts: &Arc<Counts>, control: Option<Arc<LineControl>>) -> (Line, Broken) {
        let socket = Socket { stream: Arc::new(socket), counts: Arc::clone(counts) };
        let broken = Broken { socket: Arc::downgrade(&socket.stream), control: control.clone() };
        let line = match control {
            None => Line::Socket(socket),
            Some(control) => {
                let (near, far) = tokio::io::duplex(RELAYED_BYTES);
                tokio::spawn(relay::run(socket, far, control));
                Line::Relayed(near)
            }
        };
        (line, broken)
    }
}

impl Socket {
    /// Returns the socket itself.
    pub fn inner(&self) -> &TcpStream {
        &self.stream
    }
}

impl Broken {
    /// Waits until the client has reset the connection, or it has been cut; for ever if neither happens.
    pub async fn wait(&self) {
        let Some(socket) = self.socket.upgrade() else { return };
        let reset = async {
            if socket.ready(Interest::ERROR).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        match &self.control {
            None => reset.await,
            Some(control) => tokio::select! {
                () = reset => {}
                _ = control.cut_asked() => {}
            },
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.stream.poll_read_ready(cx))?;
            match self.stream.try_read(buf.initialize_unfilled()) {
                Ok(read) => {
                    buf.advance(read);
                    self.counts.bytes_received.add(read as u64);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.stream.poll_write_ready(cx))?;
            match self.stream.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => {
                    self.counts.bytes_sent.add(written.as_ref().map_or(0, |written| *written as u64));
                    return Poll::Ready(written);
                }
            }
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.stream.poll_write_ready(cx))?;
            match self.stream.try_write_vectored(slices) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => {
                    self.counts.bytes_sent.add(written.as_ref().map_or(0, |written| *written as u64));
                    return Poll::Ready(written);
                }
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(socket2::SockRef::from(&*self.stream).shutdown(std::net::Shutdown::Write))
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

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Line::Socket(socket) => Pin::new(socket).poll_write_vectored(cx, slices),
            Line::Relayed(near) => Pin::new(near).poll_write_vectored(cx, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        matches!(self, Line::Socket(_))
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
