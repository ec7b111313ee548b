//! Functions of text.

use tds::{CodePage, Collation, Length, SqlType};

use super::super::collation::is_case_sensitive;
use super::super::convert::{self, length_limit};
use super::super::kernels::{self, ColumnForm, LetterCase, trimmed, window};
use super::super::like::Pattern;
use super::super::typed::{self, Typed, code_page, common_collation, in_page, paged};
use super::super::types::text_of;
use super::super::{Datum, Facts};
use super::function::{Call, Function};
use super::growing::{GrowingText, ask, count_units, find, replace, replicate};
use super::kernel::{Kernel, scalar};
use super::text::{Ends, trim};
use super::{bytes, long_text, name_type, strict, strict_by_column};
use tsql::SqlError;

/// Functions of text.
pub(super) const FUNCTIONS: &[Function<Kernel>] = &[
    scalar("LEN", &["value"], "int or bigint", length_of).light(),
    scalar("DATALENGTH", &["value"], "int or bigint", datalength).light(),
    scalar("LEFT", &["value", "count"], "text", |call| end_of(call, true)).light(),
    scalar("RIGHT", &["value", "count"], "text", |call| end_of(call, false)).light(),
    scalar("SUBSTRING", &["value", "start", "count"], "text or bytes", substring).light(),
    scalar("UPPER", &["value"], "text", |call| in_case(call, LetterCase::Upper)).light(),
    scalar("LOWER", &["value"], "text", |call| in_case(call, LetterCase::Lower)).light(),
    scalar("LTRIM", &["value"], "text", |call| match call.arguments.len() {
        1 => mapped(call, trimmed(true, false), |text, _| text.trim_start_matches(' ').to_owned()),
        _ => trim(call, Ends::Start),
    })
    .optional(&["characters"])
    .light(),
    scalar("RTRIM", &["value"], "text", |call| match call.arguments.len() {
        1 => mapped(call, trimmed(false, true), |text, _| text.trim_end_matches(' ').to_owned()),
        _ => trim(call, Ends::End),
    })
    .optional(&["characters"])
    .light(),
    scalar("TRIM", &["value"], "text", |call| {
        mapped(call, trimmed(true, true), |text, _| text.trim_matches(' ').to_owned())
    })
    .light(),
    scalar("REVERSE", &["value"], "text", |call| mapped(call, None, |text, _| text.chars().rev().collect())),
    scalar("REPLACE", &["value", "from", "to"], "text", replaced),
    scalar("REPLICATE", &["value", "count"], "text", replicated),
    scalar("SPACE", &["count"], "varchar(8000)", space),
    scalar("STUFF", &["value", "start", "count", "with"], "text or bytes", stuff),
    scalar("TRANSLATE", &["value", "from", "to"], "text", translate),
    scalar("CHARINDEX", &["part", "value"], "int or bigint", charindex).optional(&["start"]).light(),
    scalar("PATINDEX", &["pattern", "value"], "int or bigint", patindex),
    scalar("CONCAT", &["value", "value"], "text", |call| concat(call, false)).repeated().light(),
    scalar("CONCAT_WS", &["separator", "value", "value"], "text", |call| concat(call, true)).repeated(),
    scalar("ASCII", &["value"], "int", |call| code_of(call, true)),
    scalar("UNICODE", &["value"], "int", |call| code_of(call, false)),
    scalar("CHAR", &["code"], "char(1)", |call| character_of(call, false)),
    scalar("NCHAR", &["code"], "nchar(1)", |call| character_of(call, true)),
    scalar("QUOTENAME", &["name"], "nvarchar(258)", quotename).optional(&["quote"]),
    scalar("STR", &["number"], "varchar(8000)", number_text).optional(&["length", "decimals"]),
];

fn length_of(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value] = call.take()?;
    let result = counting(&value);
    let as_type = textual(&value);
    strict_by_column(call.name, vec![(value, as_type)], result, kernels::length(count_units), |values| {
        Ok(Datum::Int(count_units(text(values, 0).trim_end_matches(' '))? as i64))
    })
}

fn datalength(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value] = call.take()?;
    let (sql_type, result) = (value.sql_type.clone(), counting(&value));
    let collation = value.collation.unwrap_or(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
    strict(call.name, vec![(value, sql_type.clone())], result, move |values| {
        Ok(Datum::Int(data_length(&values[0], &sql_type, collation)))
    })
}

/// Returns the type of a length or a place in a value.
fn counting(value: &Typed) -> SqlType {
    let long = matches!(
        value.sql_type,
        SqlType::VarChar { length: Length::Max }
            | SqlType::NVarChar { length: Length::Max }
            | SqlType::VarBinary { length: Length::Max }
    );
    if long { SqlType::BigInt } else { SqlType::Int }
}

