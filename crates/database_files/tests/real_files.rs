//! Files that real servers wrote, table by table against checksums of their contents.
//!
//! The files lie beside the checkout, in `../shared/data/sql-server-files`, or where `BULKWIRE_SQL_SERVER_FILES` says.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::*;
use bulkwire_database_files::{FileError, LocalFile, PagedDatabase, ReadAt};
use rows::Form;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tds::SqlType;

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("BULKWIRE_SQL_SERVER_FILES")
        .map_or_else(|| Path::new("../../../shared/data/sql-server-files").to_owned(), PathBuf::from);
    let is_there = folder.join("expected.json").is_file();
    if !is_there {
        println!("skipped: no files of real servers in {}", folder.display());
    }
    is_there.then_some(folder)
}

fn open(folder: &Path, case: &Value) -> Result<PagedDatabase, FileError> {
    let files = case["files"].as_array().unwrap().iter().map(|file| {
        let file = LocalFile::open(&folder.join(file.as_str().unwrap())).unwrap();
        Arc::new(file) as Arc<dyn ReadAt>
    });
    PagedDatabase::open(files.collect(), None)
}

#[test]
fn every_table_of_every_file_has_the_expected_contents() {
    let Some(folder) = folder() else { return };
    let expected: Value =
        serde_json::from_slice(&std::fs::read(folder.join("expected.json")).unwrap()).unwrap();
    let mut tables = 0;
    for case in expected["cases"].as_array().unwrap() {
        let id = case["id"].as_str().unwrap();
        if case.get("refuse").is_some() {
            let error = open(&folder, case).err().expect("it is refused");
            assert!(error.to_string().contains("it is stripe 2 of 2"), "{error}");
            continue;
        }
        let database = open(&folder, case).unwrap_or_else(|error| panic!("{id}: {error}"));
        assert_eq!(u64::from(database.description().version), case["internal_version"].as_u64().unwrap());
        let found: Vec<_> = database.tables().cloned().collect();
        let names: Vec<String> = found.iter().map(|table| table.full_name()).collect();
        let wanted = case["tables"].as_object().unwrap();
        let mut wanted_names: Vec<&String> = wanted.keys().collect();
        wanted_names.sort();
        assert_eq!(names.iter().collect::<Vec<_>>(), wanted_names, "{id}");
        for (index, table) in found.iter().enumerate() {
            let name = table.full_name();
            let of = &wanted[&name];
            let columns: Vec<[String; 3]> = table
                .columns
                .iter()
                .map(|column| {
                    let null = if column.is_nullable { "null" } else { "not null" };
                    [column.name.clone(), column.sql_type.to_string().replace(", ", ","), null.to_owned()]
                })
                .collect();
            let wanted_columns: Vec<[String; 3]> = serde_json::from_value(of["columns"].clone()).unwrap();
            assert_eq!(columns, wanted_columns, "{id} {name}");
            let storage = if table.clustered().is_some() { "clustered" } else { "heap" };
            assert_eq!(storage, of["storage"].as_str().unwrap(), "{id} {name}");
            let mut rows: Vec<String> = Vec::new();
            for batch in database.read(index, Form::Exact, 1000, 2).unwrap() {
                let batch = batch.unwrap_or_else(|error| panic!("{id}: {error}"));
                let types: Vec<&SqlType> = table.columns.iter().map(|column| &column.sql_type).collect();
                rows.extend((0..batch.num_rows()).map(|row| canonical(&batch, &types, row)));
            }
            assert_eq!(rows.len() as u64, of["rows"].as_u64().unwrap(), "{id} {name}");
            assert_eq!(Some(rows.len() as u64), table.rows, "{id} {name}");
            rows.sort();
            let sum = Sha256::digest(rows.join("\n").as_bytes());
            let sum: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(sum, of["sha256"].as_str().unwrap(), "{id} {name}: {:?}", rows.first());
            tables += 1;
        }
    }
    println!("{tables} tables equal");
    assert!(tables > 40);
}

/// Spells a row as expected.json says.
fn canonical(batch: &RecordBatch, types: &[&SqlType], row: usize) -> String {
    let cells = batch.columns().iter().zip(types).map(|(column, sql_type)| match column.is_null(row) {
        true => "\\N".to_owned(),
        false => cell(column.as_ref(), sql_type, row),
    });
    cells.collect::<Vec<_>>().join("\t")
}

fn cell(column: &dyn Array, sql_type: &SqlType, row: usize) -> String {
    match column.data_type() {
        DataType::Boolean => u8::from(column.as_boolean().value(row)).to_string(),
        DataType::UInt8 => column.as_primitive::<UInt8Type>().value(row).to_string(),
        DataType::Int16 => column.as_primitive::<Int16Type>().value(row).to_string(),
        DataType::Int32 => column.as_primitive::<Int32Type>().value(row).to_string(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::Float32 => {
            format!("f32:{:08x}", column.as_primitive::<Float32Type>().value(row).to_bits())
        }
        DataType::Float64 => {
            format!("f64:{:016x}", column.as_primitive::<Float64Type>().value(row).to_bits())
        }
        DataType::Decimal128(_, _) => column.as_primitive::<Decimal128Type>().value_as_string(row),
        DataType::Date32 => column.as_primitive::<Date32Type>().value_as_date(row).unwrap().to_string(),
        DataType::Timestamp(TimeUnit::Second, _) => {
            let at = column.as_primitive::<TimestampSecondType>().value_as_datetime(row).unwrap();
            at.format("%Y-%m-%d %H:%M:%S").to_string()
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            let at = column.as_primitive::<TimestampMillisecondType>().value_as_datetime(row).unwrap();
            at.format("%Y-%m-%d %H:%M:%S%.3f").to_string()
        }
        DataType::Utf8 => escaped(column.as_string::<i32>().value(row)),
        DataType::Binary => hex(column.as_binary::<i32>().value(row)),
        DataType::FixedSizeBinary(16) => {
            let h = hex(column.as_fixed_size_binary().value(row))[2..].to_uppercase();
            format!("{}-{}-{}-{}-{}", &h[..8], &h[8..12], &h[12..16], &h[16..20], &h[20..])
        }
        DataType::UInt64 => hex(&column.as_primitive::<UInt64Type>().value(row).to_be_bytes()),
        other => panic!("{sql_type}: {other}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    format!("0x{}", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

/// Escapes a text. The sums were made with a code page 1252 that has no 0x81; Windows and this reader have U+0081 for it.
fn escaped(text: &str) -> String {
    text.replace('\u{81}', "\u{fffd}")
        .replace('\\', "\\\\")
        .replace('\t', "\\t")
        .replace('\n', "\\n")
        .replace('\r', "\\r")
}
