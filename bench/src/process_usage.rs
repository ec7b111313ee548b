//! CPU time and peak memory of a process, from the operating system's own accounts.

use std::time::Duration;

/// CPU time and memory that a process has used so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// User and system CPU time.
    pub cpu: Duration,
    /// Largest resident set so far, in bytes.
    pub peak_memory_bytes: u64,
}

/// Reads the usage of process `pid`; `None` where the platform keeps no such account (anything but Linux).
pub fn of_process(pid: u32) -> Option<Usage> {
    read_proc(&format!("/proc/{pid}"))
}

/// Reads the usage of this process.
pub fn of_self() -> Option<Usage> {
    read_proc("/proc/self")
}

/// Reads the CPU time of all processes that this one has started and waited for.
pub fn of_children() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    cpu(&stat, 13)
}

/// Linux counts CPU time in hundredths of a second for user space (`USER_HZ`).
const TICKS_PER_SECOND: u64 = 100;

fn read_proc(folder: &str) -> Option<Usage> {
    let stat = std::fs::read_to_string(format!("{folder}/stat")).ok()?;
    let status = std::fs::read_to_string(format!("{folder}/status")).ok()?;
    let peak_kib: u64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?
        .trim()
        .strip_suffix("kB")?
        .trim()
        .parse()
        .ok()?;
    Some(Usage { cpu: cpu(&stat, 11)?, peak_memory_bytes: peak_kib * 1024 })
}

/// Reads user and system time, which stand in two fields from `first` on, counted behind the program's name.
fn cpu(stat: &str, first: usize) -> Option<Duration> {
    // The second field is the program's name in parentheses and may hold blanks.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(first);
    let ticks: u64 = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND))
}
