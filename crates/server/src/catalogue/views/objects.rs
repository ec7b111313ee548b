//! Views of what belongs to one database: tables, columns, indexes, constraints.

use std::sync::Arc;

use super::types::{max_length, precision, scale, system_type};
use super::view::{bit, int, text};
use super::{Context, View};
use crate::catalogue::{TableDefinition, same_name};
use crate::engine::Datum;
use crate::engine::datum::{DAYS_TO_1970, TICKS_PER_DAY};

pub(super) const NAMES: &[&str] = &[
    "tables",
    "columns",
    "all_columns",
    "objects",
    "all_objects",
    "indexes",
    "index_columns",
    "key_constraints",
    "check_constraints",
    "default_constraints",
    "foreign_keys",
    "foreign_key_columns",
    "identity_columns",
    "computed_columns",
    "triggers",
    "partitions",
    "views",
    "procedures",
    "all_views",
    "schemas",
    "extended_properties",
    "sql_modules",
    "stats",
];

pub(super) fn view(name: &str, context: &Context<'_>) -> Option<View> {
    let tables: Vec<Arc<TableDefinition>> = context
        .facts
        .tables()
        .iter()
        .filter(|table| same_name(&table.database, context.database))
        .cloned()
        .collect();
    Some(match name {
        "tables" => tables_view(&tables, context),
        "columns" | "all_columns" => columns(&tables),
        "objects" | "all_objects" => objects(&tables, context),
        "indexes" | "stats" => indexes(&tables),
        "index_columns" => index_columns(&tables),
        "key_constraints" => key_constraints(&tables, context),
        "check_constraints" => check_constraints(&tables, context),
        "default_constraints" => default_constraints(&tables, context),
        "foreign_keys" => foreign_keys(&tables, context),
        "foreign_key_columns" => foreign_key_columns(&tables),
        "identity_columns" => identity_columns(&tables, context),
        "computed_columns" => computed_columns(&tables),
        "triggers" => View::new(&[
            ("name", "name"),
            ("object_id", "int"),
            ("parent_class", "tinyint"),
            ("parent_id", "int"),
            ("type", "char2"),
            ("is_disabled", "bit"),
            ("is_not_for_replication", "bit"),
            ("is_instead_of_trigger", "bit"),
        ]),
        "partitions" => partitions(&tables, context),
        "views" | "all_views" | "procedures" => object_columns(&[]),
        "extended_properties" => View::new(&[
            ("class", "tinyint"),
            ("major_id", "int"),
            ("minor_id", "int"),
            ("name", "name"),
            ("value", "text"),
        ]),
        "sql_modules" => View::new(&[("object_id", "int"), ("definition", "text")]),
        "schemas" => schemas(context),
        _ => return None,
    })
}

fn schema_id(context: &Context<'_>, schema: &str) -> Datum {
    let database = context.facts.directory.database(context.database);
    database.and_then(|database| database.schema(schema)).map_or(Datum::Null, |schema| int(schema.id))
}

fn created(table: &TableDefinition) -> Datum {
    // To the millisecond, which a datetime keeps.
    Datum::Moment(DAYS_TO_1970 * TICKS_PER_DAY + table.created_us / 1000 * 10_000)
}

const OBJECT: &[(&str, &str)] = &[
    ("name", "name"),
    ("object_id", "int"),
    ("principal_id", "int"),
    ("schema_id", "int"),
    ("parent_object_id", "int"),
    ("type", "char2"),
    ("type_desc", "name"),
    ("create_date", "datetime"),
    ("modify_date", "datetime"),
    ("is_ms_shipped", "bit"),
    ("is_published", "bit"),
    ("is_schema_published", "bit"),
];

fn object_columns(more: &[(&str, &str)]) -> View {
    View::new(&[OBJECT, more].concat())
}

fn object_row(
    context: &Context<'_>,
    table: &TableDefinition,
    (name, object_id, parent): (&str, i32, i32),
    (kind, description): (&str, &str),
) -> Vec<Datum> {
    vec![
        text(name),
        int(object_id),
        Datum::Null,
        schema_id(context, &table.schema),
        int(parent),
        text(&format!("{kind:<2}")),
        text(description),
        created(table),
        created(table),
        bit(false),
        bit(false),
        bit(false),
    ]
}

