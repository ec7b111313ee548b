//! The answers that pages share, and their waits.

use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Redirect, Response};
use copy::CopyError;

use crate::draft::Step;
use crate::wizard::{Errors, Wizard};

/// The state that every page gets.
pub type App = State<Arc<Wizard>>;

/// The longest time for which a page waits for a server or a driver.
const WAIT_LIMIT: Duration = Duration::from_secs(25);

/// Answers with a page.
pub fn page(template: &impl Template) -> Response {
    match template.render() {
        Ok(text) => Html(text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// Redirects to another step, after a form.
pub fn to(step: Step) -> Response {
    Redirect::to(step.path()).into_response()
}

/// Redirects back to the same step, to show its errors.
pub fn refuse(wizard: &Wizard, step: Step, errors: Errors) -> Response {
    wizard.state().errors.insert(step, errors);
    to(step)
}

/// Redirects to the step that must be done first, if one lacks something.
pub fn obstacle(wizard: &Wizard, step: Step) -> Option<Response> {
    let mut state = wizard.state();
    let before = state.draft.obstacle(step)?;
    let errors = state.draft.missing(before);
    state.errors.entry(before).or_insert(errors);
    Some(to(before))
}

/// Does what waits for files, servers or drivers, for a while.
///
/// # Errors
/// What the work says, or that it takes too long.
pub async fn waiting<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CopyError> + Send + 'static,
) -> Result<T, CopyError> {
    waiting_for(WAIT_LIMIT, work).await
}

/// Waits for work within another limit.
///
/// # Errors
/// What the work says, or that it takes too long.
pub async fn waiting_for<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> Result<T, CopyError> + Send + 'static,
) -> Result<T, CopyError> {
    match tokio::time::timeout(limit, tokio::task::spawn_blocking(work)).await {
        Ok(Ok(done)) => done,
        Ok(Err(_)) => Err(CopyError::Usage("an internal error: the work ended early".to_owned())),
        Err(_) => Err(CopyError::Usage(format!("no answer within {} seconds", limit.as_secs()))),
    }
}
