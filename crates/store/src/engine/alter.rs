//! Changing the form of a table that has rows: indexes made and dropped, heaps into trees and back, rebuilds, columns.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array, new_null_array};
use arrow::compute::{CastOptions, cast_with_options, take};

use super::allocation::Owner;
use super::catalogue::{Table, UnitKind};
use super::compress::Compression;
use super::error::EngineError;
use super::index::{Index, IndexDefinition, RowLocator, Tree};
use super::key::KeyColumn;
use super::kind::Place;
use super::layout::Column;
use super::load::{BulkOptions, BulkWriter, IndexLoad};
use super::lock::LockMode;
use super::ordered::OrderedScan;
use super::scan::{PageReader, Scan, View};
use super::transaction::Transaction;

/// Where the values of a column come from when columns are altered.
#[derive(Debug, Clone)]
pub enum ColumnSource {
    /// From a column of the table, by its number so far; converted if the type is another one.
    Kept(usize),
    /// Null in every row.
    Null,
    /// The one value of this array in every row.
    Value(ArrayRef),
}

/// A column of a table as it is to be.
#[derive(Debug, Clone)]
pub struct NewColumn {
    /// Its definition.
    pub column: Column,
    /// Its values in the rows that are there.
    pub source: ColumnSource,
}

/// How a table or an index is written anew.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RebuildOptions {
    /// How full pages of a tree are made; None: as it was declared.
    pub fill_factor_percent: Option<u8>,
    /// How rows are kept; None: as before.
    pub compression: Option<Compression>,
}

impl RebuildOptions {
    fn apply(self, definition: &mut IndexDefinition) {
        definition.fill_factor_percent = self.fill_factor_percent.unwrap_or(definition.fill_factor_percent);
        definition.compression = self.compression.or(definition.compression);
    }
}

impl Transaction {
    /// Makes a nonclustered index and fills it with the rows that are there.
    pub fn create_index(&mut self, table: &str, definition: &IndexDefinition) -> Result<(), EngineError> {
        self.create_index_on(table, definition, None)
    }

    /// The same in a file group; None: that of the table's rows.
    pub fn create_index_on(
        &mut self,
        table: &str,
        definition: &IndexDefinition,
        group: Option<&str>,
    ) -> Result<(), EngineError> {
        let group = group.map(|name| self.shared.group_named(Some(name))).transpose()?;
        let object = self.alone_in(table, LockMode::SchM)?;
        if self.working(object)?.index(&definition.name).is_some() {
            return Err(EngineError::TableExists { name: definition.name.clone() });
        }
        self.guarded(|this| {
            let mut working = this.working(object)?;
            let id = working.next_index;
            working.next_index = id.checked_add(1).filter(|next| *next < 16_000).ok_or_else(|| {
                EngineError::Schema { reason: "a table has had too many indexes".to_owned() }
            })?;
            let group = group.unwrap_or(working.unit(UnitKind::InRow).group);
            this.set_working(working);
            let owner = Owner { table, index: Some(&definition.name) };
            let unit = UnitKind::Index(id).id(object);
            let unit = this.shared.allocator.create_unit(this.id, unit, group, owner)?;
            let order = this.shared.options.text_order;
            this.with_heap(object, |heap| heap.plant_index(id, definition.clone(), unit, order))?;
            this.build_indexes(object, &[id])?;
            this.redefine(object)
        })
    }

    /// Removes a nonclustered index.
    pub fn drop_index(&mut self, table: &str, index: &str) -> Result<(), EngineError> {
        let object = self.alone_in(table, LockMode::SchM)?;
        self.guarded(|this| {
            let mut working = this.working(object)?;
            let place = working.indexes.iter().position(|present| present.name() == index);
            let place = place.ok_or_else(|| no_index(table, index))?;
            let dropped = working.indexes.remove(place);
            this.set_working(working);
            this.give_up_unit(dropped.unit);
            this.redefine(object)
        })
    }

