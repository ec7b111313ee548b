//! Time zones of Arrow timestamps.

use arrow::array::timezone::Tz;
use chrono::{DateTime, Offset, TimeZone};

/// The zone of a timestamp column.
#[derive(Debug, Clone)]
pub(crate) enum Zone {
    /// A constant offset from UTC, in seconds.
    Fixed(i32),
    /// A zone of the IANA database.
    Named(Tz),
}

impl Zone {
    /// Reads Arrow's zone string: `UTC`, `+01:00`, `Europe/Berlin`. `None` for an unknown zone.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if matches!(text, "UTC" | "Z" | "Etc/UTC" | "GMT") {
            return Some(Zone::Fixed(0));
        }
        let zone: Tz = text.parse().ok()?;
        if text.starts_with(['+', '-']) {
            return Some(Zone::Fixed(offset_seconds(&zone, 0)?));
        }
        Some(Zone::Named(zone))
    }

    /// Returns the offset from UTC, in seconds, at an instant in seconds since 1970. `None` outside chrono's
    /// calendar.
    pub(crate) fn offset_seconds(&self, unix_seconds: i64) -> Option<i32> {
        match self {
            Zone::Fixed(seconds) => Some(*seconds),
            Zone::Named(zone) => offset_seconds(zone, unix_seconds),
        }
    }
}

fn offset_seconds(zone: &Tz, unix_seconds: i64) -> Option<i32> {
    let utc = DateTime::from_timestamp(unix_seconds, 0)?.naive_utc();
    Some(zone.offset_from_utc_datetime(&utc).fix().local_minus_utc())
}
