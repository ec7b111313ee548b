//! Triggers as their tables know them: CREATE, DROP, ENABLE and DISABLE.

use std::sync::Arc;

use databases::catalogue::{Module, ModuleDefinition, ModuleKind, TableDefinition, Trigger, same_name};
use tsql::ObjectName;
use tsql::SqlError;
use tsql::ast::ModuleBody;
use tsql::module::TriggerEvents;

use crate::session::Session;
use crate::session::work::{OpenTable, Place};
use crate::statements::ddl::module;
use crate::statements::ddl::redefine;

/// The table or view of a trigger.
enum Parent {
    Table(OpenTable),
    View(databases::storage::TableId, Arc<Module>, Box<ModuleDefinition>),
}

impl Parent {
    fn triggers_mut(&mut self) -> Option<&mut Vec<Trigger>> {
        match self {
            Parent::Table(table) => Some(&mut Arc::make_mut(&mut table.definition).triggers),
            Parent::View(_, _, view) => Some(&mut view.triggers),
        }
    }

    /// Keeps the definition.
    fn keep(self, session: &mut Session) -> Result<(), SqlError> {
        match self {
            Parent::Table(table) => {
                let definition = TableDefinition::clone(&table.definition);
                redefine::redefine(session, &table, &definition)
            }
            Parent::View(id, _, view) => module::keep_module(session, id, &view, Place::Shared),
        }
    }
}

/// Finds the table or view of a name. Errors: 8197.
fn parent(session: &Session, name: &ObjectName) -> Result<Parent, SqlError> {
    if let Some(table) =
        session.work.find(name, &session.database)?.filter(|table| table.place == Place::Shared)
        && !name.is_temporary()
    {
        return Ok(Parent::Table(table));
    }
    match session.work.find_module(name, &session.database)? {
        Some((id, view)) if view.definition.kind == ModuleKind::View => {
            let definition = Box::new(view.definition.clone());
            Ok(Parent::View(id, view, definition))
        }
        _ => {
            let text = format!("The object '{name}' does not exist or is invalid for this operation.");
            Err(SqlError::new(8197, 16, 4, text))
        }
    }
}

/// Makes a new or changed trigger known to its table.
///
/// Errors: 8197 for an unknown table and for an AFTER trigger of a view, 2103 for a trigger of another schema. 2111
/// is for a second INSTEAD OF trigger, 2112 for one of a view WITH CHECK OPTION, 2113 for one beside a cascading FOREIGN KEY.
pub(crate) fn attach_trigger(
    session: &mut Session,
    definition: &mut ModuleDefinition,
    table: &ObjectName,
    instead: bool,
    events: TriggerEvents,
) -> Result<(), SqlError> {
    let mut parent = parent(session, table)?;
    let (object_id, schema, database) = match &parent {
        Parent::Table(table) => {
            let table = &table.definition;
            (table.object_id, table.schema.clone(), table.database.clone())
        }
        Parent::View(_, _, view) => (view.object_id, view.schema.clone(), view.database.clone()),
    };
    if !same_name(&schema, &definition.schema) || !same_name(&database, &definition.database) {
        let text = format!(
            "Cannot create trigger '{}' because its schema is different from the schema of the target table or view.",
            definition.name
        );
        return Err(SqlError::new(2103, 15, 1, text));
    }
    if !instead && matches!(parent, Parent::View(..)) {
        let text = format!("The object '{table}' does not exist or is invalid for this operation.");
        return Err(SqlError::new(8197, 16, 6, text));
    }
    if definition.parent_id != 0 && definition.parent_id != object_id {
        detach_trigger(session, definition)?;
        parent = self::parent(session, table)?;
    }
    if instead {
        check_instead(&mut parent, definition, table, events)?;
    }
    definition.parent_id = object_id;
    let made = Trigger {
        name: definition.name.clone(),
        object_id: definition.object_id,
        instead,
        events,
        disabled: false,
        // ALTER TRIGGER takes its place from it.
        first: TriggerEvents::default(),
        last: TriggerEvents::default(),
    };
    if let Some(triggers) = parent.triggers_mut() {
        match triggers.iter_mut().find(|known| known.object_id == made.object_id) {
            Some(known) => *known = Trigger { disabled: known.disabled, ..made },
            None => triggers.push(made),
        }
    }
    parent.keep(session)
}

fn check_instead(
    parent: &mut Parent,
    definition: &ModuleDefinition,
    table: &ObjectName,
    events: TriggerEvents,
) -> Result<(), SqlError> {
    if let Parent::Table(open) = parent {
        use tsql::ast::ReferentialAction::NoAction;
        let cascades = open.definition.foreign_keys.iter().any(|key| {
            events.delete && key.on_delete != NoAction || events.update && key.on_update != NoAction
        });
        if cascades {
            let event = if events.delete { "DELETE" } else { "UPDATE" };
            let text = format!(
                "Cannot create INSTEAD OF DELETE or INSTEAD OF UPDATE TRIGGER '{}' on table '{table}'. This is because the table has a FOREIGN KEY with cascading {event}.",
                definition.name
            );
            return Err(SqlError::new(2113, 16, 1, text));
        }
    }
    if let Parent::View(_, view, _) = parent
        && let Some(ModuleBody::View { check: true, .. }) = view.body()?
    {
        let text = format!(
            "Cannot create trigger '{}' on view '{table}' because the view is defined with CHECK OPTION.",
            definition.name
        );
        return Err(SqlError::new(2112, 16, 1, text));
    }
    let known = parent.triggers_mut().map(std::mem::take).unwrap_or_default();
    let others = || known.iter().filter(|other| other.instead && other.object_id != definition.object_id);
    for (asked, name, has) in [
        (events.insert, "INSERT", others().any(|other| other.events.insert)),
        (events.update, "UPDATE", others().any(|other| other.events.update)),
        (events.delete, "DELETE", others().any(|other| other.events.delete)),
    ] {
        if asked && has {
            let text = format!(
                "Cannot create trigger '{}' on table '{table}' because an INSTEAD OF {name} trigger already exists on this object.",
                definition.name
            );
            return Err(SqlError::new(2111, 16, 1, text));
        }
    }
    if let Some(triggers) = parent.triggers_mut() {
        *triggers = known;
    }
    Ok(())
}

