//! Transactions against a model, without failures.

use std::sync::Arc;
use std::time::Duration;

use bulkwire_store::{
    BulkOptions, Compression, Engine, EngineError, EngineOptions, LogOptions, RecoveryModel,
};

use crate::support::Random;
use crate::support::volume::MemoryVolume;
use crate::workload::{Model, Row, batch, columns, contents, rows_of, scanned, step};

pub fn options(recovery_model: RecoveryModel) -> EngineOptions {
    EngineOptions {
        // So small that pages are written back in the middle of transactions.
        cache_bytes: 96 * 8192,
        log: LogOptions { file_bytes: 192 << 10, limit_bytes: None },
        checkpoint_log_bytes: 400 << 10,
        files: 2,
        recovery_model,
        // No transaction should wait in these tests.
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
        // Every other time with a file of versions that is needed at once.
        let version_memory_bytes = if seed % 2 == 0 { 4 * 8192 } else { 64 << 20 };
        let options = EngineOptions { version_memory_bytes, ..options(MODELS[seed as usize % 3]) };
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
            transaction
                .create_table_on("t", columns(), None, compression, &bulkwire_store::Placement::default(), "")
                .unwrap();
            let short: Vec<Row> = (0..3000).map(|id| (id % 100, None, None)).collect();
            match bulk {
                true => drop(transaction.open_table("t").unwrap().bulk_load(&[batch(&short)]).unwrap()),
                false => drop(transaction.open_table("t").unwrap().insert(&batch(&short)).unwrap()),
            }
            transaction.commit().unwrap();
            let mut transaction = engine.begin();
            let mut scan = transaction.read_table("t").unwrap().scan(None).unwrap();
            let mut addresses = Vec::new();
            while let Some(batch) = scan.next_with_addresses() {
                addresses.extend(batch.unwrap().1);
            }
            let long: Vec<Row> = (0..3000).map(|id| (id, Some(format!("{id:0300}")), None)).collect();
            for (addresses, rows) in addresses.chunks(500).zip(long.chunks(500)) {
                transaction.open_table("t").unwrap().update(addresses, &batch(rows)).unwrap();
            }
            transaction.commit().unwrap();
            assert_eq!(contents(&engine)["t"], long, "{compression:?}, {bulk}");
            assert_eq!(engine.check().unwrap(), [], "{compression:?}, {bulk}");
        }
    }
}

