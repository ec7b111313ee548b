//! `bulkwire copy`.

pub(crate) mod command;
pub(crate) mod report;
mod watch;
