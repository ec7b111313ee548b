//! User-defined types in the catalogue.

use std::sync::Arc;

use query::Datum;
use tsql::parse_object_name;

use crate::system_views::entry::Context;
use crate::view;
use crate::view::{View, bit, int, moment, optional, text};
use databases::catalogue::{
    ColumnDefinition, DEFAULT_COLLATION, TABLE_TYPE_ID, TableDefinition, UserType, UserTypeKind, same_name,
};
use query::system_types::{max_length, precision, scale, system_type};

/// Lists the database's types.
pub(super) fn of(context: &Context<'_>) -> Vec<UserType> {
    let types = context.facts.types().iter();
    types.filter(|found| same_name(&found.database, context.database)).cloned().collect()
}

/// Fills sys.types, behind the types of the system.
pub(super) fn types(context: &Context<'_>, view: &mut View) {
    for found in of(context) {
        add(context, view, &found);
    }
}

/// Fills sys.table_types.
pub(super) fn table_types(context: &Context<'_>, view: &mut View) {
    for found in of(context) {
        if let Some(table) = found.table() {
            add(context, view, &found);
            view.set("type_table_object_id", int(table.object_id));
        }
    }
}

fn add(context: &Context<'_>, view: &mut View, found: &UserType) {
    let base = found.base();
    let (system, lengths) = match &base {
        Some((sql_type, _)) => (
            i32::from(system_type(sql_type).system_type_id),
            (i64::from(max_length(sql_type)), i64::from(precision(sql_type)), i64::from(scale(sql_type))),
        ),
        None => (TABLE_TYPE_ID, (-1, 0, 0)),
    };
    let character = base.as_ref().is_some_and(|(sql_type, _)| sql_type.is_character());
    view.add([
        ("name", text(&found.name)),
        ("system_type_id", int(system)),
        ("user_type_id", int(found.id)),
        ("schema_id", context.schema_id(&found.schema)),
        ("max_length", int(lengths.0)),
        ("precision", int(lengths.1)),
        ("scale", int(lengths.2)),
        ("collation_name", optional(character.then_some(DEFAULT_COLLATION))),
        ("is_nullable", bit(base.is_some_and(|(_, nullable)| nullable))),
        ("is_user_defined", bit(true)),
        ("is_assembly_type", bit(false)),
        ("is_table_type", bit(found.table().is_some())),
    ]);
}

/// Lists the tables of table types, as sys.columns and sys.objects show them.
pub(super) fn tables(context: &Context<'_>) -> Vec<TableDefinition> {
    let types = of(context).into_iter();
    types
        .filter_map(|found| match found.kind {
            UserTypeKind::Table(table) => {
                let name = format!("TT_{}_{:08X}", found.name, table.object_id);
                Some(TableDefinition { schema: "sys".to_string(), name, ..*table })
            }
            UserTypeKind::Alias { .. } => None,
        })
        .collect()
}

/// Returns the tables, and after them those of table types.
pub(super) fn with_table_types(context: &Context<'_>) -> impl Iterator<Item = Arc<TableDefinition>> {
    context.tables().into_iter().chain(tables(context).into_iter().map(Arc::new))
}

/// Fills sys.objects with the tables of table types.
pub(super) fn objects(context: &Context<'_>, view: &mut View) {
    for table in tables(context) {
        view.add([
            ("name", text(&table.name)),
            ("object_id", int(table.object_id)),
            ("schema_id", context.schema_id(&table.schema)),
            ("type", view::kind("TT")),
            ("type_desc", text("TYPE_TABLE")),
            ("create_date", moment(table.created_us)),
            ("modify_date", moment(table.created_us)),
        ]);
    }
}

/// The system's own alias type, as columns keep it, and its `user_type_id`.
pub(super) const SYSNAME: &str = "sys.sysname";
const SYSNAME_ID: i32 = 256;

/// Returns the `user_type_id` of a column: of its alias type, or else of the system's.
pub(super) fn id_of_column(types: &[UserType], column: &ColumnDefinition) -> Datum {
    let alias = column.alias.as_deref();
    if alias == Some(SYSNAME) {
        return int(SYSNAME_ID);
    }
    let found = alias.and_then(|alias| types.iter().find(|found| same_name(&found.qualified_name(), alias)));
    int(found.map_or(system_type(&column.sql_type).user_type_id, |found| found.id))
}

/// Returns the type that a declaration names.
pub(super) fn named<'t>(types: &'t [UserType], declared: &str) -> Option<&'t UserType> {
    let name = parse_object_name(declared).ok()?;
    let schema = name.schema.as_deref().unwrap_or("dbo");
    types.iter().find(|found| same_name(&found.name, &name.name) && same_name(&found.schema, schema))
}

/// Describes in sys.parameters a parameter of a type of the user's own.
pub(super) fn describe_parameter(view: &mut View, found: &UserType) {
    view.set("user_type_id", int(found.id));
    match found.base() {
        Some((sql_type, _)) => {
            view.set("system_type_id", int(system_type(&sql_type).system_type_id));
            view.set("max_length", int(max_length(&sql_type)));
            view.set("precision", int(precision(&sql_type)));
            view.set("scale", int(scale(&sql_type)));
        }
        None => {
            view.set("system_type_id", int(TABLE_TYPE_ID));
            view.set("max_length", int(-1));
            view.set("is_readonly", bit(true));
        }
    }
}
