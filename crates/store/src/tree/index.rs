//! Declarations of trees: a table's clustered key, and its nonclustered indexes.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::filter_record_batch;
use arrow::datatypes::Schema;

use super::index_filter::{Filter, FilterTerm};
use super::key::{INDEX_KEY_LIMIT_BYTES, KEY_LIMIT_BYTES, KeyColumn, KeyLayout, TextOrder};
use crate::error::EngineError;
use crate::page::unit::Unit;
use crate::page::unit::UnitKind;
use crate::page::{Page, PageId, PageType, RowId, UnitId};
use crate::record::EntryCopier;
use crate::record::compress::Compression;
use crate::record::kind::Kind;
use crate::record::layout::{Column, Layout};
use crate::record::stored::StoredRow;

/// The declaration of a clustered key or a nonclustered index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexDefinition {
    /// Name, for error messages; a nonclustered index is found by it.
    pub name: String,
    /// Columns in order.
    pub key: Vec<KeyColumn>,
    /// Further columns of the table that a nonclustered index holds (`INCLUDE`).
    pub included: Vec<usize>,
    /// The filter of a nonclustered index; empty if it has all rows.
    pub filter: Vec<FilterTerm>,
    /// True if keys are unique. Two nulls are equal.
    pub unique: bool,
    /// True if the index belongs to a PRIMARY KEY or UNIQUE constraint: a duplicate is error 2627 instead of
    /// 2601.
    pub is_constraint: bool,
    /// Percentage to which pages are filled when the index is built, not when it is changed; 0 is 100.
    pub fill_factor_percent: u8,
    /// True if the fill factor applies to upper levels too (`PAD_INDEX`).
    pub pad_index: bool,
    /// Compression of the rows (`DATA_COMPRESSION`). With None a clustered key keeps the table's compression, and a nonclustered
    /// index is not compressed. In the definition of an existing table or index it is never None.
    pub compression: Option<Compression>,
}

impl IndexDefinition {
    /// Returns true if the indexes of two equal tables hold the same entries; names and fill factors may
    /// differ.
    pub fn is_like(&self, other: &Self) -> bool {
        self.key == other.key
            && self.included == other.included
            && self.filter == other.filter
            && self.unique == other.unique
            && self.is_constraint == other.is_constraint
            && self.compression.unwrap_or_default() == other.compression.unwrap_or_default()
    }

    /// Declares a unique key of a constraint over these columns, ascending, pages full.
    pub fn unique(name: impl Into<String>, columns: &[usize]) -> Self {
        Self {
            name: name.into(),
            key: KeyColumn::all(columns),
            included: Vec::new(),
            filter: Vec::new(),
            unique: true,
            is_constraint: true,
            fill_factor_percent: 0,
            pad_index: false,
            compression: None,
        }
    }

    /// Declares an index that is not unique over these columns, ascending, pages full.
    pub fn new(name: impl Into<String>, columns: &[usize]) -> Self {
        Self { unique: false, is_constraint: false, ..Self::unique(name, columns) }
    }

    fn check(&self) -> Result<(), EngineError> {
        match self.fill_factor_percent {
            0..=100 => Ok(()),
            percent => Err(EngineError::Schema { reason: format!("a fill factor of {percent}") }),
        }
    }
}

/// A tree: the form and the order of its rows, and its root.
#[derive(Debug, Clone)]
pub struct Tree {
    /// Declaration of the key or index.
    pub definition: IndexDefinition,
    /// The form of the rows in its leaves.
    pub layout: Arc<Layout>,
    /// The key, which is unique.
    pub key: KeyLayout,
    /// Root, which never moves.
    pub root: PageId,
    pub(crate) unit: UnitKind,
}

impl Tree {
    /// Creates the tree of a clustered table with these rows, whose compression it has.
    pub(crate) fn clustered(
        layout: &Arc<Layout>,
        mut definition: IndexDefinition,
        root: PageId,
        order: Option<TextOrder>,
    ) -> Result<Self, EngineError> {
        definition.check()?;
        KeyLayout::check(layout, &definition.key, KEY_LIMIT_BYTES)?;
        definition.compression = Some(layout.compression);
        if !definition.included.is_empty() || !definition.filter.is_empty() {
            let reason = "a clustered key with included columns or a filter".to_owned();
            return Err(EngineError::Schema { reason });
        }
        let mut columns = definition.key.clone();
        columns.extend((layout.visible().len()..layout.columns.len()).map(KeyColumn::new));
        let key = KeyLayout::new(layout, &columns, order)?;
        Ok(Self { definition, layout: Arc::clone(layout), key, root, unit: UnitKind::InRow })
    }

