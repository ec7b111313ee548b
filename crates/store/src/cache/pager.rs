//! Changing pages under the log: every change of a logged page goes through [`Pager::change`].

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock, RwLockReadGuard};

use super::buffer::BufferCache;
use super::versions::Versions;
use crate::disk::files::DataFiles;
use crate::error::EngineError;
use crate::figures::{WaitType, Waits};
use crate::log::{Change, FormatRecord, Log, LogContext, LogPlace, LogRecord, Operation, Space};
use crate::page::lsn::Lsn;
use crate::page::unit::CATALOGUE;
use crate::page::{self, PAGE_BYTES, Page, PageId};

/// The records of a transaction in the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogPosition {
    /// First record; zero: none yet.
    pub first: Lsn,
    /// Last record, from which undoing starts.
    pub last: Lsn,
    /// Log space kept for undoing it.
    pub reserved_bytes: u64,
}

/// Cache, log and versions together.
#[derive(Debug)]
pub struct Pager {
    /// Data files of the database.
    pub files: Arc<DataFiles>,
    /// Transaction log of the database.
    pub log: Arc<Log>,
    /// Cache of pages.
    pub cache: Arc<BufferCache>,
    /// Pages as they were.
    pub versions: Versions,
    /// Held shared from the append of a record until the page, or the commit, that it describes has changed. A
    /// checkpoint takes it alone, so it sees the change of every record before its start.
    gate: RwLock<()>,
    state: Mutex<State>,
    next_system_transaction: AtomicU64,
    /// Objects that are clustered trees: what their pages are called in the log.
    trees: RwLock<HashSet<u32>>,
    /// Waits of the database's sessions, by type.
    pub waits: Arc<Waits>,
}

#[derive(Debug, Default)]
struct State {
    /// Start of the last checkpoint: a page older than that is logged as a whole before its next change.
    redo_start: Lsn,
    active: BTreeMap<u64, LogPosition>,
}

/// The number for records of no transaction, which are never undone.
pub const NO_TRANSACTION: u64 = 0;
/// Ids from here on are those of [system transactions](Pager::system_transaction).
pub const FIRST_SYSTEM_TRANSACTION: u64 = 1 << 63;

impl Pager {
    /// Creates a pager over these files, this log, and a cache.
    pub fn new(
        files: &Arc<DataFiles>,
        log: &Arc<Log>,
        cache: Arc<BufferCache>,
        versions: Versions,
        waits: &Arc<Waits>,
    ) -> Self {
        Self {
            files: Arc::clone(files),
            log: Arc::clone(log),
            cache,
            versions,
            gate: RwLock::new(()),
            state: Mutex::default(),
            next_system_transaction: AtomicU64::new(FIRST_SYSTEM_TRANSACTION),
            trees: RwLock::default(),
            waits: Arc::clone(waits),
        }
    }

    /// Makes all pages durable that were written so far. After a failure it is unknown which pages the disk has, and a second
    /// sync may wrongly report success. So the database accepts nothing until the next opening restores the pages from the log.
    pub fn sync_files(&self) -> Result<(), EngineError> {
        self.files.sync().inspect_err(|error| {
            // Room for pages was reserved when their file grew: what wants some now is no page that was written before.
            if !error.wants_space() {
                self.log.shut(error.to_string());
            }
        })
    }

    /// Notes that a table is a clustered tree, or is not.
    pub fn note_tree(&self, object: u32, is_tree: bool) {
        if self.trees.read().contains(&object) != is_tree {
            let mut trees = self.trees.write();
            if is_tree {
                trees.insert(object)
            } else {
                trees.remove(&object)
            };
        }
    }

    /// Reads from a page's bytes the allocation unit and context that its log records carry.
    fn place_of(&self, bytes: &[u8; PAGE_BYTES]) -> LogPlace {
        let context = LogContext::of(bytes, |object| self.trees.read().contains(&object));
        LogPlace { unit: page::unit(bytes), context }
    }

