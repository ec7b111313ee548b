//! Source and destination: two pages of the same forms.

use askama::Template;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use copy::ListedTable;
use load::report::{bytes, grouped};

use super::answer::{App, page, refuse, to, waiting};
use super::shell::Shell;
use crate::browse::{self, Found};
use crate::draft::{Draft, End, EndKind, Side, Step, What, absolute};
use crate::form::Form;
use crate::wizard::{Errors, Listing, Wizard};

#[derive(Template)]
#[template(path = "end.html")]
struct EndPage {
    shell: Shell,
    side: Side,
    end: End,
    listing: Option<Listing>,
    databases: Vec<String>,
    /// Several tables go to this end.
    takes_several: bool,
}

impl EndPage {
    fn is_source(&self) -> bool {
        self.side == Side::Source
    }

    fn has_password(&self) -> bool {
        match self.end.kind {
            EndKind::Database => !self.end.database.password.is_empty(),
            _ => !self.end.server.password.is_empty(),
        }
    }

    fn variable(&self) -> &str {
        match self.end.kind {
            EndKind::Database => &self.end.database.password_variable,
            _ => &self.end.server.password_variable,
        }
    }

    /// Returns true if a rare option is chosen or wrong, so that the rare options are shown.
    fn has_more(&self) -> bool {
        let server = &self.end.server;
        let is_wrong = ["pasted", "encrypt", "password_variable"]
            .iter()
            .any(|name| self.shell.errors.get(name).is_some());
        is_wrong
            || !self.variable().is_empty()
            || (self.end.is_server()
                && (server.is_integrated
                    || !server.encrypt.is_empty()
                    || server.trusts_certificate
                    || !server.more.is_empty()))
    }

    fn is_kind(&self, kind: &str) -> bool {
        kind_of(kind) == Some(self.end.kind)
    }

    fn spelled(&self, table: &ListedTable) -> String {
        browse::spelled(table, self.end.kind)
    }

    fn rows(&self, table: &ListedTable) -> String {
        table.rows.map(grouped).unwrap_or_default()
    }

    fn size(&self, table: &ListedTable) -> String {
        table.bytes.map(|count| bytes(count as f64)).unwrap_or_default()
    }

    fn is_what(&self, what: &str) -> bool {
        what_of(what) == Some(self.end.what)
    }
}

pub(super) fn routes() -> Router<std::sync::Arc<Wizard>> {
    Router::new()
        .route(
            "/source",
            get(|State(wizard): App| async move { shown(&wizard, Side::Source) })
                .post(|State(wizard): App, body: Bytes| async move { sent(&wizard, Side::Source, &body).await }),
        )
        .route(
            "/destination",
            get(|State(wizard): App| async move { shown(&wizard, Side::Destination) })
                .post(|State(wizard): App, body: Bytes| async move { sent(&wizard, Side::Destination, &body).await }),
        )
}

fn step_of(side: Side) -> Step {
    match side {
        Side::Source => Step::Source,
        Side::Destination => Step::Destination,
    }
}

fn shown(wizard: &Wizard, side: Side) -> Response {
    if let Some(obstacle) = super::answer::obstacle(wizard, step_of(side)) {
        return obstacle;
    }
    let mut state = wizard.state();
    let listing = state.listing(side).cloned();
    let databases = state.databases.get(side.name()).cloned().unwrap_or_default();
    page(&EndPage {
        shell: Shell::of(&mut state, step_of(side)),
        side,
        end: state.draft.end(side).clone(),
        listing,
        databases,
        takes_several: side == Side::Destination && state.draft.has_several_tables(),
    })
}

async fn sent(wizard: &std::sync::Arc<Wizard>, side: Side, body: &Bytes) -> Response {
    let form = Form::parse(body);
    let step = step_of(side);
    let read = {
        let mut state = wizard.state();
        state.errors.remove(&step);
        read(&form, state.draft.end_mut(side))
    };
    if let Err(errors) = read {
        return refuse(wizard, step, errors);
    }
    let draft = wizard.draft();
    match form.find("do").unwrap_or("next") {
        "browse" => Redirect::to(&format!("/browse/{}", side.name())).into_response(),
        "test" | "list" => look(wizard, draft, side).await,
        _ => next(wizard, draft, side).await,
    }
}

