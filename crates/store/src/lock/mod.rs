//! Locks with SQL Server's modes: holders, waiters, and victims of deadlocks.

pub(crate) mod latches;
pub(crate) mod turns;

mod table;

pub use crate::lock_mode::LockMode;
pub use table::{LockRow, LockStatus, LockUsage, Resource};
pub(crate) use table::{LockSpace, LockTable, Request};

#[cfg(test)]
mod tests;
