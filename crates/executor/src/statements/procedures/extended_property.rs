//! sp_addextendedproperty, sp_updateextendedproperty, sp_dropextendedproperty.

use databases::catalogue::{
    ExtendedProperty, ModuleKind, PropertyOwner, PropertyValue, TableDefinition, property_of, same_name,
};
use query::Datum;
use query::convert::convert;
use tds::SqlType;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::ast::ModuleWord;
use tsql::errors;

use crate::session::Session;
use crate::session::work::directory;
use crate::session::work::place_of;
use crate::statements::ddl::module;
use crate::statements::ddl::redefine;
use crate::statements::procedures::argument::Argument;
use crate::statements::procedures::parameters::{Parameters, Signature};

const WITH_VALUE: &[&str] = &[
    "@name",
    "@value",
    "@level0type",
    "@level0name",
    "@level1type",
    "@level1name",
    "@level2type",
    "@level2name",
];
const WITHOUT_VALUE: &[&str] =
    &["@name", "@level0type", "@level0name", "@level1type", "@level1name", "@level2type", "@level2name"];

const ADD: Signature = Signature { name: "sp_addextendedproperty", parameters: WITH_VALUE, required: 1 };
const UPDATE: Signature =
    Signature { name: "sp_updateextendedproperty", parameters: WITH_VALUE, required: 1 };
const DROP: Signature = Signature { name: "sp_dropextendedproperty", parameters: WITHOUT_VALUE, required: 1 };

/// Bytes of a value.
const VALUE_BYTES_MAX: usize = 7500;

/// The levels of a call: type and name of each.
struct Levels {
    parts: [(Option<String>, Option<String>); 3],
}

/// The definition that keeps the property.
enum Keeper {
    Database,
    Table(ObjectName),
    Module(ObjectName),
}

impl Levels {
    fn new(parameters: &Parameters<'_>, first: usize) -> Levels {
        let part = |level: usize| {
            let at = first + level * 2;
            let kind = parameters.text(at).map(|kind| kind.trim().to_ascii_uppercase());
            (kind.filter(|kind| !kind.is_empty()), parameters.text(at + 1))
        };
        Levels { parts: [part(0), part(1), part(2)] }
    }

    /// Returns a level's type and name; `None` if the level is not given. Errors: 15600 for one without the other.
    fn level(&self, level: usize, procedure: &str) -> Result<Option<(&str, &str)>, SqlError> {
        match self.parts.get(level) {
            Some((Some(kind), Some(name))) => Ok(Some((kind, name))),
            Some((None, None)) | None => Ok(None),
            _ => Err(invalid(procedure)),
        }
    }

    /// Joins the names in order, as messages spell the object.
    fn spelled(&self) -> String {
        let names: Vec<&str> = self.parts.iter().filter_map(|(_, name)| name.as_deref()).collect();
        if names.is_empty() { "object specified".to_string() } else { names.join(".") }
    }
}

fn invalid(procedure: &str) -> SqlError {
    let text = format!("An invalid parameter or option was specified for procedure '{procedure}'.");
    SqlError::new(15600, 15, 1, text)
}

fn not_permitted(object: &str) -> SqlError {
    let text = format!(
        "Object is invalid. Extended properties are not permitted on '{object}', or the object does not exist."
    );
    SqlError::new(15135, 16, 8, text)
}

/// Returns the value to keep. Errors: 15097 for more than 7,500 bytes, 206 for a type that no variant holds.
fn value_of(argument: Option<&Argument>) -> Result<PropertyValue, SqlError> {
    let Some(argument) = argument else { return Ok(PropertyValue::Null) };
    let long = || {
        let text = "The size associated with an extended property cannot be more than 7,500 bytes.";
        SqlError::new(15097, 16, 1, text)
    };
    if argument.value.is_null() {
        return Ok(PropertyValue::Null);
    }
    if let Datum::Text(text) = &argument.value {
        let bytes = if argument.sql_type.is_unicode() { text.encode_utf16().count() * 2 } else { text.len() };
        if bytes > VALUE_BYTES_MAX {
            return Err(long());
        }
        return Ok(PropertyValue::of(&argument.value, &argument.sql_type));
    }
    let variant = convert(argument.value.clone(), &argument.sql_type, &SqlType::SqlVariant, 0)?;
    match &variant {
        Datum::Binary(body) if body.len() > VALUE_BYTES_MAX => Err(long()),
        _ => Ok(PropertyValue::of(&variant, &SqlType::SqlVariant)),
    }
}

