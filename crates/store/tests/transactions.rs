//! What a transaction, a snapshot and a scan show; the same on disk and in memory.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::sync::Arc;
use std::time::Duration;

use arrow::array::{Int32Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema};
use bulkwire_store::{Database, LockError, LockMode, OpenError, Options, StoreError};
use support::Random;
use support::disk::{Disk, Fault};
use support::workload::{Rows, batch, contents, rows_of, schema, transaction_contents};

fn both(test: impl Fn(Database)) {
    test(Database::in_memory());
    let directory = tempfile::tempdir().unwrap();
    test(Database::open(directory.path(), Options::default()).unwrap());
}

fn on(disk: &Disk) -> Database {
    Database::open_on(Arc::new(disk.clone()), Options::default()).unwrap()
}

/// `count` rows; more than about 800 no longer ride in the journal.
fn rows(first: i64, count: i64) -> Rows {
    (first..first + count)
        .map(|id| (id, (id % 3 != 0).then(|| format!("row {id} {}", "·".repeat(40)))))
        .collect()
}

fn segments(disk: &Disk) -> usize {
    disk.names().iter().filter(|name| name.starts_with("segment-")).count()
}

#[test]
fn changes_show_inside_at_once_and_outside_at_commit() {
    both(|database| {
        let mut transaction = database.begin();
        let id = transaction.create_table("dbo.a", schema(), "p").unwrap();
        for (first, count) in [(0, 1), (1, 5000), (5001, 2), (5003, 40_000)] {
            transaction.append(id, &batch(&rows(first, count))).unwrap();
        }
        assert_eq!(transaction_contents(&transaction)["dbo.a"], ("p".to_owned(), rows(0, 45_003)));
        assert!(contents(&database).is_empty());
        let before = database.snapshot();
        transaction.commit().unwrap();
        assert_eq!(contents(&database)["dbo.a"], ("p".to_owned(), rows(0, 45_003)));
        assert!(before.tables().is_empty());
    });
}

#[test]
fn a_snapshot_outlives_truncate_replace_drop_and_checkpoint() {
    let disk = Disk::default();
    let database = on(&disk);
    let mut transaction = database.begin();
    let id = transaction.create_table("t", schema(), "").unwrap();
    transaction.append(id, &batch(&rows(0, 5000))).unwrap();
    transaction.commit().unwrap();
    let snapshot = database.snapshot();
    let mut scan = snapshot.scan(id, None).unwrap();

    let mut transaction = database.begin();
    transaction.replace(id, [batch(&rows(0, 3000))]).unwrap();
    transaction.commit().unwrap();
    let mut transaction = database.begin();
    transaction.drop_table(id).unwrap();
    transaction.commit().unwrap();
    database.checkpoint().unwrap();

    assert_eq!(rows_of(scan.by_ref()), rows(0, 5000));
    assert_eq!(segments(&disk), 1, "only the one that the snapshot reads");
    drop((snapshot, scan));
    assert_eq!(segments(&disk), 0);
}

#[test]
fn rolled_back_and_orphaned_segments_are_removed() {
    let disk = Disk::default();
    let database = on(&disk);
    let mut transaction = database.begin();
    let id = transaction.create_table("t", schema(), "").unwrap();
    transaction.append(id, &batch(&rows(0, 40_000))).unwrap();
    assert_eq!(segments(&disk), 1);
    transaction.rollback();
    assert_eq!(segments(&disk), 0);
    drop(database);
    disk.write("segment-00000000000000ff.rows", b"left by a crash");
    disk.write("journal.new", b"half a checkpoint");
    disk.write("somebody-elses.file", b"");
    drop(on(&disk));
    let mut names = disk.names();
    names.sort();
    assert_eq!(names, ["journal", "somebody-elses.file"]);
}

#[test]
fn one_small_commit_syncs_one_file_once() {
    let disk = Disk::default();
    let database = on(&disk);
    let mut transaction = database.begin();
    let id = transaction.create_table("t", schema(), "").unwrap();
    transaction.commit().unwrap();
    let before = disk.operations();
    let mut transaction = database.begin();
    transaction.append(id, &batch(&rows(0, 1))).unwrap();
    let commit = transaction.commit().unwrap();
    assert_eq!(disk.operations() - before, 2, "one write and one sync");
    assert_eq!(segments(&disk), 0);
    assert!(commit.bytes_synced > 0 && commit.sequence == 2);
}

