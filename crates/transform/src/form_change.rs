//! Columns to and from the form in which the query engine computes. A column whose form is the same is not touched.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array, new_null_array,
};
use arrow::compute::{concat, filter, filter_record_batch, max, min};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Field, Float32Type, Float64Type, Schema, SchemaRef,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimeUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampSecondType,
};
use rows::mapping::{Form, field_for};
use rows::{CellError, Decoder, Plan, PlanError};
use tds::Column;

/// Rows that are checked together once one of their values has been refused.
const CHECKED_ROWS: usize = 256;

/// A change of form.
pub struct FormChange {
    columns: Vec<ColumnChange>,
    schema: SchemaRef,
}

struct ColumnChange {
    plan: Plan,
    target: Column,
    field: Arc<Field>,
    form: Form,
    /// The form is the same: values only have to be of the type's range.
    is_same: bool,
}

/// A value that has no such form.
#[derive(Debug)]
pub struct Misfit {
    /// Index of the value's row.
    pub row: u32,
    /// Value, and the reason why it has no such form.
    pub error: CellError,
}

/// A batch in its new form.
pub struct Changed {
    /// The rows that could be changed.
    pub batch: RecordBatch,
    /// Indexes of the changed rows in their source; None: all rows were changed.
    pub rows: Option<UInt32Array>,
    /// Rows that could not be changed, in order.
    pub misfits: Vec<Misfit>,
}

impl FormChange {
    /// Prepares a change from columns of `fields` into `form`, in which each is a column of `targets`.
    ///
    /// # Errors
    /// A column that cannot be changed.
    pub fn new(fields: &[Arc<Field>], targets: Vec<Column>, form: &Form) -> Result<FormChange, PlanError> {
        let mut columns = Vec::with_capacity(targets.len());
        for (field, target) in fields.iter().zip(targets) {
            let source = Schema::new(vec![Arc::clone(field)]);
            let plan = Plan::for_result(&source, std::slice::from_ref(&target))?;
            let new = Arc::new(field_for(&target, form));
            let is_same = new.data_type() == field.data_type();
            columns.push(ColumnChange { plan, target, field: new, form: form.clone(), is_same });
        }
        let schema =
            Arc::new(Schema::new(columns.iter().map(|column| Arc::clone(&column.field)).collect::<Vec<_>>()));
        Ok(FormChange { columns, schema })
    }

    /// Returns the new schema.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Changes a batch. Rows with a value that has no such form are left out.
    pub fn apply(&self, arrays: &[ArrayRef], rows: usize) -> Changed {
        let mut misfits: Vec<Misfit> = Vec::new();
        let changed: Vec<ArrayRef> = self
            .columns
            .iter()
            .zip(arrays)
            .map(|(column, array)| column.changed(array, &mut misfits))
            .collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        // Nullability is the source's promise, which rows that are left out may have broken.
        let lax: Vec<_> =
            self.schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true)).collect();
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(lax)), changed, &options)
            .unwrap_or_else(|_| RecordBatch::new_empty(self.schema()));
        misfits.sort_by_key(|misfit| misfit.row);
        misfits.dedup_by_key(|misfit| misfit.row);
        if misfits.is_empty() {
            return Changed { batch: self.relabelled(batch), rows: None, misfits };
        }
        let mut good = vec![true; rows];
        for misfit in &misfits {
            if let Some(good) = good.get_mut(misfit.row as usize) {
                *good = false;
            }
        }
        let mask = BooleanArray::from(good);
        let all = UInt32Array::from_iter_values(0..rows as u32);
        let kept = filter(&all, &mask).map(|kept| kept.as_primitive().clone());
        let batch = filter_record_batch(&batch, &mask);
        let batch = batch.unwrap_or_else(|_| RecordBatch::new_empty(self.schema()));
        Changed {
            batch: self.relabelled(batch),
            rows: Some(kept.unwrap_or_else(|_| all.slice(0, 0))),
            misfits,
        }
    }

    fn relabelled(&self, batch: RecordBatch) -> RecordBatch {
        batch.clone().with_schema(self.schema()).unwrap_or(batch)
    }
}

impl ColumnChange {
    fn changed(&self, array: &ArrayRef, misfits: &mut Vec<Misfit>) -> ArrayRef {
        if self.is_same && is_sound(array) {
            return Arc::clone(array);
        }
        if let Ok(changed) = self.piece(array) {
            return changed;
        }
        let mut pieces: Vec<ArrayRef> = Vec::new();
        let mut start = 0;
        while start < array.len() {
            let length = CHECKED_ROWS.min(array.len() - start);
            let piece = array.slice(start, length);
            match self.piece(&piece) {
                Ok(changed) => {
                    pieces.push(changed);
                    start += length;
                }
                Err(error) => {
                    let good = (error.row as usize).min(length - 1);
                    if let Ok(changed) = self.piece(&piece.slice(0, good)) {
                        pieces.push(changed);
                    } else {
                        pieces.push(new_null_array(self.field.data_type(), good));
                    }
                    pieces.push(new_null_array(self.field.data_type(), 1));
                    misfits.push(Misfit { row: (start + good) as u32, error: *error });
                    start += good + 1;
                }
            }
        }
        let pieces: Vec<&dyn Array> = pieces.iter().map(AsRef::as_ref).collect();
        concat(&pieces).unwrap_or_else(|_| new_null_array(self.field.data_type(), array.len()))
    }