    /// Returns the form of the rows of a table with this key (None: a heap).
    pub(crate) fn table_layout(
        columns: Vec<Column>,
        key: Option<&IndexDefinition>,
    ) -> Result<Layout, EngineError> {
        let Some(key) = key else { return Layout::new(columns) };
        let mut layout = match key.unique {
            true => Layout::new(columns)?,
            false => Layout::with_uniquifier(columns)?,
        };
        let hidden = layout.visible().len()..layout.columns.len();
        layout.pinned = key.key.iter().map(|key| key.column).chain(hidden).collect();
        Ok(layout)
    }

    /// Returns the type of the tree's pages at a level.
    pub(crate) fn page_type(&self, level: u8) -> PageType {
        match (level, self.unit) {
            (0, UnitKind::InRow) => PageType::Data,
            _ => PageType::Index,
        }
    }

    /// Returns the fixed part of the rows in the tree's pages at a level.
    pub(crate) fn fixed_length(&self, level: u8) -> u16 {
        match level {
            0 => self.layout.fixed_bytes as u16,
            _ => self.key.fixed_bytes as u16,
        }
    }

    /// Makes a page of the tree without rows.
    pub(crate) fn empty_page(&self, id: PageId, level: u8, unit: UnitId) -> Page {
        Page::formatted(id, self.page_type(level), level, unit, self.fixed_length(level))
    }

    /// Returns the percentage to which pages of a level are filled when the tree is built.
    pub(crate) fn fill_percent(&self, level: u8) -> u8 {
        match self.definition.fill_factor_percent {
            0 => 100,
            percent if level == 0 || self.definition.pad_index => percent,
            _ => 100,
        }
    }
}

/// The locator of a row: an index entry has one, and callers use it to change rows.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RowLocator {
    /// Address of a row of a heap.
    Address(RowId),
    /// The key of a row of a clustered table, as bytes that order as the key does.
    Key(Box<[u8]>),
}

/// A nonclustered index of a table.
#[derive(Debug, Clone)]
pub struct Index {
    /// Number in the table, from 2, never used again.
    pub id: u16,
    /// Tree of the index's rows.
    pub tree: Arc<Tree>,
    pub(crate) unit: Unit,
    pub(crate) shape: Arc<IndexShape>,
}

/// Sources of an index's columns, and the way from its rows back to the table's.
#[derive(Debug)]
pub(crate) struct IndexShape {
    /// The table's column (the hidden one too) for each of the index's columns; None for the address.
    pub sources: Vec<Option<usize>>,
    /// The clustered key in the index's rows; `None` if they have the address instead.
    pub clustered: Option<KeyLayout>,
    /// The rows of the table that the index has.
    pub filter: Filter,
}

impl Index {
    /// Returns the name, as declared.
    pub fn name(&self) -> &str {
        &self.tree.definition.name
    }

    /// Counts the pages in use, of all levels.
    pub fn pages(&self) -> u64 {
        self.unit.pages()
    }

    /// Creates an index of a table with these rows and this clustered tree. `unit` is its own.
    pub(crate) fn new(
        id: u16,
        mut definition: IndexDefinition,
        layout: &Layout,
        clustered: Option<&Tree>,
        root: PageId,
        unit: Unit,
        order: Option<TextOrder>,
    ) -> Result<Self, EngineError> {
        definition.check()?;
        KeyLayout::check(layout, &definition.key, INDEX_KEY_LIMIT_BYTES)?;
        let mut sources: Vec<Option<usize>> = definition.key.iter().map(|key| Some(key.column)).collect();
        let key_columns = sources.len();
        match clustered {
            Some(tree) => {
                for column in tree.key.column_indexes() {
                    if !sources.contains(&Some(column)) {
                        sources.push(Some(column));
                    }
                }
            }
            None => sources.push(None),
        }
        let located = sources.len();
        for column in &definition.included {
            let Some(Column { name, kind, .. }) = layout.visible().get(*column) else {
                return Err(EngineError::Schema { reason: format!("no column {column} to include") });
            };
            if kind.place() == (crate::record::kind::Place::Variable { limit_bytes: None }) {
                let reason = format!("column {name:?} of type {kind} cannot be included");
                return Err(EngineError::Schema { reason });
            }
            if !sources.contains(&Some(*column)) {
                sources.push(Some(*column));
            }
        }
        let address = || Column::required("address", Kind::VarBinary(Some(8)));
        let unknown = || EngineError::internal("an index of a column that its table does not have");
        let columns = sources
            .iter()
            .map(|source| match source {
                Some(column) => layout.columns.get(*column).cloned().ok_or_else(unknown),
                None => Ok(address()),
            })
            .collect::<Result<_, _>>()?;
        let compression = definition.compression.unwrap_or_default();
        definition.compression = Some(compression);
        let rows = Arc::new(Layout::of_index(columns)?.with_compression(compression)?);
        let mut key: Vec<KeyColumn> = (0..)
            .zip(&definition.key)
            .map(|(column, declared)| KeyColumn { column, ..declared.clone() })
            .collect();
        let in_clustered =
            |column: usize| clustered?.key.columns.iter().find(|key| key.column == column).cloned();
        let locator = (key_columns..located).map(|column| {
            let source = sources.get(column).copied().flatten().and_then(in_clustered);
            source.map_or(KeyColumn::new(column), |key| KeyColumn { column, ..key })
        });
        if !definition.unique {
            key.extend(locator);
        }
        let key = KeyLayout::new(&rows, &key, order)?;
        let place = |column: usize| {
            let place = sources.iter().position(|source| *source == Some(column));
            place.ok_or_else(|| EngineError::internal("an index without the key of its clustered tree"))
        };
        let clustered = clustered
            .map(|tree| {
                let columns = tree.key.columns.iter();
                let columns = columns.map(|key| Ok(KeyColumn { column: place(key.column)?, ..key.clone() }));
                KeyLayout::new(&rows, &columns.collect::<Result<Vec<_>, EngineError>>()?, order)
            })
            .transpose()?;
        let filter = Filter::new(&definition.filter, layout, order)?;
        let tree = Tree { definition, layout: rows, key, root, unit: UnitKind::Index(id) };
        let shape = IndexShape { sources, clustered, filter };
        Ok(Self { id, tree: Arc::new(tree), unit, shape: Arc::new(shape) })
    }