/// Runs one of the three procedures.
///
/// Errors: 15135 for what does not exist, 15233 for a property that does, 15217 for one that does not, 15600.
pub(crate) fn extended_property(
    session: &mut Session,
    procedure: &str,
    database: Option<&str>,
    arguments: &[Argument],
) -> Result<(), SqlError> {
    let database = database.filter(|name| !name.is_empty()).unwrap_or(&session.database).to_string();
    let (parameters, first) = match procedure {
        "sp_dropextendedproperty" => (DROP.bind(arguments)?, 1),
        "sp_updateextendedproperty" => (UPDATE.bind(arguments)?, 2),
        _ => (ADD.bind(arguments)?, 2),
    };
    let name = parameters.text(0).filter(|name| !name.is_empty()).ok_or_else(|| invalid(procedure))?;
    let levels = Levels::new(&parameters, first);
    let value = if first == 2 { value_of(parameters.argument(1))? } else { PropertyValue::Null };
    let change = |properties: &mut Vec<ExtendedProperty>, owner: PropertyOwner| {
        let known = property_of(properties, owner, &name).is_some();
        let spelled = levels.spelled();
        match (procedure, known) {
            ("sp_addextendedproperty", true) => {
                let text =
                    format!("Property cannot be added. Property '{name}' already exists for '{spelled}'.");
                Err(SqlError::new(15233, 16, 1, text))
            }
            ("sp_addextendedproperty", false) => {
                properties.push(ExtendedProperty { owner, name: name.clone(), value: value.clone() });
                Ok(())
            }
            (_, false) => {
                let text = format!(
                    "Property cannot be updated or deleted. Property '{name}' does not exist for '{spelled}'."
                );
                Err(SqlError::new(15217, 16, 1, text))
            }
            ("sp_dropextendedproperty", true) => {
                properties.retain(|own| own.owner != owner || !same_name(&own.name, &name));
                Ok(())
            }
            (_, true) => {
                let own = properties.iter_mut().find(|own| own.owner == owner && same_name(&own.name, &name));
                if let Some(own) = own {
                    own.value = value.clone();
                }
                Ok(())
            }
        }
    };
    let mark = session.work.start_change()?;
    let result = property_owner(session, &levels, &database, procedure)
        .and_then(|(keeper, owner)| change_properties(session, &keeper, &database, |own| change(own, owner)));
    session.work.end_statement(&mark, result.is_ok())?;
    result
}

fn change_properties(
    session: &mut Session,
    keeper: &Keeper,
    database: &str,
    change: impl FnOnce(&mut Vec<ExtendedProperty>) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    match keeper {
        Keeper::Database => {
            let mut directory = directory::to_change(&session.work)?;
            let entry =
                directory.database_mut(database).ok_or_else(|| errors::UNKNOWN_DATABASE.with([database]))?;
            change(&mut entry.extended_properties)?;
            directory::set(&session.work, &directory)
        }
        Keeper::Table(name) => {
            let Some(table) = session.work.find(name, database)? else {
                return Err(not_permitted(&name.to_string()));
            };
            let mut definition = table.definition.as_ref().clone();
            change(&mut definition.extended_properties)?;
            redefine::redefine(session, &table, &definition)
        }
        Keeper::Module(name) => {
            let Some((id, module)) = session.work.find_module(name, database)? else {
                return Err(not_permitted(&name.to_string()));
            };
            let mut definition = module.definition.clone();
            change(&mut definition.extended_properties)?;
            module::keep_module(session, id, &definition, place_of(name))
        }
    }
}

