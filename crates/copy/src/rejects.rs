//! Refused rows: counted, shown, and written as JSON, one object a line.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use arrow::record_batch::RecordBatch;
use arrow::util::display::array_value_to_string;
use formats::{Encoding, bcp, is_same_file};
use load::{RejectReason, RejectedRow};
use rows::CellError;
use serde_json::{Map, Value, json};

use crate::{error::CopyError, loaded_file::UnfitRow, transformation::UntransformedRow};

/// A refused row as it is written to the file of `--rejects`.
#[derive(Debug, Default)]
pub struct Rejected<'a> {
    /// The data file.
    pub file: &'a str,
    /// Number of the row in it, from 1.
    pub row: u64,
    /// Line in which the row starts, if the file has lines.
    pub line: Option<u64>,
    /// Offset of its first byte, after decompression.
    pub byte_offset: Option<u64>,
    /// Number of the field in the file, from 1.
    pub field: Option<usize>,
    /// The column.
    pub column: Option<&'a str>,
    /// The value, as text.
    pub value: Option<&'a str>,
    /// Number of the server's error, or SQLSTATE of one found here.
    pub code: Option<String>,
    /// The reason of the refusal.
    pub reason: String,
    /// The row in the file: its bytes, or the text decoded from them.
    pub raw: Option<&'a [u8]>,
    /// The encoding that `raw` was decoded from, if it is not UTF-8.
    pub encoding: Option<String>,
    /// The row's columns as they were read.
    pub values: Option<Value>,
}

impl Rejected<'_> {
    /// Makes the object of one line. Bytes that are not UTF-8 are given in hexadecimal.
    fn to_json(&self) -> Value {
        let mut object = Map::new();
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                object.insert(key.to_owned(), value);
            }
        };
        put("file", Some(self.file.into()));
        put("row", Some(self.row.into()));
        put("line", self.line.map(Into::into));
        put("byte_offset", self.byte_offset.map(Into::into));
        put("field", self.field.map(Into::into));
        put("column", self.column.map(Into::into));
        put("value", self.value.map(Into::into));
        put("code", self.code.clone().map(Into::into));
        put("reason", Some(self.reason.clone().into()));
        match self.raw.map(|raw| (raw, std::str::from_utf8(raw))) {
            Some((_, Ok(text))) => put("raw", Some(text.into())),
            Some((raw, Err(_))) => put("raw_hex", Some(hex(raw).into())),
            None => {}
        }
        put("encoding", self.encoding.clone().map(Into::into));
        put("values", self.values.clone());
        Value::Object(object)
    }
}

/// Refused rows that are shown; the file has all of them.
pub const REJECTS_SHOWN_MAX: u64 = 10;

/// Returns what people are shown of a refused row: its place, its column, the reason and the value.
pub fn described(rejected: &Rejected<'_>) -> String {
    let mut place = format!("{}, row {}", rejected.file, rejected.row);
    if let Some(line) = rejected.line {
        place += &format!(" (line {line})");
    }
    match (rejected.column, rejected.value) {
        (Some(column), Some(value)) => {
            format!("{place}, column {column:?}: {} (value: {value})", rejected.reason)
        }
        _ => format!("{place}: {}", rejected.reason),
    }
}

/// Collects refused rows; shared by the threads of a load.
#[derive(Debug)]
pub struct Rejects {
    state: Mutex<State>,
    /// The number of rows that may be refused; one more ends the load.
    limit: Option<u64>,
    /// The file, for messages.
    path: Option<PathBuf>,
}

#[derive(Debug, Default)]
struct State {
    count: u64,
    out: Option<BufWriter<File>>,
    /// Rows of each file that an earlier run has written.
    before: HashMap<String, HashSet<u64>>,
    /// A file of this run's own, which goes if it stays empty.
    own: Option<PathBuf>,
    failure: Option<io::Error>,
}

/// Refuses a file of refused rows that is read or written by the same work: it would be emptied before.
///
/// # Errors
/// It is one of `others`.
pub fn check_apart<'a>(
    path: Option<&PathBuf>,
    others: impl IntoIterator<Item = &'a Path>,
) -> Result<(), CopyError> {
    let Some(path) = path else { return Ok(()) };
    match others.into_iter().find(|other| is_same_file(path, other)) {
        Some(other) => Err(CopyError::Usage(format!(
            "--rejects {} is {}, whose rows would be lost: name another file",
            path.display(),
            other.display()
        ))),
        None => Ok(()),
    }
}

