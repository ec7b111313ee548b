//! The views of the SQL standard.

use query::Datum;
use tds::SqlType;
use tsql::expression::Expr;
use tsql::parse_expression;

use crate::system_views::constraints::referenced_key;
use crate::system_views::entry::{Context, Entry};
use crate::system_views::modules;
use crate::system_views::user_types;
use crate::view::{View, int, optional, text};
use databases::catalogue::definition_text;
use databases::catalogue::{FIXED_ROLES, TableDefinition, same_name};
use query::system_types::{max_length, precision, scale, system_type};

const TABLES: &str = "
    TABLE_CATALOG nvarchar(128)
    TABLE_SCHEMA nvarchar(128)
    TABLE_NAME sysname!
    TABLE_TYPE varchar(10)";

const VIEWS: &str = "
    TABLE_CATALOG nvarchar(128)
    TABLE_SCHEMA nvarchar(128)
    TABLE_NAME sysname!
    VIEW_DEFINITION nvarchar(4000)
    CHECK_OPTION varchar(7) = NONE
    IS_UPDATABLE varchar(2)! = NO";

const COLUMNS: &str = "
    TABLE_CATALOG nvarchar(128)
    TABLE_SCHEMA nvarchar(128)
    TABLE_NAME sysname!
    COLUMN_NAME sysname
    ORDINAL_POSITION int!
    COLUMN_DEFAULT nvarchar(4000)
    IS_NULLABLE varchar(3)
    DATA_TYPE nvarchar(128)
    CHARACTER_MAXIMUM_LENGTH int
    CHARACTER_OCTET_LENGTH int
    NUMERIC_PRECISION tinyint
    NUMERIC_PRECISION_RADIX smallint
    NUMERIC_SCALE int
    DATETIME_PRECISION smallint
    CHARACTER_SET_CATALOG sysname
    CHARACTER_SET_SCHEMA sysname
    CHARACTER_SET_NAME sysname
    COLLATION_CATALOG sysname
    COLLATION_SCHEMA sysname
    COLLATION_NAME sysname
    DOMAIN_CATALOG sysname
    DOMAIN_SCHEMA sysname
    DOMAIN_NAME sysname";

const SCHEMATA: &str = "
    CATALOG_NAME nvarchar(128)
    SCHEMA_NAME nvarchar(128)!
    SCHEMA_OWNER nvarchar(128)
    DEFAULT_CHARACTER_SET_CATALOG varchar(6)
    DEFAULT_CHARACTER_SET_SCHEMA varchar(3)
    DEFAULT_CHARACTER_SET_NAME sysname = iso_1";

const TABLE_CONSTRAINTS: &str = "
    CONSTRAINT_CATALOG nvarchar(128)
    CONSTRAINT_SCHEMA nvarchar(128)
    CONSTRAINT_NAME sysname!
    TABLE_CATALOG nvarchar(128)
    TABLE_SCHEMA nvarchar(128)
    TABLE_NAME sysname
    CONSTRAINT_TYPE varchar(11)
    IS_DEFERRABLE varchar(2)! = NO
    INITIALLY_DEFERRED varchar(2)! = NO";

const CONSTRAINT_COLUMN_USAGE: &str = "
    TABLE_CATALOG nvarchar(128)
    TABLE_SCHEMA nvarchar(128)
    TABLE_NAME nvarchar(128)
    COLUMN_NAME nvarchar(128)
    CONSTRAINT_CATALOG nvarchar(128)
    CONSTRAINT_SCHEMA nvarchar(128)
    CONSTRAINT_NAME sysname!";

const CONSTRAINT_TABLE_USAGE: &str = "
    TABLE_CATALOG nvarchar(128)
    TABLE_SCHEMA nvarchar(128)
    TABLE_NAME sysname!
    CONSTRAINT_CATALOG nvarchar(128)
    CONSTRAINT_SCHEMA nvarchar(128)
    CONSTRAINT_NAME sysname!";

const KEY_COLUMN_USAGE: &str = "
    CONSTRAINT_CATALOG nvarchar(128)
    CONSTRAINT_SCHEMA nvarchar(128)
    CONSTRAINT_NAME nvarchar(128)!
    TABLE_CATALOG nvarchar(128)
    TABLE_SCHEMA nvarchar(128)
    TABLE_NAME nvarchar(128)!
    COLUMN_NAME nvarchar(128)
    ORDINAL_POSITION int!";

