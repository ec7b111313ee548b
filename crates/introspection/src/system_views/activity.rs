//! Current activity: waits, locks, requests, counters, and the use of a service tier.

use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use databases::catalogue::TableDefinition;
use databases::instance::registry::{Activity, COMMANDS};
use databases::storage::{Figures, all_caches, file_id, waits_by_type};
use query::Datum;
use store::{LockRow, LockStatus, Resource, ServiceTier, WaitType, lock_usage};

use crate::system_views::entry::{Context, Entry};
use crate::view::{View, int, moment, text};

const WAIT_STATS: &str = "
    wait_type nvarchar(60)!
    waiting_tasks_count bigint!
    wait_time_ms bigint!
    max_wait_time_ms bigint!
    signal_wait_time_ms bigint!";

const COUNTERS: &str = "
    object_name nchar(128)!
    counter_name nchar(128)!
    instance_name nchar(128)
    cntr_value bigint!
    cntr_type int!";

const LOCKS: &str = "
    resource_type nvarchar(60)!
    resource_subtype nvarchar(60)! =
    resource_database_id int!
    resource_description nvarchar(256)! =
    resource_associated_entity_id bigint
    resource_lock_partition int! = 0
    request_mode nvarchar(60)!
    request_type nvarchar(60)! = LOCK
    request_status nvarchar(60)!
    request_reference_count smallint! = 1
    request_lifetime int! = 0
    request_session_id int!
    request_exec_context_id int! = 0
    request_request_id int! = 0
    request_owner_type nvarchar(60)! = TRANSACTION
    request_owner_id bigint
    request_owner_guid uniqueidentifier
    request_owner_lockspace_id nvarchar(32)! =
    lock_owner_address varbinary(8)";

const SESSION_WAIT_STATS: &str = "
    session_id smallint!
    wait_type nvarchar(60)!
    waiting_tasks_count bigint!
    wait_time_ms bigint!
    max_wait_time_ms bigint!
    signal_wait_time_ms bigint!";

const WAITING_TASKS: &str = "
    waiting_task_address varbinary(8)
    session_id smallint
    exec_context_id int = 0
    wait_duration_ms bigint
    wait_type nvarchar(60)
    resource_address varbinary(8)
    blocking_task_address varbinary(8)
    blocking_session_id smallint
    blocking_exec_context_id int
    resource_description nvarchar(3072)";

const REQUESTS: &str = "
    session_id smallint!
    request_id int! = 0
    start_time datetime!
    status nvarchar(30)!
    command nvarchar(32)! =
    sql_handle varbinary(64)
    statement_start_offset int
    statement_end_offset int
    plan_handle varbinary(64)
    database_id smallint!
    user_id int! = 1
    connection_id uniqueidentifier
    blocking_session_id smallint = 0
    wait_type nvarchar(60)
    wait_time int! = 0
    last_wait_type nvarchar(60)! =
    wait_resource nvarchar(256)! =
    open_transaction_count int! = 0
    open_resultset_count int! = 1
    transaction_id bigint! = 0";

const RESOURCE_STATS: &str = "
    end_time datetime!
    avg_cpu_percent decimal(5,2)
    avg_data_io_percent decimal(5,2)
    avg_log_write_percent decimal(5,2)
    avg_memory_usage_percent decimal(5,2)
    xtp_storage_percent decimal(5,2)
    max_worker_percent decimal(5,2)
    max_session_percent decimal(5,2)
    dtu_limit int
    cpu_limit decimal(5,2)
    avg_instance_cpu_percent decimal(5,2)
    avg_instance_memory_percent decimal(5,2)
    avg_login_rate_percent decimal(5,2)
    replica_role int = 0";

const SERVICE_OBJECTIVES: &str = "
    database_id int!
    edition sysname
    service_objective sysname
    elastic_pool_name sysname";

pub(super) const ENTRIES: &[Entry] = &[
    Entry::new("dm_os_wait_stats", WAIT_STATS, wait_stats),
    Entry::new("dm_exec_session_wait_stats", SESSION_WAIT_STATS, session_wait_stats),
    Entry::new("dm_os_performance_counters", COUNTERS, performance_counters),
    Entry::new("dm_tran_locks", LOCKS, locks),
    Entry::new("dm_os_waiting_tasks", WAITING_TASKS, waiting_tasks),
    Entry::new("dm_exec_requests", REQUESTS, requests),
    Entry::new("dm_db_resource_stats", RESOURCE_STATS, resource_stats),
    Entry::new("database_service_objectives", SERVICE_OBJECTIVES, service_objectives),
];

