//! An application's certificate, and the assertion that its key signs.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::{self, PemObject, SectionKind};
use serde_json::json;
use sign_in::Secret;

use crate::error::EntraError;

/// Time for which an assertion holds.
const ASSERTION_TIME: Duration = Duration::from_secs(600);

/// A key, and the certificate that Entra knows.
#[derive(Debug)]
pub(crate) struct ClientCertificate {
    key: RsaKeyPair,
    certificate: Vec<u8>,
    shown: String,
}

impl ClientCertificate {
    /// Reads a PEM file that has both, in any order; further certificates may follow the first.
    pub(crate) fn read(file: &Path) -> Result<Self, EntraError> {
        let shown = file.display().to_string();
        let failed =
            |reason: &str| EntraError::Certificate { file: shown.clone(), reason: reason.to_owned() };
        let bytes = fs::read(file).map_err(|error| failed(&error.to_string()))?;
        let text = String::from_utf8_lossy(&bytes);
        if !text.contains("-----BEGIN ") {
            return Err(failed(
                "is no PEM file; of a PFX file `openssl pkcs12 -in app.pfx -nodes -out app.pem` makes one",
            ));
        }
        if text.contains("BEGIN ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED") {
            return Err(failed(
                "has an encrypted key; `openssl pkey -in app.pem` writes it in the clear, for a file that only you may read",
            ));
        }
        let certificate =
            pem_section(&bytes, SectionKind::Certificate).ok_or_else(|| failed("has no certificate"))?;
        let key = PrivateKeyDer::from_pem_slice(&bytes).map_err(|_| failed("has no private key"))?;
        let key = match &key {
            PrivateKeyDer::Pkcs8(key) => RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()),
            PrivateKeyDer::Pkcs1(key) => RsaKeyPair::from_der(key.secret_pkcs1_der()),
            _ => return Err(failed("has no RSA key, which Entra asks for")),
        };
        let key = key.map_err(|error| failed(&format!("has no RSA key of 2048 to 4096 bits: {error}")))?;
        Ok(Self { key, certificate, shown })
    }

    /// Signs a statement that this is the application `client`, for one token endpoint.
    pub(crate) fn assertion(&self, client: &str, audience: &str) -> Result<Secret, EntraError> {
        let failed =
            |reason: &str| EntraError::Certificate { file: self.shown.clone(), reason: reason.to_owned() };
        let random = SystemRandom::new();
        let mut id = [0_u8; 16];
        random.fill(&mut id).map_err(|_| failed("the system gives no random numbers"))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // SHA-1 names the certificate here, and protects nothing.
        let thumbprint = digest(&SHA1_FOR_LEGACY_USE_ONLY, &self.certificate);
        let header = json!({"alg": "RS256", "typ": "JWT", "x5t": URL_SAFE_NO_PAD.encode(thumbprint)});
        let claims = json!({
            "aud": audience,
            "iss": client,
            "sub": client,
            "jti": URL_SAFE_NO_PAD.encode(id),
            "nbf": now.as_secs(),
            "exp": (now + ASSERTION_TIME).as_secs(),
        });
        let encoded = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encoded(header), encoded(claims));
        let mut signature = vec![0; self.key.public().modulus_len()];
        self.key
            .sign(&RSA_PKCS1_SHA256, &random, signed.as_bytes(), &mut signature)
            .map_err(|_| failed("its key does not sign"))?;
        Ok(Secret::new(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))))
    }
}

/// Finds the first section of this kind.
pub(crate) fn pem_section(bytes: &[u8], kind: SectionKind) -> Option<Vec<u8>> {
    let mut rest = bytes;
    while let Ok(Some((found, der))) = pem::from_buf(&mut rest) {
        if found == kind {
            return Some(der);
        }
    }
    None
}
