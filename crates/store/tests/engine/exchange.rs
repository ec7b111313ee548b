//! Two tables exchange their rows: side by side with readers, undone, and through power cuts after every operation.

use std::sync::Arc;

use bulkwire_store::{Compression, Engine, EngineError, IndexDefinition, KeyColumn, Placement};

use crate::basics::{MODELS, options};
use crate::support::Random;
use crate::support::volume::MemoryVolume;
use crate::workload::{Model, Row, batch, columns, contents};

const FORMS: u64 = 6;

/// Two tables that differ in names and fill factors alone.
fn create(engine: &Engine, form: u64) {
    let mut transaction = engine.begin();
    let compression = [Compression::None, Compression::Row, Compression::Page][form as usize % 3];
    for (name, fill) in [("one", 0), ("two", 70)] {
        let key = (form >= 3).then(|| IndexDefinition {
            fill_factor_percent: fill,
            compression: Some(compression),
            ..IndexDefinition::unique(format!("key of {name}"), &[0])
        });
        let placement = Placement::default();
        transaction.create_table_on(name, columns(), key.as_ref(), compression, &placement, name).unwrap();
        let index = IndexDefinition {
            key: vec![KeyColumn::descending(0)],
            ..IndexDefinition::new(format!("index of {name}"), &[])
        };
        transaction.open_table(name).unwrap().create_index(&index).unwrap();
    }
    transaction.commit().unwrap();
}

fn rows(ids: std::ops::Range<i32>) -> Vec<Row> {
    ids.map(|id| (id, Some("t".repeat(id as usize % 90)), (id % 9 == 0).then(|| vec![7; 9_000]))).collect()
}

fn exchange(engine: &Engine, rolls_back: bool) {
    let mut transaction = engine.begin();
    let (one, two) = (transaction.table("one").unwrap(), transaction.table("two").unwrap());
    transaction.exchange_rows(&one, &two).unwrap();
    assert_eq!(transaction.table("one").unwrap().rows, two.rows);
    match rolls_back {
        true => transaction.rollback().unwrap(),
        false => drop(transaction.commit().unwrap()),
    }
}

#[test]
fn tables_keep_their_names_and_a_snapshot_its_rows() {
    for form in 0..FORMS {
        let volume = MemoryVolume::default();
        let engine = Engine::open_on(Arc::new(volume.clone()), options(MODELS[0])).unwrap();
        create(&engine, form);
        let mut transaction = engine.begin();
        transaction.open_table("one").unwrap().insert(&batch(&rows(0..300))).unwrap();
        transaction.commit().unwrap();
        let before = engine.snapshot();
        exchange(&engine, true);
        assert_eq!(contents(&engine)["one"].len(), 300, "undone");
        exchange(&engine, false);
        let now = contents(&engine);
        assert_eq!((now["one"].len(), now["two"].len()), (0, 300), "form {form}");
        let old: usize = before
            .read_table("one")
            .unwrap()
            .scan(None)
            .unwrap()
            .map(|batch| batch.unwrap().num_rows())
            .sum();
        assert_eq!(old, 300, "form {form}");
        let table = engine.snapshot().table("two").cloned().unwrap();
        assert_eq!(table.indexes[0].name(), "index of two");
        let key = table.clustered.as_ref().map(|tree| &tree.definition);
        assert!(key.is_none_or(|key| key.name == "key of two" && key.fill_factor_percent == 70));
        // Both go on, and so does what is made of them later.
        let mut transaction = engine.begin();
        transaction.open_table("one").unwrap().insert(&batch(&rows(0..50))).unwrap();
        transaction.open_table("two").unwrap().insert(&batch(&rows(300..350))).unwrap();
        let new = IndexDefinition { key: vec![KeyColumn::descending(0)], ..IndexDefinition::new("new", &[]) };
        transaction.open_table("two").unwrap().create_index(&new).unwrap();
        transaction.open_table("one").unwrap().drop().unwrap();
        transaction.create_table("three", columns(), "").unwrap();
        transaction.open_table("three").unwrap().insert(&batch(&rows(0..20))).unwrap();
        transaction.commit().unwrap();
        drop((before, engine));
        let engine = Engine::open_on(Arc::new(volume), options(MODELS[0])).unwrap();
        let mut transaction = engine.begin();
        transaction.create_table("four", columns(), "").unwrap();
        transaction.open_table("four").unwrap().insert(&batch(&rows(0..20))).unwrap();
        transaction.commit().unwrap();
        assert_eq!(contents(&engine)["two"].len(), 350, "form {form}");
        assert_eq!(engine.check().unwrap(), [], "form {form}");
    }
}

