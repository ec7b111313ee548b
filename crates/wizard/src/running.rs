//! The copy under way: what it has done so far, and how it is ended.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use copy::rejects::Rejected;
use copy::{CopyError, CopyWatch, Spec, TableOutcome};

use crate::wizard::Engine;

/// Refused rows that are kept to be shown.
const REFUSED_SHOWN_LIMIT: usize = 200;
/// Notes that are kept.
const NOTES_LIMIT: usize = 100;
/// The time over which the rate is taken.
const RATE_TIME: Duration = Duration::from_secs(2);

/// The result of a copy.
pub type Outcome = Result<Vec<TableOutcome>, CopyError>;

/// A copy that runs or has run.
pub struct Running {
    /// The command, as it is shown.
    pub command: String,
    started: Instant,
    elapsed: Mutex<Option<Duration>>,
    is_cancelled: AtomicBool,
    tables: Mutex<BTreeMap<String, Arc<TableRows>>>,
    refused: AtomicU64,
    refused_rows: Mutex<Vec<RefusedRow>>,
    notes: Mutex<Vec<String>>,
    samples: Mutex<VecDeque<(Instant, u64)>>,
    outcome: Mutex<Option<Outcome>>,
    has_ended: AtomicBool,
}

/// The progress of a table.
#[derive(Debug, Default)]
struct TableRows {
    sent: AtomicU64,
    committed: AtomicU64,
}

/// A refused row, as the pages show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedRow {
    /// The file, row and line.
    pub place: String,
    /// The column.
    pub column: String,
    /// The value.
    pub value: String,
    /// The reason of the refusal.
    pub reason: String,
}

/// The progress of a copy.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// Rows on their way or there.
    pub rows: u64,
    /// Rows that are committed, where the destination commits meanwhile.
    pub committed: u64,
    /// Rows that were refused.
    pub refused: u64,
    /// Rows a second, lately.
    pub rate: u64,
    /// The time so far.
    pub elapsed: Duration,
    /// Each table and its rows, if they are several.
    pub tables: Vec<(String, u64)>,
    /// The person has asked for its end.
    pub is_cancelled: bool,
    /// True once the copy has ended.
    pub has_ended: bool,
}

impl Running {
    /// Makes a copy that begins now.
    pub fn new(command: String) -> Self {
        Self {
            command,
            started: Instant::now(),
            elapsed: Mutex::default(),
            is_cancelled: AtomicBool::new(false),
            tables: Mutex::default(),
            refused: AtomicU64::new(0),
            refused_rows: Mutex::default(),
            notes: Mutex::default(),
            samples: Mutex::default(),
            outcome: Mutex::default(),
            has_ended: AtomicBool::new(false),
        }
    }

    /// Runs a copy to its end. It blocks.
    pub fn run(&self, spec: Result<Spec, CopyError>, engine: &Engine) {
        let watch = Watch { running: self, table: None };
        let copied = spec.and_then(|spec| copy::run(&spec, engine.as_ref(), &watch));
        self.end(copied.map(|copied| copied.tables));
    }

    /// Notes how it ended.
    pub fn end(&self, outcome: Outcome) {
        *held(&self.elapsed) = Some(self.started.elapsed());
        held(&self.outcome).get_or_insert(outcome);
        self.has_ended.store(true, Ordering::SeqCst);
    }

    /// Asks for its end, between two batches.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::SeqCst);
    }

    /// Returns true once the copy has ended.
    pub fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::SeqCst)
    }

    /// Returns true if the person has asked for its end.
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::SeqCst)
    }

    /// Looks at what it came to.
    pub fn with_outcome<T>(&self, look: impl FnOnce(Option<&Outcome>) -> T) -> T {
        look(held(&self.outcome).as_ref())
    }

    /// Returns the first of the refused rows.
    pub fn refused_rows(&self) -> Vec<RefusedRow> {
        held(&self.refused_rows).clone()
    }

    /// Returns the warnings and remarks so far.
    pub fn notes(&self) -> Vec<String> {
        held(&self.notes).clone()
    }

    /// Returns the progress of the copy.
    pub fn progress(&self) -> Progress {
        let tables: Vec<(String, u64, u64)> = held(&self.tables)
            .iter()
            .map(|(name, rows)| {
                let committed = rows.committed.load(Ordering::Relaxed);
                (name.clone(), rows.sent.load(Ordering::Relaxed).max(committed), committed)
            })
            .collect();
        let rows = tables.iter().map(|(_, rows, _)| rows).sum();
        let elapsed = held(&self.elapsed).unwrap_or_else(|| self.started.elapsed());
        Progress {
            rows,
            committed: tables.iter().map(|(_, _, committed)| committed).sum(),
            refused: self.refused.load(Ordering::Relaxed),
            rate: self.rate(rows),
            elapsed,
            tables: match tables.len() {
                0 | 1 => Vec::new(),
                _ => tables.into_iter().map(|(name, rows, _)| (name, rows)).collect(),
            },
            is_cancelled: self.is_cancelled(),
            has_ended: self.has_ended(),
        }
    }

    fn rate(&self, rows: u64) -> u64 {
        let mut samples = held(&self.samples);
        let now = Instant::now();
        samples.push_back((now, rows));
        while samples.len() > 2 && samples.front().is_some_and(|(at, _)| now.duration_since(*at) > RATE_TIME)
        {
            samples.pop_front();
        }
        let (since, before) = samples.front().copied().unwrap_or((now, rows));
        let seconds = now.duration_since(since).as_secs_f64();
        match seconds > 0.0 {
            true => (rows.saturating_sub(before) as f64 / seconds) as u64,
            false => 0,
        }
    }
}

/// Hears of a copy, or of one of its tables.
struct Watch<'a> {
    running: &'a Running,
    table: Option<Arc<TableRows>>,
}

impl CopyWatch for Watch<'_> {
    fn progress(&self, sent: u64, committed: u64) {
        if let Some(table) = &self.table {
            table.sent.store(sent, Ordering::Relaxed);
            table.committed.store(committed, Ordering::Relaxed);
        }
    }

    fn note(&self, text: &str) {
        let mut notes = held(&self.running.notes);
        if notes.len() < NOTES_LIMIT {
            notes.push(text.to_owned());
        }
    }

    fn is_cancelled(&self) -> bool {
        self.running.is_cancelled()
    }

    fn refused(&self, row: &Rejected<'_>, _before: u64) {
        self.running.refused.fetch_add(1, Ordering::Relaxed);
        let mut rows = held(&self.running.refused_rows);
        if rows.len() < REFUSED_SHOWN_LIMIT {
            rows.push(RefusedRow::of(row));
        }
    }

    fn of_table(&self, name: &str) -> Option<Box<dyn CopyWatch + '_>> {
        let table = Arc::clone(held(&self.running.tables).entry(name.to_owned()).or_default());
        Some(Box::new(Self { running: self.running, table: Some(table) }))
    }
}

impl RefusedRow {
    /// Describes a refused row for the page.
    pub fn of(row: &Rejected<'_>) -> Self {
        let mut place = format!("{}, row {}", row.file, row.row);
        if let Some(line) = row.line {
            place += &format!(" (line {line})");
        }
        Self {
            place,
            column: row.column.unwrap_or_default().to_owned(),
            value: row.value.unwrap_or_default().to_owned(),
            reason: row.reason.clone(),
        }
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
