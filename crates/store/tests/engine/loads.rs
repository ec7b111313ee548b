//! What bulk loads cost: log, pages, memory.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use bulkwire_store::record::layout::Layout;
use bulkwire_store::{
    BulkOptions, Column, Engine, EngineOptions, IndexDefinition, Kind, LogContext, LogOperation,
    RecoveryModel, ScanDetail,
};

use crate::support::volume::MemoryVolume;

const PAGE_BYTES: u64 = 8192;

fn engine(recovery_model: RecoveryModel, cache_bytes: usize) -> Engine {
    let options = EngineOptions { recovery_model, cache_bytes, ..EngineOptions::default() };
    Engine::open_on(Arc::new(MemoryVolume::default()), options).unwrap()
}

/// Eleven columns, eight of them fixed.
fn narrow() -> Vec<Column> {
    let mut columns = vec![Column::required("id", Kind::Int)];
    columns.extend((0..4).map(|index| Column::new(format!("n{index}"), Kind::BigInt)));
    columns.extend((0..3).map(|index| Column::new(format!("f{index}"), Kind::Float)));
    columns.extend((0..3).map(|index| Column::new(format!("v{index}"), Kind::VarChar(Some(40)))));
    columns
}

/// Rows of 608 bytes on average: 4 + 2 integers of four bytes + 2 and 2 for 13 columns + 2 + 11 ends + 570 bytes of text.
fn wide() -> Vec<Column> {
    let mut columns = vec![Column::required("id", Kind::Int), Column::new("n", Kind::Int)];
    columns.extend((0..11).map(|index| Column::new(format!("v{index}"), Kind::VarChar(Some(60)))));
    columns
}

fn batch(columns: &[Column], ids: std::ops::Range<i32>) -> RecordBatch {
    let texts = columns.iter().filter(|column| matches!(column.kind, Kind::VarChar(_))).count() as i32;
    let mut text = 0;
    let arrays = columns.iter().map(|column| -> ArrayRef {
        match column.kind {
            Kind::Int => Arc::new(Int32Array::from_iter_values(ids.clone())),
            Kind::BigInt => Arc::new(Int64Array::from_iter_values(ids.clone().map(|id| i64::from(id) * 7))),
            Kind::Float => {
                Arc::new(Float64Array::from_iter_values(ids.clone().map(|id| f64::from(id) / 3.0)))
            }
            _ => {
                let all = if texts == 11 { 570 } else { 38 };
                let width = (all * (text + 1) / texts - all * text / texts) as usize;
                text += 1;
                Arc::new(StringArray::from_iter_values(ids.clone().map(|id| format!("{id:0>width$}"))))
            }
        }
    });
    let arrays = arrays.collect();
    RecordBatch::try_new(Layout::new(columns.to_vec()).unwrap().schema, arrays).unwrap()
}

fn create(engine: &Engine, columns: &[Column], key: Option<u8>) {
    let mut transaction = engine.begin();
    match key {
        None => transaction.create_table("t", columns.to_vec(), "").unwrap(),
        Some(fill_factor_percent) => {
            let key = IndexDefinition { fill_factor_percent, ..IndexDefinition::unique("pk", &[0]) };
            transaction.create_tree("t", columns.to_vec(), &key, "").unwrap();
        }
    }
    transaction.commit().unwrap();
}

/// Loads rows in the order of the key. Returns the most that the writer held for pages of its own.
fn load(engine: &Engine, columns: &[Column], rows: i32, options: BulkOptions) -> usize {
    let mut transaction = engine.begin();
    let mut writer = transaction.open_table("t").unwrap().bulk_writer_with(options).unwrap();
    let mut held = 0;
    for first in (0..rows).step_by(1000) {
        writer.append(&batch(columns, first..rows.min(first + 1000))).unwrap();
        held = held.max(writer.buffer_bytes());
    }
    transaction.open_table("t").unwrap().finish_bulk(writer).unwrap();
    transaction.commit().unwrap();
    held
}

const SORTED: BulkOptions = BulkOptions { table_lock: true, sorted: true, sort_memory_bytes: 1 << 20 };

#[test]
fn a_minimally_logged_load_logs_less_than_a_fiftieth() {
    for (columns, rows) in [(narrow(), 60_000), (wide(), 10_000)] {
        for key in [None, Some(100)] {
            let logged = |model| {
                let engine = engine(model, 1 << 20);
                create(&engine, &columns, key);
                let before = engine.usage().log_written_bytes;
                load(&engine, &columns, rows, SORTED);
                let pages = engine.snapshot().table("t").unwrap().data_pages();
                (engine.usage().log_written_bytes - before, pages * PAGE_BYTES)
            };
            let (full, pages) = logged(RecoveryModel::Full);
            // Pages are logged as they are, but for runs of zeros.
            assert!(full > pages * 9 / 10, "{full} bytes for {pages} of pages");
            for model in [RecoveryModel::Simple, RecoveryModel::BulkLogged] {
                let (minimal, _) = logged(model);
                assert!(minimal * 50 <= full, "{model:?}, key {key:?}: {minimal} of {full} bytes");
            }
        }
    }
}

