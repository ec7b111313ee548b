//! The types of the whole file.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use copy::{CopyError, FileFormats};
use formats::{Evidence, InferProgress, InferredColumn, InferredSchema, Location};
use load::{roomy_length, roomy_schema};
use rows::mapping::{CreateOptions, StringType, sql_type_of};

use super::look::{Look, shown};

/// A reading of the source's files to their ends, in a thread of its own.
#[derive(Debug, Default)]
pub struct Inference {
    state: Mutex<InferenceState>,
    is_cancelled: AtomicBool,
}

/// The state of the inference.
#[derive(Debug, Clone)]
pub enum InferenceState {
    /// Files are being read.
    Reading {
        /// Rows so far.
        rows: u64,
        /// Bytes so far, as stored.
        bytes: u64,
        /// Bytes in all, if they are known.
        total: Option<u64>,
    },
    /// The inference has ended, or was cancelled.
    Done(Arc<Inferred>),
    /// A file cannot be read.
    Failed(String),
}

/// The inferred columns, and the rows that were refused.
#[derive(Debug, Default)]
pub struct Inferred {
    /// The columns.
    pub columns: Vec<TypedColumn>,
    /// Rows that were read.
    pub rows: u64,
    /// True if all rows were read.
    pub is_complete: bool,
    /// Rows that cannot be read.
    pub refused: u64,
    /// The first of them.
    pub first_refused: Vec<Refused>,
}

/// A column, its type and the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedColumn {
    /// The name of the column.
    pub name: String,
    /// The type that a new table gets.
    pub sql_type: String,
    /// NULLs.
    pub nulls: u64,
    /// Characters of the longest value.
    pub longest: u64,
    /// The reason for the type.
    pub reason: String,
    /// The value that decides it, and where it stands.
    pub decided_by: Option<DecidedBy>,
}

/// A value that decides a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecidedBy {
    /// The value; its beginning, if it is long.
    pub value: String,
    /// The number of its row, from 1.
    pub row: u64,
    /// The file of the value, if there are several.
    pub file: Option<String>,
}

/// A row that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The file of the row.
    pub file: String,
    /// The number of the row, from 1.
    pub row: u64,
    /// The reason of the refusal.
    pub reason: String,
    /// The row as it stands in the file.
    pub raw: String,
}

impl Default for InferenceState {
    fn default() -> Self {
        Self::Reading { rows: 0, bytes: 0, total: None }
    }
}

impl Inference {
    /// Rows kept of those that cannot be read.
    pub const REFUSED_KEPT: usize = 50;

    /// Starts to read the files.
    pub fn start(files: Vec<Location>, formats: FileFormats) -> Arc<Self> {
        let inference = Arc::new(Self::default());
        let own = Arc::clone(&inference);
        std::thread::spawn(move || own.run(&files, &formats));
        inference
    }

    /// Returns the state of the inference.
    pub fn state(&self) -> InferenceState {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends it soon; what was read until then is the result.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns true while it reads.
    pub fn is_reading(&self) -> bool {
        matches!(self.state(), InferenceState::Reading { .. })
    }

    fn run(&self, files: &[Location], formats: &FileFormats) {
        let done = match self.read(files, formats) {
            Ok(inferred) => InferenceState::Done(Arc::new(inferred)),
            Err(error) => InferenceState::Failed(error.to_string()),
        };
        self.become_state(done);
    }

    fn become_state(&self, state: InferenceState) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }

    /// Reads the files in this thread.
    ///
    /// # Errors
    /// A file cannot be opened or read. Rows that cannot be read are no error.
    pub fn read(&self, files: &[Location], formats: &FileFormats) -> Result<Inferred, CopyError> {
        let opened: Vec<_> = files
            .iter()
            .map(|location| {
                formats.of(location, None).map(|(format, compression)| (location, format, compression))
            })
            .collect::<Result<_, _>>()?;
        let opened: Vec<_> =
            opened.iter().map(|(location, format, compression)| (*location, format, *compression)).collect();
        let total = files.iter().map(size_of).sum();
        let names: Vec<String> = files.iter().map(ToString::to_string).collect();
        let mut inferred = Inferred::default();
        let mut hear = |progress: InferProgress<'_>| {
            let InferProgress { file, rows, bytes, refused } = progress;
            inferred.refused += refused.len() as u64;
            let room = Self::REFUSED_KEPT.saturating_sub(inferred.first_refused.len());
            inferred.first_refused.extend(refused.iter().take(room).map(|row| Refused {
                file: names.get(file).cloned().unwrap_or_default(),
                row: row.row,
                reason: match row.column.as_str() {
                    "" => row.reason.to_string(),
                    column => format!("column {column}: {}", row.reason),
                },
                raw: shown(
                    String::from_utf8_lossy(&row.raw).trim_end_matches(['\r', '\n']),
                    Look::CELL_CHARS,
                ),
            }));
            self.become_state(InferenceState::Reading { rows, bytes, total });
            match self.is_cancelled.load(Ordering::Relaxed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        let schema = formats::infer_files(&opened, &mut hear)?;
        inferred.rows = schema.rows;
        inferred.is_complete = schema.is_complete;
        inferred.columns = columns(&schema, &names);
        Ok(inferred)
    }
}

fn size_of(location: &Location) -> Option<u64> {
    location.length()
}

/// Returns the columns of a table that is made for them, with room for a little growth.
fn columns(schema: &InferredSchema, files: &[String]) -> Vec<TypedColumn> {
    let roomy = roomy_schema(&schema.schema());
    schema.columns.iter().zip(roomy.fields()).map(|(column, field)| typed(column, field, files)).collect()
}

fn typed(column: &InferredColumn, field: &arrow::datatypes::Field, files: &[String]) -> TypedColumn {
    let longest = column.max_binary_bytes.unwrap_or(column.max_utf16_units);
    let options = CreateOptions {
        max_length: Some(roomy_length(longest)),
        strings: StringType::NVarChar,
        ..CreateOptions::default()
    };
    // A transformation reads the values as they are written, so such a column has a type only if its spelling is chosen.
    let text = arrow::datatypes::Field::new(column.name.as_str(), arrow::datatypes::DataType::Utf8, true);
    let field = if column.reading.is_plain() { field } else { &text };
    let sql_type =
        sql_type_of(field, &options).map_or_else(|_| "nvarchar(max)".to_owned(), |found| found.to_string());
    let finding = column.findings().into_iter().next().filter(|_| !column.reading.is_plain());
    // Of a text from its first value on, no single value decides.
    let is_text = sql_type.starts_with("nvarchar");
    let reason = match (&finding, &column.evidence) {
        (Some(finding), _) => format!("text that may be {}: {}", finding.decision, finding.reason),
        (None, None) => "no row has a value".to_owned(),
        (None, Some(evidence)) => match &evidence.before {
            None if is_text => "text from the first value on".to_owned(),
            None => "every value reads as the type".to_owned(),
            Some(before) => format!("it was {before} until this value"),
        },
    };
    let decides = |evidence: &&Evidence| finding.is_some() || !is_text || evidence.before.is_some();
    let decided_by = column.evidence.as_ref().filter(decides).map(|evidence| DecidedBy {
        value: evidence.value.clone(),
        row: evidence.row,
        file: files.get(evidence.file).filter(|_| files.len() > 1).cloned(),
    });
    TypedColumn {
        name: column.name.clone(),
        sql_type,
        nulls: column.nulls,
        longest: column.max_chars,
        reason,
        decided_by,
    }
}
