//! Functions of regular expressions. A match takes time in proportion to the text, whatever the pattern.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use regex::{Captures, Regex, RegexBuilder};
use tds::{Length, SqlType};

use super::super::bind::OutputColumn;
use super::super::convert::length_limit;
use super::super::rows_as_text::quoted;
use super::super::typed::Typed;
use super::super::types::text_of;
use super::super::{Datum, Facts, FunctionRows, TableFunction, running};
use super::function::{Call, Function};
use super::growing::ask;
use super::kernel::{Kernel, TableKernel, scalar};
use super::{long_text, strict};
use tsql::SqlError;
use tsql::query::JsonColumn;

/// Functions of regular expressions.
pub(super) const FUNCTIONS: &[Function<Kernel>] = &[
    scalar("REGEXP_LIKE", &["text", "pattern"], "a condition", like)
        .optional(&["flags"])
        .written("REGEXP_LIKE(text, pattern[, flags])"),
    scalar("REGEXP_COUNT", &["text", "pattern"], "int", count).optional(&["start", "flags"]),
    scalar("REGEXP_INSTR", &["text", "pattern"], "int", position).optional(&[
        "start",
        "occurrence",
        "end",
        "flags",
        "group",
    ]),
    scalar("REGEXP_REPLACE", &["text", "pattern"], "text", replace).optional(&[
        "with",
        "start",
        "occurrence",
        "flags",
    ]),
    scalar("REGEXP_SUBSTR", &["text", "pattern"], "text", part).optional(&[
        "start",
        "occurrence",
        "flags",
        "group",
    ]),
];

/// Functions of regular expressions that give rows.
pub(super) const TABLES: &[Function<Kernel>] = &[
    table(
        "REGEXP_MATCHES",
        "match_id, start_position, end_position, match_value, substring_matches",
        matches,
    ),
    table("REGEXP_SPLIT_TO_TABLE", "value, ordinal", split),
];

const fn table(name: &'static str, returns: &'static str, kernel: TableKernel) -> Function<Kernel> {
    Function::new(name, &["text", "pattern"], returns, Kernel::Table(kernel)).optional(&["flags"])
}

/// Bytes of a compiled pattern, at most.
const PATTERN_BYTES_MAX: usize = 1 << 20;
/// Patterns that a call remembers: most have one.
const KEPT_MAX: usize = 16;

/// The patterns of a call, compiled.
#[derive(Default)]
struct Patterns(Mutex<HashMap<(String, String), Arc<Regex>>>);

impl Patterns {
    /// Compiles a pattern. Errors: 19300 for one that is none, 19301 for unknown flags.
    fn get(&self, pattern: &str, flags: &str) -> Result<Arc<Regex>, SqlError> {
        let key = (pattern.to_owned(), flags.to_owned());
        let mut kept = self.0.lock();
        if let Some(known) = kept.get(&key) {
            return Ok(Arc::clone(known));
        }
        let compiled = Arc::new(compiled(pattern, flags)?);
        if kept.len() == KEPT_MAX {
            kept.clear();
        }
        kept.insert(key, Arc::clone(&compiled));
        Ok(compiled)
    }
}

fn compiled(pattern: &str, flags: &str) -> Result<Regex, SqlError> {
    let mut builder = RegexBuilder::new(pattern);
    builder.size_limit(PATTERN_BYTES_MAX);
    for flag in flags.chars() {
        // The last of several that contradict each other holds.
        match flag {
            'c' => builder.case_insensitive(false),
            'i' => builder.case_insensitive(true),
            'm' => builder.multi_line(true),
            's' => builder.dot_matches_new_line(true),
            ' ' => &mut builder,
            _ => {
                let text = format!(
                    "Invalid flag provided. '{flag}' are not valid flags. Only {{c,i,s,m}} flags are valid."
                );
                return Err(SqlError::new(19301, 16, 1, text));
            }
        };
    }
    builder.build().map_err(|error| {
        let reason = match &error {
            regex::Error::CompiledTooBig(_) => "pattern too large".to_owned(),
            error => error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned(),
        };
        let text = format!(
            "An invalid Pattern '{pattern}' was provided. Error '{reason}' occurred during evaluation of the Pattern."
        );
        SqlError::new(19300, 16, 1, text)
    })
}

