//! The system tables of a database: which tables there are, their columns, keys and pages.
//!
//! | Module | What it is |
//! |---|---|
//! | `boot` | the page from which everything is found |
//! | `units` | allocation units and their pages |
//! | `system_tables` | rows of the system tables, read by fixed places |
//! | `types` | columns of the catalogue as T-SQL types, and collations |
//! | `layout` | where the columns of a rowset stand in a record |
//! | `tables` | user tables, put together |
//! | `modules` | views, procedures, functions, triggers |

mod boot;
mod layout;
mod modules;
mod system_tables;
mod tables;
mod types;
mod units;

pub(crate) use boot::Boot;
pub(crate) use layout::{Place, RowColumn};
pub(crate) use modules::modules;
pub(crate) use system_tables::SystemTables;
pub(crate) use tables::{Rowset, TableRows, tables};
pub(crate) use units::{UnitPages, Units};
