//! The paged engine: tables in 8 KB pages with SQL Server's record, allocation and logging rules.
//!
//! An [`Engine`] is an open database. A [`Transaction`] creates and drops tables, loads batches through [`BulkWriter`]s that run side by
//! side, and changes single rows by their [`RowId`]; a [`Snapshot`] reads what is committed.
//!
//! ```
//! use std::sync::Arc;
//! use arrow::array::{Int32Array, RecordBatch};
//! use bulkwire_store::engine::{Column, Engine, EngineOptions, Kind};
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
//! transaction.bulk_load("dbo.numbers", &[batch])?;
//! transaction.commit()?;
//!
//! let snapshot = engine.snapshot();
//! let table = snapshot.table("dbo.numbers").ok_or("no table")?;
//! // Rows of 11 bytes and a slot: 622 in a page.
//! assert_eq!((table.rows, table.data_pages()), (1000, 2));
//! assert_eq!(snapshot.scan("dbo.numbers", None)?.map(|batch| batch.map_or(0, |batch| batch.num_rows())).sum::<usize>(), 1000);
//! # Ok(())
//! # }
//! ```
//!
//! The design, the bytes on disk, why a commit is safe, and which layers stand: `docs/store-engine.md`.

pub mod allocation;
mod alter;
mod alter_columns;
pub mod backup;
pub mod block;
mod budget;
pub mod buffer;
mod build;
mod bulk;
pub mod catalogue;
mod changes;
pub mod check;
mod checkpoint;
mod claiming;
mod claims;
pub mod compress;
pub mod control;
pub mod database;
mod decisions;
mod definition;
pub mod error;
pub mod figures;
pub mod file_groups;
pub mod file_layout;
pub mod files;
mod finding;
mod fragments;
mod global;
pub mod governor;
mod heap;
mod host;
pub mod index;
mod index_filter;
pub mod key;
pub mod kind;
pub mod large;
mod latches;
pub mod layout;
pub mod load;
pub mod lock;
pub mod log;
pub mod lsn;
pub mod maps;
pub mod memory;
mod merge;
mod options;
pub mod ordered;
pub mod page;
pub mod pager;
mod progress;
pub mod record;
mod recovery;
mod resources;
mod room;
mod rows;
pub mod scan;
mod shared;
mod shrink;
mod snapshot;
mod sort;
mod split;
mod stored;
mod table_map;
pub mod transaction;
mod tree;
mod tree_writer;
mod turns;
pub mod unit;
mod version_file;
pub mod versions;
pub mod volume;

pub use alter::RebuildOptions;
pub use alter_columns::{Altering, ColumnSource, NewColumn};
pub use backup::{DatabaseBackup, LogBackup, restore_database, restore_log};
pub use buffer::CacheCounts;
pub use compress::{Compression, CompressionCounts, SavingsEstimate};
pub use database::{Engine, EngineOptions, MEMORY_CACHE_BYTES, RecoveryModel, Snapshot, Usage};
pub use error::EngineError;
pub use figures::{
    AllocationUnitSpace, Counters, DataFileSpace, FileIo, LogReuseWait, LogSpace, PageStatistics, ScanDetail,
    WaitCount, WaitType,
};
pub use file_layout::{DataFileDefinition, DataFileOptions, FileGroup, FileGrowth, Placement};
pub use finding::{Finding, FindingKind};
pub use global::commit_together;
pub use governor::{ResourceLimits, ResourceSample, ServiceTier};
pub use host::Host;
pub use index::{Index, IndexDefinition, RowLocator, Tree};
pub use index_filter::{FilterTerm, FilterTest};
pub use key::{INDEX_KEY_LIMIT_BYTES, KEY_LIMIT_BYTES, KeyColumn, KeyText, TextOrder};
pub use kind::Kind;
pub use layout::Column;
pub use load::{BulkOptions, BulkWriter, MinimalLogging, MinimalLoggingCondition};
pub use lock::{LockMode, LockRow, LockStatus, Resource};
pub use log::{
    LogContext, LogCount, LogFlushes, LogOperation, LogOptions, LogReader, LogRow, VirtualLogFile,
};
pub use lsn::Lsn;
pub use ordered::{KeySpan, OrderedScan};
pub use page::RowId;
pub use progress::{OnRecovery, RecoveryProgress, RecoveryStep};
pub use record::{
    LengthPrefix, LyingRows, LyingValue, StrungForm, StrungRows, ValueContent, ValueForm, ValuePlace,
};
pub use scan::{Scan, ScannedRows};
pub use table_map::References;
pub use transaction::{Savepoint, Transaction};
