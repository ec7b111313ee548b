//! `bulkwire export`.

pub(crate) mod command;
mod range_files;
mod ranges;
