//! Settings of a database.

use std::time::Duration;

use super::governor::ResourceLimits;
use crate::catalogue::table_map::References;
use crate::log::LogOptions;
use crate::tree::key::TextOrder;

/// Recovery model of a database: the logging of bulk loads, and the time at which the log is truncated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum RecoveryModel {
    /// Everything is logged.
    Full = 1,
    /// Bulk operations log extents only; the map of minimally logged extents says what a log backup would have to copy.
    BulkLogged = 2,
    /// Bulk operations log extents only, and the log is truncated at each checkpoint.
    #[default]
    Simple = 3,
}

/// Settings of a database.
#[derive(Debug, Clone, Copy)]
pub struct EngineOptions {
    /// Bytes of pages kept in memory.
    pub cache_bytes: usize,
    /// Sizes of the log.
    pub log: LogOptions,
    /// A checkpoint is made when this much log was written since the last.
    pub checkpoint_log_bytes: u64,
    /// Number of data files of a new database, filled in proportion.
    pub files: u16,
    /// Recovery model of a new database.
    pub recovery_model: RecoveryModel,
    /// Longest wait of a change for a lock.
    pub lock_timeout: Duration,
    /// Orders text of keys that have a collation; None: no key may have one.
    pub text_order: Option<TextOrder>,
    /// Finds the names of tables in a table's text; None: [`referring`](crate::Snapshot::referring) finds
    /// none.
    pub references: Option<References>,
    /// Bytes of page versions that are kept in memory for snapshots; more go to a file.
    pub version_memory_bytes: usize,
    /// Limit of all data files together; None: no limit.
    pub data_limit_bytes: Option<u64>,
    /// Limits of log rate and processor time; None: no limits.
    pub resource_limits: Option<ResourceLimits>,
    /// Committed changes need not survive the process, so a commit does not wait for the log to be written.
    pub is_temporary: bool,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            cache_bytes: 256 << 20,
            log: LogOptions::default(),
            checkpoint_log_bytes: 256 << 20,
            files: 1,
            recovery_model: RecoveryModel::default(),
            lock_timeout: Duration::MAX,
            text_order: None,
            references: None,
            version_memory_bytes: 64 << 20,
            data_limit_bytes: None,
            resource_limits: None,
            is_temporary: false,
        }
    }
}
