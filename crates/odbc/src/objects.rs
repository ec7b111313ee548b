//! `GetObjects`: the tables that ODBC's catalogue knows, by catalogue and schema.

use std::collections::BTreeMap;
use std::sync::Arc;

use adbc_core::error::{Result, Status};
use adbc_core::options::ObjectDepth;
use adbc_core::schemas::{
    COLUMN_SCHEMA, CONSTRAINT_SCHEMA, GET_OBJECTS_SCHEMA, OBJECTS_DB_SCHEMA_SCHEMA, TABLE_SCHEMA,
};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, new_null_array};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use arrow_odbc::odbc_api::Connection;
use drivers::nested::{lists, strings, structs};
use drivers::refusal::refused;

use crate::error::{from_odbc, from_reader, unsupported};
use crate::limits::Limits;
use crate::reading;

/// Objects to list; names are patterns of LIKE.
pub(crate) struct Filter<'a> {
    pub(crate) catalog: Option<&'a str>,
    pub(crate) db_schema: Option<&'a str>,
    pub(crate) table_name: Option<&'a str>,
    pub(crate) table_type: Option<Vec<&'a str>>,
}

/// Name and type of a table.
type Table = (String, String);
type Schemas = BTreeMap<Option<String>, Vec<Table>>;
/// A schema, if the database has schemas, and its tables.
type Schema = (Option<String>, Vec<Table>);
/// A catalogue, if the database has catalogues, and its schemas.
type Catalogue = (Option<String>, Vec<Schema>);

/// Asks the driver and builds the result.
pub(crate) fn batch(
    connection: &Connection<'static>,
    depth: &ObjectDepth,
    filter: &Filter<'_>,
    limits: Limits,
) -> Result<RecordBatch> {
    if matches!(depth, ObjectDepth::All | ObjectDepth::Columns) {
        return Err(unsupported("the catalogue's list of columns (GetTableSchema has those of a table)"));
    }
    let mut catalogs: BTreeMap<Option<String>, Schemas> = BTreeMap::new();
    for table in tables(connection, filter, limits)? {
        let [catalog, schema, name, table_type] = table;
        let Some(name) = name else { continue };
        let of_schema = catalogs.entry(catalog).or_default().entry(schema).or_default();
        of_schema.push((name, table_type.unwrap_or_default()));
    }
    let catalogs: Vec<Catalogue> =
        catalogs.into_iter().map(|(name, schemas)| (name, schemas.into_iter().collect())).collect();
    let names = strings(catalogs.iter().map(|(name, _)| name.as_deref()));
    let with_schemas = !matches!(depth, ObjectDepth::Catalogs);
    let with_tables = with_schemas && !matches!(depth, ObjectDepth::Schemas);
    let below = catalogs.iter().map(|(_, schemas)| with_schemas.then_some(schemas.as_slice()));
    let below = lists(below, &OBJECTS_DB_SCHEMA_SCHEMA, |schemas| schemas_array(schemas, with_tables))?;
    Ok(RecordBatch::try_new(Arc::clone(&GET_OBJECTS_SCHEMA), vec![names, below])?)
}

/// Lists catalogue, schema, name and type of tables.
pub(crate) fn tables(
    connection: &Connection<'static>,
    filter: &Filter<'_>,
    limits: Limits,
) -> Result<Vec<[Option<String>; 4]>> {
    // The default is the current catalogue, since not every driver takes a pattern here.
    let current = connection.current_catalog().unwrap_or_default();
    let catalog = filter.catalog.unwrap_or(&current);
    let types: Vec<String> =
        filter.table_type.iter().flatten().map(|table_type| format!("'{table_type}'")).collect();
    let any = |pattern: Option<&str>| pattern.unwrap_or("%").to_owned();
    let statement = connection.preallocate().map_err(|error| from_odbc(&error))?;
    let cursor = statement
        .into_tables_cursor(catalog, &any(filter.db_schema), &any(filter.table_name), &types.join(","))
        .map_err(|error| from_odbc(&error))?;
    // Names are short. Remarks may be long, but are not read here.
    let limits = Limits { max_text_size: 4096, ..limits };
    let reader = reading::builder("", limits).build(cursor).map_err(|error| from_reader(&error))?;
    let mut found = Vec::new();
    for batch in reader {
        let batch = batch?;
        let column = |index: usize| -> Result<ArrayRef> {
            let array =
                batch.columns().get(index).ok_or_else(|| refused(Status::Internal, "no such column"))?;
            Ok(cast(array, &DataType::Utf8)?)
        };
        let columns = [column(0)?, column(1)?, column(2)?, column(3)?];
        for row in 0..batch.num_rows() {
            found.push(columns.each_ref().map(|array| {
                let texts = array.as_string::<i32>();
                texts.is_valid(row).then(|| texts.value(row).to_owned())
            }));
        }
    }
    Ok(found)
}

fn schemas_array(schemas: &[&Schema], with_tables: bool) -> Result<ArrayRef> {
    let names = strings(schemas.iter().map(|(name, _)| name.as_deref()));
    let tables = schemas.iter().map(|(_, tables)| with_tables.then_some(tables.as_slice()));
    let tables = lists(tables, &TABLE_SCHEMA, tables_array)?;
    structs(&OBJECTS_DB_SCHEMA_SCHEMA, vec![names, tables])
}

fn tables_array(tables: &[&Table]) -> Result<ArrayRef> {
    let names = strings(tables.iter().map(|(name, _)| Some(name.as_str())));
    let types = strings(tables.iter().map(|(_, table_type)| Some(table_type.as_str())));
    let none = |item: &DataType| new_null_array(&DataType::new_list(item.clone(), true), tables.len());
    structs(&TABLE_SCHEMA, vec![names, types, none(&COLUMN_SCHEMA), none(&CONSTRAINT_SCHEMA)])
}
