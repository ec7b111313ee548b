//! Bits, hashes, the largest and the smallest of several values, and what a variant holds.

use std::sync::Arc;

use md5::{Digest, Md5};
use tds::{Length, SqlType};

use super::super::collation::GUID_ORDER;
use super::super::scalar::Scalar;
use super::super::typed::{Typed, call_with, common_collation, unify};
use super::super::{Datum, Facts, convert};
use super::{name_type, strict, take};
use crate::system_types::{max_length, precision, scale};
use tsql::SqlError;

pub(super) fn bind(
    name: &str,
    arguments: &[Typed],
    facts: &Arc<dyn Facts>,
) -> Result<Option<Typed>, SqlError> {
    Ok(Some(match name {
        "HASHBYTES" => {
            let [algorithm, value] = take(name, arguments)?;
            let sql_type = value.sql_type.clone();
            if value.untyped_null {
                let result = SqlType::VarBinary { length: Length::Units(8000) };
                return Typed::constant(Datum::Null, result).map(Some);
            }
            if !sql_type.is_character() && !sql_type.is_binary() {
                return Err(SqlError::new(
                    8116,
                    16,
                    1,
                    format!(
                        "Argument data type {} is invalid for argument 2 of hashbytes function.",
                        convert::type_name(&sql_type)
                    ),
                ));
            }
            let bytes = value.cast(&as_bytes(&sql_type))?;
            let wide = bytes.sql_type.clone();
            let result = SqlType::VarBinary { length: Length::Units(8000) };
            strict(name, vec![(algorithm, name_type()), (bytes, wide)], result, |values| match values {
                [Datum::Text(algorithm), Datum::Binary(bytes)] => {
                    Ok(hash(algorithm, bytes).map_or(Datum::Null, Datum::Binary))
                }
                _ => Ok(Datum::Null),
            })?
        }
        "GREATEST" | "LEAST" => {
            if arguments.is_empty() {
                return Err(SqlError::argument_count(&name.to_lowercase(), 1));
            }
            extreme(name, arguments)?
        }
        "BIT_COUNT" => {
            let [value] = take(name, arguments)?;
            let width = width_of(&value.sql_type);
            strict(name, vec![(value, SqlType::BigInt)], SqlType::BigInt, move |values| {
                let value = values.first().and_then(Datum::as_int).unwrap_or(0);
                Ok(Datum::Int(i64::from((value & mask(width)).count_ones())))
            })?
        }
        "GET_BIT" => {
            let [value, at] = take(name, arguments)?;
            strict(name, vec![(value, SqlType::BigInt), (at, SqlType::Int)], SqlType::Bit, |values| {
                let (value, at) = two(values);
                let at = u32::try_from(at).map_err(|_| bad_offset())?;
                Ok(Datum::Bit(value.checked_shr(at).ok_or_else(bad_offset)? & 1 == 1))
            })?
        }
        "SET_BIT" => {
            let (value, at, bit) = match arguments {
                [value, at] => (value.clone(), at.clone(), Typed::constant(Datum::Int(1), SqlType::Int)?),
                [value, at, bit] => (value.clone(), at.clone(), bit.clone()),
                _ => return Err(SqlError::argument_count("set_bit", 2)),
            };
            let result = value.sql_type.clone();
            let cast = vec![(value, SqlType::BigInt), (at, SqlType::Int), (bit, SqlType::Int)];
            let typed = strict(name, cast, SqlType::BigInt, |values| {
                let (value, at) = two(values);
                let bit = values.get(2).and_then(Datum::as_int).unwrap_or(1);
                let one =
                    u32::try_from(at).ok().and_then(|at| 1_i64.checked_shl(at)).ok_or_else(bad_offset)?;
                Ok(Datum::Int(if bit == 0 { value & !one } else { value | one }))
            })?;
            typed.cast(&result)?
        }
        "LEFT_SHIFT" | "RIGHT_SHIFT" => {
            let [value, by] = take(name, arguments)?;
            let result = value.sql_type.clone();
            let width = width_of(&result);
            let left = name == "LEFT_SHIFT";
            let cast = vec![(value, SqlType::BigInt), (by, SqlType::Int)];
            let typed = strict(&format!("{name}_{width}"), cast, SqlType::BigInt, move |values| {
                let (value, by) = two(values);
                // A negative count shifts the other way.
                let left = left != (by < 0);
                let by = u32::try_from(by.unsigned_abs()).unwrap_or(u32::MAX);
                let bits = (value & mask(width)) as u64;
                let shifted = if left { bits.checked_shl(by) } else { bits.checked_shr(by) }.unwrap_or(0);
                Ok(Datum::Int(sign_extended(shifted & mask(width) as u64, width)))
            })?;
            typed.cast(&result)?
        }
        "SQL_VARIANT_PROPERTY" => {
            let [value, property] = take(name, arguments)?;
            let value = value.cast(&SqlType::SqlVariant)?;
            let Some(Datum::Text(property)) = property.cast(&name_type())?.constant else {
                return Err(SqlError::unsupported("SQL_VARIANT_PROPERTY of a computed property"));
            };
            let property = property.to_lowercase();
            let names = matches!(property.as_str(), "basetype" | "collation");
            let result = if names { name_type() } else { SqlType::Int };
            let key = format!("{name}_{property}");
            strict(&key, vec![(value, SqlType::SqlVariant)], result, move |values| match values {
                [Datum::Binary(body)] => variant_property(body, &property),
                _ => Ok(Datum::Null),
            })?
        }
        "MIN_ACTIVE_ROWVERSION" => {
            let bytes = facts.row_version().saturating_add(1).to_be_bytes().to_vec();
            Typed::constant(Datum::Binary(bytes), SqlType::Binary { length: 8 })?
        }
        _ => return Ok(None),
    }))
}

