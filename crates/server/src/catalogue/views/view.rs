//! A view as rows of values.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use tds::{Length, SqlType};

use crate::engine::{BoundTable, Datum, MemoryTable, OutputColumn, exact_schema};
use crate::sql_error::SqlError;

/// A made-up table: columns and rows.
#[derive(Debug, Clone)]
pub struct View {
    /// Its columns.
    pub columns: Vec<OutputColumn>,
    /// Its rows, one datum a column.
    pub rows: Vec<Vec<Datum>>,
}

impl View {
    /// A view of columns, each a name and a type: a type of T-SQL or one of the short forms `name` (nvarchar(128)),
    /// `text` (nvarchar(max)), `varchar` (varchar(254)), `char2`, `binary5`, `guid`. An exclamation mark after it says
    /// NOT NULL.
    pub fn new(columns: &[(&str, &str)]) -> View {
        let columns = columns
            .iter()
            .map(|(name, kind)| {
                let (kind, nullable) = match kind.strip_suffix('!') {
                    Some(kind) => (kind, false),
                    None => (*kind, true),
                };
                let sql_type = match kind {
                    "guid" => SqlType::UniqueIdentifier,
                    "name" => SqlType::NVarChar { length: Length::Units(128) },
                    "text" => SqlType::NVarChar { length: Length::Max },
                    "char2" => SqlType::Char { length: 2 },
                    "varchar" => SqlType::VarChar { length: Length::Units(254) },
                    "binary5" => SqlType::Binary { length: 5 },
                    other => other.parse().unwrap_or(SqlType::Int),
                };
                let mut column = OutputColumn::expression(*name, sql_type, nullable);
                column.flags = tds::ColumnFlags(tds::ColumnFlags::UPDATEABILITY_UNKNOWN);
                column
            })
            .collect();
        View { columns, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn push(&mut self, row: Vec<Datum>) {
        self.rows.push(row);
    }

    /// The rows as one batch of the Exact form.
    pub fn batch(&self) -> Result<RecordBatch, SqlError> {
        let schema = exact_schema(&self.columns);
        let columns = self
            .columns
            .iter()
            .enumerate()
            .map(|(index, column)| {
                let values: Vec<Datum> =
                    self.rows.iter().map(|row| row.get(index).cloned().unwrap_or(Datum::Null)).collect();
                Datum::array(&values, &column.sql_type)
            })
            .collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows.len()));
        RecordBatch::try_new_with_options(schema, columns, &options).map_err(SqlError::internal)
    }

    /// The view as a table for queries.
    pub fn into_table(self) -> Result<BoundTable, SqlError> {
        let batch = self.batch()?;
        let provider =
            MemoryTable::provider(batch.schema().as_ref(), vec![batch]).map_err(SqlError::internal)?;
        Ok(BoundTable { columns: self.columns, provider: Arc::clone(&provider) })
    }
}

/// A text.
pub(super) fn text(value: &str) -> Datum {
    Datum::Text(value.to_string())
}

/// A number.
pub(super) fn int(value: impl Into<i64>) -> Datum {
    Datum::Int(value.into())
}

/// A bit.
pub(super) fn bit(value: bool) -> Datum {
    Datum::Bit(value)
}
