//! Databases and schemas as a session's transaction sees and changes them.

use std::sync::Arc;

use databases::catalogue::DIRECTORY_KEY;
use databases::catalogue::Directory;
use databases::storage::LockMode;
use tsql::SqlError;

use crate::session::work::Place;
use crate::session::work::Work;

/// Databases and schemas as the transaction sees them.
///
/// Errors: 596 if their catalogue is missing or damaged.
pub fn of(work: &Work) -> Result<Arc<Directory>, SqlError> {
    match &work.transactions.lock().session {
        Some(transaction) => work.instance.directory_of(transaction.table(DIRECTORY_KEY)),
        None => work.instance.directory(),
    }
}

/// Databases and schemas for a change, locked alone to the end of the transaction.
pub(crate) fn to_change(work: &Work) -> Result<Directory, SqlError> {
    let timeout = work.lock_timeout;
    work.write(Place::Shared, |transaction| match transaction.table(DIRECTORY_KEY) {
        Some(info) => transaction.open(info.id)?.lock(LockMode::Exclusive, timeout),
        None => Ok(()),
    })?;
    Ok(of(work)?.as_ref().clone())
}

/// Changes databases and schemas.
pub(crate) fn set(work: &Work, directory: &Directory) -> Result<(), SqlError> {
    let text = serde_json::to_string(directory).map_err(|error| SqlError::internal(error))?;
    work.write(Place::Shared, |transaction| {
        let id = transaction.table(DIRECTORY_KEY).map(|info| info.id);
        match id {
            Some(id) => transaction.open(id)?.set_properties(&text),
            None => Ok(()),
        }
    })
}
