//! `bulkwire load` and `bulkwire loads`.

pub(crate) mod command;
mod files;
pub(crate) mod forecast;
mod ledger;
pub(crate) mod observation;
pub(crate) mod options;
mod order;
pub(crate) mod recorded;
mod report;
mod server_side;
pub(crate) mod source;
pub(crate) mod way;
