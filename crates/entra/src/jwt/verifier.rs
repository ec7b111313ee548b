//! Checks a token: signature, issuer, audience and time.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Deserialize;

use super::claims::Claims;
use super::decoded;
use super::key::{Key, KeyError, keys};

/// Seconds by which two clocks may differ.
const LEEWAY: f64 = 60.0;

/// Reason why a token is refused. A client learns none of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The text is no JWT.
    #[error("the token is no signed JWT")]
    Form,
    /// The header asks for something that is not done here.
    #[error("the token has critical extensions")]
    Critical,
    /// No key is for this algorithm; `none` and `HS256` among them.
    #[error("the token's algorithm is neither RS256 nor ES256, or no key of this server is for it")]
    Algorithm,
    /// No key has the number that the token names.
    #[error("the token is signed with a key that this server does not have")]
    UnknownKey,
    /// The signature is wrong.
    #[error("the token's signature is wrong")]
    Signature,
    /// Another issuer made the token.
    #[error("the token is of another issuer")]
    Issuer,
    /// The token is for another audience.
    #[error("the token is for another audience")]
    Audience,
    /// The token has expired.
    #[error("the token has expired")]
    Expired,
    /// The token has no end, or is not valid yet.
    #[error("the token is not valid yet, or has no end")]
    Time,
    /// The token names neither a user nor an application.
    #[error("the token names neither a user nor an application")]
    Principal,
}

/// Checks tokens of one issuer for some audiences.
#[derive(Debug, Clone)]
pub struct Verifier {
    keys: Vec<Key>,
    issuer: String,
    audiences: Vec<String>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    crit: Option<serde_json::Value>,
}

impl Verifier {
    /// Takes the content of a PEM file with public keys, or of a JSON Web Key Set.
    pub fn new(
        file: &[u8],
        issuer: impl Into<String>,
        audiences: impl IntoIterator<Item = String>,
    ) -> Result<Self, KeyError> {
        Ok(Self { keys: keys(file)?, issuer: issuer.into(), audiences: audiences.into_iter().collect() })
    }

    /// Returns the name in a token that is good at this time: a user's, or an application's ID.
    pub fn principal(&self, token: &str, now: SystemTime) -> Result<String, TokenError> {
        let (signed, signature) = token.rsplit_once('.').ok_or(TokenError::Form)?;
        let (header, claims) = signed.split_once('.').ok_or(TokenError::Form)?;
        let header: Header = part(header)?;
        if header.crit.is_some() {
            return Err(TokenError::Critical);
        }
        self.check_signature(&header, signed, &decoded(signature).ok_or(TokenError::Form)?)?;
        // Claims are parsed only after the signature was checked.
        let claims: Claims = part(claims)?;
        if claims.iss.as_deref() != Some(self.issuer.as_str()) {
            return Err(TokenError::Issuer);
        }
        let audience = claims.aud.as_ref().ok_or(TokenError::Audience)?;
        if !self.audiences.iter().any(|wanted| audience.has(wanted)) {
            return Err(TokenError::Audience);
        }
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let end = claims.exp.filter(|end| end.is_finite()).ok_or(TokenError::Time)?;
        if now >= end + LEEWAY {
            return Err(TokenError::Expired);
        }
        if claims.nbf.is_some_and(|begin| now + LEEWAY < begin) {
            return Err(TokenError::Time);
        }
        claims.names.principal().ok_or(TokenError::Principal)
    }

    /// Checks the signature. Each key is good for one algorithm, which the token cannot change: a public key
    /// is never taken for a shared secret.
    fn check_signature(&self, header: &Header, signed: &str, signature: &[u8]) -> Result<(), TokenError> {
        let mut fitting = self.keys.iter().filter(|key| key.algorithm() == header.alg).peekable();
        if fitting.peek().is_none() {
            return Err(TokenError::Algorithm);
        }
        // Keys without a number, as those of PEM files, are all tried.
        let is_named = |key: &&Key| match (&key.id, &header.kid) {
            (Some(own), Some(named)) => own == named,
            _ => true,
        };
        let mut candidates = fitting.filter(is_named).peekable();
        if candidates.peek().is_none() {
            return Err(TokenError::UnknownKey);
        }
        match candidates.any(|key| key.verifies(signed.as_bytes(), signature)) {
            true => Ok(()),
            false => Err(TokenError::Signature),
        }
    }
}

fn part<T: for<'a> Deserialize<'a>>(text: &str) -> Result<T, TokenError> {
    serde_json::from_slice(&decoded(text).ok_or(TokenError::Form)?).map_err(|_| TokenError::Form)
}
