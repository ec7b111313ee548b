//! TDS rows to record batches: the columnar gather.
//!
//! Every cell follows its own length, so its place is known only after the cells before it. The decoder works in blocks of some
//! hundred rows, so that a block and the positions of its cells stay in cache. Pass 1 walks the rows and records where each cell
//! starts. Pass 2 takes one column after the other and converts its cells in a loop that depends on its type alone.
//!
//! ROW and NBCROW tokens, both forms of chunked values, text pointers and variants are understood (MS-TDS 2.2.7.19, 2.2.7.14,
//! 2.2.5.2.3). [`mapping`](crate::mapping) decides the Arrow type of each column.

mod byte_builder;
mod cell;
mod charset;
mod column;
mod decimal;
mod error;
mod fixed;
mod gather;
pub(crate) mod plp;
mod strings;
mod temporal;
mod utf16;
mod validity;
pub(crate) mod variant;
mod vectors;
pub(crate) mod walk;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use tds::Column;

pub use error::{DecoderError, RowDecodeError, RowDecodeErrorReason};

use crate::mapping::{Form, ReadOptions, Scale7, field_for};
use gather::Gather;
use walk::{BlockEnd, Walker};

/// Text and binary data of one column that make a batch full, in bytes: a quarter of what an Arrow array holds.
const FULL_DATA_BYTES: usize = 1 << 29;

/// Turns the rows of one result set, or of one bulk load, into record batches.
///
/// ```text
/// loop {
///     at += decoder.decode(&input[at..])?;      // whole rows only
///     if !decoder.is_full() { break }           // another token, or an incomplete row
///     sink(decoder.take_batch()?);
/// }
/// ```
pub struct Decoder {
    schema: SchemaRef,
    walker: Walker,
    columns: Vec<Box<dyn Gather>>,
    /// True for each column whose field is not nullable.
    not_null: Vec<bool>,
    /// Rows a batch may have.
    batch_rows: usize,
    /// Rows that wait in `columns`.
    buffered: usize,
    /// Rows decoded before those.
    taken: u64,
    full: bool,
    failed: Option<RowDecodeError>,
}

impl Decoder {
    /// Creates a decoder for rows of `columns`, whose batches have the schema that [`field_for`] gives in
    /// `form`.
    ///
    /// # Errors
    /// No columns; a column of the untyped NULL.
    pub fn new(columns: &[Column], form: Form) -> Result<Self, DecoderError> {
        if columns.is_empty() {
            return Err(DecoderError::NoColumns);
        }
        let fields: Vec<_> = columns.iter().map(|column| field_for(column, &form)).collect();
        let cuts = matches!(form, Form::Arrow(ReadOptions { scale_7: Scale7::CutMicroseconds, .. }));
        let gathers = columns
            .iter()
            .zip(&fields)
            .map(|(column, field)| column::gather_for(column, field, cuts))
            .collect::<Result<_, _>>()?;
        let classes = columns.iter().map(|column| column.type_info.length_class()).collect();
        let not_null = fields.iter().map(|field| !field.is_nullable()).collect();
        Ok(Self {
            schema: Arc::new(Schema::new(fields)),
            walker: Walker::new(classes),
            columns: gathers,
            not_null,
            batch_rows: usize::MAX,
            buffered: 0,
            taken: 0,
            full: false,
            failed: None,
        })
    }

    /// Makes [`decode`](Self::decode) stop after `batch_rows` (at least one) rows, until the batch is taken.
    /// Without it a batch is full when a column's text or binary data reaches 512 MiB.
    pub fn with_batch_rows(mut self, batch_rows: usize) -> Self {
        self.batch_rows = batch_rows.max(1);
        self
    }

    /// Returns the schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Counts the rows decoded and not yet taken.
    pub fn rows_buffered(&self) -> usize {
        self.buffered
    }

    /// Counts the rows decoded or [passed](Self::pass_rows) since the start, taken or not.
    pub fn rows_decoded(&self) -> u64 {
        self.taken + self.buffered as u64
    }

