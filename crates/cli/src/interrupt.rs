//! Ctrl-C and SIGTERM: files that are half written go, and the server rolls the open batch back when the connection ends.
//!
//! SIGHUP keeps its default, so that `nohup` works.

#[cfg(unix)]
use std::{io, process, thread};

/// Exit codes of an interrupted process are this plus the signal's number, as shells have it.
#[cfg(unix)]
const SIGNAL_EXIT_BASE: i32 = 128;

/// What an interruption leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// Batches that the server has committed.
    Batches,
    /// Whatever the server has done, of which this command knows nothing.
    Unknown,
    /// Nothing.
    Nothing,
}

/// Cleans up when a signal ends the process.
#[cfg(unix)]
pub fn watch(left: Left) -> io::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            formats::remove_unfinished();
            match left {
                Left::Batches => {
                    eprintln!("error: interrupted; batches that were committed stay, nothing else does");
                }
                Left::Unknown => eprintln!("error: interrupted; statements that had ended stay in effect"),
                Left::Nothing => eprintln!("error: interrupted"),
            }
            process::exit(SIGNAL_EXIT_BASE + signal);
        }
    })?;
    Ok(())
}

/// Other systems end the process at once; a partial file may stay beside the target.
#[cfg(not(unix))]
pub fn watch(_: Left) -> std::io::Result<()> {
    Ok(())
}