fn milliseconds(time: Duration) -> Datum {
    Datum::Int(i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
}

fn wait_stats(context: &Context<'_>, view: &mut View) {
    // The view adds up the waits of all databases, and those that belong to no database.
    let waits = context.facts.all_figures().flat_map(|figures| figures.engine().waits());
    for (name, wait) in waits_by_type(waits.chain((context.facts.waits)())) {
        view.add([
            ("wait_type", text(name)),
            ("waiting_tasks_count", Datum::Int(wait.count as i64)),
            ("wait_time_ms", milliseconds(wait.total)),
            ("max_wait_time_ms", milliseconds(wait.longest)),
            ("signal_wait_time_ms", milliseconds(wait.signal)),
        ]);
    }
}

/// Lists the waits of the open sessions. Waits of a parallel query's other threads are counted for the server
/// alone.
fn session_wait_stats(context: &Context<'_>, view: &mut View) {
    for session in (context.facts.sessions)() {
        for wait in session.activity.waits.counts() {
            view.add([
                ("session_id", int(session.spid)),
                ("wait_type", text(wait.wait.name())),
                ("waiting_tasks_count", Datum::Int(wait.count as i64)),
                ("wait_time_ms", milliseconds(wait.total)),
                ("max_wait_time_ms", milliseconds(wait.longest)),
                ("signal_wait_time_ms", milliseconds(wait.signal)),
            ]);
        }
    }
}

/// A value as it is now.
const NOW: i32 = 65_792;
/// A count that only grows: readers take the difference of two readings.
const PER_SECOND: i32 = 272_696_576;
/// A share, to be divided by its base.
const SHARE: i32 = 537_003_264;
/// The base of a share.
const BASE: i32 = 1_073_939_712;

fn performance_counters(context: &Context<'_>, view: &mut View) {
    let mut add = |object: &str, counter: &str, instance: &str, value: u64, kind: i32| {
        view.add([
            ("object_name", text(&format!("SQLServer:{object}"))),
            ("counter_name", text(counter)),
            ("instance_name", text(instance)),
            ("cntr_value", Datum::Int(value as i64)),
            ("cntr_type", int(kind)),
        ]);
    };
    let sessions = (context.facts.sessions)().len();
    add("General Statistics", "User Connections", "", sessions as u64, NOW);
    if let Some(counts) = &context.facts.counts {
        add("General Statistics", "Logins/sec", "", counts.logins.get(), PER_SECOND);
        add("SQL Statistics", "Batch Requests/sec", "", counts.batch_requests(), PER_SECOND);
        add(
            "SQL Errors",
            "Errors/sec",
            "_Total",
            counts.errors().map(|(_, errors)| errors).sum(),
            PER_SECOND,
        );
    }
    let caches = context.facts.all_figures().map(|figures| figures.engine().cache_counts());
    let Some(cache) = all_caches(caches) else { return };
    for (counter, value, kind) in [
        ("Buffer cache hit ratio", cache.lookups.saturating_sub(cache.misses), SHARE),
        ("Buffer cache hit ratio base", cache.lookups, BASE),
        ("Page lookups/sec", cache.lookups, PER_SECOND),
        ("Database pages", cache.pages, NOW),
        ("Target pages", cache.limit_pages, NOW),
        ("Page reads/sec", cache.misses, PER_SECOND),
        ("Page writes/sec", cache.written_back, PER_SECOND),
    ] {
        add("Buffer Manager", counter, "", value, kind);
    }
    let locks: Vec<_> = context.facts.all_figures().map(|figures| lock_usage(figures.engine())).collect();
    let lock_waits = context.facts.all_figures().flat_map(|figures| figures.engine().waits());
    let lock_waits: Vec<_> = lock_waits.filter(|wait| matches!(wait.wait, WaitType::Lock(_))).collect();
    let wait_time = lock_waits.iter().map(|wait| wait.total).sum::<Duration>();
    for (counter, value, kind) in [
        ("Lock Timeouts (timeout > 0)/sec", locks.iter().map(|lock| lock.timeouts).sum(), PER_SECOND),
        ("Lock Wait Time (ms)", u64::try_from(wait_time.as_millis()).unwrap_or(u64::MAX), NOW),
        ("Lock Waits/sec", lock_waits.iter().map(|wait| wait.count).sum(), PER_SECOND),
        ("Number of Deadlocks/sec", locks.iter().map(|lock| lock.deadlocks).sum(), PER_SECOND),
    ] {
        add("Locks", counter, "_Total", value, kind);
    }
    let databases = context.facts.directory.databases.iter();
    let counted = databases
        .filter_map(|database| Some((&database.name, database_counters(context.figures(&database.name)?))));
    let mut total: Vec<(&'static str, u64, i32)> = Vec::new();
    for (instance, counters) in counted {
        for (at, (counter, value, kind)) in counters.into_iter().enumerate() {
            add("Databases", counter, instance, value, kind);
            match total.get_mut(at) {
                Some((_, sum, _)) => *sum += value,
                None => total.push((counter, value, kind)),
            }
        }
    }
    let value_of =
        |name: &str| total.iter().find(|(counter, ..)| *counter == name).map(|(_, value, _)| *value);
    let (used, size) = (value_of("Log File(s) Used Size (KB)"), value_of("Log File(s) Size (KB)"));
    for (counter, value, kind) in &total {
        // Shares are not added up.
        let value = match (*counter, used, size) {
            ("Percent Log Used", Some(used), Some(size)) => used * 100 / size.max(1),
            _ => *value,
        };
        add("Databases", counter, "_Total", value, *kind);
    }
}

fn database_counters(figures: &Figures) -> Vec<(&'static str, u64, i32)> {
    let engine = figures.engine();
    let (counters, flushes, log) = (engine.counters(), engine.log_flushes(), engine.log_space());
    let data_pages: u64 = engine.data_files().iter().map(|file| file.size_pages).sum();
    let write_log = engine.waits().into_iter().find(|wait| wait.wait.name() == "WRITELOG");
    vec![
        ("Data File(s) Size (KB)", data_pages * 8, NOW),
        ("Log File(s) Size (KB)", log.total_bytes / 1024, NOW),
        ("Log File(s) Used Size (KB)", log.used_bytes / 1024, NOW),
        ("Percent Log Used", log.used_percent as u64, NOW),
        ("Active Transactions", lock_usage(engine).transactions, NOW),
        ("Transactions/sec", counters.transactions, PER_SECOND),
        ("Bulk Copy Rows/sec", counters.bulk_rows, PER_SECOND),
        ("Bulk Copy Throughput/sec", counters.bulk_bytes / 1024, PER_SECOND),
        ("Log Bytes Flushed/sec", flushes.flushed_bytes, PER_SECOND),
        ("Log Flush Waits/sec", flushes.waits, PER_SECOND),
        ("Log Flush Wait Time", write_log.map_or(0, |wait| wait.total.as_millis() as u64), NOW),
        ("Log Flushes/sec", flushes.flushes, PER_SECOND),
        ("Log Truncations", flushes.truncated_files, NOW),
        ("Log Growths", flushes.growths, NOW),
        ("Write Transactions/sec", counters.write_transactions, PER_SECOND),
    ]
}

/// Finds the definition of the engine's table, committed or not yet.
fn definition_of<'c>(
    context: &'c Context<'_>,
    figures: &Figures,
    object: u32,
) -> Option<&'c TableDefinition> {
    let table = figures.table_of(object)?;
    let mut all = context.facts.tables().iter();
    all.find(|own| figures.table(own).is_some_and(|own| own.object == table.object)).map(AsRef::as_ref)
}

