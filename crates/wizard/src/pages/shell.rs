//! The frame of every page: the steps, the errors, the confirmations.

use crate::draft::{Draft, EndKind, Side, Step, What};
use crate::wizard::{Errors, State};

/// The frame of a page.
pub struct Shell {
    /// The title.
    pub title: &'static str,
    /// The steps.
    pub steps: Vec<StepLink>,
    /// The errors of this page.
    pub errors: Errors,
    /// Something good to say.
    pub notice: Option<String>,
    /// The address of the step before.
    pub back: Option<&'static str>,
}

/// A step in the list.
pub struct StepLink {
    /// The number of the step, from 1.
    pub number: usize,
    /// The name of the step.
    pub name: &'static str,
    /// The choice that was made in it.
    pub choice: String,
    /// The address of the step; `None` if steps before it lack something.
    pub path: Option<&'static str>,
    /// True for the step that is shown.
    pub is_current: bool,
    /// True for a step that lies behind.
    pub is_done: bool,
}

impl Shell {
    /// Makes the frame of a step.
    pub fn of(state: &mut State, step: Step) -> Self {
        let draft = &state.draft;
        let steps = draft.steps();
        let back = steps.iter().rev().find(|other| **other < step).map(|step| step.path());
        let runs = state.running.is_some();
        let links = steps.into_iter().enumerate().map(|(index, other)| {
            let is_open = match other {
                Step::Run | Step::Result => runs,
                other => draft.obstacle(other).is_none(),
            };
            StepLink {
                number: index.saturating_add(1),
                name: name(other, draft),
                choice: choice(other, draft),
                path: is_open.then(|| other.path()),
                is_current: other == step,
                is_done: other < step,
            }
        });
        let steps = links.collect();
        Self {
            title: name(step, draft),
            steps,
            errors: state.errors.get(&step).cloned().unwrap_or_default(),
            notice: state.notices.remove(&step),
            back,
        }
    }
}

fn name(step: Step, draft: &Draft) -> &'static str {
    match step {
        Step::Source => "Source",
        Step::Format => "Text format",
        Step::Destination => "Destination",
        Step::Columns if draft.has_several_tables() => "Tables",
        Step::Columns => "Columns",
        Step::Way => "How",
        Step::Review => "Review",
        Step::Run => "Run",
        Step::Result => "Result",
    }
}

/// Words the choice of a step.
fn choice(step: Step, draft: &Draft) -> String {
    match step {
        Step::Source => end_choice(draft, Side::Source),
        Step::Destination => end_choice(draft, Side::Destination),
        Step::Columns if draft.has_several_tables() => match draft.tables.chosen().count() {
            0 => String::new(),
            1 => "1 table".to_owned(),
            count => format!("{count} tables"),
        },
        Step::Columns if !draft.columns.query.trim().is_empty() => "a query".to_owned(),
        Step::Columns => match (draft.columns.copied().count(), draft.columns.columns.len()) {
            (_, 0) => String::new(),
            (copied, all) if copied == all => format!("all {all}"),
            (copied, all) => format!("{copied} of {all}"),
        },
        Step::Way => draft.way.mode.clone(),
        _ => String::new(),
    }
}

fn end_choice(draft: &Draft, side: Side) -> String {
    let end = draft.end(side);
    if end.kind == EndKind::File {
        return end.file.path.trim_end_matches('/').rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
    }
    match (side, end.what) {
        (Side::Source, What::Query) => "a query".to_owned(),
        (Side::Source, What::Tables) => "several tables".to_owned(),
        _ if side == Side::Destination && draft.has_several_tables() => end.server.database.clone(),
        _ => end.table.clone(),
    }
}
