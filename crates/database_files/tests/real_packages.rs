//! Packages that Microsoft's tools wrote, table by table against checksums of their contents.
//!
//! The files lie beside the checkout, in `../shared/data/bacpac`, or where `BULKWIRE_BACPACS` says.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::*;
use bulkwire_database_files::{Action, Column, LocalFile, Package};
use rows::Form;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tds::SqlType;

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("BULKWIRE_BACPACS")
        .map_or_else(|| Path::new("../../../shared/data/bacpac").to_owned(), PathBuf::from);
    let is_there = folder.join("expected.json").is_file();
    if !is_there {
        println!("skipped: no packages in {}", folder.display());
    }
    is_there.then_some(folder)
}

fn open(path: &Path) -> Package {
    let file = LocalFile::open(path).unwrap();
    Package::open(Arc::new(file)).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_table_of_every_package_has_the_expected_contents() {
    let Some(folder) = folder() else { return };
    let expected: Value =
        serde_json::from_slice(&std::fs::read(folder.join("expected.json")).unwrap()).unwrap();
    let mut tables = 0;
    for (file, wanted) in expected["files"].as_object().unwrap() {
        let package = open(&folder.join(file));
        let mut all = 0;
        for (index, table) in package.tables().enumerate() {
            let name = table.full_name();
            let columns: Vec<&Column> = table.stored_columns().collect();
            let (mut sum, mut rows) = (0_u128, 0_u64);
            for batch in package.read(index, Form::Exact, 1000, 2).unwrap() {
                let batch = batch.unwrap_or_else(|error| panic!("{error}"));
                for row in 0..batch.num_rows() {
                    let text = canonical(&batch, &columns, row);
                    let digest = Sha256::digest(text.as_bytes());
                    sum = sum.wrapping_add(u128::from_be_bytes(digest[..16].try_into().unwrap()));
                    rows += 1;
                }
            }
            all += rows;
            let Some(of) = wanted["tables"].get(&name) else {
                let empty: Vec<String> =
                    serde_json::from_value(wanted["tables_without_data"].clone()).unwrap();
                assert!(empty.contains(&name) && rows == 0, "{file} {name}");
                continue;
            };
            assert_eq!(rows, of["rows"].as_u64().unwrap(), "{file} {name}");
            assert_eq!(format!("{sum:032x}"), of["content_sum"].as_str().unwrap(), "{file} {name}");
            let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            let wanted_columns = of["columns"].as_array().unwrap();
            assert_eq!(names, wanted_columns.iter().map(|c| c["name"].as_str().unwrap()).collect::<Vec<_>>());
            tables += 1;
        }
        assert_eq!(all, wanted["row_count_tag"].as_u64().unwrap(), "{file}");
    }
    println!("{tables} tables equal");
    assert!(tables > 15);
}

#[test]
fn all_types_of_a_package_are_read() {
    let Some(folder) = folder() else { return };
    let package = open(&folder.join("written-by-dacfx/types1.bacpac"));
    let mut shown = Vec::new();
    for (index, table) in package.tables().enumerate() {
        let columns: Vec<&Column> = table.stored_columns().collect();
        for batch in package.read(index, Form::Exact, 100, 1).unwrap() {
            let batch = batch.unwrap();
            shown.extend(
                (0..batch.num_rows()).map(|row| canonical(&batch, &columns, row).replace('\u{1f}', "|")),
            );
        }
    }
    // The rows of the statements in tables.sql. An offset is an instant, then minutes with the sign bit flipped.
    assert_eq!(
        shown,
        [
            "1|12:34:56.123456700|12:34:56|0x08DC0B11611A5B07814A|0x08DC0B8288F550007E20|1.2500|2.5000|\
             2024-01-02 03:04:00|2024-01-02 03:04:00|1.5|2.5|3.5|1|1|0x01020304|0x0A0B0C0D|0xFF|2024-01-02|\
             2024-01-02 03:04:05.123|2024-01-02 03:04:05.1230000|12.34|12345678901234567890|\
             01234567-89AB-CDEF-0123-456789ABCDEF|7|8",
            "2|\\N|00:00:00|\\N|0x00000000000000008000|\\N|0.0000|\\N|1900-01-01 00:00:00|\\N|0|\\N|\\N|0|0x00000000|\
             \\N|0x|\\N|\\N|0001-01-01 00:00:00.0000000|\\N|-1|\\N|\\N|0",
            "1|ab   |cd   |e  |xxxxxxxxxx|yyyyyyyyyyy|zü|m|n|0x0102|<a>1</a>|5|6",
            "2|     |     |   |\\N||\\N|\\N|\\N|\\N|\\N|5|\\N",
        ]
    );
}

#[test]
fn keys_and_modules_are_read() {
    let Some(folder) = folder() else { return };
    let package = open(&folder.join("adventureworkslt2025.bacpac"));
    let line = package.tables().find(|table| table.name == "SalesOrderDetail").unwrap();
    let key = line.clustered().unwrap();
    assert_eq!(
        key.key.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
        ["SalesOrderID", "SalesOrderDetailID"]
    );
    let to_header = line.foreign_keys.iter().find(|key| key.to_table == "SalesOrderHeader").unwrap();
    assert_eq!((to_header.on_delete, to_header.on_update), (Action::Cascade, Action::None));
    let total = line.columns.iter().find(|column| column.name == "LineTotal").unwrap();
    assert!(total.computed.as_ref().unwrap().definition.contains("UnitPrice"));
    let view = package.modules().iter().find(|module| module.kind == "SqlView").unwrap();
    assert!(view.script.trim_start().to_uppercase().starts_with("CREATE VIEW"), "{}", view.script);
}

/// Spells a row as expected.json says.
fn canonical(batch: &RecordBatch, columns: &[&Column], row: usize) -> String {
    let cells = batch.columns().iter().zip(columns).map(|(array, column)| match array.is_null(row) {
        true => "\\N".to_owned(),
        false => cell(array.as_ref(), &column.sql_type, row).replace('\\', "\\\\").replace('\u{1f}', "\\u"),
    });
    cells.collect::<Vec<_>>().join("\u{1f}")
}

fn cell(column: &dyn Array, sql_type: &SqlType, row: usize) -> String {
    match column.data_type() {
        DataType::Boolean => u8::from(column.as_boolean().value(row)).to_string(),
        DataType::UInt8 => column.as_primitive::<UInt8Type>().value(row).to_string(),
        DataType::Int16 => column.as_primitive::<Int16Type>().value(row).to_string(),
        DataType::Int32 => column.as_primitive::<Int32Type>().value(row).to_string(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::Float32 => f64::from(column.as_primitive::<Float32Type>().value(row)).to_string(),
        DataType::Float64 => column.as_primitive::<Float64Type>().value(row).to_string(),
        DataType::Decimal128(_, _) => column.as_primitive::<Decimal128Type>().value_as_string(row),
        DataType::Date32 => column.as_primitive::<Date32Type>().value_as_date(row).unwrap().to_string(),
        DataType::Time64(TimeUnit::Nanosecond) => {
            column.as_primitive::<Time64NanosecondType>().value_as_time(row).unwrap().to_string()
        }
        DataType::Time32(TimeUnit::Second) => {
            column.as_primitive::<Time32SecondType>().value_as_time(row).unwrap().to_string()
        }
        DataType::Timestamp(TimeUnit::Second, _) => {
            let at = column.as_primitive::<TimestampSecondType>().value_as_datetime(row).unwrap();
            at.format("%Y-%m-%d %H:%M:%S").to_string()
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) if *sql_type == SqlType::DateTime => {
            let at = column.as_primitive::<TimestampMillisecondType>().value_as_datetime(row).unwrap();
            at.format("%Y-%m-%d %H:%M:%S%.3f").to_string()
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            let at = column.as_primitive::<TimestampMillisecondType>().value_as_datetime(row).unwrap();
            format!("{}0000", at.format("%Y-%m-%d %H:%M:%S%.3f"))
        }
        // Exact datetime2(7): 100 ns since 0001-01-01, big-endian.
        DataType::FixedSizeBinary(8) => {
            let bytes: [u8; 8] = column.as_fixed_size_binary().value(row).try_into().unwrap();
            let ticks = i64::from_be_bytes(bytes);
            let since_1970 = ticks - 621_355_968_000_000_000;
            let at =
                arrow::temporal_conversions::timestamp_us_to_datetime(since_1970.div_euclid(10)).unwrap();
            format!("{}{}", at.format("%Y-%m-%d %H:%M:%S%.6f"), since_1970.rem_euclid(10))
        }
        DataType::Utf8 => column.as_string::<i32>().value(row).to_owned(),
        DataType::Binary => hex(column.as_binary::<i32>().value(row)),
        DataType::FixedSizeBinary(16) => {
            let h = hex(column.as_fixed_size_binary().value(row))[2..].to_owned();
            format!("{}-{}-{}-{}-{}", &h[..8], &h[8..12], &h[12..16], &h[16..20], &h[20..])
        }
        DataType::FixedSizeBinary(_) => hex(column.as_fixed_size_binary().value(row)),
        DataType::UInt64 => hex(&column.as_primitive::<UInt64Type>().value(row).to_be_bytes()),
        other => panic!("{sql_type}: {other}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    format!("0x{}", bytes.iter().map(|byte| format!("{byte:02X}")).collect::<String>())
}
