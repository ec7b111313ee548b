#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
//! Whether the rows of an Arrow file are sorted: by what it holds.

mod looking;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, ListArray, RecordBatch, StringArray};
use arrow::datatypes::Int32Type;
use arrow::ipc::writer::{FileWriter, StreamWriter};
use formats::{Compression, Format, IpcOptions, Location, SortColumn, Sorted, open};

const ROWS: i32 = 30_000;
const READ: Sorted = Sorted::Yes("the file's key was read");

/// A text, a list, the numbers, and a third of each row's number; in batches of 7,000 rows.
fn batches(ids: &[i32]) -> Vec<RecordBatch> {
    let batch = |ids: &[i32]| {
        let third = ids.iter().map(|id| id / 3);
        let lists = ids.iter().map(|id| Some(vec![Some(*id); (*id % 3).unsigned_abs() as usize]));
        let columns: [(&str, ArrayRef); 4] = [
            ("text", Arc::new(StringArray::from_iter_values(ids.iter().map(|id| format!("row {id}"))))),
            ("list", Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists))),
            ("id", Arc::new(Int32Array::from(ids.to_vec()))),
            ("third", Arc::new(Int32Array::from_iter_values(third))),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    };
    ids.chunks(7000).map(batch).collect()
}

fn file(folder: &Path, ids: &[i32]) -> PathBuf {
    let path = folder.join("t.arrow");
    let schema = batches(&[1])[0].schema();
    let mut writer = FileWriter::try_new(File::create(&path).unwrap(), &schema).unwrap();
    batches(ids).iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    path
}

fn look(path: &Path, columns: &[(usize, bool)], strictly: bool) -> Sorted {
    let (sorted, reader) = looking::look(path, &Format::ArrowIpc(IpcOptions::default()), columns, strictly);
    let rows: usize = reader.map(|batch| batch.unwrap().num_rows()).sum();
    assert!(rows == ROWS as usize || rows == 0, "all rows are still there");
    sorted
}

#[test]
fn sorted_rows_are_known_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), &(0..ROWS).collect::<Vec<_>>());
    assert_eq!(look(&path, &[(2, false)], true), READ);
    assert_eq!(look(&path, &[(3, false), (2, false)], true), READ);
    assert_eq!(look(&path, &[(3, false)], false), READ);
    assert_ne!(look(&path, &[(3, false)], true), READ, "three rows have the same third");
    assert_ne!(look(&path, &[(2, true)], true), READ);
    assert_ne!(look(&path, &[(3, false), (2, true)], true), READ);
    assert_eq!(look(&path, &[], true), Sorted::Unknown);
    let falling = file(folder.path(), &(0..ROWS).rev().collect::<Vec<_>>());
    assert_eq!(look(&falling, &[(2, true)], true), READ);
    assert_ne!(look(&falling, &[(2, false)], false), READ);
    let empty = file(folder.path(), &[]);
    assert_eq!(look(&empty, &[(2, false)], true), READ);
}

#[test]
fn one_row_in_the_wrong_place_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    // Within the first, a middle and the last batch, and on both sides of a border.
    for row in [5, 6999, 7000, 15_000, 29_998] {
        let mut ids: Vec<i32> = (0..ROWS).collect();
        ids.swap(row, row + 1);
        let Sorted::No(why) = look(&file(folder.path(), &ids), &[(2, false)], true) else {
            panic!("row {row}")
        };
        let expected = match (6999..28_000).contains(&row) {
            true => format!("its row {} is not in that order", row + 2),
            false => "its first and last rows are not in that order".to_owned(),
        };
        assert_eq!(why, expected);
    }
}

#[test]
fn a_stream_is_not_read_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.arrows");
    let all = batches(&(0..ROWS).collect::<Vec<_>>());
    let mut writer = StreamWriter::try_new(File::create(&path).unwrap(), &all[0].schema()).unwrap();
    all.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    assert_eq!(look(&path, &[(2, false)], true), Sorted::Unknown);
}

#[test]
fn a_damaged_file_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), &(0..ROWS).collect::<Vec<_>>());
    let mut bytes = fs::read(&path).unwrap();
    let place = bytes.len() / 2;
    // Behind a mark and its length, the description of a block.
    let is_block = |at: &usize| {
        let length = u32::from_le_bytes(bytes[*at + 4..*at + 8].try_into().unwrap());
        bytes[*at..].starts_with(&[0xFF; 4]) && (100..10_000).contains(&length) && length % 8 == 0
    };
    let at = (0..place).rev().find(is_block).unwrap();
    bytes[at + 8..at + 40].fill(0xFF);
    fs::write(&path, bytes).unwrap();
    let format = Format::ArrowIpc(IpcOptions::default());
    match open(&Location::Path(path.clone()), &format, Compression::None, 1000) {
        Err(error) => assert!(error.to_string().contains("t.arrow"), "{error}"),
        Ok(reader) => {
            let column = SortColumn { index: 2, descending: false };
            let error = reader.sorted_by(&[column], true).unwrap_err();
            assert!(error.to_string().contains("t.arrow"), "{error}");
        }
    }
}
