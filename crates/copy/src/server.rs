//! SQL Server as an endpoint: connecting, and listing tables.

use load::{Client, Config, TableName};
use tds::Value;

use crate::{endpoint::SqlServerEndpoint, error::CopyError, listed_table::ListedTable};

/// Connects.
///
/// # Errors
/// Those of the client.
pub(crate) fn connect(config: &Config, endpoint: &str) -> Result<Client, CopyError> {
    Client::connect(config).map_err(|error| CopyError::client(endpoint, error))
}

/// The tables and views of a database, largest first. Those of the system, and those in which bulkwire records loads, are left out.
///
/// # Errors
/// Those of the client.
pub fn server_tables(endpoint: &SqlServerEndpoint) -> Result<Vec<ListedTable>, CopyError> {
    let name = endpoint.to_string();
    let mut client = connect(&endpoint.config, &name)?;
    let found = client
        .query_values(
            "SELECT s.name AS schema_name, o.name, o.type, \
             (SELECT SUM(p.rows) FROM sys.partitions AS p WHERE p.object_id = o.object_id AND p.index_id IN (0, 1)) AS row_count, \
             (SELECT SUM(a.total_pages) * 8192 FROM sys.partitions AS p JOIN sys.allocation_units AS a \
             ON a.container_id = p.partition_id WHERE p.object_id = o.object_id) AS bytes \
             FROM sys.objects AS o JOIN sys.schemas AS s ON s.schema_id = o.schema_id \
             WHERE o.type IN ('U', 'V') AND o.is_ms_shipped = 0 ORDER BY s.name, o.name",
        )
        .map_err(|error| CopyError::client(&name, error))?;
    let rows = found.first().map(|table| table.rows.as_slice()).unwrap_or_default();
    let mut tables: Vec<ListedTable> = rows
        .iter()
        .filter_map(|row| {
            let [schema, name, kind, rows, bytes] = row.as_slice() else { return None };
            Some(ListedTable {
                schema: Some(text(schema)),
                name: text(name),
                is_view: text(kind).trim() == "V",
                rows: number(rows),
                bytes: number(bytes),
            })
        })
        .filter(|table| !LEDGER_TABLES.contains(&table.name.as_str()))
        .collect();
    tables.sort_by_key(|table| std::cmp::Reverse((table.bytes, table.rows)));
    Ok(tables)
}

/// The tables in which loads are recorded.
const LEDGER_TABLES: [&str; 3] = ["bulkwire_loads", "bulkwire_load_chunks", "bulkwire_load_sources"];

/// The name of a listed table.
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
