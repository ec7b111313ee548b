//! Checks of the order of rows of a Parquet file: the claims of its footer, compared with the columns
//! themselves.

use arrow::array::{Array, make_comparator};
use arrow::compute::SortOptions;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReaderBuilder};

use crate::FormatError;
use crate::counted_chunks::CountedChunks;
use crate::order::{KeyColumns, SortColumn, Sorted};

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
    let key = KeyColumns::new(columns, strictly);
    let mask = ProjectionMask::roots(metadata.parquet_schema(), key.places.iter().copied());
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(chunks.clone(), metadata.clone());
    let batches = builder.with_projection(mask).with_batch_size(COMPARED_ROWS).build()?;
    if let Some(row) = key.first_unsorted(batches)? {
        return Ok(Sorted::No(format!("its row {row} is not in that order")));
    }
    Ok(Sorted::Yes(match says_so(metadata, columns) {
        true => "the file says so, and its key was read",
        false => "the file's key was read",
    }))
}

/// Returns true if every row group claims to be sorted by the columns, and perhaps by further ones.
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

/// Returns true if no row group's statistics contradict the order; a group may begin with the value that the
/// last one ended with.
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
