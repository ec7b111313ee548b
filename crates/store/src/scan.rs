//! Reading the rows of a table, batch by batch.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use crate::catalogue::Piece;
use crate::error::StoreError;
use crate::segment::{FrameRange, SegmentReader};
use crate::small_rows::batch_bytes;

/// The rows of one table as of one moment, in the order of their appending. One frame is in memory at a time.
///
/// A damaged frame yields an error that names file and offset; the iterator then goes on with the next frame.
#[derive(Debug)]
pub struct Scan {
    table_schema: SchemaRef,
    schema: SchemaRef,
    projection: Option<Vec<usize>>,
    sources: VecDeque<Source>,
    reader: Option<SegmentReader>,
}

#[derive(Debug, Clone)]
enum Source {
    Rows(RecordBatch),
    Frames(FrameRange),
}

impl Scan {
    pub(crate) fn new(
        table_schema: SchemaRef,
        pieces: impl IntoIterator<Item = Piece>,
        projection: Option<Vec<usize>>,
    ) -> Result<Self, StoreError> {
        let columns = table_schema.fields().len();
        if let Some(index) = projection.iter().flatten().find(|index| **index >= columns) {
            return Err(StoreError::NoSuchColumn { index: *index, columns });
        }
        let schema = match &projection {
            Some(projection) => Arc::new(table_schema.project(projection)?),
            None => Arc::clone(&table_schema),
        };
        let sources = pieces.into_iter().map(|piece| match piece {
            Piece::Rows(batch) => Source::Rows(batch),
            Piece::Segment(segment) => {
                let frames = 0..segment.frames.len();
                Source::Frames(FrameRange { segment, frames })
            }
        });
        Ok(Self { table_schema, schema, projection, sources: sources.collect(), reader: None })
    }

    /// Schema of the batches: the projected columns in the order asked for.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Rows not yet read.
    pub fn rows(&self) -> u64 {
        self.sources.iter().map(Source::rows).sum()
    }

    /// Bytes that the rows not yet read take: on disk for what lies in segments, in memory otherwise. Of a segment that is
    /// read in part, all.
    pub fn bytes(&self) -> u64 {
        let bytes = self.sources.iter().map(|source| match source {
            Source::Rows(batch) => batch_bytes(batch) as u64,
            Source::Frames(range) => range.segment.length_bytes,
        });
        bytes.sum()
    }

    /// Cuts what is left into at most `count` scans of about equal rows that can be read side by side; read one after the
    /// other they give the same rows in the same order. At least one is returned; frames are not cut.
    pub fn partitions(self, count: usize) -> Vec<Scan> {
        let total = self.rows();
        let count = count.max(1);
        let mut partitions: Vec<VecDeque<Source>> = vec![VecDeque::new()];
        let mut done = 0_u64;
        for unit in self.sources.iter().flat_map(Source::units) {
            let rows = unit.rows();
            // The share that this unit's middle falls into.
            let share = u128::from(done) * 2 + u128::from(rows);
            let place = (share * count as u128 / (u128::from(total).max(1) * 2)) as usize;
            let filled = partitions.last().is_some_and(|last| !last.is_empty());
            if filled && place >= partitions.len() && partitions.len() < count {
                partitions.push(VecDeque::new());
            }
            if let Some(last) = partitions.last_mut() {
                push_unit(last, unit);
            }
            done += rows;
        }
        let scan = |sources| Scan {
            table_schema: Arc::clone(&self.table_schema),
            schema: Arc::clone(&self.schema),
            projection: self.projection.clone(),
            sources,
            reader: None,
        };
        partitions.into_iter().map(scan).collect()
    }

    fn read_frame(&mut self, range: FrameRange) -> Result<RecordBatch, StoreError> {
        let index = range.frames.start;
        if index + 1 < range.frames.end {
            self.sources.push_front(Source::Frames(FrameRange {
                segment: range.segment.clone(),
                frames: index + 1..range.frames.end,
            }));
        }
        let reader = match self.reader.take() {
            Some(reader) if Arc::ptr_eq(reader.file(), &range.segment.file) => reader,
            _ => range.segment.open()?,
        };
        let batch = reader.read(index, &self.table_schema, self.projection.as_deref());
        self.reader = Some(reader);
        batch
    }
}

impl Iterator for Scan {
    type Item = Result<RecordBatch, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.sources.pop_front()? {
            Source::Rows(batch) => Some(match &self.projection {
                Some(projection) => batch.project(projection).map_err(StoreError::from),
                None => Ok(batch),
            }),
            Source::Frames(range) => Some(self.read_frame(range)),
        }
    }
}

impl Source {
    fn rows(&self) -> u64 {
        match self {
            Self::Rows(batch) => batch.num_rows() as u64,
            Self::Frames(range) => {
                let frames = range.segment.frames.get(range.frames.clone()).unwrap_or_default();
                frames.iter().map(|frame| u64::from(frame.rows)).sum()
            }
        }
    }

    /// The smallest parts that can be read alone.
    fn units(&self) -> Vec<Source> {
        match self {
            Self::Rows(_) => vec![self.clone()],
            Self::Frames(range) => {
                let unit = |index| FrameRange { segment: range.segment.clone(), frames: index..index + 1 };
                range.frames.clone().map(|index| Source::Frames(unit(index))).collect()
            }
        }
    }
}

fn push_unit(sources: &mut VecDeque<Source>, unit: Source) {
    if let (Some(Source::Frames(last)), Source::Frames(next)) = (sources.back_mut(), &unit)
        && Arc::ptr_eq(&last.segment.file, &next.segment.file)
        && last.frames.end == next.frames.start
    {
        last.frames.end = next.frames.end;
        return;
    }
    sources.push_back(unit);
}
