//! The load files of AdventureWorksDW, as SQL Server's own installer reads them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};

use arrow::array::{Array, AsArray};
use formats::{Compression, CsvOptions, Format, Location, infer, open};

fn directory() -> PathBuf {
    Path::new(".").join("../../testdata/adventureworks-dw")
}

fn dialect(columns: Vec<String>) -> CsvOptions {
    CsvOptions {
        delimiter: "|".into(),
        quote: None,
        header: false,
        columns: Some(columns),
        ..CsvOptions::default()
    }
}

struct Table {
    name: String,
    columns: Vec<(String, String, bool)>,
    file: PathBuf,
    line_breaks: u64,
}

fn tables() -> Vec<Table> {
    let text = std::fs::read_to_string(directory().join("tables.json")).unwrap();
    let tables: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&text).unwrap();
    let table = |(name, table): (&String, &serde_json::Value)| Table {
        name: name.clone(),
        columns: table["columns"]
            .as_array()
            .unwrap()
            .iter()
            .map(|column| {
                let text = |key: &str| column[key].as_str().unwrap().to_owned();
                (text("name"), text("type"), column["nullable"].as_bool().unwrap())
            })
            .collect(),
        file: directory().join(table["file"].as_str().unwrap()),
        line_breaks: table["lines"].as_u64().unwrap(),
    };
    tables.iter().map(table).collect()
}

fn names(table: &Table) -> Vec<String> {
    table.columns.iter().map(|(name, ..)| name.clone()).collect()
}

#[test]
fn every_file_has_the_columns_and_rows_it_should_have() {
    let tables = tables();
    assert_eq!(tables.len(), 23);
    for table in &tables {
        let bytes = std::fs::read(&table.file).unwrap();
        // The last line of some files has no line break.
        let expected_rows = table.line_breaks + u64::from(bytes.last() != Some(&b'\n'));
        let format = Format::Csv(dialect(names(table)));
        let mut reader = open(&Location::Path(table.file.clone()), &format, Compression::None, 1000).unwrap();
        let mut rows = 0;
        let mut required_nulls = 0;
        for batch in &mut reader {
            let batch = batch.unwrap_or_else(|error| panic!("{}: {error}", table.name));
            rows += batch.num_rows() as u64;
            for (column, (_, _, nullable)) in batch.columns().iter().zip(&table.columns) {
                required_nulls += if *nullable { 0 } else { column.null_count() };
            }
        }
        assert_eq!(rows, expected_rows, "{}", table.name);
        assert_eq!(required_nulls, 0, "{}: NULL in a column that is not nullable", table.name);
        assert_eq!(reader.bytes_read(), bytes.len() as u64);
    }
}

#[test]
fn raw_quotes_stay() {
    let table = tables().into_iter().find(|table| table.name.contains("ProductDescription")).unwrap();
    let format = Format::Csv(dialect(names(&table)));
    let reader = open(&Location::Path(table.file), &format, Compression::None, 1000).unwrap();
    let with_quotes: usize = reader
        .map(|batch| batch.unwrap())
        .map(|batch| {
            batch.column(2).as_string::<i32>().iter().flatten().filter(|text| text.contains('"')).count()
        })
        .sum();
    assert_eq!(with_quotes, 939);
}

/// An inferred type must be able to hold the numbers and dates that the real table declares.
#[test]
fn inferred_types_are_of_the_declared_family() {
    for table in tables() {
        let inferred =
            infer(&Location::Path(table.file.clone()), &dialect(names(&table)), Compression::None, None)
                .unwrap();
        for (column, (name, declared, nullable)) in inferred.columns.iter().zip(&table.columns) {
            let all_null = column.nulls == inferred.rows;
            let found = column.field.data_type();
            assert!(*nullable || column.nulls == 0);
            if all_null {
                continue;
            }
            let declared = declared.split('(').next().unwrap();
            let fits = match declared {
                "int" | "smallint" | "tinyint" | "bigint" => found.is_integer(),
                "money" | "decimal" | "numeric" | "float" => found.is_numeric(),
                "date" | "datetime" | "datetime2" | "smalldatetime" => found.is_temporal(),
                _ => continue,
            };
            assert!(fits, "{}.{name}: declared {declared}, found {found}", table.name);
        }
    }
}
