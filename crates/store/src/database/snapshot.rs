//! A database as of one commit.

use std::sync::Arc;

use super::shared::Shared;
use crate::catalogue::{Catalogue, Table};
use crate::error::EngineError;

/// The database as of one commit. It neither takes nor waits for locks. Clones share it.
#[derive(Debug, Clone)]
pub struct Snapshot {
    held: Arc<Held>,
}

#[derive(Debug)]
struct Held {
    shared: Arc<Shared>,
    catalogue: Arc<Catalogue>,
}

impl Snapshot {
    pub(crate) fn open(shared: &Arc<Shared>) -> Self {
        // No commit can come between the catalogue and the number.
        let current = shared.catalogue.read();
        shared.pager.versions.open_snapshot(|| current.sequence);
        let catalogue = Arc::clone(&current);
        drop(current);
        Self { held: Arc::new(Held { shared: Arc::clone(shared), catalogue }) }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.held.shared
    }

    /// Returns the number of the last commit in the snapshot.
    pub fn sequence(&self) -> u64 {
        self.held.catalogue.sequence
    }

    /// Lists the snapshot's tables.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.held.catalogue.tables()
    }

    /// Returns the table of this name.
    pub fn table(&self, name: &str) -> Option<&Arc<Table>> {
        self.held.catalogue.named(name)
    }

    /// Returns the table of this id.
    pub fn table_of(&self, object: u32) -> Option<&Arc<Table>> {
        self.held.catalogue.tables.get(object)
    }

    /// Lists the tables whose text refers to a name.
    pub fn referring(&self, name: &str) -> impl Iterator<Item = &Arc<Table>> {
        self.held.catalogue.referring(name)
    }

    /// Returns the table of this name, or error 208.
    pub(crate) fn existing(&self, name: &str) -> Result<&Arc<Table>, EngineError> {
        self.table(name).ok_or_else(|| EngineError::NoSuchTable { name: name.to_owned() })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.shared.pager.versions.close_snapshot(self.catalogue.sequence);
        if let Err(error) = self.shared.release_given_up()
            && !error.wants_space()
        {
            self.shared.pager.log.shut(error.to_string());
        }
    }
}
