//! A translation under way: what all parts of a package share.

use crate::check::tasks::NOT_TRANSLATED;
use crate::dtsx::connection_managers::Managers;
use crate::dtsx::written::{Table, Toml};

/// A translation under way.
pub struct Flow<'a> {
    /// The package's connection managers.
    pub managers: &'a Managers,
    /// The parts that could not be translated.
    pub left_out: Vec<String>,
    /// Names of loops, which are no variables.
    pub loops: Vec<String>,
    /// Tasks so far.
    pub tasks: usize,
}

impl Flow<'_> {
    /// Makes a task that fails until somebody writes its work, so that no task is dropped silently.
    pub fn placeholder(&mut self, title: &str, kind: &str, task: &mut Table) {
        let kind = kind.split(',').next().unwrap_or(kind);
        self.left_out
            .push(format!("task {title:?} ({kind}); a program that does not exist stands in its place"));
        task.keys = vec![
            ("type".to_owned(), Toml::text("program")),
            ("command".to_owned(), Toml::List(vec![Toml::text(NOT_TRANSLATED), Toml::literal(title)])),
        ];
    }
}
