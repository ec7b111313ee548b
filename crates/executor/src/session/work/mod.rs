//! A session's work: its transactions over the server's databases, and the tables that it sees.

pub(crate) mod bulk_work;
pub(crate) mod directory;
pub(crate) mod locks;
pub(crate) mod query_scan;
pub(crate) mod reads;
pub(crate) mod scopes;
pub(crate) mod temporary;
pub(crate) mod variables;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tsql::ObjectName;
use tsql::SqlError;
use tsql::errors;

pub(crate) use bulk_work::BulkWork;
pub(crate) use databases::transactions::{Mark, OpenTable, Place};
pub(crate) use query_scan::{ChangeScan, QueryScan};
pub(crate) use variables::{VariableAccess, VariableTable};

use databases::catalogue::{
    Module, PartitionFunction, PartitionScheme, Partitions, TableDefinition, UserType, is_partition_entry,
    store_key,
};
use databases::instance::{Instance, partition_function, partition_scheme, user_type};
use databases::storage::{StoreError, TableId, TableInfo, Transaction};
use databases::store_error::{store_error, uncommittable};
use databases::transactions::{SharedTransactions, TransactionAccess};
use databases::waiting::{Placement, waiting};
use reads::StatementReads;
use temporary::{TemporaryObjects, global_key, own_key, place_of_key};
use variables::TableScope;

/// The session's work.
pub(crate) struct Work {
    instance: Arc<Instance>,
    /// The tables that running batches and procedures have declared, the innermost last.
    scopes: Vec<Arc<TableScope>>,
    transactions: SharedTransactions,
    /// For the body of a function: the transactions of the statement that calls it, which it reads within.
    outer: Option<SharedTransactions>,
    /// The state that the statement reads outside of a transaction.
    reads: Arc<StatementReads>,
    /// True if the reads are those of the statement that calls a function.
    reads_fixed: bool,
    /// The transaction began under SNAPSHOT.
    is_snapshot: bool,
    /// BEGIN TRANSACTIONs without their COMMIT.
    depth: u32,
    descriptor: u64,
    savepoints: Vec<(String, Mark)>,
    /// True while a statement outside of a transaction is running.
    in_statement: bool,
    /// The transaction can only be rolled back.
    doomed: bool,
    lock_timeout: Duration,
    deadlock_priority: i8,
    /// Ends waits for locks.
    interrupt: Arc<AtomicBool>,
    /// The session, which the locks of its transactions are shown under.
    session: u16,
    /// The transaction is that of a statement and its triggers, which the client does not know.
    quiet: bool,
    /// The objects that it has made in tempdb.
    temporary: TemporaryObjects,
}

impl Work {
    /// Makes work without a transaction.
    pub fn new(instance: Arc<Instance>) -> Work {
        Work {
            temporary: TemporaryObjects::new(Arc::clone(&instance)),
            instance,
            scopes: Vec::new(),
            transactions: SharedTransactions::default(),
            outer: None,
            reads: Arc::default(),
            reads_fixed: false,
            is_snapshot: false,
            depth: 0,
            descriptor: 0,
            savepoints: Vec::new(),
            in_statement: false,
            doomed: false,
            lock_timeout: Duration::MAX,
            deadlock_priority: 0,
            interrupt: Arc::default(),
            session: 0,
            quiet: false,
        }
    }

    /// Sets the id of the session.
    pub fn of_session(mut self, session: u16) -> Work {
        self.session = session;
        self
    }

    /// Makes work for the body of a function that a statement calls: it reads what the statement reads, and changes
    /// only its own table variables.
    pub fn for_function(&self) -> Work {
        let outer = self.outer.clone().unwrap_or_else(|| self.transactions());
        Work {
            outer: Some(outer),
            reads: Arc::clone(&self.reads),
            reads_fixed: true,
            lock_timeout: self.lock_timeout,
            deadlock_priority: self.deadlock_priority,
            session: self.session,
            interrupt: Arc::clone(&self.interrupt),
            ..Work::new(Arc::clone(&self.instance))
        }
    }

