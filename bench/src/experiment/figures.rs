//! The server's own figures: space, density, input and output, waits. A view that is missing or denied is reported as such.

use std::collections::BTreeMap;

use load::{Client, TableName, ValueTable, literal};
use serde::Serialize;
use tds::Value;

use super::Outcome;

/// A figure of the server, or the server's reason why there is none.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Told<T> {
    /// Value of the figure.
    Value(T),
    /// The server does not give the figure.
    Unavailable {
        /// Reason why there is no figure.
        unavailable: String,
    },
}

impl<T> Told<T> {
    /// Makes a figure that is not there, with the reason.
    pub fn unavailable(reason: impl Into<String>) -> Told<T> {
        Told::Unavailable { unavailable: reason.into() }
    }

    /// Returns the figure, if there is one.
    pub fn value(&self) -> Option<&T> {
        match self {
            Told::Value(value) => Some(value),
            Told::Unavailable { .. } => None,
        }
    }

    /// Makes another figure of this one.
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> Told<U> {
        match self {
            Told::Value(value) => Told::Value(make(value)),
            Told::Unavailable { unavailable } => Told::Unavailable { unavailable },
        }
    }

    /// Makes another figure of this one, which may lack what that takes.
    pub fn and_then<U>(self, make: impl FnOnce(T) -> Option<U>, missing: &str) -> Told<U> {
        match self {
            Told::Value(value) => make(value).map_or_else(|| Told::unavailable(missing), Told::Value),
            Told::Unavailable { unavailable } => Told::Unavailable { unavailable },
        }
    }
}

/// Returns the rows of a query's first result, or the server's refusal of it.
///
/// # Errors
/// Failures other than an error of the server: a broken connection, an interruption.
pub fn answer(client: &mut Client, sql: &str) -> Outcome<Told<Vec<Vec<Value>>>> {
    Ok(first_result(client, sql)?.map(|table| table.rows))
}

fn first_result(client: &mut Client, sql: &str) -> Outcome<Told<ValueTable>> {
    match client.query_values(sql) {
        Ok(tables) => Ok(match tables.into_iter().next() {
            Some(table) => Told::Value(table),
            None => Told::unavailable("the server answers without a result"),
        }),
        Err(load::Error::Server(error)) if !client.is_broken() => Ok(Told::unavailable(error.to_string())),
        Err(error) => Err(error.into()),
    }
}

/// Reads a value as a number; `None` for NULL and for other values.
pub fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Null => None,
        Value::Bit(bit) => Some(f64::from(u8::from(*bit))),
        other => other.to_string().parse().ok(),
    }
}

/// Reads a value as text; `None` for NULL.
pub fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        other => Some(other.to_string().trim_end().to_owned()),
    }
}

fn count(row: &[Value], column: usize) -> Option<u64> {
    // Counters are whole and not negative; the cast saturates.
    number(row.get(column)?).map(|number| number as u64)
}

/// Reads and writes of the files of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct FileIo {
    /// Number of reads.
    pub reads: u64,
    /// Number of bytes read.
    pub read_bytes: u64,
    /// Number of writes.
    pub writes: u64,
    /// Number of bytes written.
    pub written_bytes: u64,
    /// Milliseconds for which requests waited, all together.
    pub stall_ms: u64,
}

impl FileIo {
    /// Reads and writes since `before`.
    #[must_use]
    pub fn since(self, before: FileIo) -> FileIo {
        FileIo {
            reads: self.reads.saturating_sub(before.reads),
            read_bytes: self.read_bytes.saturating_sub(before.read_bytes),
            writes: self.writes.saturating_sub(before.writes),
            written_bytes: self.written_bytes.saturating_sub(before.written_bytes),
            stall_ms: self.stall_ms.saturating_sub(before.stall_ms),
        }
    }

    /// Computes the reads and writes of each kind of file between two answers of [`file_io`].
    pub fn all_since(
        before: &Told<BTreeMap<&'static str, FileIo>>,
        after: Told<BTreeMap<&'static str, FileIo>>,
    ) -> Told<BTreeMap<&'static str, FileIo>> {
        let before = before.value().cloned().unwrap_or_default();
        after.map(|files| {
            let since = |(kind, io): (&'static str, FileIo)| {
                (kind, io.since(before.get(kind).copied().unwrap_or_default()))
            };
            files.into_iter().map(since).collect()
        })
    }

    /// Returns the requests a second.
    pub fn requests_per_second(&self, seconds: f64) -> f64 {
        (self.reads + self.writes) as f64 / seconds
    }

    /// Returns the number of requests that were under way at a time, on average (Little's law).
    pub fn queue_length(&self, seconds: f64) -> f64 {
        self.stall_ms as f64 / 1000.0 / seconds
    }
}

