//! Statements, as functions of the session's state, a scope and an output.
//!
//! | Folder | Contents |
//! |---|---|
//! | `interpreter` | requests, batches, control of flow, transactions, SET; light requests run on their connection's task |
//! | `procedures` | EXEC, remote calls, the system's procedures |
//! | `administration`, `cursor` | statements of administrators, DBCC among them; cursors |
//! | `dml` | statements that change rows, which meet in `dml::change`; triggers; parallel inserts |
//! | `ddl` | definitions, partitions and SWITCH |
//! | `evaluation` | the meaning of names and expressions, and what reading locks |
//!
//! Each folder uses only those below it in this table. Nested statements, of EXEC, triggers and functions, run through
//! `session::interpreter`.

pub(crate) mod administration;
pub(crate) mod cursor;
pub(crate) mod ddl;
pub(crate) mod dml;
pub(crate) mod evaluation;
pub(crate) mod interpreter;
pub(crate) mod procedures;

pub use dml::bulk::{BulkWriter, begin_bulk};
pub use dml::fire::fire_after_bulk;
pub use dml::load_note::{notice_of_duplicates, notice_of_load};
pub use interpreter::execute::{execute, execute_early};
pub use interpreter::light::is_light;
pub use interpreter::open_session;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
pub(crate) mod tests;
