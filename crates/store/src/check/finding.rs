//! Findings of a structural check.

use crate::page::{PageId, UnitId};

/// An inconsistency in the database's structure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The kind of inconsistency.
    pub kind: FindingKind,
    /// The table; None: the maps of a file.
    pub table: Option<String>,
    /// The allocation unit; None: the maps of a file.
    pub unit: Option<UnitId>,
    /// Page at which the inconsistency was found.
    pub page: PageId,
    /// The slot, if one is at fault.
    pub slot: Option<u16>,
    /// Description of the inconsistency.
    pub reason: String,
}

/// Kinds of inconsistencies, as DBCC CHECKDB distinguishes them by its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FindingKind {
    /// A page that cannot be read, or whose checksum or header is wrong.
    UnreadablePage,
    /// A page that belongs to another unit, or is of a type that its unit does not have.
    ForeignPage,
    /// Slots, rows and free space of a page that do not add up.
    PageLayout,
    /// A record that cannot be read.
    Record,
    /// A stub that leads to no row.
    ForwardingStub,
    /// A moved row that no stub leads to.
    ForwardedRow,
    /// Values outside of their rows: missing, shared, or without a row.
    OffRow,
    /// Pages, links or order of a tree.
    Tree,
    /// Entries of an index that are not those of its table's rows.
    IndexEntries,
    /// Rows that are more or fewer than the catalogue says.
    RowCount,
    /// A wrong entry of a PFS page.
    FreeSpace,
    /// An extent that belongs to two units, or to none although it is not free.
    Allocation,
}

impl FindingKind {
    /// Returns true if DBCC counts the finding as an allocation error rather than a consistency error.
    pub fn is_allocation(self) -> bool {
        matches!(self, Self::Allocation | Self::FreeSpace)
    }
}
