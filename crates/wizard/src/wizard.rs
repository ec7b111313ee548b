//! The state of the wizard's server: the draft, the running copy, and the errors in typed fields.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use copy::{ListedTable, TransformEngine};

use crate::draft::{Draft, Side, Step};
pub use crate::errors::Errors;
use crate::running::Running;
use crate::source_text::SourceText;

/// The engine that transforms rows, if the program has it.
pub type Engine = Option<Arc<dyn TransformEngine>>;

/// The state that all pages share. There is one for a process: the wizard serves one person.
pub struct Wizard {
    /// The engine that transforms rows.
    pub engine: Engine,
    state: Mutex<State>,
    last_request: Mutex<Instant>,
}

/// The state that pages read and change.
#[derive(Default)]
pub struct State {
    /// The choices so far.
    pub draft: Draft,
    /// The errors by step. Each is shown until the step is sent again.
    pub errors: BTreeMap<Step, Errors>,
    /// Something good to say on a page, once.
    pub notices: BTreeMap<Step, String>,
    /// Tables that were listed for an end, and the end that they belong to.
    pub listings: BTreeMap<&'static str, Listing>,
    /// The databases of a server, by end.
    pub databases: BTreeMap<&'static str, Vec<String>>,
    /// The text file of the source.
    pub source_text: SourceText,
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
    /// The tables of the database.
    pub tables: Vec<ListedTable>,
}

impl Wizard {
    /// Makes a wizard without any choices.
    pub fn new(engine: Engine) -> Self {
        Self { engine, state: Mutex::default(), last_request: Mutex::new(Instant::now()) }
    }

    /// Locks the state for a moment: nothing that waits may happen while it is held.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the choices so far.
    pub fn draft(&self) -> Draft {
        self.state().draft.clone()
    }

    /// Notes that somebody is there.
    pub fn note_request(&self) {
        *self.last_request.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns the time since the last request or the last running copy.
    pub fn idle(&self) -> Duration {
        if self.state().running.as_ref().is_some_and(|running| !running.has_ended()) {
            self.note_request();
        }
        self.last_request.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }
}

impl State {
    /// Returns the tables that were listed for an end, if they are still its own.
    pub fn listing(&self, side: Side) -> Option<&Listing> {
        self.listings
            .get(side.name())
            .filter(|listing| listing.of == self.draft.end(side).database_address(side))
    }
}
