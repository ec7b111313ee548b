//! The resource governor limits a database to the log rate and the processor time of a service tier, and reports their use. It is
//! off unless limits are set.

mod meter;
mod tier;

pub use meter::ResourceSample;
pub use tier::{ResourceLimits, ServiceTier};

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;

use crate::figures::{Waits, session_waits};
use crate::log::Log;
use meter::{Cause, Meter};

/// Delays work whose database has used more than its share.
#[derive(Debug)]
pub(crate) struct Governor {
    on: AtomicBool,
    /// Meter, and the bytes of log written when it was last read; None without limits.
    meter: Mutex<Option<(Meter, u64)>>,
    start: Instant,
    waits: Arc<Waits>,
}

/// Sleep of a delayed worker between two looks at the allowance.
const LOOK: Duration = Duration::from_millis(20);

impl Governor {
    pub fn new(limits: Option<ResourceLimits>, waits: &Arc<Waits>) -> Self {
        let governor = Self {
            on: AtomicBool::new(false),
            meter: Mutex::default(),
            start: Instant::now(),
            waits: Arc::clone(waits),
        };
        governor.set_limits(limits, 0);
        governor
    }

    /// Limits the database from now on.
    pub fn set_limits(&self, limits: Option<ResourceLimits>, log_written_bytes: u64) {
        let now = self.start.elapsed();
        *self.meter.lock() =
            limits.map(|limits| (Meter::new(limits, now, SystemTime::now()), log_written_bytes));
        self.on.store(limits.is_some(), Ordering::Release);
    }

    /// Returns the limits of the database.
    pub fn limits(&self) -> Option<ResourceLimits> {
        self.meter.lock().as_ref().map(|(meter, _)| meter.limits())
    }

    /// Counts processor time that was spent elsewhere.
    pub fn charge_processor(&self, time: Duration) {
        if let Some((meter, _)) = &mut *self.meter.lock() {
            meter.charge_processor(time);
        }
    }

    /// Waits until usage is within the limits. First it counts what the thread has computed since the last call.
    pub fn pace(&self, log: &Log, interrupt: Option<&AtomicBool>) {
        if !self.on.load(Ordering::Acquire) {
            return;
        }
        let computed = processor::since_last_time();
        if let Some((meter, _)) = &mut *self.meter.lock() {
            meter.charge_processor(computed);
        }
        let start = Instant::now();
        let mut cause = None;
        while let Some((delay, because)) = self.delay(log.written_bytes()) {
            if cause.is_none() {
                session_waits::began(because.wait());
            }
            cause = Some(because);
            if interrupt.is_some_and(|interrupt| interrupt.load(Ordering::Acquire)) {
                break;
            }
            std::thread::sleep(delay.min(LOOK));
        }
        if let Some(cause) = cause {
            self.waits.add(cause.wait(), start.elapsed(), Duration::ZERO);
        }
    }

    fn delay(&self, log_written_bytes: u64) -> Option<(Duration, Cause)> {
        let mut meter = self.meter.lock();
        let (meter, seen) = meter.as_mut()?;
        let new = log_written_bytes.saturating_sub(*seen);
        *seen = log_written_bytes.max(*seen);
        meter.charge_log(new);
        meter.delay(self.start.elapsed())
    }

    /// Returns the utilisation of the last hour, newest first.
    pub fn samples(&self, log_written_bytes: u64, memory_percent: f64) -> Vec<ResourceSample> {
        self.delay(log_written_bytes);
        match &mut *self.meter.lock() {
            Some((meter, _)) => meter.samples(self.start.elapsed(), memory_percent),
            None => Vec::new(),
        }
    }
}

/// Processor time of the calling thread.
mod processor {
    use std::cell::Cell;
    use std::time::Duration;

    thread_local! {
        static LAST_NS: Cell<Option<u64>> = const { Cell::new(None) };
    }

    /// Returns the processor time of the thread since the last call; zero the first time, and where the
    /// system does not provide it.
    pub fn since_last_time() -> Duration {
        let Some(now) = thread_ns() else { return Duration::ZERO };
        let before = LAST_NS.replace(Some(now)).unwrap_or(now);
        Duration::from_nanos(now.saturating_sub(before))
    }

    #[cfg(target_os = "linux")]
    fn thread_ns() -> Option<u64> {
        // The first number of the file is the time on a processor in nanoseconds.
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        text.split_whitespace().next()?.parse().ok()
    }

    #[cfg(not(target_os = "linux"))]
    fn thread_ns() -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests;