/// Returns the resource of a lock: database, `resource_associated_entity_id`, `resource_description`.
fn resource(
    context: &Context<'_>,
    (database, figures): (i64, &Figures),
    lock: &LockRow,
) -> (i64, Option<i64>, String) {
    let (object, description) = match &lock.resource {
        Resource::Database => (None, String::new()),
        Resource::Name(name) => (None, name.clone()),
        Resource::Object(object) => (Some(*object), String::new()),
        Resource::Page { object, page } => (Some(*object), format!("{}:{}", file_id(page.file), page.page)),
        Resource::Row { object, row } => {
            (Some(*object), format!("{}:{}:{}", file_id(row.page.file), row.page.page, row.slot))
        }
        Resource::Key { object, hash } => (Some(*object), format!("({hash:016x})")),
    };
    let definition = object.and_then(|object| definition_of(context, figures, object));
    let entity = definition.map(|table| i64::from(table.object_id));
    (database, entity, description)
}

/// Lists the locks of sessions. Those that the engine takes for itself are left out.
fn locks(context: &Context<'_>, view: &mut View) {
    let locks = of_databases(context)
        .flat_map(|of| of.1.engine().locks().into_iter().map(move |lock| (of, lock)))
        .filter_map(|(of, lock)| Some((of.1.session_of(lock.transaction)?, of, lock)));
    for (session, of, lock) in locks {
        let (database, entity, description) = resource(context, of, &lock);
        view.add([
            ("resource_type", text(lock.resource.type_name())),
            ("resource_database_id", Datum::Int(database)),
            ("resource_description", Datum::Text(description)),
            ("resource_associated_entity_id", entity.map_or(Datum::Null, Datum::Int)),
            ("request_mode", text(lock.mode.name())),
            ("request_status", text(lock.status.name())),
            ("request_session_id", int(session)),
            ("request_owner_id", Datum::Int(lock.transaction as i64)),
        ]);
    }
}

