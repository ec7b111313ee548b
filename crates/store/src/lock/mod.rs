//! Locks with SQL Server's modes: who holds what, who waits for whom, and who gives way when a wait would never end.

pub(crate) mod latches;
pub(crate) mod turns;

mod table;

pub use crate::lock_mode::LockMode;
pub use table::{LockRow, LockStatus, Resource};
pub(crate) use table::{LockSpace, LockTable, Request};

#[cfg(test)]
mod tests;
