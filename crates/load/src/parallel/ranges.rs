//! Sets of rows of a source, as ranges of their numbers.

use std::ops::Range;

/// Ranges of row numbers, sorted, none empty, no two overlapping.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowRanges(Vec<Range<u64>>);

impl RowRanges {
    /// Adds the rows of a range.
    pub fn add(&mut self, added: Range<u64>) {
        if added.is_empty() {
            return;
        }
        let first = self.0.partition_point(|range| range.end < added.start);
        let last = self.0.partition_point(|range| range.start <= added.end);
        let merged = self
            .0
            .drain(first..last)
            .fold(added, |all, range| all.start.min(range.start)..all.end.max(range.end));
        self.0.insert(first, merged);
    }

    /// Returns the ranges in ascending order.
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.0
    }

    /// Writes the ranges as text: `3,7-9`.
    pub(super) fn to_text(&self) -> String {
        let ranges = self.0.iter().map(|range| match range.end - range.start {
            1 => range.start.to_string(),
            _ => format!("{}-{}", range.start, range.end - 1),
        });
        ranges.collect::<Vec<_>>().join(",")
    }

    /// Reads the text of [`to_text`](Self::to_text); `None` if it is no such text.
    pub(super) fn of_text(text: &str) -> Option<Self> {
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some(first.parse().ok()?..last.parse::<u64>().ok()?.checked_add(1)?)
        };
        text.split(',').map(range).collect()
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.0.iter().map(|range| range.end - range.start).sum()
    }

    /// Returns true if there is no row.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if `row` is in one of the ranges.
    pub fn contains(&self, row: u64) -> bool {
        self.range_at(row).is_some_and(|range| range.start <= row)
    }

    /// Returns the next row after `row` for which [`contains`](Self::contains) changes its answer; `None` if there is
    /// none.
    pub fn next_change(&self, row: u64) -> Option<u64> {
        let range = self.range_at(row)?;
        Some(if range.start <= row { range.end } else { range.start })
    }

    /// Returns the first range that ends behind `row`.
    fn range_at(&self, row: u64) -> Option<&Range<u64>> {
        self.0.get(self.0.partition_point(|range| range.end <= row))
    }
}

impl FromIterator<Range<u64>> for RowRanges {
    fn from_iter<T: IntoIterator<Item = Range<u64>>>(ranges: T) -> Self {
        let mut all = Self::default();
        ranges.into_iter().for_each(|range| all.add(range));
        all
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranges_hold_what_a_set_of_numbers_holds(added in prop::collection::vec((0_u64..60, 0_u64..9), 0..12)) {
            let ranges: RowRanges = added.iter().map(|(start, length)| *start..start + length).collect();
            let set: BTreeSet<u64> = added.iter().flat_map(|(start, length)| *start..start + length).collect();
            prop_assert_eq!(ranges.rows(), set.len() as u64);
            for row in 0..80 {
                prop_assert_eq!(ranges.contains(row), set.contains(&row));
                let change = (row + 1..200).find(|next| set.contains(next) != set.contains(&row));
                prop_assert_eq!(ranges.next_change(row), change);
            }
            prop_assert!(ranges.0.windows(2).all(|pair| pair[0].end < pair[1].start));
            if !ranges.is_empty() {
                prop_assert_eq!(RowRanges::of_text(&ranges.to_text()), Some(ranges));
            }
        }
    }

    #[test]
    fn a_text_has_the_ends_of_ranges() {
        let ranges: RowRanges = [3..4, 7..10, 11..12].into_iter().collect();
        assert_eq!(ranges.to_text(), "3,7-9,11");
        assert_eq!(RowRanges::of_text("3,x"), None);
        assert_eq!(RowRanges::of_text(&format!("1-{}", u64::MAX)), None);
        assert_eq!(
            RowRanges::of_text(&format!("1-{}", u64::MAX - 1)).map(|ranges| ranges.rows()),
            Some(u64::MAX - 1)
        );
    }
}
