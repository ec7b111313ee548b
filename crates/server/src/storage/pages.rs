//! The paged engine as the server uses it: tables by their ids, rows in the Exact form.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use arrow::datatypes::SchemaRef;
use parking_lot::Mutex;
use store::engine::catalogue::Table;
use store::engine::memory::UnsyncedVolume;
use store::engine::page::PAGE_BYTES;
use store::engine::volume::{DirectoryVolume, Volume};
use store::engine::{self, Engine, EngineError, EngineOptions};
use store::storage::OpenDirectoryError;
use store::{StoreError, TableId, TableInfo};

use super::columns::TableForm;
use super::figures::Figures;
use super::key_range::KeyRange;
use super::owners::Owners;
use super::pages_transaction::PagedTransaction;
use super::scan::{OpenRows, PagedScan, Scan};
use super::text_order::TEXT_ORDER;
use crate::catalogue::TableDefinition;

/// An open database of pages. Clones share it.
#[derive(Clone, Debug)]
pub struct PagedDatabase {
    engine: Engine,
    on_disk: bool,
    forms: Arc<Forms>,
    owners: Owners,
    opened: Instant,
}

impl PagedDatabase {
    /// Opens a directory, or makes it a database. Without `sync` commits do not wait for the disk.
    pub fn open(directory: &Path, sync: bool) -> Result<PagedDatabase, EngineError> {
        if sync {
            return Ok(Self::new(Engine::open(directory, with_order(EngineOptions::default()))?, true));
        }
        let volume = DirectoryVolume::open(directory).map_err(|error| match error {
            OpenDirectoryError::InUse => EngineError::InUse { path: directory.to_owned() },
            OpenDirectoryError::Io(source) => {
                EngineError::Io { operation: "open", path: directory.to_owned(), source }
            }
        })?;
        Self::open_on(Arc::new(UnsyncedVolume(volume)), EngineOptions::default())
    }

    /// The same on any volume.
    pub fn open_on(volume: Arc<dyn Volume>, options: EngineOptions) -> Result<PagedDatabase, EngineError> {
        Ok(Self::new(Engine::open_on(volume, with_order(options))?, true))
    }

    /// A database in memory.
    pub fn in_memory() -> Result<PagedDatabase, EngineError> {
        Ok(Self::new(Engine::in_memory(with_order(EngineOptions::default()))?, false))
    }

    fn new(engine: Engine, on_disk: bool) -> PagedDatabase {
        PagedDatabase {
            engine,
            on_disk,
            forms: Arc::default(),
            owners: Owners::default(),
            opened: Instant::now(),
        }
    }

    /// The engine, for what only it has.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// What the management views show of it.
    pub fn figures(&self) -> Figures {
        Figures::new(&self.engine, &self.owners, self.opened)
    }

    /// Whether commits go to files.
    pub fn is_on_disk(&self) -> bool {
        self.on_disk
    }

    /// Starts a transaction.
    pub fn begin(&self) -> PagedTransaction {
        PagedTransaction::new(self.engine.begin(), Arc::clone(&self.forms), self.owners.clone())
    }

    /// Everything committed so far, frozen.
    pub fn snapshot(&self) -> PagedSnapshot {
        PagedSnapshot { snapshot: self.engine.snapshot(), forms: Arc::clone(&self.forms) }
    }

    /// Writes changed pages, so that the next opening is short.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        Ok(self.engine.checkpoint()?)
    }
}

/// A database of pages as of one commit.
#[derive(Clone, Debug)]
pub struct PagedSnapshot {
    snapshot: engine::Snapshot,
    forms: Arc<Forms>,
}

impl PagedSnapshot {
    /// All tables in the order of their creation.
    pub fn tables(&self) -> Vec<TableInfo> {
        self.snapshot.tables().map(|table| info(table, 0, &self.forms)).collect()
    }

    /// The table of this name.
    pub fn table(&self, name: &str) -> Option<TableInfo> {
        self.snapshot.table(name).map(|table| info(table, 0, &self.forms))
    }

    /// Reads a table, or a range of a key of it.
    pub fn scan(
        &self,
        table: TableId,
        projection: Option<Vec<usize>>,
        range: Option<&KeyRange>,
    ) -> Result<Scan, StoreError> {
        let gone = StoreError::NoSuchTable { table };
        let table = self.snapshot.table_of(object_of(table)).cloned().ok_or(gone)?;
        let form = self.forms.of(&table);
        let open = OpenRows::Snapshot(&self.snapshot);
        Ok(Scan::Pages(Box::new(PagedScan::open(&open, &table, None, form, projection, range)?)))
    }
}

/// The options with the order of text in keys, without which no key may have text.
fn with_order(options: EngineOptions) -> EngineOptions {
    EngineOptions { text_order: Some(TEXT_ORDER), ..options }
}

/// The forms of tables that were used, as their definitions were last seen: a transaction, or a snapshot, may have others.
#[derive(Debug, Default)]
pub(super) struct Forms(Mutex<HashMap<u32, KnownForm>>);

/// The form of a table with these columns and this text.
#[derive(Debug)]
struct KnownForm {
    columns: SchemaRef,
    properties: String,
    form: Arc<TableForm>,
}

impl Forms {
    /// The form of a table.
    pub fn of(&self, table: &Table) -> Arc<TableForm> {
        if let Some(known) = self.0.lock().get(&table.object)
            && Arc::ptr_eq(&known.columns, &table.layout.schema)
            && known.properties == table.properties
        {
            return Arc::clone(&known.form);
        }
        // The catalogue's text knows what a column's type is called; what has none has no text either.
        let declared = serde_json::from_str::<TableDefinition>(&table.properties)
            .map(|definition| definition.arrow_schema())
            .ok()
            .filter(|schema| schema.fields().len() == table.layout.visible().len());
        let schema = declared.unwrap_or_else(|| Arc::clone(&table.layout.schema));
        let form = TableForm::new(schema).map(|(form, _)| form);
        let form = Arc::new(form.unwrap_or_else(|_| TableForm::plain(Arc::clone(&table.layout.schema))));
        self.put(table, Arc::clone(&form));
        form
    }

    pub fn put(&self, table: &Table, form: Arc<TableForm>) {
        let columns = Arc::clone(&table.layout.schema);
        let known = KnownForm { columns, properties: table.properties.clone(), form };
        self.0.lock().insert(table.object, known);
    }
}

pub(super) fn id_of(object: u32) -> TableId {
    TableId(u64::from(object))
}

/// The engine's number of a table; one that it never gives to any for an id of another store.
pub(super) fn object_of(table: TableId) -> u32 {
    u32::try_from(table.0).unwrap_or(0)
}

pub(super) fn bytes_of(table: &Table) -> u64 {
    table.extents() * 8 * PAGE_BYTES as u64
}

/// What is to be known of a table with `waiting` rows more.
pub(super) fn info(table: &Table, waiting: u64, forms: &Forms) -> TableInfo {
    TableInfo {
        id: id_of(table.object),
        name: table.name.clone(),
        schema: Arc::clone(&forms.of(table).schema),
        properties: table.properties.clone(),
        rows: table.rows + waiting,
        bytes: bytes_of(table),
    }
}