/// Reads an end from the form.
fn read(form: &Form, end: &mut End) -> Result<(), Errors> {
    if let Some(kind) = form.find("kind").and_then(kind_of) {
        end.kind = kind;
    }
    if let Some(what) = form.find("what").and_then(what_of) {
        end.what = what;
    }
    end.file.path = absolute(&form.trimmed("path"));
    end.file.sheet = form.trimmed("sheet");
    let server = &mut end.server;
    server.host = form.trimmed("host");
    server.database = form.trimmed("database");
    server.user = form.trimmed("user");
    server.is_integrated = form.is_ticked("integrated");
    server.encrypt = form.trimmed("encrypt");
    server.trusts_certificate = form.is_ticked("trust");
    server.more = form.trimmed("more");
    end.database.address = form.trimmed("address");
    end.database.take_password_out();
    let variable = form.trimmed("password_variable");
    if !variable.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(Errors::of("password_variable", "Letters, digits and _ make the name of a variable."));
    }
    let (password, named) = match end.kind {
        EndKind::Database => (&mut end.database.password, &mut end.database.password_variable),
        _ => (&mut end.server.password, &mut end.server.password_variable),
    };
    if let Some(typed) = form.secret("password") {
        *password = typed;
    }
    // An address may have named a variable itself.
    if end.kind != EndKind::Database || !variable.is_empty() {
        *named = variable;
    }
    let before = std::mem::replace(&mut end.table, form.trimmed("table"));
    // Typed text takes precedence over an earlier pick.
    if let Some(picked) = form.find("picked").filter(|picked| !picked.is_empty() && before == end.table) {
        end.table = picked.to_owned();
    }
    end.query = form.text("query");
    let pasted = form.trimmed("pasted");
    if end.kind == EndKind::SqlServer && !pasted.is_empty() {
        end.server.read(&pasted).map_err(|error| Errors::of("pasted", error.to_string()))?;
    }
    Ok(())
}

/// Connects, and lists what is there.
async fn look(wizard: &Wizard, draft: Draft, side: Side) -> Response {
    let step = step_of(side);
    let mut errors = Errors::default();
    draft.end(side).check_address(&mut errors);
    if !errors.is_empty() {
        return refuse(wizard, step, errors);
    }
    let end = draft.end(side).clone();
    let of = end.database_address(side);
    match waiting(move || browse::connect(&end, side)).await {
        Ok(Found { said, databases, tables }) => {
            let mut state = wizard.state();
            state.notices.insert(step, said);
            state.databases.insert(side.name(), databases);
            state.listings.insert(side.name(), Listing { of, tables });
            to(step)
        }
        Err(error) => refuse(wizard, step, browse::errors_of(&error, draft.end(side).kind)),
    }
}

/// Goes on, if the end is there.
async fn next(wizard: &Wizard, draft: Draft, side: Side) -> Response {
    let step = step_of(side);
    let errors = draft.missing(step);
    if !errors.is_empty() {
        return refuse(wizard, step, errors);
    }
    let kind = draft.end(side).kind;
    let next = draft.after(step);
    let engine = wizard.engine.clone();
    let looked = waiting(move || match side {
        Side::Source => browse::look_at_source(&draft, engine),
        Side::Destination => browse::look_at_destination(&draft),
    });
    match looked.await {
        Ok(targets) => {
            match side {
                Side::Destination => wizard.state().draft.columns.targets = targets,
                Side::Source => wizard.state().draft.propose_destination(),
            }
            to(next)
        }
        Err(error) => refuse(wizard, step, browse::errors_of(&error, kind)),
    }
}

fn kind_of(text: &str) -> Option<EndKind> {
    match text {
        "file" => Some(EndKind::File),
        "server" => Some(EndKind::SqlServer),
        "database" => Some(EndKind::Database),
        _ => None,
    }
}

fn what_of(text: &str) -> Option<What> {
    match text {
        "table" => Some(What::Table),
        "tables" => Some(What::Tables),
        "query" => Some(What::Query),
        _ => None,
    }
}
