//! ISJSON, JSON_VALUE, JSON_QUERY, JSON_PATH_EXISTS.

use tds::SqlType;

use super::super::json::{self, Kind, Path};
use super::super::rows_as_text::json_value;
use super::super::typed::Typed;
use super::super::{Datum, Facts};
use super::function::{Call, Function};
use super::kernel::{Kernel, scalar};
use super::{long_text, name_type, strict, wide_text};
use tsql::SqlError;

/// Characters of JSON_VALUE's result.
const VALUE_UNITS_MAX: usize = 4000;

/// Functions that read JSON.
pub(super) const FUNCTIONS: &[Function<Kernel>] = &[
    scalar("JSON_VALUE", &["text", "path"], "nvarchar(4000)", json_scalar),
    scalar("JSON_QUERY", &["text"], "nvarchar(max)", json_query).optional(&["path"]).json(),
    scalar("JSON_PATH_EXISTS", &["text", "path"], "int", json_path_exists),
    scalar("JSON_CONTAINS", &["text", "value"], "int", json_contains).optional(&["path", "mode"]),
];

/// Makes ISJSON. `wanted` is the kind of JSON, CONTAINER without one.
pub fn is_json(value: Typed, wanted: Typed) -> Result<Typed, SqlError> {
    strict("ISJSON", vec![(value, long_text()), (wanted, name_type())], SqlType::Int, move |values| {
        let text = text_at(values, 0);
        let kind = json::value(&text).ok().map(json::kind);
        let wanted = text_at(values, 1).to_ascii_uppercase();
        let is = kind.is_some_and(|kind| match wanted.as_str() {
            "VALUE" => true,
            "ARRAY" => kind == Kind::Array,
            "OBJECT" => kind == Kind::Object,
            "SCALAR" => matches!(kind, Kind::Number | Kind::String),
            _ => matches!(kind, Kind::Array | Kind::Object),
        });
        Ok(Datum::Int(i64::from(is)))
    })
}

fn json_scalar(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value, path] = call.take()?;
    strict(call.name, vec![(value, long_text()), (path, wide_text())], wide_text(), move |values| {
        let text = text_at(values, 0);
        let path = Path::parse(&text_at(values, 1))?;
        let Some(piece) = path.find(json::value(&text)?)? else { return Ok(Datum::Null) };
        if matches!(json::kind(piece), Kind::Array | Kind::Object) {
            return refuse(&path, 13623, "Scalar value cannot be found in the specified JSON path.");
        }
        let Some(scalar) = json::scalar(piece) else { return Ok(Datum::Null) };
        if scalar.encode_utf16().count() > VALUE_UNITS_MAX {
            return refuse(&path, 13625, "String value in the specified JSON path would be truncated.");
        }
        Ok(Datum::Text(scalar))
    })
}

fn json_query(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value] = call.take()?;
    let path = call.argument_or(1, Datum::Text("$".into()), wide_text())?;
    strict(call.name, vec![(value, long_text()), (path, wide_text())], long_text(), move |values| {
        let text = text_at(values, 0);
        let path = Path::parse(&text_at(values, 1))?;
        match path.find(json::value(&text)?)? {
            Some(piece) if matches!(json::kind(piece), Kind::Array | Kind::Object) => {
                Ok(Datum::Text(piece.to_string()))
            }
            Some(_) => refuse(&path, 13624, "Object or array cannot be found in the specified JSON path."),
            None => Ok(Datum::Null),
        }
    })
}

fn json_path_exists(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value, path] = call.take()?;
    strict(call.name, vec![(value, long_text()), (path, wide_text())], SqlType::Int, move |values| {
        let text = text_at(values, 0);
        let path = Path::parse(&text_at(values, 1))?;
        let found = json::value(&text).ok().and_then(|value| path.find(value).ok().flatten());
        Ok(Datum::Int(i64::from(found.is_some())))
    })
}

/// Looks for a scalar at a path: it is the value there, or an element of the array there. A path that leads nowhere is NULL.
fn json_contains(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [target, search] = call.take()?;
    let path = call.argument_or(2, Datum::Text("$".into()), wide_text())?;
    if call.arguments.get(3).is_some_and(|mode| mode.constant.as_ref().and_then(Datum::as_int) != Some(0)) {
        return Err(SqlError::unsupported("A search mode of JSON_CONTAINS"));
    }
    let sql_type = search.sql_type.clone();
    let arguments = vec![(target, long_text()), (search, sql_type.clone()), (path, wide_text())];
    strict(call.name, arguments, SqlType::Int, move |values| {
        let text = text_at(values, 0);
        let path = Path::parse(&text_at(values, 2))?;
        let Some(piece) = path.find(json::value(&text)?)? else { return Ok(Datum::Null) };
        let wanted = json_value(values.get(1).cloned().unwrap_or(Datum::Null), &sql_type, false)?;
        let found = match json::kind(piece) {
            Kind::Array => json::Entries::new(piece).any(|(_, element)| is_same(&element, &wanted)),
            _ => is_same(piece, &wanted),
        };
        Ok(Datum::Int(i64::from(found)))
    })
}

/// Returns true for two scalars of JSON with the same value: numbers by their value, texts sign by sign.
fn is_same(one: &str, other: &str) -> bool {
    let kind = json::kind(one);
    if kind != json::kind(other) {
        return false;
    }
    match kind {
        Kind::String => json::scalar(one) == json::scalar(other),
        Kind::Number => match (one.parse::<i128>(), other.parse::<i128>()) {
            (Ok(one), Ok(other)) => one == other,
            _ => one
                .parse::<f64>()
                .ok()
                .zip(other.parse::<f64>().ok())
                .is_some_and(|(one, other)| one == other),
        },
        Kind::Boolean => one.trim() == other.trim(),
        _ => false,
    }
}

fn text_at(values: &[Datum], at: usize) -> String {
    values.get(at).and_then(Datum::as_text).unwrap_or_default().to_string()
}

/// Returns NULL, or an error under `strict`.
fn refuse(path: &Path, number: i32, text: &str) -> Result<Datum, SqlError> {
    if path.strict { Err(SqlError::new(number, 16, 2, text)) } else { Ok(Datum::Null) }
}
