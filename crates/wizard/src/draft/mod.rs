//! Everything that the pages collect.

mod columns;
mod end;
mod flag;
mod package;
mod reading;
mod spec;
mod sql;
mod tables;
mod text;
mod way;
mod words;

pub use columns::{ColumnChoice, ColumnChoices, Filling, TargetColumn};
pub use end::{DatabaseEnd, End, EndKind, FileEnd, ServerEnd, Side, What};
pub use load::config::Secret;
pub use sql::quoted;
pub use tables::{ChosenTable, TableChoices};
pub use text::{FixedWidth, Layout, Quote, Spelling, TextChoices};
pub use way::{Way, Writers};
pub use words::shell_line;

use formats::objects::is_object_url;

use crate::errors::Errors;

/// A copy that is being made.
#[derive(Debug, Clone, Default)]
pub struct Draft {
    /// The source of the rows.
    pub source: End,
    /// The format of the source's text file.
    pub text: TextChoices,
    /// The destination of the rows.
    pub destination: End,
    /// The choice of columns, and their transformation.
    pub columns: ColumnChoices,
    /// The choice of tables, if they are several.
    pub tables: TableChoices,
    /// The options of writing rows, and the treatment of bad ones.
    pub way: Way,
}

/// The steps of the wizard, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The source of the rows.
    Source,
    /// The format of a text file.
    Format,
    /// The destination of the rows.
    Destination,
    /// Columns, or tables.
    Columns,
    /// The options of writing.
    Way,
    /// The plan, the command and the package.
    Review,
    /// The copy under way.
    Run,
    /// The result of the copy.
    Result,
}

impl Draft {
    /// Begins another copy, between the servers of the one before.
    pub fn beside(before: &Self) -> Self {
        let mut next = Self::default();
        next.source.server = before.source.server.clone();
        next.destination.server = before.destination.server.clone();
        next
    }

    /// Fills what nobody has said of the destination yet: the server of the source, and a table called like its file.
    pub fn propose_destination(&mut self) {
        if self.destination.server.host.is_empty() && self.source.is_server() {
            self.destination.server = self.source.server.clone();
        }
        if self.destination.table.is_empty() && self.source.kind == EndKind::File {
            let file = self.source.file.path.rsplit(['/', '\\']).next().unwrap_or_default();
            let stem = file.split('.').next().unwrap_or_default();
            let name: String = stem.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
            name.trim_matches('_').clone_into(&mut self.destination.table);
        }
    }

    /// Returns true if several tables are copied at once.
    pub fn has_several_tables(&self) -> bool {
        self.source.what == What::Tables && self.source.kind != EndKind::File
    }

    /// Returns true if the source is a text file, so that there is a format to choose.
    pub fn has_text(&self) -> bool {
        self.source.kind == EndKind::File && self.source.file.is_text()
    }

    /// Lists the steps of this draft.
    pub fn steps(&self) -> Vec<Step> {
        let all = [
            Step::Source,
            Step::Format,
            Step::Destination,
            Step::Columns,
            Step::Way,
            Step::Review,
            Step::Run,
            Step::Result,
        ];
        all.into_iter().filter(|step| *step != Step::Format || self.has_text()).collect()
    }

    /// Returns the step behind this one.
    pub fn after(&self, step: Step) -> Step {
        self.steps().into_iter().find(|other| *other > step).unwrap_or(Step::Result)
    }

    /// Returns the errors of a step, by field. A step can be reached if all before it have none.
    pub fn missing(&self, step: Step) -> Errors {
        let mut errors = Errors::default();
        match step {
            Step::Source => self.source.check(Side::Source, false, &mut errors),
            Step::Destination => {
                self.destination.check(Side::Destination, self.has_several_tables(), &mut errors)
            }
            Step::Columns if self.has_several_tables() => self.tables.check(&mut errors),
            Step::Columns if self.has_stale_columns() => {
                errors.add("", "The source has changed: look at its columns again.");
            }
            Step::Columns => self.columns.check(&mut errors),
            Step::Way => self.way.check(&mut errors),
            Step::Format => self.text.check(&mut errors),
            Step::Review | Step::Run | Step::Result => {}
        }
        errors
    }

    /// Returns true if the choices of columns were made for another source.
    fn has_stale_columns(&self) -> bool {
        !self.columns.made_for.is_empty() && self.columns.made_for != self.source_key()
    }

    /// Finds the first step before `step` that lacks something.
    pub fn obstacle(&self, step: Step) -> Option<Step> {
        self.steps().into_iter().filter(|other| *other < step).find(|other| !self.missing(*other).is_empty())
    }
}

impl Step {
    /// Returns the path of the step's page.
    pub fn path(self) -> &'static str {
        match self {
            Self::Source => "/source",
            Self::Format => "/format",
            Self::Destination => "/destination",
            Self::Columns => "/columns",
            Self::Way => "/how",
            Self::Review => "/review",
            Self::Run => "/run",
            Self::Result => "/result",
        }
    }
}

/// Returns a path from the root: the command and the package then mean the same file wherever they run.
pub fn absolute(path: &str) -> String {
    let path = path.trim();
    let joined = match (path.strip_prefix("~/"), std::env::home_dir()) {
        _ if path.is_empty() || path == "-" || is_object_url(path) => return path.to_owned(),
        (Some(rest), Some(home)) => home.join(rest),
        _ => std::env::current_dir().unwrap_or_default().join(path),
    };
    joined.to_string_lossy().into_owned()
}

impl Draft {
    /// Returns the source or the destination.
    pub fn end(&self, side: Side) -> &End {
        match side {
            Side::Source => &self.source,
            Side::Destination => &self.destination,
        }
    }

    /// Returns the source or the destination, to change it.
    pub fn end_mut(&mut self, side: Side) -> &mut End {
        match side {
            Side::Source => &mut self.source,
            Side::Destination => &mut self.destination,
        }
    }
}
