//! Arithmetic of decimals and money, and whole numbers as decimals.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Int16Type, Int32Type, Int64Type, UInt8Type};
use rows::text::number::POWERS_OF_TEN;
use tds::SqlType;
use tsql::SqlError;
use tsql::expression::BinaryOperator;

use super::ColumnForm;
use super::columns::{Columns, Units};
use crate::datum::{Datum, data_type};
use crate::running;
use crate::types::as_decimal;

/// An operation on units of decimals, as the value form computes it; None: it fails.
type Exact = Arc<dyn Fn(i128, i128) -> Option<i128> + Send + Sync>;

/// The column form of an operator on two decimals of these scales. `exact` computes what leaves the widths of the fast ways.
pub(crate) fn operation(
    operator: BinaryOperator,
    (left_scale, right_scale): (u32, u32),
    result: &SqlType,
    scale: u32,
    exact: impl Fn(i128, i128) -> Option<i128> + Send + Sync + 'static,
) -> ColumnForm {
    let exact: Exact = Arc::new(exact);
    let limit = limit_of(result);
    let common = left_scale.max(right_scale);
    let power = |places: u32| POWERS_OF_TEN.get(places as usize).and_then(|power| i64::try_from(*power).ok());
    let factors = power(common - left_scale).zip(power(common - right_scale));
    let kept = scale == left_scale + right_scale;
    let fixed = scale == common;
    Arc::new(move |columns| {
        let pass = Pass { columns, limit, exact: &exact };
        match (operator, factors) {
            (BinaryOperator::Add, Some((1, 1))) if fixed => pass.run(|left, right| left.checked_add(right)),
            (BinaryOperator::Subtract, Some((1, 1))) if fixed => {
                pass.run(|left, right| left.checked_sub(right))
            }
            (BinaryOperator::Add, Some((one, other))) if fixed => {
                pass.run(|left, right| product(left, one)?.checked_add(product(right, other)?))
            }
            (BinaryOperator::Subtract, Some((one, other))) if fixed => {
                pass.run(|left, right| product(left, one)?.checked_sub(product(right, other)?))
            }
            (BinaryOperator::Multiply, _) if kept => {
                pass.run(|left, right| product(left, i64::try_from(right).ok()?))
            }
            _ => pass.run(|_, _| None),
        }
    })
}

/// The column form of `-e`.
pub(crate) fn negation(result: &SqlType) -> ColumnForm {
    let (target, limit) = (data_type(result), limit_of(result));
    Arc::new(move |columns| {
        let Some(Units::Column(array)) = columns.units(0) else { return Ok(None) };
        mapped(array.values().iter().map(|units| units.wrapping_neg()), array.nulls(), limit, &target)
    })
}

/// The column form of a whole number as a decimal.
pub(crate) fn whole_as_decimal(to: &SqlType) -> Option<ColumnForm> {
    let (_, scale) = as_decimal(to)?;
    let factor = *POWERS_OF_TEN.get(usize::from(scale))?;
    let (target, limit) = (data_type(to), limit_of(to));
    Some(Arc::new(move |columns| {
        let Some(array) = columns.array(0) else { return Ok(None) };
        running::check()?;
        // A number that is out of range stays so when its digits are cut.
        let scaled = |number: i64| i128::from(number).checked_mul(factor).unwrap_or(i128::MAX);
        let nulls = array.nulls();
        match array.data_type() {
            DataType::UInt8 => {
                let numbers = array.as_primitive::<UInt8Type>().values().iter();
                mapped(numbers.map(|number| scaled(i64::from(*number))), nulls, limit, &target)
            }
            DataType::Int16 => {
                let numbers = array.as_primitive::<Int16Type>().values().iter();
                mapped(numbers.map(|number| scaled(i64::from(*number))), nulls, limit, &target)
            }
            DataType::Int32 => {
                let numbers = array.as_primitive::<Int32Type>().values().iter();
                mapped(numbers.map(|number| scaled(i64::from(*number))), nulls, limit, &target)
            }
            DataType::Int64 => {
                let numbers = array.as_primitive::<Int64Type>().values().iter();
                mapped(numbers.map(|number| scaled(*number)), nulls, limit, &target)
            }
            _ => Ok(None),
        }
    }))
}

