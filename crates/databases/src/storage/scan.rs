//! Reading the rows of a table, batch by batch.

use std::sync::Arc;

use crate::storage::columns::TableForm;
use crate::storage::database::bytes_of;
use crate::storage::error::StoreError;
use crate::storage::page_rows::{NextRows, PageCell, PageRows, ScannedRows, page_cells};
use arrow::array::RecordBatch;
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use store::catalogue::Table;
use store::page::PAGE_BYTES;
use store::{KeyBound, OrderedScan, ReadTable, RowLocator};

use query::{Bound, Holds, KeyRange, KeySpan};

/// Bytes of a partition of a scan: less is not worth a thread.
const PARTITION_BYTES_MIN: u64 = 1 << 20;

/// The rows of one table as of one moment: those in pages, and those that wait for the transaction's commit.
#[derive(Debug)]
pub struct Scan {
    rows_read: FoundRows,
    waiting: Option<RecordBatch>,
    form: Arc<TableForm>,
    projection: Option<Vec<usize>>,
    schema: SchemaRef,
    rows: u64,
    bytes: u64,
    table: Arc<Table>,
    /// The rows come in the order of the clustered key, and all of them are of one range.
    by_key: bool,
    /// Rows come from the last one to the first.
    backward: bool,
    /// The rows are those of the range that was asked for, and no others.
    is_range: bool,
    /// Columns of a result that takes borrowed page rows.
    cells: Option<Arc<[PageCell]>>,
}

/// Rows of a table in the order of its extents, or of a key.
#[derive(Debug)]
enum FoundRows {
    Extents(store::Scan),
    Ordered(OrderedScan),
}

