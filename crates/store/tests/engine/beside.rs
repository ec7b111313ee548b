//! Several open transactions that change rows of the same tables: by a model, by power cuts, and by threads that wait for each other.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, AsArray, Int32Array, RecordBatch, StringArray};
use arrow::datatypes::Int32Type;
use bulkwire_store::LockError;
use bulkwire_store::lock::{LockMode, Resource};
use bulkwire_store::{
    BulkOptions, Column, Compression, Engine, EngineError, EngineOptions, IndexDefinition, Kind, LogOptions,
    RecoveryModel, RowLocator, Transaction,
};

use crate::basics::{MODELS, options};
use crate::support::Random;
use crate::support::volume::MemoryVolume;

type Rows = BTreeMap<i32, String>;
/// Rows of each table.
type Model = [Rows; 3];

/// A clustered table with an index, a heap with a unique one, and a heap whose rows have large values.
const TABLES: [&str; 3] = ["tree", "indexed", "heap"];
const HEAP: usize = 2;

fn columns(table: usize) -> Vec<Column> {
    let text = if table == HEAP { Kind::VarChar(None) } else { Kind::VarChar(Some(8000)) };
    vec![Column::required("id", Kind::Int), Column::required("text", text)]
}

fn batch(table: usize, rows: &[(i32, String)]) -> RecordBatch {
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from_iter_values(rows.iter().map(|row| row.0))),
        Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.1.as_str()))),
    ];
    let layout = bulkwire_store::record::layout::Layout::new(columns(table)).unwrap();
    RecordBatch::try_new(layout.schema, arrays).unwrap()
}

fn rows_of(batch: &RecordBatch) -> Vec<(i32, String)> {
    let ids = batch.column(0).as_primitive::<Int32Type>().values();
    let texts = batch.column(1).as_string::<i32>();
    ids.iter().copied().zip(texts.iter().map(|text| text.unwrap().to_owned())).collect()
}

fn create(engine: &Engine, seed: u64) {
    let compression = [Compression::None, Compression::Row, Compression::Page][seed as usize / 3 % 3];
    let mut transaction = engine.begin();
    let key = IndexDefinition { compression: Some(compression), ..IndexDefinition::unique("", &[0]) };
    transaction.create_tree("tree", columns(0), &key, "").unwrap();
    transaction.open_table("tree").unwrap().create_index(&IndexDefinition::new("by_text", &[0])).unwrap();
    transaction.create_table("indexed", columns(1), "").unwrap();
    transaction.open_table("indexed").unwrap().create_index(&IndexDefinition::unique("by_id", &[0])).unwrap();
    transaction
        .create_table_on("heap", columns(2), None, compression, &bulkwire_store::Placement::default(), "")
        .unwrap();
    transaction.commit().unwrap();
}

/// Everything committed, read in every way that there is.
fn contents(engine: &Engine) -> Model {
    let snapshot = engine.snapshot();
    std::array::from_fn(|table| {
        let name = TABLES[table];
        let of = |batches: Vec<RecordBatch>| -> Rows { batches.iter().flat_map(rows_of).collect() };
        let rows = of(snapshot.read_table(name).unwrap().scan(None).unwrap().map(Result::unwrap).collect());
        let known = snapshot.table(name).unwrap();
        assert_eq!(known.rows, rows.len() as u64, "rows of {name}");
        if known.clustered.is_some() {
            let scan = snapshot.read_table(name).unwrap().ordered_scan(None, None, None).unwrap();
            assert_eq!(of(scan.map(Result::unwrap).collect()), rows, "in the order of the key");
        }
        for index in &known.indexes {
            let scan = snapshot.read_table(name).unwrap().index_scan(index.name(), None, None, None).unwrap();
            assert_eq!(of(scan.map(Result::unwrap).collect()), rows, "by {}", index.name());
        }
        rows
    })
}

fn located(transaction: &Transaction, table: usize) -> Vec<((i32, String), RowLocator)> {
    let mut scan = transaction.read_table(TABLES[table]).unwrap().scan(None).unwrap();
    let mut rows = Vec::new();
    while let Some(found) = scan.next_with_locators() {
        let (batch, locators) = found.unwrap();
        rows.extend(rows_of(&batch).into_iter().zip(locators));
    }
    rows.sort();
    rows
}

