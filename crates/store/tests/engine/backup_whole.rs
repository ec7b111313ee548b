//! Backups of a whole database, taken beside loads and open transactions, and restored with the log backups that follow.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bulkwire_store::disk::volume::Volume;
use bulkwire_store::{
    DataFileOptions, DatabaseBackup, Engine, EngineError, RecoveryModel, restore_database, restore_log,
};

use crate::basics::{MODELS, options};
use crate::support::Random;
use crate::support::volume::MemoryVolume;
use crate::workload::{Model, Row, batch, columns, contents, step};

fn open(volume: &MemoryVolume, model: RecoveryModel) -> Engine {
    Engine::open_on(Arc::new(volume.clone()), options(model)).unwrap()
}

fn restored(volume: &MemoryVolume, backup: &[u8]) -> Result<DatabaseBackup, EngineError> {
    let volume: Arc<dyn Volume> = Arc::new(volume.clone());
    restore_database(&volume, &mut &*backup)
}

fn restore_log_to(volume: &MemoryVolume, backup: &[u8]) {
    let volume: Arc<dyn Volume> = Arc::new(volume.clone());
    restore_log(&volume, &mut &*backup).unwrap();
}

fn go_on(engine: &Engine, now: &mut Model, random: &mut Random) {
    let mut next = now.clone();
    if step(engine, &mut next, random).unwrap() {
        *now = next;
    }
}

fn rows(ids: std::ops::Range<i32>) -> Vec<Row> {
    ids.map(|id| (id, Some("t".repeat(600)), None)).collect()
}

#[test]
fn a_backup_has_what_was_committed_and_nothing_of_open_transactions() {
    for seed in 0..12 {
        let model = MODELS[seed as usize % 3];
        let volume = MemoryVolume::default();
        let engine = open(&volume, model);
        let (mut now, mut random) = (Model::new(), Random(seed));
        (0..4).for_each(|_| go_on(&engine, &mut now, &mut random));
        if seed % 2 == 0 {
            engine.files().add_file_group("more").unwrap();
            engine.files().add_data_file_to(Some("more"), &DataFileOptions::default()).unwrap();
            engine.files().set_default_file_group("more").unwrap();
        }
        // Open while the backup is taken: it loads, changes, and gives extents up.
        let mut open_one = engine.begin();
        open_one.create_table("open", columns(), "").unwrap();
        open_one.open_table("open").unwrap().bulk_load(&[batch(&rows(0..200))]).unwrap();
        open_one.open_table("open").unwrap().insert(&batch(&rows(0..9))).unwrap();
        open_one.open_table("open").unwrap().truncate().unwrap();
        (0..4).for_each(|_| go_on(&engine, &mut now, &mut random));
        let mut bytes = Vec::new();
        let backup = engine.backup_database(&mut bytes).unwrap();
        assert_eq!((backup.bytes, &backup.unreadable_pages), (bytes.len() as u64, &vec![]));
        assert!(backup.from < backup.to && backup.pages > 0);
        let groups = engine.files().file_groups();
        // The database itself goes on.
        drop(open_one);
        let expected = now.clone();
        (0..3).for_each(|_| go_on(&engine, &mut now, &mut random));
        assert_eq!(contents(&engine), now);
        assert_eq!(engine.check().unwrap(), []);

        let copy = MemoryVolume::default();
        let again = restored(&copy, &bytes).unwrap();
        assert_eq!((again.from, again.to, again.bytes), (backup.from, backup.to, backup.bytes));
        let engine = open(&copy, model);
        assert_eq!(contents(&engine), expected, "seed {seed}");
        assert_eq!(engine.check().unwrap(), [], "seed {seed}");
        assert_eq!(engine.files().file_groups(), groups);
        // It is a database like any other.
        let mut now = expected;
        (0..4).for_each(|_| go_on(&engine, &mut now, &mut random));
        assert_eq!(contents(&engine), now, "seed {seed}, going on");
        assert_eq!(engine.check().unwrap(), [], "seed {seed}, going on");
        let left = MemoryVolume::on(copy.disk().after_power_cut(&mut random));
        assert_eq!(contents(&open(&left, model)), now, "seed {seed}, after a power cut");
        // There is no room for another one.
        let error = restored(&copy, &bytes).unwrap_err();
        assert_eq!(error.sql_error(), Some(3156), "{error}");
    }
}

