//! Public keys of an issuer: a PEM file or a JSON Web Key Set (RFC 7517).

use ring::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use rustls_pki_types::pem::{self, SectionKind};
use serde::Deserialize;

use super::decoded;

/// The first byte of a point of a curve that is written in full.
const UNCOMPRESSED: u8 = 0x04;
/// Bytes of a coordinate of the curve P-256.
const COORDINATE_BYTES: usize = 32;
/// Bytes of the smallest modulus that is taken.
const MODULUS_MIN_BYTES: usize = 256;
const MODULUS_MAX_BYTES: usize = 1024;

/// rsaEncryption, 1.2.840.113549.1.1.1
const RSA: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01];
/// id-ecPublicKey, 1.2.840.10045.2.1
const ELLIPTIC: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01];
/// prime256v1, 1.2.840.10045.3.1.7
const P256: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07];

/// Reason why a file gives no keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The file has neither form.
    #[error("is neither a public key in PEM form nor a JSON Web Key Set")]
    Form,
    /// No key of the file can be used.
    #[error("has no key for signatures with RS256 (RSA of 2048 to 8192 bits) or ES256 (P-256)")]
    Nothing,
    /// The file has the key that signs, which a server must not have.
    #[error("has a private key; give the public one: `openssl pkey -in key.pem -pubout`")]
    Private,
}

/// A key, which is good for one algorithm only.
#[derive(Debug, Clone)]
pub(super) struct Key {
    pub id: Option<String>,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    P256(Vec<u8>),
}

impl Key {
    /// Returns the algorithm that a token must name.
    pub(super) fn algorithm(&self) -> &'static str {
        match self.kind {
            Kind::Rsa { .. } => "RS256",
            Kind::P256(_) => "ES256",
        }
    }

    pub(super) fn verifies(&self, signed: &[u8], signature: &[u8]) -> bool {
        match &self.kind {
            Kind::Rsa { modulus, exponent } => RsaPublicKeyComponents { n: modulus, e: exponent }
                .verify(&RSA_PKCS1_2048_8192_SHA256, signed, signature)
                .is_ok(),
            Kind::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(signed, signature).is_ok()
            }
        }
    }

    fn rsa(id: Option<String>, modulus: &[u8], exponent: &[u8]) -> Option<Self> {
        let plain = |number: &[u8]| {
            let zeros = number.iter().take_while(|byte| **byte == 0).count();
            number.get(zeros..).unwrap_or_default().to_vec()
        };
        let (modulus, exponent) = (plain(modulus), plain(exponent));
        let is_sound =
            (MODULUS_MIN_BYTES..=MODULUS_MAX_BYTES).contains(&modulus.len()) && !exponent.is_empty();
        is_sound.then_some(Self { id, kind: Kind::Rsa { modulus, exponent } })
    }

    fn p256(id: Option<String>, point: Vec<u8>) -> Option<Self> {
        let is_sound = point.len() == 1 + 2 * COORDINATE_BYTES && point.first() == Some(&UNCOMPRESSED);
        is_sound.then_some(Self { id, kind: Kind::P256(point) })
    }
}

/// Reads the keys of a file.
pub(super) fn keys(file: &[u8]) -> Result<Vec<Key>, KeyError> {
    let text = String::from_utf8_lossy(file);
    let keys = if text.contains("-----BEGIN ") { of_pem(file)? } else { of_set(file)? };
    if keys.is_empty() { Err(KeyError::Nothing) } else { Ok(keys) }
}

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<WebKey>,
}

#[derive(Deserialize)]
struct WebKey {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    alg: Option<String>,
    n: Option<String>,
    e: Option<String>,
    crv: Option<String>,
    x: Option<String>,
    y: Option<String>,
    d: Option<String>,
}

fn of_set(file: &[u8]) -> Result<Vec<Key>, KeyError> {
    let set: KeySet = serde_json::from_slice(file).map_err(|_| KeyError::Form)?;
    if set.keys.iter().any(|key| key.d.is_some()) {
        return Err(KeyError::Private);
    }
    // Sets hold keys for other purposes too.
    Ok(set.keys.into_iter().filter_map(of_web).collect())
}

fn of_web(key: WebKey) -> Option<Key> {
    if key.usage.is_some_and(|usage| usage != "sig") {
        return None;
    }
    let number = |text: Option<String>| decoded(&text?);
    let (kind, made) = match (key.kty.as_str(), key.crv.as_deref()) {
        ("RSA", _) => ("RS256", Key::rsa(key.kid, &number(key.n)?, &number(key.e)?)?),
        ("EC", Some("P-256")) => {
            let (x, y) = (number(key.x)?, number(key.y)?);
            if x.len() != COORDINATE_BYTES {
                return None;
            }
            ("ES256", Key::p256(key.kid, [&[UNCOMPRESSED], x.as_slice(), y.as_slice()].concat())?)
        }
        _ => return None,
    };
    (key.alg.is_none_or(|alg| alg == kind)).then_some(made)
}

fn of_pem(file: &[u8]) -> Result<Vec<Key>, KeyError> {
    let mut keys = Vec::new();
    let mut rest = file;
    loop {
        match pem::from_buf(&mut rest) {
            Ok(None) => return Ok(keys),
            Ok(Some((SectionKind::PublicKey, der))) => keys.extend(of_public_key(&der)),
            Ok(Some((
                SectionKind::PrivateKey | SectionKind::RsaPrivateKey | SectionKind::EcPrivateKey,
                _,
            ))) => {
                return Err(KeyError::Private);
            }
            Ok(Some(_)) => {}
            Err(_) => return Err(KeyError::Form),
        }
    }
}

/// Parses a SubjectPublicKeyInfo (RFC 5280, 4.1).
fn of_public_key(der: &[u8]) -> Option<Key> {
    const SEQUENCE: u8 = 0x30;
    const IDENTIFIER: u8 = 0x06;
    const BITS: u8 = 0x03;
    const INTEGER: u8 = 0x02;
    let (mut info, []) = element(der, SEQUENCE)? else { return None };
    let (mut algorithm, behind) = element(info, SEQUENCE)?;
    info = behind;
    let (kind, parameters) = element(algorithm, IDENTIFIER)?;
    algorithm = parameters;
    let (bits, []) = element(info, BITS)? else { return None };
    // No bit of the last byte is unused.
    let (0, key) = bits.split_first().map(|(unused, key)| (*unused, key))? else { return None };
    match kind {
        RSA => {
            let (numbers, []) = element(key, SEQUENCE)? else { return None };
            let (modulus, behind) = element(numbers, INTEGER)?;
            let (exponent, []) = element(behind, INTEGER)? else { return None };
            Key::rsa(None, modulus, exponent)
        }
        ELLIPTIC => match element(algorithm, IDENTIFIER)? {
            (P256, []) => Key::p256(None, key.to_vec()),
            _ => None,
        },
        _ => None,
    }
}

/// Splits off the content of a DER element of this type.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (found, rest) = der.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match *first {
        short @ 0..=0x7F => (usize::from(short), rest),
        // Three bytes of length would be longer than any key.
        count @ 0x81..=0x82 => {
            let (digits, rest) = rest.split_at_checked(usize::from(count & 0x7F))?;
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    let (content, behind) = rest.split_at_checked(length)?;
    (*found == tag).then_some((content, behind))
}
