//! The figures on the page of metrics.

use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use databases::instance::counts::{Counts, DURATION_BOUNDS, LoginRefusal, RequestKind};
use databases::storage::{Figures, all_caches, waits_by_type};
use store::{Counters, LockUsage, LogFlushes, LogSpace, lock_usage};

use super::Place;
use super::exposition::Kind::{Counter, Gauge, Histogram};
use super::exposition::Page;
use super::process;
use crate::serving::Shared;

/// Writes all metrics as they are now. While databases recover, writes those of clients alone.
pub(super) fn page(place: &Place) -> String {
    let mut page = Page::default();
    let front = &place.front;
    page.metric("bulkwire_build_info", Gauge, "The server's version.");
    page.sample("bulkwire_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    let started = front.started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    page.single(
        "bulkwire_start_time_seconds",
        Gauge,
        "When the server began, in seconds since 1970.",
        started.as_secs_f64(),
    );
    if let Some(bytes) = process::resident_bytes() {
        page.single("process_resident_memory_bytes", Gauge, "Memory of the process in bytes.", bytes);
    }
    let ready = u8::from(place.health.state().is_ready());
    page.single("bulkwire_ready", Gauge, "Whether /health says that the server is ready.", ready);
    clients(&mut page, &front.counts);
    let limit = front.options.limits.connections;
    page.single("bulkwire_connections_limit", Gauge, "Connections that may be open at a time.", limit);
    if let Some(shared) = place.health.shared() {
        sessions(&mut page, &shared);
        memory(&mut page, &shared);
        databases(&mut page, &shared);
    }
    page.into_text()
}

/// Adds the counts of clients since the server began.
fn clients(page: &mut Page, counts: &Counts) {
    for (name, help, value) in [
        ("bulkwire_connections_total", "Connections that were accepted.", counts.connections.get()),
        (
            "bulkwire_connections_refused_total",
            "Connections that were closed at once, since there were too many.",
            counts.connections_refused.get(),
        ),
        ("bulkwire_logins_total", "Logins that succeeded.", counts.logins.get()),
        (
            "bulkwire_statements_total",
            "Statements that began, those of procedures and triggers among them.",
            counts.statements.get(),
        ),
        ("bulkwire_rows_sent_total", "Rows of results.", counts.rows_sent.get()),
        ("bulkwire_rows_loaded_total", "Rows that clients have bulk loaded.", counts.rows_loaded.get()),
        ("bulkwire_received_bytes_total", "Bytes from clients as they travel.", counts.bytes_received.get()),
        ("bulkwire_sent_bytes_total", "Bytes to clients as they travel.", counts.bytes_sent.get()),
    ] {
        page.single(name, Counter, help, value);
    }
    let name = "bulkwire_logins_refused_total";
    page.metric(name, Counter, "Logins that were refused, by reason.");
    for refusal in LoginRefusal::ALL {
        page.sample(name, &[("reason", refusal.name())], counts.logins_refused(refusal).get());
    }
    let name = "bulkwire_errors_total";
    page.metric(name, Counter, "Errors that clients were sent, by class (severity).");
    for (class, errors) in counts.errors() {
        page.sample(name, &[("class", &class.to_string())], errors);
    }
    requests(page, counts);
}

fn requests(page: &mut Page, counts: &Counts) {
    let name = "bulkwire_request_duration_seconds";
    page.metric(name, Histogram, "Requests by kind, from their last byte to the end of their answer.");
    for kind in RequestKind::ALL {
        let durations = counts.requests(kind);
        // Once: a sum that grows meanwhile would not fit its parts.
        let up_to = durations.up_to();
        for (bound, count) in DURATION_BOUNDS.iter().zip(up_to) {
            let bound = Duration::from_micros(*bound).as_secs_f64().to_string();
            page.sample(&format!("{name}_bucket"), &[("kind", kind.name()), ("le", &bound)], count);
        }
        let all = up_to.last().copied().unwrap_or_default();
        page.sample(&format!("{name}_bucket"), &[("kind", kind.name()), ("le", "+Inf")], all);
        let total = durations.total().as_secs_f64();
        page.sample(&format!("{name}_sum"), &[("kind", kind.name())], total);
        page.sample(&format!("{name}_count"), &[("kind", kind.name())], all);
    }
}

fn sessions(page: &mut Page, shared: &Shared) {
    let open = shared.connections.load(Ordering::Relaxed);
    page.single("bulkwire_connections", Gauge, "Connections that are open, logged in or not.", open);
    let sessions = shared.instance.sessions().all();
    let running = sessions.iter().filter(|session| session.activity.is_running.load(Ordering::Relaxed));
    let running = running.count();
    page.single("bulkwire_sessions", Gauge, "Sessions that are logged in.", sessions.len());
    page.single("bulkwire_requests_running", Gauge, "Requests that run or wait.", running);
}

fn memory(page: &mut Page, shared: &Shared) {
    let memory = &shared.memory;
    let help = "Memory that statements hold, and databases in memory.";
    page.single("bulkwire_memory_bytes", Gauge, help, memory.used());
    page.single("bulkwire_memory_limit_bytes", Gauge, "What they may hold.", memory.limit());
}

/// The figures of one database, each read once.
struct Database<'f> {
    name: &'f str,
    counters: Counters,
    flushes: LogFlushes,
    log: LogSpace,
    log_written_bytes: u64,
    data_bytes: u64,
    locks: LockUsage,
}

