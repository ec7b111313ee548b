//! Partitioned results, which other connections and processes can read.

use std::sync::Arc;

use adbc_core::PartitionedResult;
use adbc_core::error::{Result, Status};
use arrow::array::RecordBatchReader;
use arrow::datatypes::{Field, Schema};
use drivers::refusal::refused;
use load::read::{Partition, ReadOptions, Readers, RowSource, SplitPlan};
use load::{BATCH_ROWS, Client, TableName};
use rows::mapping::{Form, field_for};
use tds::Column;

use crate::error::from_load;
use crate::results::{Results, open_stream};
use crate::shared::Shared;

/// Partitions of a result, unless the statement asks for another number.
pub(crate) const PARTITIONS: u64 = 8;

/// Splits a query: by the column that is named, or, if it is all of a table, by the table's clustered key. What cannot be split
/// is one partition.
pub(crate) fn split(
    client: &mut Client,
    sql: &str,
    partitions: u64,
    split_by: Option<&str>,
) -> Result<PartitionedResult> {
    let source = match whole_table(sql) {
        Some(table) if !table.is_temporary() => RowSource::table(table),
        _ => RowSource::query(sql),
    };
    let ranges = usize::try_from(partitions).ok();
    let is_whole_query = matches!(source, RowSource::Query { .. }) && split_by.is_none();
    let options = ReadOptions {
        readers: if is_whole_query { Readers::Count(1) } else { Readers::Count(2) },
        split_by: split_by.map(str::to_owned),
        ranges: if is_whole_query { None } else { ranges },
        ..ReadOptions::default()
    };
    let columns =
        client.columns_of(&format!("SET FMTONLY ON;\n{sql}\n;SET FMTONLY OFF")).map_err(from_load)?;
    let plan = SplitPlan::new(client, source, &options).map_err(from_load)?;
    let partitions = Partition::of_plan(client, &plan, &columns)
        .iter()
        .map(Partition::encode)
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(|error| refused(Status::Internal, error.to_string()))?;
    Ok(PartitionedResult { partitions, schema: schema_of(&columns), rows_affected: -1 })
}

/// Reads a partition over a connection to the same database.
pub(crate) fn read(connection: &Shared, bytes: &[u8]) -> Result<Box<dyn RecordBatchReader + Send>> {
    let partition =
        Partition::decode(bytes).map_err(|error| refused(Status::InvalidArguments, error.to_string()))?;
    let database = connection.lend()?.database().to_owned();
    if database != partition.database {
        let text =
            format!("the partition is of database {}, the connection of {database}", partition.database);
        return Err(refused(Status::InvalidState, text));
    }
    let expected = schema_of(&partition.columns);
    let (schema, rows) = open_stream(connection, partition.sql, partition.parameters, BATCH_ROWS)?;
    let same = |a: &Arc<Field>, b: &Arc<Field>| a.name() == b.name() && a.data_type() == b.data_type();
    let is_as_planned = expected.fields().len() == schema.fields().len()
        && expected.fields().iter().zip(schema.fields()).all(|(a, b)| same(a, b));
    if !is_as_planned {
        return Err(refused(
            Status::InvalidState,
            "the table has other columns than when it was partitioned",
        ));
    }
    Ok(Box::new(Results::of_one(schema, rows)))
}

fn schema_of(columns: &[Column]) -> Schema {
    Schema::new(columns.iter().map(|column| field_for(column, &Form::default())).collect::<Vec<_>>())
}

/// Returns the table of a query that is `SELECT * FROM table` and nothing else.
fn whole_table(sql: &str) -> Option<TableName> {
    let mut rest = sql.trim().trim_end_matches(';').trim_end();
    for word in ["select", "*", "from"] {
        let head = rest.get(..word.len())?;
        if !head.eq_ignore_ascii_case(word) {
            return None;
        }
        rest = rest.get(word.len()..)?;
        // A star needs no blank on either side.
        let trimmed = rest.trim_start();
        if trimmed.len() == rest.len() && !(rest.starts_with(['*', '[', '"']) || word == "*") {
            return None;
        }
        rest = trimmed;
    }
    // A name in quotes may have blanks; anything else with one is more than a name.
    let is_name = rest.starts_with(['[', '"']) || !rest.contains(char::is_whitespace);
    if !is_name || rest.contains(['(', ',']) || rest.contains("--") || rest.contains("/*") {
        return None;
    }
    rest.parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::whole_table;

    #[test]
    fn all_of_a_table_is_recognised() {
        for (sql, table) in [
            ("SELECT * FROM t", Some("[t]")),
            ("select*from[a b].t ; ", Some("[a b].[t]")),
            ("SELECT *\nFROM dbo.orders;", Some("[dbo].[orders]")),
            ("SELECT * FROM \"x y\"", Some("[x y]")),
            ("SELECT * FROM t WHERE a = 1", None),
            ("SELECT * FROM [t] AS x", None),
            ("SELECT * FROM t, u", None),
            ("SELECT * FROM f()", None),
            ("SELECT * FROM t--", None),
            ("SELECT a FROM t", None),
            ("SELECT * FROMt", None),
            ("SELECT", None),
            ("é", None),
        ] {
            assert_eq!(whole_table(sql).map(|name| name.to_string()).as_deref(), table, "{sql}");
        }
    }
}
