//! Damages planted in real files and in packages of our own: each is an error, or hits bytes that no row depends on.
//!
//! `BULKWIRE_DAMAGES` sets how many a file gets (default 15).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::path::Path;
use std::sync::Arc;

use arrow::util::display::{ArrayFormatter, FormatOptions};
use bulkwire_database_files::{DatabaseFile, FileError, InMemory};
use rows::Form;

/// Returns the rows of all tables as text, in order; the first error ends it.
fn contents(name: &str, bytes: Vec<u8>) -> Result<String, FileError> {
    let database = DatabaseFile::open(vec![Arc::new(InMemory::new(name, bytes))], None)?;
    let mut text = String::new();
    for (index, table) in database.tables().into_iter().enumerate() {
        text.push_str(&table.full_name());
        for column in &table.columns {
            text.push_str(&format!(" {} {}", column.name, column.sql_type));
        }
        for batch in database.read(index, Form::Exact, 1000, 1)? {
            let batch = batch?;
            for column in batch.columns() {
                let options = FormatOptions::default();
                let shown = ArrayFormatter::try_new(column.as_ref(), &options).unwrap();
                (0..column.len()).for_each(|row| text.push_str(&shown.value(row).to_string()));
            }
        }
    }
    Ok(text)
}

/// Numbers by chance, the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound
    }
}

/// Plants damages one by one. How many of them were errors. Without checksums a changed value may look like any other.
fn plant(name: &str, sound: &[u8], has_checksums: bool) -> usize {
    let count = std::env::var("BULKWIRE_DAMAGES").ok().and_then(|text| text.parse().ok()).unwrap_or(15);
    let wanted = contents(name, sound.to_vec()).unwrap_or_else(|error| panic!("{error}"));
    let mut chance = Chance(sound.len() as u64);
    let mut errors = 0;
    for number in 0..count {
        let mut bytes = sound.to_vec();
        let at = chance.below(bytes.len());
        let what = match number % 3 {
            0 => {
                let bit = chance.below(8);
                bytes[at] ^= 1 << bit;
                format!("bit {bit} of byte {at}")
            }
            1 => {
                bytes.truncate(at);
                format!("cut at {at}")
            }
            _ => {
                let length = chance.below(600).min(bytes.len() - at);
                (at..at + length).for_each(|place| bytes[place] = chance.below(256) as u8);
                format!("{length} bytes at {at}")
            }
        };
        match contents(name, bytes) {
            Ok(found) => {
                assert!(!has_checksums || found == wanted, "{name}: {what}: other rows without an error")
            }
            Err(_) => errors += 1,
        }
    }
    errors
}

#[test]
fn a_damaged_file_gives_no_wrong_row() {
    let folder = std::env::var("BULKWIRE_SQL_SERVER_FILES")
        .unwrap_or_else(|_| "../../../shared/data/sql-server-files".to_owned());
    // Those of 2000 have torn bits in place of checksums.
    let files = [
        ("pubs-655/pubs.mdf", true),
        ("northwind-655/NORTHWND.MDF", false),
        ("northwind-611/northwind-full.bak", false),
        ("mit/TutorialDB.bak", true),
        ("mit/contosohr.bacpac", true),
        ("mit/Clinic.bacpac", true),
    ];
    for (file, has_checksums) in files {
        let Ok(sound) = std::fs::read(Path::new(&folder).join(file)) else {
            println!("skipped: {file} is not there");
            continue;
        };
        let errors = plant(file, &sound, has_checksums);
        println!("{file}: {errors} damages were errors");
        assert!(errors > 2, "{file}: damages must show");
    }
}

/// Bytes of a page, of its header, and the place of the bits of maps.
const PAGE: usize = 8192;
const HEADER: usize = 96;
const MAP_BITS: usize = 194;

/// Returns the place of a damage in a page, by what is to be hit; None if the page has no such structure.
fn target(page: &[u8], what: &str, chance: &mut Chance) -> Option<usize> {
    let (kind, slots) = (page[1], usize::from(u16::from_le_bytes([page[22], page[23]])));
    match what {
        "header" => Some(chance.below(HEADER)),
        "map" if [8, 9, 10, 11, 16].contains(&kind) => Some(MAP_BITS + chance.below(600)),
        "slots" if kind == 1 && slots > 0 => Some(PAGE - 1 - chance.below(2 * slots)),
        "large values" if [3, 4].contains(&kind) => Some(HEADER + chance.below(200)),
        "rows" if kind == 1 => Some(HEADER + chance.below(400)),
        _ => None,
    }
}

#[test]
fn a_bit_of_any_structure_is_an_error_or_nothing() {
    let folder = std::env::var("BULKWIRE_SQL_SERVER_FILES")
        .unwrap_or_else(|_| "../../../shared/data/sql-server-files".to_owned());
    let Ok(sound) = std::fs::read(Path::new(&folder).join("pubs-655/pubs.mdf")) else {
        println!("skipped: pubs.mdf is not there");
        return;
    };
    let wanted = contents("pubs.mdf", sound.clone()).unwrap();
    let mut chance = Chance(7);
    for what in ["header", "map", "slots", "large values", "rows"] {
        let (mut planted, mut errors) = (0, 0);
        while planted < 20 {
            let page = chance.below(sound.len() / PAGE) * PAGE;
            let Some(at) = target(&sound[page..page + PAGE], what, &mut chance) else { continue };
            let mut bytes = sound.clone();
            bytes[page + at] ^= 1 << chance.below(8);
            planted += 1;
            match contents("pubs.mdf", bytes) {
                Ok(found) => assert!(found == wanted, "{what}, byte {at} of page {}", page / PAGE),
                Err(error) => {
                    errors += 1;
                    assert!(error.to_string().contains("pubs.mdf"), "{error}");
                }
            }
        }
        println!("{what}: {errors} of {planted} damages were errors, the others hit what no row depends on");
        assert!(errors > 0, "{what}");
    }
}
