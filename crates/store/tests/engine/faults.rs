//! Disks that fail, logs that are full, pages that are damaged: typed errors, and nothing lost.

use std::io::ErrorKind;
use std::sync::Arc;

use bulkwire_store::engine::data_file_name;
use bulkwire_store::{Engine, EngineError, EngineOptions, IndexDefinition, LogOptions, RecoveryModel};

use crate::basics::{MODELS, options};
use crate::support::Random;
use crate::support::volume::MemoryVolume;
use crate::workload::{Model, Row, batch, columns, contents, scanned, step};

#[test]
fn a_failing_disk_fails_transactions_and_loses_nothing() {
    let (mut points, mut failures, mut shut) = (0, 0, 0);
    for seed in 0..6 {
        let options = options(MODELS[seed as usize % 3]);
        let whole = MemoryVolume::recording();
        let created = {
            let engine = Engine::open_on(Arc::new(whole.clone()), options).unwrap();
            let created = whole.operations();
            let (mut model, mut random) = (Model::new(), Random(seed));
            for _ in 0..8 {
                let mut next = model.clone();
                if step(&engine, &mut next, &mut random).unwrap() {
                    model = next;
                }
            }
            created
        };
        // Any operation, and each sync: what that was for is lost if it fails, though it can be read.
        let any = (created..whole.operations()).step_by(7);
        let syncs = whole.syncs().into_iter().filter(|&at| at >= created);
        let any = any.map(|at| (at, if at % 2 == 0 { ErrorKind::StorageFull } else { ErrorKind::Other }));
        for (at, kind) in any.chain(syncs.map(|at| (at, ErrorKind::Other))) {
            for stays in [false, true] {
                points += 1;
                let volume = MemoryVolume::default();
                let engine = Engine::open_on(Arc::new(volume.clone()), options).unwrap();
                volume.set_fault(Some((at, stays, kind)));
                let (mut model, mut random) = (Model::new(), Random(seed));
                let mut in_doubt = None;
                for _ in 0..8 {
                    let mut next = model.clone();
                    match step(&engine, &mut next, &mut random) {
                        Ok(true) => model = next,
                        Ok(false) => {}
                        Err(error) => {
                            failures += 1;
                            assert!(error.sql_error().is_some(), "seed {seed}, failure at {at}: {error}");
                            in_doubt = Some(next);
                            break;
                        }
                    }
                }
                volume.set_fault(None);
                // The next request fails because the database is shut, or succeeds.
                let mut transaction = engine.begin();
                match transaction
                    .create_table("after", columns(), "")
                    .and_then(|()| transaction.commit().map(drop))
                {
                    Ok(()) => drop(model.insert("after".to_owned(), Vec::new())),
                    Err(EngineError::Shut { .. }) => shut += 1,
                    Err(error) => panic!("seed {seed}, failure at {at}: {error}"),
                }
                drop(engine);
                let left = MemoryVolume::on(volume.disk().after_power_cut(&mut Random(at)));
                let engine = Engine::open_on(Arc::new(left), options)
                    .unwrap_or_else(|error| panic!("seed {seed}, failure at {at}: {error}"));
                let found = contents(&engine);
                if let (Some(next), true) = (&mut in_doubt, model.contains_key("after")) {
                    next.insert("after".to_owned(), Vec::new());
                }
                assert!(found == model || in_doubt.as_ref() == Some(&found), "seed {seed}, failure at {at}");
                assert_eq!(engine.check().unwrap(), [], "seed {seed}, failure at {at}");
            }
        }
    }
    println!("{points} failures, {failures} noticed by a transaction, {shut} shut the database");
    assert!(points > 100 && failures > points / 2 && shut > 0);
}

fn many_rows(count: i32) -> Vec<Row> {
    (0..count).map(|id| (id, Some("x".repeat(580)), None)).collect()
}

fn loaded(model: RecoveryModel, rows: &[Row]) -> (Engine, u64) {
    let options = EngineOptions { recovery_model: model, ..EngineOptions::default() };
    let engine = Engine::open_on(Arc::new(MemoryVolume::default()), options).unwrap();
    let mut transaction = engine.begin();
    transaction.create_table("t", columns(), "").unwrap();
    transaction.commit().unwrap();
    let before = engine.usage().log_written_bytes;
    let mut transaction = engine.begin();
    transaction.open_table("t").unwrap().bulk_load(&[batch(rows)]).unwrap();
    transaction.commit().unwrap();
    let written = engine.usage().log_written_bytes - before;
    (engine, written)
}

