//! Events of `tracing` as lines of the server's log.

use std::io::{self, Write};

use databases::log;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

use super::LogFormat;
use super::json_events::JsonEvents;

/// The prefix of this project's crates; the events of others are left out.
const OWN: &str = "bulkwire";

/// Has events of this level and of graver ones written. A server within another program leaves that to it.
pub(super) fn subscribe(level: LevelFilter, format: LogFormat) {
    if level == LevelFilter::OFF {
        return;
    }
    let own = Targets::new().with_target(OWN, level);
    let registry = tracing_subscriber::registry();
    // Somebody in this process may have subscribed before: then these events are theirs.
    let _ = match format {
        LogFormat::Text => {
            let lines = fmt::layer().with_ansi(false).with_writer(|| Line);
            tracing::subscriber::set_global_default(registry.with(lines.with_filter(own)))
        }
        LogFormat::Json => {
            tracing::subscriber::set_global_default(registry.with(JsonEvents.with_filter(own)))
        }
    };
}

/// Takes one event at a time, and never waits for its reader.
struct Line;

impl Write for Line {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        log::foreign_line(String::from_utf8_lossy(event).trim_end());
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
