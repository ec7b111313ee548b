//! Prints bcp's messages. Everything goes to standard output, or to the file of `-o`; to standard error where standard output
//! carries the data.

use std::fs::File;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::arguments::{Direction, Job};
use super::diagnostic::Diagnostic;
use crate::event_log;

/// Rows between two progress lines, unless batches are of another size.
const PROGRESS_ROWS: u64 = 1000;

/// Prints messages; shared by the threads of a copy.
pub struct Console {
    out: Mutex<Box<dyn Write + Send>>,
    is_file: bool,
}

impl Console {
    /// Opens the console of a job.
    ///
    /// # Errors
    /// The file of `-o` cannot be written.
    pub fn open(job: &Job) -> io::Result<Self> {
        let out: Box<dyn Write + Send> = match &job.output_file {
            Some(path) => Box::new(File::create(path)?),
            None if job.writes_to_stdout() => Box::new(io::stderr()),
            None => Box::new(io::stdout()),
        };
        Ok(Self { out: Mutex::new(out), is_file: job.output_file.is_some() })
    }

    /// Prints a line.
    pub fn line(&self, line: impl AsRef<str>) {
        self.write(&format!("{}\n", line.as_ref()));
    }

    /// Prints text as it is.
    pub fn write(&self, text: &str) {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        // A reader that has gone away ends no copy.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }

    /// Prints a diagnostic.
    pub fn diagnostic(&self, diagnostic: &Diagnostic) {
        let text = diagnostic.to_string();
        match self.is_file {
            true => self.line(text),
            false => self.line(event_log::printable(&text)),
        }
    }

    /// Warns on standard error, and in the file of `-o`.
    pub fn warn(&self, text: &str) {
        let text = format!("bcp: warning: {text}");
        if self.is_file {
            self.line(&text);
        }
        eprintln!("{}", event_log::printable(&text));
    }

    /// Prints the summary of a copy that is done, perhaps without some rows.
    pub fn summary(&self, rows: u64, packet_size_bytes: usize, elapsed: Duration) {
        self.line(format!(
            "\n{rows} rows copied.\nNetwork packet size (bytes): {packet_size_bytes}\n{}",
            clock_line(rows, elapsed)
        ));
    }

    /// Prints the last line of a copy that failed.
    pub fn failed(&self, direction: Direction) {
        let word = match direction {
            Direction::In => "in",
            Direction::Out | Direction::QueryOut | Direction::Format => "out",
        };
        self.line(format!("\nBCP copy {word} failed"));
    }
}

fn clock_line(rows: u64, elapsed: Duration) -> String {
    let milliseconds = elapsed.as_millis();
    if rows == 0 || milliseconds == 0 {
        return format!("Clock Time (ms.) Total     : {milliseconds}");
    }
    let average = rows as f64 * 1000.0 / milliseconds as f64;
    format!("Clock Time (ms.) Total     : {milliseconds:<6} Average : ({average:.2} rows per sec.)")
}

/// Counts rows and prints a line at every round number.
pub struct Progress<'a> {
    console: &'a Console,
    direction: Direction,
    step: u64,
    shown: u64,
}

impl<'a> Progress<'a> {
    /// Progress of a job.
    pub fn new(console: &'a Console, job: &Job) -> Self {
        let step = match (job.direction, job.batch_rows) {
            (Direction::In, Some(rows)) => rows,
            _ => PROGRESS_ROWS,
        };
        Self { console, direction: job.direction, step, shown: 0 }
    }

    /// Prints the number of rows that have been copied so far.
    pub fn reached(&mut self, rows: u64) {
        let step = self.step;
        let mut lines = String::new();
        while self.shown + step <= rows {
            self.shown += step;
            let total = self.shown;
            lines += &match self.direction {
                Direction::In => format!("{step} rows sent to SQL Server. Total sent: {total}\n"),
                _ => format!("{step} rows successfully bulk-copied to host-file. Total received: {total}\n"),
            };
        }
        if !lines.is_empty() {
            self.console.write(&lines);
        }
    }
}

impl Job {
    /// Returns true if the data goes to standard output.
    pub fn writes_to_stdout(&self) -> bool {
        self.file == "-" && matches!(self.direction, Direction::Out | Direction::QueryOut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_is_left_out_without_rows_or_time() {
        let line = |rows, milliseconds| clock_line(rows, Duration::from_millis(milliseconds));
        assert_eq!(
            line(2_559_483, 32_282),
            "Clock Time (ms.) Total     : 32282  Average : (79285.14 rows per sec.)"
        );
        assert_eq!(line(5, 1), "Clock Time (ms.) Total     : 1      Average : (5000.00 rows per sec.)");
        assert_eq!(line(0, 94), "Clock Time (ms.) Total     : 94");
        assert_eq!(line(3, 0), "Clock Time (ms.) Total     : 0");
    }
}
