//! Figures against what the work must have caused.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int32Array, RecordBatch, StringArray};
use bulkwire_store::page::unit::UnitKind;
use bulkwire_store::{
    Column, Compression, Engine, EngineOptions, IndexDefinition, Kind, LogContext, LogOperation,
    LogReuseWait, Lsn, PageStatistics, RecoveryModel, ResourceLimits, ScanDetail, WaitType,
};

use crate::support::volume::MemoryVolume;

fn engine(recovery_model: RecoveryModel) -> Engine {
    let options = EngineOptions { recovery_model, ..EngineOptions::default() };
    Engine::open_on(Arc::new(MemoryVolume::default()), options).unwrap()
}

/// Rows of exactly 100 bytes: header 4, id 4, text 89, count and bitmap of 2 columns 3.
fn columns() -> Vec<Column> {
    vec![Column::required("id", Kind::Int), Column::required("text", Kind::Char(89))]
}

fn batch(ids: std::ops::Range<i32>) -> RecordBatch {
    let texts: ArrayRef = Arc::new(ids.clone().map(|_| Some("x".repeat(89))).collect::<StringArray>());
    let ids: ArrayRef = Arc::new(Int32Array::from_iter_values(ids));
    RecordBatch::try_from_iter_with_nullable([("id", ids, false), ("text", texts, false)]).unwrap()
}

fn create(engine: &Engine, key: &[usize]) {
    let mut transaction = engine.begin();
    match key {
        [] => transaction.create_table("t", columns(), "").unwrap(),
        key => transaction
            .create_tree("t", columns(), &bulkwire_store::IndexDefinition::unique("", key), "")
            .unwrap(),
    }
    transaction.commit().unwrap();
}

type Counts = BTreeMap<(LogOperation, LogContext), (u64, u64)>;

fn counts(engine: &Engine) -> Counts {
    engine
        .log_counts()
        .into_iter()
        .map(|count| ((count.operation, count.context), (count.records, count.bytes)))
        .collect()
}

/// Records of one kind that some work added.
fn added(before: &Counts, after: &Counts, operation: LogOperation, context: LogContext) -> u64 {
    let records = |counts: &Counts| counts.get(&(operation, context)).map_or(0, |(records, _)| *records);
    records(after) - records(before)
}

#[test]
fn log_records_are_counted_by_operation_and_context() {
    use LogContext::{Clustered, Gam, Heap, Iam, IndexInterior, Pfs};
    use LogOperation::{
        BeginTransaction, CommitTransaction, DeleteRows, FormatPage, InsertRows, ModifyRow, SetBits,
        SetFreeSpace,
    };
    let pages = 7900_u64 / 79;
    for (model, formatted) in [(RecoveryModel::Full, pages), (RecoveryModel::Simple, 0)] {
        let engine = engine(model);
        create(&engine, &[]);
        let before = counts(&engine);
        let mut transaction = engine.begin();
        transaction.open_table("t").unwrap().bulk_load(&[batch(0..7900)]).unwrap();
        transaction.commit().unwrap();
        let after = counts(&engine);
        // The pages as a whole, or nothing of them; allocation in one run of 13 extents.
        assert_eq!(added(&before, &after, FormatPage, Heap), formatted, "{model:?}");
        assert_eq!(added(&before, &after, InsertRows, Heap), 0);
        assert_eq!(added(&before, &after, SetBits, Gam), 1);
        assert_eq!(added(&before, &after, SetBits, Iam), 1);
        assert_eq!(added(&before, &after, SetFreeSpace, Pfs), 1);
        assert_eq!(added(&before, &after, BeginTransaction, LogContext::None), 1);
        assert_eq!(added(&before, &after, CommitTransaction, LogContext::None), 1);
    }
    let engine = engine(RecoveryModel::Full);
    create(&engine, &[]);
    let before = counts(&engine);
    let mut transaction = engine.begin();
    let addresses = transaction.open_table("t").unwrap().insert(&batch(0..100)).unwrap();
    transaction.open_table("t").unwrap().delete(&addresses[..10]).unwrap();
    transaction.open_table("t").unwrap().update(&addresses[10..12], &batch(500..502)).unwrap();
    transaction.commit().unwrap();
    let after = counts(&engine);
    assert_eq!(added(&before, &after, InsertRows, Heap), 100);
    assert_eq!(added(&before, &after, DeleteRows, Heap), 10);
    assert_eq!(added(&before, &after, ModifyRow, Heap), 2);

    let engine = self::engine(RecoveryModel::Full);
    create(&engine, &[0]);
    let before = counts(&engine);
    let mut transaction = engine.begin();
    transaction.open_table("t").unwrap().insert(&batch(0..790)).unwrap();
    transaction.commit().unwrap();
    let after = counts(&engine);
    // Ascending keys: ten full leaves; the root's entry for the first was there when it became the root.
    assert_eq!(added(&before, &after, InsertRows, Clustered), 790);
    assert_eq!(added(&before, &after, InsertRows, Heap), 0);
    assert_eq!(added(&before, &after, InsertRows, IndexInterior), 9);
}

