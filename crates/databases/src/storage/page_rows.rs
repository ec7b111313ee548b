//! Borrowed page rows, for results whose values are the same bytes in pages and on the wire.

use std::sync::Arc;

use crate::storage::columns::{TableForm, kind_of_column};
use crate::storage::error::StoreError;
use arrow::array::RecordBatch;
use store::record::layout::Layout;
use store::{Kind, LyingRows, ValuePlace};
use tds::LengthClass;

/// Borrowed rows of pages, and the places of a result's columns in them.
#[derive(Debug, Clone)]
pub struct PageRows {
    rows: LyingRows,
    cells: Arc<[PageCell]>,
}

/// Rows that a scan has found.
#[derive(Debug)]
pub enum ScannedRows {
    /// Borrowed page rows.
    Lying(PageRows),
    /// Rows that were copied into a batch.
    Batch(RecordBatch),
}

/// Copying of one column's values from a record to the wire.
#[derive(Debug, Clone, Copy)]
pub struct PageCell {
    /// Place of the value in a record.
    pub place: ValuePlace,
    /// Bytes of the length in front of the value: none, one (0: NULL), or two (FFFF: NULL).
    pub prefix: CellPrefix,
    /// The halves of its bytes are swapped.
    pub swaps_halves: bool,
}

/// Encoding of a value's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellPrefix {
    /// The value has no length in front of it.
    None,
    /// A length of one byte; 0: NULL.
    Byte,
    /// A length of two bytes; FFFF: NULL.
    Short,
}

impl PageRows {
    pub(super) fn new(rows: LyingRows, cells: Arc<[PageCell]>) -> Self {
        Self { rows, cells }
    }

    /// Counts the rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows.rows()
    }

    /// Returns the columns of the result.
    #[inline]
    pub fn cells(&self) -> &[PageCell] {
        &self.cells
    }

    /// Lists for each page its records, each from its first byte to the end of the page.
    #[inline]
    pub fn pages(&self) -> impl Iterator<Item = impl ExactSizeIterator<Item = &[u8]>> {
        self.rows.pages()
    }
}

/// Returns the copying of a table's columns in `projection` to those of a result; None: some of them have
/// other bytes there.
pub(super) fn page_cells(
    layout: &Layout,
    form: &TableForm,
    projection: &[usize],
    result: &[tds::Column],
) -> Option<Arc<[PageCell]>> {
    if projection.len() != result.len() || !LyingRows::is_possible(layout) {
        return None;
    }
    let mut seen = vec![false; layout.columns.len()];
    let cells = projection.iter().zip(result).map(|(index, column)| {
        // A column that stands twice in a result takes more room there than in its page.
        if std::mem::replace(seen.get_mut(*index)?, true) {
            return None;
        }
        let kind = layout.columns.get(*index)?.kind;
        let is_same = kind_of_column(column) == (kind, form.code_page(*index));
        let prefix = match column.type_info.length_class() {
            LengthClass::Fixed(_) => CellPrefix::None,
            LengthClass::ByteLen => CellPrefix::Byte,
            LengthClass::UShortLen => CellPrefix::Short,
            LengthClass::Plp | LengthClass::LongLen | LengthClass::Variant => return None,
        };
        let swaps_halves = matches!(kind, Kind::Money | Kind::DateTime | Kind::SmallDateTime);
        let place = ValuePlace::of(layout, *index)?;
        is_same.then_some(PageCell { place, prefix, swaps_halves })
    });
    cells.collect()
}

impl ScannedRows {
    /// Counts the rows.
    #[inline]
    pub fn rows(&self) -> usize {
        match self {
            ScannedRows::Lying(rows) => rows.rows(),
            ScannedRows::Batch(batch) => batch.num_rows(),
        }
    }
}

/// Next rows of a scan of borrowed page rows; None: the end.
pub(super) type NextRows = Option<Result<ScannedRows, StoreError>>;
