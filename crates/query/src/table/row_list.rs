//! A table of constant expressions, which are computed when it is read.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::concat;
use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DFSchema, Result};
use datafusion::datasource::MemTable;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;

use crate::computed::Rows;

/// Rows between two chances for others to have the thread.
const YIELD_ROWS: usize = 1024;

/// The rows of a table value constructor.
pub(crate) struct RowList {
    schema: SchemaRef,
    /// Column by column.
    values: Vec<Vec<Expr>>,
}

impl RowList {
    /// Makes a list of rows. `values` are lists of the same length, one for each column of the schema.
    pub fn new(schema: SchemaRef, values: Vec<Vec<Expr>>) -> RowList {
        RowList { schema, values }
    }
}

#[async_trait]
impl Rows for RowList {
    const NAME: &'static str = "RowList";

    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    async fn plan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let one = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)?;
        let nothing = DFSchema::empty();
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.values.len());
        for values in &self.values {
            let mut arrays = Vec::with_capacity(values.len());
            for (index, value) in values.iter().enumerate() {
                if index % YIELD_ROWS == YIELD_ROWS - 1 {
                    tokio::task::yield_now().await;
                }
                let value = session.create_physical_expr(value.clone(), &nothing)?;
                arrays.push(value.evaluate(&one)?.into_array(1)?);
            }
            let parts: Vec<&dyn arrow::array::Array> = arrays.iter().map(AsRef::as_ref).collect();
            columns.push(concat(&parts)?);
        }
        let rows = self.values.first().map_or(0, Vec::len);
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?;
        let table = MemTable::try_new(Arc::clone(&self.schema), vec![vec![batch]])?;
        table.scan(session, projection, &[], limit).await
    }
}
