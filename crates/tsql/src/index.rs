//! Indexes as written: CREATE and ALTER INDEX, and the options of indexes, keys and tables.

use super::file_group::WrittenGroup;
use super::names::ObjectName;
use super::partition::WrittenScheme;

/// CREATE INDEX.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateIndex {
    /// Index name.
    pub name: String,
    /// Table.
    pub table: ObjectName,
    /// UNIQUE.
    pub unique: bool,
    /// CLUSTERED.
    pub clustered: bool,
    /// COLUMNSTORE.
    pub columnstore: bool,
    /// Key columns, descending or not.
    pub columns: Vec<(String, bool)>,
    /// INCLUDE columns.
    pub include: Vec<String>,
    /// WHERE of a filtered index, as text.
    pub filter: Option<String>,
    /// WITH (…).
    pub settings: IndexSettings,
    /// ON; None: where the table's rows are.
    pub group: Option<WrittenGroup>,
    /// ON, if it names a partition scheme.
    pub scheme: Option<WrittenScheme>,
}

/// ALTER INDEX.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterIndex {
    /// Index name; None for ALL.
    pub name: Option<String>,
    /// Table.
    pub table: ObjectName,
    /// The change of the index.
    pub action: IndexAction,
}

/// A change that ALTER INDEX makes.
#[derive(Debug, Clone, PartialEq)]
pub enum IndexAction {
    /// REBUILD, which also enables a disabled index.
    Rebuild(Rebuild),
    /// REORGANIZE: its pages made dense.
    Reorganize {
        /// PARTITION = n; None: all of them.
        partition: Option<u64>,
    },
    /// DISABLE.
    Disable,
    /// SET (…): IGNORE_DUP_KEY; nothing else has an effect here.
    Set(IndexSettings),
}

/// REBUILD of a table or an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebuild {
    /// PARTITION = n; None: all of them.
    pub partition: Option<u64>,
    /// WITH (…).
    pub settings: IndexSettings,
}

/// WITH (…) of an index, a key or a rebuild, as written. Options about how a statement runs (ONLINE, MAXDOP, SORT_IN_TEMPDB and
/// the like), about row and page locks, and about statistics are parsed and have no effect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexSettings {
    /// FILLFACTOR, 1 to 100.
    pub fill_factor: Option<u8>,
    /// PAD_INDEX.
    pub pad_index: Option<bool>,
    /// DATA_COMPRESSION.
    pub compression: Option<DataCompression>,
    /// IGNORE_DUP_KEY.
    pub ignore_dup_key: Option<bool>,
    /// DROP_EXISTING = ON.
    pub drop_existing: bool,
}

/// DATA_COMPRESSION.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum DataCompression {
    /// NONE.
    #[default]
    None,
    /// ROW.
    Row,
    /// PAGE.
    Page,
}

impl DataCompression {
    /// Returns the number in `sys.partitions.data_compression`.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// Returns the spelling in `sys.partitions.data_compression_desc`.
    pub fn description(self) -> &'static str {
        match self {
            DataCompression::None => "NONE",
            DataCompression::Row => "ROW",
            DataCompression::Page => "PAGE",
        }
    }
}
