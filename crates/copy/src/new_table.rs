//! A new table of SQL Server for the rows of a source: its statements, its keys behind the rows, and its end if the copy fails.

use load::{
    Beginning, Choice, Client, TableName, TableShape, create_table_statement, roomy_length,
    stage::{Obstacle, ObstacleKind, PendingKeys, Script},
};
use rows::mapping::{CreateOptions, sql_type_of};
use tds::Value;

use crate::{
    collations::Collations,
    error::CopyError,
    rowversions::without_rowversions,
    source::{ReadForm, Source},
    watch::Control,
};

/// A table that is to be made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewTable<'a> {
    /// The destination as people know it.
    pub endpoint: &'a str,
    /// The name of the table.
    pub table: &'a TableName,
    /// Keys, indexes, defaults, checks and computed columns of a table of SQL Server come with it.
    pub with_keys: bool,
    /// Lists, structs and maps become JSON text.
    pub nested_as_json: bool,
    /// The server has no type for vectors.
    pub without_vectors: bool,
    /// The treatment of collations.
    pub collations: &'a Collations,
}

/// The statements that create a table.
#[derive(Debug)]
pub(crate) struct Creation {
    /// CREATE TABLE.
    pub statement: String,
    /// The keys and indexes that are created behind the rows.
    pub shape: Option<TableShape>,
    /// The remarks for the plan.
    pub notes: Vec<Choice>,
}

impl NewTable<'_> {
    /// Writes CREATE TABLE for a source.
    pub(crate) fn creation(&self, source: &mut dyn Source, form: ReadForm) -> Result<Creation, CopyError> {
        match source.table_shape()? {
            Some(shape) => self.like(shape, source, form),
            None => self.of_columns(source, form),
        }
    }

    /// Makes a table like one of SQL Server.
    fn like(
        &self,
        shape: TableShape,
        source: &mut dyn Source,
        form: ReadForm,
    ) -> Result<Creation, CopyError> {
        let schema = source.describe(form)?.schema;
        let is_lost = |obstacle: &&Obstacle| obstacle.kind != ObstacleKind::UnalignedIndex;
        let mut lost: Vec<String> = shape.obstacles.iter().filter(is_lost).map(Obstacle::to_string).collect();
        if let (Some(space), Some(_)) = (&shape.space, shape.division()) {
            lost.push(format!("it is partitioned ({})", space.name));
        }
        let mut notes = Vec::new();
        if self.with_keys && !lost.is_empty() {
            notes.push(Choice {
                setting: "not copied",
                value: lost.join("; "),
                reason: "the new table has rows, columns, keys, indexes, defaults and checks".to_owned(),
            });
        }
        let mut copied = transplanted(shape, self.table, self.with_keys, |name| {
            let field = schema.field_with_name(name).ok()?;
            sql_type_of(field, &CreateOptions::default()).ok().map(|sql_type| sql_type.to_string())
        });
        self.collations.apply(&mut copied);
        let statement = Script { shape: &copied, table: self.table, suffix: "" }.create();
        Ok(Creation { statement, shape: self.with_keys.then_some(copied), notes })
    }

    /// Makes a table for the columns of any other source.
    fn of_columns(&self, source: &mut dyn Source, form: ReadForm) -> Result<Creation, CopyError> {
        let columns = source.new_columns(form)?;
        let schema = self.collations.applied(without_rowversions(&columns.schema));
        let options = |index: usize, _: &arrow::datatypes::Field| CreateOptions {
            max_length: columns.longest.get(index).copied().flatten().map(roomy_length),
            nested_as_json: self.nested_as_json,
            without_vectors: self.without_vectors,
            ..CreateOptions::default()
        };
        let statement = create_table_statement(self.table, &schema, options).map_err(|error| {
            let (source_name, destination) = (source.name(), self.endpoint.to_owned());
            CopyError::Unfit { source_name, destination, error: Box::new(error) }
        })?;
        Ok(Creation { statement, shape: None, notes: Vec::new() })
    }
}

