//! Rows of a heap that have moved read as they did where they were first put.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int32Array, RecordBatch, StringArray};
use bulkwire_store::{
    Column, Compression, Engine, IndexDefinition, Kind, LyingValue, Placement, RecoveryModel, RowLocator,
    ScannedRows, ValuePlace,
};

use crate::basics::options;
use crate::support::volume::MemoryVolume;

/// With NULL columns of each kind behind the value that makes a row grow.
fn columns() -> Vec<Column> {
    vec![
        Column::required("id", Kind::Int),
        Column::new("grows", Kind::VarChar(Some(900))),
        Column::new("text", Kind::VarChar(Some(40))),
        Column::new("national", Kind::NVarChar(Some(40))),
        Column::new("binary", Kind::VarBinary(Some(40))),
    ]
}

/// Rows of which each ends in other NULLs.
fn rows(ids: std::ops::Range<i32>, long: bool) -> RecordBatch {
    let text = |column: i32, value: &str| -> ArrayRef {
        let has = |id: i32| id % 5 > column;
        Arc::new(ids.clone().map(|id| has(id).then(|| value.to_owned())).collect::<StringArray>())
    };
    let binary: arrow::array::BinaryArray =
        ids.clone().map(|id| (id % 5 > 3).then_some([0xA8_u8; 3])).collect();
    let grows = if long { "g".repeat(800) } else { "g".repeat(90) };
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from_iter_values(ids.clone())),
        text(0, &grows),
        text(1, "text"),
        text(2, "nationál"),
        Arc::new(binary),
    ];
    let layout = bulkwire_store::record::layout::Layout::new(columns()).unwrap();
    RecordBatch::try_new(layout.schema, arrays).unwrap()
}

/// The home address of a moved row stands behind its last value: where a NULL column would have its bytes. Pages from 128 on have
/// numbers that are no text.
#[test]
fn nulls_behind_the_last_value_of_a_moved_row_stay_null() {
    const ROWS: i32 = 20_000;
    for compression in [Compression::None, Compression::Row, Compression::Page] {
        let engine =
            Engine::open_on(Arc::new(MemoryVolume::default()), options(RecoveryModel::Simple)).unwrap();
        let mut transaction = engine.begin();
        let placement = Placement::default();
        transaction.create_table_on("t", columns(), None, compression, &placement, "").unwrap();
        transaction.open_table("t").unwrap().insert(&rows(0..ROWS, false)).unwrap();
        transaction.commit().unwrap();

        let mut transaction = engine.begin();
        let mut scan = transaction.read_table("t").unwrap().scan(Some(vec![0])).unwrap();
        let mut located: Vec<(i32, RowLocator)> = Vec::new();
        while let Some(found) = scan.next_with_locators() {
            let (batch, locators) = found.unwrap();
            let ids = batch.column(0).as_any().downcast_ref::<Int32Array>().unwrap().values().to_vec();
            located.extend(ids.into_iter().zip(locators));
        }
        drop(scan);
        located.sort_unstable_by_key(|(id, _)| *id);
        let expected = rows(0..ROWS, true);
        for first in (0..ROWS as usize).step_by(1000) {
            let locators: Vec<_> = located[first..first + 1000].iter().map(|(_, at)| at.clone()).collect();
            let mut table = transaction.open_table("t").unwrap();
            table.update_located(&locators, &expected.slice(first, 1000)).unwrap();
        }
        // Again, now that they have moved: each gets shorter where it is.
        let short = rows(0..ROWS, false);
        let moved: Vec<usize> = (0..ROWS as usize).filter(|row| row.is_multiple_of(7)).collect();
        for row in &moved {
            let mut table = transaction.open_table("t").unwrap();
            table.update_located(&[located[*row].1.clone()], &short.slice(*row, 1)).unwrap();
        }
        transaction.commit().unwrap();
        let wanted =
            |row: usize| if row.is_multiple_of(7) { short.slice(row, 1) } else { expected.slice(row, 1) };

        let forwarded = engine
            .snapshot()
            .physical_statistics("t", bulkwire_store::ScanDetail::Detailed)
            .unwrap()
            .iter()
            .filter_map(|unit| unit.contents)
            .map(|contents| contents.forwarded_records)
            .sum::<u64>();
        assert!(forwarded > 1000, "{forwarded} rows have moved, {compression:?}");
        let snapshot = engine.snapshot();
        let mut seen = 0;
        for batch in snapshot.read_table("t").unwrap().scan(None).unwrap() {
            let batch = batch.unwrap();
            let ids = batch.column(0).as_any().downcast_ref::<Int32Array>().unwrap();
            for row in 0..batch.num_rows() {
                assert_eq!(batch.slice(row, 1), wanted(ids.value(row) as usize), "{compression:?}");
            }
            seen += batch.num_rows();
        }
        assert_eq!(seen, ROWS as usize);
        seen = 0;
        let table = snapshot.table("t").unwrap();
        let mut scan = snapshot.read_table("t").unwrap().scan(None).unwrap();
        while let Some(found) = scan.next_rows() {
            let ScannedRows::Lying(found) = found.unwrap() else { break };
            let batch = found.batch(&[0, 1, 2, 3, 4]).unwrap();
            let places: Vec<_> =
                (0..5).map(|column| ValuePlace::of(&table.layout, column).unwrap()).collect();
            for (row, record) in found.pages().flatten().enumerate() {
                let id = batch.column(0).as_any().downcast_ref::<Int32Array>().unwrap().value(row);
                assert_eq!(batch.slice(row, 1), wanted(id as usize));
                for (place, column) in places.iter().zip(batch.columns()) {
                    assert_eq!(place.value(record) == LyingValue::Null, column.is_null(row));
                }
            }
            seen += batch.num_rows();
        }
        assert_eq!(seen, if compression == Compression::None { ROWS as usize } else { 0 });
        drop(scan);
        // Building an index reads every row by itself.
        let mut transaction = engine.begin();
        let index = IndexDefinition::new("by_text", &[2, 3]);
        transaction.open_table("t").unwrap().create_index(&index).unwrap();
        transaction.commit().unwrap();
        assert_eq!(engine.check().unwrap(), [], "{compression:?}");
    }
}
