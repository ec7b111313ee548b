//! The bodies of the fuzz targets, one file a crate.

pub mod tds;
