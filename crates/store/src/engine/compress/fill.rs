//! Full pages from rows: gathered until they are as many as a compressed page is expected to hold, then compressed once.

use std::ops::Range;

use super::grid::{CellView, Grid, ROW_BUFFER_BYTES, lengths, write_row};
use super::plan::Planner;
use super::record::{CdRecord, mark_index};
use super::{CompressionCounts, information, pays};
use crate::engine::page::{self, CAPACITY_BYTES, HEADER_BYTES, PAGE_BYTES, Page, PageType, SLOT_BYTES};

/// Rows that wait for a page of their own.
#[derive(Debug)]
pub struct PageCompressor {
    waiting: Grid,
    planner: Planner,
    /// Rows with which the next page is tried.
    target: usize,
    page_limit_bytes: usize,
    /// What a row takes at least: the stub that a row of a heap may become.
    least_row_bytes: usize,
    /// Pages tried and kept.
    pub counts: CompressionCounts,
    scratch: Vec<u8>,
}

impl PageCompressor {
    /// For rows of so many columns; rows and slots take up to `page_limit_bytes` of a page, each row `least_row_bytes` or more.
    pub fn new(columns: usize, page_limit_bytes: usize, least_row_bytes: usize) -> Self {
        Self {
            waiting: Grid::new(columns),
            planner: Planner::default(),
            target: 64,
            page_limit_bytes,
            least_row_bytes,
            counts: CompressionCounts::default(),
            scratch: vec![0; ROW_BUFFER_BYTES],
        }
    }

    /// Rows that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.rows()
    }

    /// Rows that must come before [`fill`](Self::fill) can make a page.
    pub fn missing(&self) -> usize {
        self.target.saturating_sub(self.waiting())
    }

    /// Takes rows.
    pub fn add(&mut self, views: &[CellView<'_>], rows: Range<usize>) {
        self.waiting.append(views, rows);
    }

    /// Fills a formatted page and returns how many rows it took. None: more rows would fit, and more may come (not `last`).
    pub fn fill(&mut self, bytes: &mut [u8; PAGE_BYTES], last: bool) -> Option<usize> {
        let Self { waiting, planner, scratch, least_row_bytes, .. } = self;
        let (rows, views) = (waiting.rows(), waiting.views());
        let plain = lengths(&views, rows);
        // A page takes at least one row, whatever the fill factor.
        let plain_rows = fitting(&plain, self.page_limit_bytes, *least_row_bytes).max(1).min(rows);
        if plain_rows == rows && !last {
            let per_row = plain.iter().sum::<usize>() / rows.max(1) + SLOT_BYTES;
            self.target = (rows + rows / 16 + 2).max(self.page_limit_bytes / per_row + 2);
            return None;
        }
        // A page that is not full stays as it is.
        let mut taken = plain_rows;
        let mut kept = false;
        if plain_rows < rows && planner.plan(&views, rows) {
            let coded_views = planner.coded.views();
            let coded = lengths(&coded_views, rows);
            let limit = self.page_limit_bytes.saturating_sub(planner.information.len());
            let coded_rows = fitting(&coded, limit, *least_row_bytes);
            let least = |length: &usize| (*length).max(*least_row_bytes) + SLOT_BYTES;
            let used = coded.iter().take(coded_rows).map(least).sum::<usize>();
            let room = limit.saturating_sub(used) * coded_rows / used.max(1);
            if coded_rows == rows && !last && room > 0 {
                self.target = rows + room + room / 16 + 2;
                return None;
            }
            self.counts.attempts += 1;
            if pays(plain_rows, coded_rows + room) {
                self.counts.successes += 1;
                kept = true;
                taken = coded_rows;
                lay_out(bytes, &planner.information, &coded_views, coded_rows, scratch);
            }
        } else if plain_rows < rows {
            self.counts.attempts += 1;
        }
        if !kept {
            lay_out(bytes, &[], &views, plain_rows, scratch);
        }
        drop(views);
        self.target = taken + taken / 16 + 2;
        self.waiting.remove_front(taken);
        Some(taken)
    }
}

/// A full page of a tree with its rows compressed together; the rows stay in their slots. None: it does not pay, or some row cannot be
/// read.
pub fn compress_page(page: &Page, columns: usize, counts: &mut CompressionCounts) -> Option<Page> {
    let information = information::PageInformation::read(page.bytes());
    if information.is_some() && !page.is_worn() {
        return None;
    }
    counts.attempts += 1;
    let mut rows = Grid::new(columns);
    let mut plain_bytes = 0;
    for slot in 0..page.slot_count() {
        let record = page.record(slot)?;
        plain_bytes += page.row(slot)?.len() + SLOT_BYTES;
        let parsed = CdRecord::parse(&record).filter(|parsed| parsed.columns == columns)?;
        parsed.push_to(&mut rows);
    }
    let count = rows.rows();
    let mut planner = Planner::default();
    if !planner.plan(&rows.views(), count) {
        return None;
    }
    let views = planner.coded.views();
    let bytes = lengths(&views, count).iter().sum::<usize>() + SLOT_BYTES * count;
    let room = CAPACITY_BYTES.checked_sub(bytes + planner.information.len())?;
    // How many rows the page could hold before and after, from what its rows take now.
    let before = CAPACITY_BYTES.saturating_sub(information.map_or(0, |information| information.bytes()))
        * count
        / plain_bytes.max(1);
    if !pays(before, count + room * count / bytes.max(1)) {
        return None;
    }
    let page_type = page.page_type()?;
    let mut compressed =
        Page::formatted(page.id(), page_type, page.level(), page.unit(), page.fixed_length() as u16);
    compressed.set_links(page.previous(), page.next());
    lay_out(compressed.bytes_mut(), &planner.information, &views, count, &mut vec![0; ROW_BUFFER_BYTES]);
    counts.successes += 1;
    Some(compressed)
}

/// How many rows of these lengths fit, each with so much room at least.
fn fitting(lengths: &[usize], limit_bytes: usize, least_row_bytes: usize) -> usize {
    let mut bytes = 0;
    let fitting = lengths.iter().take_while(|length| {
        bytes += (**length).max(least_row_bytes) + SLOT_BYTES;
        bytes <= limit_bytes
    });
    fitting.count()
}

/// Writes rows and their slots into a formatted page, behind the information if there is any.
fn lay_out(
    bytes: &mut [u8; PAGE_BYTES],
    information: &[u8],
    views: &[CellView<'_>],
    rows: usize,
    scratch: &mut [u8],
) {
    let mut at = HEADER_BYTES;
    let in_index = page::page_type(bytes) == Some(PageType::Index);
    if !information.is_empty() {
        page::set_compressed(bytes);
        at += information.len();
        if let Some(place) = bytes.get_mut(HEADER_BYTES..at) {
            place.copy_from_slice(information);
        }
    }
    for row in 0..rows {
        let length = write_row(views, row, scratch);
        if in_index {
            mark_index(scratch);
        }
        if let (Some(place), Some(record)) = (bytes.get_mut(at..at + length), scratch.get(..length)) {
            place.copy_from_slice(record);
        }
        let slot = PAGE_BYTES - SLOT_BYTES * (row + 1);
        if let Some(place) = bytes.get_mut(slot..slot + SLOT_BYTES) {
            place.copy_from_slice(&(at as u16).to_le_bytes());
        }
        at += length;
    }
    let free = CAPACITY_BYTES.saturating_sub(at - HEADER_BYTES + SLOT_BYTES * rows);
    page::set_fill(bytes, rows as u16, at, free);
}
