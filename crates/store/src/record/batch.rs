//! Builds a batch: takes pages of rows, and gives columns.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Field, Schema};

use super::LargeValueSource;
use super::columns::{CheckedRows, ColumnBuilder};
use super::compress::PageInformation;
use super::expand::{self, ColumnError};
use super::gather::damaged;
use super::layout::Layout;
use crate::error::EngineError;
use crate::page::{self, Page, PageId};
use crate::record::compress::cell::Cell;
use crate::record::compress::grid::Grid;
use crate::record::compress::record::{self, CdRecord};

/// The expected size of a batch, so that its columns need not grow. It is only a hint.
#[derive(Debug, Clone, Default)]
pub struct ExpectedSizes {
    /// Number of rows.
    pub rows: usize,
    /// Bytes of text or bytes of each column of the projection.
    pub text_bytes: Vec<usize>,
}

/// The columns of a projection, which rows are added to a page at a time.
#[derive(Debug)]
pub struct BatchBuilder<'a> {
    layout: &'a Layout,
    projection: &'a [usize],
    fields: Vec<Arc<Field>>,
    columns: Columns,
    /// The pages that rows came from, with the number of rows up to their end, and where each row starts: for messages.
    pages: Vec<(PageId, usize)>,
    starts: Vec<u16>,
}

#[derive(Debug)]
enum Columns {
    /// Columns built of uncompressed records.
    Records(Vec<ColumnBuilder>),
    /// Cells of CD records, and the places of each column in the projection.
    Cells { grid: Grid, wanted: Vec<Vec<usize>> },
}

impl<'a> BatchBuilder<'a> {
    /// Creates a builder for columns, given by their indexes from 0.
    pub fn new(
        layout: &'a Layout,
        projection: &'a [usize],
        expected: &ExpectedSizes,
    ) -> Result<Self, EngineError> {
        let unknown = |column: usize| EngineError::Schema { reason: format!("no column {column}") };
        let mut fields: Vec<Arc<Field>> = Vec::with_capacity(projection.len());
        for index in projection {
            fields.push(match (layout.schema.fields().get(*index), layout.columns.get(*index)) {
                (Some(field), _) => Arc::clone(field),
                // A hidden one.
                (None, Some(column)) => {
                    Arc::new(Field::new(&column.name, column.kind.data_type(), column.nullable))
                }
                (None, None) => return Err(unknown(*index)),
            });
        }
        let columns = if layout.is_compressed() {
            let mut wanted: Vec<Vec<usize>> = vec![Vec::new(); layout.columns.len()];
            for (place, index) in projection.iter().enumerate() {
                wanted.get_mut(*index).ok_or_else(|| unknown(*index))?.push(place);
            }
            Columns::Cells { grid: Grid::new(projection.len()), wanted }
        } else {
            let builders = projection.iter().enumerate().map(|(place, index)| {
                let text_bytes = expected.text_bytes.get(place).copied().unwrap_or(0);
                ColumnBuilder::new(layout, *index, expected.rows, text_bytes).ok_or_else(|| unknown(*index))
            });
            Columns::Records(builders.collect::<Result<_, _>>()?)
        };
        let starts = Vec::with_capacity(expected.rows);
        Ok(Self { layout, projection, fields, columns, pages: Vec::new(), starts })
    }

    /// Counts the rows so far.
    pub fn rows(&self) -> usize {
        self.starts.len()
    }

    /// Returns the size of the batch so far, from which a later batch can reserve its memory.
    pub fn sizes(&self) -> ExpectedSizes {
        let text_bytes = match &self.columns {
            Columns::Records(columns) => columns.iter().map(ColumnBuilder::text_bytes).collect(),
            Columns::Cells { .. } => Vec::new(),
        };
        ExpectedSizes { rows: self.rows(), text_bytes }
    }

