//! A database: a directory of data files and a log, opened by one process at a time.

pub(crate) mod estimate;
pub(crate) mod figures;
pub mod file_groups;
pub(crate) mod former_keys;
pub(crate) mod global;
pub(crate) mod pages;
pub(crate) mod resources;
pub(crate) mod shrink;
pub(crate) mod space;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::cache::buffer::BufferCache;
use crate::cache::pager::{NO_TRANSACTION, Pager};
use crate::cache::version_file;
use crate::cache::versions::Versions;
use crate::catalogue::definition::{Definition, StoredUnit};
use crate::catalogue::table_map::TableMap;
use crate::catalogue::{Catalogue, Table, catalogue_layout};
use crate::check::finding::Finding;
use crate::database::control::Control;
use crate::database::host::Host;
pub use crate::database::options::{EngineOptions, RecoveryModel};
use crate::database::progress::Teller;
use crate::database::recovery;
use crate::database::restoring::check_restored;
use crate::database::shared::Shared;
pub use crate::database::snapshot::Snapshot;
use crate::disk::directory::OpenDirectoryError;
use crate::disk::file_layout::{FileLayout, PRIMARY};
pub use crate::disk::files::file_name as data_file_name;
use crate::disk::files::{self, DataFiles};
use crate::disk::memory::MemoryVolume;
use crate::disk::volume::{DirectoryVolume, Volume};
use crate::error::EngineError;
use crate::figures::{Waits, count};
use crate::log::{Log, LogOptions, LogScan, file_number};
use crate::page::PageId;
use crate::page::lsn::Lsn;
use crate::page::unit::{CATALOGUE, UnitKind};
use crate::page::unit::{Owner, Unit};
use crate::record::compress::CompressionCounts;
use crate::scan::{PageReader, Scan, View};
use crate::sort;
use crate::space::Allocator;
use crate::transaction::Transaction;
use crate::tree::index::{Index, Tree};

/// Log that a database in memory keeps at most between two checkpoints.
const MEMORY_LOG_BYTES: u64 = 4 << 20;
/// Cache size of databases in memory, whose files are in memory anyway.
pub const MEMORY_CACHE_BYTES: usize = 16 << 20;

/// An open database. Clones share it.
#[derive(Debug, Clone)]
pub struct Engine {
    pub(crate) shared: Arc<Shared>,
}

impl Engine {
    /// Opens a directory, or makes it a database if there is none in it.
    pub fn open(directory: &Path, options: EngineOptions) -> Result<Self, EngineError> {
        let volume = DirectoryVolume::open(directory).map_err(|error| match error {
            OpenDirectoryError::InUse => EngineError::InUse { path: directory.to_owned() },
            OpenDirectoryError::Io(source) => {
                EngineError::Io { operation: "open", path: directory.to_owned(), source }
            }
        })?;
        Self::open_on(Arc::new(volume), options)
    }

    /// Creates a database in memory, which goes with its last clone. Its log is truncated early, since there
    /// is no recovery.
    pub fn in_memory(options: EngineOptions) -> Result<Self, EngineError> {
        Self::open_on(Arc::new(MemoryVolume::default()), memory_options(options))
    }

