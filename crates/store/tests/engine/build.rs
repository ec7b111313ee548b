//! Bulk loads into trees: sorted and unsorted, into empty ones and into others, what is logged of them, and what they refuse.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int32Array, RecordBatch, StringArray};
use arrow::datatypes::Int32Type;
use bulkwire_store::{
    BulkOptions, Column, Compression, Engine, EngineError, EngineOptions, IndexDefinition, KeyColumn,
    KeyText, Kind, MinimalLoggingCondition, RecoveryModel, TextOrder,
};

use crate::basics::{MODELS, options};
use crate::support::Random;
use crate::support::volume::MemoryVolume;

fn engine(model: RecoveryModel) -> Engine {
    Engine::open_on(Arc::new(MemoryVolume::default()), options(model)).unwrap()
}

fn columns() -> Vec<Column> {
    vec![Column::required("id", Kind::Int), Column::new("text", Kind::VarChar(Some(400)))]
}

fn batch(rows: &[(i32, String)]) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int32Array::from_iter_values(rows.iter().map(|row| row.0)));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &row.1)));
    RecordBatch::try_from_iter_with_nullable([("id", ids, false), ("text", texts, true)]).unwrap()
}

fn rows(ids: impl Iterator<Item = i32>) -> Vec<(i32, String)> {
    ids.map(|id| (id, format!("{id:>80}"))).collect()
}

fn read(engine: &Engine, table: &str) -> Vec<(i32, String)> {
    let scan = engine.snapshot().read_table(table).unwrap().ordered_scan(None, None, None).unwrap();
    let mut rows = Vec::new();
    for batch in scan {
        let batch = batch.unwrap();
        let (ids, texts) = (batch.column(0).as_primitive::<Int32Type>(), batch.column(1).as_string::<i32>());
        rows.extend((0..batch.num_rows()).map(|row| (ids.value(row), texts.value(row).to_owned())));
    }
    rows
}

fn shuffled(count: i32, seed: u64) -> Vec<i32> {
    let mut random = Random(seed);
    let mut ids: Vec<i32> = (0..count).collect();
    for index in (1..ids.len()).rev() {
        ids.swap(index, random.below(index as u64 + 1) as usize);
    }
    ids
}

fn create(engine: &Engine, table: &str, key: &IndexDefinition) {
    let mut transaction = engine.begin();
    transaction.create_tree(table, columns(), key, "").unwrap();
    transaction.commit().unwrap();
}

fn load(
    engine: &Engine,
    table: &str,
    rows: &[(i32, String)],
    options: BulkOptions,
) -> Result<Vec<MinimalLoggingCondition>, EngineError> {
    let mut transaction = engine.begin();
    let mut writer = transaction.open_table(table)?.bulk_writer_with(options)?;
    for part in rows.chunks(700) {
        writer.append(&batch(part))?;
    }
    let failed = writer.minimal_logging().failed.clone();
    assert_eq!(writer.minimal_logging().granted(), failed.is_empty());
    assert_eq!(transaction.open_table(table)?.finish_bulk(writer)?, rows.len() as u64);
    transaction.commit()?;
    Ok(failed)
}

const SORTED: BulkOptions = BulkOptions { table_lock: true, sorted: true, sort_memory_bytes: 1 << 20 };
/// So little memory that 20,000 rows of a hundred bytes make more runs than are merged at once.
const SPILLING: BulkOptions = BulkOptions { table_lock: true, sorted: false, sort_memory_bytes: 100 << 10 };