#[test]
fn the_log_lists_what_was_counted() {
    let engine = engine(RecoveryModel::Full);
    create(&engine, &[]);
    let object = engine.snapshot().table("t").unwrap().object;
    let mut transaction = engine.begin();
    transaction.open_table("t").unwrap().insert(&batch(0..50)).unwrap();
    transaction.rollback().unwrap();
    let mut transaction = engine.begin();
    let id = transaction.id();
    let address = transaction.open_table("t").unwrap().insert(&batch(7..8)).unwrap()[0];
    transaction.commit().unwrap();

    let rows: Vec<_> = engine.log_records(Lsn::ZERO).unwrap().map(Result::unwrap).collect();
    // Nothing was given up yet, so it is all there.
    let mut listed = Counts::new();
    for row in &rows {
        let count = listed.entry((row.operation, row.context)).or_default();
        count.0 += 1;
        count.1 += u64::from(row.length_bytes);
    }
    assert_eq!(listed, counts(&engine));
    assert!(rows.is_sorted_by(|a, b| a.lsn < b.lsn));
    let undone = rows.iter().filter(|row| row.is_compensation && row.context == LogContext::Heap);
    assert_eq!(undone.map(|row| row.operation).collect::<Vec<_>>(), [LogOperation::DeleteRows; 50]);
    let mine: Vec<_> = rows.iter().filter(|row| row.transaction == id).collect();
    let insert = mine.iter().find(|row| row.operation == LogOperation::InsertRows).unwrap();
    assert_eq!(insert.context, LogContext::Heap);
    assert_eq!((insert.page, insert.slot), (Some(address.page), Some(address.slot)));
    assert_eq!(insert.unit.map(|unit| unit.object), Some(object));
    assert_eq!(mine.first().map(|row| row.operation), Some(LogOperation::BeginTransaction));
    assert_eq!(mine.last().map(|row| row.operation), Some(LogOperation::CommitTransaction));
    // From a position on.
    let half = rows[rows.len() / 2].lsn;
    let later: Vec<_> = engine.log_records(half).unwrap().map(Result::unwrap).collect();
    assert_eq!(later, rows[rows.len() / 2..]);
}