/// Runs a statement that makes something; the error names it.
pub(crate) fn make(client: &mut Client, endpoint: &str, statement: &str) -> Result<(), CopyError> {
    client.execute(statement).map(drop).map_err(|error| failed(endpoint, statement, error))
}

/// Makes a table by a statement. With keys it is marked until they are built, so that another run of the copy builds them.
pub(crate) fn make_table(
    client: &mut Client,
    endpoint: &str,
    table: &TableName,
    statement: &str,
    has_keys: bool,
) -> Result<(), CopyError> {
    match has_keys {
        true => {
            let made = PendingKeys(table).make_table(client, statement);
            made.map_err(|error| failed(endpoint, statement, error))
        }
        false => make(client, endpoint, statement),
    }
}

/// Runs a statement that may be repeated, after a transient error again; the error names it.
fn repeated(
    client: &mut Client,
    endpoint: &str,
    beginning: &Beginning<'_>,
    statement: &str,
) -> Result<(), CopyError> {
    let made = beginning.run(client, &mut |client| client.execute(statement).map(drop));
    made.map_err(|error| failed(endpoint, statement, error))
}

fn failed(endpoint: &str, statement: &str, error: load::Error) -> CopyError {
    CopyError::Statement {
        endpoint: endpoint.to_owned(),
        statement: statement.to_owned(),
        error: Box::new(error),
    }
}

/// Makes the table's schema if it is missing: a table cannot be made without.
pub(crate) fn make_schema(client: &mut Client, endpoint: &str, table: &TableName) -> Result<(), CopyError> {
    match load::create_schema_statement(client, table) {
        Some(statement) => make(client, endpoint, &statement),
        None => Ok(()),
    }
}

/// Makes what comes behind the rows: keys, indexes and checks. What is to be said of it.
pub(crate) fn make_keys(
    client: &mut Client,
    endpoint: &str,
    table: &TableName,
    shape: &TableShape,
    (beginning, control): (&Beginning<'_>, &Control<'_>),
) -> Result<String, CopyError> {
    let without_references = TableShape { foreign_keys: Vec::new(), ..shape.clone() };
    let indexes = Script { shape, table, suffix: "" }.indexes();
    let checks = Script { shape: &without_references, table, suffix: "" }.constraints();
    for statement in indexes.iter().chain(&checks) {
        control.check()?;
        // Each statement has a condition, and so may be repeated.
        repeated(client, endpoint, beginning, statement)?;
    }
    Ok(format!("{} indexes and keys, {} checks", shape.indexes.len(), shape.checks.len()))
}

/// Makes the foreign keys of a table, as far as the tables are there that they refer to. `to_schema` has the tables of all schemas.
/// What is to be said of it.
pub(crate) fn make_foreign_keys(
    client: &mut Client,
    endpoint: &str,
    table: &TableName,
    shape: &TableShape,
    to_schema: Option<&str>,
    beginning: &Beginning<'_>,
) -> Result<Vec<String>, CopyError> {
    let mut notes = Vec::new();
    for key in &shape.foreign_keys {
        let mut key = key.clone();
        if let Some(schema) = to_schema {
            key.references.schema = Some(schema.to_owned());
        }
        match beginning.run(client, &mut |client| client.describe(&key.references)) {
            Err(load::Error::NoTable { .. }) => {
                notes.push(format!(
                    "foreign key {} of {table} is not copied: it refers to {}, which is not there",
                    key.name, key.references
                ));
                continue;
            }
            Err(error) => return Err(CopyError::client(endpoint, error)),
            Ok(_) => {}
        }
        let one = TableShape {
            foreign_keys: vec![key],
            checks: Vec::new(),
            lock_escalation: None,
            ..shape.clone()
        };
        for statement in (Script { shape: &one, table, suffix: "" }).constraints() {
            repeated(client, endpoint, beginning, &statement)?;
        }
    }
    let made = shape.foreign_keys.len() - notes.len();
    notes.insert(0, format!("{table}: {made} foreign keys"));
    Ok(notes)
}