    /// Opens one of several databases in memory, which share `host`. `fill` makes its files; without files it is a new one.
    ///
    /// # Errors
    /// Those of `fill` and of opening.
    pub fn in_memory_of(
        host: &Host,
        options: EngineOptions,
        fill: impl FnOnce(&Arc<dyn Volume>) -> Result<(), EngineError>,
    ) -> Result<Self, EngineError> {
        let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::within(host.quota.clone()));
        fill(&volume)?;
        Self::open_within(host, volume, memory_options(options), &|_| false)
    }

    /// Opens a database on any volume. What was prepared for a transaction over several databases, and not committed,
    /// is undone.
    pub fn open_on(volume: Arc<dyn Volume>, options: EngineOptions) -> Result<Self, EngineError> {
        Self::open_with(None, volume, options, &|_| false)
    }

    /// Opens one of several databases, which share `host`. `decided` says whether the coordinator has decided to
    /// commit a transaction over several of them ([`has_decided`](Self::has_decided)); the coordinator itself is
    /// opened first, and knows. The limit of the cache is the host's.
    pub fn open_within(
        host: &Host,
        volume: Arc<dyn Volume>,
        options: EngineOptions,
        decided: &dyn Fn(u64) -> bool,
    ) -> Result<Self, EngineError> {
        Self::open_with(Some(host), volume, options, decided)
    }

    fn open_with(
        host: Option<&Host>,
        volume: Arc<dyn Volume>,
        options: EngineOptions,
        decided: &dyn Fn(u64) -> bool,
    ) -> Result<Self, EngineError> {
        sort::remove_left_over(&volume)?;
        version_file::remove_left_over(&volume)?;
        let control = Control::read(&volume)?;
        check_restored(&volume, control.is_some())?;
        match control {
            Some(control) => recover(host, volume, options, control, decided),
            None => create(host, volume, options),
        }
    }

    /// Starts a transaction.
    pub fn begin(&self) -> Transaction {
        count(&self.shared.counters.transactions, 1);
        let id = self.shared.next_transaction.fetch_add(1, Ordering::AcqRel);
        Transaction::new(Arc::clone(&self.shared), id)
    }

    /// Starts a transaction that counts as one with those of the same owner in other databases ([`Host::new_owner`]) in the
    /// search for deadlocks. They are committed by [`commit_together`](global::commit_together).
    pub fn begin_for(&self, owner: u64) -> Transaction {
        let transaction = self.begin();
        self.shared.locks.link(transaction.id(), owner);
        transaction
    }

    /// Shuts the database, which is about to be removed.
    pub fn shut(&self, reason: &str) {
        self.shared.pager.log.shut(reason.to_owned());
    }

    /// Returns a snapshot of everything committed.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::open(&self.shared)
    }

    /// Writes all changed pages, so that recovery can start here, and truncates log that is not needed.
    pub fn checkpoint(&self) -> Result<(), EngineError> {
        self.shared.checkpoint()
    }

    /// Returns the recovery model.
    pub fn recovery_model(&self) -> RecoveryModel {
        self.shared.recovery_model()
    }

    /// Changes the recovery model from the next bulk load on.
    pub fn set_recovery_model(&self, model: RecoveryModel) -> Result<(), EngineError> {
        self.shared.recovery_model.store(model as u8, Ordering::Release);
        self.shared.checkpoint()
    }

    /// Notes that the log up to now has been backed up, so that FULL and BULK_LOGGED need not keep it.
    pub fn log_backed_up(&self) -> Result<(), EngineError> {
        self.shared.note_log_backup(self.shared.pager.log.position());
        self.shared.checkpoint()
    }

    /// Checks the structure of the whole database: pages, rows, pointers, maps, and that they agree. Waits until it has locked
    /// every table exclusively. An empty list means that nothing was found.
    pub fn check(&self) -> Result<Vec<Finding>, EngineError> {
        self.begin().check_database()
    }

    /// Removes clean pages that are not in use from the cache; returns their number.
    pub fn drop_clean_pages(&self) -> u64 {
        self.shared.pager.cache.drop_clean()
    }

    /// Counts the attempts to compress pages of a table since the database was opened, by rolled-back
    /// transactions too.
    pub fn compression_counts(&self, object: u32) -> CompressionCounts {
        self.shared.compression_counts(UnitKind::InRow.id(storage_of(&self.shared, object)))
    }

    /// Counts the attempts to compress pages of a nonclustered index, given by its number in the table.
    pub fn index_compression_counts(&self, object: u32, index: u16) -> CompressionCounts {
        self.shared.compression_counts(UnitKind::Index(index).id(storage_of(&self.shared, object)))
    }

    /// Returns the current sizes of log and cache.
    pub fn usage(&self) -> Usage {
        let (extents, free_extents) = self.shared.allocator.totals();
        let (versions_in_memory, spilled_page_versions) = self.shared.pager.versions.counts();
        Usage {
            log_used_bytes: self.shared.pager.log.used_bytes(),
            log_written_bytes: self.shared.pager.log.written_bytes(),
            cached_pages: self.shared.pager.cache.pages(),
            page_versions: versions_in_memory + spilled_page_versions,
            spilled_page_versions,
            extents,
            free_extents,
        }
    }
}