fn default_flags() -> Datum {
    Datum::Text("c".to_owned())
}

fn flags_type() -> SqlType {
    SqlType::VarChar { length: Length::Units(30) }
}

fn argument(values: &[Datum], at: usize) -> &str {
    values.get(at).and_then(Datum::as_text).unwrap_or_default()
}

/// Reads a number of at least `least`. Errors: 19302.
fn number(values: &[Datum], at: usize, least: i64, name: &str) -> Result<usize, SqlError> {
    let value = values.get(at).and_then(Datum::as_int).unwrap_or(least);
    match usize::try_from(value) {
        Ok(number) if value >= least => Ok(number),
        _ => {
            let text = format!("Invalid parameter '{name}' of a regular expression: {value}.");
            Err(SqlError::new(19302, 16, 1, text))
        }
    }
}

/// Returns the byte at which the `start`-th character begins, from 1; `None` behind the end.
fn byte_of(text: &str, start: usize) -> Option<usize> {
    let mut units = 1;
    for (at, sign) in text.char_indices() {
        if units >= start {
            return Some(at);
        }
        units += sign.len_utf16();
    }
    (units >= start).then_some(text.len())
}

/// Returns the place of a byte in characters, from 1.
fn place_of(text: &str, byte: usize) -> i64 {
    text.get(..byte).map_or(0, |before| before.encode_utf16().count() as i64 + 1)
}

fn like(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [text, pattern] = call.take()?;
    let flags = call.argument_or(2, default_flags(), flags_type())?;
    let arguments = vec![(text, long_text()), (pattern, long_text()), (flags, flags_type())];
    let patterns = Patterns::default();
    strict(call.name, arguments, SqlType::Int, move |values| {
        running::check()?;
        let found = patterns.get(argument(values, 1), argument(values, 2))?.is_match(argument(values, 0));
        Ok(Datum::Int(i64::from(found)))
    })
}

fn count(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [text, pattern] = call.take()?;
    let start = call.argument_or(2, Datum::Int(1), SqlType::Int)?;
    let flags = call.argument_or(3, default_flags(), flags_type())?;
    let arguments =
        vec![(text, long_text()), (pattern, long_text()), (start, SqlType::Int), (flags, flags_type())];
    let patterns = Patterns::default();
    strict(call.name, arguments, SqlType::Int, move |values| {
        running::check()?;
        let text = argument(values, 0);
        let pattern = patterns.get(argument(values, 1), argument(values, 3))?;
        let Some(from) = byte_of(text, number(values, 2, 1, "start")?) else { return Ok(Datum::Int(0)) };
        Ok(Datum::Int(pattern.find_iter(text.get(from..).unwrap_or_default()).count() as i64))
    })
}

/// Finds the `occurrence`-th match from a character on, and returns its captures with the byte that they count from.
fn nth<'t>(pattern: &Regex, text: &'t str, start: usize, occurrence: usize) -> Option<(Captures<'t>, usize)> {
    let from = byte_of(text, start)?;
    let captures = pattern.captures_iter(text.get(from..)?).nth(occurrence.saturating_sub(1))?;
    Some((captures, from))
}

fn position(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [text, pattern] = call.take()?;
    let one = |at: usize, value: i64| call.argument_or(at, Datum::Int(value), SqlType::Int);
    let (start, occurrence, end) = (one(2, 1)?, one(3, 1)?, one(4, 0)?);
    let flags = call.argument_or(5, default_flags(), flags_type())?;
    let arguments = vec![
        (text, long_text()),
        (pattern, long_text()),
        (start, SqlType::Int),
        (occurrence, SqlType::Int),
        (end, SqlType::Int),
        (flags, flags_type()),
        (one(6, 0)?, SqlType::Int),
    ];
    let patterns = Patterns::default();
    strict(call.name, arguments, SqlType::Int, move |values| {
        running::check()?;
        let text = argument(values, 0);
        let pattern = patterns.get(argument(values, 1), argument(values, 5))?;
        let (start, occurrence) = (number(values, 2, 1, "start")?, number(values, 3, 1, "occurrence")?);
        let behind = number(values, 4, 0, "return_option")? > 0;
        let group = number(values, 6, 0, "group")?;
        let found = nth(&pattern, text, start, occurrence);
        let found = found.as_ref().and_then(|(captures, from)| {
            captures.get(group).map(|part| if behind { from + part.end() } else { from + part.start() })
        });
        Ok(Datum::Int(found.map_or(0, |byte| place_of(text, byte))))
    })
}

