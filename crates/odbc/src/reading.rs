//! Results as record batches.

use std::sync::Arc;

use adbc_core::error::{Error, Result, Status};
use arrow::array::{RecordBatch, RecordBatchReader};
use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow_odbc::odbc_api::{ConnectionTransitions, Cursor, ResultSetMetadata, SharedConnection};
use arrow_odbc::{OdbcReader, OdbcReaderBuilder, TextEncoding, arrow_schema_from};
use drivers::refusal::refused;

use crate::error::{from_odbc, from_reader};
use crate::limits::Limits;

/// A result of a statement.
pub(crate) type Reader = Box<dyn RecordBatchReader + Send + 'static>;

/// Runs a query. A statement that is no query has no columns.
pub(crate) fn query(
    connection: &SharedConnection<'static>,
    sql: &str,
    system: &str,
    limits: Limits,
) -> Result<Reader> {
    let cursor = Arc::clone(connection).into_cursor(sql, (), None);
    match cursor.map_err(|failed| from_odbc(&failed.error))? {
        Some(cursor) => read(cursor, system, limits),
        None => {
            let schema = Arc::new(Schema::empty());
            Ok(Box::new(arrow::array::RecordBatchIterator::new([], schema)))
        }
    }
}

/// Reads a result in bounded buffers.
pub(crate) fn read(cursor: impl Cursor + Send + 'static, system: &str, limits: Limits) -> Result<Reader> {
    let reader = builder(system, limits).build(cursor).map_err(|error| from_reader(&error))?;
    Ok(Box::new(Rows { schema: reader.schema(), reader: Some(reader), limits }))
}

pub(crate) fn builder(system: &str, limits: Limits) -> OdbcReaderBuilder {
    let mut builder = OdbcReaderBuilder::new();
    builder
        .with_dbms_name(system.to_owned())
        .with_max_text_size(limits.max_text_size)
        .with_max_binary_size(limits.max_binary_size)
        .with_max_bytes_per_batch(limits.max_bytes_per_batch)
        .with_max_num_rows_per_batch(limits.batch_rows.min(usize::from(u16::MAX)))
        .with_fallibale_allocations(true)
        .with_payload_text_encoding(TextEncoding::Utf16);
    builder
}

/// Describes the columns of a result.
pub(crate) fn schema_of(result: &mut impl ResultSetMetadata, system: &str) -> Result<Schema> {
    arrow_schema_from(result, Some(system), false).map_err(|error| from_reader(&error))
}

/// The batches of a result; an error ends it.
struct Rows<C: Cursor> {
    schema: SchemaRef,
    reader: Option<OdbcReader<C>>,
    limits: Limits,
}

impl<C: Cursor> Iterator for Rows<C> {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.reader.as_mut()?.next() {
            Some(Ok(batch)) => Some(Ok(batch)),
            Some(Err(error)) => {
                self.reader = None;
                Some(Err(ArrowError::ExternalError(Box::new(explained(error, self.limits)))))
            }
            None => {
                self.reader = None;
                None
            }
        }
    }
}

impl<C: Cursor> RecordBatchReader for Rows<C> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

fn explained(error: ArrowError, limits: Limits) -> Error {
    use arrow_odbc::odbc_api;
    let ArrowError::ExternalError(source) = &error else {
        return refused(Status::InvalidData, error.to_string());
    };
    match source.downcast_ref::<odbc_api::Error>() {
        Some(odbc_api::Error::TooLargeValueForBuffer { buffer_index, .. }) => {
            let column = buffer_index + 1;
            refused(
                Status::InvalidData,
                format!(
                    "a value of column {column} is longer than {} characters or {} bytes: raise \
                     bulkwire.odbc.max_text_size or bulkwire.odbc.max_binary_size",
                    limits.max_text_size, limits.max_binary_size
                ),
            )
        }
        Some(odbc) => from_odbc(odbc),
        None => refused(Status::InvalidData, error.to_string()),
    }
}
