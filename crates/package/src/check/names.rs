//! Names in texts: variables that are defined, and used.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::check::{Subject, warning, with_hint};
use crate::condition::Condition;
use crate::diagnostic::{Diagnostic, nearest};
use crate::document::member;
use crate::model::{DeclaredVariable, Kind, Variable};
use crate::names::{BUILT_IN, EACH_PARTS, is_built_in};
use crate::scalar::Scalar;
use crate::template::{Form, Part, Template, is_name};

/// Keys whose values are names or words and no templates.
const NO_TEMPLATES: [&str; 10] = [
    "type",
    "description",
    "after",
    "after_failure",
    "after_completion",
    "connection",
    "join",
    "as",
    "mode",
    "if",
];
/// Keys whose values are names of variables that take something.
const TAKERS: [&str; 4] = ["into", "rows_into", "refused_into", "exit_code_into"];
/// Keys whose values are SQL.
const SQL: [&str; 5] = ["statement", "query", "select", "where", "transform_sql"];
/// Keys that may hold secrets, and the task types that have them.
const SECRETS: [(&str, &str); 6] = [
    ("http", "url"),
    ("http", "headers"),
    ("http", "body"),
    ("program", "environment"),
    ("copy", "source"),
    ("copy", "destination"),
];

/// The name that a loop defines.
struct Each {
    name: String,
    /// True if the name has the columns of a query, which are unknown here.
    is_row: bool,
}

struct Names<'a> {
    subject: &'a Subject<'a>,
    used: BTreeSet<String>,
}

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    let mut names = Names { subject, used: BTreeSet::new() };
    for (name, variable) in &subject.package.variables {
        let at = member("/variables", name);
        if !is_name(name) || name.contains('.') || is_built_in(name) {
            let message = format!("`{name}` cannot be the name of a variable");
            found.push(subject.document.at_key(&at, message));
        }
        declared(subject, &at, variable, found);
    }
    if let Some(connections) = subject.document.tree.get("connections").and_then(Value::as_object) {
        for (name, connection) in connections {
            let at = member("/connections", name);
            match connection {
                Value::String(url) => names.text(url, &at, &[], Place::secret(), found),
                other => {
                    let url = other.get("url").and_then(Value::as_str).unwrap_or_default();
                    names.text(url, &member(&at, "url"), &[], Place::secret(), found);
                }
            }
        }
    }
    if let Some(tasks) = subject.document.tree.get("tasks") {
        names.tasks(tasks, "/tasks", &mut Vec::new(), found);
    }
    for name in subject.package.variables.keys().filter(|name| !names.used.contains(*name)) {
        let at = member("/variables", name);
        found.push(warning(subject.document.at_key(&at, format!("variable `{name}` is not used"))));
    }
}

/// Reports a default that does not fit its type.
fn declared(subject: &Subject<'_>, at: &str, variable: &Variable, found: &mut Vec<Diagnostic>) {
    let Variable::Declared(DeclaredVariable { kind, default: Some(default), .. }) = variable else { return };
    let plain = Scalar::of_plain(default);
    let fits = match (kind, plain.kind) {
        (Kind::Text, Kind::Text) => true,
        (Kind::Text, _) => false,
        (kind, _) => Scalar::parse(*kind, &plain.to_string()).is_ok(),
    };
    if !fits {
        let message = format!("{:?} is no {kind}", plain.to_string());
        found.push(subject.document.at_value(&member(at, "default"), message));
    }
}

/// The references that a text may have.
#[derive(Clone, Copy)]
struct Place {
    takes_secrets: bool,
    is_sql: bool,
}

impl Place {
    fn secret() -> Self {
        Self { takes_secrets: true, is_sql: false }
    }
}

