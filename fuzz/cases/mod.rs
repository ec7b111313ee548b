//! The bodies of the fuzz targets, one file a crate.

pub mod database_files;
pub mod formats;
pub mod rows;
pub mod tds;
