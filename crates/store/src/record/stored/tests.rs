#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use arrow::array::RecordBatch;
use proptest::prelude::*;

use super::*;
use crate::page::{PageId, PageType, UnitId};
use crate::record::BoundBatch;
use crate::record::compress::fill::compress_page;
use crate::record::compress::{Compression, CompressionCounts};
use crate::record::layout::Column;
use crate::record::tests::{MemoryValues, NoLargeValues, column, kinds, layout_of};
use crate::tree::key::{KeyColumn, KeyLayout};

/// `crates/store/src/record/compress/mod.rs`, "A compressed record".
#[test]
fn an_entry_of_a_compressed_tree_has_the_promised_bytes() {
    let layout = layout_of(&[Kind::Int]).with_compression(Compression::Row).unwrap();
    let key = KeyLayout::new(&layout, &[KeyColumn::new(0)], None).unwrap();
    let ids = std::sync::Arc::new(arrow::array::Int32Array::from(vec![1_000_000]));
    let batch = RecordBatch::try_new(layout.schema.clone(), vec![ids]).unwrap();
    let bound = BoundBatch::new(&layout, &batch, &mut NoLargeValues).unwrap();
    let record = bound.record(0);
    assert_eq!(record, [0x01, 1, 0x04, 0x8F, 0x42, 0x40]);
    let child = PageId::new(1, 120);
    let entry = key.index_record(&layout, StoredRow::whole(&record), child).unwrap();
    assert_eq!(entry, [0x19, 2, 0x74, 0x8F, 0x42, 0x40, 120, 0, 0, 0, 1, 0]);
    assert_eq!(key.child(&entry), Some(child));
    // Of another tree, or no entry at all.
    for damaged in
        [&[0x19, 1, 0x04, 0x8F, 0x42, 0x40][..], &[0x19, 2, 0x64, 0x8F, 0x42, 0x40, 120, 0, 0, 0, 1]]
    {
        assert_eq!(key.child(damaged), None);
        assert_eq!(key.write_of_index(&layout, &damaged[..damaged.len() - 1], &mut Vec::new()), None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Values, keys and entries of upper pages are the same whatever the form of the row, in a page or not.
    #[test]
    fn a_value_is_the_same_in_every_form(
        (kinds, columns) in (prop::collection::vec(kinds(), 1..8), 1_usize..40).prop_flat_map(|(kinds, rows)| {
            let columns: Vec<_> = kinds.iter().map(|kind| column(*kind, rows)).collect();
            (Just(kinds), columns)
        }),
        in_index in any::<bool>(),
    ) {
        let plain = match in_index {
            true => {
                let columns = kinds.iter().enumerate();
                Layout::of_index(columns.map(|(n, kind)| Column::new(format!("c{n}"), *kind)).collect()).unwrap()
            }
            false => layout_of(&kinds),
        };
        let compressed = plain.clone().with_compression(Compression::Page).unwrap();
        let batch = RecordBatch::try_new(plain.schema.clone(), columns).unwrap();
        let (mut values, mut others) = (MemoryValues::default(), MemoryValues::default());
        let first = BoundBatch::new(&plain, &batch, &mut values);
        let second = BoundBatch::new(&compressed, &batch, &mut others);
        prop_assume!(first.is_ok() && second.is_ok());
        // A compressed table moves values out of a row a few bytes sooner, and such values are not looked at here.
        prop_assume!(values.count() == others.count());
        let (first, second) = (first.unwrap(), second.unwrap());
        let page_type = if in_index { PageType::Index } else { PageType::Data };
        let mut page = Page::formatted(PageId::new(1, 9), page_type, 0, UnitId::default(), 4);
        let rows = (0..batch.num_rows() as u16)
            .take_while(|row| page.insert(*row, &second.record(usize::from(*row)), true))
            .count();
        let page = compress_page(&page, kinds.len(), &mut CompressionCounts::default()).unwrap_or(page);
        let in_page = PageRows::new(&page).unwrap();
        let in_key: Vec<KeyColumn> = (0..)
            .zip(&kinds)
            .filter(|(_, kind)| kind.place() != Place::Variable { limit_bytes: None })
            .map(|(column, _)| KeyColumn::new(column))
            .collect();
        let key = KeyLayout::new(&plain, &in_key, None).unwrap();
        for row in 0..batch.num_rows() {
            let (one, two) = (first.record(row), second.record(row));
            let mut forms = vec![StoredRow::whole(&two)];
            if row < rows {
                let stored = in_page.row(row as u16).unwrap();
                prop_assert_eq!(stored.record().unwrap(), two.as_slice());
                forms.push(stored);
            }
            let one = StoredRow::whole(&one);
            let expected: Vec<_> = (0..kinds.len()).map(|column| one.columns(&plain).unwrap().value(column)).collect();
            let child = PageId::new(3, 7);
            for form in forms {
                let columns = form.columns(&compressed).unwrap();
                let found: Vec<_> = (0..kinds.len()).map(|column| columns.value(column)).collect();
                prop_assert_eq!(&found, &expected);
                prop_assert_eq!(key.of_row(&compressed, form), key.of_row(&plain, one));
                let Some(known) = key.of_row(&plain, one) else { continue };
                for (layout, row) in [(&plain, one), (&compressed, form)] {
                    let entry = key.index_record(layout, row, PageId::new(1, 2)).unwrap();
                    let entry = key.index_record_of(&entry, child).unwrap();
                    let mut read = Vec::new();
                    prop_assert!(key.write_of_index(layout, &entry, &mut read).is_some());
                    prop_assert_eq!((&read, key.child(&entry)), (&known, Some(child)));
                    prop_assert_eq!(&entry, &key.index_record(layout, row, child).unwrap());
                }
            }
        }
    }
}
