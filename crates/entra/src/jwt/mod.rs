//! Access tokens as a server sees them: signed JWTs (RFC 7519) of an issuer whose keys it was given.

mod claims;
mod key;
mod verifier;

pub(crate) use claims::expiry;
pub use claims::name_in;
pub use key::KeyError;
pub use verifier::{TokenError, Verifier};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Decodes the bytes of a part of a token, or of a number in a key.
fn decoded(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}
