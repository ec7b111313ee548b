//! A TOML file as a tree of values, and where each of them stands.

use std::collections::HashMap;
use std::ops::Range;

use serde_json::{Map, Number, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::{Diagnostic, Severity};

/// Tables and arrays within one another that a file may have.
const DEPTH_MAX: usize = 64;

/// The text of a package and what was read from it.
#[derive(Debug, Clone)]
pub struct Document {
    text: String,
    /// The tree; dates are texts.
    pub tree: Value,
    places: HashMap<String, Place>,
    lines: Lines,
}

/// The beginnings of a text's lines, in bytes.
#[derive(Debug, Clone)]
struct Lines(Vec<usize>);

/// The places of a value and of its key, in bytes.
#[derive(Debug, Clone)]
struct Place {
    key: Option<Range<usize>>,
    value: Range<usize>,
}

impl Document {
    /// Reads a text. What is no TOML is reported; the rest of the text is read all the same.
    pub fn parse(text: String) -> (Self, Vec<Diagnostic>) {
        let mut places = HashMap::new();
        let lines = Lines::of(&text);
        let (table, errors) = DeTable::parse_recoverable(&text);
        let mut found: Vec<Diagnostic> = errors
            .iter()
            .map(|error| {
                let (line, column) = lines.position(&text, error.span().map_or(0, |span| span.start));
                Diagnostic {
                    severity: Severity::Error,
                    message: format!("this is no TOML: {}", error.message()),
                    hint: None,
                    line,
                    column,
                }
            })
            .collect();
        let mut too_deep = None;
        let tree = tree_of(table.get_ref(), "", 0, &mut places, &mut too_deep);
        if let Some(at) = too_deep {
            let (line, column) = lines.position(&text, at);
            let message = format!("tables within tables end at {DEPTH_MAX} levels");
            found.push(Diagnostic { severity: Severity::Error, message, hint: None, line, column });
        }
        (Self { text, tree, places, lines }, found)
    }

    /// Makes a finding at the key of the value at `pointer`, or else at the value.
    pub fn at_key(&self, pointer: &str, message: impl Into<String>) -> Diagnostic {
        let place = self.places.get(pointer);
        self.finding(place.map(|place| place.key.as_ref().unwrap_or(&place.value).start), message.into())
    }

    /// Makes a finding at the value at `pointer`, or at the nearest that surrounds it.
    pub fn at_value(&self, pointer: &str, message: impl Into<String>) -> Diagnostic {
        let mut pointer = pointer;
        loop {
            if let Some(place) = self.places.get(pointer) {
                return self.finding(Some(place.value.start), message.into());
            }
            match pointer.rsplit_once('/') {
                Some((outer, _)) => pointer = outer,
                None => return self.finding(None, message.into()),
            }
        }
    }

    /// Returns the beginning of the value at `pointer`, for sorting in the order of the file.
    pub fn offset(&self, pointer: &str) -> usize {
        let place = self.places.get(pointer);
        place.map_or(usize::MAX, |place| place.key.as_ref().unwrap_or(&place.value).start)
    }

    fn finding(&self, at: Option<usize>, message: String) -> Diagnostic {
        let (line, column) = self.lines.position(&self.text, at.unwrap_or(0));
        Diagnostic { severity: Severity::Error, message, hint: None, line, column }
    }
}

/// Returns the pointer of a member, as JSON Pointer (RFC 6901) spells it.
pub fn member(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

impl Lines {
    fn of(text: &str) -> Self {
        Self([0].into_iter().chain(text.match_indices('\n').map(|(end, _)| end + 1)).collect())
    }

    /// Returns the line and the column of a byte, both from 1.
    fn position(&self, text: &str, at: usize) -> (usize, usize) {
        let at = if text.is_char_boundary(at) { at } else { text.len() };
        let line = self.0.partition_point(|start| *start <= at);
        let start = self.0.get(line.saturating_sub(1)).copied().unwrap_or_default();
        (line, text.get(start..at).unwrap_or_default().chars().count() + 1)
    }
}

fn tree_of(
    table: &DeTable<'_>,
    pointer: &str,
    depth: usize,
    places: &mut HashMap<String, Place>,
    too_deep: &mut Option<usize>,
) -> Value {
    let mut members = Map::new();
    for (key, value) in table {
        let inner = member(pointer, key.get_ref());
        places.insert(inner.clone(), Place { key: Some(key.span()), value: value.span() });
        let value = value_of(value, &inner, depth + 1, places, too_deep);
        members.insert(key.get_ref().to_string(), value);
    }
    Value::Object(members)
}

fn value_of(
    value: &Spanned<DeValue<'_>>,
    pointer: &str,
    depth: usize,
    places: &mut HashMap<String, Place>,
    too_deep: &mut Option<usize>,
) -> Value {
    if depth > DEPTH_MAX {
        *too_deep = Some(value.span().start);
        return Value::Null;
    }
    match value.get_ref() {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(integer) => {
            i64::from_str_radix(integer.as_str(), integer.radix()).map_or(Value::Null, Value::from)
        }
        DeValue::Float(float) => float
            .as_str()
            .parse()
            .ok()
            .and_then(Number::from_f64)
            .map_or_else(|| Value::String(float.as_str().to_owned()), Value::Number),
        DeValue::Boolean(boolean) => Value::Bool(*boolean),
        DeValue::Datetime(datetime) => Value::String(datetime.to_string()),
        DeValue::Array(items) => {
            let mut values = Vec::new();
            for (index, item) in items.iter().enumerate() {
                let inner = member(pointer, &index.to_string());
                places.insert(inner.clone(), Place { key: None, value: item.span() });
                values.push(value_of(item, &inner, depth + 1, places, too_deep));
            }
            Value::Array(values)
        }
        DeValue::Table(table) => tree_of(table, pointer, depth, places, too_deep),
    }
}
