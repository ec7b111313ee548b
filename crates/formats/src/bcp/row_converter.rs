//! The rows of a host file on their way into batches.

use std::sync::Arc;

use arrow::array::BooleanArray;
use arrow::compute::filter_record_batch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use rows::Form;
use tds::{Column, Length, SqlType};

use super::HostType;
use super::cells::SplitRows;
use super::column::{self, ColumnFiller, Report};
use super::format_file::{FieldCollation, HostField};
use super::options::{FileCodePage, HostReadOptions, TextFields};
use super::reader::HostBatch;
use super::text_column::TextForm;
use super::value::{Fault, native};
use crate::deviation::{Deviation, Suffered, tally};
use crate::rejected_rows::{RejectedField, RejectedRow};
use crate::{FormatError, RowPositions};

/// Turns the fields of split rows into the values of a batch.
pub(super) struct RowConverter {
    pub(super) fields: Vec<FieldReader>,
    pub(super) schema: SchemaRef,
    pub(super) table_columns: Vec<usize>,
    /// Accepted deviations in the rows that were converted since this list was taken last.
    pub(super) suffered: Vec<Suffered>,
    columns_missing: usize,
    options: HostReadOptions,
    report: Report,
    batch: Building,
}

/// Place of a chunk of rows in its file.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChunkPlace {
    /// Rows of the file in front of it.
    pub(super) rows_before: u64,
    /// Offset in the file of the chunk's text.
    pub(super) offset: u64,
}

/// A batch being filled.
#[derive(Default)]
struct Building {
    positions: RowPositions,
    /// Rows of the batch, from 0, that are rejected.
    dropped: Vec<usize>,
    rejected: Vec<RejectedRow>,
    bytes: usize,
}

/// A field of the file, and the column that it fills.
pub(super) struct FieldReader {
    pub(super) stored: HostField,
    /// Encoding of the field's text, also for error messages.
    pub(super) text: TextForm,
    /// The column it fills: its name, its type, and the values so far.
    target: Option<Target>,
}

struct Target {
    column: Column,
    filler: Box<dyn ColumnFiller>,
    /// Index of the column in the batch; None if a later field fills the same column.
    batch_column: Option<usize>,
}

/// A fault of a row: the row, the field (both from 0), and the fault.
type RowFault = (u32, u16, Fault);

impl RowConverter {
    /// Creates a converter for fields that are loaded into a table of these `columns`. Also returns the
    /// fields whose column a later field fills as well.
    pub(super) fn new(
        stored: &[HostField],
        columns: &[Column],
        options: &HostReadOptions,
    ) -> (Self, Vec<usize>) {
        let mut fields: Vec<FieldReader> =
            stored.iter().map(|field| FieldReader::new(field.clone(), columns, options)).collect();
        let (table_columns, twice) = number_columns(&mut fields);
        let converter = Self {
            schema: schema(&fields, &table_columns, columns, options),
            columns_missing: columns.len().saturating_sub(table_columns.len()),
            table_columns,
            suffered: Vec::new(),
            report: Report::default(),
            batch: Building::new(options),
            options: options.clone(),
            fields,
        };
        (converter, twice)
    }

    /// Keeps the rows to come as they stand in the file, as [`HostReadOptions::keep_raw_rows`] does.
    pub(super) fn keep_raw_rows(&mut self) {
        if !self.options.keep_raw_rows && self.batch.positions.is_empty() {
            self.options.keep_raw_rows = true;
            self.batch.positions = RowPositions::keeping(true);
        }
    }

    /// Counts the rows that the batch still takes.
    pub(super) fn room(&self) -> usize {
        match self.batch.bytes < self.options.batch_bytes {
            true => self.options.batch_rows.max(1).saturating_sub(self.batch.positions.len()),
            false => 0,
        }
    }

    /// Returns true if no row was converted since the last batch.
    pub(super) fn is_empty(&self) -> bool {
        self.batch.positions.is_empty()
    }

