//! Alters the columns of a table that has rows.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array, new_null_array};
use arrow::compute::{CastOptions, cast_with_options, take};

use super::alter::{OldRows, Reload, start_reload};
use super::change_alone::redefine;
use super::load::{BulkWriter, finish_bulk_and, lend};
use super::write_table::WriteTable;
use crate::catalogue::Table;
use crate::error::EngineError;
use crate::lock::LockMode;
use crate::record::kind::{Kind, Place};
use crate::record::layout::{Column, Layout};
use crate::tree::index::{Index, IndexDefinition, Tree};
use crate::tree::index_filter::FilterTerm;
use crate::tree::key::KeyColumn;

/// Source of a column's values when columns are altered.
#[derive(Debug, Clone)]
pub enum ColumnSource {
    /// A column of the table, by its old number; converted if the type differs.
    Kept(usize),
    /// Null in every row.
    Null,
    /// The one value of this array in every row.
    Value(ArrayRef),
    /// Values that the caller computes ([`WriteTable::start_altering`](crate::WriteTable::start_altering)). The number is that of an old column that the new one
    /// replaces in keys and indexes.
    Made(Option<usize>),
}

impl ColumnSource {
    /// Returns the column so far whose place in keys and indexes the new one takes.
    fn place_of(&self) -> Option<usize> {
        match self {
            Self::Kept(from) => Some(*from),
            Self::Made(from) => *from,
            Self::Null | Self::Value(_) => None,
        }
    }
}

/// A column of a table after the change.
#[derive(Debug, Clone)]
pub struct NewColumn {
    /// Definition of the column.
    pub column: Column,
    /// Values of the existing rows.
    pub source: ColumnSource,
}

/// A table whose columns are being altered: it gives the old rows and takes the new ones, in the same order. If it is dropped
/// without [`WriteTable::finish_altering`](crate::WriteTable::finish_altering), the table does not change.
#[derive(Debug)]
pub struct Altering {
    object: u32,
    rows: OldRows,
    writer: BulkWriter,
}

impl Altering {
    /// Adds rows with all new columns.
    pub fn append(&mut self, batch: &RecordBatch) -> Result<(), EngineError> {
        self.writer.append(batch)
    }
}

/// The rows as they were.
impl Iterator for Altering {
    type Item = Result<RecordBatch, EngineError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.rows.next()
    }
}

impl WriteTable<'_> {
    /// Gives a table other columns. The rows are rewritten unless only the definition has to change. That is so for
    /// other names, and for more room or nullability of a column of variable length that no key and no index has. It
    /// is so for nullable columns of variable length at the end, if the NULL bitmap has room for them. Columns of
    /// keys and indexes must be kept.
    pub fn alter_columns(&mut self, columns: &[NewColumn]) -> Result<(), EngineError> {
        let Some(mut altering) = self.start_altering(columns)? else { return Ok(()) };
        let Altering { rows, writer, .. } = &mut altering;
        match rows.try_for_each(|batch| writer.append(&altered(&batch?, columns)?)) {
            Ok(()) => self.finish_altering(altering),
            Err(error) => {
                self.abandon_altering(altering);
                Err(error)
            }
        }
    }

    /// Begins to give a table other columns, for a caller that makes the rows. `None` if only the definition had to
    /// change, which is done. The batches that are appended have all columns, those of the source
    /// [`ColumnSource::Made`] among them.
    pub fn start_altering(&mut self, columns: &[NewColumn]) -> Result<Option<Altering>, EngineError> {
        let object = self.alone(LockMode::SchM)?;
        let old = self.transaction.work.table(object)?;
        if let Some(layout) = extended(&old, columns)? {
            self.transaction.guarded(|this| {
                let mut working = this.work.table(object)?;
                working.layout = Arc::new(layout);
                let order = this.shared.options.text_order;
                if let Some(tree) = &working.clustered {
                    let definition = tree.definition.clone();
                    let tree = Tree::clustered(&working.layout, definition, tree.root, order)?;
                    working.clustered = Some(Arc::new(tree));
                }
                let Table { layout, clustered, indexes, .. } = &mut working;
                for index in indexes {
                    let Index { id, tree, unit, .. } = index.clone();
                    let (definition, clustered) = (tree.definition.clone(), clustered.as_deref());
                    *index = Index::new(id, definition, layout, clustered, tree.root, unit, order)?;
                }
                this.work.put(working);
                redefine(this, object)
            })?;
            return Ok(None);
        }
        let reload = moved(&old, columns)?;
        let start = self.transaction.savepoint();
        let (rows, writer) = self.transaction.guarded(|this| start_reload(this, object, reload))?;
        let writer = lend(self.transaction, writer, Some(start));
        Ok(Some(Altering { object, rows, writer }))
    }

    /// Ends what [`start_altering`](Self::start_altering) began. If it fails, the table is as it was before.
    pub fn finish_altering(&mut self, altering: Altering) -> Result<(), EngineError> {
        let Altering { object, writer, rows } = altering;
        drop(rows);
        finish_bulk_and(self.transaction, object, writer, |this| redefine(this, object)).map(drop)
    }

    /// Ends the change without effect.
    pub fn abandon_altering(&mut self, altering: Altering) {
        self.transaction.abandon_bulk(altering.writer);
    }
}

