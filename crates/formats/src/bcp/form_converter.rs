//! Batches of any Arrow types as batches of given columns, in a form of the type mapping.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{Schema, SchemaRef};
use rows::{Decoder, Form, Plan};
use tds::Column;

use crate::{FormatError, Reason};

/// Converts by the rules of a load: what does not fit is refused.
///
/// Where types differ, values go through the bytes of a load and back, so that there is one set of rules.
pub(crate) struct FormConverter {
    schema: SchemaRef,
    /// Columns that differ, the first from 0, and how they are converted.
    converted: Option<(Vec<usize>, Plan, Form)>,
    rows: u64,
}

impl FormConverter {
    /// From batches of `source` to these columns, by position, in this form.
    pub(crate) fn new(source: &Schema, columns: &[Column], form: &Form) -> Result<Self, FormatError> {
        if source.fields().len() != columns.len() {
            let count = |count: usize| format!("{count} columns");
            let (expected, found) = (count(columns.len()), count(source.fields().len()));
            return Err(FormatError::new(Reason::SchemaMismatch { expected, found }));
        }
        let fields: Vec<_> =
            columns.iter().map(|column| rows::mapping::field_for(column, form).with_nullable(true)).collect();
        let differing: Vec<usize> = (0..columns.len())
            .filter(|index| {
                fields.get(*index).map(|f| f.data_type())
                    != source.fields().get(*index).map(|f| f.data_type())
            })
            .collect();
        let converted = if differing.is_empty() {
            None
        } else {
            let source = source.project(&differing)?;
            let targets: Vec<Column> =
                differing.iter().filter_map(|index| columns.get(*index)).map(nullable).collect();
            let plan = Plan::for_result(&source, &targets)
                .map_err(|error| FormatError::new(Reason::Text(error.to_string())))?;
            Some((differing, plan, form.clone()))
        };
        Ok(Self { schema: Arc::new(Schema::new(fields)), converted, rows: 0 })
    }

    /// The schema of the batches that come out.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The batch in the form.
    pub(crate) fn convert(&mut self, batch: &RecordBatch) -> Result<RecordBatch, FormatError> {
        let first_row = self.rows;
        self.rows += batch.num_rows() as u64;
        let mut arrays: Vec<ArrayRef> = batch.columns().to_vec();
        if let Some((differing, plan, form)) = &self.converted {
            let exact = through_rows(plan, form, &batch.project(differing)?, first_row)?;
            for (index, array) in differing.iter().zip(exact.columns()) {
                if let Some(slot) = arrays.get_mut(*index) {
                    *slot = Arc::clone(array);
                }
            }
        }
        let options = arrow::record_batch::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)?)
    }
}

/// Encodes the batch as rows and decodes them in the form.
fn through_rows(
    plan: &Plan,
    form: &Form,
    batch: &RecordBatch,
    first_row: u64,
) -> Result<RecordBatch, FormatError> {
    let fail = |text: String| FormatError::new(Reason::Text(text));
    let bound = plan.bind(batch, first_row).map_err(|error| fail(error.to_string()))?;
    let mut bytes = Vec::new();
    bound.encode(0..batch.num_rows(), &mut bytes);
    let mut decoder = Decoder::new(plan.columns(), form.clone()).map_err(|error| fail(error.to_string()))?;
    let mut parts = Vec::new();
    let mut rest = bytes.as_slice();
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

/// Any column may be NULL on the way; whether the file can say so is seen where it is written.
fn nullable(column: &Column) -> Column {
    Column::new(column.name.clone(), column.sql_type().clone(), true, column.type_info.collation)
}