fn create(
    host: Option<&Host>,
    volume: Arc<dyn Volume>,
    options: EngineOptions,
) -> Result<Engine, EngineError> {
    let io = |operation| {
        let path = volume.path("");
        move |source| EngineError::Io { operation, path, source }
    };
    for name in volume.list().map_err(io("list"))? {
        // A second log file means that there was a database once.
        if file_number(&name).is_some_and(|number| number > 1) {
            let reason = "it is missing, but there is a log".to_owned();
            return Err(EngineError::DamagedDatabase { what: "the control file", reason });
        }
    }
    let waits = Arc::new(Waits::default());
    let log = Arc::new(Log::create(&volume, options.log, &waits)?);
    let placed = FileLayout::primary(options.files);
    let files = Arc::new(DataFiles::new(&volume, &waits, &placed));
    let cache = cache_of(host, &options, &files, &log);
    let versions = Versions::new(&volume, options.version_memory_bytes);
    let pager = Arc::new(Pager::new(&files, &log, cache, versions, &waits));
    let allocator = Allocator::open(&pager, options.data_limit_bytes)?;
    for definition in &placed.files {
        files.add(definition.clone(), true)?;
        allocator.add_file(definition.number, 0)?;
    }
    // The control file, once it is there, means that the others are.
    volume.sync_directory().map_err(io("sync"))?;
    let mut units = Vec::new();
    let layout = catalogue_layout()?;
    let table = Table::new(CATALOGUE, "sys.objects", ("", None), layout, |id| {
        let owner = Owner { table: "sys.objects", index: None };
        let unit = allocator.create_unit(NO_TRANSACTION, id, PRIMARY, owner)?;
        units.push(unit.first_iam);
        Ok(unit)
    })?;
    let control = Control {
        next_transaction: 1,
        next_object: CATALOGUE + 1,
        files: placed,
        catalogue_iam: units.first().copied().unwrap_or(PageId::NONE),
        recovery_model: options.recovery_model as u8,
        // The first virtual log file from its start.
        keep_from: Lsn { file: 1, block: 0, record: 0 },
        ..Control::default()
    };
    allocator.publish_units(NO_TRANSACTION);
    let shared = Shared::new(host, volume, options, pager, allocator, &control);
    let mut tables = TableMap::default();
    tables.put(CATALOGUE, Some(Arc::new(table)));
    *shared.catalogue.write() = Arc::new(Catalogue { sequence: 0, tables });
    let engine = Engine { shared: Arc::new(shared) };
    engine.checkpoint()?;
    Ok(engine)
}

fn recover(
    host: Option<&Host>,
    volume: Arc<dyn Volume>,
    options: EngineOptions,
    control: Control,
    decided: &dyn Fn(u64) -> bool,
) -> Result<Engine, EngineError> {
    let scan = LogScan::new(&volume, control.keep_from)?;
    let waits = Arc::new(Waits::default());
    let log = Arc::new(Log::after(&scan, &volume, options.log, &waits)?);
    let files = Arc::new(DataFiles::new(&volume, &waits, &control.files));
    files::remove_left_over(&volume, &control.files)?;
    for definition in &control.files.files {
        files.add(definition.clone(), false)?;
    }
    let cache = cache_of(host, &options, &files, &log);
    let versions = Versions::new(&volume, options.version_memory_bytes);
    let pager = Arc::new(Pager::new(&files, &log, cache, versions, &waits));
    let mut teller = Teller::new(host.and_then(|host| host.on_recovery.as_ref()), volume.path(""));
    let recovered = recovery::recover(&pager, &scan, &control, decided, &mut teller)?;
    let allocator = Allocator::open(&pager, options.data_limit_bytes)?;
    let control = Control {
        next_transaction: recovered.next_transaction,
        row_counts: recovered.row_counts.into_iter().collect(),
        decisions: recovered.decisions.into_iter().collect(),
        ..control
    };
    let shared = Arc::new(Shared::new(host, volume, options, pager, allocator, &control));
    shared.load_catalogue()?;
    let engine = Engine { shared };
    if control.former_keys {
        // The next checkpoint says that the keys are in order.
        former_keys::check(&engine)?;
    }
    match engine.checkpoint() {
        // Readers need none; the next one finds room, or the next opening does all of this again.
        Err(error) if error.wants_space() => {
            engine.shared.allocator.wait_for_undoing(engine.shared.pager.log.position());
        }
        made => made?,
    }
    Ok(engine)
}

/// Reduces options to what suits a database in memory: smaller log files, checkpoints and cache.
fn memory_options(options: EngineOptions) -> EngineOptions {
    let log = LogOptions { file_bytes: options.log.file_bytes.min(MEMORY_LOG_BYTES), ..options.log };
    let checkpoint_log_bytes = options.checkpoint_log_bytes.min(MEMORY_LOG_BYTES);
    let cache_bytes = options.cache_bytes.min(MEMORY_CACHE_BYTES);
    // A file would be in memory, too.
    let version_memory_bytes = usize::MAX;
    EngineOptions { log, checkpoint_log_bytes, cache_bytes, version_memory_bytes, ..options }
}

