//! sp_helptrigger.

use super::Argument;
use super::parameters::Signature;
use super::shown::Shown;
use crate::catalogue::views::View;
use crate::engine::Datum;
use crate::sql_error::SqlError;
use crate::tsql::parse_object_name;

const HELP_TRIGGER: Signature =
    Signature { name: "sp_helptrigger", parameters: &["@tabname", "@triggertype"], required: 1 };

/// sp_helptrigger: the triggers of a table. Errors: 15009 if there is none of the name, 15305 for an unknown kind.
pub(super) fn help_trigger(shown: &Shown, arguments: &[Argument]) -> Result<View, SqlError> {
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