/// Maps a text to another of its type.
fn mapped(
    call: &Call<'_, dyn Facts>,
    form: impl Into<Option<ColumnForm>>,
    map: impl Fn(&str, Option<CodePage>) -> String + Send + Sync + 'static,
) -> Result<Typed, SqlError> {
    let [value] = call.take()?;
    let as_type = textual(&value);
    let result = variable(&as_type);
    let page = paged(&result, std::slice::from_ref(&value));
    strict_by_column(call.name, vec![(value, as_type)], result, form, move |values| {
        Ok(Datum::Text(map(text(values, 0), page)))
    })
}

fn in_case(call: &Call<'_, dyn Facts>, case: LetterCase) -> Result<Typed, SqlError> {
    mapped(call, kernels::cased(case), move |text, page| text.chars().map(|ch| case.of(ch, page)).collect())
}

fn end_of(call: &Call<'_, dyn Facts>, left: bool) -> Result<Typed, SqlError> {
    let [value, count] = call.take()?;
    let as_type = textual(&value);
    let result = variable(&as_type);
    let cast = vec![(value, as_type), (count, SqlType::Int)];
    strict_by_column(call.name, cast, result, kernels::end_of(left), move |values| {
        let units: Vec<u16> = text(values, 0).encode_utf16().collect();
        let count = int_at(values, 1);
        if count < 0 {
            let function = if left { "left" } else { "right" };
            return Err(SqlError::new(
                536,
                16,
                2,
                format!("Invalid length parameter passed to the {function} function."),
            ));
        }
        let count = (count as usize).min(units.len());
        let range = if left { 0..count } else { units.len() - count..units.len() };
        from_units(units.get(range))
    })
}

fn substring(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value, start, count] = call.take()?;
    if value.untyped_null {
        let text = "Argument data type NULL is invalid for argument 1 of substring function.";
        return Err(SqlError::new(8116, 16, 1, text));
    }
    if value.sql_type.is_binary() {
        return bytes::substring(value, start, count);
    }
    let as_type = textual(&value);
    let result = variable(&as_type);
    let cast = vec![(value.clone(), as_type), (start, SqlType::Int), (count, SqlType::Int)];
    strict_by_column(call.name, cast, result, kernels::substring(), |values| {
        let units: Vec<u16> = text(values, 0).encode_utf16().collect();
        from_units(units.get(window(int_at(values, 1), int_at(values, 2), units.len())?))
    })
}

fn replaced(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value, from, to] = call.take()?;
    let fold = !is_case_sensitive(common_collation(call.arguments).0);
    let (wide, result) = joined_types(&[&value, &from, &to]);
    let cast = [&value, &from, &to].map(|argument| (argument.clone(), wide.clone())).to_vec();
    let (target, unicode) = (result.clone(), wide.is_unicode());
    let form = kernels::replaced(fold, length_limit(&result));
    strict_by_column(if fold { "REPLACE_CI" } else { call.name }, cast, result, form, move |values| {
        let replaced = replace(text(values, 0), text(values, 1), text(values, 2), fold, unicode)?;
        Ok(match replaced {
            Datum::Text(text) => Datum::Text(within(text, &target)?),
            other => other,
        })
    })
}

fn replicated(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value, count] = call.take()?;
    let as_type = textual(&value);
    let unicode = as_type.is_unicode();
    let unlimited = length_limit(&as_type).is_none();
    let result = text_of(unicode, if unlimited { None } else { Some(8000) });
    strict(call.name, vec![(value, as_type), (count, SqlType::Int)], result, move |values| {
        let count = int_at(values, 1);
        if count < 0 {
            return Ok(Datum::Null);
        }
        let limit = match (unlimited, unicode) {
            (true, _) => None,
            (false, true) => Some(4000),
            (false, false) => Some(8000),
        };
        replicate(text(values, 0), count as usize, limit, unicode)
    })
}

fn space(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [count] = call.take()?;
    strict(call.name, vec![(count, SqlType::Int)], text_of(false, Some(8000)), |values| {
        let count = int_at(values, 0);
        Ok(if count < 0 { Datum::Null } else { Datum::Text(" ".repeat((count as usize).min(8000))) })
    })
}

