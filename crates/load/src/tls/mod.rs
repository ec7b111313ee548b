//! TLS for TDS: strict (TDS 8.0) and the wrapped handshake of TDS 7.x. Works on any `Read + Write`.
//!
//! In TDS 7.x the records of the handshake travel as the payload of PRELOGIN packets (MS-TDS 2.2.6.5, 3.2.5.2); afterwards TDS
//! packets travel inside plain TLS records. The handshake reads whole TDS packets only, so that it takes no byte that follows: in
//! login-only mode those bytes are clear text.

mod certificates;
mod recorder;
#[cfg(test)]
mod tests;
mod wrapped;

use std::{
    io::{self, Read, Write},
    path::PathBuf,
    sync::Arc,
};

use rustls::{ClientConfig, ClientConnection, RootCertStore, pki_types::ServerName};
use sign_in::MasterSecret;
use sign_in::channel_binding::Flights;
use tds::conversation::client::Tls;

use crate::config::{Config, Encrypt};
use certificates::Trust;
use recorder::Recorder;

/// The protocol name that TDS 8.0 negotiates (ALPN).
pub const ALPN: &[u8] = b"tds/8.0";

/// An error of a TLS handshake or its settings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The `ServerCertificate` file cannot be used.
    #[error("server certificate file {}: {reason}", path.display())]
    CertificateFile {
        /// The file.
        path: PathBuf,
        /// A description of the flaw.
        reason: String,
    },
    /// The system offers no root certificates.
    #[error(
        "no root certificates were found on this system ({reason}); name the server's certificate with ServerCertificate=file"
    )]
    NoRoots {
        /// The message of the loader.
        reason: String,
    },
    /// The name to verify is neither a host name nor an address.
    #[error("\"{name}\" is not a name that a certificate can carry; give HostNameInCertificate")]
    Name {
        /// The name.
        name: String,
    },
    /// The server's certificate was refused.
    #[error("the server's certificate is not accepted: {reason}; {hint}")]
    Certificate {
        /// The message of the verifier.
        reason: String,
        /// Advice for the user.
        hint: &'static str,
    },
    /// The handshake failed for another reason.
    #[error("TLS handshake failed: {0}")]
    Handshake(rustls::Error),
    /// A strict server did not agree to speak TDS 8.0.
    #[error(
        "the server does not speak TDS 8.0 (it did not select ALPN \"tds/8.0\"); Encrypt=Strict cannot be used with it"
    )]
    Alpn,
    /// The server did not answer in time.
    #[error("TLS handshake: the server did not answer in time (Connect Timeout)")]
    TimedOut,
    /// A handshake before the first byte of TDS failed.
    #[error(
        "{0}; Encrypt=Strict asks for TDS 8.0, which SQL Server speaks since 2022: say Encrypt=Mandatory to an older one"
    )]
    Strict(Box<TlsError>),
    /// The connection broke, or the server sent something else than TLS.
    #[error("TLS handshake: {0}")]
    Io(#[from] io::Error),
}

impl TlsError {
    /// Explains an error under `Strict`: an older server does not know TDS 8.0.
    fn in_strict(self) -> Self {
        match self {
            Self::Handshake(_) | Self::TimedOut | Self::Io(_) => Self::Strict(Box::new(self)),
            known => known,
        }
    }
}

/// The settings of a handshake. They are made once per configuration, so that roots are not loaded again for every
/// connection.
#[derive(Clone)]
pub struct TlsSettings {
    client: Arc<ClientConfig>,
    name: ServerName<'static>,
    pinned: bool,
}

impl TlsSettings {
    /// Settings for a connection to `host`; the certificate is checked as `config` says.
    pub fn new(config: &Config, host: &str) -> Result<Self, TlsError> {
        Self::with_roots(config, host, certificates::system_roots)
    }

