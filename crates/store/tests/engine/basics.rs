//! Transactions against a model, without failures.

use std::sync::Arc;
use std::time::Duration;

use bulkwire_store::engine::{Compression, Engine, EngineOptions, LogOptions, RecoveryModel};

use crate::support::Random;
use crate::support::volume::MemoryVolume;
use crate::workload::{Model, Row, batch, columns, contents, scanned, step};

pub fn options(recovery_model: RecoveryModel) -> EngineOptions {
    EngineOptions {
        // So small that pages are written back in the middle of transactions.
        cache_bytes: 96 * 8192,
        log: LogOptions { file_bytes: 192 << 10, limit_bytes: None },
        checkpoint_log_bytes: 400 << 10,
        files: 2,
        recovery_model,
        // Nobody waits in these tests but by mistake.
        lock_timeout: Duration::from_secs(20),
        ..EngineOptions::default()
    }
}

pub const MODELS: [RecoveryModel; 3] =
    [RecoveryModel::Full, RecoveryModel::BulkLogged, RecoveryModel::Simple];

#[test]
fn random_transactions_do_what_the_model_does() {
    for seed in 0..30 {
        let volume = MemoryVolume::default();
        let options = options(MODELS[seed as usize % 3]);
        let mut engine = Engine::open_on(Arc::new(volume.clone()), options).unwrap();
        let mut random = Random(seed);
        let mut model = Model::new();
        for number in 0..25 {
            let mut next = model.clone();
            if step(&engine, &mut next, &mut random)
                .unwrap_or_else(|error| panic!("seed {seed}, {number}: {error}"))
            {
                model = next;
            }
            assert_eq!(contents(&engine), model, "seed {seed}, step {number}");
            assert_eq!(engine.check().unwrap(), [], "seed {seed}, step {number}");
            if random.one_in(5) {
                drop(engine);
                engine = Engine::open_on(Arc::new(volume.clone()), options)
                    .unwrap_or_else(|error| panic!("seed {seed}, reopened after step {number}: {error}"));
                assert_eq!(contents(&engine), model, "seed {seed}, reopened after step {number}");
            }
        }
    }
}

/// Compressed rows may be shorter than the stub that each leaves when it moves.
#[test]
fn rows_of_a_few_bytes_can_all_move_out_of_a_full_page() {
    for compression in [Compression::None, Compression::Row, Compression::Page] {
        for bulk in [true, false] {
            let engine =
                Engine::open_on(Arc::new(MemoryVolume::default()), options(RecoveryModel::Simple)).unwrap();
            let mut transaction = engine.begin();
            transaction.create_compressed_table("t", columns(), compression, "").unwrap();
            let short: Vec<Row> = (0..3000).map(|id| (id % 100, None, None)).collect();
            match bulk {
                true => drop(transaction.bulk_load("t", &[batch(&short)]).unwrap()),
                false => drop(transaction.insert("t", &batch(&short)).unwrap()),
            }
            transaction.commit().unwrap();
            let mut transaction = engine.begin();
            let mut scan = transaction.scan("t", None).unwrap();
            let mut addresses = Vec::new();
            while let Some(batch) = scan.next_with_addresses() {
                addresses.extend(batch.unwrap().1);
            }
            let long: Vec<Row> = (0..3000).map(|id| (id, Some(format!("{id:0300}")), None)).collect();
            for (addresses, rows) in addresses.chunks(500).zip(long.chunks(500)) {
                transaction.update("t", addresses, &batch(rows)).unwrap();
            }
            transaction.commit().unwrap();
            assert_eq!(contents(&engine)["t"], long, "{compression:?}, {bulk}");
            assert_eq!(engine.check().unwrap(), [], "{compression:?}, {bulk}");
        }
    }
}

#[test]
fn a_snapshot_stays_what_it_was() {
    let engine = Engine::open_on(Arc::new(MemoryVolume::default()), options(RecoveryModel::Simple)).unwrap();
    let mut random = Random(7);
    let mut model = Model::new();
    let mut kept = Vec::new();
    for _ in 0..40 {
        let mut next = model.clone();
        // Taken while nothing, and read while everything, is being changed.
        let snapshot = engine.snapshot();
        if step(&engine, &mut next, &mut random).unwrap() {
            kept.push((snapshot, model));
            model = next;
        }
        for (snapshot, expected) in &kept {
            for (name, rows) in expected {
                assert_eq!(&scanned(snapshot.scan(name, None).unwrap()).unwrap(), rows);
            }
        }
        if kept.len() > 6 {
            kept.remove(random.below(6) as usize);
        }
    }
    kept.clear();
    assert_eq!(engine.usage().page_versions, 0, "nobody needs them any more");
}

#[test]
fn extents_of_dropped_tables_and_undone_loads_come_back() {
    let engine = Engine::open_on(Arc::new(MemoryVolume::default()), options(RecoveryModel::Simple)).unwrap();
    let rows: Vec<_> = (0..2000).map(|id| (id, Some("x".repeat(500)), Some(vec![1; 9000]))).collect();
    let load = |commit: bool| {
        let mut transaction = engine.begin();
        transaction.create_table("t", columns(), "").unwrap();
        transaction.bulk_load("t", &[batch(&rows)]).unwrap();
        match commit {
            true => assert!(transaction.commit().is_ok()),
            false => transaction.rollback().unwrap(),
        }
    };
    let drop_table = || {
        let mut transaction = engine.begin();
        transaction.drop_table("t").unwrap();
        transaction.commit().unwrap();
    };
    // The catalogue takes its first extent here and keeps it.
    load(true);
    drop_table();
    load(false);
    let free = engine.usage().free_extents;
    for _ in 0..3 {
        load(true);
        assert!(engine.usage().free_extents < free);
        drop_table();
        assert_eq!(engine.usage().free_extents, free);
        load(false);
        assert_eq!(engine.usage().free_extents, free);
    }
}
