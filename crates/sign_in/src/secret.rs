//! A text that is never printed.

use std::fmt;

use zeroize::Zeroizing;

/// A password or an access token, wiped when it is dropped. `Debug` prints a placeholder, there is no `Display`, and no error
/// ever carries one: the only way to the text is [`Secret::expose`].
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// Returns the text itself, for the message that proves who the client is, and nothing else.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns true if the text is empty; an empty password is legal.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_empty() { "Secret()" } else { "Secret(…)" })
    }
}
