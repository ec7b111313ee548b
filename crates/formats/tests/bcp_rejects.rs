//! Inputs that Microsoft's bcp library was given, and what it made of them (`fixtures/bcp/README.md`, `errors/`): the same
//! rows are accepted, and the error file is the same, byte for byte, but for differences that are listed with their reason.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

use arrow::array::{Array, RecordBatch};
use formats::bcp::{
    ByteOrderMark, DataMode, FileCodePage, FormatFile, HostReadOptions, HostReader, LayoutOptions, declare,
    terminator,
};
use rows::column_text::{TextOptions, format_column};
use serde_json::Value;
use tds::{CodePage, Column, SqlType};

/// Cases in which this reader does something else, and why.
const CASES: &[(&str, &str)] = &[
    ("cp_in_latin1_437_C", "a Greek letter is transliterated in the C locale only"),
    ("errfile_unwritable", "no matter of the data file"),
    ("fmt_collation_unknown", "an unknown collation is refused where the format file is read"),
    ("fmt_collation_utf8", "the fixtures' server did not know UTF-8 collations"),
    ("fmt_name_quoted", "a name in quotation marks is read as one name"),
    ("fmt_utf16_bom", "format files in UTF-16 are read"),
    ("fmt_version_15.0", "versions 15.0 and 16.0 are read, as newer tools do"),
    ("native_float_nan_inf", "values are the same, spelled differently by SELECT"),
];

/// Rows, by their key, in which it does: cases that begin so, the keys, and why.
const ROWS: &[(&str, &[&str], &str)] = &[
    ("convert_datetime", &["63"], "`-001-01-01` is not the year 2001"),
    ("convert_smalldatetime", &["63"], "`-001-01-01` is not the year 2001"),
    ("convert_datetime2_7", &["20", "32"], "the fixtures' server kept six digits; SQL Server keeps seven"),
    ("convert_datetimeoffset_7", &["20", "32"], "the fixtures' server kept six digits"),
    ("convert_time_7", &["20", "32", "57"], "the fixtures' server kept six digits, and those as a float"),
    ("convert_datetimeoffset_0", &["40"], "one SQLSTATE, one text, for a fraction that does not fit"),
    ("convert_time_0", &["40"], "one SQLSTATE, one text, for a fraction that does not fit"),
    ("convert_xml", &["5", "6", "7"], "the server drops the XML declaration"),
    ("fmt_server_col_twice", &["1", "2"], "a date is no number, whatever its first digits"),
];

/// Cases in which the fixtures' server refused the batch for a NUL, so that only the error file can be compared.
const REFUSED_BY_SERVER: &[&str] = &["convert_char_10_w", "convert_nchar_10_c"];

/// Returns true if the rows of an error file can be compared. The library leaves remains of its buffers
/// behind text that is not ASCII, behind UTF-16, and in place of native values that it could not convert.
fn rows_are_printed(case: &Case) -> bool {
    let input = fs::read(root().join(&case.name).join("input")).unwrap();
    input.is_ascii() && case.arguments().next() != Some("w") && !case.name.starts_with("native_")
}

fn root() -> PathBuf {
    Path::new(".").join("tests/fixtures/bcp/errors")
}

struct Case {
    name: String,
    json: Value,
    columns: Vec<Column>,
}

impl Case {
    fn arguments(&self) -> impl Iterator<Item = &str> {
        self.json["args"].as_array().unwrap().iter().map(|argument| argument.as_str().unwrap())
    }

    fn argument(&self, name: &str) -> Option<&str> {
        self.arguments().find_map(|argument| argument.strip_prefix(name)?.strip_prefix('='))
    }

    fn says(&self, text: &str) -> bool {
        self.json["calls"].as_array().unwrap().iter().any(|call| {
            call["diags"].as_array().unwrap().iter().any(|diag| diag["text"].as_str().unwrap().contains(text))
        })
    }
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = fs::read_dir(root())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("input").exists())
        .map(|path| {
            let json: Value = serde_json::from_slice(&fs::read(path.join("result.json")).unwrap()).unwrap();
            let columns = declare(&declaration(json["table"].as_str().unwrap())).unwrap();
            Case { name: path.file_name().unwrap().to_str().unwrap().to_owned(), json, columns }
        })
        .collect();
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
}

/// The table's columns, without what does not matter to a file. `int_null_cp` is a copy of that table.
fn declaration(text: &str) -> String {
    if let Some(copied) = text.strip_suffix("_null_cp") {
        let folders = root().parent().unwrap().to_owned();
        // Not every table was given in both forms.
        let path = ["null", "nn"]
            .map(|null| folders.join(format!("{copied}_{null}/rows.json")))
            .into_iter()
            .find(|path| path.exists());
        let json: Value = serde_json::from_slice(&fs::read(path.unwrap()).unwrap()).unwrap();
        return format!("id int not null, v {} null", json["type"].as_str().unwrap());
    }
    let mut text = text.to_owned();
    for word in [" primary key", " default 7", " default 'dflt'", " identity(100,1)"] {
        text = text.replace(word, "");
    }
    text
}

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

