//! Events of `tracing` as lines on standard error.

use std::io::{self, Write};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

use crate::event_log;

/// Names the level for commands without the flag, such as bcp.
pub const LEVEL_VARIABLE: &str = "BULKWIRE_LOG";
/// The prefix of this project's crates; the events of others are left out.
const OWN: &str = "bulkwire";

/// Writes events of this level and above to standard error.
pub fn subscribe(level: LevelFilter) {
    if level == LevelFilter::OFF {
        return;
    }
    let lines = fmt::layer().with_ansi(false).with_writer(|| Line);
    let subscriber =
        tracing_subscriber::registry().with(lines.with_filter(Targets::new().with_target(OWN, level)));
    // Somebody in this process may have subscribed before: then these events are theirs.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// Takes one event at a time.
struct Line;

impl Write for Line {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        event_log::trace(String::from_utf8_lossy(event).trim_end());
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the level that the environment names; `OFF` if it names no level.
pub fn level_of_environment() -> LevelFilter {
    let named = std::env::var(LEVEL_VARIABLE).ok().and_then(|level| level.parse().ok());
    named.unwrap_or(LevelFilter::OFF)
}