    /// Converts the rows of a chunk and adds them to the batch.
    pub(super) fn convert(&mut self, text: &[u8], place: ChunkPlace, rows: &mut SplitRows) {
        let fields = self.fields.len();
        let mut faults: Vec<RowFault> = Vec::new();
        let mut remarks = std::mem::take(&mut rows.notes);
        tell_whole_rows(&mut remarks);
        for (index, field) in self.fields.iter_mut().enumerate() {
            let Some(target) = &mut field.target else { continue };
            target.filler.fill(rows.cells(text, index, fields), &mut self.report);
            faults.extend(self.report.faults.drain(..).map(|(row, fault)| (row, index as u16, fault)));
            remarks.extend(self.report.remarks.drain(..).map(|(row, what)| (row, index as u16, what)));
        }
        // Remarks are in the order of the file, so that the first place does not depend on the chunks.
        remarks.sort_by_key(|(row, field, _)| (*row, *field));
        for (row, field, deviation) in remarks {
            if self.options.tolerance.suffers(deviation) {
                let position = rows.bounds.get(row as usize).map_or(0, |bounds| bounds.0);
                let place = (place.rows_before + u64::from(row) + 1, place.offset + u64::from(position));
                let column = self.fields.get(usize::from(field)).map(FieldReader::name);
                tally(&mut self.suffered, deviation, place, column, 1);
            } else {
                faults.push((row, field, Fault::Refused(deviation)));
            }
        }
        // Only the first field at fault of each row is reported, as in the original.
        faults.sort_by_key(|(row, field, _)| (*row, *field));
        faults.dedup_by_key(|(row, ..)| *row);
        let first_in_batch = self.batch.positions.len();
        for (row, field, fault) in faults {
            self.batch.dropped.push(first_in_batch + row as usize);
            let rejected = self.rejected(text, place, rows, row as usize, usize::from(field), fault);
            self.batch.rejected.extend(rejected);
        }
        for (row, &(start, end)) in (place.rows_before + 1..).zip(&rows.bounds) {
            let raw = text.get(start as usize..end as usize).unwrap_or_default();
            self.batch.positions.push(row, place.offset + u64::from(start), end - start, raw);
        }
        let bounds = (rows.bounds.first(), rows.bounds.last());
        if let (Some((start, _)), Some((_, end))) = bounds {
            self.batch.bytes += (end - start) as usize;
        }
    }

    /// Makes a rejected row of a row of the chunk, spelled out for those who ask why it does not load.
    fn rejected(
        &self,
        text: &[u8],
        place: ChunkPlace,
        rows: &SplitRows,
        row: usize,
        field: usize,
        fault: Fault,
    ) -> Option<RejectedRow> {
        let &(start, end) = rows.bounds.get(row)?;
        let fields: Vec<RejectedField> = self
            .fields
            .iter()
            .enumerate()
            .map(|(index, field)| field.spell(rows.cells(text, index, self.fields.len()).get(row)))
            .collect();
        let reader = self.fields.get(field)?;
        let target = reader.target.as_ref().map(|target| target.column.sql_type().clone());
        let target =
            target.or_else(|| reader.stored.host_type.natural_sql_type()).unwrap_or(SqlType::SqlVariant);
        let value = match fields.get(field) {
            Some(RejectedField::Text(text)) => shortened(text),
            _ => String::new(),
        };
        Some(RejectedRow {
            row: place.rows_before + row as u64 + 1,
            byte_offset: place.offset + u64::from(start),
            field: field + 1,
            column: reader.name().to_owned(),
            value,
            reason: fault.reason(&target),
            raw: text.get(start as usize..end as usize).unwrap_or_default().to_vec(),
            raw_encoding: None,
            fields,
            columns_missing: self.columns_missing,
        })
    }

    /// Takes the rows that were converted.
    pub(super) fn take_batch(&mut self) -> Result<HostBatch, FormatError> {
        let Building { mut positions, dropped, rejected, .. } =
            std::mem::replace(&mut self.batch, Building::new(&self.options));
        let mut arrays = vec![None; self.table_columns.len()];
        for target in self.fields.iter_mut().filter_map(|field| field.target.as_mut()) {
            let array = target.filler.finish()?;
            if let Some(slot) = target.batch_column.and_then(|index| arrays.get_mut(index)) {
                *slot = Some(array);
            }
        }
        let rows = arrow::record_batch::RecordBatchOptions::new().with_row_count(Some(positions.len()));
        let arrays = arrays.into_iter().flatten().collect();
        let mut batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &rows)?;
        if !dropped.is_empty() {
            let mut keep = vec![true; positions.len()];
            for row in dropped {
                if let Some(keep) = keep.get_mut(row) {
                    *keep = false;
                }
            }
            let mut kept = keep.iter();
            positions.retain(|| kept.next().copied().unwrap_or(true));
            batch = filter_record_batch(&batch, &BooleanArray::from(keep))?;
        }
        Ok(HostBatch { batch, positions, rejected })
    }
}

impl Building {
    fn new(options: &HostReadOptions) -> Self {
        Self { positions: RowPositions::keeping(options.keep_raw_rows), ..Self::default() }
    }
}

