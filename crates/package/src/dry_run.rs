//! The plan of a run: the tasks in order, with expanded texts, and without secrets.

use std::sync::Arc;

use load::Interruption;
use serde_json::{Value, json};

use crate::copies::Copies;
use crate::loaded::{Loaded, On, Step};
use crate::model::Action;
use crate::order::order;
use crate::run::event::now;
use crate::run::items::{items, of_item};
use crate::run::{RunError, RunOptions, Selection, built_in};
use crate::scope::{Scope, Secrets, Variables};
use crate::server::Server;
use crate::task::copy::plan_of;

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
    /// The name of the task with those of the groups around it.
    pub task: String,
    /// The word of its kind.
    pub kind: &'static str,
    /// The conditions of the task.
    pub when: Vec<String>,
    /// The keys of the task and their values.
    pub settings: Vec<(String, String)>,
    /// The choices that a copy would make; empty for other tasks.
    pub plan: Vec<String>,
    /// The reason why a copy has no plan yet.
    pub without_plan: Option<String>,
    /// True if `--from` and `--only` leave the task out.
    pub is_left_out: bool,
}

impl DryRun {
    /// Converts the plan to a JSON object.
    pub fn json(&self) -> Value {
        let texts = |pairs: &[(String, String)]| -> Value {
            pairs.iter().map(|(name, text)| (name.clone(), Value::from(text.as_str()))).collect()
        };
        let tasks = self.tasks.iter().map(|task| {
            json!({
                "task": task.task, "type": task.kind, "when": task.when, "settings": texts(&task.settings),
                "plan": task.plan, "without_plan": task.without_plan, "left_out": task.is_left_out,
            })
        });
        json!({
            "variables": texts(&self.variables), "connections": texts(&self.connections),
            "tasks": tasks.collect::<Vec<_>>(),
        })
    }
}

/// Says what a run would do. Copies look at both of their ends, if `options` can copy; nothing is changed.
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
    for (index, step) in in_order(&package.steps) {
        let planner = Planner {
            copies: options.copies.filter(|_| selection.has(index)),
            interruption: &options.interruption,
        };
        let before = tasks.len();
        task(&planner, step, &package.steps, "", &scope, &mut tasks);
        for task in tasks.iter_mut().skip(before) {
            task.is_left_out = !selection.has(index);
        }
    }
    let connections = package.model.connections.iter().map(|(name, connection)| {
        let shown = scope.text(connection.url(), Secrets::Show);
        (name.clone(), shown.unwrap_or_else(|_| connection.url().to_owned()))
    });
    Ok(DryRun { variables: texts.into_iter().collect(), connections: connections.collect(), tasks })
}

/// Asks copies for their plans.
struct Planner<'a> {
    copies: Option<&'a Copies>,
    interruption: &'a Interruption,
}

fn in_order(steps: &[Step]) -> Vec<(usize, &Step)> {
    let predecessors: Vec<Vec<usize>> =
        steps.iter().map(|step| step.before.iter().map(|before| before.index).collect()).collect();
    let order = order(&predecessors).unwrap_or_default();
    order.into_iter().filter_map(|index| Some((index, steps.get(index)?))).collect()
}

/// Plans a task and those in it. Each waits for the tasks before it.
fn task(
    planner: &Planner<'_>,
    step: &Step,
    steps: &[Step],
    prefix: &str,
    scope: &Scope,
    tasks: &mut Vec<PlannedTask>,
) {
    let path = format!("{prefix}{}", step.name);
    let scope = scope.of_task(&step.name);
    let mut planned = planned(step, steps, &path, &scope);
    let is_asked = matches!(step.action, Action::Copy(_)) && !step.settings.disabled;
    if let Some(copies) = planner.copies.filter(|_| is_asked) {
        match plan(copies, step, &scope, planner.interruption) {
            Ok(plan) => planned.plan = plan,
            Err(reason) => planned.without_plan = Some(reason),
        }
    }
    tasks.push(planned);
    // Tasks within a loop have values that only the loop knows.
    let inner = match &step.settings.for_each {
        Some(_) => Planner { copies: None, ..*planner },
        None => Planner { ..*planner },
    };
    for (_, one) in in_order(&step.inner) {
        task(&inner, one, &step.inner, &format!("{path}/"), &scope, tasks);
    }
}

/// Plans a copy; in a loop, that of its first round.
fn plan(
    copies: &Copies,
    step: &Step,
    scope: &Scope,
    interruption: &Interruption,
) -> Result<Vec<String>, String> {
    let server = Server::new(scope.connections(), Some(interruption));
    let mut first = Vec::new();
    let mut scope = scope.clone();
    if let Some(each) = &step.settings.for_each {
        if each.query.is_some() {
            return Err("the rows of its loop are known when it runs".to_owned());
        }
        let rounds = items(each, &scope, &server).map_err(|error| error.message)?;
        let Some(item) = rounds.first() else { return Err("its loop has no rounds yet".to_owned()) };
        first.push(format!("rounds: {} (this is the plan of the first)", rounds.len()));
        scope = of_item(&scope, each, item);
    }
    let tree = scope.tree(&step.raw, Secrets::Resolve).map_err(|error| error.to_string())?;
    let plan = plan_of(&tree, &scope, &server, copies).map_err(|error| error.message)?;
    Ok(first.into_iter().chain(plan).collect())
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
    if step.settings.after_any_failure {
        when = vec!["after the failure of any task".to_owned()];
    }
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
        "after_any_failure",
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
    PlannedTask {
        task: path.to_owned(),
        kind: step.kind(),
        when,
        settings,
        plan: Vec::new(),
        without_plan: None,
        is_left_out: false,
    }
}

/// Writes a value in one line.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}
