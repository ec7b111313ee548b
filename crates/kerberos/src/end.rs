//! Interface of both mechanisms for the conversation with the program that asks.

use sign_in::{Reply, decoded};

/// An end of a sign-in: client or server.
pub(crate) trait End {
    /// Answers a token of the other end; a client begins without one.
    fn step(&mut self, token: Option<&[u8]>) -> Result<Reply, String>;
}

/// Parses the bytes of a binding.
pub(crate) fn bytes_of(digits: Option<String>) -> Result<Option<Vec<u8>>, String> {
    let bytes = |digits: String| decoded(&digits).ok_or("the channel binding is malformed".to_owned());
    digits.map(bytes).transpose()
}