#[test]
fn a_minimally_logged_load_logs_a_fiftieth_and_fills_its_pages() {
    let rows = many_rows(50_000);
    let (full, full_bytes) = loaded(RecoveryModel::Full, &rows);
    let (simple, simple_bytes) = loaded(RecoveryModel::Simple, &rows);
    let (bulk, bulk_bytes) = loaded(RecoveryModel::BulkLogged, &rows);
    for engine in [&full, &simple, &bulk] {
        assert_eq!(contents(engine)["t"], rows);
        let snapshot = engine.snapshot();
        // Header 4, id 4, count and bitmap of 3 columns 3, one variable column 4, text 580, and a slot: 13 rows in a page.
        assert_eq!(snapshot.table("t").unwrap().data_pages(), 50_000_u64.div_ceil(13));
    }
    // Full logging writes every page: more than the rows, less than a twentieth more than the pages.
    let pages = 50_000_u64.div_ceil(13) * 8192;
    assert!((50_000 * 595..pages + pages / 20).contains(&full_bytes), "{full_bytes}");
    assert!(simple_bytes * 50 <= full_bytes, "{simple_bytes} of {full_bytes}");
    assert!(bulk_bytes * 50 <= full_bytes, "{bulk_bytes} of {full_bytes}");
}

#[test]
fn a_full_log_undoes_the_load_and_nothing_else() {
    let options = EngineOptions {
        recovery_model: RecoveryModel::Full,
        log: LogOptions { file_bytes: 256 << 10, limit_bytes: Some(4 << 20) },
        ..EngineOptions::default()
    };
    let volume = MemoryVolume::default();
    let engine = Engine::open_on(Arc::new(volume.clone()), options).unwrap();
    let few = many_rows(20);
    let mut transaction = engine.begin();
    transaction.create_table("t", columns(), "").unwrap();
    transaction.open_table("t").unwrap().insert(&batch(&few)).unwrap();
    transaction.commit().unwrap();

    let mut transaction = engine.begin();
    let error = transaction
        .open_table("t")
        .and_then(|mut table| table.bulk_load(&[batch(&many_rows(20_000))]))
        .unwrap_err();
    assert!(matches!(error, EngineError::LogFull { limit_bytes, .. } if limit_bytes == 4 << 20), "{error}");
    assert_eq!(error.sql_error(), Some(9002));
    // The load is undone alone: the transaction goes on without any of it.
    transaction.commit().unwrap();
    assert_eq!(contents(&engine)["t"], few);

    // Rows one by one until it is full; undoing them needs room that was kept for it.
    let mut transaction = engine.begin();
    let error = loop {
        if let Err(error) = transaction.open_table("t").and_then(|mut table| table.insert(&batch(&few))) {
            break error;
        }
    };
    assert!(matches!(error, EngineError::LogFull { .. }), "{error}");
    transaction.rollback().unwrap();
    assert_eq!(contents(&engine)["t"], few);

    // FULL keeps the log until it is backed up, and only then there is room again.
    engine.checkpoint().unwrap();
    assert!(
        engine
            .begin()
            .open_table("t")
            .and_then(|mut table| table.bulk_load(&[batch(&many_rows(2_000))]))
            .is_err()
    );
    engine.log_backed_up().unwrap();
    let mut transaction = engine.begin();
    transaction.open_table("t").unwrap().bulk_load(&[batch(&many_rows(2_000))]).unwrap();
    transaction.commit().unwrap();
    assert_eq!(contents(&engine)["t"].len(), 2_020);
    assert_eq!(engine.check().unwrap(), []);
    drop(engine);
    let engine = Engine::open_on(Arc::new(volume), options).unwrap();
    assert_eq!(contents(&engine)["t"].len(), 2_020);
}

