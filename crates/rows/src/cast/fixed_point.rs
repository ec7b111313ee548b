//! Exact numbers: bit, the integers, decimal and money.
//!
//! Every exact source (integers, decimals, booleans) is a whole number times a power of ten; so is every target. A cast moves the
//! point, refuses digits that would be lost, and checks the range. A float is taken as the shortest decimal that reads back as
//! the same float.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use arrow::array::AsArray;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type, i256,
};

use super::{Fault, Source, Target, borrowed, text_source};
use crate::cell_error::CellErrorReason;
use crate::encode::Fixed;
use crate::text::{money as money_text, number};

pub(super) fn bits<'a>(source: &Source<'a, '_>, target: &Target) -> Result<Fixed<'a>, Fault> {
    if let Some(booleans) = source.array.as_boolean_opt() {
        return Ok(Fixed::Bits(booleans.values().clone()));
    }
    if text_source::is_text(source) {
        return text_source::map(source, |text| crate::text::bit::bit(text).map(|bit| [u8::from(bit)]))
            .map(|bits| Fixed::One(bits.into()));
    }
    numbers(source, target, 0, 0..=1, |value| [value as u8]).map(|bits| Fixed::One(bits.into()))
}

pub(super) fn tiny_ints<'a>(source: &Source<'a, '_>, target: &Target) -> Result<Fixed<'a>, Fault> {
    Ok(Fixed::One(match source.data_type() {
        DataType::UInt8 => borrowed(source.primitive::<UInt8Type>()),
        _ if text_source::is_text(source) => {
            text_source::map_numbers(source, |text| number::tinyint(text).map(|value| [value]))?.into()
        }
        _ => numbers(source, target, 0, 0..=255, |value| [value as u8])?.into(),
    }))
}

pub(super) fn small_ints<'a>(source: &Source<'a, '_>, target: &Target) -> Result<Fixed<'a>, Fault> {
    let range = i16::MIN.into()..=i16::MAX.into();
    Ok(Fixed::Two(match source.data_type() {
        DataType::Int16 => borrowed(source.primitive::<Int16Type>()),
        _ if text_source::is_text(source) => {
            text_source::map_numbers(source, |text| number::smallint(text).map(i16::to_le_bytes))?.into()
        }
        _ => numbers(source, target, 0, range, |value| (value as i16).to_le_bytes())?.into(),
    }))
}

pub(super) fn ints<'a>(source: &Source<'a, '_>, target: &Target) -> Result<Fixed<'a>, Fault> {
    let range = i32::MIN.into()..=i32::MAX.into();
    Ok(Fixed::Four(match source.data_type() {
        DataType::Int32 => borrowed(source.primitive::<Int32Type>()),
        _ if text_source::is_text(source) => {
            text_source::map_numbers(source, |text| number::int(text).map(i32::to_le_bytes))?.into()
        }
        _ => numbers(source, target, 0, range, |value| (value as i32).to_le_bytes())?.into(),
    }))
}

pub(super) fn big_ints<'a>(source: &Source<'a, '_>, target: &Target) -> Result<Fixed<'a>, Fault> {
    let range = i64::MIN.into()..=i64::MAX.into();
    Ok(Fixed::Eight(match source.data_type() {
        DataType::Int64 => borrowed(source.primitive::<Int64Type>()),
        _ if text_source::is_text(source) => {
            text_source::map_numbers(source, |text| number::bigint(text).map(i64::to_le_bytes))?.into()
        }
        _ => numbers(source, target, 0, range, |value| (value as i64).to_le_bytes())?.into(),
    }))
}

pub(super) fn small_money<'a>(source: &Source<'a, '_>, target: &Target) -> Result<Fixed<'a>, Fault> {
    if text_source::is_text(source) {
        let options = text_source::options(source.options);
        return text_source::map_numbers(source, |text| {
            money_text::smallmoney(text, &options).map(i32::to_le_bytes)
        })
        .map(|values| Fixed::Four(values.into()));
    }
    let range = i32::MIN.into()..=i32::MAX.into();
    numbers(source, target, 4, range, |value| (value as i32).to_le_bytes())
        .map(|values| Fixed::Four(values.into()))
}

