//! Clustered trees: order, splits, lookups, keys of every type.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, Date32Array, Decimal128Array, Float64Array, Int32Array, RecordBatch, StringArray,
    TimestampMillisecondArray, UInt32Array,
};
use arrow::compute::{SortColumn, SortOptions, concat_batches, lexsort_to_indices, take_record_batch};
use bulkwire_store::{Column, Compression, Engine, EngineError, IndexDefinition, Kind, RecoveryModel};

use crate::basics::options;
use crate::support::Random;
use crate::support::volume::MemoryVolume;
use crate::workload::{Row, batch, columns, contents, keys, rows_of};

fn engine() -> Engine {
    Engine::open_on(Arc::new(MemoryVolume::default()), options(RecoveryModel::Simple)).unwrap()
}

#[test]
fn ascending_keys_leave_full_pages_and_random_keys_half_full_ones() {
    let engine = engine();
    let row = |id: i32| -> Row { (id, Some("x".repeat(80)), None) };
    let mut shuffled: Vec<i32> = (0..6000).collect();
    let mut random = Random(5);
    for index in (1..shuffled.len()).rev() {
        shuffled.swap(index, random.below(index as u64 + 1) as usize);
    }
    let ascending: Vec<Row> = (0..6000).map(row).collect();
    for (name, rows) in
        [("ascending", ascending.clone()), ("random", shuffled.iter().map(|id| row(*id)).collect())]
    {
        let mut transaction = engine.begin();
        transaction
            .create_tree(name, columns(), &bulkwire_store::IndexDefinition::unique("", &[0]), "")
            .unwrap();
        for part in rows.chunks(500) {
            transaction.open_table(name).unwrap().insert(&batch(part)).unwrap();
        }
        transaction.commit().unwrap();
    }
    assert_eq!(engine.check().unwrap(), []);
    let contents = contents(&engine);
    assert_eq!(contents["ascending"], ascending);
    assert_eq!(contents["random"], ascending);
    let snapshot = engine.snapshot();
    let pages = |name: &str| snapshot.table(name).unwrap().data_pages();
    // A row is 4 + 4 + 3 + 4 + 80 = 95 bytes and a slot: 83 in a page. Above the leaves one root of 11-byte entries.
    assert_eq!(pages("ascending"), 6000_u64.div_ceil(83) + 1);
    let density = 6000.0 * 97.0 / (pages("random") as f64 * 8096.0);
    assert!((0.55..0.85).contains(&density), "{density}");
}

#[test]
fn ranges_include_both_ends() {
    let engine = engine();
    let mut transaction = engine.begin();
    transaction.create_tree("t", columns(), &bulkwire_store::IndexDefinition::unique("", &[0]), "").unwrap();
    let rows: Vec<Row> = (0..3000).map(|id| (id * 2, Some("y".repeat(200)), None)).collect();
    transaction.open_table("t").unwrap().insert(&batch(&rows)).unwrap();
    transaction.commit().unwrap();
    let snapshot = engine.snapshot();
    let range = |from: Option<i32>, to: Option<i32>| -> Vec<i32> {
        let (from, to) = (from.map(|id| keys(&[id])), to.map(|id| keys(&[id])));
        let scan = snapshot.read_table("t").unwrap().ordered_scan(None, from.as_ref(), to.as_ref()).unwrap();
        scan.flat_map(|batch| rows_of(&batch.unwrap())).map(|row| row.0).collect()
    };
    assert_eq!(range(Some(100), Some(100)), [100]);
    assert!(range(Some(101), Some(101)).is_empty());
    assert_eq!(range(Some(99), Some(105)), [100, 102, 104]);
    assert_eq!(range(Some(5994), None), [5994, 5996, 5998]);
    assert_eq!(range(None, Some(3)), [0, 2]);
    assert!(range(Some(7000), None).is_empty());
    assert_eq!(range(Some(1000), Some(3998)).len(), 1500);
    let mut transaction = engine.begin();
    assert!(matches!(
        transaction.open_table("t").and_then(|mut table| table.delete_keys(&keys(&[1]))),
        Err(EngineError::NoSuchKey)
    ));
    let error =
        transaction.open_table("t").and_then(|mut table| table.insert(&batch(&rows[7..8]))).unwrap_err();
    assert_eq!(error.sql_error(), Some(2627));
    // A failed statement leaves the rest of its transaction.
    transaction.open_table("t").unwrap().delete_keys(&keys(&[14])).unwrap();
    transaction.open_table("t").unwrap().insert(&batch(&rows[7..8])).unwrap();
    transaction.commit().unwrap();
    assert_eq!(engine.check().unwrap(), []);
}

