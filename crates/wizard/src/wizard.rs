//! What the wizard's server knows: the draft, the copy that runs, and what is wrong with what was typed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use copy::{ListedTable, TransformEngine};

use crate::draft::{Draft, Side, Step};
use crate::running::Running;

/// What transforms rows, if the program has it.
pub type Engine = Option<Arc<dyn TransformEngine>>;

/// The state that all pages share. There is one for a process: the wizard serves one person.
pub struct Wizard {
    /// What transforms rows.
    pub engine: Engine,
    state: Mutex<State>,
    last_request: Mutex<Instant>,
}

/// What pages read and change.
#[derive(Default)]
pub struct State {
    /// What has been chosen.
    pub draft: Draft,
    /// What is wrong, by step. It is shown until the step is sent again.
    pub errors: BTreeMap<Step, Errors>,
    /// Something good to say on a page, once.
    pub notices: BTreeMap<Step, String>,
    /// Tables that were listed for an end, and the end that they belong to.
    pub listings: BTreeMap<&'static str, Listing>,
    /// The databases of a server, by end.
    pub databases: BTreeMap<&'static str, Vec<String>>,
    /// The copy that runs or has run.
    pub running: Option<Arc<Running>>,
    /// The folder that the file browser showed last.
    pub folder: Option<PathBuf>,
}

/// The tables of a database.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// The address that was asked, without secrets.
    pub of: String,
    /// Its tables.
    pub tables: Vec<ListedTable>,
}

/// What is wrong with what was typed, by the name of the field. The field `""` is the page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Errors(BTreeMap<String, String>);

impl Errors {
    /// An error that concerns the page as a whole.
    pub fn of_page(text: impl Into<String>) -> Self {
        Self::of("", text)
    }

    /// An error of one field.
    pub fn of(field: &str, text: impl Into<String>) -> Self {
        let mut errors = Self::default();
        errors.add(field, text);
        errors
    }

    /// Adds the error of a field; the first one stays.
    pub fn add(&mut self, field: &str, text: impl Into<String>) {
        self.0.entry(field.to_owned()).or_insert_with(|| text.into());
    }

    /// Adds the error of a field of a row.
    pub fn add_at(&mut self, field: &str, number: usize, text: impl Into<String>) {
        self.add(&format!("{field}.{number}"), text);
    }

    /// The error of a field.
    pub fn get(&self, field: &str) -> Option<&str> {
        self.0.get(field).map(String::as_str)
    }

    /// The error of a field of a row.
    pub fn at(&self, field: &str, number: &usize) -> Option<&str> {
        self.get(&format!("{field}.{number}"))
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many fields are wrong.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

impl Wizard {
    /// A wizard with nothing chosen yet.
    pub fn new(engine: Engine) -> Self {
        Self { engine, state: Mutex::default(), last_request: Mutex::new(Instant::now()) }
    }

    /// The state, for a moment: nothing that waits may happen while it is held.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What has been chosen so far.
    pub fn draft(&self) -> Draft {
        self.state().draft.clone()
    }

    /// Notes that somebody is there.
    pub fn note_request(&self) {
        *self.last_request.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// For how long nobody has asked for anything and nothing has run.
    pub fn idle(&self) -> Duration {
        if self.state().running.as_ref().is_some_and(|running| !running.has_ended()) {
            self.note_request();
        }
        self.last_request.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }
}

impl State {
    /// The tables that were listed for an end, if they are still its own.
    pub fn listing(&self, side: Side) -> Option<&Listing> {
        self.listings
            .get(side.name())
            .filter(|listing| listing.of == self.draft.end(side).database_address(side))
    }
}
