//! The rows that the cases send, made before the clock starts.

use std::error::Error;
use std::io;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, RecordBatch};
use arrow::datatypes::DataType;
use formats::{Checksum, ContentChecksum};

use crate::eleven_columns;

/// Rows that are made once and sent again and again, with other keys, until the wanted number is reached.
const DISTINCT_ROWS: u64 = 1_000_000;
/// Rows of a source batch.
const BATCH_ROWS: usize = 50_000;

/// Rows of the 11-column table, whose first column is a key from 0 on.
#[derive(Debug)]
pub struct Source {
    batches: Vec<RecordBatch>,
    rows: u64,
}

impl Source {
    /// Makes a source of this many rows, at most 2^31: the key is an `int`.
    pub fn new(rows: u64) -> Result<Source, Box<dyn Error + Send + Sync>> {
        if rows > 1 << 31 {
            return Err(format!("{rows} rows have no key of type int").into());
        }
        let distinct = usize::try_from(rows.min(DISTINCT_ROWS))?;
        let batches = eleven_columns::batches(distinct, BATCH_ROWS).collect::<Result<Vec<_>, _>>()?;
        Ok(Source { batches, rows })
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Makes all rows.
    pub fn iter(&self) -> impl Iterator<Item = Result<RecordBatch, io::Error>> + Send + '_ {
        self.first(self.rows)
    }

    /// Makes the first rows, at most all.
    pub fn first(&self, rows: u64) -> impl Iterator<Item = Result<RecordBatch, io::Error>> + Send + '_ {
        let rows = rows.min(self.rows);
        let mut sent = 0;
        self.batches.iter().cycle().map_while(move |batch| {
            let first = sent;
            let taken = (rows - sent).min(batch.num_rows() as u64);
            sent += taken;
            (taken > 0).then(|| with_keys(&batch.slice(0, taken as usize), first))
        })
    }

    /// Computes the checksum of the first rows.
    pub fn checksum(&self, rows: u64) -> Result<Checksum, Box<dyn Error + Send + Sync>> {
        let mut checksum = ContentChecksum::new();
        for batch in self.first(rows) {
            checksum.update(&batch?)?;
        }
        Ok(checksum.finish())
    }

    /// Counts the bytes of data of the first rows: the width of every fixed-width value, NULL or not (a byte
    /// for a bit), and the bytes of text.
    pub fn data_bytes(&self, rows: u64) -> Result<u64, io::Error> {
        self.first(rows)
            .try_fold(0, |total, batch| Ok(total + batch?.columns().iter().map(data_bytes).sum::<u64>()))
    }
}

/// Gives a batch keys from `first` on.
fn with_keys(batch: &RecordBatch, first: u64) -> Result<RecordBatch, io::Error> {
    if first < DISTINCT_ROWS {
        return Ok(batch.clone());
    }
    let keys = (first..first + batch.num_rows() as u64).map(|key| key as i32);
    let mut columns = batch.columns().to_vec();
    if let Some(column) = columns.first_mut() {
        *column = Arc::new(Int32Array::from_iter_values(keys));
    }
    RecordBatch::try_new(batch.schema(), columns).map_err(io::Error::other)
}

fn data_bytes(column: &ArrayRef) -> u64 {
    let rows = column.len() as u64;
    match column.data_type() {
        DataType::Utf8 => {
            let offsets = column.as_string::<i32>().offsets();
            let ends = offsets.first().zip(offsets.last());
            ends.map_or(0, |(first, last)| u64::from(last.abs_diff(*first)))
        }
        DataType::Boolean => rows,
        other => rows * other.primitive_width().unwrap_or(0) as u64,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use arrow::datatypes::Int32Type;

    #[test]
    fn keys_are_distinct_beyond_the_distinct_rows() {
        let source = Source::new(DISTINCT_ROWS + 70_000).unwrap();
        let mut next = 0;
        for batch in source.iter() {
            for key in batch.unwrap().column(0).as_primitive::<Int32Type>().values() {
                assert_eq!(*key, next);
                next += 1;
            }
        }
        assert_eq!(next as u64, source.rows());
        assert_eq!(source.first(10).map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 10);
    }

    #[test]
    fn data_is_counted_by_its_types() {
        let source = Source::new(1).unwrap();
        let batch = source.iter().next().unwrap().unwrap();
        let text: usize =
            (8..11).map(|index| batch.column(index).as_string::<i32>().value_data().len()).sum();
        // int, int, bigint, float, bit, date, datetime2 as microseconds, decimal of 128 bits.
        let fixed = 4 + 4 + 8 + 8 + 1 + 4 + 8 + 16;
        assert_eq!(source.data_bytes(1).unwrap(), fixed + text as u64);
    }
}
