//! Changing rows of any table, and of its indexes with it.
//!
//! A statement first changes all rows of the table. Then it takes all old entries out of each index and puts all new
//! ones in. So a key that moves from one row to another within a statement is not a duplicate.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray, RecordBatch};

use super::HeapWriter;
use super::block::PageBlock;
use super::index_load::IndexLoad;
use super::large::{LargeValueReader, LargeValueWriter};
use crate::catalogue::tree_of;
use crate::error::EngineError;
use crate::page::{CAPACITY_BYTES, Page, PageType, ROW_LIMIT_BYTES, RowId, UnitId};
use crate::record::compress::Compression;
use crate::record::layout::Layout;
use crate::record::stored::StoredRow;
use crate::record::{
    BoundBatch, KeyedRows, LargeValueSource, Records, RowGatherer, no_large_values, with_uniquifier,
};
use crate::sort::Sorted;
use crate::tree::index::{Index, RowLocator, Tree, index_batch};
use crate::tree::record_keys::RecordKeys;
use crate::tree::{self, damaged};

/// Columns of some rows by their places in the table.
pub(crate) type Columns = BTreeMap<usize, ArrayRef>;

impl HeapWriter<'_> {
    /// Adds a batch of rows with the columns that callers see. Returns the addresses of rows in a heap.
    pub fn insert_batch(&mut self, batch: &RecordBatch) -> Result<Vec<RowId>, EngineError> {
        let tree = self.table.clustered.clone();
        let batch = match &tree {
            Some(tree) if self.table.layout.hidden > 0 => {
                let keys = declared_keys(tree, batch)?;
                let numbers = self.uniquifiers(tree, keys.iter().flatten())?;
                Cow::Owned(with_hidden(&self.table.layout, batch, numbers)?)
            }
            _ => Cow::Borrowed(batch),
        };
        let layout = Arc::clone(&self.table.layout);
        let bound = BoundBatch::new(&layout, &batch, &mut LargeValueWriter { sink: &mut *self })?;
        let mut addresses = Vec::new();
        for row in 0..bound.rows() {
            match &tree {
                Some(tree) => self.tree(tree).insert_keyed(&bound.record(row))?,
                None => addresses.push(self.insert(&bound.record(row))?),
            }
        }
        if tree.is_some() {
            self.table.rows += bound.rows() as u64;
        }
        for index in self.table.indexes.clone() {
            let rows = index_rows(&index, &columns_of(&batch), &addresses, batch.num_rows())?;
            let bound = BoundBatch::new(&index.tree.layout, &rows, &mut no_large_values())?;
            (0..bound.rows()).try_for_each(|row| self.tree(&index.tree).insert_keyed(&bound.record(row)))?;
        }
        Ok(addresses)
    }

    /// Removes rows from the table and from its indexes.
    pub fn delete_located(&mut self, locators: &[RowLocator]) -> Result<(), EngineError> {
        self.claim_rows(locators, None)?;
        let old = self.indexed_columns(locators, &[])?;
        for locator in locators {
            self.delete_one(locator)?;
        }
        for index in self.table.indexes.clone() {
            let rows = index_rows(&index, &old, &addresses_of(locators), locators.len())?;
            for key in keys_of_rows(&index.tree, &rows)?.iter().flatten() {
                self.tree(&index.tree).delete_keyed(key)?;
            }
        }
        Ok(())
    }

    /// Replaces rows by the rows of `batch`. A row of a clustered table moves if its key changes.
    pub fn update_located(
        &mut self,
        locators: &[RowLocator],
        batch: &RecordBatch,
    ) -> Result<(), EngineError> {
        let layout = Arc::clone(&self.table.layout);
        let hidden: Vec<usize> = (layout.visible().len()..layout.columns.len()).collect();
        self.claim_rows(locators, None)?;
        let old = self.indexed_columns(locators, &hidden)?;
        let new = match self.table.clustered.clone() {
            Some(tree) => self.update_in_tree(&tree, locators, batch, &old)?,
            None => {
                let bound = BoundBatch::new(&layout, batch, &mut LargeValueWriter { sink: &mut *self })?;
                for (row, locator) in locators.iter().enumerate() {
                    let RowLocator::Address(address) = locator else { return Err(EngineError::NoSuchKey) };
                    self.update(*address, &bound.record(row))?;
                }
                batch.clone()
            }
        };
        let (new, addresses) = (columns_of(&new), addresses_of(locators));
        for index in self.table.indexes.clone() {
            let before = index_rows(&index, &old, &addresses, locators.len())?;
            let after = index_rows(&index, &new, &addresses, locators.len())?;
            let before = BoundBatch::new(&index.tree.layout, &before, &mut no_large_values())?;
            let after = BoundBatch::new(&index.tree.layout, &after, &mut no_large_values())?;
            let before_places = places(&index, &old, locators.len())?;
            let after_places = places(&index, &new, locators.len())?;
            let pairs = before_places.into_iter().zip(after_places).map(|(old, new)| {
                (old.map(|place| before.record(place)), new.map(|place| after.record(place)))
            });
            let changed: Vec<_> = pairs.filter(|(before, after)| before != after).collect();
            for before in changed.iter().filter_map(|(before, _)| before.as_ref()) {
                let key = index.tree.key.of_row(&index.tree.layout, StoredRow::whole(before));
                let key = key.ok_or_else(|| damaged(index.tree.root, "a key cannot be read"))?;
                self.tree(&index.tree).delete_keyed(&key)?;
            }
            let mut entering = changed.iter().filter_map(|(_, after)| after.as_ref());
            entering.try_for_each(|after| self.tree(&index.tree).insert_keyed(after))?;
        }
        Ok(())
    }

    /// Returns the batch with its hidden column.
    fn update_in_tree(
        &mut self,
        tree: &Tree,
        locators: &[RowLocator],
        batch: &RecordBatch,
        old: &Columns,
    ) -> Result<RecordBatch, EngineError> {
        let keys = declared_keys(tree, batch)?;
        let mut moved = vec![false; locators.len()];
        for ((locator, key), moved) in locators.iter().zip(keys.iter().flatten()).zip(&mut moved) {
            let RowLocator::Key(before) = locator else { return Err(EngineError::NoSuchKey) };
            *moved = !before.starts_with(key);
            if *moved {
                self.delete_one(locator)?;
            }
        }
        let layout = Arc::clone(&self.table.layout);
        let batch = match layout.hidden {
            0 => Cow::Borrowed(batch),
            _ => {
                let kept = old.get(&layout.visible().len());
                let kept = kept.and_then(|array| array.as_any().downcast_ref::<BinaryArray>());
                let moving = keys.iter().flatten().zip(&moved).filter(|(_, moved)| **moved);
                let mut given = self.uniquifiers(tree, moving.map(|(key, _)| key))?.into_iter();
                let numbers = moved.iter().enumerate().map(|(row, moved)| match moved {
                    true => given.next().flatten(),
                    false => kept
                        .filter(|kept| arrow::array::Array::is_valid(*kept, row))
                        .and_then(|kept| kept.value(row).first_chunk())
                        .map(|bytes| u32::from_be_bytes(*bytes)),
                });
                Cow::Owned(with_hidden(&layout, batch, numbers.collect())?)
            }
        };
        let bound = BoundBatch::new(&layout, &batch, &mut LargeValueWriter { sink: &mut *self })?;
        for (row, (locator, moved)) in locators.iter().zip(&moved).enumerate() {
            let RowLocator::Key(key) = locator else { return Err(EngineError::NoSuchKey) };
            if *moved {
                self.tree(tree).insert_keyed(&bound.record(row))?;
                self.table.rows += 1;
            } else {
                let (_, _, before) = self.tree(tree).find_keyed(key)?;
                self.free_large_values(&before)?;
                self.tree(tree).update_keyed(key, &bound.record(row))?;
            }
        }
        Ok(batch.into_owned())
    }

    fn delete_one(&mut self, locator: &RowLocator) -> Result<(), EngineError> {
        match (locator, self.table.clustered.clone()) {
            (RowLocator::Address(address), None) => self.delete(*address),
            (RowLocator::Key(key), Some(tree)) => {
                let row = self.tree(&tree).delete_keyed(key)?;
                self.free_large_values(&row)?;
                self.table.rows = self.table.rows.saturating_sub(1);
                Ok(())
            }
            _ => {
                let reason = format!("a row of {:?} is found otherwise", self.table.name);
                Err(EngineError::Schema { reason })
            }
        }
    }

    /// Collects the columns that the indexes hold of some rows, and the columns `more`.
    fn indexed_columns(&mut self, locators: &[RowLocator], more: &[usize]) -> Result<Columns, EngineError> {
        let sources = self.table.indexes.iter().flat_map(Index::sources);
        let mut wanted: Vec<usize> = sources.chain(more.iter().copied()).collect();
        wanted.sort_unstable();
        wanted.dedup();
        if wanted.is_empty() {
            return Ok(Columns::new());
        }
        let layout = Arc::clone(&self.table.layout);
        let mut gatherer = RowGatherer::new(&layout);
        for locator in locators {
            let at = match (locator, self.table.clustered.clone()) {
                (RowLocator::Address(address), None) => self.locate(*address)?.0,
                (RowLocator::Key(key), Some(tree)) => {
                    let (page, slot, _) = self.tree(&tree).find_keyed(key)?;
                    RowId { page, slot }
                }
                _ => return Err(EngineError::NoSuchKey),
            };
            let page = self.shared.pager.cache.read(at.page)?;
            gatherer.push_rows(&page, std::iter::once(at.slot))?;
        }
        let batch = gatherer.finish(&wanted, &LargeValueReader { source: self })?;
        Ok(wanted.into_iter().zip(batch.columns().iter().cloned()).collect())
    }

    /// Adds rows with ascending keys to a tree: entries of an index as they are, rows of the clustered tree
    /// with the numbers that distinguish equal keys. It follows the leaves instead of starting from the root
    /// for each row.
    pub fn merge(&mut self, tree: &Tree, rows: &mut KeyedRows) -> Result<(), EngineError> {
        if tree.layout.hidden > 0 {
            let numbers = self.uniquifiers(tree, rows.keys.iter())?;
            number_records(tree, &mut rows.records, &numbers)?;
            RecordKeys::whole(tree).read(tree, &rows.records, &mut rows.keys)?;
        }
        self.tree(tree).insert_rising(&rows.records.list(), &rows.keys)
    }

    /// Adds sorted rows to a clustered table that has rows, and their entries to `indexes`. Returns the number of rows.
    pub fn merge_table(
        &mut self,
        sorted: &mut Sorted,
        indexes: &mut [IndexLoad],
    ) -> Result<u64, EngineError> {
        let tree = tree_of(self.table)?;
        let (mut rows, mut count) = (KeyedRows::default(), 0);
        while sorted.next_many(&mut rows)? {
            self.merge(&tree, &mut rows)?;
            count += rows.len() as u64;
            let large = LargeValueReader { source: self };
            note_records(&tree.layout, (&rows.records, &[]), indexes, &large)?;
        }
        self.table.rows += count;
        Ok(count)
    }

    /// Gives numbers that distinguish new rows with these declared keys from each other and from those that
    /// are there; None: the first of its key.
    pub(crate) fn uniquifiers<'k>(
        &mut self,
        tree: &Tree,
        keys: impl Iterator<Item = &'k [u8]>,
    ) -> Result<Vec<Option<u32>>, EngineError> {
        let mut last: HashMap<&[u8], Option<u32>> = HashMap::new();
        let mut numbers = Vec::new();
        for key in keys {
            let before = match last.get(key) {
                Some(number) => Some(*number),
                None => self.last_uniquifier(tree, key)?,
            };
            let number = before.map(next_uniquifier).transpose()?;
            last.insert(key, number);
            numbers.push(number);
        }
        Ok(numbers)
    }

    /// Returns the greatest number among the rows with a declared key; None: there is no such row.
    pub(crate) fn last_uniquifier(
        &mut self,
        tree: &Tree,
        key: &[u8],
    ) -> Result<Option<Option<u32>>, EngineError> {
        let mut end = key.to_vec();
        // The byte 2 sorts behind a null (0) and behind every number (1).
        end.push(2);
        let Some((page, slot)) = self.last_before(tree, &end)? else { return Ok(None) };
        let keys = tree::PageKeys::new(tree, &page)?;
        if !keys.at(slot)?.starts_with(key) {
            return Ok(None);
        }
        let row = keys.row(slot)?.columns(&tree.layout);
        let number = row.and_then(|row| row.value(tree.layout.visible().len()));
        let number = number.ok_or_else(|| damaged(page.id(), "a key cannot be read"))?;
        Ok(Some(number.and_then(|bytes| bytes.first_chunk().map(|bytes| u32::from_be_bytes(*bytes)))))
    }
}

