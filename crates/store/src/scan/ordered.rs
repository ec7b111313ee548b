//! Reads a table in the order of one of its trees, leaf after leaf.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::RecordBatch;

use super::PageReader;
use crate::catalogue::{Table, tree_of};
use crate::error::EngineError;
use crate::heap::large::LargeValueReader;
use crate::page::{EXTENT_PAGES, Page, PageId};
use crate::record::stored::PageRows;
use crate::record::{RowGatherer, stub_target};
use crate::tree;
use crate::tree::index::{Index, RowLocator, Tree};

/// A leaf and the slots of it that are wanted.
type PartOfLeaf = (Arc<Page>, Range<u16>);

/// A part of a tree: rows whose keys are at least the key in the first row of `from` and at most that in the first row of `to`. Both are
/// batches of the key's first columns, or of all of them; a row that has the given columns in common with a bound lies within.
#[derive(Debug, Clone, Default)]
pub struct KeySpan {
    /// None: from the beginning.
    pub from: Option<RecordBatch>,
    /// None: to the end.
    pub to: Option<RecordBatch>,
    /// The last column is text or bytes, and a row that begins with the bound's value lies within, too.
    pub begins: bool,
}

impl KeySpan {
    /// The span between two bounds.
    pub fn between(from: Option<&RecordBatch>, to: Option<&RecordBatch>) -> Self {
        Self { from: from.cloned(), to: to.cloned(), begins: false }
    }

    /// The span as bytes of keys.
    fn of(&self, tree: &Tree) -> Result<Span, EngineError> {
        let bound = |batch: &RecordBatch| {
            let keys = tree::keys_of(tree, batch)?;
            let key = keys.iter().flatten().next();
            let mut key = key
                .map(<[u8]>::to_vec)
                .ok_or_else(|| EngineError::Schema { reason: "a bound without a row".to_owned() })?;
            // Without what ends it, a value is the beginning of all that begin with it.
            if self.begins {
                key.truncate(key.len().saturating_sub(VALUE_END_BYTES));
            }
            Ok::<_, EngineError>(key)
        };
        // Without a bound, the span begins with the least key.
        let from = self.from.as_ref().map(bound).transpose()?.unwrap_or_default();
        let to = self.to.as_ref().map(bound).transpose()?;
        Ok(Span { from, end: to.and_then(|to| tree::after_prefix(&to)) })
    }
}

/// Keys from one, included, to another one, not included; None: to the end.
#[derive(Debug)]
struct Span {
    from: Vec<u8>,
    end: Option<Vec<u8>>,
}

/// In the order of keys, none of them empty, none touching another.
fn disjoint(mut spans: Vec<Span>) -> VecDeque<Span> {
    spans.retain(|span| span.end.as_ref().is_none_or(|end| span.from < *end));
    spans.sort_by(|a, b| a.from.cmp(&b.from));
    let mut merged: VecDeque<Span> = VecDeque::with_capacity(spans.len());
    for span in spans {
        match merged.back_mut() {
            Some(last) if last.end.as_ref().is_none_or(|end| span.from <= *end) => {
                last.end = match (last.end.take(), span.end) {
                    (Some(own), Some(more)) => Some(own.max(more)),
                    _ => None,
                };
            }
            _ => merged.push_back(span),
        }
    }
    merged
}

/// Rows in the order of a clustered key or of a nonclustered index.
#[derive(Debug)]
pub struct OrderedScan {
    reader: PageReader,
    table: Arc<Table>,
    tree: Arc<Tree>,
    /// None: the tree is the table.
    index: Option<Index>,
    projection: Vec<usize>,
    /// The next leaf, and the least key wanted of it.
    next: PageId,
    from: Vec<u8>,
    /// Rows with this key or a greater one are not wanted; None: all are.
    end: Option<Vec<u8>>,
    /// Leaves read of this span.
    seen: usize,
    /// Spans to be read after this one.
    spans: VecDeque<Span>,
    /// Whether a batch was read.
    begun: bool,
}

impl OrderedScan {
    /// The rows of some spans, each once, in the order of the tree. `index` None: in the order of the clustered key.
    pub(crate) fn new(
        reader: PageReader,
        table: Arc<Table>,
        index: Option<&str>,
        projection: Option<Vec<usize>>,
        spans: &[KeySpan],
    ) -> Result<Self, EngineError> {
        let index = match index {
            Some(name) => Some(table.index(name).cloned().ok_or_else(|| EngineError::NoSuchIndex {
                table: table.name.to_string(),
                index: name.to_owned(),
            })?),
            None => None,
        };
        let tree = match &index {
            Some(index) => Arc::clone(&index.tree),
            None => tree_of(&table)?,
        };
        let spans = disjoint(spans.iter().map(|span| span.of(&tree)).collect::<Result<_, _>>()?);
        let projection = projection.unwrap_or_else(|| (0..table.layout.visible().len()).collect());
        let (next, from, end) = (PageId::NONE, Vec::new(), None);
        let (seen, begun) = (0, false);
        let mut scan = Self { next, reader, table, tree, index, projection, from, end, seen, spans, begun };
        scan.start_span()?;
        Ok(scan)
    }

    /// Goes to the first leaf of the next span; false: there is none.
    fn start_span(&mut self) -> Result<bool, EngineError> {
        let Some(Span { from, end }) = self.spans.pop_front() else { return Ok(false) };
        let leaf = tree::descend(&self.tree, &from, 0, |id| self.reader.read(id))?;
        (self.next, self.from, self.end, self.seen) = (leaf.id(), from, end, 0);
        Ok(true)
    }

