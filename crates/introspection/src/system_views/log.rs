//! The log: its size, what keeps it from being truncated, and its records.

use databases::catalogue::TableDefinition;
use databases::storage::{Figures, IndexPages, LOG_FILE_ID, file_id, index_of};
use databases::store_error::store_error;
use databases::waiting::waiting;
use query::Datum;
use store::page::UnitId;
use store::{LogReuseWait, LogRow, Lsn, RecoveryModel};
use tsql::SqlError;

use crate::facts::Facts;
use crate::system_views::entry::{Context, Entry};
use crate::system_views::indexes;
use crate::system_views::partitions;
use crate::view::{View, int, text};

const LOG_SPACE: &str = "
    database_id int
    total_log_size_in_bytes bigint
    used_log_space_in_bytes bigint
    used_log_space_in_percent real
    log_space_in_bytes_since_last_backup bigint";

/// `sys.dm_db_log_info`.
pub(super) const LOG_INFO: &str = "
    database_id int
    file_id smallint
    vlf_begin_offset bigint
    vlf_size_mb float
    vlf_sequence_number bigint
    vlf_active bit
    vlf_status int
    vlf_parity tinyint
    vlf_first_lsn nvarchar(48)
    vlf_create_lsn nvarchar(48)
    vlf_encryptor_thumbprint varbinary(20)";

/// The first columns of `sys.fn_dblog`, in its order. What this log does not know is NULL.
pub(super) const LOG_RECORDS: &[(&str, &str)] = &[
    ("Current LSN", "nvarchar(23)!"),
    ("Operation", "nvarchar(31)!"),
    ("Context", "nvarchar(31)!"),
    ("Transaction ID", "nvarchar(14)!"),
    ("LogBlockGeneration", "bigint"),
    ("Tag Bits", "binary(2)"),
    ("Log Record Fixed Length", "smallint"),
    ("Log Record Length", "int!"),
    ("Previous LSN", "nvarchar(23)!"),
    ("Flag Bits", "binary(2)"),
    ("Log Reserve", "int"),
    ("AllocUnitId", "bigint"),
    ("AllocUnitName", "nvarchar(387)"),
    ("Page ID", "nvarchar(14)"),
    ("Slot ID", "int"),
    ("Previous Page LSN", "nvarchar(23)"),
    ("PartitionId", "bigint"),
];

/// Bytes of log since the last checkpoint, and the number that starts the next one: a view that SQL Server does not have.
const CHECKPOINTS: &str = "
    database_id int!
    log_bytes_since_checkpoint bigint!
    checkpoint_log_bytes bigint!";

pub(super) const ENTRIES: &[Entry] = &[
    Entry::new("dm_db_log_space_usage", LOG_SPACE, log_space),
    Entry::new("dm_bulkwire_checkpoints", CHECKPOINTS, checkpoints),
];

/// Returns the recovery model as `sys.databases` numbers and names it.
pub fn recovery_model(figures: &Figures) -> (i32, &'static str) {
    match figures.engine().recovery_model() {
        RecoveryModel::Full => (1, "FULL"),
        RecoveryModel::BulkLogged => (2, "BULK_LOGGED"),
        RecoveryModel::Simple => (3, "SIMPLE"),
    }
}

/// Returns the reason why the log cannot be truncated, as `sys.databases` numbers and names it.
pub(super) fn reuse_wait(figures: &Figures) -> (i32, &'static str) {
    let wait = figures.engine().log_space().reuse_wait;
    let number = match wait {
        LogReuseWait::Nothing => 0,
        LogReuseWait::Checkpoint => 1,
        LogReuseWait::LogBackup => 2,
        LogReuseWait::ActiveTransaction => 4,
    };
    (number, wait.name())
}

fn log_space(context: &Context<'_>, view: &mut View) {
    let Some(database) = context.database() else { return };
    let Some(figures) = context.figures(&database.name) else { return };
    let space = figures.engine().log_space();
    view.add([
        ("database_id", int(database.id)),
        ("total_log_size_in_bytes", Datum::Int(space.total_bytes as i64)),
        ("used_log_space_in_bytes", Datum::Int(space.used_bytes as i64)),
        ("used_log_space_in_percent", Datum::Real(space.used_percent as f32)),
        ("log_space_in_bytes_since_last_backup", Datum::Int(space.since_backup_bytes as i64)),
    ]);
}

fn checkpoints(context: &Context<'_>, view: &mut View) {
    let Some(database) = context.database() else { return };
    let Some(figures) = context.figures(&database.name) else { return };
    let space = figures.engine().log_space();
    view.add([
        ("database_id", int(database.id)),
        ("log_bytes_since_checkpoint", Datum::Int(space.since_checkpoint_bytes as i64)),
        ("checkpoint_log_bytes", Datum::Int(space.checkpoint_bytes as i64)),
    ]);
}

/// Lists the virtual log files, in the order in which they were made.
pub(super) fn log_info(figures: &Figures, database_id: i32, view: &mut View) {
    let mut offset = 0;
    for file in figures.engine().log_files() {
        let first = Lsn { file: file.number, block: 1, record: 1 };
        view.add([
            ("database_id", int(database_id)),
            ("file_id", int(LOG_FILE_ID)),
            ("vlf_begin_offset", Datum::Int(offset as i64)),
            ("vlf_size_mb", Datum::Float((file.size_bytes as f64 / 1_048_576.0 * 100.0).round() / 100.0)),
            ("vlf_sequence_number", int(file.number)),
            ("vlf_active", Datum::Bit(true)),
            // Files that are not needed are removed, so that all there are, are active.
            ("vlf_status", int(2)),
            ("vlf_first_lsn", Datum::Text(first.to_string())),
        ]);
        offset += file.size_bytes;
    }
}

