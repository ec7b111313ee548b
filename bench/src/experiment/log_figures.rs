//! Log that a statement takes: bytes used, and records by operation and context.

use std::collections::BTreeMap;

use load::{Client, literal};
use serde::Serialize;
use tds::Value;

use super::figures::{FileIo, Told, answer, number, text};
use super::{Outcome, file_io};

/// The state of the log before something.
#[derive(Debug, Clone)]
pub struct LogMark {
    used: Told<f64>,
    end: Told<String>,
    io: Told<BTreeMap<&'static str, FileIo>>,
}

/// Log that a statement took.
#[derive(Debug, Clone, Serialize)]
pub struct LogUse {
    /// `used_log_space_in_bytes` of `sys.dm_db_log_space_usage` after, less that before. Under SIMPLE a checkpoint meanwhile makes it less.
    pub used_bytes: Told<f64>,
    /// Lengths of all records of `sys.fn_dblog` since the mark.
    pub record_bytes: Told<u64>,
    /// Records by operation and context, the longest first.
    pub operations: Told<Vec<LogOperation>>,
}

/// Records of one operation in one context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogOperation {
    /// Name of the operation, such as `LOP_INSERT_ROWS`.
    pub operation: String,
    /// Name of the context, such as `LCX_CLUSTERED`.
    pub context: String,
    /// Number of records.
    pub records: u64,
    /// Bytes of the records together.
    pub bytes: u64,
}

impl LogMark {
    /// Asks for a checkpoint, so that earlier work is not counted, and notes where the log ends.
    ///
    /// # Errors
    /// [`answer`]'s.
    pub fn set(client: &mut Client) -> Outcome<LogMark> {
        // A login may lack the permission; then the figures merely begin with more.
        answer(client, "CHECKPOINT")?;
        let end = answer(client, "SELECT MAX([Current LSN]) FROM sys.fn_dblog(NULL, NULL)")?
            .and_then(|rows| text(rows.first()?.first()?), "sys.fn_dblog has no records");
        Ok(LogMark { used: used(client)?, end, io: file_io(client)? })
    }

    /// Measures the log since the mark.
    ///
    /// # Errors
    /// [`answer`]'s.
    pub fn measure(&self, client: &mut Client) -> Outcome<LogUse> {
        let used_bytes = match (&self.used, used(client)?) {
            (Told::Value(before), after) => after.map(|after| (after - before).max(0.0)),
            (Told::Unavailable { unavailable }, _) => Told::unavailable(unavailable),
        };
        let operations = match &self.end {
            Told::Value(lsn) => operations(client, lsn)?,
            Told::Unavailable { unavailable } => Told::unavailable(unavailable),
        };
        let record_bytes = operations.clone().map(|all| all.iter().map(|operation| operation.bytes).sum());
        Ok(LogUse { used_bytes, record_bytes, operations })
    }

    /// Returns input and output of the files as they were at the mark.
    pub fn io(&self) -> &Told<BTreeMap<&'static str, FileIo>> {
        &self.io
    }
}

impl LogUse {
    /// Returns the best figure that there is: the records, else the space.
    pub fn bytes(&self) -> Option<f64> {
        self.record_bytes.value().map(|bytes| *bytes as f64).or(self.used_bytes.value().copied())
    }
}

fn used(client: &mut Client) -> Outcome<Told<f64>> {
    let rows = answer(client, "SELECT used_log_space_in_bytes FROM sys.dm_db_log_space_usage")?;
    Ok(rows.and_then(|rows| number(rows.first()?.first()?), "sys.dm_db_log_space_usage has no row"))
}

/// Reads the records behind `lsn`, unless the log was given up as far as there.
fn operations(client: &mut Client, lsn: &str) -> Outcome<Told<Vec<LogOperation>>> {
    let (from, mark) = (literal(&format!("0x{lsn}")), literal(lsn));
    let sql = format!(
        "SELECT Operation, Context, COUNT_BIG(*), SUM(CAST([Log Record Length] AS bigint)), MIN([Current LSN]) \
         FROM sys.fn_dblog({from}, NULL) WHERE [Current LSN] >= {mark} GROUP BY Operation, Context"
    );
    let read = |rows: Vec<Vec<Value>>| -> Option<Vec<LogOperation>> {
        // The mark's own record is the first one, if it is still there.
        let first = rows.iter().filter_map(|row| text(row.get(4)?)).min()?;
        if first != lsn {
            return None;
        }
        let mut operations = rows
            .iter()
            .map(|row| {
                Some(LogOperation {
                    operation: text(row.first()?)?,
                    context: row.get(1).and_then(text).unwrap_or_default(),
                    records: number(row.get(2)?)? as u64,
                    bytes: number(row.get(3)?)? as u64,
                })
            })
            .collect::<Option<Vec<_>>>()?;
        operations.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.operation.cmp(&b.operation)));
        Some(operations)
    };
    Ok(answer(client, &sql)?.and_then(read, "the log was given up meanwhile as far as to its beginning"))
}
