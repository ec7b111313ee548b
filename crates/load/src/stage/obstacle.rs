//! Obstacles that stop a stage from taking a table's place.

use std::fmt;

/// Something of a table that its stage cannot have, or that would be lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    /// The kind of the obstacle.
    pub kind: ObstacleKind,
    /// Name; empty if the obstacle concerns the table as a whole.
    pub name: String,
}

/// The kinds of obstacles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ObstacleKind {
    /// The target is a view rather than a table.
    View,
    /// The table is a temporary one, which belongs to one session.
    TemporaryTable,
    /// The table is in another database than the session.
    OtherDatabase,
    /// A foreign key refers to the table.
    ReferringKey,
    /// A foreign key refers to a table that the login may not see.
    HiddenReference,
    /// The table has a history table.
    Temporal,
    /// The table is memory-optimized.
    MemoryOptimized,
    /// An index that is not divided into the same partitions as the table.
    UnalignedIndex,
    /// The rows are elsewhere.
    External,
    /// The table is a FileTable, or has FILESTREAM columns.
    FileStream,
    /// The table is a node or an edge of a graph.
    Graph,
    /// The table is part of the ledger.
    Ledger,
    /// The table is published.
    Replicated,
    /// Changes are captured.
    ChangeDataCapture,
    /// Changes are tracked.
    ChangeTracking,
    /// An index that is neither a B-tree nor a columnstore.
    IndexKind,
    /// An index that is out of use.
    DisabledIndex,
    /// A full-text index.
    FullText,
    /// A view with an index refers to the table.
    IndexedView,
    /// A column is masked.
    MaskedColumn,
    /// A column is encrypted by clients.
    EncryptedColumn,
    /// A column set.
    ColumnSet,
    /// The server generates a column's values for a period.
    GeneratedColumn,
    /// An XML column has a schema collection.
    XmlSchema,
    /// A column has a bound rule, or a bound default.
    BoundRule,
    /// A trigger of the table.
    Trigger,
    /// A permission on the table or a column.
    Permission,
    /// An extended property of the table or a part of it.
    ExtendedProperty,
    /// Statistics that somebody made.
    Statistics,
    /// A module that is bound to the schema.
    BoundModule,
    /// The table has an owner of its own.
    Owner,
    /// A setting of `sp_tableoption`.
    TableOption,
}

impl ObstacleKind {
    /// Returns true if the table keeps the object when rows are switched in, but loses it when another table gets
    /// its name.
    pub fn stops_rename_only(self) -> bool {
        matches!(
            self,
            Self::Trigger
                | Self::Permission
                | Self::ExtendedProperty
                | Self::Statistics
                | Self::BoundModule
                | Self::Owner
                | Self::TableOption
        )
    }

    fn words(self) -> &'static str {
        match self {
            Self::View => "it is a view",
            Self::TemporaryTable => "it is a temporary table",
            Self::OtherDatabase => "it is in another database than the session",
            Self::ReferringKey => "a foreign key refers to it",
            Self::HiddenReference => "a foreign key to a table that this login may not see",
            Self::Temporal => "it is system-versioned",
            Self::MemoryOptimized => "it is memory-optimized",
            Self::UnalignedIndex => "an index that is not partitioned as the table is",
            Self::External => "it is an external table",
            Self::FileStream => "it has FILESTREAM data",
            Self::Graph => "it is a graph table",
            Self::Ledger => "it is a ledger table",
            Self::Replicated => "it is replicated",
            Self::ChangeDataCapture => "its changes are captured",
            Self::ChangeTracking => "its changes are tracked",
            Self::IndexKind => "an index of another kind than B-tree and columnstore",
            Self::DisabledIndex => "a disabled index",
            Self::FullText => "it has a full-text index",
            Self::IndexedView => "an indexed view",
            Self::MaskedColumn => "a masked column",
            Self::EncryptedColumn => "an encrypted column",
            Self::ColumnSet => "a column set",
            Self::GeneratedColumn => "a generated column",
            Self::XmlSchema => "a column with an XML schema collection",
            Self::BoundRule => "a column with a bound rule or default",
            Self::Trigger => "a trigger",
            Self::Permission => "a permission",
            Self::ExtendedProperty => "an extended property",
            Self::Statistics => "statistics",
            Self::BoundModule => "a schema-bound module",
            Self::Owner => "its owner",
            Self::TableOption => "a table option",
        }
    }
}

impl Obstacle {
    pub(crate) fn new(kind: ObstacleKind, name: impl Into<String>) -> Self {
        Self { kind, name: name.into() }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.words())?;
        match self.name.is_empty() {
            true => Ok(()),
            false => write!(f, " ({})", self.name),
        }
    }
}