fn charindex(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [needle, value] = call.take()?;
    let start = call.argument_or(2, Datum::Int(1), SqlType::Int)?;
    if needle.sql_type.is_binary() && value.sql_type.is_binary() {
        return bytes::index_of_bytes(needle, value, start);
    }
    let fold = !is_case_sensitive(common_collation(call.arguments).0);
    let result = counting(&value);
    let unicode = needle.sql_type.is_unicode() || value.sql_type.is_unicode();
    let cast =
        vec![bytes::as_text(needle, unicode)?, bytes::as_text(value, unicode)?, (start, SqlType::BigInt)];
    strict(if fold { "CHARINDEX_CI" } else { call.name }, cast, result, move |values| {
        let skip = int_at(values, 2).saturating_sub(1).max(0) as usize;
        ask(values.get(1).map_or(0, Datum::heap_bytes), &long_text())?;
        let fold = |text: &str| if fold { text.to_lowercase() } else { text.to_string() };
        let (needle, hay) = (fold(text(values, 0)), fold(text(values, 1)));
        if needle.is_empty() {
            return Ok(Datum::Int(0));
        }
        let start = hay.char_indices().nth(skip).map_or(hay.len(), |(at, _)| at);
        let tail = hay.get(start..).unwrap_or_default();
        Ok(Datum::Int(
            find(tail, &needle)?
                .map_or(0, |at| (tail.get(..at).unwrap_or_default().chars().count() + skip + 1) as i64),
        ))
    })
}

fn patindex(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [pattern, value] = call.take()?;
    let fold = !is_case_sensitive(common_collation(call.arguments).0);
    let unicode = pattern.sql_type.is_unicode() || value.sql_type.is_unicode();
    let key = format!("{}_{fold}_{unicode}", call.name);
    let result = counting(&value);
    let cast = vec![bytes::as_text(pattern, unicode)?, bytes::as_text(value, unicode)?];
    strict(&key, cast, result, move |values| {
        Ok(Datum::Int(pattern_index(text(values, 0), text(values, 1), fold, !unicode)?))
    })
}

fn stuff(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value, start, count, with] = call.take()?;
    if value.sql_type.is_binary() {
        return bytes::stuff(value, start, count, with);
    }
    let (wide, result) = joined_types(&[&value, &with]);
    let target = result.clone();
    // NULL as the new text means the empty text.
    let with =
        if with.untyped_null { Typed::constant(Datum::Text(String::new()), wide.clone())? } else { with };
    let cast = vec![(value, wide.clone()), (start, SqlType::Int), (count, SqlType::Int), (with, wide)];
    strict(call.name, cast, result, move |values| {
        let units: Vec<u16> = text(values, 0).encode_utf16().collect();
        let (start, count) = (int_at(values, 1), int_at(values, 2));
        if start < 1 || start as usize > units.len() || count < 0 {
            return Ok(Datum::Null);
        }
        let start = start as usize - 1;
        let end = start.saturating_add(count as usize).min(units.len());
        let mut stuffed = units.get(..start).unwrap_or_default().to_vec();
        stuffed.extend(text(values, 3).encode_utf16());
        stuffed.extend(units.get(end..).unwrap_or_default());
        Ok(Datum::Text(within(convert::text_of_units(&stuffed)?, &target)?))
    })
}

fn code_of(call: &Call<'_, dyn Facts>, ascii: bool) -> Result<Typed, SqlError> {
    let [value] = call.take()?;
    let page = code_page(value.collation);
    let key = format!("{}_{}", call.name, page.number());
    strict(&key, vec![bytes::as_text(value, false)?], SqlType::Int, move |values| {
        Ok(match text(values, 0).chars().next() {
            None => Datum::Null,
            Some(ch) if ascii => {
                Datum::Int(i64::from(*convert::code_page_bytes(&ch.to_string(), page).first().unwrap_or(&0)))
            }
            Some(ch) => Datum::Int(i64::from(ch.to_string().encode_utf16().next().unwrap_or(0))),
        })
    })
}

fn character_of(call: &Call<'_, dyn Facts>, unicode: bool) -> Result<Typed, SqlError> {
    let [code] = call.take()?;
    let result = if unicode { SqlType::NChar { length: 1 } } else { SqlType::Char { length: 1 } };
    strict(call.name, vec![(code, SqlType::Int)], result, move |values| {
        let code = int_at(values, 0);
        if unicode && (0xD800..0xE000).contains(&code) {
            return Err(convert::half_of_pair());
        }
        let ch = match unicode {
            // The database's collation has no supplementary characters.
            true => u16::try_from(code).ok().and_then(|code| char::from_u32(code.into())).map(String::from),
            false => u8::try_from(code)
                .ok()
                .and_then(|byte| tds::CodePage::Cp1252.decode(&[byte]).ok().map(|text| text.into_owned())),
        };
        Ok(ch.map_or(Datum::Null, Datum::Text))
    })
}

