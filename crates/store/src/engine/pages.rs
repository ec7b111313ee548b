//! Fullness of a table's pages, and their order on disk: `sys.dm_db_index_physical_stats` and `DBCC
//! SHOWCONTIG`.

use std::collections::BTreeSet;

use crate::database::snapshot::Snapshot;
use crate::error::EngineError;
use crate::page::unit::Unit;
use crate::page::unit::UnitKind;
use crate::page::{CAPACITY_BYTES, EXTENT_PAGES, Page, PageId, UnitId};
use crate::record::{RecordType, record_type};
use crate::scan::PageReader;
use crate::tree;
use crate::tree::index::Tree;

/// Amount of a table that page statistics read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanDetail {
    /// Reads only maps and upper levels, and gives one row about a tree's leaves. Figures of page contents are None.
    Limited,
    /// Reads one page in a hundred if there are 10,000 or more, and extrapolates; for a tree only its leaves.
    Sampled,
    /// Every page of every level.
    Detailed,
}

/// Pages of one allocation unit, or of one level of a tree.
#[derive(Debug, Clone, PartialEq)]
pub struct PageStatistics {
    /// Allocation unit of the pages.
    pub unit: UnitId,
    /// `IN_ROW_DATA`, `ROW_OVERFLOW_DATA` or `LOB_DATA`.
    pub unit_kind: &'static str,
    /// Number of levels of the tree; 1 for a heap.
    pub depth: u8,
    /// The level, 0 = leaf.
    pub level: u8,
    /// Number of pages.
    pub pages: u64,
    /// Extents with at least one of these pages.
    pub extents: u64,
    /// Number of times that the next page is in another extent than the one before it.
    pub extent_switches: u64,
    /// Share of a tree's pages that do not follow their predecessor on disk; for a heap, the same share of its extents.
    pub fragmentation_percent: f64,
    /// The share of extents that do not follow the extent before them on disk, in the order in which pages are read.
    /// That order is by key for a tree, by map for anything else.
    pub extent_fragmentation_percent: f64,
    /// Runs of pages that follow one another on disk.
    pub fragments: u64,
    /// Figures of page contents; None if the pages were not read.
    pub contents: Option<PageContents>,
}

/// Figures of the contents of pages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PageContents {
    /// Records: rows, and the stubs of rows that moved.
    pub records: u64,
    /// Records marked as removed but still there. This engine removes them at once.
    pub ghost_records: u64,
    /// Rows of a heap that moved: stubs that lead to another page.
    pub forwarded_records: u64,
    /// Length of the shortest record.
    pub least_record_bytes: u64,
    /// Length of the longest.
    pub longest_record_bytes: u64,
    /// Mean length of the records, in bytes.
    pub mean_record_bytes: f64,
    /// Mean share of a page's 8,096 bytes that is in use, slots included.
    pub density_percent: f64,
    /// Mean free bytes of a page.
    pub mean_free_bytes: f64,
    /// Pages with page compression.
    pub compressed_pages: u64,
}

impl PageStatistics {
    /// Counts the extent changes that a perfect order would need, as `DBCC SHOWCONTIG` counts them ("Best
    /// Count").
    pub fn best_count(&self) -> u64 {
        self.pages.div_ceil(u64::from(EXTENT_PAGES))
    }

    /// Counts the actual extent changes ("Actual Count").
    pub fn actual_count(&self) -> u64 {
        if self.pages == 0 { 0 } else { self.extent_switches + 1 }
    }

    /// Returns the best count as a percentage of the actual count.
    pub fn scan_density_percent(&self) -> f64 {
        match self.actual_count() {
            0 => 100.0,
            actual => 100.0 * self.best_count() as f64 / actual as f64,
        }
    }
}

impl UnitKind {
    /// Returns the name in `sys.allocation_units.type_desc`.
    pub fn name(self) -> &'static str {
        match self {
            Self::InRow | Self::Index(_) => "IN_ROW_DATA",
            Self::Overflow => "ROW_OVERFLOW_DATA",
            Self::Large => "LOB_DATA",
        }
    }
}

pub(crate) fn statistics(
    snapshot: &Snapshot,
    name: &str,
    detail: ScanDetail,
) -> Result<Vec<PageStatistics>, EngineError> {
    let reader = snapshot.reader();
    let table = snapshot.existing(name)?;
    let mut rows = Vec::new();
    for kind in table.unit_kinds() {
        let unit = table.unit(kind);
        match table.tree(kind) {
            Some(tree) => {
                let mut levels = levels(&reader, tree)?;
                levels.reverse();
                let depth = levels.len() as u8;
                let wanted = if detail == ScanDetail::Detailed { levels.len() } else { 1 };
                for (level, pages) in (0..).zip(&levels).take(wanted) {
                    let order = Order::Linked { depth, level };
                    rows.push(row(&reader, unit, kind, order, pages, detail)?);
                }
            }
            None if unit.extents.is_empty() && kind != UnitKind::InRow => {}
            None => {
                let mut pages: Vec<PageId> = unit.extents.iter().flat_map(|extent| extent.pages()).collect();
                pages.sort_unstable_by_key(|page| (page.file, page.page));
                rows.push(row(&reader, unit, kind, Order::Allocated, &pages, detail)?);
            }
        }
    }
    Ok(rows)
}

/// Counts the pages of a tree above its leaves.
pub(crate) fn upper_pages(reader: &PageReader, tree: &Tree) -> Result<u64, EngineError> {
    let levels = levels(reader, tree)?;
    let upper = levels.split_last().map_or(&[][..], |(_, upper)| upper);
    Ok(upper.iter().map(|pages| pages.len() as u64).sum())
}

