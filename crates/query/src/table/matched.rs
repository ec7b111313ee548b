//! The rows of a dependent join: those of its left side, with what its right side gives for each of them.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array, new_null_array,
};
use arrow::compute::{concat_batches, filter, prep_null_mask_filter, take};
use arrow::datatypes::{DataType, Float32Type, Float64Type, Int64Type, SchemaRef};
use arrow::row::{RowConverter, SortField};
use datafusion::common::{DataFusionError, Result};

use tsql::errors;

/// Rows of a batch that is handed on.
const BATCH_ROWS: usize = 8192;
/// The number of rows that do not ask. The right side has no rows for it.
const NOBODY: u32 = u32::MAX;

/// The use of the right side's rows.
#[derive(Debug, Clone)]
pub(crate) enum ApplyKind {
    /// CROSS APPLY.
    Cross,
    /// OUTER APPLY: a row without any on the right stays, with NULLs.
    Outer,
    /// A value in a column of this name; NULL for no row.
    Scalar(String),
    /// The result is true if there is a row.
    Exists(String),
    /// The result says whether the value of the left column `value` is among the rows: true, false or unknown.
    In {
        /// The new column.
        name: String,
        /// The left column.
        value: String,
    },
}

/// The distinct outer values of some rows.
pub(crate) struct Values {
    /// The number of each row's values.
    pub numbers: Vec<u32>,
    /// The values of each number.
    pub columns: Vec<ArrayRef>,
    count: usize,
}

impl Values {
    /// Numbers the values of `rows` rows in these columns; with `every`, each row has a number of its own.
    pub fn of(columns: &[ArrayRef], rows: usize, every: bool) -> Result<Values> {
        let rows_u32 = u32::try_from(rows).map_err(|_| too_many())?;
        if columns.is_empty() {
            return Ok(Values { numbers: vec![0; rows], columns: Vec::new(), count: 1 });
        }
        if every {
            return Ok(Values { numbers: (0..rows_u32).collect(), columns: columns.to_vec(), count: rows });
        }
        let fields = columns.iter().map(|column| SortField::new(column.data_type().clone())).collect();
        let keys = RowConverter::new(fields)?.convert_columns(columns)?;
        let mut known = HashMap::with_capacity(rows.min(BATCH_ROWS));
        let (mut numbers, mut firsts) = (Vec::with_capacity(rows), Vec::new());
        for (row, key) in (0..rows_u32).zip(&keys) {
            let number = *known.entry(key).or_insert_with(|| {
                firsts.push(row);
                (firsts.len() - 1) as u32
            });
            numbers.push(number);
        }
        let firsts = UInt32Array::from(firsts);
        let columns = columns.iter().map(|column| take(column, &firsts, None));
        Ok(Values { numbers, columns: columns.collect::<std::result::Result<_, _>>()?, count: firsts.len() })
    }

    /// Numbers only the values of rows that ask: their mark is true.
    pub fn of_asked(
        columns: &[ArrayRef],
        asked: Option<&ArrayRef>,
        rows: usize,
        every: bool,
    ) -> Result<Values> {
        let Some(asked) = asked.and_then(|asked| asked.as_boolean_opt()) else {
            return Values::of(columns, rows, every);
        };
        let asked = if asked.null_count() > 0 { prep_null_mask_filter(asked) } else { asked.clone() };
        let count = asked.true_count();
        if count == 0 {
            return Ok(Values { numbers: vec![NOBODY; rows], columns: Vec::new(), count: 0 });
        }
        let own = columns.iter().map(|column| filter(column, &asked));
        let values = Values::of(&own.collect::<std::result::Result<Vec<_>, _>>()?, count, every)?;
        let mut own = values.numbers.into_iter();
        let numbers = asked.values().iter().map(|asks| if asks { own.next() } else { None });
        let numbers = numbers.map(|number| number.unwrap_or(NOBODY)).collect();
        Ok(Values { numbers, ..values })
    }

    /// Returns the number of values.
    pub fn count(&self) -> usize {
        self.count
    }
}

fn too_many() -> DataFusionError {
    DataFusionError::ResourcesExhausted("too many rows with subqueries at once".to_owned())
}

/// The right side's rows for each number.
pub(crate) struct Found {
    rows: RecordBatch,
    /// Rows in the order of their numbers; None: they are in that order.
    order: Option<Vec<u32>>,
    /// The beginning of each number's rows in that order, and the end.
    starts: Vec<usize>,
}

impl Found {
    /// Rows in the order of their numbers.
    pub fn in_order(rows: RecordBatch, starts: Vec<usize>) -> Found {
        Found { rows, order: None, starts }
    }

