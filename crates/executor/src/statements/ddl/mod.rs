//! Statements that define databases, tables, modules and types.

pub(crate) mod alter_columns;
pub(crate) mod constraint;
pub(crate) mod database;
pub(crate) mod database_file;
pub(crate) mod declared_columns;
pub(crate) mod define;
pub(crate) mod definition;
pub(crate) mod index;
pub(crate) mod key_limits;
pub(crate) mod module;
pub(crate) mod new_table;
pub(crate) mod redefine;
pub(crate) mod rename;
pub(crate) mod sequence;
pub(crate) mod snapshot_options;
pub(crate) mod switch;
pub(crate) mod trigger;
pub(crate) mod user_type;
