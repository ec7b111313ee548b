//! Lengths of entries of keys and indexes.

use store::record::kind::Place;
use store::{INDEX_KEY_LIMIT_BYTES, KEY_LIMIT_BYTES, Kind};
use tds::CodePage;

use crate::catalogue::{ColumnDefinition, TableDefinition};
use crate::storage::columns::kind_of_column;

/// The key of a clustered tree or of an index.
#[derive(Debug, Clone)]
pub struct KeyWidth {
    /// Name of the key or index.
    pub name: String,
    /// True for the clustered key.
    pub clustered: bool,
    /// Positions of its columns in the table.
    pub columns: Vec<usize>,
    /// Bytes of the key's columns of fixed length.
    pub fixed_bytes: usize,
    /// Maximum number of bytes that all columns may take as declared. `None`: a column has no limit.
    declared_bytes: Option<usize>,
    /// Greatest number of bytes of an entry.
    pub limit_bytes: usize,
}

impl KeyWidth {
    /// Computes the width of a key over these columns.
    pub fn new(name: &str, clustered: bool, columns: Vec<usize>, table: &TableDefinition) -> KeyWidth {
        let places: Vec<Place> = columns
            .iter()
            .filter_map(|position| table.columns.get(*position))
            .map(|column| kind_of_column(&column.stored()).0.place())
            .collect();
        let fixed = |place: &Place| match place {
            Place::Fixed(bytes) => *bytes,
            Place::Bit => 1,
            Place::Variable { .. } => 0,
        };
        let declared = |place: &Place| match place {
            Place::Variable { limit_bytes } => *limit_bytes,
            other => Some(fixed(other)),
        };
        KeyWidth {
            name: name.to_owned(),
            clustered,
            columns,
            fixed_bytes: places.iter().map(fixed).sum(),
            declared_bytes: places.iter().map(declared).sum(),
            limit_bytes: if clustered { KEY_LIMIT_BYTES } else { INDEX_KEY_LIMIT_BYTES },
        }
    }

    /// Computes the widths of all keys and indexes of a table that are trees.
    pub fn of_table(table: &TableDefinition) -> Vec<KeyWidth> {
        let keys = table.keys.iter().map(|key| (&key.name, key.clustered, &key.columns));
        let indexes = table.indexes.iter().filter(|index| !index.columnstore);
        let indexes = indexes.map(|index| (&index.name, index.clustered, &index.columns));
        let all = keys.chain(indexes).map(|(name, clustered, columns)| {
            let positions = columns.iter().filter_map(|(column, _)| table.position(column)).collect();
            KeyWidth::new(name, clustered, positions, table)
        });
        all.collect()
    }

    /// Returns true if a tree can hold the key: its columns of fixed length leave room, and none is of a type
    /// that is kept outside of rows.
    pub fn fits(&self) -> bool {
        self.declared_bytes.is_some() && self.fixed_bytes <= self.limit_bytes
    }

    /// Returns true if an entry may be too long.
    pub fn is_wide(&self) -> bool {
        self.declared_bytes.is_some_and(|bytes| bytes > self.limit_bytes)
    }
}

/// Returns true if values of a column can be parts of a key.
pub fn is_key_column(column: &ColumnDefinition) -> bool {
    !matches!(column.sql_type, tds::SqlType::Vector { .. })
        && kind_of_column(&column.stored()).0.place() != (Place::Variable { limit_bytes: None })
}

/// Measures the bytes that values of a column of variable length take in pages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoredBytes(Option<CodePage>, bool);

/// Returns the measure of a column's values; `None`: they have one length.
pub(crate) fn stored_bytes(column: &ColumnDefinition) -> Option<StoredBytes> {
    let (kind, code_page) = kind_of_column(&column.stored());
    matches!(kind.place(), Place::Variable { .. })
        .then_some(StoredBytes(code_page, matches!(kind, Kind::NVarChar(_))))
}

impl StoredBytes {
    /// Returns the bytes of a text.
    pub fn of_text(self, text: &str) -> usize {
        match self {
            StoredBytes(_, true) => 2 * text.encode_utf16().count(),
            StoredBytes(Some(page), _) => page.encode(text).map_or(text.len(), |bytes| bytes.len()),
            StoredBytes(None, _) => text.len(),
        }
    }
}
