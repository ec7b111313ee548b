//! `GetObjects`: databases, schemas, tables, columns and constraints as one nested result.

use std::collections::BTreeMap;
use std::sync::Arc;

use adbc_core::error::{Result, Status};
use adbc_core::options::ObjectDepth;
use adbc_core::schemas::{
    COLUMN_SCHEMA, CONSTRAINT_SCHEMA, GET_OBJECTS_SCHEMA, OBJECTS_DB_SCHEMA_SCHEMA, TABLE_SCHEMA,
    USAGE_SCHEMA,
};
use arrow::array::{
    ArrayRef, BooleanArray, Int16Array, Int32Array, RecordBatch, StringArray, new_null_array,
};
use arrow::datatypes::DataType;
use drivers::nested::{lists, strings, structs};
use drivers::refusal::{refused, wrong_schema};
use load::{Client, literal, quoted};
use tds::Value;

use crate::error::from_load;
use crate::odbc_types::{OdbcCodes, odbc_codes};

/// Types of tables, as INFORMATION_SCHEMA names them.
pub(crate) const TABLE_TYPES: [&str; 2] = ["BASE TABLE", "VIEW"];

/// Objects to list; names are patterns of LIKE.
pub(crate) struct Filter<'a> {
    pub(crate) catalog: Option<&'a str>,
    pub(crate) db_schema: Option<&'a str>,
    pub(crate) table_name: Option<&'a str>,
    pub(crate) table_type: Option<&'a [&'a str]>,
    pub(crate) column_name: Option<&'a str>,
}

/// A database, with what is below it as far as was asked.
struct Catalog {
    name: String,
    schemas: Option<Vec<DbSchema>>,
}

struct DbSchema {
    name: String,
    tables: Option<Vec<Table>>,
}

struct Table {
    name: String,
    table_type: String,
    details: Option<(Vec<TableColumn>, Vec<Constraint>)>,
}

struct TableColumn {
    name: String,
    position: i32,
    type_name: String,
    size: Option<i32>,
    digits: Option<i16>,
    radix: Option<i16>,
    octets: Option<i32>,
    nullable: bool,
    default: Option<String>,
    is_identity: bool,
    is_computed: bool,
}

struct Constraint {
    name: String,
    constraint_type: String,
    columns: Vec<String>,
    /// Catalog, schema, table, column.
    usage: Vec<[String; 4]>,
}

/// Asks the server and builds the result.
pub(crate) fn batch(client: &mut Client, depth: &ObjectDepth, filter: &Filter<'_>) -> Result<RecordBatch> {
    let condition = like("name", filter.catalog);
    let databases =
        texts(client, &format!("SELECT name FROM sys.databases WHERE {condition} ORDER BY name"))?;
    let mut catalogs = Vec::new();
    for row in databases {
        let name = text(&row, 0)?;
        let schemas = match depth {
            ObjectDepth::Catalogs => None,
            _ => Some(schemas(client, &name, depth, filter)?),
        };
        catalogs.push(Catalog { name, schemas });
    }
    let names = catalogs.iter().map(|catalog| catalog.name.as_str());
    let names: ArrayRef = Arc::new(StringArray::from_iter_values(names));
    let below =
        lists(catalogs.iter().map(|c| c.schemas.as_deref()), &OBJECTS_DB_SCHEMA_SCHEMA, schemas_array)?;
    Ok(RecordBatch::try_new(Arc::clone(&GET_OBJECTS_SCHEMA), vec![names, below])?)
}

fn schemas(
    client: &mut Client,
    catalog: &str,
    depth: &ObjectDepth,
    filter: &Filter<'_>,
) -> Result<Vec<DbSchema>> {
    let database = quoted(catalog);
    let condition = like("name", filter.db_schema);
    let found =
        texts(client, &format!("SELECT name FROM {database}.sys.schemas WHERE {condition} ORDER BY name"))?;
    let with_tables = !matches!(depth, ObjectDepth::Schemas);
    let mut tables = match with_tables {
        true => tables(client, catalog, depth, filter)?,
        false => BTreeMap::new(),
    };
    found
        .iter()
        .map(|row| {
            let name = text(row, 0)?;
            let tables = with_tables.then(|| tables.remove(&name).unwrap_or_default());
            Ok(DbSchema { name, tables })
        })
        .collect()
}