impl Names<'_> {
    fn tasks(&mut self, tasks: &Value, pointer: &str, around: &mut Vec<Each>, found: &mut Vec<Diagnostic>) {
        for (name, task) in tasks.as_object().into_iter().flatten() {
            let own = member(pointer, name);
            let each = task.get("for_each").map(|each| Each {
                name: each.get("as").and_then(Value::as_str).unwrap_or("each").to_owned(),
                is_row: each.get("query").is_some(),
            });
            // The loop's own texts do not know what it runs for.
            if let Some(inner) = task.get("for_each") {
                self.value("", "for_each", inner, &member(&own, "for_each"), around, found);
            }
            let depth = around.len();
            if let Some(each) = each {
                if !is_name(&each.name) || each.name.contains('.') || is_built_in(&each.name) {
                    let at = format!("{own}/for_each/as");
                    let message = format!("`{}` cannot name what a loop runs for", each.name);
                    found.push(self.subject.document.at_value(&at, message));
                }
                around.push(each);
            }
            let kind = task.get("type").and_then(Value::as_str).unwrap_or_default();
            for (key, value) in task.as_object().into_iter().flatten() {
                let at = member(&own, key);
                match key.as_str() {
                    "for_each" => {}
                    "tasks" => self.tasks(value, &at, around, found),
                    "if" => self.condition(value.as_str().unwrap_or_default(), &at, around, found),
                    key => self.value(kind, key, value, &at, around, found),
                }
            }
            around.truncate(depth);
        }
    }

    fn value(
        &mut self,
        kind: &str,
        key: &str,
        value: &Value,
        at: &str,
        around: &[Each],
        found: &mut Vec<Diagnostic>,
    ) {
        if NO_TEMPLATES.contains(&key) {
            return;
        }
        match value {
            Value::String(name) if TAKERS.contains(&key) => self.taker(name, at, found),
            Value::Object(columns) if TAKERS.contains(&key) => {
                for name in columns.keys() {
                    self.taker(name, &member(at, name), found);
                }
            }
            Value::String(text) => {
                let place =
                    Place { takes_secrets: SECRETS.contains(&(kind, key)), is_sql: SQL.contains(&key) };
                self.text(text, at, around, place, found);
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.value(kind, key, item, &member(at, &index.to_string()), around, found);
                }
            }
            Value::Object(members) => {
                // The members of a table of words are what the table is; those of an endpoint have keys of their own.
                let is_words =
                    matches!(key, "headers" | "environment" | "parameters" | "variables" | "lookups");
                for (name, inner) in members {
                    let key = if is_words { key } else { name.as_str() };
                    self.value(kind, key, inner, &member(at, name), around, found);
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str, at: &str, around: &[Each], place: Place, found: &mut Vec<Diagnostic>) {
        let document = self.subject.document;
        let template = match Template::parse(text) {
            Ok(template) => template,
            Err(error) => return found.push(document.at_value(at, error.to_string())),
        };
        for part in template.parts() {
            match part {
                Part::Text(_) => {}
                Part::Environment(name) | Part::File(name) if !place.takes_secrets => {
                    let hint = "they belong into connections, headers, bodies and URLs of http, environments of programs";
                    let finding = document.at_value(at, format!("the secret {name} does not belong here"));
                    found.push(with_hint(finding, Some(hint.to_owned())));
                }
                Part::Environment(_) | Part::File(_) => {}
                Part::Variable { name, form } => {
                    self.variable(name, at, around, found);
                    if place.is_sql && !matches!(form, Form::Literal | Form::Identifier) {
                        let hint = format!(
                            "`@{name}` with `parameters`, `${{{name}:literal}}` or `${{{name}:identifier}}`"
                        );
                        let finding =
                            document.at_value(at, format!("`${{{name}}}` would become part of the SQL"));
                        found.push(with_hint(finding, Some(hint)));
                    }
                }
            }
        }
    }

    fn condition(&mut self, text: &str, at: &str, around: &[Each], found: &mut Vec<Diagnostic>) {
        match Condition::parse(text) {
            Ok(condition) => {
                for name in condition.variables() {
                    self.variable(name, at, around, found);
                }
            }
            Err(error) => found.push(self.subject.document.at_value(at, error.to_string())),
        }
    }

    fn variable(&mut self, name: &str, at: &str, around: &[Each], found: &mut Vec<Diagnostic>) {
        let variables = &self.subject.package.variables;
        if variables.contains_key(name) {
            self.used.insert(name.to_owned());
            return;
        }
        let (head, part) = name.split_once('.').unwrap_or((name, ""));
        let is_loop = around
            .iter()
            .any(|each| each.name == head && (each.is_row || part.is_empty() || EACH_PARTS.contains(&part)));
        if is_loop || is_built_in(name) {
            return;
        }
        let loops = around.iter().map(|each| each.name.as_str());
        let known = variables.keys().map(String::as_str).chain(BUILT_IN).chain(loops);
        let hint = nearest(name, known).map(|near| format!("did you mean `{near}`?"));
        let message = format!("there is no variable `{name}`");
        found.push(with_hint(self.subject.document.at_value(at, message), hint));
    }

    /// Checks a variable that takes a value.
    fn taker(&mut self, name: &str, at: &str, found: &mut Vec<Diagnostic>) {
        let variables = &self.subject.package.variables;
        if variables.contains_key(name) {
            self.used.insert(name.to_owned());
            return;
        }
        let hint = match nearest(name, variables.keys().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("[variables] defines it: {name} = 0"),
        };
        let message = format!("there is no variable `{name}`");
        found.push(with_hint(self.subject.document.at_value(at, message), Some(hint)));
    }
}
