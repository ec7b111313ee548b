//! Isolation levels as sys.dm_exec_sessions numbers them.

/// Reads what is not committed, too.
pub const READ_UNCOMMITTED: u8 = 1;
/// Reads what is committed.
pub const READ_COMMITTED: u8 = 2;
/// Rows that were read do not change.
pub const REPEATABLE_READ: u8 = 3;
/// Other transactions add no rows to the ranges that were read.
pub const SERIALIZABLE: u8 = 4;
/// Reads the rows as of the transaction's beginning.
pub const SNAPSHOT: u8 = 5;