/// Lists the records between two positions, both included.
///
/// # Errors
/// Error 9005 for an invalid position, and an error for a record that cannot be read.
pub(super) fn log_records(
    facts: &Facts,
    figures: &Figures,
    start: Option<&str>,
    end: Option<&str>,
) -> Result<Vec<Vec<Datum>>, SqlError> {
    let from = start.map_or(Ok(Lsn::ZERO), lsn)?;
    let to = end.map(lsn).transpose()?;
    let names = UnitNames::new(facts, figures);
    waiting(|| {
        let mut rows = Vec::new();
        for record in figures.engine().log_records(from).map_err(|error| store_error(error.into()))? {
            let record = record.map_err(|error| store_error(error.into()))?;
            if to.is_some_and(|to| record.lsn > to) {
                break;
            }
            rows.push(row(&record, &names));
        }
        Ok(rows)
    })
}

fn row(record: &LogRow, names: &UnitNames<'_>) -> Vec<Datum> {
    let position = |lsn: Lsn| Datum::Text(lsn.to_string());
    // Transactions of the engine itself have the highest bit set.
    let transaction = record.transaction & !(1 << 63);
    let page = record.page.map(|page| format!("{:04x}:{:08x}", file_id(page.file), page.page));
    let unit = record.unit.map(|unit| names.of(unit));
    vec![
        position(record.lsn),
        text(record.operation.name()),
        text(record.context.name()),
        Datum::Text(format!("{:04x}:{:08x}", transaction >> 32 & 0xFFFF, transaction & 0xFFFF_FFFF)),
        Datum::Null,
        Datum::Null,
        Datum::Null,
        Datum::Int(i64::from(record.length_bytes)),
        position(record.previous),
        Datum::Null,
        Datum::Null,
        record.unit.map_or(Datum::Null, |unit| Datum::Int(unit.allocation_unit_id() as i64)),
        unit.as_ref().map_or(Datum::Null, |(name, _)| text(name)),
        page.map_or(Datum::Null, Datum::Text),
        record.slot.map_or(Datum::Null, |slot| Datum::Int(i64::from(slot))),
        Datum::Null,
        unit.and_then(|(_, partition)| partition).map_or(Datum::Null, Datum::Int),
    ]
}

/// Parses a position as SQL Server's function takes it: three numbers, decimal, or hexadecimal after `0x`.
fn lsn(text: &str) -> Result<Lsn, SqlError> {
    let invalid = || {
        SqlError::new(
            9005,
            16,
            1,
            "Either start LSN or end LSN specified in OpenRowset(DBLog, ...) is invalid.",
        )
    };
    let (digits, radix) = match text.trim().strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None => (text.trim(), 10),
    };
    let mut parts = digits.split(':').map(|part| u32::from_str_radix(part, radix));
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(Ok(file)), Some(Ok(block)), Some(Ok(record)), None) => {
            Ok(Lsn { file, block, record: u16::try_from(record).map_err(|_| invalid())? })
        }
        _ => Err(invalid()),
    }
}

/// Names of allocation units: the table, and the index if the unit belongs to one.
struct UnitNames<'f> {
    /// Tables and their definitions by the number that their pages carry.
    tables: std::collections::HashMap<u32, (&'f store::catalogue::Table, &'f TableDefinition)>,
}

impl<'f> UnitNames<'f> {
    fn new(facts: &'f Facts, figures: &'f Figures) -> UnitNames<'f> {
        let tables = facts.tables().iter().filter_map(|definition| {
            let table = figures.table(definition)?.as_ref();
            Some((table.storage, (table, definition.as_ref())))
        });
        UnitNames { tables: tables.collect() }
    }

    /// Returns name and partition of an allocation unit.
    fn of(&self, unit: UnitId) -> (String, Option<i64>) {
        let unknown = || ("Unknown Alloc Unit".to_string(), None);
        if unit.object == store::page::unit::CATALOGUE {
            return ("sys.objects".to_string(), None);
        }
        let Some((table, definition)) = self.tables.get(&unit.object) else { return unknown() };
        let name = definition.qualified_name();
        match index_of(table, unit) {
            Some(IndexPages::Rows) => {
                let clustered = indexes::index_rows(definition).into_iter().find(|row| row.id <= 1);
                let id = clustered.as_ref().map_or(0, |row| row.id);
                let name = match clustered.and_then(|row| row.name) {
                    Some(index) => format!("{name}.{index}"),
                    None => name,
                };
                (name, Some(partitions::partition_id(definition, id)))
            }
            Some(IndexPages::Index(index)) => {
                let row = indexes::index_rows(definition).into_iter().find(|row| row.name == Some(index));
                let partition = row.map(|row| partitions::partition_id(definition, row.id));
                (format!("{name}.{index}"), partition)
            }
            None => unknown(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    #[test]
    fn positions_are_decimal_or_hexadecimal() {
        let expected = Lsn { file: 26, block: 27, record: 9 };
        assert_eq!(lsn("00000026:00000027:0009").unwrap(), expected);
        assert_eq!(lsn("0x0000001a:0000001b:0009").unwrap(), expected);
        for wrong in ["", "1", "1:2", "1:2:3:4", "1:2:x", "1:2:65536", "0000001a:0000001b:0009"] {
            assert_eq!(lsn(wrong).unwrap_err().number, 9005, "{wrong}");
        }
    }
}