pub(super) fn money<'a>(source: &Source<'a, '_>, target: &Target) -> Result<Fixed<'a>, Fault> {
    // The high half travels first (MS-TDS 2.2.5.5.1.4).
    let halves = |value: i64| value.rotate_left(32).to_le_bytes();
    if text_source::is_text(source) {
        let options = text_source::options(source.options);
        return text_source::map_numbers(source, |text| money_text::money(text, &options).map(halves))
            .map(|values| Fixed::Eight(values.into()));
    }
    let range = i64::MIN.into()..=i64::MAX.into();
    numbers(source, target, 4, range, |value| halves(value as i64)).map(|values| Fixed::Eight(values.into()))
}

pub(super) fn decimals<'a>(
    source: &Source<'a, '_>,
    target: &Target,
    precision: u8,
    scale: u8,
) -> Result<Fixed<'a>, Fault> {
    if text_source::is_text(source) {
        let options = text_source::options(source.options);
        return text_source::map_numbers(source, |text| number::decimal(text, precision, scale, &options))
            .map(|values| Fixed::Decimal(values.into()));
    }
    let limit = 10_i128.pow(u32::from(precision.min(38)));
    if let DataType::Decimal128(_, from) = source.data_type()
        && *from == scale as i8
    {
        let values = source.primitive::<Decimal128Type>().values();
        // One pass without an exit for the usual case; slots of NULLs may hold anything, so only a second
        // look at the valid ones decides.
        let beyond = |value: i128| value.unsigned_abs() >= limit.unsigned_abs();
        if values.iter().any(|&value| beyond(value))
            && let Some(index) =
                (0..values.len()).find(|&index| source.is_valid(index) && beyond(values[index]))
        {
            return Err(Fault { index, reason: target.out_of_range() });
        }
        return Ok(Fixed::Decimal(Cow::Borrowed(values)));
    }
    numbers(source, target, scale as i8, 1 - limit..=limit - 1, |value| value)
        .map(|values| Fixed::Decimal(values.into()))
}

/// Converts every value to units of 10^-`scale`, checked against `range`, as `convert` makes it.
fn numbers<U: Default + Clone>(
    source: &Source<'_, '_>,
    target: &Target,
    scale: i8,
    range: RangeInclusive<i128>,
    convert: impl Fn(i128) -> U,
) -> Result<Vec<U>, Fault> {
    let rounding = source.options.allow_rounding;
    let check = |rescaled: Result<i128, Rescaling>| match rescaled {
        Ok(value) if range.contains(&value) => Ok(convert(value)),
        Err(Rescaling::Inexact) => Err(target.inexact()),
        Err(Rescaling::NotFinite) => Err(CellErrorReason::NotFinite),
        _ => Err(target.out_of_range()),
    };
    macro_rules! integers {
        ($($data_type:ident => $arrow:ty),+; $($rest:tt)*) => {
            match source.data_type() {
                $(DataType::$data_type => {
                    let values = source.primitive::<$arrow>().values();
                    source.map(values.iter(), |&value| check(rescale(i128::from(value), 0, scale, rounding)))
                })+
                $($rest)*
            }
        };
    }
    integers! {
        Int8 => Int8Type, Int16 => Int16Type, Int32 => Int32Type, Int64 => Int64Type,
        UInt8 => UInt8Type, UInt16 => UInt16Type, UInt32 => UInt32Type, UInt64 => UInt64Type;
        DataType::Boolean => {
            let values = source.array.as_boolean().values();
            source.map(values.iter(), |value| check(rescale(i128::from(value), 0, scale, rounding)))
        }
        DataType::Decimal32(_, from) => {
            let values = source.primitive::<Decimal32Type>().values();
            source.map(values.iter(), |&value| check(rescale(i128::from(value), *from, scale, rounding)))
        }
        DataType::Decimal64(_, from) => {
            let values = source.primitive::<Decimal64Type>().values();
            source.map(values.iter(), |&value| check(rescale(i128::from(value), *from, scale, rounding)))
        }
        DataType::Decimal128(_, from) => {
            let values = source.primitive::<Decimal128Type>().values();
            source.map(values.iter(), |&value| check(rescale(value, *from, scale, rounding)))
        }
        DataType::Decimal256(_, from) => {
            let values = source.primitive::<Decimal256Type>().values();
            source.map(values.iter(), |&value| check(rescale_wide(value, *from, scale, rounding)))
        }
        DataType::Float16 => {
            let values = source.primitive::<Float16Type>().values();
            source.map(values.iter(), |&value| check(from_float(f32::from(value), scale, rounding)))
        }
        DataType::Float32 => float_values::<Float32Type, U>(source, |value| check(from_float(value, scale, rounding))),
        DataType::Float64 => float_values::<Float64Type, U>(source, |value| check(from_float(value, scale, rounding))),
        _ => Err(Fault { index: 0, reason: target.out_of_range() }),
    }
}

