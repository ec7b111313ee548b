//! The types of the whole file, and the reasons for them.

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::get;
use copy::{CopyError, FileFormats, SourceSpec};
use load::report;

use super::answer::{App, obstacle, page, to, waiting};
use super::shell::Shell;
use crate::draft::{Layout, Step};
use crate::form::Form;
use crate::text::{Inference, InferenceState};
use crate::wizard::Wizard;

#[derive(Template)]
#[template(path = "types.html")]
struct TypesPage {
    shell: Shell,
    is_reading: bool,
    found: String,
}

#[derive(Template)]
#[template(path = "types_found.html")]
struct TypesFound {
    state: InferenceState,
    is_fixed: bool,
}

impl TypesFound {
    fn grouped(&self, number: &u64) -> String {
        report::grouped(*number)
    }

    fn sized(&self, bytes: &u64) -> String {
        report::bytes(*bytes as f64)
    }

    fn percent(&self, bytes: &u64, total: &Option<u64>) -> Option<u64> {
        let total = total.filter(|total| *total > 0)?;
        Some((u128::from(*bytes) * 100 / u128::from(total)).min(100) as u64)
    }
}

pub(super) fn routes() -> Router<Arc<Wizard>> {
    Router::new().route("/format/types", get(shown).post(sent)).route("/format/types/found", get(found))
}

/// Begins to read the source's files, if that is not done for these choices already.
///
/// # Errors
/// The choices cannot be words, or no files are there.
pub(super) async fn begin(wizard: &Wizard) -> Result<(), CopyError> {
    let draft = wizard.draft();
    let (path, key) = (draft.source.file.path.trim().to_owned(), text_key(&draft));
    let known = wizard.state().source_text.inference.clone();
    if let Some((of, inference)) = known {
        let is_whole = match inference.state() {
            InferenceState::Reading { .. } => true,
            InferenceState::Done(found) => found.is_complete,
            InferenceState::Failed(_) => false,
        };
        if of == key && is_whole {
            return Ok(());
        }
        inference.cancel();
    }
    let (files, formats) = waiting(move || {
        let formats = match draft.spec_of_untyped_source()?.source {
            SourceSpec::Files(read) => read.formats,
            _ => FileFormats::default(),
        };
        Ok((copy::files_of(&path)?, formats))
    })
    .await?;
    let inference = Inference::start(files, formats);
    wizard.state().source_text.inference = Some((key, inference));
    Ok(())
}

/// Returns the key of a reading: the words of the source, without the types of its columns.
fn text_key(draft: &crate::draft::Draft) -> String {
    draft.text_key()
}

/// Returns the reading of the source as it is chosen now.
fn inference(wizard: &Wizard) -> Option<Arc<Inference>> {
    let key = text_key(&wizard.draft());
    let (of, inference) = wizard.state().source_text.inference.clone()?;
    (of == key).then_some(inference)
}

fn fragment(wizard: &Wizard, inference: &Inference) -> String {
    let is_fixed = matches!(wizard.draft().text.layout, Layout::FixedWidth(_));
    let template = TypesFound { state: inference.state(), is_fixed };
    template.render().unwrap_or_else(|error| error.to_string())
}

async fn shown(State(wizard): App) -> Response {
    if let Some(before) = obstacle(&wizard, Step::Destination) {
        return before;
    }
    let Some(inference) = inference(&wizard) else { return to(Step::Format) };
    let found = fragment(&wizard, &inference);
    let is_reading = inference.is_reading();
    let shell = Shell::of(&mut wizard.state(), Step::Format);
    page(&TypesPage { shell, is_reading, found })
}

/// Returns the types of a delimited file's columns, if the whole file has been read for them.
pub(super) fn known_types(wizard: &Wizard) -> Vec<(String, String)> {
    if !matches!(wizard.draft().text.layout, Layout::Delimited) {
        return Vec::new();
    }
    match inference(wizard).map(|inference| inference.state()) {
        Some(InferenceState::Done(found)) => {
            found.columns.iter().map(|column| (column.name.clone(), column.sql_type.clone())).collect()
        }
        _ => Vec::new(),
    }
}

async fn found(State(wizard): App) -> Response {
    match inference(&wizard) {
        Some(inference) => Html(fragment(&wizard, &inference)).into_response(),
        None => to(Step::Format),
    }
}

async fn sent(State(wizard): App, body: Bytes) -> Response {
    let form = Form::parse(&body);
    let Some(inference) = inference(&wizard) else { return to(Step::Format) };
    let verb = form.find("do").unwrap_or("use");
    if verb == "cancel" {
        inference.cancel();
        return Redirect::to("/format/types").into_response();
    }
    let InferenceState::Done(found) = inference.state() else {
        return Redirect::to("/format/types").into_response();
    };
    let mut state = wizard.state();
    if let Layout::FixedWidth(fixed) = &mut state.draft.text.layout {
        fixed.types = match verb {
            "use" => found.columns.iter().map(|column| column.sql_type.clone()).collect(),
            _ => Vec::new(),
        };
    }
    let next = state.draft.after(Step::Format);
    drop(state);
    to(next)
}
