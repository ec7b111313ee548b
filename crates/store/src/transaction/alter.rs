//! Changes the form of a table that has rows: creates and drops indexes, converts heaps to trees and back, rebuilds.

use std::sync::Arc;

use arrow::array::RecordBatch;

use super::change_alone::redefine;
use super::change_alone::{clear, give_up, give_up_unit, plant};
use super::load::{BulkOptions, BulkWriter, attach_finished, fill_indexes};
use super::rows::with_heap;
use super::unit_of_work::Transaction;
use super::write_table::WriteTable;
use crate::catalogue::Table;
use crate::error::EngineError;
use crate::heap::build::Fill;
use crate::heap::index_load::IndexLoad;
use crate::lock::LockMode;
use crate::page::unit::Owner;
use crate::page::unit::UnitKind;
use crate::record::compress::Compression;
use crate::record::layout::Column;
use crate::scan::ordered::{Direction, KeySpan, OrderedScan};
use crate::scan::{PageReader, Scan, View};
use crate::tree::index::{Index, IndexDefinition, RowLocator, Tree};

/// Options for the rebuild of a table or an index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RebuildOptions {
    /// Fill factor of trees; None: as declared.
    pub fill_factor_percent: Option<u8>,
    /// Compression of rows; None: as before.
    pub compression: Option<Compression>,
}

impl RebuildOptions {
    /// Returns options with this fill factor; None: as declared.
    pub fn filled(fill_factor_percent: Option<u8>) -> Self {
        Self { fill_factor_percent, compression: None }
    }

    /// Returns options with this compression.
    pub fn compressed(compression: Compression) -> Self {
        Self { fill_factor_percent: None, compression: Some(compression) }
    }

    fn apply(self, definition: &mut IndexDefinition) {
        definition.fill_factor_percent = self.fill_factor_percent.unwrap_or(definition.fill_factor_percent);
        definition.compression = self.compression.or(definition.compression);
    }
}

