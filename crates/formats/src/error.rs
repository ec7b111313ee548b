//! One error for every format: a reason, and the place in the file it is about.

use std::error::Error;
use std::fmt;
use std::io;

use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use parquet::errors::ParquetError;

/// A file that could not be read or written: [`Reason`] and [`Place`].
#[derive(Debug)]
pub struct FormatError {
    /// Reason for the failure.
    pub reason: Box<Reason>,
    /// Place of the error, as far as it is known.
    pub place: Box<Place>,
}

/// The place of an error in a file. Rows and lines are counted from 1.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The file's path, or `standard input` / `standard output`.
    pub file: Option<String>,
    /// Number of the data row, the first being 1 (a header is not a data row).
    pub row: Option<u64>,
    /// Number of the line, the first being 1 (a header is a line).
    pub line: Option<u64>,
    /// Offset from the start of the (decompressed) file, in bytes.
    pub byte_offset: Option<u64>,
    /// Name of the column.
    pub column: Option<String>,
    /// The value, shortened to [`Place::VALUE_CHARS_MAX`] characters.
    pub value: Option<String>,
}

/// Reason why a file, a value or an option is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The operating system refused.
    #[error("{0}")]
    Io(#[source] io::Error),
    /// The program that reads our output has closed it (`… | head`). The data are not at fault.
    #[error("the reader of this pipe has closed it")]
    BrokenPipe,
    /// A row with too few or too many fields.
    #[error("expected {expected} fields, found {found}")]
    Ragged {
        /// Columns of the file.
        expected: usize,
        /// Fields of this row.
        found: usize,
    },
    /// The file ends inside a quoted field.
    #[error("a quoted field is never closed")]
    UnterminatedQuote,
    /// Something other than a delimiter or the end of the row behind a closing quote.
    #[error("text follows a closing quote (a quote inside a quoted field is written twice)")]
    TextAfterQuote,
    /// A row beyond `max_row_bytes`, most often an unclosed quote or the wrong row terminator.
    #[error(
        "the row is longer than {limit_bytes} bytes; is a quote left open, or the row terminator another?"
    )]
    RowTooLong {
        /// The limit in force.
        limit_bytes: usize,
    },
    /// Bytes that are not text in the encoding.
    #[error("bytes {} are not valid {encoding}", hex(.bytes))]
    InvalidText {
        /// Name of the encoding.
        encoding: String,
        /// The offending bytes.
        bytes: Vec<u8>,
    },
    /// A character the target encoding does not have.
    #[error("{encoding} has no character {character:?} (U+{:04X})", u32::from(*.character))]
    Unmappable {
        /// Character that the encoding lacks.
        character: char,
        /// Name of the encoding.
        encoding: String,
    },
    /// A value that only a quote could protect, written with quoting off.
    #[error("the value {problem} and quoting is off")]
    NeedsQuote {
        /// Reason why it would be read back as something else.
        problem: &'static str,
    },
    /// The file has no header, no rows and no column names.
    #[error("the file is empty: no header names its columns")]
    Empty,
    /// An option out of its range, or two that exclude each other.
    #[error("option {option}: {problem}")]
    Option {
        /// Name of the option.
        option: &'static str,
        /// Rule that the option breaks.
        problem: String,
    },
    /// A file name whose suffix names no format.
    #[error(
        "no known format has this suffix (.csv, .tsv, .txt, .parquet, .arrow, .feather, .ipc, .arrows, each also with .gz or .zst)"
    )]
    UnknownSuffix,
    /// A workbook, which has sheets and not one table.
    #[error(
        "a workbook is read by `bulkwire copy FILE#SHEET DESTINATION`; save the sheet as CSV for other commands"
    )]
    Workbook,
    /// A data file, a backup or a package of SQL Server, which has tables.
    #[error(
        "a file of SQL Server: `bulkwire copy {0}#SCHEMA.TABLE DESTINATION` reads a table of it, `bulkwire describe {0}` lists them"
    )]
    DatabaseFile(String),
    /// A folder.
    #[error("a folder: `bulkwire copy` takes folders, other commands take files or a pattern ({0}/*.csv)")]
    Folder(String),
    /// A packed file whose format is not read.
    #[error(
        "a packed file of a kind that is not read: unpack it, or pack it by gzip or zstd (.csv.gz, .csv.zst)"
    )]
    Packed,
    /// The address of a database.
    #[error("the address of a database, and no file: `bulkwire copy {0}:… DESTINATION` reads it")]
    Address(String),
    /// A type that the format (or the checksum) does not support.
    #[error("type {data_type} is not supported in {format}")]
    UnsupportedType {
        /// Arrow type of the column.
        data_type: DataType,
        /// The format that refuses it.
        format: &'static str,
    },
    /// A batch whose columns are not those the file was started with.
    #[error("expected type {expected}, found {found}")]
    SchemaMismatch {
        /// Type in the schema given at the start.
        expected: String,
        /// Type in the batch.
        found: String,
    },
    /// A value with no text form.
    #[error("{0}")]
    Text(String),
    /// A file whose parts contradict each other.
    #[error("the file is damaged: {problem}")]
    Damaged {
        /// Fault that the decoder found.
        problem: String,
    },
    /// A host file of bcp that ends inside a row.
    #[error("the file ends inside this row")]
    UnexpectedEnd,
    /// A length in front of a value that no value can have, most often because the file has another format.
    #[error("a value is said to be {length} bytes long; is the file of another format?")]
    ImpossibleLength {
        /// Length that the file claims.
        length: u64,
    },
    /// A value longer than its field in a host file.
    #[error("the value takes {length} bytes where the field has {limit}")]
    TooWide {
        /// Bytes of the value.
        length: usize,
        /// Bytes of the field.
        limit: usize,
    },
    /// NULL in a field of a host file that cannot represent it.
    #[error("NULL in a field without a length in front of it")]
    NullWithoutPrefix,
    /// A row of a host file that does not load.
    #[error("{0}")]
    Refused(crate::rejected_rows::RejectReason),
    /// A format file of bcp.
    #[error("{0}")]
    FormatFile(#[source] Box<crate::format_file_error::FormatFileError>),
    /// The Arrow library's own error.
    #[error("{0}")]
    Arrow(#[source] ArrowError),
    /// The Parquet library's own error.
    #[error("{0}")]
    Parquet(#[source] ParquetError),
}

impl Place {
    /// Longest value kept in an error, in characters.
    pub const VALUE_CHARS_MAX: usize = 80;
}

impl FormatError {
    pub(crate) fn new(reason: Reason) -> Self {
        Self { reason: Box::new(reason), place: Box::default() }
    }

    pub(crate) fn option(option: &'static str, problem: impl Into<String>) -> Self {
        Self::new(Reason::Option { option, problem: problem.into() })
    }

    pub(crate) fn at(mut self, place: Place) -> Self {
        *self.place = place;
        self
    }

    pub(crate) fn in_file(mut self, file: &str) -> Self {
        self.place.file.get_or_insert_with(|| file.to_owned());
        self
    }

    pub(crate) fn in_column(mut self, column: &str) -> Self {
        self.place.column.get_or_insert_with(|| column.to_owned());
        self
    }

    pub(crate) fn in_row(mut self, row: u64) -> Self {
        self.place.row.get_or_insert(row);
        self
    }

    pub(crate) fn with_value(mut self, value: &str) -> Self {
        let mut kept: String = value.chars().take(Place::VALUE_CHARS_MAX).collect();
        if kept.len() < value.len() {
            kept.push('…');
        }
        self.place.value.get_or_insert(kept);
        self
    }

    /// Returns true if the reader of our standard output has gone.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(*self.reason, Reason::BrokenPipe)
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { file, row, line, byte_offset, column, value } = &*self.place;
        let mut separator = "";
        if let Some(file) = file {
            write!(f, "{file}")?;
            separator = ", ";
        }
        for (name, number) in [("row", row), ("line", line), ("byte", byte_offset)] {
            if let Some(number) = number {
                write!(f, "{separator}{name} {number}")?;
                separator = ", ";
            }
        }
        if let Some(column) = column {
            write!(f, "{separator}column {column:?}")?;
            separator = ", ";
        }
        if !separator.is_empty() {
            f.write_str(": ")?;
        }
        write!(f, "{}", self.reason)?;
        if let Some(value) = value {
            write!(f, " (value {value:?})")?;
        }
        Ok(())
    }
}

impl Error for FormatError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.reason.source()
    }
}

