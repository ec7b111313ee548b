//! The write-ahead log: virtual log files of blocks of records (`docs/store-engine.md`, "The log").
//!
//! # Bytes
//!
//! A virtual log file starts with 512 bytes (`BWVLF1\r\n`, number u32, where the file before it ends u32, CRC u32, zeros); then
//! blocks at multiples of 512:
//!
//! | Offset | Bytes | Field |
//! |---|---|---|
//! | 0 | 4 | `BWLB` |
//! | 4 | 4 | CRC of everything from byte 8 to the end of the block |
//! | 8 | 8 | number of the file, position of the block in units of 512 |
//! | 16 | 8 | bytes of records, number of records |
//! | 24 | 8 | everything before this position (file, block) was synced when the block was written |
//! | 32 | – | records: u32 length, record; zeros to a multiple of 512 |

pub(crate) mod decisions;

mod block;
mod deferred;
mod figures;
mod header;
mod read_back;
mod reader;
mod record;
mod scan;
mod shortage;

pub use figures::{LogContext, LogCount, LogOperation, LogPlace};
pub(crate) use header::LogFileHeader;
use read_back::ReadBack;
pub use reader::{LogReader, LogRow};
pub use record::{Change, FormatRecord, LogRecord, Operation};
pub use scan::LogScan;

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::disk::WRITE_BEHIND_BYTES;
use crate::disk::volume::{Volume, VolumeFile};
use crate::error::{EngineError, wants_space};
use crate::figures::{FileIo, IoCounts, WaitType, Waits};
use crate::page::lsn::Lsn;
use block::{BLOCK_LIMIT_BYTES, OpenBlock, UNIT_BYTES};
use deferred::DeferredFile;
use figures::LogCounts;

/// Sizes of the log.
#[derive(Debug, Clone, Copy)]
pub struct LogOptions {
    /// Size of a virtual log file. The last block of one may exceed it.
    pub file_bytes: u64,
    /// Limit of all files together, with the space reserved for rollbacks; None: no limit.
    pub limit_bytes: Option<u64>,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self { file_bytes: 64 << 20, limit_bytes: None }
    }
}

/// Right of a record to use the space that is reserved for rollbacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// An ordinary record, which must leave room for undoing it.
    Ordinary,
    /// A record that ends or undoes a transaction, or belongs to a checkpoint.
    Reserved,
}

/// Bytes written but not synced that are handed to the file at once.
const SPILL_BYTES: usize = 1 << 20;
/// Bytes kept for undoing a record besides its own length: the header of the compensation.
const UNDO_OVERHEAD_BYTES: u64 = 96;

/// The log of a database. Shared by all transactions.
#[derive(Debug)]
pub struct Log {
    volume: Arc<dyn Volume>,
    options: LogOptions,
    state: Mutex<State>,
    /// Held by the thread that syncs. Threads that wait for it usually find their records durable (group
    /// commit).
    flusher: Mutex<()>,
    /// The file that was read last.
    read_back: Mutex<ReadBack>,
    waits: Arc<Waits>,
    io: IoCounts,
}

#[derive(Debug)]
struct State {
    files: VecDeque<LogFile>,
    current: Arc<dyn VolumeFile>,
    /// Records that are not written yet.
    block: OpenBlock,
    /// Bytes written to the current file since the disk was last asked to begin with them.
    behind_bytes: usize,
    /// Everything before this position is synced.
    durable: Lsn,
    /// Length up to which writes to the current file find room on the disk, as far as that can be made sure of.
    allocated_bytes: u64,
    /// Space kept for rollbacks of open transactions.
    reserved_bytes: u64,
    lacks_space: bool,
    /// Log written since the database was opened.
    written_bytes: u64,
    counts: LogCounts,
    flushes: LogFlushes,
    kept_for: &'static str,
    failed: Option<String>,
}

