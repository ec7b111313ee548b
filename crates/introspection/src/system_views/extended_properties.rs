//! sys.extended_properties and fn_listextendedproperty.

use std::sync::Arc;

use databases::catalogue::{ExtendedProperty, ModuleKind, PropertyOwner, TableDefinition, same_name};
use query::Datum;
use query::convert::convert;
use tds::SqlType;
use tsql::SqlError;
use tsql::ast::ModuleWord;

use crate::facts::Facts;
use crate::system_views::entry::{Context, Entry};
use crate::system_views::modules;
use crate::view::{View, int, optional, text};

const EXTENDED_PROPERTIES: &str = "
    class tinyint!
    class_desc nvarchar(60)
    major_id int!
    minor_id int!
    name sysname!
    value sql_variant";

/// The columns of fn_listextendedproperty.
pub(super) const LISTED: &str = "
    objtype sysname
    objname sysname
    name sysname!
    value sql_variant";

pub(super) const ENTRIES: &[Entry] = &[Entry::new("extended_properties", EXTENDED_PROPERTIES, fill)];

fn variant(property: &ExtendedProperty) -> Datum {
    let (value, sql_type) = property.value.datum();
    // A value that no variant can hold was refused when it was set.
    convert(value, &sql_type, &SqlType::SqlVariant, 0).unwrap_or(Datum::Null)
}

fn fill(context: &Context<'_>, view: &mut View) {
    let mut all: Vec<ExtendedProperty> =
        context.database().map(|database| database.extended_properties.clone()).unwrap_or_default();
    all.extend(context.tables().iter().flat_map(|table| table.extended_properties.clone()));
    all.extend(modules::of(context).iter().flat_map(|module| module.definition.extended_properties.clone()));
    all.sort_by_key(|property| (property.owner.class, property.owner.major, property.owner.minor));
    for property in &all {
        view.add([
            ("class", int(property.owner.class)),
            ("class_desc", text(property.owner.description())),
            ("major_id", int(property.owner.major)),
            ("minor_id", int(property.owner.minor)),
            ("name", text(&property.name)),
            ("value", variant(property)),
        ]);
    }
}

/// An object that the levels of a call name.
struct Listed<'a> {
    kind: &'static str,
    name: &'a str,
    owner: PropertyOwner,
}

