//! Pages that are compressed as a whole: what rows of the sample really share, page by page. Of many pages, runs of
//! neighbours are compressed, evenly spread over the rows.

use std::collections::{HashMap, HashSet};

use super::{
    page::{CAPACITY_BYTES, Filled, SLOT_BYTES},
    record::{compressed_fixed_bytes, long_header_bytes},
    sample::Values,
    shrunk::{SHORT_LIMIT_BYTES, cost},
};

/// Pages of a run, and runs.
const RUN_PAGES: usize = 16;
const RUNS_MAX: usize = 24;
/// Entries of a dictionary at most.
const DICTIONARY_LIMIT: usize = 256;
/// Values that are looked at to choose what others begin with, and those of them that may be chosen.
const ANCHOR_SAMPLES: usize = 16;
const ANCHOR_CANDIDATES: usize = 4;
/// A column with so few different values is coded by them, if each stands for so many rows.
const FEW_VALUES: usize = 64;
const FEW_ROWS_EACH: usize = 4;
/// A column in which so many pages in a row had no anchor gets a new chance every so many pages.
const MISSES_LIMIT: usize = 4;
const RETRY_PAGES: usize = 16;

/// Rows in the order in which they are stored.
pub(super) struct PageRows<'a> {
    /// The values of the rows, in the form of ROW compression.
    pub columns: &'a [Values],
    /// The indexes of the rows in the sample.
    pub order: &'a [u32],
    /// Bytes of each as ROW compression has it, in that order.
    pub lengths: &'a [u16],
    /// Bytes of a page that may be used, and that each row takes at least.
    pub limit_bytes: usize,
    pub least_bytes: usize,
    /// A page ends after so many pages, full or not: the addresses of its rows are wanted. 0: none does.
    pub block_pages: usize,
}

/// The findings about a column on earlier pages. They spare the search for an anchor where it rarely pays.
#[derive(Debug, Default, Clone, Copy)]
struct ColumnHistory {
    misses: usize,
    has_few: bool,
}

/// The values and prefixes that the rows of a page share.
struct PagePlan {
    anchors: Vec<Option<Vec<u8>>>,
    /// Values that are on the page more than once, and worth it.
    entries: HashSet<Vec<u8>>,
    /// Bytes of the information record; 0: the rows share nothing.
    information_bytes: usize,
}

/// Rows of a page, and the bytes that they take with their slots.
#[derive(Default, Clone, Copy)]
struct Fit {
    rows: usize,
    bytes: usize,
    /// The bytes in front of the rows, out of `bytes`.
    information_bytes: usize,
}

/// Fills pages with the rows, as far as they are compressed.
pub(super) fn fill(rows: &PageRows<'_>) -> Filled {
    let total = rows.lengths.len();
    let mut filled = Filled::default();
    let mut history = vec![ColumnHistory::default(); rows.columns.len()];
    let (mut at, mut expected, mut pages, mut sampled_rows) = (0, 0, 0_usize, 0_usize);
    while at < total {
        let (fit, is_compressed) = rows.next_page(at, &mut expected, pages, &mut history);
        filled.firsts.push(at);
        filled.bytes += fit.bytes as f64;
        filled.compressed_pages += f64::from(u8::from(is_compressed));
        filled.information_bytes += fit.information_bytes as f64;
        (at, pages, sampled_rows) = (at + fit.rows, pages + 1, sampled_rows + fit.rows);
        let rows_per_page = sampled_rows / pages.max(1);
        let all_pages = total / rows_per_page.max(1);
        if pages.is_multiple_of(RUN_PAGES) && all_pages > RUN_PAGES * RUNS_MAX {
            // The next run begins where an even share of the rows ends.
            at = at.max(total / RUNS_MAX * (pages / RUN_PAGES));
            if pages >= RUN_PAGES * RUNS_MAX {
                break;
            }
        }
    }
    filled.pages = pages as f64;
    let mut filled = match sampled_rows {
        0 => filled,
        sampled if sampled == total => filled,
        sampled => filled.times(total as f64 / sampled as f64),
    };
    if rows.block_pages > 0 {
        // The last page of a block is half full, on average.
        filled.pages += (filled.pages / rows.block_pages as f64).floor() / 2.0;
    }
    filled
}

