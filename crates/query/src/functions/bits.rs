//! Bits, hashes, the largest and the smallest of several values, and what a variant holds.

use md5::{Digest, Md5};
use tds::{Length, SqlType};

use super::super::collation::GUID_ORDER;
use super::super::scalar::Scalar;
use super::super::typed::{Typed, call_with, common_collation, unify};
use super::super::{Datum, Facts, convert};
use super::function::{Call, Function};
use super::kernel::{Kernel, scalar};
use super::{name_type, strict};
use crate::system_types::{max_length, precision, scale};
use tsql::SqlError;
use tsql::errors;

/// Functions of bits and bytes, and of several values.
pub(super) const FUNCTIONS: &[Function<Kernel>] = &[
    scalar("GREATEST", &["value"], "the values' type", |call| extreme(call, true)).repeated(),
    scalar("LEAST", &["value"], "the values' type", |call| extreme(call, false)).repeated(),
    scalar("BIT_COUNT", &["value"], "bigint", bit_count),
    scalar("GET_BIT", &["value", "place"], "bit", get_bit),
    scalar("SET_BIT", &["value", "place"], "the value's type", set_bit).optional(&["bit"]),
    scalar("LEFT_SHIFT", &["value", "places"], "the value's type", |call| shift(call, true)),
    scalar("RIGHT_SHIFT", &["value", "places"], "the value's type", |call| shift(call, false)),
    scalar("HASHBYTES", &["algorithm", "value"], "varbinary(8000)", hashbytes),
    scalar("CHECKSUM", &["value"], "int", |call| checksum(call, true)).repeated().star(),
    scalar("BINARY_CHECKSUM", &["value"], "int", |call| checksum(call, false)).repeated().star(),
    scalar("SQL_VARIANT_PROPERTY", &["value", "property"], "nvarchar(128) or int", sql_variant_property),
    scalar("NEWID", &[], "uniqueidentifier", new_id).light(),
    scalar("NEWSEQUENTIALID", &[], "uniqueidentifier", new_id),
    scalar("MIN_ACTIVE_ROWVERSION", &[], "binary(8)", min_active_rowversion),
];

fn hashbytes(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [algorithm, value] = call.take()?;
    let sql_type = value.sql_type.clone();
    if value.untyped_null {
        let result = SqlType::VarBinary { length: Length::Units(8000) };
        return Typed::constant(Datum::Null, result);
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
    strict(call.name, vec![(algorithm, name_type()), (bytes, wide)], result, |values| match values {
        [Datum::Text(algorithm), Datum::Binary(bytes)] => {
            Ok(hash(algorithm, bytes).map_or(Datum::Null, Datum::Binary))
        }
        _ => Ok(Datum::Null),
    })
}

fn bit_count(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value] = call.take()?;
    let width = width_of(&value.sql_type);
    strict(call.name, vec![(value, SqlType::BigInt)], SqlType::BigInt, move |values| {
        let value = values.first().and_then(Datum::as_int).unwrap_or(0);
        Ok(Datum::Int(i64::from((value & mask(width)).count_ones())))
    })
}

fn get_bit(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value, at] = call.take()?;
    strict(call.name, vec![(value, SqlType::BigInt), (at, SqlType::Int)], SqlType::Bit, |values| {
        let (value, at) = two(values);
        let at = u32::try_from(at).map_err(|_| bad_offset())?;
        Ok(Datum::Bit(value.checked_shr(at).ok_or_else(bad_offset)? & 1 == 1))
    })
}

fn set_bit(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value, at] = call.take()?;
    let bit = call.argument_or(2, Datum::Int(1), SqlType::Int)?;
    let result = value.sql_type.clone();
    let cast = vec![(value, SqlType::BigInt), (at, SqlType::Int), (bit, SqlType::Int)];
    let typed = strict(call.name, cast, SqlType::BigInt, |values| {
        let (value, at) = two(values);
        let bit = values.get(2).and_then(Datum::as_int).unwrap_or(1);
        let one = u32::try_from(at).ok().and_then(|at| 1_i64.checked_shl(at)).ok_or_else(bad_offset)?;
        Ok(Datum::Int(if bit == 0 { value & !one } else { value | one }))
    })?;
    typed.cast(&result)
}

