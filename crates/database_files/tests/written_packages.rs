//! Packages that are written: they read back as what was written, and their data are those of Microsoft's writer, byte by byte.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::{
    io::{Cursor, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use arrow::{array::RecordBatch, compute::concat_batches};
use bulkwire_database_files::{DatabaseFile, DatabaseProperties, InMemory, LocalFile, PackageWriter, Table};
use rows::Form;
use tds::Collation;

const PACKAGES: [&str; 8] = [
    "Clinic.bacpac",
    "PropertyMLS.bacpac",
    "QueryStoreTest.bacpac",
    "contosohr.bacpac",
    "minimal/shop.bacpac",
    "written-by-dacfx/types1.bacpac",
    "written-by-dacfx/t_json.bacpac",
    "written-by-dacfx/t_vector.bacpac",
];

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("BULKWIRE_BACPACS")
        .map_or_else(|| Path::new("../../../shared/data/bacpac").to_owned(), PathBuf::from);
    if !folder.is_dir() {
        println!("skipped: no packages of Microsoft's tools in {}", folder.display());
    }
    folder.is_dir().then_some(folder)
}

fn open(bytes: Vec<u8>) -> DatabaseFile {
    DatabaseFile::open(vec![Arc::new(InMemory::new("written.bacpac", bytes))], None).unwrap()
}

fn rows(database: &DatabaseFile, index: usize) -> RecordBatch {
    let reader = database.read(index, Form::Exact, 1000, 2).unwrap();
    let schema = Arc::clone(&reader.schema);
    let batches: Vec<RecordBatch> = reader.map(|batch| batch.unwrap()).collect();
    concat_batches(&schema, &batches).unwrap()
}

/// Writes the tables of a file that can be read.
fn written(database: &DatabaseFile) -> (Vec<u8>, Vec<Table>) {
    let all: Vec<Table> = database.tables().iter().map(|table| (*table).clone()).collect();
    let writer = PackageWriter::new("written.bacpac", Cursor::new(Vec::new()), true);
    let mut tables = Vec::new();
    for (index, table) in all.into_iter().enumerate().filter(|(_, table)| table.unreadable.is_none()) {
        let rows = rows(database, index);
        let mut of_table = writer.table(&table, &rows.schema()).unwrap();
        for start in (0..rows.num_rows()).step_by(700) {
            of_table.write(&rows.slice(start, 700.min(rows.num_rows() - start))).unwrap();
        }
        assert_eq!(of_table.finish().unwrap(), rows.num_rows() as u64);
        tables.push(table);
    }
    let properties =
        DatabaseProperties { name: "written".to_owned(), collation: Collation::SQL_LATIN1_GENERAL_CP1_CI_AS };
    (writer.finish(&properties, &tables).unwrap().into_inner(), tables)
}

#[test]
fn what_is_written_reads_back() {
    let Some(folder) = folder() else { return };
    let mut counted = 0;
    for name in PACKAGES {
        let file = LocalFile::open(&folder.join(name)).unwrap();
        let original = DatabaseFile::open(vec![Arc::new(file)], None).unwrap();
        let (bytes, tables) = written(&original);
        let copy = open(bytes);
        let found: Vec<Table> = copy.tables().iter().map(|table| (*table).clone()).collect();
        assert_eq!(found.len(), tables.len(), "{name}");
        for (index, (found, wanted)) in found.iter().zip(&tables).enumerate() {
            let wanted = Table { rows: None, bytes: None, left_out: Vec::new(), ..named(wanted) };
            assert_eq!(Table { left_out: Vec::new(), ..found.clone() }, wanted, "{name}");
            let number = original.tables().iter().position(|table| table.full_name() == found.full_name());
            assert_eq!(rows(&copy, index), rows(&original, number.unwrap()), "{name} {}", found.full_name());
            counted += 1;
        }
    }
    assert!(counted > 20, "{counted}");
}

/// Gives constraints and indexes the names that the writer makes up.
fn named(table: &Table) -> Table {
    let mut table = table.clone();
    for (number, index) in table.indexes.iter_mut().enumerate() {
        use bulkwire_database_files::KeyKind;
        let prefix = match index.key_kind {
            Some(KeyKind::Primary) => "PK",
            Some(KeyKind::Unique) => "UQ",
            None => "IX",
        };
        index.name.get_or_insert_with(|| format!("{prefix}_{}_{}", table.name, number + 1));
    }
    for column in &mut table.columns {
        let made_up = format!("DF_{}_{}", table.name, column.name);
        if let Some(default) = &mut column.default {
            default.name.get_or_insert(made_up);
        }
    }
    for (number, check) in table.checks.iter_mut().enumerate() {
        check.name.get_or_insert_with(|| format!("CK_{}_{}", table.name, number + 1));
    }
    for key in &mut table.foreign_keys {
        let made_up = format!("FK_{}_{}", table.name, key.columns.join("_"));
        key.name.get_or_insert(made_up);
    }
    table
}

#[test]
fn data_are_those_of_microsofts_writer() {
    let Some(folder) = folder() else { return };
    // Vectors are left out: their text is as their server spells it.
    for name in ["types1.bacpac", "t_json.bacpac"] {
        let theirs = std::fs::read(folder.join("written-by-dacfx").join(name)).unwrap();
        let (ours, _) = written(&open(theirs.clone()));
        let (theirs, ours) = (data_parts(theirs), data_parts(ours));
        assert_eq!(ours, theirs, "{name}");
        assert!(!ours.is_empty());
    }
}

fn data_parts(bytes: Vec<u8>) -> Vec<(String, Vec<u8>)> {
    let mut zip = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
    let names = zip.file_names().map(|name| name.unwrap().into_owned());
    let names: Vec<String> = names.filter(|name| name.starts_with("Data/")).collect();
    let mut parts: Vec<(String, Vec<u8>)> = names
        .into_iter()
        .map(|name| {
            let mut bytes = Vec::new();
            zip.by_name(&name).unwrap().read_to_end(&mut bytes).unwrap();
            (name, bytes)
        })
        .collect();
    parts.sort();
    parts
}