/// Flushes of the log since the database was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogFlushes {
    /// Syncs that made records durable.
    pub flushes: u64,
    /// Bytes of blocks handed to the files.
    pub flushed_bytes: u64,
    /// Requests that waited for a flush, their own or another's.
    pub waits: u64,
    /// Virtual log files begun.
    pub growths: u64,
    /// Virtual log files that were truncated.
    pub truncated_files: u64,
}

/// A virtual log file, as `sys.dm_db_log_info` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VirtualLogFile {
    /// Sequence number of the file.
    pub number: u32,
    /// Size of the file, or the size that it may grow to.
    pub size_bytes: u64,
    /// Bytes in use.
    pub used_bytes: u64,
    /// True for the file that is being written.
    pub is_current: bool,
}

/// A virtual log file and how much of it is used; for the current one that is known from the block being filled.
#[derive(Debug, Clone, Copy)]
struct LogFile {
    number: u32,
    used_bytes: u64,
}

impl Log {
    /// Continues a log after `scan` has read it to its end. New records go to a new virtual log file.
    pub fn after(
        scan: &LogScan,
        volume: &Arc<dyn Volume>,
        options: LogOptions,
        waits: &Arc<Waits>,
    ) -> Result<Self, EngineError> {
        let end = scan.end()?;
        let files = scan.files().map(|(number, used_bytes)| LogFile { number, used_bytes }).collect();
        Self::start(volume, options, files, end, waits)
    }

    /// Creates the log of a new database.
    pub fn create(
        volume: &Arc<dyn Volume>,
        options: LogOptions,
        waits: &Arc<Waits>,
    ) -> Result<Self, EngineError> {
        Self::start(volume, options, VecDeque::new(), Lsn::ZERO, waits)
    }

    fn start(
        volume: &Arc<dyn Volume>,
        options: LogOptions,
        mut files: VecDeque<LogFile>,
        end: Lsn,
        waits: &Arc<Waits>,
    ) -> Result<Self, EngineError> {
        let number = end.file + 1;
        let current = match create_file(volume, number, end.block) {
            // The log that is there can be read. The records of recovery's undo are kept in memory until
            // there is room.
            Err(EngineError::Io { source, .. }) if wants_space(&source) && end != Lsn::ZERO => {
                Arc::new(DeferredFile::new(volume, number, end.block))
            }
            created => created?,
        };
        files.push_back(LogFile { number, used_bytes: UNIT_BYTES as u64 });
        let state = State {
            files,
            current,
            block: OpenBlock::new(number, 1),
            behind_bytes: 0,
            durable: Lsn { file: number, block: 1, record: 0 },
            allocated_bytes: 0,
            reserved_bytes: 0,
            lacks_space: false,
            written_bytes: 0,
            counts: LogCounts::default(),
            flushes: LogFlushes::default(),
            kept_for: "CHECKPOINT",
            failed: None,
        };
        Ok(Self {
            volume: Arc::clone(volume),
            options,
            state: Mutex::new(state),
            flusher: Mutex::default(),
            read_back: Mutex::default(),
            waits: Arc::clone(waits),
            io: IoCounts::default(),
        })
    }

    /// Adds a record; it is durable only after a [`flush`](Self::flush). Returns its position, and the space that was reserved
    /// for undoing it. The transaction returns that space by [`release`](Self::release) when it ends.
    pub fn append(&self, record: &LogRecord, space: Space) -> Result<(Lsn, u64), EngineError> {
        let kind = (LogOperation::of(record), record.place.context);
        self.append_bytes(&record.encode(), kind, record.is_undoable(), space)
    }

    /// Adds the record of a new page.
    pub fn append_format(&self, record: &FormatRecord) -> Result<(Lsn, u64), EngineError> {
        self.append_bytes(&record.bytes, (LogOperation::FormatPage, record.context), false, Space::Ordinary)
    }

