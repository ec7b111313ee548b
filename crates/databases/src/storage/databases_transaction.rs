//! Transactions and snapshots over the databases of a server: each has a part in those that it touches.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::error::StoreError;
use super::table_info::{TableId, TableInfo};
use arrow::datatypes::SchemaRef;
use parking_lot::Mutex;
use store::{EngineError, commit_together};

use super::transaction_table::TransactionTable;
use crate::storage::database::{Database, DatabaseSnapshot};
use crate::storage::database_transaction::{DatabaseSavepoint, DatabaseTransaction};
use crate::storage::databases::{Databases, number_of};
use crate::storage::logging::LoadLogging;
use crate::storage::scan::Scan;
use query::KeyRange;

/// The databases as of one commit of each: the last one when it was first asked for.
#[derive(Clone, Debug)]
pub struct Snapshot {
    databases: Databases,
    taken: Arc<Mutex<BTreeMap<u32, DatabaseSnapshot>>>,
}

impl Snapshot {
    pub(super) fn new(databases: Databases) -> Snapshot {
        Snapshot { databases, taken: Arc::default() }
    }

    fn of(&self, database: &Database) -> DatabaseSnapshot {
        let mut taken = self.taken.lock();
        taken.entry(database.number()).or_insert_with(|| database.snapshot()).clone()
    }

    /// Lists the tables, database by database, in the order of their creation.
    pub fn tables(&self) -> Vec<TableInfo> {
        self.databases.all().iter().flat_map(|database| self.of(database).tables()).collect()
    }

    /// Lists the tables of one database.
    pub fn tables_of(&self, database: &str) -> Vec<TableInfo> {
        self.databases.database(database).map_or_else(Vec::new, |database| self.of(&database).tables())
    }

    /// Returns the table of this name.
    pub fn table(&self, name: &str) -> Option<TableInfo> {
        self.of(&self.databases.of_table(name)?).table(name)
    }

    /// Lists the tables with a FOREIGN KEY to the table of this name.
    pub fn referring(&self, name: &str) -> Vec<TableInfo> {
        self.databases.of_table(name).map(|database| self.of(&database).referring(name)).unwrap_or_default()
    }

    /// Reads a table, or a range of a key of it.
    pub fn scan(
        &self,
        table: TableId,
        projection: Option<Vec<usize>>,
        range: Option<&KeyRange>,
    ) -> Result<Scan, StoreError> {
        // A database that was dropped since is read all the same.
        let taken = self.taken.lock().get(&number_of(table)).cloned();
        let snapshot = match taken {
            Some(snapshot) => snapshot,
            None => self.of(&self.databases.of_id(table).ok_or(StoreError::NoSuchTable { table })?),
        };
        snapshot.scan(table, projection, range)
    }
}

/// A unit of work. Dropped without [`commit`](Self::commit) it leaves no trace.
#[derive(Debug)]
pub struct Transaction {
    databases: Databases,
    /// Number that the parts share where they wait for locks.
    owner: u64,
    parts: BTreeMap<u32, Part>,
    session: Option<u16>,
    lock_timeout: Option<Duration>,
    deadlock_priority: i8,
    interrupt: Option<Arc<AtomicBool>>,
    keeps_reads: bool,
}

/// Part of the transaction in one database.
#[derive(Debug)]
struct Part {
    transaction: DatabaseTransaction,
    /// State of the part when it began, to which it returns for a savepoint that is older than the part.
    start: DatabaseSavepoint,
}

/// A point of a transaction to go back to, by database.
#[derive(Debug)]
pub struct Savepoint(BTreeMap<u32, DatabaseSavepoint>);

impl Transaction {
    pub(super) fn new(databases: Databases, owner: u64) -> Transaction {
        Transaction {
            databases,
            owner,
            parts: BTreeMap::new(),
            session: None,
            lock_timeout: None,
            deadlock_priority: 0,
            interrupt: None,
            keeps_reads: false,
        }
    }

    /// Shows the transaction and its locks under a session.
    pub fn set_session(&mut self, session: u16) {
        self.session = Some(session);
        self.parts.values_mut().for_each(|part| part.transaction.set_session(session));
    }

    /// Sets the longest wait of later changes for their locks.
    pub fn set_lock_timeout(&mut self, timeout: Duration) {
        self.lock_timeout = Some(timeout);
        self.parts.values_mut().for_each(|part| part.transaction.set_lock_timeout(timeout));
    }

    /// Sets the priority, -10 to 10, in deadlocks: the transaction with the lowest one is the victim.
    pub fn set_deadlock_priority(&mut self, priority: i8) {
        self.deadlock_priority = priority;
        self.parts.values_mut().for_each(|part| part.transaction.set_deadlock_priority(priority));
    }

    /// Sets a flag that ends a wait for a lock, from any thread.
    pub fn set_interrupt(&mut self, interrupt: Arc<AtomicBool>) {
        let parts = self.parts.values_mut();
        parts.for_each(|part| part.transaction.set_interrupt(Arc::clone(&interrupt)));
        self.interrupt = Some(interrupt);
    }

