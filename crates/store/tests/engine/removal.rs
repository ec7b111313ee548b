//! Data files that are emptied, made smaller and taken out; groups whose files grow together.

use std::sync::Arc;

use bulkwire_store::disk::volume::Volume;
use bulkwire_store::{
    DataFileOptions, Engine, FileGrowth, IndexDefinition, KeyColumn, Placement, RecoveryModel, restore_log,
};

use crate::basics::{MODELS, options};
use crate::support::Random;
use crate::support::volume::MemoryVolume;
use crate::workload::{Model, Row, batch, columns, contents, step};

fn open(volume: &MemoryVolume, model: RecoveryModel) -> Engine {
    Engine::open_on(Arc::new(volume.clone()), options(model)).unwrap()
}

fn file(name: &str) -> DataFileOptions {
    DataFileOptions { name: name.to_owned(), ..DataFileOptions::default() }
}

fn rows(ids: std::ops::Range<i32>) -> Vec<Row> {
    ids.map(|id| (id, Some("t".repeat(600)), (id % 50 == 0).then(|| vec![7; 9000]))).collect()
}

fn numbers(engine: &Engine) -> Vec<u16> {
    engine.data_files().iter().map(|file| file.file).collect()
}

/// Fills a heap with an index and a clustered table, in all files of the default group.
fn fill(engine: &Engine) {
    let mut transaction = engine.begin();
    transaction.create_table("heap", columns(), "").unwrap();
    let key = vec![KeyColumn::descending(0)];
    transaction
        .open_table("heap")
        .unwrap()
        .create_index(&IndexDefinition { key, ..IndexDefinition::new("own", &[]) })
        .unwrap();
    transaction
        .create_tree("tree", columns(), &bulkwire_store::IndexDefinition::unique("", &[0]), "")
        .unwrap();
    for name in ["heap", "tree"] {
        transaction.open_table(name).unwrap().bulk_load(&[batch(&rows(0..3000))]).unwrap();
        transaction.open_table(name).unwrap().insert(&batch(&rows(3000..3050))).unwrap();
    }
    transaction.commit().unwrap();
}

#[test]
fn a_file_is_emptied_and_taken_out() {
    for model in MODELS {
        let volume = MemoryVolume::default();
        let engine = open(&volume, model);
        assert_eq!(engine.files().add_data_file_to(None, &file("third")).unwrap(), 3);
        fill(&engine);
        let before = contents(&engine);
        for name in ["data-2", "THIRD"] {
            let error = engine.files().remove_data_file(name).unwrap_err();
            assert_eq!(error.sql_error(), Some(5042), "{error}");
        }
        // Pages that a snapshot may read are not moved.
        let snapshot = engine.snapshot();
        let error = engine.files().empty_data_file("third").unwrap_err();
        assert_eq!(error.sql_error(), Some(2555), "{error}");
        drop(snapshot);
        engine.files().empty_data_file("third").unwrap();
        assert_eq!(contents(&engine), before);
        assert_eq!(engine.check().unwrap(), []);
        let third = engine.data_files()[2].clone();
        assert_eq!(third.free_pages + third.mixed_pages, third.size_pages - 16, "{third:?}");
        engine.files().remove_data_file("third").unwrap();
        assert_eq!(numbers(&engine), [1, 2]);
        assert!(!volume.names().contains(&"data-3.pages".to_owned()));
        for (name, number) in [("third", 5041), ("data-1", 5020)] {
            assert_eq!(engine.files().remove_data_file(name).unwrap_err().sql_error(), Some(number));
        }
        assert_eq!(engine.check().unwrap(), []);
        let left = MemoryVolume::on(volume.disk().after_power_cut(&mut Random(1)));
        let again = open(&left, model);
        assert_eq!((contents(&again), numbers(&again)), (before.clone(), vec![1, 2]));
        assert_eq!(again.check().unwrap(), []);
        // Its number is not given again.
        assert_eq!(again.files().add_data_file_to(None, &file("third")).unwrap(), 4);
        drop(again);
        drop(engine);
        let engine = open(&volume, model);
        assert_eq!(engine.files().add_data_file_to(None, &file("fourth")).unwrap(), 4);
        assert_eq!(contents(&engine), before);
    }
}

