//! A system view: its columns, and the function that fills it.

use std::sync::Arc;

use databases::catalogue::{DatabaseEntry, PartitionRanges, TableDefinition, same_name};
use databases::storage::Figures;
use query::Datum;
use tsql::SqlError;

use crate::facts::Facts;
use crate::view::View;

/// `object_id` of system views: negative, as in SQL Server, by their place in the list.
pub(super) const VIEW_ID_FIRST: i32 = -400;

/// Counts the rows of each partition of a table by the values of a column.
pub type PartitionRows<'a> =
    dyn Fn(&TableDefinition, &PartitionRanges, &str) -> Result<Vec<i64>, SqlError> + 'a;

/// The context of a view: the database that is queried, and the row counts of tables.
pub struct Context<'a> {
    /// Facts of the session that queries the view.
    pub facts: &'a Arc<Facts>,
    /// Database whose objects are shown.
    pub database: &'a str,
    /// Rows by `object_id`.
    pub rows: &'a dyn Fn(i32) -> i64,
    /// Rows of each partition of a table by the values of a column.
    pub partition_rows: &'a PartitionRows<'a>,
    /// All system views, for those that list them.
    pub(super) views: &'static [&'static [Entry]],
}

impl Context<'_> {
    pub(super) fn database(&self) -> Option<&DatabaseEntry> {
        self.facts.directory.database(self.database)
    }

    /// Lists the database's tables.
    pub(super) fn tables(&self) -> Vec<Arc<TableDefinition>> {
        let tables = self.facts.tables().iter();
        tables.filter(|table| same_name(&table.database, self.database)).cloned().collect()
    }

    /// Returns the figures of a database; None: it keeps no pages, or it is tempdb.
    pub(super) fn figures(&self, database: &str) -> Option<&Figures> {
        self.facts.figures(database)
    }

    /// Lists the system views with their ids.
    pub(super) fn listed(&self) -> impl Iterator<Item = (i32, &'static Entry)> {
        (0..).map(|place| VIEW_ID_FIRST - place).zip(self.views.iter().copied().flatten())
    }

    pub(super) fn schema_id(&self, schema: &str) -> Datum {
        let schema = self.database().and_then(|database| database.schema(schema));
        schema.map_or(Datum::Null, |schema| Datum::Int(i64::from(schema.id)))
    }
}

/// A system view.
pub(crate) struct Entry {
    pub(super) schema: &'static str,
    pub(super) name: &'static str,
    /// Columns of the view, as [`View::shaped`] reads them.
    pub(super) shape: &'static str,
    /// Adds its rows.
    pub(super) fill: fn(&Context<'_>, &mut View),
}

impl Entry {
    pub(super) const fn new(
        name: &'static str,
        shape: &'static str,
        fill: fn(&Context<'_>, &mut View),
    ) -> Entry {
        Entry { schema: "sys", name, shape, fill }
    }

    /// Declares a view of things that this server does not have.
    pub(super) const fn empty(name: &'static str, shape: &'static str) -> Entry {
        Entry::new(name, shape, |_, _| {})
    }

    pub(super) const fn standard(
        name: &'static str,
        shape: &'static str,
        fill: fn(&Context<'_>, &mut View),
    ) -> Entry {
        Entry { schema: "INFORMATION_SCHEMA", name, shape, fill }
    }
}
