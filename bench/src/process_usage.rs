//! CPU time and peak memory of a process, from the operating system's own accounts.

use std::time::Duration;

/// What a process has used so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// User and system CPU time.
    pub cpu: Duration,
    /// Largest resident set so far, in bytes.
    pub peak_memory_bytes: u64,
}

/// Usage of process `pid`; `None` where the platform keeps no such account (anything but Linux).
pub fn of_process(pid: u32) -> Option<Usage> {
    read_proc(&format!("/proc/{pid}"))
}

/// Usage of this process.
pub fn of_self() -> Option<Usage> {
    read_proc("/proc/self")
}

/// Linux counts CPU time in hundredths of a second for user space (`USER_HZ`).
const TICKS_PER_SECOND: u64 = 100;

fn read_proc(folder: &str) -> Option<Usage> {
    let stat = std::fs::read_to_string(format!("{folder}/stat")).ok()?;
    // The second field is the program's name in parentheses and may hold blanks.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    let status = std::fs::read_to_string(format!("{folder}/status")).ok()?;
    let peak_kib: u64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?
        .trim()
        .strip_suffix("kB")?
        .trim()
        .parse()
        .ok()?;
    Some(Usage {
        cpu: Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND),
        peak_memory_bytes: peak_kib * 1024,
    })
}
