//! Whether the rows of a Parquet file are sorted: what its footer says, checked against the columns themselves.

use arrow::array::{Array, ArrayRef, BooleanArray, make_comparator};
use arrow::compute::SortOptions;
use arrow::compute::kernels::cmp;
use arrow::record_batch::RecordBatch;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReaderBuilder};

use crate::FormatError;
use crate::counted_chunks::CountedChunks;
use crate::order::{SortColumn, Sorted};

/// Rows that are compared at a time: an unsorted file is known as such after few.
const COMPARED_ROWS: usize = 8192;

/// Looks at the footer, and reads the columns as far as they are sorted.
pub(super) fn sorted_by(
    chunks: &CountedChunks,
    metadata: &ArrowReaderMetadata,
    columns: &[SortColumn],
    strictly: bool,
) -> Result<Sorted, FormatError> {
    let Some(first) = columns.first() else { return Ok(Sorted::Unknown) };
    if !groups_rise(metadata, first)? {
        return Ok(Sorted::No("the statistics of its row groups overlap".to_owned()));
    }
    // The columns come in the order of the file.
    let mut places: Vec<usize> = columns.iter().map(|column| column.index).collect();
    places.sort_unstable();
    places.dedup();
    let mask = ProjectionMask::roots(metadata.parquet_schema(), places.iter().copied());
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(chunks.clone(), metadata.clone());
    let batches = builder.with_projection(mask).with_batch_size(COMPARED_ROWS).build()?;
    let compared = columns.iter().filter_map(|column| {
        let place = places.iter().position(|place| *place == column.index)?;
        Some((place, options(column)))
    });
    let mut order = Order { columns: compared.collect(), strictly, last: Vec::new(), rows: 0 };
    for batch in batches {
        if let Some(row) = order.first_unsorted(&batch?)? {
            return Ok(Sorted::No(format!("its row {row} is not in that order")));
        }
    }
    Ok(Sorted::Yes(match says_so(metadata, columns) {
        true => "the file says so, and its key was read",
        false => "the file's key was read",
    }))
}

/// How SQL Server sorts a column: NULL comes before all values.
fn options(column: &SortColumn) -> SortOptions {
    SortOptions { descending: column.descending, nulls_first: !column.descending }
}

/// Whether every row group claims to be sorted by the columns, and maybe by more.
fn says_so(metadata: &ArrowReaderMetadata, columns: &[SortColumn]) -> bool {
    let schema = metadata.parquet_schema();
    metadata.metadata().row_groups().iter().all(|group| {
        let claims = group.sorting_columns().map(Vec::as_slice).unwrap_or_default();
        claims.len() >= columns.len()
            && claims.iter().zip(columns).all(|(claim, column)| {
                let leaf = usize::try_from(claim.column_idx).ok().filter(|leaf| *leaf < schema.num_columns());
                leaf.is_some_and(|leaf| schema.get_column_root_idx(leaf) == column.index)
                    && claim.descending == column.descending
            })
    })
}

/// Whether no row group's statistics contradict the order; a group may begin with the value that the last one ended with.
fn groups_rise(metadata: &ArrowReaderMetadata, column: &SortColumn) -> Result<bool, FormatError> {
    let Some(field) = metadata.schema().fields().get(column.index) else { return Ok(false) };
    let groups = metadata.metadata().row_groups();
    let Ok(converter) =
        StatisticsConverter::try_new(field.name(), metadata.schema(), metadata.parquet_schema())
    else {
        return Ok(true);
    };
    let (Ok(least), Ok(most)) = (converter.row_group_mins(groups), converter.row_group_maxes(groups)) else {
        return Ok(true);
    };
    // A group without statistics contradicts nothing.
    let known: Vec<usize> = (0..groups.len()).filter(|g| least.is_valid(*g) && most.is_valid(*g)).collect();
    let compare = make_comparator(&most, &least, SortOptions::default())?;
    Ok(known.windows(2).all(|pair| match (pair, column.descending) {
        ([before, after], false) => compare(*before, *after).is_le(),
        ([before, after], true) => compare(*after, *before).is_le(),
        _ => true,
    }))
}

/// Compares rows with those before them, batch by batch.
struct Order {
    columns: Vec<(usize, SortOptions)>,
    strictly: bool,
    /// The last row of the batches before.
    last: Vec<ArrayRef>,
    rows: u64,
}

impl Order {
    /// The number, from 1, of the first row that does not follow the one before it.
    fn first_unsorted(&mut self, batch: &RecordBatch) -> Result<Option<u64>, FormatError> {
        let rows = batch.num_rows();
        let arrays: Vec<ArrayRef> =
            self.columns.iter().filter_map(|(place, _)| batch.columns().get(*place).cloned()).collect();
        if rows == 0 {
            return Ok(None);
        }
        let slices = |start: usize, length: usize| -> Vec<ArrayRef> {
            arrays.iter().map(|array| array.slice(start, length)).collect()
        };
        let within = slices(0, rows - 1);
        let pairs = [(std::mem::take(&mut self.last), slices(0, 1), 0), (within, slices(1, rows - 1), 1)];
        for (before, after, start) in pairs {
            if !before.is_empty()
                && let Some(index) = self.first_not_after(&before, &after)?
            {
                return Ok(Some(self.rows + start + index as u64 + 1));
            }
        }
        self.last = slices(rows - 1, 1);
        self.rows += rows as u64;
        Ok(None)
    }

    /// The first index at which a row of `after` does not come behind that of `before`.
    fn first_not_after(&self, before: &[ArrayRef], after: &[ArrayRef]) -> Result<Option<usize>, FormatError> {
        if let ([before], [after], [(_, options)]) = (before, after, self.columns.as_slice())
            && before.null_count() + after.null_count() == 0
        {
            let (low, high) = if options.descending { (after, before) } else { (before, after) };
            let sorted = if self.strictly { cmp::lt(low, high)? } else { cmp::lt_eq(low, high)? };
            return Ok(first_false(&sorted));
        }
        let compare = before.iter().zip(after).zip(&self.columns);
        let compare = compare.map(|((before, after), (_, options))| make_comparator(before, after, *options));
        let compare = compare.collect::<Result<Vec<_>, _>>()?;
        let rows = before.first().map_or(0, |array| array.len());
        Ok((0..rows).find(|row| {
            let order = compare.iter().map(|compare| compare(*row, *row)).find(|order| order.is_ne());
            !order.map_or(!self.strictly, std::cmp::Ordering::is_lt)
        }))
    }
}

fn first_false(flags: &BooleanArray) -> Option<usize> {
    if flags.true_count() == flags.len() {
        return None;
    }
    (0..flags.len()).find(|index| !flags.value(*index))
}