    /// Counts rows of the stream that were taken without decoding, so that errors name the right row. No decoded rows may be buffered.
    pub fn pass_rows(&mut self, rows: u64) {
        self.taken += rows;
    }

    /// Returns true if decoding stopped because the batch must be taken first; rows may follow in the input.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// Decodes the complete ROW and NBCROW tokens at the head of `bytes` and returns how many bytes they took.
    ///
    /// It stops at the first other token, at an incomplete row, or when the batch [is full](Self::is_full).
    /// The next call must pass the unconsumed bytes again, followed by more: the walk through a long value
    /// continues where it stopped.
    ///
    /// # Errors
    /// The first bad cell, by row and then column. The decoder then repeats this error.
    pub fn decode(&mut self, bytes: &[u8]) -> Result<usize, RowDecodeError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let mut consumed = 0;
        while !self.full {
            let rest = bytes.get(consumed..).unwrap_or(&[]);
            let block = self.walker.walk(rest, self.batch_rows - self.buffered);
            if self.buffered > 0 && self.data_bytes() + block.bytes > 2 * FULL_DATA_BYTES {
                // A block this large is one huge row; it gets a batch of its own.
                self.full = true;
                break;
            }
            if block.rows > 0 {
                self.gather(rest, block.rows)?;
            }
            consumed += block.bytes;
            self.full = self.buffered >= self.batch_rows || self.data_bytes() >= FULL_DATA_BYTES;
            match block.end {
                BlockEnd::Full => {}
                BlockEnd::Input => break,
                BlockEnd::Malformed { column, reason } => {
                    return Err(self.fail(self.rows_decoded(), column, reason));
                }
            }
        }
        Ok(consumed)
    }

    /// Takes the rows decoded so far as a batch, which may be empty.
    ///
    /// # Errors
    /// Arrow refuses the arrays. Rows that [`decode`](Self::decode) has accepted give no other error.
    pub fn take_batch(&mut self) -> Result<RecordBatch, ArrowError> {
        let rows = self.buffered;
        let arrays =
            self.columns.iter_mut().map(|column| column.finish(rows)).collect::<Result<Vec<_>, _>>()?;
        self.taken += rows as u64;
        self.buffered = 0;
        self.full = false;
        RecordBatch::try_new(self.schema.clone(), arrays)
    }

    /// Makes pass 2 over the first `rows` rows of the walk: appends their cells to the columns.
    fn gather(&mut self, bytes: &[u8], rows: usize) -> Result<(), RowDecodeError> {
        let mut sound = rows;
        let mut bad = None;
        for (index, (column, lane)) in self.columns.iter_mut().zip(self.walker.lanes()).enumerate() {
            // After a bad cell the other columns are only searched for one in an earlier row.
            let lane = lane.get(..sound).unwrap_or(lane);
            let gathered = column.gather(bytes, lane);
            let null = column.validity().first_null().filter(|_| self.not_null.get(index) == Some(&true));
            let null =
                null.map(|row| (row.saturating_sub(self.buffered), RowDecodeErrorReason::UnexpectedNull));
            let first = gathered.err().into_iter().chain(null).min_by_key(|(row, _)| *row);
            if let Some((row, reason)) = first
                && row < sound
            {
                sound = row;
                bad = Some((index, reason));
            }
        }
        match bad {
            None => {
                self.buffered += rows;
                Ok(())
            }
            Some((column, reason)) => Err(self.fail(self.rows_decoded() + sound as u64, column, reason)),
        }
    }

    fn fail(&mut self, row: u64, column: usize, reason: RowDecodeErrorReason) -> RowDecodeError {
        let column = self.schema.fields().get(column).map(|field| field.name().clone()).unwrap_or_default();
        let error = RowDecodeError { row, column, reason };
        self.failed = Some(error.clone());
        error
    }

    /// Counts the bytes of the fullest column's data.
    fn data_bytes(&self) -> usize {
        self.columns.iter().map(|column| column.data_bytes()).max().unwrap_or(0)
    }
}
