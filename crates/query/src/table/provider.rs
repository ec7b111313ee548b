//! Tables as the execution engine scans them.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow::compute::SortOptions;
use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::MemTable;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use parking_lot::Mutex;

use crate::computed::{Rows, computed, one_stream};
use crate::key_range::{KeyRange, KeyTree, KeyedTable, orders_as_stored};
use crate::large_scan::{LargeScanExec, is_large};
use crate::parameters::{Parameters, for_some_row, for_this_row, looks_out, state_of};
use crate::plan_operator::access;
use crate::row_scan::RowScan;
use crate::running;
use crate::seek::{is_seekable, seek, seek_exactly};
use tsql::SqlError;
use tsql::errors;

/// Opens a scan of a table, of all columns or some, of all rows or those of a range of a key.
type Opener = Arc<
    dyn Fn(Option<Vec<usize>>, Option<&KeyRange>) -> std::result::Result<Box<dyn RowScan>, SqlError>
        + Send
        + Sync,
>;

/// A table of the store, as one transaction or snapshot sees it.
#[derive(Clone)]
pub struct StoredTable {
    schema: SchemaRef,
    /// The table, if its keys are trees by which rows can be found.
    keyed: Option<Arc<dyn KeyedTable>>,
    open: Opener,
    /// All rows are read in the order of the clustered key, or in the opposite one (true).
    by_key: Option<bool>,
}

impl StoredTable {
    /// Makes a table of the given Exact schema.
    pub fn new(
        schema: &Schema,
        keyed: Option<Arc<dyn KeyedTable>>,
        open: impl Fn(Option<Vec<usize>>, Option<&KeyRange>) -> std::result::Result<Box<dyn RowScan>, SqlError>
        + Send
        + Sync
        + 'static,
    ) -> StoredTable {
        StoredTable { schema: plain(schema), keyed, open: Arc::new(open), by_key: None }
    }

    /// Opens a scan of all or some columns. It has at least the rows that satisfy all `conditions`.
    ///
    /// # Errors
    /// The storage fails.
    pub fn open(
        &self,
        projection: Option<Vec<usize>>,
        conditions: &[Expr],
    ) -> std::result::Result<Box<dyn RowScan>, SqlError> {
        self.open_range(projection, self.range(conditions).as_ref())
    }

    /// Finds the range of a key in which all rows lie that satisfy all of `conditions`. `None`: they may lie anywhere.
    pub(crate) fn range(&self, conditions: &[Expr]) -> Option<KeyRange> {
        self.keyed.as_ref().and_then(|table| seek(table.as_ref(), conditions))
    }

    /// Finds the range of the clustered key that has exactly the rows for which a condition over its columns holds, if
    /// there is one.
    pub(crate) fn exact_range(&self, condition: &Expr) -> Option<KeyRange> {
        let may_be_null =
            |position: usize| self.schema.fields().get(position).is_none_or(|field| field.is_nullable());
        seek_exactly(self.keyed.as_ref()?.as_ref(), condition, may_be_null)
    }

    /// Returns the table if rows can be found by its keys.
    pub(crate) fn keyed(&self) -> Option<&dyn KeyedTable> {
        self.keyed.as_deref().filter(|table| table.has_keys())
    }

    /// Returns the clustered key.
    pub(crate) fn clustered_key(&self) -> Option<KeyTree> {
        self.keyed.as_ref()?.keys().into_iter().find(|key| key.index.is_none())
    }

    /// Reads the rows in the order of the clustered key, or in the opposite one, unless an index leads to them.
    pub(crate) fn by_key(self, backward: bool) -> StoredTable {
        StoredTable { by_key: Some(backward), ..self }
    }

    /// Returns the schema of all columns.
    pub(crate) fn schema_ref(&self) -> &SchemaRef {
        &self.schema
    }

