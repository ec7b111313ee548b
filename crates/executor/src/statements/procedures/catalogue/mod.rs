//! Procedures that show what the catalogue knows.

pub(crate) mod columns;
pub(crate) mod keys;
pub(crate) mod odbc_type;
pub(crate) mod routines;
pub(crate) mod shown;
pub(crate) mod tables;