/// Makes the error that a row of a batch in the form of a tree (the hidden column may be missing) has a key
/// that exists.
pub(crate) fn duplicate_in(tree: &Tree, batch: &RecordBatch, row: usize) -> EngineError {
    let columns: Vec<usize> = tree.key.column_indexes().into_iter().take(tree.definition.key.len()).collect();
    match batch.slice(row, 1).project(&columns) {
        Ok(key) => tree::duplicate_key(tree, &key),
        Err(error) => error.into(),
    }
}

/// Returns the number after that of a row with the same key.
pub(crate) fn next_uniquifier(before: Option<u32>) -> Result<u32, EngineError> {
    before.unwrap_or(0).checked_add(1).ok_or_else(|| EngineError::Schema {
        reason: "more rows with one key than the numbers that tell them apart".to_owned(),
    })
}

/// Adds the hidden column to a batch.
pub(crate) fn with_hidden(
    layout: &Layout,
    batch: &RecordBatch,
    numbers: Vec<Option<u32>>,
) -> Result<RecordBatch, EngineError> {
    let bytes: Vec<Option<[u8; 4]>> = numbers.iter().map(|number| number.map(u32::to_be_bytes)).collect();
    let hidden: ArrayRef =
        Arc::new(bytes.iter().map(|bytes| bytes.as_ref().map(<[u8; 4]>::as_slice)).collect::<BinaryArray>());
    if batch.num_columns() != layout.visible().len() {
        let reason = format!("{} columns, the table has {}", batch.num_columns(), layout.visible().len());
        return Err(EngineError::Schema { reason });
    }
    let columns = batch.columns().iter().cloned().chain([hidden]).collect();
    index_batch(layout, columns, batch.num_rows())
}

