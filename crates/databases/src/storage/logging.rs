//! Logging of a load, and the reasons for it.

use store::{MinimalLogging, MinimalLoggingCondition, RecoveryModel};

/// Minimal logging of a load: the pages that had it, and the reasons why others had not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadLogging {
    /// Pages of rows.
    pub data_pages: bool,
    /// Pages of nonclustered indexes; as `data_pages` if there are none.
    pub index_pages: bool,
    /// Conditions that do not hold.
    pub failed: Vec<LoggingCondition>,
    /// The recovery model at the time of the load.
    pub recovery_model: RecoveryModel,
}

/// A condition of minimal logging.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoggingCondition {
    /// The recovery model is SIMPLE or BULK_LOGGED.
    RecoveryModel,
    /// The load locks the table as a whole.
    TableLock,
    /// A table with a clustered or any other index is empty, and has not held rows since it was created or truncated.
    EmptyTable,
    /// The rows are worth extents of their own: 512 of them or 64 KB. Fewer are added row by row to pages that have room.
    ManyRows,
}

impl LoggingCondition {
    /// Returns the condition's name in `sys.dm_bulkwire_loads`.
    pub fn name(self) -> &'static str {
        match self {
            LoggingCondition::RecoveryModel => "RECOVERY_MODEL",
            LoggingCondition::TableLock => "TABLE_LOCK",
            LoggingCondition::EmptyTable => "EMPTY_TABLE",
            LoggingCondition::ManyRows => "MANY_ROWS",
        }
    }

    /// Describes for a person that the condition does not hold.
    pub fn reason(self) -> &'static str {
        match self {
            LoggingCondition::RecoveryModel => "the recovery model is FULL",
            LoggingCondition::TableLock => "the table was not locked as a whole (TABLOCK)",
            LoggingCondition::EmptyTable => "the table has an index and has held rows",
            LoggingCondition::ManyRows => "the rows are too few for extents of their own",
        }
    }
}

impl LoadLogging {
    /// Translates the logging of a bulk writer.
    pub(super) fn of(minimal: &MinimalLogging, recovery_model: RecoveryModel) -> LoadLogging {
        let failed = minimal.failed.iter().map(|condition| match condition {
            MinimalLoggingCondition::RecoveryModel => LoggingCondition::RecoveryModel,
            MinimalLoggingCondition::TableLock => LoggingCondition::TableLock,
            MinimalLoggingCondition::EmptyTable => LoggingCondition::EmptyTable,
        });
        LoadLogging {
            data_pages: minimal.data_pages,
            index_pages: minimal.index_pages,
            failed: failed.collect(),
            recovery_model,
        }
    }

    /// Describes rows that are added one by one.
    pub(super) fn row_by_row(recovery_model: RecoveryModel, table_lock: bool) -> LoadLogging {
        let mut failed = Vec::new();
        if recovery_model == RecoveryModel::Full {
            failed.push(LoggingCondition::RecoveryModel);
        }
        if !table_lock {
            failed.push(LoggingCondition::TableLock);
        }
        failed.push(LoggingCondition::ManyRows);
        LoadLogging { data_pages: false, index_pages: false, failed, recovery_model }
    }
}
