//! A table-valued function in FROM: its rows follow from its arguments.

use std::fmt;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{DFSchema, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use tds::SqlType;

use crate::Datum;
use crate::computed::{Rows, one_stream};
use crate::output_column::OutputColumn;
use crate::parameters::{Parameters, state_of};
use crate::provider::{external, projected, read_once};
use tsql::SqlError;

/// Rows per batch.
const BATCH_ROWS: usize = 8192;
/// A batch of long values is handed on when it has come to so many bytes.
const BATCH_BYTES: usize = 16 << 20;

/// The rows of a call, made while they are read.
pub struct FunctionRows(Box<dyn Iterator<Item = std::result::Result<Vec<Datum>, SqlError>> + Send>);

impl FunctionRows {
    /// Rows one by one.
    pub fn new(
        rows: impl Iterator<Item = std::result::Result<Vec<Datum>, SqlError>> + Send + 'static,
    ) -> FunctionRows {
        FunctionRows(Box::new(rows))
    }
}

impl From<Vec<Vec<Datum>>> for FunctionRows {
    fn from(rows: Vec<Vec<Datum>>) -> FunctionRows {
        FunctionRows::new(rows.into_iter().map(Ok))
    }
}

/// Computes a function's rows from its arguments.
pub type RowsKernel = Arc<dyn Fn(&[Datum]) -> std::result::Result<FunctionRows, SqlError> + Send + Sync>;

/// A table-valued function.
#[derive(Clone)]
pub struct TableFunction {
    /// The columns of the table.
    pub columns: Vec<OutputColumn>,
    /// Computes the rows; each has a datum for every column.
    pub rows: RowsKernel,
    /// For a user's function: its name, and the types that its arguments are converted to.
    pub parameters: Option<(String, Vec<SqlType>)>,
    /// The value of DEFAULT for each argument; NULL if none is declared.
    pub defaults: Vec<Option<tsql::expression::Expr>>,
}

/// A call of a table-valued function as a table.
pub(crate) struct FunctionTable {
    function: TableFunction,
    types: Vec<SqlType>,
    /// Constants, or columns of an outer query.
    pub arguments: Vec<Expr>,
    schema: SchemaRef,
}

impl FunctionTable {
    /// Makes a call with arguments of the types `types`.
    pub fn new(function: TableFunction, arguments: Vec<Expr>, types: Vec<SqlType>) -> FunctionTable {
        let schema = crate::exact_schema(&function.columns);
        let fields = schema.fields().iter().enumerate().map(|(index, field)| {
            let plain = field.as_ref().clone().with_metadata(Default::default());
            plain.with_name(format!("column_{index}"))
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        FunctionTable { function, types, arguments, schema }
    }

    /// Replaces the arguments of the call.
    pub fn with_arguments(&self, arguments: Vec<Expr>) -> FunctionTable {
        FunctionTable {
            function: self.function.clone(),
            types: self.types.clone(),
            arguments,
            schema: Arc::clone(&self.schema),
        }
    }
}

#[async_trait]
impl Rows for FunctionTable {
    const NAME: &'static str = "FunctionTable";

    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    async fn plan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let state = state_of(session)?;
        let arguments = match Parameters::of(state) {
            Some(parameters) => self
                .arguments
                .iter()
                .map(|argument| parameters.bound(argument.clone()))
                .collect::<Result<_>>()?,
            None => self.arguments.clone(),
        };
        let physical = arguments
            .into_iter()
            .map(|argument| session.create_physical_expr(argument, &DFSchema::empty()))
            .collect::<Result<Vec<_>>>()?;
        let schema = projected(&self.schema, projection)?;
        let call = Call {
            function: self.function.clone(),
            types: self.types.clone(),
            arguments: physical,
            columns: projection.cloned().unwrap_or_else(|| (0..self.schema.fields().len()).collect()),
            schema: Arc::clone(&schema),
        };
        if Parameters::of(state).is_some() {
            return one_stream(call, None, limit);
        }
        read_once(schema, Some(Box::new(call.batches()?)), limit)
    }
}

/// A call whose arguments may follow from the row that its query is run for.
struct Call {
    function: TableFunction,
    types: Vec<SqlType>,
    arguments: Vec<Arc<dyn PhysicalExpr>>,
    columns: Vec<usize>,
    schema: SchemaRef,
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Call")
    }
}

impl PartitionStream for Call {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let schema = Arc::clone(&self.schema);
        match self.batches() {
            Ok(batches) => Box::pin(RecordBatchStreamAdapter::new(schema, futures::stream::iter(batches))),
            Err(error) => {
                Box::pin(RecordBatchStreamAdapter::new(schema, futures::stream::iter([Err(error)])))
            }
        }
    }
}

impl Call {
    fn batches(&self) -> Result<FunctionBatches> {
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let one = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)?;
        let mut arguments = Vec::with_capacity(self.arguments.len());
        for (argument, sql_type) in self.arguments.iter().zip(&self.types) {
            let array = argument.evaluate(&one)?.into_array(1)?;
            arguments.push(Datum::read(array.as_ref(), sql_type, 0).map_err(external)?);
        }
        let rows = (self.function.rows)(&arguments).map_err(external)?;
        let types = self.columns.iter().filter_map(|at| self.function.columns.get(*at));
        let types = types.map(|column| column.sql_type.clone()).collect();
        let (columns, schema) = (self.columns.clone(), Arc::clone(&self.schema));
        Ok(FunctionBatches { rows, columns, types, schema })
    }
}

/// Rows of a call, gathered into batches of some columns.
struct FunctionBatches {
    rows: FunctionRows,
    columns: Vec<usize>,
    types: Vec<SqlType>,
    schema: SchemaRef,
}

impl Iterator for FunctionBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut values: Vec<Vec<Datum>> = vec![Vec::new(); self.columns.len()];
        let (mut count, mut bytes) = (0, 0);
        while count < BATCH_ROWS && bytes < BATCH_BYTES {
            let mut row = match self.rows.0.next() {
                Some(Ok(row)) => row,
                Some(Err(error)) => return Some(Err(external(error))),
                None => break,
            };
            count += 1;
            for (column, at) in values.iter_mut().zip(&self.columns) {
                // Each column is wanted once.
                let value =
                    row.get_mut(*at).map_or(Datum::Null, |value| std::mem::replace(value, Datum::Null));
                bytes += value.heap_bytes();
                column.push(value);
            }
        }
        if count == 0 {
            return None;
        }
        let arrays = values.iter().zip(&self.types).map(|(values, sql_type)| Datum::array(values, sql_type));
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays.collect(), &options);
        Some(batch.map_err(Into::into))
    }
}
