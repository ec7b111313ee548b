//! A host file as one of the formats that [`open`](crate::open) and [`create`](crate::create) know.

use std::sync::Arc;
use std::time::Duration;

use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use rows::Form;
use tds::{Collation, Column, Length, SqlType};

use super::form_converter::FormConverter;
use super::format_file::FormatFile;
use super::layout::{DataMode, LayoutOptions};
use super::options::HostReadOptions;
use super::reader::HostReader;
use super::write_options::HostWriteOptions;
use crate::deviation::Suffered;
use crate::rejected_rows::Rejects;
use crate::{BatchReader, Compression, FormatError, Location, Reason, RowPositions};

/// Everything that must be known to read or write a host file.
#[derive(Debug, Clone, PartialEq)]
pub struct HostFormat {
    /// The fields, and the columns that they fill.
    pub format_file: FormatFile,
    /// Columns of the whole table.
    pub columns: Vec<Column>,
    /// Options for reading.
    pub read: HostReadOptions,
    /// Options for writing.
    pub write: HostWriteOptions,
    /// The form of the batches that are read.
    pub form: Form,
}

impl HostFormat {
    /// Describes a file with all columns in a mode of `bcp`, without a format file.
    pub fn for_columns(columns: Vec<Column>, mode: DataMode, options: &LayoutOptions) -> Self {
        let layout = LayoutOptions { collations: false, ..options.clone() };
        let format_file = FormatFile::for_columns(&columns, mode, &layout);
        let wide = mode == DataMode::UnicodeCharacter;
        let read = HostReadOptions {
            native_version: options.native_version,
            byte_order_mark: if wide { super::ByteOrderMark::Strip } else { super::ByteOrderMark::Vendor },
            ..HostReadOptions::default()
        };
        let write = HostWriteOptions {
            native_version: options.native_version,
            byte_order_mark: wide,
            ..HostWriteOptions::default()
        };
        Self { format_file, columns, read, write, form: Form::Exact }
    }

    /// Describes a file by its format file alone, with the columns of that file.
    ///
    /// # Errors
    /// [`FormatFile::own_columns`].
    pub fn from_format_file(format_file: FormatFile) -> Result<Self, FormatError> {
        Ok(Self {
            columns: format_file.own_columns()?,
            format_file,
            read: HostReadOptions::default(),
            write: HostWriteOptions::default(),
            form: Form::Exact,
        })
    }
}

impl FormatFile {
    /// Returns the columns that the file itself describes. An XML format file has them in its rowset. With
    /// other format files each field is a column of the type of its bytes, and text columns are as long as
    /// the field.
    ///
    /// # Errors
    /// A decimal field of a non-XML format file: only the values have precision and scale, so the table is needed.
    pub fn own_columns(&self) -> Result<Vec<Column>, FormatError> {
        if let Some(rowset) = &self.rowset {
            let column = |column: &super::RowsetColumn| {
                let collation = self.fields.get(column.field).and_then(|field| match &field.collation {
                    super::FieldCollation::Named { collation, .. } => Some(*collation),
                    _ => None,
                });
                let collation = collation.or(Some(Collation::default()));
                Column::new(column.name.clone(), column.sql_type.clone(), column.nullable, collation)
            };
            return Ok(rowset.iter().map(column).collect());
        }
        let count = self.fields.iter().filter_map(|field| field.column).max().unwrap_or(0);
        (1..=count)
            .map(|number| {
                let Some(field) = self.fields.iter().find(|field| field.column == Some(number)) else {
                    // The file does not fill this column, so its type does not matter.
                    return Ok(Column::new(format!("column{number}"), SqlType::Int, true, None));
                };
                let length = |unit: u32, limit: u32| match field.length / unit {
                    units if units == 0 || units > limit => Length::Max,
                    // Within 8000, so the cast keeps it.
                    units => Length::Units(units as u16),
                };
                let sql_type = match field.host_type {
                    super::HostType::Char => SqlType::VarChar { length: length(1, 8000) },
                    super::HostType::NChar => SqlType::NVarChar { length: length(2, 4000) },
                    super::HostType::Binary => SqlType::VarBinary { length: length(1, 8000) },
                    other => other.natural_sql_type().ok_or_else(|| {
                        let problem = format!(
                            "column {:?} is a decimal, whose precision and scale a format file does not tell",
                            field.name
                        );
                        FormatError::option("columns", problem)
                    })?,
                };
                let collation = match &field.collation {
                    super::FieldCollation::Named { collation, .. } => *collation,
                    _ => Collation::LATIN1_GENERAL_100_CI_AS_SC_UTF8,
                };
                Ok(Column::new(field.name.clone(), sql_type, true, Some(collation)))
            })
            .collect()
    }
}