#[test]
fn a_tree_is_built_dense_from_rows_in_any_order() {
    for model in MODELS {
        for (options, ids) in [(SORTED, (0..20_000).collect()), (SPILLING, shuffled(20_000, 3))] {
            let volume = MemoryVolume::default();
            let engine = Engine::open_on(Arc::new(volume.clone()), crate::basics::options(model)).unwrap();
            create(&engine, "t", &IndexDefinition::unique("pk", &[0]));
            let before = engine.usage().log_written_bytes;
            load(&engine, "t", &rows(ids.into_iter()), options).unwrap();
            let logged = engine.usage().log_written_bytes - before;
            assert_eq!(read(&engine, "t"), rows(0..20_000));
            assert_eq!(engine.check().unwrap(), []);
            let snapshot = engine.snapshot();
            let table = snapshot.table("t").unwrap();
            assert_eq!(table.rows, 20_000);
            // 4 + 4 + 3 + 4 + 80 = 95 bytes and a slot, 83 in a page: 241 leaves. Above, 11-byte entries and their slots, 622 in a page.
            assert_eq!(table.data_pages(), 241 + 1);
            match model {
                RecoveryModel::Full => assert!(logged > 20_000 * 97, "{logged}"),
                _ => assert!(logged < 20_000 * 97 / 50, "{logged}"),
            }
            drop(engine);
            let engine = Engine::open_on(Arc::new(volume.clone()), crate::basics::options(model)).unwrap();
            assert_eq!(read(&engine, "t"), rows(0..20_000));
            assert_eq!(engine.check().unwrap(), []);
            assert!(!volume.names().iter().any(|name| name.starts_with("sort-")));
        }
    }
}

#[test]
fn three_levels_are_linked_as_two_are() {
    let engine = engine(RecoveryModel::Simple);
    let mut transaction = engine.begin();
    // Entries of 4 + 400 bytes and more: 19 in a page.
    transaction.create_tree("t", columns(), &IndexDefinition::unique("pk", &[1]), "").unwrap();
    let rows: Vec<(i32, String)> = (0..12_000).map(|id| (id, format!("{id:0>390}"))).collect();
    for part in rows.chunks(5000) {
        let mut writer = transaction.open_table("t").unwrap().bulk_writer_with(SORTED).unwrap();
        writer.append(&batch(part)).unwrap();
        transaction.open_table("t").unwrap().finish_bulk(writer).unwrap();
    }
    transaction.commit().unwrap();
    assert_eq!(read(&engine, "t"), rows);
    assert_eq!(engine.check().unwrap(), []);
}

#[test]
fn rows_out_of_order_and_keys_that_exist_are_refused_with_their_place() {
    let engine = engine(RecoveryModel::Simple);
    create(&engine, "t", &IndexDefinition::unique("pk", &[0]));
    let mut wrong = rows(0..1000);
    wrong.swap(812, 813);
    let error = load(&engine, "t", &wrong, SORTED).unwrap_err();
    // The row with key 812 is the 814th.
    assert!(matches!(error, EngineError::NotSorted { row: 814, .. }), "{error}");
    assert_eq!(error.sql_error(), Some(4819));
    let mut twice = rows(0..1000);
    twice[500].0 = 499;
    for options in [SORTED, SPILLING] {
        let error = load(&engine, "t", &twice, options).unwrap_err();
        assert!(
            matches!(&error, EngineError::DuplicateKey { index, key, .. } if index == "pk" && key == "(499)")
        );
        assert_eq!(error.sql_error(), Some(2627));
    }
    load(&engine, "t", &rows(0..1000), SORTED).unwrap();
    let error = load(&engine, "t", &rows(999..1001), SORTED).unwrap_err();
    assert!(matches!(&error, EngineError::DuplicateKey { key, .. } if key == "(999)"), "{error}");
    assert_eq!(read(&engine, "t"), rows(0..1000));
    assert_eq!(engine.check().unwrap(), []);
}

