//! What a server's views say about sessions and logs. `None`: the server lacks the view, or the login may not read it.

use tds::Value;

use crate::{client::Client, table_name::literal};

/// What a session waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionWait {
    /// Type of the wait, such as `WRITELOG`.
    pub wait_type: String,
    /// How often.
    pub count: u64,
    /// How long, all together.
    pub milliseconds: u64,
}

/// What the session of `client` has waited for since its login.
pub(super) fn session_waits(client: &mut Client) -> Option<Vec<SessionWait>> {
    const SQL: &str = "SELECT wait_type, waiting_tasks_count, wait_time_ms FROM sys.dm_exec_session_wait_stats \
        WHERE session_id = @@SPID AND waiting_tasks_count > 0";
    let rows = client.query_values(SQL).ok()?.into_iter().next()?.rows;
    let waits = rows.iter().filter_map(|row| match row.as_slice() {
        [Value::String(wait_type), count, milliseconds] => Some(SessionWait {
            wait_type: wait_type.trim_end().to_owned(),
            count: number(count)?,
            milliseconds: number(milliseconds)?,
        }),
        _ => None,
    });
    Some(waits.collect())
}

/// Bytes of log that a database has written since the server was started.
pub(super) fn log_bytes(client: &mut Client, database: &str) -> Option<u64> {
    let sql = format!(
        "SELECT cntr_value FROM sys.dm_os_performance_counters \
         WHERE counter_name = 'Log Bytes Flushed/sec' AND instance_name = {}",
        literal(database)
    );
    number(client.query_values(&sql).ok()?.first()?.rows.first()?.first()?)
}

fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Int(number) => u64::try_from(*number).ok(),
        Value::BigInt(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}