/// Lists tables by schema.
fn tables(
    client: &mut Client,
    catalog: &str,
    depth: &ObjectDepth,
    filter: &Filter<'_>,
) -> Result<BTreeMap<String, Vec<Table>>> {
    let database = &quoted(catalog);
    let mut condition =
        format!("{} AND {}", like("TABLE_SCHEMA", filter.db_schema), like("TABLE_NAME", filter.table_name));
    if let Some(types) = filter.table_type {
        let types: Vec<String> = types.iter().map(|one| literal(one)).collect();
        condition.push_str(&match types.is_empty() {
            true => " AND 1 = 0".to_owned(),
            false => format!(" AND TABLE_TYPE IN ({})", types.join(", ")),
        });
    }
    let sql = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE FROM {database}.INFORMATION_SCHEMA.TABLES WHERE {condition} \
         ORDER BY TABLE_SCHEMA, TABLE_NAME"
    );
    let found = texts(client, &sql)?;
    let detailed = matches!(depth, ObjectDepth::All | ObjectDepth::Columns);
    let (mut columns, mut constraints) = match detailed {
        true => (columns(client, database, filter)?, constraints(client, catalog, filter)?),
        false => (BTreeMap::new(), BTreeMap::new()),
    };
    let mut tables: BTreeMap<String, Vec<Table>> = BTreeMap::new();
    for row in found {
        let (schema, name, table_type) = (text(&row, 0)?, text(&row, 1)?, text(&row, 2)?);
        let key = (schema.clone(), name.clone());
        let details = detailed.then(|| {
            (columns.remove(&key).unwrap_or_default(), constraints.remove(&key).unwrap_or_default())
        });
        tables.entry(schema).or_default().push(Table { name, table_type, details });
    }
    Ok(tables)
}

type ByTable<T> = BTreeMap<(String, String), Vec<T>>;

fn columns(client: &mut Client, database: &str, filter: &Filter<'_>) -> Result<ByTable<TableColumn>> {
    let sql = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, CAST(ORDINAL_POSITION AS int), DATA_TYPE, \
         CAST(COALESCE(CHARACTER_MAXIMUM_LENGTH, NUMERIC_PRECISION) AS int), \
         CAST(COALESCE(NUMERIC_SCALE, DATETIME_PRECISION) AS int), IS_NULLABLE, COLUMN_DEFAULT, \
         CAST(NUMERIC_PRECISION_RADIX AS int), CAST(CHARACTER_OCTET_LENGTH AS int) \
         FROM {database}.INFORMATION_SCHEMA.COLUMNS WHERE {} AND {} AND {} ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION",
        like("TABLE_SCHEMA", filter.db_schema),
        like("TABLE_NAME", filter.table_name),
        like("COLUMN_NAME", filter.column_name),
    );
    let mut columns = ByTable::new();
    let made = made_by_server(client, database, filter)?;
    for row in texts(client, &sql)? {
        let place = (text(&row, 0)?, text(&row, 1)?, text(&row, 2)?);
        let (is_identity, is_computed) = made.get(&place).copied().unwrap_or_default();
        let column = TableColumn {
            name: text(&row, 2)?,
            position: number(&row, 3).unwrap_or_default(),
            type_name: text(&row, 4)?,
            size: number(&row, 5),
            digits: number(&row, 6).and_then(|digits| i16::try_from(digits).ok()),
            nullable: text(&row, 7)?.eq_ignore_ascii_case("YES"),
            default: text(&row, 8).ok(),
            radix: number(&row, 9).and_then(|radix| i16::try_from(radix).ok()),
            octets: number(&row, 10),
            is_identity,
            is_computed,
        };
        columns.entry((text(&row, 0)?, text(&row, 1)?)).or_default().push(column);
    }
    Ok(columns)
}

/// Columns, by schema, table and name, that the server fills: whether they are identities, and whether computed.
type MadeByServer = BTreeMap<(String, String, String), (bool, bool)>;

fn made_by_server(client: &mut Client, database: &str, filter: &Filter<'_>) -> Result<MadeByServer> {
    let sql = format!(
        "SELECT s.name, o.name, c.name, CAST(c.is_identity AS int), CAST(c.is_computed AS int) FROM {database}.sys.columns AS c \
         JOIN {database}.sys.objects AS o ON o.object_id = c.object_id JOIN {database}.sys.schemas AS s ON s.schema_id = o.schema_id \
         WHERE (c.is_identity = 1 OR c.is_computed = 1) AND {} AND {}",
        like("s.name", filter.db_schema),
        like("o.name", filter.table_name),
    );
    texts(client, &sql)?
        .iter()
        .map(|row| {
            let is = |index| number(row, index) == Some(1);
            Ok(((text(row, 0)?, text(row, 1)?, text(row, 2)?), (is(3), is(4))))
        })
        .collect()
}

