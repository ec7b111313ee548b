//! How a text file is read.

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;

use super::answer::{App, page, refuse, to};
use super::shell::Shell;
use crate::draft::{Quote, Step, TextChoices};
use crate::form::Form;
use crate::wizard::{Errors, Wizard};

#[derive(Template)]
#[template(path = "format.html")]
struct FormatPage {
    shell: Shell,
    text: TextChoices,
}

impl FormatPage {
    fn text_of(&self, choice: &Option<String>) -> String {
        choice.clone().unwrap_or_default()
    }

    fn quote(&self) -> String {
        match self.text.quote {
            Quote::Default => "\"".to_owned(),
            Quote::Char(quote) => quote.to_string(),
            Quote::None => String::new(),
        }
    }

    fn names(&self) -> String {
        self.text.columns.join(", ")
    }
}

pub(super) fn routes() -> Router<Arc<Wizard>> {
    Router::new().route("/format", get(shown).post(sent))
}

async fn shown(State(wizard): App) -> Response {
    if let Some(obstacle) = super::answer::obstacle(&wizard, Step::Format) {
        return obstacle;
    }
    let mut state = wizard.state();
    page(&FormatPage { shell: Shell::of(&mut state, Step::Format), text: state.draft.text.clone() })
}

async fn sent(State(wizard): App, body: Bytes) -> Response {
    let form = Form::parse(&body);
    let filled = |name: &str| Some(form.text(name)).filter(|text| !text.is_empty());
    let quote = form.text("quote");
    let mut quotes = quote.chars();
    let text = TextChoices {
        encoding: filled("encoding"),
        delimiter: filled("delimiter"),
        quote: match (quotes.next(), quotes.next()) {
            (None, _) => Quote::None,
            (Some('"'), None) => Quote::Default,
            (Some(quote), None) => Quote::Char(quote),
            (Some(_), Some(_)) => {
                return refuse(&wizard, Step::Format, Errors::of("quote", "One character quotes values."));
            }
        },
        has_header: form.is_ticked("has_header"),
        skip_lines: form.trimmed("skip_lines").parse().unwrap_or_default(),
        null_text: filled("null_text"),
        columns: form
            .text("columns")
            .split(',')
            .map(|name| name.trim().to_owned())
            .filter(|name| !name.is_empty())
            .collect(),
        ..TextChoices::default()
    };
    let mut state = wizard.state();
    state.draft.text = text;
    state.errors.remove(&Step::Format);
    let errors = state.draft.missing(Step::Format);
    drop(state);
    match errors.is_empty() {
        true => to(Step::Destination),
        false => refuse(&wizard, Step::Format, errors),
    }
}
