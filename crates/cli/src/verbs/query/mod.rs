//! `bulkwire query`.

pub(crate) mod command;
mod output;
mod parameters;
