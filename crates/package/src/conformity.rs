//! Compares a document with its JSON Schema, and reports everything that does not conform.
//!
//! It knows the words of JSON Schema that the package's schema has. A table that may be one of several is recognised by its key
//! with a constant (`type`), so that a finding speaks of what was meant.

use serde_json::Value;

use crate::diagnostic::{Diagnostic, nearest};
use crate::document::{Document, member};

/// Returns the findings of a whole document.
pub fn findings(document: &Document, schema: &Value) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    Comparison { document, root: schema }.compare(&document.tree, schema, "", &mut found);
    found
}

struct Comparison<'a> {
    document: &'a Document,
    root: &'a Value,
}

impl<'a> Comparison<'a> {
    fn compare(&self, value: &Value, schema: &'a Value, pointer: &str, found: &mut Vec<Diagnostic>) {
        let schema = self.resolved(schema);
        if let Some(branches) = schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Value::as_array)
        {
            // TOML has no null, so what may be null is what it is otherwise.
            let is_null = |branch: &&Value| branch.get("type").and_then(Value::as_str) == Some("null");
            return match branches.iter().filter(|branch| !is_null(branch)).collect::<Vec<_>>().as_slice() {
                [only] => self.compare(value, only, pointer, found),
                _ => self.compare_branches(value, branches, pointer, found),
            };
        }
        if let Some(expected) = schema.get("const") {
            if value != expected {
                found.push(self.document.at_value(pointer, format!("{expected} is expected here")));
            }
            return;
        }
        if let Some(known) = schema.get("enum").and_then(Value::as_array) {
            if !known.contains(value) && !is_expanded_later(value) {
                found.push(self.unknown_word(value, known.iter().filter_map(Value::as_str), pointer));
            }
            return;
        }
        if let Some(expected) = types(schema)
            && !expected.iter().any(|name| is_of(value, name))
        {
            let message = format!("{} is expected here, not {}", worded(&expected), named(value));
            found.push(self.document.at_value(pointer, message));
            return;
        }
        match value {
            Value::Object(members) => {
                self.compare_members(members, schema, pointer, found);
            }
            Value::Array(items) => {
                if let Some(inner) = schema.get("items") {
                    for (index, item) in items.iter().enumerate() {
                        self.compare(item, inner, &member(pointer, &index.to_string()), found);
                    }
                }
                let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0);
                if (items.len() as u64) < least {
                    found.push(self.document.at_value(pointer, "this list must not be empty"));
                }
            }
            Value::Number(number) => {
                let limit = |name: &str| schema.get(name).and_then(Value::as_f64);
                let number = number.as_f64().unwrap_or_default();
                if limit("minimum").is_some_and(|least| number < least)
                    || limit("maximum").is_some_and(|most| number > most)
                {
                    let range = match (limit("minimum"), limit("maximum")) {
                        (Some(least), Some(most)) => format!("a number from {least} to {most}"),
                        (Some(least), None) => format!("a number from {least} on"),
                        (_, most) => format!("a number up to {}", most.unwrap_or_default()),
                    };
                    found.push(self.document.at_value(pointer, format!("{range} is expected here")));
                }
            }
            _ => {}
        }
    }

    fn compare_members(
        &self,
        members: &serde_json::Map<String, Value>,
        schema: &'a Value,
        pointer: &str,
        found: &mut Vec<Diagnostic>,
    ) {
        let properties = schema.get("properties").and_then(Value::as_object);
        let others = schema.get("additionalProperties");
        for (name, value) in members {
            let inner = member(pointer, name);
            match (properties.and_then(|properties| properties.get(name)), others) {
                (Some(schema), _) => self.compare(value, schema, &inner, found),
                (None, Some(Value::Bool(false))) => {
                    let known = properties.into_iter().flat_map(|known| known.keys().map(String::as_str));
                    let mut finding = self.document.at_key(&inner, format!("there is no key `{name}` here"));
                    finding.hint = Some(match nearest(name, known.clone()) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => format!("known are {}", listed(known)),
                    });
                    found.push(finding);
                }
                (None, Some(schema @ Value::Object(_))) => self.compare(value, schema, &inner, found),
                (None, _) => {}
            }
        }
        for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
            if let Some(name) = name.as_str()
                && !members.contains_key(name)
            {
                found.push(self.document.at_key(pointer, format!("the key `{name}` is missing")));
            }
        }
    }

    fn compare_branches(
        &self,
        value: &Value,
        branches: &'a [Value],
        pointer: &str,
        found: &mut Vec<Diagnostic>,
    ) {
        let branches: Vec<&'a Value> = branches.iter().map(|branch| self.resolved(branch)).collect();
        if let Value::Object(members) = value
            && let Some(kinds) = discriminated(&branches)
        {
            let words = || kinds.iter().map(|(word, _)| *word);
            let inner = member(pointer, "type");
            match members.get("type") {
                None => {
                    let mut finding = self.document.at_key(pointer, "the key `type` is missing");
                    finding.hint = Some(format!("one of {}", listed(words())));
                    found.push(finding);
                }
                Some(word) => match kinds.iter().find(|(known, _)| word.as_str() == Some(*known)) {
                    Some((_, branch)) => self.compare(value, branch, pointer, found),
                    None => found.push(self.unknown_word(word, words(), &inner)),
                },
            }
            return;
        }
        let mut constants = branches.iter().filter_map(|branch| branch.get("const").and_then(Value::as_str));
        if value.is_string() && branches.iter().all(|branch| branch.get("const").is_some()) {
            if is_expanded_later(value) {
                return;
            }
            if !constants.clone().any(|word| value.as_str() == Some(word)) {
                found.push(self.unknown_word(value, constants, pointer));
            }
            return;
        }
        let attempts: Vec<(&Value, Vec<Diagnostic>)> = branches
            .iter()
            .map(|branch| {
                let mut findings = Vec::new();
                self.compare(value, branch, pointer, &mut findings);
                (*branch, findings)
            })
            .collect();
        if attempts.iter().any(|(_, findings)| findings.is_empty()) {
            return;
        }
        let fitting = attempts.into_iter().find(|(branch, _)| {
            types(branch).is_some_and(|expected| expected.iter().any(|name| is_of(value, name)))
        });
        match fitting {
            Some((_, findings)) => found.extend(findings),
            None => {
                let expected: Vec<&str> =
                    branches.iter().filter_map(|branch| types(branch)).flatten().collect();
                let constants = listed(&mut constants);
                let expected = if expected.is_empty() { constants } else { worded(&expected) };
                let message = format!("{expected} is expected here, not {}", named(value));
                found.push(self.document.at_value(pointer, message));
            }
        }
    }

    fn unknown_word<'w>(
        &self,
        value: &Value,
        known: impl Iterator<Item = &'w str> + Clone,
        pointer: &str,
    ) -> Diagnostic {
        let mut finding = self.document.at_value(pointer, format!("{value} is not known here"));
        let near = value.as_str().and_then(|word| nearest(word, known.clone()));
        finding.hint = Some(match near {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("one of {}", listed(known)),
        });
        finding
    }

    /// Follows references to the definitions.
    fn resolved(&self, schema: &'a Value) -> &'a Value {
        let mut schema = schema;
        for _ in 0..8 {
            let reference = match (schema.get("$ref"), schema.get("allOf").and_then(Value::as_array)) {
                (Some(reference), _) => reference.as_str(),
                (None, Some(all)) if all.len() == 1 => {
                    all.first().and_then(|only| only.get("$ref")).and_then(Value::as_str)
                }
                _ => None,
            };
            let Some(target) = reference.and_then(|text| self.root.pointer(text.trim_start_matches('#')))
            else {
                return schema;
            };
            schema = target;
        }
        schema
    }
}