    /// Runs changes that happen together or not at all. They stay even if the transaction that needs them is rolled back.
    pub fn system_transaction<T>(
        &self,
        changes: impl FnOnce(u64) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let id = self.next_system_transaction.fetch_add(1, Ordering::AcqRel);
        match changes(id) {
            Ok(value) => {
                self.end(id, Operation::Commit { row_counts: Vec::new() }, || ())?;
                Ok(value)
            }
            Err(error) => {
                self.undo(id, Lsn::ZERO)?;
                self.end(id, Operation::End, || ())?;
                Err(error)
            }
        }
    }

    /// Makes a change and logs it. Returns false, without any effect, if the page is not in the state that the change expects.
    pub fn change(&self, transaction: u64, change: Change) -> Result<bool, EngineError> {
        self.change_with(transaction, change, None)
    }

    /// Undoes a record about `place` by `change`, and notes where undoing goes on.
    fn compensate(
        &self,
        transaction: u64,
        change: Change,
        place: LogPlace,
        undo_next: Lsn,
    ) -> Result<bool, EngineError> {
        self.change_with(transaction, change, Some((undo_next, place)))
    }

    fn change_with(
        &self,
        transaction: u64,
        change: Change,
        undo_next: Option<(Lsn, LogPlace)>,
    ) -> Result<bool, EngineError> {
        let id = change.page();
        let frame = self.cache.frame(id)?;
        let _gate = self.gate.read();
        let mut state = match frame.try_lock() {
            Some(state) => state,
            None => self.waits.during(WaitType::PageLatchExclusive, || frame.lock()),
        };
        let space = if undo_next.is_some() || transaction == NO_TRANSACTION {
            Space::Reserved
        } else {
            Space::Ordinary
        };
        // Maps are read by no snapshot, and several transactions may change one at a time.
        let is_map = matches!(change, Change::SetBits { .. } | Change::SetFreeSpace { .. });
        // No snapshot reads backward links either; their page may be locked by another transaction.
        let is_unread = is_map || change.is_backward_link();
        let is_versioned =
            (1..FIRST_SYSTEM_TRANSACTION).contains(&transaction) && undo_next.is_none() && !is_unread;
        let mut page = match change.is_whole() {
            true => Page::zeroed(),
            false => {
                let current = self.cache.load(&mut state, id, WaitType::PageIoLatchExclusive)?;
                if is_versioned
                    && self.versions.conflicts(transaction, id)
                    && current.unit().object != CATALOGUE
                {
                    return Err(EngineError::UpdateConflict { table: String::new() });
                }
                if current.lsn() < self.state.lock().redo_start || current.is_unlogged() {
                    let mut image = Box::new((*current).clone());
                    image.clear_unlogged();
                    let record = Change::Image { page: id, image: image.clone() };
                    let place = self.place_of(image.bytes());
                    let lsn = self.append(NO_TRANSACTION, place, Operation::Change(record), space)?;
                    image.set_lsn(lsn);
                    if is_versioned {
                        self.versions.keep(transaction, id, Some(&current));
                    }
                    state.page = Some(Arc::new((*image).clone()));
                    state.dirty = true;
                    *image
                } else {
                    (*current).clone()
                }
            }
        };
        let before = state.page.clone();
        if !change.apply(&mut page) {
            return Ok(false);
        }
        if is_versioned {
            let known = if change.is_whole() { None } else { before.as_ref() };
            self.versions.keep(transaction, id, known);
        }
        let (place, operation) = match undo_next {
            Some((undo_next, place)) => (place, Operation::Compensation { undo_next, change }),
            None => (self.place_of(page.bytes()), Operation::Change(change)),
        };
        let lsn = self.append(transaction, place, operation, space)?;
        page.set_lsn(lsn);
        state.page = Some(Arc::new(page));
        state.dirty = true;
        Ok(true)
    }

