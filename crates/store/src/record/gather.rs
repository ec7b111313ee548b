//! Finds and checks the rows of pages, and adds them to a batch.

use std::sync::Arc;

use arrow::array::{Array, BooleanArray, RecordBatch};

use super::batch::{BatchBuilder, ExpectedSizes};
use super::compress;
use super::layout::{Layout, RecordForm};
use super::lying::{LyingPage, LyingRows};
use super::stored::{PageRows, StoredRow};
use super::{COMPLEX, HAS_BITMAP, HAS_VARIABLE, LargeValueSource, RecordType, record_type, u16_at};
use crate::error::EngineError;
use crate::page::{FoundRows, Page, PageId, RowForm, RowId, found_rows, remember_rows};

const CACHE_LINE_BYTES: usize = 64;
/// Pages with less rows than that have such long ones that reading them leaps.
const FEW_ROWS: u16 = 40;

/// Gathers rows from pages, then makes a batch of them, or adds them to one.
#[derive(Debug)]
pub struct RowGatherer<'a> {
    layout: &'a Layout,
    pages: Vec<Span>,
    /// Start of each record in its page.
    starts: Vec<u16>,
    slots: Vec<u16>,
    /// NULL bitmaps of each page's records together; none if records are compressed.
    nulls: Vec<u8>,
    bitmap_bytes: usize,
    /// A value of the rows is stored outside its record.
    has_pointers: bool,
}

#[derive(Debug)]
struct Span {
    page: Arc<Page>,
    /// Rows that the page ends at.
    end: usize,
}

impl<'a> RowGatherer<'a> {
    /// Creates a gatherer for rows of this form.
    pub fn new(layout: &'a Layout) -> Self {
        let bitmap_bytes = if layout.is_compressed() { 0 } else { layout.bitmap_bytes() };
        let (pages, starts, slots, nulls) = Default::default();
        Self { layout, pages, starts, slots, nulls, bitmap_bytes, has_pointers: false }
    }

    /// Counts the rows that were taken and are not in a batch yet.
    pub fn rows(&self) -> usize {
        self.starts.len()
    }

    /// Takes all rows of a page, except forwarding stubs: a moved row is read in its new page. Each record is checked, so that
    /// its parts are known to lie within the page.
    pub fn push_page(&mut self, page: &Arc<Page>) -> Result<(), EngineError> {
        if page.slot_count() < FEW_ROWS {
            fetch(page);
        }
        self.push_rows(page, 0..page.slot_count())
    }

    /// Takes all rows of a page that stays in memory, and remembers in it where they are: they are found and checked once.
    pub fn push_kept_page(&mut self, page: &Arc<Page>) -> Result<(), EngineError> {
        if self.layout.is_compressed() {
            return self.push_page(page);
        }
        let form = self.row_form();
        let (first, pointers) = (self.starts.len(), self.has_pointers);
        if let Some(rows) = found_rows(page, &form) {
            self.starts.extend_from_slice(&rows.starts);
            self.slots.extend_from_slice(&rows.slots);
            self.nulls.extend_from_slice(&rows.nulls);
            self.has_pointers |= rows.has_pointers;
            self.pages.push(Span { page: Arc::clone(page), end: self.starts.len() });
            return Ok(());
        }
        self.has_pointers = false;
        self.push_page(page)?;
        let nulls = self.nulls.len().saturating_sub(self.bitmap_bytes);
        let found = FoundRows {
            form,
            starts: self.starts.get(first..).unwrap_or_default().into(),
            slots: self.slots.get(first..).unwrap_or_default().into(),
            nulls: self.nulls.get(nulls..).unwrap_or_default().into(),
            has_pointers: self.has_pointers,
        };
        remember_rows(page, found);
        self.has_pointers |= pointers;
        Ok(())
    }

    /// Returns what [`check`] asks of the layout.
    fn row_form(&self) -> RowForm {
        RowForm {
            is_index: self.layout.form == RecordForm::IndexLeaf,
            fixed_bytes: self.layout.fixed_bytes,
            columns: self.layout.columns.len(),
            variable_columns: self.layout.variable_count,
        }
    }

