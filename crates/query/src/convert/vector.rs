//! vector: to and from JSON text, and between vectors of one type. Inside the server a vector is the bytes that travel.

use tds::{SqlType, Vector, VectorError, vector};
use tsql::SqlError;
use tsql::errors;

use super::super::datum::Datum;
use super::{length_limit, refused, text_length};

/// Converts a value that is not NULL to a vector.
///
/// Errors: 42204 and 42238 for vectors of another type; 13670, 42204 and 42241 for text; 529 for all other types.
pub(super) fn to_vector(value: Datum, from: &SqlType, to: &SqlType) -> Result<Datum, SqlError> {
    match (value, from, to) {
        (
            value,
            SqlType::Vector { dimensions: found, base: found_base },
            SqlType::Vector { dimensions, base },
        ) => {
            if found != dimensions {
                let error = VectorError::Dimensions { found: usize::from(*found), expected: *dimensions };
                return Err(vector_error(&error));
            }
            if found_base != base {
                let error = VectorError::Base { found: *found_base, expected: *base };
                return Err(vector_error(&error));
            }
            Ok(value)
        }
        (Datum::Text(text), _, SqlType::Vector { dimensions, base }) if !matches!(from, SqlType::Xml) => {
            let vector = Vector::parse(&text, *base).map_err(|error| vector_error(&error))?;
            if vector.dimensions() != *dimensions {
                let found = usize::from(vector.dimensions());
                return Err(vector_error(&VectorError::Dimensions { found, expected: *dimensions }));
            }
            Ok(Datum::Binary(vector.to_bytes()))
        }
        _ => Err(refused(from, to)),
    }
}

/// Formats a vector for a type that holds JSON.
///
/// Errors: 42211 for a type too short; 529 for one that holds no JSON.
pub(super) fn text_of(bytes: &[u8], from: &SqlType, to: &SqlType) -> Result<String, SqlError> {
    if !super::super::types::is_json_or_text(to) {
        return Err(refused(from, to));
    }
    let text = Vector::from_bytes(bytes).map_err(|error| vector_error(&error))?.to_string();
    match length_limit(to) {
        Some(limit) if text_length(&text, to) > limit => Err(errors::VECTOR_TRUNCATED.error()),
        _ => Ok(text),
    }
}

/// Checks that the bytes received for a vector are one of its type.
///
/// Errors: 42206 for what is none, and those of conversions.
pub fn check_vector(value: &Datum, sql_type: &SqlType) -> Result<(), SqlError> {
    let (Datum::Binary(bytes), SqlType::Vector { dimensions, base }) = (value, sql_type) else {
        return Ok(());
    };
    vector::check(bytes, *base, *dimensions).map_err(|error| vector_error(&error))
}

/// Returns the server's error for a bad vector.
pub fn vector_error(error: &VectorError) -> SqlError {
    match error {
        VectorError::Dimensions { found, expected } => {
            errors::VECTOR_DIMENSIONS.with([&found.to_string(), &expected.to_string()])
        }
        VectorError::Count { dimensions, max, .. } => {
            errors::VECTOR_RANGE.with([&dimensions.to_string(), &max.to_string()])
        }
        VectorError::Base { found, expected } => errors::VECTOR_BASE.with([found.name(), expected.name()]),
        VectorError::OutOfRange { base, .. } => errors::VECTOR_VALUES.with([base.name()]),
        VectorError::Text { what, offset } => {
            errors::NOT_A_VECTOR.with([&format!("{what} at position {offset}")])
        }
        VectorError::Malformed { .. } | VectorError::NotFinite { .. } => {
            errors::VECTOR_INVALID.with([&error.to_string()])
        }
    }
}
