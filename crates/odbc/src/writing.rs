//! Rows as arrays of parameters.

use std::sync::Arc;

use adbc_core::error::Result;
use arrow::array::{Array, ArrayRef, AsArray, OffsetSizeTrait, RecordBatch, RecordBatchReader};
use arrow::datatypes::{DataType, SchemaRef};
use arrow_odbc::OdbcWriter;
use arrow_odbc::odbc_api::handles::StatementConnection;
use arrow_odbc::odbc_api::{ConnectionTransitions, SharedConnection};

use crate::error::{from_odbc, from_writer};
use crate::limits::Limits;
use crate::parameters;

/// Bytes that a value of a fixed size takes at most, its length among them.
const FIXED_BYTES: usize = 96;

/// Runs a statement once for each row, many rows at a time. How many rows there were.
pub(crate) fn execute_with(
    connection: &SharedConnection<'static>,
    sql: &str,
    rows: impl RecordBatchReader,
    limits: Limits,
) -> Result<u64> {
    let schema = parameters::parameter_schema(&rows.schema())?;
    let mut writer: Option<Writer> = None;
    let mut count = 0;
    for batch in rows {
        let batch = batch?;
        let parameters = parameters::converted(&batch, &schema, count)?;
        count += batch.num_rows() as u64;
        let capacity = capacity_for(&parameters, limits);
        let mut at_hand = match writer.take() {
            Some(writer) if writer.fits(capacity) => writer,
            other => {
                if let Some(mut other) = other {
                    other.inserter.flush().map_err(|error| from_writer(&error))?;
                }
                Writer::new(connection, sql, &schema, capacity)?
            }
        };
        at_hand.inserter.write_batch(&parameters).map_err(|error| from_writer(&error))?;
        writer = Some(at_hand);
    }
    if let Some(mut writer) = writer {
        writer.inserter.flush().map_err(|error| from_writer(&error))?;
    }
    Ok(count)
}

struct Writer {
    inserter: OdbcWriter<StatementConnection<SharedConnection<'static>>>,
    capacity: usize,
}

impl Writer {
    fn new(
        connection: &SharedConnection<'static>,
        sql: &str,
        schema: &SchemaRef,
        capacity: usize,
    ) -> Result<Self> {
        let prepared = Arc::clone(connection).into_prepared(sql).map_err(|error| from_odbc(&error))?;
        let inserter = OdbcWriter::new(capacity, schema, prepared).map_err(|error| from_writer(&error))?;
        Ok(Self { inserter, capacity })
    }

    /// Whether buffers of as many rows suit rows of which `capacity` fit into memory. New buffers cost a round trip.
    fn fits(&self, capacity: usize) -> bool {
        self.capacity <= capacity && self.capacity.saturating_mul(8) >= capacity
    }
}

/// How many rows like these the buffers can have: every value gets the room of the longest.
fn capacity_for(batch: &RecordBatch, limits: Limits) -> usize {
    let width: usize = batch.columns().iter().map(|array| FIXED_BYTES.saturating_add(longest(array))).sum();
    (limits.max_bytes_per_batch / width.max(1)).clamp(1, limits.batch_rows.max(1))
}

fn longest(array: &ArrayRef) -> usize {
    match array.data_type() {
        // UTF-16 takes at most two bytes for each of UTF-8.
        DataType::Utf8 => longest_of(array.as_string::<i32>().value_offsets()).saturating_mul(2),
        DataType::LargeUtf8 => longest_of(array.as_string::<i64>().value_offsets()).saturating_mul(2),
        DataType::Binary => longest_of(array.as_binary::<i32>().value_offsets()),
        _ => 0,
    }
}

fn longest_of<O: OffsetSizeTrait>(offsets: &[O]) -> usize {
    let lengths = offsets.windows(2).map(|pair| match pair {
        [start, end] => end.as_usize().saturating_sub(start.as_usize()),
        _ => 0,
    });
    lengths.max().unwrap_or_default()
}