    /// Gives a nonclustered index, or the clustered key, another name.
    pub fn rename_index(&mut self, table: &str, index: &str, new_name: &str) -> Result<(), EngineError> {
        let object = self.alone_in(table, LockMode::SchM)?;
        self.guarded(|this| {
            let mut working = this.working(object)?;
            if working.index(new_name).is_some() {
                return Err(EngineError::TableExists { name: new_name.to_owned() });
            }
            let clustered = working.clustered.iter_mut().filter(|tree| tree.definition.name == index);
            let indexes = working.indexes.iter_mut().map(|index| &mut index.tree);
            let tree = indexes.filter(|tree| tree.definition.name == index).chain(clustered).next();
            let tree = tree.ok_or_else(|| no_index(table, index))?;
            Arc::make_mut(tree).definition.name = new_name.to_owned();
            this.set_working(working);
            this.redefine(object)
        })
    }

    /// Gives a nonclustered index dense pages, or as full as `fill_factor_percent` says; None: as it was declared.
    pub fn rebuild_index(
        &mut self,
        table: &str,
        index: &str,
        fill_factor_percent: Option<u8>,
    ) -> Result<(), EngineError> {
        self.rebuild_index_with(table, index, RebuildOptions { fill_factor_percent, ..Default::default() })
    }

    /// Writes a nonclustered index anew.
    pub fn rebuild_index_with(
        &mut self,
        table: &str,
        index: &str,
        options: RebuildOptions,
    ) -> Result<(), EngineError> {
        let object = self.alone_in(table, LockMode::SchM)?;
        self.guarded(|this| {
            let mut working = this.working(object)?;
            let found = working.index(index).cloned().ok_or_else(|| no_index(table, index))?;
            let mut definition = found.tree.definition.clone();
            options.apply(&mut definition);
            let unit = working.unit_mut(UnitKind::Index(found.id));
            unit.extents = Arc::default();
            let emptied = unit.clone();
            this.set_working(working);
            this.give_up_extents(std::iter::once(&found.unit));
            let order = this.shared.options.text_order;
            this.with_heap(object, |heap| heap.plant_index(found.id, definition, emptied, order))?;
            this.build_indexes(object, &[found.id])?;
            this.redefine(object)
        })
    }

    /// Writes a table and its indexes anew: dense pages, no forwarded rows; a tree as full as `fill_factor_percent` says (None: as it
    /// was declared).
    pub fn rebuild_table(&mut self, name: &str, fill_factor_percent: Option<u8>) -> Result<(), EngineError> {
        self.rebuild_table_with(name, RebuildOptions { fill_factor_percent, ..Default::default() })
    }

    /// Writes a table and its indexes anew, the rows of the table with these options; its indexes keep theirs.
    pub fn rebuild_table_with(&mut self, name: &str, options: RebuildOptions) -> Result<(), EngineError> {
        self.reload(name, |old| {
            let mut reload = Reload::same(old);
            if let Some(key) = &mut reload.key {
                options.apply(key);
            }
            reload.compression = options.compression.unwrap_or(reload.compression);
            Ok(reload)
        })
    }

    /// Turns a heap into a tree with this key, or gives a clustered table another one. Its indexes are built anew. The table keeps its
    /// compression unless the key says another one.
    pub fn create_clustered_index(&mut self, name: &str, key: &IndexDefinition) -> Result<(), EngineError> {
        self.create_clustered_index_on(name, key, None)
    }

    /// The same in another file group (`ON`): the rows go there with what overflows. Large values stay in theirs.
    pub fn create_clustered_index_on(
        &mut self,
        name: &str,
        key: &IndexDefinition,
        group: Option<&str>,
    ) -> Result<(), EngineError> {
        let group = group.map(|group| self.shared.group_named(Some(group))).transpose()?;
        self.reload(name, |old| {
            let compression = key.compression.unwrap_or(old.layout.compression);
            Ok(Reload { key: Some(key.clone()), compression, group, ..Reload::same(old) })
        })
    }

    /// Turns a clustered table into a heap, which keeps its compression. Its indexes are built anew.
    pub fn drop_clustered_index(&mut self, name: &str) -> Result<(), EngineError> {
        self.reload(name, |old| Ok(Reload { key: None, ..Reload::same(old) }))
    }

    /// Gives the rows of a table another compression: all are written anew as a bulk load writes them, into full pages that are
    /// compressed as the setting says (`ALTER TABLE … REBUILD WITH (DATA_COMPRESSION = …)`). Its indexes keep theirs.
    pub fn set_compression(&mut self, name: &str, compression: Compression) -> Result<(), EngineError> {
        let compression = Some(compression);
        self.rebuild_table_with(name, RebuildOptions { compression, ..Default::default() })
    }

