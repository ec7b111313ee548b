//! Format of a file.

use std::path::Path;
use std::sync::Arc;

use rows::text::spelling::TextSpelling;

use crate::bcp::HostFormat;
use crate::{
    ColumnReading, Compression, CsvOptions, FormatError, IpcContainer, IpcOptions, Location, ParquetOptions,
    Reason,
};

/// Suffixes of the files of SQL Server whose tables `bulkwire copy` reads.
const DATABASE_FILES: [&str; 6] = ["bak", "bacpac", "dacpac", "mdf", "ndf", "ldf"];
/// Suffixes of packed files that are not read.
const PACKED: [&str; 10] = ["zip", "7z", "rar", "bz2", "xz", "lzma", "lz4", "br", "tgz", "tar"];

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
    /// Returns the format with a declared spelling of numbers and dates, for formats of text.
    #[must_use]
    pub fn spelled(self, spelling: TextSpelling) -> Self {
        match self {
            Self::Csv(options) => Self::Csv(CsvOptions { spelling, ..options }),
            other => other,
        }
    }

    /// Returns the format with the readings of columns that inference found, for delimited text.
    #[must_use]
    pub fn with_readings(self, readings: Option<Arc<[ColumnReading]>>) -> Self {
        match self {
            Self::Csv(options) => Self::Csv(CsvOptions { readings, ..options }),
            other => other,
        }
    }

    /// Returns the format of a file by its name, and its compression.
    ///
    /// # Errors
    /// It has no name, or the suffix names no format.
    pub fn of(location: &Location) -> Result<(Self, Compression), FormatError> {
        let unknown = || FormatError::new(Reason::UnknownSuffix);
        let found = location.path().ok_or_else(unknown).and_then(Self::from_path);
        found.map_err(|mut error| {
            if !matches!(*error.reason, Reason::Address(_)) {
                error.place.file = Some(location.to_string());
            }
            error
        })
    }

    /// Returns format and compression by the suffixes of a path. `.csv` and `.txt` are text with commas,
    /// `.tsv` text with tabs, `.parquet` is Parquet. `.arrow`, `.feather` and `.ipc` are IPC files, `.arrows`
    /// is an IPC stream. Each may be followed by `.gz` or `.zst`.
    ///
    /// # Errors
    /// [`Reason::UnknownSuffix`] if the suffix names no format, or the reason why what the path names is none of these files.
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
            suffix => {
                let reason = other_kind(path, suffix.unwrap_or_default());
                // An address may hold a password.
                let file = match &reason {
                    Reason::Address(scheme) => format!("{scheme}:…"),
                    _ => path.display().to_string(),
                };
                return Err(FormatError::new(reason).in_file(&file));
            }
        };
        Ok((format, compression))
    }
}

/// Returns what a path names that is no file of a known format. `suffix`: in lower case, without that of compression.
fn other_kind(path: &Path, suffix: &str) -> Reason {
    let text = path.to_string_lossy();
    let outer = path.extension().and_then(|suffix| suffix.to_str()).unwrap_or_default().to_ascii_lowercase();
    if path.is_dir() {
        return Reason::Folder(text.trim_end_matches('/').to_owned());
    }
    let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
    if scheme.len() > 1
        && scheme.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'+')
        && !path.exists()
    {
        return Reason::Address(scheme.to_owned());
    }
    // A table of such a file stands behind '#'.
    let file = text.split_once('#').map_or(&*text, |(file, _)| file);
    let is_of_server = |file: &str| {
        let suffix = file.rsplit_once('.').map(|(_, suffix)| suffix.to_ascii_lowercase());
        suffix.is_some_and(|suffix| DATABASE_FILES.contains(&suffix.as_str()))
    };
    match suffix {
        _ if is_of_server(file) => Reason::DatabaseFile(file.to_owned()),
        "xlsx" | "xlsm" | "xlsb" | "xls" | "ods" => Reason::Workbook,
        "tar" => Reason::Packed,
        _ if PACKED.contains(&outer.as_str()) => Reason::Packed,
        _ => Reason::UnknownSuffix,
    }
}
