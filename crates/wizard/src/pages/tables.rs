//! The page of several tables.

use std::sync::Arc;

use askama::Template;
use axum::response::Response;
use load::report::{bytes, grouped};

use super::answer::{page, refuse, to, waiting};
use super::shell::Shell;
use crate::browse;
use crate::draft::{ChosenTable, Side, Step, TableChoices};
use crate::form::Form;
use crate::wizard::Wizard;

/// Tables that are copied at a time unless another number is chosen, as the command has it.
const JOBS: u16 = 2;

#[derive(Template)]
#[template(path = "tables.html")]
struct TablesPage {
    shell: Shell,
    choices: TableChoices,
    is_between_servers: bool,
    takes_schema: bool,
}

impl TablesPage {
    fn rows(&self, table: &ChosenTable) -> String {
        table.rows.map(grouped).unwrap_or_default()
    }

    fn size(&self, table: &ChosenTable) -> String {
        table.bytes.map(|count| bytes(count as f64)).unwrap_or_default()
    }
}

pub(super) async fn shown(wizard: &Arc<Wizard>) -> Response {
    let draft = wizard.draft();
    let made_for = draft.source.database_address(Side::Source);
    if draft.tables.made_for != made_for {
        let source = draft.source.clone();
        match waiting(move || browse::connect(&source, Side::Source)).await {
            Ok(found) => {
                let tables = found.tables.into_iter().map(|table| ChosenTable {
                    name: table.pattern(),
                    is_view: table.is_view,
                    rows: table.rows,
                    bytes: table.bytes,
                    is_chosen: false,
                });
                let tables = tables.collect();
                wizard.state().draft.tables =
                    TableChoices { made_for, tables, jobs: JOBS, ..TableChoices::default() };
            }
            Err(error) => return refuse(wizard, Step::Source, browse::errors_of(&error, draft.source.kind)),
        }
    }
    let mut state = wizard.state();
    page(&TablesPage {
        shell: Shell::of(&mut state, Step::Columns),
        choices: state.draft.tables.clone(),
        is_between_servers: state.draft.is_between_servers(),
        takes_schema: !state.draft.destination.is_file(),
    })
}

pub(super) fn sent(wizard: &Wizard, form: &Form) -> Response {
    let mut state = wizard.state();
    state.errors.remove(&Step::Columns);
    let choices = &mut state.draft.tables;
    for table in &mut choices.tables {
        table.is_chosen = form.all("chosen").any(|name| name == table.name);
    }
    choices.to_schema = form.trimmed("to_schema");
    choices.jobs = form.trimmed("jobs").parse().unwrap_or(JOBS).clamp(1, 64);
    choices.with_keys = form.is_ticked("with_keys");
    choices.stops_at_failure = form.is_ticked("stops");
    let errors = state.draft.missing(Step::Columns);
    drop(state);
    match errors.is_empty() {
        true => to(Step::Way),
        false => refuse(wizard, Step::Columns, errors),
    }
}