fn table_row(context: &Context<'_>, table: &TableDefinition) -> Vec<Datum> {
    object_row(context, table, (&table.name, table.object_id, 0), ("U", "USER_TABLE"))
}

fn tables_view(tables: &[Arc<TableDefinition>], context: &Context<'_>) -> View {
    let mut view = object_columns(&[
        ("lob_data_space_id", "int"),
        ("max_column_id_used", "int"),
        ("uses_ansi_nulls", "bit"),
        ("is_replicated", "bit"),
        ("is_memory_optimized", "bit"),
        ("temporal_type", "tinyint"),
        ("is_external", "bit"),
        ("is_node", "bit"),
        ("is_edge", "bit"),
    ]);
    for table in tables {
        let mut row = table_row(context, table);
        row.extend([
            int(0),
            int(table.next_column_id() - 1),
            bit(true),
            bit(false),
            bit(false),
            int(0),
            bit(false),
            bit(false),
            bit(false),
        ]);
        view.push(row);
    }
    view
}

fn objects(tables: &[Arc<TableDefinition>], context: &Context<'_>) -> View {
    let mut view = object_columns(&[]);
    for table in tables {
        view.push(table_row(context, table));
        for key in &table.keys {
            let kind =
                if key.primary { ("PK", "PRIMARY_KEY_CONSTRAINT") } else { ("UQ", "UNIQUE_CONSTRAINT") };
            view.push(object_row(context, table, (&key.name, key.object_id, table.object_id), kind));
        }
        for check in &table.checks {
            let names = (check.name.as_str(), check.object_id, table.object_id);
            view.push(object_row(context, table, names, ("C", "CHECK_CONSTRAINT")));
        }
        for default in table.columns.iter().filter_map(|column| column.default.as_ref()) {
            let names = (default.name.as_str(), default.object_id, table.object_id);
            view.push(object_row(context, table, names, ("D", "DEFAULT_CONSTRAINT")));
        }
        for key in &table.foreign_keys {
            let names = (key.name.as_str(), key.object_id, table.object_id);
            view.push(object_row(context, table, names, ("F", "FOREIGN_KEY_CONSTRAINT")));
        }
    }
    view
}

fn columns(tables: &[Arc<TableDefinition>]) -> View {
    let mut view = View::new(&[
        ("object_id", "int"),
        ("name", "name"),
        ("column_id", "int"),
        ("system_type_id", "tinyint"),
        ("user_type_id", "int"),
        ("max_length", "smallint"),
        ("precision", "tinyint"),
        ("scale", "tinyint"),
        ("collation_name", "name"),
        ("is_nullable", "bit"),
        ("is_ansi_padded", "bit"),
        ("is_rowguidcol", "bit"),
        ("is_identity", "bit"),
        ("is_computed", "bit"),
        ("is_filestream", "bit"),
        ("is_replicated", "bit"),
        ("is_xml_document", "bit"),
        ("xml_collection_id", "int"),
        ("default_object_id", "int"),
        ("rule_object_id", "int"),
        ("is_sparse", "bit"),
        ("is_column_set", "bit"),
        ("generated_always_type", "tinyint"),
        ("generated_always_type_desc", "name"),
        ("encryption_type", "int"),
        ("is_hidden", "bit"),
        ("is_masked", "bit"),
        ("graph_type", "int"),
    ]);
    for table in tables {
        for column in &table.columns {
            let system = system_type(&column.sql_type);
            let collation = column.collation().and_then(|collation| collation.name());
            view.push(vec![
                int(table.object_id),
                text(&column.name),
                int(column.id),
                int(system.system_type_id),
                int(system.user_type_id),
                int(max_length(&column.sql_type)),
                int(precision(&column.sql_type)),
                int(scale(&column.sql_type)),
                collation.map_or(Datum::Null, |name| text(&name.to_string())),
                bit(column.nullable),
                bit(true),
                bit(false),
                bit(column.identity.is_some()),
                bit(column.computed.is_some()),
                bit(false),
                bit(false),
                bit(false),
                int(0),
                int(column.default.as_ref().map_or(0, |default| default.object_id)),
                int(0),
                bit(false),
                bit(false),
                int(0),
                text("NOT_APPLICABLE"),
                Datum::Null,
                bit(false),
                bit(false),
                Datum::Null,
            ]);
        }
    }
    view
}

