//! Loads of one table at the same time, without a table lock, by threads: none is refused, none is lost, readers see whole commits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arrow::array::{ArrayRef, AsArray, Int32Array, Int64Array, RecordBatch};
use arrow::datatypes::{Int32Type, Int64Type};
use bulkwire_store::lock::LockMode;
use bulkwire_store::{
    BulkOptions, Column, Compression, Engine, EngineError, EngineOptions, IndexDefinition, Kind, Transaction,
};

use crate::support::Random;

/// Keys of the threads lie between each other's, or each thread has a range of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Keys {
    Interleaved,
    Disjoint,
}

/// Structure of the table.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    Unique(Compression),
    /// A clustered key with equal values and a hidden column.
    Repeated,
    IndexedHeap,
}

const WRITERS: i32 = 10;
const LOADS: i32 = 6;
/// Above and below what one load locks the whole table for.
const ROWS: [i32; 2] = [900, 6000];

fn create(engine: &Engine, form: Form) -> u32 {
    let columns = vec![Column::required("id", Kind::Int), Column::required("value", Kind::BigInt)];
    let mut transaction = engine.begin();
    match form {
        Form::Unique(compression) => {
            let key = IndexDefinition { compression: Some(compression), ..IndexDefinition::unique("", &[0]) };
            transaction.create_tree("t", columns, &key, "").unwrap();
        }
        Form::Repeated => {
            transaction.create_tree("t", columns, &IndexDefinition::new("", &[0]), "").unwrap();
        }
        Form::IndexedHeap => transaction.create_table("t", columns, "").unwrap(),
    }
    transaction.open_table("t").unwrap().create_index(&IndexDefinition::new("by_value", &[1])).unwrap();
    transaction.commit().unwrap();
    engine.snapshot().table("t").unwrap().object
}

fn batch(ids: &[i32]) -> RecordBatch {
    let schema = bulkwire_store::record::layout::Layout::new(vec![
        Column::required("id", Kind::Int),
        Column::required("value", Kind::BigInt),
    ]);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from(ids.to_vec())),
        Arc::new(Int64Array::from_iter_values(ids.iter().map(|id| i64::from(*id) * 3))),
    ];
    RecordBatch::try_new(schema.unwrap().schema, columns).unwrap()
}

fn load(transaction: &mut Transaction, ids: &[i32]) -> Result<u64, EngineError> {
    let options = BulkOptions { table_lock: false, ..BulkOptions::default() };
    let mut writer = transaction.open_table("t")?.bulk_writer_with(options)?;
    for part in ids.chunks(500) {
        writer.append(&batch(part))?;
    }
    transaction.open_table("t")?.finish_bulk(writer)
}

fn ids(keys: Keys, form: Form, writer: i32, number: i32, rows: i32, random: &mut Random) -> Vec<i32> {
    let mut ids: Vec<i32> = (0..rows)
        .map(|row| {
            let own = number * rows + row;
            match keys {
                Keys::Interleaved => own * WRITERS + writer,
                Keys::Disjoint => writer * LOADS * rows + own,
            }
        })
        .map(|id| if form == Form::Repeated { id / 7 } else { id })
        .collect();
    for row in (1..ids.len()).rev() {
        ids.swap(row, random.below(row as u64 + 1) as usize);
    }
    ids
}

fn sum(engine: &Engine, index: Option<&str>) -> (u64, i64) {
    let snapshot = engine.snapshot();
    let table = snapshot.read_table("t").unwrap();
    let batches: Vec<RecordBatch> = match index {
        Some(index) => table.index_scan(index, None, None, None).unwrap().map(Result::unwrap).collect(),
        None => table.scan(None).unwrap().map(Result::unwrap).collect(),
    };
    batches.iter().fold((0, 0), |(rows, sum), batch| {
        let ids = batch.column(0).as_primitive::<Int32Type>().values();
        let values = batch.column(1).as_primitive::<Int64Type>().values();
        assert!(ids.iter().zip(values).all(|(id, value)| i64::from(*id) * 3 == *value));
        (rows + ids.len() as u64, sum + ids.iter().map(|id| i64::from(*id)).sum::<i64>())
    })
}

