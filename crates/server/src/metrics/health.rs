//! The health of the server: ready, failing, or not serving.

use std::sync::{Arc, Weak};

use parking_lot::RwLock;

use crate::serving::Shared;

/// The phase of the server's life.
#[derive(Default)]
enum Phase {
    #[default]
    Recovering,
    /// The databases are open, and the scripts that come before the first client run.
    RunningScripts,
    /// Not kept alive by who looks at it: the data directory must be free when the server has ended.
    Serving(Weak<Shared>),
    Stopping,
}

/// The health of the server, as it reports it.
#[derive(Default)]
pub(crate) struct Health {
    phase: RwLock<Phase>,
}

/// An answer to the question how it is.
pub(super) enum State {
    /// Clients are served, and what they write is kept.
    Ready,
    /// Clients are not served yet, or no longer.
    NotServing(&'static str),
    /// Some databases cannot be written to: their names, and why.
    Failing(Vec<(String, String)>),
}

impl Health {
    /// Notes that the databases are open.
    pub fn note_open(&self) {
        *self.phase.write() = Phase::RunningScripts;
    }

    /// Clients are served.
    pub fn note_serving(&self, shared: &Arc<Shared>) {
        *self.phase.write() = Phase::Serving(Arc::downgrade(shared));
    }

    /// Notes that the server ends.
    pub fn note_stopping(&self) {
        *self.phase.write() = Phase::Stopping;
    }

    /// Returns the state that connections share, while they are served.
    pub(super) fn shared(&self) -> Option<Arc<Shared>> {
        match &*self.phase.read() {
            Phase::Serving(shared) => shared.upgrade(),
            _ => None,
        }
    }

    /// Returns the present state of the server.
    pub(super) fn state(&self) -> State {
        let shared = match &*self.phase.read() {
            Phase::Recovering => return State::NotServing("recovering"),
            Phase::RunningScripts => return State::NotServing("running init scripts"),
            Phase::Stopping => return State::NotServing("stopping"),
            Phase::Serving(shared) => shared.upgrade(),
        };
        let Some(shared) = shared else { return State::NotServing("stopping") };
        let obstacles = shared.instance.store().obstacles();
        if obstacles.is_empty() { State::Ready } else { State::Failing(obstacles) }
    }
}

impl State {
    /// Returns true if clients find a server that does its work.
    pub fn is_ready(&self) -> bool {
        matches!(self, Self::Ready)
    }

    /// Returns the name of the state, in one or a few words.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::NotServing(phase) => phase,
            Self::Failing(_) => "failing",
        }
    }

    /// Says in sentences why it is not ready.
    pub fn reasons(&self) -> Vec<String> {
        match self {
            Self::Ready => Vec::new(),
            Self::NotServing("recovering") => vec!["the databases are being opened".to_owned()],
            Self::NotServing(phase) => vec![format!("the server is {phase}")],
            Self::Failing(obstacles) => {
                let reasons = obstacles.iter();
                reasons.map(|(database, reason)| format!("database {database}: {reason}")).collect()
            }
        }
    }
}
