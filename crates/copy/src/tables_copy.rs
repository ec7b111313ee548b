//! The copy of several tables: some at a time, large ones first, and what waits for all of them.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use crate::{
    copy_report::{CopyReport, FailedCopy},
    destination::Destination,
    error::CopyError,
    source::Source,
};

/// A table among several.
pub struct TableTask {
    /// The name for messages.
    pub name: String,
    /// The size of the table; the largest begin first.
    pub weight: u64,
    /// The source of the rows.
    pub source: Box<dyn Source>,
    /// The destination of the rows.
    pub destination: Box<dyn Destination>,
}

/// The result of a table.
#[derive(Debug)]
pub struct TableOutcome {
    /// The name for messages.
    pub name: String,
    /// The report or the failure; `None` if it was not begun, because another had failed.
    pub result: Option<Result<CopyReport, Box<FailedCopy>>>,
    /// The objects that were created, or could not be, after all tables had arrived.
    pub afterwards: Vec<String>,
    /// The error of the work that follows after all tables have arrived.
    pub failed_afterwards: Option<CopyError>,
}

/// The result of one copy.
type Copied = Result<CopyReport, Box<FailedCopy>>;

/// Copies one table: its number among those given, and the table itself.
pub type CopyOne<'a> = &'a (dyn Fn(usize, &mut TableTask) -> Result<CopyReport, Box<FailedCopy>> + Sync);

/// Copies tables, `jobs` at a time. A failed table does not stop the others, unless `fails_fast` is set: then no other begins.
/// Outcomes come in the order of the tasks.
pub fn copy_tables(
    tasks: Vec<TableTask>,
    jobs: usize,
    fails_fast: bool,
    copy_one: CopyOne<'_>,
) -> Vec<TableOutcome> {
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    let weights: Vec<u64> = tasks.iter().map(|task| task.weight).collect();
    order.sort_by_key(|index| std::cmp::Reverse(weights.get(*index).copied()));
    let slots: Vec<Mutex<(TableTask, Option<Copied>)>> =
        tasks.into_iter().map(|task| Mutex::new((task, None))).collect();
    let next = AtomicUsize::new(0);
    let is_stopped = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, order.len().max(1)) {
            scope.spawn(|| {
                while let Some(index) = order.get(next.fetch_add(1, Ordering::SeqCst)) {
                    if is_stopped.load(Ordering::SeqCst) {
                        break;
                    }
                    let Some(slot) = slots.get(*index) else { continue };
                    let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
                    let result = copy_one(*index, &mut slot.0);
                    if fails_fast && result.is_err() {
                        is_stopped.store(true, Ordering::SeqCst);
                    }
                    slot.1 = Some(result);
                }
            });
        }
    });
    let outcomes = slots.into_iter().map(|slot| {
        let (mut task, result) = slot.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut outcome =
            TableOutcome { name: task.name, result, afterwards: Vec::new(), failed_afterwards: None };
        if matches!(outcome.result, Some(Ok(_))) {
            match task.destination.finish_together() {
                Ok(notes) => outcome.afterwards = notes,
                Err(error) => outcome.failed_afterwards = Some(error),
            }
        }
        outcome
    });
    outcomes.collect()
}

impl TableOutcome {
    /// Returns true if everything that was requested is done.
    pub fn is_whole(&self) -> bool {
        matches!(self.result, Some(Ok(_))) && self.failed_afterwards.is_none()
    }
}
