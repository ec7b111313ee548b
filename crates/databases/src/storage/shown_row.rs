//! Rows in messages.

use arrow::array::ArrayRef;
use query::Datum;
use query::convert::display;
use tsql::SqlError;

use crate::catalogue::ColumnDefinition;

/// Formats a row's values as messages list them.
pub(crate) fn shown_row(
    arrays: &[ArrayRef],
    columns: &[&ColumnDefinition],
    row: usize,
) -> Result<String, SqlError> {
    let values = arrays
        .iter()
        .zip(columns)
        .map(|(array, column)| {
            let value = Datum::read(array.as_ref(), &column.sql_type, row)?;
            Ok(if value.is_null() { "<NULL>".to_string() } else { display(&value, &column.sql_type) })
        })
        .collect::<Result<Vec<_>, SqlError>>()?;
    Ok(values.join(", "))
}
