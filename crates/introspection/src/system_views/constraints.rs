//! Keys, checks, defaults and foreign keys.

use std::sync::Arc;

use databases::catalogue::definition_text;
use databases::catalogue::{ForeignKey, TableDefinition, same_name};
use query::Datum;

use crate::system_views::entry::{Context, Entry};
use crate::system_views::objects::{object, object_shape};
use crate::system_views::user_types;
use crate::view::{View, bit, int, text};

const KEYS: &str = object_shape!("unique_index_id int!\nis_system_named bit! = 0\nis_enforced bit = 1");

const CHECKS: &str = object_shape!(
    "is_disabled bit! = 0\nis_not_for_replication bit! = 0\nis_not_trusted bit! = 0\nparent_column_id int! = 0\n",
    "definition text\nuses_database_collation bit = 1\nis_system_named bit! = 0"
);

const DEFAULTS: &str = object_shape!("parent_column_id int!\ndefinition text\nis_system_named bit! = 0");

const FOREIGN_KEYS: &str = object_shape!(
    "referenced_object_id int\nkey_index_id int = 1\nis_disabled bit! = 0\nis_not_for_replication bit! = 0\n",
    "is_not_trusted bit! = 0\ndelete_referential_action tinyint = 0\n",
    "delete_referential_action_desc nvarchar(60) = NO_ACTION\nupdate_referential_action tinyint = 0\n",
    "update_referential_action_desc nvarchar(60) = NO_ACTION\nis_system_named bit! = 0"
);

const FOREIGN_KEY_COLUMNS: &str = "
    constraint_object_id int!
    constraint_column_id int!
    parent_object_id int!
    parent_column_id int!
    referenced_object_id int!
    referenced_column_id int!";

pub(super) const ENTRIES: &[Entry] = &[
    Entry::new("key_constraints", KEYS, keys),
    Entry::new("check_constraints", CHECKS, checks),
    Entry::new("default_constraints", DEFAULTS, defaults),
    Entry::new("foreign_keys", FOREIGN_KEYS, foreign_keys),
    Entry::new("foreign_key_columns", FOREIGN_KEY_COLUMNS, foreign_key_columns),
];

fn keys(context: &Context<'_>, view: &mut View) {
    for table in user_types::with_table_types(context) {
        for key in &table.keys {
            let what =
                if key.primary { ("PK", "PRIMARY_KEY_CONSTRAINT") } else { ("UQ", "UNIQUE_CONSTRAINT") };
            view.add(object(context, &table, (&key.name, key.object_id, table.object_id), what));
            view.set("unique_index_id", int(key.index_id));
            view.set("is_system_named", bit(is_made(&key.name, what.0, key.object_id)));
        }
    }
}

/// Returns true if a constraint's name is the one that it gets where none is written: it ends with the
/// constraint's id.
fn is_made(name: &str, prefix: &str, object_id: i32) -> bool {
    name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with("__"))
        && name.ends_with(&format!("{object_id:08X}"))
}

fn column_id(table: &TableDefinition, name: &str) -> Option<i32> {
    table.columns.iter().find(|column| same_name(&column.name, name)).map(|column| column.id)
}

fn checks(context: &Context<'_>, view: &mut View) {
    for table in user_types::with_table_types(context) {
        for check in &table.checks {
            let names = (check.name.as_str(), check.object_id, table.object_id);
            view.add(object(context, &table, names, ("C", "CHECK_CONSTRAINT")));
            let column = check.column.as_ref().and_then(|name| column_id(&table, name));
            view.set("is_system_named", bit(is_made(&check.name, "CK", check.object_id)));
            view.set("is_disabled", bit(check.disabled));
            view.set("is_not_trusted", bit(!check.trusted));
            view.set("parent_column_id", int(column.unwrap_or(0)));
            view.set("definition", text(&definition_text(&check.text)));
        }
    }
}

fn defaults(context: &Context<'_>, view: &mut View) {
    for table in user_types::with_table_types(context) {
        for column in &table.columns {
            let Some(default) = &column.default else { continue };
            let names = (default.name.as_str(), default.object_id, table.object_id);
            view.add(object(context, &table, names, ("D", "DEFAULT_CONSTRAINT")));
            view.set("parent_column_id", int(column.id));
            view.set("definition", text(&default.definition()));
            view.set("is_system_named", bit(is_made(&default.name, "DF", default.object_id)));
        }
    }
}

/// Returns the referenced table, if it exists.
fn referenced<'t>(
    tables: &'t [Arc<TableDefinition>],
    schema: &str,
    name: &str,
) -> Option<&'t Arc<TableDefinition>> {
    tables.iter().find(|table| same_name(&table.schema, schema) && same_name(&table.name, name))
}

/// Returns name and `index_id` of the key or unique index that a FOREIGN KEY of these columns refers to.
pub(super) fn referenced_key<'t>(
    target: &'t TableDefinition,
    reference: &ForeignKey,
) -> Option<(&'t str, i32)> {
    let columns = &reference.referenced;
    let matches = |own: &[(String, bool)]| {
        own.len() == columns.len()
            && own.iter().all(|(name, _)| columns.iter().any(|column| same_name(column, name)))
    };
    let key = target.key_of_reference(reference);
    let index = || {
        let unique = |index: &&databases::catalogue::Index| index.unique && index.filter.is_none();
        target.indexes.iter().filter(unique).find(|index| matches(&index.columns))
    };
    key.map(|key| (key.name.as_str(), key.index_id))
        .or_else(|| index().map(|index| (index.name.as_str(), index.index_id)))
}

fn foreign_keys(context: &Context<'_>, view: &mut View) {
    let tables = context.tables();
    for table in &tables {
        for key in &table.foreign_keys {
            let target = referenced(&tables, &key.schema, &key.table);
            let names = (key.name.as_str(), key.object_id, table.object_id);
            view.add(object(context, table, names, ("F", "FOREIGN_KEY_CONSTRAINT")));
            view.set("referenced_object_id", target.map_or(Datum::Null, |target| int(target.object_id)));
            if let Some((_, index_id)) = target.and_then(|target| referenced_key(target, key)) {
                view.set("key_index_id", int(index_id));
            }
            view.set("is_system_named", bit(is_made(&key.name, "FK", key.object_id)));
            view.set("is_disabled", bit(key.disabled));
            view.set("is_not_trusted", bit(!key.trusted));
            view.set("delete_referential_action", int(key.on_delete.number()));
            view.set("delete_referential_action_desc", text(key.on_delete.description()));
            view.set("update_referential_action", int(key.on_update.number()));
            view.set("update_referential_action_desc", text(key.on_update.description()));
        }
    }
}

fn foreign_key_columns(context: &Context<'_>, view: &mut View) {
    let tables = context.tables();
    for table in &tables {
        for key in &table.foreign_keys {
            let Some(target) = referenced(&tables, &key.schema, &key.table) else { continue };
            for (ordinal, (own, other)) in (1_i64..).zip(key.columns.iter().zip(&key.referenced)) {
                let id =
                    |table: &TableDefinition, name: &str| column_id(table, name).map_or(Datum::Null, int);
                view.add([
                    ("constraint_object_id", int(key.object_id)),
                    ("constraint_column_id", int(ordinal)),
                    ("parent_object_id", int(table.object_id)),
                    ("parent_column_id", id(table, own)),
                    ("referenced_object_id", int(target.object_id)),
                    ("referenced_column_id", id(target, other)),
                ]);
            }
        }
    }
}
