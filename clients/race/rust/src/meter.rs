//! What a transfer costs: wall time, CPU time of the process, memory.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use crate::Failure;

/// The line that a contestant prints.
#[derive(Serialize)]
pub struct Report {
    pub rows: u64,
    pub seconds: f64,
    pub cpu_seconds: f64,
    pub peak_bytes: u64,
    pub start_bytes: u64,
    pub client: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
}

/// Started right before the first call of the transfer.
pub struct Meter {
    started: Instant,
    cpu: Duration,
    start_bytes: u64,
}

impl Meter {
    /// Starts the clocks.
    pub fn start() -> Result<Meter, Failure> {
        let start_bytes = peak_bytes()?;
        Ok(Meter { cpu: cpu_time(), started: Instant::now(), start_bytes })
    }

    /// Stops them: `client` is name and version.
    pub fn stop(self, client: String, rows: u64) -> Result<Report, Failure> {
        let seconds = self.started.elapsed().as_secs_f64();
        Ok(Report {
            rows,
            seconds,
            cpu_seconds: cpu_time().saturating_sub(self.cpu).as_secs_f64(),
            // The kernel counts pages by thread and adds up late: a later peak can read as a smaller one.
            peak_bytes: peak_bytes()?.max(self.start_bytes),
            start_bytes: self.start_bytes,
            client,
            source: None,
            checksum: None,
        })
    }
}

/// User and system time of all threads.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn peak_bytes() -> Result<u64, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kibibytes * 1024)
}
