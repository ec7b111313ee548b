//! A frozen view of everything committed.

use std::sync::Arc;

use crate::catalogue::{Catalogue, Table, TableId, TableInfo};
use crate::error::StoreError;
use crate::scan::Scan;

/// The database as of one commit. Takes no lock, blocks nobody, and stays readable while tables are changed or dropped; the
/// files it needs live as long as it does.
#[derive(Debug, Clone)]
pub struct Snapshot {
    catalogue: Arc<Catalogue>,
}

impl Snapshot {
    pub(crate) fn new(catalogue: Arc<Catalogue>) -> Self {
        Self { catalogue }
    }

    /// Number of the last commit it contains.
    pub fn sequence(&self) -> u64 {
        self.catalogue.sequence
    }

    /// All tables in the order of their creation.
    pub fn tables(&self) -> Vec<TableInfo> {
        self.catalogue.tables().map(|table| table.info()).collect()
    }

    /// The table of this name.
    pub fn table(&self, name: &str) -> Option<TableInfo> {
        self.catalogue.named(name).map(|table| table.info())
    }

    /// Reads a table: all columns, or those of `projection` (by index from 0, in that order).
    pub fn scan(&self, id: TableId, projection: Option<Vec<usize>>) -> Result<Scan, StoreError> {
        let table: &Table = self.catalogue.table(id).ok_or(StoreError::NoSuchTable { table: id })?;
        Scan::new(Arc::clone(&table.schema), table.pieces.iter().cloned(), projection)
    }
}
