//! What administrators ask.

pub(crate) mod administer;
pub(crate) mod dbcc;
pub(crate) mod kill;
