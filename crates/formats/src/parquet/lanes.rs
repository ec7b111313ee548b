//! The columns of a Parquet file dealt out to several threads, whose batches are put together again in order.

use std::cmp::Reverse;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReaderBuilder};

use crate::FormatError;
use crate::counted_chunks::CountedChunks;
use crate::cpu_time::thread_cpu_time;
use crate::damage::contained;

/// Threads that each read some columns of all rows. So rows keep their order, and no row group is held whole.
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    columns: usize,
    cpu: Duration,
}

struct Lane {
    /// Indexes of the lane's columns in the file's schema.
    columns: Vec<usize>,
    batches: Receiver<(Result<RecordBatch, FormatError>, Duration)>,
}

/// Batches that a lane may be ahead.
const AHEAD: usize = 2;

impl Lanes {
    /// Starts up to this many threads; `None` if the file has no two columns to deal out.
    pub(super) fn start(
        chunks: &CountedChunks,
        metadata: &ArrowReaderMetadata,
        batch_rows: usize,
        threads: usize,
    ) -> Result<Option<Self>, FormatError> {
        let dealt = dealt(&sizes(metadata), threads);
        if dealt.len() < 2 {
            return Ok(None);
        }
        let mut lanes = Vec::new();
        for columns in dealt {
            let mask = ProjectionMask::roots(metadata.parquet_schema(), columns.iter().copied());
            let (chunks, metadata) = (chunks.clone(), metadata.clone());
            let (sender, batches) = sync_channel(AHEAD);
            let read = move || {
                let mut since = thread_cpu_time();
                let mut taken = || {
                    let now = thread_cpu_time();
                    now.saturating_sub(std::mem::replace(&mut since, now))
                };
                let opened = contained(|| {
                    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(chunks, metadata);
                    Ok(builder.with_projection(mask).with_batch_size(batch_rows).build()?)
                });
                let mut batches = match opened {
                    Ok(batches) => batches,
                    // If the receiver is gone, the error is not needed.
                    Err(error) => return drop(sender.send((Err(error), taken()))),
                };
                while let Some(batch) = contained(|| Ok(batches.next().transpose()?)).transpose() {
                    let failed = batch.is_err();
                    if sender.send((batch, taken())).is_err() || failed {
                        return;
                    }
                }
            };
            thread::Builder::new().name("reader".to_owned()).spawn(read)?;
            lanes.push(Lane { columns, batches });
        }
        let columns = metadata.schema().fields().len();
        Ok(Some(Self { lanes, columns, cpu: Duration::ZERO }))
    }

    /// Reads the next rows, with all columns.
    pub(super) fn next(&mut self, schema: &SchemaRef) -> Option<Result<RecordBatch, FormatError>> {
        let mut arrays: Vec<Option<ArrayRef>> = vec![None; self.columns];
        let mut ended = 0;
        for lane in &self.lanes {
            let Ok((batch, cpu)) = lane.batches.recv() else {
                ended += 1;
                continue;
            };
            self.cpu += cpu;
            let batch = match batch {
                Ok(batch) => batch,
                Err(error) => return Some(Err(error)),
            };
            for (&column, array) in lane.columns.iter().zip(batch.columns()) {
                if let Some(slot) = arrays.get_mut(column) {
                    *slot = Some(Arc::clone(array));
                }
            }
        }
        if ended == self.lanes.len() {
            return None;
        }
        let batch = match arrays.into_iter().collect::<Option<Vec<_>>>() {
            Some(arrays) => RecordBatch::try_new(Arc::clone(schema), arrays).map_err(FormatError::from),
            None => Err(io::Error::other("a thread that read columns has ended").into()),
        };
        Some(batch)
    }

    /// Takes the CPU time of the batches that were handed over since the last call.
    pub(super) fn take_cpu(&mut self) -> Duration {
        std::mem::take(&mut self.cpu)
    }
}

/// Adds up the bytes of each column, stored and in memory.
fn sizes(metadata: &ArrowReaderMetadata) -> Vec<u64> {
    let schema = metadata.parquet_schema();
    let mut sizes = vec![0; metadata.schema().fields().len()];
    for row_group in metadata.metadata().row_groups() {
        for (leaf, chunk) in row_group.columns().iter().enumerate() {
            let size = chunk.compressed_size().max(0).unsigned_abs()
                + chunk.uncompressed_size().max(0).unsigned_abs();
            if let Some(sum) = sizes.get_mut(schema.get_column_root_idx(leaf)) {
                *sum += size;
            }
        }
    }
    sizes
}

/// Deals out columns of these sizes so that no thread has much more to do than another.
fn dealt(sizes: &[u64], threads: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|&column| Reverse(sizes.get(column)));
    let mut lanes = vec![(0u64, Vec::new()); threads.min(sizes.len())];
    for column in order {
        if let Some((sum, columns)) = lanes.iter_mut().min_by_key(|(sum, _)| *sum) {
            // A column of no size is work too.
            *sum += sizes.get(column).copied().unwrap_or(0).max(1);
            columns.push(column);
        }
    }
    lanes
        .into_iter()
        .map(|(_, mut columns)| {
            columns.sort_unstable();
            columns
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::dealt;

    #[test]
    fn columns_are_dealt_by_size() {
        assert_eq!(dealt(&[10, 90, 20, 30, 40], 2), [vec![0, 1], vec![2, 3, 4]]);
        assert_eq!(dealt(&[0, 0, 0], 2), [vec![0, 2], vec![1]]);
        assert_eq!(dealt(&[5], 4), [vec![0]]);
        assert!(dealt(&[], 4).is_empty());
    }
}