/// Lists the databases that have figures: number and figures.
fn of_databases<'c>(context: &'c Context<'_>) -> impl Iterator<Item = (i64, &'c Figures)> {
    let databases = context.facts.directory.databases.iter();
    databases.filter_map(|database| Some((i64::from(database.id), context.figures(&database.name)?)))
}

/// A session that waits for a lock.
struct LockWaiter<'c> {
    session: u16,
    /// Lock that the session waits for.
    lock: LockRow,
    of: (i64, &'c Figures),
    blocker: Option<u16>,
}

fn waiters<'c>(context: &'c Context<'_>) -> impl Iterator<Item = LockWaiter<'c>> {
    of_databases(context).flat_map(|of| {
        let waiting = of.1.engine().locks().into_iter().filter(|lock| lock.status != LockStatus::Granted);
        waiting.filter_map(move |lock| {
            let session = of.1.session_of(lock.transaction)?;
            let blocker = lock.blockers.iter().find_map(|blocker| of.1.session_of(*blocker));
            Some(LockWaiter { session, lock, of, blocker })
        })
    })
}

/// Names the resource of a lock as `wait_resource` does.
fn wait_resource(context: &Context<'_>, of: (i64, &Figures), lock: &LockRow) -> String {
    let (database, entity, description) = resource(context, of, lock);
    match (entity, description.is_empty()) {
        (Some(entity), true) => format!("{}: {database}:{entity}:0", lock.resource.type_name()),
        (_, false) => format!("{}: {database}:{description}", lock.resource.type_name()),
        (None, true) => format!("{}: {database}", lock.resource.type_name()),
    }
}

fn waiting_tasks(context: &Context<'_>, view: &mut View) {
    for LockWaiter { session, lock, of, blocker } in waiters(context) {
        view.add([
            ("session_id", int(session)),
            ("wait_duration_ms", milliseconds(lock.waited)),
            ("wait_type", text(lock.mode.wait_name())),
            ("blocking_session_id", blocker.map_or(Datum::Null, int)),
            ("resource_description", Datum::Text(wait_resource(context, of, &lock))),
        ]);
    }
}

/// Returns the command of a session's statement.
fn command(activity: &Activity) -> Datum {
    text(COMMANDS.get(usize::from(activity.command.load(Ordering::Relaxed))).unwrap_or(&""))
}

