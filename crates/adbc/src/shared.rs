//! The client that a connection shares with its statements.

use std::sync::atomic::{AtomicBool, Ordering};

use adbc_core::error::Result;
use load::{Client, LentClient, SharedClient};
use tds::Isolation;

use crate::error::{from_load, from_unavailable};

/// Client and mode that a connection shares with its statements.
pub(crate) struct Shared {
    pub(crate) client: SharedClient,
    pub(crate) autocommit: AtomicBool,
}

impl Shared {
    /// Borrows the client. With autocommit off, a transaction is begun if none is open.
    pub(crate) fn lend(&self) -> Result<LentClient> {
        let mut client = self.client.lend().map_err(from_unavailable)?;
        if !self.autocommit.load(Ordering::SeqCst) {
            begin(&mut client)?;
        }
        Ok(client)
    }
}

/// Begins a transaction, unless there is one.
pub(crate) fn begin(client: &mut Client) -> Result<()> {
    match client.in_transaction() || client.is_broken() {
        true => Ok(()),
        false => client.begin(Isolation::Current).map_err(from_load),
    }
}
