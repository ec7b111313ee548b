//! Everything of a table that has a name and an `object_id` of its own.

use crate::catalogue::names::same_name;
use crate::catalogue::table::TableDefinition;

/// A table or one of its constraints, as `sys.objects` lists it.
#[derive(Debug, Clone, Copy)]
pub struct Object<'t> {
    /// Name of the object.
    pub name: &'t str,
    /// Id of the object (`object_id`).
    pub object_id: i32,
    /// `parent_object_id`: 0 for the table itself.
    pub parent: i32,
    /// `type`, without padding: U, PK, UQ, C, D, F.
    pub letters: &'static str,
}

impl Object<'_> {
    /// Returns `type_desc` in sys.objects.
    pub fn description(&self) -> &'static str {
        match self.letters {
            "PK" => "PRIMARY_KEY_CONSTRAINT",
            "UQ" => "UNIQUE_CONSTRAINT",
            "C" => "CHECK_CONSTRAINT",
            "D" => "DEFAULT_CONSTRAINT",
            "F" => "FOREIGN_KEY_CONSTRAINT",
            _ => "USER_TABLE",
        }
    }
}

impl TableDefinition {
    /// Lists the table, then its constraints.
    pub fn objects(&self) -> Vec<Object<'_>> {
        let own = self.object_id;
        let constraint = |name, object_id, letters| Object { name, object_id, parent: own, letters };
        let mut objects = vec![Object { name: self.name.as_str(), object_id: own, parent: 0, letters: "U" }];
        objects.extend(
            self.keys.iter().map(|key| {
                constraint(key.name.as_str(), key.object_id, if key.primary { "PK" } else { "UQ" })
            }),
        );
        objects.extend(self.checks.iter().map(|check| constraint(&check.name, check.object_id, "C")));
        let defaults = self.columns.iter().filter_map(|column| column.default.as_ref());
        objects.extend(defaults.map(|default| constraint(&default.name, default.object_id, "D")));
        objects.extend(self.foreign_keys.iter().map(|key| constraint(&key.name, key.object_id, "F")));
        objects
    }

    /// Finds the object of a name, the table itself included.
    pub fn object_named(&self, name: &str) -> Option<Object<'_>> {
        self.objects().into_iter().find(|object| same_name(object.name, name))
    }
}
