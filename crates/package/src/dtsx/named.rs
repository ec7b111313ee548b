//! Names of an SSIS package, and what they are called here.

use std::collections::{BTreeMap, BTreeSet};

/// Names in lower case with underscores, each used once.
#[derive(Debug, Clone, Default)]
pub struct Names {
    taken: BTreeSet<String>,
}

impl Names {
    /// Gives `original` a name of its own.
    pub fn give(&mut self, original: &str) -> String {
        let mut plain = String::new();
        for c in original.trim().chars() {
            if c.is_alphanumeric() {
                plain.extend(c.to_lowercase());
            } else if !plain.ends_with('_') && !plain.is_empty() {
                plain.push('_');
            }
        }
        let plain = plain.trim_end_matches('_');
        let plain = match plain.chars().next() {
            None => "unnamed".to_owned(),
            Some(c) if c.is_alphabetic() => plain.to_owned(),
            Some(_) => format!("n{plain}"),
        };
        let mut name = plain.clone();
        let mut number = 2_u32;
        while !self.taken.insert(name.clone()) {
            name = format!("{plain}_{number}");
            number = number.saturating_add(1);
        }
        name
    }
}

/// Removes a byte-order mark that was read as text in the code page of some Windows, or as a character.
pub fn without_mark(name: &str) -> &str {
    let marks = ["\u{feff}", "\u{ef}\u{bb}\u{bf}"];
    marks.iter().find_map(|mark| name.strip_prefix(mark)).unwrap_or(name)
}

/// Variables of SSIS (`User::Name`, without regard to case) and their templates here.
#[derive(Debug, Clone, Default)]
pub struct VariableNames(pub BTreeMap<String, String>);

impl VariableNames {
    /// Returns the present name of a variable.
    pub fn get(&self, name: &str) -> Option<String> {
        let system = match name.to_ascii_lowercase().as_str() {
            "system::packagename" => Some("package.name"),
            "system::starttime" | "system::containerstarttime" => Some("run.start"),
            "system::executioninstanceguid" => Some("run.id"),
            "system::taskname" | "system::sourcename" => Some("task.name"),
            _ => None,
        };
        if let Some(system) = system {
            return Some(system.to_owned());
        }
        self.0.get(&qualified(name)).cloned()
    }

    /// Notes a variable.
    pub fn set(&mut self, name: &str, here: &str) {
        self.0.insert(qualified(name), here.to_owned());
    }
}

/// Returns the whole name of a variable, in lower case; an id in braces is one.
fn qualified(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    if lower.contains("::") || lower.starts_with('{') { lower } else { format!("user::{lower}") }
}

/// Control flow knows variables alone.
impl crate::dtsx::tsql::Names for VariableNames {
    fn column(&self, _: &str) -> Option<String> {
        None
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.get(name)
    }
}
