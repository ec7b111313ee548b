//! Events of `tracing` as lines of the server's log.

use std::io::{self, Write};

use databases::log;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

/// What the names of this project's crates begin with; others' events are left out.
const OWN: &str = "bulkwire";

/// Has events of this level and of graver ones written. A server within another program leaves that to it.
pub(super) fn subscribe(level: LevelFilter) {
    if level == LevelFilter::OFF {
        return;
    }
    let lines = fmt::layer().with_ansi(false).with_writer(|| Line);
    let subscriber =
        tracing_subscriber::registry().with(lines.with_filter(Targets::new().with_target(OWN, level)));
    // Somebody in this process may have subscribed before: then these events are theirs.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// Takes one event at a time, and never waits for its reader.
struct Line;

impl Write for Line {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        log::line(String::from_utf8_lossy(event).trim_end().to_owned());
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
