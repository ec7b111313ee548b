//! Trees: rows in the order of a unique key, in leaves that are linked both ways. The rows are those of a table, or those of a
//! nonclustered index.
//!
//! A transaction that changes a tree has locked its table, or the pages that change, until its end (see `claims`). So a split is
//! only a few logged page changes, which are undone like any others. The root stays where it is. The first entry of an upper page
//! covers everything below its neighbour, whatever its key is. Pages that lose their last row stay in the tree.
//!
//! # Records
//!
//! | Record | Parts, in order |
//! |---|---|
//! | of an upper page | status byte; fixed key columns (a bit takes a byte); address of the child, 6 bytes; if a key column may be null, u16 number of key columns and NULL bitmap; if one is variable, count, end offsets and bytes |
//! | of an index's leaf | status byte, fixed columns, number of columns, NULL bitmap, variable columns: the key, the locator, included columns |

pub mod index;
pub(crate) mod index_filter;
pub mod key;
pub(crate) mod record_keys;

use std::sync::Arc;

use arrow::array::{BinaryArray, RecordBatch};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow::util::display::{ArrayFormatter, FormatOptions};

use crate::error::EngineError;
use crate::page::{Page, PageId, UnitId};
use crate::record::compress::{self, Compression};
use crate::record::layout::Layout;
use crate::record::stored::{PageRows, StoredRow};
use crate::record::{BoundBatch, LargeValueSource, RowGatherer, no_large_values};
use index::Tree;
use key::{KeyColumn, KeyLayout};

/// Slot of a key in a leaf, or the slot before which it would be.
pub(crate) enum Place {
    /// The slot that has the key.
    At(u16),
    /// The slot before which the key would be.
    Before(u16),
}

/// The keys in a page of a tree.
#[derive(Debug)]
pub(crate) struct PageKeys<'a> {
    tree: &'a Tree,
    page: &'a Page,
    rows: PageRows<'a>,
}

impl<'a> PageKeys<'a> {
    /// Creates a reader of the keys of a leaf or an upper page.
    pub fn new(tree: &'a Tree, page: &'a Page) -> Result<Self, EngineError> {
        let rows = PageRows::new(page);
        let rows = rows.ok_or_else(|| damaged(page.id(), "its compression information cannot be read"))?;
        Ok(Self { tree, page, rows })
    }

    /// Returns the key in a slot.
    pub fn at(&self, slot: u16) -> Result<Vec<u8>, EngineError> {
        let mut key = Vec::new();
        self.write(slot, &mut key)?;
        Ok(key)
    }