    /// Logs new pages as a whole; `write` then writes them past the cache. The pages have their addresses.
    pub fn format_past_cache(
        &self,
        transaction: u64,
        pages: &mut [[u8; PAGE_BYTES]],
        write: impl FnOnce(&mut [[u8; PAGE_BYTES]]) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let _gate = self.gate.read();
        for bytes in pages.iter_mut() {
            // The record is made before the log is locked.
            let mut record = FormatRecord::new(transaction, self.place_of(bytes), page::id(bytes), bytes);
            let lsn = self.append_after(transaction, Space::Ordinary, |previous| {
                record.set_previous(previous);
                self.log.append_format(&record)
            })?;
            page::set_lsn(bytes, lsn);
        }
        write(pages)
    }

    /// Appends a record of a transaction. The gate is held by the caller.
    fn append(
        &self,
        transaction: u64,
        place: LogPlace,
        operation: Operation,
        space: Space,
    ) -> Result<Lsn, EngineError> {
        if transaction == NO_TRANSACTION {
            let record = LogRecord { transaction, previous: Lsn::ZERO, place, operation };
            return Ok(self.log.append(&record, space)?.0);
        }
        self.append_after(transaction, space, |previous| {
            self.log.append(&LogRecord { transaction, previous, place, operation }, space)
        })
    }

    /// Lets `append` add a record of a transaction behind the one that is given to it; begins the transaction if it has none.
    fn append_after(
        &self,
        transaction: u64,
        space: Space,
        append: impl FnOnce(Lsn) -> Result<(Lsn, u64), EngineError>,
    ) -> Result<Lsn, EngineError> {
        let mut state = self.state.lock();
        let position = state.active.entry(transaction).or_default();
        if position.first == Lsn::ZERO {
            let (place, operation) = (LogPlace::default(), Operation::Begin);
            let record = LogRecord { transaction, previous: Lsn::ZERO, place, operation };
            let (lsn, _) = self.log.append(&record, space)?;
            (position.first, position.last) = (lsn, lsn);
        }
        let (lsn, reserved) = append(position.last)?;
        position.last = lsn;
        position.reserved_bytes += reserved;
        Ok(lsn)
    }

    /// Ends a transaction with its last record; no checkpoint can run during `publish`. Returns the transaction's position; its
    /// last record is not durable yet. None if the transaction has changed nothing.
    pub fn end(
        &self,
        transaction: u64,
        operation: Operation,
        publish: impl FnOnce(),
    ) -> Result<Option<LogPosition>, EngineError> {
        let _gate = self.gate.read();
        if !self.state.lock().active.contains_key(&transaction) {
            publish();
            return Ok(None);
        }
        self.append(transaction, LogPlace::default(), operation, Space::Reserved)?;
        let ended = self.state.lock().active.remove(&transaction);
        self.log.release(ended.map_or(0, |position| position.reserved_bytes));
        publish();
        Ok(ended)
    }

    /// Logs that a transaction waits for the decision of a coordinator; None if it has changed nothing. The record is not durable yet.
    pub fn prepare(&self, transaction: u64, operation: Operation) -> Result<Option<Lsn>, EngineError> {
        let _gate = self.gate.read();
        if !self.state.lock().active.contains_key(&transaction) {
            return Ok(None);
        }
        self.append(transaction, LogPlace::default(), operation, Space::Ordinary).map(Some)
    }

    /// Appends a record of no transaction and no page; no checkpoint can run during `noted`.
    pub fn note(&self, operation: Operation, noted: impl FnOnce()) -> Result<Lsn, EngineError> {
        let _gate = self.gate.read();
        let lsn = self.append(NO_TRANSACTION, LogPlace::default(), operation, Space::Ordinary)?;
        noted();
        Ok(lsn)
    }

    /// Returns the log position of a transaction; zero if it has changed nothing.
    pub fn log_position(&self, transaction: u64) -> LogPosition {
        self.state.lock().active.get(&transaction).copied().unwrap_or_default()
    }

