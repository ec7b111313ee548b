//! Space: of the log, of the data files, of allocation units.

use super::pages;
use crate::database::options::RecoveryModel;
use crate::database::shared::Shared;
use crate::database::snapshot::Snapshot;
use crate::error::EngineError;
use crate::page::unit::Unit;
use crate::page::{EXTENT_PAGES, PageId, UnitId};
use crate::space::DataFileSpace;

/// Size and use of the log.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogSpace {
    /// Size of all virtual log files, or the limit if there is one.
    pub total_bytes: u64,
    /// Bytes of the log in use.
    pub used_bytes: u64,
    /// The share of the total that is in use, 0 to 100.
    pub used_percent: f64,
    /// Bytes kept free for undoing open transactions.
    pub reserved_bytes: u64,
    /// Log since the last log backup; under SIMPLE since the last checkpoint.
    pub since_backup_bytes: u64,
    /// Bytes of records since the last checkpoint. A page is logged as a whole before its first change behind a
    /// checkpoint.
    pub since_checkpoint_bytes: u64,
    /// Bytes of log after which a checkpoint is made, to be compared with
    /// [`since_checkpoint_bytes`](Self::since_checkpoint_bytes).
    pub checkpoint_bytes: u64,
    /// Reason why the log cannot be truncated.
    pub reuse_wait: LogReuseWait,
}

/// Reason why the log cannot be truncated, as in `sys.databases.log_reuse_wait_desc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogReuseWait {
    /// No reason: only the file that is being written is left.
    Nothing,
    /// The next checkpoint.
    Checkpoint,
    /// A log backup, under FULL and BULK_LOGGED.
    LogBackup,
    /// An open transaction.
    ActiveTransaction,
}

impl LogReuseWait {
    /// Returns the name in `log_reuse_wait_desc`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "NOTHING",
            Self::Checkpoint => "CHECKPOINT",
            Self::LogBackup => "LOG_BACKUP",
            Self::ActiveTransaction => "ACTIVE_TRANSACTION",
        }
    }
}

pub(crate) fn log_space(shared: &Shared) -> LogSpace {
    let log = &shared.pager.log;
    let files = log.files();
    let used_bytes = log.used_bytes();
    let sizes = files.iter().map(|file| file.size_bytes).sum::<u64>();
    let total_bytes = log.options().limit_bytes.unwrap_or(sizes).max(used_bytes);
    let (redo_start, kept_from) = shared.log_kept_from();
    let oldest = shared.pager.oldest_open();
    let current = log.position().file;
    let reuse_wait = if files.len() < 2 {
        LogReuseWait::Nothing
    } else if oldest.is_some_and(|oldest| oldest.file < current && oldest <= kept_from.min(redo_start)) {
        LogReuseWait::ActiveTransaction
    } else if shared.recovery_model() != RecoveryModel::Simple && kept_from.file < current {
        LogReuseWait::LogBackup
    } else {
        LogReuseWait::Checkpoint
    };
    LogSpace {
        total_bytes,
        used_bytes,
        used_percent: 100.0 * used_bytes as f64 / total_bytes.max(1) as f64,
        reserved_bytes: log.reserved_bytes(),
        since_backup_bytes: log.bytes_since(kept_from),
        since_checkpoint_bytes: shared.since_checkpoint_bytes(),
        checkpoint_bytes: shared.options.checkpoint_log_bytes,
        reuse_wait,
    }
}

pub(crate) fn data_files(shared: &Shared) -> Vec<DataFileSpace> {
    shared.allocator.files()
}

/// Pages of an allocation unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllocationUnitSpace {
    /// The unit; see [`UnitId::allocation_unit_id`].
    pub unit: UnitId,
    /// `IN_ROW_DATA`, `ROW_OVERFLOW_DATA` or `LOB_DATA`.
    pub kind: &'static str,
    /// File group (`data_space_id`).
    pub group: u16,
    /// Pages of the unit: those of its extents, and its IAM pages.
    pub total_pages: u64,
    /// Pages in use.
    pub used_pages: u64,
    /// Pages that hold rows or values, without IAM pages and upper levels of a tree.
    pub data_pages: u64,
}

pub(crate) fn allocation_units(
    snapshot: &Snapshot,
    name: &str,
) -> Result<Vec<AllocationUnitSpace>, EngineError> {
    let reader = snapshot.reader();
    let table = snapshot.existing(name)?;
    let units = table.unit_kinds().into_iter().map(|kind| {
        let upper = match table.tree(kind) {
            Some(tree) => pages::upper_pages(&reader, tree)?,
            None => 0,
        };
        Ok(unit_space(&reader.shared, table.unit(kind), kind.name(), upper))
    });
    units.collect()
}

fn unit_space(shared: &Shared, unit: &Unit, kind: &'static str, upper_pages: u64) -> AllocationUnitSpace {
    let maps = shared.allocator.iam_pages(unit).into_iter().filter(|page: &PageId| page.is_some());
    // Large values' units have a map from the start; SQL Server's have none until they are used.
    let maps = if unit.extents.is_empty() { 0 } else { maps.count() as u64 };
    let pages = unit.pages();
    AllocationUnitSpace {
        unit: unit.id,
        kind,
        group: unit.group,
        total_pages: unit.extents.len() as u64 * u64::from(EXTENT_PAGES) + maps,
        used_pages: pages + maps,
        data_pages: pages.saturating_sub(upper_pages),
    }
}
