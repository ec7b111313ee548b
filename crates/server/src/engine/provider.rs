//! Tables as the execution engine scans them.

use std::fmt;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::MemTable;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use parking_lot::Mutex;
use store::StoreError;

use crate::sql_error::SqlError;
use crate::storage::Scan;

/// Opens a scan of a table, of all columns or some.
type Opener = Arc<dyn Fn(Option<Vec<usize>>) -> std::result::Result<Scan, StoreError> + Send + Sync>;

/// A table of the store, as one transaction or snapshot sees it.
#[derive(Clone)]
pub struct StoredTable {
    schema: SchemaRef,
    open: Opener,
}

impl StoredTable {
    /// A table of the given Exact schema.
    pub fn new(
        schema: &Schema,
        open: impl Fn(Option<Vec<usize>>) -> std::result::Result<Scan, StoreError> + Send + Sync + 'static,
    ) -> StoredTable {
        StoredTable { schema: plain(schema), open: Arc::new(open) }
    }

    /// Opens a scan of all columns, or of some.
    pub(super) fn open(&self, projection: Option<Vec<usize>>) -> std::result::Result<Scan, StoreError> {
        (self.open)(projection)
    }
}

impl fmt::Debug for StoredTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredTable").field("columns", &self.schema.fields().len()).finish_non_exhaustive()
    }
}

/// The schema without metadata: what a column is in T-SQL is kept beside plans, not in them.
fn plain(schema: &Schema) -> SchemaRef {
    Arc::new(Schema::new(
        schema
            .fields()
            .iter()
            .map(|field| field.as_ref().clone().with_metadata(Default::default()))
            .collect::<Vec<_>>(),
    ))
}

#[async_trait]
impl TableProvider for StoredTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = match projection {
            Some(projection) => Arc::new(self.schema.project(projection)?),
            None => Arc::clone(&self.schema),
        };
        let scan =
            (self.open)(projection.cloned()).map_err(|error| DataFusionError::External(Box::new(error)))?;
        let partition = ScanPartition { schema: Arc::clone(&schema), scan: Mutex::new(Some(scan)) };
        let plan = StreamingTableExec::try_new(schema, vec![Arc::new(partition)], None, None, false, limit)?;
        Ok(Arc::new(plan))
    }
}

struct ScanPartition {
    schema: SchemaRef,
    scan: Mutex<Option<Scan>>,
}

impl fmt::Debug for ScanPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ScanPartition")
    }
}

impl PartitionStream for ScanPartition {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let schema = Arc::clone(&self.schema);
        let Some(scan) = self.scan.lock().take() else {
            let error = DataFusionError::Internal("a scan was executed twice".to_string());
            let stream = futures::stream::iter([Err(error)]);
            return Box::pin(RecordBatchStreamAdapter::new(schema, stream));
        };
        let target = Arc::clone(&schema);
        let batches = scan.map(move |batch| {
            let batch = batch.map_err(|error| DataFusionError::External(Box::new(error)))?;
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            Ok(RecordBatch::try_new_with_options(Arc::clone(&target), batch.columns().to_vec(), &options)?)
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, futures::stream::iter(batches)))
    }
}

/// Rows that are read once, while the query runs: a file.
pub struct FileTable {
    schema: SchemaRef,
    rows: Mutex<Option<FileBatches>>,
}

type FileBatches = Box<dyn Iterator<Item = std::result::Result<RecordBatch, SqlError>> + Send>;

impl FileTable {
    /// A table of batches in the Exact form.
    pub fn new(
        schema: &Schema,
        batches: impl Iterator<Item = std::result::Result<RecordBatch, SqlError>> + Send + 'static,
    ) -> FileTable {
        FileTable { schema: plain(schema), rows: Mutex::new(Some(Box::new(batches))) }
    }
}

impl fmt::Debug for FileTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileTable").field("columns", &self.schema.fields().len()).finish_non_exhaustive()
    }
}

#[async_trait]
impl TableProvider for FileTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = match projection {
            Some(projection) => Arc::new(self.schema.project(projection)?),
            None => Arc::clone(&self.schema),
        };
        let rows = self.rows.lock().take();
        let partition = FilePartition {
            schema: Arc::clone(&schema),
            columns: projection.cloned().unwrap_or_else(|| (0..self.schema.fields().len()).collect()),
            rows: Mutex::new(rows),
        };
        let plan = StreamingTableExec::try_new(schema, vec![Arc::new(partition)], None, None, false, limit)?;
        Ok(Arc::new(plan))
    }
}

struct FilePartition {
    schema: SchemaRef,
    columns: Vec<usize>,
    rows: Mutex<Option<FileBatches>>,
}

impl fmt::Debug for FilePartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FilePartition")
    }
}

impl PartitionStream for FilePartition {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let schema = Arc::clone(&self.schema);
        let Some(rows) = self.rows.lock().take() else {
            let error = DataFusionError::Internal("a file was read twice".to_string());
            let stream = futures::stream::iter([Err(error)]);
            return Box::pin(RecordBatchStreamAdapter::new(schema, stream));
        };
        let target = Arc::clone(&schema);
        let columns = self.columns.clone();
        let batches = rows.map(move |batch| {
            let batch =
                batch.map_err(|error| DataFusionError::External(Box::new(error)))?.project(&columns)?;
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            Ok(RecordBatch::try_new_with_options(Arc::clone(&target), batch.columns().to_vec(), &options)?)
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, futures::stream::iter(batches)))
    }
}

/// A table of rows made for one statement: catalogue views, `inserted` and `deleted`.
pub struct MemoryTable;

impl MemoryTable {
    /// A table of batches in the Exact form.
    pub fn provider(schema: &Schema, batches: Vec<RecordBatch>) -> Result<Arc<dyn TableProvider>> {
        let schema = plain(schema);
        let batches = batches
            .into_iter()
            .map(|batch| {
                let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
                Ok(RecordBatch::try_new_with_options(
                    Arc::clone(&schema),
                    batch.columns().to_vec(),
                    &options,
                )?)
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(MemTable::try_new(schema, vec![batches])?))
    }
}
