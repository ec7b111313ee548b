//! A definition of a table of SQL Server, or the columns of any other source, as a table of a package.

use arrow::datatypes::SchemaRef;
use database_files::{Action, Check, Column, Computed, Default, ForeignKey, Identity, Index, KeyKind, Table};
use load::{
    TableName, TableShape, roomy_length,
    stage::{Compression, ForeignKeyShape, IndexKind, IndexShape, KeyKind as ShapeKey},
};
use rows::mapping::{COLLATION_KEY, CreateOptions, sql_type_of};
use tds::{Collation, SqlType};

use crate::source::NewColumns;

/// Makes a table of its shape. What a package cannot hold is named in its `left_out`.
///
/// # Errors
/// A column's type is unknown, by the column's name.
pub(crate) fn of_shape(shape: &TableShape, name: &TableName) -> Result<Table, String> {
    let mut table = empty(name);
    for column in &shape.columns {
        // The type of a computed column is its expression's.
        let sql_type = match column.computed {
            Some(_) => column.type_text.parse().unwrap_or(SqlType::SqlVariant),
            None => column
                .type_text
                .parse::<SqlType>()
                .map_err(|error| format!("column {}: {error}", column.name))?,
        };
        table.columns.push(Column {
            name: column.name.clone(),
            is_nullable: column.is_nullable,
            collation: column.collation.as_deref().and_then(Collation::from_name),
            identity: column.identity.as_ref().map(|identity| Identity {
                seed: identity.seed.clone(),
                increment: identity.increment.clone(),
            }),
            computed: column.computed.as_ref().map(|computed| Computed {
                definition: computed.definition.clone(),
                is_persisted: computed.is_persisted,
            }),
            default: column.default.as_ref().map(|default| Default {
                name: Some(default.name.clone()),
                definition: default.definition.clone(),
            }),
            is_rowguidcol: column.is_rowguidcol,
            is_sparse: column.is_sparse,
            sql_type,
        });
    }
    for shape in &shape.indexes {
        match index(shape) {
            Some(index) => table.indexes.push(index),
            None => table.left_out.push(format!("columnstore index {}", shape.name)),
        }
    }
    table.checks = shape
        .checks
        .iter()
        .map(|check| Check {
            name: Some(check.name.clone()),
            definition: check.definition.clone(),
            is_not_trusted: check.standing.is_not_trusted,
            is_disabled: check.standing.is_disabled,
        })
        .collect();
    table.foreign_keys = shape.foreign_keys.iter().map(foreign_key).collect();
    table.left_out.extend(unheld(shape));
    Ok(table)
}

/// Names the settings of a table's parts that the model of a package has no known place for.
fn unheld(shape: &TableShape) -> Vec<String> {
    let mut found = Vec::new();
    let mut name = |is_set: bool, setting: &str, part: &str| {
        if is_set {
            found.push(format!("{setting} of {part}"));
        }
    };
    name(shape.heap_compression != Compression::None, "compression", "the heap");
    for index in &shape.indexes {
        name(index.compression != Compression::None, "compression", &index.name);
        name(index.ignores_duplicate_keys, "IGNORE_DUP_KEY", &index.name);
    }
    for column in &shape.columns {
        let identity = column.identity.as_ref();
        name(identity.is_some_and(|of| of.is_not_for_replication), "NOT FOR REPLICATION", &column.name);
    }
    let checks = shape.checks.iter().map(|check| (&check.name, check.standing));
    let keys = shape.foreign_keys.iter().map(|key| (&key.name, key.standing));
    for (part, standing) in checks.chain(keys) {
        name(standing.is_not_for_replication, "NOT FOR REPLICATION", part);
    }
    found
}

/// Makes a table of the columns of any source.
///
/// # Errors
/// A column has no type of SQL Server, by its name.
pub(crate) fn of_columns(
    columns: &NewColumns,
    schema: &SchemaRef,
    name: &TableName,
) -> Result<Table, String> {
    let mut table = empty(name);
    for (index, field) in schema.fields().iter().enumerate() {
        let max_length = columns.longest.get(index).copied().flatten().map(roomy_length);
        let options = CreateOptions { max_length, ..CreateOptions::default() };
        let sql_type =
            sql_type_of(field, &options).map_err(|error| format!("column {}: {error}", field.name()))?;
        let collation = field.metadata().get(COLLATION_KEY).and_then(|name| Collation::from_name(name));
        table.columns.push(Column {
            name: field.name().clone(),
            collation: collation.filter(|_| sql_type.is_character()),
            is_nullable: field.is_nullable(),
            identity: None,
            computed: None,
            default: None,
            is_rowguidcol: false,
            is_sparse: false,
            sql_type,
        });
    }
    Ok(table)
}

fn empty(name: &TableName) -> Table {
    Table {
        schema: name.schema.clone().unwrap_or_else(|| "dbo".to_owned()),
        name: name.name.clone(),
        columns: Vec::new(),
        rows: None,
        bytes: None,
        indexes: Vec::new(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        left_out: Vec::new(),
        unreadable: None,
    }
}

/// Makes an index; None for one by columns.
fn index(shape: &IndexShape) -> Option<Index> {
    let is_clustered = match shape.kind {
        IndexKind::Clustered => true,
        IndexKind::Nonclustered => false,
        IndexKind::ClusteredColumnstore | IndexKind::NonclusteredColumnstore => return None,
    };
    Some(Index {
        name: Some(shape.name.clone()),
        is_clustered,
        is_unique: shape.is_unique,
        key_kind: shape.key_kind.map(|kind| match kind {
            ShapeKey::Primary => KeyKind::Primary,
            ShapeKey::Unique => KeyKind::Unique,
        }),
        key: shape.key.clone(),
        included: shape.included.clone(),
        filter: shape.filter.clone(),
        fill_factor: shape.fill_factor,
    })
}

fn foreign_key(shape: &ForeignKeyShape) -> ForeignKey {
    let action = |text: &str| match text {
        "CASCADE" => Action::Cascade,
        "SET_NULL" => Action::SetNull,
        "SET_DEFAULT" => Action::SetDefault,
        _ => Action::None,
    };
    ForeignKey {
        name: Some(shape.name.clone()),
        columns: shape.columns.clone(),
        to_schema: shape.references.schema.clone().unwrap_or_else(|| "dbo".to_owned()),
        to_table: shape.references.name.clone(),
        to_columns: shape.referenced.clone(),
        on_delete: action(&shape.on_delete),
        on_update: action(&shape.on_update),
        is_not_trusted: shape.standing.is_not_trusted,
        is_disabled: shape.standing.is_disabled,
    }
}
