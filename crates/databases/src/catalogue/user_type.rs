//! User-defined types: alias types and table types. Each is a table of the store without rows, as a [module](super::module) is.
//! Its store name differs from any object's, since a type and an object may have the same name.

use serde::{Deserialize, Serialize};

use crate::catalogue::names::store_key;
use crate::catalogue::table::TableDefinition;

/// First word of a type's properties.
const MARK: &str = "type ";
/// The first `user_type_id` of a user-defined type.
pub const USER_TYPE_ID_FIRST: i32 = 257;
/// `system_type_id` of a table type.
pub const TABLE_TYPE_ID: i32 = 243;

/// A type made by CREATE TYPE.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserType {
    /// Id of the type (`sys.types.user_type_id`).
    pub id: i32,
    /// Database, as its entry spells it.
    pub database: String,
    /// Schema, as its entry spells it.
    pub schema: String,
    /// Name as created.
    pub name: String,
    /// Kind of the type.
    pub kind: UserTypeKind,
}

/// The kinds of type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum UserTypeKind {
    /// FROM: another name for a type of the system.
    Alias {
        /// The system's type in T-SQL's spelling.
        type_text: String,
        /// True if columns that say nothing else may be NULL.
        nullable: bool,
    },
    /// AS TABLE; the table's `object_id` is `type_table_object_id`.
    Table(Box<TableDefinition>),
}

impl UserType {
    /// Returns the text that the store keeps.
    ///
    /// # Errors
    /// The definition cannot be written as JSON, which holds for none of its values.
    pub fn to_properties(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self).map(|json| format!("{MARK}{json}"))
    }

    /// Parses the type that the properties of a table of the store describe; None if they are of something
    /// else.
    ///
    /// # Errors
    /// The properties are those of a type, and damaged.
    pub fn of(properties: &str) -> Result<Option<UserType>, serde_json::Error> {
        properties.strip_prefix(MARK).map(serde_json::from_str).transpose()
    }

    /// Returns true if a table of the store is a type.
    pub fn is_one(properties: &str) -> bool {
        properties.starts_with(MARK)
    }

    /// Returns the store's name of a type.
    pub fn key(database: &str, schema: &str, name: &str) -> String {
        // No object's name begins so.
        store_key(database, schema, &format!("\u{1}{name}"))
    }

    /// Returns the name as `schema.name`.
    pub fn qualified_name(&self) -> String {
        format!("{}.{}", self.schema, self.name)
    }

    /// Returns the base type of an alias; None of a table type.
    pub fn base(&self) -> Option<(tds::SqlType, bool)> {
        match &self.kind {
            UserTypeKind::Alias { type_text, nullable } => Some((type_text.parse().ok()?, *nullable)),
            UserTypeKind::Table(_) => None,
        }
    }

    /// Returns the table of a table type.
    pub fn table(&self) -> Option<&TableDefinition> {
        match &self.kind {
            UserTypeKind::Table(table) => Some(table),
            UserTypeKind::Alias { .. } => None,
        }
    }
}