impl WriteTable<'_> {
    /// Creates a nonclustered index and fills it from the existing rows.
    pub fn create_index(&mut self, definition: &IndexDefinition) -> Result<(), EngineError> {
        self.create_index_on(definition, None)
    }

    /// Makes a nonclustered index in a file group; `None` is that of the table's rows.
    pub fn create_index_on(
        &mut self,
        definition: &IndexDefinition,
        group: Option<&str>,
    ) -> Result<(), EngineError> {
        let group = group.map(|name| self.transaction.shared.group_named(Some(name))).transpose()?;
        let object = self.alone(LockMode::SchM)?;
        let name = Arc::clone(&self.name);
        if self.transaction.work.table(object)?.index(&definition.name).is_some() {
            return Err(EngineError::TableExists { name: definition.name.clone() });
        }
        self.transaction.guarded(|this| {
            let mut working = this.work.table(object)?;
            let id = working.next_index;
            working.next_index = id.checked_add(1).filter(|next| *next < 16_000).ok_or_else(|| {
                EngineError::Schema { reason: "a table has had too many indexes".to_owned() }
            })?;
            let group = group.unwrap_or(working.unit(UnitKind::InRow).group);
            let storage = working.storage;
            this.work.put(working);
            let owner = Owner { table: &name, index: Some(&definition.name) };
            let unit = UnitKind::Index(id).id(storage);
            let unit = this.shared.allocator.create_unit(this.id, unit, group, owner)?;
            let order = this.shared.options.text_order;
            with_heap(this, object, |heap| heap.plant_index(id, definition.clone(), unit, order))?;
            build_indexes(this, object, &[id])?;
            redefine(this, object)
        })
    }

    /// Removes a nonclustered index.
    pub fn drop_index(&mut self, index: &str) -> Result<(), EngineError> {
        let object = self.alone(LockMode::SchM)?;
        let name = Arc::clone(&self.name);
        self.transaction.guarded(|this| {
            let mut working = this.work.table(object)?;
            let place = working.indexes.iter().position(|present| present.name() == index);
            let place = place.ok_or_else(|| no_index(&name, index))?;
            let dropped = working.indexes.remove(place);
            this.work.put(working);
            give_up_unit(&mut this.work, dropped.unit);
            redefine(this, object)
        })
    }

    /// Gives a nonclustered index, or the clustered key, another name.
    pub fn rename_index(&mut self, index: &str, new_name: &str) -> Result<(), EngineError> {
        let object = self.alone(LockMode::SchM)?;
        let name = Arc::clone(&self.name);
        self.transaction.guarded(|this| {
            let mut working = this.work.table(object)?;
            if working.index(new_name).is_some() {
                return Err(EngineError::TableExists { name: new_name.to_owned() });
            }
            let clustered = working.clustered.iter_mut().filter(|tree| tree.definition.name == index);
            let indexes = working.indexes.iter_mut().map(|index| &mut index.tree);
            let tree = indexes.filter(|tree| tree.definition.name == index).chain(clustered).next();
            let tree = tree.ok_or_else(|| no_index(&name, index))?;
            Arc::make_mut(tree).definition.name = new_name.to_owned();
            this.work.put(working);
            redefine(this, object)
        })
    }

    /// Rebuilds a nonclustered index.
    pub fn rebuild_index(&mut self, index: &str, options: RebuildOptions) -> Result<(), EngineError> {
        let object = self.alone(LockMode::SchM)?;
        let name = Arc::clone(&self.name);
        self.transaction.guarded(|this| {
            let mut working = this.work.table(object)?;
            let found = working.index(index).cloned().ok_or_else(|| no_index(&name, index))?;
            let mut definition = found.tree.definition.clone();
            options.apply(&mut definition);
            let unit = working.unit_mut(UnitKind::Index(found.id));
            unit.extents = Arc::default();
            let emptied = unit.clone();
            this.work.put(working);
            give_up(&mut this.work, std::iter::once(&found.unit));
            let order = this.shared.options.text_order;
            with_heap(this, object, |heap| heap.plant_index(found.id, definition, emptied, order))?;
            build_indexes(this, object, &[found.id])?;
            redefine(this, object)
        })
    }

    /// Rebuilds a table and its indexes (`ALTER TABLE … REBUILD`): dense pages, no forwarded rows. The options are
    /// for the rows of the table, which are written as a bulk load writes them. Its indexes keep their own.
    pub fn rebuild(&mut self, options: RebuildOptions) -> Result<(), EngineError> {
        self.reload(|old| {
            let mut reload = Reload::same(old);
            if let Some(key) = &mut reload.key {
                options.apply(key);
            }
            reload.compression = options.compression.unwrap_or(reload.compression);
            Ok(reload)
        })
    }

    /// Turns a heap into a tree with this key, or gives a clustered table another one. Its indexes are rebuilt. The
    /// table keeps its compression unless the key says another one.
    pub fn create_clustered_index(&mut self, key: &IndexDefinition) -> Result<(), EngineError> {
        self.create_clustered_index_on(key, None)
    }

    /// Creates a clustered index in another file group (`ON`). The rows and their overflow move there; large values stay in their
    /// group.
    pub fn create_clustered_index_on(
        &mut self,
        key: &IndexDefinition,
        group: Option<&str>,
    ) -> Result<(), EngineError> {
        let group = group.map(|group| self.transaction.shared.group_named(Some(group))).transpose()?;
        self.reload(|old| {
            let compression = key.compression.unwrap_or(old.layout.compression);
            Ok(Reload { key: Some(key.clone()), compression, group, ..Reload::same(old) })
        })
    }

    /// Turns a clustered table into a heap, which keeps its compression. Its indexes are rebuilt.
    pub fn drop_clustered_index(&mut self) -> Result<(), EngineError> {
        self.reload(|old| Ok(Reload { key: None, ..Reload::same(old) }))
    }

    /// Rewrites all rows of a table in another form.
    fn reload(
        &mut self,
        form: impl FnOnce(&Table) -> Result<Reload, EngineError>,
    ) -> Result<(), EngineError> {
        let object = self.alone(LockMode::SchM)?;
        self.transaction.guarded(|this| {
            let reload = form(&this.work.table(object)?)?;
            let (mut rows, mut writer) = start_reload(this, object, reload)?;
            let copied = rows.try_for_each(|batch| writer.append(&batch?));
            let attached = attach_finished(this, object, writer.finish());
            copied.and(attached)?;
            redefine(this, object)
        })
    }
}

