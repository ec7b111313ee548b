//! File groups: tables stay in the files of theirs, and what happens when these are full.

use std::sync::Arc;

use bulkwire_store::catalogue::Table;
use bulkwire_store::disk::volume::Volume;
use bulkwire_store::page::unit::UnitKind;
use bulkwire_store::{
    Compression, DataFileOptions, Engine, EngineError, FileGrowth, IndexDefinition, Placement, RecoveryModel,
    restore_log,
};

use crate::basics::{MODELS, options};
use crate::support::volume::MemoryVolume;
use crate::workload::{Row, batch, columns, contents, scanned};

const MEGABYTE: u64 = 1 << 20;

fn open(volume: &MemoryVolume, model: RecoveryModel) -> Engine {
    Engine::open_on(Arc::new(volume.clone()), options(model)).unwrap()
}

fn file(name: &str) -> DataFileOptions {
    DataFileOptions { name: name.to_owned(), ..DataFileOptions::default() }
}

/// About 600 bytes each in the row, and now and then a large value.
fn rows(ids: std::ops::Range<i32>) -> Vec<Row> {
    ids.map(|id| (id, Some("x".repeat(580)), (id % 10 == 0).then(|| vec![7; 20_000]))).collect()
}

fn in_group(rows: &str) -> Placement {
    Placement { rows: Some(rows.to_owned()), large_values: None }
}

/// The files in which a unit has extents.
fn files_of(table: &Table, kind: UnitKind) -> Vec<u16> {
    let mut files: Vec<u16> = table.unit(kind).extents.iter().map(|extent| extent.extent.file).collect();
    files.sort_unstable();
    files.dedup();
    files
}

fn read(engine: &Engine, name: &str) -> Vec<Row> {
    scanned(engine.snapshot().read_table(name).unwrap().scan(None).unwrap()).unwrap()
}

fn create(engine: &Engine, name: &str, placement: &Placement, key: Option<&IndexDefinition>) {
    let mut transaction = engine.begin();
    transaction.create_table_on(name, columns(), key, Compression::None, placement, "").unwrap();
    transaction.commit().unwrap();
}

#[test]
fn tables_and_indexes_stay_in_the_files_of_their_groups() {
    for model in MODELS {
        let volume = MemoryVolume::default();
        // PRIMARY has the files 1 and 2.
        let engine = open(&volume, model);
        assert_eq!(engine.files().add_file_group("data").unwrap(), 2);
        assert_eq!(engine.files().add_file_group("blobs").unwrap(), 3);
        assert_eq!(engine.files().add_data_file_to(Some("DATA"), &file("d1")).unwrap(), 3);
        assert_eq!(engine.files().add_data_file_to(Some("data"), &file("d2")).unwrap(), 4);
        assert_eq!(engine.files().add_data_file_to(Some("blobs"), &file("b1")).unwrap(), 5);
        let placement = Placement { rows: Some("data".to_owned()), large_values: Some("blobs".to_owned()) };
        create(&engine, "heap", &placement, None);
        create(&engine, "tree", &in_group("data"), Some(&IndexDefinition::unique("pk", &[0])));
        create(&engine, "plain", &Placement::default(), None);
        for name in ["heap", "tree", "plain"] {
            let mut transaction = engine.begin();
            transaction.open_table(name).unwrap().bulk_load(&[batch(&rows(0..3000))]).unwrap();
            transaction.open_table(name).unwrap().insert(&batch(&rows(3000..3100))).unwrap();
            transaction.open_table(name).unwrap().create_index(&IndexDefinition::new("own", &[0])).unwrap();
            transaction
                .open_table(name)
                .unwrap()
                .create_index_on(&IndexDefinition::new("other", &[0]), Some("blobs"))
                .unwrap();
            transaction.commit().unwrap();
        }
        engine.files().set_default_file_group("blobs").unwrap();
        create(&engine, "later", &Placement::default(), None);
        let check = |engine: &Engine| {
            let snapshot = engine.snapshot();
            let (index, other) = (UnitKind::Index(2), UnitKind::Index(3));
            let expected: [(&str, [&[u16]; 4]); 3] = [
                ("heap", [&[3, 4], &[5], &[3, 4], &[5]]),
                ("tree", [&[3, 4], &[3, 4], &[3, 4], &[5]]),
                ("plain", [&[1, 2], &[1, 2], &[1, 2], &[5]]),
            ];
            for (name, files) in expected {
                let table = snapshot.table(name).unwrap();
                for (kind, files) in [UnitKind::InRow, UnitKind::Large, index, other].into_iter().zip(files) {
                    // An index takes few extents: perhaps of one file only.
                    let found = files_of(table, kind);
                    let is_index = matches!(kind, UnitKind::Index(_));
                    let fits = if is_index {
                        found.iter().all(|file| files.contains(file))
                    } else {
                        found == *files
                    };
                    assert!(fits && !found.is_empty(), "{name}, {kind:?}: {found:?}");
                }
                let units = engine.snapshot().allocation_units(name).unwrap();
                assert_eq!(units.last().unwrap().group, 3);
            }
            assert_eq!(snapshot.table("later").unwrap().unit(UnitKind::InRow).group, 3);
            let groups = engine.files().file_groups();
            let groups: Vec<_> =
                groups.iter().map(|group| (group.id, group.name.as_str(), group.is_default)).collect();
            assert_eq!(groups, [(1, "PRIMARY", false), (2, "data", false), (3, "blobs", true)]);
            let files = engine.data_files();
            let files: Vec<_> = files
                .iter()
                .map(|file| (file.file, file.logical_name.as_str(), file.group_name.as_str()))
                .collect();
            let primary = [(1, "data-1", "PRIMARY"), (2, "data-2", "PRIMARY")];
            assert_eq!(
                files,
                [&primary[..], &[(3, "d1", "data"), (4, "d2", "data"), (5, "b1", "blobs")]].concat()
            );
            assert_eq!(read(engine, "heap"), rows(0..3100));
            assert_eq!(engine.check().unwrap(), []);
        };
        check(&engine);
        drop(engine);
        let engine = open(&volume, model);
        check(&engine);
        // Another key in another group takes the rows along, and leaves large values.
        let mut transaction = engine.begin();
        let key = IndexDefinition::unique("moved", &[0]);
        transaction.open_table("heap").unwrap().create_clustered_index_on(&key, Some("PRIMARY")).unwrap();
        transaction.commit().unwrap();
        let snapshot = engine.snapshot();
        let table = snapshot.table("heap").unwrap();
        assert_eq!(files_of(table, UnitKind::InRow), [1, 2]);
        assert_eq!(files_of(table, UnitKind::Large), [5]);
        assert_eq!(engine.check().unwrap(), []);
        drop(snapshot);
        drop(engine);
        let engine = open(&volume, model);
        assert_eq!(read(&engine, "heap"), rows(0..3100));
        assert_eq!(engine.check().unwrap(), []);
    }
}