#[test]
fn damaged_pages_are_found_and_leave_the_rest_usable() {
    let volume = MemoryVolume::default();
    let options = EngineOptions::default();
    let rows = many_rows(500);
    {
        let engine = Engine::open_on(Arc::new(volume.clone()), options).unwrap();
        for name in ["good", "bad"] {
            let mut transaction = engine.begin();
            transaction.create_table(name, columns(), "").unwrap();
            transaction.open_table(name).unwrap().bulk_load(&[batch(&rows)]).unwrap();
            transaction.commit().unwrap();
        }
        engine.checkpoint().unwrap();
    }
    let (page, bytes) = {
        let engine = Engine::open_on(Arc::new(volume.clone()), options).unwrap();
        let snapshot = engine.snapshot();
        let mut scan = engine.begin();
        let address = {
            let mut rows = scan.read_table("bad").unwrap().scan(None).unwrap();
            rows.next_with_addresses().unwrap().unwrap().1[100]
        };
        scan.savepoint();
        assert_eq!(snapshot.tables().count(), 2);
        let offset = u64::from(address.page.page) * 8192;
        (address.page, volume.read(&data_file_name(address.page.file), offset, 8192))
    };
    for (place, mask) in [(0, 1), (24, 2), (97, 4), (4000, 8), (8190, 16)] {
        let offset = u64::from(page.page) * 8192;
        let name = data_file_name(page.file);
        volume.damage(&name, offset + place, &[bytes[place as usize] ^ mask]);
        let engine = Engine::open_on(Arc::new(volume.clone()), options).unwrap();
        let snapshot = engine.snapshot();
        assert_eq!(scanned(snapshot.read_table("good").unwrap().scan(None).unwrap()).unwrap(), rows);
        let error = scanned(snapshot.read_table("bad").unwrap().scan(None).unwrap()).unwrap_err();
        assert!(matches!(&error, EngineError::DamagedPage { page: found, .. } if *found == page), "{error}");
        assert_eq!(error.sql_error(), Some(824));
        let findings = engine.check().unwrap();
        assert!(
            findings.iter().any(|finding| finding.page == page && finding.table.as_deref() == Some("bad"))
        );
        drop(snapshot);
        drop(engine);
        volume.damage(&name, offset + place, &[bytes[place as usize]]);
    }
    let engine = Engine::open_on(Arc::new(volume), options).unwrap();
    assert_eq!(engine.check().unwrap(), []);
}

#[test]
fn a_page_that_cannot_be_read_is_error_823_and_leaves_the_rest_usable() {
    let volume = MemoryVolume::default();
    let options = EngineOptions::default();
    let rows = many_rows(500);
    let first = {
        let engine = Engine::open_on(Arc::new(volume.clone()), options).unwrap();
        for name in ["good", "bad"] {
            let mut transaction = engine.begin();
            transaction.create_table(name, columns(), "").unwrap();
            transaction.open_table(name).unwrap().bulk_load(&[batch(&rows)]).unwrap();
            transaction.commit().unwrap();
        }
        let transaction = engine.begin();
        let mut scan = transaction.read_table("bad").unwrap().scan(None).unwrap();
        scan.next_with_addresses().unwrap().unwrap().1[0].page
    };
    let engine = Engine::open_on(Arc::new(volume.clone()), options).unwrap();
    let offset = u64::from(first.page) * 8192;
    volume.set_unreadable(Some((data_file_name(first.file), offset..offset + 8192)));
    let snapshot = engine.snapshot();
    let error = scanned(snapshot.read_table("bad").unwrap().scan(None).unwrap()).unwrap_err();
    assert_eq!(error.sql_error(), Some(823), "{error}");
    assert_eq!(scanned(snapshot.read_table("good").unwrap().scan(None).unwrap()).unwrap(), rows);
    let mut transaction = engine.begin();
    transaction.open_table("good").unwrap().insert(&batch(&many_rows(3))).unwrap();
    transaction.commit().unwrap();
    // The disk reads it again: nothing was lost.
    volume.set_unreadable(None);
    assert_eq!(scanned(snapshot.read_table("bad").unwrap().scan(None).unwrap()).unwrap(), rows);
    drop(snapshot);
    assert_eq!(engine.check().unwrap(), []);
}

#[test]
fn a_directory_that_cannot_be_written_is_not_opened_and_not_harmed() {
    for kind in [ErrorKind::ReadOnlyFilesystem, ErrorKind::PermissionDenied] {
        let volume = MemoryVolume::default();
        volume.set_fault(Some((0, true, kind)));
        let error = Engine::open_on(Arc::new(volume.clone()), EngineOptions::default()).unwrap_err();
        assert_eq!(error.sql_error(), Some(5120), "{error}");
        volume.set_fault(None);
        let rows = many_rows(300);
        {
            let engine = Engine::open_on(Arc::new(volume.clone()), EngineOptions::default()).unwrap();
            let mut transaction = engine.begin();
            transaction.create_table("t", columns(), "").unwrap();
            transaction.open_table("t").unwrap().bulk_load(&[batch(&rows)]).unwrap();
            transaction.commit().unwrap();
        }
        volume.set_fault(Some((0, true, kind)));
        let error = Engine::open_on(Arc::new(volume.clone()), EngineOptions::default()).unwrap_err();
        assert_eq!(error.sql_error(), Some(5120), "{error}");
        volume.set_fault(None);
        let engine = Engine::open_on(Arc::new(volume), EngineOptions::default()).unwrap();
        assert_eq!(contents(&engine)["t"], rows);
        assert_eq!(engine.check().unwrap(), []);
    }
}