#[test]
fn small_commits_are_folded_at_checkpoints_and_keep_their_order() {
    let disk = Disk::default();
    let options = Options { checkpoint_journal_bytes: 64 << 10, ..Options::default() };
    let database = Database::open_on(Arc::new(disk.clone()), options).unwrap();
    let mut transaction = database.begin();
    let id = transaction.create_table("t", schema(), "").unwrap();
    transaction.commit().unwrap();
    for row in 0..1500 {
        let mut transaction = database.begin();
        transaction.append(id, &batch(&rows(row, 1))).unwrap();
        assert!(transaction.commit().unwrap().checkpoint_error.is_none());
    }
    assert!(disk.read("journal").len() < 200 << 10, "journal of {} bytes", disk.read("journal").len());
    assert!((1..=2).contains(&segments(&disk)));
    drop(database);
    assert_eq!(contents(&on(&disk))["t"].1, rows(0, 1500));
}

#[test]
fn savepoints_undo_what_came_after_them() {
    both(|database| {
        let mut transaction = database.begin();
        let id = transaction.create_table("a", schema(), "").unwrap();
        transaction.append(id, &batch(&rows(0, 40_000))).unwrap();
        let first = transaction.savepoint();
        transaction.append(id, &batch(&rows(40_000, 40_000))).unwrap();
        let own_scan = transaction.scan(id, None).unwrap();
        let second = transaction.savepoint();
        transaction.truncate(id).unwrap();
        transaction.rename_table(id, "b").unwrap();
        transaction.rollback_to(&second).unwrap();
        assert_eq!(transaction_contents(&transaction)["a"].1, rows(0, 80_000));
        transaction.rollback_to(&first).unwrap();
        assert!(matches!(transaction.rollback_to(&second), Err(StoreError::SavepointGone)));
        transaction.append(id, &batch(&rows(40_000, 30_000))).unwrap();
        assert_eq!(rows_of(own_scan), rows(0, 80_000), "a scan is not changed by what follows");
        assert!(matches!(database.begin().rollback_to(&first), Err(StoreError::SavepointGone)));
        transaction.commit().unwrap();
        assert_eq!(contents(&database)["a"].1, rows(0, 70_000));
    });
}

#[test]
fn names_can_be_swapped_and_reused_in_one_transaction() {
    let disk = Disk::default();
    let database = on(&disk);
    let mut transaction = database.begin();
    let a = transaction.create_table("a", schema(), "first").unwrap();
    let b = transaction.create_table("b", schema(), "second").unwrap();
    assert!(matches!(transaction.create_table("a", schema(), ""), Err(StoreError::TableExists { .. })));
    transaction.commit().unwrap();
    let mut transaction = database.begin();
    transaction.rename_table(a, "x").unwrap();
    transaction.rename_table(b, "a").unwrap();
    transaction.rename_table(a, "b").unwrap();
    let c = transaction.create_table("x", schema(), "third").unwrap();
    transaction.drop_table(b).unwrap();
    transaction.rename_table(c, "a").unwrap();
    transaction.commit().unwrap();
    drop(database);
    let found = contents(&on(&disk));
    let properties: Vec<_> = found.iter().map(|(name, (text, _))| (name.as_str(), text.as_str())).collect();
    assert_eq!(properties, [("a", "third"), ("b", "first")]);
}

#[test]
fn appenders_share_a_table_and_everything_else_waits() {
    both(|database| {
        let mut transaction = database.begin();
        let id = transaction.create_table("t", schema(), "").unwrap();
        transaction.commit().unwrap();
        let (mut one, mut two, mut three) = (database.begin(), database.begin(), database.begin());
        three.set_lock_timeout(Duration::ZERO);
        one.append(id, &batch(&rows(0, 40_000))).unwrap();
        two.append(id, &batch(&rows(0, 40_000))).unwrap();
        assert!(matches!(three.truncate(id), Err(StoreError::Lock(LockError::Timeout { .. }))));
        two.commit().unwrap();
        assert!(matches!(three.drop_table(id), Err(StoreError::Lock(LockError::Timeout { .. }))));
        one.commit().unwrap();
        three.truncate(id).unwrap();
        assert_eq!(database.snapshot().table("t").unwrap().rows, 80_000);
        three.commit().unwrap();
        assert_eq!(database.snapshot().table("t").unwrap().rows, 0);
    });
}