    /// Opens a scan of the rows of a range.
    pub(crate) fn open_range(
        &self,
        projection: Option<Vec<usize>>,
        range: Option<&KeyRange>,
    ) -> std::result::Result<Box<dyn RowScan>, SqlError> {
        (self.open)(projection, range)
    }

    /// Words the access to the rows for shown plans.
    pub(crate) fn access(&self, range: Option<&KeyRange>) -> String {
        let name = self.keyed.as_ref().map(|table| table.shown_name()).unwrap_or_default();
        access(&name, &self.schema, range)
    }
}

impl fmt::Debug for StoredTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredTable").field("columns", &self.schema.fields().len()).finish_non_exhaustive()
    }
}

/// Drops the metadata of a schema: a column's T-SQL type is kept beside plans, not in them.
fn plain(schema: &Schema) -> SchemaRef {
    Arc::new(Schema::new(
        schema
            .fields()
            .iter()
            .map(|field| field.as_ref().clone().with_metadata(Default::default()))
            .collect::<Vec<_>>(),
    ))
}

pub(crate) fn projected(schema: &SchemaRef, projection: Option<&Vec<usize>>) -> Result<SchemaRef> {
    Ok(match projection {
        Some(projection) => Arc::new(schema.project(projection)?),
        None => Arc::clone(schema),
    })
}

/// Selects the conditions that a table uses: comparisons that a key may answer. The scan may yield more rows than
/// they allow, so the engine still checks them.
fn wanted(keyed: Option<&Arc<dyn KeyedTable>>, filters: &[&Expr]) -> Vec<TableProviderFilterPushDown> {
    let support = |filter: &&Expr| match keyed
        .is_some_and(|table| is_seekable(table.as_ref(), &for_some_row(filter)))
    {
        true => TableProviderFilterPushDown::Inexact,
        false => TableProviderFilterPushDown::Unsupported,
    };
    filters.iter().map(support).collect()
}

#[async_trait]
impl TableProvider for StoredTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(wanted(self.keyed.as_ref(), filters))
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = projected(&self.schema, projection)?;
        if let Some(parameters) = Parameters::of(state_of(session)?) {
            let looks_out = filters.iter().any(looks_out);
            if looks_out {
                parameters.note_seek();
            }
            let rows = RowsAgain {
                table: self.clone(),
                schema: Arc::clone(&schema),
                projection: projection.cloned(),
                filters: filters.to_vec(),
                looks_out,
                kept: Mutex::default(),
            };
            let limit = limit.filter(|_| filters.is_empty());
            let plan = StreamingTableExec::try_new(schema, vec![Arc::new(rows)], None, None, false, limit)?;
            return Ok(Arc::new(plan));
        }
        let range = match (self.range(filters), self.by_key) {
            (None, Some(backward)) => Some(KeyRange::all(backward)),
            (Some(range), Some(backward)) if range.index.is_none() => Some(KeyRange { backward, ..range }),
            (range, _) => range,
        };
        let scan = self.open_range(projection.cloned(), range.as_ref()).map_err(external)?;
        let origin = Arc::new((self.clone(), range));
        // A limit is of the rows that satisfy the conditions, which are checked above.
        let limit = limit.filter(|_| filters.is_empty());
        let ordering = ordering(&scan.key_order(), &schema, projection);
        if limit.is_none() && session.config().target_partitions() == 1 && is_large(scan.as_ref()) {
            let access = self.access(origin.1.as_ref());
            return Ok(Arc::new(LargeScanExec::new(scan, schema, ordering, access)));
        }
        let parts = scan.partitions(session.config().target_partitions()).into_iter();
        let partitions = parts.map(|scan| -> Arc<dyn PartitionStream> {
            let rows: Batches = Box::new(scan.map(|batch| batch.map_err(external)));
            let origin = Some(Arc::clone(&origin));
            Arc::new(OncePartition { schema: Arc::clone(&schema), origin, rows: Mutex::new(Some(rows)) })
        });
        let partitions: Vec<_> = partitions.collect();
        let ordering = ordering.filter(|_| partitions.len() == 1);
        Ok(Arc::new(StreamingTableExec::try_new(schema, partitions, None, ordering, false, limit)?))
    }
}

