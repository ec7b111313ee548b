//! Finds the number of readers: adds readers while rows come faster for it.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::reader::Reading;
use crate::parallel::{ConnectionRamp, Pace};

/// The interval at which readers are observed.
const LOOK: Duration = Duration::from_millis(20);
/// The time that new readers have to connect and begin. Later, the speed is measured without the late ones.
const BEGINNING_MAX: Duration = Duration::from_secs(2);
/// The rest after all readers have begun: the first bytes come from buffers and would distort the speed.
const SETTLING: Duration = Duration::from_millis(60);
/// The time over which speed is measured.
const MEASURED: Duration = Duration::from_millis(200);
/// The pause before the next measurement, if the consumer was the limit.
const PAUSE: Duration = Duration::from_secs(1);
/// A consumer that waits for rows less than this part of the time is the limit.
const IDLE_MIN: f64 = 0.1;

/// The consumer that takes the rows of all readers in order.
pub(super) struct Consumer {
    /// Lets so many readers read ahead.
    pub(super) widen: Box<dyn Fn(usize) + Send>,
    /// Returns true while the consumer waits for rows.
    pub(super) is_idle: Box<dyn Fn() -> bool + Send>,
}

/// The measurement of one number of readers.
struct Seen {
    pace: Pace,
    /// Part of the time in which the consumer waited for rows.
    idle: f64,
}

/// Multiplies the readers while that makes the rows come faster, and takes the last ones back if it did not.
pub(super) fn add_readers(
    reading: &Reading,
    most: usize,
    consumer: Option<&Consumer>,
    trials: &Mutex<Vec<(usize, f64)>>,
) {
    // Readers that wait for a decision show no speed.
    if reading.crew.form().is_none() {
        return;
    }
    let mut ramp = ConnectionRamp::new(most);
    let mut readers = 1;
    let started = Instant::now();
    while let Some(Seen { pace, idle }) = measure(reading, readers, consumer) {
        // A consumer that is the limit of one reader gains nothing by more; it may be slow for a moment only.
        if (readers == 1 && idle < IDLE_MIN) || pace.bytes == 0 {
            if !reading.crew.watch(PAUSE) {
                return;
            }
            continue;
        }
        let wanted = ramp.wanted(started.elapsed(), pace);
        if let Some(step) = ramp.steps().last() {
            let trial = (readers, step.bytes_per_second);
            trials.lock().unwrap_or_else(PoisonError::into_inner).push(trial);
        }
        if wanted == readers {
            return;
        }
        if let Some(Consumer { widen, .. }) = consumer {
            widen(wanted);
        }
        reading.crew.allow(wanted);
        readers = wanted;
        if ramp.is_settled() {
            return;
        }
    }
}

/// Measures so many readers; `None` when the read ends before.
fn measure(reading: &Reading, readers: usize, consumer: Option<&Consumer>) -> Option<Seen> {
    let crew = &reading.crew;
    let began = Instant::now();
    loop {
        let (at_work, begun) = (crew.at_work(), crew.received().1);
        // Readers too many finish what they have, and new ones connect and get their first rows.
        let is_ready = at_work <= readers && begun >= readers;
        if is_ready || (at_work <= readers && began.elapsed() > BEGINNING_MAX) {
            break;
        }
        if !crew.watch(LOOK) {
            return None;
        }
    }
    if !crew.watch(SETTLING) {
        return None;
    }
    let (started, before) = (Instant::now(), crew.received().0);
    let (mut idle, mut looks) = (0, 0);
    while started.elapsed() < MEASURED {
        if !crew.watch(LOOK) || !crew.has_ranges() {
            return None;
        }
        looks += 1;
        idle += u32::from(consumer.is_none_or(|consumer| (consumer.is_idle)()));
    }
    let bytes = crew.received().0.saturating_sub(before);
    // The total rate of all readers counts, whatever each of them waits for.
    let busy = started.elapsed().saturating_mul(u32::try_from(readers).unwrap_or(u32::MAX));
    let pace = Pace { chunks: usize::MAX, bytes, busy, ..Pace::default() };
    Some(Seen { pace, idle: f64::from(idle) / f64::from(looks.max(1)) })
}
