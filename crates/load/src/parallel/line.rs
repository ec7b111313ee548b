//! A writer's connection.

use crate::{client::Client, config::Config, error::Error};

/// A writer's connection: the caller's, or one of its own.
pub(super) enum Line<'c> {
    Lent(&'c mut Client),
    Own(Box<Client>),
    /// There is no connection: it was not made yet, or has broken.
    Down,
}

impl Line<'_> {
    pub(super) fn client(&mut self) -> Option<&mut Client> {
        match self {
            Self::Lent(client) => Some(client),
            Self::Own(client) => Some(client),
            Self::Down => None,
        }
    }

    /// Connects again if the connection is of no use any more. The caller's is replaced only if errors are to pass: what its
    /// session knew is gone with it.
    pub(super) fn ready(&mut self, config: &Config, may_replace: bool) -> Result<&mut Client, Error> {
        if self.client().is_none_or(|client| client.is_broken()) {
            if matches!(self, Self::Lent(_)) && !may_replace {
                return Err(Error::Broken);
            }
            let made = Client::connect(config)?;
            if let Self::Lent(client) = self {
                **client = made;
            } else {
                *self = Self::Own(Box::new(made));
            }
        }
        self.client().ok_or_else(|| Error::internal("a writer without a connection"))
    }
}