impl<'f> Database<'f> {
    fn new(name: &'f str, figures: &Figures) -> Self {
        let engine = figures.engine();
        let pages: u64 = engine.data_files().iter().map(|file| file.size_pages).sum();
        Self {
            name,
            counters: engine.counters(),
            flushes: engine.log_flushes(),
            log: engine.log_space(),
            log_written_bytes: engine.usage().log_written_bytes,
            data_bytes: pages.saturating_mul(store::page::PAGE_BYTES as u64),
            locks: lock_usage(engine),
        }
    }
}

fn databases(page: &mut Page, shared: &Shared) {
    let figures = shared.instance.store().figures();
    // Without its directory the server answers nothing else either.
    let Ok(directory) = shared.instance.directory() else { return };
    let named = directory.databases.iter().map(|database| database.name.as_str());
    let all: Vec<Database<'_>> =
        named.filter_map(|name| Some(Database::new(name, figures.of(name)?))).collect();
    let mut each = |name: &str, kind, help: &str, value: fn(&Database<'_>) -> u64| {
        page.metric(name, kind, help);
        for database in &all {
            page.sample(name, &[("database", database.name)], value(database));
        }
    };
    let transactions = "bulkwire_transactions_total";
    each(transactions, Counter, "Transactions that began, reading ones among them.", |of| {
        of.counters.transactions
    });
    each("bulkwire_transactions_committed_total", Counter, "Transactions that wrote and committed.", |of| {
        of.counters.write_transactions
    });
    each(
        "bulkwire_transactions_rolled_back_total",
        Counter,
        "Transactions that wrote and were undone.",
        |of| of.counters.rolled_back,
    );
    each("bulkwire_transactions_open", Gauge, "Transactions that hold locks or wait for one.", |of| {
        of.locks.transactions
    });
    each(
        "bulkwire_bulk_rows_total",
        Counter,
        "Rows that bulk writers wrote, for loads and SELECT INTO.",
        |of| of.counters.bulk_rows,
    );
    each("bulkwire_checkpoints_total", Counter, "Checkpoints.", |of| of.counters.checkpoints);
    each("bulkwire_data_bytes", Gauge, "Size of the data files.", |of| of.data_bytes);
    each("bulkwire_log_bytes", Gauge, "Size of the log files.", |of| of.log.total_bytes);
    each("bulkwire_log_used_bytes", Gauge, "Log that cannot be given up yet.", |of| of.log.used_bytes);
    each("bulkwire_log_written_bytes_total", Counter, "Bytes of log records.", |of| of.log_written_bytes);
    each("bulkwire_log_flushed_bytes_total", Counter, "Bytes of log that went to the files.", |of| {
        of.flushes.flushed_bytes
    });
    each("bulkwire_log_flushes_total", Counter, "Syncs of the log.", |of| of.flushes.flushes);
    each("bulkwire_log_flush_waits_total", Counter, "Requests that waited for a sync of the log.", |of| {
        of.flushes.waits
    });
    each("bulkwire_locks_held", Gauge, "Locks that are held.", |of| of.locks.granted);
    each("bulkwire_locks_waiting", Gauge, "Requests that wait for a lock.", |of| of.locks.waiting);
    each("bulkwire_deadlocks_total", Counter, "Requests that ended as victims of deadlocks.", |of| {
        of.locks.deadlocks
    });
    each(
        "bulkwire_lock_timeouts_total",
        Counter,
        "Requests for a lock that ended at their time limit.",
        |of| of.locks.timeouts,
    );
    if let Some(cache) = all_caches(figures.all().map(|of| of.engine().cache_counts())) {
        for (name, kind, help, value) in [
            ("bulkwire_cache_pages", Gauge, "Pages in memory.", cache.pages),
            ("bulkwire_cache_dirty_pages", Gauge, "Pages that differ from the disk.", cache.dirty_pages),
            (
                "bulkwire_cache_limit_pages",
                Gauge,
                "Pages that are kept beside those in use.",
                cache.limit_pages,
            ),
            (
                "bulkwire_cache_hits_total",
                Counter,
                "Pages that were found in memory.",
                cache.lookups.saturating_sub(cache.misses),
            ),
            ("bulkwire_cache_misses_total", Counter, "Pages that had to be read.", cache.misses),
            ("bulkwire_cache_evictions_total", Counter, "Pages that made room for others.", cache.evictions),
            (
                "bulkwire_cache_written_pages_total",
                Counter,
                "Pages that were written back.",
                cache.written_back,
            ),
        ] {
            page.single(name, kind, help, value);
        }
    }
    let of_engines = figures.all().flat_map(|of| of.engine().waits());
    let waits = waits_by_type(of_engines.chain(shared.instance.waits().counts()));
    let name = "bulkwire_waits_total";
    page.metric(name, Counter, "Waits by type, as sys.dm_os_wait_stats names them.");
    for (wait, count) in &waits {
        page.sample(name, &[("type", wait)], count.count);
    }
    let name = "bulkwire_wait_seconds_total";
    page.metric(name, Counter, "What these waits took.");
    for (wait, count) in &waits {
        page.sample(name, &[("type", wait)], count.total.as_secs_f64());
    }
}
