//! `bulkwire package` and `bulkwire run`.

pub(crate) mod command;
mod import;
mod log;
mod page;
mod progress;
pub(crate) mod run;
pub(crate) mod run_words;
