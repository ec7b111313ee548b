//! Trees: rows in the order of a unique key, in leaves that are linked both ways. The rows are those of a table, or those of a
//! nonclustered index.
//!
//! Whoever changes a tree has its table, or the pages that change, alone until its transaction ends (see `claims`), so a split needs no
//! care of its own: it is a few logged changes of pages like any others, undone with the rest. The root stays where it is. The first entry of an upper page stands
//! for everything below its neighbour, whatever its key says. Pages that lose their last row stay in the tree.

use std::sync::Arc;

use arrow::array::{BinaryArray, RecordBatch};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow::util::display::{ArrayFormatter, FormatOptions};

use super::allocation::Unit;
use super::catalogue::UnitKind;
use super::compress::{self, Compression};
use super::error::EngineError;
use super::heap::HeapWriter;
use super::index::{Index, IndexDefinition, RowLocator, Tree};
use super::key::{KeyColumn, KeyLayout, TextOrder};
use super::layout::Layout;
use super::log::Change;
use super::page::{Page, PageId, UnitId};
use super::record::{BoundBatch, LargeValueSource, RowGatherer, no_large_values};
use super::stored::{PageRows, StoredRow};

/// Where a key is, or would be, in a leaf.
pub(crate) enum Place {
    /// In this slot.
    At(u16),
    /// Before this slot.
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
    /// Of a leaf, or of an upper page.
    pub fn new(tree: &'a Tree, page: &'a Page) -> Result<Self, EngineError> {
        let rows = PageRows::new(page);
        let rows = rows.ok_or_else(|| damaged(page.id(), "its compression information cannot be read"))?;
        Ok(Self { tree, page, rows })
    }

    /// The key in a slot.
    pub fn at(&self, slot: u16) -> Result<Vec<u8>, EngineError> {
        let mut key = Vec::new();
        self.write(slot, &mut key)?;
        Ok(key)
    }