fn float_values<T: ArrowPrimitiveType, U: Default + Clone>(
    source: &Source<'_, '_>,
    convert: impl Fn(T::Native) -> Result<U, CellErrorReason>,
) -> Result<Vec<U>, Fault> {
    source.map(source.primitive::<T>().values().iter().copied(), convert)
}

/// Reason why a number cannot be expressed in another unit.
#[derive(Debug, PartialEq, Eq)]
enum Rescaling {
    Overflow,
    Inexact,
    NotFinite,
}

/// Converts `value` * 10^-`from` to units of 10^-`to`, rounded half away from zero if `rounding`.
fn rescale(value: i128, from: i8, to: i8, rounding: bool) -> Result<i128, Rescaling> {
    let places = i32::from(to) - i32::from(from);
    if places == 0 {
        return Ok(value);
    }
    let factor = 10_i128.checked_pow(places.unsigned_abs());
    if places > 0 {
        return match factor {
            Some(factor) => value.checked_mul(factor).ok_or(Rescaling::Overflow),
            None if value == 0 => Ok(0),
            None => Err(Rescaling::Overflow),
        };
    }
    let Some(factor) = factor else {
        // Every value is less than half of a divisor beyond 128 bits.
        return if rounding || value == 0 { Ok(0) } else { Err(Rescaling::Inexact) };
    };
    let (quotient, remainder) = (value / factor, value % factor);
    if remainder == 0 {
        return Ok(quotient);
    }
    if !rounding {
        return Err(Rescaling::Inexact);
    }
    Ok(quotient + if remainder.unsigned_abs() >= factor.unsigned_abs() / 2 { value.signum() } else { 0 })
}

fn rescale_wide(value: i256, from: i8, to: i8, rounding: bool) -> Result<i128, Rescaling> {
    if let Some(value) = value.to_i128() {
        return rescale(value, from, to, rounding);
    }
    // More than 38 digits: only cutting digits off can make it fit.
    let places = i32::from(from) - i32::from(to);
    if places <= 0 {
        return Err(Rescaling::Overflow);
    }
    let Some(factor) = i256::from_i128(10).checked_pow(places.unsigned_abs()) else {
        return if rounding { Ok(0) } else { Err(Rescaling::Inexact) };
    };
    let (Some(quotient), Some(remainder)) = (value.checked_div(factor), value.checked_rem(factor)) else {
        return Err(Rescaling::Overflow);
    };
    let quotient = quotient.to_i128().ok_or(Rescaling::Overflow)?;
    if remainder == i256::ZERO {
        return Ok(quotient);
    }
    if !rounding {
        return Err(Rescaling::Inexact);
    }
    let half = factor.checked_div(i256::from_i128(2)).ok_or(Rescaling::Overflow)?;
    let up = remainder.wrapping_abs() >= half;
    Ok(quotient
        + if !up {
            0
        } else if value < i256::ZERO {
            -1
        } else {
            1
        })
}

