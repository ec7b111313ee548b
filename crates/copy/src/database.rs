//! Databases that drivers reach, as sources and destinations.

use load::Mode;

use crate::{
    destination::{Create, Destination},
    endpoint::DatabaseEndpoint,
    error::CopyError,
    listed_table::ListedTable,
    source::Source,
};

/// The rows of a table, or of a query in its place.
///
/// # Errors
/// The driver is missing; what it takes to get it is named.
pub fn source(endpoint: &DatabaseEndpoint, _query: Option<&str>) -> Result<Box<dyn Source>, CopyError> {
    Err(without_driver(endpoint))
}

/// A table that takes rows.
///
/// # Errors
/// The driver is missing, or knows no such mode.
pub fn destination(
    endpoint: &DatabaseEndpoint,
    _mode: &Mode,
    _create: Create,
) -> Result<Box<dyn Destination>, CopyError> {
    Err(without_driver(endpoint))
}

/// The tables and views of a database.
///
/// # Errors
/// The driver is missing, or cannot list them.
pub fn tables(endpoint: &DatabaseEndpoint) -> Result<Vec<ListedTable>, CopyError> {
    Err(without_driver(endpoint))
}

fn without_driver(endpoint: &DatabaseEndpoint) -> CopyError {
    CopyError::Usage(format!("{endpoint}: this program has no drivers for other databases"))
}
