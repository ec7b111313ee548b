//! The rows of a query that needs all rows of the source first.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Field, Schema};
use copy::{BoxError, RowStream};
use load::{Origin, Origins, SourceBatch, UnreadRow};
use parking_lot::Mutex;
use query::memory::Reservation;
use query::streaming::{Feed, Gathering};
use tokio::runtime::Runtime;
use tsql::SqlError;

use crate::error::TransformError;
use crate::form_change::{Changed, FormChange, Misfit};
use crate::row_wise_rows::refused;
use crate::source_columns::SourceColumns;

/// The rows of a query over a whole source.
pub struct GatheredRows {
    query: Option<Gathering>,
    output: FormChange,
    runtime: Runtime,
    /// Share of the memory budget that lookups take.
    _held: Reservation,
    aside: Arc<Mutex<Aside>>,
    /// Rows that have come out.
    counted: u64,
}

/// Part of the source that the query cannot read: unread rows, and a failure.
#[derive(Default)]
struct Aside {
    unread: Vec<UnreadRow>,
    failure: Option<BoxError>,
}

impl GatheredRows {
    /// Begins the rows that `query` makes of those of `source`.
    pub fn new(
        source: RowStream,
        query: Gathering,
        feed: &Feed,
        input: SourceColumns,
        output: FormChange,
        runtime: Runtime,
        held: Reservation,
    ) -> Self {
        let aside = Arc::new(Mutex::new(Aside::default()));
        feed.fill(ReadRows { source, input, aside: Arc::clone(&aside), counted: 0 });
        Self { query: Some(query), output, runtime, _held: held, aside, counted: 0 }
    }

    fn made(&mut self, batch: RecordBatch) -> SourceBatch {
        let Changed { batch, misfits, .. } = self.output.apply(batch.columns(), batch.num_rows());
        let first = self.counted;
        let origins = Arc::new(Counted(first));
        let whole = SourceBatch::new(batch, origins);
        let rows = whole.rows();
        self.counted += rows as u64;
        let mut unread = std::mem::take(&mut self.aside.lock().unread);
        unread.extend(misfits.into_iter().map(|misfit| refused(&whole, misfit)));
        whole.with_unread(unread)
    }
}

impl Iterator for GatheredRows {
    type Item = Result<SourceBatch, BoxError>;

    fn next(&mut self) -> Option<Self::Item> {
        let query = self.query.as_mut()?;
        match self.runtime.block_on(query.next()) {
            Ok(Some(batch)) => Some(Ok(self.made(batch))),
            Ok(None) => {
                self.query = None;
                let is_rest = !self.aside.lock().unread.is_empty();
                is_rest.then(|| Ok(self.made(RecordBatch::new_empty(self.output.schema()))))
            }
            Err(error) => {
                self.query = None;
                let failure = self.aside.lock().failure.take();
                Some(Err(failure.unwrap_or_else(|| Box::new(TransformError::Sql(error)))))
            }
        }
    }
}

/// Numbers rows as they come out: they stand for no row of the source.
struct Counted(u64);

impl Origins for Counted {
    fn origin(&self, index: usize) -> Origin {
        Origin { row: self.0 + index as u64, byte_offset: None, raw: None }
    }
}

/// The source's rows on their way into the query.
struct ReadRows {
    source: RowStream,
    input: SourceColumns,
    aside: Arc<Mutex<Aside>>,
    counted: u64,
}

impl Iterator for ReadRows {
    type Item = Result<RecordBatch, SqlError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = match self.source.batches.next()? {
            Ok(batch) => batch,
            Err(error) => {
                self.aside.lock().failure = Some(error);
                return Some(Err(SqlError::internal("the source failed")));
            }
        };
        let mut batch = batch.counted_from(self.counted);
        self.counted += batch.rows() as u64;
        let mut unread = batch.take_unread();
        let (arrays, count, _, misfits) = self.input.of(&batch);
        unread.extend(misfits.into_iter().map(|misfit: Misfit| refused(&batch, misfit)));
        self.aside.lock().unread.append(&mut unread);
        let fields = arrays.iter().enumerate();
        let fields = fields.map(|(at, array)| Field::new(format!("c{at}"), array.data_type().clone(), true));
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Some(
            RecordBatch::try_new_with_options(schema, arrays, &options)
                .map_err(|error| SqlError::internal(error)),
        )
    }
}
