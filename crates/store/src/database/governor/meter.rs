//! Usage, allowance, and samples of the last hour. It has no clock: the caller passes the time.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

use super::tier::ResourceLimits;
use crate::figures::WaitType;

/// Utilisation of 15 seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResourceSample {
    /// Time at which the 15 seconds ended.
    pub end: SystemTime,
    /// `avg_cpu_percent`: processor time, of what is allowed; 0 without a limit.
    pub processor_percent: f64,
    /// `avg_log_write_percent`: log, of what is allowed; 0 without a limit.
    pub log_write_percent: f64,
    /// `avg_memory_usage_percent`: pages in the cache, of what it holds at most, when the sample was asked for.
    pub memory_percent: f64,
    /// Bytes of log written in the 15 seconds.
    pub log_bytes: u64,
    /// Processor time used in the 15 seconds.
    pub processor_time: Duration,
    /// Value of `dtu_limit`; None if the tier has no DTUs.
    pub dtu_limit: Option<u32>,
}

impl ResourceSample {
    /// Returns the utilisation as the published tests report it: the highest of the percentages.
    pub fn dtu_percent(&self) -> f64 {
        self.processor_percent.max(self.log_write_percent)
    }
}

/// Limit that delays work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    Log,
    Processor,
}

impl Cause {
    /// Returns the type of this wait.
    pub fn wait(self) -> WaitType {
        match self {
            Self::Log => WaitType::LogRateGovernor,
            Self::Processor => WaitType::ResourceGovernorIdle,
        }
    }
}

/// Length of a sample.
pub(super) const SAMPLE: Duration = Duration::from_secs(15);
/// Samples that are kept: those of an hour.
const SAMPLES: usize = 240;
/// Seconds for which unused allowance is kept.
const BURST_SECONDS: f64 = 0.25;
/// Delays shorter than this are not waited for.
const LEAST_SECONDS: f64 = 1e-6;

#[derive(Debug)]
pub(super) struct Meter {
    limits: ResourceLimits,
    /// Bytes of log that may be written at once; negative: bytes written in advance.
    log_credit_bytes: f64,
    processor_credit_seconds: f64,
    looked_at: Duration,
    /// The sample that is open, and when it began.
    began: Duration,
    log_bytes: u64,
    processor_time: Duration,
    /// Samples of the last hour, newest last.
    samples: VecDeque<ResourceSample>,
    epoch: SystemTime,
    epoch_at: Duration,
}

impl Meter {
    pub fn new(limits: ResourceLimits, now: Duration, clock: SystemTime) -> Self {
        Self {
            limits,
            log_credit_bytes: 0.0,
            processor_credit_seconds: 0.0,
            looked_at: now,
            began: now,
            log_bytes: 0,
            processor_time: Duration::ZERO,
            samples: VecDeque::new(),
            epoch: clock,
            epoch_at: now,
        }
    }

    pub fn limits(&self) -> ResourceLimits {
        self.limits
    }

    pub fn charge_log(&mut self, bytes: u64) {
        self.log_bytes += bytes;
        self.log_credit_bytes -= bytes as f64;
    }

    pub fn charge_processor(&mut self, time: Duration) {
        self.processor_time += time;
        self.processor_credit_seconds -= time.as_secs_f64();
    }

    /// Returns the wait until usage is within the allowance, and the limit that demands it; None if no wait
    /// is needed.
    pub fn delay(&mut self, now: Duration) -> Option<(Duration, Cause)> {
        self.close_samples(now);
        let passed = now.saturating_sub(self.looked_at).as_secs_f64();
        self.looked_at = now.max(self.looked_at);
        let pay = |credit: &mut f64, rate: f64| {
            *credit = (*credit + rate * passed).min(rate * BURST_SECONDS);
            if *credit < 0.0 { -*credit / rate } else { 0.0 }
        };
        let log_seconds = match self.limits.log_bytes_per_second {
            Some(rate) => pay(&mut self.log_credit_bytes, rate.max(1) as f64),
            None => 0.0,
        };
        let processor_seconds = match self.limits.processors {
            Some(rate) => pay(&mut self.processor_credit_seconds, rate.max(0.001)),
            None => 0.0,
        };
        let cause = if log_seconds >= processor_seconds { Cause::Log } else { Cause::Processor };
        let seconds = log_seconds.max(processor_seconds);
        // A shorter time cannot be slept, and may come from rounding.
        (seconds >= LEAST_SECONDS).then(|| (Duration::try_from_secs_f64(seconds).unwrap_or(SAMPLE), cause))
    }

    /// Returns the complete samples, newest first.
    pub fn samples(&mut self, now: Duration, memory_percent: f64) -> Vec<ResourceSample> {
        self.close_samples(now);
        self.samples.iter().rev().map(|sample| ResourceSample { memory_percent, ..*sample }).collect()
    }

    fn close_samples(&mut self, now: Duration) {
        // After a long pause only the samples of the last hour are made up for.
        let longest = SAMPLE * SAMPLES as u32;
        if now.saturating_sub(self.began) > longest * 2 {
            self.samples.clear();
            (self.log_bytes, self.processor_time) = (0, Duration::ZERO);
            self.began += SAMPLE
                * u32::try_from((now - self.began - longest).as_secs() / SAMPLE.as_secs()).unwrap_or(0);
        }
        while now.saturating_sub(self.began) >= SAMPLE {
            self.began += SAMPLE;
            let share = |used: f64, rate: f64| 100.0 * used / (rate * SAMPLE.as_secs_f64());
            let log_bytes = std::mem::take(&mut self.log_bytes);
            let processor_time = std::mem::take(&mut self.processor_time);
            let log_rate = self.limits.log_bytes_per_second;
            self.samples.push_back(ResourceSample {
                end: self.epoch + self.began.saturating_sub(self.epoch_at),
                processor_percent: self
                    .limits
                    .processors
                    .map_or(0.0, |rate| share(processor_time.as_secs_f64(), rate)),
                log_write_percent: log_rate.map_or(0.0, |rate| share(log_bytes as f64, rate as f64)),
                memory_percent: 0.0,
                log_bytes,
                processor_time,
                dtu_limit: self.limits.dtu,
            });
            if self.samples.len() > SAMPLES {
                self.samples.pop_front();
            }
        }
    }
}