/// Neighbouring extents are marked, and given back, by one record for each map.
#[test]
fn maps_are_logged_by_runs_of_extents() {
    let engine = engine(RecoveryModel::BulkLogged, 1 << 20);
    create(&engine, &wide(), None);
    load(&engine, &wide(), 60_000, SORTED);
    let extents = engine.snapshot().table("t").unwrap().data_pages().div_ceil(8);
    // Runs of sixteen, but for what the growing of a small file leaves over.
    let runs = extents.div_ceil(16) * 2;
    let count = |context| {
        let counts = engine.log_counts();
        let counts = counts.iter().filter(|count| count.context == context);
        counts
            .filter(|count| count.operation == LogOperation::SetBits)
            .map(|count| count.records)
            .sum::<u64>()
    };
    let marks = count(LogContext::MinimallyLoggedMap);
    assert!((1..=runs).contains(&marks), "{marks} records for {extents} extents");
    assert!(count(LogContext::Iam) <= runs);
    engine.backup_log(&mut std::io::sink()).unwrap();
    // Taken off: one record for all that lie together.
    assert!(count(LogContext::MinimallyLoggedMap) - marks <= runs, "{marks}");
    let before = count(LogContext::Iam);
    let mut transaction = engine.begin();
    transaction.open_table("t").unwrap().truncate().unwrap();
    transaction.commit().unwrap();
    assert!(count(LogContext::Iam) - before <= runs);
    assert_eq!(engine.check().unwrap(), []);
}

/// Density of the rows' pages in percent, and the longest row with its slot as a share of a page.
fn density(engine: &Engine) -> (f64, f64) {
    let statistics = engine.snapshot().physical_statistics("t", ScanDetail::Detailed).unwrap();
    let contents = statistics[0].contents.unwrap();
    (contents.density_percent, (contents.longest_record_bytes + 2) as f64 / 80.96)
}

#[test]
fn pages_are_as_dense_as_the_fill_factor_says() {
    for (columns, rows) in [(narrow(), 40_000), (wide(), 8_000)] {
        let heap = engine(RecoveryModel::Simple, 1 << 20);
        create(&heap, &columns, None);
        load(&heap, &columns, rows, SORTED);
        assert!(density(&heap).0 >= 97.0, "{:?}", density(&heap));
        // 0 is the default, and means the same as 100.
        for fill_factor in [0, 100, 90, 75, 50, 10] {
            let tree = engine(RecoveryModel::Simple, 1 << 20);
            create(&tree, &columns, Some(fill_factor));
            load(&tree, &columns, rows, SORTED);
            let (density, row) = density(&tree);
            match fill_factor {
                0 | 100 => assert!(density >= 97.0, "{density}"),
                // Pages hold whole rows, and one at least.
                _ => assert!(
                    (density - f64::from(fill_factor)).abs() <= row,
                    "{density} % with a fill factor of {fill_factor}, a row is {row} %"
                ),
            }
        }
    }
}

#[test]
fn the_fill_factor_means_nothing_to_loads_that_do_not_build_the_tree() {
    for (columns, rows) in [(narrow(), 40_000), (wide(), 8_000)] {
        // Without a lock of the table.
        let tree = engine(RecoveryModel::Simple, 1 << 20);
        create(&tree, &columns, Some(10));
        load(&tree, &columns, rows, BulkOptions { table_lock: false, ..SORTED });
        assert!(density(&tree).0 >= 97.0, "{:?}", density(&tree));
        // Into a table that has held rows.
        let tree = engine(RecoveryModel::Simple, 1 << 20);
        create(&tree, &columns, Some(10));
        let mut transaction = tree.begin();
        transaction.open_table("t").unwrap().insert(&batch(&columns, 0..1000)).unwrap();
        transaction.commit().unwrap();
        let mut transaction = tree.begin();
        let keys = batch(&columns, 0..1000).project(&[0]).unwrap();
        transaction.open_table("t").unwrap().delete_keys(&keys).unwrap();
        transaction.commit().unwrap();
        load(&tree, &columns, rows, SORTED);
        assert!(density(&tree).0 >= 97.0, "{:?}", density(&tree));
        assert_eq!(tree.check().unwrap(), []);
    }
}

