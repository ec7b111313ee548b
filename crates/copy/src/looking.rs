//! Looks at the rows of a copy before they are copied.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use rows::Plan;

use crate::{
    error::CopyError,
    first_rows::FirstRows,
    run::transformed,
    server_destination::ServerDestination,
    source::Source,
    spec::{DestinationSpec, Spec},
    transformation::TransformEngine,
};

/// A source, and the number of its rows that have been read.
pub type CountedSource = (Box<dyn Source>, Arc<AtomicU64>);

/// Returns the first `rows` rows of the source of a copy, transformed as it asks.
///
/// # Errors
/// The source is not there, or the engine is missing.
pub fn first_rows(
    spec: &Spec,
    engine: Option<&Arc<dyn TransformEngine>>,
    rows: u64,
) -> Result<CountedSource, CopyError> {
    let first = FirstRows::new(spec.source.open()?, rows);
    let counter = first.counter();
    Ok((transformed(spec, Box::new(first), engine)?, counter))
}

/// Returns how the rows of a source go into the table of SQL Server that a copy fills, if it is there.
///
/// # Errors
/// The server cannot be reached, or the columns do not fit.
pub fn fit(spec: &Spec, source: &mut dyn Source) -> Result<Option<Plan>, CopyError> {
    match &spec.destination {
        DestinationSpec::Server(target) => {
            ServerDestination::new(target.endpoint.clone(), target.write.clone())?.fit(source)
        }
        DestinationSpec::Files(_) | DestinationSpec::Database(_) | DestinationSpec::Package(_) => Ok(None),
    }
}