    /// Returns the part in a database, which begins with the first use.
    fn part(&mut self, database: &Database) -> Result<&mut DatabaseTransaction, StoreError> {
        let number = database.number();
        if !self.parts.contains_key(&number) {
            let mut transaction = database.begin_for(self.owner);
            if let Some(timeout) = self.lock_timeout {
                transaction.set_lock_timeout(timeout);
            }
            transaction.set_deadlock_priority(self.deadlock_priority);
            if let Some(interrupt) = &self.interrupt {
                transaction.set_interrupt(Arc::clone(interrupt));
            }
            if let Some(session) = self.session {
                transaction.set_session(session);
            }
            transaction.keep_reads(self.keeps_reads);
            let start = transaction.savepoint()?;
            self.parts.insert(number, Part { transaction, start });
        }
        match self.parts.get_mut(&number) {
            Some(part) => Ok(&mut part.transaction),
            None => Err(EngineError::Doomed.into()),
        }
    }

    /// Opens a table. The transaction begins a part in its database with the first use.
    pub fn open(&mut self, table: TableId) -> Result<TransactionTable<'_>, StoreError> {
        Ok(TransactionTable { part: self.of(table)?, id: table })
    }

    fn of(&mut self, table: TableId) -> Result<&mut DatabaseTransaction, StoreError> {
        let number = number_of(table);
        if !self.parts.contains_key(&number) {
            let database = self.databases.of_id(table).ok_or(StoreError::NoSuchTable { table })?;
            return self.part(&database);
        }
        match self.parts.get_mut(&number) {
            Some(part) => Ok(&mut part.transaction),
            None => Err(StoreError::NoSuchTable { table }),
        }
    }

    /// Sets whether all statements read the same state (SNAPSHOT): that of each database at its first read.
    pub fn keep_reads(&mut self, keeps: bool) {
        self.keeps_reads = keeps;
        self.parts.values_mut().for_each(|part| part.transaction.keep_reads(keeps));
    }

    /// Begins a statement: except under SNAPSHOT, it reads what is committed now.
    pub fn renew_reads(&mut self) {
        self.parts.values_mut().for_each(|part| part.transaction.renew_reads());
    }

    /// Lists the tables as this transaction sees them, database by database, in the order of their creation.
    pub fn tables(&self) -> Vec<TableInfo> {
        let databases = self.databases.all();
        let tables = databases.iter().flat_map(|database| match self.parts.get(&database.number()) {
            Some(part) => part.transaction.tables(),
            None => database.snapshot().tables(),
        });
        tables.collect()
    }

    /// Returns the table of this id as this transaction sees it.
    pub fn table_of(&self, table: TableId) -> Option<TableInfo> {
        match self.parts.get(&number_of(table)) {
            Some(part) => part.transaction.table_of(table),
            None => self.databases.of_id(table)?.snapshot().table_of(table),
        }
    }

    /// Lists the tables with a FOREIGN KEY to the table of this name as this transaction sees them.
    pub fn referring(&self, name: &str) -> Vec<TableInfo> {
        let Some(database) = self.databases.of_table(name) else { return Vec::new() };
        match self.parts.get(&database.number()) {
            Some(part) => part.transaction.referring(name),
            None => database.snapshot().referring(name),
        }
    }

    /// Returns the table of this name as this transaction sees it.
    pub fn table(&self, name: &str) -> Option<TableInfo> {
        let database = self.databases.of_table(name)?;
        match self.parts.get(&database.number()) {
            Some(part) => part.transaction.table(name),
            None => database.snapshot().table(name),
        }
    }

    /// Creates a table of the Exact form, in the database that its name says.
    pub fn create_table(
        &mut self,
        name: &str,
        schema: SchemaRef,
        properties: &str,
    ) -> Result<TableId, StoreError> {
        let missing = || EngineError::NoSuchTable { name: name.to_owned() };
        let database = self.databases.of_table(name).ok_or_else(missing)?;
        self.part(&database)?.create_table(name, schema, properties)
    }

    /// Returns the logging of the rows that were added to a table since the last call; None if there were
    /// none.
    pub fn take_logging(&mut self, table: TableId) -> Option<LoadLogging> {
        self.parts.get_mut(&number_of(table))?.transaction.take_logging(table)
    }

    /// Ends the adding of rows by one statement.
    ///
    /// # Errors
    /// A key exists already, or rows are not in the declared order.
    pub fn settle(&mut self) -> Result<(), StoreError> {
        self.parts.values_mut().try_for_each(|part| part.transaction.settle())
    }

    /// Puts all rows that wait for the commit into their tables.
    pub fn insert_all_waiting(&mut self) -> Result<(), StoreError> {
        self.parts.values_mut().try_for_each(|part| part.transaction.insert_all_waiting())
    }

    /// Marks a point to go back to.
    pub fn savepoint(&mut self) -> Result<Savepoint, StoreError> {
        let parts = self.parts.iter_mut();
        let marks = parts.map(|(number, part)| Ok((*number, part.transaction.savepoint()?)));
        Ok(Savepoint(marks.collect::<Result<_, StoreError>>()?))
    }

    /// Undoes everything since the savepoint. Locks are kept.
    pub fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<(), StoreError> {
        self.parts.iter_mut().try_for_each(|(number, Part { transaction, start })| {
            transaction.rollback_to(savepoint.0.get(number).unwrap_or(start))
        })
    }

    /// Makes everything durable, then visible: in all databases or in none.
    pub fn commit(self) -> Result<(), StoreError> {
        let mut parts: Vec<DatabaseTransaction> =
            self.parts.into_values().map(|part| part.transaction).collect();
        if parts.len() < 2 {
            return parts.into_iter().try_for_each(DatabaseTransaction::commit);
        }
        let open = parts.iter_mut().map(DatabaseTransaction::finish).collect::<Result<Vec<_>, _>>()?;
        Ok(commit_together(self.databases.master().engine(), open)?)
    }
}