/// An index as the views show it.
struct IndexRow<'t> {
    name: Option<&'t str>,
    id: i32,
    kind: u8,
    unique: bool,
    primary: bool,
    constraint: bool,
    columns: &'t [(String, bool)],
    include: &'t [String],
    filter: Option<&'t str>,
}

/// All indexes of a table; a table without a clustered one is a heap, index 0.
fn index_rows(table: &TableDefinition) -> Vec<IndexRow<'_>> {
    let mut rows = Vec::new();
    if !table.is_clustered() {
        rows.push(IndexRow {
            name: None,
            id: 0,
            kind: 0,
            unique: false,
            primary: false,
            constraint: false,
            columns: &[],
            include: &[],
            filter: None,
        });
    }
    rows.extend(table.keys.iter().map(|key| IndexRow {
        name: Some(&key.name),
        id: key.index_id,
        kind: if key.clustered { 1 } else { 2 },
        unique: true,
        primary: key.primary,
        constraint: !key.primary,
        columns: &key.columns,
        include: &[],
        filter: None,
    }));
    rows.extend(table.indexes.iter().map(|index| IndexRow {
        name: Some(&index.name),
        id: index.index_id,
        kind: match (index.columnstore, index.clustered) {
            (true, true) => 5,
            (true, false) => 6,
            (false, true) => 1,
            (false, false) => 2,
        },
        unique: index.unique,
        primary: false,
        constraint: false,
        columns: &index.columns,
        include: &index.include,
        filter: index.filter.as_deref(),
    }));
    rows.sort_by_key(|row| row.id);
    rows
}

fn indexes(tables: &[Arc<TableDefinition>]) -> View {
    let mut view = View::new(&[
        ("object_id", "int"),
        ("name", "name"),
        ("index_id", "int"),
        ("type", "tinyint"),
        ("type_desc", "name"),
        ("is_unique", "bit"),
        ("data_space_id", "int"),
        ("ignore_dup_key", "bit"),
        ("is_primary_key", "bit"),
        ("is_unique_constraint", "bit"),
        ("fill_factor", "tinyint"),
        ("is_padded", "bit"),
        ("is_disabled", "bit"),
        ("is_hypothetical", "bit"),
        ("allow_row_locks", "bit"),
        ("allow_page_locks", "bit"),
        ("has_filter", "bit"),
        ("filter_definition", "text"),
    ]);
    for table in tables {
        for row in index_rows(table) {
            let description = match row.kind {
                0 => "HEAP",
                1 => "CLUSTERED",
                5 => "CLUSTERED COLUMNSTORE",
                6 => "NONCLUSTERED COLUMNSTORE",
                _ => "NONCLUSTERED",
            };
            view.push(vec![
                int(table.object_id),
                row.name.map_or(Datum::Null, text),
                int(row.id),
                int(row.kind),
                text(description),
                bit(row.unique),
                int(1),
                bit(false),
                bit(row.primary),
                bit(row.constraint),
                int(0),
                bit(false),
                bit(false),
                bit(false),
                bit(true),
                bit(true),
                bit(row.filter.is_some()),
                row.filter.map_or(Datum::Null, text),
            ]);
        }
    }
    view
}

