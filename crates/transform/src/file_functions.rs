//! The functions that only transformations have, READ_FILE and WRITE_FILE, and the time of the run.

use std::io;
use std::sync::Arc;

use query::facts::{Facts, now};
use query::functions::{long_text, wide_text};
use query::scalar::Scalar;
use query::streaming::ACTING_CALL;
use query::typed::call_with;
use query::{Datum, Typed};
use tds::{Length, SqlType};
use tsql::SqlError;

use crate::file_folder::{Existing, FileFolder};

/// Facts for functions besides their arguments: the time at which the copy began, and the folder of files.
#[derive(Debug)]
pub struct TransformFacts {
    now: i64,
    folder: Option<Arc<FileFolder>>,
}

/// ANSI_WARNINGS, ANSI_PADDING, ANSI_NULLS, QUOTED_IDENTIFIER, ANSI_NULL_DFLT_ON and CONCAT_NULL_YIELDS_NULL, as drivers set them.
const OPTIONS: i64 = 5432;

impl TransformFacts {
    /// Makes facts as of now.
    pub fn new(folder: Option<FileFolder>) -> TransformFacts {
        TransformFacts { now: now(), folder: folder.map(Arc::new) }
    }

    fn folder(&self, function: &str) -> Result<Arc<FileFolder>, SqlError> {
        let text = || format!("{function} needs --files DIR: the only folder whose files it may see.");
        self.folder.clone().ok_or_else(|| SqlError::new(4834, 16, 1, text()))
    }
}

impl Facts for TransformFacts {
    fn now(&self) -> i64 {
        self.now
    }

    fn date_first(&self) -> u8 {
        7
    }

    fn options(&self) -> i64 {
        OPTIONS
    }

    fn row_version(&self) -> u64 {
        0
    }

