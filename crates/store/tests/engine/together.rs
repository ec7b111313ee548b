//! What several transactions do at the same time: rows into one table, new tables, other names.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::{AsArray, Int32Array, RecordBatch};
use arrow::datatypes::Int32Type;
use bulkwire_store::LockMode;
use bulkwire_store::{Column, Engine, EngineError, EngineOptions, Kind};

use crate::support::volume::MemoryVolume;

fn rows(values: impl IntoIterator<Item = i32>) -> RecordBatch {
    let array: Arc<Int32Array> = Arc::new(Int32Array::from_iter_values(values));
    RecordBatch::try_from_iter_with_nullable([("id", array as _, false)]).unwrap()
}

fn columns() -> Vec<Column> {
    vec![Column::required("id", Kind::Int)]
}

fn values(engine: &Engine, table: &str) -> Vec<i32> {
    let scan = engine.snapshot().read_table(table).unwrap().scan(None).unwrap();
    let mut values: Vec<i32> = scan
        .flat_map(|batch| batch.unwrap().column(0).as_primitive::<Int32Type>().values().to_vec())
        .collect();
    values.sort_unstable();
    values
}

fn options() -> EngineOptions {
    EngineOptions { lock_timeout: Duration::ZERO, ..EngineOptions::default() }
}

#[test]
fn rows_of_several_open_transactions_go_into_one_table() {
    let volume = MemoryVolume::default();
    let engine = Engine::open_on(Arc::new(volume.clone()), options()).unwrap();
    let mut transaction = engine.begin();
    transaction.create_table("t", columns(), "").unwrap();
    transaction.commit().unwrap();

    let (mut one, mut two, mut three) = (engine.begin(), engine.begin(), engine.begin());
    one.open_table("t").unwrap().insert_at_commit(&rows(0..3)).unwrap();
    two.open_table("t").unwrap().insert_at_commit(&rows(10..13)).unwrap();
    three.open_table("t").unwrap().bulk_load(&[rows(100..1100)]).unwrap();
    one.open_table("t").unwrap().insert_at_commit(&rows(3..5)).unwrap();
    assert_eq!(one.pending(one.table("t").unwrap().object).len(), 2);
    assert_eq!(values(&engine, "t"), [0; 0]);
    // The one that began later commits first; both write into the same page.
    two.commit().unwrap();
    three.commit().unwrap();
    let savepoint = one.savepoint();
    one.open_table("t").unwrap().insert_at_commit(&rows([77])).unwrap();
    one.rollback_to(&savepoint).unwrap();
    one.commit().unwrap();
    let mut undone = engine.begin();
    undone.open_table("t").unwrap().insert_at_commit(&rows([5000])).unwrap();
    undone.rollback().unwrap();

    let expected: Vec<i32> = (0..5).chain(10..13).chain(100..1100).collect();
    assert_eq!(values(&engine, "t"), expected);
    assert_eq!(engine.snapshot().table("t").unwrap().rows, 1008);
    assert_eq!(engine.check().unwrap(), []);
    drop(engine);
    let engine = Engine::open_on(Arc::new(volume), options()).unwrap();
    assert_eq!(values(&engine, "t"), expected);
    assert_eq!(engine.check().unwrap(), []);
}

#[test]
fn who_has_a_table_alone_waits_for_nobodys_commit_and_keeps_inserters_out() {
    let engine = Engine::in_memory(options()).unwrap();
    let mut transaction = engine.begin();
    transaction.create_table("t", columns(), "").unwrap();
    transaction.commit().unwrap();
    let mut inserter = engine.begin();
    inserter.open_table("t").unwrap().insert_at_commit(&rows(0..3)).unwrap();
    let mut other = engine.begin();
    assert!(matches!(
        other.open_table("t").and_then(|mut table| table.truncate()),
        Err(EngineError::Lock(_))
    ));
    // Alone it may be the inserter's own: its rows become part of the table.
    inserter.open_table("t").unwrap().insert_pending().unwrap();
    inserter.open_table("t").unwrap().truncate().unwrap();
    inserter.open_table("t").unwrap().insert_at_commit(&rows([9])).unwrap();
    assert!(matches!(
        other.open_table("t").and_then(|mut table| table.insert_at_commit(&rows([1]))),
        Err(EngineError::Lock(_))
    ));
    inserter.commit().unwrap();
    other.open_table("t").unwrap().insert_at_commit(&rows([1])).unwrap();
    other.commit().unwrap();
    assert_eq!(values(&engine, "t"), [1, 9]);
}

#[test]
fn tables_are_made_side_by_side_and_names_belong_to_one() {
    let volume = MemoryVolume::default();
    let engine = Engine::open_on(Arc::new(volume.clone()), options()).unwrap();
    let (mut one, mut two) = (engine.begin(), engine.begin());
    one.create_table("a", columns(), "first").unwrap();
    two.create_table("b", columns(), "second").unwrap();
    assert!(matches!(two.create_table("a", columns(), ""), Err(EngineError::Lock(_))));
    one.open_table("a").unwrap().alter("c", "renamed").unwrap();
    // Until the renaming is committed the old name is taken too.
    assert!(matches!(two.create_table("a", columns(), ""), Err(EngineError::Lock(_))));
    let names = |transaction: &bulkwire_store::Transaction| -> Vec<String> {
        transaction.tables().iter().map(|table| table.name.to_string()).collect()
    };
    assert_eq!((names(&one), names(&two)), (vec!["c".to_owned()], vec!["b".to_owned()]));
    two.open_table("b").unwrap().bulk_load(&[rows(0..10)]).unwrap();
    two.commit().unwrap();
    one.open_table("c").unwrap().insert_at_commit(&rows([1])).unwrap();
    one.commit().unwrap();
    let mut gone = engine.begin();
    gone.open_table("b").unwrap().drop().unwrap();
    gone.create_table("b", columns(), "again").unwrap();
    gone.lock_table(gone.table("c").unwrap().object, LockMode::IX, Duration::ZERO).unwrap();
    gone.commit().unwrap();
    assert_eq!(engine.check().unwrap(), []);
    drop(engine);
    let engine = Engine::open_on(Arc::new(volume), options()).unwrap();
    let snapshot = engine.snapshot();
    let mut tables: Vec<(&str, &str, u64)> =
        snapshot.tables().map(|table| (&*table.name, &*table.properties, table.rows)).collect();
    tables.sort_unstable();
    assert_eq!(tables, [("b", "again", 0), ("c", "renamed", 1)]);
}

#[test]
fn a_database_in_memory_gives_its_memory_back() {
    let engine = Engine::in_memory(options()).unwrap();
    let mut transaction = engine.begin();
    transaction.create_table("t", columns(), "").unwrap();
    transaction.commit().unwrap();
    for round in 0..20 {
        let mut transaction = engine.begin();
        transaction.open_table("t").unwrap().bulk_load(&[rows(0..100_000)]).unwrap();
        transaction.commit().unwrap();
        assert_eq!(values(&engine, "t").len(), 100_000, "round {round}");
        let mut transaction = engine.begin();
        transaction.open_table("t").unwrap().truncate().unwrap();
        transaction.commit().unwrap();
    }
    let usage = engine.usage();
    // 100,000 rows are 161 pages, 21 extents; a round may use what the one before has given up.
    assert!(usage.extents < 100, "{usage:?}");
    assert_eq!(engine.check().unwrap(), []);
}