fn index_columns(tables: &[Arc<TableDefinition>]) -> View {
    let mut view = View::new(&[
        ("object_id", "int"),
        ("index_id", "int"),
        ("index_column_id", "int"),
        ("column_id", "int"),
        ("key_ordinal", "tinyint"),
        ("partition_ordinal", "tinyint"),
        ("is_descending_key", "bit"),
        ("is_included_column", "bit"),
        ("column_store_order_ordinal", "tinyint"),
    ]);
    for table in tables {
        let column_id =
            |name: &str| table.columns.iter().find(|column| same_name(&column.name, name)).map(|c| c.id);
        for row in index_rows(table) {
            let keys = row.columns.iter().map(|(name, descending)| (name, *descending, false));
            let includes = row.include.iter().map(|name| (name, false, true));
            for (ordinal, (name, descending, included)) in (1_i64..).zip(keys.chain(includes)) {
                let Some(column_id) = column_id(name) else { continue };
                view.push(vec![
                    int(table.object_id),
                    int(row.id),
                    int(ordinal),
                    int(column_id),
                    int(if included { 0 } else { ordinal }),
                    int(0),
                    bit(descending),
                    bit(included),
                    int(0),
                ]);
            }
        }
    }
    view
}

fn key_constraints(tables: &[Arc<TableDefinition>], context: &Context<'_>) -> View {
    let mut view =
        object_columns(&[("unique_index_id", "int"), ("is_system_named", "bit"), ("is_enforced", "bit")]);
    for table in tables {
        for key in &table.keys {
            let kind =
                if key.primary { ("PK", "PRIMARY_KEY_CONSTRAINT") } else { ("UQ", "UNIQUE_CONSTRAINT") };
            let mut row = object_row(context, table, (&key.name, key.object_id, table.object_id), kind);
            row.extend([int(key.index_id), bit(false), bit(true)]);
            view.push(row);
        }
    }
    view
}

fn check_constraints(tables: &[Arc<TableDefinition>], context: &Context<'_>) -> View {
    let mut view = object_columns(&[
        ("is_disabled", "bit"),
        ("is_not_for_replication", "bit"),
        ("is_not_trusted", "bit"),
        ("parent_column_id", "int"),
        ("definition", "text"),
        ("uses_database_collation", "bit"),
        ("is_system_named", "bit"),
    ]);
    for table in tables {
        for check in &table.checks {
            let names = (check.name.as_str(), check.object_id, table.object_id);
            let mut row = object_row(context, table, names, ("C", "CHECK_CONSTRAINT"));
            let column = check
                .column
                .as_ref()
                .and_then(|name| table.columns.iter().find(|c| same_name(&c.name, name)));
            row.extend([
                bit(false),
                bit(false),
                bit(!check.trusted),
                int(column.map_or(0, |column| column.id)),
                text(&format!("({})", check.text)),
                bit(true),
                bit(false),
            ]);
            view.push(row);
        }
    }
    view
}

fn default_constraints(tables: &[Arc<TableDefinition>], context: &Context<'_>) -> View {
    let mut view =
        object_columns(&[("parent_column_id", "int"), ("definition", "text"), ("is_system_named", "bit")]);
    for table in tables {
        for column in &table.columns {
            let Some(default) = &column.default else { continue };
            let names = (default.name.as_str(), default.object_id, table.object_id);
            let mut row = object_row(context, table, names, ("D", "DEFAULT_CONSTRAINT"));
            row.extend([int(column.id), text(&default.definition()), bit(false)]);
            view.push(row);
        }
    }
    view
}

/// The referenced table, if it exists.
fn referenced<'t>(
    tables: &'t [Arc<TableDefinition>],
    schema: &str,
    name: &str,
) -> Option<&'t Arc<TableDefinition>> {
    tables.iter().find(|table| same_name(&table.schema, schema) && same_name(&table.name, name))
}

fn foreign_keys(tables: &[Arc<TableDefinition>], context: &Context<'_>) -> View {
    let mut view = object_columns(&[
        ("referenced_object_id", "int"),
        ("key_index_id", "int"),
        ("is_disabled", "bit"),
        ("is_not_for_replication", "bit"),
        ("is_not_trusted", "bit"),
        ("delete_referential_action", "tinyint"),
        ("delete_referential_action_desc", "name"),
        ("update_referential_action", "tinyint"),
        ("update_referential_action_desc", "name"),
        ("is_system_named", "bit"),
    ]);
    for table in tables {
        for key in &table.foreign_keys {
            let target = referenced(tables, &key.schema, &key.table);
            let names = (key.name.as_str(), key.object_id, table.object_id);
            let mut row = object_row(context, table, names, ("F", "FOREIGN_KEY_CONSTRAINT"));
            row.extend([
                target.map_or(Datum::Null, |target| int(target.object_id)),
                int(1),
                // Recorded and not enforced: the catalogue says so.
                bit(true),
                bit(false),
                bit(true),
                int(0),
                text("NO_ACTION"),
                int(0),
                text("NO_ACTION"),
                bit(false),
            ]);
            view.push(row);
        }
    }
    view
}