#[test]
fn log_space_says_why_the_log_is_kept() {
    let options = EngineOptions {
        recovery_model: RecoveryModel::Full,
        log: bulkwire_store::LogOptions { file_bytes: 128 << 10, limit_bytes: None },
        ..EngineOptions::default()
    };
    let engine = Engine::open_on(Arc::new(MemoryVolume::default()), options).unwrap();
    assert_eq!(engine.log_space().reuse_wait, LogReuseWait::Nothing);
    create(&engine, &[]);
    let mut transaction = engine.begin();
    transaction.open_table("t").unwrap().bulk_load(&[batch(0..7900)]).unwrap();
    transaction.commit().unwrap();
    let space = engine.log_space();
    assert_eq!(space.reuse_wait, LogReuseWait::LogBackup);
    assert!(space.used_bytes > 100 * 8000 && space.used_bytes <= space.total_bytes);
    assert_eq!(engine.log_files().iter().map(|file| file.size_bytes).sum::<u64>(), space.total_bytes);
    assert_eq!(space.reserved_bytes, 0);
    let open = engine.begin();
    let mut open = {
        let mut open = open;
        open.open_table("t").unwrap().insert(&batch(0..1)).unwrap();
        open
    };
    assert!(engine.log_space().reserved_bytes > 100);
    engine.log_backed_up().unwrap();
    assert_eq!(engine.log_space().reuse_wait, LogReuseWait::Nothing);
    open.open_table("t").unwrap().bulk_load(&[batch(0..7900)]).unwrap();
    engine.log_backed_up().unwrap();
    assert_eq!(engine.log_space().reuse_wait, LogReuseWait::ActiveTransaction);
    open.rollback().unwrap();
    engine.log_backed_up().unwrap();
    assert_eq!(engine.log_space().reuse_wait, LogReuseWait::Nothing);
    assert!(engine.log_space().used_bytes < 128 << 10);
}

#[test]
fn files_and_waits_have_what_was_written() {
    let volume = Arc::new(MemoryVolume::default());
    let options = EngineOptions { files: 2, ..EngineOptions::default() };
    let engine = Engine::open_on(volume, options).unwrap();
    create(&engine, &[]);
    let before = engine.file_io();
    let mut transaction = engine.begin();
    transaction.open_table("t").unwrap().bulk_load(&[batch(0..79_000)]).unwrap();
    transaction.commit().unwrap();
    let after = engine.file_io();
    assert_eq!(after.iter().map(|file| file.file).collect::<Vec<_>>(), [Some(1), Some(2), None]);
    let written = |file: usize| after[file].bytes_written - before[file].bytes_written;
    assert_eq!(written(0) + written(1), 1000 * 8192);
    assert!(written(0) >= 300 * 8192 && written(1) >= 300 * 8192, "filled in proportion");
    assert!(after[0].syncs > before[0].syncs && after[2].syncs > before[2].syncs);
    let counters = engine.counters();
    assert_eq!((counters.bulk_rows, counters.bulk_bytes), (79_000, 1000 * 8192));
    assert_eq!((counters.transactions, counters.write_transactions, counters.rolled_back), (2, 2, 0));
    let waits = engine.waits();
    for wait in [WaitType::WriteLog, WaitType::WriteCompletion, WaitType::FlushFileBuffers] {
        let count = waits.iter().find(|count| count.wait == wait).unwrap();
        assert!(count.count > 0 && count.longest <= count.total && count.signal <= count.total);
    }
    // Every page is read once.
    let reads = engine.file_io();
    let rows: usize = engine
        .snapshot()
        .read_table("t")
        .unwrap()
        .scan(None)
        .unwrap()
        .map(|batch| batch.unwrap().num_rows())
        .sum();
    assert_eq!(rows, 79_000);
    let read: u64 =
        engine.file_io().iter().zip(&reads).map(|(after, before)| after.bytes_read - before.bytes_read).sum();
    assert_eq!(read, 1000 * 8192);
    let files = engine.data_files();
    let (extents, free) = (engine.usage().extents, engine.usage().free_extents);
    assert_eq!(files.iter().map(|file| file.size_pages).sum::<u64>(), extents * 8);
    assert_eq!(files.iter().map(|file| file.free_pages).sum::<u64>(), free * 8);
}

fn statistics(engine: &Engine) -> Vec<PageStatistics> {
    engine.snapshot().physical_statistics("t", ScanDetail::Detailed).unwrap()
}

