//! Definitions of tables as the catalogue's heap holds them, cut into rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BinaryArray, Int32Array, RecordBatch};
use arrow::datatypes::Int32Type;

use super::{Table, catalogue_layout};
use crate::codec::{CodecError, Reader, Writer};
use crate::disk::file_layout::PRIMARY;
use crate::error::EngineError;
use crate::page::unit::Unit;
use crate::page::{PageId, RowId};
use crate::record::compress::Compression;
use crate::record::layout::Column;
use crate::tree::index::IndexDefinition;
use crate::tree::index_filter;
use crate::tree::key::KeyColumn;

/// Bytes of a definition in one row.
const PART_BYTES: usize = 7000;

/// Serialises a table's definition, cut into rows of the catalogue.
pub(crate) fn rows_of(table: &Table) -> Result<RecordBatch, EngineError> {
    let mut out = Writer::default();
    out.string(&table.name);
    out.string(&table.properties);
    out.u8(table.layout.compression as u8);
    out.u32(u32::from(table.next_index));
    table.units.iter().for_each(|unit| put_unit(&mut out, unit));
    out.count(table.layout.visible().len());
    for column in table.layout.visible() {
        out.string(&column.name);
        out.string(&column.kind.to_string());
        out.u8(u8::from(column.nullable));
    }
    out.u8(u8::from(table.clustered.is_some()));
    if let Some(tree) = &table.clustered {
        put_page(&mut out, tree.root);
        put_definition(&mut out, &tree.definition);
    }
    out.count(table.indexes.len());
    for index in &table.indexes {
        out.u32(u32::from(index.id));
        put_unit(&mut out, &index.unit);
        put_page(&mut out, index.tree.root);
        put_definition(&mut out, &index.tree.definition);
    }
    // Most tables have the pages that they began with.
    if table.storage != table.object {
        out.u32(table.storage);
    }
    let bytes = out.into_bytes();
    let parts: Vec<&[u8]> = bytes.chunks(PART_BYTES).collect();
    let object = table.object as i32;
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from_iter_values(parts.iter().map(|_| object))),
        Arc::new(Int32Array::from_iter_values((0..).zip(&parts).map(|(number, _)| number))),
        Arc::new(BinaryArray::from_iter_values(&parts)),
    ];
    Ok(RecordBatch::try_new(catalogue_layout()?.schema, columns)?)
}

/// A definition read back: everything but the extents.
#[derive(Debug)]
pub(crate) struct Definition {
    pub object: u32,
    pub storage: u32,
    pub name: String,
    pub properties: String,
    pub compression: Compression,
    pub columns: Vec<Column>,
    pub units: [StoredUnit; 3],
    pub next_index: u16,
    pub clustered: Option<(PageId, IndexDefinition)>,
    pub indexes: Vec<StoredIndex>,
    pub rows: Vec<RowId>,
}

/// An allocation unit as the catalogue has it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoredUnit {
    pub first_iam: PageId,
    pub group: u16,
}

impl Default for StoredUnit {
    fn default() -> Self {
        Self { first_iam: PageId::NONE, group: PRIMARY }
    }
}

/// A nonclustered index as the catalogue has it.
#[derive(Debug)]
pub(crate) struct StoredIndex {
    pub id: u16,
    pub unit: StoredUnit,
    pub root: PageId,
    pub definition: IndexDefinition,
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
        let read = parts.into_iter().map(|(object, parts)| {
            let bytes: Vec<u8> = parts.values().flat_map(|(bytes, _)| bytes.iter().copied()).collect();
            let rows = parts.values().map(|(_, id)| *id).collect();
            Self::parse(object, rows, &bytes).map_err(|error| EngineError::DamagedDatabase {
                what: "the catalogue",
                reason: format!("object {object}: {error}"),
            })
        });
        read.collect()
    }

    fn parse(object: u32, rows: Vec<RowId>, bytes: &[u8]) -> Result<Self, CodecError> {
        let mut reader = Reader::new(bytes);
        let (name, properties) = (reader.string("name")?, reader.string("properties")?);
        let compression = take_compression(&mut reader)?;
        let next_index = take_u16(&mut reader, "next index")?;
        let mut units = [StoredUnit::default(); 3];
        for unit in &mut units {
            *unit = take_unit(&mut reader)?;
        }
        let count = reader.count(9, "columns")?;
        let mut columns = Vec::with_capacity(count);
        for _ in 0..count {
            let name = reader.string("column name")?;
            let kind = reader.string("column type")?;
            let kind = kind.parse().map_err(|_| reader.invalid("column type", kind.clone()))?;
            columns.push(Column { name, kind, nullable: reader.u8("nullable")? != 0 });
        }
        let clustered = match reader.u8("clustered")? {
            0 => None,
            _ => Some((take_page(&mut reader)?, take_definition(&mut reader)?)),
        };
        let count = reader.count(20, "indexes")?;
        let mut indexes = Vec::with_capacity(count);
        for _ in 0..count {
            let id = take_u16(&mut reader, "index")?;
            let (unit, root) = (take_unit(&mut reader)?, take_page(&mut reader)?);
            indexes.push(StoredIndex { id, unit, root, definition: take_definition(&mut reader)? });
        }
        let storage = match reader.remaining() {
            0 => object,
            _ => reader.u32("storage")?,
        };
        reader.finish("definition")?;
        Ok(Self {
            object,
            storage,
            name,
            properties,
            compression,
            columns,
            units,
            next_index,
            clustered,
            indexes,
            rows,
        })
    }
}