    /// Finds the module of a name. `database` is the current one.
    pub fn find_module(
        &self,
        name: &ObjectName,
        database: &str,
    ) -> Result<Option<(TableId, Arc<Module>)>, SqlError> {
        self.view().find_module(name, database)
    }

    /// Returns `@@TRANCOUNT`.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Sets the time for which locks are waited for.
    pub fn set_lock_timeout(&mut self, timeout: Duration) {
        self.lock_timeout = timeout;
        let mut open = self.transactions.lock();
        if let Some(transaction) = &mut open.session {
            transaction.set_lock_timeout(timeout);
        }
    }

    /// Makes lock waits end when `interrupt` is set.
    pub fn set_interrupt(&mut self, interrupt: Arc<AtomicBool>) {
        if let Some(transaction) = &mut self.transactions.lock().session {
            transaction.set_interrupt(Arc::clone(&interrupt));
        }
        self.interrupt = interrupt;
    }

    /// Sets where the request runs from now on.
    pub fn place(&mut self, placement: Placement) {
        self.transactions.lock().placement = placement;
    }

    /// Shares the transactions, for a scan that outlives the borrow.
    pub fn transactions(&self) -> SharedTransactions {
        Arc::clone(&self.transactions)
    }

    /// Runs BEGIN TRANSACTION, under SNAPSHOT or not. Returns the descriptor if it is the outermost.
    pub fn begin(&mut self, is_snapshot: bool) -> Option<u64> {
        self.depth += 1;
        if self.depth > 1 {
            return None;
        }
        self.is_snapshot = is_snapshot;
        self.descriptor = self.instance.new_descriptor();
        self.open();
        Some(self.descriptor)
    }

    /// Makes the running statement's transaction continue after it. Returns whether there was no other.
    pub fn adopt_statement(&mut self) -> bool {
        if self.depth > 0 {
            return false;
        }
        self.depth = 1;
        self.descriptor = self.instance.new_descriptor();
        (self.in_statement, self.quiet) = (false, true);
        true
    }

    /// Begins a transaction without a notice to the client. Returns true if there was no other.
    pub fn begin_quietly(&mut self) -> bool {
        let own = self.depth == 0 && self.begin(false).is_some();
        self.quiet |= own;
        own
    }

    /// Runs COMMIT. Returns the descriptor if it was the outermost. Errors: 3902, and the store's.
    pub fn commit(&mut self) -> Result<Option<u64>, SqlError> {
        match self.depth {
            0 => Err(errors::COMMIT_WITHOUT_BEGIN.error()),
            1 => {
                self.depth = 0;
                self.savepoints.clear();
                let quiet = std::mem::take(&mut self.quiet);
                self.close(true)?;
                Ok(Some(self.descriptor).filter(|_| !quiet))
            }
            _ => {
                self.depth -= 1;
                Ok(None)
            }
        }
    }

    /// Rolls back everything. Returns the descriptor if there was a transaction.
    pub fn rollback(&mut self) -> Option<u64> {
        let had = self.depth > 0;
        self.depth = 0;
        self.doomed = false;
        self.savepoints.clear();
        // Undoing cannot fail: dropping a transaction leaves no trace.
        let _ = self.close(false);
        let quiet = std::mem::take(&mut self.quiet);
        (had && !quiet).then_some(self.descriptor)
    }

    /// Runs SAVE TRANSACTION.
    pub fn save(&mut self, name: &str) -> Result<(), SqlError> {
        let mark = self.mark()?;
        self.savepoints.push((name.to_string(), mark));
        Ok(())
    }

    /// Dooms a transaction, which can then only be rolled back; with `undo` its changes and locks go at once.
    pub fn doom(&mut self, undo: bool) {
        self.doomed = true;
        if undo {
            self.savepoints.clear();
            // Undoing cannot fail: dropping a transaction leaves no trace.
            let _ = self.close(false);
            self.open();
        }
    }

    /// Returns true if the transaction can only be rolled back.
    pub fn is_doomed(&self) -> bool {
        self.doomed
    }

    /// Returns true if there is a savepoint of this name.
    pub fn has_savepoint(&self, name: &str) -> bool {
        self.savepoints.iter().any(|(own, _)| own.eq_ignore_ascii_case(name))
    }

