//! Files written by Microsoft's bcp library (`fixtures/bcp/README.md`): every data file reads to the values that SELECT
//! gave, and every format file is what the layout of the table's columns prints.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

use arrow::array::{Array, RecordBatch};
use formats::bcp::{
    ByteOrderMark, DataMode, FileCodePage, FormatFile, HostReadOptions, HostReader, HostWriteOptions,
    HostWriter, LayoutOptions, LongValues, NativeVersion, RejectedRow,
};
use rows::column_text::{TextOptions, format_column};
use serde_json::Value;
use tds::{Collation, Column, SqlType};

fn root() -> PathBuf {
    Path::new(".").join("tests/fixtures/bcp")
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
            // Longer in the file's UTF-8 than the column, and not by blanks alone, which the server puts back: the original
            // cannot read these back either.
            let padded = matches!(sql_type, SqlType::Char { length: 10 }) && !mode.is_unicode();
            let unpadded =
                |text: &Option<String>| text.as_ref().map(|text| text.trim_end_matches(' ').to_owned());
            let too_long =
                |text: &Option<String>| padded && unpadded(text).is_some_and(|text| text.len() > 10);
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
                let mut found = (&row[0], normal(sql_type, &row[1]));
                let mut expected = (&expected[0], normal(sql_type, &expected[1]));
                if padded {
                    (found.1, expected.1) = (unpadded(&found.1), unpadded(&expected.1));
                }
                if found != expected {
                    different.push(format!("{case}: found {found:?}, expected {expected:?}"));
                }
            }
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// The rows of a file, read and written again.
fn rewritten(
    bytes: Vec<u8>,
    format_file: &FormatFile,
    columns: &[Column],
    read: &HostReadOptions,
    write: &HostWriteOptions,
) -> Vec<u8> {
    let reader = HostReader::new(std::io::Cursor::new(bytes), "data", format_file, columns, read).unwrap();
    let schema = reader.schema();
    let mut writer = HostWriter::new(Vec::new(), "out", format_file, columns, &schema, write).unwrap();
    for batch in reader {
        let batch = batch.unwrap();
        assert_eq!(batch.rejected, []);
        writer.write_batch(&batch.batch).unwrap();
    }
    writer.into_output().unwrap()
}

/// Describes the first difference of two files, with the bytes before and behind.
fn difference(found: &[u8], expected: &[u8]) -> String {
    let at = found.iter().zip(expected).position(|(a, b)| a != b).unwrap_or(found.len().min(expected.len()));
    let shown = |bytes: &[u8]| {
        let range = at.saturating_sub(12).min(bytes.len())..(at + 12).min(bytes.len());
        String::from_utf8_lossy(&bytes[range.clone()]).escape_debug().to_string()
            + &format!(" {:02X?}", &bytes[range])
    };
    format!("at byte {at}: found {} expected {}", shown(found), shown(expected))
}