#[test]
fn a_load_ten_times_larger_than_the_cache_does_not_fill_more_than_the_cache() {
    let cache_pages = 128;
    for (columns, rows) in [(narrow(), 90_000), (wide(), 17_000)] {
        for (key, options) in [
            (None, SORTED),
            (Some(100), SORTED),
            (Some(100), BulkOptions { sorted: false, sort_memory_bytes: 256 << 10, ..SORTED }),
        ] {
            for model in [RecoveryModel::Full, RecoveryModel::Simple] {
                let engine = engine(model, cache_pages * PAGE_BYTES as usize);
                create(&engine, &columns, key);
                let held = load(&engine, &columns, rows, options);
                let counts = engine.cache_counts();
                assert_eq!(counts.limit_pages, cache_pages as u64);
                let pages = engine.snapshot().table("t").unwrap().data_pages();
                assert!(pages > 10 * counts.limit_pages, "{pages} pages");
                assert!(counts.most_pages <= counts.limit_pages, "{counts:?}");
                assert!((PAGE_BYTES as usize..=2 << 20).contains(&held), "{held} bytes of buffers");
                // Neither does reading it.
                let read: usize = engine
                    .snapshot()
                    .read_table("t")
                    .unwrap()
                    .scan(None)
                    .unwrap()
                    .map(|batch| batch.unwrap().num_rows())
                    .sum();
                assert_eq!(read, rows as usize);
                let counts = engine.cache_counts();
                assert!(counts.most_pages <= counts.limit_pages, "{counts:?}");
            }
        }
    }
}

#[test]
fn several_writers_and_rows_one_by_one_keep_to_the_cache_too() {
    let columns = narrow();
    let engine = engine(RecoveryModel::Simple, 128 * PAGE_BYTES as usize);
    create(&engine, &columns, None);
    std::thread::scope(|scope| {
        let writers: Vec<_> =
            (0..3).map(|_| scope.spawn(|| load(&engine, &columns, 45_000, SORTED))).collect();
        for writer in writers {
            assert!((PAGE_BYTES as usize..=2 << 20).contains(&writer.join().unwrap()));
        }
    });
    let mut transaction = engine.begin();
    for first in (0..90_000).step_by(1000) {
        transaction.open_table("t").unwrap().insert(&batch(&columns, first..first + 1000)).unwrap();
    }
    transaction.commit().unwrap();
    let counts = engine.cache_counts();
    assert!(engine.snapshot().table("t").unwrap().data_pages() > 20 * counts.limit_pages);
    assert!(counts.evictions > 0);
    assert!(counts.most_pages <= counts.limit_pages, "{counts:?}");
    assert_eq!(engine.check().unwrap(), []);
}

#[test]
fn a_table_that_takes_little_of_the_cache_is_read_from_the_disk_once() {
    let columns = narrow();
    for (cache_pages, kept) in [(1024, true), (256, false)] {
        let engine = engine(RecoveryModel::Simple, cache_pages * PAGE_BYTES as usize);
        create(&engine, &columns, None);
        load(&engine, &columns, 20_000, SORTED);
        let pages = engine.snapshot().table("t").unwrap().data_pages();
        assert!((129..=512).contains(&pages), "more than half of the small cache, less of the other");
        let read = || {
            let before: u64 = engine.file_io().iter().map(|file| file.bytes_read).sum();
            let rows: usize = engine
                .snapshot()
                .read_table("t")
                .unwrap()
                .scan(None)
                .unwrap()
                .map(|batch| batch.unwrap().num_rows())
                .sum();
            assert_eq!(rows, 20_000);
            engine.file_io().iter().map(|file| file.bytes_read).sum::<u64>() - before
        };
        assert_eq!(read(), pages * PAGE_BYTES);
        assert_eq!(read(), if kept { 0 } else { pages * PAGE_BYTES });
        // A scan reads the pages that were changed in the cache.
        let mut transaction = engine.begin();
        let mut scan = transaction.read_table("t").unwrap().scan(None).unwrap();
        let (rows, addresses) = scan.next_with_addresses().unwrap().unwrap();
        drop(scan);
        let before = engine.snapshot();
        transaction.open_table("t").unwrap().delete(&addresses).unwrap();
        let count =
            |scan: bulkwire_store::Scan| -> usize { scan.map(|batch| batch.unwrap().num_rows()).sum() };
        assert_eq!(count(transaction.read_table("t").unwrap().scan(None).unwrap()), 20_000 - rows.num_rows());
        assert_eq!(count(engine.snapshot().read_table("t").unwrap().scan(None).unwrap()), 20_000);
        transaction.commit().unwrap();
        assert_eq!(
            count(engine.snapshot().read_table("t").unwrap().scan(None).unwrap()),
            20_000 - rows.num_rows()
        );
        assert_eq!(count(before.read_table("t").unwrap().scan(None).unwrap()), 20_000);
    }
}