#[test]
fn the_file_of_a_group_of_its_own_goes_when_its_tables_are_gone() {
    let volume = MemoryVolume::default();
    let engine = open(&volume, RecoveryModel::BulkLogged);
    engine.files().add_file_group("own").unwrap();
    engine.files().add_data_file_to(Some("own"), &file("own1")).unwrap();
    let place = Placement { rows: Some("own".to_owned()), large_values: None };
    let mut transaction = engine.begin();
    let none = bulkwire_store::Compression::None;
    transaction.create_table_on("t", columns(), None, none, &place, "").unwrap();
    transaction.open_table("t").unwrap().bulk_load(&[batch(&rows(0..500))]).unwrap();
    transaction.commit().unwrap();
    // There is no other file to move it to.
    assert_eq!(engine.files().empty_data_file("own1").unwrap_err().sql_error(), Some(2555));
    assert_eq!(engine.files().remove_data_file("own1").unwrap_err().sql_error(), Some(5042));
    let mut transaction = engine.begin();
    transaction.open_table("t").unwrap().drop().unwrap();
    assert_eq!(engine.files().remove_data_file("own1").unwrap_err().sql_error(), Some(5042));
    transaction.commit().unwrap();
    engine.files().remove_data_file("own1").unwrap();
    engine.files().remove_file_group("own").unwrap();
    assert_eq!(engine.check().unwrap(), []);
    drop(engine);
    let engine = open(&volume, RecoveryModel::BulkLogged);
    assert_eq!(numbers(&engine), [1, 2]);
    assert_eq!(engine.check().unwrap(), []);
}

#[test]
fn a_power_cut_leaves_a_file_or_takes_it_and_nothing_in_between() {
    let (mut with, mut without) = (0, 0);
    for (seed, model) in (0..).zip(MODELS) {
        let volume = MemoryVolume::recording();
        let engine = open(&volume, model);
        engine.files().add_data_file_to(None, &file("third")).unwrap();
        fill(&engine);
        let expected = contents(&engine);
        let filled = volume.operations();
        // Open all the time, in the other files.
        let mut open_one = engine.begin();
        open_one.create_table("open", columns(), "").unwrap();
        engine.files().empty_data_file("third").unwrap();
        open_one.open_table("open").unwrap().insert(&batch(&rows(0..20))).unwrap();
        engine.files().remove_data_file("third").unwrap();
        open_one.open_table("open").unwrap().insert(&batch(&rows(20..40))).unwrap();
        engine.checkpoint().unwrap();
        engine.files().shrink_data_file("data-2", 0).unwrap();
        drop(open_one);
        volume.replay(|done, disk| {
            if done < filled {
                return;
            }
            let left = MemoryVolume::on(disk.after_power_cut(&mut Random(seed << 32 | done)));
            let engine = open(&left, model);
            assert_eq!(contents(&engine), expected, "{model:?}, after {done}");
            assert_eq!(engine.check().unwrap(), [], "{model:?}, after {done}");
            let has_file = left.names().contains(&"data-3.pages".to_owned());
            assert_eq!(has_file, numbers(&engine).contains(&3), "{model:?}, after {done}");
            if has_file { with += 1 } else { without += 1 }
        });
    }
    assert!(with > 50 && without > 20, "{with}, {without}");
}

#[test]
fn a_file_gives_its_free_end_back() {
    let volume = MemoryVolume::default();
    let engine = open(&volume, RecoveryModel::Full);
    fill(&engine);
    let before = contents(&engine);
    let mut transaction = engine.begin();
    transaction.create_table("gone", columns(), "").unwrap();
    transaction.open_table("gone").unwrap().bulk_load(&[batch(&rows(0..9000))]).unwrap();
    transaction.commit().unwrap();
    let mut transaction = engine.begin();
    transaction.open_table("gone").unwrap().drop().unwrap();
    transaction.commit().unwrap();
    let size = |engine: &Engine| engine.data_files()[0].size_pages * 8192;
    let large = size(&engine);
    let shrunk = engine.files().shrink_data_file("DATA-1", 0).unwrap();
    assert_eq!(shrunk, size(&engine));
    assert!(shrunk < large * 3 / 4, "{large} to {shrunk}");
    assert_eq!(engine.check().unwrap(), []);
    assert_eq!(contents(&engine), before);
    let left = MemoryVolume::on(volume.disk().after_power_cut(&mut Random(2)));
    let engine = open(&left, RecoveryModel::Full);
    assert_eq!((size(&engine), contents(&engine)), (shrunk, before.clone()));
    // It grows again, over what was there before.
    let mut transaction = engine.begin();
    transaction.create_table("more", columns(), "").unwrap();
    transaction.open_table("more").unwrap().bulk_load(&[batch(&rows(0..9000))]).unwrap();
    transaction.commit().unwrap();
    assert_eq!(engine.check().unwrap(), []);
    drop(engine);
    let engine = open(&left, RecoveryModel::Full);
    assert_eq!(contents(&engine)["more"], rows(0..9000));
    assert_eq!(engine.files().shrink_data_file("none", 0).unwrap_err().sql_error(), Some(5041));
    // No less than asked for.
    let kept = engine.files().shrink_data_file("data-2", 1 << 30).unwrap();
    assert_eq!(kept, engine.data_files()[1].size_pages * 8192);
}

