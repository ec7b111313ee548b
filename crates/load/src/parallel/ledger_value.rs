//! Values that the ledger's tables give.

use tds::Value;

use crate::{error::Error, value_table::ValueTable};

pub(super) const READING: &str = "reading the ledger";

pub(super) fn first_row(tables: &[ValueTable]) -> Option<&[Value]> {
    tables.first().and_then(|table| table.rows.first()).map(Vec::as_slice)
}

pub(super) fn first_row_of(tables: &[ValueTable]) -> Result<&[Value], Error> {
    first_row(tables).ok_or_else(|| Error::unexpected(READING, "no row"))
}

pub(super) fn text(value: &Value) -> Result<String, Error> {
    match value {
        Value::String(text) => Ok(text.clone()),
        _ => Err(Error::unexpected(READING, "a value that is no text")),
    }
}

pub(super) fn number(value: &Value) -> Result<u64, Error> {
    let number = match value {
        Value::Int(number) => i64::from(*number),
        Value::BigInt(number) => *number,
        _ => return Err(Error::unexpected(READING, "a value that is no number")),
    };
    u64::try_from(number).map_err(|_| Error::unexpected(READING, "a number below zero"))
}
