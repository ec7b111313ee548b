//! Reads a table in the order of one of its trees, leaf after leaf, or from its end.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::RecordBatch;

use super::{LYING_ROWS, PageReader, ScannedRows};
use crate::catalogue::{Table, tree_of};
use crate::error::EngineError;
use crate::heap::large::LargeValueReader;
use crate::page::{Page, PageId};
use crate::record::stored::PageRows;
use crate::record::{LyingRows, RowGatherer, stub_target};
use crate::tree;
use crate::tree::index::{Index, RowLocator, Tree};

/// A leaf and the slots of it that are wanted.
type PartOfLeaf = (Arc<Page>, Range<u16>);

/// A part of a tree: rows whose keys are at least `from` and at most `to`.
#[derive(Debug, Clone, Default)]
pub struct KeySpan {
    /// Lower bound; None: from the beginning.
    pub from: Option<KeyBound>,
    /// Upper bound; None: to the end.
    pub to: Option<KeyBound>,
    /// The last column is text or bytes, and a row that begins with the bound's value is within the span,
    /// too.
    pub begins: bool,
}

/// A bound of a span: the first row of a batch of the key's first columns, or of all of them.
#[derive(Debug, Clone)]
pub struct KeyBound {
    /// The columns, in the order of the key.
    pub columns: RecordBatch,
    /// True if rows whose columns equal the bound's lie within the span.
    pub included: bool,
}

impl KeyBound {
    /// Creates a bound that belongs to the span.
    pub fn included(columns: RecordBatch) -> Self {
        Self { columns, included: true }
    }
}

impl KeySpan {
    /// Creates the span between two bounds, both of which belong to it.
    pub fn between(from: Option<&RecordBatch>, to: Option<&RecordBatch>) -> Self {
        let bound = |columns: &RecordBatch| KeyBound::included(columns.clone());
        Self { from: from.map(bound), to: to.map(bound), begins: false }
    }

    /// Converts the span to bytes of keys; None: no key can be in it.
    fn of(&self, tree: &Tree) -> Result<Option<Span>, EngineError> {
        let key = |bound: &KeyBound| {
            let keys = tree::keys_of(tree, &bound.columns)?;
            let key = keys.iter().flatten().next();
            let mut key = key
                .map(<[u8]>::to_vec)
                .ok_or_else(|| EngineError::Schema { reason: "a bound without a row".to_owned() })?;
            // A value whose end mark is cut off is a prefix of all keys that begin with it.
            if self.begins {
                key.truncate(key.len().saturating_sub(VALUE_END_BYTES));
            }
            Ok::<_, EngineError>(key)
        };
        let from = match &self.from {
            // The span begins with the least key.
            None => Some(Vec::new()),
            Some(bound) if bound.included => Some(key(bound)?),
            Some(bound) => tree::after_prefix(&key(bound)?),
        };
        let end = match &self.to {
            None => None,
            Some(bound) if bound.included => tree::after_prefix(&key(bound)?),
            Some(bound) => Some(key(bound)?),
        };
        Ok(from.map(|from| Span { from, end }))
    }
}

/// Keys from one, included, to another one, not included; None: to the end.
#[derive(Debug)]
struct Span {
    from: Vec<u8>,
    end: Option<Vec<u8>>,
}

/// Puts spans in the order of keys, none of them empty, none touching another.
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

/// Direction of a scan along the leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// Rows in the order of the tree.
    #[default]
    Forward,
    /// Rows in the opposite order.
    Backward,
}

/// Rows in the order of a clustered key or of a nonclustered index, or in the opposite order.
#[derive(Debug)]
pub struct OrderedScan {
    reader: PageReader,
    table: Arc<Table>,
    tree: Arc<Tree>,
    /// Index that is scanned; None: the tree of the table itself.
    index: Option<Index>,
    projection: Vec<usize>,
    direction: Direction,
    next: PageId,
    /// Rows with a lesser key are not wanted.
    from: Vec<u8>,
    /// Rows with this key or a greater one are not wanted; None: all are.
    end: Option<Vec<u8>>,
    /// Leaves read of this span.
    seen: usize,
    /// A leaf of the chain: a chain that comes back to it goes round.
    milestone: PageId,
    /// Spans to be read after this one.
    spans: VecDeque<Span>,
    /// True once a batch was read.
    begun: bool,
}

impl OrderedScan {
    /// Opens a scan of the rows of some spans, each once, in the order of the tree. `index` None: in the
    /// order of the clustered key.
    pub(crate) fn new(
        reader: PageReader,
        table: Arc<Table>,
        index: Option<&str>,
        projection: Option<Vec<usize>>,
        spans: &[KeySpan],
        direction: Direction,
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
        let spans = spans.iter().filter_map(|span| span.of(&tree).transpose());
        let spans = disjoint(spans.collect::<Result<_, _>>()?);
        let projection = projection.unwrap_or_else(|| (0..table.layout.visible().len()).collect());
        let (next, from, end) = (PageId::NONE, Vec::new(), None);
        let mut scan = Self {
            next,
            reader,
            table,
            tree,
            index,
            projection,
            direction,
            from,
            end,
            seen: 0,
            milestone: PageId::NONE,
            spans,
            begun: false,
        };
        scan.start_span()?;
        Ok(scan)
    }

