//! The last identity value of a table, found among its rows.

use query::Datum;
use tsql::SqlError;

use crate::catalogue::TableDefinition;
use crate::storage::Scan;
use crate::store_error::store_error;

/// Finds the furthest identity value among rows of which only the identity column is read.
pub fn furthest_identity(scan: Scan, table: &TableDefinition) -> Result<Option<i64>, SqlError> {
    let Some((position, identity)) = table.identity() else { return Ok(None) };
    let Some(column) = table.columns.get(position) else { return Ok(None) };
    let mut last: Option<i64> = None;
    for batch in scan {
        let batch = batch.map_err(store_error)?;
        let Some(array) = batch.columns().first() else { continue };
        for row in 0..array.len() {
            let value = match Datum::read(array.as_ref(), &column.sql_type, row)? {
                Datum::Int(value) => value,
                Datum::Decimal(units) => i64::try_from(units).unwrap_or(i64::MAX),
                _ => continue,
            };
            if last.is_none_or(|last| identity.is_behind(value, last)) {
                last = Some(value);
            }
        }
    }
    Ok(last)
}
