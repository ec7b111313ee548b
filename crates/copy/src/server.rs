//! SQL Server as an endpoint: connecting, and listing tables.

use std::collections::BTreeMap;

use load::{Client, Config, TableName, stage::is_stage_name};
use tds::Value;

use crate::{endpoint::SqlServerEndpoint, error::CopyError, listed_table::ListedTable};

/// Connects.
///
/// # Errors
/// The errors of [`Client::connect`], with the endpoint's name.
pub(crate) fn connect(config: &Config, endpoint: &str) -> Result<Client, CopyError> {
    Client::connect(config).map_err(|error| CopyError::client(endpoint, error))
}

/// Lists the tables and views of a database, largest first. Leaves out those of the system, and those in which bulkwire
/// records loads.
///
/// # Errors
/// The server cannot be reached, or a query of its catalogue fails.
pub fn server_tables(endpoint: &SqlServerEndpoint) -> Result<Vec<ListedTable>, CopyError> {
    let name = endpoint.to_string();
    let mut client = connect(&endpoint.config, &name)?;
    let found = client
        .query_values(
            "SELECT SCHEMA_NAME(o.schema_id) AS schema_name, o.name, o.type, o.object_id FROM sys.objects AS o \
             WHERE o.type IN ('U', 'V') AND o.is_ms_shipped = 0 ORDER BY schema_name, o.name",
        )
        .map_err(|error| CopyError::client(&name, error))?;
    // A list without sizes is still a list, so errors are ignored.
    let row_counts = figures(
        &mut client,
        "SELECT p.object_id, SUM(p.rows) AS row_count FROM sys.partitions AS p WHERE p.index_id IN (0, 1) GROUP BY p.object_id",
    );
    let sizes = figures(
        &mut client,
        "SELECT u.object_id, SUM(u.total_pages) * 8192 AS bytes FROM (\
         SELECT p.object_id, a.total_pages FROM sys.partitions AS p JOIN sys.allocation_units AS a \
         ON a.container_id = p.hobt_id AND a.type IN (1, 3) UNION ALL \
         SELECT p.object_id, a.total_pages FROM sys.partitions AS p JOIN sys.allocation_units AS a \
         ON a.container_id = p.partition_id AND a.type = 2) AS u GROUP BY u.object_id",
    );
    let rows = found.first().map(|table| table.rows.as_slice()).unwrap_or_default();
    let mut tables: Vec<ListedTable> = rows
        .iter()
        .filter_map(|row| {
            let [schema, name, kind, object] = row.as_slice() else { return None };
            let object = number(object)?;
            Some(ListedTable {
                schema: Some(text(schema)),
                name: text(name),
                is_view: text(kind).trim() == "V",
                rows: row_counts.get(&object).copied(),
                bytes: sizes.get(&object).copied(),
            })
        })
        // The tables in which bulkwire keeps its records are left out.
        .filter(|table| !LEDGER_TABLES.contains(&table.name.as_str()) && !is_stage_name(&table.name))
        .collect();
    tables.sort_by_key(|table| std::cmp::Reverse((table.bytes, table.rows)));
    Ok(tables)
}

/// Asks for a number for each object; none where the server does not tell.
fn figures(client: &mut Client, query: &str) -> BTreeMap<u64, u64> {
    let found = client.query_values(query).unwrap_or_default();
    let rows = found.iter().flat_map(|table| &table.rows);
    rows.filter_map(|row| Some((number(row.first()?)?, number(row.get(1)?)?))).collect()
}

/// The tables in which loads are recorded.
const LEDGER_TABLES: [&str; 3] = ["bulkwire_loads", "bulkwire_load_chunks", "bulkwire_load_sources"];

/// Returns the name of a listed table.
pub fn table_name(table: &ListedTable) -> TableName {
    TableName { database: None, schema: table.schema.clone(), name: table.name.clone() }
}

pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        _ => String::new(),
    }
}

fn number(value: &Value) -> Option<u64> {
    match value {
        Value::BigInt(number) => u64::try_from(*number).ok(),
        Value::Int(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}
