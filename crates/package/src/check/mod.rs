//! Finds the mistakes of a package before anything runs, all at once.

mod connections;
mod names;
mod sequence;
pub(crate) mod tasks;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::conformity;
use crate::diagnostic::{Diagnostic, Severity};
use crate::document::{Document, member};
use crate::loaded::Loaded;
use crate::model::{Action, Package, Task};
use crate::schema::schema;

/// Packages that run one another, at most.
const PACKAGES_DEEP: usize = 16;

/// The result of a check.
#[derive(Debug)]
pub struct Checked {
    /// The package, if it has no errors.
    pub package: Option<Loaded>,
    /// Errors and warnings, in the order of the file.
    pub findings: Vec<Diagnostic>,
}

/// The parts of a package that the checks read.
struct Subject<'a> {
    document: &'a Document,
    package: &'a Package,
    folder: &'a Path,
}

/// Bytes of a package at most: each of its values takes many times its own in memory.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// Reads a file and checks it.
///
/// # Errors
/// The file cannot be read, or is too long for a package.
pub fn check(path: &Path) -> std::io::Result<Checked> {
    let bytes = std::fs::metadata(path)?.len();
    if bytes > FILE_BYTES_MAX {
        let reason = format!("{bytes} bytes are no package: it has {} MiB at most", FILE_BYTES_MAX >> 20);
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, reason));
    }
    let text = std::fs::read_to_string(path)?;
    Ok(check_text(path, text, &[]))
}

/// Checks a package that stands in a file of this name; `outer` are the packages that run it.
fn check_text(path: &Path, text: String, outer: &[PathBuf]) -> Checked {
    let (document, mut findings) = Document::parse(text);
    let is_toml = findings.is_empty();
    let package = if is_toml {
        findings = conformity::findings(&document, &schema());
        match serde_json::from_value::<Package>(document.tree.clone()) {
            Ok(package) => Some(package),
            Err(error) if findings.is_empty() => {
                findings.push(document.at_value("", error.to_string()));
                None
            }
            Err(_) => None,
        }
    } else {
        None
    };
    let folder = match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => Path::new("."),
    };
    // Mistakes of form do not hide those of what goes together.
    let parts = if package.is_none() && is_toml { sound_parts(&document.tree) } else { None };
    if let Some(package) = package.as_ref().or(parts.as_ref()) {
        let subject = Subject { document: &document, package, folder };
        let mut further = Vec::new();
        connections::check(&subject, &mut further);
        sequence::check(&subject, &mut further);
        names::check(&subject, &mut further);
        tasks::check(&subject, &mut further);
        inner_packages(&subject, path, outer, &mut further);
        // What is not used may be used where the form is wrong.
        further.retain(|finding| parts.is_none() || finding.severity == Severity::Error);
        findings.append(&mut further);
    }
    findings.sort_by_key(|finding| (finding.line, finding.column));
    findings.dedup();
    let is_sound = !findings.iter().any(|finding| finding.severity == Severity::Error);
    let package = package.filter(|_| is_sound).map(|package| Loaded::new(path, folder, package, &document));
    Checked { package, findings }
}

/// Reads a package without the parts whose form is wrong: harmless ones stand in their places, so that their names are known.
fn sound_parts(tree: &Value) -> Option<Package> {
    let harmless = |key: &str| match key {
        "tasks" => json!({ "type": "program", "command": ["none"] }),
        "connections" => json!("mssql://user@host/database"),
        _ => json!(""),
    };
    let alone = |key: &str, value: &Value| {
        let mut members = Map::new();
        members.insert("tasks".to_owned(), json!({}));
        members.insert(key.to_owned(), value.clone());
        serde_json::from_value::<Package>(Value::Object(members)).is_ok()
    };
    let mut sound = Map::new();
    for (key, value) in tree.as_object()? {
        let value = match (key.as_str(), value) {
            ("tasks" | "connections" | "variables", Value::Object(members)) => {
                let checked = members.iter().map(|(name, member)| {
                    let is_sound = alone(key, &json!({ name: member }));
                    (name.clone(), if is_sound { member.clone() } else { harmless(key) })
                });
                Value::Object(checked.collect())
            }
            _ => value.clone(),
        };
        if alone(key, &value) {
            sound.insert(key.clone(), value);
        }
    }
    serde_json::from_value(Value::Object(sound)).ok()
}

/// Checks the packages that this one runs, unless variables name their files.
fn inner_packages(subject: &Subject<'_>, path: &Path, outer: &[PathBuf], found: &mut Vec<Diagnostic>) {
    let own = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut seen = BTreeSet::new();
    every_task(subject, &mut |_, pointer, task| {
        let Action::Package(inner) = &task.action else { return };
        if inner.file.contains("${") {
            return;
        }
        let at = member(pointer, "file");
        let file = subject.folder.join(&inner.file);
        let Ok(text) = std::fs::read_to_string(&file) else { return };
        let file = file.canonicalize().unwrap_or(file);
        if file == own || outer.contains(&file) {
            found.push(subject.document.at_value(&at, format!("{} runs itself", inner.file)));
            return;
        }
        if outer.len() >= PACKAGES_DEEP {
            found.push(subject.document.at_value(&at, "packages run one another too deeply"));
            return;
        }
        if !seen.insert(file.clone()) {
            return;
        }
        let mut around = outer.to_vec();
        around.push(own.clone());
        let checked = check_text(&file, text, &around);
        for finding in checked.findings.iter().filter(|finding| finding.severity == Severity::Error) {
            found.push(subject.document.at_value(&at, format!("{}:{finding}", inner.file)));
        }
        if let Some(package) = &checked.package {
            for name in inner.variables.keys() {
                if !package.model.variables.contains_key(name) {
                    let at = member(&member(pointer, "variables"), name);
                    let message = format!("{} has no variable `{name}`", inner.file);
                    found.push(subject.document.at_key(&at, message));
                }
            }
        }
    });
}

/// Calls back with each task, those of groups among them: the tasks of its level, its pointer and itself.
fn every_task<'a>(subject: &Subject<'a>, visit: &mut dyn FnMut(&'a Tasks, &str, &'a Task)) {
    fn level<'a>(tasks: &'a Tasks, pointer: &str, visit: &mut dyn FnMut(&'a Tasks, &str, &'a Task)) {
        for (name, task) in tasks {
            let own = member(pointer, name);
            visit(tasks, &own, task);
            if let Action::Group(group) = &task.action {
                level(&group.tasks, &member(&own, "tasks"), visit);
            }
        }
    }
    level(&subject.package.tasks, "/tasks", visit);
}

type Tasks = std::collections::BTreeMap<String, Task>;

fn warning(mut finding: Diagnostic) -> Diagnostic {
    finding.severity = Severity::Warning;
    finding
}

fn with_hint(mut finding: Diagnostic, hint: Option<String>) -> Diagnostic {
    finding.hint = hint;
    finding
}
