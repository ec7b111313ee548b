//! The order in which a file's rows come.

use arrow::record_batch::RecordBatch;
use rows::RowOrder;

use crate::FormatError;

/// A column that rows may be sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortColumn {
    /// Index of the column in the file's schema.
    pub index: usize,
    /// True for the order from the largest value to the smallest.
    pub descending: bool,
}

/// Answer to the question if the rows of a file are sorted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sorted {
    /// All rows are in order; the text is the evidence.
    Yes(&'static str),
    /// Some rows are out of order, for this reason.
    No(String),
    /// Unknown until the file is read.
    Unknown,
}

/// The columns of a key, which are read without the others.
pub(crate) struct KeyColumns {
    /// Indexes of the columns in the schema, ascending, each once, as they are read.
    pub(crate) places: Vec<usize>,
    /// Places among those, from the most significant on, each with "descending".
    compared: Vec<(usize, bool)>,
    strictly: bool,
}

impl KeyColumns {
    /// Chooses the columns of rows that are to be sorted by `columns`; `strictly` if no two may have the same
    /// key.
    pub(crate) fn new(columns: &[SortColumn], strictly: bool) -> Self {
        let mut places: Vec<usize> = columns.iter().map(|column| column.index).collect();
        places.sort_unstable();
        places.dedup();
        let compared = columns.iter().filter_map(|column| {
            let place = places.iter().position(|place| *place == column.index)?;
            Some((place, column.descending))
        });
        Self { compared: compared.collect(), places, strictly }
    }

    /// Returns the number of the first row that is not in its place, from 1.
    pub(crate) fn first_unsorted<E>(
        &self,
        batches: impl IntoIterator<Item = Result<RecordBatch, E>>,
    ) -> Result<Option<u64>, FormatError>
    where
        FormatError: From<E>,
    {
        let mut order = RowOrder::new(self.compared.iter().copied(), self.strictly);
        for batch in batches {
            if let Some(row) = order.first_unsorted(&batch?)? {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }
}