    /// Takes the rows in these slots of a page.
    pub fn push_rows(
        &mut self,
        page: &Arc<Page>,
        slots: impl Iterator<Item = u16>,
    ) -> Result<(), EngineError> {
        if self.pages.last().is_none_or(|last| !Arc::ptr_eq(&last.page, page)) {
            self.pages.push(Span { page: Arc::clone(page), end: self.starts.len() });
            self.nulls.resize(self.pages.len() * self.bitmap_bytes, 0);
        }
        let before = (self.pages.len() - 1) * self.bitmap_bytes;
        let nulls = self.nulls.get_mut(before..).unwrap_or_default();
        for slot in slots {
            let Some(offset) = page.row_offset(slot) else { continue };
            let bytes = page.bytes().get(offset..).unwrap_or_default();
            let status = bytes.first().copied().unwrap_or(0);
            match record_type(status) {
                Some(RecordType::Primary | RecordType::Forwarded) if self.layout.form == RecordForm::Row => {}
                Some(RecordType::ForwardingStub) if self.layout.form == RecordForm::Row => continue,
                Some(RecordType::Index) if self.layout.form == RecordForm::IndexLeaf => {}
                _ => return Err(damaged(page.id(), offset, &format!("status byte {status:#04x}"))),
            }
            if self.layout.is_compressed() != compress::record::is_compressed(bytes) {
                return Err(damaged(page.id(), offset, "the record has the form of another compression"));
            }
            // The parts of a CD record are found, and checked, when its values are read.
            if !self.layout.is_compressed() {
                let (bitmap, pointers) =
                    check(self.layout, status, bytes).map_err(|reason| damaged(page.id(), offset, reason))?;
                self.has_pointers |= pointers;
                nulls.iter_mut().zip(bitmap).for_each(|(all, byte)| *all |= byte);
            }
            self.starts.push(offset as u16);
            self.slots.push(slot);
        }
        if let Some(last) = self.pages.last_mut() {
            last.end = self.starts.len();
        }
        Ok(())
    }

    /// Returns the address of each row, which is its first place even if it was forwarded since.
    pub fn addresses(&self) -> Vec<RowId> {
        let mut addresses = Vec::with_capacity(self.rows());
        for (page, rows) in self.spans() {
            let slots = self.slots.get(addresses.len()..).unwrap_or_default();
            for (start, slot) in rows.iter().zip(slots) {
                let record = page.bytes().get(usize::from(*start)..).unwrap_or_default();
                let home = super::forwarded_from(record);
                addresses.push(home.unwrap_or_else(|| RowId { page: page.id(), slot: *slot }));
            }
        }
        addresses
    }