#[test]
fn a_load_that_fails_leaves_the_rest_of_its_transaction() {
    for model in MODELS {
        let engine = engine(model);
        create(&engine, "t", &IndexDefinition::unique("pk", &[0]));
        let mut transaction = engine.begin();
        transaction.open_table("t").unwrap().insert(&batch(&rows(0..10))).unwrap();
        for wrong in [&rows(5..2000), &rows(100..200).into_iter().rev().collect::<Vec<_>>()] {
            for options in [SORTED, SPILLING] {
                let mut writer = transaction.open_table("t").unwrap().bulk_writer_with(options).unwrap();
                match writer.append(&batch(wrong)) {
                    Ok(()) if wrong[0].0 == 199 && !options.sorted => {
                        transaction.open_table("t").unwrap().finish_bulk(writer).unwrap();
                        let ids: ArrayRef = Arc::new(Int32Array::from_iter_values(100..200));
                        let ids = RecordBatch::try_from_iter_with_nullable([("id", ids, false)]).unwrap();
                        transaction.open_table("t").unwrap().delete_keys(&ids).unwrap();
                    }
                    Ok(()) => drop(
                        transaction
                            .open_table("t")
                            .and_then(|mut table| table.finish_bulk(writer))
                            .unwrap_err(),
                    ),
                    Err(EngineError::NotSorted { row: 2, .. }) => transaction.abandon_bulk(writer),
                    Err(error) => panic!("{error}"),
                }
            }
        }
        // While something else happens, only undoing everything is left.
        let mut other = engine.begin();
        other.create_table("u", columns(), "").unwrap();
        let writer = other.open_table("u").unwrap().bulk_writer().unwrap();
        other.open_table("u").unwrap().insert(&batch(&rows(0..1))).unwrap();
        other.abandon_bulk(writer);
        assert!(matches!(other.commit(), Err(EngineError::Doomed)));
        transaction.commit().unwrap();
        assert_eq!(read(&engine, "t"), rows(0..10));
        assert_eq!(engine.check().unwrap(), []);
    }
}

#[test]
fn a_tree_that_has_rows_takes_more() {
    for model in MODELS {
        let engine = engine(model);
        create(&engine, "t", &IndexDefinition::unique("pk", &[0]));
        let failed = load(&engine, "t", &rows((0..3000).map(|id| id * 3)), SORTED).unwrap();
        assert_eq!(failed.contains(&MinimalLoggingCondition::RecoveryModel), model == RecoveryModel::Full);
        let between: Vec<i32> = shuffled(3000, 8).iter().map(|id| id * 3 + 1).collect();
        let failed = load(&engine, "t", &rows(between.into_iter()), SPILLING).unwrap();
        assert!(failed.contains(&MinimalLoggingCondition::EmptyTable));
        load(&engine, "t", &rows((0..4000).map(|id| id * 3 + 2)), SORTED).unwrap();
        let mut expected: Vec<i32> = (0..3000).flat_map(|id| [id * 3, id * 3 + 1]).collect();
        expected.extend((0..4000).map(|id| id * 3 + 2));
        expected.sort_unstable();
        assert_eq!(read(&engine, "t"), rows(expected.into_iter()));
        assert_eq!(engine.check().unwrap(), []);
    }
}

/// Many rows between two existing ones get leaves of their own, which are logged as pages.
#[test]
fn rows_that_belong_together_are_logged_by_the_page() {
    for compression in [Compression::None, Compression::Page] {
        let engine = engine(RecoveryModel::Full);
        let key = IndexDefinition { compression: Some(compression), ..IndexDefinition::unique("pk", &[0]) };
        create(&engine, "t", &key);
        // At first in the root alone.
        let mut expected = rows((0..50).chain(100_000..100_020));
        load(&engine, "t", &expected, SORTED).unwrap();
        for ids in [200_000..212_000, 40_000..46_000, 300_000..300_010, 1000..1900] {
            let before =
                (engine.usage().log_written_bytes, engine.snapshot().table("t").unwrap().data_pages());
            let given = rows(ids);
            load(&engine, "t", &given, SORTED).unwrap();
            expected.extend(given.iter().cloned());
            let logged = engine.usage().log_written_bytes - before.0;
            let pages = engine.snapshot().table("t").unwrap().data_pages() - before.1;
            // 83 rows in a page, as when a tree is built; one leaf is split, and another one gets the rows that it has room for.
            if compression == Compression::None {
                assert!(pages <= (given.len() as u64).div_ceil(83) + 3, "{pages} for {}", given.len());
            }
            // The log has every new page once, and the old contents of changed pages. With compression, each
            // part changes its last leaf, and there are as many parts as pages.
            let pages = if compression == Compression::Page { 2 * pages } else { pages };
            assert!(logged < (pages + 10) * 8400, "{logged} for {pages} pages");
            assert_eq!(engine.check().unwrap(), []);
        }
        // One that is there in the middle of them: nothing of it stays.
        let twice = rows((60_000..64_000).chain(100_005..100_006));
        assert!(matches!(load(&engine, "t", &twice, SORTED), Err(EngineError::DuplicateKey { .. })));
        let twice: Vec<_> = rows(500_000..503_000).into_iter().chain(rows(502_999..503_000)).collect();
        assert!(matches!(load(&engine, "t", &twice, SORTED), Err(EngineError::DuplicateKey { .. })));
        expected.sort();
        assert_eq!(read(&engine, "t"), expected);
        assert_eq!(engine.check().unwrap(), []);
    }
}

