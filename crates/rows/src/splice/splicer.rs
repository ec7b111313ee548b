//! Batches of rows that were spliced.

use arrow::array::RecordBatch;
use arrow::error::ArrowError;
use tds::Column;

use super::cell::Cell;
use super::passage::Passed;
use super::rewrite::{Place, locate, write};
use super::walk::Walk;
use crate::decode::walk::{NBCROW, ROW, Resume, Stop};
use crate::decode::{Decoder, RowDecodeError, RowDecodeErrorReason};
use crate::encode::PassedRows;
use crate::mapping::Form;

/// Bytes that make a batch full: they still sit in the cache when they are sent.
const FULL_BYTES: usize = 512 * 1024;

/// Returns true if a batch holds rows that were spliced.
pub fn is_spliced(batch: &RecordBatch) -> bool {
    PassedRows::of(batch).is_some()
}

/// Puts the rows of one answer together as rows of a load. It is used as a [`Decoder`] is, and its batches go through a plan
/// that is [`spliced`](crate::Plan::spliced).
#[derive(Debug)]
pub struct Splicer {
    source: Vec<Column>,
    cells: Vec<Cell>,
    passed: Vec<Passed>,
    walk: Walk,
    /// A row goes out as it came unless one of its cells must be rewritten.
    passes: bool,
    resume: Option<Resume>,
    places: Vec<Place>,
    bytes: Vec<u8>,
    /// The offsets behind each row, behind a 0.
    ends: Vec<i64>,
    batch_rows: usize,
    /// Rows of earlier batches.
    taken: u64,
    failed: Option<RowDecodeError>,
    /// The bytes of the last row, as they came.
    last: Vec<u8>,
    keeps_last: bool,
}

impl Splicer {
    pub(super) fn new(source: &[Column], passed: Vec<Passed>) -> Self {
        let only = |index: usize| {
            let mut found = passed.iter().filter(|passed| passed.source == index);
            found.next().filter(|_| found.next().is_none())
        };
        let cells: Vec<Cell> =
            source.iter().enumerate().map(|(index, column)| Cell::new(column, only(index))).collect();
        let is_in_order = passed.iter().map(|passed| passed.source).eq(0..source.len());
        let passes = is_in_order && !cells.iter().any(|cell| cell.is_rewritten);
        Self {
            source: source.to_vec(),
            walk: Walk::new(&cells),
            passes,
            cells,
            passed,
            resume: None,
            places: Vec::new(),
            bytes: Vec::with_capacity(FULL_BYTES),
            ends: vec![0],
            batch_rows: usize::MAX,
            taken: 0,
            failed: None,
            last: Vec::new(),
            keeps_last: false,
        }
    }

    /// Makes [`splice`](Self::splice) stop after `batch_rows` (at least one) rows, until the batch is taken.
    #[must_use]
    pub fn with_batch_rows(mut self, batch_rows: usize) -> Self {
        self.batch_rows = batch_rows.max(1);
        self
    }

    /// Keeps the last row of each batch for [`last_row`](Self::last_row).
    #[must_use]
    pub fn keeping_last_rows(mut self) -> Self {
        self.keeps_last = true;
        self
    }

    /// Returns true if rows without NULL bitmaps, chunks and marks go out as they came.
    pub fn passes(&self) -> bool {
        self.passes
    }

    /// Counts the rows spliced and not yet taken.
    pub fn rows_buffered(&self) -> usize {
        self.ends.len() - 1
    }

    /// Returns true if the batch must be taken first; rows may follow in the input.
    pub fn is_full(&self) -> bool {
        self.rows_buffered() >= self.batch_rows || self.rows_buffered() > 0 && self.bytes.len() >= FULL_BYTES
    }

    /// Splices the complete ROW and NBCROW tokens at the head of `bytes` and returns how many bytes they took. It stops as
    /// [`Decoder::decode`] does, and wants the unconsumed bytes again, followed by more.
    ///
    /// # Errors
    /// The first malformed cell. The splicer then repeats this error.
    pub fn splice(&mut self, bytes: &[u8]) -> Result<usize, RowDecodeError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let mut at = 0;
        // Rows from here on go out as they came, and are copied together.
        let mut from = 0;
        let mut last = None;
        while !self.is_full() && self.bytes.len() + (at - from) < FULL_BYTES {
            let stop = match bytes.get(at) {
                Some(&ROW) if self.passes => match self.walk.row(&self.cells, bytes, at, &mut self.resume) {
                    Ok(Some(end)) => {
                        self.ends.push((self.bytes.len() + (end - from)) as i64);
                        last = Some(at);
                        at = end;
                        continue;
                    }
                    Ok(None) => None,
                    Err(stop) => Some(stop),
                },
                Some(&(ROW | NBCROW)) => None,
                _ => break,
            };
            self.bytes.extend_from_slice(bytes.get(from..at).unwrap_or_default());
            from = at;
            let stop = match stop {
                Some(stop) => stop,
                None => match self.rewrite(bytes, at) {
                    Ok(end) => {
                        last = Some(at);
                        (at, from) = (end, end);
                        continue;
                    }
                    Err(stop) => stop,
                },
            };
            match stop {
                Stop::Incomplete => break,
                Stop::Malformed { column, reason } => return Err(self.fail(column, reason)),
            }
        }
        self.bytes.extend_from_slice(bytes.get(from..at).unwrap_or_default());
        if let Some(row) = last.and_then(|start| bytes.get(start..at)).filter(|_| self.keeps_last) {
            self.last.clear();
            self.last.extend_from_slice(row);
        }
        Ok(at)
    }

    /// Takes the rows spliced so far as a batch, which may be empty.
    ///
    /// # Errors
    /// Arrow refuses the arrays.
    pub fn take_batch(&mut self) -> Result<RecordBatch, ArrowError> {
        self.taken += self.rows_buffered() as u64;
        let bytes = std::mem::replace(&mut self.bytes, Vec::with_capacity(FULL_BYTES));
        let rows = self.ends.len();
        let mut ends = Vec::with_capacity(rows + rows / 8);
        ends.push(0);
        PassedRows::batch(bytes, std::mem::replace(&mut self.ends, ends))
    }

    /// Decodes the last row that was spliced, in the exact form; `None` before the first.
    ///
    /// # Errors
    /// The row's values are malformed.
    pub fn last_row(&self) -> Result<Option<RecordBatch>, RowDecodeError> {
        if self.last.is_empty() {
            return Ok(None);
        }
        // Columns that no decoder knows are none of a key.
        let Ok(mut decoder) = Decoder::new(&self.source, Form::Exact) else { return Ok(None) };
        decoder.decode(&self.last)?;
        Ok(decoder.take_batch().ok().filter(|batch| batch.num_rows() == 1))
    }

    fn rewrite(&mut self, bytes: &[u8], start: usize) -> Result<usize, Stop> {
        let end = locate(&self.cells, bytes, start, &mut self.resume, &mut self.places)?;
        let written = write(bytes, &self.cells, &self.places, &self.passed, &mut self.bytes);
        written.map_err(|(column, reason)| Stop::Malformed { column, reason })?;
        self.ends.push(self.bytes.len() as i64);
        Ok(end)
    }

    fn fail(&mut self, column: usize, reason: RowDecodeErrorReason) -> RowDecodeError {
        let row = self.taken + self.rows_buffered() as u64;
        let column = self.source.get(column).map(|column| column.name.clone()).unwrap_or_default();
        let error = RowDecodeError { row, column, reason };
        self.failed = Some(error.clone());
        error
    }
}