fn text(random: &mut Random, table: usize) -> String {
    let length = match (random.below(20), table) {
        (0, HEAP) => 9000 + random.below(20_000),
        (0..3, _) => random.below(3000),
        (3..8, _) => random.below(900),
        _ => random.below(60),
    };
    let letter = char::from(b'a' + random.below(26) as u8);
    letter.to_string().repeat(length as usize)
}

/// Changes of an open transaction to each table: new text by id; None: the row was deleted.
type Own = [BTreeMap<i32, Option<String>>; 3];

struct Open {
    transaction: Transaction,
    own: Own,
}

fn seen(committed: &Rows, own: &BTreeMap<i32, Option<String>>) -> Rows {
    let mut rows = committed.clone();
    for (id, row) in own {
        match row {
            Some(row) => rows.insert(*id, row.clone()),
            None => rows.remove(id),
        };
    }
    rows
}

/// Number of events by kind.
#[derive(Debug, Default)]
struct Tally {
    done: u64,
    waits: u64,
    commits: u64,
    rollbacks: u64,
}

/// Runs several transactions at a time, none of which waits: rows that another one has locked are refused.
/// The result is as if the committed ones had run one after the other. `on_commit` makes each commit.
fn interleave(
    engine: &Engine,
    random: &mut Random,
    model: &mut Model,
    steps: u64,
    mut on_commit: impl FnMut(&Model, &mut dyn FnMut()),
) -> Tally {
    let mut tally = Tally::default();
    let mut open: Vec<Open> = Vec::new();
    let mut next_id = 10_000;
    for _ in 0..steps {
        if open.is_empty() || (open.len() < 4 && random.one_in(4)) {
            let mut transaction = engine.begin();
            transaction.set_lock_timeout(Duration::ZERO);
            open.push(Open { transaction, own: Own::default() });
        }
        let place = random.below(open.len() as u64) as usize;
        match random.below(10) {
            0 => {
                let Open { transaction, own } = open.swap_remove(place);
                let mut next = model.clone();
                for (rows, own) in next.iter_mut().zip(&own) {
                    *rows = seen(rows, own);
                }
                let mut transaction = Some(transaction);
                on_commit(&next, &mut || {
                    transaction.take().unwrap().commit().unwrap();
                });
                *model = next;
                tally.commits += 1;
                if random.one_in(4) {
                    assert_eq!(contents(engine), *model);
                }
            }
            1 if random.one_in(2) => {
                open.swap_remove(place).transaction.rollback().unwrap();
                tally.rollbacks += 1;
                if random.one_in(4) {
                    assert_eq!(contents(engine), *model);
                }
            }
            2 => {
                let part = &mut open[place];
                let (savepoint, before) = (part.transaction.savepoint(), part.own.clone());
                change(&mut open, place, model, random, &mut next_id, &mut tally);
                change(&mut open, place, model, random, &mut next_id, &mut tally);
                if random.one_in(2) {
                    open[place].transaction.rollback_to(&savepoint).unwrap();
                    open[place].own = before;
                }
            }
            3 => {
                for (table, rows) in model.iter().enumerate() {
                    let found: Rows =
                        located(&open[place].transaction, table).into_iter().map(|(row, _)| row).collect();
                    assert_eq!(found, seen(rows, &open[place].own[table]), "{}", TABLES[table]);
                }
            }
            4 if random.one_in(3) => engine.checkpoint().unwrap(),
            _ => change(&mut open, place, model, random, &mut next_id, &mut tally),
        }
    }
    tally
}

/// Loads batches as bulk loads without TABLOCK do.
fn load_beside(
    transaction: &mut Transaction,
    name: &str,
    batches: &[RecordBatch],
) -> Result<(), EngineError> {
    let options = BulkOptions { table_lock: false, ..BulkOptions::default() };
    let mut writer = transaction.open_table(name)?.bulk_writer_with(options)?;
    for batch in batches {
        if let Err(error) = writer.append(batch) {
            transaction.abandon_bulk(writer);
            return Err(error);
        }
    }
    transaction.open_table(name)?.finish_bulk(writer).map(drop)
}