/// Takes a trigger from its table.
pub(crate) fn detach_trigger(session: &mut Session, trigger: &ModuleDefinition) -> Result<(), SqlError> {
    let view = session.work.view();
    let table = view
        .tables()?
        .into_iter()
        .find(|table| table.place == Place::Shared && table.definition.object_id == trigger.parent_id);
    let mut parent = match table {
        Some(table) => Parent::Table(table),
        None => {
            let modules = view.modules()?;
            let found = modules.iter().find(|module| module.definition.object_id == trigger.parent_id);
            let Some(found) = found else { return Ok(()) };
            let name = ObjectName {
                database: Some(found.definition.database.clone()),
                schema: Some(found.definition.schema.clone()),
                name: found.definition.name.clone(),
            };
            self::parent(session, &name)?
        }
    };
    if let Some(triggers) = parent.triggers_mut() {
        triggers.retain(|own| own.object_id != trigger.object_id);
    }
    parent.keep(session)
}

/// Drops the triggers of a table or view that is dropped.
pub(crate) fn drop_triggers(
    session: &mut Session,
    schema: &str,
    database: &str,
    triggers: &[Trigger],
) -> Result<(), SqlError> {
    for trigger in triggers {
        let name = ObjectName {
            database: Some(database.to_string()),
            schema: Some(schema.to_string()),
            name: trigger.name.clone(),
        };
        if let Some((id, _)) = session.work.find_module(&name, database)? {
            session.work.write(Place::Shared, |transaction| transaction.open(id)?.drop_table())?;
        }
    }
    Ok(())
}

/// Runs ENABLE TRIGGER and DISABLE TRIGGER; `None` stands for all of the table. Errors: 1088, 15151 for a trigger that
/// the table does not have.
pub(crate) fn switch_triggers(
    session: &mut Session,
    table: &ObjectName,
    names: Option<&[String]>,
    enabled: bool,
) -> Result<(), SqlError> {
    let mut parent = parent(session, table).map_err(|_| {
        let text = format!(
            "Cannot find the object \"{table}\" because it does not exist or you do not have permissions."
        );
        SqlError::new(1088, 16, 13, text)
    })?;
    let triggers = parent.triggers_mut().map(|triggers| triggers.as_mut_slice()).unwrap_or_default();
    match names {
        None => triggers.iter_mut().for_each(|trigger| trigger.disabled = !enabled),
        Some(names) => {
            for name in names {
                let found = triggers.iter_mut().find(|trigger| same_name(&trigger.name, name));
                let found = found.ok_or_else(|| {
                    let verb = if enabled { "enable" } else { "disable" };
                    let text = format!(
                        "Cannot {verb} trigger '{name}'. It does not exist or you do not have permission."
                    );
                    SqlError::new(15151, 16, 1, text)
                })?;
                found.disabled = !enabled;
            }
        }
    }
    parent.keep(session)
}

/// Runs sp_settriggerorder. `first` is First or Last, else `None`. Errors: 15125 for a trigger that the event does not
/// fire, 15130 if another has the place, 15133 for INSTEAD OF.
pub(crate) fn order_trigger(
    session: &mut Session,
    trigger: &ModuleDefinition,
    table: &ObjectName,
    event: (&str, fn(&mut TriggerEvents) -> &mut bool),
    first: Option<bool>,
) -> Result<(), SqlError> {
    let (event, of) = event;
    let mut parent = parent(session, table)?;
    let triggers = parent.triggers_mut().map(Vec::as_mut_slice).unwrap_or_default();
    let name = &trigger.name;
    let taken = triggers.iter_mut().any(|other| {
        let place = match first {
            Some(true) => &mut other.first,
            Some(false) => &mut other.last,
            None => return false,
        };
        *of(place) && other.object_id != trigger.object_id
    });
    let Some(own) = triggers.iter_mut().find(|own| own.object_id == trigger.object_id) else { return Ok(()) };
    if own.instead {
        let text = format!("INSTEAD OF trigger '{name}' cannot be associated with an order.");
        return Err(SqlError::new(15133, 16, 1, text));
    }
    if !*of(&mut own.events) {
        return Err(SqlError::new(15125, 16, 1, format!("Trigger '{name}' is not a trigger for '{event}'.")));
    }
    if taken {
        let place = if first == Some(true) { "first" } else { "last" };
        let text = format!("There already exists a '{place}' trigger for '{event}'.");
        return Err(SqlError::new(15130, 16, 1, text));
    }
    *of(&mut own.first) = first == Some(true);
    *of(&mut own.last) = first == Some(false);
    parent.keep(session)
}