    /// Rolls back to a savepoint, if there is one of that name.
    pub fn rollback_to(&mut self, name: &str) -> Result<(), SqlError> {
        let Some(position) = self.savepoints.iter().rposition(|(own, _)| own.eq_ignore_ascii_case(name))
        else {
            return Ok(());
        };
        self.savepoints.truncate(position + 1);
        match self.savepoints.last() {
            Some((_, mark)) => self.return_to(mark),
            None => Ok(()),
        }
    }

    /// Begins a bulk load, which is like a statement that ends on another thread.
    pub fn start_bulk(&mut self) -> Result<BulkWork, SqlError> {
        let alone = self.depth == 0;
        if alone {
            self.open();
        }
        Ok(BulkWork {
            instance: Arc::clone(&self.instance),
            transactions: self.transactions(),
            alone,
            mark: self.mark()?,
        })
    }

    /// Begins a statement that writes. Outside of a transaction it gets one of its own.
    pub fn start_statement(&mut self) -> Result<Mark, SqlError> {
        self.transactions.lock().ignored = false;
        if self.depth == 0 {
            self.in_statement = true;
            self.open();
        }
        self.open_variables();
        self.mark()
    }

    /// Begins a statement that changes more than rows. Errors: 3930.
    pub fn start_change(&mut self) -> Result<Mark, SqlError> {
        if self.doomed { Err(uncommittable()) } else { self.start_statement() }
    }

    /// Begins a transaction on table variables, which have one for each statement.
    fn open_variables(&mut self) {
        let mut open = self.transactions.lock();
        if open.variables.is_none() && self.temporary.has_variables() {
            open.variables = Some(self.new_transaction());
        }
    }

    /// Begins a transaction under the session's settings.
    fn new_transaction(&self) -> Transaction {
        let mut transaction = self.instance.store().begin();
        transaction.set_lock_timeout(self.lock_timeout);
        transaction.set_deadlock_priority(self.deadlock_priority);
        transaction.set_interrupt(Arc::clone(&self.interrupt));
        transaction.set_session(self.session);
        transaction
    }

    /// Ends a statement.
    pub fn end_statement(&mut self, mark: &Mark, succeeded: bool) -> Result<(), SqlError> {
        if self.depth == 0 {
            self.in_statement = false;
            return self.close(succeeded);
        }
        if let Some(variables) = self.transactions.lock().variables.take() {
            if succeeded {
                variables.commit().map_err(store_error)?;
            } else {
                drop(variables);
            }
        }
        if succeeded {
            return Ok(());
        }
        self.return_to(mark)
    }

    fn open(&mut self) {
        let mut open = self.transactions.lock();
        if self.outer.is_none() {
            let mut transaction = self.new_transaction();
            transaction.keep_reads(self.is_snapshot);
            open.session = Some(transaction);
            open.opened_to_read = false;
        }
    }

    fn close(&mut self, commit: bool) -> Result<(), SqlError> {
        self.is_snapshot = false;
        let open = self.transactions.lock().take();
        let placement = open.placement.clone();
        let commits = || open.commit();
        // Without files a commit is quick wherever it runs; otherwise dropping the transactions undoes them.
        match (commit, self.instance.is_on_disk()) {
            (true, true) => waiting(commits).map_err(store_error)?,
            (true, false) => placement.waiting(commits).map_err(store_error)?,
            (false, _) => {}
        }
        Ok(())
    }

    /// Returns true if the statement has left out rows whose keys existed already. Resets the mark.
    pub fn take_ignored(&self) -> bool {
        std::mem::take(&mut self.transactions.lock().ignored)
    }

    fn mark(&self) -> Result<Mark, SqlError> {
        self.transactions.lock().mark().map_err(store_error)
    }

    fn return_to(&self, mark: &Mark) -> Result<(), SqlError> {
        self.transactions.lock().return_to(mark)
    }

    /// Returns the store's name of an object. `database` is the current one.
    pub fn key_of(&self, name: &ObjectName, database: &str) -> String {
        self.view().key_of(name, database)
    }

