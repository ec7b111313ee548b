//! What one transaction has done to one table.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use parking_lot::Mutex;

use crate::catalogue::{Op, Piece, Table, TableId};
use crate::database::{Shared, Sync};
use crate::error::StoreError;
use crate::segment::SegmentWriter;
use crate::small_rows::{batch_bytes, compact, merge_small};
use crate::transaction::kept_pieces;

/// Small appends are gathered until a frame of this size is worth writing; larger batches go straight to the file.
const FRAME_BYTES_MIN: usize = 1 << 20;
/// A transaction that appends less than this to a table needs no file: its rows ride in the journal record.
const INLINE_BYTES_MAX: usize = 64 << 10;

/// Cheap to clone (a savepoint does): rows and files are shared.
#[derive(Debug, Clone, Default)]
pub(crate) struct TableChange {
    created: Option<SchemaRef>,
    pub dropped: bool,
    pub name: Option<String>,
    pub properties: Option<String>,
    cleared: bool,
    written: Vec<Written>,
    pending: Vec<RecordBatch>,
    pending_bytes: usize,
}

/// The first `frames` frames of a file of this transaction. More may follow that a rollback to a savepoint has undone.
#[derive(Debug, Clone)]
struct Written {
    writer: Arc<Mutex<SegmentWriter>>,
    frames: usize,
}

impl TableChange {
    pub fn created(name: String, schema: SchemaRef, properties: String) -> Self {
        Self { created: Some(schema), name: Some(name), properties: Some(properties), ..Self::default() }
    }

    pub fn is_new(&self) -> bool {
        self.created.is_some()
    }

    /// Schema of a table that this transaction created.
    pub fn schema(&self) -> Option<SchemaRef> {
        self.created.clone()
    }

    /// Whether it keeps rows in memory.
    pub fn has_rows(&self) -> bool {
        !self.pending.is_empty()
    }

    pub fn clear(&mut self) {
        self.cleared = true;
        self.written.clear();
        self.pending.clear();
        self.pending_bytes = 0;
    }

    pub fn drop_table(&mut self) {
        self.clear();
        self.dropped = true;
    }

    /// The table as the transaction sees it; None if it dropped it, or it never was.
    pub fn over(&self, id: TableId, committed: Option<&Table>) -> Option<Table> {
        if self.dropped {
            return None;
        }
        let mut pieces = kept_pieces(committed, self.cleared);
        pieces.extend(self.own_pieces());
        Some(Table {
            id,
            name: self.name.clone().or_else(|| committed.map(|table| table.name.clone()))?,
            schema: self.schema().or_else(|| committed.map(|table| Arc::clone(&table.schema)))?,
            properties: self
                .properties
                .clone()
                .or_else(|| committed.map(|table| table.properties.clone()))?,
            pieces,
        })
    }

    /// Adds rows, or fails and leaves everything as it was.
    pub fn append(
        &mut self,
        shared: &Shared,
        id: TableId,
        schema: &SchemaRef,
        batch: RecordBatch,
    ) -> Result<(), StoreError> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let bytes = batch_bytes(&batch);
        if shared.storage.is_some() && self.pending_bytes + bytes >= FRAME_BYTES_MIN {
            let batch = match self.pending.is_empty() {
                true => batch,
                false => concat_batches(schema, self.pending.iter().chain([&batch]))?,
            };
            self.write(shared, id, schema, &batch)?;
            self.pending.clear();
            self.pending_bytes = 0;
            return Ok(());
        }
        if !shared.memory.take(bytes) {
            return Err(StoreError::OutOfMemory);
        }
        let batch = compact(&batch)?;
        let pending = &mut self.pending;
        let merged = merge_small(batch, |mergeable| pending.pop_if(|last| mergeable(last)))?;
        self.pending.push(merged);
        self.pending_bytes += bytes;
        Ok(())
    }

    /// Before the commit: rows too many for the journal go to the file, and the files are made durable. Returns the bytes
    /// synced.
    pub fn settle(&mut self, shared: &Shared, id: TableId, schema: &SchemaRef) -> Result<u64, StoreError> {
        let to_file = !self.written.is_empty() || self.pending_bytes > INLINE_BYTES_MAX;
        if shared.storage.is_some() && to_file && !self.pending.is_empty() {
            let batch = concat_batches(schema, self.pending.iter())?;
            self.write(shared, id, schema, &batch)?;
            self.pending.clear();
            self.pending_bytes = 0;
        }
        let mut bytes = 0;
        if shared.options.sync == Sync::Full {
            for written in &self.written {
                bytes += written.writer.lock().sync()?;
            }
        }
        Ok(bytes)
    }

    /// The change as the journal has it. Call [`Self::settle`] first.
    pub fn ops(&self, id: TableId) -> Vec<Op> {
        let mut ops = Vec::new();
        match (&self.created, self.dropped) {
            (Some(_), true) => return ops,
            (None, true) => return vec![Op::Drop { id }],
            (Some(schema), false) => ops.push(Op::Create {
                id,
                name: self.name.clone().unwrap_or_default(),
                schema: Arc::clone(schema),
                properties: self.properties.clone().unwrap_or_default(),
            }),
            (None, false) => {
                ops.extend(self.name.clone().map(|name| Op::Rename { id, name }));
                ops.extend(self.properties.clone().map(|properties| Op::SetProperties { id, properties }));
                ops.extend(self.cleared.then_some(Op::Clear { id }));
            }
        }
        ops.extend(self.own_pieces().map(|piece| match piece {
            Piece::Segment(segment) => Op::AddSegment { id, segment },
            Piece::Rows(batch) => Op::AddRows { id, batch },
        }));
        ops
    }

    fn own_pieces(&self) -> impl Iterator<Item = Piece> {
        let written = self.written.iter().map(|written| {
            let segment = written.writer.lock().segment(written.frames);
            Piece::Segment(segment)
        });
        written.chain(self.pending.iter().cloned().map(Piece::Rows))
    }

    fn write(
        &mut self,
        shared: &Shared,
        id: TableId,
        schema: &SchemaRef,
        batch: &RecordBatch,
    ) -> Result<(), StoreError> {
        let Some(storage) = &shared.storage else { return Ok(()) };
        if let Some(last) = self.written.last_mut() {
            let mut writer = last.writer.lock();
            // Never over or after frames that a rollback undid: a scan may still be reading them.
            if writer.can_append() && writer.frame_count() == last.frames {
                writer.append(batch)?;
                last.frames = writer.frame_count();
                return Ok(());
            }
        }
        let mut writer = SegmentWriter::create(shared.new_segment_id(), id, schema, storage)?;
        writer.append(batch)?;
        let frames = writer.frame_count();
        self.written.push(Written { writer: Arc::new(Mutex::new(writer)), frames });
        Ok(())
    }
}
