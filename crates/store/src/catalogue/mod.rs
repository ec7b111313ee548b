//! The tables of a database. Their definitions are rows of the engine's own heap.

pub(crate) mod definition;
pub(crate) mod table_map;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::EngineError;
use crate::page::unit::{CATALOGUE, ExtentUse, Owner, TakenPage, Unit, UnitKind};
use crate::page::{RowId, UnitId};
use crate::record::kind::Kind;
use crate::record::layout::{Column, Layout};
use crate::record::{CopyRefusal, WireForm, WireRowCopier};
use crate::tree::index::{Index, Tree};
use table_map::{References, TableMap};

/// A table as of one commit, or as one transaction sees it.
#[derive(Debug, Clone)]
pub struct Table {
    /// Id, never used again.
    pub object: u32,
    /// The number in its pages: its own id, or that of the table with which it has exchanged its rows.
    pub storage: u32,
    /// Name of the table.
    pub name: Arc<str>,
    /// The caller's own text.
    pub properties: Arc<str>,
    /// Names of tables that the text refers to.
    pub refers_to: Arc<[String]>,
    /// The form of its rows.
    pub layout: Arc<Layout>,
    /// Number of rows.
    pub rows: u64,
    /// Tree; None: a heap.
    pub clustered: Option<Arc<Tree>>,
    /// Nonclustered indexes of the table.
    pub indexes: Vec<Index>,
    /// Number of the next one.
    pub(crate) next_index: u16,
    pub(crate) units: [Unit; 3],
    /// Addresses of the catalogue rows that hold the table's definition.
    pub(crate) definition: Vec<RowId>,
}

impl Table {
    /// Counts the pages in use by the table's rows.
    pub fn data_pages(&self) -> u64 {
        self.unit(UnitKind::InRow).pages()
    }

    /// Counts the extents that belong to the table.
    pub fn extents(&self) -> u64 {
        self.all_units().map(|unit| unit.extents.len() as u64).sum()
    }

    /// Makes a copier of wire rows of a form into the table's pages.
    ///
    /// # Errors
    /// The reason why rows of this form must be decoded instead.
    pub fn wire_row_copier(&self, form: WireForm<'_>) -> Result<WireRowCopier, CopyRefusal> {
        // Rows of a heap are decoded before they have addresses, if any of its indexes needs their columns.
        let is_copied = |index: &Index| index.entry_copier(&self.layout).is_some();
        if self.clustered.is_none() && !self.indexes.iter().all(is_copied) {
            return Err(CopyRefusal::Keys);
        }
        WireRowCopier::new(&self.layout, form)
    }

    /// Returns the nonclustered index of this name.
    pub fn index(&self, name: &str) -> Option<&Index> {
        self.indexes.iter().find(|index| index.name() == name)
    }

    /// Returns an allocation unit of the table. Asking for that of an index that does not exist is a fault of
    /// the caller.
    pub fn unit(&self, kind: UnitKind) -> &Unit {
        let index = match kind {
            UnitKind::Index(id) => self.indexes.iter().find(|index| index.id == id),
            _ => None,
        };
        index.map_or(&self.units[kind.place()], |index| &index.unit)
    }

