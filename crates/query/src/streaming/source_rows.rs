//! The stream as a table: batches that are handed in from outside.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use parking_lot::Mutex;
use tsql::SqlError;

use crate::computed::{Rows, computed, rows_of};
use crate::one_input::{OneInputExec, Step};
use crate::provider::{external, projected};
use crate::running;

/// Batches on their way into a query.
type Batches = Box<dyn Iterator<Item = std::result::Result<RecordBatch, SqlError>> + Send>;

/// The batches that the next run reads.
enum Filling {
    /// Batches of all columns.
    Whole(Batches),
    /// A batch of the columns that the query reads.
    Read(RecordBatch),
}

/// Hands batches to the query that reads the stream.
#[derive(Clone)]
pub struct Feed {
    name: String,
    schema: SchemaRef,
    filling: Arc<Mutex<Option<Filling>>>,
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Feed {
    /// Makes a table of this name and Exact schema, without rows.
    pub(crate) fn new(name: impl Into<String>, schema: &Schema) -> Feed {
        let fields = schema.fields().iter();
        let plain: Vec<_> =
            fields.map(|field| field.as_ref().clone().with_metadata(Default::default())).collect();
        Feed { name: name.into(), schema: Arc::new(Schema::new(plain)), filling: Arc::default() }
    }

    /// Returns the table's name in queries.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the schema of these of its columns.
    pub(super) fn read_schema(&self, columns: &[usize]) -> Result<SchemaRef> {
        projected(&self.schema, Some(&columns.to_vec()))
    }

    /// Hands over all rows, of all columns.
    pub fn fill(
        &self,
        batches: impl Iterator<Item = std::result::Result<RecordBatch, SqlError>> + Send + 'static,
    ) {
        *self.filling.lock() = Some(Filling::Whole(Box::new(batches)));
    }

    /// Hands over the columns that the query reads of some rows.
    pub(super) fn fill_read(&self, batch: RecordBatch) {
        *self.filling.lock() = Some(Filling::Read(batch));
    }

    /// Returns the table.
    pub(crate) fn provider(&self) -> Arc<dyn TableProvider> {
        computed(FedTable(self.clone()))
    }
}

/// Returns true if a table is a stream.
pub(crate) fn is_stream(table: &dyn TableProvider) -> bool {
    rows_of::<FedTable>(table).is_some()
}

struct FedTable(Feed);

#[async_trait]
impl Rows for FedTable {
    const NAME: &'static str = "Stream";

    fn schema(&self) -> &SchemaRef {
        &self.0.schema
    }

    async fn plan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = projected(&self.0.schema, projection)?;
        let columns = projection.cloned().unwrap_or_else(|| (0..self.0.schema.fields().len()).collect());
        let partition =
            FedPartition { schema: Arc::clone(&schema), columns: columns.clone(), feed: self.0.clone() };
        let rows = StreamingTableExec::try_new(schema, vec![Arc::new(partition)], None, None, false, limit)?;
        Ok(Arc::new(OneInputExec::new(Arc::new(rows), SourceRows { columns })))
    }
}

/// Marks the place of a plan that reads the stream.
#[derive(Clone)]
pub(super) struct SourceRows {
    /// The columns that it reads.
    pub(super) columns: Vec<usize>,
}

impl Step for SourceRows {
    const NAME: &'static str = "SourceRowsExec";
    /// It does, but what it marks must stay at the bottom of the plan: a sort would be pushed below.
    const KEEPS_ORDER: bool = false;

    fn run(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        input.execute(partition, context)
    }
}

struct FedPartition {
    schema: SchemaRef,
    columns: Vec<usize>,
    feed: Feed,
}

impl fmt::Debug for FedPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stream Scan")
    }
}

impl PartitionStream for FedPartition {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let schema = Arc::clone(&self.schema);
        let batches = match self.feed.filling.lock().take() {
            Some(Filling::Whole(batches)) => batches,
            Some(Filling::Read(batch)) => {
                let all: Vec<usize> = (0..batch.num_columns()).collect();
                let batch = relabelled(&batch, &all, &schema).map_err(Into::into);
                return Box::pin(RecordBatchStreamAdapter::new(schema, futures::stream::iter([batch])));
            }
            None => {
                let text = "The source is read once: this query would read it again.";
                let error = external(SqlError::new(40515, 16, 1, text));
                return Box::pin(RecordBatchStreamAdapter::new(schema, futures::stream::iter([Err(error)])));
            }
        };
        let (target, columns) = (Arc::clone(&schema), self.columns.clone());
        let batches = batches.map(move |batch| {
            running::check().map_err(external)?;
            Ok(relabelled(&batch.map_err(external)?, &columns, &target)?)
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, futures::stream::iter(batches)))
    }
}

/// Puts some columns of a batch under another schema.
fn relabelled(
    batch: &RecordBatch,
    columns: &[usize],
    schema: &SchemaRef,
) -> std::result::Result<RecordBatch, arrow::error::ArrowError> {
    let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let arrays = batch.project(columns)?.columns().to_vec();
    RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)
}
