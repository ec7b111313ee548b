//! The transactions that a session has open, and access to them for those who read and write on other threads.

mod access;
mod open_table;
mod open_transactions;

pub(crate) use access::TransactionAccess;
pub(crate) use open_table::{OpenTable, Place};
pub(crate) use open_transactions::{Mark, OpenTransactions, SharedTransactions};