const REFERENTIAL_CONSTRAINTS: &str = "
    CONSTRAINT_CATALOG nvarchar(128)
    CONSTRAINT_SCHEMA nvarchar(128)
    CONSTRAINT_NAME sysname!
    UNIQUE_CONSTRAINT_CATALOG nvarchar(128)
    UNIQUE_CONSTRAINT_SCHEMA nvarchar(128)
    UNIQUE_CONSTRAINT_NAME sysname
    MATCH_OPTION varchar(7) = SIMPLE
    UPDATE_RULE varchar(11) = NO ACTION
    DELETE_RULE varchar(11) = NO ACTION";

const CHECK_CONSTRAINTS: &str = "
    CONSTRAINT_CATALOG nvarchar(128)
    CONSTRAINT_SCHEMA nvarchar(128)
    CONSTRAINT_NAME sysname!
    CHECK_CLAUSE nvarchar(4000)";

const VIEW_USAGE: &str = "
    VIEW_CATALOG nvarchar(128)
    VIEW_SCHEMA nvarchar(128)
    VIEW_NAME sysname!
    TABLE_CATALOG nvarchar(128)
    TABLE_SCHEMA nvarchar(128)
    TABLE_NAME sysname!";

const PRIVILEGES: &str = "
    GRANTOR nvarchar(128)
    GRANTEE nvarchar(128)
    TABLE_CATALOG nvarchar(128)
    TABLE_SCHEMA nvarchar(128)
    TABLE_NAME sysname!
    PRIVILEGE_TYPE varchar(10)
    IS_GRANTABLE varchar(3) = YES";

pub(super) const ENTRIES: &[Entry] = &[
    Entry::standard("TABLES", TABLES, |context, view| {
        for table in context.tables() {
            let [catalog, schema, name] = names(&table);
            view.add([
                ("TABLE_CATALOG", catalog),
                ("TABLE_SCHEMA", schema),
                ("TABLE_NAME", name),
                ("TABLE_TYPE", text("BASE TABLE")),
            ]);
        }
        modules::standard_tables(context, view);
    }),
    Entry::standard("VIEWS", VIEWS, modules::standard_views),
    Entry::standard("COLUMNS", COLUMNS, columns),
    Entry::standard("SCHEMATA", SCHEMATA, |context, view| {
        for schema in context.database().iter().flat_map(|database| &database.schemas) {
            view.add([
                ("CATALOG_NAME", text(context.database)),
                ("SCHEMA_NAME", text(&schema.name)),
                ("SCHEMA_OWNER", text(if schema.id <= 4 { &schema.name } else { "dbo" })),
            ]);
        }
        for (_, name) in FIXED_ROLES {
            view.add([
                ("CATALOG_NAME", text(context.database)),
                ("SCHEMA_NAME", text(name)),
                ("SCHEMA_OWNER", text(name)),
            ]);
        }
    }),
    Entry::standard("TABLE_CONSTRAINTS", TABLE_CONSTRAINTS, table_constraints),
    Entry::standard("CONSTRAINT_COLUMN_USAGE", CONSTRAINT_COLUMN_USAGE, constraint_column_usage),
    Entry::standard("CONSTRAINT_TABLE_USAGE", CONSTRAINT_TABLE_USAGE, constraint_table_usage),
    Entry::standard("KEY_COLUMN_USAGE", KEY_COLUMN_USAGE, key_column_usage),
    Entry::standard("REFERENTIAL_CONSTRAINTS", REFERENTIAL_CONSTRAINTS, referential_constraints),
    Entry::standard("CHECK_CONSTRAINTS", CHECK_CONSTRAINTS, |context, view| {
        for table in context.tables() {
            for check in &table.checks {
                view.add([
                    ("CONSTRAINT_CATALOG", text(&table.database)),
                    ("CONSTRAINT_SCHEMA", text(&table.schema)),
                    ("CONSTRAINT_NAME", text(&check.name)),
                    ("CHECK_CLAUSE", text(&definition_text(&check.text))),
                ]);
            }
        }
    }),
    Entry::standard("VIEW_TABLE_USAGE", VIEW_USAGE, |_, _| {}),
    // The view lists grants, and there are none: an owner's rights are not grants.
    Entry::standard("TABLE_PRIVILEGES", PRIVILEGES, |_, _| {}),
];