#[test]
fn log_backups_go_over_the_removal_of_a_file() {
    let volume = MemoryVolume::default();
    {
        let engine = open(&volume, RecoveryModel::BulkLogged);
        engine.files().add_data_file_to(None, &file("third")).unwrap();
    }
    let base = MemoryVolume::on(volume.disk());
    let engine = open(&volume, RecoveryModel::BulkLogged);
    fill(&engine);
    let mut backups: Vec<(Vec<u8>, Model)> = Vec::new();
    let backup = |backups: &mut Vec<(Vec<u8>, Model)>| {
        let mut bytes = Vec::new();
        engine.backup_log(&mut bytes).unwrap();
        backups.push((bytes, contents(&engine)));
    };
    backup(&mut backups);
    let mut transaction = engine.begin();
    transaction.open_table("heap").unwrap().insert(&batch(&rows(5000..5100))).unwrap();
    transaction.commit().unwrap();
    engine.files().empty_data_file("third").unwrap();
    engine.files().remove_data_file("third").unwrap();
    backup(&mut backups);
    let mut model = contents(&engine);
    let mut random = Random(4);
    for _ in 0..4 {
        let mut next = model.clone();
        if step(&engine, &mut next, &mut random).unwrap() {
            model = next;
        }
    }
    backup(&mut backups);
    for count in 1..=backups.len() {
        let restored = MemoryVolume::on(base.disk());
        let to: Arc<dyn Volume> = Arc::new(restored.clone());
        backups[..count].iter().for_each(|(bytes, _)| drop(restore_log(&to, &mut &**bytes).unwrap()));
        let engine = open(&restored, RecoveryModel::BulkLogged);
        assert_eq!(contents(&engine), backups[count - 1].1, "{count} backups");
        assert_eq!(engine.check().unwrap(), [], "{count} backups");
        assert_eq!(numbers(&engine).len(), if count == 1 { 3 } else { 2 });
    }
}

#[test]
fn the_files_of_a_group_grow_together_if_that_is_said() {
    for together in [false, true] {
        let volume = MemoryVolume::default();
        let engine = open(&volume, RecoveryModel::Simple);
        engine.files().add_file_group("g").unwrap();
        let growing = DataFileOptions { growth: FileGrowth::Bytes(2 << 20), ..DataFileOptions::default() };
        for name in ["a", "b", "c"] {
            let options = DataFileOptions { name: name.to_owned(), ..growing.clone() };
            engine.files().add_data_file_to(Some("g"), &options).unwrap();
        }
        // One that cannot grow keeps no other from it.
        let fixed = DataFileOptions { growth: FileGrowth::None, ..file("d") };
        engine.files().add_data_file_to(Some("g"), &fixed).unwrap();
        engine.files().set_default_file_group("g").unwrap();
        engine.files().set_file_group_growth("G", together).unwrap();
        assert_eq!(engine.files().set_file_group_growth("none", true).unwrap_err().sql_error(), Some(1921));
        drop(engine);
        let engine = open(&volume, RecoveryModel::Simple);
        assert_eq!(engine.files().file_groups()[1].grows_together, together);
        let sizes = || -> Vec<u64> { engine.data_files()[2..].iter().map(|file| file.size_pages).collect() };
        let first = sizes();
        let mut transaction = engine.begin();
        transaction.create_table("t", columns(), "").unwrap();
        let mut uneven = 0;
        for part in 0..12 {
            transaction
                .open_table("t")
                .unwrap()
                .bulk_load(&[batch(&rows(part * 700..part * 700 + 700))])
                .unwrap();
            let sizes = sizes();
            uneven += usize::from(sizes[0] != sizes[1] || sizes[1] != sizes[2]);
            assert_eq!(sizes[3], first[3]);
        }
        transaction.commit().unwrap();
        assert!(sizes()[0] > first[0]);
        assert_eq!(uneven > 0, !together, "{:?}", sizes());
        assert_eq!(engine.check().unwrap(), []);
    }
}