    /// Makes an empty result for any number; `rows` has the columns.
    pub fn nothing(rows: RecordBatch) -> Found {
        Found { rows, order: None, starts: vec![0] }
    }

    /// Rows with their numbers in the first column. Those of one number stay in their order.
    pub fn of_many(schema: &SchemaRef, batches: &[RecordBatch], count: usize) -> Result<Found> {
        let all = concat_batches(schema, batches)?;
        let rows = u32::try_from(all.num_rows()).map_err(|_| too_many())?;
        let missing = || DataFusionError::Internal("rows without their numbers".to_owned());
        let numbers = all.columns().first().ok_or_else(missing)?;
        let numbers = numbers.as_primitive_opt::<Int64Type>().ok_or_else(missing)?.values();
        let mut starts = vec![0_usize; count + 1];
        for number in numbers {
            *starts.get_mut(*number as usize + 1).ok_or_else(missing)? += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        let mut order = vec![0_u32; all.num_rows()];
        for (row, number) in (0..rows).zip(numbers) {
            let place = next.get_mut(*number as usize).ok_or_else(missing)?;
            *order.get_mut(*place).ok_or_else(missing)? = row;
            *place += 1;
        }
        let others: Vec<usize> = (1..all.num_columns()).collect();
        Ok(Found { rows: all.project(&others)?, order: Some(order), starts })
    }

    /// Returns the bytes that it holds in memory.
    pub fn bytes(&self) -> usize {
        self.rows.get_array_memory_size()
            + self.order.as_ref().map_or(0, |order| order.len() * size_of::<u32>())
            + self.starts.len() * size_of::<usize>()
    }

    /// Returns the places of a number's rows.
    fn of(&self, number: u32) -> std::ops::Range<usize> {
        let at = |index: usize| self.starts.get(index).copied().unwrap_or(0);
        at(number as usize)..at(number as usize + 1)
    }

    /// Returns the row at a place.
    fn row(&self, place: usize) -> u32 {
        match &self.order {
            Some(order) => order.get(place).copied().unwrap_or(0),
            None => place as u32,
        }
    }
}

/// The rule by which left rows and right ones come together.
pub(crate) struct Matching {
    pub kind: ApplyKind,
    /// The index of the left side's column that IN looks for.
    pub value: Option<usize>,
    /// The right side's columns that are handed on, or the first one if a value is.
    pub rights: Vec<usize>,
    /// The columns of the result.
    pub schema: SchemaRef,
}

impl Matching {
    /// Returns true if anything of the right side is used.
    pub fn looks_right(&self) -> bool {
        matches!(self.kind, ApplyKind::Cross | ApplyKind::Outer) || !self.rights.is_empty()
    }

    /// Returns true if the column at `index` of the right side is used.
    pub fn looks_at(&self, index: usize) -> bool {
        match self.kind {
            ApplyKind::Cross | ApplyKind::Outer => self.rights.contains(&index),
            ApplyKind::Scalar(_) | ApplyKind::In { .. } => index == 0,
            ApplyKind::Exists(_) => false,
        }
    }

    /// Keeps only the columns of right rows that are used.
    pub fn looked_at(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let columns: Vec<usize> = (0..rows.num_columns()).filter(|index| self.looks_at(*index)).collect();
        Ok(rows.project(&columns)?)
    }

    /// Keeps left rows of which nothing else is wanted.
    pub fn left_alone(&self, left: &RecordBatch) -> Result<RecordBatch> {
        self.batch(left.columns().to_vec(), left.num_rows())
    }

    /// Combines left rows with the rows found for the number of each.
    pub fn combine(
        &self,
        left: &RecordBatch,
        numbers: &[u32],
        found: &Found,
        into: &mut VecDeque<RecordBatch>,
    ) -> Result<()> {
        let value: ArrayRef = match &self.kind {
            ApplyKind::Cross => return self.pairs(left, numbers, found, false, into),
            ApplyKind::Outer => return self.pairs(left, numbers, found, true, into),
            ApplyKind::Scalar(_) => self.values(numbers, found)?,
            ApplyKind::Exists(_) => {
                let exists = numbers.iter().map(|number| Some(!found.of(*number).is_empty()));
                Arc::new(exists.collect::<BooleanArray>())
            }
            ApplyKind::In { .. } => Arc::new(self.among(left, numbers, found)?),
        };
        let mut columns = left.columns().to_vec();
        columns.push(value);
        let all = self.batch(columns, left.num_rows())?;
        let mut first = 0;
        while first < all.num_rows() {
            let rows = BATCH_ROWS.min(all.num_rows() - first);
            into.push_back(all.slice(first, rows));
            first += rows;
        }
        Ok(())
    }