#[test]
fn a_load_says_which_condition_for_minimal_logging_failed() {
    use MinimalLoggingCondition::{EmptyTable, RecoveryModel as Model, TableLock};
    let unlocked = BulkOptions { table_lock: false, ..SORTED };
    for (model, options, first, second) in [
        (RecoveryModel::Simple, SORTED, vec![], vec![EmptyTable]),
        (RecoveryModel::BulkLogged, unlocked, vec![TableLock], vec![TableLock, EmptyTable]),
        (RecoveryModel::Full, unlocked, vec![Model, TableLock], vec![Model, TableLock, EmptyTable]),
    ] {
        let engine = engine(model);
        create(&engine, "t", &IndexDefinition::unique("pk", &[0]));
        assert_eq!(load(&engine, "t", &rows(0..10), options).unwrap(), first);
        assert_eq!(load(&engine, "t", &rows(10..20), options).unwrap(), second);
    }
    // A heap needs no emptiness, unless it has indexes.
    let engine = engine(RecoveryModel::Simple);
    let mut transaction = engine.begin();
    transaction.create_table("t", columns(), "").unwrap();
    transaction.commit().unwrap();
    assert_eq!(load_heap(&engine, &rows(0..10)), (true, true, vec![]));
    assert_eq!(load_heap(&engine, &rows(0..10)), (true, true, vec![]));
    let mut transaction = engine.begin();
    transaction.open_table("t").unwrap().create_index(&IndexDefinition::new("i", &[0])).unwrap();
    transaction.commit().unwrap();
    assert_eq!(load_heap(&engine, &rows(0..10)), (true, false, vec![EmptyTable]));
    assert_eq!(engine.check().unwrap(), []);
}

fn load_heap(engine: &Engine, rows: &[(i32, String)]) -> (bool, bool, Vec<MinimalLoggingCondition>) {
    let mut transaction = engine.begin();
    let mut writer = transaction.open_table("t").unwrap().bulk_writer().unwrap();
    writer.append(&batch(rows)).unwrap();
    let logging = writer.minimal_logging().clone();
    transaction.open_table("t").unwrap().finish_bulk(writer).unwrap();
    transaction.commit().unwrap();
    (logging.data_pages, logging.index_pages, logging.failed)
}

