//! Allocation units: the extents of one kind of pages of a table.

use std::sync::Arc;

use super::{EXTENT_PAGES, ExtentId, PageId, UnitId};

/// Object id of the catalogue's own heap.
pub const CATALOGUE: u32 = 1;

/// Kind of an allocation unit, which names one unit of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnitKind {
    /// Rows of a heap or of a clustered tree.
    InRow,
    /// Values that were moved out of long rows.
    Overflow,
    /// Large values, such as `varchar(max)`.
    Large,
    /// Rows of the nonclustered index with this number.
    Index(u16),
}

impl UnitKind {
    /// The units that every table has.
    pub const ALL: [Self; 3] = [Self::InRow, Self::Overflow, Self::Large];

    pub(crate) fn id(self, object: u32) -> UnitId {
        let index = match self {
            Self::Index(id) => 256 + 4 * id,
            of_table => 256 + of_table.place() as u16,
        };
        UnitId { object, index }
    }

    /// Returns the place among the units that every table has.
    pub(crate) fn place(self) -> usize {
        match self {
            Self::InRow | Self::Index(_) => 0,
            Self::Overflow => 1,
            Self::Large => 2,
        }
    }
}

/// Neighbouring extents of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// First extent of the run.
    pub first: ExtentId,
    /// Number of extents.
    pub count: u32,
}

impl Run {
    /// Lists the extents one by one.
    pub fn extents(self) -> impl Iterator<Item = ExtentId> {
        (0..self.count).map(move |index| ExtentId { extent: self.first.extent + index, ..self.first })
    }
}

/// Joins extents in rising order to runs. Each run is within one interval of every map, if no extent is one
/// of maps.
pub(crate) fn runs(extents: impl IntoIterator<Item = ExtentId>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for extent in extents {
        match runs.last_mut() {
            Some(Run { first, count })
                if first.file == extent.file && first.extent + *count == extent.extent =>
            {
                *count += 1;
            }
            _ => runs.push(Run { first: extent, count: 1 }),
        }
    }
    runs
}

/// An extent of a table and which of its pages are in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtentUse {
    /// Extent of 8 pages that belongs to the table.
    pub extent: ExtentId,
    /// Bit i: page i is in use.
    pub used: u8,
}

impl ExtentUse {
    /// Lists the pages in use.
    pub fn pages(self) -> impl Iterator<Item = PageId> {
        (0..EXTENT_PAGES)
            .filter(move |index| self.used & (1 << index) != 0)
            .map(move |index| self.extent.page(index))
    }
}

/// An allocation unit: the extents of one kind of pages of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// Table and kind of the unit.
    pub id: UnitId,
    /// The file group that new extents come from.
    pub group: u16,
    /// First page of the IAM chain.
    pub first_iam: PageId,
    /// Extents, in the order of their files and positions.
    pub extents: Arc<Vec<ExtentUse>>,
}

impl Unit {
    /// Counts the pages in use.
    pub fn pages(&self) -> u64 {
        self.extents.iter().map(|extent| u64::from(extent.used.count_ones())).sum()
    }

    /// Notes that a page is in use.
    pub(crate) fn take(&mut self, taken: TakenPage) {
        let (extent, used) = (taken.page.extent(), 1 << (taken.page.page % EXTENT_PAGES));
        let extents = Arc::make_mut(&mut self.extents);
        let known = match taken.is_first {
            true => None,
            false => extents.iter_mut().rev().find(|known| known.extent == extent),
        };
        match known {
            Some(known) => known.used |= used,
            None => extents.push(ExtentUse { extent, used }),
        }
    }
}

/// A page that is in use from now on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TakenPage {
    /// Kind of the unit that takes the page.
    pub kind: UnitKind,
    /// Page that is taken into use.
    pub page: PageId,
    /// True for the first page of an extent that is new to the unit.
    pub is_first: bool,
}

/// The object that an allocation is for, as error 1105 names it.
#[derive(Debug, Clone, Copy)]
pub struct Owner<'a> {
    /// Name of the table.
    pub table: &'a str,
    /// The table's index, if the allocation is for one.
    pub index: Option<&'a str>,
}
