//! The plan, the exact command, and the package.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use copy::{CopyError, CopyWatch, Spec, TableOutcome};
use load::Interruption;

use super::answer::{App, page, refuse, to, waiting, waiting_for};
use super::shell::Shell;
use crate::draft::{Step, shell_line};
use crate::form::Form;
use crate::wizard::{Errors, Wizard};

/// The longest time of a plan. The types of a large text file need a reading of all its rows.
const PLAN_LIMIT: Duration = Duration::from_secs(300);

#[derive(Template)]
#[template(path = "review.html")]
struct ReviewPage {
    shell: Shell,
    command: String,
    package: String,
    file: String,
    variables: Vec<String>,
}

/// The plans or the results of copies.
#[derive(Template, Default)]
#[template(path = "plan.html")]
pub(super) struct PlanFragment {
    pub(super) tables: Vec<PlannedTable>,
    failure: Option<String>,
}

/// The plan of one table's copy.
pub(super) struct PlannedTable {
    pub(super) name: String,
    pub(super) created_by: Option<String>,
    pub(super) choices: Vec<(String, String, String)>,
    pub(super) failure: Option<String>,
    pub(super) hint: Option<&'static str>,
}

pub(super) fn routes() -> Router<Arc<Wizard>> {
    Router::new()
        .route("/review", get(shown).post(sent))
        .route("/review/plan", get(plan))
        .route("/review/package", get(package))
}

async fn shown(State(wizard): App) -> Response {
    if let Some(obstacle) = super::answer::obstacle(&wizard, Step::Review) {
        return obstacle;
    }
    let mut state = wizard.state();
    let draft = &state.draft;
    let folder = state.folder.clone().or_else(|| std::env::current_dir().ok()).unwrap_or_default();
    let file = folder.join(format!("{}.toml", draft.package_name())).to_string_lossy().into_owned();
    let (command, package, variables) = (draft.command(), draft.package(), draft.variables());
    page(&ReviewPage { shell: Shell::of(&mut state, Step::Review), command, package, file, variables })
}

/// A look that ends when nobody waits for it any more: it may read all rows of a large text.
struct Looking(Interruption);

impl CopyWatch for Looking {
    fn is_cancelled(&self) -> bool {
        self.0.is_asked()
    }

    fn interruption(&self) -> Option<&Interruption> {
        Some(&self.0)
    }
}

/// Ends a look.
struct Ending(Interruption);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.interrupt();
    }
}

/// Shows the plan, which a dry run makes. It takes as long as the look at both ends does, and ends when the browser
/// leaves.
async fn plan(State(wizard): App) -> Response {
    let draft = wizard.draft();
    let engine = wizard.engine.clone();
    let interruption = Interruption::default();
    let _ending = Ending(interruption.clone());
    let looking = Looking(interruption);
    let look = move || {
        let spec = Spec { is_dry: true, ..draft.spec_to_run()? };
        copy::run(&spec, engine.as_ref(), &looking)
    };
    let fragment = match waiting_for(PLAN_LIMIT, look).await {
        Ok(copied) => PlanFragment { tables: copied.tables.iter().map(planned).collect(), failure: None },
        Err(error) => PlanFragment { tables: Vec::new(), failure: Some(error.to_string()) },
    };
    page(&fragment)
}

/// Describes a table's plan, of a dry run or of a copy.
pub(super) fn planned(outcome: &TableOutcome) -> PlannedTable {
    let mut table = PlannedTable {
        name: outcome.name.clone(),
        created_by: None,
        choices: Vec::new(),
        failure: None,
        hint: None,
    };
    match &outcome.result {
        Some(Ok(report)) => {
            table.created_by.clone_from(&report.created_by);
            let choices = report.plan.iter();
            table.choices = choices
                .map(|choice| (choice.setting.to_owned(), choice.value.clone(), choice.reason.clone()))
                .collect();
        }
        Some(Err(failed)) => {
            table.failure = Some(failed.error.to_string());
            table.hint = copy::hints::of_copy(&failed.error);
        }
        None => {}
    }
    table
}

/// Offers the package as a file to download.
async fn package(State(wizard): App) -> Response {
    let draft = wizard.draft();
    let name = format!("attachment; filename=\"{}.toml\"", draft.package_name());
    let headers = [
        (header::CONTENT_TYPE, "application/toml; charset=utf-8".to_owned()),
        (header::CONTENT_DISPOSITION, name),
    ];
    (headers, draft.package()).into_response()
}

async fn sent(State(wizard): App, body: Bytes) -> Response {
    let form = Form::parse(&body);
    wizard.state().errors.remove(&Step::Review);
    if form.find("do") == Some("run") {
        return super::run::start(&wizard);
    }
    let (text, file) = (wizard.draft().package(), PathBuf::from(form.trimmed("file")));
    let replaces = form.is_ticked("replaces");
    let shown = file.display().to_string();
    let written =
        waiting(move || save(&file, &text, replaces).map_err(|error| CopyError::Usage(error.to_string())));
    match written.await {
        Ok(()) => {
            wizard.state().notices.insert(
                Step::Review,
                format!(
                    "The package is in {shown}. Run it with: bulkwire run {}",
                    shell_line(std::slice::from_ref(&shown))
                ),
            );
            to(Step::Review)
        }
        Err(error) => refuse(&wizard, Step::Review, Errors::of("file", error.to_string())),
    }
}

/// Writes the package. A file that is there stays, unless it is to be replaced.
fn save(file: &Path, text: &str, replaces: bool) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true);
    match replaces {
        true => options.create(true).truncate(true),
        false => options.create_new(true),
    };
    options.open(file)?.write_all(text.as_bytes())
}
