//! The certificates that this machine trusts, read once, for every connection over TLS.

use std::sync::{Arc, OnceLock};

use rustls::RootCertStore;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// No certificate is trusted here, so an impostor would look like anybody else.
#[derive(Debug, Clone, thiserror::Error)]
#[error(
    "this system trusts no certificate ({reason}); install its package ca-certificates, or name a file of them by SSL_CERT_FILE"
)]
pub struct NothingTrusted {
    /// The message of the loader.
    pub reason: String,
}

/// Returns the certificates of this system's store, or of the file and the directory that `SSL_CERT_FILE` and
/// `SSL_CERT_DIR` name.
///
/// # Errors
/// [`NothingTrusted`] if there is none.
pub fn system_certificates() -> Result<&'static [CertificateDer<'static>], NothingTrusted> {
    static FOUND: OnceLock<Result<Vec<CertificateDer<'static>>, NothingTrusted>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let loaded = rustls_native_certs::load_native_certs();
        if loaded.certs.is_empty() {
            let first = loaded.errors.first();
            let reason = first.map_or_else(|| "its store is empty".to_owned(), ToString::to_string);
            return Err(NothingTrusted { reason });
        }
        Ok(loaded.certs)
    });
    found.as_deref().map_err(NothingTrusted::clone)
}

/// Returns these certificates as roots for rustls. One that rustls cannot parse is left out.
///
/// # Errors
/// [`NothingTrusted`] if none is left.
pub fn system_roots() -> Result<RootCertStore, NothingTrusted> {
    let mut roots = RootCertStore::empty();
    let (_, unreadable) = roots.add_parsable_certificates(system_certificates()?.iter().cloned());
    if roots.is_empty() {
        let reason = format!("none of its {unreadable} certificates can be read");
        return Err(NothingTrusted { reason });
    }
    Ok(roots)
}

/// Configures TLS by ring for requests to `url`, which trusts the system and `further` certificates.
///
/// # Errors
/// [`NothingTrusted`] if the URL is of HTTPS and nothing is trusted.
pub fn for_requests(url: &str, further: Vec<Certificate<'static>>) -> Result<TlsConfig, NothingTrusted> {
    let system = match system_certificates() {
        Ok(found) => found,
        Err(error) if further.is_empty() && is_https(url) => return Err(error),
        Err(_) => &[],
    };
    let roots = system.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).chain(further);
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::from(roots))
        .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
        .build())
}

fn is_https(url: &str) -> bool {
    url.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"))
}