fn put_definition(out: &mut Writer, definition: &IndexDefinition) {
    out.string(&definition.name);
    out.count(definition.key.len());
    for key in &definition.key {
        out.u32(key.column as u32);
        out.u8(u8::from(key.descending));
        out.u8(u8::from(key.collation.is_some()));
        out.string(key.collation.as_deref().unwrap_or_default());
    }
    out.count(definition.included.len());
    definition.included.iter().for_each(|column| out.u32(*column as u32));
    // Two flags; without a filter it is what it was before there were filters.
    out.u8(u8::from(definition.unique) | u8::from(!definition.filter.is_empty()) << 1);
    out.u8(u8::from(definition.is_constraint));
    out.u8(definition.fill_factor_percent);
    out.u8(u8::from(definition.pad_index));
    out.u8(definition.compression.unwrap_or_default() as u8);
    if !definition.filter.is_empty() {
        index_filter::put(out, &definition.filter);
    }
}

fn take_definition(reader: &mut Reader<'_>) -> Result<IndexDefinition, CodecError> {
    let name = reader.string("index name")?;
    let count = reader.count(10, "key columns")?;
    let mut key = Vec::with_capacity(count);
    for _ in 0..count {
        let column = reader.u32("key column")? as usize;
        let descending = reader.u8("descending")? != 0;
        let has_collation = reader.u8("has a collation")? != 0;
        let collation = Some(reader.string("collation")?).filter(|_| has_collation);
        key.push(KeyColumn { column, descending, collation });
    }
    let count = reader.count(4, "included columns")?;
    let included =
        (0..count).map(|_| Ok(reader.u32("included column")? as usize)).collect::<Result<_, CodecError>>()?;
    let flags = reader.u8("unique")?;
    let mut definition = IndexDefinition {
        name,
        key,
        included,
        filter: Vec::new(),
        unique: flags & 1 != 0,
        is_constraint: reader.u8("constraint")? != 0,
        fill_factor_percent: reader.u8("fill factor")?,
        pad_index: reader.u8("pad index")? != 0,
        compression: Some(take_compression(reader)?),
    };
    if flags & 2 != 0 {
        definition.filter = index_filter::take(reader)?;
    }
    Ok(definition)
}

fn take_compression(reader: &mut Reader<'_>) -> Result<Compression, CodecError> {
    let number = reader.u8("compression")?;
    Compression::from_number(number).ok_or_else(|| reader.invalid("compression", number.to_string()))
}

fn put_unit(out: &mut Writer, unit: &Unit) {
    put_page(out, unit.first_iam);
    out.u16(unit.group);
}

fn take_unit(reader: &mut Reader<'_>) -> Result<StoredUnit, CodecError> {
    Ok(StoredUnit { first_iam: take_page(reader)?, group: reader.u16("file group")? })
}

fn put_page(out: &mut Writer, page: PageId) {
    out.u32(u32::from(page.file));
    out.u32(page.page);
}

fn take_page(reader: &mut Reader<'_>) -> Result<PageId, CodecError> {
    Ok(PageId { file: take_u16(reader, "file")?, page: reader.u32("page")? })
}

fn take_u16(reader: &mut Reader<'_>, field: &'static str) -> Result<u16, CodecError> {
    let value = reader.u32(field)?;
    u16::try_from(value).map_err(|_| reader.invalid(field, value.to_string()))
}
