//! A table's keys as queries look rows up by them.

use crate::catalogue::TableDefinition;
use crate::storage::trees::key_trees;

impl query::KeyedTable for TableDefinition {
    fn shown_name(&self) -> String {
        format!("[{}].[{}].[{}]", self.database, self.schema, self.name)
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    fn column(&self, position: usize) -> Option<query::KeyedColumn<'_>> {
        let column = self.columns.get(position)?;
        Some(query::KeyedColumn {
            sql_type: &column.sql_type,
            collation: column.collation(),
            trims_padding: column.trims_padding(),
        })
    }

    fn has_keys(&self) -> bool {
        self.has_indexes()
    }

    fn keys(&self) -> Vec<query::KeyTree> {
        key_trees(self)
    }
}
