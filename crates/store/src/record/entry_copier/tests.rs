#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
//! Copied entries have the bytes of those that are made from values.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray, BooleanArray, Int32Array, RecordBatch, StringArray};

use super::EntryCopier;
use crate::page::{PageId, RowId};
use crate::record::kind::Kind;
use crate::record::layout::{Column, Layout};
use crate::record::{BoundBatch, Records, no_large_values};

fn records(layout: &Layout, columns: Vec<ArrayRef>) -> Records {
    let batch = RecordBatch::try_new(Arc::clone(&layout.schema), columns).unwrap();
    let bound = BoundBatch::new(layout, &batch, &mut no_large_values()).unwrap();
    let mut records = Records::default();
    bound.write_records(0..batch.num_rows(), &mut records);
    records
}

#[test]
fn copied_entries_have_the_bytes_of_made_ones() {
    const ROWS: i32 = 3000;
    let columns = [
        Column::required("a", Kind::Int),
        Column::new("b", Kind::Bit),
        Column::new("c", Kind::VarChar(Some(30))),
        Column::new("d", Kind::Int),
        Column::required("e", Kind::VarChar(Some(30))),
        Column::new("f", Kind::Bit),
        Column::new("g", Kind::Char(7)),
        Column::new("h", Kind::VarChar(Some(30))),
    ];
    let rows = || 0..ROWS;
    let text = |every: i32, length: i32| -> ArrayRef {
        let texts = rows().map(|row| (row % every != 0).then(|| "x".repeat((row % length) as usize)));
        Arc::new(StringArray::from_iter(texts))
    };
    let values: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from_iter_values(rows())),
        Arc::new(BooleanArray::from_iter(rows().map(|row| (row % 5 != 0).then_some(row % 3 == 0)))),
        text(3, 20),
        Arc::new(Int32Array::from_iter(rows().map(|row| Some(row * 7)))),
        Arc::new(StringArray::from_iter_values(rows().map(|row| "y".repeat((row % 11) as usize)))),
        Arc::new(BooleanArray::from_iter(rows().map(|row| Some(row % 2 == 0)))),
        Arc::new(StringArray::from_iter(rows().map(|row| (row % 4 != 0).then_some("abcdefg")))),
        text(2, 9),
    ];
    let table = Layout::new(columns.to_vec()).unwrap();
    let from = records(&table, values.clone());
    for sources in [
        vec![3, 0],
        vec![0],
        vec![7, 2, 4, 0],
        vec![1, 5, 6, 0],
        vec![6, 7, 0],
        vec![4, 1, 3, 2, 0],
        vec![7],
        vec![0, 1, 2, 3, 4, 5, 6, 7],
    ] {
        let of_index = sources.iter().map(|column| columns[*column].clone()).collect();
        let entries = Layout::of_index(of_index).unwrap();
        let made = records(&entries, sources.iter().map(|column| Arc::clone(&values[*column])).collect());
        let some: Vec<_> = sources.iter().copied().map(Some).collect();
        let copier = EntryCopier::new(&table, &entries, &some).unwrap();
        let mut copied = Records::default();
        copier.copy(&from, &[], &mut copied).unwrap();
        assert_eq!(copied.lengths, made.lengths, "{sources:?}");
        assert_eq!(copied.bytes, made.bytes, "{sources:?}");
    }
    // Entries of a heap's index have the address behind the key, and included columns behind that.
    let addresses: Vec<RowId> = (0..ROWS as u32)
        .map(|row| RowId { page: PageId { page: 1 + row / 100, file: 1 }, slot: (row % 100) as u16 })
        .collect();
    let of_address: ArrayRef =
        Arc::new(BinaryArray::from_iter_values(addresses.iter().map(|address| address.to_bytes())));
    for sources in [vec![Some(0), None], vec![Some(2), None], vec![Some(3), None, Some(7), Some(1), Some(2)]]
    {
        let address = Column::required("address", Kind::VarBinary(Some(8)));
        let of_index =
            sources.iter().map(|source| source.map_or(address.clone(), |column| columns[column].clone()));
        let entries = Layout::of_index(of_index.collect()).unwrap();
        let of_index = sources.iter().map(|source| source.map_or(&of_address, |column| &values[column]));
        let made = records(&entries, of_index.map(Arc::clone).collect());
        let copier = EntryCopier::new(&table, &entries, &sources).unwrap();
        let mut copied = Records::default();
        copier.copy(&from, &addresses, &mut copied).unwrap();
        assert_eq!((copied.lengths, copied.bytes), (made.lengths, made.bytes), "{sources:?}");
        assert!(
            copier.copy(&from, &addresses[1..], &mut Records::default()).is_none(),
            "an address is missing"
        );
    }
}
