//! Databases that drivers reach, as sources and destinations.
//!
//! | Module | What it is |
//! |---|---|
//! | `address` | what a user writes: driver, options, table, and what is secret of it |
//! | `driver` | finds the driver's library, or says how to get it |
//! | `session` | a connection, and statements on it |
//! | `system` | what is special about a database system |
//! | `reading` | the query that yields types which have a place elsewhere, and its rows |
//! | `source` | a table or a query as a source |
//! | `fitting` | columns in types that a database takes |
//! | `destination` | a table as a destination |
//! | `listing` | tables of a database |

mod address;
mod destination;
mod driver;
mod fitting;
mod listing;
mod reading;
mod session;
mod source;
mod sqlite_columns;
mod system;

use load::Mode;

use crate::{
    destination::{Create, Destination},
    endpoint::DatabaseEndpoint,
    error::CopyError,
    listed_table::ListedTable,
    source::Source,
};

/// Makes the source of a table, or of a query in its place.
///
/// # Errors
/// The endpoint names neither, or is spelled wrongly.
pub fn source(endpoint: &DatabaseEndpoint, query: Option<&str>) -> Result<Box<dyn Source>, CopyError> {
    let address = address::Address::parse(endpoint)?;
    Ok(Box::new(source::DatabaseSource::new(address, query)?))
}

/// Makes a table that takes rows.
///
/// # Errors
/// The endpoint names none, or the mode needs more than a driver can do.
pub fn destination(
    endpoint: &DatabaseEndpoint,
    mode: &Mode,
    create: Create,
) -> Result<Box<dyn Destination>, CopyError> {
    let address = address::Address::parse(endpoint)?;
    Ok(Box::new(destination::DatabaseDestination::new(address, mode, create)?))
}

/// Lists the tables and views of a database.
///
/// # Errors
/// The driver is missing, or cannot list them.
pub fn tables(endpoint: &DatabaseEndpoint) -> Result<Vec<ListedTable>, CopyError> {
    listing::tables(&address::Address::parse(endpoint)?)
}