fn quotename(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value] = call.take()?;
    let quote = call.argument_or(1, Datum::Text("[".into()), name_type())?;
    let result = SqlType::NVarChar { length: Length::Units(258) };
    strict(call.name, vec![(value, long_text()), (quote, name_type())], result, |values| {
        let value = text(values, 0);
        if value.encode_utf16().count() > 128 {
            return Ok(Datum::Null);
        }
        let (open, close) = match text(values, 1).chars().next() {
            Some('[' | ']') | None => ('[', ']'),
            Some(quote @ ('\'' | '"' | '`')) => (quote, quote),
            Some('(' | ')') => ('(', ')'),
            Some('<' | '>') => ('<', '>'),
            Some('{' | '}') => ('{', '}'),
            Some(_) => return Ok(Datum::Null),
        };
        let doubled = value.replace(close, &format!("{close}{close}"));
        Ok(Datum::Text(format!("{open}{doubled}{close}")))
    })
}

fn number_text(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value] = call.take()?;
    let width = call.argument_or(1, Datum::Int(10), SqlType::Int)?;
    let decimals = call.argument_or(2, Datum::Int(0), SqlType::Int)?;
    let cast = vec![(value, SqlType::Float), (width, SqlType::Int), (decimals, SqlType::Int)];
    strict(call.name, cast, text_of(false, Some(8000)), |values| {
        let Some(Datum::Float(value)) = values.first() else { return Ok(Datum::Null) };
        let (width, decimals) =
            (int_at(values, 1).clamp(0, 8000) as usize, int_at(values, 2).clamp(0, 16) as usize);
        let text = format!("{value:.decimals$}");
        Ok(Datum::Text(if text.len() > width { "*".repeat(width) } else { format!("{text:>width$}") }))
    })
}

fn translate(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value, from, to] = call.take()?;
    let as_type = textual(&value);
    let fold = !is_case_sensitive(common_collation(call.arguments).0);
    strict(
        if fold { "TRANSLATE_CI" } else { call.name },
        vec![(value, as_type.clone()), (from, long_text()), (to, long_text())],
        variable(&as_type),
        move |values| {
            let same = |one: char, other: char| {
                one == other || (fold && one.to_lowercase().eq(other.to_lowercase()))
            };
            let from: Vec<char> = text(values, 1).chars().collect();
            let to: Vec<char> = text(values, 2).chars().collect();
            if from.len() != to.len() {
                return Err(SqlError::new(
                    9828,
                    16,
                    1,
                    "The second and third call.arguments of the TRANSLATE built-in function must contain an equal number of characters.",
                ));
            }
            let swap = |ch: char| {
                from.iter()
                    .position(|other| same(*other, ch))
                    .and_then(|at| to.get(at).copied())
                    .unwrap_or(ch)
            };
            Ok(Datum::Text(text(values, 0).chars().map(swap).collect()))
        },
    )
}

fn text(values: &[Datum], at: usize) -> &str {
    values.get(at).and_then(Datum::as_text).unwrap_or_default()
}

fn int_at(values: &[Datum], at: usize) -> i64 {
    values.get(at).and_then(Datum::as_int).unwrap_or_default()
}

fn from_units(units: Option<&[u16]>) -> Result<Datum, SqlError> {
    convert::text_of_units(units.unwrap_or_default()).map(Datum::Text)
}

/// Returns the type of a value as text: its own, or that of an implicit conversion to varchar.
fn textual(value: &Typed) -> SqlType {
    match &value.sql_type {
        own if own.is_character() => own.clone(),
        SqlType::VarBinary { length: Length::Max } | SqlType::Image => text_of(false, None),
        _ => text_of(false, Some(8000)),
    }
}

/// Returns the varying type of the same length.
fn variable(sql_type: &SqlType) -> SqlType {
    text_of(sql_type.is_unicode(), length_limit(sql_type))
}

/// Returns the type in which texts are joined, and the type of the result: (max) if one of them is.
fn joined_types(values: &[&Typed]) -> (SqlType, SqlType) {
    let unicode = values.iter().any(|value| value.sql_type.is_unicode());
    let unlimited =
        values.iter().any(|value| value.sql_type.is_character() && length_limit(&value.sql_type).is_none());
    (text_of(unicode, None), text_of(unicode, if unlimited { None } else { Some(8000) }))
}

/// Cuts a text to the length of its type. Errors: 40515 within a surrogate pair.
fn within(text: String, sql_type: &SqlType) -> Result<String, SqlError> {
    match length_limit(sql_type) {
        Some(limit) if text.len() > limit => convert::cut_whole(&text, sql_type, limit),
        _ => Ok(text),
    }
}

