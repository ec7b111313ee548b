//! A text that is never printed.

use std::fmt;

/// A password or an access token. `Debug` prints a placeholder, there is no `Display`, and no error ever carries one: the
/// only way to the text is [`Secret::expose`].
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the message that proves who the client is, and nothing else.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether the text is empty; an empty password is legal.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