/// Finds the object that the levels name, and the definition that keeps its properties. Errors: 15135, 15600.
fn property_owner(
    session: &Session,
    levels: &Levels,
    database: &str,
    procedure: &str,
) -> Result<(Keeper, PropertyOwner), SqlError> {
    let missing = || not_permitted(&levels.spelled());
    let Some((kind, schema)) = levels.level(0, procedure)? else {
        if levels.level(1, procedure)?.is_some() || levels.level(2, procedure)?.is_some() {
            return Err(invalid(procedure));
        }
        return Ok((Keeper::Database, PropertyOwner::DATABASE));
    };
    let directory = directory::of(&session.work)?;
    let entry = directory.database(database).ok_or_else(|| errors::UNKNOWN_DATABASE.with([database]))?;
    if !matches!(kind, "SCHEMA" | "USER") {
        return Err(missing());
    }
    let found = entry.schema(schema).ok_or_else(missing)?;
    let Some((kind, object)) = levels.level(1, procedure)? else {
        if levels.level(2, procedure)?.is_some() {
            return Err(invalid(procedure));
        }
        // Users of the names of schemas are not described apart.
        return match kind {
            "SCHEMA" => Ok((Keeper::Database, PropertyOwner::schema(found.id))),
            _ => Err(missing()),
        };
    };
    let name = ObjectName {
        database: Some(database.to_string()),
        schema: Some(found.name.clone()),
        name: object.to_string(),
    };
    let part = levels.level(2, procedure)?;
    if kind == "TABLE" {
        let table = session.work.find(&name, database)?.ok_or_else(missing)?;
        let id = table.definition.object_id;
        let Some((kind, part)) = part else {
            return Ok((Keeper::Table(name), PropertyOwner::object(id, 0)));
        };
        let owner = match kind {
            "TRIGGER" => {
                let trigger = ObjectName { name: part.to_string(), ..name };
                let (_, module) = session.work.find_module(&trigger, database)?.ok_or_else(missing)?;
                if module.definition.kind.letters() != "TR" {
                    return Err(missing());
                }
                let owner = PropertyOwner::object(module.definition.object_id, 0);
                return Ok((Keeper::Module(trigger), owner));
            }
            kind => part_of_table(&table.definition, kind, part),
        };
        return Ok((Keeper::Table(name), owner.ok_or_else(missing)?));
    }
    let (_, module) = session.work.find_module(&name, database)?.ok_or_else(missing)?;
    let definition = &module.definition;
    let fits = match kind {
        "VIEW" => definition.kind == ModuleKind::View,
        "PROCEDURE" => definition.kind.word() == ModuleWord::Procedure,
        "FUNCTION" => definition.kind.word() == ModuleWord::Function,
        "SEQUENCE" => definition.kind == ModuleKind::Sequence,
        "SYNONYM" => definition.kind == ModuleKind::Synonym,
        _ => false,
    };
    if !fits {
        return Err(missing());
    }
    let owner = match part {
        None => PropertyOwner::object(definition.object_id, 0),
        Some(("COLUMN", part)) => {
            let column = definition.columns.iter().find(|column| same_name(&column.name, part));
            PropertyOwner::object(definition.object_id, column.ok_or_else(missing)?.id)
        }
        Some(("PARAMETER", part)) => {
            let first = i32::from(definition.kind != ModuleKind::ScalarFunction);
            let mut numbered = (first..).zip(&definition.parameters);
            let found = numbered.find(|(_, own)| !own.name.is_empty() && same_name(&own.name, part));
            PropertyOwner::parameter(definition.object_id, found.ok_or_else(missing)?.0)
        }
        Some(_) => return Err(missing()),
    };
    Ok((Keeper::Module(name), owner))
}

/// Finds a column, constraint or index of a table.
fn part_of_table(table: &TableDefinition, kind: &str, name: &str) -> Option<PropertyOwner> {
    match kind {
        "COLUMN" => {
            let column = table.columns.iter().find(|column| same_name(&column.name, name))?;
            Some(PropertyOwner::object(table.object_id, column.id))
        }
        "CONSTRAINT" => {
            let objects = table.objects();
            let found = objects
                .iter()
                .find(|object| object.object_id != table.object_id && same_name(object.name, name))?;
            Some(PropertyOwner::object(found.object_id, 0))
        }
        "INDEX" => {
            let keys = table.keys.iter().map(|key| (&key.name, key.index_id));
            let indexes = table.indexes.iter().map(|index| (&index.name, index.index_id));
            let (_, id) = keys.chain(indexes).find(|(own, _)| same_name(own, name))?;
            Some(PropertyOwner::index(table.object_id, id))
        }
        _ => None,
    }
}
