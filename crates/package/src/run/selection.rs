//! `--from` and `--only`: the tasks of the package that a run is about.

use crate::loaded::Loaded;
use crate::run::run_error::RunError;

/// The tasks that run; the others count as done.
#[derive(Debug, Clone)]
pub struct Selection {
    /// True for each task of the package that is selected.
    members: Vec<bool>,
    words: Vec<String>,
}

impl Selection {
    /// Selects the tasks that `from` leads to, and those of `only`; all if neither names one.
    ///
    /// # Errors
    /// A name of no task.
    pub fn new(package: &Loaded, from: &[String], only: &[String]) -> Result<Self, RunError> {
        let steps = &package.steps;
        let index_of = |name: &String| {
            steps.iter().position(|step| step.name == *name).ok_or_else(|| RunError::NoTask(name.clone()))
        };
        if from.is_empty() && only.is_empty() {
            return Ok(Self { members: vec![true; steps.len()], words: Vec::new() });
        }
        let mut behind = vec![false; steps.len()];
        for name in from {
            if let Some(member) = behind.get_mut(index_of(name)?) {
                *member = true;
            }
        }
        loop {
            let next = (0..steps.len()).find(|index| {
                let waits = |step: &crate::loaded::Step| {
                    step.before.iter().any(|before| behind.get(before.index) == Some(&true))
                };
                behind.get(*index) == Some(&false) && steps.get(*index).is_some_and(waits)
            });
            match next.and_then(|next| behind.get_mut(next)) {
                Some(member) => *member = true,
                None => break,
            }
        }
        let mut named = vec![false; steps.len()];
        for name in only {
            if let Some(member) = named.get_mut(index_of(name)?) {
                *member = true;
            }
        }
        let members = match (from.is_empty(), only.is_empty()) {
            (true, _) => named,
            (_, true) => behind,
            _ => behind.iter().zip(&named).map(|(left, right)| *left && *right).collect(),
        };
        let words = |flag: &str, names: &[String]| -> Vec<String> {
            names.iter().map(|name| format!("{flag} {name}")).collect()
        };
        Ok(Self { members, words: [words("--from", from), words("--only", only)].concat() })
    }

    /// Returns true if a task of the package runs.
    pub fn has(&self, index: usize) -> bool {
        self.members.get(index).copied().unwrap_or(true)
    }

    /// Returns the selection as the command line has it.
    pub fn words(&self) -> Vec<String> {
        self.words.clone()
    }
}