    /// Adds checked rows of a page: the start of each row, and their combined NULL bitmaps (see `CheckedRows`).
    pub fn append(
        &mut self,
        page: &Page,
        starts: &[u16],
        nulls: &[u8],
        large: &dyn LargeValueSource,
    ) -> Result<(), EngineError> {
        self.starts.extend_from_slice(starts);
        self.pages.push((page.id(), self.starts.len()));
        let result = match &mut self.columns {
            Columns::Cells { grid, wanted } => return append_cells(grid, wanted, page, starts),
            Columns::Records(columns) => {
                let rows = CheckedRows { bytes: page.bytes(), starts, nulls };
                let mut columns = columns.iter_mut().zip(self.projection);
                columns.try_for_each(|(column, index)| {
                    column.append(rows, large).map_err(|error| (*index, error))
                })
            }
        };
        result.map_err(|(index, error)| self.damaged_value(index, error))
    }

    /// Builds the batch of the rows so far.
    pub fn finish(mut self, large: &dyn LargeValueSource) -> Result<RecordBatch, EngineError> {
        let layout = self.layout;
        let rows = self.rows();
        let columns = std::mem::replace(&mut self.columns, Columns::Records(Vec::new()));
        let arrays: Vec<Result<ArrayRef, ColumnError>> = match columns {
            Columns::Records(columns) => columns.into_iter().map(ColumnBuilder::finish).collect(),
            Columns::Cells { grid, .. } => {
                let columns = self.projection.iter().filter_map(|index| layout.columns.get(*index));
                let columns = columns.enumerate().map(|(place, column)| {
                    expand::column(column.kind, column.nullable, grid.view(place), large)
                });
                columns.collect()
            }
        };
        let arrays = arrays.into_iter().zip(self.projection);
        let arrays = arrays
            .map(|(array, index)| array.map_err(|error| self.damaged_value(*index, error)))
            .collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::new(Schema::new(self.fields)), arrays, &options)?)
    }

    fn damaged_value(&self, index: usize, error: ColumnError) -> EngineError {
        match error {
            ColumnError::Engine(error) => error,
            ColumnError::Damaged { row } => {
                let page = self.pages.iter().find(|(_, end)| *end > row).map_or(PageId::NONE, |(id, _)| *id);
                let kind = self.layout.columns.get(index).map(|column| column.kind.to_string());
                let reason = format!("no value of type {}", kind.unwrap_or_default());
                damaged(page, self.starts.get(row).copied().unwrap_or(0).into(), &reason)
            }
        }
    }
}

/// Adds the cells of a page's CD records, whole values.
fn append_cells(
    grid: &mut Grid,
    wanted: &[Vec<usize>],
    page: &Page,
    starts: &[u16],
) -> Result<(), EngineError> {
    let Grid { columns, data, .. } = grid;
    for column in columns.iter_mut() {
        column.codes.reserve(starts.len());
        column.words.reserve(starts.len());
    }
    let information = match page.is_compressed() {
        true => Some(
            PageInformation::read(page.bytes())
                .ok_or_else(|| damaged(page.id(), page::HEADER_BYTES, "compression information"))?,
        ),
        false => None,
    };
    for start in starts {
        let bytes = page.bytes().get(usize::from(*start)..).unwrap_or_default();
        let record = CdRecord::parse(bytes)
            .filter(|record| record.columns == wanted.len())
            .ok_or_else(|| damaged(page.id(), (*start).into(), "no CD record of this table"))?;
        let mut known = true;
        record.for_each(|column, cell, long| {
            for place in wanted.get(column).into_iter().flatten() {
                let cell = match &information {
                    Some(information) => information.expand(column, cell, long, data),
                    None => Some(record::owned(cell, long, data)),
                };
                known &= cell.is_some();
                if let Some(column) = columns.get_mut(*place) {
                    column.push(cell.unwrap_or(Cell::NULL));
                }
            }
        });
        if !known {
            return Err(damaged(page.id(), (*start).into(), "it names nothing in its page's information"));
        }
    }
    Ok(())
}