#[test]
fn files_of_a_group_are_filled_in_proportion_to_what_is_free() {
    let engine = open(&MemoryVolume::default(), RecoveryModel::Simple);
    engine.files().add_file_group("g").unwrap();
    for (name, megabytes) in [("small", 4), ("large", 12)] {
        let options = DataFileOptions { size_bytes: megabytes * MEGABYTE, ..file(name) };
        engine.files().add_data_file_to(Some("g"), &options).unwrap();
    }
    create(&engine, "t", &in_group("g"), None);
    let mut transaction = engine.begin();
    for part in 0..20 {
        transaction
            .open_table("t")
            .unwrap()
            .bulk_load(&[batch(&rows(part * 300 + 1..part * 300 + 10))])
            .unwrap();
    }
    transaction
        .open_table("t")
        .unwrap()
        .bulk_load(&[batch(&(0..9000).map(|id| (id, Some("x".repeat(580)), None)).collect::<Vec<_>>())])
        .unwrap();
    transaction.commit().unwrap();
    let files = engine.data_files();
    assert_eq!(files.iter().map(|file| file.size_pages).collect::<Vec<_>>(), [144, 144, 512, 1536]);
    let used = |index: usize| files[index].size_pages - files[index].free_pages;
    // Three quarters of what is free are in the larger one.
    let share = used(3) as f64 / (used(2) + used(3)) as f64;
    assert!((0.6..0.85).contains(&share), "{share}: {files:?}");
}

