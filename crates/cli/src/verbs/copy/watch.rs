//! The line of progress of a table that is copied.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use copy::CopyWatch;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use load::report::{bytes, grouped, row_words};

use crate::interrupt;

/// A line; nothing where standard error is not a terminal.
pub struct Line {
    lines: MultiProgress,
    bar: ProgressBar,
    /// Bytes of the source that have been read, if it counts them.
    read: Mutex<Option<Arc<AtomicU64>>>,
}

impl Line {
    /// A line below the others.
    pub fn new(lines: &MultiProgress, name: &str, quiet: bool) -> Self {
        let bar = if quiet { ProgressBar::hidden() } else { lines.add(ProgressBar::new_spinner()) };
        // The template is a constant, so it can only fail to parse while it is being edited.
        let style = ProgressStyle::with_template("{prefix} {spinner} {msg} {elapsed}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        bar.set_style(style);
        bar.set_prefix(name.to_owned());
        if !quiet {
            bar.enable_steady_tick(std::time::Duration::from_millis(100));
        }
        Self { lines: lines.clone(), bar, read: Mutex::new(None) }
    }

    /// Shows from now on how much of the source has been read.
    pub fn watch_bytes(&self, read: Option<Arc<AtomicU64>>) {
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) = read;
    }

    /// Prints above the lines of progress.
    pub fn say(&self, text: &str) {
        self.lines.suspend(|| say!("{text}"));
    }

    /// Takes the line away.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

impl CopyWatch for Line {
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
}
