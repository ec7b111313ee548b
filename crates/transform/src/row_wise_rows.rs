//! The rows of a query that runs batch by batch.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::datatypes::{Field, Schema};
use copy::{BoxError, RowStream, UntransformedRow};
use load::{Origin, Origins, SourceBatch, UnreadRow};
use query::memory::Reservation;
use query::streaming::{FailedRow, Portion, RowWise};
use tokio::runtime::Runtime;

use crate::error::TransformError;
use crate::form_change::{Changed, FormChange, Misfit};
use crate::source_columns::SourceColumns;

/// Rows that pass through the query together: few enough to stay in cache, enough to make calls cheap.
const ROWS_AT_ONCE: usize = 1 << 14;

/// The transformed rows of a source.
pub struct RowWiseRows {
    source: Option<RowStream>,
    query: RowWise,
    input: SourceColumns,
    output: FormChange,
    runtime: Runtime,
    /// Share of the memory budget that lookups take.
    _held: Reservation,
    ready: VecDeque<SourceBatch>,
    /// Rows of the source so far.
    counted: u64,
    /// Rows that have come out besides the first one of their row of the source.
    further: u64,
}

impl RowWiseRows {
    /// Begins the rows that `query` makes of those of `source`.
    pub fn new(
        source: RowStream,
        query: RowWise,
        input: SourceColumns,
        output: FormChange,
        runtime: Runtime,
        held: Reservation,
    ) -> Self {
        let source = Some(source);
        let ready = VecDeque::new();
        Self { source, query, input, output, runtime, _held: held, ready, counted: 0, further: 0 }
    }

    fn transform(&mut self, batch: SourceBatch) -> Result<(), BoxError> {
        let mut batch = batch.counted_from(self.counted);
        self.counted += batch.rows() as u64;
        let mut unread: VecDeque<UnreadRow> = batch.take_unread().into();
        let mut start = 0;
        while start < batch.rows() {
            let length = ROWS_AT_ONCE.min(batch.rows() - start);
            let part = batch.slice(start, length);
            start += length;
            // Unread rows go with the rows in front of which they stand, those at the end with the last.
            let end = if start < batch.rows() { batch.origin_row(start) } else { u64::MAX };
            let own = unread.iter().take_while(|row| row.origin.row < end).count();
            self.transform_part(part, unread.drain(..own).collect())?;
        }
        if !unread.is_empty() {
            self.transform_part(batch.slice(0, 0), unread.into())?;
        }
        Ok(())
    }

    fn transform_part(&mut self, part: SourceBatch, unread: Vec<UnreadRow>) -> Result<(), BoxError> {
        let (arrays, count, kept, misfits) = self.input.of(&part);
        let mut failed: Vec<UnreadRow> = unread;
        failed.extend(misfits.into_iter().map(|misfit| refused(&part, misfit)));
        let mut portions = Vec::new();
        if count > 0 {
            let fields = arrays.iter().enumerate();
            let fields =
                fields.map(|(at, array)| Field::new(format!("c{at}"), array.data_type().clone(), true));
            let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
            let options = RecordBatchOptions::new().with_row_count(Some(count));
            let read = RecordBatch::try_new_with_options(schema, arrays, &options)?;
            let done = self.runtime.block_on(self.query.run(&read)).map_err(TransformError::Sql)?;
            let place = |row: usize| kept.as_ref().map_or(row, |kept| kept.value(row) as usize);
            failed.extend(done.failed.into_iter().map(|row| untransformed(&part, place(row.row), row)));
            for Portion { batch, rows } in done.portions {
                let Changed { batch, rows: fit, misfits } =
                    self.output.apply(batch.columns(), batch.num_rows());
                let place_of = |at: u32| place(rows.value(at as usize) as usize) as u32;
                failed.extend(
                    misfits.into_iter().map(|misfit| {
                        refused(&part, Misfit { row: place_of(misfit.row), error: misfit.error })
                    }),
                );
                let rows = match fit {
                    Some(fit) => fit.values().iter().map(|at| place_of(*at)).collect(),
                    None if kept.is_some() => (0..batch.num_rows() as u32).map(place_of).collect(),
                    None => rows,
                };
                portions.push((batch, rows));
            }
        }
        failed.sort_by_key(|row| row.origin.row);
        self.hand_out(&part, portions, failed);
        Ok(())
    }