/// Order in which pages are read.
#[derive(Clone, Copy)]
enum Order {
    /// Order of the keys: pages in the order in which they are linked.
    Linked { depth: u8, level: u8 },
    /// Order of the allocation maps.
    Allocated,
}

/// Lists the pages of each level in the order of their keys, the root's first. Leaves are not read.
pub(crate) fn levels(reader: &PageReader, tree: &Tree) -> Result<Vec<Vec<PageId>>, EngineError> {
    let mut levels = vec![vec![tree.root]];
    let mut height = reader.read(tree.root)?.level();
    while height > 0 {
        let mut below = Vec::new();
        for id in levels.last().into_iter().flatten() {
            let page = reader.read(*id)?;
            if page.level() != height {
                return Err(tree::damaged(*id, "it is not one level below the page that leads to it"));
            }
            for (_, record) in page.rows() {
                let child = tree.key.child(record);
                below.push(child.ok_or_else(|| tree::damaged(*id, "an entry leads nowhere"))?);
            }
        }
        levels.push(below);
        height -= 1;
    }
    Ok(levels)
}

fn row(
    reader: &PageReader,
    unit: &Unit,
    kind: UnitKind,
    order: Order,
    pages: &[PageId],
    detail: ScanDetail,
) -> Result<PageStatistics, EngineError> {
    let pairs = || pages.windows(2).filter_map(|pair| Some((*pair.first()?, *pair.last()?)));
    let breaks = pairs().filter(|(a, b)| (a.file, a.page.saturating_add(1)) != (b.file, b.page)).count();
    let extents: BTreeSet<_> = pages.iter().map(|page| page.extent()).collect();
    let mut visited: Vec<_> = pages.iter().map(|page| page.extent()).collect();
    visited.dedup();
    let gaps = visited
        .windows(2)
        .filter(|pair| match pair {
            [a, b] => (a.file, a.extent.saturating_add(1)) != (b.file, b.extent),
            _ => false,
        })
        .count();
    let share = |part: usize, whole: usize| if whole < 2 { 0.0 } else { 100.0 * part as f64 / whole as f64 };
    let extent_fragmentation_percent = share(gaps, visited.len());
    let (depth, level, fragmentation_percent, fragments) = match (order, kind) {
        (Order::Linked { depth, level }, _) => (depth, level, share(breaks, pages.len()), breaks + 1),
        (Order::Allocated, UnitKind::InRow) => (1, 0, extent_fragmentation_percent, gaps + 1),
        // Values are not read in the order of their pages.
        (Order::Allocated, _) => (1, 0, 0.0, gaps + 1),
    };
    Ok(PageStatistics {
        unit: unit.id,
        unit_kind: kind.name(),
        depth,
        level,
        pages: pages.len() as u64,
        extents: extents.len() as u64,
        extent_switches: visited.len().saturating_sub(1) as u64,
        fragmentation_percent,
        extent_fragmentation_percent,
        fragments: if pages.is_empty() { 0 } else { fragments as u64 },
        contents: contents(reader, pages, detail)?,
    })
}

/// Number of pages from which on a sample is taken.
const SAMPLED_FROM_PAGES: usize = 10_000;
const SAMPLE_STEP: usize = 100;

fn contents(
    reader: &PageReader,
    pages: &[PageId],
    detail: ScanDetail,
) -> Result<Option<PageContents>, EngineError> {
    let step = match detail {
        ScanDetail::Limited => return Ok(None),
        ScanDetail::Sampled if pages.len() >= SAMPLED_FROM_PAGES => SAMPLE_STEP,
        ScanDetail::Sampled | ScanDetail::Detailed => 1,
    };
    let mut sums = Sums::default();
    for id in pages.iter().step_by(step) {
        sums.add(&*reader.read(*id)?);
    }
    Ok(Some(sums.contents(pages.len())))
}

#[derive(Default)]
struct Sums {
    pages: u64,
    records: u64,
    forwarded: u64,
    least: Option<u64>,
    longest: u64,
    bytes: u64,
    free_bytes: u64,
    compressed: u64,
}

impl Sums {
    fn add(&mut self, page: &Page) {
        self.pages += 1;
        self.free_bytes += page.free_bytes() as u64;
        self.compressed += u64::from(page.is_compressed());
        for (_, record) in page.rows() {
            let length = record.len() as u64;
            self.records += 1;
            self.bytes += length;
            self.least = Some(self.least.map_or(length, |least| least.min(length)));
            self.longest = self.longest.max(length);
            let stub =
                record.first().and_then(|status| record_type(*status)) == Some(RecordType::ForwardingStub);
            self.forwarded += u64::from(stub);
        }
    }

    fn contents(&self, pages: usize) -> PageContents {
        let read = self.pages.max(1);
        let whole = |sum: u64| (u128::from(sum) * pages as u128 / u128::from(read)) as u64;
        let mean_free_bytes = self.free_bytes as f64 / read as f64;
        PageContents {
            records: whole(self.records),
            ghost_records: 0,
            forwarded_records: whole(self.forwarded),
            least_record_bytes: self.least.unwrap_or(0),
            longest_record_bytes: self.longest,
            mean_record_bytes: self.bytes as f64 / self.records.max(1) as f64,
            density_percent: match pages {
                0 => 0.0,
                _ => 100.0 * (CAPACITY_BYTES as f64 - mean_free_bytes) / CAPACITY_BYTES as f64,
            },
            mean_free_bytes,
            compressed_pages: whole(self.compressed),
        }
    }
}