/// Puts the number of each row that has one into its record; rows behind the last of the numbers have none.
pub(crate) fn number_records(
    tree: &Tree,
    records: &mut Records,
    numbers: &[Option<u32>],
) -> Result<(), EngineError> {
    if numbers.iter().all(Option::is_none) {
        return Ok(());
    }
    let mut numbered = Records::default();
    for (row, record) in records.iter().enumerate() {
        let Some(number) = numbers.get(row).copied().flatten() else {
            numbered.push(record);
            continue;
        };
        let record = with_uniquifier(&tree.layout, record, number)
            .ok_or_else(|| damaged(tree.root, "a row to number cannot be read"))?;
        if record.len() > ROW_LIMIT_BYTES {
            return Err(EngineError::RowTooLarge { bytes: record.len(), limit_bytes: ROW_LIMIT_BYTES });
        }
        numbered.push(&record);
    }
    *records = numbered;
    Ok(())
}

/// Adds the entries of complete rows of a table to indexes; rows of a heap have `addresses`. `large` has the values that are not in
/// their rows.
pub(crate) fn note_records(
    layout: &Layout,
    (records, addresses): (&Records, &[RowId]),
    indexes: &mut [IndexLoad],
    large: &dyn LargeValueSource,
) -> Result<(), EngineError> {
    let mut others = Vec::new();
    for load in indexes {
        if !load.push_records(layout, records, addresses)? {
            others.push(load);
        }
    }
    if others.is_empty() {
        return Ok(());
    }
    let mut wanted: Vec<usize> = others.iter().flat_map(|load| load.index.sources()).collect();
    wanted.sort_unstable();
    wanted.dedup();
    // Columns are read from pages.
    let compression = if layout.is_compressed() { Compression::Row } else { Compression::None };
    let of_page = Layout { compression, ..layout.clone() };
    let pages = records.bytes.len() / CAPACITY_BYTES + 2;
    let mut block = PageBlock::of_tree(UnitId::default(), &of_page, pages, 100, PageType::Data);
    let mut gatherer = RowGatherer::new(layout);
    let (mut first, mut start) = (0, 0);
    while first < records.lengths.len() {
        let taken = block.append_records(records, first, start);
        let placed = records.lengths.iter().skip(first).take(taken);
        start += placed.map(|length| usize::from(*length)).sum::<usize>();
        first += taken;
        for page in block.finish()?.iter() {
            gatherer.push_page(&Arc::new(Page::from_bytes(*page)))?;
        }
        block.clear();
    }
    let batch = gatherer.finish(&wanted, large)?;
    let columns = wanted.into_iter().zip(batch.columns().iter().cloned()).collect();
    others.into_iter().try_for_each(|load| load.push(&columns, addresses, batch.num_rows()))
}

