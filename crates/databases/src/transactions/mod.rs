//! The transactions that a session has open, and access to them for those who read and write on other threads.

mod access;
mod open_table;
mod open_transactions;

pub use access::TransactionAccess;
pub use open_table::{OpenTable, Place};
pub use open_transactions::{Mark, OpenTransactions, SharedTransactions};