#[test]
fn log_backups_go_on_from_it_up_to_any_of_them() {
    for seed in 0..6 {
        let model = [RecoveryModel::Full, RecoveryModel::BulkLogged][seed as usize % 2];
        let volume = MemoryVolume::default();
        let engine = open(&volume, model);
        let (mut now, mut random) = (Model::new(), Random(100 + seed));
        let log_backup = |engine: &Engine| {
            let mut bytes = Vec::new();
            engine.backup_log(&mut bytes).unwrap();
            bytes
        };
        (0..4).for_each(|_| go_on(&engine, &mut now, &mut random));
        let old = log_backup(&engine);
        (0..3).for_each(|_| go_on(&engine, &mut now, &mut random));
        let mut whole = Vec::new();
        engine.backup_database(&mut whole).unwrap();
        let mut chain = vec![(Vec::new(), now.clone())];
        for _ in 0..5 {
            (0..3).for_each(|_| go_on(&engine, &mut now, &mut random));
            chain.push((log_backup(&engine), now.clone()));
        }
        for last in 0..chain.len() {
            let copy = MemoryVolume::default();
            restored(&copy, &whole).unwrap();
            // One that ends before the copy does changes nothing.
            restore_log_to(&copy, &old);
            chain[..=last].iter().skip(1).for_each(|(bytes, _)| restore_log_to(&copy, bytes));
            let engine = open(&copy, model);
            assert_eq!(contents(&engine), chain[last].1, "seed {seed}, {last} log backups");
            assert_eq!(engine.check().unwrap(), [], "seed {seed}, {last} log backups");
        }
    }
}

#[test]
fn backups_beside_running_loads_are_of_one_moment() {
    for model in MODELS {
        let volume = MemoryVolume::default();
        let engine = open(&volume, model);
        let mut transaction = engine.begin();
        transaction.create_table("t", columns(), "").unwrap();
        transaction
            .create_tree("changed", columns(), &bulkwire_store::IndexDefinition::unique("", &[0]), "")
            .unwrap();
        transaction.open_table("changed").unwrap().insert(&batch(&rows(0..300))).unwrap();
        transaction.commit().unwrap();
        let done = AtomicBool::new(false);
        let mut backups: Vec<Vec<u8>> = Vec::new();
        std::thread::scope(|scope| {
            let loaders: Vec<_> = (0..2)
                .map(|part| {
                    let engine = engine.clone();
                    scope.spawn(move || {
                        for round in 0..16 {
                            let first = part * 100_000 + round * 1000;
                            let mut transaction = engine.begin();
                            transaction
                                .open_table("t")
                                .unwrap()
                                .bulk_load(&[batch(&rows(first..first + 400))])
                                .unwrap();
                            match round % 4 {
                                3 => transaction.rollback().unwrap(),
                                _ => drop(transaction.commit().unwrap()),
                            }
                        }
                    })
                })
                .collect();
            // Each commit gives all rows the same text.
            let changer = scope.spawn(|| {
                let mut number = 0;
                while !done.load(Ordering::Relaxed) {
                    number += 1;
                    let text = Some(format!("{number:0>600}"));
                    let rows: Vec<Row> = (0..300).map(|id| (id, text.clone(), None)).collect();
                    let mut transaction = engine.begin();
                    transaction.open_table("changed").unwrap().update_keyed(&batch(&rows)).unwrap();
                    transaction.commit().unwrap();
                }
            });
            while !loaders.iter().all(|loader| loader.is_finished()) {
                let mut bytes = Vec::new();
                engine.backup_database(&mut bytes).unwrap();
                backups.push(bytes);
            }
            done.store(true, Ordering::Relaxed);
            changer.join().unwrap();
        });
        let mut bytes = Vec::new();
        engine.backup_database(&mut bytes).unwrap();
        backups.push(bytes);
        let mut before = 0;
        for (number, bytes) in backups.iter().enumerate() {
            let copy = MemoryVolume::default();
            restored(&copy, bytes).unwrap();
            let engine = open(&copy, model);
            assert_eq!(engine.check().unwrap(), [], "{model:?}, backup {number}");
            let found = contents(&engine);
            // Whole loads, no fewer than before; one state of the table that changes.
            assert!(
                found["t"].len().is_multiple_of(400) && found["t"].len() >= before,
                "{}",
                found["t"].len()
            );
            before = found["t"].len();
            assert_eq!(found["changed"].len(), 300);
            assert!(found["changed"].iter().all(|row| row.1 == found["changed"][0].1));
        }
        assert_eq!(before, 2 * 12 * 400, "{model:?}");
    }
}