fn constraints(client: &mut Client, catalog: &str, filter: &Filter<'_>) -> Result<ByTable<Constraint>> {
    let (database, catalog) = (quoted(catalog), literal(catalog));
    let of_table = format!("{} AND {}", like("s.name", filter.db_schema), like("t.name", filter.table_name));
    let keys = format!(
        "SELECT s.name, t.name, k.name, k.type, c.name FROM {database}.sys.key_constraints AS k \
         JOIN {database}.sys.tables AS t ON t.object_id = k.parent_object_id JOIN {database}.sys.schemas AS s ON s.schema_id = t.schema_id \
         JOIN {database}.sys.index_columns AS i ON i.object_id = t.object_id AND i.index_id = k.unique_index_id \
         JOIN {database}.sys.columns AS c ON c.object_id = t.object_id AND c.column_id = i.column_id \
         WHERE {of_table} ORDER BY s.name, t.name, k.name, i.key_ordinal"
    );
    let mut constraints = ByTable::new();
    for row in texts(client, &keys)? {
        let kind = if text(&row, 3)?.trim() == "PK" { "PRIMARY KEY" } else { "UNIQUE" };
        let constraint = constraint(&mut constraints, &row, kind)?;
        constraint.columns.push(text(&row, 4)?);
    }
    let foreign = format!(
        "SELECT s.name, t.name, f.name, c.name, {catalog}, rs.name, rt.name, rc.name FROM {database}.sys.foreign_keys AS f \
         JOIN {database}.sys.tables AS t ON t.object_id = f.parent_object_id JOIN {database}.sys.schemas AS s ON s.schema_id = t.schema_id \
         JOIN {database}.sys.foreign_key_columns AS k ON k.constraint_object_id = f.object_id \
         JOIN {database}.sys.columns AS c ON c.object_id = k.parent_object_id AND c.column_id = k.parent_column_id \
         JOIN {database}.sys.tables AS rt ON rt.object_id = k.referenced_object_id \
         JOIN {database}.sys.schemas AS rs ON rs.schema_id = rt.schema_id \
         JOIN {database}.sys.columns AS rc ON rc.object_id = k.referenced_object_id AND rc.column_id = k.referenced_column_id \
         WHERE {of_table} ORDER BY s.name, t.name, f.name, k.constraint_column_id"
    );
    for row in texts(client, &foreign)? {
        let usage = [text(&row, 4)?, text(&row, 5)?, text(&row, 6)?, text(&row, 7)?];
        let constraint = constraint(&mut constraints, &row, "FOREIGN KEY")?;
        constraint.columns.push(text(&row, 3)?);
        constraint.usage.push(usage);
    }
    let checks = format!(
        "SELECT s.name, t.name, k.name FROM {database}.sys.check_constraints AS k \
         JOIN {database}.sys.tables AS t ON t.object_id = k.parent_object_id JOIN {database}.sys.schemas AS s ON s.schema_id = t.schema_id \
         WHERE {of_table} ORDER BY s.name, t.name, k.name"
    );
    for row in texts(client, &checks)? {
        constraint(&mut constraints, &row, "CHECK")?;
    }
    Ok(constraints)
}

/// Returns the constraint of a row whose first columns are schema, table and name.
fn constraint<'a>(
    constraints: &'a mut ByTable<Constraint>,
    row: &[Value],
    constraint_type: &str,
) -> Result<&'a mut Constraint> {
    let name = text(row, 2)?;
    let of_table = constraints.entry((text(row, 0)?, text(row, 1)?)).or_default();
    let index = match of_table.iter().position(|c| c.name == name) {
        Some(index) => index,
        None => {
            let constraint_type = constraint_type.to_owned();
            of_table.push(Constraint { name, constraint_type, columns: Vec::new(), usage: Vec::new() });
            of_table.len() - 1
        }
    };
    of_table.get_mut(index).ok_or_else(|| refused(Status::Internal, "a constraint went missing"))
}

pub(crate) fn like(column: &str, pattern: Option<&str>) -> String {
    pattern.map_or_else(|| "1 = 1".to_owned(), |pattern| format!("{column} LIKE {}", literal(pattern)))
}

pub(crate) fn texts(client: &mut Client, sql: &str) -> Result<Vec<Vec<Value>>> {
    let tables = client.query_values(sql).map_err(from_load)?;
    Ok(tables.into_iter().next().map(|table| table.rows).unwrap_or_default())
}

pub(crate) fn text(row: &[Value], index: usize) -> Result<String> {
    match row.get(index) {
        Some(Value::String(text)) => Ok(text.clone()),
        other => Err(refused(Status::Internal, format!("the catalogue gave {other:?} for a name"))),
    }
}

fn number(row: &[Value], index: usize) -> Option<i32> {
    match row.get(index) {
        Some(Value::Int(number)) => Some(*number),
        _ => None,
    }
}

