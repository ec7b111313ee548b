//! The tables of a database, and how their definitions are kept: as rows of a heap of the engine's own.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BinaryArray, Int32Array, RecordBatch};
use arrow::datatypes::Int32Type;

use super::allocation::{ExtentUse, Unit};
use super::error::EngineError;
use super::key::KeyLayout;
use super::kind::Kind;
use super::layout::{Column, Layout};
use super::page::{PageId, RowId, UnitId};
use crate::codec::{CodecError, Reader, Writer};

/// Object id of the catalogue's own heap.
pub const CATALOGUE: u32 = 1;
/// Bytes of a definition in one row.
const PART_BYTES: usize = 7000;

/// Which of a table's allocation units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnitKind {
    /// Rows.
    InRow,
    /// Values that were moved out of long rows.
    Overflow,
    /// Large values.
    Large,
}

impl UnitKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::InRow, Self::Overflow, Self::Large];

    fn id(self, object: u32) -> UnitId {
        UnitId { object, index: 256 + self as u16 }
    }
}

/// A table as of one commit, or as one transaction sees it.
#[derive(Debug, Clone)]
pub struct Table {
    /// Its id, never used again.
    pub object: u32,
    /// Its name.
    pub name: String,
    /// The caller's own text.
    pub properties: String,
    /// The form of its rows.
    pub layout: Arc<Layout>,
    /// Rows.
    pub rows: u64,
    /// Its key and where its tree starts; None: a heap.
    pub clustered: Option<Arc<Clustered>>,
    pub(crate) units: [Unit; 3],
    /// Where its definition is.
    pub(crate) definition: Vec<RowId>,
}

/// The clustered tree of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clustered {
    /// Its key.
    pub key: KeyLayout,
    /// Its root, which never moves.
    pub root: PageId,
}

impl Table {
    /// Pages in use by its rows.
    pub fn data_pages(&self) -> u64 {
        self.unit(UnitKind::InRow).pages()
    }

    /// Extents that belong to it.
    pub fn extents(&self) -> u64 {
        self.units.iter().map(|unit| unit.extents.len() as u64).sum()
    }

    /// One of its allocation units.
    pub fn unit(&self, kind: UnitKind) -> &Unit {
        &self.units[kind as usize]
    }

    pub(crate) fn unit_mut(&mut self, kind: UnitKind) -> &mut Unit {
        &mut self.units[kind as usize]
    }

    /// Adds extents that were filled by a bulk writer.
    pub(crate) fn attach(&mut self, filled: &Filled) {
        self.rows += filled.rows;
        for (unit, extents) in self.units.iter_mut().zip(&filled.extents) {
            if !extents.is_empty() {
                Arc::make_mut(&mut unit.extents).extend_from_slice(extents);
            }
        }
    }

    /// A new table without extents.
    pub(crate) fn new(
        object: u32,
        name: String,
        properties: String,
        layout: Layout,
        mut unit: impl FnMut(UnitId) -> Result<Unit, EngineError>,
    ) -> Result<Self, EngineError> {
        let units = [
            unit(UnitKind::InRow.id(object))?,
            unit(UnitKind::Overflow.id(object))?,
            unit(UnitKind::Large.id(object))?,
        ];
        Ok(Self {
            object,
            name,
            properties,
            layout: Arc::new(layout),
            rows: 0,
            clustered: None,
            units,
            definition: Vec::new(),
        })
    }

    /// What is written in the catalogue, cut into rows.
    pub(crate) fn definition_rows(&self) -> Result<RecordBatch, EngineError> {
        let mut out = Writer::default();
        out.string(&self.name);
        out.string(&self.properties);
        for unit in &self.units {
            out.u32(u32::from(unit.first_iam.file));
            out.u32(unit.first_iam.page);
        }
        out.count(self.layout.columns.len());
        for column in self.layout.columns.iter() {
            out.string(&column.name);
            out.string(&column.kind.to_string());
            out.u8(u8::from(column.nullable));
        }
        let root = self.clustered.as_ref().map_or(PageId::NONE, |tree| tree.root);
        out.u32(u32::from(root.file));
        out.u32(root.page);
        let key: &[usize] = self.clustered.as_ref().map_or(&[], |tree| &tree.key.columns);
        out.count(key.len());
        key.iter().for_each(|column| out.u32(*column as u32));
        let bytes = out.into_bytes();
        let parts: Vec<&[u8]> = bytes.chunks(PART_BYTES).collect();
        let object = self.object as i32;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int32Array::from_iter_values(parts.iter().map(|_| object))),
            Arc::new(Int32Array::from_iter_values((0..).zip(&parts).map(|(number, _)| number))),
            Arc::new(BinaryArray::from_iter_values(&parts)),
        ];
        Ok(RecordBatch::try_new(catalogue_layout()?.schema, columns)?)
    }
}

