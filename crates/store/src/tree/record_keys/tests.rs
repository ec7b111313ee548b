#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use arrow::array::{ArrayRef, Int16Array, Int32Array, Int64Array, RecordBatch};

use super::*;
use crate::page::PageId;
use crate::page::unit::UnitKind;
use crate::record::layout::Column;
use crate::record::{BoundBatch, no_large_values};
use crate::tree::index::IndexDefinition;

#[test]
fn integers_have_the_keys_that_any_value_has() {
    let columns = vec![
        Column::new("a", Kind::SmallInt),
        Column::required("b", Kind::Int),
        Column::new("c", Kind::BigInt),
    ];
    let layout = Layout::new(columns).unwrap();
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(Int16Array::from(vec![Some(i16::MIN), None, Some(-1), Some(i16::MAX)])),
        Arc::new(Int32Array::from(vec![0, i32::MIN, i32::MAX, -1])),
        Arc::new(Int64Array::from(vec![None, Some(i64::MAX), Some(i64::MIN), Some(0)])),
    ];
    let batch = RecordBatch::try_new(layout.schema.clone(), arrays).unwrap();
    let bound = BoundBatch::new(&layout, &batch, &mut no_large_values()).unwrap();
    let mut records = Records::default();
    bound.write_records(0..4, &mut records);
    for descending in [false, true] {
        let key: Vec<_> = (0..3).map(|column| KeyColumn { descending, ..KeyColumn::new(column) }).collect();
        let tree = Tree {
            definition: IndexDefinition { key: key.clone(), ..IndexDefinition::new("", &[0, 1, 2]) },
            key: KeyLayout::new(&layout, &key, None).unwrap(),
            layout: Arc::new(layout.clone()),
            root: PageId::NONE,
            unit: UnitKind::InRow,
        };
        let reader = RecordKeys::whole(&tree);
        assert!(reader.integers.is_some());
        let mut keys = Keys::default();
        reader.read(&tree, &records, &mut keys).unwrap();
        let plain = records.iter().map(|record| tree.key.of_row(&layout, StoredRow::whole(record)).unwrap());
        assert!(plain.eq(keys.iter().map(<[u8]>::to_vec)));
        assert_eq!(keys.len(), 4);
    }
}