impl From<io::Error> for FormatError {
    fn from(error: io::Error) -> Self {
        Self::new(if error.kind() == io::ErrorKind::BrokenPipe {
            Reason::BrokenPipe
        } else {
            Reason::Io(error)
        })
    }
}

impl From<ArrowError> for FormatError {
    fn from(error: ArrowError) -> Self {
        match error {
            ArrowError::IoError(_, io) => io.into(),
            other => Self::new(Reason::Arrow(other)),
        }
    }
}

impl From<ParquetError> for FormatError {
    fn from(error: ParquetError) -> Self {
        match error {
            ParquetError::External(inner) => match inner.downcast::<io::Error>() {
                Ok(io) => (*io).into(),
                Err(inner) => Self::new(Reason::Parquet(ParquetError::External(inner))),
            },
            other => Self::new(Reason::Parquet(other)),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use std::sync::Arc;

    use arrow::array::{Int32Array, RecordBatch};
    use arrow::ipc::writer::StreamWriter;
    use parquet::arrow::ArrowWriter;

    use super::*;

    /// A pipe whose reader leaves after this number of bytes.
    struct Pipe(usize);

    impl io::Write for Pipe {
        fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
            let count = self.0.min(buffer.len());
            self.0 -= count;
            if count == 0 { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(count) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_broken_pipe_is_recognised_through_every_library() {
        let array = Arc::new(Int32Array::from_iter_values(0..1000));
        let batch = RecordBatch::try_from_iter([("a", array as Arc<dyn arrow::array::Array>)]).unwrap();
        for capacity in [0, 4, 100, 600] {
            let parquet =
                ArrowWriter::try_new(Pipe(capacity), batch.schema(), None).and_then(|mut writer| {
                    writer.write(&batch)?;
                    writer.close()
                });
            assert!(
                FormatError::from(parquet.unwrap_err()).is_broken_pipe(),
                "Parquet after {capacity} bytes"
            );
            let ipc = StreamWriter::try_new(Pipe(capacity), &batch.schema())
                .and_then(|mut writer| writer.write(&batch));
            assert!(FormatError::from(ipc.unwrap_err()).is_broken_pipe(), "IPC after {capacity} bytes");
        }
        assert!(!FormatError::from(io::Error::from(io::ErrorKind::NotFound)).is_broken_pipe());
    }
}