    /// Returns the row in a slot of a leaf.
    pub fn row(&self, slot: u16) -> Result<StoredRow<'_>, EngineError> {
        self.rows.row(slot).ok_or_else(|| damaged(self.page.id(), "a row cannot be read"))
    }

    /// Makes the entry that leads to `child` with the key in a slot.
    pub fn entry(&self, slot: u16, child: PageId) -> Result<Vec<u8>, EngineError> {
        let Tree { key, layout, .. } = self.tree;
        let entry = match self.page.level() {
            0 => key.index_record(layout, self.row(slot)?, child),
            _ => self.page.row(slot).and_then(|record| key.index_record_of(record, child)),
        };
        entry.ok_or_else(|| self.unreadable())
    }

    /// Looks for a key.
    pub fn find(&self, key: &[u8]) -> Result<Place, EngineError> {
        // The first entry of an upper page has no key of its own.
        let first = u16::from(self.page.level() > 0).min(self.page.slot_count());
        let (mut low, mut high) = (first, self.page.slot_count());
        let mut found = Vec::new();
        while low < high {
            let middle = low + (high - low) / 2;
            found.clear();
            self.write(middle, &mut found)?;
            match found.as_slice().cmp(key) {
                std::cmp::Ordering::Equal => return Ok(Place::At(middle)),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(Place::Before(low))
    }

    /// Appends the key of a row of a leaf.
    pub fn write_of(&self, row: StoredRow<'_>, out: &mut Vec<u8>) -> Result<(), EngineError> {
        let Tree { key, layout, .. } = self.tree;
        key.write_of_row(layout, row, out).ok_or_else(|| self.unreadable())
    }

    /// Appends the key in a slot.
    pub fn write(&self, slot: u16, out: &mut Vec<u8>) -> Result<(), EngineError> {
        let Tree { key, layout, .. } = self.tree;
        let written = match self.page.level() {
            0 => self.rows.row(slot).and_then(|row| key.write_of_row(layout, row, out)),
            _ => self.page.row(slot).and_then(|record| key.write_of_index(layout, record, out)),
        };
        written.ok_or_else(|| self.unreadable())
    }

    fn unreadable(&self) -> EngineError {
        damaged(self.page.id(), "a key cannot be read")
    }
}

/// Looks for a key among the rows of a leaf, or the entries of an upper page.
pub(crate) fn find(tree: &Tree, page: &Page, key: &[u8]) -> Result<Place, EngineError> {
    PageKeys::new(tree, page)?.find(key)
}

/// Finds the page below an upper page in which a key belongs.
pub(crate) fn child(tree: &Tree, page: &Page, key: &[u8]) -> Result<PageId, EngineError> {
    let slot = match find(tree, page, key)? {
        Place::At(slot) => slot,
        Place::Before(slot) => slot.saturating_sub(1),
    };
    let child = page.row(slot).and_then(|record| tree.key.child(record));
    child.ok_or_else(|| damaged(page.id(), "an entry leads nowhere"))
}

/// Finds the page of a level in which a key belongs, as `read` has the pages.
pub(crate) fn descend(
    tree: &Tree,
    key: &[u8],
    level: u8,
    read: impl Fn(PageId) -> Result<Arc<Page>, EngineError>,
) -> Result<Arc<Page>, EngineError> {
    let mut page = read(tree.root)?;
    while page.level() > level {
        let below = read(child(tree, &page, key)?)?;
        if below.level().checked_add(1) != Some(page.level()) {
            return Err(damaged(below.id(), "it is not one level below the page that leads to it"));
        }
        page = below;
    }
    Ok(page)
}

/// Finds the leaf with the greatest keys, as `read` has the pages.
pub(crate) fn last_leaf(
    tree: &Tree,
    read: impl Fn(PageId) -> Result<Arc<Page>, EngineError>,
) -> Result<Arc<Page>, EngineError> {
    let mut page = read(tree.root)?;
    while page.level() > 0 {
        let last = page.slot_count().checked_sub(1).and_then(|slot| page.row(slot));
        let child = last.and_then(|record| tree.key.child(record));
        let below = read(child.ok_or_else(|| damaged(page.id(), "an entry leads nowhere"))?)?;
        if below.level().checked_add(1) != Some(page.level()) {
            return Err(damaged(below.id(), "it is not one level below the page that leads to it"));
        }
        page = below;
    }
    Ok(page)
}

/// Makes keys as byte strings from a batch of the first columns of a tree's key, in their order.
pub(crate) fn keys_of(tree: &Tree, batch: &RecordBatch) -> Result<BinaryArray, EngineError> {
    let (layout, key) = key_rows(tree, batch.num_columns())?;
    let bound = BoundBatch::new(&layout, batch, &mut no_large_values())?;
    keys_of_bound(&key, &layout, &bound)
}

/// Returns the form of rows that are the first columns of a key alone, and their order.
fn key_rows(tree: &Tree, columns: usize) -> Result<(Layout, KeyLayout), EngineError> {
    let declared = tree.key.columns.iter().take(columns.max(1));
    let columns = declared.clone().filter_map(|key| tree.layout.columns.get(key.column).cloned());
    let mut layout = Layout::new(columns.collect())?;
    layout.pinned = (0..layout.columns.len()).collect();
    let columns: Vec<KeyColumn> =
        (0..).zip(declared).map(|(column, key)| KeyColumn { column, ..key.clone() }).collect();
    let key = KeyLayout::new(&layout, &columns, tree.key.order())?;
    Ok((layout, key))
}

/// Makes the keys of rows.
pub(crate) fn keys_of_bound(
    key: &KeyLayout,
    layout: &Layout,
    bound: &BoundBatch<'_>,
) -> Result<BinaryArray, EngineError> {
    let refuse = |reason: &str| EngineError::Schema { reason: reason.to_owned() };
    let (mut bytes, mut ends) = (Vec::new(), vec![0_i32]);
    let mut record = Vec::new();
    for (row, length) in bound.lengths().iter().enumerate() {
        record.clear();
        record.resize(usize::from(*length), 0);
        bound.write(row..row + 1, &[0], &mut record);
        key.write_of_row(layout, StoredRow::whole(&record), &mut bytes)
            .ok_or_else(|| refuse("a key cannot be read"))?;
        ends.push(i32::try_from(bytes.len()).map_err(|_| refuse("more than 2 GiB of keys in one batch"))?);
    }
    let offsets = OffsetBuffer::new(ScalarBuffer::from(ends));
    Ok(BinaryArray::try_new(offsets, Buffer::from(bytes), None)?)
}

/// Returns the first byte string behind all that begin with `prefix`; None: there is none.
pub(crate) fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != 0xFF)?;
    let mut end = prefix.get(..=last)?.to_vec();
    *end.last_mut()? += 1;
    Some(end)
}

/// A page, the least key that may be in it, and the least that may not.
type Bounded = (PageId, Option<Vec<u8>>, Option<Vec<u8>>);