#[test]
fn pages_of_a_heap_are_as_dense_as_their_rows_allow() {
    let engine = engine(RecoveryModel::Simple);
    create(&engine, &[]);
    let mut transaction = engine.begin();
    transaction.open_table("t").unwrap().bulk_load(&[batch(0..79 * 64)]).unwrap();
    transaction.commit().unwrap();
    let [heap] = statistics(&engine).try_into().unwrap();
    assert_eq!((heap.unit_kind, heap.depth, heap.level), ("IN_ROW_DATA", 1, 0));
    assert_eq!((heap.pages, heap.extents, heap.extent_switches), (64, 8, 7));
    assert_eq!((heap.fragments, heap.fragmentation_percent, heap.scan_density_percent()), (1, 0.0, 100.0));
    let contents = heap.contents.unwrap();
    assert_eq!((contents.records, contents.forwarded_records, contents.compressed_pages), (79 * 64, 0, 0));
    assert_eq!((contents.least_record_bytes, contents.longest_record_bytes), (100, 100));
    assert!((contents.mean_record_bytes - 100.0).abs() < 1e-9);
    // 79 rows with their slots: 8,058 of 8,096 bytes.
    assert!((contents.density_percent - 99.530_632_411).abs() < 1e-6, "{}", contents.density_percent);
    assert!((contents.mean_free_bytes - 38.0).abs() < 1e-9);
    let units = engine.snapshot().allocation_units("t").unwrap();
    let sizes: Vec<_> = units.iter().map(|unit| (unit.kind, unit.total_pages, unit.used_pages)).collect();
    assert_eq!(sizes, [("IN_ROW_DATA", 8 * 8 + 1, 64 + 1), ("ROW_OVERFLOW_DATA", 0, 0), ("LOB_DATA", 0, 0)]);
    assert_eq!(units[0].data_pages, 64);
    let limited = engine.snapshot().physical_statistics("t", ScanDetail::Limited).unwrap();
    assert_eq!((limited[0].pages, limited[0].contents), (64, None));
}

#[test]
fn rows_that_moved_are_counted_twice_as_records() {
    let engine = engine(RecoveryModel::Simple);
    let mut transaction = engine.begin();
    let text = Column::required("text", Kind::VarChar(Some(8000)));
    transaction.create_table("t", vec![text], "").unwrap();
    let texts = |length: usize| {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(length); 20]));
        RecordBatch::try_from_iter_with_nullable([("text", texts, false)]).unwrap()
    };
    let addresses = transaction.open_table("t").unwrap().insert(&texts(380)).unwrap();
    transaction.open_table("t").unwrap().update(&addresses[..3], &texts(4000).slice(0, 3)).unwrap();
    transaction.commit().unwrap();
    let contents = statistics(&engine)[0].contents.unwrap();
    // The first page had room for all, and takes none of the longer ones.
    assert_eq!((contents.records, contents.forwarded_records), (20 + 3, 3));
    assert_eq!(contents.least_record_bytes, 9);
}

#[test]
fn levels_of_a_tree_are_told_apart() {
    let engine = engine(RecoveryModel::Simple);
    create(&engine, &[0]);
    let ascending = 79 * 40;
    let mut transaction = engine.begin();
    transaction.open_table("t").unwrap().insert(&batch(0..ascending)).unwrap();
    transaction.commit().unwrap();
    let [leaf, root] = statistics(&engine).try_into().unwrap();
    assert_eq!((leaf.depth, leaf.level, leaf.pages), (2, 0, 40));
    assert_eq!(leaf.contents.unwrap().records, ascending as u64);
    assert!(leaf.contents.unwrap().density_percent > 99.0);
    assert_eq!((root.depth, root.level, root.pages), (2, 1, 1));
    // An index row is a status byte, the key, and the child's address.
    let entries = root.contents.unwrap();
    assert_eq!((entries.records, entries.longest_record_bytes), (40, 1 + 4 + 6));
    let units = engine.snapshot().allocation_units("t").unwrap();
    assert_eq!((units[0].data_pages, units[0].used_pages), (40, 40 + 1 + 1));

    // Random order leaves pages half to two thirds full, next to others than their neighbours.
    let engine = self::engine(RecoveryModel::Simple);
    create(&engine, &[0]);
    let mut transaction = engine.begin();
    for index in 0..79 * 40 {
        let id = (index * 1601) % (79 * 40);
        transaction.open_table("t").unwrap().insert(&batch(id..id + 1)).unwrap();
    }
    transaction.commit().unwrap();
    let [leaf, _] = statistics(&engine).try_into().unwrap();
    let density = leaf.contents.unwrap().density_percent;
    assert!((50.0..90.0).contains(&density), "{density}");
    assert!(leaf.fragmentation_percent > 30.0, "{}", leaf.fragmentation_percent);
    assert!(leaf.fragments > leaf.pages / 3);
    assert!(leaf.scan_density_percent() < 70.0);
}

