//! Log backups: put beside an old copy of the database they bring it to where the last of them ended.

use std::io::Write;
use std::sync::Arc;

use bulkwire_store::disk::volume::Volume;
use bulkwire_store::{
    Engine, EngineError, EngineOptions, LogOptions, LogReuseWait, RecoveryModel, restore_log,
};

use crate::basics::options;
use crate::support::Random;
use crate::support::volume::MemoryVolume;
use crate::workload::{Model, Row, batch, columns, contents, step};

fn open(volume: &MemoryVolume, model: RecoveryModel) -> Engine {
    Engine::open_on(Arc::new(volume.clone()), options(model)).unwrap()
}

fn copy(volume: &MemoryVolume) -> MemoryVolume {
    MemoryVolume::on(volume.disk())
}

fn restore(volume: &MemoryVolume, backup: &[u8]) -> Result<(), EngineError> {
    let volume: Arc<dyn Volume> = Arc::new(volume.clone());
    restore_log(&volume, &mut &*backup).map(drop)
}

#[test]
fn every_prefix_of_the_chain_restores_what_was_committed_then() {
    let mut pages = 0;
    for seed in 0..12 {
        let model = [RecoveryModel::Full, RecoveryModel::BulkLogged][seed as usize % 2];
        let volume = MemoryVolume::default();
        let (mut contents_now, mut random) = (Model::new(), Random(seed));
        let run = |engine: &Engine, now: &mut Model, random: &mut Random| {
            let mut next = now.clone();
            if step(engine, &mut next, random).unwrap() {
                *now = next;
            }
        };
        {
            let engine = open(&volume, model);
            (0..5).for_each(|_| run(&engine, &mut contents_now, &mut random));
        }
        let base = copy(&volume);
        let mut backups: Vec<(Vec<u8>, Model)> = Vec::new();
        let mut engine = open(&volume, model);
        for _ in 0..6 {
            (0..4).for_each(|_| run(&engine, &mut contents_now, &mut random));
            if random.one_in(3) {
                drop(engine);
                engine = open(&volume, model);
            }
            let mut bytes = Vec::new();
            let backup = engine.backup_log(&mut bytes).unwrap();
            assert_eq!((backup.bytes, backup.unreadable_pages), (bytes.len() as u64, vec![]));
            pages += backup.pages;
            backups.push((bytes, contents_now.clone()));
        }
        for count in 1..=backups.len() {
            let restored = copy(&base);
            for (bytes, _) in &backups[..count] {
                restore(&restored, bytes).unwrap();
            }
            let engine = open(&restored, model);
            assert_eq!(contents(&engine), backups[count - 1].1, "seed {seed}, {count} backups");
            assert_eq!(engine.check().unwrap(), [], "seed {seed}, {count} backups");
        }
        // One left out: the next does not fit. Unless all of it is in the next but one, since it began earlier.
        let restored = copy(&base);
        restore(&restored, &backups[0].0).unwrap();
        let error = restore(&restored, &backups[3].0).unwrap_err();
        assert!(matches!(error, EngineError::LogChainBroken { .. }), "{error}");
        assert_eq!(error.sql_error(), Some(4305));
    }
    assert!(pages > 100, "minimally logged loads are in the backups");
}

#[test]
fn backups_beside_running_loads_miss_none_of_them() {
    let volume = MemoryVolume::default();
    let options =
        EngineOptions { recovery_model: RecoveryModel::BulkLogged, ..options(RecoveryModel::BulkLogged) };
    {
        let engine = Engine::open_on(Arc::new(volume.clone()), options).unwrap();
        let mut transaction = engine.begin();
        transaction.create_table("t", columns(), "").unwrap();
        transaction.commit().unwrap();
    }
    let base = copy(&volume);
    let engine = Engine::open_on(Arc::new(volume.clone()), options).unwrap();
    let mut backups: Vec<Vec<u8>> = Vec::new();
    std::thread::scope(|scope| {
        let loaders: Vec<_> = (0..3)
            .map(|part| {
                let engine = engine.clone();
                scope.spawn(move || {
                    for round in 0..12 {
                        let first = part * 100_000 + round * 1000;
                        let rows: Vec<Row> =
                            (first..first + 400).map(|id| (id, Some("t".repeat(600)), None)).collect();
                        let mut transaction = engine.begin();
                        transaction.open_table("t").unwrap().bulk_load(&[batch(&rows)]).unwrap();
                        match round % 4 {
                            3 => transaction.rollback().unwrap(),
                            _ => drop(transaction.commit().unwrap()),
                        }
                    }
                })
            })
            .collect();
        while !loaders.iter().all(|loader| loader.is_finished()) {
            let mut bytes = Vec::new();
            engine.backup_log(&mut bytes).unwrap();
            backups.push(bytes);
        }
    });
    let mut bytes = Vec::new();
    engine.backup_log(&mut bytes).unwrap();
    backups.push(bytes);
    let restored = copy(&base);
    backups.iter().for_each(|backup| restore(&restored, backup).unwrap());
    let again = Engine::open_on(Arc::new(restored), options).unwrap();
    assert_eq!(contents(&again)["t"].len(), 3 * 9 * 400);
    assert!(contents(&again) == contents(&engine));
    assert_eq!(again.check().unwrap(), []);
}

