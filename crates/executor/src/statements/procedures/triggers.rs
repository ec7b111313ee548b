//! sp_helptrigger and sp_settriggerorder.

use introspection::system_views::View;
use query::Datum;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::module::{ModuleBody, TriggerEvents};
use tsql::parse_object_name;

use crate::session::Session;
use crate::statements::ddl::trigger::order_trigger;
use crate::statements::procedures::argument::Argument;
use crate::statements::procedures::catalogue::shown::Shown;
use crate::statements::procedures::parameters::Signature;

const HELP_TRIGGER: Signature =
    Signature { name: "sp_helptrigger", parameters: &["@tabname", "@triggertype"], required: 1 };

/// Runs sp_helptrigger: the triggers of a table. Errors: 15009 if there is none of the name, 15305 for an unknown kind.
pub(crate) fn help_trigger(shown: &Shown, arguments: &[Argument]) -> Result<View, SqlError> {
    let parameters = HELP_TRIGGER.bind(arguments)?;
    let written = parameters.text(0).unwrap_or_default();
    let name = parse_object_name(&written).ok();
    let table = name.and_then(|name| shown.table(&name.name, name.schema.as_deref()));
    let (table, _) = table.ok_or_else(|| {
        let text = format!(
            "The object '{written}' does not exist in database '{}' or is invalid for this operation.",
            shown.database
        );
        SqlError::new(15009, 16, 1, text)
    })?;
    let wanted = parameters.text(1).map(|kind| kind.trim().to_ascii_uppercase());
    let mut view = View::new(&[
        ("trigger_name", "name!"),
        ("trigger_owner", "name"),
        ("isupdate", "int!"),
        ("isdelete", "int!"),
        ("isinsert", "int!"),
        ("isafter", "int!"),
        ("isinsteadof", "int!"),
        ("trigger_schema", "name!"),
    ]);
    for trigger in &table.triggers {
        let events = trigger.events;
        let shows = match wanted.as_deref() {
            None => true,
            Some("INSERT") => events.insert,
            Some("UPDATE") => events.update,
            Some("DELETE") => events.delete,
            Some(_) => {
                let text = "Valid trigger types are INSERT, UPDATE and DELETE.";
                return Err(SqlError::new(15305, 16, 1, text));
            }
        };
        if shows {
            let flag = |flag: bool| Datum::Int(i64::from(flag));
            view.push(vec![
                Datum::Text(trigger.name.clone()),
                Datum::Text("dbo".to_string()),
                flag(events.update),
                flag(events.delete),
                flag(events.insert),
                flag(!trigger.instead),
                flag(trigger.instead),
                Datum::Text(table.schema.clone()),
            ]);
        }
    }
    Ok(view)
}

const SET_TRIGGER_ORDER: Signature = Signature {
    name: "sp_settriggerorder",
    parameters: &["@triggername", "@order", "@stmttype", "@namespace"],
    required: 3,
};

/// Runs sp_settriggerorder. Errors: 15165 if there is no such trigger, 15600 for meaningless arguments, 40515 for
/// triggers of a database or the server, and those of the trigger itself.
pub(crate) fn set_trigger_order(session: &mut Session, arguments: &[Argument]) -> Result<(), SqlError> {
    let parameters = SET_TRIGGER_ORDER.bind(arguments)?;
    if parameters.text(3).is_some() {
        return Err(SqlError::unsupported("sp_settriggerorder of a DDL or logon trigger"));
    }
    let invalid = || {
        let text = "An invalid parameter or option was specified for procedure 'sp_settriggerorder'.";
        SqlError::new(15600, 15, 1, text)
    };
    let word = |at: usize| parameters.text(at).map(|word| word.trim().to_ascii_uppercase());
    let first = match word(1).as_deref() {
        Some("FIRST") => Some(true),
        Some("LAST") => Some(false),
        Some("NONE") => None,
        _ => return Err(invalid()),
    };
    let event: (&str, fn(&mut TriggerEvents) -> &mut bool) = match word(2).as_deref() {
        Some("INSERT") => ("INSERT", |events| &mut events.insert),
        Some("UPDATE") => ("UPDATE", |events| &mut events.update),
        Some("DELETE") => ("DELETE", |events| &mut events.delete),
        _ => return Err(invalid()),
    };
    let written = parameters.text(0).unwrap_or_default();
    let missing = || {
        let text = format!("Could not find object '{written}' or you do not have permission.");
        SqlError::new(15165, 16, 1, text)
    };
    let name = parse_object_name(&written).map_err(|_| missing())?;
    let database = name.database.clone().unwrap_or_else(|| session.database.clone());
    let found = session.work.find_module(&name, &database)?;
    let (_, module) = found.filter(|(_, found)| found.definition.parent_id != 0).ok_or_else(missing)?;
    let Some(ModuleBody::Trigger { table, .. }) = module.body()? else {
        return Err(missing());
    };
    let table = ObjectName {
        database: Some(module.definition.database.clone()),
        schema: table.schema.clone().or_else(|| Some(module.definition.schema.clone())),
        name: table.name.clone(),
    };
    let mark = session.work.start_change()?;
    let result = order_trigger(session, &module.definition, &table, event, first);
    session.work.end_statement(&mark, result.is_ok())?;
    result
}