fn small_backup() -> (Vec<u8>, Model) {
    let engine = open(&MemoryVolume::default(), RecoveryModel::BulkLogged);
    let mut transaction = engine.begin();
    transaction.create_table("t", columns(), "").unwrap();
    transaction.open_table("t").unwrap().bulk_load(&[batch(&rows(0..300))]).unwrap();
    transaction.open_table("t").unwrap().insert(&batch(&rows(500..520))).unwrap();
    transaction.commit().unwrap();
    let mut bytes = Vec::new();
    engine.backup_database(&mut bytes).unwrap();
    (bytes, contents(&engine))
}

#[test]
fn a_damaged_backup_is_refused_and_leaves_no_database() {
    let (backup, expected) = small_backup();
    let mut random = Random(5);
    for number in 0..120 {
        let mut damaged = backup.clone();
        match number % 3 {
            0 => damaged.truncate(random.below(backup.len() as u64) as usize),
            _ => damaged[random.below(backup.len() as u64) as usize] ^= 1 << random.below(8),
        }
        let copy = MemoryVolume::default();
        let error = restored(&copy, &damaged).unwrap_err();
        let expected = matches!(
            error,
            EngineError::DamagedBackup { .. } | EngineError::DamagedLog { .. } | EngineError::Io { .. }
        );
        assert!(expected, "{error}");
        // The incomplete files are not taken for a database, and no new one is made of them.
        if copy.names().iter().any(|name| name == "restoring") {
            let error = Engine::open_on(Arc::new(copy.clone()), options(RecoveryModel::Simple)).unwrap_err();
            assert!(matches!(error, EngineError::DamagedDatabase { .. }), "{error}");
        } else {
            assert_eq!(copy.names(), Vec::<String>::new());
        }
    }
    let copy = MemoryVolume::default();
    restored(&copy, &backup).unwrap();
    assert_eq!(contents(&open(&copy, RecoveryModel::BulkLogged)), expected);
}

#[test]
fn a_power_cut_during_a_restore_leaves_all_of_it_or_nothing_that_opens() {
    let (backup, expected) = small_backup();
    let volume = MemoryVolume::recording();
    restored(&volume, &backup).unwrap();
    let (mut opened, mut refused, mut nothing) = (0, 0, 0);
    volume.replay(|done, disk| {
        let left = MemoryVolume::on(disk.after_power_cut(&mut Random(done)));
        let names = left.names();
        match Engine::open_on(Arc::new(left), options(RecoveryModel::BulkLogged)) {
            Ok(engine) if contents(&engine).is_empty() => {
                // The marker was not durable: nothing else was begun.
                assert!(names.iter().all(|name| !name.starts_with("log-")), "after {done}: {names:?}");
                nothing += 1;
            }
            Ok(engine) => {
                assert_eq!(contents(&engine), expected, "after {done}");
                assert_eq!(engine.check().unwrap(), [], "after {done}");
                opened += 1;
            }
            Err(error) => {
                assert!(matches!(error, EngineError::DamagedDatabase { .. }), "after {done}: {error}");
                refused += 1;
            }
        }
    });
    assert!(opened > 0 && refused > 50 && nothing < 10, "{opened} {refused} {nothing}");
}

#[test]
fn a_backup_that_fails_keeps_no_log() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let engine = open(&MemoryVolume::default(), RecoveryModel::Simple);
    let mut transaction = engine.begin();
    transaction.create_table("t", columns(), "").unwrap();
    transaction.commit().unwrap();
    let error = engine.backup_database(&mut Full).unwrap_err();
    assert_eq!(error.sql_error(), Some(3202), "{error}");
    for part in 0..30 {
        let mut transaction = engine.begin();
        transaction.open_table("t").unwrap().insert(&batch(&rows(part * 100..part * 100 + 100))).unwrap();
        transaction.commit().unwrap();
    }
    engine.checkpoint().unwrap();
    assert!(engine.usage().log_used_bytes < 600 << 10, "{:?}", engine.usage());
}
