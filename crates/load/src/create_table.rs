//! The text of CREATE TABLE for a schema.

use std::fmt::Write;

use arrow::datatypes::{DataType, Field, Schema};
use rows::mapping::{COLLATION_KEY, CreateOptions, sql_type_of};
use tds::{Length, SqlType, Value};

use crate::{
    client::Client,
    error::Error,
    report::grouped,
    table_name::{TableName, literal, quoted},
    value_table::first_value,
};

/// Writes `CREATE TABLE` for batches of `schema`. `options` has for each field the length of its values and the type of
/// text; SQL types and collations in the fields' metadata take precedence. Fields that may be null become NULL columns,
/// others NOT NULL.
pub fn create_table_statement(
    table: &TableName,
    schema: &Schema,
    options: impl Fn(usize, &Field) -> CreateOptions,
) -> Result<String, Error> {
    let mut text = format!("CREATE TABLE {table} (");
    for (index, field) in schema.fields().iter().enumerate() {
        let sql_type = sql_type_of(field, &options(index, field))?;
        let separator = if index == 0 { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = write!(text, "{separator}\n    {} {sql_type}", quoted(field.name()));
        if sql_type.is_character()
            && let Some(collation) =
                field.metadata().get(COLLATION_KEY).filter(|name| is_collation_name(name))
        {
            let _ = write!(text, " COLLATE {collation}");
        }
        text.push_str(if field.is_nullable() { " NULL" } else { " NOT NULL" });
    }
    text.push_str("\n)");
    Ok(text)
}

/// Returns the schema that a new table needs here, if it names one of this database.
fn own_schema<'a>(client: &Client, table: &'a TableName) -> Option<&'a String> {
    let is_elsewhere =
        table.database.as_ref().is_some_and(|name| !name.eq_ignore_ascii_case(client.database()));
    table.schema.as_ref().filter(|_| !is_elsewhere)
}

/// Returns the script of a new table as people read it: its schema comes first if there is none.
///
/// # Errors
/// The catalogue cannot be asked.
pub fn creation_script(client: &mut Client, table: &TableName, statement: &str) -> Result<String, Error> {
    let Some(schema) = own_schema(client, table) else { return Ok(statement.to_owned()) };
    let found = client.query_values(&format!("SELECT SCHEMA_ID({})", literal(schema)))?;
    Ok(match first_value(&found).is_some_and(Value::is_null) {
        true => format!("CREATE SCHEMA {}\nGO\n{statement}", quoted(schema)),
        false => statement.to_owned(),
    })
}

/// Returns the statement that makes the schema of a new table if it is missing; `None` if none is named, or it belongs to
/// another database, where it cannot be made from here.
pub fn create_schema_statement(client: &Client, table: &TableName) -> Option<String> {
    let schema = own_schema(client, table)?;
    let create = literal(&format!("CREATE SCHEMA {}", quoted(schema)));
    // Of two loads that need it at once, one makes it: 2714.
    Some(format!(
        "IF SCHEMA_ID({name}) IS NULL BEGIN TRY EXEC({create}) END TRY \
         BEGIN CATCH IF SCHEMA_ID({name}) IS NULL THROW; END CATCH",
        name = literal(schema)
    ))
}

/// Makes a table by its statement, and its schema before it if that is missing.
///
/// # Errors
/// A statement fails. The schema stays.
pub fn make_table(client: &mut Client, table: &TableName, statement: &str) -> Result<(), Error> {
    if let Some(schema) = create_schema_statement(client, table) {
        client.execute(&schema)?;
    }
    client.execute(statement).map(drop)
}

/// Widens a schema whose columns were guessed from a sample of text. The sample is a lower bound, so columns become
/// nullable, whole numbers at least `int`, and decimals get all digits that their storage size holds.
pub fn roomy_schema(schema: &Schema) -> Schema {
    let fields = schema.fields().iter().map(|field| {
        let data_type = match field.data_type() {
            DataType::UInt8 | DataType::Int16 => DataType::Int32,
            DataType::Decimal128(precision, scale) => {
                let steps = [9, 19, 28, 38];
                DataType::Decimal128(steps.into_iter().find(|step| precision <= step).unwrap_or(38), *scale)
            }
            other => other.clone(),
        };
        field.as_ref().clone().with_data_type(data_type).with_nullable(true)
    });
    Schema::new(fields.collect::<Vec<_>>())
}