    /// Lists the columns of the table (the hidden one, too) from which the index's rows are made.
    pub(crate) fn sources(&self) -> impl Iterator<Item = usize> {
        self.shape.sources.iter().flatten().copied().chain(self.shape.filter.columns())
    }

    /// Makes a copier of the table's records, which have this layout, to index entries. `None`: entries are
    /// made of the rows' columns.
    pub(crate) fn entry_copier(&self, table: &Layout) -> Option<EntryCopier> {
        let has_all_rows = self.shape.filter.columns().next().is_none();
        has_all_rows.then(|| EntryCopier::new(table, &self.tree.layout, &self.shape.sources)).flatten()
    }

    /// Marks the rows, of `rows` of the table, that the index has; None: all. `column` has their columns.
    pub(crate) fn mask(
        &self,
        column: impl Fn(usize) -> Option<ArrayRef>,
        rows: usize,
    ) -> Result<Option<BooleanArray>, EngineError> {
        self.shape.filter.mask(column, rows)
    }

    /// Makes the rows of the index for `rows` rows of the table; `column` has their columns, the hidden one,
    /// too.
    pub(crate) fn rows_of(
        &self,
        column: impl Fn(usize) -> Option<ArrayRef>,
        addresses: &[RowId],
        rows: usize,
    ) -> Result<RecordBatch, EngineError> {
        let missing = |number| EngineError::Schema {
            reason: format!("a batch without column {number}, which index {:?} has", self.name()),
        };
        let columns = self.shape.sources.iter().map(|source| match source {
            Some(number) => column(*number).ok_or_else(|| missing(*number)),
            None => {
                let bytes = BinaryArray::from_iter_values(addresses.iter().map(|address| address.to_bytes()));
                Ok(Arc::new(bytes) as ArrayRef)
            }
        });
        let mask = self.mask(&column, rows)?;
        let batch = index_batch(&self.tree.layout, columns.collect::<Result<Vec<_>, _>>()?, rows)?;
        match mask {
            Some(mask) => Ok(filter_record_batch(&batch, &mask)?),
            None => Ok(batch),
        }
    }

    /// Reads from a row of the index the locator of the table's row; None: the row is damaged.
    pub(crate) fn locator(&self, row: StoredRow<'_>) -> Option<RowLocator> {
        let layout = &self.tree.layout;
        match &self.shape.clustered {
            Some(key) => key.of_row(layout, row).map(|key| RowLocator::Key(key.into())),
            None => {
                let column = self.shape.sources.iter().position(Option::is_none)?;
                let bytes = row.columns(layout)?.value(column)??;
                Some(RowLocator::Address(RowId::from_bytes(*bytes.first_chunk()?)))
            }
        }
    }
}

/// Makes a batch in the form of a layout of columns with any names.
pub(crate) fn index_batch(
    layout: &Layout,
    columns: Vec<ArrayRef>,
    rows: usize,
) -> Result<RecordBatch, EngineError> {
    let fields = layout.columns.iter().zip(&columns);
    let fields = fields
        .map(|(column, array)| arrow::datatypes::Field::new(&column.name, array.data_type().clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
}