/// Walks the whole tree: levels, order of keys within and between pages, links. Returns the number of its pages.
pub(crate) fn check(
    tree: &Tree,
    read: impl Fn(PageId) -> Result<Arc<Page>, EngineError>,
) -> Result<u64, EngineError> {
    let mut level: Vec<Bounded> = vec![(tree.root, None, None)];
    let mut pages = 0;
    while !level.is_empty() {
        pages += level.len() as u64;
        let mut below: Vec<Bounded> = Vec::new();
        let mut previous = PageId::NONE;
        for (index, (id, from, to)) in level.iter().enumerate() {
            let page = read(*id)?;
            let next = level.get(index + 1).map_or(PageId::NONE, |(next, _, _)| *next);
            if (page.previous(), page.next()) != (previous, next) {
                return Err(damaged(*id, "its neighbours are not those of its level"));
            }
            previous = *id;
            check_form(tree, &page)?;
            let first = u16::from(page.level() > 0);
            let keys = PageKeys::new(tree, &page)?;
            let keys = (first..page.slot_count()).map(|slot| keys.at(slot));
            let keys: Vec<Vec<u8>> = keys.collect::<Result<_, _>>()?;
            let rises = keys.windows(2).all(|pair| matches!(pair, [a, b] if a < b));
            let above = from.as_ref().is_none_or(|from| keys.first().is_none_or(|key| key >= from));
            let under = to.as_ref().is_none_or(|to| keys.last().is_none_or(|key| key < to));
            if !rises || !above || !under {
                return Err(damaged(*id, "its keys are not in order"));
            }
            for slot in 0..if page.level() > 0 { page.slot_count() } else { 0 } {
                let child = page.row(slot).and_then(|record| tree.key.child(record));
                let child = child.ok_or_else(|| damaged(*id, "an entry leads nowhere"))?;
                if read(child)?.level().checked_add(1) != Some(page.level()) {
                    return Err(damaged(child, "it is not one level below the page that leads to it"));
                }
                let lower = if slot == 0 { from.clone() } else { keys.get(usize::from(slot) - 1).cloned() };
                let upper = keys.get(usize::from(slot)).cloned().or_else(|| to.clone());
                below.push((child, lower, upper));
            }
        }
        level = below;
    }
    Ok(pages)
}

/// Refuses a page that is compressed otherwise than its tree.
fn check_form(tree: &Tree, page: &Page) -> Result<(), EngineError> {
    let may_be_compressed = page.level() == 0 && tree.layout.compression == Compression::Page;
    if page.is_compressed() && !may_be_compressed {
        return Err(damaged(page.id(), "it has compression information, which its tree does not"));
    }
    let is_compressed = |record: &[u8]| compress::record::is_compressed(record);
    if page.rows().any(|(_, record)| is_compressed(record) != tree.layout.is_compressed()) {
        return Err(damaged(page.id(), "a record has the form of another compression"));
    }
    Ok(())
}

/// Returns the bytes that a row takes in a page of a tree.
pub(crate) fn stored(page: &Page, row: &[u8]) -> Result<Vec<u8>, EngineError> {
    let stored = page.stored(row).ok_or_else(|| damaged(page.id(), "a row cannot be compressed"))?;
    Ok(stored.into_owned())
}

/// Reads the values of the declared key of a complete record.
pub(crate) fn key_of_record(tree: &Tree, record: &[u8]) -> Option<RecordBatch> {
    let mut page = tree.empty_page(PageId::NONE, 0, UnitId::default());
    page.insert(0, record, true);
    let mut gatherer = RowGatherer::new(&tree.layout);
    gatherer.push_page(&Arc::new(page)).ok()?;
    let columns = tree.key.column_indexes().into_iter().take(tree.definition.key.len());
    gatherer.finish(&columns.collect::<Vec<_>>(), &NoLargeValues).ok()
}

/// Takes the values of the declared key from a row of a batch in the form of the tree; its hidden column may
/// be missing.
pub(crate) fn key_of_batch(tree: &Tree, batch: &RecordBatch, row: usize) -> Option<RecordBatch> {
    let columns = tree.key.column_indexes().into_iter().take(tree.definition.key.len());
    batch.slice(row, 1).project(&columns.collect::<Vec<_>>()).ok()
}

/// Makes the error that a row's key exists already, with its values.
pub(crate) fn duplicate(tree: &Tree, row: &[u8]) -> EngineError {
    match key_of_record(tree, row) {
        Some(key) => duplicate_key(tree, &key),
        None => damaged(tree.root, "a key cannot be read"),
    }
}

/// Makes the error that a key, the first row of a batch, exists already.
pub(crate) fn duplicate_key(tree: &Tree, key: &RecordBatch) -> EngineError {
    let options = FormatOptions::default().with_null("<NULL>");
    let values = key.columns().iter().map(|column| {
        let format = ArrayFormatter::try_new(column, &options);
        format.map_or_else(|_| "?".to_owned(), |format| format.value(0).to_string())
    });
    EngineError::DuplicateKey {
        index: tree.definition.name.clone(),
        is_constraint: tree.definition.is_constraint,
        key: format!("({})", values.collect::<Vec<_>>().join(", ")),
        values: Box::new(key.clone()),
    }
}

/// Key columns are never large.
struct NoLargeValues;

impl LargeValueSource for NoLargeValues {
    fn read(&self, _pointer: &[u8], _out: &mut Vec<u8>) -> Result<(), EngineError> {
        Err(damaged(PageId::NONE, "a key is not in its row"))
    }
}

pub(crate) fn damaged(page: PageId, reason: &str) -> EngineError {
    EngineError::DamagedPage { page, reason: reason.to_owned() }
}