    /// Finds the table of a name. `database` is the current one.
    pub fn find(&self, name: &ObjectName, database: &str) -> Result<Option<OpenTable>, SqlError> {
        self.view().find(name, database)
    }

    /// Makes a view of the tables that can outlive the borrow.
    pub fn view(&self) -> WorkView {
        WorkView {
            instance: Arc::clone(&self.instance),
            number: self.temporary.number(),
            scope: self.scopes.last().cloned().unwrap_or_default(),
            transactions: self.transactions(),
            outer: self.outer.clone(),
            reads: Arc::clone(&self.reads),
        }
    }

    /// Runs something within the statement's transaction. Errors: 1222 and 1205 from locks, else 596.
    pub fn write<T>(
        &self,
        place: Place,
        change: impl FnOnce(&mut Transaction) -> Result<T, StoreError>,
    ) -> Result<T, SqlError> {
        self.access(place).write(change)
    }

    /// Access to the transaction that changes tables of a place, which may outlive the borrow.
    pub fn access(&self, place: Place) -> TransactionAccess {
        TransactionAccess::new(self.transactions(), place)
    }
}

/// The tables as a session sees them.
#[derive(Clone)]
pub(crate) struct WorkView {
    instance: Arc<Instance>,
    /// The number in the names of the session's objects in tempdb.
    number: u64,
    scope: Arc<TableScope>,
    transactions: SharedTransactions,
    outer: Option<SharedTransactions>,
    reads: Arc<StatementReads>,
}

impl WorkView {
    /// Finds the table of a name. `database` is the current one.
    pub fn find(&self, name: &ObjectName, database: &str) -> Result<Option<OpenTable>, SqlError> {
        let variable =
            self.scope.table(&name.name).filter(|_| name.schema.is_none() && name.database.is_none());
        let (place, key) = if let Some(table) = variable {
            (Place::Variable, table.key().to_string())
        } else if name.is_variable() {
            return Ok(None);
        } else {
            (place_of(name), self.key_of(name, database))
        };
        let Some(info) = self.info(place, &key) else { return Ok(None) };
        self.opened(place, &info)
    }

    /// Returns the store's name of an object. `database` is the current one.
    fn key_of(&self, name: &ObjectName, database: &str) -> String {
        if name.is_session_own()
            && let Some(hiding) = self.scope.hiding.get(&name.name.to_lowercase())
            // One that was dropped, or undone, hides nothing.
            && let Some(key) = hiding.iter().rev().find(|key| self.info(Place::Temporary, key).is_some())
        {
            return key.clone();
        }
        key_of(name, database, self.number)
    }

    /// Finds the temporary table that the store has under a name.
    pub fn temporary_at(&self, key: &str) -> Result<Option<OpenTable>, SqlError> {
        let Some(info) = self.info(Place::Temporary, key) else { return Ok(None) };
        self.opened(Place::Temporary, &info)
    }

    /// Finds the module of a name, and its table in the store.
    pub fn find_module(
        &self,
        name: &ObjectName,
        database: &str,
    ) -> Result<Option<(TableId, Arc<Module>)>, SqlError> {
        if name.is_variable() {
            return Ok(None);
        }
        let key = self.key_of(name, database);
        let Some(info) = self.info(place_of(name), &key) else { return Ok(None) };
        let module = self.instance.module(&info)?;
        Ok(module.map(|module| (info.id, module)))
    }

    /// Reads the type that the store keeps under a key. Errors: 596 if it is damaged.
    pub fn user_type(&self, key: &str) -> Result<Option<UserType>, SqlError> {
        self.info(Place::Shared, key).as_ref().map_or(Ok(None), user_type)
    }

    /// Reads all types of users. Errors: 596 if one is damaged.
    pub fn user_types(&self) -> Result<Vec<UserType>, SqlError> {
        self.infos().iter().filter_map(|info| user_type(info).transpose()).collect()
    }

    /// Reads all modules.
    pub fn modules(&self) -> Result<Vec<Arc<Module>>, SqlError> {
        let infos = self.infos();
        let visible = infos.iter().filter(|info| place_of_key(&info.name, self.number).is_some());
        visible.filter_map(|info| self.instance.module(info).transpose()).collect()
    }

