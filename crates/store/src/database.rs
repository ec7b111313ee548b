//! An open database: the committed state, the journal that makes it durable, and the way a transaction becomes part of both.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};

use crate::catalogue::{ApplyError, Catalogue, Op, TableId};
use crate::checkpoint::{self, Checkpoint};
use crate::error::{OpenError, StoreError};
use crate::journal::{AppendError, JOURNAL, Journal, NEW_JOURNAL, Recovered, recover};
use crate::lock::LockTable;
use crate::quota::{Counted, MemoryQuota};
use crate::record::{RecordHead, encode_record};
use crate::segment::{SegmentFile, SegmentId};
use crate::snapshot::Snapshot;
use crate::storage::{DirectoryStorage, OpenDirectoryError, Storage};
use crate::transaction::Transaction;

/// Whether a commit waits for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sync {
    /// A commit returns when everything it needs is durable: it survives a power cut.
    #[default]
    Full,
    /// Nothing is ever synced: a commit survives the end of the process, but **not** a power cut or a crash of the system,
    /// which may also damage what was committed before. For benchmarks and throw-away databases.
    None,
}

/// How a database behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Durability of commits.
    pub sync: Sync,
    /// How long a transaction waits for a table lock unless it says otherwise; `Duration::MAX`, the default, is for ever (a
    /// deadlock is always found at once).
    pub lock_timeout: Duration,
    /// A commit that lets the journal grow by more than this since the last checkpoint runs the next one. Default 8 MiB.
    pub checkpoint_journal_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { sync: Sync::Full, lock_timeout: Duration::MAX, checkpoint_journal_bytes: 8 << 20 }
    }
}

/// An open database. Clones share it; the last one to go closes the files.
#[derive(Debug, Clone)]
pub struct Database {
    shared: Arc<Shared>,
}

/// What a commit did.
#[derive(Debug)]
pub struct Commit {
    /// Number of this commit; a commit without changes returns the number of the last one.
    pub sequence: u64,
    /// Bytes made durable for it: segments and the journal record. Zero in memory and with [`Sync::None`].
    pub bytes_synced: u64,
    /// The commit stands, but the checkpoint that was due after it failed; it is tried again later.
    pub checkpoint_error: Option<StoreError>,
}

impl Database {
    /// Opens the database in `directory`, creating it if there is none, and recovers it if it was not closed. One process
    /// at a time: the directory is locked until the last clone, snapshot and transaction is gone.
    pub fn open(directory: &Path, options: Options) -> Result<Self, OpenError> {
        let storage = DirectoryStorage::open(directory).map_err(|error| match error {
            OpenDirectoryError::InUse => OpenError::InUse { path: directory.to_owned() },
            OpenDirectoryError::Io(source) => {
                StoreError::Io { operation: "open", path: directory.to_owned(), offset: None, source }.into()
            }
        })?;
        Self::open_on(Arc::new(storage), options)
    }

    /// Opens or creates a database on other storage, which must not be in use by another.
    pub fn open_on(storage: Arc<dyn Storage>, options: Options) -> Result<Self, OpenError> {
        let directory = storage.path("");
        let io =
            |operation, source| StoreError::Io { operation, path: directory.clone(), offset: None, source };
        let names = storage.list().map_err(|source| io("list", source))?;
        let segments = || names.iter().filter_map(|name| SegmentId::from_file_name(name));
        if names.iter().any(|name| name == NEW_JOURNAL) {
            storage.remove(NEW_JOURNAL).map_err(|source| io("remove an unfinished journal from", source))?;
        }
        if !names.iter().any(|name| name == JOURNAL) {
            if segments().next().is_some() {
                return Err(OpenError::JournalMissing { path: directory });
            }
            let head =
                RecordHead { base: true, sequence: 0, durable_sequence: 0, next_table: 1, next_segment: 1 };
            let base = encode_record(&head, &[])?;
            Journal::replace(&storage, options.sync, 0, &base).map_err(|(error, _)| error)?;
        }
        let Recovered { journal, catalogue, next_table, next_segment } = recover(&storage, options.sync)?;

        let used: std::collections::HashSet<_> = catalogue.segment_files().map(|file| file.id).collect();
        for orphan in segments().filter(|id| !used.contains(id)) {
            storage
                .remove(&orphan.file_name())
                .map_err(|source| io("remove an unused segment from", source))?;
        }
        Ok(Self::new(Some((storage, journal)), catalogue, next_table, next_segment, options, None))
    }

