//! Finds the number of writers: adds writers while throughput rises, and removes them when it does not.

use std::time::Duration;

use super::state::Pace;

/// Chunks of each writer by which its pace is judged, on average.
const CHUNKS_JUDGED: usize = 1;
/// A single writer shows its pace by so many.
const CHUNKS_MIN: usize = 3;
/// The factor by which the number of writers grows at first; half of it if that does not pay.
const STRIDE: usize = 4;
/// Twice the writers must bring this much at least, or they are taken back.
const GAIN_MIN: f64 = 1.25;

/// Decides how many writers a load has.
#[derive(Debug)]
pub(crate) struct Ramp {
    most: usize,
    wanted: usize,
    /// Throughput of the last number of writers that was kept.
    before: Option<(usize, f64)>,
    settled: bool,
    steps: Vec<RampStep>,
}

/// A number of writers that was tried, and its throughput.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RampStep {
    /// The time of the judgement, from the start of the load.
    pub at: Duration,
    /// Writers.
    pub writers: usize,
    /// Bytes a second that they sent together.
    pub bytes_per_second: f64,
    /// True if the number of writers was kept.
    pub kept: bool,
}

impl Ramp {
    /// Begins with one writer, and goes up to `most`.
    pub(crate) fn new(most: usize) -> Self {
        Self { most: most.max(1), wanted: 1, before: None, settled: most <= 1, steps: Vec::new() }
    }

    /// Judges the present number of writers by their pace, `at` this time of the load: the number that there should be.
    pub(crate) fn wanted(&mut self, at: Duration, pace: Pace) -> usize {
        if self.settled || pace.chunks < (self.wanted * CHUNKS_JUDGED).max(CHUNKS_MIN) || pace.busy.is_zero()
        {
            return self.wanted;
        }
        let rate = self.wanted as f64 * pace.bytes as f64 / pace.busy.as_secs_f64();
        let needed = self.before.map_or(0.0, |(writers, rate)| {
            // Less than twice the writers, at the end of the scale, need less.
            let ratio = self.wanted as f64 / writers as f64;
            rate * (1.0 + (GAIN_MIN - 1.0) * (ratio - 1.0))
        });
        let kept = rate >= needed;
        self.steps.push(RampStep { at, writers: self.wanted, bytes_per_second: rate, kept });
        match (kept, self.before) {
            // Fewer may pay all the same.
            (false, Some((writers, _))) if self.wanted > 2 * writers => self.wanted = 2 * writers,
            (false, Some((writers, _))) => (self.wanted, self.settled) = (writers, true),
            (true, Some((writers, _))) if self.wanted < STRIDE * writers => self.settled = true,
            _ if self.wanted >= self.most => self.settled = true,
            _ => {
                self.before = Some((self.wanted, rate));
                self.wanted = (self.wanted * STRIDE).min(self.most);
            }
        }
        self.wanted
    }

    /// Limits the writers to the running ones, since no more can be had.
    pub(super) fn limit(&mut self, running: usize) {
        (self.most, self.wanted, self.settled) = (running.max(1), running.max(1), true);
    }

    /// Returns true if the number of writers no longer changes.
    pub(crate) fn is_settled(&self) -> bool {
        self.settled
    }

    /// Returns the steps that were tried.
    pub(crate) fn steps(&self) -> &[RampStep] {
        &self.steps
    }

    pub(super) fn into_steps(self) -> Vec<RampStep> {
        self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The writers that a load settles on, where `rate` gives the bytes a second of a number of writers.
    fn settled(most: usize, rate: impl Fn(usize) -> f64) -> usize {
        let mut ramp = Ramp::new(most);
        let mut writers = 1;
        for chunks in 1..200 {
            let busy = Duration::from_secs_f64(1e6 * writers as f64 / rate(writers) * chunks as f64);
            let pace = Pace { chunks, bytes: 1_000_000 * chunks as u64, busy, ..Pace::default() };
            writers = ramp.wanted(Duration::ZERO, pace);
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
        assert_eq!(settled(16, |writers| (writers as f64 * 3e6).min(5e6)), 2);
        assert_eq!(settled(16, |writers| (writers as f64 * 3e6).min(20e6)), 8);
    }

    #[test]
    fn nothing_is_judged_before_every_writer_has_shown_its_pace() {
        let mut ramp = Ramp::new(8);
        let pace = Pace { chunks: 1, bytes: 1 << 20, busy: Duration::from_secs(1), ..Pace::default() };
        assert_eq!(ramp.wanted(Duration::ZERO, pace), 1);
        assert_eq!(ramp.into_steps(), []);
    }
}