/// Makes the keys of whole rows (all columns that callers see) without the number that distinguishes equal
/// ones.
pub(crate) fn declared_keys(tree: &Tree, batch: &RecordBatch) -> Result<BinaryArray, EngineError> {
    let columns: Vec<usize> = tree.definition.key.iter().map(|key| key.column).collect();
    tree::keys_of(tree, &batch.project(&columns)?)
}

pub(crate) fn columns_of(batch: &RecordBatch) -> Columns {
    batch.columns().iter().cloned().enumerate().collect()
}

/// Makes the rows of an index for rows of its table.
pub(crate) fn index_rows(
    index: &Index,
    columns: &Columns,
    addresses: &[RowId],
    rows: usize,
) -> Result<RecordBatch, EngineError> {
    index.rows_of(|column| columns.get(&column).cloned(), addresses, rows)
}

/// Returns for each row of the table the place of its entry among [those of the index](index_rows); None: its
/// filter keeps it out.
fn places(index: &Index, columns: &Columns, rows: usize) -> Result<Vec<Option<usize>>, EngineError> {
    let mask = index.mask(|column| columns.get(&column).cloned(), rows)?;
    let mut entries = 0_usize..;
    let has = |row: usize| mask.as_ref().is_none_or(|mask| mask.value(row));
    Ok((0..rows).map(|row| if has(row) { entries.next() } else { None }).collect())
}

/// Makes the keys of rows in the form of a tree.
pub(crate) fn keys_of_rows(tree: &Tree, rows: &RecordBatch) -> Result<BinaryArray, EngineError> {
    let bound = BoundBatch::new(&tree.layout, rows, &mut no_large_values())?;
    tree::keys_of_bound(&tree.key, &tree.layout, &bound)
}

fn addresses_of(locators: &[RowLocator]) -> Vec<RowId> {
    let address = |locator: &RowLocator| match locator {
        RowLocator::Address(address) => Some(*address),
        RowLocator::Key(_) => None,
    };
    locators.iter().filter_map(address).collect()
}
