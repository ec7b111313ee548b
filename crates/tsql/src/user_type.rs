//! CREATE TYPE, and names of types that only the catalogue knows.

use tds::SqlType;

use super::ast::CreateTable;
use super::names::ObjectName;

/// CREATE TYPE.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateType {
    /// The type.
    pub name: ObjectName,
    /// What it is.
    pub body: TypeBody,
}

/// What CREATE TYPE makes.
#[derive(Debug, Clone, PartialEq)]
pub enum TypeBody {
    /// FROM.
    Alias {
        /// The base type.
        sql_type: SqlType,
        /// Whether columns may be NULL that say nothing else.
        nullable: bool,
    },
    /// AS TABLE.
    Table(CreateTable),
}

/// What stands in the place of the assembly of a type that is not looked up yet; no assembly is called so.
const NAMED: &str = "?";

/// A type of which only the name is known.
pub fn named_type(name: &ObjectName) -> SqlType {
    SqlType::Udt {
        database: name.database.clone().unwrap_or_default(),
        schema: name.schema.clone().unwrap_or_default(),
        name: name.name.clone(),
        assembly: NAMED.to_string(),
    }
}

/// The name of a type of which only the name is known.
pub fn name_of_type(sql_type: &SqlType) -> Option<ObjectName> {
    let part = |text: &str| Some(text.to_string()).filter(|text| !text.is_empty());
    match sql_type {
        SqlType::Udt { database, schema, name, assembly } if assembly == NAMED => {
            Some(ObjectName { database: part(database), schema: part(schema), name: name.clone() })
        }
        _ => None,
    }
}