#[test]
fn a_database_held_to_a_log_rate_waits_for_it_and_loses_nothing() {
    let engine = engine(RecoveryModel::Full);
    create(&engine, &[]);
    assert_eq!(engine.resource_samples(), []);
    // 200 pages of log at once, and a megabyte a second.
    engine.set_resource_limits(Some(ResourceLimits::custom(Some(1 << 20), None)));
    let mut transaction = engine.begin();
    transaction.open_table("t").unwrap().bulk_load(&[batch(0..15_800)]).unwrap();
    transaction.commit().unwrap();
    let waits = engine.waits();
    let governor = waits.iter().find(|count| count.wait == WaitType::LogRateGovernor).unwrap();
    assert!(governor.count > 0);
    assert_eq!(engine.resource_limits().unwrap().log_bytes_per_second, Some(1 << 20));
    engine.set_resource_limits(None);
    let rows: usize = engine
        .snapshot()
        .read_table("t")
        .unwrap()
        .scan(None)
        .unwrap()
        .map(|batch| batch.unwrap().num_rows())
        .sum();
    assert_eq!(rows, 15_800);
}

#[test]
fn an_index_is_a_unit_of_its_own() {
    let engine = engine(RecoveryModel::Simple);
    create(&engine, &[]);
    let rows = 184 * 60;
    let mut transaction = engine.begin();
    // Every second id, so that others fit between.
    let even: ArrayRef = Arc::new(Int32Array::from_iter_values((0..rows).map(|id| id * 2)));
    let texts = Arc::clone(batch(0..rows).column(1));
    let even =
        RecordBatch::try_from_iter_with_nullable([("id", even, false), ("text", texts, false)]).unwrap();
    transaction.open_table("t").unwrap().bulk_load(&[even]).unwrap();
    let index = IndexDefinition { fill_factor_percent: 50, ..IndexDefinition::new("i", &[0]) };
    transaction.open_table("t").unwrap().create_index(&index).unwrap();
    transaction.commit().unwrap();
    let unit = engine.snapshot().table("t").unwrap().unit(UnitKind::Index(2)).id;
    let of_index = |detail| {
        let all = engine.snapshot().physical_statistics("t", detail).unwrap();
        all.into_iter().filter(|row| row.unit == unit).collect::<Vec<_>>()
    };
    let [leaf, root] = of_index(ScanDetail::Detailed).try_into().unwrap();
    assert_eq!((leaf.unit_kind, leaf.depth, leaf.level), ("IN_ROW_DATA", 2, 0));
    // A status byte, the key, 2 columns and their bitmap 3, a row's address as a variable column 2 + 2 + 8: 20 bytes and a slot. Of the
    // 368 that fit a page half stay out.
    assert_eq!(leaf.pages, 60);
    let contents = leaf.contents.unwrap();
    assert_eq!(
        (contents.records, contents.least_record_bytes, contents.longest_record_bytes),
        (rows as u64, 20, 20)
    );
    assert_eq!(contents.density_percent, 50.0);
    assert!(leaf.fragmentation_percent < 2.0 && leaf.scan_density_percent() > 95.0, "{leaf:?}");
    assert_eq!((root.depth, root.level, root.pages), (2, 1, 1));
    // The entries above have the address too, since the key alone is not unique, and six bytes of the child's.
    let entries = root.contents.unwrap();
    assert_eq!((entries.records, entries.longest_record_bytes), (60, 1 + 4 + 12 + 6));
    let [limited] = of_index(ScanDetail::Limited).try_into().unwrap();
    assert_eq!((limited.pages, limited.depth, limited.contents), (60, 2, None));
    // Twice as many: each leaf is full and splits, its second half to the end of the index.
    let mut transaction = engine.begin();
    for part in 0..8 {
        let ids: ArrayRef =
            Arc::new(Int32Array::from_iter_values((0..rows).skip(part).step_by(8).map(|id| id * 2 + 1)));
        let texts = Arc::clone(batch(0..ids.len() as i32).column(1));
        let odd =
            RecordBatch::try_from_iter_with_nullable([("id", ids, false), ("text", texts, false)]).unwrap();
        transaction.open_table("t").unwrap().insert(&odd).unwrap();
    }
    let more = RecordBatch::try_from_iter_with_nullable([
        ("id", Arc::new(Int32Array::from_iter_values((0..rows).step_by(3))) as ArrayRef, false),
        ("text", batch(0..(rows + 2) / 3).column(1).clone(), false),
    ])
    .unwrap();
    transaction.open_table("t").unwrap().insert(&more).unwrap();
    transaction.commit().unwrap();
    let leaf = of_index(ScanDetail::Sampled).remove(0);
    assert!(leaf.fragmentation_percent > 30.0 && leaf.extent_fragmentation_percent > 30.0, "{leaf:?}");
    assert!(leaf.scan_density_percent() < 70.0, "{leaf:?}");
    assert_eq!(leaf.contents.unwrap().records, (rows + rows + (rows + 2) / 3) as u64);
}

