//! The report of a read by several connections, with the limit of its speed.

use std::{fmt, time::Duration};

use super::consistency::Consistency;
use crate::report::{ExportReport, bytes};

/// The result of a finished read.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadReport {
    /// Rows, bytes and times of all readers together.
    pub export: ExportReport,
    /// Readers that have read.
    pub readers: usize,
    /// Ranges.
    pub ranges: usize,
    /// Number of repeated tries.
    pub retries: u64,
    /// The consistency that all rows have.
    pub consistency: Consistency,
    /// The measurements of `auto`: number of readers, and bytes of record batches a second.
    pub trials: Vec<(usize, f64)>,
    /// The limit of the read's speed, in words.
    pub limit: String,
}

/// Less is no gain worth a word.
const GAIN: f64 = 1.1;

/// The shares of time by which the limit of a read is judged at its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shares {
    /// Part of the time in which who takes the rows was at work.
    pub(crate) sink: f64,
    /// Part of all processors' time that this process's readers used.
    pub(crate) processors: f64,
    pub(crate) has_several_ranges: bool,
    pub(crate) is_auto: bool,
}

/// Names the limit. What is not seen from here is the server or the way to it.
pub(crate) fn limit(shares: Shares, trials: &[(usize, f64)]) -> String {
    const MOST: f64 = 0.8;
    let measured = match trials {
        [.., (before, slow), (after, fast)] if fast < &(slow * GAIN) => {
            format!(" ({after} readers brought {:+.0} % against {before})", (fast / slow - 1.0) * 100.0)
        }
        _ => String::new(),
    };
    let what = match shares {
        Shares { sink, .. } if sink >= MOST => "what takes the rows",
        Shares { processors, .. } if processors >= MOST => "this machine's processors",
        Shares { has_several_ranges: false, .. } => "one connection: the rows are not split",
        Shares { is_auto: false, .. } => "the number of readers, the server, or the way to it",
        _ => "the server, or the way to it",
    };
    format!("{what}{measured}")
}

impl fmt::Display for ReadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.export)?;
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        write!(
            f,
            "{} reader{}, {} range{}, consistency: {}, tried again: {}",
            self.readers,
            plural(self.readers),
            self.ranges,
            plural(self.ranges),
            self.consistency,
            self.retries
        )?;
        if !self.trials.is_empty() {
            let shown: Vec<String> = self
                .trials
                .iter()
                .map(|(readers, speed)| format!("{readers}: {}/s", bytes(*speed)))
                .collect();
            write!(f, "\nreaders tried: {}", shown.join(", "))?;
        }
        write!(f, "\nlimit: {}", self.limit)
    }
}

/// Figures that readers add to while they work.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) rows: u64,
    pub(crate) batches: u64,
    pub(crate) bytes_on_wire: u64,
    pub(crate) wait: Duration,
    pub(crate) busy: Duration,
    pub(crate) pushing: Duration,
    pub(crate) cpu: Option<Duration>,
    pub(crate) retries: u64,
}
