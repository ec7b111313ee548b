//! Functions of vectors.

use tds::{SqlType, Vector};
use tsql::SqlError;
use tsql::errors;

use super::super::convert::{type_name, vector_error};
use super::super::typed::Typed;
use super::super::{Datum, Facts};
use super::function::{Call, Function};
use super::kernel::{Kernel, scalar};
use super::{name_type, strict};

/// Functions of vectors.
pub(super) const FUNCTIONS: &[Function<Kernel>] = &[
    scalar("VECTOR_DISTANCE", &["metric", "vector", "vector"], "float", vector_distance),
    scalar("VECTOR_NORM", &["vector", "norm"], "float", vector_norm),
    scalar("VECTOR_NORMALIZE", &["vector", "norm"], "the vector's type", vector_normalize),
    scalar("VECTORPROPERTY", &["vector", "property"], "int or nvarchar(128)", vector_property),
];

fn vector_distance(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [metric, left, right] = call.take()?;
    let (left, right) = (vector_argument(call, left, 2)?, vector_argument(call, right, 3)?);
    let (SqlType::Vector { base, dimensions }, SqlType::Vector { base: other, dimensions: other_dimensions }) =
        (&left.sql_type, &right.sql_type)
    else {
        return Err(SqlError::internal("the distance of what is no vector"));
    };
    if base != other {
        return Err(errors::VECTOR_BASES.error());
    }
    if dimensions != other_dimensions {
        let words = [&*dimensions.to_string(), &*other_dimensions.to_string()];
        return Err(errors::VECTOR_DIMENSIONS.with(words));
    }
    let metric = word_argument(call, metric, 1)?;
    let types = [metric.1.clone(), left.sql_type.clone(), right.sql_type.clone()];
    let arguments = [metric.0, left, right].into_iter().zip(types).collect();
    strict(call.name, arguments, SqlType::Float, |values| match values {
        [Datum::Text(metric), Datum::Binary(left), Datum::Binary(right)] => {
            Ok(number(distance(metric, &vector(left)?, &vector(right)?)?))
        }
        _ => Ok(Datum::Null),
    })
}

fn vector_norm(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value, kind] = call.take()?;
    let value = vector_argument(call, value, 1)?;
    let (kind, word) = word_argument(call, kind, 2)?;
    let sql_type = value.sql_type.clone();
    strict(call.name, vec![(value, sql_type), (kind, word)], SqlType::Float, |values| match values {
        [Datum::Binary(bytes), Datum::Text(kind)] => Ok(number(norm(kind, vector(bytes)?.elements())?)),
        _ => Ok(Datum::Null),
    })
}

fn vector_normalize(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value, kind] = call.take()?;
    let value = vector_argument(call, value, 1)?;
    let (kind, word) = word_argument(call, kind, 2)?;
    let sql_type = value.sql_type.clone();
    let name = format!("{}_{sql_type}", call.name);
    strict(&name, vec![(value, sql_type.clone()), (kind, word)], sql_type, |values| match values {
        [Datum::Binary(bytes), Datum::Text(kind)] => {
            let vector = vector(bytes)?;
            let norm = norm(kind, vector.elements())?;
            // A vector of zeros has no direction.
            if norm == 0.0 {
                return Ok(Datum::Null);
            }
            let elements = vector.elements().iter().map(|element| (f64::from(*element) / norm) as f32);
            let normal = Vector::new(vector.base(), elements.collect());
            Ok(Datum::Binary(normal.map_err(|error| vector_error(&error))?.to_bytes()))
        }
        _ => Ok(Datum::Null),
    })
}

fn vector_property(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value, property] = call.take()?;
    let value = vector_argument(call, value, 1)?;
    let Some(Datum::Text(property)) = property.cast(&name_type())?.constant else {
        return Err(SqlError::unsupported("VECTORPROPERTY of a computed property"));
    };
    let sql_type = value.sql_type.clone();
    let SqlType::Vector { dimensions, base } = sql_type.clone() else {
        return Err(SqlError::internal("a property of what is no vector"));
    };
    let (result, found) = match property.to_ascii_lowercase().as_str() {
        "dimensions" => (SqlType::Int, Datum::Int(i64::from(dimensions))),
        "basetype" => (name_type(), Datum::Text(base.name().to_owned())),
        _ => (SqlType::Int, Datum::Null),
    };
    let name = format!("{}_{sql_type}_{}", call.name, property.to_ascii_lowercase());
    strict(&name, vec![(value, sql_type)], result, move |_| Ok(found.clone()))
}

/// Checks that an argument is a vector. Errors: 8116 for other types.
fn vector_argument(call: &Call<'_, dyn Facts>, value: Typed, place: usize) -> Result<Typed, SqlError> {
    if matches!(value.sql_type, SqlType::Vector { .. }) {
        return Ok(value);
    }
    let name = if value.untyped_null { "NULL".to_owned() } else { type_name(&value.sql_type) };
    Err(invalid_argument(call, &name, place))
}

/// Checks that an argument is a word, and returns the type it is read in. Errors: 8116 for other types.
fn word_argument(
    call: &Call<'_, dyn Facts>,
    value: Typed,
    place: usize,
) -> Result<(Typed, SqlType), SqlError> {
    if value.sql_type.is_character() || value.untyped_null {
        return Ok((value, name_type()));
    }
    Err(invalid_argument(call, &type_name(&value.sql_type), place))
}

fn invalid_argument(call: &Call<'_, dyn Facts>, name: &str, place: usize) -> SqlError {
    let function = call.name.to_ascii_lowercase();
    let text = format!("Argument data type {name} is invalid for argument {place} of {function} function.");
    SqlError::new(8116, 16, 1, text)
}

fn vector(bytes: &[u8]) -> Result<Vector, SqlError> {
    Vector::from_bytes(bytes).map_err(|error| vector_error(&error))
}

/// Returns a float, or NULL for NaN and infinity.
fn number(value: f64) -> Datum {
    if value.is_finite() { Datum::Float(value) } else { Datum::Null }
}

/// Computes the distance of two vectors. Errors: 42201 for an unknown metric.
fn distance(metric: &str, left: &Vector, right: &Vector) -> Result<f64, SqlError> {
    let pairs = || {
        let right = right.elements().iter().map(|element| f64::from(*element));
        left.elements().iter().map(|element| f64::from(*element)).zip(right)
    };
    let dot = || pairs().map(|(one, other)| one * other).sum::<f64>();
    Ok(match metric.trim_end().to_ascii_lowercase().as_str() {
        "cosine" => {
            let square = |elements: &[f32]| {
                elements.iter().map(|element| f64::from(*element) * f64::from(*element)).sum::<f64>()
            };
            1.0 - dot() / (square(left.elements()).sqrt() * square(right.elements()).sqrt())
        }
        "euclidean" => pairs().map(|(one, other)| (one - other) * (one - other)).sum::<f64>().sqrt(),
        "dot" => -dot(),
        _ => return Err(errors::VECTOR_METRIC.with([metric])),
    })
}

/// Computes the length of a vector. Errors: 42210 for an unknown norm.
fn norm(kind: &str, elements: &[f32]) -> Result<f64, SqlError> {
    let absolute = elements.iter().map(|element| f64::from(*element).abs());
    Ok(match kind.trim_end().to_ascii_lowercase().as_str() {
        "norm1" => absolute.sum(),
        "norm2" => absolute.map(|element| element * element).sum::<f64>().sqrt(),
        "norminf" => absolute.fold(0.0, f64::max),
        _ => return Err(errors::VECTOR_NORM.with([kind])),
    })
}
