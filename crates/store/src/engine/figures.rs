//! Figures of an open database, as in SQL Server's dynamic management views. Reading one only holds a lock for moments.

use super::Engine;
use super::pages::{self, PageStatistics, ScanDetail};
use super::space::{self, AllocationUnitSpace, LogSpace};
use crate::cache::buffer::CacheCounts;
use crate::database::snapshot::Snapshot;
use crate::error::EngineError;
use crate::figures::{Counters, FileIo, WaitCount};
use crate::log::{LogCount, LogFlushes, LogReader, VirtualLogFile};
use crate::page::lsn::Lsn;
use crate::space::DataFileSpace;

impl Engine {
    /// Counts the log records since the database was opened, by operation and context.
    pub fn log_counts(&self) -> Vec<LogCount> {
        self.shared.pager.log.counts()
    }

    /// Opens a reader of the log that is not truncated, from `from` on (`sys.fn_dblog`). Its records are made
    /// durable first.
    pub fn log_records(&self, from: Lsn) -> Result<LogReader, EngineError> {
        self.shared.pager.log.reader(from)
    }

    /// Returns the size and use of the log (`sys.dm_db_log_space_usage`).
    pub fn log_space(&self) -> LogSpace {
        space::log_space(&self.shared)
    }

    /// Lists the virtual log files (`sys.dm_db_log_info`).
    pub fn log_files(&self) -> Vec<VirtualLogFile> {
        self.shared.pager.log.files()
    }

    /// Flushes of the log to disk.
    pub fn log_flushes(&self) -> LogFlushes {
        self.shared.pager.log.flushes()
    }

    /// Waits by type (`sys.dm_os_wait_stats`).
    pub fn waits(&self) -> Vec<WaitCount> {
        self.shared.pager.waits.counts()
    }

    /// Reads and writes by file, the log last (`sys.dm_io_virtual_file_stats`).
    pub fn file_io(&self) -> Vec<FileIo> {
        let mut files: Vec<FileIo> = self.shared.pager.files.all().iter().map(|file| file.io()).collect();
        files.push(self.shared.pager.log.io());
        files
    }

    /// Returns figures of the buffer cache.
    pub fn cache_counts(&self) -> CacheCounts {
        self.shared.pager.cache.counts()
    }

    /// Counts transactions and bulk rows.
    pub fn counters(&self) -> Counters {
        self.shared.counters.figures()
    }

    /// Lists the data files with their free space (`sys.database_files`, `sys.dm_db_file_space_usage`).
    pub fn data_files(&self) -> Vec<DataFileSpace> {
        space::data_files(&self.shared)
    }
}

impl Snapshot {
    /// Measures density, fragmentation and records of a table's pages, one row per allocation unit and level
    /// of a tree, leaf first (`sys.dm_db_index_physical_stats`, `DBCC SHOWCONTIG`).
    pub fn physical_statistics(
        &self,
        name: &str,
        detail: ScanDetail,
    ) -> Result<Vec<PageStatistics>, EngineError> {
        pages::statistics(self, name, detail)
    }

    /// Counts the pages of a table's allocation units (`sys.allocation_units`, `sys.dm_db_partition_stats`).
    pub fn allocation_units(&self, name: &str) -> Result<Vec<AllocationUnitSpace>, EngineError> {
        space::allocation_units(self, name)
    }
}