    /// The row in a slot of a leaf.
    pub fn row(&self, slot: u16) -> Result<StoredRow<'_>, EngineError> {
        self.rows.row(slot).ok_or_else(|| damaged(self.page.id(), "a row cannot be read"))
    }

    /// The entry that leads to `child` with the key in a slot.
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

    fn write(&self, slot: u16, out: &mut Vec<u8>) -> Result<(), EngineError> {
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

/// The page below an upper page in which a key belongs.
pub(crate) fn child(tree: &Tree, page: &Page, key: &[u8]) -> Result<PageId, EngineError> {
    let slot = match find(tree, page, key)? {
        Place::At(slot) => slot,
        Place::Before(slot) => slot.saturating_sub(1),
    };
    let child = page.row(slot).and_then(|record| tree.key.child(record));
    child.ok_or_else(|| damaged(page.id(), "an entry leads nowhere"))
}

/// The page of a level in which a key belongs, as `read` has the pages.
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

/// Keys as byte strings from a batch of the first columns of a tree's key, in their order.
pub(crate) fn keys_of(tree: &Tree, batch: &RecordBatch) -> Result<BinaryArray, EngineError> {
    let (layout, key) = key_rows(tree, batch.num_columns())?;
    let bound = BoundBatch::new(&layout, batch, &mut no_large_values())?;
    keys_of_bound(&key, &layout, &bound)
}

/// The form of rows that are the first columns of a key alone, and how they order.
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

/// Keys of rows.
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

/// The first byte string behind all that begin with `prefix`; None: there is none.
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

impl HeapWriter<'_> {
    /// An empty page for the root of a new tree.
    pub fn new_root(&mut self, tree: &Tree) -> Result<PageId, EngineError> {
        let root = self.new_tree_page(tree, 0)?;
        let image = Box::new(self.empty_page(tree, root, 0));
        self.must_change(Change::Format { page: root, image })?;
        Ok(root)
    }

    /// Gives an index of the table, or a new one, an empty tree in a unit without extents.
    pub fn plant_index(
        &mut self,
        id: u16,
        definition: IndexDefinition,
        unit: Unit,
        order: Option<TextOrder>,
    ) -> Result<(), EngineError> {
        let clustered = self.table.clustered.clone();
        let layout = Arc::clone(&self.table.layout);
        let make = |root, unit: Unit| {
            Index::new(id, definition.clone(), &layout, clustered.as_deref(), root, unit, order)
        };
        let place = self.table.indexes.iter().position(|index| index.id == id);
        let rootless = make(PageId::NONE, unit)?;
        let tree = Arc::clone(&rootless.tree);
        let place = match place {
            Some(place) => {
                self.table.indexes.splice(place..=place, [rootless]);
                place
            }
            None => {
                self.table.indexes.push(rootless);
                self.table.indexes.len() - 1
            }
        };
        let root = self.new_root(&tree)?;
        let unit = self.table.unit(UnitKind::Index(id)).clone();
        self.table.indexes.splice(place..=place, [make(root, unit)?]);
        Ok(())
    }

    /// What leads to the rows with a key, or with the first columns of one.
    pub fn located(&mut self, tree: &Tree, key: &[u8]) -> Result<Vec<RowLocator>, EngineError> {
        if tree.definition.unique {
            return Ok(vec![RowLocator::Key(key.into())]);
        }
        let mut found = Vec::new();
        let mut page = self.leaf(tree, key)?;
        let (Place::At(mut first) | Place::Before(mut first)) = find(tree, &page, key)?;
        loop {
            let keys = PageKeys::new(tree, &page)?;
            for slot in first..page.slot_count() {
                let present = keys.at(slot)?;
                if !present.starts_with(key) {
                    return Ok(found);
                }
                found.push(RowLocator::Key(present.into()));
            }
            if !page.next().is_some() {
                return Ok(found);
            }
            // Nobody puts a page between the two, since this one is locked.
            let next = page.next();
            self.claim(next)?;
            page = self.shared.pager.cache.read(next)?;
            first = 0;
        }
    }

    /// Adds a row to a tree.
    pub fn insert_keyed(&mut self, tree: &Tree, row: &[u8]) -> Result<(), EngineError> {
        let key = tree.key.of_row(&tree.layout, StoredRow::whole(row));
        let key = key.ok_or_else(|| damaged(tree.root, "a key cannot be read"))?;
        self.insert_at(tree, 0, &key, row)
    }

    /// Removes the row with a key. Returns it as its page had it.
    pub fn delete_keyed(&mut self, tree: &Tree, key: &[u8]) -> Result<Vec<u8>, EngineError> {
        let (page, slot, row) = self.find_keyed(tree, key)?;
        self.must_change(Change::Remove { page, slot, shift: true, row: row.clone() })?;
        Ok(row)
    }

    /// Puts a row in the place of one with the same key.
    pub fn update_keyed(&mut self, tree: &Tree, key: &[u8], row: &[u8]) -> Result<(), EngineError> {
        let (page, slot, before) = self.find_keyed(tree, key)?;
        let after = stored(&*self.shared.pager.cache.read(page)?, row)?;
        if before == after {
            return Ok(());
        }
        let change = Change::Replace { page, slot, before: before.clone(), after };
        if self.change(change)? {
            return Ok(());
        }
        self.must_change(Change::Remove { page, slot, shift: true, row: before })?;
        self.insert_at(tree, 0, key, row)
    }

    /// The row with a key as its page has it, and where it is.
    pub fn find_keyed(&mut self, tree: &Tree, key: &[u8]) -> Result<(PageId, u16, Vec<u8>), EngineError> {
        let page = self.leaf(tree, key)?;
        match find(tree, &page, key)? {
            Place::At(slot) => Ok((page.id(), slot, page.row(slot).unwrap_or_default().to_vec())),
            Place::Before(_) => Err(EngineError::NoSuchKey),
        }
    }

    pub(super) fn insert_at(
        &mut self,
        tree: &Tree,
        level: u8,
        key: &[u8],
        row: &[u8],
    ) -> Result<(), EngineError> {
        loop {
            let page = match level {
                0 => self.leaf(tree, key)?,
                _ => descend(tree, key, level, |id| self.shared.pager.cache.read(id))?,
            };
            let slot = match find(tree, &page, key)? {
                Place::At(_) if level == 0 => return Err(duplicate(tree, row)),
                Place::At(slot) => slot + 1,
                Place::Before(slot) => slot,
            };
            if self.insert_into(&page, slot, row)? {
                return Ok(());
            }
            if self.relieve(tree, &page, row)? {
                continue;
            }
            // Whoever splits a leaf keeps others from the tree until all levels are right.
            let latch = match level {
                0 => self.claim_path(tree, key, slot, row)?,
                _ => Some(Vec::new()),
            };
            if latch.is_some() {
                self.divide(tree, &page, slot, row)?;
            }
        }
    }

    /// Puts a row into a page of a tree. False: it does not fit.
    fn insert_into(&self, page: &Page, slot: u16, row: &[u8]) -> Result<bool, EngineError> {
        let row = stored(page, row)?;
        if !page.fits(row.len()) {
            return Ok(false);
        }
        self.change(Change::Insert { page: page.id(), slot, shift: true, row })
    }
}

/// The bytes that a row takes in a page of a tree.
pub(super) fn stored(page: &Page, row: &[u8]) -> Result<Vec<u8>, EngineError> {
    let stored = page.stored(row).ok_or_else(|| damaged(page.id(), "a row cannot be compressed"))?;
    Ok(stored.into_owned())
}

/// The error that a row's key exists already, with its values.
pub(crate) fn duplicate(tree: &Tree, row: &[u8]) -> EngineError {
    let values = || {
        let mut page = tree.empty_page(PageId::NONE, 0, UnitId::default());
        page.insert(0, row, true);
        let mut gatherer = RowGatherer::new(&tree.layout);
        gatherer.push_page(&Arc::new(page)).ok()?;
        let columns = tree.key.column_indexes().into_iter().take(tree.definition.key.len());
        gatherer.finish(&columns.collect::<Vec<_>>(), &NoLargeValues).ok()
    };
    match values() {
        Some(key) => duplicate_key(tree, &key),
        None => damaged(tree.root, "a key cannot be read"),
    }
}

/// The same with the key in the first row of a batch.
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
