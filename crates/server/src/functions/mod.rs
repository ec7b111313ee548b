//! The functions that know the session, the server and the catalogue.

mod collation_property;
mod metadata;
mod system;

use std::sync::Arc;

use query::Typed;

use crate::facts::Facts;
use crate::sql_error::SqlError;

/// Binds a call; None: there is no such function here. Errors: those of the arguments.
pub(crate) fn bind(name: &str, arguments: &[Typed], facts: &Arc<Facts>) -> Result<Option<Typed>, SqlError> {
    match metadata::bind(name, arguments, facts)? {
        Some(typed) => Ok(Some(typed)),
        None => system::bind(name, arguments, facts),
    }
}