    /// Returns the table and index that an error names when an allocation for one of the table's units fails.
    pub(crate) fn owner(&self, kind: UnitKind) -> Owner<'_> {
        let tree = self.tree(kind).map(|tree| tree.definition.name.as_str());
        Owner { table: &self.name, index: tree.filter(|name| !name.is_empty()) }
    }

    pub(crate) fn unit_mut(&mut self, kind: UnitKind) -> &mut Unit {
        let index = match kind {
            UnitKind::Index(id) => self.indexes.iter_mut().find(|index| index.id == id),
            _ => None,
        };
        match index {
            Some(index) => &mut index.unit,
            None => &mut self.units[kind.place()],
        }
    }

    /// Lists the table's allocation units, those of its indexes last.
    pub fn all_units(&self) -> impl Iterator<Item = &Unit> {
        self.units.iter().chain(self.indexes.iter().map(|index| &index.unit))
    }

    /// Lists the table's allocation units: the fixed ones, then one for each index.
    pub(crate) fn unit_kinds(&self) -> Vec<UnitKind> {
        let indexes = self.indexes.iter().map(|index| UnitKind::Index(index.id));
        UnitKind::ALL.into_iter().chain(indexes).collect()
    }

    /// Returns the tree in an allocation unit; None: a heap.
    pub(crate) fn tree(&self, kind: UnitKind) -> Option<&Arc<Tree>> {
        match kind {
            UnitKind::InRow => self.clustered.as_ref(),
            UnitKind::Index(id) => self.indexes.iter().find(|index| index.id == id).map(|index| &index.tree),
            UnitKind::Overflow | UnitKind::Large => None,
        }
    }

    /// Adds extents that were filled by a bulk writer, and pages that were taken beside other transactions.
    pub(crate) fn attach(&mut self, filled: &Filled) {
        self.rows = self.rows.saturating_add_signed(filled.rows);
        for (kind, extents) in &filled.extents {
            if !extents.is_empty() {
                Arc::make_mut(&mut self.unit_mut(*kind).extents).extend_from_slice(extents);
            }
        }
        for taken in &filled.pages {
            self.unit_mut(taken.kind).take(*taken);
        }
    }

    /// Creates a new table without extents.
    pub(crate) fn new(
        object: u32,
        name: &str,
        (properties, references): (&str, Option<References>),
        layout: Layout,
        mut unit: impl FnMut(UnitId) -> Result<Unit, EngineError>,
    ) -> Result<Self, EngineError> {
        let units = [
            unit(UnitKind::InRow.id(object))?,
            unit(UnitKind::Overflow.id(object))?,
            unit(UnitKind::Large.id(object))?,
        ];
        let mut table = Self {
            object,
            storage: object,
            name: name.into(),
            properties: Arc::default(),
            refers_to: Arc::default(),
            layout: Arc::new(layout),
            rows: 0,
            clustered: None,
            indexes: Vec::new(),
            next_index: 2,
            units,
            definition: Vec::new(),
        };
        table.set_properties(properties, references);
        Ok(table)
    }

    /// Gives it another text.
    pub(crate) fn set_properties(&mut self, text: &str, references: Option<References>) {
        if *self.properties == *text {
            return;
        }
        self.properties = text.into();
        let names = references.map(|references| (references.read)(text)).unwrap_or_default();
        if *self.refers_to != *names {
            self.refers_to = names.into();
        }
    }
}

/// Space and rows that a transaction has added to a table that others change too: extents of each unit,
/// single pages, and the change of the number of rows.
#[derive(Debug, Clone, Default)]
pub struct Filled {
    pub(crate) extents: BTreeMap<UnitKind, Vec<ExtentUse>>,
    pub(crate) pages: Vec<TakenPage>,
    pub(crate) rows: i64,
}

/// Tables as of one commit.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    /// Number of the last commit in it.
    pub sequence: u64,
    pub(crate) tables: TableMap,
}

impl Catalogue {
    /// Returns the table of this name.
    pub fn named(&self, name: &str) -> Option<&Arc<Table>> {
        self.tables.named(name).filter(|table| table.object != CATALOGUE)
    }

    /// Lists all tables but the catalogue's own, in the order of their creation.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.tables.tables().filter(|table| table.object != CATALOGUE)
    }

    /// Lists the tables whose text refers to a name, in no order.
    pub fn referring(&self, name: &str) -> impl Iterator<Item = &Arc<Table>> {
        self.tables.referring(name)
    }
}

/// Returns the form of the catalogue's own rows: object, number of the part, part of the definition.
pub(crate) fn catalogue_layout() -> Result<Layout, EngineError> {
    Layout::new(vec![
        Column::required("object_id", Kind::Int),
        Column::required("part", Kind::Int),
        Column::required("definition", Kind::VarBinary(Some(8000))),
    ])
}

/// Returns the table's tree, or an error that it has none.
pub(crate) fn tree_of(table: &Table) -> Result<Arc<Tree>, EngineError> {
    table
        .clustered
        .clone()
        .ok_or_else(|| EngineError::Schema { reason: format!("table {:?} has no key", table.name) })
}
