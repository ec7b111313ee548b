//! Triggers, as their table knows them; their text is a [module](super::module).

use serde::{Deserialize, Serialize};
use tsql::module::TriggerEvents;

/// A trigger of a table or view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trigger {
    /// Name of the trigger; its schema is the table's.
    pub name: String,
    /// Id of the trigger (`object_id`).
    pub object_id: i32,
    /// INSTEAD OF rather than AFTER.
    pub instead: bool,
    /// Statements that fire the trigger.
    pub events: TriggerEvents,
    /// True after DISABLE TRIGGER.
    #[serde(default)]
    pub disabled: bool,
    /// The events for which it is the first of its table's triggers.
    #[serde(default)]
    pub first: TriggerEvents,
    /// The events for which it is the last.
    #[serde(default)]
    pub last: TriggerEvents,
}
