//! Snapshots of what was, while more pages change than memory is to hold.

use std::sync::Arc;

use bulkwire_store::{Engine, EngineError, EngineOptions, Scan};

use crate::basics::options;
use crate::support::volume::MemoryVolume;
use crate::workload::{Row, batch, columns, contents, rows_of, scanned};

const CACHE_PAGES: usize = 96;
const MEMORY_PAGES: usize = 40;
const FILE: &str = "versions.tmp";

fn bounded() -> EngineOptions {
    EngineOptions {
        version_memory_bytes: MEMORY_PAGES * 8192,
        ..options(bulkwire_store::RecoveryModel::Simple)
    }
}

fn rows(text: char) -> Vec<Row> {
    (0..14_000).map(|id| (id, Some(text.to_string().repeat(580)), None)).collect()
}

/// A heap and a tree of more than ten caches each.
fn filled(volume: &MemoryVolume) -> Engine {
    let engine = Engine::open_on(Arc::new(volume.clone()), bounded()).unwrap();
    let mut transaction = engine.begin();
    transaction.create_table("heap", columns(), "").unwrap();
    transaction
        .create_tree("tree", columns(), &bulkwire_store::IndexDefinition::unique("", &[0]), "")
        .unwrap();
    for name in ["heap", "tree"] {
        transaction.open_table(name).unwrap().bulk_load(&[batch(&rows('a'))]).unwrap();
    }
    transaction.commit().unwrap();
    for name in ["heap", "tree"] {
        assert!(engine.snapshot().table(name).unwrap().data_pages() as usize >= 10 * CACHE_PAGES);
    }
    engine
}

/// Gives all rows of both tables another text, in one transaction.
fn change(engine: &Engine, text: char) -> bulkwire_store::Transaction {
    let mut transaction = engine.begin();
    for part in rows(text).chunks(2000) {
        transaction.open_table("tree").unwrap().update_keyed(&batch(part)).unwrap();
    }
    let mut scan = transaction.read_table("heap").unwrap().scan(None).unwrap();
    let mut found = Vec::new();
    while let Some(next) = scan.next_with_addresses() {
        let (batch, addresses) = next.unwrap();
        found.extend(rows_of(&batch).into_iter().zip(addresses));
    }
    drop(scan);
    for part in found.chunks(2000) {
        let addresses: Vec<_> = part.iter().map(|(_, address)| *address).collect();
        let rows: Vec<Row> =
            part.iter().map(|(row, _)| (row.0, Some(text.to_string().repeat(580)), None)).collect();
        transaction.open_table("heap").unwrap().update(&addresses, &batch(&rows)).unwrap();
    }
    transaction
}

fn all_are(scan: Scan, text: char) {
    assert!(scanned(scan).unwrap() == rows(text), "all rows have {text}");
}

#[test]
fn a_snapshot_reads_what_was_while_ten_caches_change() {
    let volume = MemoryVolume::default();
    let engine = filled(&volume);
    let within_bounds = |least: usize| {
        let usage = engine.usage();
        assert!(usage.page_versions >= least, "{usage:?}");
        assert!(usage.page_versions - usage.spilled_page_versions <= MEMORY_PAGES, "{usage:?}");
        assert!(usage.cached_pages <= CACHE_PAGES + 16, "{usage:?}");
    };
    let old = engine.snapshot();
    let transaction = change(&engine, 'b');
    within_bounds(20 * CACHE_PAGES);
    for name in ["heap", "tree"] {
        all_are(old.read_table(name).unwrap().scan(None).unwrap(), 'a');
        all_are(engine.snapshot().read_table(name).unwrap().scan(None).unwrap(), 'a');
        all_are(transaction.read_table(name).unwrap().scan(None).unwrap(), 'b');
    }
    transaction.commit().unwrap();
    within_bounds(20 * CACHE_PAGES);
    let middle = engine.snapshot();
    // Undone: the pages are what they were, and nothing of it is kept.
    let before = engine.usage();
    change(&engine, 'x').rollback().unwrap();
    assert_eq!(engine.usage().page_versions, before.page_versions);
    change(&engine, 'c').commit().unwrap();
    within_bounds(40 * CACHE_PAGES);
    for name in ["heap", "tree"] {
        all_are(old.read_table(name).unwrap().scan(None).unwrap(), 'a');
        all_are(middle.read_table(name).unwrap().scan(None).unwrap(), 'b');
        all_are(engine.snapshot().read_table(name).unwrap().scan(None).unwrap(), 'c');
        let ordered = old.read_table("tree").unwrap().ordered_scan(None, None, None).unwrap();
        assert!(ordered.flat_map(|batch| rows_of(&batch.unwrap())).eq(rows('a')));
    }
    drop(old);
    for name in ["heap", "tree"] {
        all_are(middle.read_table(name).unwrap().scan(None).unwrap(), 'b');
    }
    drop(middle);
    let usage = engine.usage();
    assert_eq!((usage.page_versions, usage.spilled_page_versions), (0, 0));
    // The disk has its room again.
    assert_eq!(volume.length_bytes(FILE), 0);
    assert_eq!(engine.check().unwrap(), []);
    drop(engine);
    let engine = Engine::open_on(Arc::new(volume.clone()), bounded()).unwrap();
    assert!(!volume.names().contains(&FILE.to_owned()));
    assert!(contents(&engine)["heap"] == rows('c'));
}

#[test]
fn versions_that_no_disk_takes_stay_in_memory() {
    let volume = MemoryVolume::default();
    let engine = filled(&volume);
    let old = engine.snapshot();
    volume.set_unwritable(Some(FILE.to_owned()));
    let transaction = change(&engine, 'b');
    let usage = engine.usage();
    assert_eq!(usage.spilled_page_versions, 0);
    assert!(usage.page_versions >= 20 * CACHE_PAGES);
    for name in ["heap", "tree"] {
        all_are(old.read_table(name).unwrap().scan(None).unwrap(), 'a');
    }
    volume.set_unwritable(None);
    transaction.commit().unwrap();
    change(&engine, 'c').commit().unwrap();
    assert!(engine.usage().spilled_page_versions >= 20 * CACHE_PAGES);
    for name in ["heap", "tree"] {
        all_are(old.read_table(name).unwrap().scan(None).unwrap(), 'a');
    }
}

#[test]
fn a_damaged_version_is_error_824_for_the_snapshot_alone() {
    let volume = MemoryVolume::default();
    let engine = filled(&volume);
    let old = engine.snapshot();
    change(&engine, 'b').commit().unwrap();
    let places = engine.usage().spilled_page_versions as u64;
    (0..places).for_each(|place| volume.damage(FILE, place * 8192 + 4000, &[0xEE; 3]));
    let error = scanned(old.read_table("heap").unwrap().scan(None).unwrap()).unwrap_err();
    assert!(matches!(error, EngineError::DamagedPage { .. }), "{error}");
    assert_eq!(error.sql_error(), Some(824));
    for name in ["heap", "tree"] {
        all_are(engine.snapshot().read_table(name).unwrap().scan(None).unwrap(), 'b');
    }
    assert_eq!(engine.check().unwrap(), []);
}