fn names(table: &TableDefinition) -> [Datum; 3] {
    [text(&table.database), text(&table.schema), text(&table.name)]
}

fn columns(context: &Context<'_>, view: &mut View) {
    for table in context.tables().into_iter().chain(modules::views_as_tables(context)) {
        for (ordinal, column) in (1_i64..).zip(&table.columns) {
            let character_set = match column.sql_type.is_character() {
                true if column.sql_type.is_unicode() => text("UNICODE"),
                true => text("iso_1"),
                false => Datum::Null,
            };
            let collation = column.collation().and_then(|collation| collation.name());
            let default = column.default.as_ref();
            let [catalog, schema, name] = names(&table);
            view.add([
                ("TABLE_CATALOG", catalog),
                ("TABLE_SCHEMA", schema),
                ("TABLE_NAME", name),
                ("COLUMN_NAME", text(&column.name)),
                ("ORDINAL_POSITION", int(ordinal)),
                ("COLUMN_DEFAULT", default.map_or(Datum::Null, |default| text(&default.definition()))),
                ("IS_NULLABLE", text(if column.nullable { "YES" } else { "NO" })),
                ("DATA_TYPE", text(system_type(&column.sql_type).name)),
                ("CHARACTER_SET_NAME", character_set),
                ("COLLATION_NAME", collation.map_or(Datum::Null, |name| text(&name.to_string()))),
            ]);
            let alias = column.alias.as_deref().filter(|alias| *alias != user_types::SYSNAME);
            if let Some((schema, name)) = alias.and_then(|alias| alias.split_once('.')) {
                view.set("DOMAIN_CATALOG", text(&table.database));
                view.set("DOMAIN_SCHEMA", text(schema));
                view.set("DOMAIN_NAME", text(name));
            }
            let names = [
                "CHARACTER_MAXIMUM_LENGTH",
                "CHARACTER_OCTET_LENGTH",
                "NUMERIC_PRECISION",
                "NUMERIC_PRECISION_RADIX",
                "NUMERIC_SCALE",
                "DATETIME_PRECISION",
            ];
            for (name, value) in names.into_iter().zip(measures(&column.sql_type)) {
                view.set(name, value);
            }
        }
    }
}

/// Lists character lengths, then numeric precision, radix and scale, then datetime precision.
pub(super) fn measures(sql_type: &SqlType) -> Vec<Datum> {
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
        | SqlType::Vector { .. }
        | SqlType::Udt { .. } => {
            vec![null(), null(), null(), null(), null(), null()]
        }
        _ => vec![null(), null(), int(precision(sql_type)), int(10), int(scale(sql_type)), null()],
    }
}

/// Lists names and kinds of a table's constraints.
fn constraints(table: &TableDefinition) -> Vec<(&str, &'static str)> {
    let keys =
        table.keys.iter().map(|key| (key.name.as_str(), if key.primary { "PRIMARY KEY" } else { "UNIQUE" }));
    let checks = table.checks.iter().map(|check| (check.name.as_str(), "CHECK"));
    let foreign = table.foreign_keys.iter().map(|key| (key.name.as_str(), "FOREIGN KEY"));
    keys.chain(checks).chain(foreign).collect()
}

fn table_constraints(context: &Context<'_>, view: &mut View) {
    for table in context.tables() {
        for (constraint, kind) in constraints(&table) {
            let [catalog, schema, name] = names(&table);
            view.add([
                ("CONSTRAINT_CATALOG", catalog.clone()),
                ("CONSTRAINT_SCHEMA", schema.clone()),
                ("CONSTRAINT_NAME", text(constraint)),
                ("TABLE_CATALOG", catalog),
                ("TABLE_SCHEMA", schema),
                ("TABLE_NAME", name),
                ("CONSTRAINT_TYPE", text(kind)),
            ]);
        }
    }
}

