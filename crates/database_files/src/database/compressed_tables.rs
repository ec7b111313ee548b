//! Tables of real files, whose rows the embedded server's store has compressed: put in place of the plain ones, they read as these.
//!
//! No real file with compressed rows is at hand, so the pages are the store's, which makes them by the same published format.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::{fs, sync::Arc};

use arrow::{
    array::{ArrayRef, RecordBatch},
    compute::cast,
};
use store::{Column, Compression, Engine, EngineOptions, Kind, RebuildOptions, record::layout::Layout};
use tds::{Length, SqlType};

use super::PagedDatabase;
use super::real_files::{self, rows};
use crate::{
    catalogue::UnitPages,
    definition::Table,
    pages::{PAGE_BYTES, Page, PageAddress},
    random_access::{InMemory, LocalFile, ReadAt},
};

/// Rowsets of the catalogue that say how a table is stored.
const SYSROWSETS: i64 = 5 << 16;
const SYSRSCOLS: i64 = 3 << 16;

const TABLES: [(&str, &str); 9] = [
    ("northwind-655/NORTHWND.MDF", "dbo.Orders"),
    ("northwind-655/NORTHWND.MDF", "dbo.Order Details"),
    ("northwind-655/NORTHWND.MDF", "dbo.Products"),
    ("northwind-655/NORTHWND.MDF", "dbo.Customers"),
    ("northwind-655/NORTHWND.MDF", "dbo.EmployeeTerritories"),
    ("pubs-655/pubs.mdf", "dbo.titles"),
    ("pubs-655/pubs.mdf", "dbo.authors"),
    ("pubs-655/pubs.mdf", "dbo.sales"),
    ("pubs-655/pubs.mdf", "dbo.employee"),
];

#[test]
fn compressed_rows_read_as_plain_ones() {
    for (file, name) in TABLES {
        let Some(file) = real_files::path(file) else { return };
        let plain = open(Arc::new(LocalFile::open(&file).unwrap()));
        let index = plain.tables().position(|table| table.full_name() == name).unwrap();
        let expected = rows(&plain, index);
        for compression in [Compression::Row, Compression::Page] {
            let pages = compressed_pages(&plain.tables[index].table, &expected, compression);
            let bytes = with_pages(&plain, index, fs::read(&file).unwrap(), pages, compression);
            let compressed = open(Arc::new(InMemory::new("compressed.mdf", bytes)));
            assert_same(&rows(&compressed, index), &expected, &format!("{name} {compression}"));
        }
    }
}

fn assert_same(found: &RecordBatch, expected: &RecordBatch, what: &str) {
    assert_eq!(found.num_rows(), expected.num_rows(), "{what}");
    for (index, field) in expected.schema().fields().iter().enumerate() {
        for row in 0..expected.num_rows() {
            let of = |batch: &RecordBatch| batch.column(index).slice(row, 1);
            assert_eq!(&of(found), &of(expected), "{what}: {}, row {row}", field.name());
        }
    }
}

fn open(source: Arc<dyn ReadAt>) -> PagedDatabase {
    PagedDatabase::open(vec![source], None).unwrap()
}

/// Makes the pages that the store has for the rows, in the order of their keys.
fn compressed_pages(table: &Table, rows: &RecordBatch, compression: Compression) -> Vec<Vec<u8>> {
    let columns: Vec<Column> = table.stored_columns().map(column).collect();
    let layout = Layout::new(columns.clone()).unwrap();
    let arrays: Vec<ArrayRef> = rows
        .columns()
        .iter()
        .zip(layout.schema.fields())
        .map(|(array, field)| cast(array, field.data_type()).unwrap())
        .collect();
    let batch = RecordBatch::try_new(layout.schema.clone(), arrays).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(folder.path(), EngineOptions::default()).unwrap();
    let mut transaction = engine.begin();
    transaction.create_table("t", columns, "").unwrap();
    let mut of_table = transaction.open_table("t").unwrap();
    of_table.rebuild(RebuildOptions::compressed(compression)).unwrap();
    let mut writer = of_table.bulk_writer_with(Default::default()).unwrap();
    writer.append(&batch).unwrap();
    transaction.open_table("t").unwrap().finish_bulk(writer).unwrap();
    transaction.commit().unwrap();
    engine.checkpoint().unwrap();
    drop(engine);
    let mut pages = Vec::new();
    for file in fs::read_dir(folder.path()).unwrap() {
        let path = file.unwrap().path();
        let bytes = if path.is_file() { fs::read(path).unwrap() } else { Vec::new() };
        pages.extend(
            bytes.chunks_exact(PAGE_BYTES).filter(|page| has_compressed_rows(page)).map(<[u8]>::to_vec),
        );
    }
    assert!(!pages.is_empty());
    pages
}

