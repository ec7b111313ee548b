//! The complete definition of a table.

use super::obstacle::Obstacle;
use crate::table_name::TableName;

/// A table's definition, complete enough to create an equal table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableShape {
    /// The name, with schema.
    pub name: TableName,
    /// Columns in order.
    pub columns: Vec<ColumnShape>,
    /// Indexes, those of keys included, the clustered one first.
    pub indexes: Vec<IndexShape>,
    /// Compression of a heap.
    pub heap_compression: Compression,
    /// The file group or partition scheme of the rows, if it is not the default file group.
    pub space: Option<DataSpace>,
    /// File group of large values, if it is not the default one.
    pub large_value_file_group: Option<String>,
    /// CHECK constraints.
    pub checks: Vec<CheckShape>,
    /// FOREIGN KEY constraints of the table.
    pub foreign_keys: Vec<ForeignKeyShape>,
    /// `LOCK_ESCALATION`, if it is not `TABLE`.
    pub lock_escalation: Option<String>,
    /// The objects that a second table cannot have.
    pub obstacles: Vec<Obstacle>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnShape {
    /// Name.
    pub name: String,
    /// Type as CREATE TABLE takes it; an alias type keeps its name.
    pub type_text: String,
    /// True if the column takes NULL.
    pub is_nullable: bool,
    /// Collation of a character column.
    pub collation: Option<String>,
    /// IDENTITY.
    pub identity: Option<IdentityShape>,
    /// The expression of a computed column.
    pub computed: Option<ComputedShape>,
    /// The DEFAULT.
    pub default: Option<DefaultShape>,
    /// ROWGUIDCOL.
    pub is_rowguidcol: bool,
    /// SPARSE.
    pub is_sparse: bool,
}

/// IDENTITY. The numbers are texts, since they may have 38 digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityShape {
    /// The first value.
    pub seed: String,
    /// The step.
    pub increment: String,
    /// NOT FOR REPLICATION.
    pub is_not_for_replication: bool,
}

/// A computed column's expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComputedShape {
    /// The expression, in parentheses.
    pub definition: String,
    /// PERSISTED.
    pub is_persisted: bool,
}

/// A DEFAULT.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultShape {
    /// The constraint's name.
    pub name: String,
    /// The expression, in parentheses.
    pub definition: String,
}

/// The storage of an index's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexKind {
    /// The rows themselves, in a B-tree.
    Clustered,
    /// A B-tree beside the rows.
    Nonclustered,
    /// The rows themselves, by column.
    ClusteredColumnstore,
    /// Columns beside the rows.
    NonclusteredColumnstore,
}

/// The constraint that an index enforces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// PRIMARY KEY.
    Primary,
    /// UNIQUE.
    Unique,
}

/// Compression of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// No compression, or a columnstore's own.
    #[default]
    None,
    /// ROW.
    Row,
    /// PAGE.
    Page,
    /// COLUMNSTORE_ARCHIVE.
    Archive,
}

/// An index, or the index of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexShape {
    /// Name, which is the constraint's.
    pub name: String,
    /// Kind.
    pub kind: IndexKind,
    /// The constraint that the index enforces.
    pub key_kind: Option<KeyKind>,
    /// No two rows have the same key.
    pub is_unique: bool,
    /// Key columns in order, with "descending".
    pub key: Vec<(String, bool)>,
    /// Columns that are not part of the key.
    pub included: Vec<String>,
    /// WHERE.
    pub filter: Option<String>,
    /// FILLFACTOR; 0 is the server's own.
    pub fill_factor: u8,
    /// PAD_INDEX.
    pub is_padded: bool,
    /// IGNORE_DUP_KEY.
    pub ignores_duplicate_keys: bool,
    /// ALLOW_ROW_LOCKS.
    pub allows_row_locks: bool,
    /// ALLOW_PAGE_LOCKS.
    pub allows_page_locks: bool,
    /// OPTIMIZE_FOR_SEQUENTIAL_KEY.
    pub is_for_sequential_keys: bool,
    /// DATA_COMPRESSION.
    pub compression: Compression,
    /// The file group or partition scheme of the index, if it is not the default file group.
    pub space: Option<DataSpace>,
}

/// A file group or partition scheme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataSpace {
    /// Name of the file group or the partition scheme.
    pub name: String,
    /// The division of the rows by the partition scheme; `None` for a file group.
    pub division: Option<Division>,
}

/// The division of rows by a partition scheme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Division {
    /// The partition function.
    pub function: String,
    /// The partitioning column.
    pub column: String,
    /// Compression of each partition.
    pub compressions: Vec<Compression>,
}

/// A CHECK constraint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckShape {
    /// Name.
    pub name: String,
    /// The condition, in parentheses.
    pub definition: String,
    /// The state of the constraint: enabled, trusted.
    pub standing: Standing,
}

/// A FOREIGN KEY constraint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignKeyShape {
    /// Name.
    pub name: String,
    /// The columns.
    pub columns: Vec<String>,
    /// The table that they refer to.
    pub references: TableName,
    /// The columns there.
    pub referenced: Vec<String>,
    /// ON DELETE, as the catalogue words it: `NO_ACTION`, `CASCADE`, `SET_NULL`, `SET_DEFAULT`.
    pub on_delete: String,
    /// ON UPDATE.
    pub on_update: String,
    /// The state of the constraint: enabled, trusted.
    pub standing: Standing,
}

/// The state of a constraint: enabled, trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standing {
    /// True if the constraint is disabled.
    pub is_disabled: bool,
    /// The server does not know that all rows obey it.
    pub is_not_trusted: bool,
    /// Replication need not obey it.
    pub is_not_for_replication: bool,
}

impl TableShape {
    /// Returns the index that holds the rows, unless the table is a heap.
    pub fn clustered(&self) -> Option<&IndexShape> {
        self.indexes
            .iter()
            .find(|index| matches!(index.kind, IndexKind::Clustered | IndexKind::ClusteredColumnstore))
    }

    /// Returns the division of the rows among partitions.
    pub fn division(&self) -> Option<&Division> {
        self.space.as_ref().and_then(|space| space.division.as_ref())
    }

    /// Returns the identity column.
    pub fn identity(&self) -> Option<&ColumnShape> {
        self.columns.iter().find(|column| column.identity.is_some())
    }

    /// Obstacles that prevent a stage from taking this table's place at all.
    pub fn obstacles_to_any(&self) -> Vec<Obstacle> {
        self.obstacles.iter().filter(|obstacle| !obstacle.kind.stops_rename_only()).cloned().collect()
    }

    /// Obstacles that exclude a rename, since the table would lose something.
    pub fn obstacles_to_rename(&self) -> Vec<Obstacle> {
        self.obstacles.iter().filter(|obstacle| obstacle.kind.stops_rename_only()).cloned().collect()
    }
}
