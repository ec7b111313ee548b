//! Conditions of order: tasks that exist, and no circles.

use crate::check::{Subject, Tasks, warning, with_hint};
use crate::diagnostic::{Diagnostic, nearest};
use crate::document::member;
use crate::model::Action;
use crate::order::order;

/// The tasks of the package itself.
const TOP: &str = "/tasks";

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    level(subject, &subject.package.tasks, TOP, found);
}

fn level(subject: &Subject<'_>, tasks: &Tasks, pointer: &str, found: &mut Vec<Diagnostic>) {
    if tasks.is_empty() {
        let finding = subject.document.at_key(pointer, "there is no task");
        // A group without tasks is done when it begins.
        found.push(if pointer == TOP { finding } else { warning(finding) });
    }
    let names: Vec<&str> = tasks.keys().map(String::as_str).collect();
    let mut predecessors = Vec::new();
    for (name, task) in tasks {
        let own = member(pointer, name);
        if name.is_empty() || name.contains(['/', '[', ']', ',']) || name.chars().any(char::is_control) {
            found.push(subject.document.at_key(&own, "names of tasks have no `/`, `[`, `]` or `,`"));
        }
        let settings = &task.settings;
        let mut before = Vec::new();
        for (key, others) in [
            ("after", &settings.after),
            ("after_failure", &settings.after_failure),
            ("after_completion", &settings.after_completion),
        ] {
            for (index, other) in others.iter().enumerate() {
                let at = member(&member(&own, key), &index.to_string());
                if other == name {
                    found.push(subject.document.at_value(&at, format!("task `{name}` waits for itself")));
                } else if let Ok(index) = names.binary_search(&other.as_str()) {
                    before.push(index);
                } else {
                    let near = nearest(other, names.iter().copied());
                    let hint = near.map(|near| format!("did you mean `{near}`?"));
                    let message = format!("there is no task `{other}` on this level");
                    found.push(with_hint(subject.document.at_value(&at, message), hint));
                }
            }
        }
        if settings.after_any_failure && settings.named_before().next().is_some() {
            let message = "this waits for all other tasks already; name none beside it";
            found.push(subject.document.at_key(&member(&own, "after_any_failure"), message));
        }
        predecessors.push(before);
        if let Action::Group(group) = &task.action {
            level(subject, &group.tasks, &member(&own, "tasks"), found);
        }
    }
    if let Err(circle) = order(&predecessors) {
        let named: Vec<&str> = circle.iter().filter_map(|index| names.get(*index).copied()).collect();
        let (Some(first), Some(last)) = (named.first(), named.last()) else { return };
        let message = format!("tasks wait for one another: {} -> {first}", named.join(" -> "));
        found.push(subject.document.at_key(&member(pointer, last), message));
    }
}
