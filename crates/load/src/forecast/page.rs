//! The number of pages that rows take.

/// Bytes of a page.
pub(super) const PAGE_BYTES: u64 = 8192;
/// Bytes that rows and slots may take of it.
pub(super) const CAPACITY_BYTES: usize = 8096;
/// A row's slot.
pub(super) const SLOT_BYTES: usize = 2;
/// A row of a heap must have room for what stands in its place when it moves away.
pub(super) const STUB_BYTES: usize = 9;

/// Pages that were filled.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Filled {
    /// Pages; not whole if the rows are a sample.
    pub pages: f64,
    /// Bytes of rows and slots in all of them.
    pub bytes: f64,
    /// The first row of each page. For a sample of pages, only the pages of the sample are listed.
    pub firsts: Vec<usize>,
    /// Pages that were made smaller as a whole, and the bytes that they have in front of their rows for it.
    pub compressed_pages: f64,
    pub information_bytes: f64,
}

impl Filled {
    /// Scales the result to `factor` times the rows.
    pub fn times(mut self, factor: f64) -> Self {
        self.pages *= factor;
        self.bytes *= factor;
        self.compressed_pages *= factor;
        self.information_bytes *= factor;
        self
    }

    pub fn plus(mut self, other: Self) -> Self {
        self.pages += other.pages;
        self.bytes += other.bytes;
        self.compressed_pages += other.compressed_pages;
        self.information_bytes += other.information_bytes;
        self.firsts.extend(other.firsts);
        self
    }
}

/// Fills pages with rows of these lengths in their order, up to a fill factor. Each row takes `least_bytes` or more.
pub(super) fn fill(lengths: impl Iterator<Item = u16>, fill_percent: u8, least_bytes: usize) -> Filled {
    let limit = fill_limit_bytes(fill_percent);
    let mut filled = Filled::default();
    let (mut slots, mut used, mut stored) = (0, 0, 0);
    for (row, length) in lengths.enumerate() {
        let length = usize::from(length);
        let with_row = used + length.max(least_bytes) + SLOT_BYTES;
        // A page takes at least one row, whatever the fill factor.
        if slots > 0 && is_within(slots + 1, with_row, limit) {
            (slots, used) = (slots + 1, with_row);
        } else {
            filled.pages += 1.0;
            filled.firsts.push(row);
            (slots, used) = (1, length.max(least_bytes) + SLOT_BYTES);
        }
        stored += length + SLOT_BYTES;
    }
    filled.bytes = stored as f64;
    filled
}

/// Bytes of rows and slots that a page is to have at most with this fill factor.
pub(super) fn fill_limit_bytes(fill_percent: u8) -> usize {
    let free_percent = 100 - usize::from(fill_percent.clamp(1, 100));
    CAPACITY_BYTES - CAPACITY_BYTES * free_percent / 100
}

/// Returns true if a page that is to be filled up to `limit` bytes takes this many rows. The free share is left out
/// in whole rows, rounded down, as the published estimates have it ("Free_Rows_Per_Page").
fn is_within(rows: usize, bytes: usize, limit: usize) -> bool {
    let whole_rows = |share: usize| share * rows / bytes.max(1);
    bytes <= limit
        || (bytes <= CAPACITY_BYTES
            && rows + whole_rows(CAPACITY_BYTES - limit) <= whole_rows(CAPACITY_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_hold_the_rows_that_the_estimates_say() {
        for (length, percent, rows_per_page) in [(100, 100, 79), (228, 100, 35), (228, 10, 4), (9, 100, 736)]
        {
            let filled = fill([length; 10_000].into_iter(), percent, 0);
            assert_eq!(filled.pages, f64::from(10_000_u32.div_ceil(rows_per_page)), "{length} {percent}");
            assert_eq!(filled.firsts.get(1), Some(&(rows_per_page as usize)), "{length} {percent}");
        }
    }
}