/// One statement of one of the open transactions, or nothing, if another one is in the way.
fn change(
    open: &mut [Open],
    place: usize,
    model: &Model,
    random: &mut Random,
    next_id: &mut i32,
    tally: &mut Tally,
) {
    let table = random.below(3) as usize;
    let name = TABLES[table];
    let rows = seen(&model[table], &open[place].own[table]);
    let transaction = &mut open[place].transaction;
    let mut changed: BTreeMap<i32, Option<String>> = BTreeMap::new();
    let done = if rows.is_empty() || random.one_in(2) {
        // Now and then a load without a table lock, whose rows are merged into the trees.
        let loads = random.one_in(3);
        for _ in 0..random.below(if loads { 40 } else { 8 }) + 1 {
            *next_id += 1;
            let id = if table == HEAP { *next_id } else { random.below(300) as i32 };
            if !rows.contains_key(&id) {
                changed.insert(id, Some(text(random, table)));
            }
        }
        let new: Vec<(i32, String)> = changed.iter().map(|(id, row)| (*id, row.clone().unwrap())).collect();
        match loads {
            true => load_beside(transaction, name, &[batch(table, &new)]),
            false => {
                transaction.open_table(name).and_then(|mut open| open.insert(&batch(table, &new))).map(drop)
            }
        }
    } else {
        transaction.reads().pin();
        let mut present = located(transaction, table);
        let keep = random.below(4) + 1;
        while present.len() as u64 > keep {
            let at = random.below(present.len() as u64) as usize;
            present.swap_remove(at);
        }
        let locators: Vec<RowLocator> = present.iter().map(|(_, locator)| locator.clone()).collect();
        let deletes = random.one_in(2);
        for ((id, _), _) in &present {
            changed.insert(*id, (!deletes).then(|| text(random, table)));
        }
        transaction.open_table(name).and_then(|mut table| table.claim_rows(&locators)).and_then(|()| {
            match deletes {
                true => transaction.open_table(name).and_then(|mut table| table.delete_located(&locators)),
                false => {
                    let new: Vec<(i32, String)> =
                        present.iter().map(|((id, _), _)| (*id, changed[id].clone().unwrap())).collect();
                    transaction
                        .open_table(name)
                        .and_then(|mut open| open.update_located(&locators, &batch(table, &new)))
                }
            }
        })
    };
    match done {
        Ok(()) => {
            tally.done += 1;
            let others = open.iter().enumerate().filter(|(other, _)| *other != place);
            for (_, other) in others {
                let both = changed.keys().find(|id| other.own[table].contains_key(id));
                assert_eq!(both, None, "two transactions have changed one row of {name}");
            }
            open[place].own[table].extend(changed);
        }
        Err(EngineError::Lock(LockError::Timeout { .. })) => tally.waits += 1,
        Err(error) => panic!("{name}: {error}"),
    }
}

#[test]
fn interleaved_transactions_are_as_if_one_had_followed_the_other() {
    let mut sum = Tally::default();
    for seed in 0..24 {
        let volume = MemoryVolume::default();
        let options = EngineOptions { cache_bytes: 1 << 20, ..options(MODELS[seed as usize % 3]) };
        let (mut random, mut model) = (Random(seed), Model::default());
        for _ in 0..3 {
            let engine = Engine::open_on(Arc::new(volume.clone()), options).unwrap();
            if engine.snapshot().table("tree").is_none() {
                create(&engine, seed);
            }
            let tally = interleave(&engine, &mut random, &mut model, 120, |_, commit| commit());
            // Transactions that were left open are undone.
            assert_eq!(contents(&engine), model, "seed {seed}");
            assert_eq!(engine.check().unwrap(), [], "seed {seed}");
            assert_eq!(engine.locks(), [], "seed {seed}");
            sum.done += tally.done;
            sum.waits += tally.waits;
            sum.commits += tally.commits;
            sum.rollbacks += tally.rollbacks;
        }
        let engine = Engine::open_on(Arc::new(volume), options).unwrap();
        assert_eq!(contents(&engine), model, "seed {seed}");
    }
    println!("{sum:?}");
    // Otherwise they are not beside each other, or never in each other's way.
    assert!(sum.done > 2000 && sum.waits > 200 && sum.commits > 300 && sum.rollbacks > 100, "{sum:?}");
}