fn part(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [text, pattern] = call.take()?;
    let one = |at: usize, value: i64| call.argument_or(at, Datum::Int(value), SqlType::Int);
    let (start, occurrence, group) = (one(2, 1)?, one(3, 1)?, one(5, 0)?);
    let flags = call.argument_or(4, default_flags(), flags_type())?;
    let result = text_of(text.sql_type.is_unicode(), length_limit(&text.sql_type));
    let arguments = vec![
        (text, result.clone()),
        (pattern, long_text()),
        (start, SqlType::Int),
        (occurrence, SqlType::Int),
        (flags, flags_type()),
        (group, SqlType::Int),
    ];
    let patterns = Patterns::default();
    strict(call.name, arguments, result, move |values| {
        running::check()?;
        let pattern = patterns.get(argument(values, 1), argument(values, 4))?;
        let (start, occurrence) = (number(values, 2, 1, "start")?, number(values, 3, 1, "occurrence")?);
        let group = number(values, 5, 0, "group")?;
        let found = nth(&pattern, argument(values, 0), start, occurrence);
        let found = found.as_ref().and_then(|(captures, _)| captures.get(group));
        Ok(found.map_or(Datum::Null, |part| Datum::Text(part.as_str().to_owned())))
    })
}

fn replace(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [text, pattern] = call.take()?;
    let with = call.argument_or(2, Datum::Text(String::new()), long_text())?;
    let one = |at: usize, value: i64| call.argument_or(at, Datum::Int(value), SqlType::Int);
    let (start, occurrence) = (one(3, 1)?, one(4, 0)?);
    let flags = call.argument_or(5, default_flags(), flags_type())?;
    let result = match length_limit(&text.sql_type) {
        Some(_) => text_of(text.sql_type.is_unicode(), Some(8000)),
        None => text_of(text.sql_type.is_unicode(), None),
    };
    let target = result.clone();
    let arguments = vec![
        (text, text_of(result.is_unicode(), None)),
        (pattern, long_text()),
        (with, long_text()),
        (start, SqlType::Int),
        (occurrence, SqlType::Int),
        (flags, flags_type()),
    ];
    let patterns = Patterns::default();
    strict(call.name, arguments, result, move |values| {
        running::check()?;
        let text = argument(values, 0);
        let pattern = patterns.get(argument(values, 1), argument(values, 5))?;
        let (start, occurrence) = (number(values, 3, 1, "start")?, number(values, 4, 0, "occurrence")?);
        let Some(from) = byte_of(text, start) else { return Ok(Datum::Text(text.to_owned())) };
        let (before, rest) = text.split_at_checked(from).unwrap_or((text, ""));
        let mut replaced = before.to_owned();
        let mut last = 0;
        for (number, captures) in pattern.captures_iter(rest).enumerate() {
            let Some(found) = captures.get(0) else { continue };
            if occurrence != 0 && occurrence != number + 1 {
                continue;
            }
            replaced.push_str(rest.get(last..found.start()).unwrap_or_default());
            replaced.push_str(&filled(argument(values, 2), &captures));
            last = found.end();
            ask(replaced.len(), &target)?;
        }
        replaced.push_str(rest.get(last..).unwrap_or_default());
        Ok(Datum::Text(replaced))
    })
}

