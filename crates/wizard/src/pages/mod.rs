//! The pages: one file a step. A form is read into the draft, checked, and answered with a redirect.

mod answer;
mod browse_page;
mod columns;
mod end;
mod format;
mod look;
mod preview_page;
mod result;
mod review;
mod run;
mod shell;
mod tables;
mod types;
mod way;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;

use answer::App;

use crate::draft::Step;
use crate::wizard::Wizard;

/// Returns the routes of all pages.
pub fn routes(wizard: Arc<Wizard>) -> Router {
    Router::new()
        .route("/", get(first))
        .merge(end::routes())
        .merge(browse_page::routes())
        .merge(types::routes())
        .merge(preview_page::routes())
        .merge(format::routes())
        .merge(columns::routes())
        .merge(way::routes())
        .merge(review::routes())
        .merge(run::routes())
        .merge(result::routes())
        .fallback(missing)
        .layer(from_fn_with_state(Arc::clone(&wizard), note))
        .with_state(wizard)
}

async fn first(State(wizard): App) -> Redirect {
    let runs = wizard.state().running.as_ref().is_some_and(|running| !running.has_ended());
    Redirect::to(if runs { Step::Run.path() } else { Step::Source.path() })
}

async fn missing() -> impl IntoResponse {
    (StatusCode::NOT_FOUND, "There is no such page.")
}

async fn note(State(wizard): App, request: Request, next: Next) -> Response {
    wizard.note_request();
    next.run(request).await
}
