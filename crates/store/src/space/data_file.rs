//! Sizes of data files.

use crate::disk::file_layout::FileGrowth;

/// A data file and how full it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFileSpace {
    /// Number, from 1.
    pub file: u16,
    /// Name in the database's directory.
    pub name: String,
    /// Logical name of the file.
    pub logical_name: String,
    /// File group (`data_space_id`).
    pub group: u16,
    /// Name of the file group.
    pub group_name: String,
    /// Size in pages.
    pub size_pages: u64,
    /// Pages of free extents.
    pub free_pages: u64,
    /// Pages of mixed extents that have a free page.
    pub mixed_pages: u64,
    /// Pages by which the file would grow next.
    pub growth_pages: u64,
    /// Pages that it may grow to; None: no limit.
    pub limit_pages: Option<u64>,
    /// Growth of the file: automatic, or as declared.
    pub growth: FileGrowth,
}
