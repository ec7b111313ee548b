//! A package that is sound, with its tasks as steps in the order of the file.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::document::{Document, member};
use crate::model::{Action, Package, Task, TaskSettings};

/// A package without errors.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The path of the file.
    pub path: PathBuf,
    /// The folder that its paths are relative to.
    pub folder: PathBuf,
    /// The name of the package; by default that of its file.
    pub name: String,
    /// The content of the file.
    pub model: Package,
    /// The tasks as steps.
    pub steps: Vec<Step>,
}

/// A task with what the runner asks of it.
#[derive(Debug, Clone)]
pub struct Step {
    /// The name of the task.
    pub name: String,
    /// The conditions, loop and retries of the task.
    pub settings: TaskSettings,
    /// The action of the task.
    pub action: Action,
    /// The action as it stands in the file, whose texts are expanded before it runs.
    pub raw: Value,
    /// The tasks of a group.
    pub inner: Vec<Step>,
    /// The steps of its level that it waits for, by index.
    pub before: Vec<Predecessor>,
}

/// A step that another waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Predecessor {
    /// The index of the step.
    pub index: usize,
    /// The end that it must have.
    pub on: On,
}

/// The end that a step must have for its successor to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// In success.
    Success,
    /// In failure.
    Failure,
    /// In either.
    Completion,
}

impl Loaded {
    pub(crate) fn new(path: &Path, folder: &Path, model: Package, document: &Document) -> Self {
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name = model.name.clone().or(stem).unwrap_or_else(|| "package".to_owned());
        let steps = steps(&model.tasks, document, "/tasks");
        Self { path: path.to_owned(), folder: folder.to_owned(), name, model, steps }
    }

    /// Returns true if a copy of the package transforms rows, or may do so: packages that it runs are not examined.
    pub fn may_transform(&self) -> bool {
        self.steps.iter().any(Step::may_transform)
    }
}

impl Step {
    /// Returns the fingerprint of the task's text, which changes when the task does.
    pub fn definition(&self) -> String {
        format!("{:016x}", fingerprint(self.raw.to_string().as_bytes()))
    }

    fn may_transform(&self) -> bool {
        match &self.action {
            Action::Copy(copy) => copy.transforms(),
            Action::Package(_) => true,
            _ => self.inner.iter().any(Self::may_transform),
        }
    }

    /// Returns the word of the step's kind.
    pub fn kind(&self) -> &'static str {
        match self.action {
            Action::Copy(_) => "copy",
            Action::Sql(_) => "sql",
            Action::BulkInsert(_) => "bulk-insert",
            Action::WaitForFile(_) => "wait-for-file",
            Action::Program(_) => "program",
            Action::Http(_) => "http",
            Action::Package(_) => "package",
            Action::Group(_) => "group",
        }
    }
}

/// Hashes by FNV-1a, which recognises changes and protects no secret.
pub(crate) fn fingerprint(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn steps(tasks: &std::collections::BTreeMap<String, Task>, document: &Document, pointer: &str) -> Vec<Step> {
    let mut names: Vec<&String> = tasks.keys().collect();
    names.sort_by_key(|name| document.offset(&member(pointer, name)));
    let index_of = |name: &String| names.iter().position(|other| *other == name);
    let is_behind = behind_any_failure(&names, tasks);
    names
        .iter()
        .filter_map(|name| {
            let task = tasks.get(*name)?;
            let own = member(pointer, name);
            let settings = &task.settings;
            let any = is_behind
                .iter()
                .enumerate()
                .filter(|(_, is_behind)| settings.after_any_failure && !**is_behind);
            let any = any.map(|(index, _)| Predecessor { index, on: On::Failure });
            let before = [
                (&settings.after, On::Success),
                (&settings.after_failure, On::Failure),
                (&settings.after_completion, On::Completion),
            ]
            .into_iter()
            .flat_map(|(others, on)| others.iter().map(move |other| (other, on)))
            .filter_map(|(other, on)| Some(Predecessor { index: index_of(other)?, on }))
            .chain(any)
            .collect();
            let inner = match &task.action {
                Action::Group(group) => steps(&group.tasks, document, &member(&own, "tasks")),
                _ => Vec::new(),
            };
            Some(Step {
                name: (*name).clone(),
                settings: settings.clone(),
                action: task.action.clone(),
                raw: document.tree.pointer(&own).cloned().unwrap_or(Value::Null),
                inner,
                before,
            })
        })
        .collect()
}

/// Marks the tasks that wait for any failure, and those behind them. All others are those that may fail.
fn behind_any_failure(names: &[&String], tasks: &std::collections::BTreeMap<String, Task>) -> Vec<bool> {
    let settings: Vec<Option<&TaskSettings>> =
        names.iter().map(|name| tasks.get(*name).map(|task| &task.settings)).collect();
    let mut is_behind: Vec<bool> =
        settings.iter().map(|settings| settings.is_some_and(|own| own.after_any_failure)).collect();
    loop {
        let is_marked = |other: &String| {
            names.iter().position(|name| *name == other).and_then(|index| is_behind.get(index)) == Some(&true)
        };
        let next: Vec<bool> = settings
            .iter()
            .zip(&is_behind)
            .map(|(settings, known)| *known || settings.is_some_and(|own| own.named_before().any(is_marked)))
            .collect();
        if next == is_behind {
            return next;
        }
        is_behind = next;
    }
}
