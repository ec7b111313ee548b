//! What runs T-SQL: a session, and statements as functions of its state. No socket and no packet: a request comes in as a
//! value, and its answer leaves as events.
//!
//! | Room | What it is |
//! |---|---|
//! | [`statements`] | what runs: requests, batches, statements, procedures |
//! | [`session`] | one connection's state, and the [`session::response::Response`] events that answer it |
//! | `bulk_file` | files that the server reads itself: BULK INSERT and OPENROWSET(BULK …) |

pub mod bulk_error;
mod bulk_file;
pub mod session;
pub mod statements;
