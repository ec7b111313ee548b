//! `GetStatistics`: row counts of tables, from the server's catalogue.

use std::collections::BTreeMap;
use std::sync::Arc;

use adbc_core::error::Result;
use adbc_core::schemas::{
    GET_STATISTICS_SCHEMA, STATISTIC_VALUE_SCHEMA, STATISTICS_DB_SCHEMA_SCHEMA, STATISTICS_SCHEMA,
};
use arrow::array::{
    ArrayRef, BooleanArray, Int16Array, Int64Array, ListArray, RecordBatch, StringArray, UnionArray,
    new_empty_array, new_null_array,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field};
use drivers::nested::{strings, structs};
use drivers::refusal::wrong_schema;
use load::{Client, quoted};
use tds::Value;

use crate::objects::{like, text, texts};

/// ADBC_STATISTIC_ROW_COUNT_KEY of ADBC's header.
const ROW_COUNT_KEY: i16 = 6;
/// The union's member for whole numbers.
const INT64: i8 = 0;

/// A table and its rows.
type Count = (String, i64);

/// Asks the server and builds the result.
pub(crate) fn batch(
    client: &mut Client,
    catalog: Option<&str>,
    db_schema: Option<&str>,
    table_name: Option<&str>,
) -> Result<RecordBatch> {
    let condition = like("name", catalog);
    let databases =
        texts(client, &format!("SELECT name FROM sys.databases WHERE {condition} ORDER BY name"))?;
    let mut catalogs = Vec::new();
    for row in databases {
        let name = text(&row, 0)?;
        let schemas = counts(client, &name, db_schema, table_name)?;
        catalogs.push((name, schemas));
    }
    let names: ArrayRef = Arc::new(StringArray::from_iter_values(catalogs.iter().map(|(name, _)| name)));
    let schemas: Vec<(&String, &Vec<Count>)> = catalogs.iter().flat_map(|(_, schemas)| schemas).collect();
    let tables: Vec<&Count> = schemas.iter().flat_map(|(_, tables)| tables.iter()).collect();
    let tables =
        list(&STATISTICS_SCHEMA, schemas.iter().map(|(_, tables)| tables.len()), statistics(&tables)?)?;
    let schema_names = strings(schemas.iter().map(|(name, _)| Some(name.as_str())));
    let schemas = structs(&STATISTICS_DB_SCHEMA_SCHEMA, vec![schema_names, tables])?;
    let below =
        list(&STATISTICS_DB_SCHEMA_SCHEMA, catalogs.iter().map(|(_, schemas)| schemas.len()), schemas)?;
    Ok(RecordBatch::try_new(Arc::clone(&GET_STATISTICS_SCHEMA), vec![names, below])?)
}

/// Counts the rows of the tables of a database, by schema.
fn counts(
    client: &mut Client,
    catalog: &str,
    db_schema: Option<&str>,
    table_name: Option<&str>,
) -> Result<BTreeMap<String, Vec<Count>>> {
    let database = quoted(catalog);
    let sql = format!(
        "SELECT s.name, t.name, SUM(p.row_count) AS rows FROM {database}.sys.tables AS t \
         JOIN {database}.sys.schemas AS s ON s.schema_id = t.schema_id \
         JOIN {database}.sys.dm_db_partition_stats AS p ON p.object_id = t.object_id AND p.index_id IN (0, 1) \
         WHERE {} AND {} GROUP BY s.name, t.name ORDER BY s.name, t.name",
        like("s.name", db_schema),
        like("t.name", table_name),
    );
    let mut found: BTreeMap<String, Vec<Count>> = BTreeMap::new();
    for row in texts(client, &sql)? {
        let rows = match row.get(2) {
            Some(Value::BigInt(rows)) => *rows,
            Some(Value::Int(rows)) => i64::from(*rows),
            _ => continue,
        };
        found.entry(text(&row, 0)?).or_default().push((text(&row, 1)?, rows));
    }
    Ok(found)
}

fn statistics(tables: &[&Count]) -> Result<ArrayRef> {
    let DataType::Union(fields, _) = &*STATISTIC_VALUE_SCHEMA else { return Err(wrong_schema()) };
    let children = fields.iter().map(|(type_id, field)| -> ArrayRef {
        match type_id {
            INT64 => Arc::new(Int64Array::from_iter_values(tables.iter().map(|(_, rows)| *rows))),
            _ => new_empty_array(field.data_type()),
        }
    });
    let offsets: Vec<i32> = (0..tables.len()).map(|index| i32::try_from(index).unwrap_or(i32::MAX)).collect();
    let type_ids = vec![INT64; tables.len()];
    let values =
        UnionArray::try_new(fields.clone(), type_ids.into(), Some(offsets.into()), children.collect())?;
    let columns: Vec<ArrayRef> = vec![
        strings(tables.iter().map(|(name, _)| Some(name.as_str()))),
        new_null_array(&DataType::Utf8, tables.len()),
        Arc::new(Int16Array::from(vec![ROW_COUNT_KEY; tables.len()])),
        Arc::new(values),
        Arc::new(BooleanArray::from(vec![false; tables.len()])),
    ];
    structs(&STATISTICS_SCHEMA, columns)
}

fn list(item: &DataType, lengths: impl Iterator<Item = usize>, values: ArrayRef) -> Result<ArrayRef> {
    let field = Arc::new(Field::new_list_field(item.clone(), true));
    Ok(Arc::new(ListArray::try_new(field, OffsetBuffer::from_lengths(lengths), values, None)?))
}
