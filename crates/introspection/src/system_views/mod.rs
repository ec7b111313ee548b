//! The catalogue views: `sys.*` and `INFORMATION_SCHEMA.*`, made from the definitions when they are asked for.

mod absent;
mod activity;
mod activity_of_sessions;
mod columns;
mod compatibility;
mod constraints;
mod entry;
mod extended_properties;
mod files;
mod functions;
mod indexes;
mod information_schema;
mod loads;
mod log;
mod modules;
mod objects;
mod partition_schemes;
mod partitions;
mod physical;
mod server;
mod standard_routines;
mod system_objects;
mod time_zones;
mod triggers;
mod user_types;

use std::sync::Arc;

use tsql::parse_object_name;

pub use activity::{edition, service};
pub use files::log_name;
pub use functions::function;
pub use indexes::index_rows;
pub use log::recovery_model;
pub use modules::as_tables;
pub use partitions::{index_id_of, partition_id, space_of};
pub use physical::by_index;
pub use query::system_types::{max_length, precision, scale, type_id_of_name};

pub use crate::view::View;
pub use entry::Context;

use crate::facts::Facts;
use crate::system_views::entry::{Entry, PartitionRows, VIEW_ID_FIRST};

/// All system views, by the files that have them.
const VIEWS: &[&[Entry]] = &[
    objects::ENTRIES,
    columns::ENTRIES,
    indexes::ENTRIES,
    partitions::ENTRIES,
    partition_schemes::ENTRIES,
    files::ENTRIES,
    log::ENTRIES,
    activity::ENTRIES,
    constraints::ENTRIES,
    server::ENTRIES,
    compatibility::ENTRIES,
    information_schema::ENTRIES,
    loads::ENTRIES,
    extended_properties::ENTRIES,
    system_objects::ENTRIES,
    time_zones::ENTRIES,
    standard_routines::ENTRIES,
    activity_of_sessions::ENTRIES,
    absent::ENTRIES,
];

impl<'a> Context<'a> {
    /// Creates the context for views of a database. `rows` has the row counts of tables by `object_id`, and
    /// `partition_rows` counts those of partitions.
    pub fn new(
        facts: &'a Arc<Facts>,
        database: &'a str,
        rows: &'a dyn Fn(i32) -> i64,
        partition_rows: &'a PartitionRows<'a>,
    ) -> Context<'a> {
        Context { facts, database, rows, partition_rows, views: VIEWS }
    }
}

fn all() -> impl Iterator<Item = &'static Entry> {
    VIEWS.iter().copied().flatten()
}

/// Lists the names of all views, schema first.
pub fn names() -> Vec<(&'static str, &'static str)> {
    all().map(|entry| (entry.schema, entry.name)).collect()
}

/// Makes the view of a schema and name, with its rows; None if there is none. Without a schema only the views
/// of SQL Server 2000 are found (`sysobjects`).
pub fn view(schema: &str, name: &str, context: &Context<'_>) -> Option<View> {
    let named = |entry: &&Entry| entry.name.eq_ignore_ascii_case(name);
    let entry = if schema.is_empty() || schema.eq_ignore_ascii_case("dbo") {
        compatibility::ENTRIES.iter().find(named)?
    } else {
        all().filter(|entry| entry.schema.eq_ignore_ascii_case(schema)).find(named)?
    };
    let mut view = View::shaped(entry.shape);
    (entry.fill)(context, &mut view);
    Some(view)
}

fn id_of(schema: &str, name: &str) -> Option<i32> {
    let position = all().position(|entry| {
        entry.schema.eq_ignore_ascii_case(schema) && entry.name.eq_ignore_ascii_case(name)
    })?;
    Some(VIEW_ID_FIRST - i32::try_from(position).ok()?)
}

/// Returns the `object_id` of a view that a text such as `sys.tables` names.
pub fn view_id(text: &str) -> Option<i32> {
    let wanted = parse_object_name(text).ok()?;
    id_of(wanted.schema.as_deref().unwrap_or("sys"), &wanted.name)
}

/// Returns schema and name of the view with an `object_id`.
pub fn view_of_id(object_id: i64) -> Option<(&'static str, &'static str)> {
    let position = i64::from(VIEW_ID_FIRST).checked_sub(object_id)?;
    all().nth(usize::try_from(position).ok()?).map(|entry| (entry.schema, entry.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_view_has_columns_of_known_types_and_a_name_of_its_own() {
        let mut seen = std::collections::HashSet::new();
        for entry in all() {
            assert!(seen.insert((entry.schema, entry.name.to_lowercase())), "{} twice", entry.name);
            for line in entry.shape.lines().map(str::trim).filter(|line| !line.is_empty()) {
                let (declared, _) = crate::view::declared_and_default(line);
                let (name, kind) = declared.split_once(' ').unwrap_or((declared, ""));
                let kind = kind.trim_end_matches('!');
                let known =
                    matches!(kind, "text" | "sysname" | "guid") || kind.parse::<tds::SqlType>().is_ok();
                assert!(known, "{}.{name}: {kind:?} is no type", entry.name);
            }
        }
    }

    #[test]
    fn every_view_can_be_filled() {
        let directory = Arc::new(databases::catalogue::Directory::default());
        let facts = Arc::new(Facts::new("master", directory, Box::new(|| Ok(Vec::new()))));
        let context = Context::new(&facts, "master", &|_| 0, &|_, _, _| Ok(Vec::new()));
        for entry in all() {
            let view = view(entry.schema, entry.name, &context);
            assert!(view.is_some_and(|view| view.batch().is_ok()), "{}", entry.name);
            assert_eq!(
                id_of(entry.schema, entry.name).and_then(|id| view_of_id(i64::from(id))),
                Some((entry.schema, entry.name))
            );
        }
    }
}