    /// Finds the partition function of a name in a database, and its table in the store. Errors: 596 if it is damaged.
    pub fn partition_function(
        &self,
        database: &str,
        name: &str,
    ) -> Result<Option<(TableId, PartitionFunction)>, SqlError> {
        let Some(info) = self.info(Place::Shared, &PartitionFunction::key(database, name)) else {
            return Ok(None);
        };
        Ok(partition_function(&info)?.map(|function| (info.id, function)))
    }

    /// Finds the partition scheme of a name in a database, and its table in the store. Errors: 596 if it is damaged.
    pub fn partition_scheme(
        &self,
        database: &str,
        name: &str,
    ) -> Result<Option<(TableId, PartitionScheme)>, SqlError> {
        let Some(info) = self.info(Place::Shared, &PartitionScheme::key(database, name)) else {
            return Ok(None);
        };
        Ok(partition_scheme(&info)?.map(|scheme| (info.id, scheme)))
    }

    /// Reads all partition functions and schemes. Errors: 596 if one is damaged.
    pub fn partitions(&self) -> Result<Partitions, SqlError> {
        let mut found = Partitions::default();
        for info in self.infos().iter().filter(|info| is_partition_entry(&info.properties)) {
            found.functions.extend(partition_function(info)?);
            found.schemes.extend(partition_scheme(info)?);
        }
        Ok(found)
    }

    fn infos(&self) -> Vec<TableInfo> {
        if let Some(transaction) = &self.transactions.lock().session {
            return transaction.tables();
        }
        if let Some(outer) = &self.outer
            && let Some(transaction) = &outer.lock().session
        {
            return transaction.tables();
        }
        self.committed_infos()
    }

    /// Returns the tables of the server's store that may have a FOREIGN KEY to a table.
    pub fn referring(&self, parent: &TableDefinition) -> Result<Vec<OpenTable>, SqlError> {
        let key = store_key(&parent.database, &parent.schema, &parent.name);
        let infos = match &self.transactions.lock().session {
            Some(transaction) => transaction.referring(&key),
            None => self.committed_referring(&key),
        };
        infos.iter().filter_map(|info| self.opened(Place::Shared, info).transpose()).collect()
    }

    /// Looks a name up in the store of a place.
    fn info(&self, place: Place, key: &str) -> Option<TableInfo> {
        let open = self.transactions.lock();
        if place == Place::Shared
            && open.session.is_none()
            && let Some(outer) = &self.outer
            && let Some(transaction) = &outer.lock().session
        {
            return transaction.table(key);
        }
        match (open.at(place), place) {
            (Some(transaction), _) => transaction.table(key),
            (None, Place::Shared | Place::Temporary) => self.committed_info(key),
            // Other statements of a function's body may have changed it since the calling one began to read.
            (None, Place::Variable) => self.instance.store().snapshot().table(key),
        }
    }

    fn opened(&self, place: Place, info: &TableInfo) -> Result<Option<OpenTable>, SqlError> {
        let definition = self.instance.definition(info)?;
        Ok(definition.map(|definition| OpenTable { place, id: info.id, definition, rows: info.rows }))
    }

    /// Lists all tables, including temporary ones.
    pub fn tables(&self) -> Result<Vec<OpenTable>, SqlError> {
        let infos = self.infos();
        let mut tables = Vec::with_capacity(infos.len());
        for info in &infos {
            if let Some(place) = place_of_key(&info.name, self.number) {
                tables.extend(self.opened(place, info)?);
            }
        }
        Ok(tables)
    }
}

/// Returns the place of a named object that is no table variable.
pub(crate) fn place_of(name: &ObjectName) -> Place {
    if name.is_session_own() { Place::Temporary } else { Place::Shared }
}

/// Returns the store's name of an object. `number` is that of the session's names in tempdb.
fn key_of(name: &ObjectName, database: &str, number: u64) -> String {
    if name.is_session_own() {
        return own_key(&name.name, number);
    }
    if name.is_temporary() {
        return global_key(&name.name);
    }
    let database = name.database.as_deref().unwrap_or(database);
    store_key(database, name.schema.as_deref().unwrap_or("dbo"), &name.name)
}
