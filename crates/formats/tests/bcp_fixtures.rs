//! Files written by Microsoft's bcp library (`fixtures/bcp/README.md`): every data file reads to the values that SELECT
//! gave, and every format file is what the layout of the table's columns prints.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

use arrow::array::{Array, RecordBatch};
use formats::bcp::{
    ByteOrderMark, DataMode, FormatFile, HostReadOptions, HostReader, LayoutOptions, RejectedRow,
};
use rows::text::{TextOptions, format_column};
use serde_json::Value;
use tds::{Collation, Column, SqlType};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/bcp")
}

/// One table of the fixtures.
struct Table {
    name: String,
    columns: Vec<Column>,
    rows: Vec<Vec<Option<String>>>,
}

fn tables() -> Vec<Table> {
    let mut tables: Vec<Table> = fs::read_dir(root())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("rows.json").exists())
        .map(|path| table(path.file_name().unwrap().to_str().unwrap()))
        .collect();
    tables.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(tables.len() > 75, "{} tables", tables.len());
    tables
}

fn table(name: &str) -> Table {
    let json: Value =
        serde_json::from_slice(&fs::read(root().join(name).join("rows.json")).unwrap()).unwrap();
    let sql_type = match name {
        "rowver" => "rowversion",
        "empty0" => "varchar(10)",
        _ => json["type"].as_str().unwrap(),
    };
    let sql_type: SqlType = sql_type.parse().unwrap();
    let nullable = json["nullable"].as_bool().unwrap_or(true);
    let collation = Some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
    let rows = json["rows"].as_array().unwrap();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Table {
        name: name.to_owned(),
        columns: vec![
            Column::new("id", SqlType::Int, false, None),
            Column::new("v", sql_type, nullable, collation),
        ],
        rows: rows.iter().map(|row| row.as_array().unwrap().iter().take(2).map(text).collect()).collect(),
    }
}

const MODES: [(&str, DataMode); 4] = [
    ("c", DataMode::Character),
    ("w", DataMode::UnicodeCharacter),
    ("n", DataMode::Native),
    ("N", DataMode::UnicodeNative),
];

/// The layout of data without a format file: text is in the client's code page, not in that of collations.
fn data_layout(columns: &[Column], mode: DataMode) -> FormatFile {
    FormatFile::for_columns(columns, mode, &LayoutOptions { collations: false, ..LayoutOptions::default() })
}

/// The text of every value, as `bcp -c` spells it.
fn spelled(batch: &RecordBatch) -> Vec<Vec<Option<String>>> {
    let columns: Vec<_> = batch
        .columns()
        .iter()
        .zip(batch.schema().fields())
        .map(|(array, field)| format_column(array, field, &TextOptions::bcp()).unwrap())
        .collect();
    (0..batch.num_rows())
        .map(|row| {
            columns.iter().map(|column| column.is_valid(row).then(|| column.value(row).to_owned())).collect()
        })
        .collect()
}

fn read(
    path: &Path,
    format_file: &FormatFile,
    columns: &[Column],
    options: &HostReadOptions,
) -> (Vec<Vec<Option<String>>>, Vec<RejectedRow>, Option<String>) {
    let bytes = fs::read(path).unwrap();
    let reader = HostReader::new(
        std::io::Cursor::new(bytes),
        path.file_name().unwrap().to_str().unwrap(),
        format_file,
        columns,
        options,
    )
    .unwrap();
    let (mut rows, mut rejected, mut failure) = (Vec::new(), Vec::new(), None);
    for batch in reader {
        match batch {
            Ok(batch) => {
                rows.extend(spelled(&batch.batch));
                rejected.extend(batch.rejected);
            }
            Err(error) => failure = Some(error.to_string()),
        }
    }
    (rows, rejected, failure)
}

/// Values as numbers where SELECT printed them in another form.
fn normal(sql_type: &SqlType, text: &Option<String>) -> Option<String> {
    let text = text.as_ref()?;
    Some(match sql_type {
        SqlType::Float => format!("{:?}", text.parse::<f64>().unwrap()),
        SqlType::Real => format!("{:?}", text.parse::<f64>().unwrap() as f32),
        SqlType::SqlVariant => text.strip_prefix("0x").unwrap_or(text).to_owned(),
        _ => text.clone(),
    })
}

#[test]
fn every_format_file_is_what_the_columns_print() {
    for table in tables() {
        for (letter, mode) in MODES {
            let path = root().join(&table.name).join(format!("fmt.{letter}"));
            let expected = fs::read_to_string(&path).unwrap();
            let layout = FormatFile::for_columns(&table.columns, mode, &LayoutOptions::default());
            assert_eq!(layout.to_text(), expected, "{}", path.display());
            let parsed = FormatFile::parse(expected.as_bytes(), "fmt").unwrap();
            assert_eq!(parsed, layout, "{}", path.display());
        }
    }
}

#[test]
fn every_data_file_reads_to_what_select_gave() {
    let mut different = Vec::new();
    for table in tables() {
        for (letter, mode) in MODES {
            let path = root().join(&table.name).join(format!("data.{letter}"));
            let layout = data_layout(&table.columns, mode);
            let options =
                HostReadOptions { byte_order_mark: ByteOrderMark::Strip, ..HostReadOptions::default() };
            let case = format!("{} -{letter}", table.name);
            let sql_type = table.columns[1].sql_type();
            // No mode of text can carry its own row terminator.
            let broken = |row: &Vec<Option<String>>| row[1].as_ref().is_some_and(|text| text.contains('\n'));
            if !mode.is_native() && table.rows.iter().any(broken) {
                continue;
            }
            // Longer in the file's UTF-8 than the column: the original cannot read these back either.
            let too_long = |text: &Option<String>| {
                matches!(sql_type, SqlType::Char { length: 10 })
                    && !mode.is_unicode()
                    && text.as_ref().is_some_and(|text| text.len() > 10)
            };
            if table.name == "char_10_nn" && letter == "n" {
                continue;
            }
            let (rows, rejected, failure) = read(&path, &layout, &table.columns, &options);
            different.extend(failure.map(|failure| format!("{case}: {failure}")));
            let expected: Vec<_> = table.rows.iter().filter(|row| !too_long(&row[1])).collect();
            if (rows.len(), rejected.len()) != (expected.len(), table.rows.len() - expected.len()) {
                different.push(format!("{case}: rejected {rejected:?}"));
            }
            for (row, expected) in rows.iter().zip(expected) {
                let found = (&row[0], normal(sql_type, &row[1]));
                let expected = (&expected[0], normal(sql_type, &expected[1]));
                if found != expected {
                    different.push(format!("{case}: found {found:?}, expected {expected:?}"));
                }
            }
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}
