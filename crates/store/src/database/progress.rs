//! Progress of opening a database, which can take minutes after a process was killed.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Phase of recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryStep {
    /// The log is redone.
    Redo,
    /// Unfinished transactions are undone.
    Undo,
}

/// Progress of recovery, reported while a database is opened.
#[derive(Debug, Clone, Copy)]
pub struct RecoveryProgress<'a> {
    /// Directory of the database.
    pub path: &'a Path,
    /// Phase of recovery that `done` and `of` count.
    pub step: RecoveryStep,
    /// Bytes of the log that were redone, or changes that were undone.
    pub done: u64,
    /// The total, in the same unit.
    pub of: u64,
}

/// Called now and then while a database is opened.
#[derive(Clone)]
pub struct OnRecovery(pub Arc<dyn Fn(RecoveryProgress<'_>) + Send + Sync>);

impl fmt::Debug for OnRecovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnRecovery")
    }
}

/// Time between two reports of progress.
const INTERVAL: Duration = Duration::from_secs(2);
/// Records between two looks at the clock.
const RECORDS: u64 = 1024;

/// Counts records, and reports progress every few seconds.
pub(crate) struct Teller<'a> {
    on: Option<&'a OnRecovery>,
    path: PathBuf,
    told: Instant,
    records: u64,
}

impl<'a> Teller<'a> {
    /// Begins to report on a database at `path`.
    pub fn new(on: Option<&'a OnRecovery>, path: PathBuf) -> Teller<'a> {
        Teller { on, path, told: Instant::now(), records: 0 }
    }

    /// Counts one more record, up to position `reached`.
    pub fn record(&mut self, step: RecoveryStep, reached: impl FnOnce() -> (u64, u64)) {
        self.records += 1;
        let Some(OnRecovery(on)) = self.on else { return };
        if self.records.is_multiple_of(RECORDS) && self.told.elapsed() >= INTERVAL {
            let (done, of) = reached();
            on(RecoveryProgress { path: &self.path, step, done, of });
            self.told = Instant::now();
        }
    }
}
