//! Pages in memory, as they are and as snapshots still need them, and the one way to change them.

pub(crate) mod budget;
pub mod buffer;
pub mod pager;
pub(crate) mod version_file;
pub mod versions;
