//! CPU time of a thread, which the standard library does not give.

use std::time::Duration;

/// Returns the CPU time that the calling thread has used since it started; zero where the platform does not
/// give it.
#[cfg(unix)]
pub(crate) fn thread_cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Returns zero: the time is not measured on this platform.
#[cfg(not(unix))]
pub(crate) fn thread_cpu_time() -> Duration {
    Duration::ZERO
}
