//! Verification of a table: the server's row count, and the checksum of its content.

use formats::{Checksum, ContentChecksum};
use load::{Client, TableName, table_query};
use rows::mapping::Form;
use tds::Value;

use super::Outcome;

/// Compares a table with what was sent.
///
/// # Errors
/// Another number of rows, or other rows.
pub fn verify(client: &mut Client, table: &TableName, sent: Checksum) -> Outcome<()> {
    let counted = count_of(client, table)?;
    if counted != sent.rows {
        return Err(format!("{} rows were sent, the table has {counted}", sent.rows).into());
    }
    let read = checksum_of(client, &table_query(table, None))?;
    if sent != read {
        return Err(format!("the rows that came back are not those that were sent: {read}, {sent}").into());
    }
    Ok(())
}

/// Counts the rows of a table by asking the server.
///
/// # Errors
/// The table cannot be read.
pub fn count_of(client: &mut Client, table: &TableName) -> Outcome<u64> {
    let counted = client.query_values(&format!("SELECT COUNT_BIG(*) FROM {table}"))?;
    match load::first_value(&counted) {
        Some(Value::BigInt(count)) => Ok(u64::try_from(*count)?),
        other => Err(format!("{table} has no count, but {other:?}").into()),
    }
}

/// Computes the checksum of a query's rows.
///
/// # Errors
/// The query fails, or has columns of which there is no checksum.
pub fn checksum_of(client: &mut Client, query: &str) -> Outcome<Checksum> {
    let mut checksum = ContentChecksum::new();
    let mut stream = client.query(query, Form::default())?;
    while let Some(batch) = stream.next_batch()? {
        checksum.update(&batch)?;
    }
    Ok(checksum.finish())
}

/// Changes one value of a row of the table, so that the verification can be seen to fail.
///
/// # Errors
/// The statement fails, or there is no row.
pub fn plant_wrong_row(client: &mut Client, table: &TableName, column: &str) -> Outcome<()> {
    let changed = client.execute(&format!("UPDATE TOP (1) {table} SET {column} = {column} + 1"))?;
    match changed.rows_affected {
        1 => Ok(()),
        other => Err(format!("{other} rows were changed").into()),
    }
}
