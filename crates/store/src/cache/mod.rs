//! Pages in memory: current ones, versions for snapshots, and the one way to change pages.

pub(crate) mod budget;
pub mod buffer;
pub mod pager;
pub(crate) mod version_file;
pub mod versions;