fn constraint_table_usage(context: &Context<'_>, view: &mut View) {
    for table in context.tables() {
        for (constraint, _) in constraints(&table) {
            let [catalog, schema, name] = names(&table);
            view.add([
                ("TABLE_CATALOG", catalog.clone()),
                ("TABLE_SCHEMA", schema.clone()),
                ("TABLE_NAME", name),
                ("CONSTRAINT_CATALOG", catalog),
                ("CONSTRAINT_SCHEMA", schema),
                ("CONSTRAINT_NAME", text(constraint)),
            ]);
        }
    }
}

/// Lists name and columns of the keys, foreign ones last.
fn keyed(table: &TableDefinition) -> Vec<(&str, Vec<&str>)> {
    let keys = table
        .keys
        .iter()
        .map(|key| (key.name.as_str(), key.columns.iter().map(|(name, _)| name.as_str()).collect()));
    let foreign = table
        .foreign_keys
        .iter()
        .map(|key| (key.name.as_str(), key.columns.iter().map(String::as_str).collect()));
    keys.chain(foreign).collect()
}

/// Lists the columns that a condition names, in the order of the table.
fn used_by<'t>(table: &'t TableDefinition, condition: &str) -> Vec<&'t str> {
    let mut named: Vec<String> = Vec::new();
    if let Ok(expr) = parse_expression(condition) {
        expr.rewrite(&mut |part| {
            if let Expr::Column(path) = &part {
                named.extend(path.last().cloned());
            }
            part
        });
    }
    let columns = table.columns.iter().map(|column| column.name.as_str());
    columns.filter(|column| named.iter().any(|named| same_name(named, column))).collect()
}

fn constraint_column_usage(context: &Context<'_>, view: &mut View) {
    for table in context.tables() {
        let checks = table.checks.iter().map(|check| (check.name.as_str(), used_by(&table, &check.text)));
        for (constraint, columns) in keyed(&table).into_iter().chain(checks) {
            for column in columns {
                let [catalog, schema, name] = names(&table);
                view.add([
                    ("TABLE_CATALOG", catalog.clone()),
                    ("TABLE_SCHEMA", schema.clone()),
                    ("TABLE_NAME", name),
                    ("COLUMN_NAME", text(column)),
                    ("CONSTRAINT_CATALOG", catalog),
                    ("CONSTRAINT_SCHEMA", schema),
                    ("CONSTRAINT_NAME", text(constraint)),
                ]);
            }
        }
    }
}

fn key_column_usage(context: &Context<'_>, view: &mut View) {
    for table in context.tables() {
        for (constraint, columns) in keyed(&table) {
            for (ordinal, column) in (1_i64..).zip(columns) {
                let [catalog, schema, name] = names(&table);
                view.add([
                    ("CONSTRAINT_CATALOG", catalog.clone()),
                    ("CONSTRAINT_SCHEMA", schema.clone()),
                    ("CONSTRAINT_NAME", text(constraint)),
                    ("TABLE_CATALOG", catalog),
                    ("TABLE_SCHEMA", schema),
                    ("TABLE_NAME", name),
                    ("COLUMN_NAME", text(column)),
                    ("ORDINAL_POSITION", int(ordinal)),
                ]);
            }
        }
    }
}

fn referential_constraints(context: &Context<'_>, view: &mut View) {
    let tables = context.tables();
    for table in &tables {
        for key in &table.foreign_keys {
            let target = tables
                .iter()
                .find(|other| same_name(&other.schema, &key.schema) && same_name(&other.name, &key.table));
            let unique = target.and_then(|target| referenced_key(target, key));
            view.add([
                ("CONSTRAINT_CATALOG", text(&table.database)),
                ("CONSTRAINT_SCHEMA", text(&table.schema)),
                ("CONSTRAINT_NAME", text(&key.name)),
                ("UNIQUE_CONSTRAINT_CATALOG", text(&table.database)),
                ("UNIQUE_CONSTRAINT_SCHEMA", target.map_or(Datum::Null, |target| text(&target.schema))),
                ("UNIQUE_CONSTRAINT_NAME", optional(unique.map(|(name, _)| name))),
                ("UPDATE_RULE", text(&key.on_update.description().replace('_', " "))),
                ("DELETE_RULE", text(&key.on_delete.description().replace('_', " "))),
            ]);
        }
    }
}
