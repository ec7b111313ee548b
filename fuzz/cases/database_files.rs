//! Fuzz cases of the crate for SQL Server's files: whatever bytes a backup, a data file or a package has, reading it ends in rows or
//! in an error, the same each time.
//!
//! This file is part of two programs: the fuzzer, and the test of the crate that runs the saved corpus.
//! A case returns whether it accepted the input, which the driver takes as a hint that it is worth changing further.

use std::sync::Arc;

use database_files::{BackupFile, DatabaseFile, FileError, InMemory, ReadAt};
use rows::Form;

/// A case: given bytes, panics if something is wrong, else says whether the input was accepted.
pub type Case = fn(&[u8]) -> bool;

/// Name (that of its corpus directory too) and body of every case of this file.
pub const CASES: &[(&str, Case)] = &[("database_file", database_file), ("backup_file", backup_file)];

/// Rows of a batch, and bytes of a backup's contents, that are read at most.
const BATCH_ROWS: usize = 100;
const CONTENT_BYTES: u64 = 1 << 20;

fn source(data: &[u8]) -> Arc<dyn ReadAt> {
    Arc::new(InMemory::new("input", data.to_vec()))
}

/// A database in a file of any kind: its tables and all of their rows.
pub fn database_file(data: &[u8]) -> bool {
    let first = read(data);
    assert_eq!(first, read(data), "the same bytes give the same");
    first.is_ok()
}

/// Reads all tables. Returns the rows of each, or its error.
fn read(data: &[u8]) -> Result<Vec<Result<usize, FileError>>, FileError> {
    let database = DatabaseFile::open(vec![source(data)], None)?;
    let count = database.tables().len();
    let rows = |table: usize| {
        let mut rows = 0;
        for batch in database.read(table, Form::Exact, BATCH_ROWS, 1)? {
            rows += batch?.num_rows();
        }
        Ok(rows)
    };
    Ok((0..count).map(rows).collect())
}

/// The label and the headers of a backup, the checksums of its streams, and the contents of the embedded server's own ones.
pub fn backup_file(data: &[u8]) -> bool {
    let Ok(file) = BackupFile::open(source(data)) else { return false };
    let count = file.headers().len();
    for set in 0..count {
        // A damage of a stream is an error, and nothing else.
        let _ = file.verify(set);
        if let Some(own) = file.own(set) {
            let mut content = std::io::Read::take(own.content, CONTENT_BYTES);
            let _ = std::io::copy(&mut content, &mut std::io::sink());
        }
    }
    count > 0
}
