//! The files of this machine, to choose from.

use std::path::PathBuf;
use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use url::form_urlencoded;

use super::answer::{App, page, to};
use super::shell::Shell;
use crate::browse::{self, Entry};
use crate::draft::{EndKind, Side, Step};
use crate::form::Form;
use crate::wizard::Wizard;

#[derive(Template)]
#[template(path = "browse.html")]
struct BrowsePage {
    shell: Shell,
    side: Side,
    folder: String,
    /// The folders above, each with its path.
    above: Vec<(String, String)>,
    entries: Vec<Entry>,
    failure: Option<String>,
    back: &'static str,
}

impl BrowsePage {
    fn is_source(&self) -> bool {
        self.side == Side::Source
    }

    fn link(&self, path: &str) -> String {
        let query: String = form_urlencoded::byte_serialize(path.as_bytes()).collect();
        format!("/browse/{}?dir={query}", self.side.name())
    }
}

pub(super) fn routes() -> Router<Arc<Wizard>> {
    Router::new().route("/browse/{side}", get(shown).post(chosen))
}

fn side_of(text: &str) -> Option<(Side, Step)> {
    match text {
        "source" => Some((Side::Source, Step::Source)),
        "destination" => Some((Side::Destination, Step::Destination)),
        _ => None,
    }
}

async fn shown(State(wizard): App, Path(side): Path<String>, uri: Uri) -> Response {
    let Some((side, step)) = side_of(&side) else { return StatusCode::NOT_FOUND.into_response() };
    let query = uri.query().unwrap_or_default();
    let asked = form_urlencoded::parse(query.as_bytes())
        .find(|(name, _)| name == "dir")
        .map(|(_, dir)| dir.into_owned());
    let wanted = {
        let state = wizard.state();
        let typed = PathBuf::from(&state.draft.end(side).file.path);
        let beside = match typed.is_dir() {
            true => Some(typed),
            false => typed.parent().map(PathBuf::from).filter(|folder| folder.is_dir()),
        };
        asked.map(PathBuf::from).or(beside).or_else(|| state.folder.clone())
    };
    let wanted = wanted.or_else(|| std::env::current_dir().ok()).unwrap_or_else(|| PathBuf::from("/"));
    let listed = tokio::task::spawn_blocking(move || (browse::entries(&wanted), wanted)).await;
    let (folder, entries, failure) = match listed {
        Ok((Ok((folder, entries)), _)) => (folder, entries, None),
        Ok((Err(error), wanted)) => (wanted, Vec::new(), Some(error.to_string())),
        Err(_) => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    };
    let mut state = wizard.state();
    state.folder = Some(folder.clone());
    let mut above: Vec<(String, String)> = folder
        .ancestors()
        .map(|folder| {
            let name =
                folder.file_name().map_or_else(|| "/".to_owned(), |name| name.to_string_lossy().into_owned());
            (name, folder.to_string_lossy().into_owned())
        })
        .collect();
    above.reverse();
    page(&BrowsePage {
        shell: Shell::of(&mut state, step),
        side,
        folder: folder.to_string_lossy().into_owned(),
        above,
        entries,
        failure,
        back: step.path(),
    })
}

async fn chosen(State(wizard): App, Path(side): Path<String>, body: Bytes) -> Response {
    let Some((side, step)) = side_of(&side) else { return StatusCode::NOT_FOUND.into_response() };
    let form = Form::parse(&body);
    let mut path = form.text("path");
    let name = form.trimmed("name");
    if !name.is_empty() {
        path = PathBuf::from(path).join(name).to_string_lossy().into_owned();
    }
    let mut state = wizard.state();
    let end = state.draft.end_mut(side);
    end.kind = EndKind::File;
    end.file.path = path;
    state.errors.remove(&step);
    to(step)
}