/// Returns true for a page of the store whose first row is compressed.
fn has_compressed_rows(page: &[u8]) -> bool {
    let first = usize::from(u16::from_le_bytes([page[PAGE_BYTES - 2], page[PAGE_BYTES - 1]]));
    page[..2] == [1, 1] && (96..PAGE_BYTES).contains(&first) && page[first] & 1 == 1
}

fn column(column: &crate::Column) -> Column {
    let kind = match column.sql_type {
        SqlType::Bit => Kind::Bit,
        SqlType::TinyInt => Kind::TinyInt,
        SqlType::SmallInt => Kind::SmallInt,
        SqlType::Int => Kind::Int,
        SqlType::Real => Kind::Real,
        SqlType::Money => Kind::Money,
        SqlType::DateTime => Kind::DateTime,
        SqlType::Char { length } => Kind::Char(length),
        SqlType::NChar { length } => Kind::NChar(length),
        SqlType::VarChar { length: Length::Units(length) } => Kind::VarChar(Some(length)),
        SqlType::NVarChar { length: Length::Units(length) } => Kind::NVarChar(Some(length)),
        ref other => panic!("{other}"),
    };
    Column { name: column.name.clone(), kind, nullable: column.is_nullable }
}

/// Puts pages in place of those of a table, and has the catalogue say that they are compressed.
fn with_pages(
    database: &PagedDatabase,
    index: usize,
    mut file: Vec<u8>,
    mut pages: Vec<Vec<u8>>,
    compression: Compression,
) -> Vec<u8> {
    let rowset = database.tables[index].rowsets[0].id;
    change_records(database, SYSROWSETS, &mut file, |record| {
        if record[4..12] == rowset.to_le_bytes() {
            record[39] = compression as u8;
        }
    });
    let mut numbers = Vec::new();
    change_records(database, SYSRSCOLS, &mut file, |record| {
        let number = u32::from_le_bytes(record[12..16].try_into().unwrap());
        if record[4..12] == rowset.to_le_bytes() && number != 0 {
            numbers.push(number);
        }
    });
    numbers.sort_unstable();
    change_records(database, SYSRSCOLS, &mut file, |record| {
        let number = u32::from_le_bytes(record[12..16].try_into().unwrap());
        if record[4..12] == rowset.to_le_bytes() {
            // The uniquifier, if there is one, gets a place that no row has.
            let position = numbers.iter().position(|other| *other == number).unwrap_or(numbers.len());
            record[44..46].copy_from_slice(&(-1 - position as i16).to_le_bytes());
        }
    });
    let of_table = pages_of(database, rowset);
    assert!(pages.len() <= of_table.len(), "{} pages for {}", pages.len(), of_table.len());
    pages.resize(of_table.len(), vec![0; PAGE_BYTES]);
    for (address, mut bytes) in of_table.into_iter().zip(pages) {
        let old = database.image.page(address).unwrap();
        // Upper pages of the tree become data pages, too.
        bytes[..2].copy_from_slice(&[1, 1]);
        // No checksum, and the place in the chain and in the file of the page before.
        bytes[4..22].copy_from_slice(&old.bytes()[4..22]);
        bytes[4..6].fill(0);
        bytes[24..28].copy_from_slice(&old.bytes()[24..28]);
        bytes[32..40].copy_from_slice(&old.bytes()[32..40]);
        put(&mut file, address, &bytes);
    }
    file
}

fn pages_of(database: &PagedDatabase, rowset: i64) -> Vec<PageAddress> {
    UnitPages::list(&database.image, database.units.of_rows(rowset).unwrap()).unwrap()
}

/// Changes records of a rowset in place.
fn change_records(database: &PagedDatabase, rowset: i64, file: &mut [u8], mut change: impl FnMut(&mut [u8])) {
    for address in pages_of(database, rowset) {
        let start = address.page as usize * PAGE_BYTES;
        // An earlier change took the checksum away.
        let bytes: [u8; PAGE_BYTES] = file[start..start + PAGE_BYTES].try_into().unwrap();
        let page = Page::verified(Box::new(bytes)).ok().unwrap();
        let mut bytes = page.bytes().to_vec();
        bytes[4..6].fill(0);
        for slot in 0..page.slots() {
            let entry = PAGE_BYTES - 2 * (usize::from(slot) + 1);
            let at = usize::from(u16::from_le_bytes([bytes[entry], bytes[entry + 1]]));
            if at > 0 {
                change(&mut bytes[at..]);
            }
        }
        put(file, address, &bytes);
    }
}

fn put(file: &mut [u8], address: PageAddress, bytes: &[u8]) {
    let start = address.page as usize * PAGE_BYTES;
    file[start..start + PAGE_BYTES].copy_from_slice(bytes);
}