    /// Computes the key of each row, as `of_row` reads it.
    pub(crate) fn keys(
        &self,
        of_row: impl Fn(&Layout, StoredRow<'_>) -> Option<Vec<u8>>,
    ) -> Option<Vec<Vec<u8>>> {
        let mut keys = Vec::with_capacity(self.rows());
        for (page, starts) in self.spans() {
            let rows = PageRows::new(page)?;
            let slots = self.slots.get(keys.len()..).unwrap_or_default();
            for (slot, _) in slots.iter().zip(starts) {
                keys.push(of_row(self.layout, rows.row(*slot)?)?);
            }
        }
        Some(keys)
    }

    /// Adds the rows to a batch, and releases their pages.
    pub fn read_into(
        &mut self,
        batch: &mut BatchBuilder<'_>,
        large: &dyn LargeValueSource,
    ) -> Result<(), EngineError> {
        self.add_pages(0, batch, large)?;
        self.clear();
        Ok(())
    }

    /// Returns the number of pages that rows were taken from.
    pub fn pages(&self) -> usize {
        self.pages.len()
    }

    /// Adds the rows of pages to a batch, from the page of this number on. They stay here too.
    pub fn add_pages(
        &self,
        first_page: usize,
        batch: &mut BatchBuilder<'_>,
        large: &dyn LargeValueSource,
    ) -> Result<(), EngineError> {
        for (index, (page, rows)) in self.spans().enumerate().skip(first_page) {
            let first = index * self.bitmap_bytes;
            let nulls = self.nulls.get(first..first + self.bitmap_bytes);
            let nulls =
                nulls.ok_or_else(|| EngineError::internal("a page of rows without its NULL bitmap"))?;
            batch.append(page, rows, nulls, large)?;
        }
        Ok(())
    }

    /// Gives up the rows that are not chosen; there is a value for each.
    pub fn keep(&mut self, chosen: &BooleanArray) {
        let is_kept = |row: &usize| *row < chosen.len() && chosen.is_valid(*row) && chosen.value(*row);
        let (mut starts, mut slots) = (Vec::new(), Vec::new());
        let mut first = 0;
        for span in &mut self.pages {
            for row in (first..span.end).filter(is_kept) {
                starts.extend(self.starts.get(row));
                slots.extend(self.slots.get(row));
            }
            first = std::mem::replace(&mut span.end, starts.len());
        }
        (self.starts, self.slots) = (starts, slots);
    }

    /// Takes the rows as borrowed page rows and releases their pages. `None`, without any effect, if the rows cannot
    /// be borrowed.
    pub fn take_lying(&mut self) -> Option<LyingRows> {
        if self.has_pointers || !LyingRows::is_possible(self.layout) {
            return None;
        }
        let pages = self.spans().filter(|(_, starts)| !starts.is_empty());
        let pages = pages.map(|(page, starts)| LyingPage { page: Arc::clone(page), starts: starts.to_vec() });
        let rows = LyingRows { layout: self.layout.clone(), pages: pages.collect(), rows: self.rows() };
        self.clear();
        Some(rows)
    }

    fn clear(&mut self) {
        self.pages.clear();
        self.starts.clear();
        self.slots.clear();
        self.nulls.clear();
        self.has_pointers = false;
    }

    /// Builds a batch of the rows, with the columns in `projection`, which are indexes from 0.
    pub fn finish(
        &mut self,
        projection: &[usize],
        large: &dyn LargeValueSource,
    ) -> Result<RecordBatch, EngineError> {
        let expected = ExpectedSizes { rows: self.rows(), ..ExpectedSizes::default() };
        let mut batch = BatchBuilder::new(self.layout, projection, &expected)?;
        self.read_into(&mut batch, large)?;
        batch.finish(large)
    }

    /// Lists each page with the starts of its rows.
    fn spans(&self) -> impl Iterator<Item = (&Arc<Page>, &[u16])> {
        let mut first = 0;
        self.pages.iter().map(move |span| {
            let rows = self.starts.get(first..span.end).unwrap_or_default();
            first = span.end;
            (&span.page, rows)
        })
    }
}

/// Reads a page from its beginning to its end, which memory answers several times faster than the leaps from one long row to the next
/// that follow.
fn fetch(page: &Page) {
    let lines = page.bytes().iter().step_by(CACHE_LINE_BYTES);
    std::hint::black_box(lines.fold(0, |all, byte| all ^ byte));
}

/// Checks that a record has this layout's form and lies within its page. Returns its NULL bitmap, and true if
/// some value is stored outside the record.
fn check<'r>(layout: &Layout, status: u8, bytes: &'r [u8]) -> Result<(&'r [u8], bool), &'static str> {
    const BEYOND: &str = "the record runs over the page";
    if status & HAS_BITMAP == 0 {
        return Err("no NULL bitmap");
    }
    if layout.form == RecordForm::Row && u16_at(bytes, 2) != Some(layout.fixed_bytes as u16) {
        return Err("the fixed part has another length");
    }
    // A record may be older than the last columns, if its NULL bitmap has bits for them, which are set.
    let columns = u16_at(bytes, layout.fixed_bytes).map_or(0, usize::from);
    if columns > layout.columns.len() || columns.div_ceil(8) != layout.bitmap_bytes() {
        return Err("another number of columns");
    }
    let part = layout.bitmap_end();
    let bitmap = bytes.get(layout.fixed_bytes + 2..part).ok_or(BEYOND)?;
    let mut pointers = 0;
    if status & HAS_VARIABLE != 0 {
        let count = usize::from(u16_at(bytes, part).ok_or(BEYOND)?);
        // A forwarded row has its old address behind its columns.
        let extra = usize::from(record_type(status) == Some(RecordType::Forwarded));
        if count == 0 || count > layout.variable_count + extra {
            return Err("the number of variable columns");
        }
        let first = part + 2 + 2 * count;
        let ends = bytes.get(part + 2..first).ok_or(BEYOND)?;
        let (mut previous, mut rises) = (first, true);
        for end in ends.as_chunks::<2>().0 {
            let end = u16::from_le_bytes(*end);
            pointers |= end & COMPLEX;
            let end = usize::from(end & !COMPLEX);
            rises &= end >= previous;
            previous = end;
        }
        if !rises {
            return Err("the offsets of the variable columns do not rise");
        }
        if previous > bytes.len() {
            return Err(BEYOND);
        }
    }
    Ok((bitmap, pointers != 0))
}

pub(super) fn damaged(page: PageId, offset: usize, reason: &str) -> EngineError {
    EngineError::DamagedRow { page, offset, reason: reason.to_owned() }
}