    /// The same for a nonclustered index (`ALTER INDEX … REBUILD WITH (DATA_COMPRESSION = …)`).
    pub fn set_index_compression(
        &mut self,
        table: &str,
        index: &str,
        compression: Compression,
    ) -> Result<(), EngineError> {
        let compression = Some(compression);
        self.rebuild_index_with(table, index, RebuildOptions { compression, ..Default::default() })
    }

    /// Gives a table other columns: the rows are written anew, unless all that happens is that nullable columns of variable length come at
    /// the end and the NULL bitmap has room for them, which changes the definition alone. Columns of keys and indexes must be kept.
    pub fn alter_columns(&mut self, name: &str, columns: &[NewColumn]) -> Result<(), EngineError> {
        let object = self.alone_in(name, LockMode::SchM)?;
        let old = self.working(object)?;
        if let Some(layout) = extended(&old, columns)? {
            return self.guarded(|this| {
                let mut working = this.working(object)?;
                working.layout = Arc::new(layout);
                let order = this.shared.options.text_order;
                if let Some(tree) = &working.clustered {
                    let definition = tree.definition.clone();
                    let tree = Tree::clustered(&working.layout, definition, tree.root, order)?;
                    working.clustered = Some(Arc::new(tree));
                }
                this.set_working(working);
                this.redefine(object)
            });
        }
        self.reload(name, |old| {
            let place = |column: usize| {
                let kept = |new: &NewColumn| matches!(new.source, ColumnSource::Kept(from) if from == column);
                columns.iter().position(kept).ok_or_else(|| EngineError::Schema {
                    reason: format!("column {column} is needed by a key or an index"),
                })
            };
            let moved = |definition: &IndexDefinition| {
                let key = definition.key.iter();
                let key = key.map(|key| Ok(KeyColumn { column: place(key.column)?, ..key.clone() }));
                Ok::<_, EngineError>(IndexDefinition {
                    key: key.collect::<Result<_, EngineError>>()?,
                    included: definition
                        .included
                        .iter()
                        .map(|column| place(*column))
                        .collect::<Result<_, _>>()?,
                    ..definition.clone()
                })
            };
            let key = old.clustered.as_ref().map(|tree| moved(&tree.definition)).transpose()?;
            let indexes = old.indexes.iter().map(|index| moved(&index.tree.definition));
            let indexes = indexes.collect::<Result<Vec<_>, _>>()?;
            let compression = old.layout.compression;
            Ok(Reload { columns: columns.to_vec(), key, indexes, compression, group: None })
        })
    }

    /// Writes all rows of a table anew, in another form.
    fn reload(
        &mut self,
        name: &str,
        form: impl FnOnce(&Table) -> Result<Reload, EngineError>,
    ) -> Result<(), EngineError> {
        let object = self.alone_in(name, LockMode::SchM)?;
        self.guarded(|this| {
            let reload = form(&this.working(object)?)?;
            let old = Arc::new(this.clear(object)?);
            let mut working = this.working(object)?;
            let definitions = reload.columns.iter().map(|new| new.column.clone()).collect();
            let layout = Tree::table_layout(definitions, reload.key.as_ref())?;
            working.layout = Arc::new(layout.with_compression(reload.compression)?);
            working.clustered = None;
            if let Some(group) = reload.group {
                // The chain of its maps stays where it begins.
                [UnitKind::InRow, UnitKind::Overflow]
                    .into_iter()
                    .for_each(|kind| working.unit_mut(kind).group = group);
            }
            let order = this.shared.options.text_order;
            let clustered = match &reload.key {
                Some(key) => {
                    let root = super::page::PageId::NONE;
                    Some(Tree::clustered(&working.layout, key.clone(), root, order)?)
                }
                None => None,
            };
            for (index, definition) in working.indexes.iter_mut().zip(reload.indexes) {
                let Index { id, tree, unit, .. } = index.clone();
                let layout = &working.layout;
                *index = Index::new(id, definition, layout, clustered.as_ref(), tree.root, unit, order)?;
            }
            this.set_working(working);
            this.plant(object, reload.key.as_ref())?;
            let table = Arc::new(this.working(object)?);
            // In the order in which the rows lie: a key that stays finds them sorted.
            let mut writer = BulkWriter::new(&this.shared, &table, this.id, BulkOptions::default())?;
            let reader = PageReader { shared: Arc::clone(&this.shared), view: View::Current };
            let copy = || {
                if old.clustered.is_some() {
                    let scan = OrderedScan::new(reader, Arc::clone(&old), None, None, None, None)?;
                    scan.into_iter().try_for_each(|batch| writer.append(&altered(&batch?, &reload.columns)?))
                } else {
                    let scan = Scan::new(reader, Arc::clone(&old), None)?;
                    scan.into_iter().try_for_each(|batch| writer.append(&altered(&batch?, &reload.columns)?))
                }
            };
            let copied = copy();
            let attached = this.attach_bulk(name, writer);
            copied.and(attached)?;
            this.redefine(object)
        })
    }