/// Cuts the power after every operation while several transactions are open on the same tables.
#[test]
fn a_power_cut_keeps_the_committed_ones_of_several_and_undoes_the_others() {
    let wanted = std::env::var("BULKWIRE_CRASH_POINTS").ok().and_then(|points| points.parse().ok());
    let wanted: u64 = wanted.unwrap_or(2000);
    let (mut points, mut seed) = (0, 0);
    while points < wanted {
        let options = EngineOptions {
            log: LogOptions { file_bytes: 64 << 10, limit_bytes: None },
            checkpoint_log_bytes: 160 << 10,
            ..options(MODELS[seed as usize % 3])
        };
        let volume = MemoryVolume::recording();
        let engine = Engine::open_on(Arc::new(volume.clone()), options).unwrap();
        create(&engine, seed);
        // Begin and end of each commit, in operations of the volume, and the state that it made.
        let mut commits = vec![(volume.operations(), volume.operations(), Model::default())];
        let (mut random, mut model) = (Random(seed), Model::default());
        interleave(&engine, &mut random, &mut model, 60, |next, commit| {
            let began = volume.operations();
            commit();
            commits.push((began, volume.operations(), next.clone()));
        });
        drop(engine);
        let created = commits[0].1;
        volume.replay(|done, disk| {
            if done < created {
                return;
            }
            let mut random = Random(seed ^ (done << 20));
            let left = MemoryVolume::on(disk.after_power_cut(&mut random));
            let engine = Engine::open_on(Arc::new(left), options)
                .unwrap_or_else(|error| panic!("seed {seed}, cut after {done}: {error}"));
            let found = contents(&engine);
            let index = commits.iter().rposition(|(_, acknowledged, _)| *acknowledged <= done).unwrap();
            if found != commits[index].2 {
                let in_flight = commits.get(index + 1).filter(|(began, _, _)| *began <= done);
                let kept = in_flight.is_some_and(|(_, _, model)| *model == found);
                assert!(kept, "seed {seed}, cut after {done}");
            }
            assert_eq!(engine.check().unwrap(), [], "seed {seed}, cut after {done}");
            points += 1;
        });
        seed += 1;
    }
    println!("{points} power cuts in {seed} workloads");
}

fn keyed(engine: &Engine, rows: i32, length: usize) {
    let mut transaction = engine.begin();
    transaction.create_tree("t", columns(0), &bulkwire_store::IndexDefinition::unique("", &[0]), "").unwrap();
    let rows: Vec<(i32, String)> = (0..rows).map(|id| (id * 10, format!("{:0>length$}", 0))).collect();
    transaction.open_table("t").unwrap().insert(&batch(0, &rows)).unwrap();
    transaction.commit().unwrap();
}

/// Adds one to the number that each row's text is, in one transaction.
fn increment(engine: &Engine) {
    'transaction: loop {
        let mut transaction = engine.begin();
        loop {
            transaction.reads().pin();
            let mut scan = transaction.read_table("t").unwrap().scan(None).unwrap();
            let (mut rows, mut locators) = (Vec::new(), Vec::new());
            while let Some(found) = scan.next_with_locators() {
                let (batch, own) = found.unwrap();
                for ((id, text), locator) in rows_of(&batch).into_iter().zip(own) {
                    if id % 10 == 0 {
                        let number: u64 = text.parse().unwrap();
                        rows.push((id, format!("{:0>width$}", number + 1, width = text.len())));
                        locators.push(locator);
                    }
                }
            }
            match transaction.open_table("t").and_then(|mut table| table.claim_rows(&locators)) {
                Ok(()) => {}
                Err(EngineError::RowsChanged { .. }) => continue,
                Err(EngineError::Lock(LockError::Deadlock { .. })) => continue 'transaction,
                Err(error) => panic!("{error}"),
            }
            match transaction
                .open_table("t")
                .and_then(|mut table| table.update_located(&locators, &batch(0, &rows)))
            {
                Ok(()) => {}
                Err(EngineError::Lock(LockError::Deadlock { .. })) => continue 'transaction,
                Err(error) => panic!("{error}"),
            }
            transaction.commit().unwrap();
            return;
        }
    }
}

