//! An ADBC driver for SQL Server: the client of `load` behind Arrow's database interface.
//!
//! The library exports `AdbcDriverInit` (and `AdbcDriverBulkwireInit`), which every ADBC driver manager finds: Python's, Polars',
//! R's, DuckDB's, Go's. `docs/adbc.md` lists options and what is supported.
//!
//! | Module | What it is |
//! |---|---|
//! | [`Driver`], [`Database`] | connection settings from options |
//! | [`Connection`] | transactions, metadata |
//! | [`Statement`] | queries, parameters, ingestion |
//! | `shared` | the client that a connection and its statements share |
//! | `results` | rows of executions |
//! | `markers` | `?` markers to T-SQL's named parameters |
//! | `bound` | rows bound to a statement, as parameters |
//! | `objects`, `statistics` | the metadata results of ADBC |
//! | `odbc_types` | ODBC's codes of types, for `objects` |

mod bound;
mod connection;
mod database;
mod error;
mod ingest;
mod markers;
mod objects;
mod odbc_types;
mod partitions;
mod results;
mod shared;
mod statement;
mod statistics;

pub use connection::Connection;
pub use database::{Database, Driver};
pub use statement::Statement;

/// Items that the macro makes, which ADBC documents.
#[allow(missing_docs)]
mod exported {
    adbc_ffi::export_driver!(AdbcDriverBulkwireInit, crate::Driver);
}