    /// Fills empty indexes with the rows of their table.
    fn build_indexes(&mut self, object: u32, ids: &[u16]) -> Result<(), EngineError> {
        let table = Arc::new(self.working(object)?);
        let memory = BulkOptions::default().sort_memory_bytes;
        let chosen = table.indexes.iter().filter(|index| ids.contains(&index.id));
        let mut loads: Vec<IndexLoad> =
            chosen.map(|index| IndexLoad::new(&self.shared, index, memory)).collect();
        let mut columns: Vec<usize> =
            loads.iter().flat_map(|load| load.index.shape.sources.iter().flatten().copied()).collect();
        columns.sort_unstable();
        columns.dedup();
        let reader = PageReader { shared: Arc::clone(&self.shared), view: View::Current };
        let mut scan = Scan::new(reader, Arc::clone(&table), Some(columns.clone()))?;
        while let Some(found) = scan.next_with_locators() {
            let (batch, locators) = found?;
            let addresses = locators.iter().filter_map(|locator| match locator {
                RowLocator::Address(address) => Some(*address),
                RowLocator::Key(_) => None,
            });
            let addresses: Vec<_> = addresses.collect();
            let values = columns.iter().copied().zip(batch.columns().iter().cloned()).collect();
            loads.iter_mut().try_for_each(|load| load.push(&values, &addresses, batch.num_rows()))?;
        }
        let minimally_logged = self.shared.is_minimally_logged();
        self.fill_indexes(object, loads, minimally_logged)
    }
}

/// What a table is written anew as.
struct Reload {
    columns: Vec<NewColumn>,
    key: Option<IndexDefinition>,
    indexes: Vec<IndexDefinition>,
    compression: Compression,
    /// Another file group for its rows.
    group: Option<u16>,
}

impl Reload {
    fn same(old: &Table) -> Self {
        let columns = old.layout.visible().iter().enumerate();
        let columns = columns
            .map(|(number, column)| NewColumn { column: column.clone(), source: ColumnSource::Kept(number) });
        Self {
            columns: columns.collect(),
            key: old.clustered.as_ref().map(|tree| tree.definition.clone()),
            indexes: old.indexes.iter().map(|index| index.tree.definition.clone()).collect(),
            compression: old.layout.compression,
            group: None,
        }
    }
}

/// The table's layout with columns added that its rows need not know of; None: the rows must be written anew.
fn extended(old: &Table, columns: &[NewColumn]) -> Result<Option<super::layout::Layout>, EngineError> {
    let known = old.layout.visible();
    let kept = |(number, (new, column)): (usize, (&NewColumn, &Column))| {
        matches!(new.source, ColumnSource::Kept(from) if from == number) && new.column == *column
    };
    let added = columns.get(known.len()..).unwrap_or_default();
    let alone = old.layout.hidden == 0
        && !old.layout.is_compressed()
        && columns.len() >= known.len()
        && columns.iter().zip(known).enumerate().all(kept)
        && columns.len().div_ceil(8) == known.len().div_ceil(8)
        && added.iter().all(|new| {
            let variable = matches!(new.column.kind.place(), Place::Variable { .. });
            variable && new.column.nullable && matches!(new.source, ColumnSource::Null)
        });
    if !alone {
        return Ok(None);
    }
    let key = old.clustered.as_ref().map(|tree| &tree.definition);
    let definitions = columns.iter().map(|new| new.column.clone()).collect();
    Tree::table_layout(definitions, key).map(Some)
}

/// Rows with other columns.
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

fn no_index(table: &str, index: &str) -> EngineError {
    EngineError::NoSuchIndex { table: table.to_owned(), index: index.to_owned() }
}
