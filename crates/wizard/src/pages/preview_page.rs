//! The preview of the page of columns: what comes out, and what is refused.

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::post;
use load::report::{grouped, row_words};

use super::answer::{App, waiting};
use crate::form::Form;
use crate::preview::{Preview, PreviewRow};
use crate::wizard::Wizard;

#[derive(Template)]
#[template(path = "preview.html")]
struct PreviewView {
    found: Result<Preview, String>,
}

impl PreviewView {
    /// Words the number of rows that came out or were refused.
    fn summary(&self, preview: &Preview) -> String {
        let rows = |count: u64| format!("{} {}", grouped(count), row_words(count).0);
        let of = match preview.is_complete {
            true => format!("All {} of the source", rows(preview.read)),
            false => format!("The first {} of the source", rows(preview.read)),
        };
        let refused = match preview.refused_count {
            0 => "none is refused".to_owned(),
            1 => "1 is refused".to_owned(),
            count => format!("{} are refused", grouped(count)),
        };
        let comes = if preview.came_out == 1 { "comes" } else { "come" };
        format!("{of}: {} {comes} out, {refused}.", grouped(preview.came_out))
    }

    /// Returns the values of a row, and true for each that is a number.
    fn cells<'a>(&self, row: &'a PreviewRow, preview: &Preview) -> Vec<(Option<&'a str>, bool)> {
        let numbers = preview.columns.iter().map(|column| column.is_number);
        row.cells.iter().map(Option::as_deref).zip(numbers).collect()
    }
}

pub(super) fn routes() -> Router<Arc<Wizard>> {
    Router::new().route("/preview", post(shown))
}

async fn shown(State(wizard): App, body: Bytes) -> Response {
    let form = Form::parse(&body);
    let mut draft = wizard.draft();
    super::columns::read(&form, &mut draft.columns);
    let engine = wizard.engine.clone();
    let found = match draft.columns.is_empty_choice() {
        true => Err("No column is chosen yet: choose one at least.".to_owned()),
        false => {
            let look = move || {
                let target = draft.fills_a_table().then(|| draft.spec_to_run()).transpose()?;
                Preview::of(&draft.spec_of_preview()?, target.as_ref(), &engine)
            };
            waiting(look).await.map_err(|error| error.to_string())
        }
    };
    let view = PreviewView { found };
    Html(view.render().unwrap_or_else(|error| error.to_string())).into_response()
}
