//! Transactions: all changes of one happen, durably, or none.

pub(crate) mod alter;
pub(crate) mod alter_columns;
pub(crate) mod changes;
pub mod load;

mod beside;
mod change_alone;
mod commit;
mod end;
mod exchange;
mod leftover;
mod locks;
mod reads;
mod rows;
mod unit_of_work;
mod write_table;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::catalogue::Table;
use crate::check;
use crate::check::finding::Finding;
use crate::disk::file_layout::Placement;
use crate::error::EngineError;
use crate::lock::LockMode;
use crate::page::PageId;
use crate::page::unit::{CATALOGUE, Owner, UnitKind};
use crate::record::compress::Compression;
use crate::record::layout::Column;
use crate::scan::read_table::ReadTable;
use crate::scan::{PageReader, View};
use crate::tree::index::{IndexDefinition, Tree};
use change_alone::{lock_in, plant};
pub(crate) use commit::Ready;
use locks::{claim_name, lock};
pub use reads::Reads;
use reads::snapshot_of;
pub use unit_of_work::{Savepoint, Transaction};
use unit_of_work::{no_table, roll_back_all};
pub use write_table::WriteTable;

impl Transaction {
    /// Returns a handle to change the table of this name.
    ///
    /// # Errors
    /// 208: there is none of this name.
    pub fn open_table(&mut self, name: &str) -> Result<WriteTable<'_>, EngineError> {
        let table = self.table(name).ok_or_else(|| no_table(name))?;
        Ok(self.open(&table))
    }

    /// Returns a handle to change a table that was looked up.
    pub fn open(&mut self, table: &Table) -> WriteTable<'_> {
        WriteTable { object: table.object, name: Arc::clone(&table.name), transaction: self }
    }

    /// Returns a handle to read the table of this name as this transaction sees it.
    ///
    /// # Errors
    /// 208: there is none of this name.
    pub fn read_table(&self, name: &str) -> Result<ReadTable, EngineError> {
        self.read(self.table(name).ok_or_else(|| no_table(name))?)
    }

    /// Returns a handle to read a table that was looked up, as this transaction sees it.
    pub fn read(&self, table: Arc<Table>) -> Result<ReadTable, EngineError> {
        let (view, table) = match self.work.changed.contains(table.object) {
            true => (View::Current, table),
            false => {
                let (snapshot, table) = snapshot_of(self, table)?;
                (View::Own(snapshot, self.id), table)
            }
        };
        let passes = self.reads.passes() && !matches!(view, View::Current);
        Ok(ReadTable { reader: PageReader { shared: Arc::clone(&self.shared), view, passes }, table })
    }

    /// Inserts the rows of all tables that wait for the commit now.
    pub fn insert_pending(&mut self) -> Result<(), EngineError> {
        let waiting: Vec<u32> = self.work.pending.keys().copied().collect();
        let tables: Vec<Arc<Table>> =
            waiting.into_iter().filter_map(|object| self.table_of(object)).collect();
        tables.iter().try_for_each(|table| self.open(table).insert_pending())
    }

    /// Creates a table, a heap.
    pub fn create_table(
        &mut self,
        name: &str,
        columns: Vec<Column>,
        properties: &str,
    ) -> Result<(), EngineError> {
        self.create_table_on(name, columns, None, Compression::None, &Placement::default(), properties)
    }

    /// Creates a clustered table, a tree in the order of a key, with the key's compression.
    pub fn create_tree(
        &mut self,
        name: &str,
        columns: Vec<Column>,
        key: &IndexDefinition,
        properties: &str,
    ) -> Result<(), EngineError> {
        let compression = key.compression.unwrap_or_default();
        self.create_table_on(name, columns, Some(key), compression, &Placement::default(), properties)
    }

    /// Creates a table: with a key, a tree; in these file groups (`ON`, `TEXTIMAGE_ON`).
    ///
    /// # Errors
    /// A group that does not exist is error 1921, one without files 622.
    pub fn create_table_on(
        &mut self,
        name: &str,
        columns: Vec<Column>,
        key: Option<&IndexDefinition>,
        compression: Compression,
        placement: &Placement,
        properties: &str,
    ) -> Result<(), EngineError> {
        let placed = self.shared.placed(placement)?;
        let layout = Tree::table_layout(columns, key)?.with_compression(compression)?;
        let order = self.shared.options.text_order;
        if let Some(key) = key {
            Tree::clustered(&Arc::new(layout.clone()), key.clone(), PageId::NONE, order)?;
        }
        claim_name(self, name)?;
        let object = self.shared.next_object.fetch_add(1, Ordering::AcqRel);
        lock_in(self, object, LockMode::SchM)?;
        self.guarded(|this| {
            let (shared, id) = (Arc::clone(&this.shared), this.id);
            let properties = (properties, shared.options.references);
            let table = Table::new(object, name, properties, layout, |unit| {
                let large = unit == UnitKind::Large.id(object);
                let group = if large { placed.large_values } else { placed.rows };
                shared.allocator.create_unit(id, unit, group, Owner { table: name, index: None })
            })?;
            this.work.put(table);
            this.work.redefined.insert(u64::from(object), ());
            plant(this, object, key)
        })
    }

    /// Checks the structure of one table, which is locked in S meanwhile.
    ///
    /// # Errors
    /// Error 208 if there is no such table, and the errors of locks.
    pub fn check_table(&mut self, object: u32) -> Result<Vec<Finding>, EngineError> {
        lock(self, object, LockMode::S)?;
        let table = self.catalogue().tables.get(object).cloned();
        let table = table.ok_or_else(|| EngineError::NoSuchTable { name: object.to_string() })?;
        Ok(check::check_table(&self.shared, &table))
    }

    /// Checks the structure of the whole database, with every table locked exclusively.
    pub fn check_database(&mut self) -> Result<Vec<Finding>, EngineError> {
        self.lock_everything()?;
        let tables: Vec<Arc<Table>> = self.catalogue().tables.tables().cloned().collect();
        check::check(&self.shared, &tables)
    }

    /// Locks every table exclusively, and the creation of tables, until the transaction ends.
    pub fn lock_everything(&mut self) -> Result<(), EngineError> {
        lock_in(self, CATALOGUE, LockMode::X)?;
        let objects: Vec<u32> = self.catalogue().tables.tables().map(|table| table.object).collect();
        objects.into_iter().try_for_each(|object| lock_in(self, object, LockMode::X))
    }

    /// Ends the transaction and undoes all its changes.
    pub fn rollback(mut self) -> Result<(), EngineError> {
        roll_back_all(&mut self);
        match self.shared.pager.log.is_shut() {
            Some(reason) => Err(EngineError::Shut { reason }),
            None => Ok(()),
        }
    }
}
