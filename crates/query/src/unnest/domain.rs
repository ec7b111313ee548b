//! The distinct outer values that a right side is computed for.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{Column, Result};
use datafusion::datasource::provider_as_source;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use parking_lot::Mutex;

use super::fresh;
use crate::computed::{Rows, computed, one_stream};

/// A table of outer columns, and before them a number for each of its rows.
pub(crate) struct Domain {
    schema: SchemaRef,
    rows: Kept,
}

type Kept = Arc<Mutex<Option<RecordBatch>>>;

impl Domain {
    /// Makes a domain without rows. `columns` are outer columns; any of them may be NULL.
    pub fn new(columns: impl Iterator<Item = Field>) -> Arc<Domain> {
        let number = Field::new(fresh(), DataType::Int64, false);
        let columns = columns.map(|column| column.with_nullable(true).with_metadata(Default::default()));
        let fields: Vec<Field> = std::iter::once(number).chain(columns).collect();
        Arc::new(Domain { schema: Arc::new(Schema::new(fields)), rows: Arc::default() })
    }

    /// Returns the name of the number's column.
    pub fn number(&self) -> &str {
        self.schema.fields().first().map_or("", |field| field.name())
    }

    /// Returns the columns that every plan over the domain has: the number, and the outer columns under their own
    /// names.
    pub fn columns(&self) -> Vec<Column> {
        self.schema.fields().iter().map(|field| Column::new_unqualified(field.name())).collect()
    }

    /// Returns the fields of these columns.
    pub fn fields(&self) -> &Fields {
        self.schema.fields()
    }

    /// Sets the rows from now on: those of `values`, numbered from 0.
    pub fn set(&self, values: Vec<ArrayRef>, rows: usize) -> Result<()> {
        let number: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows as i64));
        let columns = std::iter::once(number).chain(values).collect();
        *self.rows.lock() = Some(RecordBatch::try_new(Arc::clone(&self.schema), columns)?);
        Ok(())
    }

    /// Plans the reading of the domain.
    pub fn plan(self: &Arc<Domain>) -> Result<LogicalPlan> {
        let source = provider_as_source(computed(Arc::clone(self)));
        let scan = LogicalPlanBuilder::scan(fresh(), source, None)?;
        let columns = scan.schema().columns();
        let names = columns.into_iter().map(|column| {
            let name = column.name.clone();
            Expr::Column(column).alias(name)
        });
        scan.project(names.collect::<Vec<_>>())?.build()
    }
}

#[async_trait]
impl Rows for Arc<Domain> {
    const NAME: &'static str = "Domain";

    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    async fn plan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let rows = DomainRows { schema: Arc::clone(&self.schema), rows: Arc::clone(&self.rows) };
        one_stream(rows, projection, limit)
    }
}

/// The rows of the moment.
struct DomainRows {
    schema: SchemaRef,
    rows: Kept,
}

impl fmt::Debug for DomainRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Outer Values")
    }
}

impl PartitionStream for DomainRows {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let rows = self.rows.lock().clone();
        let stream = futures::stream::iter(rows.into_iter().map(Ok));
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), stream))
    }
}
