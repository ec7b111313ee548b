//! real and float.
//!
//! A value is accepted if it survives the conversion and back. A wider float must equal the narrower one, an integer
//! must equal the float. A decimal may have no more digits than the float keeps: 15, or 6 for real.

use arrow::array::AsArray;
use arrow::datatypes::{
    DataType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    i256,
};

use super::{Fault, Source, Target, borrowed, text_source};
use crate::cell_error::CellErrorReason;
use crate::encode::Fixed;
use crate::text::{TextError, number};

/// Significant decimal digits that survive a way through the type and back.
const FLOAT_DIGITS: u32 = 15;
const REAL_DIGITS: u32 = 6;

pub(super) fn floats<'a>(source: &Source<'a, '_>, target: &Target) -> Result<Fixed<'a>, Fault> {
    if *source.data_type() == DataType::Float64 {
        let values = source.primitive::<Float64Type>();
        // The product of zero and a sum is not a number exactly if one of the summands is not finite.
        if values.values().iter().map(|value| value * 0.0).sum::<f64>() != 0.0
            && let Some(index) =
                (0..source.len()).find(|&index| source.is_valid(index) && !values.value(index).is_finite())
        {
            return Err(Fault { index, reason: CellErrorReason::NotFinite });
        }
        return Ok(Fixed::Eight(borrowed(values)));
    }
    if text_source::is_text(source) {
        let rounding = source.options.allow_rounding;
        let parse = |text: &str| {
            let value = number::float(text)?;
            let spelled = |digits: usize| format!("{value:.digits$e}");
            match !rounding && number::loses_digits(text, FLOAT_DIGITS as usize, spelled) {
                true => Err(TextError::NeedsFloatRounding { target: "float" }),
                false => Ok(value.to_le_bytes()),
            }
        };
        return text_source::map_numbers(source, parse).map(|values| Fixed::Eight(values.into()));
    }
    convert(source, target, FLOAT_DIGITS, |value| Ok(value.to_le_bytes()))
        .map(|values| Fixed::Eight(values.into()))
}

pub(super) fn reals<'a>(source: &Source<'a, '_>, target: &Target) -> Result<Fixed<'a>, Fault> {
    if *source.data_type() == DataType::Float32 {
        let values = source.primitive::<Float32Type>();
        if values.values().iter().map(|value| value * 0.0).sum::<f32>() != 0.0
            && let Some(index) =
                (0..source.len()).find(|&index| source.is_valid(index) && !values.value(index).is_finite())
        {
            return Err(Fault { index, reason: CellErrorReason::NotFinite });
        }
        return Ok(Fixed::Four(borrowed(values)));
    }
    if text_source::is_text(source) {
        let rounding = source.options.allow_rounding;
        let parse = |text: &str| {
            let value = number::real(text)?;
            let spelled = |digits: usize| format!("{value:.digits$e}");
            match !rounding && number::loses_digits(text, REAL_DIGITS as usize, spelled) {
                true => Err(TextError::NeedsFloatRounding { target: "real" }),
                false => Ok(value.to_le_bytes()),
            }
        };
        return text_source::map_numbers(source, parse).map(|values| Fixed::Four(values.into()));
    }
    let rounding = source.options.allow_rounding;
    let is_float = *source.data_type() == DataType::Float64;
    convert(source, target, REAL_DIGITS, |value| {
        let narrow = value as f32;
        if !narrow.is_finite() {
            return Err(target.out_of_range());
        }
        // Decimals were counted before; integers and floats must be equal.
        if (is_float || source.data_type().is_integer()) && f64::from(narrow) != value && !rounding {
            return Err(target.inexact());
        }
        Ok(narrow.to_le_bytes())
    })
    .map(|values| Fixed::Four(values.into()))
}

/// Converts every value to a double of at least `digits` decimal digits, as `finish` makes it.
fn convert<U: Default + Clone>(
    source: &Source<'_, '_>,
    target: &Target,
    digits: u32,
    finish: impl Fn(f64) -> Result<U, CellErrorReason>,
) -> Result<Vec<U>, Fault> {
    let rounding = source.options.allow_rounding;
    let finite = |value: f64| if value.is_finite() { finish(value) } else { Err(CellErrorReason::NotFinite) };
    let whole = |value: i128| {
        let float = value as f64;
        if !rounding && float as i128 != value { Err(target.inexact()) } else { finish(float) }
    };
    let decimal = |value: i128, scale: i8| {
        let significant = significant_digits(value.unsigned_abs());
        if !rounding && significant > digits {
            return Err(target.inexact());
        }
        // Parsing the digits rounds once, where dividing would round twice.
        let float: f64 =
            format!("{value}e{}", -i32::from(scale)).parse().map_err(|_| target.out_of_range())?;
        finish(float)
    };
    macro_rules! sources {
        ($($data_type:ident => $arrow:ty),+; $($rest:tt)*) => {
            match source.data_type() {
                $(DataType::$data_type => {
                    let values = source.primitive::<$arrow>().values();
                    source.map(values.iter(), |&value| whole(i128::from(value)))
                })+
                $($rest)*
            }
        };
    }
    sources! {
        Int8 => Int8Type, Int16 => Int16Type, Int32 => Int32Type, Int64 => Int64Type,
        UInt8 => UInt8Type, UInt16 => UInt16Type, UInt32 => UInt32Type, UInt64 => UInt64Type;
        DataType::Boolean => {
            let values = source.array.as_boolean().values();
            source.map(values.iter(), |value| whole(i128::from(value)))
        }
        DataType::Float16 => {
            let values = source.primitive::<Float16Type>().values();
            source.map(values.iter(), |&value| finite(f64::from(value)))
        }
        DataType::Float32 => {
            let values = source.primitive::<Float32Type>().values();
            source.map(values.iter(), |&value| finite(f64::from(value)))
        }
        DataType::Float64 => {
            let values = source.primitive::<Float64Type>().values();
            source.map(values.iter(), |&value| finite(value))
        }
        DataType::Decimal32(_, scale) => {
            let values = source.primitive::<Decimal32Type>().values();
            source.map(values.iter(), |&value| decimal(i128::from(value), *scale))
        }
        DataType::Decimal64(_, scale) => {
            let values = source.primitive::<Decimal64Type>().values();
            source.map(values.iter(), |&value| decimal(i128::from(value), *scale))
        }
        DataType::Decimal128(_, scale) => {
            let values = source.primitive::<Decimal128Type>().values();
            source.map(values.iter(), |&value| decimal(value, *scale))
        }
        DataType::Decimal256(_, scale) => {
            let values = source.primitive::<Decimal256Type>().values();
            source.map(values.iter(), |&value: &i256| match value.to_i128() {
                Some(value) => decimal(value, *scale),
                None if !rounding => Err(target.inexact()),
                None => {
                    let text = format!("{value}e{}", -i32::from(*scale));
                    text.parse().map_err(|_| target.out_of_range()).and_then(finite)
                }
            })
        }
        _ => Err(Fault { index: 0, reason: target.out_of_range() }),
    }
}

/// Counts the decimal digits of `value` without the zeros at its end.
fn significant_digits(mut value: u128) -> u32 {
    if value == 0 {
        return 0;
    }
    while value.is_multiple_of(10) {
        value /= 10;
    }
    value.ilog10() + 1
}