/// Reads input and output of the database's files since the server was started: `data` and `log`.
///
/// # Errors
/// [`answer`]'s.
pub fn file_io(client: &mut Client) -> Outcome<Told<BTreeMap<&'static str, FileIo>>> {
    const SQL: &str = "SELECT f.type, SUM(v.num_of_reads), SUM(v.num_of_bytes_read), SUM(v.num_of_writes), SUM(v.num_of_bytes_written), \
         SUM(v.io_stall) FROM sys.dm_io_virtual_file_stats(DB_ID(), NULL) v JOIN sys.database_files f ON f.file_id = v.file_id \
         GROUP BY f.type";
    let read = |rows: Vec<Vec<Value>>| -> Option<BTreeMap<&'static str, FileIo>> {
        let files = rows.iter().map(|row| {
            let kind = if count(row, 0)? == 1 { "log" } else { "data" };
            let io = FileIo {
                reads: count(row, 1)?,
                read_bytes: count(row, 2)?,
                writes: count(row, 3)?,
                written_bytes: count(row, 4)?,
                stall_ms: count(row, 5)?,
            };
            Some((kind, io))
        });
        files.collect::<Option<BTreeMap<_, _>>>().filter(|files| !files.is_empty())
    };
    Ok(answer(client, SQL)?.and_then(read, "sys.dm_io_virtual_file_stats has no rows for this database"))
}

/// Space of a table, in bytes, as `sp_spaceused` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Space {
    /// Bytes reserved for the table, in total.
    pub reserved_bytes: u64,
    /// Bytes used for rows.
    pub data_bytes: u64,
    /// Bytes used for upper levels, maps and indexes.
    pub index_bytes: u64,
    /// Bytes reserved and not used.
    pub unused_bytes: u64,
}

/// Asks `sp_spaceused`.
///
/// # Errors
/// [`answer`]'s.
pub fn space(client: &mut Client, table: &TableName) -> Outcome<Told<Space>> {
    let name = TableName { database: None, ..table.clone() };
    let rows = answer(client, &format!("EXEC sp_spaceused {}", literal(&name.to_string())))?;
    let read = |rows: Vec<Vec<Value>>| {
        let row = rows.into_iter().next()?;
        let bytes = |column: usize| -> Option<u64> {
            let kilobytes: u64 = text(row.get(column)?)?.strip_suffix(" KB")?.trim().parse().ok()?;
            Some(kilobytes * 1024)
        };
        Some(Space {
            reserved_bytes: bytes(2)?,
            data_bytes: bytes(3)?,
            index_bytes: bytes(4)?,
            unused_bytes: bytes(5)?,
        })
    };
    Ok(rows.and_then(read, "sp_spaceused does not answer with its columns"))
}

/// Density and order of a table's pages.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Physical {
    /// Pages of rows.
    pub pages: u64,
    /// Used share of the pages' bytes, 0 to 100.
    pub page_density_percent: Option<f64>,
    /// Best number of changes of the extent in the order of the pages, of the actual one (`DBCC SHOWCONTIG`).
    pub scan_density_percent: Option<f64>,
    /// Pages that are compressed.
    pub compressed_pages: Option<u64>,
}

/// Asks `sys.dm_db_index_physical_stats` of the heap or the clustered index, and `DBCC SHOWCONTIG` for what it lacks.
///
/// # Errors
/// [`answer`]'s.
pub fn physical(client: &mut Client, table: &TableName) -> Outcome<Told<Physical>> {
    let name = literal(&TableName { database: None, ..table.clone() }.to_string());
    let sql = format!(
        "SELECT page_count, avg_page_space_used_in_percent, compressed_page_count FROM \
         sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID({name}), NULL, NULL, 'DETAILED') \
         WHERE index_id IN (0, 1) AND index_level = 0 AND alloc_unit_type_desc = 'IN_ROW_DATA'"
    );
    let rows = answer(client, &sql)?;
    let contiguity =
        first_result(client, &format!("DBCC SHOWCONTIG ({name}) WITH TABLERESULTS, NO_INFOMSGS"))?;
    let scan_density_percent = contiguity.value().and_then(|table| {
        let column = table.columns.iter().position(|name| name == "ScanDensity")?;
        number(table.rows.first()?.get(column)?)
    });
    let read = |rows: Vec<Vec<Value>>| {
        let row = rows.first()?;
        Some(Physical {
            pages: count(row, 0)?,
            page_density_percent: row.get(1).and_then(number),
            scan_density_percent,
            compressed_pages: count(row, 2),
        })
    };
    Ok(rows.and_then(read, "sys.dm_db_index_physical_stats has no row for the table"))
}

