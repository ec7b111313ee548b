//! The mark of a directory in which a restore is not complete.

use std::sync::Arc;

use crate::disk::volume::Volume;
use crate::error::EngineError;

/// Name of the file that is there while a restore is not complete.
pub(crate) const MARKER: &str = "restoring";

/// Refuses a directory in which a restore was cut short; forgets one that was complete.
pub(crate) fn check_restored(volume: &Arc<dyn Volume>, has_control: bool) -> Result<(), EngineError> {
    match (volume.open(MARKER), has_control) {
        (Err(_), _) => Ok(()),
        (Ok(_), true) => remove_marker(volume),
        (Ok(_), false) => {
            let reason = "its restore was cut short".to_owned();
            Err(EngineError::DamagedDatabase { what: "the database", reason })
        }
    }
}

/// Removes the marker of a restore, which is complete.
pub(crate) fn remove_marker(volume: &Arc<dyn Volume>) -> Result<(), EngineError> {
    let io = |source| EngineError::Io { operation: "remove", path: volume.path(MARKER), source };
    volume.remove(MARKER).and_then(|()| volume.sync_directory()).map_err(io)
}
