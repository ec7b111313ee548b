//! CREATE TYPE, and names of types that only the catalogue knows.

use tds::SqlType;

use super::ast::CreateTable;
use super::names::ObjectName;

/// CREATE TYPE.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateType {
    /// The type.
    pub name: ObjectName,
    /// The definition of the type.
    pub body: TypeBody,
}

/// The definition that CREATE TYPE makes.
#[derive(Debug, Clone, PartialEq)]
pub enum TypeBody {
    /// FROM.
    Alias {
        /// The base type.
        sql_type: SqlType,
        /// True if columns may be NULL unless they say otherwise.
        nullable: bool,
    },
    /// AS TABLE.
    Table(CreateTable),
}

/// The text in place of the assembly, until the type is looked up; no assembly has this name.
const NAMED: &str = "?";

/// Makes a type of which only the name is known.
pub fn named_type(name: &ObjectName) -> SqlType {
    SqlType::Udt {
        database: name.database.clone().unwrap_or_default(),
        schema: name.schema.clone().unwrap_or_default(),
        name: name.name.clone(),
        assembly: NAMED.to_string(),
    }
}

/// Returns the name of a type of which only the name is known.
pub fn name_of_type(sql_type: &SqlType) -> Option<ObjectName> {
    let part = |text: &str| Some(text.to_string()).filter(|text| !text.is_empty());
    match sql_type {
        SqlType::Udt { database, schema, name, assembly } if assembly == NAMED => {
            Some(ObjectName { database: part(database), schema: part(schema), name: name.clone() })
        }
        _ => None,
    }
}
