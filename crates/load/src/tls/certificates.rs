//! Decides which certificates are accepted.

use std::{path::Path, sync::Arc};

use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    SupportedProtocolVersion,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
    version::{TLS12, TLS13},
};

use super::{ALPN, TlsError};

/// A certificate file larger than this is something else.
const FILE_LEN_MAX: u64 = 1 << 20;
const STRICT: &[&SupportedProtocolVersion] = &[&TLS13, &TLS12];
/// Under the wrapped handshake, a 1.3 server's session tickets would arrive after the client left wrapped mode.
const WRAPPED: &[&SupportedProtocolVersion] = &[&TLS12];

/// The certificates that the client trusts.
pub(super) enum Trust {
    /// Trusts these roots, for a certificate of this name.
    Roots { expected: ServerName<'static>, roots: RootCertStore },
    /// Trusts this certificate and no other, whatever its name and dates.
    Pinned(CertificateDer<'static>),
    /// Any certificate: the user has asked for this explicitly.
    Anything,
}

/// Describes the flaw of a certificate in words.
pub(super) fn reason(error: &CertificateError) -> String {
    let words = match error {
        // The verifier's own error has only its name for a text.
        CertificateError::Other(other) => match other.to_string() {
            name if name == "CaUsedAsEndEntity" => {
                "it is self-signed: the certificate of an authority in a server's place"
            }
            name => return name,
        },
        CertificateError::UnknownIssuer => {
            "it is self-signed, or of an issuer that this machine does not trust"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => "it is not valid yet",
        CertificateError::Revoked => "it was revoked",
        other => return other.to_string(),
    };
    words.to_owned()
}

/// Returns what helps against the flaw of a certificate that is not pinned.
pub(super) fn remedy(error: &CertificateError) -> &'static str {
    match error {
        CertificateError::NotValidForNameContext { presented, .. } if presented.is_empty() => {
            "it carries no name (subjectAltName), so pin it with ServerCertificate=file"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "say the name that it carries with HostNameInCertificate, or pin it with ServerCertificate=file"
        }
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => {
            "give the server a new one, or pin this one with ServerCertificate=file, whatever its dates"
        }
        CertificateError::Revoked => "give the server a new one",
        _ => "pin it with ServerCertificate=file",
    }
}

/// Reads the first certificate of a PEM file, or a DER file.
pub(super) fn from_file(path: &Path) -> Result<CertificateDer<'static>, TlsError> {
    let failed = |reason: String| TlsError::CertificateFile { path: path.to_owned(), reason };
    let length = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?.len();
    if length > FILE_LEN_MAX {
        return Err(failed(format!("{length} bytes is too long for a certificate")));
    }
    let bytes = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
    if bytes.first() == Some(&0x30) {
        return Ok(CertificateDer::from(bytes));
    }
    CertificateDer::from_pem_slice(&bytes)
        .map_err(|_| failed("holds no certificate, neither PEM nor DER".to_owned()))
}

pub(super) fn client_config(trust: Trust, strict: bool) -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let policy = match trust {
        Trust::Roots { expected, roots } => {
            let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
                .build()
                .map_err(|error| TlsError::NoRoots { reason: error.to_string() })?;
            Policy::Named { inner, expected }
        }
        Trust::Pinned(certificate) => Policy::Pinned(certificate),
        Trust::Anything => Policy::Anything,
    };
    let verifier = Arc::new(Verifier { policy, provider: Arc::clone(&provider) });
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(if strict { STRICT } else { WRAPPED })
        .map_err(TlsError::Handshake)?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    // A resumed session would not be verified again under other settings of the same process.
    config.resumption = rustls::client::Resumption::disabled();
    if strict {
        config.alpn_protocols = vec![ALPN.to_vec()];
    }
    Ok(config)
}

/// Returns the certificates that this machine trusts.
pub(super) fn system_roots() -> Result<RootCertStore, TlsError> {
    trust::system_roots().map_err(|error| TlsError::NoRoots { reason: error.reason })
}

/// The rule by which certificates are accepted. If one is examined, the handshake's signature proves that the peer
/// holds its key.
#[derive(Debug)]
enum Policy {
    /// Web PKI, for a name that need not be the host that was dialled (HostNameInCertificate).
    Named { inner: Arc<WebPkiServerVerifier>, expected: ServerName<'static> },
    /// Exactly this one.
    Pinned(CertificateDer<'static>),
    /// TrustServerCertificate=yes. The signature is not checked either. An attacker in between could present any
    /// certificate anyway, and the verifier refuses to parse some kinds of SQL Server's self-made ones.
    Anything,
}

#[derive(Debug)]
struct Verifier {
    policy: Policy,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _dialled: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match &self.policy {
            Policy::Named { inner, expected } => {
                inner.verify_server_cert(end_entity, intermediates, expected, ocsp_response, now)
            }
            Policy::Pinned(pinned) if end_entity.as_ref() != pinned.as_ref() => {
                Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
            }
            Policy::Pinned(_) | Policy::Anything => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match self.policy {
            Policy::Anything => Ok(HandshakeSignatureValid::assertion()),
            _ => verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match self.policy {
            Policy::Anything => Ok(HandshakeSignatureValid::assertion()),
            _ => verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
