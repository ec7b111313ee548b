//! The state that the connections of a server share, and the part that one needs before there is any data.

mod guesses;
mod spill_directory;

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::time::SystemTime;

use databases::instance::Instance;
use databases::instance::counts::Counts;
use databases::memory::MemoryBudget;
use entra::Verifier;
use tokio::runtime::Handle;

pub(crate) use guesses::Guesses;
pub(crate) use spill_directory::SpillDirectory;

use crate::faults::Faults;
use crate::options::ServerOptions;
use crate::transport::TlsIdentity;

/// First session id of a user on a real server; lower ones are its own tasks.
pub(crate) const FIRST_SPID: u16 = 51;
/// Statements and plans are walked recursively: room for expressions of a few thousand terms. Only what is touched is memory.
pub(crate) const STACK_BYTES: usize = 32 << 20;

/// The state that a connection needs to be opened, before there is any data.
pub(crate) struct Front {
    pub options: ServerOptions,
    pub identity: Option<TlsIdentity>,
    pub guesses: Guesses,
    /// Checks access tokens, if any are taken.
    pub verifier: Option<Verifier>,
    pub faults: Option<Arc<Faults>>,
    pub next_spid: Arc<AtomicU16>,
    pub counts: Arc<Counts>,
    /// The time at which the server began.
    pub started: SystemTime,
}

/// The state that all connections of a listener share.
pub(crate) struct Shared {
    pub front: Arc<Front>,
    /// Removed when the last connection and the server have ended, while the data directory is still this server's.
    pub _spill_directory: Arc<SpillDirectory>,
    pub instance: Arc<Instance>,
    /// The memory budget of statements.
    pub memory: Arc<MemoryBudget>,
    /// The runtime of requests, apart from the threads that serve sockets.
    pub work: Handle,
    pub connections: AtomicUsize,
}

impl Deref for Shared {
    type Target = Front;

    fn deref(&self) -> &Front {
        &self.front
    }
}

impl Front {
    /// Returns the next session id: never 0, which FreeTDS takes for a missing one.
    pub fn spid(&self) -> u16 {
        let next = self.next_spid.fetch_add(1, Ordering::Relaxed);
        if next < FIRST_SPID { FIRST_SPID + next } else { next }
    }
}
