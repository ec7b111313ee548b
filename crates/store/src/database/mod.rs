//! An open database as its threads share it: options, control file, checkpoints, recovery and snapshots.

pub(crate) mod checkpoint;
pub mod control;
pub mod governor;
pub(crate) mod host;
pub(crate) mod options;
pub(crate) mod progress;
pub(crate) mod recovery;
pub(crate) mod restoring;
pub(crate) mod shared;
pub(crate) mod snapshot;