/// Bytes of a value as its column stores it; text in the code page of its collation.
fn data_length(value: &Datum, sql_type: &SqlType, collation: Collation) -> i64 {
    match value {
        Datum::Text(text) if sql_type.is_unicode() || matches!(sql_type, SqlType::Xml) => {
            2 * text.encode_utf16().count() as i64
        }
        Datum::Text(text) => convert::code_page_bytes(text, collation.code_page()).len() as i64,
        Datum::Binary(bytes) => bytes.len() as i64,
        Datum::Decimal(_) if sql_type.is_decimal() => match sql_type {
            SqlType::Decimal { precision, .. } | SqlType::Numeric { precision, .. } => match precision {
                0..=9 => 5,
                10..=19 => 9,
                20..=28 => 13,
                _ => 17,
            },
            _ => 17,
        },
        _ => match sql_type {
            SqlType::Time { scale } => time_bytes(*scale),
            SqlType::DateTime2 { scale } => time_bytes(*scale) + 3,
            SqlType::DateTimeOffset { scale } => time_bytes(*scale) + 5,
            other => other.max_length_bytes().map_or(0, i64::from),
        },
    }
}

fn time_bytes(scale: u8) -> i64 {
    match scale {
        0..=2 => 3,
        3..=4 => 4,
        _ => 5,
    }
}

fn pattern_index(pattern: &str, value: &str, fold: bool, over_blanks: bool) -> Result<i64, SqlError> {
    ask(value.len().saturating_mul(5), &long_text())?;
    let value = if fold { value.to_lowercase() } else { value.to_string() };
    let open_start = pattern.starts_with('%');
    let core = pattern.strip_prefix('%').unwrap_or(pattern);
    let pattern = Pattern::new(core, None, fold).over_blanks(over_blanks);
    let chars: Vec<char> = value.chars().collect();
    let last = if open_start { chars.len() } else { 0 };
    for start in 0..=last {
        if pattern.matches_chars(chars.get(start..).unwrap_or_default())? {
            return Ok(start as i64 + 1);
        }
    }
    Ok(0)
}

/// Adds up the most units of values, with the first of them as a separator between the others; `None` for values of any
/// length.
fn joined_length(arguments: &[Typed], separated: bool) -> Option<usize> {
    let lengths = arguments.iter().map(|argument| match &argument.sql_type {
        sql_type if sql_type.is_character() || sql_type.is_binary() => length_limit(sql_type),
        SqlType::SqlVariant => Some(8000),
        SqlType::Xml | SqlType::Json | SqlType::Udt { .. } | SqlType::Vector { .. } => None,
        _ => Some(40),
    });
    let lengths = lengths.collect::<Option<Vec<usize>>>()?;
    let all: usize = lengths.iter().sum();
    let between = lengths.first().filter(|_| separated).map_or(0, |separator| {
        // One is counted among all.
        separator.saturating_mul(lengths.len().saturating_sub(3))
    });
    Some(all.saturating_add(between))
}

/// Joins values as text; NULL counts as the empty text.
fn concat(call: &Call<'_, dyn Facts>, separated: bool) -> Result<Typed, SqlError> {
    let arguments = call.arguments;
    let unicode = arguments.iter().any(|argument| argument.sql_type.is_unicode());
    let result = text_of(unicode, joined_length(arguments, separated));
    let wide = text_of(unicode, None);
    let cast =
        arguments.iter().map(|argument| argument.clone().cast(&wide)).collect::<Result<Vec<_>, _>>()?;
    let (limit, own_type) = (length_limit(&result), result.clone());
    let kernel = move |values: &[Datum]| {
        let mut texts = values.iter();
        let separator =
            if separated { texts.next().and_then(Datum::as_text).unwrap_or_default() } else { "" };
        let mut joined = GrowingText::new(unicode);
        let mut first = true;
        for part in texts.filter_map(Datum::as_text) {
            if !std::mem::take(&mut first) {
                joined.push(separator)?;
            }
            joined.push(part)?;
        }
        // A text of declared length is cut where it is full.
        Ok(match joined.finish() {
            Datum::Text(text) => Datum::Text(within(text, &own_type)?),
            other => other,
        })
    };
    if let Some(values) = cast.iter().map(|argument| argument.constant.clone()).collect::<Option<Vec<_>>>() {
        let page = paged(&result, &cast);
        return Ok(
            Typed::constant(in_page(kernel(&values)?, page), result)?.collated(common_collation(&cast))
        );
    }
    let form = kernels::joined(separated, limit);
    let mut typed = typed::call_by_column(call.name, cast, result, Some(form), kernel);
    typed.nullable = false;
    Ok(typed)
}
