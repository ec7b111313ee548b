//! A view as rows of values.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use query::convert::convert;
use query::datum::{DAYS_TO_1970, TICKS_PER_DAY};
use query::{BoundTable, Datum, MemoryTable, OutputColumn, exact_schema};
use tds::{Length, SqlType};
use tsql::SqlError;

/// A table that is made for a query: columns and rows.
#[derive(Debug, Clone)]
pub struct View {
    /// Columns of the view.
    pub columns: Vec<OutputColumn>,
    /// Rows of the view, one datum a column.
    pub rows: Vec<Vec<Datum>>,
    /// Value of each column in a row that does not set it.
    defaults: Vec<Datum>,
}

impl View {
    /// Creates a view of columns, each a name and a type: a type of T-SQL or one of the short forms `name`
    /// (nvarchar(128)), `text` (nvarchar(max)), `varchar` (varchar(254)), `char2`, `binary5`, `guid`. An
    /// exclamation mark after it says NOT NULL.
    pub fn new(columns: &[(&str, &str)]) -> View {
        let columns: Vec<OutputColumn> = columns.iter().map(|(name, kind)| column(name, kind)).collect();
        let defaults = vec![Datum::Null; columns.len()];
        View { columns, rows: Vec::new(), defaults }
    }

    /// Creates a view whose columns are written one a line as `name type`. `name type = value` gives a
    /// default in place of NULL; `name type =` is the empty text.
    pub fn shaped(shape: &str) -> View {
        let (mut columns, mut defaults) = (Vec::new(), Vec::new());
        for line in shape.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (declared, default) = declared_and_default(line);
            let (name, kind) = declared.split_once(' ').unwrap_or((declared, "int"));
            let column = column(name, kind);
            defaults.push(default.map_or(Datum::Null, |value| constant(value, &column.sql_type)));
            columns.push(column);
        }
        View { columns, rows: Vec::new(), defaults }
    }

    /// Adds a row of the values given; the other columns have their defaults.
    pub fn add<'a>(&mut self, values: impl IntoIterator<Item = (&'a str, Datum)>) {
        let mut row = self.defaults.clone();
        for (name, value) in values {
            let position = self.columns.iter().position(|column| column.name == name);
            debug_assert!(position.is_some(), "no column {name} in the view's shape");
            if let Some(cell) = position.and_then(|position| row.get_mut(position)) {
                *cell = value;
            }
        }
        self.rows.push(row);
    }

    /// Sets a value of the row that was added last.
    pub fn set(&mut self, name: &str, value: Datum) {
        let position = self.columns.iter().position(|column| column.name == name);
        debug_assert!(position.is_some(), "no column {name} in the view's shape");
        let row = self.rows.last_mut();
        if let Some(cell) = position.zip(row).and_then(|(position, row)| row.get_mut(position)) {
            *cell = value;
        }
    }

    /// Adds a row.
    pub fn push(&mut self, row: Vec<Datum>) {
        self.rows.push(row);
    }

    /// Returns true if the view has no rows yet.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Makes one batch of the rows, in the Exact form.
    pub fn batch(&self) -> Result<RecordBatch, SqlError> {
        let schema = exact_schema(&self.columns);
        let columns = self
            .columns
            .iter()
            .enumerate()
            .map(|(index, column)| {
                let cells = self.rows.iter().map(|row| row.get(index).cloned().unwrap_or(Datum::Null));
                let values = match column.sql_type {
                    // A moment of the clock is no datetime yet: that counts in 1/300 s.
                    SqlType::DateTime => cells
                        .map(|cell| convert(cell, &SqlType::DateTime2 { scale: 7 }, &SqlType::DateTime, 0))
                        .collect::<Result<Vec<_>, _>>()?,
                    _ => cells.collect(),
                };
                Ok(Datum::array(&values, &column.sql_type))
            })
            .collect::<Result<Vec<_>, SqlError>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows.len()));
        RecordBatch::try_new_with_options(schema, columns, &options)
            .map_err(|error| SqlError::internal(error))
    }

    /// Turns the view into a table for queries.
    pub fn into_table(self) -> Result<BoundTable, SqlError> {
        let batch = self.batch()?;
        let provider = MemoryTable::provider(batch.schema().as_ref(), vec![batch])
            .map_err(|error| SqlError::internal(error))?;
        Ok(BoundTable { columns: self.columns, provider: Arc::clone(&provider) })
    }
}

/// Splits the two sides of a line of a shape; nothing behind the sign is the empty text.
pub(crate) fn declared_and_default(line: &str) -> (&str, Option<&str>) {
    match line.split_once(" = ") {
        Some((declared, default)) => (declared, Some(default)),
        None => line.strip_suffix(" =").map_or((line, None), |declared| (declared, Some(""))),
    }
}

fn column(name: &str, kind: &str) -> OutputColumn {
    let (kind, nullable) = match kind.strip_suffix('!') {
        Some(kind) => (kind, false),
        None => (kind, true),
    };
    let sql_type = match kind {
        "guid" => SqlType::UniqueIdentifier,
        "name" | "sysname" => SqlType::NVarChar { length: Length::Units(128) },
        "text" => SqlType::NVarChar { length: Length::Max },
        "char2" => SqlType::Char { length: 2 },
        "varchar" => SqlType::VarChar { length: Length::Units(254) },
        "binary5" => SqlType::Binary { length: 5 },
        other => other.parse().unwrap_or(SqlType::Int),
    };
    let mut column = OutputColumn::expression(name, sql_type, nullable);
    column.flags = tds::ColumnFlags(tds::ColumnFlags::UPDATEABILITY_UNKNOWN);
    column
}

/// Parses a value in a shape: a number, or a text without quotes; `0x01` is binary.
fn constant(value: &str, sql_type: &SqlType) -> Datum {
    match sql_type {
        SqlType::Bit => Datum::Bit(value == "1"),
        sql_type if sql_type.is_character() => Datum::Text(value.to_string()),
        sql_type if sql_type.is_binary() => Datum::Binary(vec![1]),
        _ => value.parse().map_or(Datum::Null, Datum::Int),
    }
}

/// Makes a text.
pub fn text(value: &str) -> Datum {
    Datum::Text(value.to_string())
}

/// Makes a number.
pub fn int(value: impl Into<i64>) -> Datum {
    Datum::Int(value.into())
}

/// Makes a text, or NULL.
pub fn optional(value: Option<&str>) -> Datum {
    value.map_or(Datum::Null, text)
}

/// Makes the two letters of an object's type.
pub fn kind(letters: &str) -> Datum {
    Datum::Text(format!("{letters:<2}"))
}

/// Makes a bit.
pub fn bit(value: bool) -> Datum {
    Datum::Bit(value)
}

/// Makes a moment to the millisecond, which a datetime keeps.
pub fn moment(since_1970_us: i64) -> Datum {
    Datum::Moment(DAYS_TO_1970 * TICKS_PER_DAY + since_1970_us / 1000 * 10_000)
}