#[test]
fn every_data_file_is_written_back_byte_for_byte() {
    let mut different = Vec::new();
    for table in tables() {
        for (letter, mode) in MODES {
            let path = root().join(&table.name).join(format!("data.{letter}"));
            let expected = fs::read(&path).unwrap();
            // From its native Unicode form, which holds everything.
            let native = fs::read(root().join(&table.name).join("data.N")).unwrap();
            let from = data_layout(&table.columns, DataMode::UnicodeNative);
            let to = data_layout(&table.columns, mode);
            let reader = HostReader::new(
                std::io::Cursor::new(native),
                "data.N",
                &from,
                &table.columns,
                &HostReadOptions::default(),
            )
            .unwrap();
            let schema = reader.schema();
            let options = HostWriteOptions {
                byte_order_mark: mode == DataMode::UnicodeCharacter,
                ..HostWriteOptions::default()
            };
            // One value is longer in UTF-8 than its fixed field; the original writes it all the same.
            if table.name == "char_10_nn" && letter == "n" {
                continue;
            }
            let mut writer =
                HostWriter::new(Vec::new(), "out", &to, &table.columns, &schema, &options).unwrap();
            for batch in reader {
                writer.write_batch(&batch.unwrap().batch).unwrap();
            }
            let written = writer.into_output().unwrap();
            if written != expected {
                different.push(format!("{} -{letter} {}", table.name, difference(&written, &expected)));
            }
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// A variant's name says what it is: `varchar_20_null.c.cp437`, `mixed.n.V80`.
struct Variant {
    name: String,
    columns: Vec<Column>,
    mode: DataMode,
    of: String,
}

fn variants() -> Vec<Variant> {
    let mut variants: Vec<Variant> = fs::read_dir(root().join("_variants"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .map(|name| {
            let mut parts = name.splitn(3, '.');
            let (table_name, letter, of) =
                (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap_or_default());
            let (_, mode) = *MODES.iter().find(|(known, _)| *known == letter).unwrap();
            let columns = match table_name {
                "mixed" => mixed_columns(),
                "varbinary_max_null" => {
                    let mut columns = table("varbinary_max_nn").columns;
                    columns[1] = Column::new("v", columns[1].sql_type().clone(), true, None);
                    columns
                }
                _ => table(table_name).columns,
            };
            Variant { columns, mode, of: of.to_owned(), name: name.clone() }
        })
        .collect();
    variants.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(variants.len() > 70, "{} variants", variants.len());
    variants
}

fn mixed_columns() -> Vec<Column> {
    formats::bcp::declare(
        "id int not null, col_int int, col_bigint bigint, col_float float, col_bit bit, col_date date, \
         col_datetime2 datetime2(6), col_decimal decimal(18,4), col_str1 nvarchar(100), col_str2 varchar(100), \
         col_str3 nvarchar(100)",
    )
    .unwrap()
}

/// The code page, layout and options of a variant.
fn settings(variant: &Variant) -> (FormatFile, HostReadOptions, HostWriteOptions) {
    let mut layout = LayoutOptions { collations: false, ..LayoutOptions::default() };
    let mut read = HostReadOptions { byte_order_mark: ByteOrderMark::Strip, ..HostReadOptions::default() };
    let mut write = HostWriteOptions {
        byte_order_mark: variant.mode == DataMode::UnicodeCharacter && variant.of != "no_unicodefile",
        ..HostWriteOptions::default()
    };
    let page = match variant.of.as_str() {
        "cpneg1" => Some(FileCodePage::Raw),
        "loc_en_US.CP1252" => FileCodePage::from_number(1252),
        "loc_en_US.ISO-8859-1" => FileCodePage::from_number(28591),
        of => of.strip_prefix("cp").and_then(|page| FileCodePage::from_number(page.parse().unwrap())),
    };
    if let Some(page) = page {
        read.code_page = page;
        write.code_page = page;
    }
    if let Some(version) = variant.of.strip_prefix('V') {
        let version = NativeVersion::from_number(version.parse().unwrap()).unwrap();
        layout.native_version = version;
        read.native_version = version;
        write.native_version = version;
    }
    match variant.of.as_str() {
        "term" => {
            layout.field_terminator = b"|".to_vec();
            layout.row_terminator = b"\r\n".to_vec();
        }
        "odbc" => write.odbc_escapes = true,
        "plpunknown" => write.long_values = LongValues::Pieces,
        "plpknown" | "V90" | "V100" => write.long_values = LongValues::Whole,
        _ => {}
    }
    (FormatFile::for_columns(&variant.columns, variant.mode, &layout), read, write)
}

#[test]
fn every_variant_reads_and_is_written_back_byte_for_byte() {
    let mut different = Vec::new();
    for variant in variants() {
        let expected = fs::read(root().join("_variants").join(&variant.name).join("data")).unwrap();
        let (layout, read, write) = settings(&variant);
        let native = variant.name.split('.').next().unwrap();
        let of_table = root().join(native).join("data.N");
        // Text files cannot give back what their code page lacks or their terminators cut: those are written from the
        // native form of the same table.
        let from_native = of_table.exists() && !variant.mode.is_native();
        let written = if from_native {
            let from = data_layout(&variant.columns, DataMode::UnicodeNative);
            let options = HostReadOptions::default();
            let input = std::io::Cursor::new(fs::read(of_table).unwrap());
            let reader = HostReader::new(input, "data.N", &from, &variant.columns, &options).unwrap();
            let schema = reader.schema();
            let mut writer =
                HostWriter::new(Vec::new(), "out", &layout, &variant.columns, &schema, &write).unwrap();
            for batch in reader {
                writer.write_batch(&batch.unwrap().batch).unwrap();
            }
            writer.into_output().unwrap()
        } else {
            rewritten(expected.clone(), &layout, &variant.columns, &read, &write)
        };
        if written != expected {
            different.push(format!("{} {}", variant.name, difference(&written, &expected)));
        }
        let expected = fs::read(root().join("_variants").join(&variant.name).join("fmt")).unwrap();
        let printed = printed_format_file(&variant, read.code_page).into_bytes();
        if printed != expected {
            different.push(format!("{} fmt {}", variant.name, difference(&printed, &expected)));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// The format file of a variant's table: with collations, unless it is a query's.
fn printed_format_file(variant: &Variant, code_page: FileCodePage) -> String {
    let mut layout =
        LayoutOptions { collations: !variant.of.starts_with("queryout"), ..LayoutOptions::default() };
    if variant.of == "term" {
        layout.field_terminator = b"|".to_vec();
        layout.row_terminator = b"\r\n".to_vec();
    }
    if let Some(version) = variant.of.strip_prefix('V') {
        layout.native_version = NativeVersion::from_number(version.parse().unwrap()).unwrap();
    }
    let mut columns = variant.columns.clone();
    if !layout.collations {
        // A query's decimal is described as numeric.
        for column in &mut columns {
            if let SqlType::Decimal { precision, scale } = *column.sql_type() {
                column.type_info.sql_type = SqlType::Numeric { precision, scale };
            }
        }
    }
    FormatFile::for_columns(&columns, variant.mode, &layout).to_text_for(code_page)
}