    fn append_bytes(
        &self,
        bytes: &[u8],
        (operation, context): (LogOperation, LogContext),
        is_undoable: bool,
        space: Space,
    ) -> Result<(Lsn, u64), EngineError> {
        let mut state = self.state.lock();
        state.check()?;
        let needed = bytes.len() as u64 + UNDO_OVERHEAD_BYTES;
        let reserve = if space == Space::Ordinary && is_undoable { needed } else { 0 };
        if let (Space::Ordinary, Some(limit_bytes)) = (space, self.options.limit_bytes)
            && state.used_bytes() + state.reserved_bytes + needed + reserve + BLOCK_LIMIT_BYTES as u64
                > limit_bytes
        {
            return Err(EngineError::LogFull { limit_bytes, reason: state.kept_for });
        }
        if !state.block.fits(bytes.len()) {
            state.block.close();
            if state.block.closed().len() >= SPILL_BYTES {
                match self.waits.during(WaitType::LogBuffer, || state.write_closed(self)) {
                    // A record that ends or undoes something waits in memory until there is space.
                    Err(error) if space == Space::Reserved && error.is_log_full() => {}
                    written => written?,
                }
            }
            if u64::from(state.block.position()) * UNIT_BYTES as u64 >= self.options.file_bytes {
                self.next_file(&mut state)?;
            }
        }
        if space == Space::Ordinary {
            self.make_room(&mut state, needed + reserve)?;
        }
        state.reserved_bytes += reserve;
        state.written_bytes += bytes.len() as u64;
        state.counts.add(operation, context, bytes.len() as u64);
        Ok((state.block.push(bytes), reserve))
    }

    /// Returns space that was reserved for a rollback.
    pub fn release(&self, reserved_bytes: u64) {
        let mut state = self.state.lock();
        state.reserved_bytes = state.reserved_bytes.saturating_sub(reserved_bytes);
    }

    /// Returns the position of the next record.
    pub fn position(&self) -> Lsn {
        self.state.lock().block.next_lsn()
    }

    /// Makes every record up to and including `lsn` durable.
    pub fn flush(&self, lsn: Lsn) -> Result<(), EngineError> {
        {
            let mut state = self.state.lock();
            if state.durable > lsn {
                return Ok(());
            }
            state.flushes.waits += 1;
        }
        self.waits.during(WaitType::WriteLog, || self.flush_now(lsn))
    }

    fn flush_now(&self, lsn: Lsn) -> Result<(), EngineError> {
        let _flusher = self.flusher.lock();
        let (file, end, written) = {
            let mut state = self.state.lock();
            state.check()?;
            if state.durable > lsn {
                return Ok(());
            }
            state.block.close();
            let written = state.write_closed(self);
            if written.as_ref().is_err_and(|error| !error.is_log_full()) {
                return written;
            }
            let end = Lsn { block: state.block.unwritten(), ..state.block.start() };
            (Arc::clone(&state.current), end, written)
        };
        let synced = self.io.sync(|| file.sync());
        let mut state = self.state.lock();
        match synced {
            Ok(()) => {
                let durable = state.durable.max(end);
                state.durable = durable;
                state.flushes.flushes += 1;
                state.block.set_durable(durable);
                if durable > lsn { Ok(()) } else { written }
            }
            Err(source) => Err(state.fail(self, "sync", end.file, source)),
        }
    }

    /// Makes all records durable, and returns the start of the next block. No record may be appended
    /// meanwhile.
    pub(crate) fn close_block(&self) -> Result<Lsn, EngineError> {
        self.flush(self.position())?;
        Ok(self.state.lock().block.start())
    }

    /// Reads the record at `lsn`, which must not have been truncated.
    pub fn read(&self, lsn: Lsn) -> Result<LogRecord, EngineError> {
        let bytes = {
            let state = self.state.lock();
            state.check()?;
            state.in_memory(lsn)
        };
        let decode = |bytes: &[u8]| {
            LogRecord::decode(bytes)
                .map_err(|error| EngineError::DamagedLog { lsn, reason: error.to_string() })
        };
        let open = |number| {
            let opened = self.volume.open(&file_name(number));
            opened.map_err(|source| self.io_error("open", number, source))
        };
        match bytes {
            Some(bytes) => decode(&bytes),
            None => self.read_back.lock().record(lsn, open, decode),
        }
    }

