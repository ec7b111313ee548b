//! Isolation levels as sys.dm_exec_sessions numbers them.

pub(crate) const READ_UNCOMMITTED: u8 = 1;
pub(crate) const READ_COMMITTED: u8 = 2;
pub(crate) const REPEATABLE_READ: u8 = 3;
pub(crate) const SERIALIZABLE: u8 = 4;
pub(crate) const SNAPSHOT: u8 = 5;