/// Empties a table and gives it another form. Returns its old rows in physical order, and a writer for the new form.
pub(super) fn start_reload(
    transaction: &mut Transaction,
    object: u32,
    reload: Reload,
) -> Result<(OldRows, BulkWriter), EngineError> {
    let old = Arc::new(clear(transaction, object)?);
    let mut working = transaction.work.table(object)?;
    let layout = Tree::table_layout(reload.columns, reload.key.as_ref())?;
    working.layout = Arc::new(layout.with_compression(reload.compression)?);
    working.clustered = None;
    if let Some(group) = reload.group {
        // The chain of its maps stays where it begins.
        [UnitKind::InRow, UnitKind::Overflow]
            .into_iter()
            .for_each(|kind| working.unit_mut(kind).group = group);
    }
    let order = transaction.shared.options.text_order;
    let clustered = match &reload.key {
        Some(key) => {
            let root = crate::page::PageId::NONE;
            Some(Tree::clustered(&working.layout, key.clone(), root, order)?)
        }
        None => None,
    };
    for (index, definition) in working.indexes.iter_mut().zip(reload.indexes) {
        let Index { id, tree, unit, .. } = index.clone();
        let layout = &working.layout;
        *index = Index::new(id, definition, layout, clustered.as_ref(), tree.root, unit, order)?;
    }
    transaction.work.put(working);
    plant(transaction, object, reload.key.as_ref())?;
    let table = Arc::new(transaction.work.table(object)?);
    let writer = BulkWriter::new(&transaction.shared, &table, transaction.id, true, BulkOptions::default())?;
    let reader = PageReader { shared: Arc::clone(&transaction.shared), view: View::Current, passes: false };
    // A key that stays finds them sorted.
    let rows = if old.clustered.is_some() {
        OldRows::Ordered(OrderedScan::new(
            reader,
            Arc::clone(&old),
            None,
            None,
            &[KeySpan::default()],
            Direction::Forward,
        )?)
    } else {
        OldRows::Extents(Scan::new(reader, Arc::clone(&old), None)?)
    };
    Ok((rows, writer))
}

/// Fills empty indexes with the rows of their table.
fn build_indexes(transaction: &mut Transaction, object: u32, ids: &[u16]) -> Result<(), EngineError> {
    let table = Arc::new(transaction.work.table(object)?);
    let memory = BulkOptions::default().sort_memory_bytes;
    let chosen = table.indexes.iter().filter(|index| ids.contains(&index.id));
    let mut loads: Vec<IndexLoad> =
        chosen.map(|index| IndexLoad::new(&transaction.shared, index, memory)).collect();
    let mut columns: Vec<usize> = loads.iter().flat_map(|load| load.index.sources()).collect();
    columns.sort_unstable();
    columns.dedup();
    let reader = PageReader { shared: Arc::clone(&transaction.shared), view: View::Current, passes: false };
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
    let minimally_logged = transaction.shared.is_minimally_logged();
    fill_indexes(transaction, object, loads, Fill::AsDeclared, minimally_logged)
}

/// The old rows of a table that is rewritten.
#[derive(Debug)]
pub(crate) enum OldRows {
    Extents(Scan),
    Ordered(OrderedScan),
}

impl Iterator for OldRows {
    type Item = Result<RecordBatch, EngineError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Extents(scan) => scan.next(),
            Self::Ordered(scan) => scan.next(),
        }
    }
}

/// The new form of a table that is rewritten.
pub(crate) struct Reload {
    pub columns: Vec<Column>,
    pub key: Option<IndexDefinition>,
    pub indexes: Vec<IndexDefinition>,
    pub compression: Compression,
    /// New file group of the rows; None: unchanged.
    pub group: Option<u16>,
}

impl Reload {
    fn same(old: &Table) -> Self {
        Self {
            columns: old.layout.visible().to_vec(),
            key: old.clustered.as_ref().map(|tree| tree.definition.clone()),
            indexes: old.indexes.iter().map(|index| index.tree.definition.clone()).collect(),
            compression: old.layout.compression,
            group: None,
        }
    }
}

fn no_index(table: &str, index: &str) -> EngineError {
    EngineError::NoSuchIndex { table: table.to_owned(), index: index.to_owned() }
}
