//! The catalogue views: `sys.*` and `INFORMATION_SCHEMA.*`, made from the definitions when they are asked for.

mod information_schema;
mod objects;
mod server;
mod types;
mod view;

use std::sync::Arc;

pub use types::{PRODUCT_VERSION, max_length, precision, scale, type_id_of_name, type_name_of_id};
pub use view::View;

use crate::engine::Facts;
use crate::tsql::parse_object_name;

/// `object_id` of system views: negative, as in SQL Server, by their place in the list.
const VIEW_ID_FIRST: i32 = -400;

/// What a view needs: the database that it is asked of, and the number of rows of a table.
pub struct Context<'a> {
    /// The session's facts.
    pub facts: &'a Arc<Facts>,
    /// Database whose objects are shown.
    pub database: &'a str,
    /// Rows by `object_id`.
    pub rows: &'a dyn Fn(i32) -> i64,
}

/// Names of all views, schema first.
pub fn names() -> Vec<(&'static str, &'static str)> {
    objects::NAMES
        .iter()
        .chain(server::NAMES)
        .map(|name| ("sys", *name))
        .chain(information_schema::NAMES.iter().map(|name| ("INFORMATION_SCHEMA", *name)))
        .collect()
}

/// The view of a schema and name, with its rows; None if there is none.
pub fn view(schema: &str, name: &str, context: &Context<'_>) -> Option<View> {
    let name = name.to_ascii_lowercase();
    if schema.eq_ignore_ascii_case("sys") {
        return objects::view(&name, context).or_else(|| server::view(&name, context));
    }
    if schema.eq_ignore_ascii_case("INFORMATION_SCHEMA") {
        return information_schema::view(&name, context);
    }
    // The old names without a schema of their own.
    match name.as_str() {
        "sysobjects" | "syscolumns" | "systypes" | "sysdatabases" | "sysindexes" => {
            server::view(&name, context)
        }
        _ => None,
    }
}

/// `object_id` of a view that a text such as `sys.tables` names.
pub fn view_id(text: &str) -> Option<i32> {
    let wanted = parse_object_name(text).ok()?;
    let schema = wanted.schema.as_deref().unwrap_or("sys");
    let position = names().iter().position(|(own, name)| {
        own.eq_ignore_ascii_case(schema) && name.eq_ignore_ascii_case(&wanted.name)
    })?;
    Some(VIEW_ID_FIRST - i32::try_from(position).ok()?)
}
