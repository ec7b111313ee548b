//! An ADBC driver that speaks to databases through the ODBC drivers of the machine.
//!
//! The library exports `AdbcDriverInit` (and `AdbcDriverBulkwireOdbcInit`). It is a library of its own because it needs ODBC's
//! driver manager, which programs that do not use it must not need.
//!
//! | Module | What it is |
//! |---|---|
//! | [`Driver`], [`Database`] | the connection string, and limits of buffers |
//! | [`Connection`] | transactions, the catalogue |
//! | [`Statement`] | queries, and rows bound as arrays of parameters |
//! | `shared` | the ODBC connection and what statements need to know of it |
//! | `reading` | results as record batches, in bounded buffers |
//! | `writing` | record batches as arrays of parameters |
//! | `parameters` | columns in the few types in which parameters are sent |
//! | `limits` | how much memory rows may take on their way |
//! | `new_table` | types of new tables, by database system |
//! | `objects` | the tables that ODBC knows |

mod connection;
mod database;
mod error;
mod limits;
mod new_table;
mod objects;
mod parameters;
mod reading;
mod shared;
mod statement;
mod writing;

pub use connection::Connection;
pub use database::{Database, Driver};
pub use statement::Statement;

/// Items that the macro makes, which ADBC documents.
#[allow(missing_docs)]
mod exported {
    adbc_ffi::export_driver!(AdbcDriverBulkwireOdbcInit, crate::Driver);
}