#[test]
fn the_fill_factor_holds_when_a_tree_is_built_and_not_if_it_has_held_rows() {
    let engine = engine(RecoveryModel::Simple);
    let tenth = IndexDefinition { fill_factor_percent: 10, ..IndexDefinition::unique("pk", &[0]) };
    let pages = |table: &str| engine.snapshot().table(table).unwrap().data_pages();
    create(&engine, "t", &tenth);
    load(&engine, "t", &rows(0..4000), SORTED).unwrap();
    // 809 bytes hold eight rows of 97.
    assert_eq!(pages("t"), 500 + 1);
    let mut transaction = engine.begin();
    transaction.open_table("t").unwrap().truncate().unwrap();
    transaction.commit().unwrap();
    load(&engine, "t", &rows(0..4000), SORTED).unwrap();
    assert_eq!(pages("t"), 500 + 1, "truncated: as new");
    // Upper pages are as full as the leaves if they are asked to be: 62 entries of 13 bytes in 809.
    let padded = IndexDefinition { pad_index: true, ..tenth.clone() };
    create(&engine, "padded", &padded);
    load(&engine, "padded", &rows(0..4000), SORTED).unwrap();
    assert_eq!(pages("padded"), 500 + 500_u64.div_ceil(62) + 1);
    // Rows that were deleted one by one leave a tree that has held rows.
    create(&engine, "held", &tenth);
    let mut transaction = engine.begin();
    transaction.open_table("held").unwrap().insert(&batch(&rows(0..1))).unwrap();
    transaction.commit().unwrap();
    let mut transaction = engine.begin();
    let key: ArrayRef = Arc::new(Int32Array::from(vec![0]));
    let key = RecordBatch::try_from_iter_with_nullable([("id", key, false)]).unwrap();
    transaction.open_table("held").unwrap().delete_keys(&key).unwrap();
    transaction.commit().unwrap();
    let failed = load(&engine, "held", &rows(0..4000), SORTED).unwrap();
    assert_eq!(failed, [MinimalLoggingCondition::EmptyTable]);
    assert_eq!(pages("held"), 4000_u64.div_ceil(83) + 1);
    // A rebuild honours it again.
    let mut transaction = engine.begin();
    transaction.open_table("held").unwrap().rebuild(bulkwire_store::RebuildOptions::default()).unwrap();
    transaction.commit().unwrap();
    assert_eq!(pages("held"), 500 + 1);
    let mut transaction = engine.begin();
    transaction.open_table("held").unwrap().rebuild(bulkwire_store::RebuildOptions::filled(Some(0))).unwrap();
    transaction.commit().unwrap();
    assert_eq!(pages("held"), 4000_u64.div_ceil(83) + 1);
    assert_eq!(read(&engine, "held"), rows(0..4000));
    assert_eq!(engine.check().unwrap(), []);
}

#[test]
fn keys_that_are_not_unique_keep_the_order_of_arrival() {
    let engine = engine(RecoveryModel::Simple);
    let key = IndexDefinition::new("c", &[0]);
    create(&engine, "t", &key);
    let numbered = |ids: &[i32], first: usize| -> Vec<(i32, String)> {
        ids.iter().enumerate().map(|(number, id)| (*id, format!("{:06}", first + number))).collect()
    };
    let few: Vec<i32> = shuffled(6000, 4).iter().map(|id| id % 7).collect();
    let mut expected = numbered(&few, 0);
    load(&engine, "t", &expected, SPILLING).unwrap();
    expected.extend(numbered(&few[..900], 6000));
    load(&engine, "t", &expected[6000..], SPILLING).unwrap();
    expected.extend(numbered(&[3, 3, 9], 6900));
    let mut transaction = engine.begin();
    transaction.open_table("t").unwrap().insert(&batch(&expected[6900..])).unwrap();
    transaction.commit().unwrap();
    expected.sort();
    assert_eq!(read(&engine, "t"), expected);
    assert_eq!(engine.check().unwrap(), []);
    // One key stands for all of its rows; what a scan says of a row stands for that row.
    let mut transaction = engine.begin();
    let three: ArrayRef = Arc::new(Int32Array::from(vec![3]));
    let three = RecordBatch::try_from_iter_with_nullable([("id", three, false)]).unwrap();
    transaction.open_table("t").unwrap().delete_keys(&three).unwrap();
    expected.retain(|row| row.0 != 3);
    let mut scan = transaction.read_table("t").unwrap().scan(None).unwrap();
    let mut chosen = Vec::new();
    while let Some(found) = scan.next_with_locators() {
        let (batch, locators) = found.unwrap();
        let texts = batch.column(1).as_string::<i32>();
        chosen.extend(locators.into_iter().enumerate().filter_map(|(row, locator)| {
            (texts.value(row).ends_with('5')).then(|| (locator, texts.value(row).to_owned()))
        }));
    }
    assert!(chosen.len() > 100);
    let (gone, moved) = chosen.split_at(50);
    let locators = |of: &[(bulkwire_store::RowLocator, String)]| -> Vec<_> {
        of.iter().map(|(locator, _)| locator.clone()).collect()
    };
    transaction.open_table("t").unwrap().delete_located(&locators(gone)).unwrap();
    let new: Vec<(i32, String)> = moved.iter().map(|(_, text)| (3, text.clone())).collect();
    transaction.open_table("t").unwrap().update_located(&locators(moved), &batch(&new)).unwrap();
    transaction.commit().unwrap();
    expected.retain(|row| !gone.iter().any(|(_, text)| *text == row.1));
    for row in expected.iter_mut().filter(|row| moved.iter().any(|(_, text)| *text == row.1)) {
        row.0 = 3;
    }
    expected.sort();
    let mut found = read(&engine, "t");
    assert!(found.iter().is_sorted_by_key(|row| row.0));
    found.sort();
    assert_eq!(found, expected);
    assert_eq!(engine.check().unwrap(), []);
}

