//! File groups as statements name them.

/// The name of the default file group.
pub const DEFAULT_GROUP: &str = "default";

/// A file group as `ON` names it; None: the default one.
pub type WrittenGroup = Option<String>;

/// The file groups of a table; None: the default file group.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct FileGroups {
    /// The group of the rows (`ON`), and of indexes that name none.
    pub rows: Option<String>,
    /// The group of the large values (`TEXTIMAGE_ON`); `None` puts them with the rows.
    pub large_values: Option<String>,
}