fn load_with_threads(form: Form, keys: Keys, rows: i32) {
    let engine = Engine::in_memory(EngineOptions::default()).unwrap();
    create(&engine, form);
    let finished = AtomicUsize::new(0);
    let (count, total) = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (engine, finished) = (engine.clone(), &finished);
                scope.spawn(move || {
                    let mut random = Random(writer as u64);
                    let mut all = Vec::new();
                    let mut number = 0;
                    while number < LOADS {
                        // One load a transaction, or two; some are undone.
                        let mut transaction = engine.begin();
                        let two = number + 1 < LOADS && random.one_in(3);
                        let own: Vec<Vec<i32>> = (number..number + 1 + i32::from(two))
                            .map(|number| ids(keys, form, writer, number, rows, &mut random))
                            .collect();
                        for ids in &own {
                            let loaded = load(&mut transaction, ids);
                            assert_eq!(loaded.unwrap(), ids.len() as u64, "{form:?} {keys:?}");
                        }
                        if random.one_in(4) {
                            transaction.rollback().unwrap();
                            continue;
                        }
                        transaction.commit().unwrap();
                        number += own.len() as i32;
                        all.extend(own.into_iter().flatten());
                    }
                    finished.fetch_add(1, Ordering::SeqCst);
                    (all.len() as u64, all.iter().map(|id| i64::from(*id)).sum::<i64>())
                })
            })
            .collect();
        while finished.load(Ordering::SeqCst) < WRITERS as usize {
            if writers.iter().any(|writer| writer.is_finished()) && finished.load(Ordering::SeqCst) == 0 {
                break;
            }
            let (seen, _) = sum(&engine, None);
            assert_eq!(seen % rows as u64, 0, "a commit in part");
            std::thread::sleep(Duration::from_millis(2));
            if writers.iter().all(|writer| writer.is_finished()) {
                break;
            }
        }
        writers.into_iter().map(|writer| writer.join().unwrap()).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
    });
    assert_eq!(count, (WRITERS * LOADS * rows) as u64);
    assert_eq!(sum(&engine, None), (count, total), "{form:?} {keys:?}");
    assert_eq!(sum(&engine, Some("by_value")), (count, total), "{form:?} {keys:?}");
    assert_eq!(engine.snapshot().table("t").unwrap().rows, count);
    assert_eq!(engine.check().unwrap(), []);
    assert_eq!(engine.locks(), []);
}

#[test]
fn ten_loads_of_one_table_at_a_time_are_all_there_and_none_is_a_victim() {
    for form in
        [Form::Unique(Compression::None), Form::Unique(Compression::Page), Form::Repeated, Form::IndexedHeap]
    {
        for keys in [Keys::Interleaved, Keys::Disjoint] {
            load_with_threads(form, keys, ROWS[0]);
        }
    }
    load_with_threads(Form::Unique(Compression::None), Keys::Interleaved, ROWS[1]);
}

#[test]
fn a_load_takes_its_rows_beside_others_and_locks_the_table_only_if_nobody_is_there() {
    let engine =
        Engine::in_memory(EngineOptions { lock_timeout: Duration::ZERO, ..EngineOptions::default() })
            .unwrap();
    let object = create(&engine, Form::Unique(Compression::None));
    let held = |transaction: &Transaction| {
        let locks = engine.locks();
        let table = locks.iter().find(|lock| {
            lock.transaction == transaction.id()
                && lock.resource == bulkwire_store::lock::Resource::Object(object)
        });
        table.map(|lock| lock.mode)
    };
    let options = BulkOptions { table_lock: false, ..BulkOptions::default() };
    let (mut one, mut two) = (engine.begin(), engine.begin());
    let mut writers = [&mut one, &mut two]
        .map(|transaction| transaction.open_table("t").unwrap().bulk_writer_with(options).unwrap());
    let even: Vec<i32> = (0..6000).map(|id| id * 2).collect();
    let odd: Vec<i32> = even.iter().map(|id| id + 1).collect();
    writers[0].append(&batch(&even)).unwrap();
    writers[1].append(&batch(&odd)).unwrap();
    let [first, second] = writers;
    one.open_table("t").unwrap().finish_bulk(first).unwrap();
    assert_eq!(held(&one), Some(LockMode::IX), "another load is under way");
    // The keys of the other lie between: it waits for the commit.
    let refused = two.open_table("t").unwrap().finish_bulk(second);
    assert!(matches!(refused, Err(EngineError::Lock(_))), "{refused:?}");
    two.rollback().unwrap();
    one.commit().unwrap();
    let mut alone = engine.begin();
    assert_eq!(load(&mut alone, &odd).unwrap(), 6000);
    assert_eq!(held(&alone), Some(LockMode::X), "5,000 rows, and nobody is in the way");
    alone.rollback().unwrap();
    let mut small = engine.begin();
    assert_eq!(load(&mut small, &odd[..900]).unwrap(), 900);
    assert_eq!(held(&small), Some(LockMode::IX));
    small.commit().unwrap();
    // A load of rows that exist already is refused, and leaves nothing.
    let mut again = engine.begin();
    let refused = load(&mut again, &odd[800..1000]);
    assert!(matches!(refused, Err(EngineError::DuplicateKey { .. })), "{refused:?}");
    again.commit().unwrap();
    assert_eq!(sum(&engine, None).0, 6900);
    assert_eq!(engine.check().unwrap(), []);
}
