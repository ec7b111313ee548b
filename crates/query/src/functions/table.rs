//! The table-valued functions of the language: STRING_SPLIT, GENERATE_SERIES, OPENJSON.

use std::sync::Arc;

use tds::{Length, SqlType};

use super::super::bind::OutputColumn;
use super::super::convert::type_name;
use super::super::json::{self, Kind, Path};
use super::super::typed::Typed;
use super::super::types::{as_decimal, is_integer};
use super::super::{Datum, FunctionRows, TableFunction, convert};
use super::function::Function;
use super::kernel::{Kernel, TableKernel};
use super::long_text;
use crate::running;
use tsql::SqlError;
use tsql::errors;
use tsql::query::JsonColumn;

/// Texts from here on are counted in the memory of the request.
const LONG_BYTES: usize = 1 << 16;

/// Functions that give rows.
pub(super) const FUNCTIONS: &[Function<Kernel>] = &[
    table("STRING_SPLIT", &["text", "separator"], "value[, ordinal]", string_split)
        .optional(&["enable_ordinal"]),
    table("GENERATE_SERIES", &["start", "stop"], "value", generate_series).optional(&["step"]),
    table("OPENJSON", &["text"], "key, value, type, or the columns of WITH", open_json).optional(&["path"]),
];

const fn table(
    name: &'static str,
    required: &'static [&'static str],
    returns: &'static str,
    kernel: TableKernel,
) -> Function<Kernel> {
    Function::new(name, required, returns, Kernel::Table(kernel))
}

fn column(name: &str, sql_type: SqlType, nullable: bool) -> OutputColumn {
    OutputColumn::expression(name, sql_type, nullable)
}

/// Counts a text that is kept while the rows of the call are read. Errors: 701.
fn hold(text: &str) -> Result<(), SqlError> {
    if text.len() < LONG_BYTES { Ok(()) } else { running::hold(text.len()) }
}

fn text_at(values: &[Datum], at: usize) -> Option<&str> {
    values.get(at).and_then(Datum::as_text)
}

fn string_split(arguments: &[Typed], _: &[JsonColumn]) -> Result<TableFunction, SqlError> {
    // Only a constant switches the second column on: it is part of the function's shape.
    let numbered = match arguments.get(2) {
        None => false,
        Some(switch) => match switch.clone().cast(&SqlType::Bit)?.constant {
            Some(Datum::Bit(on)) => on,
            Some(_) => false,
            None => {
                return Err(SqlError::new(
                    8748,
                    16,
                    1,
                    "The enable_ordinal argument for string_split only supports constant values (not variables or columns).",
                ));
            }
        },
    };
    let unicode = arguments.iter().take(2).any(|argument| argument.sql_type.is_unicode());
    let value = super::super::types::text_of(
        unicode,
        arguments.first().and_then(|a| convert::length_limit(&a.sql_type)),
    );
    let mut columns = vec![column("value", value, true)];
    if numbered {
        columns.push(column("ordinal", SqlType::BigInt, false));
    }
    let rows = move |values: &[Datum]| {
        let (Some(text), Some(separator)) = (text_at(values, 0), text_at(values, 1)) else {
            return Ok(Vec::new().into());
        };
        if separator.encode_utf16().count() != 1 {
            return Err(SqlError::new(
                214,
                16,
                11,
                "Procedure expects parameter 'separator' of type 'nchar(1)/nvarchar(1)'.",
            ));
        }
        hold(text)?;
        let (text, separator) = (text.to_string(), separator.to_string());
        let (mut ordinal, mut next) = (0, Some(0));
        let parts = std::iter::from_fn(move || {
            let rest = text.get(next?..)?;
            let part = match rest.find(&separator) {
                Some(at) => {
                    next = next.map(|next| next + at + separator.len());
                    rest.get(..at)?
                }
                None => {
                    next = None;
                    rest
                }
            };
            ordinal += 1;
            let mut row = vec![Datum::Text(part.to_string())];
            if numbered {
                row.push(Datum::Int(ordinal));
            }
            Some(Ok(row))
        });
        Ok(FunctionRows::new(parts))
    };
    Ok(TableFunction { columns, rows: Arc::new(rows), parameters: None, defaults: Vec::new() })
}