#[test]
fn room_in_old_pages_is_found_after_an_opening() {
    for compression in [Compression::None, Compression::Row] {
        let volume = MemoryVolume::default();
        let open = || Engine::open_on(Arc::new(volume.clone()), EngineOptions::default()).unwrap();
        let engine = open();
        let mut transaction = engine.begin();
        let columns =
            vec![Column::required("id", Kind::Int), Column::required("text", Kind::VarChar(Some(2000)))];
        transaction
            .create_table_on("t", columns, None, compression, &bulkwire_store::Placement::default(), "")
            .unwrap();
        let rows = |count: i32, length: usize| {
            let ids: ArrayRef = Arc::new(Int32Array::from_iter_values(0..count));
            let texts: ArrayRef =
                Arc::new((0..count).map(|_| Some("x".repeat(length))).collect::<StringArray>());
            RecordBatch::try_from_iter_with_nullable([("id", ids, false), ("text", texts, false)]).unwrap()
        };
        // Seven rows in a page; three of them go.
        transaction.open_table("t").unwrap().bulk_load(&[rows(7 * 1600, 1100)]).unwrap();
        let mut scan = transaction.read_table("t").unwrap().scan(None).unwrap();
        let mut addresses = Vec::new();
        while let Some(batch) = scan.next_with_addresses() {
            addresses.extend(batch.unwrap().1);
        }
        let gone: Vec<_> = addresses.iter().filter(|address| address.slot < 3).copied().collect();
        assert_eq!(gone.len(), 3 * 1600);
        drop(scan);
        transaction.open_table("t").unwrap().delete(&gone).unwrap();
        transaction.commit().unwrap();
        let pages = engine.snapshot().table("t").unwrap().data_pages();
        drop(engine);
        let engine = open();
        // Also rows that do not fit what is left by the first ones leave none of the others out.
        for (count, length) in [(1, 2000), (3 * 1600 - 10, 1100)] {
            let mut transaction = engine.begin();
            transaction.open_table("t").unwrap().insert(&rows(count, length)).unwrap();
            transaction.commit().unwrap();
        }
        assert_eq!(engine.snapshot().table("t").unwrap().data_pages(), pages, "{compression:?}");
        assert_eq!(engine.check().unwrap(), []);
    }
}