#[test]
fn no_update_is_lost_between_threads_while_others_split_the_tree() {
    const THREADS: u64 = 6;
    const ROUNDS: u64 = 25;
    let engine = Engine::in_memory(EngineOptions::default()).unwrap();
    keyed(&engine, 60, 700);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..THREADS)
            .map(|_| {
                let engine = engine.clone();
                scope.spawn(move || (0..ROUNDS).for_each(|_| increment(&engine)))
            })
            .collect();
        for part in 0..2 {
            let engine = engine.clone();
            scope.spawn(move || {
                let mut random = Random(part);
                for round in 0..60 {
                    // Keys between the others, of either parity.
                    let id = random.below(600) as i32 / 10 * 10 + 1 + part as i32;
                    let mut transaction = engine.begin();
                    let row = (id, "n".repeat(200 + random.below(1500) as usize));
                    match transaction.open_table("t").and_then(|mut table| table.insert(&batch(0, &[row]))) {
                        Ok(_) if round % 4 == 0 => transaction.rollback().unwrap(),
                        Ok(_) => {
                            transaction.commit().unwrap();
                        }
                        Err(
                            EngineError::DuplicateKey { .. } | EngineError::Lock(LockError::Deadlock { .. }),
                        ) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
        // Readers see all rows of one commit, and never wait.
        while !writers.iter().all(|writer| writer.is_finished()) {
            let snapshot = engine.snapshot();
            let rows: Rows = snapshot
                .read_table("t")
                .unwrap()
                .ordered_scan(None, None, None)
                .unwrap()
                .flat_map(|batch| rows_of(&batch.unwrap()))
                .collect();
            let numbers: Vec<&String> =
                rows.iter().filter(|(id, _)| *id % 10 == 0).map(|(_, text)| text).collect();
            assert_eq!(numbers.len(), 60);
            assert!(numbers.windows(2).all(|pair| pair[0] == pair[1]), "one commit, wholly");
        }
    });
    let rows = engine
        .snapshot()
        .read_table("t")
        .unwrap()
        .scan(None)
        .unwrap()
        .flat_map(|batch| rows_of(&batch.unwrap()))
        .collect::<Rows>();
    for (id, text) in rows.iter().filter(|(id, _)| *id % 10 == 0) {
        assert_eq!(text.parse::<u64>().unwrap(), THREADS * ROUNDS, "row {id}");
    }
    assert_eq!(engine.check().unwrap(), []);
    assert_eq!(engine.locks(), []);
}

fn refused<T>(done: Result<T, EngineError>) -> bool {
    matches!(done, Err(EngineError::Lock(LockError::Timeout { .. })))
}

#[test]
fn leaves_are_locked_one_by_one_and_equal_keys_wait_for_each_other() {
    let engine =
        Engine::in_memory(EngineOptions { lock_timeout: Duration::ZERO, ..EngineOptions::default() })
            .unwrap();
    keyed(&engine, 60, 700);
    let row = |id: i32| batch(0, &[(id, "new".to_owned())]);
    let (mut one, mut two) = (engine.begin(), engine.begin());
    one.open_table("t").unwrap().insert(&row(5)).unwrap();
    two.open_table("t").unwrap().insert(&row(595)).unwrap();
    // The key that the other has in hand, one beside it, and one that is in no way near.
    assert!(refused(two.open_table("t").and_then(|mut table| table.insert(&row(5)))));
    assert!(refused(two.open_table("t").and_then(|mut table| table.insert(&row(6)))));
    two.open_table("t").unwrap().insert(&row(575)).unwrap();
    let object = engine.snapshot().table("t").unwrap().object;
    let held = |transaction: &Transaction| -> Vec<(&'static str, LockMode)> {
        let mut rows: Vec<_> = engine
            .locks()
            .into_iter()
            .filter(|lock| lock.transaction == transaction.id())
            .map(|lock| (lock.resource.type_name(), lock.mode))
            .collect();
        rows.sort_unstable();
        rows
    };
    assert_eq!(held(&one), [("OBJECT", LockMode::IX), ("PAGE", LockMode::X)]);
    // No transaction can lock the table exclusively meanwhile.
    assert!(refused(two.lock_table(object, LockMode::X, Duration::ZERO).map_err(EngineError::from)));
    one.commit().unwrap();
    assert!(matches!(
        two.open_table("t").and_then(|mut table| table.insert(&row(5))),
        Err(EngineError::DuplicateKey { .. })
    ));
    // A row that is gone is a row in hand until the end; undone, it is there again.
    let mut three = engine.begin();
    let key = |id: i32| batch(0, &[(id, String::new())]).project(&[0]).unwrap();
    assert!(
        refused(three.open_table("t").and_then(|mut table| table.delete_keys(&key(5)))),
        "the one that was refused for its key has looked at the page"
    );
    two.rollback().unwrap();
    three.open_table("t").unwrap().delete_keys(&key(5)).unwrap();
    let mut four = engine.begin();
    assert!(refused(four.open_table("t").and_then(|mut table| table.insert(&row(5)))));
    three.rollback().unwrap();
    assert!(matches!(
        four.open_table("t").and_then(|mut table| table.insert(&row(5))),
        Err(EngineError::DuplicateKey { .. })
    ));
    four.rollback().unwrap();
    assert_eq!(engine.locks(), []);
}

#[test]
fn heap_rows_of_several_transactions_go_to_different_pages() {
    let volume = MemoryVolume::default();
    let timeout = EngineOptions { lock_timeout: Duration::ZERO, ..options(RecoveryModel::Full) };
    let engine = Engine::open_on(Arc::new(volume), timeout).unwrap();
    let mut transaction = engine.begin();
    transaction.create_table("h", columns(0), "").unwrap();
    transaction.commit().unwrap();
    let row = |id: i32| batch(0, &[(id, "h".repeat(300))]);
    let mut open: Vec<Transaction> = (0..5).map(|_| engine.begin()).collect();
    let mut pages = Vec::new();
    for round in 0..12 {
        for (number, transaction) in open.iter_mut().enumerate() {
            let address =
                transaction.open_table("h").unwrap().insert(&row(round * 10 + number as i32)).unwrap()[0];
            pages.push((address.page, number));
        }
    }
    pages.sort_unstable();
    pages.dedup();
    // 12 rows of 300 bytes fit a page: one for each transaction.
    assert_eq!(pages.len(), 5);
    pages.dedup_by_key(|(page, _)| *page);
    assert_eq!(pages.len(), 5);
    let last = open.pop().unwrap();
    for transaction in open {
        transaction.commit().unwrap();
    }
    last.rollback().unwrap();
    let rows: Rows = engine
        .snapshot()
        .read_table("h")
        .unwrap()
        .scan(None)
        .unwrap()
        .flat_map(|batch| rows_of(&batch.unwrap()))
        .collect();
    assert_eq!(rows.len(), 48);
    assert_eq!(engine.check().unwrap(), []);
    // Later transactions use the room that those left, instead of a page each.
    for id in 0..200 {
        let mut transaction = engine.begin();
        transaction.open_table("h").unwrap().insert(&row(1000 + id)).unwrap();
        transaction.commit().unwrap();
    }
    let table = engine.snapshot().table("h").unwrap().clone();
    // 24 rows fit a page.
    assert!(table.data_pages() <= 5 + 200 / 24 + 1, "{} pages", table.data_pages());
    assert!(table.extents() <= 6, "{} extents", table.extents());
    assert_eq!(engine.check().unwrap(), []);
}

#[test]
fn rows_that_changed_since_they_were_read_are_refused() {
    let engine =
        Engine::in_memory(EngineOptions { lock_timeout: Duration::ZERO, ..EngineOptions::default() })
            .unwrap();
    keyed(&engine, 60, 700);
    let (mut one, mut two) = (engine.begin(), engine.begin());
    one.reads().pin();
    let found = located_in(&one);
    two.reads().pin();
    let same = located_in(&two);
    two.open_table("t")
        .unwrap()
        .claim_rows(&same[..1].iter().map(|(_, locator)| locator.clone()).collect::<Vec<_>>())
        .unwrap();
    two.open_table("t").unwrap().delete_located(&[same[0].1.clone()]).unwrap();
    let first = [found[0].1.clone()];
    assert!(refused(one.open_table("t").and_then(|mut table| table.claim_rows(&first))));
    two.commit().unwrap();
    one.reads().pin();
    let last = [found[59].1.clone()];
    one.open_table("t").unwrap().claim_rows(&last).unwrap();
    // A read that began before the other one's commit.
    let (mut one, mut two) = (engine.begin(), engine.begin());
    one.reads().pin();
    let found = located_in(&one);
    two.open_table("t").unwrap().update_keyed(&batch(0, &[(10, "changed".to_owned())])).unwrap();
    two.commit().unwrap();
    let first = [found[0].1.clone()];
    let changed = one.open_table("t").and_then(|mut table| table.claim_rows(&first));
    assert!(matches!(changed, Err(EngineError::RowsChanged { .. })), "{changed:?}");
    // Its page is this transaction's now: read again, it stays.
    one.reads().pin();
    let found = located_in(&one);
    assert_eq!(found[0].0, (10, "changed".to_owned()));
    one.open_table("t").unwrap().claim_rows(&[found[0].1.clone()]).unwrap();
    one.open_table("t").unwrap().delete_located(&[found[0].1.clone()]).unwrap();
    one.commit().unwrap();
    assert_eq!(engine.snapshot().table("t").unwrap().rows, 58);
}

fn located_in(transaction: &Transaction) -> Vec<((i32, String), RowLocator)> {
    let mut scan = transaction.read_table("t").unwrap().scan(None).unwrap();
    let mut rows = Vec::new();
    while let Some(found) = scan.next_with_locators() {
        let (batch, locators) = found.unwrap();
        rows.extend(rows_of(&batch).into_iter().zip(locators));
    }
    rows.sort();
    rows
}

#[test]
fn many_page_locks_become_one_of_the_table_unless_somebody_is_in_the_way() {
    let engine =
        Engine::in_memory(EngineOptions { lock_timeout: Duration::ZERO, ..EngineOptions::default() })
            .unwrap();
    let mut transaction = engine.begin();
    transaction.create_table("h", columns(0), "").unwrap();
    transaction.commit().unwrap();
    let object = engine.snapshot().table("h").unwrap().object;
    let rows: Vec<(i32, String)> = (0..700).map(|id| (id, "h".repeat(7000))).collect();
    let (mut one, mut other) = (engine.begin(), engine.begin());
    other.open_table("h").unwrap().insert(&batch(0, &rows[..1])).unwrap();
    for _ in 0..8 {
        one.open_table("h").unwrap().insert(&batch(0, &rows)).unwrap();
    }
    let pages = |transaction: &Transaction| {
        let locks = engine.locks();
        let own = locks.iter().filter(|lock| lock.transaction == transaction.id());
        own.filter(|lock| matches!(lock.resource, Resource::Page { .. })).count()
    };
    assert_eq!(pages(&one), 5600, "another transaction changes the table, too");
    other.commit().unwrap();
    one.open_table("h").unwrap().insert(&batch(0, &rows)).unwrap();
    one.open_table("h").unwrap().insert(&batch(0, &rows)).unwrap();
    assert_eq!(pages(&one), 0);
    let whole = engine.locks();
    assert!(
        whole.iter().any(|lock| lock.resource == Resource::Object(object) && lock.mode == LockMode::X),
        "{whole:?}"
    );
    one.commit().unwrap();
    assert_eq!(engine.snapshot().table("h").unwrap().rows, 7001);
    assert_eq!(engine.check().unwrap(), []);
}
