//! How many writers pay: writers are added while throughput rises, and taken back where it does not.

use std::time::{Duration, Instant};

/// Shortest time over which throughput is judged.
const WINDOW_MIN: Duration = Duration::from_millis(400);
/// Time after a change in which buffers fill or drain; not judged.
const SETTLING: Duration = Duration::from_millis(250);
/// Twice the writers must bring this much at least, or they are taken back.
const GAIN_MIN: f64 = 1.25;

/// Decides how many writers a load has.
#[derive(Debug)]
pub(super) struct Ramp {
    most: usize,
    wanted: usize,
    /// Throughput of the last number of writers that was kept.
    before: Option<(usize, f64)>,
    changed: Instant,
    /// When the window began, and the bytes that had been sent then.
    window: Option<(Instant, u64)>,
    settled: bool,
    steps: Vec<RampStep>,
}

/// A number of writers, and what it brought.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RampStep {
    /// When it was judged, from the start of the load.
    pub at: Duration,
    /// Writers.
    pub writers: usize,
    /// Bytes a second that they sent together.
    pub bytes_per_second: f64,
    /// Whether that many stayed.
    pub kept: bool,
}

impl Ramp {
    /// Begins with one writer, and goes up to `most`.
    pub(super) fn new(most: usize, now: Instant) -> Self {
        Self {
            most: most.max(1),
            wanted: 1,
            before: None,
            changed: now,
            window: None,
            settled: most <= 1,
            steps: Vec::new(),
        }
    }

    /// Judges the present number of writers: the number that there should be. `running` are connected and have work.
    pub(super) fn wanted(&mut self, now: Instant, started: Instant, bytes: u64, running: usize) -> usize {
        if self.settled || running < self.wanted {
            return self.wanted;
        }
        let since = now.saturating_duration_since(self.changed);
        if since < SETTLING {
            return self.wanted;
        }
        let (from, bytes_before) = *self.window.get_or_insert((now, bytes));
        let window = now.saturating_duration_since(from);
        if window < WINDOW_MIN {
            return self.wanted;
        }
        let rate = bytes.saturating_sub(bytes_before) as f64 / window.as_secs_f64();
        let needed = self.before.map_or(0.0, |(writers, rate)| {
            // Less than twice the writers, at the end of the scale, need less.
            let ratio = self.wanted as f64 / writers as f64;
            rate * (1.0 + (GAIN_MIN - 1.0) * (ratio - 1.0))
        });
        let kept = rate > 0.0 && rate >= needed;
        let at = now.saturating_duration_since(started);
        self.steps.push(RampStep { at, writers: self.wanted, bytes_per_second: rate, kept });
        match (kept, self.before) {
            (false, Some((writers, _))) => {
                (self.wanted, self.settled) = (writers, true);
            }
            (false, None) => {}
            (true, _) if self.wanted >= self.most => self.settled = true,
            (true, _) => {
                self.before = Some((self.wanted, rate));
                self.wanted = (self.wanted * 2).min(self.most);
            }
        }
        (self.changed, self.window) = (now, None);
        self.wanted
    }

    /// No more writers can be had than run.
    pub(super) fn limit(&mut self, running: usize) {
        (self.most, self.wanted, self.settled) = (running.max(1), running.max(1), true);
    }

    /// What was tried.
    pub(super) fn into_steps(self) -> Vec<RampStep> {
        self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The writers that a load settles on, where `rate` tells the bytes a second of a number of writers.
    fn settled(most: usize, rate: impl Fn(usize) -> f64) -> usize {
        let start = Instant::now();
        let mut ramp = Ramp::new(most, start);
        let mut bytes = 0.0;
        let mut writers = 1;
        for tick in 1..400_u64 {
            bytes += rate(writers) * 0.05;
            writers = ramp.wanted(start + Duration::from_millis(50 * tick), start, bytes as u64, writers);
        }
        writers
    }

    #[test]
    fn writers_are_added_while_they_pay() {
        assert_eq!(settled(16, |writers| writers as f64 * 3e6), 16);
        assert_eq!(settled(16, |writers| (writers as f64 * 3e6).min(12e6)), 4);
        assert_eq!(settled(16, |_| 300e6), 1);
        assert_eq!(settled(16, |writers| 300e6 / writers as f64), 1);
        assert_eq!(settled(1, |writers| writers as f64 * 3e6), 1);
        assert_eq!(settled(6, |writers| writers as f64 * 3e6), 6);
    }

    #[test]
    fn nothing_is_judged_before_the_writers_run() {
        let start = Instant::now();
        let mut ramp = Ramp::new(8, start);
        for tick in 1..100 {
            assert_eq!(ramp.wanted(start + Duration::from_millis(50 * tick), start, 1 << 30, 0), 1);
        }
        assert_eq!(ramp.into_steps(), []);
    }
}
