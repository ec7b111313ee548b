//! OPENROWSET(BULK …): a file as a table of a query.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use databases::file_access::{FileAccess, cannot_open};
use formats::bcp::{FieldCollation, FormatFile, HostType};
use introspection::view::View;
use query::running;
use query::{BoundTable, Datum, FileTable, OutputColumn};
use rows::mapping::{Form, field_for};
use tds::{CodePage, Collation, Column, Length, SqlType};
use tsql::SqlError;
use tsql::bulk_file::{BulkRowset, RowsetContents};
use tsql::errors;

use crate::bulk_file::fault::Broken;
use crate::bulk_file::layout::{Layout, format_file};
use crate::bulk_file::rows::FileRows;

/// The one column of SINGLE_BLOB, SINGLE_CLOB and SINGLE_NCLOB.
const BULK_COLUMN: &str = "BulkColumn";
/// Longest value.
const VALUE_BYTES_MAX: u64 = i32::MAX as u64;

/// Opens the file. It is read while the query runs, and once only.
///
/// A row with a value that does not fit ends the query with the message that names it.
pub fn open(rowset: &BulkRowset, access: &FileAccess, collation: Collation) -> Result<BoundTable, SqlError> {
    let path = access.existing(&rowset.file)?;
    if rowset.contents != RowsetContents::Rows {
        let bytes = read_whole(&path, &rowset.file)?;
        return single(rowset.contents, bytes, collation);
    }
    let Some(name) = &rowset.options.format_file else {
        return Err(SqlError::new(
            4889,
            16,
            1,
            "Cannot bulk load. OPENROWSET(BULK …) needs FORMATFILE, SINGLE_BLOB, SINGLE_CLOB or SINGLE_NCLOB.",
        ));
    };
    let mut format = format_file(name, access)?;
    let columns = rowset_columns(&mut format, collation);
    let ended = |broken: Broken| broken.error;
    let (layout, _) = Layout::new(&path, &rowset.options, Some(format), &columns, &[])?;
    let rows = FileRows::open(&rowset.file, &path, layout, &columns, &[], |position| {
        columns.get(position).is_none_or(|column| column.flags.is_nullable())
    })
    .map_err(ended)?;
    let fields = rows.columns().iter().map(|column| field_for(column, &Form::Exact));
    let schema = Schema::new(fields.collect::<Vec<_>>());
    let outputs = rows.columns().iter().map(|column| OutputColumn {
        collation: column.type_info.collation,
        ..OutputColumn::expression(column.name.clone(), column.sql_type().clone(), column.flags.is_nullable())
    });
    let columns = outputs.collect();
    let provider = FileTable::provider(&schema, Batches { rows, pending: Vec::new(), ended: false });
    Ok(BoundTable { columns, provider })
}

/// Reads the contents of a regular file as one value. Errors: 7119, 701.
fn read_whole(path: &Path, name: &str) -> Result<Vec<u8>, SqlError> {
    let failed = |error: io::Error| cannot_open(name, &error);
    let file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    if length > VALUE_BYTES_MAX {
        return Err(errors::VALUE_TOO_LONG.error());
    }
    // The bytes, the text that they are, and the value.
    running::hold(usize::try_from(length).unwrap_or(usize::MAX).saturating_mul(4))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// The batches of a file, in which one bad row is an error.
struct Batches {
    rows: FileRows,
    pending: Vec<RecordBatch>,
    ended: bool,
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, SqlError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.pending.is_empty() && !self.ended {
            match self.rows.next() {
                Ok(Some(next)) => {
                    if let Some(bad) = next.bad.first() {
                        self.ended = true;
                        return Some(Err(bad.message()));
                    }
                    self.pending = next.batches;
                    self.pending.reverse();
                }
                Ok(None) => self.ended = true,
                Err(broken) => {
                    self.ended = true;
                    return Some(Err(broken.error));
                }
            }
        }
        self.pending.pop().map(Ok)
    }
}

