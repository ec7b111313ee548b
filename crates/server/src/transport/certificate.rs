//! The server's certificate: read from PEM files, or made for this process.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::server::NoServerSessionStorage;

/// ALPN protocol name of TDS 8.0 (MS-TDS 2.2.6.5).
const ALPN_TDS_8: &[u8] = b"tds/8.0";

/// The source of the certificate.
#[derive(Clone, Debug)]
pub enum CertificateSource {
    /// A new key and a certificate for `localhost` and the loopback addresses, gone when the process ends.
    SelfSigned,
    /// PEM files: a chain, leaf first, and its private key.
    Files {
        /// Path of the certificate chain.
        certificate: PathBuf,
        /// Path of the private key.
        key: PathBuf,
    },
}

/// An error in the certificate.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// A file is not valid PEM, or has no certificate or key.
    #[error("{}: {reason}", path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// A description of the mistake.
        reason: String,
    },
    /// Certificate and key do not make a TLS identity.
    #[error("certificate and key cannot be used: {0}")]
    Unusable(#[from] rustls::Error),
    /// A self-signed certificate could not be made.
    #[error("cannot make a self-signed certificate: {0}")]
    Generate(#[from] rcgen::Error),
}

/// TLS settings for both kinds of handshake, from one certificate.
pub struct TlsIdentity {
    wrapped: Arc<ServerConfig>,
    strict: Arc<ServerConfig>,
    certificate_pem: Option<String>,
}

impl TlsIdentity {
    /// Loads or makes the certificate.
    pub fn new(source: &CertificateSource) -> Result<TlsIdentity, CertificateError> {
        let (chain, key, certificate_pem) = match source {
            CertificateSource::SelfSigned => self_signed()?,
            CertificateSource::Files { certificate, key } => (read_chain(certificate)?, read_key(key)?, None),
        };
        let wrapped = server_config(&[&rustls::version::TLS12], chain.clone(), key.clone_key())?;
        let mut strict = server_config(&[&rustls::version::TLS12, &rustls::version::TLS13], chain, key)?;
        strict.alpn_protocols = vec![ALPN_TDS_8.to_vec()];
        Ok(TlsIdentity { wrapped: Arc::new(wrapped), strict: Arc::new(strict), certificate_pem })
    }

    /// Returns the self-signed certificate in PEM form, for clients that pin it; `None` if it came from a file.
    pub fn certificate_pem(&self) -> Option<&str> {
        self.certificate_pem.as_deref()
    }

    pub(super) fn wrapped(&self) -> &Arc<ServerConfig> {
        &self.wrapped
    }

    pub(super) fn strict(&self) -> &Arc<ServerConfig> {
        &self.strict
    }
}

type KeyMaterial = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>, Option<String>);

fn server_config(
    versions: &[&'static rustls::SupportedProtocolVersion],
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(versions)?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    // A resumed handshake ends with the client's flight, which some clients then send unwrapped.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(config)
}

fn self_signed() -> Result<KeyMaterial, CertificateError> {
    let names = ["localhost", "127.0.0.1", "::1"].map(String::from).to_vec();
    let made = rcgen::generate_simple_self_signed(names)?;
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    Ok((vec![made.cert.der().clone()], key, Some(made.cert.pem())))
}

fn read_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let bytes = read(path)?;
    let chain = CertificateDer::pem_slice_iter(&bytes)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| CertificateError::Pem { path: path.into(), reason: error.to_string() })?;
    if chain.is_empty() {
        return Err(CertificateError::Pem { path: path.into(), reason: "holds no certificate".into() });
    }
    Ok(chain)
}

fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, CertificateError> {
    PrivateKeyDer::from_pem_slice(&read(path)?)
        .map_err(|error| CertificateError::Pem { path: path.into(), reason: error.to_string() })
}

fn read(path: &Path) -> Result<Vec<u8>, CertificateError> {
    fs::read(path).map_err(|source| CertificateError::Read { path: path.into(), source })
}