/// Waits of one type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Wait {
    /// Number of waits.
    pub count: u64,
    /// Milliseconds of all waits together.
    pub milliseconds: f64,
}

/// Waits of threads that have nothing to do, which say nothing about a load.
const IDLE_WAITS: &str = "'LAZYWRITER_SLEEP', 'SQLTRACE_BUFFER_FLUSH', 'REQUEST_FOR_DEADLOCK_SEARCH', 'XE_TIMER_EVENT', 'XE_DISPATCHER_WAIT', \
    'XE_LIVE_TARGET_TVF', 'CHECKPOINT_QUEUE', 'BROKER_TO_FLUSH', 'BROKER_TASK_STOP', 'BROKER_EVENTHANDLER', 'BROKER_RECEIVE_WAITFOR', \
    'BROKER_TRANSMITTER', 'FT_IFTS_SCHEDULER_IDLE_WAIT', 'FT_IFTSHC_MUTEX', 'DISPATCHER_QUEUE_SEMAPHORE', 'DIRTY_PAGE_POLL', \
    'HADR_FILESTREAM_IOMGR_IOCOMPLETION', 'HADR_WORK_QUEUE', 'HADR_TIMER_TASK', 'HADR_LOGCAPTURE_WAIT', 'HADR_NOTIFICATION_DEQUEUE', \
    'LOGMGR_QUEUE', 'ONDEMAND_TASK_QUEUE', 'SLEEP_TASK', 'SLEEP_SYSTEMTASK', 'SLEEP_BPOOL_FLUSH', 'SLEEP_DBSTARTUP', 'SLEEP_MASTERDBREADY', \
    'SP_SERVER_DIAGNOSTICS_SLEEP', 'QDS_PERSIST_TASK_MAIN_LOOP_SLEEP', 'QDS_CLEANUP_STALE_QUERIES_TASK_MAIN_LOOP_SLEEP', 'QDS_ASYNC_QUEUE', \
    'QDS_SHUTDOWN_QUEUE', 'WAITFOR', 'WAIT_XTP_HOST_WAIT', 'WAIT_XTP_OFFLINE_CKPT_NEW_LOG', 'WAIT_XTP_CKPT_CLOSE', 'CLR_AUTO_EVENT', \
    'CLR_MANUAL_EVENT', 'CLR_SEMAPHORE', 'CXCONSUMER', 'KSOURCE_WAKEUP', 'SNI_HTTP_ACCEPT', 'SOS_WORK_DISPATCHER', 'PARALLEL_REDO_WORKER_WAIT_WORK', \
    'PARALLEL_REDO_DRAIN_WORKER', 'PARALLEL_REDO_LOG_CACHE', 'PARALLEL_REDO_TRAN_LIST', 'PREEMPTIVE_XE_DISPATCHER', 'PREEMPTIVE_OS_AUTHENTICATIONOPS', \
    'PWAIT_ALL_COMPONENTS_INITIALIZED', 'PWAIT_DIRECTLOGCONSUMER_GETNEXT', 'PWAIT_EXTENSIBILITY_CLEANUP_TASK', 'PVS_PREALLOCATE', 'VDI_CLIENT_OTHER', \
    'STARTUP_DEPENDENCY_MANAGER'";

/// Waits of the whole server since it was started, by type, without those of idle threads.
///
/// # Errors
/// [`answer`]'s.
pub fn waits(client: &mut Client) -> Outcome<Told<BTreeMap<String, Wait>>> {
    let sql = format!(
        "SELECT wait_type, waiting_tasks_count, wait_time_ms FROM sys.dm_os_wait_stats \
         WHERE waiting_tasks_count > 0 AND wait_type NOT IN ({IDLE_WAITS})"
    );
    let read = |rows: Vec<Vec<Value>>| {
        let wait = |row: &Vec<Value>| {
            Some((text(row.first()?)?, Wait { count: count(row, 1)?, milliseconds: number(row.get(2)?)? }))
        };
        rows.iter().map(wait).collect::<Option<BTreeMap<_, _>>>()
    };
    Ok(answer(client, &sql)?.and_then(read, "sys.dm_os_wait_stats does not answer with its columns"))
}

impl Wait {
    /// Computes the waits between two times, by type; types without a new wait are left out.
    pub fn between(
        before: &BTreeMap<String, Wait>,
        after: &BTreeMap<String, Wait>,
    ) -> BTreeMap<String, Wait> {
        after
            .iter()
            .filter_map(|(name, wait)| {
                let first = before.get(name).copied().unwrap_or_default();
                let count = wait.count.saturating_sub(first.count);
                let milliseconds = (wait.milliseconds - first.milliseconds).max(0.0);
                (count > 0).then(|| (name.clone(), Wait { count, milliseconds }))
            })
            .collect()
    }
}
