//! Makes full pages from rows. As many rows as a compressed page is expected to hold are compressed together, once, and more are
//! added as long as there is room.

use std::ops::Range;

use super::grid::{CellView, Grid};
use super::plan::Planner;
use super::record::CdRecord;
use super::writer::{RowWriter, Stage};
use super::{CompressionCounts, information, pays};
use crate::page::{self, CAPACITY_BYTES, HEADER_BYTES, PAGE_BYTES, Page, PageType, SLOT_BYTES};

/// Rows of which pages are made, with the lengths of their records.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    /// Cells of each column.
    pub views: &'a [CellView<'a>],
    /// Lengths of the records, one per row.
    pub lengths: &'a [u16],
}

/// Makes pages of rows. Rows that are too few for a page wait.
#[derive(Debug)]
pub struct PageCompressor {
    waiting: Grid,
    waiting_lengths: Vec<u16>,
    planner: Planner,
    stage: Stage,
    /// Rows with which the next page is begun; 0: nothing is known of how many it will take.
    expected: usize,
    /// Rows that must be there for it.
    target: usize,
    limits: Limits,
    /// Pages tried and kept.
    pub counts: CompressionCounts,
}

/// Rows with which the first page is tried.
const FIRST_ROWS: usize = 64;

impl PageCompressor {
    /// Creates a compressor for rows of `columns` columns. Rows and slots take up to `page_limit_bytes` of a
    /// page, each row `least_row_bytes` or more.
    pub fn new(columns: usize, page_limit_bytes: usize, least_row_bytes: usize) -> Self {
        Self {
            waiting: Grid::new(columns),
            waiting_lengths: Vec::new(),
            planner: Planner::default(),
            stage: Stage::default(),
            expected: 0,
            target: FIRST_ROWS,
            limits: Limits { page_bytes: page_limit_bytes, row_bytes: least_row_bytes },
            counts: CompressionCounts::default(),
        }
    }

    /// Counts the rows that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.rows()
    }

    /// Takes rows from `first` on, and fills a formatted page if they are enough. Returns how many of them it took, and whether the page
    /// is filled; if not, all rows were taken.
    pub fn add(&mut self, bytes: &mut [u8; PAGE_BYTES], rows: Rows<'_>, first: usize) -> (usize, bool) {
        let count = rows.lengths.len().saturating_sub(first);
        if self.waiting() == 0 {
            let views: Vec<CellView<'_>> =
                rows.views.iter().map(|view| view.slice(first..first + count)).collect();
            let rest =
                Rows { views: &views, lengths: rows.lengths.get(first..first + count).unwrap_or_default() };
            if count >= self.target
                && let Some(taken) = self.fill(bytes, rest, false)
            {
                return (taken, true);
            }
            self.wait(rows, first..first + count);
            return (count, false);
        }
        let mut added = 0;
        while added < count {
            let missing = self.target.saturating_sub(self.waiting()).max(1).min(count - added);
            self.wait(rows, first + added..first + added + missing);
            added += missing;
            if self.waiting() < self.target {
                break;
            }
            if let Some(taken) = self.fill_waiting(bytes, false) {
                // The rest of them need not wait if none came before.
                let rest = self.waiting();
                if rest <= added {
                    self.remove(rest);
                    added -= rest;
                }
                debug_assert!(taken > 0);
                return (added, true);
            }
        }
        (added, false)
    }

    /// Fills a formatted page with rows that wait, although no more come.
    pub fn finish(&mut self, bytes: &mut [u8; PAGE_BYTES]) {
        self.fill_waiting(bytes, true);
    }

    fn wait(&mut self, rows: Rows<'_>, range: Range<usize>) {
        self.waiting_lengths.extend_from_slice(rows.lengths.get(range.clone()).unwrap_or_default());
        self.waiting.append(rows.views, range);
    }

    fn remove(&mut self, rows: usize) {
        self.waiting.remove_front(rows);
        self.waiting_lengths.drain(..rows.min(self.waiting_lengths.len()));
    }

    fn fill_waiting(&mut self, bytes: &mut [u8; PAGE_BYTES], last: bool) -> Option<usize> {
        let (waiting, lengths) =
            (std::mem::take(&mut self.waiting), std::mem::take(&mut self.waiting_lengths));
        let taken = self.fill(bytes, Rows { views: &waiting.views(), lengths: &lengths }, last);
        (self.waiting, self.waiting_lengths) = (waiting, lengths);
        self.remove(taken.unwrap_or(0));
        taken
    }

    /// Fills a formatted page and returns how many rows it took. None: more rows would fit, and more may come (not `last`).
    fn fill(&mut self, bytes: &mut [u8; PAGE_BYTES], rows: Rows<'_>, last: bool) -> Option<usize> {
        let Self { planner, limits, stage, .. } = self;
        let available = rows.lengths.len();
        // A page takes at least one row, whatever the fill factor.
        let plain = limits.fitting(rows.lengths.iter().map(|length| usize::from(*length)));
        let plain_rows = plain.rows.max(1).min(available);
        if plain_rows == available && !last {
            self.target = available + plain.room_rows() + available / 16 + 2;
            return None;
        }
        // A page that is not full stays as it is.
        let mut taken = plain_rows;
        let mut kept = false;
        if plain_rows < available {
            let count = if self.expected == 0 { plain_rows + 1 } else { self.expected };
            let count = count.clamp(plain_rows + 1, available);
            let mut coded = plan(planner, rows, count, *limits);
            // Rows that are many more or fewer than those that anchors and dictionary were chosen for deserve others.
            if let Some(fill) = &coded
                && fill.rows.abs_diff(count) > count / 4
                && fill.rows > plain_rows
            {
                coded = plan(planner, rows, fill.rows, *limits);
            }
            if let Some(fill) = coded {
                let room = fill.room_rows();
                if fill.rows == available && !last && room > 0 {
                    self.expected = available;
                    self.target = available + room + available / 8 + 2;
                    return None;
                }
                if pays(plain_rows, fill.rows + if fill.rows == available { room } else { 0 }) {
                    self.counts.successes += 1;
                    kept = true;
                    taken = fill.rows;
                    lay_out(bytes, planner.information(), &planner.views(rows.views), &fill, stage);
                }
            }
            self.counts.attempts += 1;
            planner.learn();
        }
        if !kept {
            let lengths = rows.lengths.iter().take(plain_rows);
            let plain = Limits::NONE.fitting(lengths.map(|length| usize::from(*length)));
            lay_out(bytes, &[], rows.views, &plain, stage);
        }
        // The last page says little of those that others begin with.
        if !(last && taken == available) {
            self.expected = taken - taken / 32;
            self.target = taken + taken / 8 + 2;
        }
        Some(taken)
    }
}