impl FieldReader {
    fn new(stored: HostField, columns: &[Column], options: &HostReadOptions) -> Self {
        let column = stored.column.and_then(|number| columns.get(number - 1));
        let own = || {
            let collation = column.and_then(|column| column.type_info.collation).unwrap_or_default();
            collation.code_page()
        };
        let text = match (stored.host_type, &stored.collation, options.code_page) {
            (HostType::NChar, ..) => TextForm::Wide,
            (_, FieldCollation::Named { collation, .. }, _) => TextForm::Page(collation.code_page()),
            (_, FieldCollation::Default, FileCodePage::Page(page)) => TextForm::Page(page),
            (_, FieldCollation::Default, FileCodePage::Latin1) => TextForm::Latin1,
            (_, FieldCollation::Raw, _) | (_, _, FileCodePage::Raw) => TextForm::Page(own()),
        };
        let target = column.map(|column| Target {
            column: column.clone(),
            filler: match options.text_fields {
                TextFields::Keep if stored.host_type.is_text() => column::text_filler(column, text),
                _ => column::filler(&stored, column, text, options.regional.as_ref(), options.spelling),
            },
            batch_column: None,
        });
        Self { stored, text, target }
    }

    pub(super) fn name(&self) -> &str {
        self.target.as_ref().map_or(self.stored.name.as_str(), |target| target.column.name.as_str())
    }

    /// Spells a cell for an error file.
    fn spell(&self, cell: Option<&[u8]>) -> RejectedField {
        let Some(cell) = cell else { return RejectedField::Null };
        if self.stored.host_type.is_text() {
            let text = self.text.decode(cell).unwrap_or_else(|| String::from_utf8_lossy(cell));
            return RejectedField::Text(text.into_owned());
        }
        let mut text = Vec::new();
        native::spell(self.stored.host_type, cell, &mut text);
        RejectedField::Text(String::from_utf8_lossy(&text).into_owned())
    }

    /// Returns the bytes at which a value with a length in front of it is cut: those of the field, if the
    /// column would take more.
    pub(super) fn cut(&self) -> usize {
        let length = self.stored.length as usize;
        let Some(target) = self.target.as_ref().filter(|_| length > 0) else { return usize::MAX };
        let unit = if self.stored.host_type == HostType::NChar { 2 } else { 1 };
        let column = match target.column.sql_type() {
            SqlType::Char { length } | SqlType::NChar { length } => usize::from(*length) * unit,
            SqlType::VarChar { length: Length::Units(length) }
            | SqlType::NVarChar { length: Length::Units(length) } => usize::from(*length) * unit,
            sql_type => column::byte_limit(sql_type),
        };
        if self.stored.host_type.size_bytes().is_none() && length < column { length } else { usize::MAX }
    }
}

/// Says which column of the batch each field becomes. Returns the table columns of the batch, and the fields whose column
/// a later field fills as well.
fn number_columns(fields: &mut [FieldReader]) -> (Vec<usize>, Vec<usize>) {
    let mut columns: Vec<usize> =
        fields.iter().filter_map(|field| field.stored.column).map(|n| n - 1).collect();
    columns.sort_unstable();
    columns.dedup();
    let mut taken = vec![false; columns.len()];
    let mut twice = Vec::new();
    for (index, field) in fields.iter_mut().enumerate().rev() {
        let (Some(number), Some(target)) = (field.stored.column, &mut field.target) else { continue };
        if let Ok(place) = columns.binary_search(&(number - 1)) {
            match taken.get_mut(place) {
                Some(taken) if !*taken => {
                    *taken = true;
                    target.batch_column = Some(place);
                }
                _ => twice.push(index),
            }
        }
    }
    (columns, twice)
}

/// Makes the schema of the batches.
fn schema(
    fields: &[FieldReader],
    table_columns: &[usize],
    columns: &[Column],
    options: &HostReadOptions,
) -> SchemaRef {
    let of_table = table_columns.iter().filter_map(|index| columns.get(*index));
    let schema: Vec<Field> = of_table
        .enumerate()
        .map(|(place, column)| {
            let source = fields
                .iter()
                .find(|field| field.target.as_ref().is_some_and(|target| target.batch_column == Some(place)));
            let text = source.is_some_and(|field| field.stored.host_type.is_text());
            if text && options.text_fields == TextFields::Keep {
                Field::new(&column.name, DataType::Utf8, true)
            } else {
                // A file may hold NULL for any column; whether the column takes it is the server's to say.
                rows::mapping::field_for(column, &Form::Exact).with_nullable(true)
            }
        })
        .collect();
    Arc::new(Schema::new(schema))
}

/// Corrects the notes of rows that have the right number of fields: such a row holds the row terminator as
/// data, while rows that ran together have fields too many.
fn tell_whole_rows(notes: &mut [(u32, u16, Deviation)]) {
    let surplus: Vec<u32> =
        notes.iter().filter(|(.., what)| *what == Deviation::SurplusFields).map(|(row, ..)| *row).collect();
    for (row, _, what) in notes.iter_mut().filter(|(.., what)| *what == Deviation::SwallowedRow) {
        if surplus.binary_search(row).is_err() {
            *what = Deviation::RowEndInField;
        }
    }
}

fn shortened(text: &str) -> String {
    let mut kept: String = text.chars().take(RejectedRow::VALUE_CHARS_MAX).collect();
    if kept.len() < text.len() {
        kept.push('…');
    }
    kept
}
