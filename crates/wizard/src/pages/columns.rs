//! The page of columns and their transformation.

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use copy::CopyError;

use super::answer::{App, page, refuse, to, waiting};
use super::shell::Shell;
use crate::browse;
use crate::draft::{ColumnChoice, ColumnChoices, Draft, Filling, Step};
use crate::form::Form;
use crate::preview::Preview;
use crate::wizard::{Errors, Wizard};

/// Types that are offered; any other can be written.
const KINDS: [&str; 18] = [
    "int",
    "bigint",
    "smallint",
    "tinyint",
    "bit",
    "decimal(18,2)",
    "money",
    "float",
    "date",
    "datetime2(0)",
    "datetime2(3)",
    "datetimeoffset",
    "time(0)",
    "nvarchar(50)",
    "nvarchar(200)",
    "nvarchar(max)",
    "varchar(50)",
    "uniqueidentifier",
];

#[derive(Template)]
#[template(path = "columns.html")]
struct ColumnsPage {
    shell: Shell,
    choices: ColumnChoices,
    kinds: [&'static str; 18],
    /// A table is made of a text file: columns without a type stay text as soon as one of them is changed.
    makes_text: bool,
}

impl ColumnsPage {
    fn last(&self) -> usize {
        self.choices.columns.len().saturating_sub(1)
    }

    fn filling(&self, column: &ColumnChoice) -> &'static str {
        match column.filling {
            Filling::Keep => "keep",
            Filling::BlankIsNull => "blank",
            Filling::Value(_) => "value",
        }
    }

    fn value(&self, column: &ColumnChoice) -> String {
        match &column.filling {
            Filling::Value(value) => value.clone(),
            _ => String::new(),
        }
    }
}

pub(super) fn routes() -> Router<Arc<Wizard>> {
    Router::new().route("/columns", get(shown).post(sent))
}

async fn shown(State(wizard): App) -> Response {
    if let Some(obstacle) = super::answer::obstacle(&wizard, Step::Columns) {
        return obstacle;
    }
    let draft = wizard.draft();
    if draft.has_several_tables() {
        return super::tables::shown(&wizard).await;
    }
    if draft.columns.made_for != draft.source_key() {
        let (looked, engine) = (draft.clone(), wizard.engine.clone());
        match waiting(move || browse::described(&looked.spec_of_source()?, &engine)).await {
            Ok(description) => {
                let mut state = wizard.state();
                let columns = browse::choices(&description);
                state.draft.columns = ColumnChoices::of_source(draft.source_key(), columns, &draft.columns);
                state.errors.remove(&Step::Columns);
            }
            Err(error) => {
                let step = if draft.has_text() { Step::Format } else { Step::Source };
                let mut state = wizard.state();
                state.errors.insert(step, Errors::of_page(error.to_string()));
                return to(if state.draft.steps().contains(&step) { step } else { Step::Source });
            }
        }
    }
    let types = super::types::known_types(&wizard);
    let mut state = wizard.state();
    let makes_table = state.draft.has_text() && state.draft.columns.targets.is_empty();
    for column in &mut state.draft.columns.columns {
        let known = types.iter().find(|(name, _)| makes_table && Some(name) == column.source.as_ref());
        column.inferred = known.map(|(_, kind)| kind.clone()).unwrap_or_default();
    }
    let lacks_types = |column: &ColumnChoice| column.source.is_some() && column.inferred.is_empty();
    let makes_text = makes_table && state.draft.columns.columns.iter().any(lacks_types);
    page(&ColumnsPage {
        shell: Shell::of(&mut state, Step::Columns),
        choices: state.draft.columns.clone(),
        kinds: KINDS,
        makes_text,
    })
}

async fn sent(State(wizard): App, body: Bytes) -> Response {
    let form = Form::parse(&body);
    if wizard.draft().has_several_tables() {
        return super::tables::sent(&wizard, &form);
    }
    if changed(&wizard, &form) {
        return to(Step::Columns);
    }
    let draft = wizard.draft();
    let mut errors = draft.missing(Step::Columns);
    if errors.is_empty() {
        errors = transformed(&wizard, draft).await;
    }
    match errors.is_empty() {
        true => to(Step::Way),
        false => refuse(&wizard, Step::Columns, errors),
    }
}

/// Takes what the form says. False if the person wants to go on.
fn changed(wizard: &Wizard, form: &Form) -> bool {
    let mut state = wizard.state();
    state.errors.remove(&Step::Columns);
    read(form, &mut state.draft.columns);
    let columns = &mut state.draft.columns.columns;
    let asked = form.find("do").unwrap_or("next");
    let (verb, number) = asked.split_once('.').unwrap_or((asked, ""));
    let number: usize = number.parse().unwrap_or(usize::MAX);
    match verb {
        "up" if number > 0 && number < columns.len() => columns.swap(number, number - 1),
        "down" if number.saturating_add(1) < columns.len() => columns.swap(number, number + 1),
        "remove" if columns.get(number).is_some_and(|column| column.source.is_none()) => {
            columns.remove(number);
        }
        "add" => {
            let name = format!("column{}", columns.len().saturating_add(1));
            columns.push(ColumnChoice { name, ..ColumnChoice::default() });
        }
        "reset" => {
            let targets = std::mem::take(&mut state.draft.columns.targets);
            state.draft.columns = ColumnChoices { targets, ..ColumnChoices::default() };
        }
        _ => {}
    }
    verb != "next"
}

/// Tries the transformation and returns its errors. Refused rows, and errors that the next page may mend, do not
/// keep the user on this page.
async fn transformed(wizard: &Arc<Wizard>, draft: Draft) -> Errors {
    if !draft.transforms() {
        return Errors::default();
    }
    let engine = wizard.engine.clone();
    match waiting(move || Preview::of(&draft.spec_of_preview()?, None, &engine)).await {
        Err(error @ CopyError::Endpoint { .. }) if error.to_string().starts_with("transformation: ") => {
            Errors::of_page(error.to_string())
        }
        _ => Errors::default(),
    }
}

/// Reads the choices of columns from the form, in the order of its rows.
pub fn read(form: &Form, choices: &mut ColumnChoices) {
    choices.condition = form.text("where");
    choices.query = form.text("query");
    let mut columns = Vec::with_capacity(choices.columns.len());
    for number in form.all("row").filter_map(|number| number.parse::<usize>().ok()) {
        let Some(before) = choices.columns.get(number) else { continue };
        let text = |name: &str| form.trimmed(&format!("{name}.{number}"));
        let mut column = before.clone();
        column.name = text("name");
        column.is_ignored = !form.is_ticked(&format!("copy.{number}")) || column.name.is_empty();
        column.kind = text("kind");
        column.expression = form.text(&format!("expression.{number}")).trim().to_owned();
        column.filling = match text("filling").as_str() {
            "blank" => Filling::BlankIsNull,
            "value" => Filling::Value(form.text(&format!("value.{number}"))),
            _ => Filling::Keep,
        };
        columns.push(column);
    }
    // A form that lacks rows is not one of ours.
    if columns.len() == choices.columns.len() {
        choices.columns = columns;
    }
}