/// Takes this number of bytes and no more.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = bytes.len().min(self.0);
        self.0 -= count;
        if count == 0 { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(count) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn rows(count: i32) -> Vec<Row> {
    (0..count).map(|id| (id, Some("x".repeat(580)), None)).collect()
}

#[test]
fn a_failed_backup_gives_nothing_up_and_a_damaged_one_is_refused() {
    let volume = MemoryVolume::default();
    drop(open(&volume, RecoveryModel::BulkLogged));
    let base = copy(&volume);
    let engine = open(&volume, RecoveryModel::BulkLogged);
    let mut transaction = engine.begin();
    transaction.create_table("t", columns(), "").unwrap();
    transaction.open_table("t").unwrap().bulk_load(&[batch(&rows(2000))]).unwrap();
    transaction.commit().unwrap();
    for limit in [0, 7, 100, 50_000] {
        let error = engine.backup_log(&mut Full(limit)).unwrap_err();
        assert_eq!(error.sql_error(), Some(3202), "{error}");
    }
    let mut backup = Vec::new();
    let figures = engine.backup_log(&mut backup).unwrap();
    assert!(figures.pages >= 2000 / 13);
    // All pages were in it, so the next one has none of them.
    let mut next = Vec::new();
    assert_eq!(engine.backup_log(&mut next).unwrap().pages, 0);

    let mut random = Random(3);
    for _ in 0..60 {
        let mut damaged = backup.clone();
        match random.one_in(3) {
            true => damaged.truncate(random.below(backup.len() as u64) as usize),
            false => damaged[random.below(backup.len() as u64) as usize] ^= 1 << random.below(8),
        }
        let error = restore(&copy(&base), &damaged).unwrap_err();
        assert!(
            matches!(
                error,
                EngineError::DamagedBackup { .. }
                    | EngineError::DamagedLog { .. }
                    | EngineError::LogChainBroken { .. }
                    | EngineError::Io { .. }
            ),
            "{error}"
        );
    }
    let restored = copy(&base);
    restore(&restored, &backup).unwrap();
    assert_eq!(contents(&open(&restored, RecoveryModel::BulkLogged))["t"], rows(2000));

    engine.set_recovery_model(RecoveryModel::Simple).unwrap();
    let error = engine.backup_log(&mut Vec::new()).unwrap_err();
    assert_eq!(error.sql_error(), Some(4208));
}

#[test]
fn a_log_that_is_full_for_want_of_a_backup_goes_on_after_one() {
    let options = EngineOptions {
        recovery_model: RecoveryModel::Full,
        log: LogOptions { file_bytes: 256 << 10, limit_bytes: Some(3 << 20) },
        ..EngineOptions::default()
    };
    let engine = Engine::open_on(Arc::new(MemoryVolume::default()), options).unwrap();
    let mut transaction = engine.begin();
    transaction.create_table("t", columns(), "").unwrap();
    transaction.commit().unwrap();
    let load = || {
        let mut transaction = engine.begin();
        transaction.open_table("t")?.bulk_load(&[batch(&rows(1000))])?;
        transaction.commit()
    };
    let mut loads = 0;
    let error = loop {
        match load() {
            Ok(_) => loads += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.sql_error(), Some(9002));
    assert!(matches!(error, EngineError::LogFull { reason: "LOG_BACKUP", .. }), "{error}");
    assert_eq!(engine.log_space().reuse_wait, LogReuseWait::LogBackup);
    // 77 pages of nearly 8 KB each: five loads at most.
    assert!((3..=5).contains(&loads), "{loads}");
    for _ in 0..3 {
        engine.backup_log(&mut Vec::new()).unwrap();
        load().unwrap();
        loads += 1;
    }
    assert_eq!(contents(&engine)["t"].len(), loads * 1000);
    // Under SIMPLE it is given up in time by itself.
    engine.set_recovery_model(RecoveryModel::Simple).unwrap();
    for _ in 0..40 {
        let mut transaction = engine.begin();
        transaction.open_table("t").unwrap().insert(&batch(&rows(200))).unwrap();
        transaction.commit().unwrap();
    }
    assert_eq!(engine.check().unwrap(), []);
}

#[test]
fn a_file_that_is_added_is_filled_like_the_others() {
    let volume = MemoryVolume::default();
    let engine = open(&volume, RecoveryModel::Simple);
    let mut transaction = engine.begin();
    transaction.create_table("t", columns(), "").unwrap();
    transaction.commit().unwrap();
    assert_eq!(engine.files().add_data_file().unwrap(), 3);
    let mut transaction = engine.begin();
    transaction.open_table("t").unwrap().bulk_load(&[batch(&rows(20_000))]).unwrap();
    transaction.commit().unwrap();
    let files = engine.data_files();
    assert_eq!(files.iter().map(|file| file.file).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(files.iter().all(|file| file.size_pages - file.free_pages > 300), "{files:?}");
    drop(engine);
    let engine = open(&volume, RecoveryModel::Simple);
    assert_eq!(engine.data_files(), files);
    assert_eq!(contents(&engine)["t"], rows(20_000));
    assert_eq!(engine.check().unwrap(), []);
}

#[test]
fn a_limit_of_the_data_is_error_1105_and_the_rest_goes_on() {
    let options = EngineOptions { data_limit_bytes: Some(8 << 20), ..EngineOptions::default() };
    let engine = Engine::open_on(Arc::new(MemoryVolume::default()), options).unwrap();
    let mut transaction = engine.begin();
    transaction.create_table("t", columns(), "").unwrap();
    transaction.open_table("t").unwrap().insert(&batch(&rows(100))).unwrap();
    transaction.commit().unwrap();
    let mut transaction = engine.begin();
    let error = transaction
        .open_table("t")
        .and_then(|mut table| table.bulk_load(&[batch(&rows(20_000))]))
        .unwrap_err();
    assert_eq!(error.sql_error(), Some(1105), "{error}");
    transaction.rollback().unwrap();
    assert!(engine.usage().extents * 65_536 <= 8 << 20);
    let mut transaction = engine.begin();
    transaction.open_table("t").unwrap().bulk_load(&[batch(&rows(2000))]).unwrap();
    transaction.commit().unwrap();
    assert_eq!(contents(&engine)["t"].len(), 2100);
    assert_eq!(engine.check().unwrap(), []);
}

#[test]
fn a_table_ten_times_the_cache_stays_within_it() {
    let cache_bytes = 1 << 20;
    let options = EngineOptions { cache_bytes, ..EngineOptions::default() };
    let engine = Engine::open_on(Arc::new(MemoryVolume::default()), options).unwrap();
    let limit = engine.cache_counts().limit_pages;
    assert!(limit <= cache_bytes as u64 / 8192);
    let mut transaction = engine.begin();
    transaction.create_table("loaded", columns(), "").unwrap();
    transaction
        .create_tree("inserted", columns(), &bulkwire_store::IndexDefinition::unique("", &[0]), "")
        .unwrap();
    transaction.commit().unwrap();
    for part in 0..17 {
        let mut transaction = engine.begin();
        transaction.open_table("loaded").unwrap().bulk_load(&[batch(&rows(1000))]).unwrap();
        let keyed: Vec<Row> = rows(1000).into_iter().map(|row| (row.0 * 17 + part, row.1, row.2)).collect();
        transaction.open_table("inserted").unwrap().insert(&batch(&keyed)).unwrap();
        transaction.commit().unwrap();
        let counts = engine.cache_counts();
        assert!(counts.pages <= limit + 16, "{counts:?}");
    }
    let snapshot = engine.snapshot();
    for name in ["loaded", "inserted"] {
        assert!(snapshot.table(name).unwrap().data_pages() * 8192 >= 10 * cache_bytes as u64, "{name}");
        let read: usize = snapshot
            .read_table(name)
            .unwrap()
            .scan(None)
            .unwrap()
            .map(|batch| batch.unwrap().num_rows())
            .sum();
        assert_eq!(read, 17_000);
        assert!(engine.cache_counts().pages <= limit + 16);
    }
    let counts = engine.cache_counts();
    assert!(counts.evictions > limit && counts.misses < counts.lookups);
}
