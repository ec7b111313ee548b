//! ERRORFILE: the bad rows unchanged, and a second file with their places and reasons.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

use databases::file_access::{FileAccess, cannot_open};
use tsql::SqlError;

use crate::bulk_file::fault::{BadRow, Fault};

/// Suffix of the second file.
const CONTROL_SUFFIX: &str = ".Error.Txt";

/// The pair of files; made when the first bad row comes.
pub(crate) struct ErrorFile {
    name: String,
    rows: PathBuf,
    control: PathBuf,
    open: Option<(File, File)>,
    /// Bytes of the first file so far.
    written: u64,
}

impl ErrorFile {
    /// Checks that both files may be made and do not exist.
    ///
    /// Errors: 4861.
    pub fn new(name: &str, access: &FileAccess) -> Result<Self, SqlError> {
        let rows = access.fresh(name)?;
        let control = access.fresh(&format!("{name}{CONTROL_SUFFIX}"))?;
        Ok(Self { name: name.to_owned(), rows, control, open: None, written: 0 })
    }

    /// Adds a row.
    pub fn add(&mut self, bad: &BadRow) -> Result<(), SqlError> {
        self.try_add(bad).map_err(|error| cannot_open(&self.name, &error))
    }

    fn try_add(&mut self, bad: &BadRow) -> io::Result<()> {
        let (rows, control) = match &mut self.open {
            Some(open) => open,
            None => self.open.insert((create(&self.rows)?, create(&self.control)?)),
        };
        // DISP_E_TYPEMISMATCH, DISP_E_OVERFLOW, E_FAIL.
        let result = match bad.fault {
            Fault::Conversion => 0x8002_0005_u32,
            Fault::Overflow => 0x8002_000A,
            Fault::Truncation | Fault::Null => 0x8000_4005,
        };
        let offset = bad.byte_offset.map(|offset| format!(" File Offset {offset}")).unwrap_or_default();
        let (row, written) = (bad.row, self.written);
        writeln!(control, "Row {row}{offset} ErrorFile Offset {written} - HRESULT 0x{result:08x}")?;
        rows.write_all(&bad.raw)?;
        self.written += bad.raw.len() as u64;
        Ok(())
    }
}

fn create(path: &PathBuf) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}