/// Returns the shortest decimal that reads back as `value`, in units of 10^-`scale`.
fn from_float(
    value: impl Into<f64> + std::fmt::LowerExp + Copy,
    scale: i8,
    rounding: bool,
) -> Result<i128, Rescaling> {
    if !value.into().is_finite() {
        return Err(Rescaling::NotFinite);
    }
    // At most 17 digits, a point and an exponent of at most 3 digits: `-1.2345678901234567e-308`.
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mantissa: i128 = format!("{whole}{fraction}").parse().map_err(|_| Rescaling::Overflow)?;
    let exponent: i32 = exponent.parse().map_err(|_| Rescaling::Overflow)?;
    let from = fraction.len() as i32 - exponent;
    match i8::try_from(from) {
        Ok(from) => rescale(mantissa, from, scale, rounding),
        Err(_) if mantissa == 0 => Ok(0),
        Err(_) if from < 0 => Err(Rescaling::Overflow),
        Err(_) if rounding => Ok(0),
        Err(_) => Err(Rescaling::Inexact),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_point_moves_without_loss_or_not_at_all() {
        assert_eq!(rescale(12345, 2, 4, false), Ok(1_234_500));
        assert_eq!(rescale(12300, 2, 0, false), Ok(123));
        assert_eq!(rescale(12345, 2, 1, false), Err(Rescaling::Inexact));
        assert_eq!(rescale(12345, 2, 1, true), Ok(1235));
        assert_eq!(rescale(-12345, 2, 1, true), Ok(-1235));
        assert_eq!(rescale(-12344, 2, 1, true), Ok(-1234));
        assert_eq!(rescale(i128::MAX, 0, 1, true), Err(Rescaling::Overflow));
        assert_eq!(rescale(0, 0, 76, false), Ok(0));
        assert_eq!(rescale(5, -2, 0, false), Ok(500));
        assert_eq!(rescale(i128::MAX, 76, 0, true), Ok(0));
    }

    #[test]
    fn wide_decimals_fit_once_their_zeros_are_cut() {
        let forty_zeros = i256::from_i128(10).checked_pow(40);
        assert_eq!(forty_zeros.map(|value| rescale_wide(value, 40, 0, false)), Some(Ok(1)));
        assert_eq!(forty_zeros.map(|value| rescale_wide(value, 0, 0, false)), Some(Err(Rescaling::Overflow)));
        assert_eq!(
            forty_zeros.map(|value| rescale_wide(value.wrapping_neg(), 41, 0, true)),
            Some(Ok(0)),
            "a tenth"
        );
        assert_eq!(
            forty_zeros.map(|value| rescale_wide(value.wrapping_mul(i256::from_i128(-5)), 41, 0, true)),
            Some(Ok(-1)),
            "a half"
        );
    }

    #[test]
    fn floats_go_by_their_shortest_decimal() {
        assert_eq!(from_float(0.1_f64, 2, false), Ok(10));
        assert_eq!(from_float(0.1_f32, 2, false), Ok(10));
        assert_eq!(from_float(1e20_f64, 0, false), Ok(100_000_000_000_000_000_000));
        assert_eq!(from_float(1.005_f64, 2, false), Err(Rescaling::Inexact));
        assert_eq!(from_float(1.005_f64, 2, true), Ok(101));
        assert_eq!(from_float(1e-300_f64, 4, true), Ok(0));
        assert_eq!(from_float(1e300_f64, 4, true), Err(Rescaling::Overflow));
        assert_eq!(from_float(f64::NAN, 4, true), Err(Rescaling::NotFinite));
        assert_eq!(from_float(-0.0_f64, 0, false), Ok(0));
    }
}
