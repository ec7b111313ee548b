//! Tables of a database.

use adbc_core::{
    Connection as _, Optionable as _,
    options::{ObjectDepth, OptionConnection},
};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};

use super::{address::Address, session::Session, system::System};
use crate::{error::CopyError, listed_table::ListedTable};

/// Schemas of a database's own.
const OWN_SCHEMAS: [&str; 5] = ["information_schema", "pg_catalog", "pg_toast", "sys", "guest"];

/// Lists the tables and views that a user made, without those of the system.
pub(super) fn tables(address: &Address) -> Result<Vec<ListedTable>, CopyError> {
    let mut session = Session::open(address, true)?;
    match session.system {
        System::PostgreSql => postgresql(&mut session),
        _ => from_catalogue(&session),
    }
}

/// Lists tables by PostgreSQL's catalogue, which has counts and sizes.
fn postgresql(session: &mut Session) -> Result<Vec<ListedTable>, CopyError> {
    let rows = session.texts(
        "SELECT n.nspname::text, c.relname::text, c.relkind::text, greatest(c.reltuples, -1)::bigint::text, \
         pg_total_relation_size(c.oid)::text \
         FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition \
         AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_' ORDER BY 1, 2",
    )?;
    let table = |row: Vec<Option<String>>| {
        let mut values = row.into_iter();
        let mut next = || values.next().flatten();
        let (schema, name, kind) = (next(), next()?, next()?);
        let number = |text: Option<String>| text.and_then(|text| text.parse::<u64>().ok());
        let (rows, bytes) = (number(next()), number(next()));
        let is_view = matches!(kind.as_str(), "v" | "m");
        Some(ListedTable { schema, name, is_view, rows, bytes: bytes.filter(|_| !is_view) })
    };
    Ok(rows.into_iter().filter_map(table).collect())
}

/// Lists tables by the catalogue call of ADBC.
fn from_catalogue(session: &Session) -> Result<Vec<ListedTable>, CopyError> {
    let current = session.connection.get_option_string(OptionConnection::CurrentCatalog).ok();
    let current = current.filter(|_| session.system != System::Sqlite);
    let objects =
        session.connection.get_objects(ObjectDepth::Tables, current.as_deref(), None, None, None, None);
    let mut found = Vec::new();
    for batch in objects.map_err(|error| session.failed(&error))? {
        let batch = batch.map_err(|error| session.failed(&error.into()))?;
        for table in of_batch(&batch).unwrap_or_default() {
            if !found.contains(&table) {
                found.push(table);
            }
        }
    }
    if session.system == System::Sqlite {
        found.retain(|table| !table.name.starts_with("sqlite_"));
    }
    Ok(found)
}

/// Reads the tables of a nested result; `None` if it has another form than ADBC promises.
fn of_batch(batch: &RecordBatch) -> Option<Vec<ListedTable>> {
    let mut found = Vec::new();
    let schemas_of = batch.column_by_name("catalog_db_schemas")?.as_list_opt::<i32>()?;
    for catalog in 0..batch.num_rows() {
        if schemas_of.is_null(catalog) {
            continue;
        }
        let schemas = schemas_of.value(catalog);
        let schemas = schemas.as_struct_opt()?;
        let names = schemas.column_by_name("db_schema_name")?;
        let tables_of = schemas.column_by_name("db_schema_tables")?.as_list_opt::<i32>()?;
        for index in 0..schemas.len() {
            let schema = text(names, index).filter(|schema| !schema.is_empty());
            let is_own = |schema: &String| OWN_SCHEMAS.contains(&schema.to_ascii_lowercase().as_str());
            if tables_of.is_null(index) || schema.as_ref().is_some_and(is_own) {
                continue;
            }
            let tables = tables_of.value(index);
            let tables = tables.as_struct_opt()?;
            let (names, types) = (tables.column_by_name("table_name")?, tables.column_by_name("table_type")?);
            for table in 0..tables.len() {
                let kind = text(types, table).unwrap_or_default().to_ascii_uppercase();
                let is_view = kind.contains("VIEW");
                if kind.contains("SYSTEM") || !(is_view || kind.contains("TABLE")) {
                    continue;
                }
                let Some(name) = text(names, table) else { continue };
                found.push(ListedTable { schema: schema.clone(), name, is_view, rows: None, bytes: None });
            }
        }
    }
    Some(found)
}

fn text(array: &ArrayRef, index: usize) -> Option<String> {
    let texts = array.as_string_opt::<i32>()?;
    texts.is_valid(index).then(|| texts.value(index).to_owned())
}
