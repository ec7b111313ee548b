//! ALTER SCHEMA … TRANSFER: objects that go into another schema with what belongs to them.

use databases::catalogue::{ForeignKey, ModuleDefinition, same_name};
use databases::store_error::name_taken;
use tsql::ObjectName;
use tsql::SqlError;

use crate::session::Session;
use crate::session::work::{OpenTable, directory, place_of};
use crate::statements::ddl::module;
use crate::statements::ddl::redefine;

/// Moves a table, view, procedure, function, sequence or synonym. Errors: 15151 for an unknown schema or object, 15347 for a
/// trigger, which follows its table, 15530 if the schema has an object of that name.
pub(super) fn transfer(session: &mut Session, schema: &str, name: &ObjectName) -> Result<(), SqlError> {
    let known = directory::of(&session.work)?;
    let found = known.database(&session.database).and_then(|database| database.schema(schema));
    let Some(schema) = found.map(|schema| schema.name.clone()) else {
        return Err(missing("alter", "schema", schema));
    };
    let table = session.work.find(name, &session.database)?;
    let module = session.work.find_module(name, &session.database)?;
    let own = match (&table, &module) {
        (Some(table), _) => &table.definition.schema,
        (_, Some((_, module))) => &module.definition.schema,
        _ => return Err(missing("find", "object", &name.name)),
    };
    if same_name(own, &schema) {
        return Ok(());
    }
    let moved = ObjectName { schema: Some(schema.clone()), ..name.clone() };
    let taken = session.work.find(&moved, &session.database)?.is_some()
        || session.work.find_module(&moved, &session.database)?.is_some();
    if taken {
        return Err(already(&name.name));
    }
    if let Some(table) = table {
        return transfer_table(session, &table, &moved);
    }
    let Some((id, module)) = module else { return Ok(()) };
    if module.definition.parent_id != 0 {
        let text = "Cannot transfer an object that is owned by a parent object.";
        return Err(SqlError::new(15347, 16, 1, text));
    }
    move_module(session, id, module.definition.clone(), &moved)?;
    move_triggers(session, module.definition.object_id, &schema)
}

fn missing(verb: &str, kind: &str, name: &str) -> SqlError {
    let text = format!(
        "Cannot {verb} the {kind} '{name}', because it does not exist or you do not have permission."
    );
    SqlError::new(15151, 16, 1, text)
}

fn already(name: &str) -> SqlError {
    SqlError::new(15530, 16, 1, format!("The object with name \"{name}\" already exists."))
}

/// Moves a module; its text stays as it was written.
fn move_module(
    session: &mut Session,
    id: databases::storage::TableId,
    mut definition: ModuleDefinition,
    moved: &ObjectName,
) -> Result<(), SqlError> {
    let key = session.work.key_of(moved, &session.database);
    definition.schema = moved.schema.clone().unwrap_or_default();
    let renamed = session.work.write(place_of(moved), |transaction| transaction.open(id)?.rename_table(&key));
    renamed.map_err(|error| name_taken(error, || already(&moved.name)))?;
    module::keep_module(session, id, &definition, place_of(moved))
}

/// Moves the triggers of an object along.
fn move_triggers(session: &mut Session, parent: i32, schema: &str) -> Result<(), SqlError> {
    let modules = session.work.view().modules()?;
    for trigger in modules.iter().filter(|module| module.definition.parent_id == parent && parent != 0) {
        let definition = trigger.definition.clone();
        let old = ObjectName {
            database: None,
            schema: Some(definition.schema.clone()),
            name: definition.name.clone(),
        };
        let Some((id, _)) = session.work.find_module(&old, &session.database)? else { continue };
        let moved = ObjectName { schema: Some(schema.to_owned()), ..old };
        move_module(session, id, definition, &moved)?;
    }
    Ok(())
}

fn transfer_table(session: &mut Session, table: &OpenTable, moved: &ObjectName) -> Result<(), SqlError> {
    let schema = moved.schema.clone().unwrap_or_default();
    let key = session.work.key_of(moved, &session.database);
    let mut definition = table.definition.as_ref().clone();
    definition.schema.clone_from(&schema);
    let refers = |key: &ForeignKey| {
        same_name(&key.table, &table.definition.name) && same_name(&key.schema, &table.definition.schema)
    };
    for key in definition.foreign_keys.iter_mut().filter(|key| refers(key)) {
        key.schema.clone_from(&schema);
    }
    let renamed =
        session.work.write(table.place, |transaction| transaction.open(table.id)?.rename_table(&key));
    renamed.map_err(|error| name_taken(error, || already(&moved.name)))?;
    redefine::redefine(session, table, &definition)?;
    let mut others = session.work.view().tables()?;
    others.retain(|other| same_name(&other.definition.database, &session.database) && other.id != table.id);
    for other in others.iter().filter(|other| other.definition.foreign_keys.iter().any(refers)) {
        let mut changed = other.definition.as_ref().clone();
        for key in changed.foreign_keys.iter_mut().filter(|key| refers(key)) {
            key.schema.clone_from(&schema);
        }
        redefine::redefine(session, other, &changed)?;
    }
    move_triggers(session, definition.object_id, &schema)
}