impl PageRows<'_> {
    fn next_page(
        &self,
        first: usize,
        expected: &mut usize,
        page: usize,
        history: &mut [ColumnHistory],
    ) -> (Fit, bool) {
        let available = self.lengths.len() - first;
        let plain = self.fit(first, 0, |row| self.lengths.get(row).copied().unwrap_or(0).into());
        let plain =
            if plain.rows == 0 { Fit { rows: 1, bytes: CAPACITY_BYTES, ..Fit::default() } } else { plain };
        if plain.rows >= available {
            return (plain, false);
        }
        let wanted = if *expected == 0 { plain.rows + 1 } else { *expected };
        let count = wanted.clamp(plain.rows + 1, available);
        let mut compressed = self.compressed(first, count, page, history);
        if compressed.rows.abs_diff(count) > count / 4 && compressed.rows > plain.rows {
            compressed = self.compressed(first, compressed.rows, page, history);
        }
        let pays = compressed.rows >= plain.rows + 5
            || (compressed.rows > plain.rows && compressed.rows * 4 >= plain.rows * 5);
        let fit = if pays { compressed } else { plain };
        *expected = fit.rows - fit.rows / 32;
        (fit, pays)
    }

    /// Fits as many rows as possible with these lengths, behind an information record.
    fn fit(&self, first: usize, information_bytes: usize, mut length: impl FnMut(usize) -> usize) -> Fit {
        let limit = self.limit_bytes.saturating_sub(information_bytes);
        let (mut fit, mut used) = (Fit::default(), 0);
        for row in first..self.lengths.len() {
            let bytes = length(row);
            used += bytes.max(self.least_bytes) + SLOT_BYTES;
            if used > limit {
                break;
            }
            fit = Fit { rows: fit.rows + 1, bytes: fit.bytes + bytes + SLOT_BYTES, ..fit };
        }
        fit.bytes += information_bytes;
        fit.information_bytes = information_bytes;
        fit
    }

    /// Fits rows to a page with the values that the first `count` of them share.
    fn compressed(&self, first: usize, count: usize, page: usize, history: &mut [ColumnHistory]) -> Fit {
        let plan = self.plan(first, count, page, history);
        if plan.information_bytes == 0 {
            return Fit::default();
        }
        let columns = self.columns.len();
        let mut coded = Vec::new();
        self.fit(first, plan.information_bytes, |row| {
            let (mut bytes, mut any_long) = (compressed_fixed_bytes(columns), false);
            for (column, anchor) in plan.anchors.iter().enumerate() {
                let Some(value) = self.value(column, row) else { continue };
                coded.clear();
                code(anchor.as_deref(), value, &mut coded);
                if coded.len() > 1 && plan.entries.contains(coded.as_slice()) {
                    bytes += 1;
                    continue;
                }
                bytes += cost(coded.len());
                any_long |= coded.len() > SHORT_LIMIT_BYTES;
            }
            if any_long { bytes + long_header_bytes(columns) } else { bytes }
        })
    }

    fn plan(&self, first: usize, count: usize, page: usize, history: &mut [ColumnHistory]) -> PagePlan {
        let anchors: Vec<Option<Vec<u8>>> = history
            .iter_mut()
            .enumerate()
            .map(|(column, history)| self.anchor(column, first..first + count, page, history))
            .collect();
        let mut counts: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut coded = Vec::new();
        for (column, anchor) in anchors.iter().enumerate() {
            for row in first..first + count {
                let Some(value) = self.value(column, row) else { continue };
                coded.clear();
                code(anchor.as_deref(), value, &mut coded);
                if coded.len() > 1 {
                    match counts.get_mut(coded.as_slice()) {
                        Some(count) => *count += 1,
                        None => drop(counts.insert(coded.clone(), 1)),
                    }
                }
            }
        }
        let mut gains: Vec<(usize, Vec<u8>)> = counts
            .into_iter()
            .filter_map(|(value, count)| {
                let gain = (count * (cost(value.len()) - 1)).checked_sub(value.len() + 2)?;
                (count > 1 && gain > 0).then_some((gain, value))
            })
            .collect();
        gains.sort_unstable_by(|one, other| other.cmp(one));
        gains.truncate(DICTIONARY_LIMIT);
        let dictionary_bytes: usize = gains.iter().map(|(_, value)| 2 + value.len()).sum();
        let mut information_bytes = 0;
        if anchors.iter().any(Option::is_some) {
            let lengths = anchors.iter().flatten().map(Vec::len);
            let long = lengths.clone().any(|length| length > SHORT_LIMIT_BYTES);
            let long = if long { long_header_bytes(anchors.len()) } else { 0 };
            information_bytes =
                5 + compressed_fixed_bytes(anchors.len()) + long + lengths.map(cost).sum::<usize>();
        }
        if !gains.is_empty() {
            information_bytes = information_bytes.max(5) + 2 + 2 + dictionary_bytes;
        }
        let entries = gains.into_iter().map(|(_, value)| value).collect();
        PagePlan { anchors, entries, information_bytes }
    }

    /// Returns the common prefix of a column's values on a page, if storing it once saves bytes.
    fn anchor(
        &self,
        column: usize,
        rows: std::ops::Range<usize>,
        page: usize,
        history: &mut ColumnHistory,
    ) -> Option<Vec<u8>> {
        if history.misses >= MISSES_LIMIT && !history.misses.is_multiple_of(RETRY_PAGES) {
            history.misses += 1;
            return None;
        }
        let heaviest = match history.has_few || page.is_multiple_of(RETRY_PAGES) {
            true => self.heaviest(column, rows.clone()),
            false => None,
        };
        history.has_few = heaviest.is_some();
        let anchor = heaviest.or_else(|| self.chosen(column, rows.clone(), history.misses == 0 && page > 0));
        let anchor = anchor.filter(|anchor| {
            let values = || rows.clone().filter_map(|row| self.value(column, row));
            let before: usize = values().map(|value| cost(value.len())).sum();
            let after: usize = values().map(|value| coded_cost(anchor, value)).sum();
            after + anchor.len() + 2 < before
        });
        history.misses = if anchor.is_some() { 0 } else { history.misses + 1 };
        anchor
    }

    /// Returns the value that takes most bytes in a column with few different ones.
    fn heaviest(&self, column: usize, rows: std::ops::Range<usize>) -> Option<Vec<u8>> {
        let most = FEW_VALUES.min(rows.len() / FEW_ROWS_EACH);
        let mut counts: HashMap<&[u8], usize> = HashMap::new();
        for row in rows {
            *counts.entry(self.value(column, row).unwrap_or_default()).or_default() += 1;
            if counts.len() > most {
                return None;
            }
        }
        let heaviest = counts.into_iter().max_by_key(|(value, count)| (value.len() * count, *value))?.0;
        Some(heaviest.to_vec()).filter(|value| !value.is_empty())
    }

    /// Returns the value that saves most on others.
    fn chosen(&self, column: usize, rows: std::ops::Range<usize>, few: bool) -> Option<Vec<u8>> {
        let half = if few { 2 } else { 1 };
        let (count, candidates) = (ANCHOR_SAMPLES / half, ANCHOR_CANDIDATES / half);
        let sample =
            |index: usize| self.value(column, rows.start + (2 * index + 1) * rows.len() / (2 * count));
        let samples = || (0..count).filter_map(sample);
        let before: usize = samples().map(|value| cost(value.len())).sum();
        let mut best: (usize, Option<&[u8]>) = (0, None);
        for index in 0..candidates {
            let candidate = sample((2 * index + 1) * count / (2 * candidates));
            let Some(candidate) = candidate.filter(|value| !value.is_empty()) else { continue };
            let after: usize = samples().map(|value| coded_cost(candidate, value)).sum();
            let saved = before.saturating_sub(after);
            if saved > best.0 {
                best = (saved, Some(candidate));
            }
        }
        best.1.map(<[u8]>::to_vec)
    }

    fn value(&self, column: usize, row: usize) -> Option<&[u8]> {
        self.columns.get(column)?.get(*self.order.get(row)? as usize)
    }
}

/// Bytes that a value begins with as its anchor does.
fn shared(anchor: &[u8], value: &[u8]) -> usize {
    anchor.iter().zip(value).take_while(|(one, other)| one == other).count()
}

/// Encodes a value in a column with an anchor: the number of bytes that it shares with that, then the others. The
/// anchor itself takes nothing.
fn code(anchor: Option<&[u8]>, value: &[u8], out: &mut Vec<u8>) {
    let Some(anchor) = anchor else { return out.extend_from_slice(value) };
    if anchor == value {
        return;
    }
    let same = shared(anchor, value);
    match same {
        0..0x80 => out.push(same as u8),
        _ => out.extend_from_slice(&[0x80 | (same & 0x7F) as u8, (same >> 7) as u8]),
    }
    out.extend_from_slice(value.get(same..).unwrap_or_default());
}

fn coded_cost(anchor: &[u8], value: &[u8]) -> usize {
    if anchor == value {
        return 0;
    }
    let same = shared(anchor, value);
    cost(if same < 0x80 { 1 } else { 2 } + value.len() - same)
}