/// Snapshot or transaction whose rows a scan reads.
pub(super) enum OpenRows<'a> {
    Snapshot(&'a store::Snapshot),
    Transaction(&'a store::Transaction),
}

/// Greatest number of extents of a clustered table that is read in the order of its key.
const ORDERED_EXTENTS_MAX: u64 = 128;
/// Number of rows that are followed from an index to the table, one by one, in a table of any size.
const FOLLOWED_ROWS: u64 = 64;
/// Least ratio of a table's rows to those that are followed from an index.
const FOLLOWED_PART: u64 = 32;

impl OpenRows<'_> {
    /// Opens a scan of a range of a key, a small clustered table in the order of its key, or all of a table
    /// in the order of its extents.
    fn open(
        &self,
        table: &Arc<Table>,
        form: &TableForm,
        projection: Option<&Vec<usize>>,
        range: Option<&KeyRange>,
    ) -> Result<FoundRows, StoreError> {
        let projection = projection.cloned();
        // A key that is gone since the range was made is no way to the rows, nor is one that leads to many one by one.
        let range = range.filter(|range| match &range.index {
            Some(index) => table.index(index).is_some(),
            None => table.clustered.is_some(),
        });
        let range = match range {
            Some(range) if self.leads_to_many(table, form, range)? => None,
            range => range,
        };
        let small = table.clustered.is_some() && table.extents() <= ORDERED_EXTENTS_MAX;
        if range.is_none() && !small {
            return Ok(FoundRows::Extents(self.read(table)?.scan(projection)?));
        }
        self.ordered(table, form, projection, range).map(FoundRows::Ordered)
    }

    /// Returns true if a range has too many entries of an index to follow, because reading the whole table is
    /// cheaper.
    fn leads_to_many(
        &self,
        table: &Arc<Table>,
        form: &TableForm,
        range: &KeyRange,
    ) -> Result<bool, StoreError> {
        if range.index.is_none() || range.single {
            return Ok(false);
        }
        let most = FOLLOWED_ROWS.max(table.rows / FOLLOWED_PART);
        let mut rows = 0;
        for batch in self.ordered(table, form, Some(Vec::new()), Some(range))? {
            rows += batch?.num_rows() as u64;
            if rows > most {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn ordered(
        &self,
        table: &Arc<Table>,
        form: &TableForm,
        projection: Option<Vec<usize>>,
        range: Option<&KeyRange>,
    ) -> Result<OrderedScan, StoreError> {
        let bound = |bound: &Bound| {
            let columns = form.encode_columns(&bound.columns, &bound.values)?;
            Ok::<_, StoreError>(KeyBound { columns, included: bound.included })
        };
        let span = |span: &KeySpan| {
            let from = span.from.as_ref().map(bound).transpose()?;
            let to = span.to.as_ref().map(bound).transpose()?;
            Ok::<_, StoreError>(store::KeySpan { from, to, begins: span.begins })
        };
        let spans = match range {
            Some(range) => range.spans.iter().map(span).collect::<Result<_, _>>()?,
            None => vec![store::KeySpan::default()],
        };
        let index = range.and_then(|range| range.index.as_deref());
        let table = self.read(table)?;
        Ok(match range.is_some_and(|range| range.backward) {
            true => table.backward_scan(index, projection, &spans)?,
            false => table.span_scan(index, projection, &spans)?,
        })
    }

    fn read(&self, table: &Arc<Table>) -> Result<ReadTable, StoreError> {
        Ok(match self {
            OpenRows::Snapshot(snapshot) => snapshot.read(Arc::clone(table)),
            OpenRows::Transaction(transaction) => transaction.read(Arc::clone(table))?,
        })
    }
}

impl Scan {
    /// Opens a scan. `waiting` are rows that are not in pages yet; a table that has keys has none.
    pub(super) fn open(
        rows: &OpenRows<'_>,
        table: &Arc<Table>,
        waiting: Option<RecordBatch>,
        form: Arc<TableForm>,
        projection: Option<Vec<usize>>,
        range: Option<&KeyRange>,
    ) -> Result<Self, StoreError> {
        let schema = match &projection {
            Some(projection) => Arc::new(form.schema.project(projection)?),
            None => Arc::clone(&form.schema),
        };
        let rows_read = rows.open(table, &form, projection.as_ref(), range)?;
        let waiting_rows = waiting.as_ref().map_or(0, |batch| batch.num_rows() as u64);
        let waiting = match (waiting, &projection) {
            (Some(batch), Some(projection)) => Some(batch.project(projection)?),
            (waiting, _) => waiting,
        };
        let (rows, bytes) = match range {
            Some(range) if range.single => (1, PAGE_BYTES as u64),
            _ => (table.rows + waiting_rows, bytes_of(table)),
        };
        let is_one = range.is_none_or(|range| range.index.is_none() && range.spans.len() == 1);
        let by_key = is_one && waiting.is_none() && matches!(rows_read, FoundRows::Ordered(_));
        let is_range = by_key && range.is_some() && table.clustered.is_some();
        let backward = is_range && range.is_some_and(|range| range.backward);
        Ok(Self {
            rows_read,
            waiting,
            form,
            projection,
            schema,
            rows,
            bytes,
            table: Arc::clone(table),
            by_key,
            backward,
            is_range,
            cells: None,
        })
    }

    /// Returns true if the rows are those of the one range of the clustered key that was asked for, in its
    /// order, and no others.
    pub fn is_range(&self) -> bool {
        self.is_range
    }

    /// Returns the columns of the table in whose order the rows come, each with true if it descends; none if
    /// the order is another one.
    pub fn key_order(&self) -> Vec<(usize, bool)> {
        let clustered = self.table.clustered.as_ref().filter(|_| self.by_key);
        let key = clustered.map_or(&[][..], |tree| tree.definition.key.as_slice());
        key.iter().map(|column| (column.column, column.descending != self.backward)).collect()
    }

    /// Returns the schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Returns the number of rows that were not read when the scan was opened.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the bytes that those rows take.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reads the next rows, with the locator of each. Rows that wait for the commit are not among them.
    fn next_located(&mut self) -> Option<Result<(RecordBatch, Vec<RowLocator>), StoreError>> {
        let found = match &mut self.rows_read {
            FoundRows::Extents(scan) => scan.next_with_locators(),
            FoundRows::Ordered(scan) => scan.next_with_locators(),
        };
        Some(
            found?
                .map_err(StoreError::from)
                .and_then(|(batch, locators)| Ok((self.exact(&batch)?, locators))),
        )
    }

    /// Switches [`next_rows`](Self::next_rows) to borrowed page rows, if their values are the same bytes on the wire
    /// as columns `result`. Returns false if the scan can give batches only.
    pub fn hand_out_as_it_lies(&mut self, result: &[tds::Column]) -> bool {
        let layout = &self.table.layout;
        let all: Vec<usize> = (0..layout.visible().len()).collect();
        let projection = self.projection.as_deref().unwrap_or(&all);
        if self.by_key || matches!(self.rows_read, FoundRows::Extents(_)) {
            self.cells = page_cells(layout, &self.form, projection, result);
        }
        self.cells.is_some()
    }

    /// Reads the next rows: borrowed page rows where [that](Self::hand_out_as_it_lies) is possible, a batch
    /// of the Exact form otherwise.
    pub fn next_rows(&mut self) -> NextRows {
        let Some(cells) = &self.cells else {
            return Some(self.next()?.map(ScannedRows::Batch));
        };
        let cells = Arc::clone(cells);
        let next = match &mut self.rows_read {
            FoundRows::Extents(scan) => scan.next_rows(),
            FoundRows::Ordered(scan) => scan.next_rows(),
        };
        let batch = match next {
            Some(Ok(store::ScannedRows::Lying(rows))) => {
                return Some(Ok(ScannedRows::Lying(PageRows::new(rows, cells))));
            }
            Some(Ok(store::ScannedRows::Batch(batch))) => Ok(batch),
            Some(Err(error)) => Err(error.into()),
            None => Ok(self.waiting.take()?),
        };
        Some(batch.and_then(|batch| self.exact(&batch)).map(ScannedRows::Batch))
    }

    /// Returns rows of a few extents of the table, or the next rows of one that is read by its key.
    pub fn few(&mut self) -> Option<Result<RecordBatch, StoreError>> {
        match &mut self.rows_read {
            FoundRows::Extents(scan) => {
                let few = scan.few()?.map_err(StoreError::from);
                Some(few.and_then(|batch| self.exact(&batch)))
            }
            FoundRows::Ordered(_) => self.next(),
        }
    }

    /// Returns the next rows for which `holds` is true of their columns at `places` of the projection; None at the end, and from `holds` on. Other
    /// columns are read of these rows only, where the table is read in the order of its extents.
    pub fn next_where(
        &mut self,
        places: &[usize],
        holds: &mut Holds<'_>,
    ) -> Option<Result<RecordBatch, StoreError>> {
        let FoundRows::Extents(scan) = &mut self.rows_read else { return self.next_chosen(places, holds) };
        let columns: Option<Vec<usize>> = self
            .projection
            .as_ref()
            .map(|projection| places.iter().filter_map(|place| projection.get(*place)).copied().collect());
        let columns = columns.unwrap_or_else(|| places.to_vec());
        let schema = match self.schema.project(places) {
            Ok(schema) => Arc::new(schema),
            Err(error) => return Some(Err(error.into())),
        };
        let (form, mut failed) = (&self.form, None);
        let found = scan.next_where(places, &mut |raw| match form.decode(&raw, Some(&columns), &schema) {
            Ok(batch) => holds(batch),
            Err(error) => {
                failed = Some(error);
                None
            }
        });
        match (failed, found) {
            (Some(error), _) => Some(Err(error)),
            (None, Some(batch)) => Some(batch.map_err(StoreError::from).and_then(|batch| self.exact(&batch))),
            (None, None) => self.next_chosen(places, holds),
        }
    }

    /// Does the same as [`next_where`](Self::next_where) with whole rows.
    fn next_chosen(
        &mut self,
        places: &[usize],
        holds: &mut Holds<'_>,
    ) -> Option<Result<RecordBatch, StoreError>> {
        loop {
            let batch = match self.next()? {
                Ok(batch) => batch,
                Err(error) => return Some(Err(error)),
            };
            let looked_at = match batch.project(places) {
                Ok(looked_at) => looked_at,
                Err(error) => return Some(Err(error.into())),
            };
            match filter_record_batch(&batch, &holds(looked_at)?) {
                Ok(chosen) if chosen.num_rows() == 0 => {}
                chosen => return Some(chosen.map_err(StoreError::from)),
            }
        }
    }

    /// Converts rows of pages to the Exact form.
    fn exact(&self, batch: &RecordBatch) -> Result<RecordBatch, StoreError> {
        self.form.decode(batch, self.projection.as_deref(), &self.schema)
    }

    /// Cuts the scan into up to `parts` that read different extents and can run side by side, each of a megabyte at least. Only rows in
    /// the order of extents are cut.
    pub fn partitions(self, parts: usize) -> Vec<Scan> {
        let Self {
            rows_read,
            mut waiting,
            form,
            projection,
            schema,
            rows,
            bytes,
            table,
            by_key,
            backward,
            is_range,
            cells,
        } = self;
        let most = usize::try_from(bytes / PARTITION_BYTES_MIN).unwrap_or(usize::MAX).max(1);
        let scans = match rows_read {
            FoundRows::Extents(scan) => {
                scan.partitions(parts.min(most)).into_iter().map(FoundRows::Extents).collect()
            }
            ordered => vec![ordered],
        };
        let count = scans.len().max(1) as u64;
        let part = |rows_read| Scan {
            rows_read,
            // The first part takes the waiting rows.
            waiting: waiting.take(),
            form: Arc::clone(&form),
            projection: projection.clone(),
            schema: Arc::clone(&schema),
            rows: rows / count,
            bytes: bytes / count,
            table: Arc::clone(&table),
            by_key,
            backward,
            is_range,
            cells: cells.clone(),
        };
        scans.into_iter().map(part).collect()
    }
}

impl Iterator for Scan {
    type Item = Result<RecordBatch, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = match &mut self.rows_read {
            FoundRows::Extents(scan) => scan.next(),
            FoundRows::Ordered(scan) => scan.next(),
        };
        let batch = match next {
            Some(batch) => batch,
            None => Ok(self.waiting.take()?),
        };
        Some(batch.map_err(StoreError::from).and_then(|batch| self.exact(&batch)))
    }
}

/// Rows that a statement may change, each with its locator.
#[derive(Debug)]
pub struct LocatedScan(pub(super) Scan);

impl LocatedScan {
    /// Returns the number of rows that were not read when the scan was opened.
    pub fn rows(&self) -> u64 {
        self.0.rows()
    }

    /// Returns the bytes that those rows take.
    pub fn bytes(&self) -> u64 {
        self.0.bytes()
    }
}

impl Iterator for LocatedScan {
    type Item = Result<(RecordBatch, Vec<RowLocator>), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next_located()
    }
}
