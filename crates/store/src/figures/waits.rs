//! Waits by type: the figures of `sys.dm_os_wait_stats`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::session_waits;
use crate::lock_mode::LockMode;

/// Types of waits, with SQL Server's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WaitType {
    /// A commit, or a page that is written back, for the log to be on disk.
    WriteLog,
    /// An append for full blocks to be handed to the log file.
    LogBuffer,
    /// A reader for a page to be read.
    PageIoLatchShared,
    /// A change for its page to be read.
    PageIoLatchExclusive,
    /// A change for the page's other user.
    PageLatchExclusive,
    /// An allocation for the maps' other user.
    PageLatchUpdate,
    /// Wait for pages to be written.
    WriteCompletion,
    /// Wait for written pages to be on disk.
    FlushFileBuffers,
    /// Wait for a file to grow.
    WriteFileGather,
    /// Wait for the database's log rate to allow more.
    LogRateGovernor,
    /// Wait for the database's share of the processor.
    ResourceGovernorIdle,
    /// Wait for the program that takes a backup.
    BackupIo,
    /// Wait for the session's row rate to allow more.
    SessionRowRate,
    /// WAITFOR, for its time to come.
    WaitFor,
    /// Wait for a lock in this mode.
    Lock(LockMode),
}

const PLAIN: [WaitType; 14] = [
    WaitType::WriteLog,
    WaitType::LogBuffer,
    WaitType::PageIoLatchShared,
    WaitType::PageIoLatchExclusive,
    WaitType::PageLatchExclusive,
    WaitType::PageLatchUpdate,
    WaitType::WriteCompletion,
    WaitType::FlushFileBuffers,
    WaitType::WriteFileGather,
    WaitType::LogRateGovernor,
    WaitType::ResourceGovernorIdle,
    WaitType::BackupIo,
    WaitType::SessionRowRate,
    WaitType::WaitFor,
];
const TYPES: usize = PLAIN.len() + LockMode::ALL.len();

impl WaitType {
    /// Lists all types.
    pub fn all() -> impl Iterator<Item = Self> {
        PLAIN.into_iter().chain(LockMode::ALL.map(Self::Lock))
    }

    /// Returns the name in `sys.dm_os_wait_stats.wait_type`.
    pub fn name(self) -> &'static str {
        match self {
            Self::WriteLog => "WRITELOG",
            Self::LogBuffer => "LOGBUFFER",
            Self::PageIoLatchShared => "PAGEIOLATCH_SH",
            Self::PageIoLatchExclusive => "PAGEIOLATCH_EX",
            Self::PageLatchExclusive => "PAGELATCH_EX",
            Self::PageLatchUpdate => "PAGELATCH_UP",
            Self::WriteCompletion => "WRITE_COMPLETION",
            Self::FlushFileBuffers => "PREEMPTIVE_OS_FLUSHFILEBUFFERS",
            Self::WriteFileGather => "PREEMPTIVE_OS_WRITEFILEGATHER",
            Self::LogRateGovernor => "LOG_RATE_GOVERNOR",
            Self::ResourceGovernorIdle => "RESOURCE_GOVERNOR_IDLE",
            Self::BackupIo => "BACKUPIO",
            Self::SessionRowRate => "BULKWIRE_ROW_RATE",
            Self::WaitFor => "WAITFOR",
            Self::Lock(mode) => mode.wait_name(),
        }
    }

    fn index(self) -> usize {
        match self {
            Self::Lock(mode) => PLAIN.len() + mode as usize,
            plain => PLAIN.iter().position(|other| *other == plain).unwrap_or(0),
        }
    }
}

/// Waits of one type since the database was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitCount {
    /// Type of the waits.
    pub wait: WaitType,
    /// Number of waits.
    pub count: u64,
    /// Total time of the waits, with the signal wait.
    pub total: Duration,
    /// Duration of the longest wait.
    pub longest: Duration,
    /// The part of the total from when the waiter could continue until it did.
    pub signal: Duration,
}

/// Counts of waits.
#[derive(Debug)]
pub struct Waits {
    cells: [Cell; TYPES],
}

#[derive(Debug, Default)]
struct Cell {
    count: AtomicU64,
    total_ns: AtomicU64,
    longest_ns: AtomicU64,
    signal_ns: AtomicU64,
}

impl Default for Waits {
    fn default() -> Self {
        Self { cells: std::array::from_fn(|_| Cell::default()) }
    }
}

impl Waits {
    /// Counts a wait, here and for the session of this thread.
    pub fn add(&self, wait: WaitType, total: Duration, signal: Duration) {
        self.add_here(wait, total, signal);
        session_waits::ended(wait, total, signal);
    }

    pub(super) fn add_here(&self, wait: WaitType, total: Duration, signal: Duration) {
        if let Some(cell) = self.cells.get(wait.index()) {
            let total_ns = total.as_nanos() as u64;
            cell.count.fetch_add(1, Ordering::Relaxed);
            cell.total_ns.fetch_add(total_ns, Ordering::Relaxed);
            cell.longest_ns.fetch_max(total_ns, Ordering::Relaxed);
            cell.signal_ns.fetch_add(signal.as_nanos() as u64, Ordering::Relaxed);
        }
    }

    /// Runs a function whose whole time is a wait.
    pub fn during<T>(&self, wait: WaitType, work: impl FnOnce() -> T) -> T {
        session_waits::began(wait);
        let start = Instant::now();
        let result = work();
        self.add(wait, start.elapsed(), Duration::ZERO);
        result
    }

    /// Lists the types with waits.
    pub fn counts(&self) -> Vec<WaitCount> {
        let counts = WaitType::all().zip(&self.cells).map(|(wait, cell)| WaitCount {
            wait,
            count: cell.count.load(Ordering::Relaxed),
            total: Duration::from_nanos(cell.total_ns.load(Ordering::Relaxed)),
            longest: Duration::from_nanos(cell.longest_ns.load(Ordering::Relaxed)),
            signal: Duration::from_nanos(cell.signal_ns.load(Ordering::Relaxed)),
        });
        counts.filter(|count| count.count > 0).collect()
    }
}
