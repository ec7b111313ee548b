//! The views of the SQL standard.

use std::sync::Arc;

use tds::SqlType;

use super::types::{max_length, precision, scale, system_type};
use super::view::{int, text};
use super::{Context, View};
use crate::catalogue::{ColumnDefinition, TableDefinition, same_name};
use crate::engine::Datum;

pub(super) const NAMES: &[&str] =
    &["TABLES", "COLUMNS", "SCHEMATA", "VIEWS", "TABLE_CONSTRAINTS", "KEY_COLUMN_USAGE", "ROUTINES"];

pub(super) fn view(name: &str, context: &Context<'_>) -> Option<View> {
    let tables: Vec<&Arc<TableDefinition>> =
        context.facts.tables().iter().filter(|table| same_name(&table.database, context.database)).collect();
    Some(match name {
        "tables" | "views" => {
            let mut view = View::new(&[
                ("TABLE_CATALOG", "name"),
                ("TABLE_SCHEMA", "name"),
                ("TABLE_NAME", "name"),
                ("TABLE_TYPE", "varchar"),
            ]);
            if name == "tables" {
                for table in tables {
                    view.push([qualified(table), vec![text("BASE TABLE")]].concat());
                }
            }
            view
        }
        "columns" => columns(&tables),
        "schemata" => {
            let mut view = View::new(&[
                ("CATALOG_NAME", "name"),
                ("SCHEMA_NAME", "name"),
                ("SCHEMA_OWNER", "name"),
                ("DEFAULT_CHARACTER_SET_NAME", "name"),
            ]);
            for schema in context.facts.directory.database(context.database).iter().flat_map(|d| &d.schemas) {
                view.push(vec![text(context.database), text(&schema.name), text("dbo"), text("iso_1")]);
            }
            view
        }
        "table_constraints" => table_constraints(&tables),
        "key_column_usage" => key_column_usage(&tables),
        "routines" => {
            View::new(&[("ROUTINE_CATALOG", "name"), ("ROUTINE_SCHEMA", "name"), ("ROUTINE_NAME", "name")])
        }
        _ => return None,
    })
}

fn qualified(table: &TableDefinition) -> Vec<Datum> {
    vec![text(&table.database), text(&table.schema), text(&table.name)]
}

fn columns(tables: &[&Arc<TableDefinition>]) -> View {
    let mut view = View::new(&[
        ("TABLE_CATALOG", "name"),
        ("TABLE_SCHEMA", "name"),
        ("TABLE_NAME", "name"),
        ("COLUMN_NAME", "name"),
        ("ORDINAL_POSITION", "int"),
        ("COLUMN_DEFAULT", "text"),
        ("IS_NULLABLE", "varchar"),
        ("DATA_TYPE", "name"),
        ("CHARACTER_MAXIMUM_LENGTH", "int"),
        ("CHARACTER_OCTET_LENGTH", "int"),
        ("NUMERIC_PRECISION", "tinyint"),
        ("NUMERIC_PRECISION_RADIX", "smallint"),
        ("NUMERIC_SCALE", "int"),
        ("DATETIME_PRECISION", "smallint"),
        ("CHARACTER_SET_CATALOG", "name"),
        ("CHARACTER_SET_SCHEMA", "name"),
        ("CHARACTER_SET_NAME", "name"),
        ("COLLATION_CATALOG", "name"),
        ("COLLATION_SCHEMA", "name"),
        ("COLLATION_NAME", "name"),
        ("DOMAIN_CATALOG", "name"),
        ("DOMAIN_SCHEMA", "name"),
        ("DOMAIN_NAME", "name"),
    ]);
    for table in tables {
        for (ordinal, column) in (1_i64..).zip(&table.columns) {
            let mut row = qualified(table);
            row.extend([
                text(&column.name),
                int(ordinal),
                column.default.as_ref().map_or(Datum::Null, |default| text(&default.definition())),
                text(if column.nullable { "YES" } else { "NO" }),
                text(system_type(&column.sql_type).name),
            ]);
            row.extend(measures(column));
            let character_set = match column.sql_type.is_character() {
                true if column.sql_type.is_unicode() => text("UNICODE"),
                true => text("iso_1"),
                false => Datum::Null,
            };
            let collation = column.collation().and_then(|collation| collation.name());
            row.extend([
                Datum::Null,
                Datum::Null,
                character_set,
                Datum::Null,
                Datum::Null,
                collation.map_or(Datum::Null, |name| text(&name.to_string())),
                Datum::Null,
                Datum::Null,
                Datum::Null,
            ]);
            view.push(row);
        }
    }
    view
}