    /// Numbers rows and refused rows as their rows of the source, moved up by the further rows that joins have made: a number
    /// stands for one row.
    fn hand_out(
        &mut self,
        part: &SourceBatch,
        portions: Vec<(RecordBatch, UInt32Array)>,
        failed: Vec<UnreadRow>,
    ) {
        let mut failed: VecDeque<UnreadRow> = failed.into();
        let portions: Vec<_> = portions.into_iter().filter(|(batch, _)| batch.num_rows() > 0).collect();
        let mut last = None;
        let count = portions.len();
        for (index, (batch, rows)) in portions.into_iter().enumerate() {
            let mut unread = Vec::new();
            let mut moved: Option<Vec<u64>> = (self.further > 0).then(Vec::new);
            for (at, row) in rows.values().iter().enumerate() {
                let repeats = last == Some(*row);
                last = Some(*row);
                if !failed.is_empty() {
                    let number = part.origin_row(*row as usize);
                    while failed.front().is_some_and(|refused| refused.origin.row <= number) {
                        unread.extend(failed.pop_front().map(|refused| moved_up(refused, self.further)));
                    }
                }
                if repeats {
                    self.further += 1;
                    moved.get_or_insert_with(|| vec![self.further - 1; at]);
                }
                if let Some(moved) = &mut moved {
                    moved.push(self.further);
                }
            }
            if index + 1 == count {
                unread.extend(failed.drain(..).map(|refused| moved_up(refused, self.further)));
            }
            let origins = TransformedOrigins { source: part.clone(), rows, moved };
            self.ready.push_back(SourceBatch::new(batch, Arc::new(origins)).with_unread(unread));
        }
        if !failed.is_empty() {
            let rows = UInt32Array::from(Vec::<u32>::new());
            let origins = TransformedOrigins { source: part.clone(), rows, moved: None };
            let unread = failed.into_iter().map(|refused| moved_up(refused, self.further)).collect();
            let batch = RecordBatch::new_empty(self.output.schema());
            self.ready.push_back(SourceBatch::new(batch, Arc::new(origins)).with_unread(unread));
        }
    }
}

impl Iterator for RowWiseRows {
    type Item = Result<SourceBatch, BoxError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Some(Ok(ready));
            }
            let transformed = match self.source.as_mut()?.batches.next() {
                Some(Ok(batch)) => self.transform(batch),
                Some(Err(error)) => Err(error),
                None => {
                    self.source = None;
                    return None;
                }
            };
            if let Err(error) = transformed {
                self.source = None;
                self.ready.clear();
                return Some(Err(error));
            }
        }
    }
}

fn moved_up(mut refused: UnreadRow, further: u64) -> UnreadRow {
    refused.origin.row += further;
    refused
}

/// Refuses a row of the source with a value that no SQL type holds.
pub fn refused(part: &SourceBatch, misfit: Misfit) -> UnreadRow {
    let row = UntransformedRow {
        column: Some(misfit.error.column),
        value: Some(misfit.error.value),
        number: None,
        reason: misfit.error.reason.to_string(),
    };
    UnreadRow { origin: part.origin(misfit.row as usize), error: Arc::new(row) }
}

fn untransformed(part: &SourceBatch, at: usize, failed: FailedRow) -> UnreadRow {
    let FailedRow { column, value, error, .. } = failed;
    let row = UntransformedRow { column, value, number: Some(error.number), reason: error.message };
    UnreadRow { origin: part.origin(at), error: Arc::new(row) }
}

/// Places of transformed rows in their source.
struct TransformedOrigins {
    source: SourceBatch,
    /// The index of each row in the source's batch.
    rows: UInt32Array,
    /// Distance by which each row's number is moved up, if any is.
    moved: Option<Vec<u64>>,
}

impl TransformedOrigins {
    fn place(&self, index: usize) -> (usize, u64) {
        let row = self.rows.values().get(index).copied().unwrap_or_default() as usize;
        (row, self.moved.as_ref().and_then(|moved| moved.get(index)).copied().unwrap_or_default())
    }
}

impl Origins for TransformedOrigins {
    fn origin(&self, index: usize) -> Origin {
        let (row, moved) = self.place(index);
        let mut origin = self.source.origin(row);
        origin.row += moved;
        origin
    }

    fn row(&self, index: usize) -> u64 {
        let (row, moved) = self.place(index);
        self.source.origin_row(row) + moved
    }
}
