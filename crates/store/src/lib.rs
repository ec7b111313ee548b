//! A small crash-safe store for tables of Arrow record batches.
//!
//! A [`Database`] is a directory (or memory). A [`Transaction`] creates tables, appends batches, rewrites and drops; its
//! [`commit`](Transaction::commit) makes all of it durable and visible at once. A [`Snapshot`] reads what is committed,
//! frozen, without a lock. The store knows neither TDS nor SQL.
//!
//! ```
//! use std::sync::Arc;
//! use arrow::array::{Int32Array, RecordBatch};
//! use arrow::datatypes::{DataType, Field, Schema};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let database = bulkwire_store::Database::in_memory();
//! let schema = Arc::new(Schema::new(vec![Field::new("id", DataType::Int32, false)]));
//! let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(Int32Array::from(vec![1, 2, 3]))])?;
//!
//! let mut transaction = database.begin();
//! let table = transaction.create_table("dbo.numbers", schema, "")?;
//! transaction.append(table, &batch)?;
//! assert!(database.snapshot().table("dbo.numbers").is_none());
//! transaction.commit()?;
//!
//! let snapshot = database.snapshot();
//! let rows: Vec<RecordBatch> = snapshot.scan(table, None)?.collect::<Result<_, _>>()?;
//! assert_eq!(rows, [batch]);
//! # Ok(())
//! # }
//! ```
//!
//! The bytes on disk, the commit protocol and what is assumed of the disk: `docs/store-format.md`. The form that will follow it
//! is [`engine`], which stands beside it.

mod catalogue;
mod change;
mod checkpoint;
mod codec;
mod database;
pub mod engine;
mod error;
mod journal;
mod lock;
mod message;
mod quota;
mod record;
mod scan;
mod schema;
mod segment;
mod small_rows;
mod snapshot;
pub mod storage;
mod transaction;

pub use catalogue::{TableId, TableInfo};
pub use checkpoint::Checkpoint;
pub use database::{Commit, Database, Options, Sync};
pub use error::{LockError, OpenError, StoreError};
pub use lock::LockMode;
pub use quota::MemoryQuota;
pub use scan::Scan;
pub use snapshot::Snapshot;
pub use transaction::{Savepoint, Transaction};
