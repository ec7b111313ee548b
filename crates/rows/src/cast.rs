//! Arrow arrays to wire-ready columns: every check and every conversion, a column at a time.
//!
//! A cast fails with a [`Fault`], the index of the first bad value and what is wrong with it. A type that goes without
//! loss just goes; where a *value* would lose something, an option of [`CastOptions`] must allow it.

mod accept;
mod binaries;
mod fixed_point;
mod floats;
mod raw;
mod shared;
mod temporal;
mod text_source;
mod texts;
mod variants;
mod zone;

use std::borrow::Cow;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field};
use tds::{LengthClass, SqlType, TypeInfo};

pub use accept::Refusal;
pub(crate) use accept::{Acceptance, accept};
pub(crate) use zone::Zone;

use crate::cell_error::CellErrorReason;
use crate::encode::{Cells, Fixed, FixedLane, Frame, Lane};

/// Losses that a load may take, each off by default: without them every value arrives whole or not at all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CastOptions {
    /// Cut text and binary values to the length of the target (text at a character), and drop the time of day where the
    /// target is a `date`.
    pub allow_truncate: bool,
    /// Round numbers and times, half away from zero, to what the target keeps.
    pub allow_rounding: bool,
    /// Written in place of characters that the target's code page does not have.
    pub replacement: Option<char>,
    /// Write lists, structs and maps as JSON text.
    pub nested_as_json: bool,
    /// Accept an instant for a target without an offset and keep the local date and time of its zone.
    pub drop_time_zone: bool,
    /// Empty text is NULL.
    pub empty_as_null: bool,
    /// How to read all-digit dates in text whose year does not come first; without it they are refused.
    pub date_order: Option<crate::text::DateOrder>,
}

/// The first value of a column that cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Its index in the array.
    pub(crate) index: usize,
    pub(crate) reason: CellErrorReason,
}

/// Everything about the target that a cast needs.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) type_info: TypeInfo,
    pub(crate) nullable: bool,
    pub(crate) frame: Frame,
}

impl Target {
    /// A target column as it travels.
    pub(crate) fn new(type_info: TypeInfo, nullable: bool) -> Self {
        let (frame, expresses_null) = match type_info.length_class() {
            LengthClass::Fixed(_) => (Frame::Bare, false),
            LengthClass::ByteLen => (Frame::Byte, true),
            LengthClass::UShortLen => (Frame::Short, true),
            LengthClass::Plp => (Frame::Chunked, true),
            LengthClass::LongLen => (Frame::TextPointer, true),
            LengthClass::Variant => (Frame::Total, true),
        };
        Target { type_info, nullable: nullable && expresses_null, frame }
    }

    /// A target column of a load.
    pub(crate) fn for_load(type_info: TypeInfo, nullable: bool) -> Self {
        let target = Self::new(type_info, nullable);
        match target.frame {
            Frame::TextPointer => Target { frame: Frame::UnsetTextPointer, ..target },
            _ => target,
        }
    }

    pub(crate) fn sql_type(&self) -> &SqlType {
        &self.type_info.sql_type
    }

    fn out_of_range(&self) -> CellErrorReason {
        CellErrorReason::OutOfRange(Box::new(self.sql_type().clone()))
    }

    fn inexact(&self) -> CellErrorReason {
        CellErrorReason::Inexact(Box::new(self.sql_type().clone()))
    }
}

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

/// A column on its way through a cast.
pub(crate) struct Source<'a, 'c> {
    pub(crate) array: &'a ArrayRef,
    pub(crate) nulls: Option<&'c NullBuffer>,
    pub(crate) field: &'c Field,
    pub(crate) zone: Option<&'c Zone>,
    pub(crate) options: &'c CastOptions,
}

impl<'a> Source<'a, '_> {
    pub(crate) fn data_type(&self) -> &'a DataType {
        self.array.data_type()
    }

    pub(crate) fn len(&self) -> usize {
        self.array.len()
    }

    pub(crate) fn is_valid(&self, index: usize) -> bool {
        self.nulls.is_none_or(|nulls| nulls.is_valid(index))
    }

    pub(crate) fn primitive<T: ArrowPrimitiveType>(&self) -> &'a PrimitiveArray<T> {
        self.array.as_primitive()
    }

    /// `convert` of every value of `values`; of no use where the row is NULL.
    pub(crate) fn map<T: Copy, U: Default + Clone>(
        &self,
        values: impl ExactSizeIterator<Item = T>,
        convert: impl Fn(T) -> Result<U, CellErrorReason>,
    ) -> Result<Vec<U>, Fault> {
        let mut converted = vec![U::default(); values.len()];
        for (index, (slot, value)) in converted.iter_mut().zip(values).enumerate() {
            match convert(value) {
                Ok(value) => *slot = value,
                // Slots of NULLs may hold anything; asking only here keeps the question out of the usual way.
                Err(reason) if self.is_valid(index) => return Err(Fault { index, reason }),
                Err(_) => {}
            }
        }
        Ok(converted)
    }
}

/// Rows of the column that are NULL, if any is.
fn nulls(array: &ArrayRef, options: &CastOptions) -> Option<NullBuffer> {
    let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
    if !options.empty_as_null {
        return nulls;
    }
    let Some(empty) = raw::empty_texts(array) else { return nulls };
    NullBuffer::union(nulls.as_ref(), Some(&empty))
}

/// Values that need no conversion: the column's own buffer, in groups of the value's width.
fn borrowed<'a, T: ArrowPrimitiveType, const W: usize>(array: &'a PrimitiveArray<T>) -> Cow<'a, [[u8; W]]> {
    Cow::Borrowed(array.values().inner().as_slice().as_chunks::<W>().0)
}

fn time_len(scale: u8) -> usize {
    usize::from(tds::sql_type::time_len_bytes(scale))
}
