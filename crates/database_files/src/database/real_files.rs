//! Files of real servers that the tests of this room change.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::{array::RecordBatch, compute::concat_batches};
use rows::Form;

use super::PagedDatabase;

/// Returns the path of a file, if the files are there.
pub(super) fn path(file: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("BULKWIRE_SQL_SERVER_FILES")
        .map_or_else(|| Path::new("../../../shared/data/sql-server-files").to_owned(), Into::into);
    let path = folder.join(file);
    if !path.is_file() {
        println!("skipped: no {file} of a real server in {}", folder.display());
    }
    path.is_file().then_some(path)
}

/// Reads all rows of a table.
pub(super) fn rows(database: &PagedDatabase, index: usize) -> RecordBatch {
    let reader = database.read(index, Form::Exact, 1000, 1).unwrap();
    let schema = Arc::clone(&reader.schema);
    let batches: Vec<RecordBatch> = reader.map(|batch| batch.unwrap()).collect();
    concat_batches(&schema, &batches).unwrap()
}