/// What a bulk writer has filled: extents of each unit, and rows.
#[derive(Debug, Clone, Default)]
pub struct Filled {
    pub(crate) extents: [Vec<ExtentUse>; 3],
    pub(crate) rows: u64,
}

/// All tables as of one commit.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    /// Number of the last commit in it.
    pub sequence: u64,
    pub(crate) tables: BTreeMap<u32, Arc<Table>>,
}

impl Catalogue {
    /// The table of this name.
    pub fn named(&self, name: &str) -> Option<&Arc<Table>> {
        self.tables().find(|table| table.name == name)
    }

    /// All tables but the catalogue's own, in the order of their creation.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.tables.values().filter(|table| table.object != CATALOGUE)
    }
}

/// The form of the catalogue's own rows: object, number of the part, part of the definition.
pub(crate) fn catalogue_layout() -> Result<Layout, EngineError> {
    Layout::new(vec![
        Column::required("object_id", Kind::Int),
        Column::required("part", Kind::Int),
        Column::required("definition", Kind::VarBinary(Some(8000))),
    ])
}

/// A definition read back: everything but the extents.
pub(crate) struct Definition {
    pub object: u32,
    pub name: String,
    pub properties: String,
    pub layout: Layout,
    pub iam_pages: [PageId; 3],
    pub clustered: Option<Arc<Clustered>>,
    pub rows: Vec<RowId>,
}

/// The parts of a definition as they are written.
struct Parts {
    name: String,
    properties: String,
    iam_pages: [PageId; 3],
    columns: Vec<Column>,
    root: PageId,
    key: Vec<usize>,
}

impl Definition {
    /// Puts the parts of each definition together.
    pub fn read(batches: &[(RecordBatch, Vec<RowId>)]) -> Result<Vec<Self>, EngineError> {
        let mut parts: BTreeMap<u32, BTreeMap<i32, (&[u8], RowId)>> = BTreeMap::new();
        for (batch, ids) in batches {
            let objects = batch.column(0).as_primitive::<Int32Type>();
            let numbers = batch.column(1).as_primitive::<Int32Type>();
            let bytes = batch.column(2).as_binary::<i32>();
            for (row, id) in ids.iter().enumerate() {
                let entry = parts.entry(objects.value(row) as u32).or_default();
                entry.insert(numbers.value(row), (bytes.value(row), *id));
            }
        }
        let damaged = |object: u32, reason: String| EngineError::DamagedDatabase {
            what: "the catalogue",
            reason: format!("object {object}: {reason}"),
        };
        parts
            .into_iter()
            .map(|(object, parts)| {
                let bytes: Vec<u8> = parts.values().flat_map(|(bytes, _)| bytes.iter().copied()).collect();
                let rows = parts.values().map(|(_, id)| *id).collect();
                let parsed = Self::parse(&bytes).map_err(|error| damaged(object, error.to_string()))?;
                let mut layout = Layout::new(parsed.columns)?;
                layout.pinned = parsed.key.clone().into();
                let clustered = match parsed.key.as_slice() {
                    [] => None,
                    key => {
                        Some(Arc::new(Clustered { key: KeyLayout::new(&layout, key)?, root: parsed.root }))
                    }
                };
                let (name, properties) = (parsed.name, parsed.properties);
                Ok(Self { object, name, properties, layout, iam_pages: parsed.iam_pages, clustered, rows })
            })
            .collect()
    }

    fn parse(bytes: &[u8]) -> Result<Parts, CodecError> {
        let mut reader = Reader::new(bytes);
        let (name, properties) = (reader.string("name")?, reader.string("properties")?);
        let mut iam_pages = [PageId::NONE; 3];
        for page in &mut iam_pages {
            let file = reader.u32("file")?;
            let file = u16::try_from(file).map_err(|_| reader.invalid("file", file.to_string()))?;
            *page = PageId { file, page: reader.u32("page")? };
        }
        let count = reader.count(9, "columns")?;
        let mut columns = Vec::with_capacity(count);
        for _ in 0..count {
            let name = reader.string("column name")?;
            let kind = reader.string("column type")?;
            let kind = kind.parse().map_err(|_| reader.invalid("column type", kind.clone()))?;
            columns.push(Column { name, kind, nullable: reader.u8("nullable")? != 0 });
        }
        let file = reader.u32("root file")?;
        let file = u16::try_from(file).map_err(|_| reader.invalid("root file", file.to_string()))?;
        let root = PageId { file, page: reader.u32("root page")? };
        let count = reader.count(4, "key")?;
        let key =
            (0..count).map(|_| Ok(reader.u32("key column")? as usize)).collect::<Result<_, CodecError>>()?;
        reader.finish("definition")?;
        Ok(Parts { name, properties, iam_pages, columns, root, key })
    }
}
