//! Statements that read and change rows.

pub(crate) mod bulk;
pub(crate) mod bulk_insert;
pub(crate) mod change;
pub(crate) mod changed;
pub(crate) mod destination;
pub(crate) mod fire;
pub(crate) mod insert;
pub(crate) mod insert_file;
pub(crate) mod instead;
pub(crate) mod into_identity;
pub(crate) mod load_note;
pub(crate) mod merge;
pub(crate) mod modify;
pub(crate) mod output_clause;
pub(crate) mod parallel;
pub(crate) mod plain;
pub(crate) mod positioned;
pub(crate) mod reference;
pub(crate) mod references;
pub(crate) mod select;
pub(crate) mod sorted_columns;
pub(crate) mod target;
mod text_size;
pub(crate) mod through;
pub(crate) mod tries;
pub(crate) mod view;