    fn with_roots(
        config: &Config,
        host: &str,
        roots: impl FnOnce() -> Result<RootCertStore, TlsError>,
    ) -> Result<Self, TlsError> {
        let name = |name: &str| {
            // A wildcard in place of a host, as Azure's own texts have it: the certificate carries it for every label.
            let tried = name.strip_prefix("*.").map_or_else(|| name.to_owned(), |rest| format!("any.{rest}"));
            ServerName::try_from(tried).map_err(|_| TlsError::Name { name: name.to_owned() })
        };
        let strict = config.encrypt == Encrypt::Strict;
        let trust = match &config.server_certificate {
            Some(path) => Trust::Pinned(certificates::from_file(path)?),
            None if config.trust_server_certificate && !strict => Trust::Anything,
            None => Trust::Roots {
                expected: name(config.host_name_in_certificate.as_deref().unwrap_or(host))?,
                roots: roots()?,
            },
        };
        let pinned = matches!(trust, Trust::Pinned(_));
        let server_name = name(host).or_else(|error| match trust {
            // The name is only sent, never verified, so an odd one does not matter.
            Trust::Roots { .. } => Err(error),
            _ => name("sqlserver.invalid"),
        })?;
        Ok(Self { client: Arc::new(certificates::client_config(trust, strict)?), name: server_name, pinned })
    }

    /// Runs the handshake of TDS 8.0: TLS first, ALPN `tds/8.0`.
    pub fn handshake_strict<S: Read + Write>(&self, socket: &mut S) -> Result<ClientConnection, TlsError> {
        let mut connection = self.connection()?;
        self.finish_strict(&mut connection, socket)?;
        Ok(connection)
    }

    /// Runs the handshake of TDS 7.x inside PRELOGIN packets, TLS 1.2 at most.
    pub fn handshake_wrapped<S: Read + Write>(&self, socket: &mut S) -> Result<ClientConnection, TlsError> {
        let mut connection = self.connection()?;
        wrapped::handshake(&mut connection, socket, &mut Flights::default())
            .map_err(|error| self.explain(error))?;
        Ok(connection)
    }

    /// Runs either handshake, and returns the channel binding of its session: none under TLS 1.3.
    pub(crate) fn handshake_bound<S: Read + Write>(
        &self,
        tls: Tls,
        socket: &mut S,
    ) -> Result<(ClientConnection, Option<Vec<u8>>), TlsError> {
        let secret = Arc::new(MasterSecret::default());
        let mut config = ClientConfig::clone(&self.client);
        config.key_log = Arc::<MasterSecret>::clone(&secret);
        let mut connection =
            ClientConnection::new(Arc::new(config), self.name.clone()).map_err(TlsError::Handshake)?;
        let mut flights = Flights::default();
        match tls {
            Tls::First => {
                let mut recorder = Recorder { socket, flights: &mut flights };
                self.finish_strict(&mut connection, &mut recorder).map_err(TlsError::in_strict)?;
            }
            Tls::Wrapped => wrapped::handshake(&mut connection, socket, &mut flights)
                .map_err(|error| self.explain(error))?,
        }
        let binding = secret.binding(&connection, &flights);
        Ok((connection, binding))
    }

    fn finish_strict<S: Read + Write>(
        &self,
        connection: &mut ClientConnection,
        socket: &mut S,
    ) -> Result<(), TlsError> {
        while connection.is_handshaking() {
            connection.complete_io(socket).map_err(|error| self.explain(error))?;
        }
        match connection.alpn_protocol() {
            Some(ALPN) => Ok(()),
            _ => Err(TlsError::Alpn),
        }
    }

    fn connection(&self) -> Result<ClientConnection, TlsError> {
        ClientConnection::new(Arc::clone(&self.client), self.name.clone()).map_err(TlsError::Handshake)
    }

    /// Finds rustls's own error inside an I/O error.
    fn explain(&self, error: io::Error) -> TlsError {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            Some(rustls::Error::InvalidCertificate(reason)) => TlsError::Certificate {
                reason: certificates::reason(reason),
                hint: match self.pinned {
                    true => "it is not the one in the ServerCertificate file",
                    false => certificates::remedy(reason),
                },
            },
            Some(inner) => TlsError::Handshake(inner.clone()),
            None if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                TlsError::TimedOut
            }
            None => TlsError::Io(error),
        }
    }
}