/// Damage whose checksum is right, as a faulty program would leave it.
#[test]
fn the_check_finds_what_no_checksum_can() {
    let rows = many_rows(300);
    let volume = MemoryVolume::default();
    let options = EngineOptions::default();
    {
        let engine = Engine::open_on(Arc::new(volume.clone()), options).unwrap();
        let mut transaction = engine.begin();
        transaction.create_table("t", columns(), "").unwrap();
        transaction.open_table("t").unwrap().bulk_load(&[batch(&rows)]).unwrap();
        transaction.open_table("t").unwrap().create_index(&IndexDefinition::new("i", &[0])).unwrap();
        transaction.commit().unwrap();
        engine.checkpoint().unwrap();
    }
    use bulkwire_store::page::{Page, PageType};
    // Every page of the file with a damage that suits its type; each must be found by itself.
    let mut planted = 0;
    for number in 0..64_u64 {
        let original = volume.read(&data_file_name(1), number * 8192, 8192);
        let mut page = Page::from_bytes(original.clone().try_into().unwrap());
        let changes: &[(usize, u8)] = match page.page_type() {
            // A row less than the catalogue says; a slot that leads into the middle of a row; a free count; another unit.
            Some(PageType::Data) if page.unit().object > 1 && page.slot_count() > 1 => {
                &[(8191, 0xFF), (8188, 2), (28, 1), (24, 1)]
            }
            // Another key; a slot that leads elsewhere; a free count; another unit; a neighbour.
            Some(PageType::Index) if page.slot_count() > 1 => {
                &[(98, 0x10), (8188, 2), (28, 1), (24, 1), (16, 1)]
            }
            // A used extent marked as free, a free one as used.
            Some(PageType::Gam) => &[(194, 0x04), (194, 0x80)],
            Some(PageType::Pfs) => &[(100 + 40, 0x01)],
            Some(PageType::Iam)
                if page.unit().object > 1 && page.unit().index != 257 && page.unit().index != 258 =>
            {
                &[(194, 0x40)]
            }
            _ => continue,
        };
        for (place, mask) in changes {
            page.bytes_mut()[*place] ^= mask;
            page.seal();
            volume.damage(&data_file_name(1), number * 8192, page.bytes());
            let engine = Engine::open_on(Arc::new(volume.clone()), options).unwrap();
            let found = engine.check();
            assert!(!matches!(&found, Ok(findings) if findings.is_empty()), "page {number}, byte {place}");
            planted += 1;
            drop(engine);
            volume.damage(&data_file_name(1), number * 8192, &original);
            page = Page::from_bytes(original.clone().try_into().unwrap());
        }
    }
    assert!(planted > 20, "only {planted} damages planted");
}

#[test]
fn a_directory_belongs_to_one_process() {
    let directory = tempfile::tempdir().unwrap();
    let engine = Engine::open(directory.path(), EngineOptions::default()).unwrap();
    let error = Engine::open(directory.path(), EngineOptions::default()).unwrap_err();
    assert!(matches!(error, EngineError::InUse { .. }), "{error}");
    let mut transaction = engine.begin();
    transaction.create_table("t", columns(), "p").unwrap();
    transaction.open_table("t").unwrap().bulk_load(&[batch(&many_rows(1000))]).unwrap();
    transaction.commit().unwrap();
    drop(engine);
    let engine = Engine::open(directory.path(), EngineOptions::default()).unwrap();
    assert_eq!(contents(&engine)["t"], many_rows(1000));
}

#[test]
fn loads_into_one_table_run_side_by_side() {
    let engine = Engine::open_on(Arc::new(MemoryVolume::default()), options(RecoveryModel::Simple)).unwrap();
    let mut transaction = engine.begin();
    transaction.create_table("t", columns(), "").unwrap();
    transaction.commit().unwrap();
    std::thread::scope(|scope| {
        for part in 0..4 {
            let engine = engine.clone();
            scope.spawn(move || {
                for round in 0..5 {
                    let rows: Vec<Row> = (0..300)
                        .map(|id| (part * 10_000 + round * 1000 + id, None, Some(vec![7; 3000])))
                        .collect();
                    let mut transaction = engine.begin();
                    transaction.open_table("t").unwrap().bulk_load(&[batch(&rows)]).unwrap();
                    if round == 3 {
                        transaction.rollback().unwrap()
                    } else {
                        assert!(transaction.commit().is_ok())
                    }
                }
            });
        }
        // Readers see whole loads only.
        for _ in 0..10 {
            let snapshot = engine.snapshot();
            let partitions = snapshot.read_table("t").unwrap().scan(None).unwrap().partitions(3);
            let rows: usize = partitions.into_iter().map(|part| scanned(part).unwrap().len()).sum();
            assert_eq!(rows % 300, 0);
        }
    });
    assert_eq!(contents(&engine)["t"].len(), 4 * 4 * 300);
    assert_eq!(engine.check().unwrap(), []);
}
