//! The answers of a server's views about sessions and logs. `None`: the server lacks the view, or the login may not read it.

use tds::Value;

use crate::{client::Client, table_name::literal};

/// A wait of a session, by its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionWait {
    /// Type of the wait, such as `WRITELOG`.
    pub wait_type: String,
    /// The number of waits.
    pub count: u64,
    /// The total time of these waits.
    pub milliseconds: u64,
}

/// Waits of one session since its login.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SessionWaits {
    /// The id of the session; `None` if it has not waited yet.
    session: Option<String>,
    pub waits: Vec<SessionWait>,
}

impl SessionWaits {
    /// Returns the waits since `before`, if that is the same session's.
    pub fn since(mut self, before: &Self) -> Vec<SessionWait> {
        if self.session == before.session {
            for wait in &mut self.waits {
                let known = before.waits.iter().find(|known| known.wait_type == wait.wait_type);
                if let Some(known) = known {
                    wait.count = wait.count.saturating_sub(known.count);
                    wait.milliseconds = wait.milliseconds.saturating_sub(known.milliseconds);
                }
            }
            self.waits.retain(|wait| wait.count > 0);
        }
        self.waits
    }
}

/// Asks for everything that the session of `client` has waited for since its login.
pub(super) fn session_waits(client: &mut Client) -> Option<SessionWaits> {
    const SQL: &str = "SELECT session_id, wait_type, waiting_tasks_count, wait_time_ms FROM sys.dm_exec_session_wait_stats \
        WHERE session_id = @@SPID AND waiting_tasks_count > 0";
    let rows = client.query_values(SQL).ok()?.into_iter().next()?.rows;
    let session = rows.first().and_then(|row| row.first()).map(Value::to_string);
    let waits = rows.iter().filter_map(|row| match row.as_slice() {
        [_, Value::String(wait_type), count, milliseconds] => Some(SessionWait {
            wait_type: wait_type.trim_end().to_owned(),
            count: number(count)?,
            milliseconds: number(milliseconds)?,
        }),
        _ => None,
    });
    Some(SessionWaits { session, waits: waits.collect() })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_before_the_load_are_not_its_own() {
        let of = |session: &str, waits: &[(&str, u64, u64)]| SessionWaits {
            session: Some(session.to_owned()),
            waits: waits
                .iter()
                .map(|(wait_type, count, milliseconds)| SessionWait {
                    wait_type: (*wait_type).to_owned(),
                    count: *count,
                    milliseconds: *milliseconds,
                })
                .collect(),
        };
        let before = of("51", &[("WRITELOG", 2, 10), ("LCK_M_X", 1, 5)]);
        let after = of("51", &[("WRITELOG", 5, 40), ("LCK_M_X", 1, 5)]);
        assert_eq!(after.clone().since(&before), of("51", &[("WRITELOG", 3, 30)]).waits);
        assert_eq!(after.clone().since(&of("52", &[])), after.waits);
    }
}
