//! The functions that know the session, the server and the catalogue.

mod collation_property;
mod metadata;
mod system;

use std::sync::Arc;

use query::Typed;
use tsql::SqlError;

use crate::facts::Facts;

/// Binds a call; None: there is no such function here. Errors: those of the arguments.
pub(crate) fn bind(name: &str, arguments: &[Typed], facts: &Arc<Facts>) -> Result<Option<Typed>, SqlError> {
    match metadata::bind(name, arguments, facts)? {
        Some(typed) => Ok(Some(typed)),
        None => system::bind(name, arguments, facts),
    }
}

impl query::Facts for Facts {
    fn now(&self) -> i64 {
        self.now
    }

    fn date_first(&self) -> u8 {
        self.date_first
    }

    fn options(&self) -> i64 {
        self.options
    }

    fn row_version(&self) -> u64 {
        self.row_version
    }

    fn function(self: Arc<Self>, name: &str, arguments: &[Typed]) -> Result<Option<Typed>, SqlError> {
        bind(name, arguments, &self)
    }
}
