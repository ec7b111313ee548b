//! Rows that bcp leaves out: shown on the console, written to the error file and to the file of `--rejects`, counted.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use formats::bcp;
use load::{RejectReason, RejectedRow};
use rows::CellErrorReason;

use super::arguments::Job;
use super::console::Console;
use super::diagnostic::Diagnostic;
use copy::rejects::{Rejects, of_file, of_load, unfit};

/// The rows that one copy leaves out.
pub struct Refusals<'a> {
    console: &'a Console,
    file: String,
    error_file: Option<Mutex<BufWriter<File>>>,
    rejects: Rejects,
}

impl<'a> Refusals<'a> {
    /// Starts the files. They are made empty even if no row is left out, as the original does.
    ///
    /// # Errors
    /// A file cannot be written; in bcp's words.
    pub fn open(console: &'a Console, job: &Job) -> Result<Self, Diagnostic> {
        let unable = |what: &str| Diagnostic::client("HY000", format!("Unable to open {what}"));
        let error_file = match &job.error_file {
            Some(path) => Some(File::create(path).map_err(|_| unable("BCP error-file"))?),
            None => None,
        };
        // The copy fails when the limit is reached, not when it is passed.
        let limit = job.max_errors.map(|errors| errors.saturating_sub(1));
        let path = job.rejects_file.as_ref().map(PathBuf::from);
        let rejects = Rejects::open(path.as_ref(), limit)
            .map_err(|error| unable(&format!("the rejects file: {error}")))?;
        let error_file = error_file.map(|file| Mutex::new(BufWriter::new(file)));
        Ok(Self { console, file: job.file.clone(), error_file, rejects })
    }

    fn of_file(&self, row: &bcp::RejectedRow) -> ControlFlow<()> {
        let (state, text) = row.reason.vendor_words();
        self.console.diagnostic(&Diagnostic::client(state, text));
        self.write_error_file(&row.vendor_text());
        self.rejects.take(&of_file(&self.file, row))
    }

    /// Takes a row that the file's reader, the load or, with `--bisect`, the server refuses. Rows that the server refuses are not
    /// in the error file.
    pub fn of_load(&self, row: &RejectedRow) -> ControlFlow<()> {
        if let Some(unfit) = unfit(row) {
            return self.of_file(unfit);
        }
        match &row.reason {
            RejectReason::Cell(cell) => {
                let (state, text) = words_of(&cell.reason);
                self.console.diagnostic(&Diagnostic::client(state, text));
                let number = row.batch.schema().index_of(&cell.column).map_or(1, |index| index + 1);
                let raw = row.origin.raw.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
                self.write_error_file(&format!(
                    "#@ Row {}, Column {number}: {text} @#\n{}\n",
                    row.origin.row + 1,
                    raw.trim_end_matches(['\n', '\r'])
                ));
            }
            RejectReason::Source(error) => {
                self.console.diagnostic(&Diagnostic::client("HY000", error.to_string()))
            }
            RejectReason::Server(error) => {
                error.messages().for_each(|message| self.console.diagnostic(&Diagnostic::server(message)));
            }
        }
        self.rejects.take(&of_load(&self.file, None, row))
    }

    /// Returns the number of rows that were left out.
    pub fn count(&self) -> u64 {
        self.rejects.count()
    }

    /// Writes what is left of the files.
    ///
    /// # Errors
    /// The disk is full, for instance.
    pub fn finish(&self) -> std::io::Result<()> {
        if let Some(file) = &self.error_file {
            file.lock().unwrap_or_else(PoisonError::into_inner).flush()?;
        }
        self.rejects.finish()
    }

    fn write_error_file(&self, text: &str) {
        if let Some(file) = &self.error_file {
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            // A full disk is found when the file is finished; the row is on the console.
            let _ = file.write_all(text.as_bytes());
        }
    }
}

/// Returns the SQLSTATE and the text that bcp prints for a value that cannot be sent.
fn words_of(reason: &CellErrorReason) -> (&'static str, &'static str) {
    match reason {
        CellErrorReason::TooLong { .. } => ("22001", "String data, right truncation"),
        CellErrorReason::OutOfRange(_) | CellErrorReason::NotFinite | CellErrorReason::Inexact(_) => {
            ("22003", "Numeric value out of range")
        }
        _ => ("22018", "Invalid character value for cast specification"),
    }
}
