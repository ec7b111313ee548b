//! The page of writing rows, and of the treatment of bad ones.

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;

use super::answer::{App, page, refuse, to};
use super::shell::Shell;
use crate::draft::{EndKind, Step, Way, Writers, absolute};
use crate::form::Form;
use crate::wizard::Wizard;

#[derive(Template)]
#[template(path = "way.html")]
struct WayPage {
    shell: Shell,
    way: Way,
    is_server: bool,
    is_file: bool,
    /// True if the written file is delimited text.
    is_text: bool,
    several: bool,
}

impl WayPage {
    fn writers(&self) -> String {
        match self.way.writers {
            Writers::One => "1".to_owned(),
            Writers::Auto => "auto".to_owned(),
            Writers::Count(count) => count.to_string(),
        }
    }
}

pub(super) fn routes() -> Router<Arc<Wizard>> {
    Router::new().route("/how", get(shown).post(sent))
}

async fn shown(State(wizard): App) -> Response {
    if let Some(obstacle) = super::answer::obstacle(&wizard, Step::Way) {
        return obstacle;
    }
    let mut state = wizard.state();
    let draft = &state.draft;
    let destination = &draft.destination;
    let suffix = destination.file.suffix();
    let format = if draft.way.to_format.is_empty() { suffix.as_str() } else { draft.way.to_format.as_str() };
    // Several tables become Parquet files unless another format is named.
    let format = if format.is_empty() && draft.has_several_tables() { "parquet" } else { format };
    let is_text = destination.is_file() && !matches!(format, "parquet" | "arrow" | "arrows");
    let (way, is_server, is_file) =
        (draft.way.clone(), destination.is_server(), destination.kind == EndKind::File);
    let several = draft.has_several_tables();
    page(&WayPage { shell: Shell::of(&mut state, Step::Way), way, is_server, is_file, is_text, several })
}

async fn sent(State(wizard): App, body: Bytes) -> Response {
    let form = Form::parse(&body);
    let mut state = wizard.state();
    state.errors.remove(&Step::Way);
    let way = &mut state.draft.way;
    way.mode = form.trimmed("mode");
    way.key = form.trimmed("key");
    way.create = form.trimmed("create");
    way.writers = match form.trimmed("writers").as_str() {
        "" | "1" => Writers::One,
        "auto" => Writers::Auto,
        text => Writers::Count(text.parse().unwrap_or_default()),
    };
    way.batch_rows = form.trimmed("batch_rows");
    way.max_errors = form.trimmed("max_errors");
    way.rejects = absolute(&form.trimmed("rejects"));
    way.bisects = form.is_ticked("bisects");
    way.resumes = form.is_ticked("resumes");
    way.truncates_values = form.is_ticked("truncates_values");
    way.rounds_values = form.is_ticked("rounds_values");
    way.keeps_identity = form.is_ticked("keeps_identity");
    way.keeps_nulls = form.is_ticked("keeps_nulls");
    way.checks_constraints = form.is_ticked("checks_constraints");
    way.fires_triggers = form.is_ticked("fires_triggers");
    way.nests_as_json = form.is_ticked("nests_as_json");
    way.drops_time_zone = form.is_ticked("drops_time_zone");
    way.to_format = form.trimmed("to_format");
    way.to_delimiter = form.text("to_delimiter");
    way.to_encoding = form.trimmed("to_encoding");
    way.to_null_text = form.text("to_null_text");
    way.has_no_header = form.is_ticked("has_no_header");
    let errors = state.draft.missing(Step::Way);
    drop(state);
    match errors.is_empty() {
        true => to(Step::Review),
        false => refuse(&wizard, Step::Way, errors),
    }
}