/// Returns the order of rows by a key, as far as the engine compares its columns as the storage does, which excludes
/// text.
fn ordering(
    key: &[(usize, bool)],
    projected: &SchemaRef,
    projection: Option<&Vec<usize>>,
) -> Option<LexOrdering> {
    let columns = key.iter().map_while(|&(position, descending)| {
        let index = match projection {
            Some(projection) => projection.iter().position(|own| *own == position)?,
            None => position,
        };
        let field = projected.fields().get(index).filter(|field| orders_as_stored(field.data_type()))?;
        // Nulls are the least values.
        let options = SortOptions { descending, nulls_first: !descending };
        Some(PhysicalSortExpr::new(Arc::new(Column::new(field.name(), index)), options))
    });
    LexOrdering::new(columns)
}

/// Bytes of rows that are kept from one run of a query to the next.
const KEPT_BYTES_MAX: u64 = 1 << 20;

/// A table's rows in a plan that runs many times.
struct RowsAgain {
    table: StoredTable,
    schema: SchemaRef,
    projection: Option<Vec<usize>>,
    filters: Vec<Expr>,
    /// The filters look at the row that the query is run for.
    looks_out: bool,
    /// Few rows, the same for each run.
    kept: Mutex<Option<Vec<RecordBatch>>>,
}

impl fmt::Debug for RowsAgain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.table.access(self.table.range(&self.filters).as_ref()))
    }
}

impl RowsAgain {
    fn open(&self) -> Result<Batches> {
        if let Some(kept) = &*self.kept.lock() {
            return Ok(Box::new(kept.clone().into_iter().map(Ok)));
        }
        let filters = match self.looks_out {
            true => self.filters.iter().map(|filter| for_this_row(filter).unwrap_or_else(|| filter.clone())),
            false => return self.open_alike(),
        };
        let scan = self.table.open(self.projection.clone(), &filters.collect::<Vec<_>>());
        self.relabelled(scan.map_err(external)?)
    }

    /// Rows that are the same for each run.
    fn open_alike(&self) -> Result<Batches> {
        let scan = self.table.open(self.projection.clone(), &self.filters).map_err(external)?;
        if scan.bytes() > KEPT_BYTES_MAX {
            return self.relabelled(scan);
        }
        let rows = self.relabelled(scan)?.collect::<Result<Vec<_>>>()?;
        *self.kept.lock() = Some(rows.clone());
        Ok(Box::new(rows.into_iter().map(Ok)))
    }

    fn relabelled(&self, scan: Box<dyn RowScan>) -> Result<Batches> {
        let target = Arc::clone(&self.schema);
        Ok(Box::new(scan.map(move |batch| {
            let batch = batch.map_err(external)?;
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            Ok(RecordBatch::try_new_with_options(Arc::clone(&target), batch.columns().to_vec(), &options)?)
        })))
    }
}

impl PartitionStream for RowsAgain {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let rows = self.open().unwrap_or_else(|error| Box::new(std::iter::once(Err(error))));
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), futures::stream::iter(rows)))
    }
}

/// Rows that are read once, while the query runs: a file.
pub struct FileTable {
    schema: SchemaRef,
    rows: Arc<Mutex<FileSource>>,
}

/// The rows of a file that are left.
enum FileSource {
    /// All of them, or none.
    Unread(Option<FileBatches>),
    /// Rows that a plan reads many times.
    Read(Vec<RecordBatch>),
}

type FileBatches = Box<dyn Iterator<Item = std::result::Result<RecordBatch, SqlError>> + Send>;

