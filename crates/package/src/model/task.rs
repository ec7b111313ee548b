//! A task: when it runs, and what it does.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Action, Span};

/// A task of a package.
#[derive(Debug, Clone, Deserialize)]
pub struct Task {
    /// The settings that every task may have.
    #[serde(flatten)]
    pub settings: TaskSettings,
    /// The action of the task.
    #[serde(flatten)]
    pub action: Action,
}

/// The settings that every task may have.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub struct TaskSettings {
    /// The purpose of the task.
    pub description: Option<String>,
    /// Tasks that have to succeed before.
    #[serde(default)]
    pub after: Vec<String>,
    /// Tasks that have to fail before.
    #[serde(default)]
    pub after_failure: Vec<String>,
    /// Tasks that have to end before, in success or failure.
    #[serde(default)]
    pub after_completion: Vec<String>,
    /// Begins when the other tasks of its level have ended and one of them has failed, whichever.
    #[serde(default)]
    pub after_any_failure: bool,
    /// Decides whether all of those conditions must hold, or one.
    #[serde(default)]
    pub join: Join,
    /// A condition on variables, such as `${rows} > 0`. If it does not hold, the task is skipped.
    #[serde(rename = "if")]
    pub condition: Option<String>,
    /// Runs the task once for each file or row.
    pub for_each: Option<ForEach>,
    /// Tries it again after a failure.
    pub retry: Option<Retry>,
    /// A failure of this task leaves the run a success.
    #[serde(default)]
    pub may_fail: bool,
    /// The task is left out, as if its conditions did not hold.
    #[serde(default)]
    pub disabled: bool,
    /// The treatment of this task if a run was killed in the middle of it.
    #[serde(default)]
    pub if_interrupted: Interrupted,
}

impl TaskSettings {
    /// Lists the tasks that its conditions name.
    pub fn named_before(&self) -> impl Iterator<Item = &String> {
        self.after.iter().chain(&self.after_failure).chain(&self.after_completion)
    }
}

/// The way in which conditions are joined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Join {
    /// All have to hold.
    #[default]
    All,
    /// One has to hold, when all those tasks have ended.
    Any,
}

/// The treatment of a task in whose middle a run was killed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Interrupted {
    /// The task runs again.
    #[default]
    Again,
    /// The run stops until somebody says `--redo` or `--done` with its name.
    Stop,
}

/// Runs a task once for each file or row; `${each}` is the one that it runs for.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForEach {
    /// A path with `*`, `?`, `[…]` and `**`. `${each}` is the file, and `${each.name}`, `${each.stem}`, `${each.folder}` are its parts.
    pub files: Option<String>,
    /// A query; `${each.COLUMN}` is a value of the row. It needs `connection`.
    pub query: Option<String>,
    /// The connection of the query.
    pub connection: Option<String>,
    /// The values themselves.
    pub values: Option<Vec<super::Plain>>,
    /// Another name than `each`.
    #[serde(rename = "as")]
    pub name: Option<String>,
    /// The number of items that run side by side; by default one.
    #[schemars(range(min = 1, max = 256))]
    pub jobs: Option<u32>,
}

/// Tries a task again after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// The largest number of attempts, including the first.
    #[schemars(range(min = 1, max = 1000))]
    pub attempts: u32,
    /// The wait before the second attempt, twice as long before each one after it, an hour at most. By default a second.
    pub wait: Option<Span>,
}

impl JsonSchema for Task {
    fn schema_name() -> Cow<'static, str> {
        "Task".into()
    }

    /// Describes each kind of task with its own keys and those of every task, and no others.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let settings = TaskSettings::json_schema(generator);
        let mut actions = Action::json_schema(generator);
        let all = settings.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        let definitions = generator.definitions().clone();
        if let Some(kinds) = actions.get_mut("oneOf").and_then(Value::as_array_mut) {
            for kind in kinds {
                // Keys of a kind stand in a definition of their own.
                let reference = kind.get("$ref").and_then(Value::as_str);
                let own = reference
                    .and_then(|path| path.rsplit('/').next())
                    .and_then(|name| definitions.get(name))
                    .cloned();
                let mut whole = own.unwrap_or_else(|| json!({"type": "object"}));
                for part in ["properties", "required"] {
                    merge(&mut whole, part, kind.get(part));
                }
                merge(&mut whole, "properties", Some(&Value::Object(all.clone())));
                if let Some(described) = kind.get("description") {
                    whole["description"] = described.clone();
                }
                whole["additionalProperties"] = Value::Bool(false);
                *kind = whole;
            }
        }
        actions
    }
}

fn merge(into: &mut Value, part: &str, more: Option<&Value>) {
    match (into.get_mut(part), more) {
        (Some(Value::Object(members)), Some(Value::Object(more))) => members.extend(more.clone()),
        (Some(Value::Array(items)), Some(Value::Array(more))) => items.extend(more.iter().cloned()),
        (None, Some(more)) => into[part] = more.clone(),
        _ => {}
    }
}
