//! A database in the paged engine as the server uses it: tables by their ids, rows in the Exact form.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use crate::catalogue::{TableDefinition, referenced_tables};
use crate::storage::columns::TableForm;
use crate::storage::database_transaction::DatabaseTransaction;
use crate::storage::error::StoreError;
use crate::storage::figures::Figures;
use crate::storage::owners::Owners;
use crate::storage::scan::{OpenRows, Scan};
use crate::storage::table_info::{TableId, TableInfo};
use crate::storage::text_order::TEXT_ORDER;
use arrow::datatypes::SchemaRef;
use parking_lot::Mutex;
use store::catalogue::Table;
use store::page::PAGE_BYTES;
use store::{Engine, EngineOptions, References};

use query::KeyRange;

/// A database of the server. Clones share it.
#[derive(Clone, Debug)]
pub struct Database {
    engine: Engine,
    /// Folder in the data directory; None: the database is in memory.
    folder: Option<Arc<str>>,
    forms: Arc<Forms>,
    owners: Owners,
    opened: Instant,
}

impl Database {
    /// Creates the handle. The number is that of no other database of the server, since it started.
    pub(super) fn new(engine: Engine, folder: Option<&str>, number: u32) -> Database {
        Database {
            engine,
            folder: folder.map(Arc::from),
            forms: Arc::new(Forms { number, forms: Mutex::default() }),
            owners: Owners::default(),
            opened: Instant::now(),
        }
    }

    /// Returns the database's number, see [`new`](Self::new).
    pub(super) fn number(&self) -> u32 {
        self.forms.number
    }

    /// Returns the engine itself.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the figures for the management views.
    pub fn figures(&self) -> Figures {
        Figures::new(&self.engine, &self.owners, self.opened, self.folder.clone())
    }

    /// Returns true if commits go to files.
    pub fn is_on_disk(&self) -> bool {
        self.folder.is_some()
    }

    /// Starts a transaction that is one with those of the same owner in other databases.
    pub(super) fn begin_for(&self, owner: u64) -> DatabaseTransaction {
        DatabaseTransaction::new(self.engine.begin_for(owner), Arc::clone(&self.forms), self.owners.clone())
    }

    /// Returns a snapshot of everything committed so far.
    pub fn snapshot(&self) -> DatabaseSnapshot {
        DatabaseSnapshot { snapshot: self.engine.snapshot(), forms: Arc::clone(&self.forms) }
    }

    /// Writes changed pages, so that the next opening is short.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        Ok(self.engine.checkpoint()?)
    }
}

/// A database of pages as of one commit.
#[derive(Clone, Debug)]
pub struct DatabaseSnapshot {
    snapshot: store::Snapshot,
    forms: Arc<Forms>,
}

impl DatabaseSnapshot {
    /// Lists the tables in the order of their creation.
    pub fn tables(&self) -> Vec<TableInfo> {
        self.snapshot.tables().map(|table| info(table, 0, &self.forms)).collect()
    }

    /// Returns the table of this name.
    pub fn table(&self, name: &str) -> Option<TableInfo> {
        self.snapshot.table(name).map(|table| info(table, 0, &self.forms))
    }

    /// Returns the table of this id.
    pub fn table_of(&self, table: TableId) -> Option<TableInfo> {
        self.snapshot.table_of(object_of(table)).map(|table| info(table, 0, &self.forms))
    }

    /// Lists the tables with a FOREIGN KEY to the table of this name.
    pub fn referring(&self, name: &str) -> Vec<TableInfo> {
        let mut tables: Vec<&Arc<Table>> = self.snapshot.referring(name).collect();
        tables.sort_unstable_by_key(|table| table.object);
        tables.into_iter().map(|table| info(table, 0, &self.forms)).collect()
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
        Scan::open(&open, &table, None, form, projection, range)
    }
}

/// Adds to the options the order of text in keys, without which no key may have text, and the function that
/// finds references.
pub(super) fn with_order(options: EngineOptions) -> EngineOptions {
    EngineOptions {
        text_order: Some(TEXT_ORDER),
        references: Some(References { read: referenced_tables }),
        ..options
    }
}

/// Returns true if two texts are the same; copies of one are not compared.
pub(crate) fn same_text(one: &Arc<str>, other: &Arc<str>) -> bool {
    Arc::ptr_eq(one, other) || one == other
}

/// The forms of tables of a database that were used, as their definitions were last seen: a transaction, or a snapshot, may have others.
#[derive(Debug)]
pub(super) struct Forms {
    number: u32,
    forms: Mutex<HashMap<u32, KnownForm>>,
}

/// The form of a table with these columns and this text.
#[derive(Debug)]
struct KnownForm {
    columns: SchemaRef,
    properties: Arc<str>,
    form: Arc<TableForm>,
}

impl Forms {
    /// Returns the id of a table: the database's number, and the engine's for the table.
    pub fn id_of(&self, object: u32) -> TableId {
        TableId(u64::from(self.number) << 32 | u64::from(object))
    }

    /// Returns the form of a table.
    pub fn of(&self, table: &Table) -> Arc<TableForm> {
        if let Some(known) = self.forms.lock().get(&table.object)
            && Arc::ptr_eq(&known.columns, &table.layout.schema)
            && same_text(&known.properties, &table.properties)
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

    /// Forgets the form of a table that is about to go.
    pub fn forget(&self, object: u32) {
        self.forms.lock().remove(&object);
    }

    pub fn put(&self, table: &Table, form: Arc<TableForm>) {
        let columns = Arc::clone(&table.layout.schema);
        let known = KnownForm { columns, properties: Arc::clone(&table.properties), form };
        self.forms.lock().insert(table.object, known);
    }
}

/// Returns the engine's number of a table.
pub(super) fn object_of(table: TableId) -> u32 {
    table.0 as u32
}

pub(super) fn bytes_of(table: &Table) -> u64 {
    table.extents() * 8 * PAGE_BYTES as u64
}

/// Describes a table that will have `waiting` rows more.
pub(super) fn info(table: &Table, waiting: u64, forms: &Forms) -> TableInfo {
    TableInfo {
        id: forms.id_of(table.object),
        name: Arc::clone(&table.name),
        schema: Arc::clone(&forms.of(table).schema),
        properties: Arc::clone(&table.properties),
        rows: table.rows + waiting,
        bytes: bytes_of(table),
    }
}