/// Adds the properties that a call of fn_listextendedproperty asks for. A level whose type is given and whose name is
/// NULL stands for all of that type.
pub(super) fn list(
    facts: &Arc<Facts>,
    database: &str,
    arguments: &[Datum],
    view: &mut View,
) -> Result<(), SqlError> {
    let argument = |at: usize| arguments.get(at).and_then(Datum::as_text);
    let kind = |at: usize| argument(at).map(|kind| kind.trim().to_ascii_uppercase());
    let context =
        Context { facts, database, rows: &|_| 0, partition_rows: &|_, _, _| Ok(Vec::new()), views: &[] };
    let Some(entry) = context.database() else { return Ok(()) };
    let wanted = argument(0);
    let mut add = |listed: &Listed<'_>, properties: &[ExtendedProperty]| {
        for property in properties.iter().filter(|property| property.owner == listed.owner) {
            if wanted.is_none_or(|wanted| same_name(wanted, &property.name)) {
                let kind = (!listed.kind.is_empty()).then_some(listed.kind);
                view.add([
                    ("objtype", optional(kind)),
                    ("objname", optional(kind.map(|_| listed.name))),
                    ("name", text(&property.name)),
                    ("value", variant(property)),
                ]);
            }
        }
    };
    let Some(level0) = kind(1) else {
        let listed = Listed { kind: "", name: "", owner: PropertyOwner::DATABASE };
        add(&listed, &entry.extended_properties);
        return Ok(());
    };
    if !matches!(level0.as_str(), "SCHEMA" | "USER") {
        return Ok(());
    }
    let is = |wanted: Option<&str>, name: &str| wanted.is_none_or(|wanted| same_name(wanted, name));
    let Some(level1) = kind(3) else {
        for schema in entry.schemas.iter().filter(|schema| is(argument(2), &schema.name)) {
            let owner = PropertyOwner::schema(schema.id);
            add(&Listed { kind: "SCHEMA", name: &schema.name, owner }, &entry.extended_properties);
        }
        return Ok(());
    };
    if level1 == "TABLE" {
        for table in context.tables() {
            if is(argument(2), &table.schema) && is(argument(4), &table.name) {
                for listed in parts_of_table(&table, kind(5).as_deref(), argument(6)) {
                    add(&listed, &table.extended_properties);
                }
            }
        }
    }
    for module in modules::of(&context) {
        let own = &module.definition;
        let (own_kind, letters) = (module_kind(own.kind), own.kind.letters());
        if !is(argument(2), &own.schema) {
            continue;
        }
        let object = PropertyOwner::object(own.object_id, 0);
        if letters == "TR" && level1 == "TABLE" && kind(5).as_deref() == Some("TRIGGER") {
            if is(argument(6), &own.name) {
                add(&Listed { kind: "TRIGGER", name: &own.name, owner: object }, &own.extended_properties);
            }
            continue;
        }
        if own_kind != level1 || !is(argument(4), &own.name) {
            continue;
        }
        match kind(5).as_deref() {
            None => {
                add(&Listed { kind: own_kind, name: &own.name, owner: object }, &own.extended_properties);
            }
            Some("COLUMN") => {
                for column in own.columns.iter().filter(|column| is(argument(6), &column.name)) {
                    let owner = PropertyOwner::object(own.object_id, column.id);
                    let listed = Listed { kind: "COLUMN", name: &column.name, owner };
                    add(&listed, &own.extended_properties);
                }
            }
            Some("PARAMETER") => {
                let first = i32::from(own.kind != ModuleKind::ScalarFunction);
                for (id, parameter) in (first..).zip(&own.parameters) {
                    if !parameter.name.is_empty() && is(argument(6), &parameter.name) {
                        let owner = PropertyOwner::parameter(own.object_id, id);
                        let listed = Listed { kind: "PARAMETER", name: &parameter.name, owner };
                        add(&listed, &own.extended_properties);
                    }
                }
            }
            Some(_) => {}
        }
    }
    Ok(())
}

fn module_kind(kind: ModuleKind) -> &'static str {
    match kind.word() {
        ModuleWord::View => "VIEW",
        ModuleWord::Procedure => "PROCEDURE",
        ModuleWord::Function => "FUNCTION",
        ModuleWord::Sequence => "SEQUENCE",
        ModuleWord::Trigger => "TRIGGER",
        ModuleWord::Synonym => "SYNONYM",
    }
}

/// Lists the table itself without a third level, or its parts of the type asked for.
fn parts_of_table<'t>(table: &'t TableDefinition, kind: Option<&str>, name: Option<&str>) -> Vec<Listed<'t>> {
    let is = |own: &str| name.is_none_or(|name| same_name(name, own));
    let object = |minor: i32| PropertyOwner::object(table.object_id, minor);
    match kind {
        None => vec![Listed { kind: "TABLE", name: &table.name, owner: object(0) }],
        Some("COLUMN") => table
            .columns
            .iter()
            .filter(|column| is(&column.name))
            .map(|column| Listed { kind: "COLUMN", name: &column.name, owner: object(column.id) })
            .collect(),
        Some("CONSTRAINT") => table
            .objects()
            .into_iter()
            .filter(|own| own.object_id != table.object_id && is(own.name))
            .map(|own| Listed {
                kind: "CONSTRAINT",
                name: own.name,
                owner: PropertyOwner::object(own.object_id, 0),
            })
            .collect(),
        Some("INDEX") => {
            let keys = table.keys.iter().map(|key| (key.name.as_str(), key.index_id));
            let indexes = table.indexes.iter().map(|index| (index.name.as_str(), index.index_id));
            keys.chain(indexes)
                .filter(|(own, _)| is(own))
                .map(|(own, id)| Listed {
                    kind: "INDEX",
                    name: own,
                    owner: PropertyOwner::index(table.object_id, id),
                })
                .collect()
        }
        Some(_) => Vec::new(),
    }
}
