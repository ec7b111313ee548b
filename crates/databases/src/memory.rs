//! The server's memory: its size, its division, and the store's part of the budget.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use query::memory::{MemoryBudget, Reservation};
use store::MemoryQuota;

/// Memory that the program needs for itself, besides the one of statements.
const PROGRAM_BYTES: usize = 48 << 20;
/// Least that statements have, however small the limit is.
const STATEMENTS_BYTES_MIN: usize = 32 << 20;
/// Least bytes of the cache of pages.
const CACHE_BYTES_MIN: usize = 4 << 20;
/// Maximum number of bytes of the cache of pages.
const CACHE_BYTES_MAX: usize = 4 << 30;

/// Division of a server's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shares {
    /// Bytes for pages of databases on disk.
    pub cache_bytes: usize,
    /// Bytes for the rows that statements hold.
    pub statement_bytes: usize,
}

impl Shares {
    /// Computes the shares of a server that may use `limit` bytes.
    pub fn of(limit: u64) -> Shares {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let cache_bytes = (limit / 4).clamp(CACHE_BYTES_MIN, CACHE_BYTES_MAX);
        let rest = limit.saturating_sub(cache_bytes).saturating_sub(PROGRAM_BYTES);
        // Allocators keep and round: what is counted is less than what is used.
        Shares { cache_bytes, statement_bytes: (rest / 10 * 9).max(STATEMENTS_BYTES_MIN) }
    }
}

/// The budget as the quota for databases in memory.
#[derive(Debug)]
pub struct StoreQuota(pub Arc<MemoryBudget>);

impl MemoryQuota for StoreQuota {
    fn fits(&self, bytes: usize) -> bool {
        // The last of it is for statements that read, and that take rows away.
        self.0.used().checked_add(bytes).is_some_and(|used| used <= self.0.limit() / 10 * 9)
    }

    fn take(&self, bytes: usize) {
        self.0.take_anyway(bytes);
    }

    fn give_back(&self, bytes: usize) {
        self.0.give_back(bytes);
    }
}

/// The default share of the machine's memory: one half.
const SHARE: u64 = 2;
/// Size that is assumed where the memory of the machine cannot be found out.
const UNKNOWN_MACHINE_BYTES: u64 = 8 << 30;

/// Returns the default limit in bytes: half of the machine's memory, or of what its control groups allow.
pub fn default_limit() -> u64 {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total_of(&text));
    let machine = machine.unwrap_or(UNKNOWN_MACHINE_BYTES);
    let group = group_limit(Path::new("/sys/fs/cgroup")).unwrap_or(u64::MAX);
    machine.min(group) / SHARE
}

/// Reads `MemTotal` of /proc/meminfo, which is in KiB.
fn total_of(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns the least limit of the process's control group and those around it; None if there is none.
fn group_limit(root: &Path) -> Option<u64> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut limits = Vec::new();
    for line in own.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (base, file) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            names if names.split(',').any(|name| name == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let mut group: PathBuf = base.join(path.trim_start_matches('/'));
        loop {
            // The word for no limit is no number.
            limits.extend(
                fs::read_to_string(group.join(file)).ok().and_then(|text| text.trim().parse::<u64>().ok()),
            );
            if group == base || !group.pop() {
                break;
            }
        }
    }
    limits.into_iter().min()
}

/// Parses a size such as `512MB`, `2GiB` or `1000000`; units are powers of 1024.
///
/// # Errors
/// A text that names no size gives a sentence for the user.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let digits = text.find(|ch: char| !ch.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        "t" | "tb" | "tib" => 1 << 40,
        _ => return Err("units are KB, MB, GB and TB".to_owned()),
    };
    let number: u64 = number.parse().map_err(|_| "not a number of bytes".to_owned())?;
    number.checked_mul(factor).filter(|bytes| *bytes > 0).ok_or_else(|| "not a size of memory".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in
            [("1", Ok(1)), ("64kb", Ok(65_536)), ("512 MB", Ok(512 << 20)), ("2GiB", Ok(2 << 30))]
        {
            assert_eq!(parse_bytes(text), bytes, "{text}");
        }
        for text in ["", "0", "MB", "-1", "1.5GB", "9x", "99999999999TB"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_machine_tells_its_memory() {
        assert_eq!(total_of("MemTotal:       24593832 kB\nMemFree: 1 kB\n"), Some(24_593_832 * 1024));
        assert_eq!(total_of("nothing"), None);
    }

    #[test]
    fn small_limits_leave_room_for_statements() {
        assert_eq!(Shares::of(0).statement_bytes, STATEMENTS_BYTES_MIN);
        let gigabyte = Shares::of(1 << 30);
        assert_eq!(gigabyte.cache_bytes, 256 << 20);
        assert!(gigabyte.cache_bytes + gigabyte.statement_bytes < 1 << 30);
        assert_eq!(Shares::of(64 << 20).cache_bytes, 16 << 20);
    }
}
