//! Calls of the operating system for which the standard library has no portable function.

use std::time::Duration;

/// Returns the CPU time that the calling thread has used since it started.
#[cfg(unix)]
pub(crate) fn thread_cpu_time() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let nanoseconds = u32::try_from(time.tv_nsec).ok()?;
    Some(Duration::new(seconds, nanoseconds))
}

/// Returns `None`: CPU time is not measured on this platform.
#[cfg(not(unix))]
pub(crate) fn thread_cpu_time() -> Option<Duration> {
    None
}

/// Returns the name of this machine; empty where the platform does not tell.
#[cfg(unix)]
pub(crate) fn machine_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Returns the name of this machine; empty where the platform does not tell.
#[cfg(not(unix))]
pub(crate) fn machine_name() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}

/// CPU time that the calling thread spends from here on.
pub(crate) struct CpuWatch {
    start: Option<Duration>,
}

impl CpuWatch {
    /// Starts to measure the calling thread.
    pub(crate) fn start() -> Self {
        Self { start: thread_cpu_time() }
    }

    /// Returns the time since the start. Must be called on the same thread.
    pub(crate) fn elapsed(&self) -> Option<Duration> {
        Some(thread_cpu_time()?.saturating_sub(self.start?))
    }
}