/// The column form of the digits that a quotient keeps: those behind are cut.
pub(crate) fn cut(divisor: i128, result: &SqlType) -> ColumnForm {
    let (target, limit) = (data_type(result), limit_of(result));
    Arc::new(move |columns| {
        let Some(Units::Column(array)) = columns.units(0) else { return Ok(None) };
        let units =
            array.values().iter().map(|units| match (i64::try_from(*units), i64::try_from(divisor)) {
                (Ok(units), Ok(divisor)) => i128::from(units.checked_div(divisor).unwrap_or_default()),
                _ => units.checked_div(divisor).unwrap_or_default(),
            });
        mapped(units, array.nulls(), limit, &target)
    })
}

/// The least magnitude that a type does not hold.
pub(super) fn limit_of(sql_type: &SqlType) -> u128 {
    let digits = match sql_type {
        // The column form leaves the one number to the value form that has no opposite.
        SqlType::Money => return i64::MAX.unsigned_abs().into(),
        SqlType::SmallMoney => return i32::MAX.unsigned_abs().into(),
        other => as_decimal(other).map_or(38, |(precision, _)| precision),
    };
    POWERS_OF_TEN.get(usize::from(digits)).map_or(u128::MAX, |power| power.unsigned_abs())
}

/// The product with a factor of one word: two words are multiplied in one step, more rarely.
#[inline(always)]
fn product(units: i128, factor: i64) -> Option<i128> {
    match i64::try_from(units) {
        Ok(units) => Some(i128::from(units) * i128::from(factor)),
        Err(_) => units.checked_mul(i128::from(factor)),
    }
}

/// A column of computed units. None, so that the value form says which row fails and why, if one is out of range.
fn mapped(
    units: impl Iterator<Item = i128>,
    nulls: Option<&NullBuffer>,
    limit: u128,
    target: &DataType,
) -> Result<Option<ArrayRef>, SqlError> {
    let mut beyond = false;
    let units: Vec<i128> = units.inspect(|units| beyond |= units.unsigned_abs() >= limit).collect();
    if beyond {
        let is_value = |row: usize| nulls.is_none_or(|nulls| nulls.is_valid(row));
        if units.iter().enumerate().any(|(row, units)| is_value(row) && units.unsigned_abs() >= limit) {
            return Ok(None);
        }
    }
    Ok(Some(column(units, nulls.cloned(), target)))
}

fn column(units: Vec<i128>, nulls: Option<NullBuffer>, target: &DataType) -> ArrayRef {
    Arc::new(Decimal128Array::new(units.into(), nulls).with_data_type(target.clone()))
}

/// One operation on the rows of a batch.
struct Pass<'a> {
    columns: &'a Columns<'a>,
    limit: u128,
    exact: &'a Exact,
}

impl Pass<'_> {
    /// Computes each row by `fast`, and by the exact way where that gives None or leaves the range.
    fn run(&self, fast: impl Fn(i128, i128) -> Option<i128>) -> Result<Option<ArrayRef>, SqlError> {
        running::check()?;
        let pair = self.columns.units(0).zip(self.columns.units(1));
        match pair {
            Some((Units::Column(left), Units::Column(right))) => {
                self.collect(left.values().iter().copied().zip(right.values().iter().copied()), fast)
            }
            Some((Units::Constant(left), Units::Column(right))) => {
                self.collect(right.values().iter().map(|right| (left, *right)), fast)
            }
            Some((Units::Column(left), Units::Constant(right))) => {
                self.collect(left.values().iter().map(|left| (*left, right)), fast)
            }
            _ => Ok(None),
        }
    }

    fn collect(
        &self,
        pairs: impl Iterator<Item = (i128, i128)>,
        fast: impl Fn(i128, i128) -> Option<i128>,
    ) -> Result<Option<ArrayRef>, SqlError> {
        let nulls = self.columns.nulls();
        let mut units = Vec::with_capacity(self.columns.rows());
        for (left, right) in pairs {
            match fast(left, right) {
                Some(value) if value.unsigned_abs() < self.limit => units.push(value),
                _ if nulls.as_ref().is_some_and(|nulls| nulls.is_null(units.len())) => units.push(0),
                _ => match (self.exact)(left, right) {
                    Some(value) if Datum::Decimal(value).check(self.columns.result()).is_ok() => {
                        units.push(value);
                    }
                    // The value form says of which row, and why.
                    _ => return Ok(None),
                },
            }
        }
        Ok(Some(column(units, nulls, &data_type(self.columns.result()))))
    }
}