#[test]
fn a_full_group_is_error_1105_with_its_name_and_the_others_go_on() {
    let volume = MemoryVolume::default();
    let engine = open(&volume, RecoveryModel::Full);
    engine.files().add_file_group("g").unwrap();
    let limited =
        |name, limit, growth| DataFileOptions { limit_bytes: Some(limit * MEGABYTE), growth, ..file(name) };
    engine.files().add_data_file_to(Some("g"), &limited("g1", 2, FileGrowth::Bytes(128 << 10))).unwrap();
    engine.files().add_data_file_to(Some("g"), &limited("g2", 4, FileGrowth::Percent(50))).unwrap();
    engine
        .files()
        .add_data_file_to(Some("g"), &DataFileOptions { growth: FileGrowth::None, ..file("g3") })
        .unwrap();
    create(&engine, "t", &in_group("g"), None);
    create(&engine, "elsewhere", &Placement::default(), None);
    let mut kept = 0;
    let error = loop {
        let mut transaction = engine.begin();
        match transaction.open_table("t").and_then(|mut table| table.insert(&batch(&rows(kept..kept + 100))))
        {
            Ok(_) => drop(transaction.commit().unwrap()),
            Err(error) => break error,
        }
        kept += 100;
    };
    assert_eq!(error.sql_error(), Some(1105));
    let EngineError::FileGroupFull { group, table, index, .. } = &error else { panic!("{error}") };
    assert_eq!((group.as_str(), table.as_str(), index), ("g", "t", &None));
    assert!(error.to_string().contains("'t' in file group \"g\""), "{error}");
    let sizes = |engine: &Engine| {
        engine.data_files().iter().skip(2).map(|file| file.size_pages * 8192 / MEGABYTE).collect::<Vec<_>>()
    };
    // 1, 1.5, 2.25, 3.3, and the rest.
    assert_eq!(sizes(&engine), [2, 4, 1]);
    // An index names itself too.
    let mut transaction = engine.begin();
    let error = loop {
        let index = IndexDefinition { included: vec![1], ..IndexDefinition::new("i", &[0]) };
        if let Err(error) = transaction.open_table("t").and_then(|mut table| table.create_index(&index)) {
            break error;
        }
        transaction.open_table("t").unwrap().drop_index("i").unwrap();
    };
    let EngineError::FileGroupFull { index: Some(_), .. } = &error else { panic!("{error}") };
    transaction.rollback().unwrap();
    let mut transaction = engine.begin();
    transaction.open_table("elsewhere").unwrap().bulk_load(&[batch(&rows(0..2000))]).unwrap();
    transaction.commit().unwrap();
    assert_eq!(contents(&engine)["t"], rows(0..kept));
    assert_eq!(engine.check().unwrap(), []);
    // A higher limit, and it goes on; also after another opening.
    engine.files().alter_data_file("G2", Some(8 * MEGABYTE), FileGrowth::Automatic).unwrap();
    drop(engine);
    let engine = open(&volume, RecoveryModel::Full);
    let mut transaction = engine.begin();
    transaction.open_table("t").unwrap().bulk_load(&[batch(&rows(kept..kept + 400))]).unwrap();
    transaction.commit().unwrap();
    assert_eq!(contents(&engine)["t"], rows(0..kept + 400));
    let file = &engine.data_files()[3];
    assert_eq!((file.limit_pages, file.growth), (Some(1024), FileGrowth::Automatic));
    assert_eq!(engine.check().unwrap(), []);
}

#[test]
fn names_are_checked() {
    let engine = open(&MemoryVolume::default(), RecoveryModel::Simple);
    engine.files().add_file_group("g").unwrap();
    let number = |error: EngineError| error.sql_error();
    assert_eq!(number(engine.files().add_file_group("G").unwrap_err()), Some(5035));
    assert_eq!(number(engine.files().set_default_file_group("g").unwrap_err()), Some(622));
    assert_eq!(number(engine.files().set_default_file_group("h").unwrap_err()), Some(1921));
    assert_eq!(number(engine.files().add_data_file_to(Some("h"), &file("")).unwrap_err()), Some(1921));
    assert_eq!(number(engine.files().add_data_file_to(None, &file("data-1")).unwrap_err()), Some(1828));
    assert_eq!(number(engine.files().alter_data_file("x", None, FileGrowth::None).unwrap_err()), Some(5041));
    let tiny = DataFileOptions { limit_bytes: Some(1000), ..file("tiny") };
    assert!(matches!(engine.files().add_data_file_to(None, &tiny), Err(EngineError::Schema { .. })));
    let mut transaction = engine.begin();
    let mut create = |group: &str| {
        transaction
            .create_table_on("t", columns(), None, Compression::None, &in_group(group), "")
            .unwrap_err()
            .sql_error()
    };
    assert_eq!(create("h"), Some(1921));
    assert_eq!(create("g"), Some(622));
    transaction.create_table("t", columns(), "").unwrap();
    transaction.commit().unwrap();
    assert_eq!(number(engine.files().remove_file_group("PRIMARY").unwrap_err()), Some(5042));
    engine.files().remove_file_group("g").unwrap();
    assert_eq!(engine.files().file_groups().len(), 1);
    assert_eq!(engine.check().unwrap(), []);
}

#[test]
fn a_log_backup_brings_groups_and_files_to_an_older_copy() {
    for model in [RecoveryModel::Full, RecoveryModel::BulkLogged] {
        let volume = MemoryVolume::default();
        drop(open(&volume, model));
        let copy = MemoryVolume::on(volume.disk());
        let engine = open(&volume, model);
        engine.files().add_file_group("g").unwrap();
        engine.files().add_data_file_to(Some("g"), &file("g1")).unwrap();
        engine.files().set_default_file_group("g").unwrap();
        create(&engine, "t", &Placement::default(), None);
        let mut transaction = engine.begin();
        transaction.open_table("t").unwrap().bulk_load(&[batch(&rows(0..2000))]).unwrap();
        transaction.commit().unwrap();
        let mut backup = Vec::new();
        engine.backup_log(&mut backup).unwrap();
        let target: Arc<dyn Volume> = Arc::new(copy.clone());
        restore_log(&target, &mut &*backup).unwrap();
        let restored = open(&copy, model);
        assert_eq!(restored.files().file_groups(), engine.files().file_groups());
        assert_eq!(contents(&restored)["t"], rows(0..2000));
        assert_eq!(files_of(restored.snapshot().table("t").unwrap(), UnitKind::InRow), [3]);
        assert_eq!(restored.check().unwrap(), []);
    }
}