    /// Removes virtual log files that hold only records before `lsn`.
    pub fn truncate_before(&self, lsn: Lsn) -> Result<(), EngineError> {
        let mut state = self.state.lock();
        let mut removed = false;
        while let Some(first) = state.files.front()
            && state.files.len() > 1
            && first.number < lsn.file
        {
            let number = first.number;
            self.volume
                .remove(&file_name(number))
                .map_err(|source| self.io_error("remove", number, source))?;
            state.files.pop_front();
            state.flushes.truncated_files += 1;
            removed = true;
        }
        if removed {
            self.volume
                .sync_directory()
                .map_err(|source| self.io_error("sync the directory of", lsn.file, source))?;
        }
        Ok(())
    }

    /// Counts the bytes of the log that are in use.
    pub fn used_bytes(&self) -> u64 {
        self.state.lock().used_bytes()
    }

    /// Counts the bytes of records appended since the database was opened.
    pub fn written_bytes(&self) -> u64 {
        self.state.lock().written_bytes
    }

    /// Sets what keeps the log from being truncated, as `log_reuse_wait_desc` spells it.
    pub fn set_kept_for(&self, reason: &'static str) {
        self.state.lock().kept_for = reason;
    }

    /// Counts the records appended since the database was opened, by operation and context.
    pub fn counts(&self) -> Vec<LogCount> {
        self.state.lock().counts.rows()
    }

    /// Returns the bytes kept free for undoing open transactions.
    pub fn reserved_bytes(&self) -> u64 {
        self.state.lock().reserved_bytes
    }

    /// Counts the bytes of the log from `lsn` on.
    pub fn bytes_since(&self, lsn: Lsn) -> u64 {
        let after: u64 =
            self.files().iter().filter(|file| file.number >= lsn.file).map(|file| file.used_bytes).sum();
        after.saturating_sub(u64::from(lsn.block) * UNIT_BYTES as u64)
    }

    /// Flushes of the log.
    pub fn flushes(&self) -> LogFlushes {
        self.state.lock().flushes
    }

    /// Lists the virtual log files that are not truncated, oldest first.
    pub fn files(&self) -> Vec<VirtualLogFile> {
        let state = self.state.lock();
        let current = state.block.start().file;
        let current_bytes =
            u64::from(state.block.position()) * UNIT_BYTES as u64 + state.block.length_bytes() as u64;
        let files = state.files.iter().map(|file| {
            let used_bytes = if file.number == current { current_bytes } else { file.used_bytes };
            let size_bytes = self.options.file_bytes.max(used_bytes);
            VirtualLogFile { number: file.number, size_bytes, used_bytes, is_current: file.number == current }
        });
        files.collect()
    }

    /// Returns the sizes with which the log was opened.
    pub fn options(&self) -> LogOptions {
        self.options
    }

    /// Reads and writes of its files.
    pub fn io(&self) -> FileIo {
        let size_bytes = self.files().iter().map(|file| file.size_bytes).sum();
        let name = file_name(self.position().file);
        self.io.figures(None, name, size_bytes)
    }

    /// Opens a reader of the records that are in the log now, from `from` on. They are made durable first,
    /// except those for which a full disk has no room.
    pub fn reader(&self, from: Lsn) -> Result<LogReader, EngineError> {
        match self.flush(self.position()) {
            Err(error) if error.is_log_full() => {}
            flushed => flushed?,
        }
        let state = self.state.lock();
        let first = state.files.front().map_or(0, |file| file.number);
        let numbers = state.files.iter().map(|file| (file.number, file.used_bytes)).collect();
        let from = from.max(Lsn { file: first, block: 1, record: 0 });
        let end = Lsn { block: state.block.unwritten(), ..state.block.start() };
        Ok(LogReader::new(&self.volume, numbers, from, end))
    }

    /// Shuts the log, since the state of the database in memory can no longer be trusted.
    pub fn shut(&self, reason: String) {
        self.state.lock().failed.get_or_insert(reason);
    }

    /// Returns the reason why the log is shut; None if it is not.
    pub fn is_shut(&self) -> Option<String> {
        self.state.lock().failed.clone()
    }

