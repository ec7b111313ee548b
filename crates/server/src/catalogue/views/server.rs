//! Views of the whole server: databases, types, configuration.

use super::types::SYSTEM_TYPES;
use super::view::{bit, int, text};
use super::{Context, View};
use crate::catalogue::DEFAULT_COLLATION;
use crate::engine::Datum;
use crate::engine::datum::{DAYS_TO_1900, TICKS_PER_DAY};

pub(super) const NAMES: &[&str] = &[
    "databases",
    "types",
    "database_principals",
    "server_principals",
    "configurations",
    "filegroups",
    "dm_exec_sessions",
];

pub(super) fn view(name: &str, context: &Context<'_>) -> Option<View> {
    Some(match name {
        "databases" => databases(context),
        "sysdatabases" => {
            let mut view = View::new(&[("name", "name"), ("dbid", "smallint"), ("status", "int")]);
            for database in &context.facts.directory.databases {
                view.push(vec![text(&database.name), int(database.id), int(0)]);
            }
            view
        }
        "types" => types(),
        "database_principals" => {
            let mut view = View::new(&[
                ("name", "name"),
                ("principal_id", "int"),
                ("type", "char2"),
                ("default_schema_name", "name"),
            ]);
            view.push(vec![text("dbo"), int(1), text("S "), text("dbo")]);
            view
        }
        "server_principals" => {
            let mut view = View::new(&[
                ("name", "name"),
                ("principal_id", "int"),
                ("type", "char2"),
                ("is_disabled", "bit"),
            ]);
            view.push(vec![text(&context.facts.login), int(1), text("S "), bit(false)]);
            view
        }
        "configurations" => View::new(&[
            ("configuration_id", "int"),
            ("name", "name"),
            ("value", "int"),
            ("value_in_use", "int"),
        ]),
        "filegroups" => {
            let mut view = View::new(&[
                ("name", "name"),
                ("data_space_id", "int"),
                ("type", "char2"),
                ("is_default", "bit"),
            ]);
            view.push(vec![text("PRIMARY"), int(1), text("FG"), bit(true)]);
            view
        }
        "dm_exec_sessions" => {
            let mut view = View::new(&[
                ("session_id", "smallint"),
                ("login_name", "name"),
                ("host_name", "name"),
                ("program_name", "name"),
                ("transaction_isolation_level", "smallint"),
            ]);
            let facts = context.facts;
            view.push(vec![
                int(facts.spid),
                text(&facts.login),
                text(&facts.host),
                text(&facts.application),
                int(2),
            ]);
            view
        }
        _ => return None,
    })
}

fn databases(context: &Context<'_>) -> View {
    let mut view = View::new(&[
        ("name", "name"),
        ("database_id", "int"),
        ("source_database_id", "int"),
        ("create_date", "datetime"),
        ("compatibility_level", "tinyint"),
        ("collation_name", "name"),
        ("user_access", "tinyint"),
        ("user_access_desc", "name"),
        ("is_read_only", "bit"),
        ("state", "tinyint"),
        ("state_desc", "name"),
        ("snapshot_isolation_state", "tinyint"),
        ("is_read_committed_snapshot_on", "bit"),
        ("recovery_model", "tinyint"),
        ("recovery_model_desc", "name"),
        ("is_auto_close_on", "bit"),
        ("containment", "tinyint"),
    ]);
    for database in &context.facts.directory.databases {
        view.push(vec![
            text(&database.name),
            int(database.id),
            Datum::Null,
            Datum::Moment(DAYS_TO_1900 * TICKS_PER_DAY),
            int(160),
            text(DEFAULT_COLLATION),
            int(0),
            text("MULTI_USER"),
            bit(false),
            int(0),
            text("ONLINE"),
            int(0),
            // Readers see committed rows and are not blocked.
            bit(true),
            int(3),
            text("SIMPLE"),
            bit(false),
            int(0),
        ]);
    }
    view
}

fn types() -> View {
    let mut view = View::new(&[
        ("name", "name"),
        ("system_type_id", "tinyint"),
        ("user_type_id", "int"),
        ("schema_id", "int"),
        ("principal_id", "int"),
        ("max_length", "smallint"),
        ("precision", "tinyint"),
        ("scale", "tinyint"),
        ("collation_name", "name"),
        ("is_nullable", "bit"),
        ("is_user_defined", "bit"),
        ("is_assembly_type", "bit"),
        ("default_object_id", "int"),
        ("rule_object_id", "int"),
        ("is_table_type", "bit"),
    ]);
    for system in SYSTEM_TYPES {
        let character =
            matches!(system.name, "char" | "varchar" | "nchar" | "nvarchar" | "text" | "ntext" | "sysname");
        view.push(vec![
            text(system.name),
            int(system.system_type_id),
            int(system.user_type_id),
            int(4),
            Datum::Null,
            int(system.max_length),
            int(system.precision),
            int(system.scale),
            if character { text(DEFAULT_COLLATION) } else { Datum::Null },
            bit(system.name != "sysname" && system.name != "timestamp"),
            bit(false),
            bit(system.system_type_id == 240),
            int(0),
            int(0),
            bit(false),
        ]);
    }
    view
}