fn schemas_array(schemas: &[&DbSchema]) -> Result<ArrayRef> {
    let names = strings(schemas.iter().map(|schema| Some(schema.name.as_str())));
    let tables = lists(schemas.iter().map(|s| s.tables.as_deref()), &TABLE_SCHEMA, tables_array)?;
    structs(&OBJECTS_DB_SCHEMA_SCHEMA, vec![names, tables])
}

fn tables_array(tables: &[&Table]) -> Result<ArrayRef> {
    let names = strings(tables.iter().map(|table| Some(table.name.as_str())));
    let types = strings(tables.iter().map(|table| Some(table.table_type.as_str())));
    let columns = tables.iter().map(|t| t.details.as_ref().map(|(columns, _)| columns.as_slice()));
    let columns = lists(columns, &COLUMN_SCHEMA, columns_array)?;
    let constraints =
        tables.iter().map(|t| t.details.as_ref().map(|(_, constraints)| constraints.as_slice()));
    let constraints = lists(constraints, &CONSTRAINT_SCHEMA, constraints_array)?;
    structs(&TABLE_SCHEMA, vec![names, types, columns, constraints])
}

fn columns_array(columns: &[&TableColumn]) -> Result<ArrayRef> {
    let DataType::Struct(fields) = &*COLUMN_SCHEMA else { return Err(wrong_schema()) };
    let arrays = fields.iter().map(|field| -> ArrayRef {
        match field.name().as_str() {
            "column_name" => strings(columns.iter().map(|c| Some(c.name.as_str()))),
            "ordinal_position" => Arc::new(Int32Array::from_iter_values(columns.iter().map(|c| c.position))),
            "xdbc_type_name" => strings(columns.iter().map(|c| Some(c.type_name.as_str()))),
            "xdbc_column_size" => Arc::new(Int32Array::from_iter(columns.iter().map(|c| c.size))),
            "xdbc_decimal_digits" => Arc::new(Int16Array::from_iter(columns.iter().map(|c| c.digits))),
            "xdbc_nullable" => {
                Arc::new(Int16Array::from_iter_values(columns.iter().map(|c| i16::from(c.nullable))))
            }
            "xdbc_is_nullable" => {
                strings(columns.iter().map(|c| Some(if c.nullable { "YES" } else { "NO" })))
            }
            "xdbc_column_def" => strings(columns.iter().map(|c| c.default.as_deref())),
            "xdbc_data_type" => codes(columns, |codes| Some(codes.concise)),
            "xdbc_sql_data_type" => codes(columns, |codes| Some(codes.verbose)),
            "xdbc_datetime_sub" => codes(columns, |codes| codes.datetime_sub),
            "xdbc_num_prec_radix" => Arc::new(Int16Array::from_iter(columns.iter().map(|c| c.radix))),
            "xdbc_char_octet_length" => Arc::new(Int32Array::from_iter(columns.iter().map(|c| c.octets))),
            "xdbc_is_autoincrement" => {
                Arc::new(BooleanArray::from_iter(columns.iter().map(|c| Some(c.is_identity))))
            }
            "xdbc_is_generatedcolumn" => {
                Arc::new(BooleanArray::from_iter(columns.iter().map(|c| Some(c.is_computed))))
            }
            // The scope of a reference: SQL Server has none.
            _ => match field.data_type() {
                DataType::Boolean => Arc::new(BooleanArray::new_null(columns.len())),
                other => new_null_array(other, columns.len()),
            },
        }
    });
    structs(&COLUMN_SCHEMA, arrays.collect())
}

fn codes(columns: &[&TableColumn], code: impl Fn(OdbcCodes) -> Option<i16>) -> ArrayRef {
    Arc::new(Int16Array::from_iter(columns.iter().map(|c| odbc_codes(&c.type_name).and_then(&code))))
}

fn constraints_array(constraints: &[&Constraint]) -> Result<ArrayRef> {
    let names = strings(constraints.iter().map(|c| Some(c.name.as_str())));
    let types = strings(constraints.iter().map(|c| Some(c.constraint_type.as_str())));
    let columns = lists(constraints.iter().map(|c| Some(c.columns.as_slice())), &DataType::Utf8, |names| {
        Ok(strings(names.iter().map(|name| Some(name.as_str()))))
    })?;
    let usage = constraints.iter().map(|c| (!c.usage.is_empty()).then_some(c.usage.as_slice()));
    let usage = lists(usage, &USAGE_SCHEMA, |usages| {
        let part = |index: usize| strings(usages.iter().map(|usage| usage.get(index).map(String::as_str)));
        structs(&USAGE_SCHEMA, vec![part(0), part(1), part(2), part(3)])
    })?;
    structs(&CONSTRAINT_SCHEMA, vec![names, types, columns, usage])
}
