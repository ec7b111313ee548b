//! What an open database is to those who work in it: its options, its control file, its snapshots, and what its threads share.

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