    /// Writes values as they travel, and reads them in the new form.
    fn piece(&self, array: &ArrayRef) -> Result<ArrayRef, Box<CellError>> {
        let malformed = || {
            Box::new(CellError {
                row: 0,
                column: self.target.name.clone(),
                value: String::new(),
                reason: rows::CellErrorReason::Malformed(Box::new(self.target.sql_type().clone())),
            })
        };
        if array.is_empty() {
            return Ok(new_null_array(self.field.data_type(), 0));
        }
        let field = Field::new(&self.target.name, array.data_type().clone(), true);
        let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![Arc::clone(array)])
            .map_err(|_| malformed())?;
        let bound = self.plan.bind(&batch, 0).map_err(Box::new)?;
        let mut bytes = Vec::with_capacity(bound.encoded_len(0..array.len()));
        bound.encode(0..array.len(), &mut bytes);
        let mut decoder =
            Decoder::new(std::slice::from_ref(&self.target), self.form.clone()).map_err(|_| malformed())?;
        let mut arrays: Vec<ArrayRef> = Vec::new();
        let mut at = 0;
        loop {
            at += decoder.decode(bytes.get(at..).unwrap_or_default()).map_err(|error| {
                Box::new(CellError {
                    row: error.row,
                    column: error.column.clone(),
                    value: shown(array, error.row as usize),
                    reason: rows::CellErrorReason::Text(error.reason.to_string()),
                })
            })?;
            let is_full = decoder.is_full();
            let batch = decoder.take_batch().map_err(|_| malformed())?;
            arrays.extend(batch.columns().first().cloned());
            if !is_full {
                break;
            }
        }
        let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
        concat(&arrays).map_err(|_| malformed())
    }
}

fn shown(array: &ArrayRef, row: usize) -> String {
    arrow::util::display::array_value_to_string(array, row).unwrap_or_default()
}

/// Returns true if all values are in the range of the SQL type that has this form.
fn is_sound(array: &ArrayRef) -> bool {
    /// 0001-01-01 and 9999-12-31, in days since 1970.
    const DAYS: (i32, i32) = (-719_162, 2_932_896);
    const SECONDS: (i64, i64) = (DAYS.0 as i64 * 86_400, (DAYS.1 as i64 + 1) * 86_400 - 1);
    match array.data_type() {
        DataType::Date32 => within::<Date32Type>(array, DAYS),
        DataType::Timestamp(TimeUnit::Second, None) => within::<TimestampSecondType>(array, SECONDS),
        DataType::Timestamp(TimeUnit::Millisecond, None) => {
            within::<TimestampMillisecondType>(array, (SECONDS.0 * 1_000, SECONDS.1 * 1_000 + 999))
        }
        DataType::Timestamp(TimeUnit::Microsecond, None) => within::<TimestampMicrosecondType>(
            array,
            (SECONDS.0 * 1_000_000, SECONDS.1 * 1_000_000 + 999_999),
        ),
        DataType::Time32(TimeUnit::Second) => within::<Time32SecondType>(array, (0, 86_399)),
        DataType::Time32(TimeUnit::Millisecond) => within::<Time32MillisecondType>(array, (0, 86_399_999)),
        DataType::Time64(TimeUnit::Microsecond) => {
            within::<Time64MicrosecondType>(array, (0, 86_399_999_999))
        }
        DataType::Time64(TimeUnit::Nanosecond) => {
            within::<Time64NanosecondType>(array, (0, 86_399_999_999_900))
                && array.as_primitive::<Time64NanosecondType>().values().iter().all(|time| time % 100 == 0)
        }
        DataType::Float32 => array.as_primitive::<Float32Type>().iter().flatten().all(f32::is_finite),
        DataType::Float64 => array.as_primitive::<Float64Type>().iter().flatten().all(f64::is_finite),
        _ => true,
    }
}

fn within<T: ArrowPrimitiveType>(array: &ArrayRef, (low, high): (T::Native, T::Native)) -> bool
where
    T::Native: PartialOrd,
{
    let array = array.as_primitive::<T>();
    min(array).is_none_or(|least| least >= low) && max(array).is_none_or(|most| most <= high)
}
