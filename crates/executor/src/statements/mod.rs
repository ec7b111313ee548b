//! Statements, as functions of the session's state, a scope and an output.

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