/// Rows of a batch as rows of the table: NULL in columns that no field fills.
fn in_table(
    rows: Vec<Vec<Option<String>>>,
    table_columns: &[usize],
    columns: usize,
) -> Vec<Vec<Option<String>>> {
    rows.into_iter()
        .map(|row| {
            let mut wide = vec![None; columns];
            for (value, column) in row.into_iter().zip(table_columns) {
                wide[*column] = value;
            }
            wide
        })
        .collect()
}

fn options(case: &Case) -> HostReadOptions {
    let number = |name| case.argument(name).map(|text| text.parse::<i64>().unwrap());
    let code_page = match number("codepage") {
        Some(-1) => FileCodePage::Raw,
        Some(page) => u16::try_from(page)
            .ok()
            .and_then(FileCodePage::from_number)
            .unwrap_or(FileCodePage::Page(CodePage::Utf8)),
        None => FileCodePage::Page(CodePage::Utf8),
    };
    let strip = case.arguments().any(|argument| matches!(argument, "unicodefile=1" | "textfile=1"));
    HostReadOptions {
        code_page,
        byte_order_mark: if strip { ByteOrderMark::Strip } else { ByteOrderMark::Vendor },
        first_row: number("first").and_then(|row| u64::try_from(row).ok()).unwrap_or(1),
        last_row: number("last").and_then(|row| u64::try_from(row).ok()).filter(|row| *row > 0),
        ..HostReadOptions::default()
    }
}

fn layout(case: &Case) -> Result<FormatFile, String> {
    if case.argument("fmt").is_some() {
        let path = root().join(&case.name).join("f.fmt");
        let format_file = FormatFile::read(&path).map_err(|error| error.to_string())?;
        format_file.check("f.fmt", case.columns.len()).map_err(|error| error.to_string())?;
        return Ok(format_file);
    }
    let mode = match case.arguments().next().unwrap() {
        "c" => DataMode::Character,
        "w" => DataMode::UnicodeCharacter,
        _ => DataMode::Native,
    };
    let mut options = LayoutOptions { collations: false, ..LayoutOptions::default() };
    if let Some(text) = case.argument("rowterm") {
        options.row_terminator = terminator::parse_argument(text).unwrap();
    }
    if let Some(text) = case.argument("fieldterm") {
        options.field_terminator = terminator::parse_argument(text).unwrap();
    }
    Ok(FormatFile::for_columns(&case.columns, mode, &options))
}

/// Result of reading a case: rows, error file, and the error if the file ended too early.
struct Outcome {
    rows: Vec<Vec<Option<String>>>,
    error_file: String,
    failure: Option<String>,
}

fn outcome(case: &Case) -> Outcome {
    let mut outcome = Outcome { rows: Vec::new(), error_file: String::new(), failure: None };
    let format_file = match layout(case) {
        Ok(format_file) => format_file,
        Err(error) => {
            outcome.failure = Some(error);
            return outcome;
        }
    };
    let input = std::io::Cursor::new(fs::read(root().join(&case.name).join("input")).unwrap());
    let reader = HostReader::new(input, "input", &format_file, &case.columns, &options(case)).unwrap();
    let table_columns = reader.table_columns().to_vec();
    let mut left = match case.argument("maxerrs").map_or(10, |text| text.parse::<i64>().unwrap()) {
        ..=0 => usize::MAX,
        limit => limit as usize,
    };
    for batch in reader {
        match batch {
            Err(error) => outcome.failure = Some(error.to_string()),
            Ok(batch) => {
                let rows = in_table(spelled(&batch.batch), &table_columns, case.columns.len());
                let mut last_row = u64::MAX;
                for rejected in &batch.rejected {
                    outcome.error_file.push_str(&rejected.vendor_text());
                    left -= 1;
                    if left == 0 {
                        last_row = rejected.row;
                        break;
                    }
                }
                let kept = (0..rows.len()).filter(|index| batch.positions.row(*index) <= last_row).count();
                outcome.rows.extend(rows.into_iter().take(kept));
                if left == 0 {
                    break;
                }
            }
        }
    }
    outcome
}

/// An error file without the rows that differ: (row, its line of words, the row printed).
fn entries(text: &str, skipped: &[&str], printed: bool) -> Vec<String> {
    text.split("#@ Row ")
        .skip(1)
        .filter(|entry| !skipped.iter().any(|key| entry.starts_with(&format!("{key},"))))
        .map(|entry| if printed { entry.to_owned() } else { entry.lines().next().unwrap().to_owned() })
        .collect()
}

