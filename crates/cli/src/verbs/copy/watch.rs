//! Shows a running copy: a line of progress for each table, and above them the remarks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use copy::rejects::{REJECTS_SHOWN_MAX, Rejected, described};
use copy::{CopyReport, CopyWatch, FailedCopy};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use load::CommitWatch;
use load::report::{bytes, grouped, row_words};

use crate::event_log::{self, Batches};
use crate::interrupt;
use crate::verbs::copy::report;

/// The parts of a copy that are shown.
#[derive(Debug, Clone, Copy)]
pub struct Shown {
    /// Nothing for people.
    pub is_quiet: bool,
    /// The report is for people.
    pub is_text: bool,
    /// Nothing is copied.
    pub is_dry: bool,
    /// True for a single copy, whose plan is shown.
    pub is_single: bool,
}

/// The lines of a command.
pub struct Lines {
    shown: Shown,
    lines: MultiProgress,
}

impl Lines {
    /// Returns lines that show nothing yet.
    pub fn new(shown: Shown) -> Self {
        Self { shown, lines: MultiProgress::new() }
    }
}

impl CopyWatch for Lines {
    fn of_table(&self, name: &str) -> Option<Box<dyn CopyWatch + '_>> {
        Some(Box::new(Line::new(self, name)))
    }
}

/// The line of a table; nothing where standard error is not a terminal.
struct Line<'a> {
    all: &'a Lines,
    bar: ProgressBar,
    batches: Batches,
    /// Bytes of the source that have been read, if it counts them.
    read: Mutex<Option<Arc<AtomicU64>>>,
}

impl<'a> Line<'a> {
    /// Returns a line below the others.
    fn new(all: &'a Lines, name: &str) -> Self {
        let is_hidden = all.shown.is_quiet || all.shown.is_dry;
        let bar = if is_hidden { ProgressBar::hidden() } else { all.lines.add(ProgressBar::new_spinner()) };
        // The template is a constant, so it can only fail to parse while it is being edited.
        let style = ProgressStyle::with_template("{prefix} {spinner} {msg} {elapsed}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        bar.set_style(style);
        bar.set_prefix(name.to_owned());
        if !is_hidden {
            bar.enable_steady_tick(std::time::Duration::from_millis(100));
        }
        Self { all, bar, batches: Batches::default(), read: Mutex::new(None) }
    }

    /// Prints above the lines of progress.
    fn say(&self, text: &str) {
        self.all.lines.suspend(|| say!("{text}"));
    }

    fn shows(&self, before: u64) -> bool {
        !self.all.shown.is_quiet && before < REJECTS_SHOWN_MAX
    }
}

impl CopyWatch for Line<'_> {
    fn progress(&self, sent: u64, committed: u64) {
        let rows = sent.max(committed);
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let read = read.as_ref().map(|read| read.load(Ordering::Relaxed)).filter(|read| *read > 0);
        let read = read.map(|read| format!(", {} read", bytes(read as f64))).unwrap_or_default();
        self.bar.set_message(format!("{} {}{read}", grouped(rows), row_words(rows).0));
    }

    fn note(&self, text: &str) {
        self.say(text);
    }

    fn publishing(&self, is_under_way: bool) {
        interrupt::note_statement(is_under_way);
        if !is_under_way {
            interrupt::note_published();
        }
    }

    fn staged(&self, stage: &str) {
        interrupt::note_stage(stage.to_owned());
    }

    fn refused(&self, row: &Rejected<'_>, before: u64) {
        event_log::refused(row);
        if self.shows(before) {
            self.say(&format!("refused: {}", described(row)));
        }
    }

    fn refused_too_many(&self, row: &Rejected<'_>, before: u64) {
        // The one that ends the copy is named in any case.
        if !self.shows(before) {
            self.say(&format!("refused: {}", described(row)));
        }
    }

    fn planned(&self, report: &CopyReport) {
        report::write_plan(report);
        let Shown { is_quiet, is_text, is_dry, is_single } = self.all.shown;
        if !is_quiet && is_text && (is_single || is_dry) {
            self.say(&report::plan(report));
        }
    }

    fn reads(&self, bytes: Option<Arc<AtomicU64>>) {
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) = bytes;
    }

    fn ended(&self, name: &str, done: &Result<CopyReport, Box<FailedCopy>>) {
        self.bar.finish_and_clear();
        report::write_event(name, done);
        let Shown { is_quiet, is_text, is_dry, is_single } = self.all.shown;
        if is_quiet || !is_text {
            return;
        }
        match done {
            Ok(_) if is_dry => {}
            Ok(report) => self.say(&report::line(name, report)),
            Err(failed) if !is_single => self.say(&report::failed_line(name, failed)),
            Err(_) => {}
        }
    }

    fn commits(&self) -> &dyn CommitWatch {
        &self.batches
    }
}
