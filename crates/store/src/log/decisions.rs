//! The decisions of a coordinator of several databases.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::Log;
use crate::page::lsn::Lsn;

/// Transactions over several databases that a coordinator has decided to commit and not forgotten.
#[derive(Debug)]
pub(crate) struct Decisions {
    next: AtomicU64,
    pub open: Mutex<BTreeMap<u64, Parts>>,
}

/// Positions up to which the logs of the parts must be durable; None: not known yet.
type Parts = Option<Vec<(Arc<Log>, Lsn)>>;

impl Decisions {
    /// Creates the decisions of a coordinator whose log continues in this virtual log file, which no earlier opening had.
    pub fn new(log_file: u32, recovered: impl IntoIterator<Item = u64>) -> Self {
        Self {
            next: AtomicU64::new(u64::from(log_file) << 32),
            open: Mutex::new(recovered.into_iter().map(|global| (global, None)).collect()),
        }
    }

    pub fn new_global(&self) -> u64 {
        self.next.fetch_add(1, Ordering::AcqRel)
    }

    /// Notes that all parts are committed. The commits are durable when the parts' logs are durable up to these positions.
    pub fn committed(&self, global: u64, parts: Vec<(Arc<Log>, Lsn)>) {
        self.open.lock().insert(global, Some(parts));
        self.forget();
    }

    /// Drops decisions whose commits are durable in all databases.
    pub fn forget(&self) {
        self.open.lock().retain(|_, parts| {
            parts.as_ref().is_none_or(|parts| parts.iter().any(|(log, lsn)| log.durable() <= *lsn))
        });
    }

    /// Lists the decisions that are still needed.
    pub fn remembered(&self) -> Vec<u64> {
        self.forget();
        self.open.lock().keys().copied().collect()
    }

    pub fn parts(&self) -> Vec<(Arc<Log>, Lsn)> {
        self.open.lock().values().flatten().flatten().cloned().collect()
    }
}
