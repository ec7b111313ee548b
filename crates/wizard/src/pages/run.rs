//! The copy under way.

use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use copy::CopyError;
use futures::stream;
use load::report::grouped;
use serde_json::json;

use super::answer::{App, page, refuse, to};
use super::shell::Shell;
use crate::draft::{Draft, Step};
use crate::running::{Progress, Running};
use crate::wizard::{Errors, Wizard};

/// The interval at which a page hears of the copy.
const EVENT_EVERY: Duration = Duration::from_millis(250);

#[derive(Template)]
#[template(path = "run.html")]
struct RunPage {
    shell: Shell,
    progress: Progress,
    command: String,
}

pub(super) fn routes() -> Router<Arc<Wizard>> {
    Router::new()
        .route("/run", get(shown).post(again))
        .route("/run/events", get(events))
        .route("/run/cancel", post(cancel))
        .route("/new", post(new))
}

/// Starts the copy that has been made.
pub(super) fn start(wizard: &Arc<Wizard>) -> Response {
    if let Some(obstacle) = super::answer::obstacle(wizard, Step::Review) {
        return obstacle;
    }
    let mut state = wizard.state();
    if state.running.as_ref().is_some_and(|running| !running.has_ended()) {
        return to(Step::Run);
    }
    let running = Arc::new(Running::new(state.draft.command()));
    state.running = Some(Arc::clone(&running));
    let (draft, engine) = (state.draft.clone(), wizard.engine.clone());
    drop(state);
    tokio::spawn(async move {
        let work = Arc::clone(&running);
        let done = tokio::task::spawn_blocking(move || work.run(draft.spec_to_run(), &engine)).await;
        if done.is_err() {
            running.end(Err(CopyError::Usage("an internal error ended the copy".to_owned())));
        }
    });
    to(Step::Run)
}

async fn again(State(wizard): App) -> Response {
    start(&wizard)
}

async fn shown(State(wizard): App) -> Response {
    let mut state = wizard.state();
    let Some(running) = state.running.clone() else {
        drop(state);
        return refuse(&wizard, Step::Review, Errors::of_page("Nothing runs yet."));
    };
    let progress = running.progress();
    if progress.has_ended {
        return to(Step::Result);
    }
    page(&RunPage { shell: Shell::of(&mut state, Step::Run), progress, command: running.command.clone() })
}

async fn cancel(State(wizard): App) -> Response {
    if let Some(running) = &wizard.state().running {
        running.cancel();
    }
    to(Step::Run)
}

/// Begins another copy.
async fn new(State(wizard): App) -> Response {
    let mut state = wizard.state();
    if state.running.as_ref().is_some_and(|running| !running.has_ended()) {
        return to(Step::Run);
    }
    state.draft = Draft::beside(&state.draft);
    state.errors.clear();
    state.notices.clear();
    state.listings.clear();
    state.databases.clear();
    state.running = None;
    to(Step::Source)
}

/// Sends the progress of the copy as server-sent events, until it ends.
async fn events(State(wizard): App) -> Response {
    let running = wizard.state().running.clone();
    let events = stream::unfold(running, |running| async move {
        let running = running?;
        let progress = running.progress();
        let (event, next) = match progress.has_ended {
            true => ("end", None),
            false => {
                tokio::time::sleep(EVENT_EVERY).await;
                ("progress", Some(running))
            }
        };
        let text = format!("event: {event}\ndata: {}\n\n", data(&progress));
        Some((Ok::<_, std::io::Error>(Bytes::from(text)), next))
    });
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(events)).into_response()
}

fn data(progress: &Progress) -> serde_json::Value {
    let tables = progress.tables.iter().map(|(name, rows)| json!([name, grouped(*rows)]));
    json!({
        "rows": grouped(progress.rows),
        "rate": grouped(progress.rate),
        "refused": grouped(progress.refused),
        "committed": grouped(progress.committed),
        "elapsed": clock(progress.elapsed),
        "tables": tables.collect::<Vec<_>>(),
    })
}

/// Writes a time as minutes and seconds.
pub(super) fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds / 3600 {
        0 if seconds < 10 => format!("{:.1} s", time.as_secs_f64()),
        0 => format!("{}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}

impl RunPage {
    fn rows(&self) -> String {
        grouped(self.progress.rows)
    }

    fn refused(&self) -> String {
        grouped(self.progress.refused)
    }

    fn clock(&self) -> String {
        clock(self.progress.elapsed)
    }
}
