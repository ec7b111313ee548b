//! LAG and LEAD whose offset or default differs from row to row, and those that leave NULLs out.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::interleave;
use arrow::datatypes::{DataType, FieldRef, Int64Type};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::function::{PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion::logical_expr::{PartitionEvaluator, Signature, Volatility, WindowUDF, WindowUDFImpl};

use tsql::SqlError;

/// Returns the window function of a value, an offset of type bigint, and a default of the value's type: the value that stands so many
/// rows before, or behind, or the default if there is no such row.
///
/// `ignores_nulls`: rows whose value is NULL are not counted. Errors when run: 8730 for a negative offset.
pub fn shift(backwards: bool, ignores_nulls: bool) -> Arc<WindowUDF> {
    let signature = Signature::any(3, Volatility::Immutable);
    Arc::new(WindowUDF::from(Shift { backwards, ignores_nulls, signature }))
}

/// Returns 8730: an offset below zero.
pub(crate) fn negative_offset() -> SqlError {
    let text = "Offset parameter for Lag and Lead functions cannot be a negative value.";
    SqlError::new(8730, 16, 1, text)
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Shift {
    backwards: bool,
    ignores_nulls: bool,
    signature: Signature,
}

impl WindowUDFImpl for Shift {
    fn name(&self) -> &str {
        match (self.backwards, self.ignores_nulls) {
            (true, false) => "shift_back",
            (true, true) => "shift_back_without_nulls",
            (false, false) => "shift_ahead",
            (false, true) => "shift_ahead_without_nulls",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn partition_evaluator(&self, _: PartitionEvaluatorArgs<'_>) -> Result<Box<dyn PartitionEvaluator>> {
        Ok(Box::new(ShiftEvaluator { backwards: self.backwards, ignores_nulls: self.ignores_nulls }))
    }

    fn field(&self, arguments: WindowUDFFieldArgs<'_>) -> Result<FieldRef> {
        let data_type =
            arguments.get_input_field(0).map_or(DataType::Null, |field| field.data_type().clone());
        Ok(Arc::new(arrow::datatypes::Field::new(arguments.name(), data_type, true)))
    }
}

#[derive(Debug)]
struct ShiftEvaluator {
    backwards: bool,
    ignores_nulls: bool,
}

impl ShiftEvaluator {
    /// The row that a row takes its value from. `counted` are the rows that count, in their order.
    fn source(&self, row: usize, offset: usize, counted: Option<&[usize]>) -> Option<usize> {
        let Some(counted) = counted.filter(|_| offset > 0) else {
            return if self.backwards { row.checked_sub(offset) } else { row.checked_add(offset) };
        };
        let before = counted.partition_point(|other| *other < row);
        let place = match self.backwards {
            true => before.checked_sub(offset)?,
            false => counted.partition_point(|other| *other <= row).checked_add(offset - 1)?,
        };
        counted.get(place).copied()
    }
}

impl PartitionEvaluator for ShiftEvaluator {
    fn evaluate_all(&mut self, arguments: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let missing = || DataFusionError::Internal("a shift without its arguments".to_string());
        let [values, offsets, defaults] = arguments else { return Err(missing()) };
        let offsets = offsets.as_primitive_opt::<Int64Type>().ok_or_else(missing)?;
        let counted: Option<Vec<usize>> =
            self.ignores_nulls.then(|| (0..rows).filter(|row| values.is_valid(*row)).collect());
        // Three arrays to take from: the values, the defaults, and nothing.
        let nothing = arrow::array::new_null_array(values.data_type(), 1);
        let mut places = Vec::with_capacity(rows);
        for row in 0..rows {
            if offsets.is_null(row) {
                places.push((2, 0));
                continue;
            }
            let offset = usize::try_from(offsets.value(row))
                .map_err(|_| DataFusionError::External(Box::new(negative_offset())))?;
            let source = self.source(row, offset, counted.as_deref()).filter(|source| *source < rows);
            places.push(source.map_or((1, row), |source| (0, source)));
        }
        Ok(interleave(&[values.as_ref(), defaults.as_ref(), nothing.as_ref()], &places)?)
    }
}