/// A row that has moved ends with the address that it moved from. Rows leave out nulls at their end, and the address is no value of those
/// columns.
#[test]
fn rows_that_have_moved_may_lose_all_their_values() {
    for compression in [Compression::None, Compression::Row, Compression::Page] {
        let engine =
            Engine::open_on(Arc::new(MemoryVolume::default()), options(RecoveryModel::Simple)).unwrap();
        let mut transaction = engine.begin();
        transaction
            .create_table_on("t", columns(), None, compression, &bulkwire_store::Placement::default(), "")
            .unwrap();
        let of_length = |length: usize| -> Vec<Row> {
            (0..8000).map(|id| (id, Some(format!("{id:0length$}")), None)).collect()
        };
        transaction.open_table("t").unwrap().bulk_load(&[batch(&of_length(100))]).unwrap();
        let mut scan = transaction.read_table("t").unwrap().scan(None).unwrap();
        let mut addressed = Vec::new();
        while let Some(batch) = scan.next_with_addresses() {
            let (batch, addresses) = batch.unwrap();
            addressed.extend(rows_of(&batch).into_iter().map(|row| row.0).zip(addresses));
        }
        addressed.sort();
        let addresses: Vec<_> = addressed.into_iter().map(|(_, address)| address).collect();
        // Bytes of an address in such a page are no text. Compressed rows take fewer pages.
        let is_no_text = addresses.iter().any(|address| (128..256).contains(&address.page.page));
        assert!(is_no_text || compression != Compression::None);
        let without: Vec<Row> = (0..8000).map(|id| (id, None, None)).collect();
        for rows in [of_length(300), without] {
            for (addresses, rows) in addresses.chunks(500).zip(rows.chunks(500)) {
                transaction.open_table("t").unwrap().update(addresses, &batch(rows)).unwrap();
            }
            let found = scanned(transaction.read_table("t").unwrap().scan(None).unwrap());
            assert_eq!(found.unwrap(), rows, "{compression:?}");
        }
        transaction.commit().unwrap();
        assert_eq!(engine.check().unwrap(), [], "{compression:?}");
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
                assert_eq!(&scanned(snapshot.read_table(name).unwrap().scan(None).unwrap()).unwrap(), rows);
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
        transaction.open_table("t").unwrap().bulk_load(&[batch(&rows)]).unwrap();
        match commit {
            true => assert!(transaction.commit().is_ok()),
            false => transaction.rollback().unwrap(),
        }
    };
    let drop_table = || {
        let mut transaction = engine.begin();
        transaction.open_table("t").unwrap().drop().unwrap();
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

/// A writer that is dropped is given up: its extents come back, whatever becomes of its transaction.
#[test]
fn a_dropped_bulk_writer_gives_its_extents_back() {
    for model in MODELS {
        let volume = MemoryVolume::default();
        let engine = Engine::open_on(Arc::new(volume.clone()), options(model)).unwrap();
        let mut transaction = engine.begin();
        transaction.create_table("heap", columns(), "").unwrap();
        transaction
            .create_tree("tree", columns(), &bulkwire_store::IndexDefinition::unique("", &[0]), "")
            .unwrap();
        transaction.commit().unwrap();
        let rows: Vec<Row> =
            (0..4000).map(|id| (id, Some("w".repeat(900)), (id % 500 == 0).then(|| vec![1; 9000]))).collect();
        let given = batch(&rows);
        let in_use = |engine: &Engine| engine.usage().extents - engine.usage().free_extents;
        // Only the maps of further files stay in use.
        for name in ["heap", "tree"] {
            let mut transaction = engine.begin();
            transaction.open_table(name).unwrap().bulk_load(std::slice::from_ref(&given)).unwrap();
            transaction.rollback().unwrap();
        }
        let before = in_use(&engine);
        for name in ["heap", "tree"] {
            let sorted = BulkOptions { sorted: true, ..BulkOptions::default() };
            let begin = || {
                let mut transaction = engine.begin();
                let mut writer = transaction.open_table(name).unwrap().bulk_writer_with(sorted).unwrap();
                writer.append(&given).unwrap();
                assert!(in_use(&engine) > before + 16);
                (transaction, writer)
            };
            // The rest of the transaction stands.
            let (mut transaction, writer) = begin();
            drop(writer);
            transaction.open_table("heap").unwrap().insert_at_commit(&batch(&rows[1..4])).unwrap();
            assert!(in_use(&engine) <= before + 1, "{name}: {} after {before}", in_use(&engine));
            transaction.commit().unwrap();
            let (transaction, writer) = begin();
            drop(writer);
            transaction.commit().unwrap();
            let (transaction, writer) = begin();
            drop(writer);
            transaction.rollback().unwrap();
            assert!(in_use(&engine) <= before + 1, "{name}: {} after {before}", in_use(&engine));
            // It outlives its transaction.
            let (transaction, writer) = begin();
            drop(transaction);
            drop(writer);
            assert!(in_use(&engine) <= before + 1, "{name}: {} after {before}", in_use(&engine));
            // It has not ended.
            let (transaction, writer) = begin();
            assert!(matches!(transaction.commit(), Err(EngineError::Schema { .. })));
            drop(writer);
            // A savepoint before it.
            let mut transaction = engine.begin();
            let savepoint = transaction.savepoint();
            let mut writer = transaction.open_table(name).unwrap().bulk_writer_with(sorted).unwrap();
            writer.append(&given).unwrap();
            drop(writer);
            transaction.rollback_to(&savepoint).unwrap();
            transaction.commit().unwrap();
            assert!(in_use(&engine) <= before + 1, "{name}: {} after {before}", in_use(&engine));
        }
        // Two of them: only undoing everything is left.
        let mut transaction = engine.begin();
        let mut writers = [(); 2].map(|()| transaction.open_table("heap").unwrap().bulk_writer().unwrap());
        writers.iter_mut().for_each(|writer| writer.append(&given).unwrap());
        drop(writers);
        assert!(matches!(
            transaction.open_table("heap").and_then(|mut table| table.insert_at_commit(&given)),
            Err(EngineError::Doomed)
        ));
        drop(transaction);
        assert!(in_use(&engine) <= before + 1);
        let loaded = |engine: &Engine| {
            scanned(engine.snapshot().read_table("heap").unwrap().scan(None).unwrap()).unwrap()
        };
        assert_eq!(loaded(&engine).len(), 6);
        assert_eq!(engine.check().unwrap(), []);
        drop(engine);
        let engine = Engine::open_on(Arc::new(volume), options(model)).unwrap();
        assert_eq!(loaded(&engine).len(), 6);
        assert!(in_use(&engine) <= before + 1);
        assert_eq!(engine.check().unwrap(), []);
    }
}
