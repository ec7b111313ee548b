//! Statements of administrators.

pub(crate) mod administer;
pub(crate) mod backup;
pub(crate) mod dbcc;
pub(crate) mod kill;
pub(crate) mod permission;
