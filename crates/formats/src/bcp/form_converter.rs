//! Converts batches of any Arrow types to given columns, in a form of the type mapping.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use arrow::compute::{concat_batches, filter_record_batch};
use arrow::datatypes::{Field, Schema, SchemaRef};
use rows::mapping::SQL_TYPE_KEY;
use rows::text::spelling::TextSpelling;
use rows::{BoundBatch, CastOptions, CellError, Decoder, Form, Plan};
use tds::{Column, SqlType};

use crate::{FormatError, Reason};

/// Converts by the rules of a load: what does not fit is refused.
///
/// Where types differ, values go through the bytes of a load and back, so that there is one set of rules.
pub struct FormConverter {
    schema: SchemaRef,
    /// Columns that differ, the first from 0, and how they are converted.
    converted: Option<(Vec<usize>, Plan, Form)>,
    rows: u64,
}

impl FormConverter {
    /// Prepares the conversion of batches of `source` to these columns, by position, in this form.
    ///
    /// # Errors
    /// Another number of columns, or types that cannot be converted.
    pub fn new(source: &Schema, columns: &[Column], form: &Form) -> Result<Self, FormatError> {
        Self::spelled(source, columns, form, TextSpelling::default())
    }

    /// Prepares the same conversion of text whose numbers and dates are spelled so.
    ///
    /// # Errors
    /// Another number of columns, or types that cannot be converted.
    pub fn spelled(
        source: &Schema,
        columns: &[Column],
        form: &Form,
        spelling: TextSpelling,
    ) -> Result<Self, FormatError> {
        if source.fields().len() != columns.len() {
            let count = |count: usize| format!("{count} columns");
            let (expected, found) = (count(columns.len()), count(source.fields().len()));
            return Err(FormatError::new(Reason::SchemaMismatch { expected, found }));
        }
        let fields: Vec<_> =
            columns.iter().map(|column| rows::mapping::field_for(column, form).with_nullable(true)).collect();
        let differing: Vec<usize> = fields
            .iter()
            .zip(columns)
            .zip(source.fields())
            .enumerate()
            .filter(|(_, ((field, column), source))| !is_same(source, field, column.sql_type()))
            .map(|(index, _)| index)
            .collect();
        let converted = if differing.is_empty() {
            None
        } else {
            let source = source.project(&differing)?;
            let targets: Vec<Column> =
                differing.iter().filter_map(|index| columns.get(*index)).map(nullable).collect();
            let cast = CastOptions { nested_as_json: true, spelling, ..CastOptions::default() };
            let plan = Plan::for_result_as(&source, &targets, cast)
                .map_err(|error| FormatError::new(Reason::Text(error.to_string())))?;
            Some((differing, plan, form.clone()))
        };
        Ok(Self { schema: Arc::new(Schema::new(fields)), converted, rows: 0 })
    }

    /// Returns the schema of the batches that come out.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Converts a batch to the form.
    ///
    /// # Errors
    /// A value that does not fit its column.
    pub fn convert(&mut self, batch: &RecordBatch) -> Result<RecordBatch, FormatError> {
        let first_row = self.rows;
        self.rows += batch.num_rows() as u64;
        let Some((differing, plan, form)) = &self.converted else {
            return self.with_converted(batch, &[]);
        };
        let bound = batch.project(differing)?;
        let bound = plan.bind(&bound, first_row).map_err(|error| fail(error.to_string()))?;
        let mut rows = Encoded::default();
        rows.add(&bound);
        let exact = rows.decode(plan, form)?;
        self.with_converted(batch, exact.columns())
    }

    /// Converts the rows of the batch that fit the form. The others go to `refuse`, by their index in the
    /// batch, in order. They are found by halving, so that one of them costs few checks.
    ///
    /// # Errors
    /// `refuse` returns an error.
    pub fn convert_fitting(
        &mut self,
        batch: &RecordBatch,
        refuse: &mut dyn FnMut(usize, &CellError) -> Result<(), FormatError>,
    ) -> Result<RecordBatch, FormatError> {
        let Some((differing, plan, form)) = &self.converted else { return self.convert(batch) };
        self.rows += batch.num_rows() as u64;
        let differing_columns = batch.project(differing)?;
        let mut rows = Encoded::default();
        let mut fits = vec![true; batch.num_rows()];
        let mut parts = vec![(0, batch.num_rows())];
        while let Some((first, length)) = parts.pop() {
            match plan.bind(&differing_columns.slice(first, length), 0) {
                Ok(bound) => rows.add(&bound),
                Err(error) if length <= 1 => {
                    fits.iter_mut().skip(first).take(1).for_each(|fits| *fits = false);
                    refuse(first, &error)?;
                }
                Err(_) => {
                    parts.push((first + length / 2, length - length / 2));
                    parts.push((first, length / 2));
                }
            }
        }
        let exact = rows.decode(plan, form)?;
        let fitting = filter_record_batch(batch, &BooleanArray::from(fits))?;
        self.with_converted(&fitting, exact.columns())
    }

    /// Returns the batch with the converted columns in place of its own.
    fn with_converted(
        &self,
        batch: &RecordBatch,
        converted: &[ArrayRef],
    ) -> Result<RecordBatch, FormatError> {
        let mut arrays: Vec<ArrayRef> = batch.columns().to_vec();
        if let Some((differing, ..)) = &self.converted {
            for (index, array) in differing.iter().zip(converted) {
                if let Some(slot) = arrays.get_mut(*index) {
                    *slot = Arc::clone(array);
                }
            }
        }
        let options = arrow::record_batch::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)?)
    }
}

/// Rows on their way from one form into another.
#[derive(Default)]
struct Encoded {
    bytes: Vec<u8>,
}

impl Encoded {
    fn add(&mut self, bound: &BoundBatch<'_>) {
        bound.encode(0..bound.rows(), &mut self.bytes);
    }

    fn decode(&self, plan: &Plan, form: &Form) -> Result<RecordBatch, FormatError> {
        let mut decoder =
            Decoder::new(plan.columns(), form.clone()).map_err(|error| fail(error.to_string()))?;
        let mut parts = Vec::new();
        let mut rest = self.bytes.as_slice();
        while !rest.is_empty() {
            let taken = decoder.decode(rest).map_err(|error| fail(error.to_string()))?;
            parts.push(decoder.take_batch()?);
            if taken == 0 {
                break;
            }
            rest = rest.get(taken..).unwrap_or_default();
        }
        Ok(concat_batches(&decoder.schema(), &parts)?)
    }
}

fn fail(text: String) -> FormatError {
    FormatError::new(Reason::Text(text))
}

/// Returns true if values of `source` become values of `field` unchanged. Text and bytes must have the same
/// SQL type too, which limits their length where Arrow's type does not.
fn is_same(source: &Field, field: &Field, sql_type: &SqlType) -> bool {
    let limited = sql_type.is_character() || sql_type.is_binary();
    let told = |field: &Field| field.metadata().get(SQL_TYPE_KEY).cloned();
    source.data_type() == field.data_type() && (!limited || told(source) == told(field))
}

/// Returns the column as nullable. Any column may be NULL on the way; the writer refuses a NULL that the file
/// cannot hold.
fn nullable(column: &Column) -> Column {
    Column::new(column.name.clone(), column.sql_type().clone(), true, column.type_info.collation)
}