/// Drops a table if nothing is in it: left behind by a copy that failed, it would stop the next try. Whether it is gone.
pub(crate) fn drop_if_empty(client: &mut Client, table: &TableName) -> Result<bool, load::Error> {
    client.execute(&load::drop_empty_statement(table))?;
    let found = client.query_values(&format!("SELECT OBJECT_ID({})", load::literal(&table.to_string())))?;
    let object = load::first_value(&found);
    Ok(matches!(object, Some(Value::Null)))
}

/// Converts the shape of a table for another database: leaves out types of its own database, file groups and features
/// that a second table lacks. Without keys only columns, lengths, nullability, collations and identity remain.
pub(crate) fn transplanted(
    shape: TableShape,
    table: &TableName,
    with_keys: bool,
    base_type: impl Fn(&str) -> Option<String>,
) -> TableShape {
    let encrypted: Vec<String> = shape
        .obstacles
        .iter()
        .filter(|obstacle| obstacle.kind == ObstacleKind::EncryptedColumn)
        .map(|obstacle| obstacle.name.clone())
        .collect();
    let columns = shape.columns.into_iter().map(|mut column| {
        // A read of an encrypted column returns ciphertext, which is of no use without its key.
        let is_encrypted = encrypted.contains(&column.name);
        let needs_base =
            column.type_text.starts_with('[') || is_encrypted || (!with_keys && column.computed.is_some());
        if is_encrypted {
            column.collation = None;
            column.default = None;
        }
        if let Some(base) = base_type(&column.name).filter(|_| needs_base) {
            column.type_text = base;
        }
        if !with_keys {
            if column.type_text == "rowversion" {
                column.type_text = "binary(8)".to_owned();
            }
            column.computed = None;
            column.default = None;
            column.is_sparse = false;
            column.is_rowguidcol = false;
        }
        column
    });
    let columns = columns.collect();
    if !with_keys {
        return TableShape {
            name: table.clone(),
            columns,
            indexes: Vec::new(),
            heap_compression: shape.heap_compression,
            space: None,
            large_value_file_group: None,
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            lock_escalation: None,
            obstacles: Vec::new(),
        };
    }
    let indexes = shape.indexes.into_iter().map(|mut index| {
        index.space = None;
        index
    });
    TableShape {
        name: table.clone(),
        columns,
        indexes: indexes.collect(),
        space: None,
        large_value_file_group: None,
        ..shape
    }
}

#[cfg(test)]
mod tests {
    use load::stage::{ColumnShape, Compression};

    use super::*;

    #[test]
    fn an_encrypted_column_becomes_one_of_ciphertext() {
        let column = |name: &str| ColumnShape {
            name: name.to_owned(),
            type_text: "nvarchar(11)".to_owned(),
            is_nullable: true,
            collation: Some("Latin1_General_BIN2".to_owned()),
            identity: None,
            computed: None,
            default: None,
            is_rowguidcol: false,
            is_sparse: false,
        };
        let table = TableName { database: None, schema: Some("dbo".to_owned()), name: "t".to_owned() };
        let shape = TableShape {
            name: table.clone(),
            columns: vec![column("ssn"), column("name")],
            indexes: Vec::new(),
            heap_compression: Compression::None,
            space: None,
            large_value_file_group: None,
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            lock_escalation: None,
            obstacles: vec![Obstacle { kind: ObstacleKind::EncryptedColumn, name: "ssn".to_owned() }],
        };
        for with_keys in [false, true] {
            let copied = transplanted(shape.clone(), &table, with_keys, |_| Some("varbinary(65)".to_owned()));
            let shown: Vec<_> =
                copied.columns.iter().map(|c| (c.type_text.as_str(), c.collation.as_deref())).collect();
            assert_eq!(shown, [("varbinary(65)", None), ("nvarchar(11)", Some("Latin1_General_BIN2"))]);
        }
    }
}