    /// Returns the first record of the transaction that has been open longest.
    pub fn oldest_open(&self) -> Option<Lsn> {
        self.state.lock().active.values().map(|position| position.first).min()
    }

    /// Lists the open transactions with their first records, oldest first.
    pub fn open_transactions(&self) -> Vec<(u64, Lsn)> {
        let state = self.state.lock();
        let mut open: Vec<(u64, Lsn)> =
            state.active.iter().map(|(transaction, position)| (*transaction, position.first)).collect();
        open.sort_by_key(|(_, first)| *first);
        open
    }

    /// Registers a transaction that recovery found open, or whose commit was withdrawn.
    pub fn resume(&self, transaction: u64, position: LogPosition) {
        self.log.reserve(position.reserved_bytes);
        self.state.lock().active.insert(transaction, position);
    }

    /// Keeps checkpoints from starting.
    pub fn enter(&self) -> RwLockReadGuard<'_, ()> {
        self.gate.read()
    }

    /// Starts a checkpoint: `note` runs while nothing changes. It gets the position from which redo will start, and the
    /// transactions that are open there.
    pub fn start_checkpoint<T>(&self, note: impl FnOnce(Lsn, &BTreeMap<u64, LogPosition>) -> T) -> T {
        let _gate = self.gate.write();
        let mut state = self.state.lock();
        state.redo_start = self.log.position();
        note(state.redo_start, &state.active)
    }

    /// Runs `work` while no page changes. It must change none itself.
    pub fn quiesce<T>(&self, work: impl FnOnce() -> T) -> T {
        let _gate = self.gate.write();
        work()
    }

    /// Undoes a transaction's changes after `until`, newest first.
    pub fn undo(&self, transaction: u64, until: Lsn) -> Result<(), EngineError> {
        self.undo_each(transaction, until, &mut || ())
    }

    /// Undoes a transaction's changes after `until`, newest first, and calls `each` for every record.
    pub fn undo_each(&self, transaction: u64, until: Lsn, each: &mut dyn FnMut()) -> Result<(), EngineError> {
        let mut next = self.log_position(transaction).last;
        while next > until {
            each();
            let record = self.log.read(next)?;
            if record.transaction != transaction {
                let reason = format!("a record of transaction {}, not {transaction}", record.transaction);
                return Err(EngineError::DamagedLog { lsn: next, reason });
            }
            next = match record.operation {
                Operation::Compensation { undo_next, .. } => undo_next,
                Operation::Change(change) => {
                    if let Some(inverse) = change.inverse() {
                        let page = inverse.page();
                        if !self.compensate(transaction, inverse, record.place, record.previous)? {
                            let reason = "a change cannot be undone".to_owned();
                            return Err(EngineError::DamagedPage { page, reason });
                        }
                    }
                    record.previous
                }
                Operation::Begin
                | Operation::Commit { .. }
                | Operation::Withdrawn { .. }
                | Operation::Prepare { .. }
                | Operation::Decision { .. }
                | Operation::End => record.previous,
            };
        }
        Ok(())
    }

    /// Returns a page as a snapshot at `sequence` reads it. `current` reads the page itself, which
    /// transaction `own` also gets if it has changed the page.
    pub fn read_version(
        &self,
        id: PageId,
        sequence: u64,
        own: Option<u64>,
        current: impl Fn() -> Result<Arc<Page>, EngineError>,
    ) -> Result<Arc<Page>, EngineError> {
        loop {
            let epoch = self.versions.epoch();
            let page = current()?;
            if let Some(version) = self.versions.read(id, sequence, own)? {
                return Ok(version);
            }
            // Unless a change was undone in between, there was no uncommitted one in the page when it was read.
            if self.versions.epoch() == epoch || current()?.lsn() == page.lsn() {
                return Ok(page);
            }
        }
    }
}