    fn io_error(&self, operation: &'static str, number: u32, source: std::io::Error) -> EngineError {
        EngineError::Io { operation, path: self.volume.path(&file_name(number)), source }
    }
}

impl State {
    fn check(&self) -> Result<(), EngineError> {
        match &self.failed {
            Some(reason) => Err(EngineError::Shut { reason: reason.clone() }),
            None => Ok(()),
        }
    }

    /// Shuts the log after a failed write: the content of the file is unknown, so nothing more is written to
    /// it.
    fn fail(
        &mut self,
        log: &Log,
        operation: &'static str,
        number: u32,
        source: std::io::Error,
    ) -> EngineError {
        let error = log.io_error(operation, number, source);
        self.failed = Some(error.to_string());
        EngineError::Shut { reason: error.to_string() }
    }

    /// Goes on in file `number`, the one before having ended at `end`.
    fn begin(&mut self, file: Arc<dyn VolumeFile>, number: u32, end: Lsn, allocated_bytes: u64) {
        if let Some(last) = self.files.back_mut() {
            last.used_bytes = u64::from(end.block) * UNIT_BYTES as u64;
        }
        self.files.push_back(LogFile { number, used_bytes: UNIT_BYTES as u64 });
        self.current = file;
        self.allocated_bytes = allocated_bytes;
        self.durable = Lsn { file: number, block: 1, record: 0 };
        self.block = OpenBlock::new(number, 1);
        self.behind_bytes = 0;
        self.flushes.growths += 1;
    }

    /// Hands the closed blocks to the file. They stay in memory if it has no room.
    fn write_closed(&mut self, log: &Log) -> Result<(), EngineError> {
        let offset = u64::from(self.block.unwritten()) * UNIT_BYTES as u64;
        let closed = self.block.closed();
        let length = closed.len();
        if length == 0 {
            return Ok(());
        }
        if let Err(source) = log.io.write(length, || self.current.write_at(offset, closed)) {
            return Err(self.short_of_space(log, "write", source));
        }
        self.lacks_space = false;
        self.flushes.flushed_bytes += length as u64;
        self.block.forget_closed();
        self.behind_bytes += length;
        if self.behind_bytes >= WRITE_BEHIND_BYTES {
            self.behind_bytes = 0;
            self.current.start_sync();
        }
        Ok(())
    }

    fn used_bytes(&self) -> u64 {
        let closed: u64 = self.files.iter().rev().skip(1).map(|file| file.used_bytes).sum();
        closed + u64::from(self.block.position()) * UNIT_BYTES as u64 + self.block.length_bytes() as u64
    }

    fn in_memory(&self, lsn: Lsn) -> Option<Vec<u8>> {
        (lsn.file == self.block.start().file).then(|| self.block.record(lsn.block, lsn.record))?
    }
}

/// Returns the name of a virtual log file: `log-<number>.vlf`, eight hexadecimal digits.
pub(crate) fn file_name(number: u32) -> String {
    format!("log-{number:08x}.vlf")
}

/// Returns the number of the virtual log file of this name.
pub(crate) fn file_number(name: &str) -> Option<u32> {
    let number = u32::from_str_radix(name.strip_prefix("log-")?.strip_suffix(".vlf")?, 16).ok()?;
    (file_name(number) == name).then_some(number)
}

/// Creates file `number`, durably, which says that the one before ends at `previous_end`.
fn create_file(
    volume: &Arc<dyn Volume>,
    number: u32,
    previous_end: u32,
) -> Result<Arc<dyn VolumeFile>, EngineError> {
    let name = file_name(number);
    let error = |operation| {
        let path = volume.path(&name);
        move |source| EngineError::Io { operation, path, source }
    };
    let file = volume.create(&name).map_err(error("create"))?;
    file.write_at(0, &block::file_header(number, previous_end)).map_err(error("write"))?;
    file.sync().map_err(error("sync"))?;
    volume.sync_directory().map_err(error("sync the directory of"))?;
    Ok(file)
}
