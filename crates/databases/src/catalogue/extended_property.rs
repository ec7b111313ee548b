//! Extended properties: names and values that sp_addextendedproperty gives to objects.

use query::Datum;
use serde::{Deserialize, Serialize};
use tds::{Length, SqlType};

use crate::catalogue::names::same_name;
use crate::catalogue::{ModuleDefinition, TableDefinition};

/// The owner of a property, as numbered in `sys.extended_properties`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PropertyOwner {
    /// Class of the object (`class`).
    pub class: u8,
    /// Id of the object (`major_id`).
    pub major: i32,
    /// Id of a column, parameter or index of the object (`minor_id`); 0: the object itself.
    pub minor: i32,
}

/// An extended property. It is kept in the definition of its table, module or database, and is dropped with
/// it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtendedProperty {
    /// Object that the property belongs to.
    pub owner: PropertyOwner,
    /// Name of the property.
    pub name: String,
    /// Value of the property.
    pub value: PropertyValue,
}

/// A value of sql_variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PropertyValue {
    /// NULL.
    Null,
    /// The usual kind, nvarchar or varchar.
    Text {
        /// Text of the value.
        text: String,
        /// True for nvarchar, false for varchar.
        unicode: bool,
    },
    /// The body of a variant of any other type.
    Variant(Vec<u8>),
}

impl PropertyOwner {
    /// The database itself.
    pub const DATABASE: PropertyOwner = PropertyOwner { class: 0, major: 0, minor: 0 };

    /// Names an object, or a column of it.
    pub fn object(major: i32, minor: i32) -> PropertyOwner {
        PropertyOwner { class: 1, major, minor }
    }

    /// Names a parameter.
    pub fn parameter(major: i32, minor: i32) -> PropertyOwner {
        PropertyOwner { class: 2, major, minor }
    }

    /// Names a schema.
    pub fn schema(schema_id: i32) -> PropertyOwner {
        PropertyOwner { class: 3, major: schema_id, minor: 0 }
    }

    /// Names an index.
    pub fn index(major: i32, index_id: i32) -> PropertyOwner {
        PropertyOwner { class: 7, major, minor: index_id }
    }

    /// Returns `class_desc` in sys.extended_properties.
    pub fn description(self) -> &'static str {
        match self.class {
            0 => "DATABASE",
            2 => "PARAMETER",
            3 => "SCHEMA",
            7 => "INDEX",
            _ => "OBJECT_OR_COLUMN",
        }
    }
}

impl PropertyValue {
    /// Makes a property value of one that the caller has converted to a variant.
    pub fn of(value: &Datum, sql_type: &SqlType) -> PropertyValue {
        match value {
            Datum::Text(text) => PropertyValue::Text { text: text.clone(), unicode: sql_type.is_unicode() },
            Datum::Binary(body) => PropertyValue::Variant(body.clone()),
            _ => PropertyValue::Null,
        }
    }

    /// Returns the value with its type.
    pub fn datum(&self) -> (Datum, SqlType) {
        match self {
            PropertyValue::Null => (Datum::Null, SqlType::SqlVariant),
            PropertyValue::Variant(body) => (Datum::Binary(body.clone()), SqlType::SqlVariant),
            PropertyValue::Text { text, unicode } => {
                let units = text.encode_utf16().count().clamp(1, 4000) as u16;
                let length = Length::Units(units);
                let sql_type =
                    if *unicode { SqlType::NVarChar { length } } else { SqlType::VarChar { length } };
                (Datum::Text(text.clone()), sql_type)
            }
        }
    }
}

/// Returns the property of a name, among those of one owner.
pub fn property_of<'p>(
    properties: &'p [ExtendedProperty],
    owner: PropertyOwner,
    name: &str,
) -> Option<&'p ExtendedProperty> {
    properties.iter().find(|property| property.owner == owner && same_name(&property.name, name))
}

impl TableDefinition {
    /// Returns true if the table still has the object that a property belongs to.
    fn has(&self, owner: PropertyOwner) -> bool {
        match owner.class {
            7 => {
                let keys = self.keys.iter().map(|key| key.index_id);
                keys.chain(self.indexes.iter().map(|index| index.index_id)).any(|id| id == owner.minor)
            }
            _ if owner.minor != 0 => self.columns.iter().any(|column| column.id == owner.minor),
            _ => self.objects().iter().any(|object| object.object_id == owner.major),
        }
    }

    /// Returns the text for the store, without the properties of dropped columns and constraints, whose
    /// numbers may be used again.
    ///
    /// # Errors
    /// The definition cannot be written as JSON, which holds for none of its values.
    pub fn to_properties(&self) -> Result<String, serde_json::Error> {
        if self.extended_properties.iter().all(|property| self.has(property.owner)) {
            return serde_json::to_string(self);
        }
        let mut kept = self.clone();
        kept.extended_properties.retain(|property| self.has(property.owner));
        serde_json::to_string(&kept)
    }
}

impl ModuleDefinition {
    /// Forgets the properties of columns and parameters that the module has no more.
    pub fn prune_properties(&mut self) {
        let columns: Vec<i32> = self.columns.iter().map(|column| column.id).collect();
        let parameters = self.parameters.len();
        self.extended_properties.retain(|property| match property.owner.class {
            2 => usize::try_from(property.owner.minor).is_ok_and(|minor| minor <= parameters),
            _ => property.owner.minor == 0 || columns.contains(&property.owner.minor),
        });
    }
}
