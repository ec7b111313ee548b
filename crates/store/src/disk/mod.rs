//! The files of a database, and their directories.

pub mod directory;
mod extent_memory;
pub mod file_layout;
pub mod files;
pub mod memory;
pub mod quota;
pub mod volume;

/// Bytes written after which the disk is asked to begin with them, so that a later sync has little left to
/// do.
pub(crate) const WRITE_BEHIND_BYTES: usize = 16 << 20;
