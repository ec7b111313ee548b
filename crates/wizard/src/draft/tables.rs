//! The choice of several tables.

use crate::errors::Errors;

/// The tables of one copy.
#[derive(Debug, Clone, Default)]
pub struct TableChoices {
    /// The source whose tables these are.
    pub made_for: String,
    /// All that it has.
    pub tables: Vec<ChosenTable>,
    /// The schema that takes all of them; empty: each goes to the schema of its name.
    pub to_schema: String,
    /// The number of tables that are copied at a time.
    pub jobs: u16,
    /// Between SQL Servers: whether new tables get keys, indexes, defaults and checks.
    pub with_keys: bool,
    /// True if no further table begins after one has failed.
    pub stops_at_failure: bool,
}

/// A table of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenTable {
    /// The name of the table, as `--tables` spells it.
    pub name: String,
    /// True for a view.
    pub is_view: bool,
    /// The number of rows, if that is known.
    pub rows: Option<u64>,
    /// The number of bytes, if that is known.
    pub bytes: Option<u64>,
    /// True if the table is copied.
    pub is_chosen: bool,
}

impl TableChoices {
    /// Lists the tables that are copied.
    pub fn chosen(&self) -> impl Iterator<Item = &ChosenTable> {
        self.tables.iter().filter(|table| table.is_chosen)
    }

    pub(super) fn check(&self, errors: &mut Errors) {
        if self.chosen().next().is_none() {
            errors.add("tables", "Choose a table at least.");
        }
        // The command divides names by commas.
        if let Some(table) = self.chosen().find(|table| table.name.contains(',')) {
            errors.add(
                "tables",
                format!("{} cannot be spelled among several tables; copy it by itself.", table.name),
            );
        }
    }
}