/// Reads a host file as a [`BatchReader`]. A row that does not load is an error, or is collected if the caller asked for that.
pub struct HostFormatReader {
    reader: HostReader,
    converter: FormConverter,
    rejects: Option<Rejects>,
    delivered: Option<RowPositions>,
    file: String,
    failed: bool,
}

impl HostFormatReader {
    /// Opens a file.
    ///
    /// # Errors
    /// The errors of [`HostReader::open`].
    pub fn open(
        location: &Location,
        format: &HostFormat,
        compression: Compression,
        batch_rows: usize,
    ) -> Result<Self, FormatError> {
        let options = HostReadOptions { batch_rows, ..format.read.clone() };
        let reader = HostReader::open(location, compression, &format.format_file, &format.columns, &options)?;
        let columns: Vec<Column> =
            reader.table_columns().iter().filter_map(|index| format.columns.get(*index).cloned()).collect();
        let converter = FormConverter::new(&reader.schema(), &columns, &format.form)?;
        Ok(Self {
            reader,
            converter,
            rejects: None,
            delivered: None,
            file: location.to_string(),
            failed: false,
        })
    }

    /// Returns the accepted deviations so far, which the original bcp would not have mentioned.
    pub fn suffered(&self) -> &[Suffered] {
        self.reader.suffered()
    }

    /// Returns for each column of a batch its index, from 0, in the format's columns.
    pub fn table_columns(&self) -> &[usize] {
        self.reader.table_columns()
    }

    fn deliver(&mut self, batch: super::HostBatch) -> Result<RecordBatch, FormatError> {
        match (&self.rejects, batch.rejected.into_iter().next()) {
            (None, Some(row)) => {
                let place = crate::Place {
                    row: Some(row.row),
                    byte_offset: Some(row.byte_offset),
                    column: Some(row.column.clone()).filter(|name| !name.is_empty()),
                    ..crate::Place::default()
                };
                let error = FormatError::new(Reason::Refused(row.reason)).at(place);
                Err(error.with_value(&row.value).in_file(&self.file))
            }
            _ => self.converter.convert(&batch.batch).map_err(|error| error.in_file(&self.file)),
        }
    }
}

impl Iterator for HostFormatReader {
    type Item = Result<RecordBatch, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let mut batch = match self.reader.next()? {
            Ok(batch) => batch,
            Err(error) => {
                self.failed = true;
                return Some(Err(error));
            }
        };
        if let Some(rejects) = &self.rejects {
            rejects.locked().append(&mut batch.rejected);
            self.delivered = Some(std::mem::take(&mut batch.positions));
        }
        let delivered = self.deliver(batch);
        self.failed = delivered.is_err();
        Some(delivered)
    }
}

impl BatchReader for HostFormatReader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.converter.schema())
    }

    fn bytes_read(&self) -> u64 {
        self.reader.bytes_read()
    }

    fn bytes_total(&self) -> Option<u64> {
        self.reader.bytes_total()
    }

    fn rejects(&mut self) -> Option<Rejects> {
        self.reader.keep_raw_rows();
        Some(self.rejects.get_or_insert_default().clone())
    }

    fn use_threads(&mut self, threads: usize) {
        self.reader.use_threads(threads);
    }

    fn take_helpers_cpu(&mut self) -> Duration {
        self.reader.take_helpers_cpu()
    }

    fn positions(&mut self) -> Option<RowPositions> {
        self.delivered.take()
    }
}

/// Makes SQL columns for batches: by the SQL types that the type mapping writes into the schema, or else by
/// the Arrow types.
///
/// # Errors
/// A type that SQL Server has no column for.
pub fn columns_of(schema: &Schema) -> Result<Vec<Column>, FormatError> {
    schema
        .fields()
        .iter()
        .map(|field| {
            rows::mapping::column_for(field)
                .map_err(|error| FormatError::new(Reason::Text(error.to_string())).in_column(field.name()))
        })
        .collect()
}
