//! The paged engine: tables in 8 KB pages with SQL Server's record, allocation and logging rules.
//!
//! `docs/store-engine.md` has the design, the bytes on disk, and which layers stand.

pub mod allocation;
pub mod block;
pub mod buffer;
pub mod bulk;
pub mod catalogue;
pub mod control;
pub mod database;
pub mod error;
pub mod files;
mod heap;
pub mod kind;
pub mod large;
pub mod layout;
pub mod log;
pub mod lsn;
pub mod maps;
pub mod page;
pub mod pager;
pub mod record;
mod recovery;
pub mod scan;
pub mod transaction;
pub mod versions;
pub mod volume;

pub use bulk::BulkWriter;
pub use database::{Engine, EngineOptions, RecoveryModel, Snapshot, Usage};
pub use error::EngineError;
pub use kind::Kind;
pub use layout::Column;
pub use log::LogOptions;
pub use page::RowId;
pub use scan::Scan;
pub use transaction::{Savepoint, Transaction};