#[test]
fn bytes_with_a_collation_are_the_callers_text() {
    // Bytes of code page 437, in which 0x84 is "ä": an "a" here. 0xFF is no text.
    let order = TextOrder {
        write: |_, text, out| {
            let KeyText::Bytes(bytes) = text else { return false };
            out.extend(bytes.iter().map(|byte| if *byte == 0x84 { b'a' } else { *byte }));
            !bytes.contains(&0xFF)
        },
    };
    let options = EngineOptions { text_order: Some(order), ..options(RecoveryModel::Simple) };
    let engine = Engine::open_on(Arc::new(MemoryVolume::default()), options).unwrap();
    let columns = vec![Column::required("id", Kind::Int), Column::required("name", Kind::VarBinary(Some(9)))];
    let name = KeyColumn { collation: Some("cp437".to_owned()), ..KeyColumn::new(1) };
    let key = IndexDefinition { key: vec![name], ..IndexDefinition::unique("pk", &[]) };
    let mut transaction = engine.begin();
    transaction.create_tree("t", columns, &key, "").unwrap();
    let rows = |rows: &[(i32, &[u8])]| {
        let ids: ArrayRef = Arc::new(Int32Array::from_iter_values(rows.iter().map(|row| row.0)));
        let names: ArrayRef =
            Arc::new(arrow::array::BinaryArray::from_iter_values(rows.iter().map(|row| row.1)));
        RecordBatch::try_from_iter([("id", ids), ("name", names)]).unwrap()
    };
    transaction.open_table("t").unwrap().insert(&rows(&[(1, b"b"), (2, b"\x84c"), (3, b"ab")])).unwrap();
    let error =
        transaction.open_table("t").and_then(|mut table| table.insert(&rows(&[(4, b"\x84b")]))).unwrap_err();
    let EngineError::DuplicateKey { values, .. } = &error else { panic!("{error}") };
    assert_eq!(values.as_ref(), &rows(&[(4, b"\x84b")]).project(&[1]).unwrap());
    assert!(transaction.open_table("t").and_then(|mut table| table.insert(&rows(&[(5, b"\xFF")]))).is_err());
    let found = transaction
        .read_table("t")
        .unwrap()
        .ordered_scan(None, None, None)
        .unwrap()
        .collect::<Result<Vec<_>, _>>()
        .unwrap();
    assert_eq!(found, [rows(&[(3, b"ab"), (2, b"\x84c"), (1, b"b")])]);
    transaction.commit().unwrap();
}

