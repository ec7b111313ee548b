//! Resource limits and their use, and locks: figures that need the open database.

use std::time::Duration;

use super::Engine;
use crate::database::governor::{ResourceLimits, ResourceSample};
use crate::lock::{LockRow, LockUsage};
use crate::page::lsn::Lsn;

impl Engine {
    /// Sets the limits of the database from now on; None: no limits. Utilisation is counted from zero again.
    pub fn set_resource_limits(&self, limits: Option<ResourceLimits>) {
        self.shared.governor.set_limits(limits, self.shared.pager.log.written_bytes());
    }

    /// Returns the limits of the database.
    pub fn resource_limits(&self) -> Option<ResourceLimits> {
        self.shared.governor.limits()
    }

    /// Returns the utilisation of the last hour, a row for every 15 seconds, newest first
    /// (`sys.dm_db_resource_stats`); empty without limits.
    pub fn resource_samples(&self) -> Vec<ResourceSample> {
        let counts = self.cache_counts();
        let memory_percent = 100.0 * counts.pages as f64 / counts.limit_pages.max(1) as f64;
        self.shared.governor.samples(self.shared.pager.log.written_bytes(), memory_percent)
    }

    /// Counts processor time that was spent for this database elsewhere: decoding, planning, running a query.
    pub fn charge_processor_time(&self, time: Duration) {
        self.shared.governor.charge_processor(time);
    }

    /// Lists the locks that are held or waited for (`sys.dm_tran_locks`); each waiter has its blocker
    /// (`blocking_session_id`).
    pub fn locks(&self) -> Vec<LockRow> {
        self.shared.locks.rows()
    }
}

/// Lists the transactions that have records in the log, each with its first record, oldest first.
pub fn open_transactions(engine: &Engine) -> Vec<(u64, Lsn)> {
    engine.shared.pager.open_transactions()
}

/// Returns the number of locks that a database has, and of lock requests that were given up.
pub fn lock_usage(engine: &Engine) -> LockUsage {
    engine.shared.locks.usage()
}

/// Returns the reason why nothing can be written to the log of a database now; None if it can. If space was
/// wanting, it is asked for again.
pub fn log_obstacle(engine: &Engine) -> Option<String> {
    engine.shared.pager.log.obstacle()
}
