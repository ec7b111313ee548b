//! The log volume of a load.

use super::{
    page::{CAPACITY_BYTES, SLOT_BYTES},
    tree::{PAGE_RECORD_BYTES, ROW_RECORD_BYTES},
};

/// A record's length in its block.
const LENGTH_BYTES: f64 = 4.0;
/// Records of a block of the log, which takes whole ones alone; what is in front of them and, on average, behind them.
const BLOCK_BYTES: f64 = 57_600.0;
const BLOCK_HEADER_BYTES: f64 = 32.0 + 256.0;
/// Blocks end at multiples of this.
const SECTOR_BYTES: f64 = 512.0;
/// Pages of a bulk writer's run of extents.
const RUN_PAGES: f64 = 128.0;
/// Bits and entries of the maps for a run.
const RUN_BYTES: f64 = 46.0 + 46.0 + 60.0 + 3.0 * LENGTH_BYTES;
/// Begin and commit.
const TRANSACTION_BYTES: f64 = 22.0 + 38.0 + 2.0 * LENGTH_BYTES;
/// Maps and the file's header as they were before their first change.
const MAPS_BYTES: f64 = 145.0 + 138.0 + 137.0 + 121.0 + 5.0 * LENGTH_BYTES;
/// A unit's own map as it was.
const UNIT_BYTES: f64 = 129.0 + LENGTH_BYTES;
/// The root of a tree as it was, and what it becomes besides its entries.
const ROOT_BYTES: f64 = 105.0 + 180.0 + 2.0 * LENGTH_BYTES;
/// The bytes that SQL Server logs for an extent whose pages it does not log, and for a row besides its own bytes.
const EXTENT_BYTES: f64 = 1024.0;
const EXTENT_PAGES: f64 = 8.0;
const SERVER_ROW_BYTES: f64 = 110.0;
const SERVER_PAGE_BYTES: f64 = 8192.0 + 100.0;

/// The root as it was, of a tree that gets rows one by one.
const IMAGE_BYTES: f64 = 105.0 + LENGTH_BYTES;

/// The method by which rows enter a heap or a tree, which decides what is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Pages are filled and not logged.
    Minimal,
    /// Pages are filled, and logged as a whole.
    Pages,
    /// Row by row.
    Rows,
    /// Row by row into a tree; what that takes is counted already.
    Counted,
}

/// The log volume of one heap or tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct Logged {
    pub way: Way,
    pub rows: f64,
    pub pages: f64,
    /// Bytes of rows and slots.
    pub bytes: f64,
    /// Pages above the leaves, bytes of their entries, and of those of the root.
    pub upper: super::tree::Upper,
    pub is_tree: bool,
}

/// Bytes of log for a heap or a tree of bulkwire's own server.
pub(super) fn embedded(logged: &Logged) -> f64 {
    let Logged { way, rows, pages, bytes, upper, is_tree } = *logged;
    if way == Way::Counted {
        return IMAGE_BYTES;
    }
    let page = PAGE_RECORD_BYTES as f64 + LENGTH_BYTES;
    let runs = (pages / RUN_PAGES).ceil();
    let root = match is_tree {
        true if upper.pages > 0.0 => ROOT_BYTES + upper.root_bytes,
        true => ROOT_BYTES + bytes.min(CAPACITY_BYTES as f64),
        false => 0.0,
    };
    let filled = match way {
        Way::Minimal => root,
        // The leaf of a tree with one page is its root.
        Way::Pages if is_tree && pages <= 1.0 => root,
        Way::Pages => {
            let inner = (upper.pages - 1.0).max(0.0) * page + (upper.bytes - upper.root_bytes).max(0.0);
            root + inner + pages * page + bytes
        }
        Way::Rows => {
            let row = ROW_RECORD_BYTES as f64 - SLOT_BYTES as f64;
            let new = pages * (page + 250.0);
            new + rows * row + bytes
        }
        Way::Counted => 0.0,
    };
    UNIT_BYTES + runs * RUN_BYTES + filled
}

/// Returns the bytes that one checkpoint adds to the log besides pages of rows: the maps, and one map for each heap
/// or tree.
pub(super) fn checkpoint_bytes(structures: usize) -> f64 {
    MAPS_BYTES + structures as f64 * UNIT_BYTES
}

/// Bytes of log for a heap or a tree of SQL Server.
pub(super) fn server(logged: &Logged) -> f64 {
    let Logged { way, rows, pages, bytes, upper, .. } = *logged;
    let all = pages + upper.pages;
    match way {
        Way::Minimal => (all / EXTENT_PAGES).ceil() * EXTENT_BYTES,
        Way::Pages => all * SERVER_PAGE_BYTES,
        Way::Rows => rows * (SERVER_ROW_BYTES - SLOT_BYTES as f64) + bytes + all * SERVER_ROW_BYTES,
        Way::Counted => 0.0,
    }
}

/// Adds up a load: the log of its heap and trees, and its transactions. `takes_extents`: it does not only add rows to
/// existing pages.
pub(super) fn whole(structures: f64, transactions: f64, takes_extents: bool) -> f64 {
    let maps = if takes_extents { MAPS_BYTES } else { 0.0 };
    let records = structures + maps + transactions * TRANSACTION_BYTES;
    let blocks = records * (1.0 + BLOCK_HEADER_BYTES / BLOCK_BYTES) + transactions * 32.0;
    // Each commit ends its block.
    let padding = (transactions - 1.0).max(0.0) * SECTOR_BYTES / 2.0;
    ((blocks + padding) / SECTOR_BYTES).ceil() * SECTOR_BYTES
}