/// Puts the groups of a match in the place of `\1` to `\9`, the whole match in that of `\0`, and a backslash in that of two.
fn filled(with: &str, captures: &Captures<'_>) -> String {
    let mut text = String::with_capacity(with.len());
    let mut signs = with.chars();
    while let Some(sign) = signs.next() {
        if sign != '\\' {
            text.push(sign);
            continue;
        }
        match signs.next() {
            Some(digit) if digit.is_ascii_digit() => {
                let group = digit.to_digit(10).and_then(|group| captures.get(group as usize));
                text.push_str(group.map_or("", |group| group.as_str()));
            }
            Some('\\') | None => text.push('\\'),
            Some(other) => text.extend(['\\', other]),
        }
    }
    text
}

fn value_type(arguments: &[Typed]) -> SqlType {
    let text = arguments.first();
    text_of(
        text.is_some_and(|text| text.sql_type.is_unicode()),
        text.and_then(|text| length_limit(&text.sql_type)),
    )
}

/// Reads the arguments of a function that gives rows; `None` if one of them is NULL.
fn read(values: &[Datum]) -> Result<Option<(String, Regex)>, SqlError> {
    let [Datum::Text(text), Datum::Text(pattern), rest @ ..] = values else { return Ok(None) };
    let flags = match rest {
        [] => "c",
        [Datum::Text(flags), ..] => flags,
        _ => return Ok(None),
    };
    Ok(Some((text.clone(), compiled(pattern, flags)?)))
}

fn matches(arguments: &[Typed], _: &[JsonColumn]) -> Result<TableFunction, SqlError> {
    let columns = vec![
        OutputColumn::expression("match_id", SqlType::BigInt, true),
        OutputColumn::expression("start_position", SqlType::Int, true),
        OutputColumn::expression("end_position", SqlType::Int, true),
        OutputColumn::expression("match_value", value_type(arguments), true),
        OutputColumn::expression("substring_matches", SqlType::Json, true),
    ];
    let rows = |values: &[Datum]| {
        let Some((text, pattern)) = read(values)? else { return Ok(Vec::new().into()) };
        running::hold(text.len())?;
        let (mut from, mut number) = (0, 0);
        let found = std::iter::from_fn(move || {
            if from > text.len() {
                return None;
            }
            let captures = pattern.captures_at(&text, from)?;
            let whole = captures.get(0)?;
            // An empty match goes on behind the next character.
            let step = text.get(whole.end()..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
            from = if whole.is_empty() { whole.end() + step } else { whole.end() };
            number += 1;
            let groups: Vec<String> =
                (1..captures.len()).filter_map(|at| group(&text, &captures, at)).collect();
            Some(Ok(vec![
                Datum::Int(number),
                Datum::Int(place_of(&text, whole.start())),
                Datum::Int(place_of(&text, whole.end()) - 1),
                Datum::Text(whole.as_str().to_owned()),
                if groups.is_empty() { Datum::Null } else { Datum::Text(format!("[{}]", groups.join(","))) },
            ]))
        });
        Ok(FunctionRows::new(found))
    };
    Ok(TableFunction { columns, rows: Arc::new(rows), parameters: None, defaults: Vec::new() })
}

/// Writes a group of a match as JSON.
fn group(text: &str, captures: &Captures<'_>, at: usize) -> Option<String> {
    let part = captures.get(at)?;
    let length = part.as_str().encode_utf16().count();
    Some(format!(
        "{{\"value\":{},\"start\":{},\"length\":{length}}}",
        quoted(part.as_str()),
        place_of(text, part.start())
    ))
}

fn split(arguments: &[Typed], _: &[JsonColumn]) -> Result<TableFunction, SqlError> {
    let columns = vec![
        OutputColumn::expression("value", value_type(arguments), true),
        OutputColumn::expression("ordinal", SqlType::BigInt, true),
    ];
    let rows = |values: &[Datum]| {
        let Some((text, pattern)) = read(values)? else { return Ok(Vec::new().into()) };
        running::hold(text.len())?;
        let parts: Vec<String> = pattern.split(&text).map(str::to_owned).collect();
        let rows = parts
            .into_iter()
            .zip(1_i64..)
            .map(|(part, ordinal)| Ok(vec![Datum::Text(part), Datum::Int(ordinal)]));
        Ok(FunctionRows::new(rows))
    };
    Ok(TableFunction { columns, rows: Arc::new(rows), parameters: None, defaults: Vec::new() })
}
