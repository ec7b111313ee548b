//! How much memory there is, and how sizes are written.

use std::fs;
use std::path::{Path, PathBuf};

/// The part of the machine's memory that a server takes if it is told nothing: one half.
const SHARE: u64 = 2;
/// Where the memory of the machine cannot be found out.
const UNKNOWN_MACHINE_BYTES: u64 = 8 << 30;

/// What a server may use if it is told nothing: half of the machine's memory, or of what its control groups allow.
pub(crate) fn default_limit() -> u64 {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total_of(&text));
    let machine = machine.unwrap_or(UNKNOWN_MACHINE_BYTES);
    let group = group_limit(Path::new("/sys/fs/cgroup")).unwrap_or(u64::MAX);
    machine.min(group) / SHARE
}

/// `MemTotal` of /proc/meminfo, which is in KiB.
fn total_of(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The least limit of the process's control group and those around it; None if there is none.
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

/// A size such as `512MB`, `2GiB` or `1000000`; units are powers of 1024. Errors: a sentence for whoever wrote it.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
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
}