    fn pairs(
        &self,
        left: &RecordBatch,
        numbers: &[u32],
        found: &Found,
        outer: bool,
        into: &mut VecDeque<RecordBatch>,
    ) -> Result<()> {
        let (mut lefts, mut rights): (Vec<u32>, Vec<Option<u32>>) = (Vec::new(), Vec::new());
        for (row, number) in (0_u32..).zip(numbers) {
            let places = found.of(*number);
            if places.is_empty() && outer {
                lefts.push(row);
                rights.push(None);
            }
            for place in places {
                lefts.push(row);
                rights.push(Some(found.row(place)));
                if lefts.len() >= BATCH_ROWS {
                    into.push_back(self.paired(left, found, &mut lefts, &mut rights)?);
                }
            }
        }
        if !lefts.is_empty() {
            into.push_back(self.paired(left, found, &mut lefts, &mut rights)?);
        }
        Ok(())
    }

    fn paired(
        &self,
        left: &RecordBatch,
        found: &Found,
        lefts: &mut Vec<u32>,
        rights: &mut Vec<Option<u32>>,
    ) -> Result<RecordBatch> {
        let rows = lefts.len();
        let (lefts, rights) =
            (UInt32Array::from(std::mem::take(lefts)), UInt32Array::from(std::mem::take(rights)));
        let mut columns = Vec::with_capacity(self.schema.fields().len());
        for column in left.columns() {
            columns.push(take(column, &lefts, None)?);
        }
        for column in found.rows.columns() {
            columns.push(take(column, &rights, None)?);
        }
        self.batch(columns, rows)
    }

    /// Returns the one value of each number. Errors: 512 for several.
    fn values(&self, numbers: &[u32], found: &Found) -> Result<ArrayRef> {
        let mut picks = Vec::with_capacity(numbers.len());
        for number in numbers {
            let places = found.of(*number);
            picks.push(match places.len() {
                0 => None,
                1 => Some(found.row(places.start)),
                _ => return Err(DataFusionError::External(Box::new(errors::SUBQUERY_ROWS.error()))),
            });
        }
        match found.rows.columns().first() {
            Some(column) => Ok(take(column, &UInt32Array::from(picks), None)?),
            None => {
                let data_type =
                    self.schema.fields().last().map_or(DataType::Null, |field| field.data_type().clone());
                Ok(new_null_array(&data_type, numbers.len()))
            }
        }
    }

    /// Evaluates IN: true if a row equals the value, else unknown if the value or a row is NULL, else false. Without
    /// rows it is false.
    fn among(&self, left: &RecordBatch, numbers: &[u32], found: &Found) -> Result<BooleanArray> {
        let missing = || DataFusionError::Internal("no value to look for".to_owned());
        let wanted = self.value.and_then(|at| left.columns().get(at)).ok_or_else(missing)?;
        let keys = found.rows.columns().first().ok_or_else(missing)?;
        let (wanted, keys) = (one_zero(wanted), one_zero(keys));
        let keys = match keys.data_type() == wanted.data_type() {
            true => keys,
            false => arrow::compute::cast(&keys, wanted.data_type())?,
        };
        let converter = RowConverter::new(vec![SortField::new(wanted.data_type().clone())])?;
        let (wanted_rows, key_rows) = (
            converter.convert_columns(std::slice::from_ref(&wanted))?,
            converter.convert_columns(std::slice::from_ref(&keys))?,
        );
        let count = found.starts.len().saturating_sub(1);
        let (mut known, mut unknown) = (HashSet::with_capacity(keys.len()), vec![false; count]);
        for (number, has_null) in (0_u32..).zip(&mut unknown) {
            for place in found.of(number) {
                let row = found.row(place) as usize;
                match keys.is_null(row) {
                    true => *has_null = true,
                    false => _ = known.insert((number, key_rows.row(row))),
                }
            }
        }
        let answers = numbers.iter().enumerate().map(|(row, number)| {
            if found.of(*number).is_empty() {
                return Some(false);
            }
            if wanted.is_null(row) {
                return None;
            }
            if known.contains(&(*number, wanted_rows.row(row))) {
                return Some(true);
            }
            if unknown.get(*number as usize).copied().unwrap_or(false) { None } else { Some(false) }
        });
        Ok(answers.collect())
    }

    fn batch(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

/// Numbers whose two zeros are one.
fn one_zero(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Float64 => {
            Arc::new(array.as_primitive::<Float64Type>().unary::<_, Float64Type>(|value| value + 0.0))
        }
        DataType::Float32 => {
            Arc::new(array.as_primitive::<Float32Type>().unary::<_, Float32Type>(|value| value + 0.0))
        }
        _ => Arc::clone(array),
    }
}
