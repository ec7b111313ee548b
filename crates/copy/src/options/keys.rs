//! Options as keys with values, as TOML and Python write them, and as words of a command line.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use clap::{Args, Command};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Language, Options};
use crate::error::CopyError;

/// Options that mean nothing without another: the option, and the other.
const REQUIRED: [(&str, &str); 7] = [
    ("action", "key"),
    ("exclude", "tables"),
    ("fail-fast", "tables"),
    ("pause", "gentle"),
    ("skip-failing-modules", "with-modules"),
    ("to-schema", "tables"),
    ("trim-blanks", "format-file"),
];

/// An option that differs from its default.
#[derive(Debug, Clone, PartialEq)]
pub struct GivenOption {
    /// The name of the option as the command spells it, without the dashes.
    pub name: String,
    /// The key of the option in TOML.
    pub key: String,
    /// The value of the option.
    pub value: Value,
    /// Items of a list have commas between them; otherwise the option is repeated.
    has_commas: bool,
}

impl GivenOption {
    /// Returns the words of a command line that say it.
    pub fn words(&self) -> Vec<String> {
        let name = &self.name;
        match &self.value {
            Value::Bool(_) => vec![format!("--{name}")],
            Value::Array(items) if self.has_commas => {
                let items: Vec<String> = items.iter().map(text).collect();
                vec![format!("--{name}={}", items.join(","))]
            }
            Value::Array(items) => items.iter().map(|item| format!("--{name}={}", text(item))).collect(),
            value => vec![format!("--{name}={}", text(value))],
        }
    }
}

/// Returns the options of a group that differ from their defaults, in the order in which the command lists them.
pub fn given<T: Args + Serialize + Default>(options: &T) -> Vec<GivenOption> {
    let (values, defaults) = (members(options), members(&T::default()));
    let command = T::augment_args(Command::new("copy"));
    let found = command.get_arguments().filter_map(|argument| {
        let name = argument.get_long()?;
        let key = Language::Toml.option(name);
        let value = values.get(&key).filter(|value| defaults.get(&key) != Some(value))?;
        Some(GivenOption {
            name: name.to_owned(),
            value: value.clone(),
            has_commas: argument.get_value_delimiter().is_some(),
            key,
        })
    });
    found.collect()
}

/// Returns true for the name of an option of a copy, without its dashes.
pub(super) fn is_option(name: &str) -> bool {
    static NAMES: OnceLock<Vec<String>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let command = Options::augment_args(Command::new("copy"));
        command.get_arguments().filter_map(|argument| argument.get_long().map(str::to_owned)).collect()
    });
    names.iter().any(|known| known == name)
}

impl Options {
    /// Returns the options that differ from their defaults.
    pub fn given(&self) -> Vec<GivenOption> {
        let mut given = given(self);
        let lookups = &self.transformation.lookups;
        if !lookups.is_empty() {
            given.push(GivenOption {
                name: "lookup".to_owned(),
                key: "lookups".to_owned(),
                value: lookups.iter().map(|(name, endpoint)| format!("{name}={endpoint}")).collect(),
                has_commas: false,
            });
        }
        given
    }

    /// Returns the words of a command line that say the same.
    pub fn words(&self) -> Vec<String> {
        self.given().iter().flat_map(GivenOption::words).collect()
    }

    /// Reads options from keys with values. What a command line refuses is refused here too.
    ///
    /// # Errors
    /// A key is unknown, its value is wrong, or it does not go with another.
    pub fn from_keys(keys: &Map<String, Value>, language: Language) -> Result<Self, CopyError> {
        let known = members(&Self::default());
        let limits = limits();
        for (key, value) in keys {
            if !known.contains_key(key) {
                return Err(CopyError::Usage(format!("there is no option `{key}`")));
            }
            let only = Map::from_iter([(key.clone(), value.clone())]);
            if let Err(error) = serde_json::from_value::<Self>(Value::Object(only)) {
                return Err(CopyError::Usage(format!("{key}: {error}")));
            }
            let (least, most) = limits.get(key).copied().unwrap_or_default();
            if let Some(number) = value.as_f64()
                && (least.is_some_and(|least| number < least) || most.is_some_and(|most| number > most))
            {
                let range = match (least, most) {
                    (Some(least), Some(most)) => format!("a number from {least} to {most}"),
                    (Some(least), None) => format!("a number from {least} on"),
                    (None, most) => format!("a number up to {}", most.unwrap_or_default()),
                };
                return Err(CopyError::Usage(format!("{key}: {range} is expected, not {value}")));
            }
        }
        let options: Self = serde_json::from_value(Value::Object(keys.clone()))
            .map_err(|error| CopyError::Usage(error.to_string()))?;
        options.check_pairs(language)?;
        Ok(options)
    }

    /// Refuses options that exclude each other, or that lack the one that they belong to.
    fn check_pairs(&self, language: Language) -> Result<(), CopyError> {
        let given = self.given();
        let is_given = |name: &str| given.iter().any(|one| one.name == name);
        let mut command = Self::augment_args(Command::new("copy"));
        command.build();
        for argument in command.get_arguments() {
            let Some(name) = argument.get_long().filter(|name| is_given(name)) else { continue };
            let others = command.get_arg_conflicts_with(argument);
            let other = others.iter().filter_map(|other| other.get_long()).find(|other| is_given(other));
            if let Some(other) = other {
                let (one, other) = (language.option(name), language.option(other));
                return Err(CopyError::Usage(format!("{one} cannot be used with {other}")));
            }
        }
        match REQUIRED.iter().find(|(name, other)| is_given(name) && !is_given(other)) {
            None => Ok(()),
            Some((name, other)) => {
                let (one, other) = (language.option(name), language.option(other));
                Err(CopyError::Usage(format!("{one} needs {other}")))
            }
        }
    }
}

/// Returns the least and the greatest numbers that options take, by key.
fn limits() -> BTreeMap<String, (Option<f64>, Option<f64>)> {
    let schema = schemars::schema_for!(Options).to_value();
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let limit = |schema: &Value, name: &str| schema.get(name).and_then(Value::as_f64);
    properties
        .map(|(key, schema)| (key.clone(), (limit(schema, "minimum"), limit(schema, "maximum"))))
        .collect()
}

/// Returns the keys and values of options.
fn members<T: Serialize>(options: &T) -> Map<String, Value> {
    match serde_json::to_value(options) {
        Ok(Value::Object(members)) => members,
        _ => Map::new(),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
