//! Continues a range after the last row that was passed on.

use arrow::{array::UInt32Array, compute::take_record_batch, record_batch::RecordBatch};
use rows::Plan;
use tds::{Reader, Value, ValuePlace, decode_value};

use super::{key::SplitKey, key_range::Condition};
use crate::error::Error;

/// Returns the key of the last row of a batch, apart from the batch's own memory.
pub(crate) fn of_batch(batch: &RecordBatch, key: &[SplitKey]) -> Result<Option<RecordBatch>, Error> {
    let Some(last) = batch.num_rows().checked_sub(1).and_then(|last| u32::try_from(last).ok()) else {
        return Ok(None);
    };
    let schema = batch.schema();
    let places: Option<Vec<usize>> = key.iter().map(|column| schema.index_of(&column.name).ok()).collect();
    let Some(places) = places else { return Err(Error::internal("a key that is not among the columns")) };
    let taken = batch
        .project(&places)
        .and_then(|row| take_record_batch(&row, &UInt32Array::from(vec![last])))
        .map_err(|_| Error::internal("a row that cannot be taken"))?;
    Ok(Some(taken))
}

/// Writes the condition of the rows behind a key, in the order of the key.
pub(crate) fn behind(row: &RecordBatch, key: &[SplitKey]) -> Result<Condition, Error> {
    let values = values(row, key)?;
    let mut alternatives = Vec::new();
    let mut condition = Condition::default();
    let mut equal = String::new();
    for (index, (column, value)) in key.iter().zip(&values).enumerate() {
        let (operand, parameter) = column.operand(&format!("@bulkwire_last_{index}"), value);
        let operator = if column.is_descending { "<" } else { ">" };
        alternatives.push(format!("{equal}{} {operator} {operand}", column.quoted()));
        equal.push_str(&format!("{} = {operand} AND ", column.quoted()));
        condition.parameters.push(parameter);
    }
    // The first column's bound by itself lets the server look the place up.
    if let (Some(first), true) = (key.first(), key.len() > 1) {
        let operator = if first.is_descending { "<=" } else { ">=" };
        let (operand, _) = first.operand("@bulkwire_last_0", &Value::Null);
        condition.sql = format!("{} {operator} {operand} AND ", first.quoted());
    }
    condition.sql.push_str(&format!("({})", alternatives.join(" OR ")));
    Ok(condition)
}

/// Converts the values of a row as a load does.
fn values(row: &RecordBatch, key: &[SplitKey]) -> Result<Vec<Value>, Error> {
    let columns: Vec<tds::Column> = key.iter().map(|column| column.column.clone()).collect();
    let plan = Plan::for_result(&row.schema(), &columns)?;
    let bound = plan.bind(row, 0)?;
    let mut bytes = Vec::new();
    bound.encode(0..row.num_rows(), &mut bytes);
    let broken = |error| Error::protocol("the key of a row", error);
    let mut r = Reader::new(&bytes);
    r.u8("row token").map_err(broken)?;
    plan.columns()
        .iter()
        .map(|wire| decode_value(&mut r, &wire.type_info, ValuePlace::Row).map_err(broken))
        .collect()
}