impl FileTable {
    /// Makes a table of batches in the Exact form.
    pub fn provider(
        schema: &Schema,
        batches: impl Iterator<Item = std::result::Result<RecordBatch, SqlError>> + Send + 'static,
    ) -> Arc<dyn TableProvider> {
        let rows = FileSource::Unread(Some(Box::new(batches)));
        computed(FileTable { schema: plain(schema), rows: Arc::new(Mutex::new(rows)) })
    }
}

#[async_trait]
impl Rows for FileTable {
    const NAME: &'static str = "FileTable";

    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    async fn plan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if Parameters::of(state_of(session)?).is_some() {
            let rows = FileAgain { schema: Arc::clone(&self.schema), rows: Arc::clone(&self.rows) };
            return one_stream(rows, projection, limit);
        }
        let schema = projected(&self.schema, projection)?;
        let columns = projection.cloned().unwrap_or_else(|| (0..self.schema.fields().len()).collect());
        let rows = match &mut *self.rows.lock() {
            FileSource::Unread(rows) => rows.take(),
            FileSource::Read(_) => None,
        };
        let rows = rows.map(|rows| -> Batches {
            Box::new(rows.map(move |batch| Ok(batch.map_err(external)?.project(&columns)?)))
        });
        read_once(schema, rows, limit)
    }
}

/// A file's rows in a plan that runs many times: they are kept.
struct FileAgain {
    schema: SchemaRef,
    rows: Arc<Mutex<FileSource>>,
}

impl fmt::Debug for FileAgain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Table Scan")
    }
}

impl FileAgain {
    fn batches(&self) -> Result<Vec<RecordBatch>> {
        let mut source = self.rows.lock();
        if let FileSource::Unread(rows) = &mut *source {
            // Only a join asks for them a second time whose rows have no room in memory.
            let rows = rows.take().ok_or_else(|| external(errors::OUT_OF_MEMORY.error()))?;
            let mut batches = Vec::new();
            for batch in rows {
                let batch = batch.map_err(external)?;
                running::check().map_err(external)?;
                running::hold(batch.get_array_memory_size()).map_err(external)?;
                let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
                let columns = batch.columns().to_vec();
                batches.push(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?);
            }
            *source = FileSource::Read(batches);
        }
        match &*source {
            FileSource::Read(batches) => Ok(batches.clone()),
            FileSource::Unread(_) => Ok(Vec::new()),
        }
    }
}

impl PartitionStream for FileAgain {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let rows: Batches = match self.batches() {
            Ok(batches) => Box::new(batches.into_iter().map(Ok)),
            Err(error) => Box::new(std::iter::once(Err(error))),
        };
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), futures::stream::iter(rows)))
    }
}

/// A scan of a table whose rows a statement may change: rows with their locators.
pub trait LocatedScan<L>:
    Iterator<Item = std::result::Result<(RecordBatch, Vec<L>), SqlError>> + Send
{
    /// Rows that were not read when the scan was opened.
    fn rows(&self) -> u64;
    /// Bytes that those rows take.
    fn bytes(&self) -> u64;
}

/// The locators of a [located](StoredTable::located) table's rows, by their numbers.
pub type Located<L> = Arc<Mutex<Vec<L>>>;

impl StoredTable {
    /// Adds a last column to a table, the last of `schema`: a number for each row that is read. The rows' locators are
    /// put into `located`.
    pub fn located<L: Send + 'static>(
        schema: &Schema,
        keyed: Arc<dyn KeyedTable>,
        located: &Located<L>,
        open: impl Fn(
            Option<Vec<usize>>,
            Option<&KeyRange>,
        ) -> std::result::Result<Box<dyn LocatedScan<L>>, SqlError>
        + Send
        + Sync
        + 'static,
    ) -> StoredTable {
        let own = plain(schema);
        let (full, located) = (Arc::clone(&own), Arc::clone(located));
        let opener = move |projection: Option<Vec<usize>>, range: Option<&KeyRange>| {
            let number = full.fields().len().saturating_sub(1);
            let columns = projection.unwrap_or_else(|| (0..=number).collect());
            let read = columns.iter().copied().filter(|column| *column != number).collect();
            let schema = full.project(&columns).map_err(|error| SqlError::internal(error))?;
            let scan = open(Some(read), range)?;
            let located = Arc::clone(&located);
            let rows: Box<dyn RowScan> =
                Box::new(NumberedScan { scan, schema: Arc::new(schema), columns, number, located });
            Ok(rows)
        };
        StoredTable { schema: own, keyed: Some(keyed), open: Arc::new(opener), by_key: None }
    }
}