fn two(values: &[Datum]) -> (i64, i64) {
    let at = |index: usize| values.get(index).and_then(Datum::as_int).unwrap_or(0);
    (at(0), at(1))
}

fn bad_offset() -> SqlError {
    SqlError::new(4890, 16, 1, "The offset of a bit is outside of the value.")
}

/// Bits of a whole number.
fn width_of(sql_type: &SqlType) -> u32 {
    match sql_type {
        SqlType::TinyInt => 8,
        SqlType::SmallInt => 16,
        SqlType::Int => 32,
        _ => 64,
    }
}

fn mask(width: u32) -> i64 {
    if width >= 64 { -1 } else { (1_i64 << width) - 1 }
}

/// Numbers have a sign, but for the eight bits of tinyint.
fn sign_extended(bits: u64, width: u32) -> i64 {
    match width {
        16 => i64::from(bits as u16 as i16),
        32 => i64::from(bits as u32 as i32),
        64 => bits as i64,
        _ => bits as i64,
    }
}

/// The binary type that a text or binary value is hashed as.
fn as_bytes(sql_type: &SqlType) -> SqlType {
    let length = match convert::length_limit(sql_type) {
        Some(units) => {
            let bytes = if sql_type.is_unicode() { 2 * units } else { units };
            Length::Units(bytes.clamp(1, 8000) as u16)
        }
        None => Length::Max,
    };
    SqlType::VarBinary { length }
}

/// None for an algorithm that is unknown here (MD2 and MD4 among them, which newer servers refuse too).
fn hash(algorithm: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    Some(match algorithm.to_ascii_uppercase().as_str() {
        "MD5" => Md5::digest(bytes).to_vec(),
        "SHA" | "SHA1" => sha1::Sha1::digest(bytes).to_vec(),
        "SHA2_256" => sha2::Sha256::digest(bytes).to_vec(),
        "SHA2_512" => sha2::Sha512::digest(bytes).to_vec(),
        _ => return None,
    })
}

/// The largest or smallest of the values that are not NULL.
fn extreme(name: &str, arguments: &[Typed]) -> Result<Typed, SqlError> {
    let collation = common_collation(arguments);
    let fold = !super::super::collation::is_case_sensitive(collation.0);
    let (values, sql_type) = unify(arguments.to_vec())?;
    let greatest = name == "GREATEST";
    let types = vec![sql_type.clone(); values.len()];
    let key = format!("{name}_{}_{fold}", values.len());
    let function = Scalar::by_value(&key, types, sql_type.clone(), move |values| {
        let mut best: Option<&Datum> = None;
        for value in values.iter().filter(|value| !value.is_null()) {
            let better = best.is_none_or(|best| {
                let order = order_of(value, best, fold);
                if greatest { order.is_gt() } else { order.is_lt() }
            });
            if better {
                best = Some(value);
            }
        }
        Ok(best.cloned().unwrap_or(Datum::Null))
    });
    let mut typed = call_with(function, values).collated(collation);
    typed.nullable = true;
    Ok(typed)
}

/// The order of two values of one type; texts without regard to case if they are folded.
pub fn order_of(left: &Datum, right: &Datum, fold: bool) -> std::cmp::Ordering {
    use std::cmp::Ordering::Equal;
    match (left, right) {
        (Datum::Bit(left), Datum::Bit(right)) => left.cmp(right),
        (Datum::Int(left), Datum::Int(right)) => left.cmp(right),
        (Datum::Decimal(left), Datum::Decimal(right)) => left.cmp(right),
        (Datum::Real(left), Datum::Real(right)) => left.total_cmp(right),
        (Datum::Float(left), Datum::Float(right)) => left.total_cmp(right),
        (Datum::Date(left), Datum::Date(right))
        | (Datum::Time(left), Datum::Time(right))
        | (Datum::Moment(left), Datum::Moment(right)) => left.cmp(right),
        (Datum::Instant { ticks: left, .. }, Datum::Instant { ticks: right, .. }) => left.cmp(right),
        (Datum::Binary(left), Datum::Binary(right)) => left.cmp(right),
        (Datum::Guid(left), Datum::Guid(right)) => {
            let places = |guid: &[u8; 16]| GUID_ORDER.map(|place| guid.get(place).copied());
            places(left).cmp(&places(right))
        }
        (Datum::RowVersion(left), Datum::RowVersion(right)) => left.cmp(right),
        (Datum::Text(left), Datum::Text(right)) => {
            let plain = |text: &str| if fold { text.to_lowercase() } else { text.to_string() };
            plain(left.trim_end_matches(' ')).cmp(&plain(right.trim_end_matches(' ')))
        }
        _ => Equal,
    }
}

fn variant_property(body: &[u8], property: &str) -> Result<Datum, SqlError> {
    let (value, sql_type) = convert::base_of(body)?;
    let number = |value: i64| Ok(Datum::Int(value));
    match property {
        "basetype" => Ok(Datum::Text(match &sql_type {
            SqlType::Decimal { .. } => "decimal".to_string(),
            other => convert::type_name(other),
        })),
        "precision" if sql_type.is_character() || sql_type.is_binary() => number(0),
        "precision" => number(i64::from(precision(&sql_type))),
        "scale" => number(i64::from(scale(&sql_type))),
        "maxlength" => number(i64::from(max_length(&sql_type))),
        "totalbytes" => number(body.len() as i64),
        "collation" if sql_type.is_character() && !value.is_null() => {
            Ok(Datum::Text(tsql::DEFAULT_COLLATION.to_string()))
        }
        _ => Ok(Datum::Null),
    }
}
