//! The committed state: which tables there are and where their rows lie. Immutable; every commit makes the next one.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;

use crate::segment::{Segment, SegmentFile};
use crate::small_rows::{batch_bytes, merge_small};

/// Identifies a table for its whole life, through renames. Never used for another table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub u64);

/// What there is to know about a table without reading it.
#[derive(Debug, Clone)]
pub struct TableInfo {
    /// Stays through renames.
    pub id: TableId,
    /// Full name, unique in the database; compared byte by byte.
    pub name: Arc<str>,
    /// Columns in order.
    pub schema: SchemaRef,
    /// The caller's own text, kept with the table.
    pub properties: Arc<str>,
    /// Number of rows.
    pub rows: u64,
    /// Bytes that the rows take: on disk for what lies in segments, in memory otherwise.
    pub bytes: u64,
}

/// Rows in scanning order.
#[derive(Debug, Clone)]
pub(crate) enum Piece {
    Rows(RecordBatch),
    Segment(Segment),
}

impl Piece {
    pub fn rows(&self) -> u64 {
        match self {
            Self::Rows(batch) => batch.num_rows() as u64,
            Self::Segment(segment) => segment.rows,
        }
    }

    pub fn bytes(&self) -> u64 {
        match self {
            Self::Rows(batch) => batch_bytes(batch) as u64,
            Self::Segment(segment) => segment.length_bytes,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub id: TableId,
    pub name: String,
    pub schema: SchemaRef,
    pub properties: String,
    pub pieces: Vec<Piece>,
}

impl Table {
    pub fn info(&self) -> TableInfo {
        TableInfo {
            id: self.id,
            name: self.name.as_str().into(),
            schema: Arc::clone(&self.schema),
            properties: self.properties.as_str().into(),
            rows: self.pieces.iter().map(Piece::rows).sum(),
            bytes: self.pieces.iter().map(Piece::bytes).sum(),
        }
    }

    pub fn push_rows(&mut self, batch: RecordBatch) -> Result<(), ArrowError> {
        let merged = merge_small(batch, |mergeable| match self.pieces.pop() {
            Some(Piece::Rows(last)) if mergeable(&last) => Some(last),
            Some(other) => {
                self.pieces.push(other);
                None
            }
            None => None,
        })?;
        self.pieces.push(Piece::Rows(merged));
        Ok(())
    }
}

/// One change of the catalogue: what a journal record is made of.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    Create { id: TableId, name: String, schema: SchemaRef, properties: String },
    Drop { id: TableId },
    Rename { id: TableId, name: String },
    SetProperties { id: TableId, properties: String },
    Clear { id: TableId },
    AddSegment { id: TableId, segment: Segment },
    AddRows { id: TableId, batch: RecordBatch },
}

/// All tables as of one commit.
#[derive(Debug, Clone, Default)]
pub(crate) struct Catalogue {
    pub sequence: u64,
    tables: BTreeMap<TableId, Arc<Table>>,
    names: Arc<HashMap<String, TableId>>,
    names_changed: bool,
}

/// A change that does not fit the state: from a transaction a defect, from a journal damage.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApplyError {
    #[error("no table with id {}", .0.0)]
    NoSuchTable(TableId),
    #[error("table id {} used twice", .0.0)]
    TableIdUsed(TableId),
    #[error("two tables named {0:?}")]
    NameUsed(String),
    #[error(transparent)]
    Arrow(#[from] ArrowError),
}

impl Catalogue {
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.tables.values()
    }

    pub fn table(&self, id: TableId) -> Option<&Arc<Table>> {
        self.tables.get(&id)
    }

    pub fn named(&self, name: &str) -> Option<&Arc<Table>> {
        self.tables.get(self.names.get(name)?)
    }

    /// Bytes of rows that are in memory.
    pub fn memory_bytes(&self) -> usize {
        let pieces = self.tables.values().flat_map(|table| &table.pieces);
        let bytes = pieces.map(|piece| match piece {
            Piece::Rows(batch) => batch_bytes(batch),
            Piece::Segment(_) => 0,
        });
        bytes.sum()
    }

    /// The files of all tables.
    pub fn segment_files(&self) -> impl Iterator<Item = &Arc<SegmentFile>> {
        self.tables.values().flat_map(|table| &table.pieces).filter_map(|piece| match piece {
            Piece::Segment(segment) => Some(&segment.file),
            Piece::Rows(_) => None,
        })
    }

    /// Applies one change; collects the files that it takes out of use. Names are settled by [`Self::finish`].
    pub fn apply(&mut self, op: Op, unused: &mut Vec<Arc<SegmentFile>>) -> Result<(), ApplyError> {
        match op {
            Op::Create { id, name, schema, properties } => {
                if self.tables.contains_key(&id) {
                    return Err(ApplyError::TableIdUsed(id));
                }
                let table = Table { id, name, schema, properties, pieces: Vec::new() };
                self.tables.insert(id, Arc::new(table));
                self.names_changed = true;
            }
            Op::Drop { id } => {
                let table = self.tables.remove(&id).ok_or(ApplyError::NoSuchTable(id))?;
                collect_files(&table, unused);
                self.names_changed = true;
            }
            Op::Rename { id, name } => {
                self.table_mut(id)?.name = name;
                self.names_changed = true;
            }
            Op::SetProperties { id, properties } => self.table_mut(id)?.properties = properties,
            Op::Clear { id } => {
                let table = self.table_mut(id)?;
                collect_files(table, unused);
                table.pieces.clear();
            }
            Op::AddSegment { id, segment } => self.table_mut(id)?.pieces.push(Piece::Segment(segment)),
            Op::AddRows { id, batch } => self.table_mut(id)?.push_rows(batch)?,
        }
        Ok(())
    }

    /// Ends a transaction's changes: names may have been swapped on the way, now they must be unique.
    pub fn finish(&mut self, sequence: u64) -> Result<(), ApplyError> {
        // Most commits only add rows.
        if std::mem::take(&mut self.names_changed) {
            let mut names = HashMap::with_capacity(self.tables.len());
            for (id, table) in &self.tables {
                if names.insert(table.name.clone(), *id).is_some() {
                    return Err(ApplyError::NameUsed(table.name.clone()));
                }
            }
            self.names = Arc::new(names);
        }
        self.sequence = sequence;
        Ok(())
    }

    /// Replaces the pieces of a table by others that hold the same rows.
    pub fn replace_pieces(&mut self, id: TableId, pieces: Vec<Piece>) -> Result<(), ApplyError> {
        self.table_mut(id)?.pieces = pieces;
        Ok(())
    }

    fn table_mut(&mut self, id: TableId) -> Result<&mut Table, ApplyError> {
        self.tables.get_mut(&id).map(Arc::make_mut).ok_or(ApplyError::NoSuchTable(id))
    }
}

fn collect_files(table: &Table, files: &mut Vec<Arc<SegmentFile>>) {
    for piece in &table.pieces {
        if let Piece::Segment(segment) = piece {
            files.push(Arc::clone(&segment.file));
        }
    }
}
