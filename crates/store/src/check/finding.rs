//! What a structural check finds.

use crate::page::{PageId, UnitId};

/// Something that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What kind of thing it is.
    pub kind: FindingKind,
    /// The table; None: the maps of a file.
    pub table: Option<String>,
    /// The allocation unit; None: the maps of a file.
    pub unit: Option<UnitId>,
    /// The page.
    pub page: PageId,
    /// The slot, where one is to blame.
    pub slot: Option<u16>,
    /// What is wrong with it.
    pub reason: String,
}

/// What can be wrong, as far as DBCC CHECKDB has messages of its own for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FindingKind {
    /// A page that cannot be read, or whose checksum or header is not what was written.
    UnreadablePage,
    /// A page that belongs to another unit, or is of a type that its unit does not have.
    ForeignPage,
    /// Slots, rows and free space of a page that do not add up.
    PageLayout,
    /// A record that is none.
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
    /// What a PFS page says of a page.
    FreeSpace,
    /// An extent that belongs to two, or to nobody while it is not free.
    Allocation,
}

impl FindingKind {
    /// Whether DBCC counts it as an allocation error rather than a consistency error.
    pub fn is_allocation(self) -> bool {
        matches!(self, Self::Allocation | Self::FreeSpace)
    }
}
