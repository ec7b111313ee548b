//! The ODBC connection that a connection of ADBC shares with its statements.

use std::sync::MutexGuard;
use std::sync::atomic::AtomicBool;

use adbc_core::CancelHandle;
use adbc_core::error::Result;
use arrow_odbc::odbc_api::{self, SharedConnection};

use crate::error::{poisoned, unsupported};
use crate::limits::Limits;
use crate::new_table::quoted;

/// Connection and properties that a connection shares with its statements.
pub(crate) struct Shared {
    pub(crate) connection: SharedConnection<'static>,
    pub(crate) autocommit: AtomicBool,
    /// Name that the database system gives itself.
    pub(crate) system: String,
    /// Character around names.
    pub(crate) quote: Option<char>,
    pub(crate) limits: Limits,
}

impl Shared {
    pub(crate) fn lock(&self) -> Result<MutexGuard<'_, odbc_api::Connection<'static>>> {
        self.connection.lock().map_err(|_| poisoned())
    }

    /// Returns a table's name with those of its catalogue and schema.
    pub(crate) fn full_name(&self, catalog: Option<&str>, schema: Option<&str>, table: &str) -> String {
        let parts = [catalog, schema, Some(table)].into_iter().flatten();
        let parts: Vec<String> = parts.map(|part| quoted(part, self.quote)).collect();
        parts.join(".")
    }
}

/// ODBC can cancel a statement of another thread, but not every driver survives it.
pub(crate) struct NoCancel;

impl CancelHandle for NoCancel {
    fn try_cancel(&self) -> Result<()> {
        Err(unsupported("cancelling"))
    }
}
