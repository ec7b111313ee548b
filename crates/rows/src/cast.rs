//! Arrow arrays to wire-ready columns: every check and every conversion, a column at a time.
//!
//! A cast fails with a [`Fault`]: the index of the first bad value, and the reason. Types that convert without loss need no
//! option; if a *value* would lose something, an option of [`CastOptions`] must allow it.

mod accept;
mod binaries;
mod fixed_point;
mod floats;
mod raw;
mod shared;
mod source;
mod target;
mod temporal;
mod text_source;
mod texts;
mod variants;
mod vectors;
mod zone;

use arrow::array::{Array, ArrayRef};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field};
use tds::SqlType;

pub use accept::Refusal;
pub(crate) use accept::{Acceptance, accept};
pub(crate) use source::{Source, borrowed, time_len};
pub use target::CastOptions;
pub(crate) use target::{Fault, Target};
pub(crate) use zone::Zone;

use crate::cell_error::CellErrorReason;
use crate::encode::{Cells, Fixed, FixedLane, Lane};

/// One column's cast: the source field and the target, settled when the plan is made.
#[derive(Debug, Clone)]
pub(crate) struct Cast {
    pub(crate) field: Field,
    pub(crate) target: Target,
    /// The zone of a timestamp source.
    pub(crate) zone: Option<Zone>,
}

impl Cast {
    /// Checks and converts `array`, whose type is the field's.
    pub(crate) fn bind<'a>(&self, array: &'a ArrayRef, options: &CastOptions) -> Result<Lane<'a>, Fault> {
        match array.data_type() {
            DataType::Dictionary(..) => return shared::dictionary(self, array, options),
            DataType::RunEndEncoded(..) => return shared::run_end_encoded(self, array, options),
            _ => {}
        }
        let nulls = nulls(array, options);
        if let Some(nulls) = &nulls
            && !self.target.nullable
            && let Some(index) = (0..nulls.len()).find(|&index| nulls.is_null(index))
        {
            return Err(Fault { index, reason: CellErrorReason::Null });
        }
        let all_null = nulls.as_ref().is_some_and(|nulls| nulls.null_count() == nulls.len());
        if all_null || *array.data_type() == DataType::Null {
            return Ok(Lane { cells: Cells::Null(self.target.frame), nulls: None });
        }
        let cells = self.cells(array, nulls.as_ref(), options)?;
        Ok(Lane { cells, nulls })
    }

    fn cells<'a>(
        &self,
        array: &'a ArrayRef,
        nulls: Option<&NullBuffer>,
        options: &CastOptions,
    ) -> Result<Cells<'a>, Fault> {
        let column = Source { array, nulls, field: &self.field, zone: self.zone.as_ref(), options };
        let target = &self.target;
        let fixed =
            |width: usize, values: Fixed<'a>| Cells::Fixed(FixedLane { values, width, frame: target.frame });
        Ok(match target.sql_type() {
            SqlType::Bit => fixed(1, fixed_point::bits(&column, target)?),
            SqlType::TinyInt => fixed(1, fixed_point::tiny_ints(&column, target)?),
            SqlType::SmallInt => fixed(2, fixed_point::small_ints(&column, target)?),
            SqlType::Int => fixed(4, fixed_point::ints(&column, target)?),
            SqlType::BigInt => fixed(8, fixed_point::big_ints(&column, target)?),
            SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
                let values = fixed_point::decimals(&column, target, *precision, *scale)?;
                let width = target.sql_type().max_length_bytes().unwrap_or(17) as usize;
                fixed(width, values)
            }
            SqlType::SmallMoney => fixed(4, fixed_point::small_money(&column, target)?),
            SqlType::Money => fixed(8, fixed_point::money(&column, target)?),
            SqlType::Real => fixed(4, floats::reals(&column, target)?),
            SqlType::Float => fixed(8, floats::floats(&column, target)?),
            SqlType::Date => fixed(3, temporal::dates(&column, target)?),
            SqlType::Time { scale } => fixed(time_len(*scale), temporal::times(&column, target, *scale)?),
            SqlType::DateTime2 { scale } => {
                fixed(time_len(*scale) + 3, temporal::date_times_2(&column, target, *scale)?)
            }
            SqlType::DateTimeOffset { scale } => {
                fixed(time_len(*scale) + 5, temporal::date_time_offsets(&column, target, *scale)?)
            }
            SqlType::DateTime => fixed(8, temporal::date_times(&column, target)?),
            SqlType::SmallDateTime => fixed(4, temporal::small_date_times(&column, target)?),
            SqlType::UniqueIdentifier => fixed(16, binaries::guids(&column, target)?),
            SqlType::RowVersion => fixed(8, binaries::row_versions(&column, target)?),
            SqlType::Vector { dimensions, base } => {
                Cells::Variable(vectors::vectors(&column, target, *dimensions, *base)?)
            }
            SqlType::SqlVariant => Cells::Variable(variants::variants(&column, target)?),
            SqlType::Char { .. }
            | SqlType::VarChar { .. }
            | SqlType::NChar { .. }
            | SqlType::NVarChar { .. }
            | SqlType::Text
            | SqlType::NText
            | SqlType::Xml
            | SqlType::Json => Cells::Variable(texts::texts(&column, target)?),
            SqlType::Binary { .. } | SqlType::VarBinary { .. } | SqlType::Image | SqlType::Udt { .. } => {
                Cells::Variable(binaries::binaries(&column, target)?)
            }
        })
    }
}

/// Marks the rows of the column that are NULL, if any is.
fn nulls(array: &ArrayRef, options: &CastOptions) -> Option<NullBuffer> {
    let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
    if !options.empty_as_null {
        return nulls;
    }
    let Some(empty) = raw::empty_texts(array) else { return nulls };
    NullBuffer::union(nulls.as_ref(), Some(&empty))
}
