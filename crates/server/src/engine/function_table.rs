//! A table-valued function in FROM: its rows follow from its arguments.

use std::fmt;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DFSchema, DataFusionError, Result};
use datafusion::datasource::MemTable;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use tds::SqlType;

use super::Datum;
use super::bind::OutputColumn;
use super::datum::data_type;
use crate::sql_error::SqlError;

/// Computes a function's rows from its arguments.
pub type RowsKernel = Arc<dyn Fn(&[Datum]) -> std::result::Result<Vec<Vec<Datum>>, SqlError> + Send + Sync>;

/// A table-valued function.
#[derive(Clone)]
pub struct TableFunction {
    /// Its columns.
    pub columns: Vec<OutputColumn>,
    /// Its rows; each has a datum for every column.
    pub rows: RowsKernel,
    /// Of a user's function: its name, and the types that its arguments are brought to.
    pub parameters: Option<(String, Vec<SqlType>)>,
}

/// A call of a table-valued function as a table.
pub(super) struct FunctionTable {
    function: TableFunction,
    types: Vec<SqlType>,
    /// Constants, but for the columns of an outer query.
    pub arguments: Vec<Expr>,
    schema: SchemaRef,
}

impl fmt::Debug for FunctionTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionTable").field("arguments", &self.arguments).finish_non_exhaustive()
    }
}

impl FunctionTable {
    /// A call with arguments of the types `types`.
    pub fn new(function: TableFunction, arguments: Vec<Expr>, types: Vec<SqlType>) -> FunctionTable {
        let schema = super::exact_schema(&function.columns);
        let fields = schema.fields().iter().enumerate().map(|(index, field)| {
            let plain = field.as_ref().clone().with_metadata(Default::default());
            plain.with_name(format!("column_{index}"))
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        FunctionTable { function, types, arguments, schema }
    }

    /// The same call with other arguments.
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
impl TableProvider for FunctionTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let external = |error: SqlError| DataFusionError::External(Box::new(error));
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let one = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)?;
        let mut arguments = Vec::with_capacity(self.arguments.len());
        for (argument, sql_type) in self.arguments.iter().zip(&self.types) {
            let physical = session.create_physical_expr(argument.clone(), &DFSchema::empty())?;
            let array = physical.evaluate(&one)?.into_array(1)?;
            arguments.push(Datum::read(array.as_ref(), sql_type, 0).map_err(external)?);
        }
        let rows = (self.function.rows)(&arguments).map_err(external)?;
        let columns = self
            .function
            .columns
            .iter()
            .enumerate()
            .map(|(index, column)| {
                let values: Vec<Datum> =
                    rows.iter().map(|row| row.get(index).cloned().unwrap_or(Datum::Null)).collect();
                debug_assert_eq!(data_type(&column.sql_type), *self.schema.field(index).data_type());
                Datum::array(&values, &column.sql_type)
            })
            .collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?;
        let table = MemTable::try_new(Arc::clone(&self.schema), vec![vec![batch]])?;
        table.scan(session, projection, filters, limit).await
    }
}
