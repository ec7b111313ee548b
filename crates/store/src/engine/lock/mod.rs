//! Locks with SQL Server's modes.

mod mode;

pub use mode::LockMode;