fn shift(call: &Call<'_, dyn Facts>, left: bool) -> Result<Typed, SqlError> {
    let [value, by] = call.take()?;
    let result = value.sql_type.clone();
    let width = width_of(&result);
    let cast = vec![(value, SqlType::BigInt), (by, SqlType::Int)];
    let typed = strict(&format!("{}_{width}", call.name), cast, SqlType::BigInt, move |values| {
        let (value, by) = two(values);
        // A negative count shifts the other way.
        let left = left != (by < 0);
        let by = u32::try_from(by.unsigned_abs()).unwrap_or(u32::MAX);
        let bits = (value & mask(width)) as u64;
        let shifted = if left { bits.checked_shl(by) } else { bits.checked_shr(by) }.unwrap_or(0);
        Ok(Datum::Int(sign_extended(shifted & mask(width) as u64, width)))
    })?;
    typed.cast(&result)
}

fn sql_variant_property(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value, property] = call.take()?;
    let value = value.cast(&SqlType::SqlVariant)?;
    let Some(Datum::Text(property)) = property.cast(&name_type())?.constant else {
        return Err(SqlError::unsupported("SQL_VARIANT_PROPERTY of a computed property"));
    };
    let property = property.to_lowercase();
    let names = matches!(property.as_str(), "basetype" | "collation");
    let result = if names { name_type() } else { SqlType::Int };
    let key = format!("{}_{property}", call.name);
    strict(&key, vec![(value, SqlType::SqlVariant)], result, move |values| match values {
        [Datum::Binary(body)] => variant_property(body, &property),
        _ => Ok(Datum::Null),
    })
}

fn min_active_rowversion(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let bytes = call.facts.row_version().saturating_add(1).to_be_bytes().to_vec();
    Typed::constant(Datum::Binary(bytes), SqlType::Binary { length: 8 })
}

/// Makes a number that differs from row to row, however often a row is read.
fn new_id(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let function = Scalar::by_value(call.name, Vec::new(), SqlType::UniqueIdentifier, |_| {
        Ok(Datum::Guid(*uuid::Uuid::new_v4().as_bytes()))
    });
    Ok(call_with(function.volatile(), Vec::new()))
}

fn checksum(call: &Call<'_, dyn Facts>, ignores_case: bool) -> Result<Typed, SqlError> {
    let types: Vec<SqlType> = call.arguments.iter().map(|argument| argument.sql_type.clone()).collect();
    let function = Scalar::by_value(call.name, types.clone(), SqlType::Int, move |values| {
        let mut sum = 0_u32;
        for (value, sql_type) in values.iter().zip(&types) {
            let text = convert::display(value, sql_type);
            let text = if ignores_case { text.to_lowercase() } else { text };
            for byte in text.bytes() {
                sum = sum.rotate_left(4) ^ u32::from(byte);
            }
        }
        Ok(Datum::Int(i64::from(sum as i32)))
    });
    let mut typed = call_with(function, call.arguments.to_vec());
    typed.nullable = false;
    Ok(typed)
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

/// Returns the binary type that a text or binary value is hashed as.
pub(super) fn as_bytes(sql_type: &SqlType) -> SqlType {
    let length = match convert::length_limit(sql_type) {
        Some(units) => {
            let bytes = if sql_type.is_unicode() { 2 * units } else { units };
            Length::Units(bytes.clamp(1, 8000) as u16)
        }
        None => Length::Max,
    };
    SqlType::VarBinary { length }
}

/// Hashes bytes; `None` for an unknown algorithm (MD2 and MD4 among them, which newer servers refuse too).
fn hash(algorithm: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    Some(match algorithm.to_ascii_uppercase().as_str() {
        "MD5" => Md5::digest(bytes).to_vec(),
        "SHA" | "SHA1" => sha1::Sha1::digest(bytes).to_vec(),
        "SHA2_256" => sha2::Sha256::digest(bytes).to_vec(),
        "SHA2_512" => sha2::Sha512::digest(bytes).to_vec(),
        _ => return None,
    })
}

/// Returns the largest or smallest of the values that are not NULL.
fn extreme(call: &Call<'_, dyn Facts>, greatest: bool) -> Result<Typed, SqlError> {
    let collation = common_collation(call.arguments);
    let fold = !super::super::collation::is_case_sensitive(collation.0);
    let (values, sql_type) = unify(call.arguments.to_vec())?;
    if matches!(sql_type, SqlType::Vector { .. }) {
        return Err(errors::VECTOR_COMPARED.error());
    }
    let types = vec![sql_type.clone(); values.len()];
    let key = format!("{}_{}_{fold}", call.name, values.len());
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

/// Compares two values of one type; ignores the case of texts with `fold`.
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
