#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
//! Whether the rows of a Parquet file are sorted: by what its footer says, and by what it holds.

mod looking;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, Int32Array, RecordBatch};
use formats::{Format, ParquetOptions, Sorted};
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::SortingColumn;
use parquet::file::properties::WriterProperties;

const ROWS: i32 = 30_000;

/// Writes a file in row groups of 7,000 rows, which may say that the first column is sorted.
fn file(folder: &Path, ids: Vec<Option<i32>>, days: Vec<i32>, says: Option<SortingColumn>) -> PathBuf {
    let path = folder.join("t.parquet");
    let batch = RecordBatch::try_from_iter([
        ("id", Arc::new(Int32Array::from(ids)) as ArrayRef),
        ("day", Arc::new(Date32Array::from(days)) as ArrayRef),
    ])
    .unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(7000))
        .set_sorting_columns(says.map(|says| vec![says]))
        .build();
    let mut writer =
        ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    path
}

fn look(path: &Path, columns: &[(usize, bool)], strictly: bool) -> Sorted {
    looking::look(path, &Format::Parquet(ParquetOptions::default()), columns, strictly).0
}

fn is_sorted(path: &Path, columns: &[(usize, bool)], strictly: bool) -> bool {
    matches!(look(path, columns, strictly), Sorted::Yes(_))
}

#[test]
fn sorted_rows_are_known_as_such_whatever_the_file_says() {
    let folder = tempfile::tempdir().unwrap();
    let rising = || (0..ROWS).map(Some).collect::<Vec<_>>();
    let days = || (0..ROWS).map(|row| row / 3).collect::<Vec<_>>();
    let says = SortingColumn { column_idx: 0, descending: false, nulls_first: true };
    for (claim, evidence) in
        [(None, "the file's key was read"), (Some(says), "the file says so, and its key was read")]
    {
        let path = file(folder.path(), rising(), days(), claim);
        assert_eq!(look(&path, &[(0, false)], true), Sorted::Yes(evidence));
        assert!(is_sorted(&path, &[(1, false), (0, false)], true));
        assert!(is_sorted(&path, &[(1, false)], false));
        assert!(!is_sorted(&path, &[(1, false)], true), "three rows have the same day");
        assert!(!is_sorted(&path, &[(0, true)], true));
        assert!(!is_sorted(&path, &[(1, false), (0, true)], true));
    }
    let falling = file(folder.path(), (0..ROWS).rev().map(Some).collect(), days(), None);
    assert!(is_sorted(&falling, &[(0, true)], true));
    assert!(!is_sorted(&falling, &[(0, false)], false));
}

#[test]
fn a_wrong_claim_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let says = SortingColumn { column_idx: 0, descending: false, nulls_first: true };
    // The two rows stand within a row group, on both sides of the border between two that are compared at a time, and at the end.
    for row in [5, 8191, 8192, 21_500, 29_998] {
        let mut ids: Vec<Option<i32>> = (0..ROWS).map(Some).collect();
        ids.swap(row, row + 1);
        let path = file(folder.path(), ids, vec![0; ROWS as usize], Some(says.clone()));
        let expected = format!("its row {} is not in that order", row + 2);
        assert_eq!(look(&path, &[(0, false)], true), Sorted::No(expected));
    }
    // Row groups whose values overlap are not even read.
    let mut ids: Vec<Option<i32>> = (0..ROWS).map(Some).collect();
    ids.swap(10, 20_000);
    let path = file(folder.path(), ids, vec![0; ROWS as usize], Some(says.clone()));
    assert_eq!(
        look(&path, &[(0, false)], false),
        Sorted::No("the statistics of its row groups overlap".to_owned())
    );
}

#[test]
fn null_comes_before_all_values() {
    let folder = tempfile::tempdir().unwrap();
    let days = vec![0; ROWS as usize];
    let first = |row: i32, nulls: i32| (row >= nulls).then_some(row);
    let one = file(folder.path(), (0..ROWS).map(|row| first(row, 1)).collect(), days.clone(), None);
    assert!(is_sorted(&one, &[(0, false)], true));
    assert!(!is_sorted(&one, &[(0, true)], false));
    let many = file(folder.path(), (0..ROWS).map(|row| first(row, 9000)).collect(), days.clone(), None);
    assert!(is_sorted(&many, &[(0, false)], false));
    assert!(!is_sorted(&many, &[(0, false)], true), "two NULLs are the same key");
    let last = (0..ROWS).map(|row| (row < ROWS - 1).then_some(row)).collect();
    assert!(!is_sorted(&file(folder.path(), last, days.clone(), None), &[(0, false)], false));
    let last = (0..ROWS).map(|row| (row < ROWS - 1).then_some(ROWS - row)).collect();
    assert!(is_sorted(&file(folder.path(), last, days, None), &[(0, true)], true));
}
