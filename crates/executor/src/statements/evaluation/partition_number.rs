//! $PARTITION, and how many rows each partition of a table has.

use std::sync::Arc;

use arrow::array::RecordBatch;
use databases::catalogue::{PartitionRanges, TableDefinition};
use databases::storage::Reads;
use databases::store_error::store_error;
use query::{Datum, ScalarFunction};
use tds::SqlType;
use tsql::SqlError;
use tsql::errors;

use crate::session::Session;
use crate::session::work::reads;

/// The prefix of a partition function's name in an expression.
pub(crate) const PREFIX: &str = "$PARTITION";

/// Makes `$PARTITION.function`: the number of the partition that a value belongs to. Errors: 208 for an unknown
/// function.
pub(crate) fn partition_function(
    session: &Session,
    database: Option<&str>,
    name: &str,
) -> Result<ScalarFunction, SqlError> {
    let database = database.unwrap_or(&session.database);
    let found = session.work.view().partition_function(database, name)?;
    let (_, function) = found.ok_or_else(|| errors::INVALID_OBJECT.with([name]))?;
    let ranges = function.ranges()?;
    let parameters = vec![ranges.sql_type().clone()];
    let kernel = move |arguments: &[Datum]| {
        let value = arguments.first().unwrap_or(&Datum::Null);
        Ok(Datum::Int(ranges.number(value) as i64))
    };
    Ok(ScalarFunction {
        name: format!("{PREFIX}.{database}.{}", function.name),
        parameters,
        defaults: Vec::new(),
        returns: SqlType::Int,
        kernel: Arc::new(kernel),
    })
}

/// Counts the rows of each partition of a table by the values of a column. Reads the table for that.
pub(crate) fn rows_of_partitions(
    session: &Session,
    table: &TableDefinition,
    ranges: &PartitionRanges,
    column: &str,
) -> Result<Vec<i64>, SqlError> {
    let none = || vec![0; ranges.count()];
    let found = session.work.view().find(&table.object_name(), &table.database)?;
    let found = found.filter(|open| open.definition.object_id == table.object_id && open.rows > 0);
    let (Some(open), Some(position)) = (found, table.position(column)) else {
        return Ok(none());
    };
    let scan = (reads::opener(&session.work, &open, Reads::Statement))(Some(vec![position]), None);
    count(scan.map_err(store_error)?.map(|batch| batch.map_err(store_error)), ranges)
}

/// Counts the rows of each partition, by the values of the only column of batches.
fn count(
    batches: impl Iterator<Item = Result<RecordBatch, SqlError>>,
    ranges: &PartitionRanges,
) -> Result<Vec<i64>, SqlError> {
    let mut counts = vec![0; ranges.count()];
    for batch in batches {
        let batch = batch?;
        let Some(array) = batch.columns().first() else {
            return Err(SqlError::internal("a partitioned table without its column"));
        };
        for number in ranges.numbers(array.as_ref())? {
            if let Some(count) = counts.get_mut(number - 1) {
                *count += 1;
            }
        }
    }
    Ok(counts)
}
