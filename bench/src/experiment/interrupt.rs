//! Ctrl-C and SIGTERM: the statement under way is cancelled and the experiment ends, so that it can drop what it made.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt, io};

use load::{CancelHandle, Client};

/// Notices signals. Clones share its state.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<State>);

#[derive(Debug, Default)]
struct State {
    asked: AtomicBool,
    next: AtomicU64,
    handles: Mutex<BTreeMap<u64, CancelHandle>>,
}

/// A signal has stopped the experiment.
#[derive(Debug, Clone, Copy)]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

/// A client whose request is cancelled by a signal, until this is dropped.
#[derive(Debug)]
pub struct Registered {
    interrupt: Interrupt,
    number: u64,
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.interrupt.handles().remove(&self.number);
    }
}

impl Interrupt {
    /// Handles SIGINT and SIGTERM. The first one ends the experiment cleanly, the second one at once.
    ///
    /// # Errors
    /// The system refuses handlers of signals.
    #[cfg(unix)]
    pub fn watch() -> io::Result<Interrupt> {
        use signal_hook::consts::{SIGINT, SIGTERM};
        let interrupt = Interrupt::default();
        let heard = interrupt.clone();
        let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for signal in signals.forever() {
                if heard.0.asked.load(Ordering::SeqCst) {
                    eprintln!("interrupted again: what the experiment made on the server stays there");
                    std::process::exit(128 + signal);
                }
                eprintln!("interrupted: cleaning up; once more ends at once");
                heard.ask();
            }
        })?;
        Ok(interrupt)
    }

    /// Does not watch for signals: other systems end the process at once, and what it made on the server
    /// stays.
    #[cfg(not(unix))]
    pub fn watch() -> io::Result<Interrupt> {
        Ok(Interrupt::default())
    }

    /// Ends the experiment as a signal does.
    pub fn ask(&self) {
        self.0.asked.store(true, Ordering::SeqCst);
        for handle in self.handles().values() {
            // A connection that is gone has nothing to cancel.
            let _ = handle.cancel();
        }
    }

    /// Returns true if a signal asks the experiment to stop.
    pub fn is_asked(&self) -> bool {
        self.0.asked.load(Ordering::SeqCst)
    }

    /// Returns [`Interrupted`] if a signal asks the experiment to stop.
    pub fn check(&self) -> Result<(), Interrupted> {
        if self.is_asked() { Err(Interrupted) } else { Ok(()) }
    }

    /// Lets a signal cancel the client's requests.
    pub fn register(&self, client: &Client) -> Registered {
        let number = self.0.next.fetch_add(1, Ordering::SeqCst);
        self.handles().insert(number, client.cancel_handle());
        Registered { interrupt: self.clone(), number }
    }

    fn handles(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, CancelHandle>> {
        self.0.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
