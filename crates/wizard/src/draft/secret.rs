//! A password that was typed in a page.

use std::fmt;

use zeroize::Zeroizing;

/// A password. It is wiped when it is dropped, and neither printed nor sent to a page.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Wraps a text.
    pub fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    /// The text, for the words that are run and for nothing else.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether none was typed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_empty() { "Secret()" } else { "Secret(…)" })
    }
}