/// Makes the form of a table with these columns: its key and its indexes are over the columns that take the
/// places of theirs.
fn moved(old: &Table, columns: &[NewColumn]) -> Result<Reload, EngineError> {
    let place = |column: usize| {
        columns.iter().position(|new| new.source.place_of() == Some(column)).ok_or_else(|| {
            EngineError::Schema { reason: format!("column {column} is needed by a key or an index") }
        })
    };
    let moved = |definition: &IndexDefinition| {
        let key = definition.key.iter();
        let key = key.map(|key| Ok(KeyColumn { column: place(key.column)?, ..key.clone() }));
        Ok::<_, EngineError>(IndexDefinition {
            key: key.collect::<Result<_, EngineError>>()?,
            included: definition.included.iter().map(|column| place(*column)).collect::<Result<_, _>>()?,
            filter: definition
                .filter
                .iter()
                .map(|term| Ok(FilterTerm { column: place(term.column)?, ..term.clone() }))
                .collect::<Result<_, EngineError>>()?,
            ..definition.clone()
        })
    };
    let key = old.clustered.as_ref().map(|tree| moved(&tree.definition)).transpose()?;
    let indexes = old.indexes.iter().map(|index| moved(&index.tree.definition));
    let indexes = indexes.collect::<Result<Vec<_>, _>>()?;
    let columns = columns.iter().map(|new| new.column.clone()).collect();
    Ok(Reload { columns, key, indexes, compression: old.layout.compression, group: None })
}

/// Makes the table's layout after a change that its rows need not follow: other names, more room in columns
/// of variable length, nullability outside of keys and indexes, more columns. `None` if the rows must be
/// rewritten.
fn extended(old: &Table, columns: &[NewColumn]) -> Result<Option<Layout>, EngineError> {
    let known = old.layout.visible();
    let trees = old.clustered.iter().chain(old.indexes.iter().map(|index| &index.tree));
    let in_trees: Vec<usize> = trees
        .flat_map(|tree| {
            let key = tree.definition.key.iter().map(|key| key.column);
            let filter = tree.definition.filter.iter().map(|term| term.column);
            key.chain(tree.definition.included.iter().copied()).chain(filter).collect::<Vec<_>>()
        })
        .collect();
    let kept = |(number, (new, column)): (usize, (&NewColumn, &Column))| {
        let free = !in_trees.contains(&number);
        matches!(new.source, ColumnSource::Kept(from) if from == number)
            && (new.column.kind == column.kind || free && has_more_room(&column.kind, &new.column.kind))
            && (new.column.nullable == column.nullable || free && new.column.nullable)
    };
    let added = columns.get(known.len()..).unwrap_or_default();
    let may_be_added = || {
        old.layout.hidden == 0
            && !old.layout.is_compressed()
            && columns.len().div_ceil(8) == known.len().div_ceil(8)
            && added.iter().all(|new| {
                let variable = matches!(new.column.kind.place(), Place::Variable { .. });
                variable && new.column.nullable && matches!(new.source, ColumnSource::Null)
            })
    };
    let alone = columns.len() >= known.len()
        && columns.iter().zip(known).enumerate().all(kept)
        && (added.is_empty() || may_be_added());
    if !alone {
        return Ok(None);
    }
    let key = old.clustered.as_ref().map(|tree| &tree.definition);
    let definitions = columns.iter().map(|new| new.column.clone()).collect();
    Tree::table_layout(definitions, key)?.with_compression(old.layout.compression).map(Some)
}

/// Returns true if two types differ only in the greatest length of their values, which are of variable length
/// and lie in their rows or overflow.
fn has_more_room(before: &Kind, after: &Kind) -> bool {
    match (before, after) {
        (Kind::VarChar(Some(before)), Kind::VarChar(Some(after)))
        | (Kind::NVarChar(Some(before)), Kind::NVarChar(Some(after)))
        | (Kind::VarBinary(Some(before)), Kind::VarBinary(Some(after))) => before <= after,
        _ => false,
    }
}

/// Converts rows to other columns.
fn altered(batch: &RecordBatch, columns: &[NewColumn]) -> Result<RecordBatch, EngineError> {
    let rows = batch.num_rows();
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    let arrays = columns.iter().map(|new| {
        let wanted = new.column.kind.data_type();
        let array = match &new.source {
            ColumnSource::Kept(from) => {
                let kept = batch.columns().get(*from);
                let reason = || EngineError::Schema { reason: format!("no column {from}") };
                Arc::clone(kept.ok_or_else(reason)?)
            }
            ColumnSource::Null => new_null_array(&wanted, rows),
            ColumnSource::Value(value) => take(value, &UInt32Array::from(vec![0; rows]), None)?,
            ColumnSource::Made(_) => {
                let reason = format!("nobody makes the values of column {}", new.column.name);
                return Err(EngineError::Schema { reason });
            }
        };
        let array = match *array.data_type() == wanted {
            true => array,
            false => cast_with_options(&array, &wanted, &strict)?,
        };
        if !new.column.nullable && array.null_count() > 0 {
            let reason = "the column may not be null".to_owned();
            return Err(EngineError::Value { row: 0, column: new.column.name.clone(), reason });
        }
        Ok((new.column.name.clone(), array, true))
    });
    let arrays = arrays.collect::<Result<Vec<_>, EngineError>>()?;
    let fields: Vec<_> = arrays
        .iter()
        .map(|(name, array, nullable)| {
            arrow::datatypes::Field::new(name, array.data_type().clone(), *nullable)
        })
        .collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let arrays = arrays.into_iter().map(|(_, array, _)| array).collect();
    let schema = Arc::new(arrow::datatypes::Schema::new(fields));
    Ok(RecordBatch::try_new_with_options(schema, arrays, &options)?)
}