/// Returns the branches with the constant of their `type`, if all have one.
fn discriminated<'a>(branches: &[&'a Value]) -> Option<Vec<(&'a str, &'a Value)>> {
    branches
        .iter()
        .map(|branch| Some((branch.pointer("/properties/type/const")?.as_str()?, *branch)))
        .collect()
}

/// Returns true for a text with a variable in it, whose value is checked when it is known.
fn is_expanded_later(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.contains("${"))
}

fn types(schema: &Value) -> Option<Vec<&str>> {
    match schema.get("type")? {
        Value::String(name) => Some(vec![name]),
        Value::Array(names) => {
            Some(names.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect())
        }
        _ => None,
    }
}

fn is_of(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(number) => name == "number" || (name == "integer" && number.is_i64()),
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}

fn worded(names: &[&str]) -> String {
    let mut words: Vec<&str> = names
        .iter()
        .map(|name| match *name {
            "string" => "a text",
            "integer" => "a whole number",
            "number" => "a number",
            "boolean" => "true or false",
            "array" => "a list",
            "object" => "a table",
            other => other,
        })
        .collect();
    words.dedup();
    words.join(" or ")
}

fn named(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a table".to_owned(),
        other => other.to_string(),
    }
}

fn listed<'w>(words: impl Iterator<Item = &'w str>) -> String {
    words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