/// Arrow sorts these types as SQL Server does; the order of text is that of its bytes.
#[test]
fn keys_order_as_their_types_do() {
    let mut random = Random(11);
    let rows = 1500;
    let numbers: Vec<i64> = (0..rows)
        .map(|_| match random.below(4) {
            0 => random.next() as i32 as i64,
            1 => random.below(5) as i64 - 2,
            _ => random.below(100_000) as i64 - 50_000,
        })
        .collect();
    let text = |random: &mut Random| -> String {
        let length = random.below(30);
        (0..length)
            .map(|_| if random.one_in(9) { 'é' } else { (b'a' + random.below(4) as u8) as char })
            .collect()
    };
    let cases: Vec<(Kind, ArrayRef)> = vec![
        (
            Kind::Int,
            Arc::new(numbers.iter().map(|n| (n % 7 != 0).then_some(*n as i32)).collect::<Int32Array>()),
        ),
        (
            Kind::Decimal { precision: 20, scale: 3 },
            Arc::new(
                Decimal128Array::from_iter(
                    numbers.iter().map(|n| (n % 5 != 0).then_some(i128::from(*n) * 1_000_000_007)),
                )
                .with_precision_and_scale(20, 3)
                .unwrap(),
            ),
        ),
        (Kind::Float, Arc::new(Float64Array::from_iter(numbers.iter().map(|n| Some(*n as f64 / 3.0))))),
        (Kind::Date, Arc::new(Date32Array::from_iter(numbers.iter().map(|n| Some((n % 60_000) as i32))))),
        (
            Kind::DateTime,
            Arc::new(TimestampMillisecondArray::from_iter(
                numbers.iter().map(|n| Some(n % 50_000 * 17_280_010)),
            )),
        ),
        (
            Kind::DateTime2 { scale: 3 },
            Arc::new(TimestampMillisecondArray::from_iter(
                numbers.iter().map(|n| Some(n % 100_000 * 1_000_003)),
            )),
        ),
        (
            Kind::VarChar(Some(60)),
            Arc::new(StringArray::from_iter_values((0..rows).map(|_| text(&mut random)))),
        ),
        (
            Kind::NVarChar(Some(60)),
            Arc::new(StringArray::from_iter_values((0..rows).map(|_| text(&mut random)))),
        ),
    ];
    let unique: ArrayRef = Arc::new(Int32Array::from_iter_values((0..rows).rev()));
    for (number, (kind, array)) in cases.into_iter().enumerate() {
        let engine = engine();
        let columns =
            vec![Column::new("a", kind), Column::required("b", Kind::Int), Column::new("c", Kind::Bit)];
        let flags: ArrayRef = arrow::array::new_null_array(&Kind::Bit.data_type(), rows as usize);
        let layout = bulkwire_store::record::layout::Layout::new(columns.clone()).unwrap();
        let given = RecordBatch::try_new(layout.schema, vec![Arc::clone(&array), Arc::clone(&unique), flags])
            .unwrap();
        let mut transaction = engine.begin();
        let compression = [Compression::Row, Compression::None, Compression::Page][number % 3];
        let key =
            IndexDefinition { compression: Some(compression), ..IndexDefinition::unique("pk", &[0, 1]) };
        transaction.create_tree("t", columns, &key, "").unwrap();
        transaction.open_table("t").unwrap().insert(&given).unwrap();
        transaction.commit().unwrap();
        let snapshot = engine.snapshot();
        let scan = snapshot.read_table("t").unwrap().ordered_scan(None, None, None).unwrap();
        let found: Vec<RecordBatch> = scan.map(Result::unwrap).collect();
        assert!(found.len() > 1, "{kind}: more than one leaf");
        let found = concat_batches(&found[0].schema(), &found).unwrap();
        let ascending = Some(SortOptions { descending: false, nulls_first: true });
        let by = [array, Arc::clone(&unique)].map(|values| SortColumn { values, options: ascending });
        let order: UInt32Array = lexsort_to_indices(&by, None).unwrap();
        assert_eq!(found, take_record_batch(&given, &order).unwrap(), "{kind}");
        assert_eq!(found.column(0).len(), rows as usize);
        assert_eq!(engine.check().unwrap(), [], "{kind}");
    }
}

#[test]
fn a_key_that_cannot_be_kept_is_refused() {
    let engine = engine();
    let mut transaction = engine.begin();
    let refused = |error: Result<(), EngineError>| {
        assert!(matches!(error, Err(EngineError::Schema { .. })), "{error:?}")
    };
    // A key column whose values may be too long is accepted; one whose values always are is refused.
    let too_long = vec![Column::required("id", Kind::Char(901))];
    refused(transaction.create_tree("t", too_long, &bulkwire_store::IndexDefinition::unique("", &[0]), ""));
    refused(transaction.create_tree("t", columns(), &bulkwire_store::IndexDefinition::unique("", &[2]), ""));
    refused(transaction.create_tree(
        "t",
        columns(),
        &bulkwire_store::IndexDefinition::unique("", &[0, 0]),
        "",
    ));
    refused(transaction.create_tree("t", columns(), &bulkwire_store::IndexDefinition::unique("", &[9]), ""));
    transaction.create_tree("t", columns(), &bulkwire_store::IndexDefinition::unique("", &[0]), "").unwrap();
    refused(transaction.open_table("t").and_then(|mut table| table.delete(&[])));
    refused(transaction.open_table("t").and_then(|mut table| table.update(&[], &batch(&[]))));
}
