//! What a run would do: the tasks in order, with their texts as they would be, and without secrets.

use std::sync::Arc;

use serde_json::Value;

use crate::loaded::{Loaded, On, Step};
use crate::order::order;
use crate::run::event::now;
use crate::run::{RunError, RunOptions, Selection, built_in};
use crate::scope::{Scope, Secrets, Variables};

/// A package as it would run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DryRun {
    /// Variables with the values that they would have.
    pub variables: Vec<(String, String)>,
    /// Connections by name, without secrets.
    pub connections: Vec<(String, String)>,
    /// The tasks, each behind those that it waits for.
    pub tasks: Vec<PlannedTask>,
}

/// A task as it would run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedTask {
    /// Its name with those of the groups around it.
    pub task: String,
    /// The word of its kind.
    pub kind: &'static str,
    /// When it runs.
    pub when: Vec<String>,
    /// Its keys and their values.
    pub settings: Vec<(String, String)>,
    /// Whether `--from` and `--only` leave it out.
    pub is_left_out: bool,
}

/// Says what a run would do.
///
/// # Errors
/// A variable, or a name of no task.
pub fn dry_run(package: &Loaded, options: &RunOptions<'_>) -> Result<DryRun, RunError> {
    let selection = Selection::new(package, &options.from, &options.only)?;
    let variables = Variables::new(package, &options.set)?;
    let record = crate::journal::RunRecord {
        run: "(dry run)".to_owned(),
        package: package.name.clone(),
        start: now(),
        ..crate::journal::RunRecord::default()
    };
    let texts = variables.texts();
    let scope = Scope::new(package, Arc::new(variables), &built_in(&record));
    let mut tasks = Vec::new();
    level(&package.steps, "", &scope, &mut tasks);
    for task in &mut tasks {
        let name = task.task.split('/').next().unwrap_or_default();
        let index = package.steps.iter().position(|step| step.name == name);
        task.is_left_out = index.is_some_and(|index| !selection.has(index));
    }
    let connections = package.model.connections.iter().map(|(name, connection)| {
        let shown = scope.text(connection.url(), Secrets::Show);
        (name.clone(), shown.unwrap_or_else(|_| connection.url().to_owned()))
    });
    Ok(DryRun { variables: texts.into_iter().collect(), connections: connections.collect(), tasks })
}

fn level(steps: &[Step], prefix: &str, scope: &Scope, tasks: &mut Vec<PlannedTask>) {
    let predecessors: Vec<Vec<usize>> =
        steps.iter().map(|step| step.before.iter().map(|before| before.index).collect()).collect();
    for step in order(&predecessors).unwrap_or_default().into_iter().filter_map(|index| steps.get(index)) {
        let path = format!("{prefix}{}", step.name);
        let scope = scope.of_task(&step.name);
        tasks.push(planned(step, steps, &path, &scope));
        level(&step.inner, &format!("{path}/"), &scope, tasks);
    }
}

fn planned(step: &Step, steps: &[Step], path: &str, scope: &Scope) -> PlannedTask {
    let mut when: Vec<String> = step
        .before
        .iter()
        .filter_map(|before| {
            let name = &steps.get(before.index)?.name;
            Some(match before.on {
                On::Success => format!("after {name}"),
                On::Failure => format!("after the failure of {name}"),
                On::Completion => format!("after the end of {name}"),
            })
        })
        .collect();
    when.extend(step.settings.condition.as_ref().map(|condition| format!("if {condition}")));
    if step.settings.disabled {
        when.push("never: it is disabled".to_owned());
    }
    let tree = scope.tree(&step.raw, Secrets::Show).unwrap_or_else(|_| step.raw.clone());
    let hidden = [
        "type",
        "after",
        "after_failure",
        "after_completion",
        "if",
        "disabled",
        "description",
        "tasks",
        "join",
    ];
    let settings = tree
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, _)| !hidden.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), shown(value)))
        .collect();
    PlannedTask { task: path.to_owned(), kind: step.kind(), when, settings, is_left_out: false }
}

/// A value in one line.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}
