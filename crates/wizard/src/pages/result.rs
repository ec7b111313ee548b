//! The page of the copy's result.

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use copy::{CopyError, TableOutcome};
use load::report::{bytes, grouped};

use super::answer::{App, page, to};
use super::review::{PlanFragment, planned};
use super::run::clock;
use super::shell::Shell;
use crate::draft::{EndKind, Step};
use crate::running::{Outcome, Progress, RefusedRow};
use crate::wizard::Wizard;

#[derive(Template)]
#[template(path = "result.html")]
struct ResultPage {
    shell: Shell,
    state: Ending,
    command: String,
    tables: Vec<DoneTable>,
    plans: PlanFragment,
    refused: Vec<RefusedRow>,
    refused_count: u64,
    rejects: String,
    notes: Vec<String>,
    rows: u64,
    rate: u64,
    elapsed: String,
    failure: Option<String>,
    /// Another run adds the same rows to those that are there.
    appends: bool,
}

/// The end of the copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Whole,
    RowsRefused,
    /// Every row was refused.
    NothingLoaded,
    Cancelled,
    Failed,
}

/// A table that was copied, or not.
struct DoneTable {
    name: String,
    destination: String,
    rows: u64,
    refused: u64,
    rate: u64,
    size: String,
    failure: Option<String>,
    hint: Option<&'static str>,
    notes: Vec<String>,
}

impl ResultPage {
    fn grouped(&self, number: &u64) -> String {
        grouped(*number)
    }

    fn is(&self, name: &str) -> bool {
        matches!(
            (self.state, name),
            (Ending::Whole, "whole")
                | (Ending::RowsRefused, "refused")
                | (Ending::NothingLoaded, "nothing")
                | (Ending::Cancelled, "cancelled")
                | (Ending::Failed, "failed")
        )
    }
}

pub(super) fn routes() -> Router<Arc<Wizard>> {
    Router::new().route("/result", get(shown))
}

async fn shown(State(wizard): App) -> Response {
    let mut state = wizard.state();
    let Some(running) = state.running.clone() else { return to(Step::Review) };
    let progress = running.progress();
    if !progress.has_ended {
        return to(Step::Run);
    }
    let shell = Shell::of(&mut state, Step::Result);
    let rejects = state.draft.way.rejects.clone();
    let appends = state.draft.destination.kind != EndKind::File
        && matches!(state.draft.way.mode.as_str(), "" | "append")
        && !state.draft.way.resumes;
    drop(state);
    let found = running.with_outcome(|outcome| looked_at(outcome, &progress));
    let rows = found.tables.iter().map(|table| table.rows).sum::<u64>();
    let seconds = progress.elapsed.as_secs_f64();
    page(&ResultPage {
        shell,
        state: found.state,
        command: running.command.clone(),
        tables: found.tables,
        plans: found.plans,
        refused: running.refused_rows(),
        refused_count: progress.refused,
        rejects,
        notes: running.notes(),
        rows,
        rate: if seconds > 0.0 { (rows as f64 / seconds) as u64 } else { 0 },
        elapsed: clock(progress.elapsed),
        appends: appends && rows > 0,
        failure: found.failure,
    })
}

struct Looked {
    state: Ending,
    tables: Vec<DoneTable>,
    plans: PlanFragment,
    failure: Option<String>,
}

fn looked_at(outcome: Option<&Outcome>, progress: &Progress) -> Looked {
    let mut looked =
        Looked { state: Ending::Whole, tables: Vec::new(), plans: PlanFragment::default(), failure: None };
    match outcome {
        Some(Ok(outcomes)) => {
            looked.tables = outcomes.iter().map(done).collect();
            looked.plans.tables = outcomes
                .iter()
                .filter(|outcome| matches!(outcome.result, Some(Ok(_))))
                .map(planned)
                .collect();
            let refused = looked.tables.iter().map(|table| table.refused).sum::<u64>().max(progress.refused);
            looked.state = match looked.tables.iter().any(|table| table.rows > 0) {
                _ if refused == 0 => Ending::Whole,
                true => Ending::RowsRefused,
                false => Ending::NothingLoaded,
            };
            if outcomes.iter().any(|outcome| !outcome.is_whole()) {
                looked.state = Ending::Failed;
            }
            let is_cancelled = |outcome: &TableOutcome| matches!(&outcome.result, Some(Err(failed)) if is_cancellation(&failed.error));
            if progress.is_cancelled && outcomes.iter().any(is_cancelled) {
                looked.state = Ending::Cancelled;
            }
        }
        Some(Err(error)) => {
            looked.state = Ending::Failed;
            looked.failure = Some(error.to_string());
        }
        None => {}
    }
    looked
}

fn is_cancellation(error: &CopyError) -> bool {
    match error {
        CopyError::Cancelled => true,
        CopyError::Stream(source) => source.downcast_ref::<CopyError>().is_some_and(is_cancellation),
        CopyError::Load { error, .. } => match &error.source {
            load::Error::Source(source) => source.downcast_ref::<CopyError>().is_some_and(is_cancellation),
            _ => false,
        },
        _ => false,
    }
}

fn done(outcome: &TableOutcome) -> DoneTable {
    let mut table = DoneTable {
        name: outcome.name.clone(),
        destination: String::new(),
        rows: 0,
        refused: 0,
        rate: 0,
        size: String::new(),
        failure: None,
        hint: None,
        notes: outcome.afterwards.clone(),
    };
    match &outcome.result {
        Some(Ok(report)) => {
            table.destination.clone_from(&report.destination);
            table.rows = report.rows_written;
            table.refused = report.refused();
            table.rate = report.rows_per_second() as u64;
            table.size = report.bytes_written.map(|count| bytes(count as f64)).unwrap_or_default();
            table.notes.extend(report.notes.iter().cloned());
            if report.rows_skipped > 0 {
                table.notes.push(format!("{} rows were there before", grouped(report.rows_skipped)));
            }
            if report.was_done {
                table.notes.push("an earlier run had copied everything".to_owned());
            }
        }
        Some(Err(failed)) => {
            table.destination.clone_from(&failed.destination);
            // Rows that are there, although the copy ended early.
            table.rows = match &failed.error {
                CopyError::Load { error, .. } => failed.rows_written.max(error.rows_committed),
                _ => failed.rows_written,
            };
            table.failure = Some(failed.error.to_string());
            table.hint = copy::hints::of_copy(&failed.error);
            table.notes.extend(failed.left.iter().cloned());
        }
        None => table.failure = Some("not begun, because another table had failed".to_owned()),
    }
    if let Some(error) = &outcome.failed_afterwards {
        table.failure = Some(error.to_string());
        table.notes.push("the rows are there".to_owned());
    }
    table
}