/// Character lengths, then numeric precision, radix and scale, then datetime precision.
fn measures(column: &ColumnDefinition) -> Vec<Datum> {
    let sql_type = &column.sql_type;
    let null = || Datum::Null;
    let bytes = i64::from(max_length(sql_type));
    if matches!(sql_type, SqlType::Text | SqlType::Image) {
        return vec![int(2_147_483_647_i64), int(2_147_483_647_i64), null(), null(), null(), null()];
    }
    if *sql_type == SqlType::NText {
        return vec![int(1_073_741_823_i64), int(2_147_483_646_i64), null(), null(), null(), null()];
    }
    if sql_type.is_character() || sql_type.is_binary() || matches!(sql_type, SqlType::Xml) {
        let units = if sql_type.is_unicode() && bytes > 0 { bytes / 2 } else { bytes };
        return vec![int(units), int(bytes), null(), null(), null(), null()];
    }
    if sql_type.is_temporal() {
        return vec![null(), null(), null(), null(), null(), int(scale(sql_type))];
    }
    match sql_type {
        SqlType::Float | SqlType::Real => {
            vec![null(), null(), int(precision(sql_type)), int(2), null(), null()]
        }
        SqlType::Bit
        | SqlType::UniqueIdentifier
        | SqlType::SqlVariant
        | SqlType::RowVersion
        | SqlType::Udt { .. } => {
            vec![null(), null(), null(), null(), null(), null()]
        }
        _ => vec![null(), null(), int(precision(sql_type)), int(10), int(scale(sql_type)), null()],
    }
}

fn table_constraints(tables: &[&Arc<TableDefinition>]) -> View {
    let mut view = View::new(&[
        ("CONSTRAINT_CATALOG", "name"),
        ("CONSTRAINT_SCHEMA", "name"),
        ("CONSTRAINT_NAME", "name"),
        ("TABLE_CATALOG", "name"),
        ("TABLE_SCHEMA", "name"),
        ("TABLE_NAME", "name"),
        ("CONSTRAINT_TYPE", "varchar"),
    ]);
    for table in tables {
        let keys =
            table.keys.iter().map(|key| (&key.name, if key.primary { "PRIMARY KEY" } else { "UNIQUE" }));
        let checks = table.checks.iter().map(|check| (&check.name, "CHECK"));
        let foreign = table.foreign_keys.iter().map(|key| (&key.name, "FOREIGN KEY"));
        for (name, kind) in keys.chain(checks).chain(foreign) {
            let mut row = vec![text(&table.database), text(&table.schema), text(name)];
            row.extend(qualified(table));
            row.push(text(kind));
            view.push(row);
        }
    }
    view
}

fn key_column_usage(tables: &[&Arc<TableDefinition>]) -> View {
    let mut view = View::new(&[
        ("CONSTRAINT_CATALOG", "name"),
        ("CONSTRAINT_SCHEMA", "name"),
        ("CONSTRAINT_NAME", "name"),
        ("TABLE_CATALOG", "name"),
        ("TABLE_SCHEMA", "name"),
        ("TABLE_NAME", "name"),
        ("COLUMN_NAME", "name"),
        ("ORDINAL_POSITION", "int"),
    ]);
    for table in tables {
        for key in &table.keys {
            for (ordinal, (column, _)) in (1_i64..).zip(&key.columns) {
                let mut row = vec![text(&table.database), text(&table.schema), text(&key.name)];
                row.extend(qualified(table));
                row.extend([text(column), int(ordinal)]);
                view.push(row);
            }
        }
    }
    view
}
