//! Recent bulk loads, a view that SQL Server does not have: how many tasks wrote, and which conditions of minimal logging failed.

use databases::catalogue::same_name;
use query::Datum;
use query::datum::TICKS_PER_SECOND;
use store::RecoveryModel;

use crate::system_views::entry::{Context, Entry};
use crate::view::{View, bit, int, text};

const LOADS: &str = "
    load_id bigint!
    session_id smallint!
    database_id int
    object_id int!
    table_name nvarchar(260)!
    command nvarchar(32)!
    start_time datetime!
    elapsed_ms bigint!
    row_count bigint!
    degree_of_parallelism int!
    non_parallel_reason nvarchar(60)
    recovery_model_desc nvarchar(60)
    is_data_minimally_logged bit
    is_index_minimally_logged bit
    failed_conditions nvarchar(200)
    copied_row_count bigint
    decode_reason nvarchar(60)";

pub(super) const ENTRIES: &[Entry] = &[Entry::new("dm_bulkwire_loads", LOADS, loads)];

fn loads(context: &Context<'_>, view: &mut View) {
    for load in (context.facts.loads)() {
        let databases = &context.facts.directory.databases;
        let database = databases.iter().find(|database| same_name(&database.name, &load.database));
        let writing = &load.writing;
        view.add([
            ("load_id", int(load.id)),
            ("session_id", int(load.spid)),
            ("database_id", database.map_or(Datum::Null, |database| int(database.id))),
            ("object_id", int(load.object_id)),
            ("table_name", text(&load.table)),
            ("command", text(load.command)),
            ("start_time", Datum::Moment(load.began)),
            ("elapsed_ms", int(load.took / (TICKS_PER_SECOND / 1000))),
            ("row_count", int(i64::try_from(writing.rows).unwrap_or(i64::MAX))),
            ("degree_of_parallelism", int(writing.degree as i64)),
            ("non_parallel_reason", writing.serial.map_or(Datum::Null, |reason| text(reason.name()))),
        ]);
        if let Some(wire) = &writing.wire {
            view.set("copied_row_count", int(i64::try_from(wire.copied).unwrap_or(i64::MAX)));
            view.set("decode_reason", wire.reason.map_or(Datum::Null, text));
        }
        if let Some(logging) = &writing.logging {
            let model = match logging.recovery_model {
                RecoveryModel::Full => "FULL",
                RecoveryModel::BulkLogged => "BULK_LOGGED",
                RecoveryModel::Simple => "SIMPLE",
            };
            let failed: Vec<&str> = logging.failed.iter().map(|condition| condition.name()).collect();
            view.set("recovery_model_desc", text(model));
            view.set("is_data_minimally_logged", bit(logging.data_pages));
            view.set("is_index_minimally_logged", bit(logging.index_pages));
            view.set("failed_conditions", text(&failed.join(", ")));
        }
    }
}