    /// The next batch with the locator of each row.
    pub fn next_with_locators(&mut self) -> Option<Result<(RecordBatch, Vec<RowLocator>), EngineError>> {
        self.batch(true).transpose()
    }

    fn batch(&mut self, locate: bool) -> Result<Option<(RecordBatch, Vec<RowLocator>)>, EngineError> {
        let tree = Arc::clone(&self.tree);
        let unreadable = || tree::damaged(tree.root, "a key cannot be read");
        let covered = self.index.as_ref().map(|index| covered(index, &self.projection));
        // The first batch is the first leaf alone, for callers that want few rows.
        let rows = if std::mem::replace(&mut self.begun, true) { BATCH_ROWS } else { 1 };
        let mut gatherer = RowGatherer::new(&tree.layout);
        let mut locators = Vec::new();
        while gatherer.rows() < rows
            && let Some((page, slots)) = self.leaf()?
        {
            gatherer.push_rows(&page, slots.clone())?;
            if let Some(index) = self.index.as_ref().filter(|_| locate || covered == Some(None)) {
                let rows = PageRows::new(&page).ok_or_else(unreadable)?;
                let found = slots.map(|slot| rows.row(slot).and_then(|row| index.locator(row)));
                locators.extend(found.collect::<Option<Vec<_>>>().ok_or_else(unreadable)?);
            }
        }
        if gatherer.rows() == 0 {
            return Ok(None);
        }
        if self.index.is_none() && locate {
            let keys = gatherer.keys(|layout, row| tree.key.of_row(layout, row)).ok_or_else(unreadable)?;
            locators = keys.into_iter().map(|key| RowLocator::Key(key.into())).collect();
        }
        let source = LargeValueReader { source: &self.reader };
        let batch = match &covered {
            None => gatherer.finish(&self.projection, &source)?,
            Some(Some(columns)) => gatherer.finish(columns, &source)?,
            Some(None) => rows_at(&self.reader, &self.table, &self.projection, &locators)?,
        };
        Ok(Some((batch, locators)))
    }

    /// The next leaf that has rows within the bounds, and their slots.
    fn leaf(&mut self) -> Result<Option<PartOfLeaf>, EngineError> {
        let tree = Arc::clone(&self.tree);
        let most = self.table.unit(tree.unit).extents.len() * EXTENT_PAGES as usize;
        while self.next.is_some() || self.start_span()? {
            let page = self.reader.read(self.next)?;
            self.seen += 1;
            if page.level() != 0 || page.page_type() != Some(tree.page_type(0)) || self.seen > most {
                return Err(tree::damaged(page.id(), "the chain of leaves leads astray"));
            }
            self.next = page.next();
            let is_passed = self.index.is_none() && self.reader.is_passed(self.table.object, page.id());
            let mut slots = 0..page.slot_count();
            if !self.from.is_empty() {
                let (tree::Place::At(slot) | tree::Place::Before(slot)) =
                    tree::find(&tree, &page, &self.from)?;
                slots.start = slot;
                self.from.clear();
            }
            if let Some(end) = &self.end {
                let (tree::Place::At(slot) | tree::Place::Before(slot)) = tree::find(&tree, &page, end)?;
                if slot < slots.end {
                    slots.end = slot;
                    self.next = PageId::NONE;
                }
            }
            if !slots.is_empty() && !is_passed {
                return Ok(Some((page, slots)));
            }
        }
        Ok(None)
    }
}

/// What ends a value of any length in a key.
const VALUE_END_BYTES: usize = 2;

/// Rows of a batch are aimed at this; a batch ends with a leaf.
const BATCH_ROWS: usize = 8192;

/// Columns of the rows of a table that these lead to, in that order.
pub(crate) fn rows_at(
    reader: &PageReader,
    table: &Table,
    projection: &[usize],
    locators: &[RowLocator],
) -> Result<RecordBatch, EngineError> {
    let mut gatherer = RowGatherer::new(&table.layout);
    for locator in locators {
        let (page, slot) = find_row(reader, table, locator)?;
        gatherer.push_rows(&page, std::iter::once(slot))?;
    }
    gatherer.finish(projection, &LargeValueReader { source: reader })
}

impl Iterator for OrderedScan {
    type Item = Result<RecordBatch, EngineError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.batch(false).transpose()?.map(|(batch, _)| batch))
    }
}

/// The columns of an index that are these columns of the table, if it has all of them.
fn covered(index: &Index, projection: &[usize]) -> Option<Vec<usize>> {
    let place = |column: &usize| index.shape.sources.iter().position(|source| *source == Some(*column));
    projection.iter().map(place).collect()
}

/// The page and slot of a row.
fn find_row(
    reader: &PageReader,
    table: &Table,
    locator: &RowLocator,
) -> Result<(Arc<Page>, u16), EngineError> {
    match locator {
        RowLocator::Address(address) => {
            let page = reader.read(address.page)?;
            match page.row(address.slot).and_then(stub_target) {
                Some(target) => Ok((reader.read(target.page)?, target.slot)),
                None => Ok((page, address.slot)),
            }
        }
        RowLocator::Key(key) => {
            let tree = tree_of(table)?;
            let page = tree::descend(&tree, key, 0, |id| reader.read(id))?;
            match tree::find(&tree, &page, key)? {
                tree::Place::At(slot) => Ok((page, slot)),
                tree::Place::Before(_) => Err(tree::damaged(page.id(), "an index leads to no row")),
            }
        }
    }
}