/// SELECT's spelling of a value: a binary(8) is filled up, a whole float has no point.
fn as_selected(row: &[Option<String>], columns: &[Column]) -> Vec<Option<String>> {
    row.iter()
        .zip(columns)
        .map(|(value, column)| {
            let value = value.as_ref()?;
            Some(match column.sql_type() {
                SqlType::Binary { length } => format!("{value:0<width$}", width = usize::from(*length) * 2),
                SqlType::Float => format!("{}", value.parse::<f64>().unwrap()),
                SqlType::Real => format!("{}", value.parse::<f64>().unwrap() as f32),
                _ => value.clone(),
            })
        })
        .collect()
}

/// Returns rows as some fixtures have them: text as hex of Windows-1252, and the key first.
fn as_hex(rows: &[Vec<Option<String>>], columns: &[Column]) -> Vec<Vec<Option<String>>> {
    let hex = |text: &String| -> String {
        text.chars()
            .map(|character| match CodePage::Cp1252.encode(&character.to_string()) {
                Ok(bytes) => format!("{:02X}", bytes[0]),
                Err(_) => "3F".to_owned(),
            })
            .collect()
    };
    let key_first = columns[0].name == "id";
    rows.iter()
        .map(|row| {
            let (key, text) = if key_first { (&row[0], &row[1]) } else { (&row[1], &row[0]) };
            vec![key.clone(), text.as_ref().map(hex)]
        })
        .collect()
}

#[test]
fn the_same_rows_are_accepted_and_the_same_errors_written() {
    let cases = cases();
    let mut different = Vec::new();
    for (name, _) in CASES {
        assert!(cases.iter().any(|case| case.name == *name), "{name} is no case");
    }
    for case in &cases {
        if CASES.iter().any(|(name, _)| *name == case.name) {
            continue;
        }
        let skipped: Vec<&str> = ROWS
            .iter()
            .filter(|(name, ..)| case.name.starts_with(name))
            .flat_map(|(_, keys, _)| keys.iter().copied())
            .collect();
        let mut found = outcome(case);
        let kept = |row: &Vec<Option<String>>| {
            !row.first().is_some_and(|key| key.as_ref().is_some_and(|key| skipped.contains(&key.as_str())))
        };
        found.rows.retain(kept);
        let expected: Vec<Vec<Option<String>>> = case.json["rows_in_table"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| {
                row.as_array().unwrap().iter().map(|value| value.as_str().map(str::to_owned)).collect()
            })
            .filter(kept)
            .collect();
        // Rows that the server changed or refused are not compared.
        let loads = !case.name.starts_with("dup_key") && !REFUSED_BY_SERVER.contains(&case.name.as_str());
        let selected = |rows: &[Vec<Option<String>>]| {
            let mut rows: Vec<_> = rows.iter().map(|row| as_selected(row, &case.columns)).collect();
            rows.sort();
            rows
        };
        let mut hex = as_hex(&found.rows, &case.columns);
        hex.sort();
        let in_hex = expected.clone();
        if loads && hex != in_hex && selected(&found.rows) != selected(&expected) {
            different.push(format!("{}: {:?} for {expected:?}", case.name, found.rows));
        }
        let path = root().join(&case.name).join("err");
        if path.exists() {
            let expected = String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
            let printed = rows_are_printed(case);
            let found = entries(&found.error_file, &skipped, printed);
            let expected = entries(&expected, &skipped, printed);
            if found != expected {
                let entry = found.iter().zip(&expected).find(|(found, expected)| found != expected);
                different.push(format!("{}: error file: {entry:?}", case.name));
            }
        }
        let says = case.says("Unexpected EOF");
        if found.failure.is_some() != says && loads {
            let failure = &found.failure;
            different.push(format!("{}: {failure:?}, the library says unexpected EOF: {says}", case.name));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn blanks_beyond_a_column_s_length_are_no_loss() {
    let columns = declare("c char(3) null, n nchar(3) null, v varchar(3) null, w nvarchar(3) null").unwrap();
    for (mode, wide) in [(DataMode::Character, false), (DataMode::UnicodeCharacter, true)] {
        let format_file = FormatFile::for_columns(&columns, mode, &LayoutOptions::default());
        let text = "ab   \tab   \tx\ty\nabc  \tabc  \tx\ty\nabc d\tx\tx\ty\nx\tx\tx    \ty\nx\tx\tx\ty    \n";
        let bytes: Vec<u8> = match wide {
            true => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            false => text.as_bytes().to_vec(),
        };
        let input = std::io::Cursor::new(bytes);
        let reader =
            HostReader::new(input, "t.dat", &format_file, &columns, &HostReadOptions::default()).unwrap();
        let batches: Vec<_> = reader.map(Result::unwrap).collect();
        let rows: usize = batches.iter().map(|batch| batch.batch.num_rows()).sum();
        let rejected: Vec<_> =
            batches.iter().flat_map(|batch| &batch.rejected).map(|row| (row.row, row.field)).collect();
        // Observed for all four types, in UTF-8 and in UTF-16: only the third row has more than blanks there.
        assert_eq!((rows, rejected), (4, vec![(3, 1)]), "{mode:?}");
    }
}