fn single(contents: RowsetContents, bytes: Vec<u8>, collation: Collation) -> Result<BoundTable, SqlError> {
    let has_mark = bytes.starts_with(&[0xFF, 0xFE]);
    match contents {
        RowsetContents::Rows | RowsetContents::Blob => {
            one_value("varbinary(max)", None, Datum::Binary(bytes))
        }
        RowsetContents::Clob if has_mark => Err(SqlError::new(
            4806,
            16,
            1,
            "SINGLE_CLOB requires a double-byte character set (DBCS) (char) input file. The file specified is Unicode.",
        )),
        RowsetContents::Clob => {
            // Text with the mark of UTF-8 is that; anything else is in the database's code page.
            let (text, page) = match bytes.strip_prefix(&[0xEF, 0xBB, 0xBF]) {
                Some(rest) => (rest, CodePage::Utf8),
                None => (bytes.as_slice(), collation.code_page()),
            };
            let text = page.decode(text).map_err(|error| unreadable(&error.to_string()))?;
            one_value("varchar(max)", Some(collation), Datum::Text(text.into_owned()))
        }
        RowsetContents::NClob if !has_mark => Err(SqlError::new(
            4809,
            16,
            1,
            "SINGLE_NCLOB requires a UNICODE (widechar) input file. The file specified is not Unicode.",
        )),
        RowsetContents::NClob => {
            let units: Vec<u16> = bytes
                .get(2..)
                .unwrap_or_default()
                .chunks(2)
                .map(|pair| match pair {
                    [low, high] => u16::from_le_bytes([*low, *high]),
                    // Half a character; no text ends in it.
                    _ => 0xD800,
                })
                .collect();
            let text = String::from_utf16(&units).map_err(|error| unreadable(&error.to_string()))?;
            one_value("nvarchar(max)", Some(collation), Datum::Text(text))
        }
    }
}

fn one_value(sql_type: &str, collation: Option<Collation>, value: Datum) -> Result<BoundTable, SqlError> {
    let mut view = View::new(&[(BULK_COLUMN, sql_type)]);
    view.push(vec![value]);
    let mut table = view.into_table()?;
    for column in &mut table.columns {
        column.collation = collation;
    }
    Ok(table)
}

fn unreadable(problem: &str) -> SqlError {
    SqlError::new(
        4864,
        16,
        1,
        format!("Bulk load data conversion error: the file is not text of its code page: {problem}."),
    )
}

/// Returns the rowset's columns, in the order of the format file's column numbers, which become 1, 2, ….
fn rowset_columns(format: &mut FormatFile, collation: Collation) -> Vec<Column> {
    let mut numbers: Vec<usize> = format.fields.iter().filter_map(|field| field.column).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let declared = format.rowset.take();
    let mut columns = Vec::with_capacity(numbers.len());
    for (rank, number) in numbers.iter().enumerate() {
        let Some(index) = format.fields.iter().position(|field| field.column == Some(*number)) else {
            continue;
        };
        let Some(field) = format.fields.get_mut(index) else { continue };
        let row = declared.as_ref().and_then(|rows| rows.iter().find(|row| row.field == index));
        let (name, sql_type, nullable) = match row {
            Some(row) => (row.name.clone(), row.sql_type.clone(), row.nullable),
            None => (field.name.clone(), host_sql_type(field.host_type, field.length), true),
        };
        field.column = Some(rank + 1);
        // The field's own collation has its letters, which the database's need not have.
        let collation = match &field.collation {
            FieldCollation::Named { collation, .. } => *collation,
            FieldCollation::Default | FieldCollation::Raw => collation,
        };
        let collation = sql_type.is_character().then_some(collation);
        columns.push(Column::new(name, sql_type, nullable, collation));
    }
    columns
}

/// Returns the type of a column that only its field describes.
fn host_sql_type(host_type: HostType, length: u32) -> SqlType {
    let units = |length: u32, most: u16| match u16::try_from(length) {
        Ok(units) if (1..=most).contains(&units) => Length::Units(units),
        _ => Length::Max,
    };
    match host_type {
        HostType::Char => SqlType::VarChar { length: units(length, 8000) },
        HostType::NChar => SqlType::NVarChar { length: units(length / 2, 4000) },
        HostType::Binary => SqlType::VarBinary { length: units(length, 8000) },
        // The digits stand in each value; the widest decimal holds those of most.
        other => other.natural_sql_type().unwrap_or(SqlType::Decimal { precision: 38, scale: 10 }),
    }
}