/// Lists the session's own request, those of others that wait for locks, and all others that run.
fn requests(context: &Context<'_>, view: &mut View) {
    let facts = context.facts;
    let current = facts.current().map_or(Datum::Null, |database| int(database.id));
    view.add([
        ("session_id", int(facts.spid)),
        ("start_time", facts.now_moment()),
        ("status", text("running")),
        ("command", text("SELECT")),
        ("database_id", current),
        ("open_transaction_count", Datum::Int(facts.transaction_count)),
    ]);
    let others = (facts.sessions)();
    let mut shown = vec![facts.spid];
    for LockWaiter { session, lock, of, blocker } in
        waiters(context).filter(|waiter| waiter.session != facts.spid)
    {
        shown.push(session);
        let (database, ..) = of;
        let since = facts.now - i64::try_from(lock.waited.as_micros()).unwrap_or(0).saturating_mul(10);
        view.add([
            ("session_id", int(session)),
            // Time at which the lock was asked for; the time of the request is not kept.
            ("start_time", Datum::Moment(since)),
            ("status", text("suspended")),
            (
                "command",
                others
                    .iter()
                    .find(|other| other.spid == session)
                    .map_or(text(""), |other| command(&other.activity)),
            ),
            ("database_id", Datum::Int(database)),
            ("blocking_session_id", blocker.map_or(Datum::Int(0), int)),
            ("wait_type", text(lock.mode.wait_name())),
            ("wait_time", milliseconds(lock.waited)),
            ("last_wait_type", text(lock.mode.wait_name())),
            ("wait_resource", Datum::Text(wait_resource(context, of, &lock))),
            ("open_transaction_count", int(1)),
            ("transaction_id", Datum::Int(lock.transaction as i64)),
        ]);
    }
    for session in others.iter().filter(|session| !shown.contains(&session.spid)) {
        let activity = &session.activity;
        if !activity.is_running.load(Ordering::Relaxed) {
            continue;
        }
        let now = activity.waits.now();
        let name = |wait: Option<WaitType>| wait.map_or("", WaitType::name);
        view.add([
            ("session_id", int(session.spid)),
            ("start_time", Datum::Moment(activity.request_began.load(Ordering::Relaxed))),
            ("status", text(if now.is_some() { "suspended" } else { "running" })),
            ("command", command(activity)),
            // The database in which the session works is not kept.
            ("database_id", int(0)),
            ("wait_type", now.map_or(Datum::Null, |(wait, _)| text(wait.name()))),
            ("wait_time", milliseconds(now.map_or(Duration::ZERO, |(_, waited)| waited))),
            ("last_wait_type", text(name(now.map(|(wait, _)| wait).or(activity.waits.last())))),
            ("open_transaction_count", Datum::Int(activity.transactions.load(Ordering::Relaxed).into())),
        ]);
    }
}

/// Makes a share in units of 0.01, at most 999.99.
fn percent(value: f64) -> Datum {
    Datum::Decimal((value * 100.0).round().clamp(0.0, 99_999.0) as i128)
}

/// Fills `sys.dm_db_resource_stats`. Figures that are not measured are NULL.
fn resource_stats(context: &Context<'_>, view: &mut View) {
    let Some(figures) = context.figures(context.database) else { return };
    let limits = figures.engine().resource_limits();
    for sample in figures.engine().resource_samples() {
        let since_1970 = sample.end.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        view.add([
            ("end_time", moment(since_1970.as_micros() as i64)),
            ("avg_cpu_percent", percent(sample.processor_percent)),
            ("avg_log_write_percent", percent(sample.log_write_percent)),
            ("avg_memory_usage_percent", percent(sample.memory_percent)),
            ("dtu_limit", sample.dtu_limit.map_or(Datum::Null, |dtu| Datum::Int(i64::from(dtu)))),
        ]);
        // Processors are limited only where the purchasing model has no DTUs.
        let processors = limits.and_then(|limits| limits.processors).filter(|_| sample.dtu_limit.is_none());
        if let Some(processors) = processors {
            view.set("cpu_limit", percent(processors));
        }
    }
}

/// Returns edition and service objective of the limits that are set; None if there are no limits.
pub fn service(figures: &Figures) -> Option<(&'static str, &'static str)> {
    let limits = figures.engine().resource_limits()?;
    Some(match limits.tier {
        None => ("Custom", "Custom"),
        Some(tier) => (edition(tier), tier.name()),
    })
}

/// Returns the edition that a tier belongs to.
pub fn edition(tier: ServiceTier) -> &'static str {
    match tier {
        ServiceTier::Basic => "Basic",
        ServiceTier::S0 | ServiceTier::S1 | ServiceTier::S2 | ServiceTier::S3 => "Standard",
        ServiceTier::P1 | ServiceTier::P2 | ServiceTier::P3 => "Premium",
        ServiceTier::WebBusiness => "Web",
    }
}

fn service_objectives(context: &Context<'_>, view: &mut View) {
    for database in &context.facts.directory.databases {
        let Some((edition, objective)) = context.figures(&database.name).and_then(service) else { continue };
        view.add([
            ("database_id", int(database.id)),
            ("edition", text(edition)),
            ("service_objective", text(objective)),
        ]);
    }
}
