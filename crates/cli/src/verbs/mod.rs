//! The verbs of the command.

pub(crate) mod bcp;
pub(crate) mod convert;
pub(crate) mod copy;
pub(crate) mod describe;
mod describe_file;
mod describe_json;
pub(crate) mod export;
pub(crate) mod load;
pub(crate) mod package;
pub(crate) mod query;
pub(crate) mod sniff;