#[test]
fn tables_that_are_not_alike_are_refused_and_stay() {
    let engine = Engine::open_on(Arc::new(MemoryVolume::default()), options(MODELS[0])).unwrap();
    let mut transaction = engine.begin();
    transaction.create_table("heap", columns(), "").unwrap();
    transaction.create_tree("tree", columns(), &IndexDefinition::unique("k", &[0]), "").unwrap();
    transaction.open_table("heap").unwrap().insert(&batch(&rows(0..9))).unwrap();
    let (heap, tree) = (transaction.table("heap").unwrap(), transaction.table("tree").unwrap());
    let refused = transaction.exchange_rows(&heap, &tree).unwrap_err();
    assert!(matches!(refused, EngineError::Schema { .. }), "{refused}");
    transaction.commit().unwrap();
    assert_eq!(contents(&engine)["heap"].len(), 9);
}

/// States that were committed, each with the operations that had been done when it was acknowledged.
fn run(volume: &MemoryVolume, form: u64) -> Vec<(u64, Model)> {
    let engine = Engine::open_on(Arc::new(volume.clone()), options(MODELS[form as usize % 3])).unwrap();
    let mut states = vec![(volume.operations(), Model::new())];
    let mut note = |engine: &Engine| states.push((volume.operations(), contents(engine)));
    create(&engine, form);
    note(&engine);
    let mut transaction = engine.begin();
    transaction.open_table("one").unwrap().bulk_load(&[batch(&rows(0..120))]).unwrap();
    transaction.commit().unwrap();
    note(&engine);
    exchange(&engine, false);
    note(&engine);
    exchange(&engine, true);
    if form.is_multiple_of(2) {
        engine.checkpoint().unwrap();
    }
    // As a load replaces a table: new rows beside it, the old ones away, and all at once.
    let mut transaction = engine.begin();
    transaction.open_table("one").unwrap().bulk_load(&[batch(&rows(200..260))]).unwrap();
    transaction.open_table("two").unwrap().truncate().unwrap();
    let (one, two) = (transaction.table("one").unwrap(), transaction.table("two").unwrap());
    transaction.exchange_rows(&one, &two).unwrap();
    transaction.open_table("two").unwrap().insert(&batch(&rows(300..310))).unwrap();
    transaction.open_table("one").unwrap().drop().unwrap();
    transaction.commit().unwrap();
    note(&engine);
    states
}

#[test]
fn a_power_cut_leaves_both_exchanged_or_neither() {
    for form in 0..FORMS {
        let volume = MemoryVolume::recording();
        let states = run(&volume, form);
        volume.replay(|done, disk| {
            let mut random = Random(form ^ (done << 20));
            let left = MemoryVolume::on(disk.after_power_cut(&mut random));
            let Some(last) = states.iter().rposition(|(acknowledged, _)| *acknowledged <= done) else {
                return;
            };
            let engine = Engine::open_on(Arc::new(left), options(MODELS[form as usize % 3])).unwrap();
            let found = contents(&engine);
            let next = states.get(last + 1).map(|(_, model)| model);
            assert!(found == states[last].1 || Some(&found) == next, "form {form}, cut after {done}");
            assert_eq!(engine.check().unwrap(), [], "form {form}, cut after {done}");
        });
    }
}
