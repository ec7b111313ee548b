//! Locks with SQL Server's modes: who holds what, who waits for whom, and who gives way when a wait would never end.

mod mode;
mod table;

pub use mode::LockMode;
pub use table::{LockRow, LockStatus, Resource};
pub(crate) use table::{LockSpace, LockTable, Request};

#[cfg(test)]
mod tests;
