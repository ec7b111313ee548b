//! Checkpoints: a new journal in place of the old one, small rows and tiny segments folded on the way.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;

use crate::catalogue::{ApplyError, Catalogue, Piece, Table};
use crate::database::{Shared, Sync};
use crate::error::StoreError;
use crate::journal::Journal;
use crate::record::{base_ops, encode_record};
use crate::scan::Scan;
use crate::segment::SegmentWriter;
use crate::small_rows::batch_bytes;
use crate::storage::Storage;

/// Segments below this are folded together.
const SMALL_SEGMENT_BYTES: u64 = 1 << 20;
/// Inline rows of a table below this stay in the journal: a file of their own would not pay.
const INLINE_BYTES_MAX: u64 = 64 << 10;
/// A folded segment is closed when it has reached this.
const FOLDED_BYTES_MAX: u64 = 64 << 20;
/// Rows are gathered to about this much before a frame is written.
const FRAME_BYTES: usize = 1 << 20;

/// What a checkpoint did.
#[derive(Debug, Default)]
pub struct Checkpoint {
    /// Length of the new journal.
    pub journal_bytes: u64,
    /// Bytes written to new segments.
    pub segment_bytes: u64,
    /// Segments that no table needs any more; their files go when the last snapshot that reads them does.
    pub segments_replaced: usize,
    /// Damaged frames met while folding. Their segments were left as they are.
    pub damaged: Vec<StoreError>,
}

/// Runs a checkpoint. On error the database is as it was, on disk too.
pub(crate) fn run(shared: &Shared, journal: &mut Journal) -> Result<Checkpoint, StoreError> {
    let Some(storage) = &shared.storage else { return Ok(Checkpoint::default()) };
    let sync = shared.options.sync;
    let current = shared.catalogue();
    let mut next: Catalogue = (*current).clone();
    let mut report = Checkpoint::default();
    let mut folded = Folded::default();
    for table in current.tables() {
        if let Some(pieces) = fold_table(shared, storage, table, &mut folded, &mut report)? {
            next.replace_pieces(table.id, pieces).map_err(|error| match error {
                ApplyError::Arrow(error) => StoreError::Arrow(error),
                _ => StoreError::NoSuchTable { table: table.id },
            })?;
        }
    }
    drop(current);
    if sync == Sync::Full && !folded.written.is_empty() {
        for writer in &mut folded.written {
            writer.sync()?;
        }
        storage.sync_directory().map_err(|source| StoreError::Io {
            operation: "sync the directory",
            path: storage.path(""),
            offset: None,
            source,
        })?;
    }

    let head = shared.record_head(true, next.sequence, next.sequence);
    let base = encode_record(&head, &base_ops(&next))?;
    match Journal::replace(storage, sync, next.sequence, &base) {
        Ok(new) => {
            let old = std::mem::replace(journal, new);
            folded.written.iter().for_each(|writer| writer.file().set_doomed(false));
            let replaced = folded.replaced.iter().filter_map(|piece| match piece {
                Piece::Segment(segment) => Some(&segment.file),
                Piece::Rows(_) => None,
            });
            for file in replaced.chain(&old.limbo) {
                file.set_doomed(true);
                report.segments_replaced += 1;
            }
            shared.publish(next);
            report.journal_bytes = journal.length_bytes;
            Ok(report)
        }
        Err((error, unknown)) => {
            if unknown {
                // The new journal may be what a crash leaves: keep its files, trust neither until one is written again.
                journal.broken = true;
                for writer in &folded.written {
                    writer.file().set_doomed(false);
                    journal.limbo.push(Arc::clone(writer.file()));
                }
            }
            Err(error)
        }
    }
}

#[derive(Default)]
struct Folded {
    written: Vec<SegmentWriter>,
    replaced: Vec<Piece>,
}

/// New pieces for a table, or None if it stays as it is.
fn fold_table(
    shared: &Shared,
    storage: &Arc<dyn Storage>,
    table: &Table,
    folded: &mut Folded,
    report: &mut Checkpoint,
) -> Result<Option<Vec<Piece>>, StoreError> {
    let mut pieces = Vec::new();
    let mut changed = false;
    for group in groups(&table.pieces) {
        if !worth_folding(group) {
            pieces.extend_from_slice(group);
            continue;
        }
        match fold(shared, storage, table, group)? {
            Ok(writer) => {
                let segment = writer.segment(writer.frame_count());
                report.segment_bytes += segment.length_bytes;
                pieces.push(Piece::Segment(segment));
                folded.replaced.extend_from_slice(group);
                folded.written.push(writer);
                changed = true;
            }
            Err(damage) => {
                report.damaged.push(damage);
                pieces.extend_from_slice(group);
            }
        }
    }
    Ok(changed.then_some(pieces))
}

/// Runs of small pieces, each up to the size of a folded segment; large pieces alone.
fn groups(pieces: &[Piece]) -> Vec<&[Piece]> {
    let mut groups = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (index, piece) in pieces.iter().enumerate() {
        let small = is_small(piece);
        if index > start && (!small || bytes >= FOLDED_BYTES_MAX) {
            groups.extend(pieces.get(start..index));
            (start, bytes) = (index, 0);
        }
        if small {
            bytes += piece.bytes();
        } else {
            groups.extend(pieces.get(index..=index));
            (start, bytes) = (index + 1, 0);
        }
    }
    groups.extend(pieces.get(start..).filter(|rest| !rest.is_empty()));
    groups
}

fn is_small(piece: &Piece) -> bool {
    match piece {
        Piece::Rows(_) => true,
        Piece::Segment(segment) => segment.length_bytes < SMALL_SEGMENT_BYTES,
    }
}

fn worth_folding(group: &[Piece]) -> bool {
    let segments = group.iter().filter(|piece| matches!(piece, Piece::Segment(_)) && is_small(piece)).count();
    let inline: u64 = group.iter().filter(|piece| matches!(piece, Piece::Rows(_))).map(Piece::bytes).sum();
    segments >= 2 || inline >= INLINE_BYTES_MAX
}

/// Writes the rows of a group to one segment. The inner error is damage found while reading, the outer one stops the checkpoint.
fn fold(
    shared: &Shared,
    storage: &Arc<dyn Storage>,
    table: &Table,
    group: &[Piece],
) -> Result<Result<SegmentWriter, StoreError>, StoreError> {
    let mut writer = SegmentWriter::create(shared.new_segment_id(), table.id, &table.schema, storage)?;
    let mut gathered: Vec<RecordBatch> = Vec::new();
    let mut bytes = 0;
    for batch in Scan::new(Arc::clone(&table.schema), group.iter().cloned(), None)? {
        match batch {
            Ok(batch) => {
                bytes += batch_bytes(&batch);
                gathered.push(batch);
            }
            Err(damage @ StoreError::Corrupt { .. }) => return Ok(Err(damage)),
            Err(error) => return Err(error),
        }
        if bytes >= FRAME_BYTES {
            write_gathered(&mut writer, &table.schema, &mut gathered)?;
            bytes = 0;
        }
    }
    write_gathered(&mut writer, &table.schema, &mut gathered)?;
    Ok(Ok(writer))
}

fn write_gathered(
    writer: &mut SegmentWriter,
    schema: &SchemaRef,
    gathered: &mut Vec<RecordBatch>,
) -> Result<(), StoreError> {
    if !gathered.is_empty() {
        writer.append(&concat_batches(schema, gathered.iter())?)?;
        gathered.clear();
    }
    Ok(())
}
