//! `bulkwire copy`.

pub(crate) mod command;
pub(crate) mod endpoints;
mod report;
pub(crate) mod source;
mod transformation;
mod watch;
