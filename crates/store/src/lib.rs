//! Tables of Arrow record batches in 8 KB pages, with SQL Server's record, allocation and logging rules. The store knows neither TDS nor SQL.
//!
//! An [`Engine`] is an open database. A [`Transaction`] creates and drops tables, loads batches through [`BulkWriter`]s that run side by
//! side, and changes single rows by their [`RowId`]; a [`Snapshot`] reads what is committed.
//!
//! ```
//! use std::sync::Arc;
//! use arrow::array::{Int32Array, RecordBatch};
//! use bulkwire_store::{Column, Engine, EngineOptions, Kind};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! let engine = Engine::open(directory.path(), EngineOptions::default())?;
//! let mut transaction = engine.begin();
//! transaction.create_table("dbo.numbers", vec![Column::required("id", Kind::Int)], "")?;
//! let batch = RecordBatch::try_from_iter_with_nullable([(
//!     "id",
//!     Arc::new(Int32Array::from_iter_values(0..1000)) as _,
//!     false,
//! )])?;
//! transaction.open_table("dbo.numbers")?.bulk_load(&[batch])?;
//! transaction.commit()?;
//!
//! let snapshot = engine.snapshot();
//! let table = snapshot.table("dbo.numbers").ok_or("no table")?;
//! // Rows of 11 bytes and a slot: 622 in a page.
//! assert_eq!((table.rows, table.data_pages()), (1000, 2));
//! assert_eq!(snapshot.read_table("dbo.numbers")?.scan(None)?.map(|batch| batch.map_or(0, |batch| batch.num_rows())).sum::<usize>(), 1000);
//! # Ok(())
//! # }
//! ```
//!
//! The folders are layers: each uses only those above it in this table, which `scripts/check_structure.py` checks. One arrow leads
//! down: a page asks the record where a row ends.
//!
//! | Folder | Contents |
//! |---|---|
//! | `page` | pages, addresses, log positions, allocation maps, allocation units |
//! | `error`, `lock_mode`, `codec` | errors of the store; modes of locks; numbers as bytes |
//! | `figures` | counters, reads and writes, waits |
//! | `disk` | files and directories, on disk or in memory |
//! | `log` | the log, virtual log files, truncation, decisions over several databases |
//! | `record` | kinds of columns, layouts, records of every storable type; `record::compress` is ROW and PAGE compression |
//! | `cache` | the buffer cache, changes of pages under the log, versions for snapshots |
//! | `space` | extents given out in proportion, minimally logged extents, files that shrink or go |
//! | `lock` | locks with SQL Server's modes, deadlock victims, latches of trees |
//! | `tree` | keys and their order, finding rows in trees, indexes and their filters |
//! | `catalogue` | definitions of tables, and how they are found and stored |
//! | `database` | state that the threads of an open database share: options, control file, checkpoints, recovery, snapshots, governor |
//! | `sort` | external sort |
//! | `heap` | changing rows in heaps and trees, bulk writers, building trees, large values |
//! | `scan` | reading tables: extents in parallel, ranges of keys |
//! | `check` | the structural check |
//! | `transaction` | units of work: loads, indexes, altered columns, savepoints, commit |
//! | `engine` | opening a database, its files and figures, transactions over several databases |
//! | `backup` | backups of the database and of the log, and their restore |
//!
//! The design, the bytes on disk and why a commit is safe: `docs/store-engine.md`.

pub mod backup;
pub mod cache;
pub mod catalogue;
pub mod check;
mod codec;
pub mod database;
pub mod disk;
pub mod engine;
pub mod error;
pub mod figures;
mod heap;
pub mod lock;
mod lock_mode;
pub mod log;
pub mod page;
pub mod record;
pub mod scan;
mod sort;
pub mod space;
pub mod transaction;
pub mod tree;

pub use backup::{BackupOutput, DatabaseBackup, LogBackup, restore_database, restore_log, verify_backup};
pub use cache::buffer::CacheCounts;
pub use catalogue::table_map::References;
pub use check::finding::{Finding, FindingKind};
pub use database::governor::{ResourceLimits, ResourceSample, ServiceTier};
pub use database::host::Host;
pub use database::options::{EngineOptions, RecoveryModel};
pub use database::progress::{OnRecovery, RecoveryProgress, RecoveryStep};
pub use database::snapshot::Snapshot;
pub use disk::directory::{HeldDirectory, OpenDirectoryError, open_private};
pub use disk::file_layout::{DataFileDefinition, DataFileOptions, FileGroup, FileGrowth, Placement};
pub use disk::quota::MemoryQuota;
pub use engine::estimate::SavingsEstimate;
pub use engine::file_groups::EngineFiles;
pub use engine::global::commit_together;
pub use engine::pages::{PageStatistics, ScanDetail};
pub use engine::resources::{lock_usage, log_obstacle, open_transactions};
pub use engine::space::{AllocationUnitSpace, LogReuseWait, LogSpace};
pub use engine::{Engine, MEMORY_CACHE_BYTES, Usage};
pub use error::{EngineError, LockError};
pub use figures::{Counters, FileIo, SessionWaits, WaitCount, WaitType, Waits};
pub use lock::{LockMode, LockRow, LockStatus, LockUsage, Resource};
pub use log::{
    LogContext, LogCount, LogFlushes, LogOperation, LogOptions, LogReader, LogRow, VirtualLogFile,
};
pub use page::RowId;
pub use page::lsn::Lsn;
pub use record::compress::{Compression, CompressionCounts};
pub use record::kind::Kind;
pub use record::layout::Column;
pub use record::{
    CopyRefusal, FixedPlace, LengthPrefix, LyingRows, LyingValue, ValueContent, ValueForm, ValuePlace,
    WireForm, WireRowCopier, WireRows,
};
pub use scan::ordered::{KeyBound, KeySpan, OrderedScan};
pub use scan::read_table::ReadTable;
pub use scan::{Scan, ScannedRows};
pub use space::DataFileSpace;
pub use transaction::alter::RebuildOptions;
pub use transaction::alter_columns::{Altering, ColumnSource, NewColumn};
pub use transaction::load::{BulkOptions, BulkWriter, MinimalLogging, MinimalLoggingCondition};
pub use transaction::{Reads, Savepoint, Transaction, WriteTable};
pub use tree::index::{Index, IndexDefinition, RowLocator, Tree};
pub use tree::index_filter::{FilterTerm, FilterTest};
pub use tree::key::{INDEX_KEY_LIMIT_BYTES, KEY_LIMIT_BYTES, KeyColumn, KeyText, TextOrder};
