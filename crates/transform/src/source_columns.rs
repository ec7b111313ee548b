//! The columns of a source as a query sees them.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray};
use arrow::datatypes::Field;
use load::SourceBatch;
use query::OutputColumn;
use rows::mapping::{COLLATION_KEY, Form, column_for};
use tds::{Collation, Column, ColumnFlags, Length, SqlType};

use crate::error::TransformError;
use crate::form_change::{Changed, FormChange, Misfit};

/// Characters of a file's name.
const FILE_NAME_MAX: u16 = 4000;

/// Makes the SQL columns of fields; text without a collation of its own has `collation`.
///
/// # Errors
/// A field that has no SQL type.
pub fn sql_columns(
    table: &str,
    fields: &[Arc<Field>],
    collation: Option<Collation>,
) -> Result<(Vec<Column>, Vec<OutputColumn>), TransformError> {
    let mut columns = Vec::with_capacity(fields.len());
    for field in fields {
        let mut column =
            column_for(field).map_err(|error| TransformError::Column { table: table.to_owned(), error })?;
        if column.sql_type().is_character()
            && let Some(collation) = collation
            && !field.metadata().contains_key(COLLATION_KEY)
        {
            column.type_info.collation = Some(collation);
        }
        columns.push(column);
    }
    let outputs = columns.iter().map(|column| OutputColumn {
        collation: column.type_info.collation,
        flags: ColumnFlags(0),
        ..OutputColumn::expression(column.name.clone(), column.sql_type().clone(), column.flags.is_nullable())
    });
    let outputs = outputs.collect();
    Ok((columns, outputs))
}

/// Makes the pseudo columns behind those of the source: `$row` and `$file`.
pub fn pseudo_columns() -> [OutputColumn; 2] {
    let hidden = |name: &str, sql_type, nullable| OutputColumn {
        flags: ColumnFlags(ColumnFlags::HIDDEN),
        ..OutputColumn::expression(name, sql_type, nullable)
    };
    let text = SqlType::NVarChar { length: Length::Units(FILE_NAME_MAX) };
    [hidden("$row", SqlType::BigInt, false), hidden("$file", text, true)]
}

/// A column that a query reads.
enum ReadColumn {
    /// The column at this place of the source.
    Own(usize),
    RowNumber,
    FileName,
    /// Counts the rows of the batch.
    Index,
}

/// The columns that a query reads, made of batches of the source.
pub struct SourceColumns {
    read: Vec<ReadColumn>,
    change: FormChange,
}

impl SourceColumns {
    /// Chooses the columns at `reads` among those of the source, the pseudo columns and the number of the
    /// row.
    ///
    /// # Errors
    /// A column that cannot be brought into the form of its type.
    pub fn new(fields: &[Arc<Field>], columns: &[Column], reads: &[usize]) -> Result<Self, TransformError> {
        let own = fields.len();
        let mut changed: (Vec<Arc<Field>>, Vec<Column>) = Default::default();
        let mut read = Vec::with_capacity(reads.len());
        for at in reads {
            read.push(match at.checked_sub(own) {
                None => {
                    if let (Some(field), Some(column)) = (fields.get(*at), columns.get(*at)) {
                        changed.0.push(Arc::clone(field));
                        changed.1.push(column.clone());
                    }
                    ReadColumn::Own(*at)
                }
                Some(0) => ReadColumn::RowNumber,
                Some(1) => ReadColumn::FileName,
                Some(_) => ReadColumn::Index,
            });
        }
        let change = FormChange::new(&changed.0, changed.1, &Form::Exact)
            .map_err(|error| TransformError::Form { table: "source".to_owned(), error })?;
        Ok(SourceColumns { read, change })
    }

    /// Converts the columns of a batch. Returns them with the rows that have them, and the misfits.
    pub fn of(
        &self,
        batch: &SourceBatch,
    ) -> (Vec<ArrayRef>, usize, Option<arrow::array::UInt32Array>, Vec<Misfit>) {
        let own = self.read.iter().filter_map(|column| match column {
            ReadColumn::Own(at) => batch.batch().columns().get(*at).cloned(),
            _ => None,
        });
        let own: Vec<ArrayRef> = own.collect();
        let Changed { batch: exact, rows, misfits } = self.change.apply(&own, batch.rows());
        let count = exact.num_rows();
        let place = |index: usize| rows.as_ref().map_or(index, |rows| rows.value(index) as usize);
        let mut own = exact.columns().iter();
        let arrays = self.read.iter().filter_map(|column| -> Option<ArrayRef> {
            Some(match column {
                ReadColumn::Own(_) => Arc::clone(own.next()?),
                ReadColumn::RowNumber => {
                    let first = batch.file().map_or(0, |(_, first)| first);
                    let rows = (0..count).map(|index| batch.origin_row(place(index)).saturating_sub(first));
                    Arc::new(Int64Array::from_iter_values(rows.map(number)))
                }
                ReadColumn::FileName => {
                    let name = batch.file().map(|(name, _)| short(name));
                    Arc::new(StringArray::from_iter(std::iter::repeat_n(name, count)))
                }
                ReadColumn::Index => Arc::new(Int64Array::from_iter_values(0..count as i64)),
            })
        });
        let arrays = arrays.collect();
        (arrays, count, rows, misfits)
    }
}

/// Returns a row's number for people, from 1.
fn number(row: u64) -> i64 {
    i64::try_from(row).unwrap_or(i64::MAX).saturating_add(1)
}

/// Cuts a file's name to the characters that the column holds.
fn short(name: &str) -> &str {
    match name.char_indices().nth(usize::from(FILE_NAME_MAX) / 2) {
        Some((end, _)) => name.get(..end).unwrap_or_default(),
        None => name,
    }
}
