//! SUM, AVG, STDEV and VAR of float over frames that rows leave again.
//!
//! The engine takes back what leaves, and what rounding has lost until then stays lost. Here nothing is taken back: a frame is two parts, each
//! with what is known of it, and the first gives up its rows one by one.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, FieldRef, Float64Type};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};

/// The aggregate that is computed over a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MovingKind {
    /// SUM.
    Sum,
    /// AVG.
    Mean,
    /// VAR, of `n - 1`.
    Variance,
    /// VARP, of `n`.
    PopulationVariance,
    /// STDEV.
    Deviation,
    /// STDEVP.
    PopulationDeviation,
}

/// Wraps the aggregate `of` float, to compute moving frames differently and everything else as the engine does.
pub fn moving(kind: MovingKind, of: Arc<AggregateUDF>) -> Arc<AggregateUDF> {
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(AggregateUDF::from(Moving { kind, of, name: format!("moving_{kind:?}"), signature }))
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Moving {
    kind: MovingKind,
    of: Arc<AggregateUDF>,
    name: String,
    signature: Signature,
}

impl AggregateUDFImpl for Moving {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.of.state_fields(args)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.of.accumulator(args)
    }

    fn create_sliding_accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Frame {
            kind: self.kind,
            first: Vec::new(),
            last: Vec::new(),
            of_last: Known::default(),
        }))
    }
}

/// The moments of some rows, which can be merged with those of other rows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Known {
    count: f64,
    sum: f64,
    mean: f64,
    /// The sum of the squares of distances from the mean.
    squares: f64,
}

impl Known {
    /// Returns the moments of a single row.
    pub fn of(value: Option<f64>) -> Known {
        value.map_or_else(Known::default, |value| Known { count: 1.0, sum: value, mean: value, squares: 0.0 })
    }

    /// Merges the moments of these rows with those of others.
    pub fn with(self, other: Known) -> Known {
        if self.count == 0.0 {
            return other;
        }
        if other.count == 0.0 {
            return self;
        }
        let count = self.count + other.count;
        let distance = other.mean - self.mean;
        Known {
            count,
            sum: self.sum + other.sum,
            mean: self.mean + distance * (other.count / count),
            squares: self.squares + other.squares + distance * distance * (self.count * other.count / count),
        }
    }

    /// Returns the value of an aggregate of the rows.
    pub fn value(self, kind: MovingKind) -> Option<f64> {
        let rows = match kind {
            MovingKind::Variance | MovingKind::Deviation => self.count - 1.0,
            _ => self.count,
        };
        (rows > 0.0).then(|| match kind {
            MovingKind::Sum => self.sum,
            MovingKind::Mean => self.sum / rows,
            MovingKind::Variance | MovingKind::PopulationVariance => self.squares / rows,
            MovingKind::Deviation | MovingKind::PopulationDeviation => (self.squares / rows).sqrt(),
        })
    }
}

#[derive(Debug)]
struct Frame {
    kind: MovingKind,
    /// The moments of each row of the first part and of those behind it there, the first row last.
    first: Vec<Known>,
    /// The rows of the last part.
    last: Vec<Option<f64>>,
    of_last: Known,
}

impl Accumulator for Frame {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        let [values] = columns else {
            return Err(DataFusionError::Internal("a moving aggregate of one value".to_string()));
        };
        for value in values.as_primitive::<Float64Type>() {
            self.last.push(value);
            self.of_last = self.of_last.with(Known::of(value));
        }
        Ok(())
    }

    fn retract_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        for _ in 0..columns.first().map_or(0, |values| values.len()) {
            if self.first.is_empty() {
                let mut known = Known::default();
                for value in self.last.drain(..).rev() {
                    known = Known::of(value).with(known);
                    self.first.push(known);
                }
                self.of_last = Known::default();
            }
            self.first.pop();
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let first = self.first.last().copied().unwrap_or_default();
        Ok(ScalarValue::Float64(first.with(self.of_last).value(self.kind)))
    }

    fn size(&self) -> usize {
        size_of_val(self)
            + self.first.capacity() * size_of::<Known>()
            + self.last.capacity() * size_of::<Option<f64>>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Err(DataFusionError::Internal("windows are computed in one step".to_string()))
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        Err(DataFusionError::Internal("windows are computed in one step".to_string()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use arrow::array::Float64Array;

    /// Every frame of three rows has the value of its rows alone, whatever was in the frames before.
    #[test]
    fn what_has_left_a_frame_leaves_nothing_behind() {
        let rows =
            [Some(1e20), Some(1.0), None, Some(2.0), Some(2.0), Some(2.0), Some(1782.49), Some(969.42)];
        let column =
            |values: &[Option<f64>]| -> [ArrayRef; 1] { [Arc::new(Float64Array::from(values.to_vec()))] };
        for kind in [MovingKind::Sum, MovingKind::Mean, MovingKind::Variance, MovingKind::PopulationDeviation]
        {
            let fresh = || Frame { kind, first: Vec::new(), last: Vec::new(), of_last: Known::default() };
            let mut frame = fresh();
            for end in 0..rows.len() {
                frame.update_batch(&column(rows.get(end..=end).unwrap())).unwrap();
                if let Some(gone) = end.checked_sub(3) {
                    frame.retract_batch(&column(rows.get(gone..=gone).unwrap())).unwrap();
                }
                let mut alone = fresh();
                alone.update_batch(&column(rows.get(end.saturating_sub(2)..=end).unwrap())).unwrap();
                let pair = (frame.evaluate().unwrap(), alone.evaluate().unwrap());
                let (ScalarValue::Float64(moved), ScalarValue::Float64(alone)) = pair else { unreachable!() };
                let (moved, alone) = (moved.unwrap_or(-1.0), alone.unwrap_or(-1.0));
                assert!((moved - alone).abs() <= 1e-12 * alone.abs(), "{kind:?} {end}: {moved} {alone}");
            }
        }
    }
}
