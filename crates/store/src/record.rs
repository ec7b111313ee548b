//! The payload of a journal record: the changes of one transaction, or the whole catalogue.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;

use crate::catalogue::{Catalogue, Op, Piece, TableId};
use crate::codec::{CodecError, Reader, Writer};
use crate::error::StoreError;
use crate::message::{JOURNAL_ALIGNMENT, MessageEncoder, decode_message};
use crate::schema::{decode_schema, encode_schema};
use crate::segment::{Segment, SegmentFile, SegmentId};
use crate::storage::Storage;

const KIND_BASE: u8 = 1;
const KIND_COMMIT: u8 = 2;

const OP_CREATE: u8 = 1;
const OP_DROP: u8 = 2;
const OP_RENAME: u8 = 3;
const OP_SET_PROPERTIES: u8 = 4;
const OP_CLEAR: u8 = 5;
const OP_ADD_SEGMENT: u8 = 6;
const OP_ADD_ROWS: u8 = 7;

/// What every record starts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordHead {
    /// A whole catalogue (always and only the first record of a journal) rather than one transaction's changes.
    pub base: bool,
    /// One more than the record before.
    pub sequence: u64,
    /// All records up to this sequence were synced before this one was written.
    pub durable_sequence: u64,
    /// Ids below these have been used.
    pub next_table: u64,
    pub next_segment: u64,
}

pub(crate) fn encode_record(head: &RecordHead, ops: &[Op]) -> Result<Vec<u8>, StoreError> {
    let mut out = Writer::default();
    out.u8(if head.base { KIND_BASE } else { KIND_COMMIT });
    out.u64(head.sequence);
    out.u64(head.durable_sequence);
    out.u64(head.next_table);
    out.u64(head.next_segment);
    out.count(ops.len());
    for op in ops {
        encode_op(op, &mut out)?;
    }
    Ok(out.into_bytes())
}

pub(crate) fn decode_head(reader: &mut Reader<'_>) -> Result<RecordHead, CodecError> {
    let base = match reader.u8("record kind")? {
        KIND_BASE => true,
        KIND_COMMIT => false,
        other => return Err(reader.invalid("record kind", format!("{other} is unknown"))),
    };
    Ok(RecordHead {
        base,
        sequence: reader.u64("sequence")?,
        durable_sequence: reader.u64("durable sequence")?,
        next_table: reader.u64("next table")?,
        next_segment: reader.u64("next segment")?,
    })
}

/// Reads the changes after the head and applies them. On error the catalogue is left half changed: give it up.
pub(crate) fn apply_record(
    mut reader: Reader<'_>,
    sequence: u64,
    storage: &Arc<dyn Storage>,
    catalogue: &mut Catalogue,
) -> Result<(), CodecError> {
    let count = reader.count(9, "changes")?;
    for _ in 0..count {
        let op = decode_op(&mut reader, storage, catalogue)?;
        // Files that fall out of use here are removed with the orphans, when the whole journal has been read.
        catalogue.apply(op, &mut Vec::new()).map_err(|error| reader.invalid("change", error.to_string()))?;
    }
    catalogue.finish(sequence).map_err(|error| reader.invalid("record", error.to_string()))?;
    reader.finish("record")
}

/// The changes that make `catalogue` from nothing.
pub(crate) fn base_ops(catalogue: &Catalogue) -> Vec<Op> {
    let mut ops = Vec::new();
    for table in catalogue.tables() {
        let id = table.id;
        ops.push(Op::Create {
            id,
            name: table.name.clone(),
            schema: Arc::clone(&table.schema),
            properties: table.properties.clone(),
        });
        ops.extend(table.pieces.iter().cloned().map(|piece| match piece {
            Piece::Rows(batch) => Op::AddRows { id, batch },
            Piece::Segment(segment) => Op::AddSegment { id, segment },
        }));
    }
    ops
}

fn encode_op(op: &Op, out: &mut Writer) -> Result<(), StoreError> {
    match op {
        Op::Create { id, name, schema, properties } => {
            begin(out, OP_CREATE, *id);
            out.string(name);
            out.string(properties);
            encode_schema(schema, out);
        }
        Op::Drop { id } => begin(out, OP_DROP, *id),
        Op::Rename { id, name } => {
            begin(out, OP_RENAME, *id);
            out.string(name);
        }
        Op::SetProperties { id, properties } => {
            begin(out, OP_SET_PROPERTIES, *id);
            out.string(properties);
        }
        Op::Clear { id } => begin(out, OP_CLEAR, *id),
        Op::AddSegment { id, segment } => {
            begin(out, OP_ADD_SEGMENT, *id);
            out.u64(segment.file.id.0);
            out.count(segment.frames.len());
            for frame in segment.frames.iter() {
                out.u32(frame.length_bytes);
                out.u32(frame.rows);
            }
        }
        Op::AddRows { id, batch } => {
            begin(out, OP_ADD_ROWS, *id);
            out.bytes(&encode_rows(batch)?);
        }
    }
    Ok(())
}

fn begin(out: &mut Writer, op: u8, id: TableId) {
    out.u8(op);
    out.u64(id.0);
}

fn encode_rows(batch: &RecordBatch) -> Result<Vec<u8>, StoreError> {
    let pieces = MessageEncoder::new(&batch.schema(), JOURNAL_ALIGNMENT)?.encode(batch)?;
    let mut bytes = Vec::with_capacity(pieces.iter().map(|piece| piece.len()).sum());
    pieces.iter().for_each(|piece| bytes.extend_from_slice(piece));
    Ok(bytes)
}

fn decode_op(
    reader: &mut Reader<'_>,
    storage: &Arc<dyn Storage>,
    catalogue: &Catalogue,
) -> Result<Op, CodecError> {
    let op = reader.u8("change")?;
    let id = TableId(reader.u64("table")?);
    Ok(match op {
        OP_CREATE => {
            let name = reader.string("table name")?;
            let properties = reader.string("properties")?;
            Op::Create { id, name, properties, schema: decode_schema(reader)? }
        }
        OP_DROP => Op::Drop { id },
        OP_RENAME => Op::Rename { id, name: reader.string("table name")? },
        OP_SET_PROPERTIES => Op::SetProperties { id, properties: reader.string("properties")? },
        OP_CLEAR => Op::Clear { id },
        OP_ADD_SEGMENT => {
            let segment = SegmentId(reader.u64("segment")?);
            let count = reader.count(8, "frames")?;
            let mut frames = Vec::with_capacity(count);
            for _ in 0..count {
                frames.push((reader.u32("frame length")?, reader.u32("frame rows")?));
            }
            let file = SegmentFile::committed(segment, id, Arc::clone(storage));
            let segment =
                Segment::new(file, frames).ok_or_else(|| reader.invalid("frames", "lengths overflow"))?;
            Op::AddSegment { id, segment }
        }
        OP_ADD_ROWS => {
            let bytes = reader.bytes("rows")?;
            let table = catalogue
                .table(id)
                .ok_or_else(|| reader.invalid("rows", format!("no table with id {}", id.0)))?;
            let batch = decode_message(&Buffer::from(bytes), &table.schema, None)
                .map_err(|error| reader.invalid("rows", error.reason))?;
            Op::AddRows { id, batch }
        }
        other => return Err(reader.invalid("change", format!("{other} is unknown"))),
    })
}