/// Drops a table that a load has made and not filled.
pub fn drop_empty_statement(table: &TableName) -> String {
    format!("IF NOT EXISTS (SELECT * FROM {table}) DROP TABLE {table}")
}

/// Returns a declared length for values of at most `longest` units, rounded up so that a little growth fits.
pub fn roomy_length(longest: u64) -> u64 {
    const STEPS: [u64; 9] = [10, 20, 50, 100, 200, 500, 1000, 2000, 4000];
    STEPS.into_iter().find(|step| longest <= *step).unwrap_or(longest)
}

/// Suggests a shorter type for a column that CREATE TABLE declares as `(max)`. `longest` is the length of its
/// longest value, in characters, or in bytes of binary. `None` for any other column.
pub fn unsized_advice(field: &Field, options: &CreateOptions, longest: u64) -> Option<String> {
    let (sized, units, most) = match sql_type_of(field, options).ok()? {
        SqlType::NVarChar { length: Length::Max } => ("nvarchar", "characters", 4000),
        SqlType::VarChar { length: Length::Max } => ("varchar", "characters", 8000),
        SqlType::VarBinary { length: Length::Max } => ("varbinary", "bytes", 8000),
        _ => return None,
    };
    let would_do = match longest {
        longest if longest <= most => format!("{sized}({}) would do", roomy_length(longest)),
        ..=8000 => "varchar(8000) would do if its collation has all characters".to_owned(),
        _ => "no length would do".to_owned(),
    };
    Some(format!("{}: the longest value has {} {units}, {would_do}", field.name(), grouped(longest)))
}

/// Returns true for a collation's name, which stands unquoted in T-SQL; metadata may hold anything.
fn is_collation_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use std::collections::HashMap;

    use arrow::datatypes::TimeUnit;

    use super::*;

    #[test]
    fn columns_without_a_length_are_told_which_would_do() {
        let declared = |name: &str, sql_type: &str| {
            let metadata = HashMap::from([(rows::mapping::SQL_TYPE_KEY.to_owned(), sql_type.to_owned())]);
            Field::new(name, DataType::Utf8, true).with_metadata(metadata)
        };
        let of = |field: &Field, longest: u64| {
            let max_length = Some(roomy_length(longest));
            unsized_advice(field, &CreateOptions { max_length, ..CreateOptions::default() }, longest)
        };
        let plain = Field::new("t", DataType::Utf8, true);
        assert_eq!(of(&plain, 37), None);
        assert_eq!(
            of(&plain, 5000).unwrap(),
            "t: the longest value has 5,000 characters, varchar(8000) would do if its collation has all characters"
        );
        assert_eq!(
            of(&plain, 9000).unwrap(),
            "t: the longest value has 9,000 characters, no length would do"
        );
        assert_eq!(
            of(&declared("n", "nvarchar(max)"), 37).unwrap(),
            "n: the longest value has 37 characters, nvarchar(50) would do"
        );
        assert_eq!(
            of(&declared("v", "varchar(max)"), 4001).unwrap(),
            "v: the longest value has 4,001 characters, varchar(4001) would do"
        );
    }

    #[test]
    fn a_schema_becomes_a_table() {
        let collated = Field::new("c", DataType::Utf8, true)
            .with_metadata(HashMap::from([(COLLATION_KEY.to_owned(), "Latin1_General_BIN2".to_owned())]));
        let hostile = Field::new("d", DataType::Utf8, true)
            .with_metadata(HashMap::from([(COLLATION_KEY.to_owned(), "x); DROP TABLE t --".to_owned())]));
        let schema = Schema::new(vec![
            Field::new("id", DataType::Int32, false),
            Field::new("odd ] name", DataType::Decimal128(10, 2), true),
            Field::new("at", DataType::Timestamp(TimeUnit::Microsecond, None), true),
            collated,
            hostile,
        ]);
        let lengths = [None, None, None, Some(20), None];
        let options = |index: usize, _: &Field| CreateOptions {
            max_length: lengths[index],
            ..CreateOptions::default()
        };
        let text = create_table_statement(&"dbo.t".parse().unwrap(), &schema, options).unwrap();
        let expected = "CREATE TABLE [dbo].[t] (\n    [id] int NOT NULL,\n    [odd ]] name] decimal(10, 2) NULL,\n    \
                        [at] datetime2(6) NULL,\n    [c] nvarchar(20) COLLATE Latin1_General_BIN2 NULL,\n    [d] nvarchar(max) NULL\n)";
        assert_eq!(text, expected);
    }
}
