//! Leaves that get many rows between their own: all are written again, in full pages.

use std::ops::Range;
use std::sync::Arc;

use super::block::PageBlock;
use super::tree_writer::TreeWriter;
use crate::error::EngineError;
use crate::log::Change;
use crate::page::{self, CAPACITY_BYTES, PAGE_BYTES, Page, PageId, SLOT_BYTES};
use crate::record::compress::Compression;
use crate::record::{Keys, Records};
use crate::tree::index::Tree;
use crate::tree::{PageKeys, damaged, duplicate};

/// Bytes of rows for which a leaf is written again: fewer are inserted one by one.
const LEAST_BYTES: usize = CAPACITY_BYTES / 4;

/// Pages up to which rows are spread evenly. Of more, the last may be nearly empty.
const EVEN_PAGES: usize = 16;

impl TreeWriter<'_, '_> {
    /// The rows from `first` on that belong into a leaf before `end`, if they are too many for its room, and some come between
    /// its own. Else none.
    pub(crate) fn crowd(
        &self,
        page: &Page,
        rows: &[&[u8]],
        keys: &Keys,
        first: usize,
        end: Option<&[u8]>,
    ) -> Result<Range<usize>, EngineError> {
        let none = first..first;
        if page.id() == self.tree.root || page.slot_count() == 0 {
            return Ok(none);
        }
        let belongs = |row: usize| end.is_none_or(|end| keys.get(row) < end);
        let (mut last, mut bytes) = (first, 0);
        while let Some(row) = rows.get(last).filter(|_| belongs(last)) {
            bytes += row.len() + SLOT_BYTES;
            last += 1;
        }
        if bytes < LEAST_BYTES || bytes <= page.free_bytes() {
            return Ok(none);
        }
        let own = PageKeys::new(self.tree, page)?.at(page.slot_count() - 1)?;
        Ok(if keys.get(first) < own.as_slice() { first..last } else { none })
    }

    /// Writes a leaf and these rows, which belong there, into the leaf and new ones behind it. Returns the last of them.
    pub(crate) fn rewrite(
        &mut self,
        page: &Arc<Page>,
        rows: &[&[u8]],
        keys: &Keys,
        run: Range<usize>,
    ) -> Result<PageId, EngineError> {
        let merged = self.merged(page, rows, keys, run)?;
        let mut leaves = self.leaves_of(&merged)?.into_iter();
        let Some(mut bytes) = leaves.next() else {
            return Err(EngineError::internal("a leaf that loses its rows"));
        };
        let (first, after) = (page.id(), page.next());
        let mut new = Vec::with_capacity(leaves.len());
        for leaf in leaves {
            new.push((self.new_tree_page(0)?, leaf));
        }
        let ids: Vec<PageId> = new.iter().map(|(id, _)| *id).chain([after]).collect();
        let mut previous = first;
        let mut entries = Vec::with_capacity(new.len());
        for ((id, mut leaf), next) in new.into_iter().zip(ids.iter().skip(1)) {
            page::set_address(&mut leaf, id, previous, *next);
            let image = Page::from_bytes(leaf);
            entries.push(PageKeys::new(self.tree, &image)?.entry(0, id)?);
            self.heap.must_change(Change::Format { page: id, image: Box::new(image) })?;
            previous = id;
        }
        page::set_address(&mut bytes, first, page.previous(), after);
        self.reformat(page, Page::from_bytes(bytes))?;
        if let Some(next) = ids.first().filter(|next| **next != after) {
            self.link(first, |(before, _)| (before, *next))?;
            if after.is_some() {
                self.link(after, |(_, next)| (previous, next))?;
            }
        }
        entries.iter().try_for_each(|entry| self.insert_entry(1, entry))?;
        Ok(previous)
    }

    /// The records of a leaf and these rows, in the order of their keys.
    fn merged(
        &self,
        page: &Page,
        rows: &[&[u8]],
        keys: &Keys,
        run: Range<usize>,
    ) -> Result<Records, EngineError> {
        let tree = self.tree;
        let mut merged = Records::default();
        let of_page = PageKeys::new(tree, page)?;
        let mut new = run.peekable();
        for slot in 0..page.slot_count() {
            let own = of_page.at(slot)?;
            while let Some(row) = new.next_if(|row| keys.get(*row) <= own.as_slice()) {
                let record = rows.get(row).copied().unwrap_or_default();
                if keys.get(row) == own.as_slice() {
                    return Err(duplicate(tree, record));
                }
                add(tree, &mut merged, keys, row, record)?;
            }
            let record = of_page.row(slot)?.record();
            merged.push(&record.ok_or_else(|| damaged(page.id(), "a row cannot be read"))?);
        }
        for row in new {
            let record = rows.get(row).copied().unwrap_or_default();
            add(tree, &mut merged, keys, row, record)?;
        }
        Ok(merged)
    }

    /// Leaves with these records, but for their addresses.
    fn leaves_of(&self, records: &Records) -> Result<Vec<[u8; PAGE_BYTES]>, EngineError> {
        let (tree, unit) = (self.tree, self.heap.table.unit(self.tree.unit).id);
        let bytes = records.bytes.len() + records.lengths.len() * SLOT_BYTES;
        let pages = bytes.div_ceil(CAPACITY_BYTES).max(1);
        let compresses = tree.layout.compression == Compression::Page;
        // A row more than the share, so that they are not more pages.
        let longest = records.lengths.iter().max().copied().unwrap_or(0);
        let share = bytes / pages + usize::from(longest) + SLOT_BYTES;
        let percent = match pages <= EVEN_PAGES && !compresses {
            true => (share * 100).div_ceil(CAPACITY_BYTES).min(100) as u8,
            false => 100,
        };
        let mut block = PageBlock::of_tree(unit, &tree.layout, pages + 1, percent, tree.page_type(0));
        let mut leaves = Vec::with_capacity(pages + 1);
        let (mut first, mut start) = (0, 0);
        while first < records.lengths.len() {
            let taken = block.append_records(records, first, start);
            let placed = records.lengths.iter().skip(first).take(taken);
            start += placed.map(|length| usize::from(*length)).sum::<usize>();
            first += taken;
            let is_last = first >= records.lengths.len();
            let done = if is_last { block.finish()? } else { block.full_pages()? };
            leaves.extend_from_slice(done);
            block.clear();
        }
        self.heap.shared.note_compression(unit, block.compression_counts());
        Ok(leaves)
    }
}

/// Adds one of the new rows, whose key those before it do not have.
fn add(tree: &Tree, merged: &mut Records, keys: &Keys, row: usize, record: &[u8]) -> Result<(), EngineError> {
    if row.checked_sub(1).is_some_and(|before| keys.get(before) == keys.get(row)) {
        return Err(duplicate(tree, record));
    }
    merged.push(record);
    Ok(())
}
