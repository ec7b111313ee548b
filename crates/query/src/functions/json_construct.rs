//! JSON_OBJECT, JSON_ARRAY and JSON_MODIFY: functions whose arguments may be JSON themselves.

use tds::SqlType;

use super::super::Datum;
use super::super::json_modify::ModifyPath;
use super::super::rows_as_text::{json_value, quoted};
use super::super::typed::{Typed, call};
use super::function::Function;
use super::kernel::{JsonFunction, Kernel, Written, scalar, written};
use super::{long_text, wide_text};
use tsql::SqlError;

/// Functions that put JSON together.
pub(super) const FUNCTIONS: &[Function<Kernel>] = &[
    json("JSON_OBJECT", "JSON_OBJECT([name : value, ...])", object(false, false)),
    json(
        "JSON_OBJECT ABSENT ON NULL",
        "JSON_OBJECT([name : value, ...] ABSENT ON NULL)",
        object(true, false),
    ),
    json("JSON_ARRAY", "JSON_ARRAY([value, ...])", array(true, false)),
    json("JSON_ARRAY NULL ON NULL", "JSON_ARRAY([value, ...] NULL ON NULL)", array(false, false)),
    json("JSON_OBJECTAGG", "JSON_OBJECTAGG(name : value)", object(false, true)),
    json("JSON_OBJECTAGG ABSENT ON NULL", "JSON_OBJECTAGG(name : value ABSENT ON NULL)", object(true, true)),
    json("JSON_ARRAYAGG", "JSON_ARRAYAGG(value [ORDER BY ...])", array(true, true)),
    json(
        "JSON_ARRAYAGG NULL ON NULL",
        "JSON_ARRAYAGG(value [ORDER BY ...] NULL ON NULL)",
        array(false, true),
    ),
    scalar("JSON OF ROWS", &["value"], "nvarchar(max)", |call| call.take::<1>().map(|[value]| value))
        .written("JSON_ARRAYAGG(...) or JSON_OBJECTAGG(...) within other JSON")
        .json(),
    written("JSON_MODIFY", &["text", "path", "value"], "nvarchar(max)", Written::Json(JsonFunction::Modify))
        .json(),
    written("ISJSON", &["text"], "int", Written::IsJson).optional(&["kind"]),
];

const fn json(name: &'static str, as_written: &'static str, function: JsonFunction) -> Function<Kernel> {
    written(name, &[], "nvarchar(max)", Written::Json(function)).repeated().written(as_written).json()
}

const fn object(absent: bool, piece: bool) -> JsonFunction {
    JsonFunction::Object { absent, piece }
}

const fn array(absent: bool, piece: bool) -> JsonFunction {
    JsonFunction::Array { absent, piece }
}

/// Binds a call; `nested` says which arguments are JSON text that is put in unchanged.
pub fn construct(function: JsonFunction, arguments: Vec<Typed>, nested: &[bool]) -> Result<Typed, SqlError> {
    let (object, absent, piece_alone) = match function {
        JsonFunction::Object { absent, piece } => (true, absent, piece),
        JsonFunction::Array { absent, piece } => (false, absent, piece),
        JsonFunction::Modify => return modify(arguments, nested.get(2).copied().unwrap_or(false)),
    };
    let types: Vec<SqlType> = arguments.iter().map(|argument| argument.sql_type.clone()).collect();
    let nested = nested.to_vec();
    let marks: String = nested.iter().map(|nested| if *nested { '1' } else { '0' }).collect();
    let kernel = move |values: &[Datum]| {
        let piece = |at: usize| -> Result<String, SqlError> {
            let (Some(value), Some(sql_type)) = (values.get(at), types.get(at)) else {
                return Ok("null".into());
            };
            json_value(value.clone(), sql_type, nested.get(at).copied().unwrap_or(false))
        };
        let is_null = |at: usize| values.get(at).is_none_or(Datum::is_null);
        let mut pieces = Vec::new();
        if object {
            for at in (0..values.len()).step_by(2) {
                if is_null(at) {
                    let text = "The name of a property of JSON_OBJECT cannot be NULL.";
                    return Err(SqlError::new(13645, 16, 1, text));
                }
                let key = values.get(at).and_then(Datum::as_text).map(str::to_string);
                let key = key.map_or_else(|| piece(at).map(|key| key.trim_matches('"').to_string()), Ok)?;
                if !(absent && is_null(at + 1)) {
                    pieces.push(format!("{}:{}", quoted(&key), piece(at + 1)?));
                }
            }
        } else {
            for at in 0..values.len() {
                if !(absent && is_null(at)) {
                    pieces.push(piece(at)?);
                }
            }
        }
        if piece_alone {
            return Ok(pieces.pop().map_or(Datum::Null, Datum::Text));
        }
        let inside = pieces.join(",");
        Ok(Datum::Text(if object { format!("{{{inside}}}") } else { format!("[{inside}]") }))
    };
    let typed = call(&format!("{function:?}_{marks}"), arguments, long_text(), kernel);
    Ok(Typed { nullable: piece_alone, ..typed })
}

fn modify(arguments: Vec<Typed>, nested: bool) -> Result<Typed, SqlError> {
    let [text, path, new] = <[Typed; 3]>::try_from(arguments)
        .map_err(|_| SqlError::internal("JSON_MODIFY without three arguments"))?;
    let sql_type = new.sql_type.clone();
    let kernel = move |values: &[Datum]| {
        let [Datum::Text(text), Datum::Text(path), new] = values else { return Ok(Datum::Null) };
        super::super::json::value(text)?;
        let new = if new.is_null() { None } else { Some(json_value(new.clone(), &sql_type, nested)?) };
        ModifyPath::parse(path)?.modify(text, new.as_deref()).map(Datum::Text)
    };
    let arguments = vec![text.cast(&long_text())?, path.cast(&wide_text())?, new];
    let typed = call(&format!("JSON_MODIFY_{nested}"), arguments, long_text(), kernel);
    Ok(Typed { nullable: true, ..typed })
}