/// Compresses the rows of a full page of a tree together; the rows stay in their slots. None if that saves
/// too little, or if a row cannot be read.
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
    let (mut planner, views) = (Planner::default(), rows.views());
    if !planner.plan(&views, count) {
        return None;
    }
    let fill = Limits::NONE.fitting(planner.lengths().iter().map(|length| usize::from(*length)));
    let bytes = fill.record_bytes + SLOT_BYTES * count;
    let room = CAPACITY_BYTES.checked_sub(bytes + planner.information().len())?;
    // Number of rows that the page could hold before and after, computed from the bytes that its rows take
    // now.
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
    lay_out(
        compressed.bytes_mut(),
        planner.information(),
        &planner.views(&views),
        &fill,
        &mut Stage::default(),
    );
    counts.successes += 1;
    Some(compressed)
}

/// Rows that fit a page, and the bytes that they take.
#[derive(Debug, Clone, Copy, Default)]
struct Fill {
    rows: usize,
    /// Bytes of the rows' records.
    record_bytes: usize,
    /// Bytes of the rows' records and slots, with the least that short rows take.
    used_bytes: usize,
    limit_bytes: usize,
}

impl Fill {
    /// Estimates the number of rows like these for which there is room.
    fn room_rows(&self) -> usize {
        self.limit_bytes.saturating_sub(self.used_bytes) * self.rows / self.used_bytes.max(1)
    }
}

/// Limits of the bytes that rows may take of a page.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Bytes of all rows and slots.
    page_bytes: usize,
    /// Least bytes of a row: a row of a heap may become a forwarding stub.
    row_bytes: usize,
}

impl Limits {
    /// No limit but that of the page itself, for rows that are in it.
    const NONE: Self = Self { page_bytes: usize::MAX, row_bytes: 0 };

    /// Takes the first rows of these lengths, as many as fit together.
    fn fitting(&self, lengths: impl Iterator<Item = usize>) -> Fill {
        let (mut rows, mut record_bytes, mut used_bytes) = (0, 0, 0);
        for length in lengths {
            let with_row = used_bytes + length.max(self.row_bytes) + SLOT_BYTES;
            if with_row > self.page_bytes {
                break;
            }
            (rows, record_bytes, used_bytes) = (rows + 1, record_bytes + length, with_row);
        }
        Fill { rows, record_bytes, used_bytes, limit_bytes: self.page_bytes }
    }
}

/// Plans a page for the first `count` rows, and adds others as long as there is room. None: they share nothing.
fn plan(planner: &mut Planner, rows: Rows<'_>, count: usize, limits: Limits) -> Option<Fill> {
    if !planner.plan(rows.views, count) {
        return None;
    }
    let limits =
        Limits { page_bytes: limits.page_bytes.saturating_sub(planner.information().len()), ..limits };
    loop {
        let fill = limits.fitting(planner.lengths().iter().map(|length| usize::from(*length)));
        let planned = planner.rows();
        if fill.rows < planned || planned == rows.lengths.len() {
            return Some(fill);
        }
        let room = fill.room_rows();
        planner.extend(rows.views, (planned + room + room / 16 + 1).min(rows.lengths.len()));
    }
}

/// Writes rows and their slots into a formatted page, behind the information if there is any.
fn lay_out(
    bytes: &mut [u8; PAGE_BYTES],
    information: &[u8],
    views: &[CellView<'_>],
    fill: &Fill,
    stage: &mut Stage,
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
    let end = (at + fill.record_bytes).min(PAGE_BYTES);
    let (records, slots) = bytes.split_at_mut(end);
    let mut slots = slots.as_rchunks_mut::<SLOT_BYTES>().1.iter_mut().rev();
    at = RowWriter::new(views, 0..fill.rows, in_index).write(stage, records, at, |at| {
        if let Some(slot) = slots.next() {
            *slot = (at as u16).to_le_bytes();
        }
        at
    });
    // Bytes between rows and slots may be left from another page.
    bytes.get_mut(at..PAGE_BYTES.saturating_sub(SLOT_BYTES * fill.rows)).unwrap_or_default().fill(0);
    let free = CAPACITY_BYTES.saturating_sub(at - HEADER_BYTES + SLOT_BYTES * fill.rows);
    page::set_fill(bytes, fill.rows as u16, at, free);
}