/// Figures of an open database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Bytes of the log that are in use.
    pub log_used_bytes: u64,
    /// Bytes of log records written since the database was opened.
    pub log_written_bytes: u64,
    /// Pages in the cache.
    pub cached_pages: usize,
    /// Older versions of pages that are kept for snapshots.
    pub page_versions: usize,
    /// Page versions that were moved to a file because memory is limited.
    pub spilled_page_versions: usize,
    /// Extents of all data files.
    pub extents: u64,
    /// Extents that no unit owns.
    pub free_extents: u64,
}

/// Creates a cache of the database's own, or one that gives way to those of other databases.
fn cache_of(
    host: Option<&Host>,
    options: &EngineOptions,
    files: &Arc<DataFiles>,
    log: &Arc<Log>,
) -> Arc<BufferCache> {
    match host {
        Some(host) => BufferCache::within(&host.budget, files, log),
        None => Arc::new(BufferCache::new(files, log, options.cache_bytes / crate::page::PAGE_BYTES)),
    }
}

/// Returns the number that the pages of a table carry.
fn storage_of(shared: &Shared, object: u32) -> u32 {
    shared.catalogue.read().tables.get(object).map_or(object, |table| table.storage)
}

impl Shared {
    fn load_catalogue(self: &Arc<Self>) -> Result<(), EngineError> {
        let first = self.catalogue_iam;
        // The other units of the catalogue were created with this one, and stay empty.
        let mut table = Table::new(CATALOGUE, "sys.objects", ("", None), catalogue_layout()?, |id| {
            Ok(Unit { id, group: PRIMARY, first_iam: PageId::NONE, extents: Arc::default() })
        })?;
        let unit = self.allocator.load_unit(table.unit(UnitKind::InRow).id, PRIMARY, first)?;
        *table.unit_mut(UnitKind::InRow) = unit;
        let counts = self.row_counts.lock().clone();
        table.rows = counts.get(&CATALOGUE).copied().unwrap_or(0);
        let table = Arc::new(table);
        let reader = PageReader { shared: Arc::clone(self), view: View::Current, passes: false };
        let mut scan = Scan::new(reader, Arc::clone(&table), None)?;
        let mut rows = Vec::new();
        while let Some(batch) = scan.next_with_addresses() {
            rows.push(batch?);
        }
        let mut tables = TableMap::default();
        tables.put(CATALOGUE, Some(table));
        for definition in Definition::read(&rows)? {
            let (object, storage) = (definition.object, definition.storage);
            let rows = counts.get(&object).copied().unwrap_or(0);
            let table = self.load_table(definition, rows)?;
            self.pager.note_tree(storage, table.clustered.is_some());
            self.next_object.fetch_max(object.max(storage) + 1, Ordering::AcqRel);
            tables.put(object, Some(Arc::new(table)));
        }
        *self.catalogue.write() = Arc::new(Catalogue { sequence: 0, tables });
        Ok(())
    }
}

impl Shared {
    fn load_table(&self, definition: Definition, rows: u64) -> Result<Table, EngineError> {
        let Definition { object, storage, clustered, .. } = definition;
        let key = clustered.as_ref().map(|(_, definition)| definition);
        let layout = Tree::table_layout(definition.columns, key)?.with_compression(definition.compression)?;
        let mut units = definition.units.into_iter();
        let properties = (definition.properties.as_str(), self.options.references);
        let mut table = Table::new(storage, &definition.name, properties, layout, |id| {
            let unit =
                units.next().ok_or_else(|| EngineError::internal("a table of more units than are kept"))?;
            let StoredUnit { first_iam, group } = unit;
            self.allocator.load_unit(id, group, first_iam)
        })?;
        table.object = object;
        let order = self.options.text_order;
        if let Some((root, definition)) = clustered {
            table.clustered = Some(Arc::new(Tree::clustered(&table.layout, definition, root, order)?));
        }
        for stored in definition.indexes {
            let StoredUnit { first_iam, group } = stored.unit;
            let unit = self.allocator.load_unit(UnitKind::Index(stored.id).id(storage), group, first_iam)?;
            let tree = table.clustered.as_deref();
            let index =
                Index::new(stored.id, stored.definition, &table.layout, tree, stored.root, unit, order)?;
            table.indexes.push(index);
        }
        table.next_index = definition.next_index;
        table.rows = rows;
        table.definition = definition.rows;
        Ok(table)
    }
}
