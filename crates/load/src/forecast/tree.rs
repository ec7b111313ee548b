//! Levels above leaves.

use super::page::{CAPACITY_BYTES, SLOT_BYTES, fill};

/// The bytes that the log takes for a row besides its own, including the record's length in its block.
pub(super) const ROW_RECORD_BYTES: usize = 50;
/// The bytes that the log takes for a whole page besides its rows and slots.
pub(super) const PAGE_RECORD_BYTES: usize = 108;

/// Pages above the leaves, and the bytes of the root's entries.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Upper {
    pub pages: f64,
    /// Bytes of entries and slots in all of them.
    pub bytes: f64,
    /// The bytes of the root page.
    pub root_bytes: f64,
}

/// Returns the levels above a number of leaves; `entries` are lengths of entries that lead to some of them, in their
/// order.
pub(super) fn upper_levels(leaves: f64, entries: &[u16]) -> Upper {
    let mut upper = Upper::default();
    if leaves <= 1.0 || entries.is_empty() {
        return upper;
    }
    let mean = entries.iter().map(|length| f64::from(*length)).sum::<f64>() / entries.len() as f64;
    let exact = entries.len() as f64 == leaves.round();
    let mut entries = entries.to_vec();
    let mut level = leaves.round();
    while level > 1.0 {
        let pages = match exact {
            true => {
                let filled = fill(entries.iter().copied(), 100, 0);
                upper.root_bytes = filled.bytes;
                entries = filled.firsts.iter().filter_map(|first| entries.get(*first).copied()).collect();
                filled.pages
            }
            false => {
                let per_page = (CAPACITY_BYTES as f64 / (mean + SLOT_BYTES as f64)).floor().max(2.0);
                upper.root_bytes = level * (mean + SLOT_BYTES as f64);
                (level / per_page).ceil()
            }
        };
        upper.pages += pages;
        upper.bytes += upper.root_bytes;
        if pages >= level {
            break;
        }
        level = pages;
    }
    upper
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upper_levels_follow_the_estimates() {
        // 11 bytes and a slot: 622 entries a page.
        let upper = upper_levels(10_000.0, &[11; 4]);
        assert_eq!(upper.pages, 18.0);
        assert_eq!(upper_levels(1.0, &[11]).pages, 0.0);
        assert_eq!(
            upper_levels(346.0, &[11; 346]),
            Upper { pages: 1.0, bytes: 4_498.0, root_bytes: 4_498.0 }
        );
    }
}
