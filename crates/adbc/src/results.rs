//! Rows of executions, as readers of record batches.

use std::sync::Arc;
use std::time::Duration;

use adbc_core::error::{Result, Status};
use arrow::array::{RecordBatch, RecordBatchReader};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use drivers::refusal::refused;
use load::{Query, RowStream, Waited};
use rows::mapping::Form;

use crate::bound::{Naming, Parameter, parameters};
use crate::error::from_load;
use crate::shared::Shared;

/// Longest wait for columns before the wait begins again: there is no signal to look for here.
const PATIENCE: Duration = Duration::from_secs(3600);

pub(crate) type BoundRows = Box<dyn RecordBatchReader + Send>;

/// Sends a query and waits for its columns.
pub(crate) fn open_stream(
    connection: &Shared,
    sql: String,
    parameters: Vec<Parameter>,
    batch_rows: usize,
) -> Result<(SchemaRef, RowStream)> {
    let lent = connection.lend()?;
    let query = Query { sql, parameters, form: Form::default(), batch_rows };
    let mut rows =
        RowStream::start(lent, query).map_err(|error| refused(Status::Internal, error.to_string()))?;
    loop {
        match rows.schema(PATIENCE).map_err(from_load)? {
            Waited::Ready(schema) => return Ok((schema, rows)),
            Waited::NotYet => {}
        }
    }
}

/// Executions of one statement, one for each bound row.
pub(crate) struct Executions {
    pub(crate) connection: Arc<Shared>,
    pub(crate) sql: String,
    pub(crate) naming: Naming,
    pub(crate) bound: BoundRows,
    pub(crate) rows: std::vec::IntoIter<Vec<Parameter>>,
    pub(crate) batch_rows: usize,
}

impl Executions {
    /// Runs the statement for the next bound row.
    pub(crate) fn next_result(&mut self) -> Result<Option<(SchemaRef, RowStream)>> {
        loop {
            if let Some(row) = self.rows.next() {
                return open_stream(&self.connection, self.sql.clone(), row, self.batch_rows).map(Some);
            }
            match self.bound.next() {
                Some(batch) => self.rows = parameters(&batch?, self.naming)?.into_iter(),
                None => return Ok(None),
            }
        }
    }
}

/// The rows of all executions, one after the other.
pub(crate) struct Results {
    schema: SchemaRef,
    rows: Option<RowStream>,
    rest: Option<Executions>,
}

impl Results {
    /// Returns the rows of one execution.
    pub(crate) fn of_one(schema: SchemaRef, rows: RowStream) -> Self {
        Self { schema, rows: Some(rows), rest: None }
    }

    /// Returns the rows of one execution and of those that follow.
    pub(crate) fn of_many(schema: SchemaRef, rows: RowStream, rest: Executions) -> Self {
        Self { schema, rows: Some(rows), rest: Some(rest) }
    }
}

impl Iterator for Results {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.rows.as_mut()?.next_blocking() {
                Some(Ok(batch)) => return Some(Ok(batch)),
                Some(Err(error)) => {
                    self.rows = None;
                    return Some(Err(ArrowError::ExternalError(Box::new(error))));
                }
                None => {}
            }
            self.rows = None;
            match self.rest.as_mut()?.next_result() {
                Ok(Some((schema, rows))) if schema.fields() == self.schema.fields() => self.rows = Some(rows),
                Ok(Some(_)) => {
                    let text = "the statement returns other columns for another bound row".to_owned();
                    return Some(Err(ArrowError::SchemaError(text)));
                }
                Ok(None) => return None,
                Err(error) => return Some(Err(ArrowError::ExternalError(Box::new(error)))),
            }
        }
    }
}

impl RecordBatchReader for Results {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
