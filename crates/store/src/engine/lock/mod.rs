//! Locks with SQL Server's modes: who holds what, who waits for whom, and who gives way when a wait would never end.

mod mode;
mod table;

pub use mode::LockMode;
pub use table::{LockRow, LockStatus, Resource};
pub(crate) use table::{LockSpace, LockTable, Request};

use super::database::Engine;

impl Engine {
    /// Locks that are held or waited for (`sys.dm_tran_locks`), with whom each waiter waits for (`blocking_session_id`).
    pub fn locks(&self) -> Vec<LockRow> {
        self.shared.locks.rows()
    }
}

#[cfg(test)]
mod tests;