fn generate_series(arguments: &[Typed], _: &[JsonColumn]) -> Result<TableFunction, SqlError> {
    let sql_type =
        arguments.iter().find(|argument| !argument.untyped_null).map(|argument| argument.sql_type.clone());
    let sql_type = sql_type.unwrap_or(SqlType::Int);
    if !is_integer(&sql_type) && !sql_type.is_decimal() {
        return Err(SqlError::new(
            5373,
            16,
            1,
            "All the input parameters should be of the same type. Supported types are tinyint, smallint, int, bigint, decimal and numeric.",
        ));
    }
    // Reckoned in units of the finest scale.
    let scale =
        arguments.iter().filter_map(|a| as_decimal(&a.sql_type)).map(|(_, scale)| scale).max().unwrap_or(0);
    let wide = SqlType::Numeric { precision: 38, scale };
    let result = if is_integer(&sql_type) { sql_type } else { SqlType::Numeric { precision: 38, scale } };
    let types: Vec<SqlType> = arguments.iter().map(|argument| argument.sql_type.clone()).collect();
    let columns = vec![column("value", result.clone(), true)];
    let rows = move |values: &[Datum]| {
        let unit = |at: usize| -> Result<Option<i128>, SqlError> {
            let (Some(value), Some(from)) = (values.get(at), types.get(at)) else { return Ok(None) };
            match convert::convert(value.clone(), from, &wide, 0)? {
                Datum::Decimal(units) => Ok(Some(units)),
                _ => Ok(None),
            }
        };
        let one = 10_i128.pow(u32::from(scale));
        let (Some(start), Some(stop)) = (unit(0)?, unit(1)?) else { return Ok(Vec::new().into()) };
        let step = match (unit(2)?, values.len()) {
            (Some(step), _) => step,
            (None, 3..) => return Ok(Vec::new().into()),
            (None, _) => {
                if start <= stop {
                    one
                } else {
                    -one
                }
            }
        };
        if step == 0 {
            return Err(SqlError::new(
                4199,
                16,
                1,
                "Argument value 0 is invalid for argument 3 of generate_series function.",
            ));
        }
        let (wide, result) = (wide.clone(), result.clone());
        let mut next = Some(start);
        let values = std::iter::from_fn(move || {
            let value = next.filter(|value| if step > 0 { *value <= stop } else { *value >= stop })?;
            next = value.checked_add(step);
            Some(convert::convert(Datum::Decimal(value), &wide, &result, 0).map(|value| vec![value]))
        });
        Ok(FunctionRows::new(values))
    };
    Ok(TableFunction { columns, rows: Arc::new(rows), parameters: None, defaults: Vec::new() })
}

fn open_json(_: &[Typed], shape: &[JsonColumn]) -> Result<TableFunction, SqlError> {
    let shape: Vec<JsonColumn> = shape.to_vec();
    let columns = if shape.is_empty() {
        vec![
            column("key", SqlType::NVarChar { length: Length::Units(4000) }, false),
            column("value", long_text(), true),
            column("type", SqlType::TinyInt, false),
        ]
    } else {
        shape.iter().map(|wanted| column(&wanted.name, wanted.sql_type.clone(), true)).collect()
    };
    let paths = shape
        .iter()
        .map(|wanted| wanted.path.as_deref().map_or_else(|| Ok(Path::member(&wanted.name)), Path::parse))
        .collect::<Result<Vec<_>, _>>()?;
    let rows = move |values: &[Datum]| {
        let Some(text) = text_at(values, 0) else { return Ok(Vec::new().into()) };
        let path = Path::parse(if values.len() > 1 { text_at(values, 1).unwrap_or("$") } else { "$" })?;
        let Some(piece) = path.find(json::value(text)?)? else { return Ok(Vec::new().into()) };
        hold(piece)?;
        let entries = json::Entries::new(piece.to_string());
        if shape.is_empty() {
            let rows = entries.map(|(key, value)| {
                let shown = match json::kind(&value) {
                    Kind::Array | Kind::Object => Some(value.clone()),
                    _ => json::scalar(&value),
                };
                let number = json::kind(&value) as i64;
                Ok(vec![Datum::Text(key), shown.map_or(Datum::Null, Datum::Text), Datum::Int(number)])
            });
            return Ok(FunctionRows::new(rows));
        }
        // One row for an object, one for each element of an array.
        let (shape, paths) = (shape.clone(), paths.clone());
        let row = move |record: &str| {
            shape.iter().zip(&paths).map(|(wanted, path)| cell(record, wanted, path)).collect()
        };
        Ok(match json::kind(piece) {
            Kind::Array => FunctionRows::new(entries.map(move |(_, record)| row(&record))),
            Kind::Object => FunctionRows::new(std::iter::once(row(piece))),
            _ => Vec::new().into(),
        })
    };
    Ok(TableFunction { columns, rows: Arc::new(rows), parameters: None, defaults: Vec::new() })
}

/// Reads a column's value from a record.
fn cell(record: &str, wanted: &JsonColumn, path: &Path) -> Result<Datum, SqlError> {
    let Some(piece) = path.find(record)? else { return Ok(Datum::Null) };
    let container = matches!(json::kind(piece), Kind::Array | Kind::Object);
    let text = match (container, wanted.as_json) {
        (true, true) => Some(piece.to_string()),
        (false, false) => json::scalar(piece),
        _ if path.strict => {
            let text = "Object or array cannot be found in the specified JSON path.";
            return Err(SqlError::new(13624, 16, 2, text));
        }
        _ => None,
    };
    match text {
        // Bytes are written in base 64, as FOR JSON does.
        Some(text) if wanted.sql_type.is_binary() => {
            let all = SqlType::VarBinary { length: Length::Max };
            let failed = || errors::CONVERTING.with(["nvarchar", &type_name(&wanted.sql_type)]);
            let bytes = convert::of_base64(&text).ok_or_else(failed)?;
            convert::convert(Datum::Binary(bytes), &all, &wanted.sql_type, 0)
        }
        Some(text) => convert::convert(Datum::Text(text), &long_text(), &wanted.sql_type, 0),
        None => Ok(Datum::Null),
    }
}