impl Rejects {
    /// Starts the file, if there is to be one.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn open(path: Option<&PathBuf>, limit: Option<u64>) -> io::Result<Self> {
        let out = path.map(File::create).transpose()?.map(BufWriter::new);
        Ok(Self { state: Mutex::new(State { out, ..State::default() }), limit, path: path.cloned() })
    }

    /// Continues the file of an earlier run. Lines are kept if `keep` says so for their row, by file and number from 0; the other
    /// rows are loaded again.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub fn reopen(path: &Path, limit: Option<u64>, keeps: impl Fn(&str, u64) -> bool) -> io::Result<Self> {
        if path.exists() && !path.is_file() {
            // A terminal or a pipe keeps nothing, and must not be replaced by a file.
            return Self::open(Some(&path.to_path_buf()), limit);
        }
        let before = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let mut kept = String::new();
        let mut count = 0;
        let mut rows: HashMap<String, HashSet<u64>> = HashMap::new();
        // A line without an end was cut when the run ended.
        for line in before.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            let object: Value = serde_json::from_str(line)?;
            let place =
                object.get("file").and_then(Value::as_str).zip(object.get("row").and_then(Value::as_u64));
            if let Some((file, row)) = place.filter(|(file, row)| keeps(file, row.saturating_sub(1))) {
                kept.push_str(line);
                count += 1;
                rows.entry(file.to_owned()).or_default().insert(row);
            }
        }
        let mut whole = path.as_os_str().to_owned();
        whole.push(".new");
        fs::write(&whole, kept)?;
        fs::rename(&whole, path)?;
        let out = Some(BufWriter::new(OpenOptions::new().append(true).open(path)?));
        let state = State { count, out, before: rows, ..State::default() };
        Ok(Self { state: Mutex::new(state), limit, path: Some(path.to_path_buf()) })
    }

    /// Returns the number of a file's rows that an earlier run had already written here.
    pub fn count_before(&self, file: &str) -> u64 {
        self.lock().before.get(file).map_or(0, |rows| rows.len() as u64)
    }

    /// Lets the file go at the end if nothing is in it: no row was refused.
    pub fn remove_if_empty(&self, path: &Path) {
        self.lock().own = Some(path.to_path_buf());
    }

    /// Counts a row and writes it. `Break` if that is one too many, or cannot be written.
    pub fn take(&self, rejected: &Rejected<'_>) -> ControlFlow<()> {
        let mut state = self.lock();
        state.count += 1;
        let written = match &mut state.out {
            Some(out) => serde_json::to_writer(&mut *out, &rejected.to_json())
                .map_err(io::Error::from)
                .and_then(|()| out.write_all(b"\n")),
            None => Ok(()),
        };
        if let Err(error) = written {
            state.failure = Some(error);
            return ControlFlow::Break(());
        }
        match self.limit {
            Some(limit) if state.count > limit => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    /// Returns the number of refused rows.
    pub fn count(&self) -> u64 {
        self.lock().count
    }

    /// Makes sure that the rows taken so far survive the end of this process.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&self) -> io::Result<()> {
        self.lock().out.as_mut().map_or(Ok(()), Write::flush).map_err(|error| self.named(error))
    }

    /// Adds the name of the file to an error, for those who know nothing of it.
    fn named(&self, error: io::Error) -> io::Error {
        match &self.path {
            Some(path) => io::Error::new(error.kind(), format!("refused rows, {}: {error}", path.display())),
            None => error,
        }
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// What went wrong with the file, now or before.
    pub fn finish(&self) -> io::Result<()> {
        let mut state = self.lock();
        if let Some(error) = state.failure.take() {
            return Err(error);
        }
        state.out.as_mut().map_or(Ok(()), Write::flush)?;
        match state.own.take() {
            Some(path) if fs::metadata(&path).is_ok_and(|file| file.is_file() && file.len() == 0) => {
                state.out = None;
                fs::remove_file(path)
            }
            _ => Ok(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes the line for a row that does not fit its file's description.
pub fn of_file<'a>(file: &'a str, row: &'a bcp::RejectedRow) -> Rejected<'a> {
    let base = Rejected {
        file,
        row: row.row,
        byte_offset: Some(row.byte_offset),
        reason: row.reason.to_string(),
        raw: Some(&row.raw),
        encoding: row.raw_encoding.and_then(foreign),
        ..Rejected::default()
    };
    match &row.reason {
        bcp::RejectReason::Cell { .. } => {
            Rejected { column: Some(&row.column), value: Some(&row.value), ..base }
        }
        // The fault is the row's, though it may be known in which field it shows.
        bcp::RejectReason::Row { .. } => Rejected {
            field: (row.field > 0).then_some(row.field),
            column: (!row.column.is_empty()).then_some(&row.column),
            ..base
        },
        reason => Rejected {
            field: Some(row.field),
            column: Some(&row.column),
            value: Some(&row.value),
            code: Some(reason.vendor_words().0.to_owned()),
            ..base
        },
    }
}

/// Returns the encoding's name unless it is UTF-8: without it, a row's bytes cannot be restored from its text.
fn foreign(encoding: Encoding) -> Option<String> {
    (encoding != Encoding::Utf8).then(|| encoding.to_string())
}

/// Makes the line for a row that a load refused. `encoding` is the file's, if its rows are text decoded from it.
pub fn of_load<'a>(file: &'a str, encoding: Option<Encoding>, row: &'a RejectedRow) -> Rejected<'a> {
    if let Some(unfit) = unfit(row) {
        return of_file(file, unfit);
    }
    let origin = &row.origin;
    let base = Rejected {
        file,
        row: origin.row + 1,
        byte_offset: origin.byte_offset,
        raw: origin.raw.as_deref(),
        encoding: encoding.and_then(foreign).filter(|_| origin.raw.is_some()),
        values: values(&row.batch),
        ..Rejected::default()
    };
    match &row.reason {
        RejectReason::Cell(cell) => Rejected {
            column: Some(&cell.column),
            value: Some(&cell.value),
            reason: cell.reason.to_string(),
            ..base
        },
        RejectReason::Server(error) => {
            let message = error.first();
            Rejected { code: Some(message.number.to_string()), reason: message.message.clone(), ..base }
        }
        RejectReason::Source(error) => match error.downcast_ref::<UntransformedRow>() {
            Some(failed) => Rejected {
                column: failed.column.as_deref(),
                value: failed.value.as_deref(),
                code: failed.number.map(|number| number.to_string()),
                reason: failed.reason.clone(),
                values: None,
                ..base
            },
            None => match error.downcast_ref::<CellError>() {
                Some(cell) => Rejected {
                    column: Some(&cell.column),
                    value: Some(&cell.value),
                    reason: cell.reason.to_string(),
                    values: None,
                    ..base
                },
                None => Rejected { reason: error.to_string(), values: None, ..base },
            },
        },
    }
}

/// Returns the malformed row of a file, if the error is about one.
pub fn unfit(row: &RejectedRow) -> Option<&bcp::RejectedRow> {
    match &row.reason {
        RejectReason::Source(error) => error.downcast_ref::<UnfitRow>().map(|unfit| &unfit.row),
        _ => None,
    }
}

/// Returns the columns of a single row by name, as text.
fn values(batch: &RecordBatch) -> Option<Value> {
    if batch.num_rows() == 0 {
        return None;
    }
    let schema = batch.schema();
    let cells = schema.fields().iter().zip(batch.columns()).map(|(field, array)| {
        let value = match array.is_null(0) {
            true => Value::Null,
            false => array_value_to_string(array, 0).map_or(Value::Null, Into::into),
        };
        (field.name().clone(), value)
    });
    Some(json!(cells.collect::<Map<String, Value>>()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        use std::fmt::Write;
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_holds_what_is_known() {
        let rejected = Rejected {
            file: "t.csv",
            row: 3,
            byte_offset: Some(17),
            column: Some("n"),
            value: Some("x"),
            reason: "no number".to_owned(),
            raw: Some(b"3,x"),
            ..Rejected::default()
        };
        let expected = json!({
            "file": "t.csv", "row": 3, "byte_offset": 17, "column": "n", "value": "x", "reason": "no number", "raw": "3,x"
        });
        assert_eq!(rejected.to_json(), expected);
    }

    #[test]
    fn bytes_that_are_no_text_are_written_in_hexadecimal() {
        let rejected = Rejected { raw: Some(b"a\xFF"), ..Rejected::default() };
        assert_eq!(rejected.to_json().get("raw_hex"), Some(&json!("61ff")));
        assert_eq!(rejected.to_json().get("raw"), None);
    }
}