    fn function(self: Arc<Self>, name: &str, arguments: &[Typed]) -> Result<Option<Typed>, SqlError> {
        let count = |least: usize, most: usize| match (least..=most).contains(&arguments.len()) {
            true => Ok(()),
            false => Err(SqlError::argument_count(&name.to_lowercase(), least, most)),
        };
        match name.to_ascii_uppercase().as_str() {
            "READ_FILE" => {
                count(1, 2)?;
                read_file(self.folder("READ_FILE")?, arguments, false).map(Some)
            }
            "TRY_READ_FILE" => {
                count(1, 2)?;
                read_file(self.folder("TRY_READ_FILE")?, arguments, true).map(Some)
            }
            "WRITE_FILE" => {
                count(2, 3)?;
                write_file(self.folder("WRITE_FILE")?, arguments).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// Type of the value that the bytes of a file become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    Utf8,
    Utf16,
    Bytes,
}

/// Binds READ_FILE(name[, 'utf-8' | 'utf-16' | 'binary']); a missing file is an error, or NULL for
/// TRY_READ_FILE.
fn read_file(folder: Arc<FileFolder>, arguments: &[Typed], tries: bool) -> Result<Typed, SqlError> {
    let content = match word(arguments.get(1), "READ_FILE")?.as_deref() {
        None | Some("utf-8") => Content::Utf8,
        Some("utf-16") => Content::Utf16,
        Some("binary") => Content::Bytes,
        Some(other) => return Err(unknown_word("READ_FILE", other, "'utf-8', 'utf-16' and 'binary'")),
    };
    let result = match content {
        Content::Bytes => SqlType::VarBinary { length: Length::Max },
        Content::Utf8 | Content::Utf16 => long_text(),
    };
    let kernel = move |values: &[Datum]| {
        let Some(name) = values.first().and_then(Datum::as_text) else { return Ok(Datum::Null) };
        let bytes = match folder.read(name) {
            Ok(bytes) => bytes,
            Err(error) if tries && error.kind() == io::ErrorKind::NotFound => return Ok(Datum::Null),
            Err(error) => return Err(file_error("read", name, &error)),
        };
        let unreadable = || {
            let text = format!("The file \"{name}\" is not text of the encoding that is asked for.");
            SqlError::new(4861, 16, 1, text)
        };
        Ok(match content {
            Content::Bytes => Datum::Binary(bytes),
            Content::Utf8 => {
                let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
                Datum::Text(String::from_utf8(text.to_vec()).map_err(|_| unreadable())?)
            }
            Content::Utf16 => {
                let text = bytes.strip_prefix(b"\xFF\xFE").unwrap_or(&bytes);
                if text.len() % 2 != 0 {
                    return Err(unreadable());
                }
                let units: Vec<u16> =
                    text.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
                Datum::Text(String::from_utf16(&units).map_err(|_| unreadable())?)
            }
        })
    };
    let name = argument(arguments, 0)?.cast(&wide_text())?;
    let function = format!("READ_FILE {content:?} {tries}");
    // The file may change while rows are copied.
    let function = Scalar::by_value(&function, vec![wide_text()], result, kernel).volatile();
    let mut typed = call_with(function, vec![name]);
    typed.nullable = true;
    Ok(typed)
}

/// Binds WRITE_FILE(name, value[, 'fail' | 'overwrite' | 'append']): the number of bytes written; NULL if
/// either is NULL.
fn write_file(folder: Arc<FileFolder>, arguments: &[Typed]) -> Result<Typed, SqlError> {
    let existing = match word(arguments.get(2), ACTING_CALL)?.as_deref() {
        None | Some("fail") => Existing::Refused,
        Some("overwrite") => Existing::Replaced,
        Some("append") => Existing::Continued,
        Some(other) => return Err(unknown_word(ACTING_CALL, other, "'fail', 'overwrite' and 'append'")),
    };
    let value = argument(arguments, 1)?;
    let is_binary =
        matches!(value.sql_type, SqlType::Binary { .. } | SqlType::VarBinary { .. } | SqlType::Image);
    let value_type = if is_binary { SqlType::VarBinary { length: Length::Max } } else { long_text() };
    let kernel = move |values: &[Datum]| {
        let name = values.first().and_then(Datum::as_text);
        let bytes = match values.get(1) {
            Some(Datum::Text(text)) => text.as_bytes(),
            Some(Datum::Binary(bytes)) => bytes,
            _ => return Ok(Datum::Null),
        };
        let Some(name) = name else { return Ok(Datum::Null) };
        folder.write(name, bytes, existing).map_err(|error| file_error("written", name, &error))?;
        Ok(Datum::Int(i64::try_from(bytes.len()).unwrap_or(i64::MAX)))
    };
    let arguments = vec![argument(arguments, 0)?.cast(&wide_text())?, value.cast(&value_type)?];
    let types = vec![wide_text(), value_type];
    let function = Scalar::by_value(ACTING_CALL, types, SqlType::BigInt, kernel).volatile();
    let mut typed = call_with(function, arguments);
    typed.nullable = true;
    Ok(typed)
}

fn argument(arguments: &[Typed], at: usize) -> Result<Typed, SqlError> {
    arguments.get(at).cloned().ok_or_else(|| SqlError::internal("a call with too few arguments"))
}

/// Reads a word that decides how a function works: a constant.
fn word(argument: Option<&Typed>, function: &str) -> Result<Option<String>, SqlError> {
    let Some(argument) = argument else { return Ok(None) };
    match argument.constant.as_ref().and_then(Datum::as_text) {
        Some(word) => Ok(Some(word.to_ascii_lowercase())),
        None => {
            let text = format!("The last argument of {function} must be a constant.");
            Err(SqlError::new(8116, 16, 1, text))
        }
    }
}

fn unknown_word(function: &str, word: &str, words: &str) -> SqlError {
    SqlError::new(8116, 16, 1, format!("'{word}' is nothing that {function} knows; it takes {words}."))
}

fn file_error(verb: &str, name: &str, error: &io::Error) -> SqlError {
    SqlError::new(4861, 16, 1, format!("The file \"{name}\" could not be {verb}: {error}."))
}