#[test]
fn upgrades_of_two_appenders_are_a_deadlock_that_one_survives() {
    let database = Database::in_memory();
    let mut transaction = database.begin();
    let id = transaction.create_table("t", schema(), "").unwrap();
    transaction.commit().unwrap();
    let (mut one, mut two) = (database.begin(), database.begin());
    one.append(id, &batch(&rows(0, 1))).unwrap();
    two.append(id, &batch(&rows(1, 1))).unwrap();
    std::thread::scope(|scope| {
        let upgrade = scope.spawn(move || {
            let result = one.truncate(id);
            if result.is_ok() {
                one.commit().unwrap();
            }
            result
        });
        let other = two.lock(id, LockMode::Exclusive, Duration::MAX);
        if other.is_ok() {
            two.commit().unwrap();
        } else {
            two.rollback();
        }
        let first = upgrade.join().unwrap();
        let deadlock = Err(LockError::Deadlock { what: "table 1".to_owned() });
        assert!(first.is_ok() != other.is_ok(), "{first:?} {other:?}");
        assert!(other.is_ok() || other == deadlock);
    });
}

#[test]
fn batches_that_do_not_fit_are_refused_with_the_column() {
    let database = Database::in_memory();
    let mut transaction = database.begin();
    let id = transaction.create_table("t", schema(), "").unwrap();
    let other =
        Schema::new(vec![Field::new("id", DataType::Int32, false), Field::new("text", DataType::Utf8, true)]);
    let wrong = RecordBatch::new_empty(Arc::new(other));
    let error = transaction.append(id, &wrong).unwrap_err().to_string();
    assert_eq!(error, "batch does not fit table \"t\": column 0 (id) is Int32, the table's is Int64");
    let nullable =
        Schema::new(vec![Field::new("id", DataType::Int64, true), Field::new("text", DataType::Utf8, true)]);
    let nulls = RecordBatch::try_new(
        Arc::new(nullable),
        vec![
            arrow::array::new_null_array(&DataType::Int64, 1),
            arrow::array::new_null_array(&DataType::Utf8, 1),
        ],
    );
    assert!(matches!(transaction.append(id, &nulls.unwrap()), Err(StoreError::SchemaMismatch { .. })));
    let narrow = RecordBatch::try_from_iter([("id", Arc::new(Int32Array::from(vec![1])) as _)]).unwrap();
    assert!(matches!(transaction.append(id, &narrow), Err(StoreError::SchemaMismatch { .. })));
    assert_eq!(transaction.table("t").unwrap().rows, 0);
}

#[test]
fn projection_and_partitions_keep_rows_and_order() {
    both(|database| {
        let mut transaction = database.begin();
        let id = transaction.create_table("t", schema(), "").unwrap();
        for part in 0..7 {
            transaction.append(id, &batch(&rows(part * 20_000, 20_000))).unwrap();
        }
        transaction.commit().unwrap();
        let snapshot = database.snapshot();
        for count in [0, 1, 2, 3, 50] {
            let parts = snapshot.scan(id, None).unwrap().partitions(count);
            assert!(parts.len() <= count.max(1));
            if count == 2 {
                assert!(parts.iter().all(|part| part.rows() >= 40_000));
            }
            assert_eq!(rows_of(parts.into_iter().flatten()), rows(0, 140_000));
        }
        let projected = snapshot.scan(id, Some(vec![1, 0])).unwrap();
        assert_eq!(projected.schema().field(0).name(), "text");
        let flipped = projected.map(|batch| Ok(batch?.project(&[1, 0])?));
        assert_eq!(rows_of(flipped), rows(0, 140_000));
        let count: usize =
            snapshot.scan(id, Some(vec![])).unwrap().map(|batch| batch.unwrap().num_rows()).sum();
        assert_eq!(count, 140_000);
        assert!(matches!(
            snapshot.scan(id, Some(vec![2])),
            Err(StoreError::NoSuchColumn { index: 2, columns: 2 })
        ));
    });
}

#[test]
fn a_full_disk_fails_the_load_and_nothing_else() {
    let disk = Disk::default();
    let database = on(&disk);
    let mut transaction = database.begin();
    let id = transaction.create_table("t", schema(), "").unwrap();
    transaction.append(id, &batch(&rows(0, 5000))).unwrap();
    transaction.commit().unwrap();

    disk.set_fault(Some(Fault::Full { capacity_bytes: 3 << 20 }));
    let mut load = database.begin();
    let mut loaded = 0;
    let error = loop {
        match load.append(id, &batch(&rows(5000 + loaded, 20_000))) {
            Ok(()) => loaded += 20_000,
            Err(error) => break error,
        }
        assert!(loaded < 1_000_000);
    };
    assert!(error.is_disk_full(), "{error}");
    assert!(error.to_string().contains("segment-"), "{error}");
    // What was appended before is still there, and the transaction may go on with less.
    assert_eq!(transaction_contents(&load)["t"].1, rows(0, 5000 + loaded));
    load.rollback();
    let mut small = database.begin();
    small.append(id, &batch(&rows(5000, 1))).unwrap();
    small.commit().unwrap();
    assert_eq!(contents(&database)["t"].1, rows(0, 5001));
    drop(database);
    assert_eq!(contents(&on(&disk.after_power_cut(&mut Random(1))))["t"].1, rows(0, 5001));
}