fn foreign_key_columns(tables: &[Arc<TableDefinition>]) -> View {
    let mut view = View::new(&[
        ("constraint_object_id", "int"),
        ("constraint_column_id", "int"),
        ("parent_object_id", "int"),
        ("parent_column_id", "int"),
        ("referenced_object_id", "int"),
        ("referenced_column_id", "int"),
    ]);
    for table in tables {
        for key in &table.foreign_keys {
            let Some(target) = referenced(tables, &key.schema, &key.table) else { continue };
            for (ordinal, (own, other)) in (1_i64..).zip(key.columns.iter().zip(&key.referenced)) {
                let id = |table: &TableDefinition, name: &str| {
                    table
                        .columns
                        .iter()
                        .find(|column| same_name(&column.name, name))
                        .map_or(Datum::Null, |c| int(c.id))
                };
                view.push(vec![
                    int(key.object_id),
                    int(ordinal),
                    int(table.object_id),
                    id(table, own),
                    int(target.object_id),
                    id(target, other),
                ]);
            }
        }
    }
    view
}

fn identity_columns(tables: &[Arc<TableDefinition>], context: &Context<'_>) -> View {
    let mut view = View::new(&[
        ("object_id", "int"),
        ("name", "name"),
        ("column_id", "int"),
        ("seed_value", "bigint"),
        ("increment_value", "bigint"),
        ("last_value", "bigint"),
        ("is_identity", "bit"),
    ]);
    for table in tables {
        for column in &table.columns {
            let Some(identity) = column.identity else { continue };
            let last = (context.facts.identities)(table.object_id);
            view.push(vec![
                int(table.object_id),
                text(&column.name),
                int(column.id),
                int(identity.seed),
                int(identity.increment),
                last.map_or(Datum::Null, int),
                bit(true),
            ]);
        }
    }
    view
}

fn computed_columns(tables: &[Arc<TableDefinition>]) -> View {
    let mut view = View::new(&[
        ("object_id", "int"),
        ("name", "name"),
        ("column_id", "int"),
        ("definition", "text"),
        ("is_persisted", "bit"),
        ("is_computed", "bit"),
    ]);
    for table in tables {
        for column in &table.columns {
            let Some(definition) = &column.computed else { continue };
            view.push(vec![
                int(table.object_id),
                text(&column.name),
                int(column.id),
                text(&format!("({definition})")),
                bit(true),
                bit(true),
            ]);
        }
    }
    view
}

fn partitions(tables: &[Arc<TableDefinition>], context: &Context<'_>) -> View {
    let mut view = View::new(&[
        ("partition_id", "bigint"),
        ("object_id", "int"),
        ("index_id", "int"),
        ("partition_number", "int"),
        ("hobt_id", "bigint"),
        ("rows", "bigint"),
        ("data_compression", "tinyint"),
        ("data_compression_desc", "name"),
    ]);
    for table in tables {
        for row in index_rows(table) {
            let id = i64::from(table.object_id) << 16 | i64::from(row.id);
            view.push(vec![
                int(id),
                int(table.object_id),
                int(row.id),
                int(1),
                int(id),
                int((context.rows)(table.object_id)),
                int(0),
                text("NONE"),
            ]);
        }
    }
    view
}

fn schemas(context: &Context<'_>) -> View {
    let mut view = View::new(&[("name", "name"), ("schema_id", "int"), ("principal_id", "int")]);
    if let Some(database) = context.facts.directory.database(context.database) {
        for schema in &database.schemas {
            view.push(vec![text(&schema.name), int(schema.id), int(1)]);
        }
    }
    view
}
