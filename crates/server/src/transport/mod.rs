//! Makes a byte stream for TDS packets from an accepted TCP connection. It has one of three forms (MS-TDS 3.3.5.1, MS-TDS
//! 2.2.6.5). One is a clear stream. In TDS 7.x the TLS handshake travels inside type-0x12 packets, and afterwards TDS packets
//! inside plain TLS records. In TDS 8.0 ("strict") TLS comes first and everything is inside it. A fourth state follows from the
//! second: login-only encryption drops TLS again once LOGIN7 has been read.

mod certificate;
mod handshake_shim;
mod line;
mod relay;

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use sign_in::MasterSecret;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::server::TlsStream;

pub use certificate::{CertificateError, CertificateSource, TlsIdentity};
use handshake_shim::HandshakeShim;
pub(crate) use line::{Broken, Line};
pub(crate) use relay::LineControl;

/// A session of TLS, and what binds a sign-in to it.
type Bound<T> = (T, Option<Vec<u8>>);

/// The byte stream under a connection, whatever protects it.
pub(crate) enum Transport {
    /// No TLS: `Encrypt=off` on both sides, or after a login-only handshake.
    Clear(Line),
    /// TLS records on the socket; TDS packets inside.
    Tls(Box<TlsStream<HandshakeShim<Line>>>),
}

impl Transport {
    /// Wraps the socket in TLS, with the handshake inside type-0x12 packets (TDS 7.x). TLS 1.2 at most: under 1.3 the
    /// server's session ticket would come after the client has left the wrapped mode.
    /// `login_only`: TLS will be left after LOGIN7. With `binds` the second value is what binds a sign-in to the session.
    pub async fn accept_wrapped(
        socket: Line,
        identity: &TlsIdentity,
        login_only: bool,
        binds: bool,
    ) -> io::Result<Bound<Transport>> {
        let shim = HandshakeShim::wrapped(socket);
        let (mut stream, binding) = Self::accept(shim, identity.wrapped(), binds).await?;
        stream.get_mut().0.pass_through(login_only);
        Ok((Transport::Tls(stream), binding))
    }

    /// Wraps the socket in TLS from the first byte, with ALPN `tds/8.0` (TDS 8.0, strict). With `binds` the second value is what
    /// binds a sign-in to the session, which that of TLS 1.3 does not have.
    pub async fn accept_strict(
        socket: Line,
        identity: &TlsIdentity,
        binds: bool,
    ) -> io::Result<Bound<Transport>> {
        let (stream, binding) = Self::accept(HandshakeShim::bare(socket), identity.strict(), binds).await?;
        Ok((Transport::Tls(stream), binding))
    }

    async fn accept(
        mut shim: HandshakeShim<Line>,
        config: &Arc<ServerConfig>,
        binds: bool,
    ) -> io::Result<Bound<Box<TlsStream<HandshakeShim<Line>>>>> {
        if !binds {
            let stream = TlsAcceptor::from(Arc::clone(config)).accept(shim).await?;
            return Ok((Box::new(stream), None));
        }
        let secret = Arc::new(MasterSecret::default());
        let mut config = ServerConfig::clone(config);
        config.key_log = Arc::<MasterSecret>::clone(&secret);
        shim.keep_flights();
        let mut stream = TlsAcceptor::from(Arc::new(config)).accept(shim).await?;
        let (shim, connection) = stream.get_mut();
        let flights = shim.take_flights();
        let binding = flights.and_then(|flights| secret.binding(connection, &flights));
        Ok((Box::new(stream), binding))
    }

    /// Drops TLS and continues in the clear on the same socket: the second half of login-only encryption. No byte after the last
    /// TLS record has been read, because the shim gives rustls one record at a time.
    pub fn into_clear(self) -> Transport {
        match self {
            Transport::Clear(socket) => Transport::Clear(socket),
            Transport::Tls(stream) => Transport::Clear(stream.into_inner().0.into_inner()),
        }
    }

    /// Returns true if bytes written now are encrypted.
    pub fn is_encrypted(&self) -> bool {
        matches!(self, Transport::Tls(_))
    }
}

impl AsyncRead for Transport {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Clear(socket) => Pin::new(socket).poll_read(cx, buf),
            Transport::Tls(stream) => Pin::new(stream.as_mut()).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Transport {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Transport::Clear(socket) => Pin::new(socket).poll_write(cx, bytes),
            Transport::Tls(stream) => Pin::new(stream.as_mut()).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Transport::Clear(socket) => Pin::new(socket).poll_write_vectored(cx, slices),
            Transport::Tls(stream) => Pin::new(stream.as_mut()).poll_write_vectored(cx, slices),
        }
    }

    /// Returns false for TLS, which copies the bytes that it encrypts and makes a record of each write.
    fn is_write_vectored(&self) -> bool {
        match self {
            Transport::Clear(socket) => socket.is_write_vectored(),
            Transport::Tls(_) => false,
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Clear(socket) => Pin::new(socket).poll_flush(cx),
            Transport::Tls(stream) => Pin::new(stream.as_mut()).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Clear(socket) => Pin::new(socket).poll_shutdown(cx),
            Transport::Tls(stream) => Pin::new(stream.as_mut()).poll_shutdown(cx),
        }
    }
}