#[test]
fn a_damaged_frame_is_named_and_the_rest_stays_readable() {
    let disk = Disk::default();
    let database = on(&disk);
    let mut transaction = database.begin();
    let good = transaction.create_table("good", schema(), "").unwrap();
    let bad = transaction.create_table("bad", schema(), "").unwrap();
    transaction.append(good, &batch(&rows(0, 5000))).unwrap();
    for part in 0..3 {
        transaction.append(bad, &batch(&rows(part * 40_000, 40_000))).unwrap();
    }
    transaction.commit().unwrap();
    drop(database);
    let name = disk
        .names()
        .into_iter()
        .filter(|name| name.starts_with("segment-"))
        .max_by_key(|name| disk.read(name).len());
    let name = name.unwrap();
    let mut bytes = disk.read(&name);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    disk.write(&name, &bytes);

    let database = on(&disk);
    let snapshot = database.snapshot();
    let results: Vec<_> = snapshot.scan(bad, None).unwrap().collect();
    assert_eq!(results.len(), 3);
    match &results[1] {
        Err(StoreError::Corrupt { path, offset, reason }) => {
            assert!(path.ends_with(&name));
            assert!(*offset > 0 && (*offset as usize) < middle);
            assert!(reason.starts_with("checksum"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(rows_of(results.into_iter().filter(|result| result.is_ok())).len(), 80_000);
    assert_eq!(rows_of(snapshot.scan(good, None).unwrap()), rows(0, 5000));

    // Cut short, and gone altogether.
    disk.write(&name, &bytes[..middle]);
    let results: Vec<_> = snapshot.scan(bad, None).unwrap().collect();
    assert_eq!(results.iter().filter(|result| matches!(result, Err(StoreError::Corrupt { .. }))).count(), 2);
    bulkwire_store::storage::Storage::remove(&disk, &name).unwrap();
    assert!(
        snapshot.scan(bad, None).unwrap().all(|result| matches!(result, Err(StoreError::Corrupt { .. })))
    );
    let mut transaction = database.begin();
    transaction.append(good, &batch(&rows(5000, 1))).unwrap();
    transaction.commit().unwrap();
    database.checkpoint().unwrap();
}

#[test]
fn a_torn_end_of_the_journal_is_cut_off_and_damage_before_it_is_refused() {
    let disk = Disk::default();
    let database = on(&disk);
    let mut transaction = database.begin();
    let id = transaction.create_table("t", schema(), "").unwrap();
    transaction.commit().unwrap();
    let mut lengths = vec![disk.read("journal").len()];
    for row in 0..3 {
        let mut transaction = database.begin();
        transaction.append(id, &batch(&rows(row, 1))).unwrap();
        transaction.commit().unwrap();
        lengths.push(disk.read("journal").len());
    }
    drop(database);
    let journal = disk.read("journal");
    for cut in lengths[2]..lengths[3] {
        let disk = Disk::default();
        disk.write("journal", &journal[..cut]);
        assert_eq!(contents(&on(&disk))["t"].1, rows(0, 2));
    }
    for at in lengths[0]..lengths[2] {
        let mut damaged = journal.clone();
        damaged[at] ^= 1;
        let disk = Disk::default();
        disk.write("journal", &damaged);
        match Database::open_on(Arc::new(disk), Options::default()) {
            Err(OpenError::Store(StoreError::Corrupt { offset, .. })) => assert!(offset as usize <= at),
            other => panic!("damage at {at}: {other:?}"),
        }
    }
}

#[test]
fn a_second_opening_of_a_directory_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new").join("deep");
    let database = Database::open(&path, Options::default()).unwrap();
    assert!(matches!(Database::open(&path, Options::default()), Err(OpenError::InUse { .. })));
    drop(database);
    Database::open(&path, Options::default()).unwrap().close().unwrap();
    std::fs::remove_file(path.join("journal")).unwrap();
    std::fs::write(path.join("segment-0000000000000001.rows"), b"").unwrap();
    assert!(matches!(Database::open(&path, Options::default()), Err(OpenError::JournalMissing { .. })));
    let file = directory.path().join("file");
    std::fs::write(&file, b"").unwrap();
    assert!(matches!(
        Database::open(&file, Options::default()),
        Err(OpenError::Store(StoreError::Io { .. }))
    ));
}