/// Rows with their numbers.
struct NumberedScan<L> {
    scan: Box<dyn LocatedScan<L>>,
    schema: SchemaRef,
    /// Positions in the table; that of the number among them.
    columns: Vec<usize>,
    number: usize,
    located: Located<L>,
}

impl<L> Iterator for NumberedScan<L> {
    type Item = std::result::Result<RecordBatch, SqlError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (batch, locators) = match self.scan.next()? {
            Ok(found) => found,
            Err(error) => return Some(Err(error)),
        };
        let first = {
            let mut known = self.located.lock();
            let first = known.len() as i64;
            known.extend(locators);
            first
        };
        let rows = batch.num_rows();
        let numbers: ArrayRef =
            Arc::new(Int64Array::from_iter_values((0..rows as i64).map(|row| first + row)));
        let mut values = batch.columns().iter();
        let arrays = self.columns.iter().filter_map(|column| match *column == self.number {
            true => Some(Arc::clone(&numbers)),
            false => values.next().map(Arc::clone),
        });
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays.collect(), &options);
        Some(batch.map_err(|error| SqlError::internal(error)))
    }
}

impl<L: Send + 'static> RowScan for NumberedScan<L> {
    fn rows(&self) -> u64 {
        self.scan.rows()
    }

    fn bytes(&self) -> u64 {
        self.scan.bytes()
    }

    fn partitions(self: Box<Self>, _: usize) -> Vec<Box<dyn RowScan>> {
        vec![self]
    }
}

/// Batches on their way into a plan.
pub(crate) type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// Plans rows that are read once, relabelled to `schema`.
pub(crate) fn read_once(
    schema: SchemaRef,
    rows: Option<Batches>,
    limit: Option<usize>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let partition = OncePartition { schema: Arc::clone(&schema), origin: None, rows: Mutex::new(rows) };
    let plan = StreamingTableExec::try_new(schema, vec![Arc::new(partition)], None, None, false, limit)?;
    Ok(Arc::new(plan))
}

struct OncePartition {
    schema: SchemaRef,
    /// The table and the range that it reads.
    origin: Option<Arc<(StoredTable, Option<KeyRange>)>>,
    rows: Mutex<Option<Batches>>,
}

impl fmt::Debug for OncePartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.origin.as_deref() {
            Some((table, range)) => f.write_str(&table.access(range.as_ref())),
            None => f.write_str("Table Scan"),
        }
    }
}

impl PartitionStream for OncePartition {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let schema = Arc::clone(&self.schema);
        let Some(rows) = self.rows.lock().take() else {
            // Only a join does that whose rows have no room in memory.
            let error = external(errors::OUT_OF_MEMORY.error());
            let stream = futures::stream::iter([Err(error)]);
            return Box::pin(RecordBatchStreamAdapter::new(schema, stream));
        };
        let target = Arc::clone(&schema);
        let batches = rows.map(move |batch| {
            running::check().map_err(external)?;
            let batch = batch?;
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            Ok(RecordBatch::try_new_with_options(Arc::clone(&target), batch.columns().to_vec(), &options)?)
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, futures::stream::iter(batches)))
    }
}

pub(crate) fn external(error: impl std::error::Error + Send + Sync + 'static) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// A table of rows made for one statement: catalogue views, `inserted` and `deleted`.
pub struct MemoryTable;

impl MemoryTable {
    /// Makes a table of batches in the Exact form.
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
