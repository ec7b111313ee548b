//! Format of a file.

use std::path::Path;

use crate::bcp::HostFormat;
use crate::{
    Compression, CsvOptions, FormatError, IpcContainer, IpcOptions, Location, ParquetOptions, Reason,
};

/// A file format with its options.
#[derive(Debug, Clone, PartialEq)]
pub enum Format {
    /// Delimited text.
    Csv(CsvOptions),
    /// Apache Parquet.
    Parquet(ParquetOptions),
    /// Arrow IPC, file (Feather version 2) or stream.
    ArrowIpc(IpcOptions),
    /// A host file of `bcp`, which does not describe itself: character, native or of fixed width.
    Host(Box<HostFormat>),
}

impl Format {
    /// Returns the format of a file by its name, and its compression.
    ///
    /// # Errors
    /// It has no name, or the suffix names no format.
    pub fn of(location: &Location) -> Result<(Self, Compression), FormatError> {
        let unknown = || FormatError::new(Reason::UnknownSuffix);
        let found = location.path().ok_or_else(unknown).and_then(Self::from_path);
        found.map_err(|mut error| {
            error.place.file = Some(location.to_string());
            error
        })
    }

    /// Returns format and compression by the suffixes of a path. `.csv` and `.txt` are text with commas,
    /// `.tsv` text with tabs, `.parquet` is Parquet. `.arrow`, `.feather` and `.ipc` are IPC files, `.arrows`
    /// is an IPC stream. Each may be followed by `.gz` or `.zst`.
    ///
    /// # Errors
    /// [`Reason::UnknownSuffix`] if the suffix names no format.
    pub fn from_path(path: &Path) -> Result<(Self, Compression), FormatError> {
        let (compression, path_inside) = Compression::from_path(path);
        let suffix = path_inside.extension().and_then(|suffix| suffix.to_str()).map(str::to_ascii_lowercase);
        let format = match suffix.as_deref() {
            Some("csv" | "txt") => Self::Csv(CsvOptions::default()),
            Some("tsv") => Self::Csv(CsvOptions { delimiter: "\t".into(), ..CsvOptions::default() }),
            Some("parquet") => Self::Parquet(ParquetOptions::default()),
            Some("arrow" | "feather" | "ipc") => Self::ArrowIpc(IpcOptions::default()),
            Some("arrows") => {
                Self::ArrowIpc(IpcOptions { container: IpcContainer::Stream, ..IpcOptions::default() })
            }
            Some("xlsx" | "xlsm" | "xlsb" | "xls" | "ods") => {
                return Err(FormatError::new(Reason::Workbook).in_file(&path.display().to_string()));
            }
            _ => return Err(FormatError::new(Reason::UnknownSuffix).in_file(&path.display().to_string())),
        };
        Ok((format, compression))
    }
}
