//! The bodies of the fuzz targets, one file a crate.

pub mod formats;
pub mod rows;
pub mod tds;
