//! Execution of T-SQL: a session, and statements as functions of its state. It knows neither sockets nor packets: a request is a
//! value, and its answer is a stream of events.
//!
//! | Room | What it is |
//! |---|---|
//! | [`statements`] | execution of requests, batches, statements, procedures |
//! | [`session`] | one connection's state, and the [`session::response::Response`] events that answer it |
//! | `bulk_file` | files that the server reads itself: BULK INSERT and OPENROWSET(BULK …) |

pub mod bulk_error;
mod bulk_file;
pub mod session;
pub mod statements;
