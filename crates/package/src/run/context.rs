//! The state that all tasks of a run share.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use load::Interruption;

use crate::copies::Copies;
use crate::journal::{EndRecord, Journal, JournalError, PastTask, Record};
use crate::run::event::{Event, Observer, now};
use crate::run::permits::Permits;
use crate::run::report::TaskReport;

/// A run under way.
pub struct RunContext<'a> {
    /// Names the run.
    pub run: String,
    /// The journal.
    journal: Mutex<Journal>,
    /// The error by which the journal can no longer be written; nothing begins then.
    broken: Mutex<Option<JournalError>>,
    /// Hears what happens.
    pub observer: &'a dyn Observer,
    /// The permits that limit the number of tasks at work.
    pub permits: Permits,
    /// Does copies, if this program can.
    pub copies: Option<&'a Copies>,
    /// Ends the run from another thread.
    pub interruption: Interruption,
    /// The time at which this run began or was continued.
    pub started: Instant,
    reports: Mutex<Vec<TaskReport>>,
}

/// The values of a loop's rounds, by their names. None is NULL.
pub type Items = Vec<BTreeMap<String, Option<String>>>;

impl<'a> RunContext<'a> {
    /// Makes a run with its journal.
    pub fn new(
        run: String,
        journal: Journal,
        observer: &'a dyn Observer,
        permits: usize,
        copies: Option<&'a Copies>,
        interruption: Interruption,
    ) -> Self {
        Self {
            run,
            journal: Mutex::new(journal),
            broken: Mutex::new(None),
            observer,
            permits: Permits::new(permits),
            copies,
            interruption,
            started: Instant::now(),
            reports: Mutex::new(Vec::new()),
        }
    }

    /// Returns true if the run is to end.
    pub fn is_interrupted(&self) -> bool {
        self.interruption.is_asked()
    }

    /// Waits; true if the run is to end, which ends the wait.
    pub fn pause(&self, wait: Duration) -> bool {
        const LOOK: Duration = Duration::from_millis(50);
        let began = Instant::now();
        while !self.is_interrupted() {
            match wait.checked_sub(began.elapsed()) {
                Some(left) if !left.is_zero() => thread::sleep(left.min(LOOK)),
                _ => return false,
            }
        }
        true
    }

    /// Returns the journal's record of a task.
    pub fn past(&self, task: &str) -> PastTask {
        let journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        journal.past().tasks.get(task).cloned().unwrap_or_default()
    }

    /// Counts the rows that an earlier run refused in the rounds of a loop and the tasks of a group or package.
    pub fn refused_within(&self, task: &str) -> u64 {
        let journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        let is_within = |path: &str| path.strip_prefix(task).is_some_and(|rest| rest.starts_with(['/', '[']));
        let ends = journal.past().tasks.iter().filter(|(path, _)| is_within(path));
        let ends = ends.filter_map(|(_, past)| past.end.as_ref()).filter(|end| end.succeeded);
        ends.fold(0, |sum, end| sum.saturating_add(end.refused))
    }

    /// Returns the items of a loop, if an earlier run has settled them.
    pub fn items(&self, task: &str) -> Option<Items> {
        let journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        journal.past().items.get(task).cloned()
    }

    /// Notes what a loop runs over.
    pub fn note_items(&self, task: &str, items: &Items) -> bool {
        self.write(Record::Items { task: task.to_owned(), items: items.clone() })
    }

    /// Notes that a task begins. False if that cannot be written, and so nothing may begin. What an earlier run has done of it
    /// counts if it is `restored`.
    pub fn note_begin(&self, task: &str, restored: bool) -> bool {
        let past = self.past(task);
        let is_over = past.end.as_ref().is_some_and(|end| end.succeeded) && !past.is_interrupted;
        let goes_on = !past.has_begun || (restored && !is_over);
        let generation = past.generation.saturating_add(u32::from(!goes_on));
        self.write(Record::Begin { task: task.to_owned(), at: now(), generation })
    }

    /// Notes how a task ended.
    pub fn note_end(&self, end: EndRecord) -> bool {
        self.write(Record::End(end))
    }

    /// Notes that the run is over.
    pub fn note_over(&self, succeeded: bool) -> bool {
        self.write(Record::Over { at: now(), succeeded })
    }

    /// Takes the error by which the journal could not be written.
    pub fn take_broken(&self) -> Option<JournalError> {
        self.broken.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Notes what a task did, and says so.
    pub fn report(&self, report: TaskReport) {
        self.observer.event(&Event::End(&report));
        self.reports.lock().unwrap_or_else(PoisonError::into_inner).push(report);
    }

    /// Takes the reports of the tasks so far.
    pub fn take_reports(&self) -> Vec<TaskReport> {
        std::mem::take(&mut *self.reports.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn write(&self, record: Record) -> bool {
        let mut broken = self.broken.lock().unwrap_or_else(PoisonError::into_inner);
        if broken.is_some() {
            return false;
        }
        match self.journal.lock().unwrap_or_else(PoisonError::into_inner).write(record) {
            Ok(()) => true,
            Err(error) => {
                *broken = Some(error);
                false
            }
        }
    }
}
