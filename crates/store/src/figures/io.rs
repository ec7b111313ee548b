//! Reads and writes of files: the figures of `sys.dm_io_virtual_file_stats`.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Reads and writes of one file, or of the log as a whole, since the database was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileIo {
    /// Number of the data file; None: the log.
    pub file: Option<u16>,
    /// The file's name in the database's directory.
    pub name: String,
    /// Number of reads.
    pub reads: u64,
    /// Number of bytes read.
    pub bytes_read: u64,
    /// Total time that the reads took.
    pub read_stall: Duration,
    /// Number of writes.
    pub writes: u64,
    /// Number of bytes written.
    pub bytes_written: u64,
    /// Time that writes and syncs took.
    pub write_stall: Duration,
    /// Number of syncs.
    pub syncs: u64,
    /// Size of the file.
    pub size_bytes: u64,
}

/// Counts of one file.
#[derive(Debug, Default)]
pub(crate) struct IoCounts {
    reads: AtomicU64,
    bytes_read: AtomicU64,
    read_ns: AtomicU64,
    writes: AtomicU64,
    bytes_written: AtomicU64,
    write_ns: AtomicU64,
    syncs: AtomicU64,
}

impl IoCounts {
    pub fn read<T>(&self, bytes: usize, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let start = Instant::now();
        let result = work();
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.bytes_read.fetch_add(bytes as u64, Ordering::Relaxed);
        self.read_ns.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        result
    }

    pub fn write<T>(&self, bytes: usize, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let start = Instant::now();
        let result = work();
        self.writes.fetch_add(1, Ordering::Relaxed);
        self.bytes_written.fetch_add(bytes as u64, Ordering::Relaxed);
        self.write_ns.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        result
    }

    pub fn sync<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let start = Instant::now();
        let result = work();
        self.syncs.fetch_add(1, Ordering::Relaxed);
        self.write_ns.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        result
    }

    pub fn figures(&self, file: Option<u16>, name: String, size_bytes: u64) -> FileIo {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        FileIo {
            file,
            name,
            reads: count(&self.reads),
            bytes_read: count(&self.bytes_read),
            read_stall: Duration::from_nanos(count(&self.read_ns)),
            writes: count(&self.writes),
            bytes_written: count(&self.bytes_written),
            write_stall: Duration::from_nanos(count(&self.write_ns)),
            syncs: count(&self.syncs),
            size_bytes,
        }
    }
}
