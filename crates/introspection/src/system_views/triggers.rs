//! Triggers in the catalogue.

use databases::catalogue::{ModuleDefinition, ModuleKind, Trigger};

use crate::system_views::entry::Context;
use crate::system_views::modules;
use crate::view::{View, bit, int, kind, moment, text};

/// Lists each trigger with its entry at its table.
fn of(context: &Context<'_>) -> Vec<(ModuleDefinition, Trigger)> {
    let all = modules::of(context);
    let tables = context.tables();
    let entries = tables
        .iter()
        .flat_map(|table| &table.triggers)
        .chain(all.iter().flat_map(|module| &module.definition.triggers));
    entries
        .filter_map(|trigger| {
            let own = all.iter().find(|module| {
                module.definition.kind == ModuleKind::Trigger
                    && module.definition.object_id == trigger.object_id
            })?;
            Some((own.definition.clone(), trigger.clone()))
        })
        .collect()
}

/// Fills sys.triggers.
pub(super) fn triggers(context: &Context<'_>, view: &mut View) {
    for (definition, trigger) in of(context) {
        view.add([
            ("name", text(&definition.name)),
            ("object_id", int(definition.object_id)),
            ("parent_class", int(1)),
            ("parent_class_desc", text("OBJECT_OR_COLUMN")),
            ("parent_id", int(definition.parent_id)),
            ("type", kind("TR")),
            ("type_desc", text("SQL_TRIGGER")),
            ("create_date", moment(definition.created_us)),
            ("modify_date", moment(definition.modified_us)),
            ("is_disabled", bit(trigger.disabled)),
            ("is_instead_of_trigger", bit(trigger.instead)),
        ]);
    }
}

/// Fills sys.trigger_events.
pub(super) fn trigger_events(context: &Context<'_>, view: &mut View) {
    for (definition, trigger) in of(context) {
        let events = trigger.events;
        let (first, last) = (trigger.first, trigger.last);
        for (fires, number, name, first, last) in [
            (events.insert, 1, "INSERT", first.insert, last.insert),
            (events.update, 2, "UPDATE", first.update, last.update),
            (events.delete, 3, "DELETE", first.delete, last.delete),
        ] {
            if fires {
                view.add([
                    ("object_id", int(definition.object_id)),
                    ("type", int(number)),
                    ("type_desc", text(name)),
                    ("is_first", bit(first)),
                    ("is_last", bit(last)),
                ]);
            }
        }
    }
}