#[test]
fn keys_descend_and_text_follows_its_collation() {
    // A collation without case, in which "ä" is an "a".
    let order = TextOrder {
        write: |collation, text, out| {
            assert_eq!(collation, "no_case");
            let KeyText::Unicode(text) = text else { return false };
            out.extend(text.replace('ä', "a").to_lowercase().into_bytes());
            true
        },
    };
    let options = EngineOptions { text_order: Some(order), ..options(RecoveryModel::Simple) };
    let volume = MemoryVolume::default();
    let engine = Engine::open_on(Arc::new(volume.clone()), options).unwrap();
    let text = KeyColumn { collation: Some("no_case".to_owned()), ..KeyColumn::new(1) };
    let key = IndexDefinition {
        key: vec![text, KeyColumn::descending(0)],
        compression: Some(Compression::Page),
        ..IndexDefinition::unique("pk", &[])
    };
    create(&engine, "t", &key);
    let words = ["b", "A", "äb", "a", "AB", "B ", "c"];
    let given: Vec<(i32, String)> = (0..).zip(words).map(|(id, word)| (id, word.to_owned())).collect();
    load(&engine, "t", &given, SPILLING).unwrap();
    let order: Vec<i32> = read(&engine, "t").into_iter().map(|row| row.0).collect();
    // a: 3, 1; ab: 4, 2; b: 5, 0; c: 6 - each descending.
    assert_eq!(order, [3, 1, 4, 2, 5, 0, 6]);
    let error = load(&engine, "t", &[(1, "a".to_owned())], SPILLING).unwrap_err();
    assert!(matches!(error, EngineError::DuplicateKey { .. }), "\"A\" is there with 1");
    assert_eq!(engine.check().unwrap(), []);
    drop(engine);
    let without = EngineOptions { text_order: None, ..options };
    assert!(matches!(Engine::open_on(Arc::new(volume), without), Err(EngineError::Schema { .. })));
}

/// Rows between those of many leaves: leaves are written again instead of taking the rows one by one.
#[test]
fn rows_between_others_are_merged_by_the_leaf() {
    for compression in [Compression::None, Compression::Row, Compression::Page] {
        for unique in [true, false] {
            let engine = engine(RecoveryModel::Full);
            let key = match unique {
                true => IndexDefinition::unique("pk", &[0]),
                false => IndexDefinition::new("k", &[0]),
            };
            create(&engine, "t", &IndexDefinition { compression: Some(compression), ..key });
            load(&engine, "t", &rows((0..6000).map(|id| id * 4)), SORTED).unwrap();
            let first = engine.snapshot().table("t").unwrap().data_pages();
            let mut expected: Vec<i32> = (0..6000).map(|id| id * 4).collect();
            for step in 1..4 {
                let before = engine.usage().log_written_bytes;
                let ids: Vec<i32> = (0..6000).map(|id| id * 4 + step).collect();
                load(&engine, "t", &rows(ids.iter().copied()), SORTED).unwrap();
                expected.extend(ids);
                // The log has the old and the new contents of each leaf, and new leaves.
                let logged = engine.usage().log_written_bytes - before;
                let pages = engine.snapshot().table("t").unwrap().data_pages();
                assert!(logged < 3 * pages * 8400, "{logged} for {pages} pages, {compression}");
                // Half full at least.
                assert!(pages <= 2 * first * (step as u64 + 1), "{pages} after {first}, {compression}");
                assert_eq!(engine.check().unwrap(), []);
            }
            expected.sort_unstable();
            assert_eq!(read(&engine, "t"), rows(expected.iter().copied()));
            // A key that is there, among many that are not; and one that is among them twice.
            let twice = (0..6000).map(|id| id * 4 + 100_000).chain(4000..4001);
            let again: Vec<_> = rows((0..300).map(|id| id * 2 + 1).chain(33..34));
            for given in [rows(twice), again] {
                match unique {
                    true => {
                        let refused = load(&engine, "t", &given, SPILLING);
                        assert!(matches!(refused, Err(EngineError::DuplicateKey { .. })));
                        assert_eq!(read(&engine, "t").len(), expected.len());
                    }
                    false => drop(load(&engine, "t", &given, SPILLING).unwrap()),
                }
                assert_eq!(engine.check().unwrap(), []);
            }
        }
    }
}