    /// Goes to the first leaf of the next span; false: there is none.
    fn start_span(&mut self) -> Result<bool, EngineError> {
        let span = match self.direction {
            Direction::Forward => self.spans.pop_front(),
            Direction::Backward => self.spans.pop_back(),
        };
        let Some(Span { from, end }) = span else { return Ok(false) };
        let read = |id| self.reader.read(id);
        let leaf = match (self.direction, &end) {
            (Direction::Forward, _) => tree::descend(&self.tree, &from, 0, read)?,
            (Direction::Backward, Some(end)) => tree::descend(&self.tree, end, 0, read)?,
            (Direction::Backward, None) => tree::last_leaf(&self.tree, read)?,
        };
        (self.next, self.from, self.end) = (leaf.id(), from, end);
        (self.seen, self.milestone) = (0, PageId::NONE);
        Ok(true)
    }

    /// Reads the next batch with the locator of each row.
    pub fn next_with_locators(&mut self) -> Option<Result<(RecordBatch, Vec<RowLocator>), EngineError>> {
        self.batch(true).transpose()
    }

    /// Reads the next rows: borrowed page rows, or a batch where [`Scan::next_rows`](super::Scan::next_rows)
    /// gives one, of an index and of a backward scan.
    pub fn next_rows(&mut self) -> Option<Result<ScannedRows, EngineError>> {
        let is_forward = self.direction == Direction::Forward;
        if !is_forward || self.index.is_some() || !LyingRows::is_possible(&self.tree.layout) {
            return Some(self.next()?.map(ScannedRows::Batch));
        }
        self.next_leaves().transpose()
    }

    fn next_leaves(&mut self) -> Result<Option<ScannedRows>, EngineError> {
        let tree = Arc::clone(&self.tree);
        let mut rows = RowGatherer::new(&tree.layout);
        while rows.rows() < LYING_ROWS
            && let Some((page, slots)) = self.leaf()?
        {
            rows.push_rows(&page, slots)?;
        }
        if rows.rows() == 0 {
            return Ok(None);
        }
        if let Some(rows) = rows.take_lying() {
            return Ok(Some(ScannedRows::Lying(rows)));
        }
        let large = LargeValueReader { source: &self.reader };
        rows.finish(&self.projection, &large).map(|batch| Some(ScannedRows::Batch(batch)))
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
            let is_backward = self.direction == Direction::Backward;
            let place = |slot: u16| if is_backward { slots.start + slots.end - 1 - slot } else { slot };
            gatherer.push_rows(&page, slots.clone().map(place))?;
            if let Some(index) = self.index.as_ref().filter(|_| locate || covered == Some(None)) {
                let rows = PageRows::new(&page).ok_or_else(unreadable)?;
                let found =
                    slots.clone().map(|slot| rows.row(place(slot)).and_then(|row| index.locator(row)));
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

    /// Finds the next leaf that has rows within the bounds, and their slots.
    fn leaf(&mut self) -> Result<Option<PartOfLeaf>, EngineError> {
        let tree = Arc::clone(&self.tree);
        while self.next.is_some() || self.start_span()? {
            let page = self.reader.read(self.next)?;
            // There may be more leaves than there were when the scan began: a transaction that reads on while it writes adds some.
            let goes_round = self.next == self.milestone;
            self.seen += 1;
            if self.seen.is_power_of_two() {
                self.milestone = self.next;
            }
            if page.level() != 0 || page.page_type() != Some(tree.page_type(0)) || goes_round {
                return Err(tree::damaged(page.id(), "the chain of leaves leads astray"));
            }
            let is_forward = self.direction == Direction::Forward;
            self.next = if is_forward { page.next() } else { page.previous() };
            let is_passed = self.index.is_none() && self.reader.is_passed(self.table.object, page.id());
            let mut slots = 0..page.slot_count();
            if !self.from.is_empty() {
                let (tree::Place::At(slot) | tree::Place::Before(slot)) =
                    tree::find(&tree, &page, &self.from)?;
                slots.start = slot;
                if is_forward {
                    self.from.clear();
                } else if slot > 0 {
                    self.next = PageId::NONE;
                }
            }
            if let Some(end) = &self.end {
                let (tree::Place::At(slot) | tree::Place::Before(slot)) = tree::find(&tree, &page, end)?;
                if slot < slots.end {
                    slots.end = slot;
                    if is_forward {
                        self.next = PageId::NONE;
                    }
                }
                if !is_forward {
                    self.end = None;
                }
            }
            if !slots.is_empty() && !is_passed {
                return Ok(Some((page, slots)));
            }
        }
        Ok(None)
    }
}

/// Bytes that end a value of any length in a key.
const VALUE_END_BYTES: usize = 2;

/// Rows of a batch are aimed at this; a batch ends with a leaf.
const BATCH_ROWS: usize = 8192;

/// Reads columns of the rows of a table that these locators lead to, in that order.
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

/// Returns the columns of an index that are these columns of the table, if it has all of them.
fn covered(index: &Index, projection: &[usize]) -> Option<Vec<usize>> {
    let place = |column: &usize| index.shape.sources.iter().position(|source| *source == Some(*column));
    projection.iter().map(place).collect()
}

/// Finds the page and slot of a row.
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