    /// A database without files: the same transactions, snapshots and locks, gone with its last clone.
    pub fn in_memory() -> Self {
        Self::in_memory_with(Options::default())
    }

    /// Like [`Self::in_memory`], with options; those about the disk mean nothing.
    pub fn in_memory_with(options: Options) -> Self {
        Self::new(None, Catalogue::default(), 1, 1, options, None)
    }

    /// Like [`Self::in_memory`], with rows that are counted in a quota: without room in it, none are added.
    pub fn in_memory_within(quota: Arc<dyn MemoryQuota>) -> Self {
        Self::new(None, Catalogue::default(), 1, 1, Options::default(), Some(quota))
    }

    fn new(
        disk: Option<(Arc<dyn Storage>, Journal)>,
        catalogue: Catalogue,
        next_table: u64,
        next_segment: u64,
        options: Options,
        quota: Option<Arc<dyn MemoryQuota>>,
    ) -> Self {
        let (storage, journal) = disk.unzip();
        let shared = Shared {
            storage,
            options,
            catalogue: RwLock::new(Arc::new(catalogue)),
            journal: Mutex::new(journal),
            locks: LockTable::default(),
            next_table: AtomicU64::new(next_table),
            next_segment: AtomicU64::new(next_segment),
            next_transaction: AtomicU64::new(1),
            memory: Counted::new(quota),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Whether commits go to files.
    pub fn is_on_disk(&self) -> bool {
        self.shared.storage.is_some()
    }

    /// Starts a transaction.
    pub fn begin(&self) -> Transaction {
        let id = self.shared.next_transaction.fetch_add(1, Ordering::Relaxed);
        Transaction::new(Arc::clone(&self.shared), id)
    }

    /// Everything committed so far, frozen.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.shared.catalogue())
    }

    /// Rewrites the journal to the state it leads to and folds small appends and tiny segments into larger ones. Commits
    /// wait meanwhile, readers and appenders do not. In memory there is nothing to do.
    pub fn checkpoint(&self) -> Result<Checkpoint, StoreError> {
        match &mut *self.shared.journal.lock() {
            Some(journal) => checkpoint::run(&self.shared, journal),
            None => Ok(Checkpoint::default()),
        }
    }

    /// Runs a last checkpoint and lets go. Not needed for durability: a database that is merely dropped, or killed, loses
    /// nothing that was committed.
    pub fn close(self) -> Result<Checkpoint, StoreError> {
        self.checkpoint()
    }
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub storage: Option<Arc<dyn Storage>>,
    pub options: Options,
    pub locks: LockTable,
    catalogue: RwLock<Arc<Catalogue>>,
    /// Held while a commit or a checkpoint changes journal and catalogue together. None: in memory.
    journal: Mutex<Option<Journal>>,
    next_table: AtomicU64,
    next_segment: AtomicU64,
    next_transaction: AtomicU64,
    /// Rows of a database in memory.
    pub memory: Counted,
}

impl Shared {
    pub fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue.read())
    }

    /// Only with the journal held.
    pub fn publish(&self, catalogue: Catalogue) {
        let old = std::mem::replace(&mut *self.catalogue.write(), Arc::new(catalogue));
        // Outside the lock: the last reference to a segment removes its file.
        drop(old);
    }

    pub fn new_table_id(&self) -> TableId {
        TableId(self.next_table.fetch_add(1, Ordering::Relaxed))
    }

    pub fn new_segment_id(&self) -> SegmentId {
        SegmentId(self.next_segment.fetch_add(1, Ordering::Relaxed))
    }

    pub fn record_head(&self, base: bool, sequence: u64, durable_sequence: u64) -> RecordHead {
        RecordHead {
            base,
            sequence,
            durable_sequence,
            next_table: self.next_table.load(Ordering::Relaxed),
            next_segment: self.next_segment.load(Ordering::Relaxed),
        }
    }

    /// Makes one transaction's changes durable and visible, all or none. The segments it adds are synced already.
    pub fn commit(&self, ops: Vec<Op>) -> Result<Commit, StoreError> {
        let mut guard = self.journal.lock();
        let journal = &mut *guard;
        if let Some(journal) = journal.as_mut().filter(|journal| journal.broken) {
            checkpoint::run(self, journal)?;
        }
        let added = added_files(&ops);
        let shrunk = ops.iter().any(|op| matches!(op, Op::Drop { .. } | Op::Clear { .. }));
        let current = self.catalogue();
        let sequence = current.sequence + 1;
        let mut next = (*current).clone();
        drop(current);
        let mut bytes_synced = 0;
        let record = match journal {
            Some(journal) => {
                Some(encode_record(&self.record_head(false, sequence, journal.durable_sequence), &ops)?)
            }
            None => None,
        };
        let mut unused = Vec::new();
        for op in ops {
            next.apply(op, &mut unused).map_err(conflict)?;
        }
        next.finish(sequence).map_err(conflict)?;
        if let (Some(journal), Some(record)) = (journal.as_mut(), record) {
            bytes_synced = match journal.append(sequence, &record) {
                Ok(bytes) => bytes,
                Err(AppendError::NotWritten(error)) => return Err(error),
                Err(AppendError::Unknown(error)) => {
                    // The record may be there after a crash, so what it refers to must be, too.
                    added.iter().for_each(|file| file.set_doomed(false));
                    journal.limbo.extend(added);
                    return Err(StoreError::CommitUnknown { source: Box::new(error) });
                }
            };
        }
        added.iter().for_each(|file| file.set_doomed(false));
        unused.iter().for_each(|file| file.set_doomed(true));
        self.publish(next);
        drop(unused);
        self.memory.recount(shrunk, || self.catalogue().memory_bytes());
        let checkpoint_error = journal.as_mut().and_then(|journal| self.checkpoint_if_due(journal));
        if self.options.sync == Sync::None {
            bytes_synced = 0;
        }
        Ok(Commit { sequence, bytes_synced, checkpoint_error })
    }

    fn checkpoint_if_due(&self, journal: &mut Journal) -> Option<StoreError> {
        let grown = journal.length_bytes.saturating_sub(journal.base_bytes);
        // A large catalogue is not rewritten for a little growth.
        if grown <= self.options.checkpoint_journal_bytes.max(journal.base_bytes / 2) {
            return None;
        }
        let error = checkpoint::run(self, journal).err();
        if error.is_some() {
            // Not again at once: when it has grown as much once more.
            journal.base_bytes = journal.length_bytes;
        }
        error
    }
}

fn added_files(ops: &[Op]) -> Vec<Arc<SegmentFile>> {
    let added = ops.iter().filter_map(|op| match op {
        Op::AddSegment { segment, .. } => Some(Arc::clone(&segment.file)),
        _ => None,
    });
    added.collect()
}

/// Locks keep transactions apart, so these are races that cannot happen; they are refused all the same.
fn conflict(error: ApplyError) -> StoreError {
    match error {
        ApplyError::NoSuchTable(table) | ApplyError::TableIdUsed(table) => StoreError::NoSuchTable { table },
        ApplyError::NameUsed(name) => StoreError::TableExists { name },
        ApplyError::Arrow(error) => StoreError::Arrow(error),
    }
}
