//! Rows of fields of fixed width that are lines: the last field takes what is left of its line.

use super::HostType;
use super::cells::SplitRows;
use super::format_file::HostField;
use super::splitter::{Blank, Stop, Terminator};
use crate::deviation::Deviation;

/// A layout whose columns follow one another, the last one up to the end of the line.
pub(super) struct Lined {
    /// Lengths of all fields but the last, in bytes.
    lengths: Vec<usize>,
    blanks: Vec<Blank>,
    line_end: Terminator,
}

impl Lined {
    /// Makes the layout of `fields`, if their rows are lines and blanks at the end of a field mean nothing:
    /// then a line may leave them out.
    pub(super) fn of(fields: &[HostField], blank_is_null: bool) -> Option<Self> {
        let (last, fixed) = fields.split_last()?;
        let is_fixed = |field: &HostField| {
            field.host_type.is_text()
                && field.prefix_length == 0
                && field.terminator.is_empty()
                && field.length > 0
        };
        let ends_line = last.host_type.is_text()
            && last.prefix_length == 0
            && !last.terminator.is_empty()
            && last.column.is_some();
        if !blank_is_null || fixed.is_empty() || !ends_line || !fixed.iter().all(is_fixed) {
            return None;
        }
        Some(Self {
            lengths: fixed.iter().map(|field| field.length as usize).collect(),
            blanks: fields.iter().map(|field| Blank::of(field.host_type, true)).collect(),
            line_end: Terminator::new(&last.terminator, last.host_type == HostType::NChar),
        })
    }

    /// Splits rows as [`Splitter::split`](super::splitter::Splitter::split) does. An empty line is no row.
    pub(super) fn split(
        &self,
        window: &[u8],
        start: usize,
        last: bool,
        rows_max: usize,
        rows: &mut SplitRows,
    ) -> (usize, Stop) {
        let mut row_start = start;
        let mut wanted = rows_max;
        while wanted > 0 {
            let rest = window.get(row_start..).unwrap_or_default();
            if rest.is_empty() {
                return (row_start, if last { Stop::End } else { Stop::Window });
            }
            let (line_end, next) = match self.line_end.position(rest) {
                Some(at) => (row_start + at, row_start + at + self.line_end.len()),
                None if !last => return (row_start, Stop::Window),
                None => {
                    let row = rows.bounds.len() as u32;
                    rows.notes.push((row, self.lengths.len() as u16, Deviation::MissingLastTerminator));
                    (window.len(), window.len())
                }
            };
            if line_end > row_start {
                self.divide(window, row_start, line_end, rows);
                rows.bounds.push((row_start as u32, next as u32));
                wanted -= 1;
            }
            row_start = next;
        }
        (row_start, Stop::Enough)
    }

    /// Appends the fields of one line. Fields behind its end are blank.
    fn divide(&self, window: &[u8], start: usize, line_end: usize, rows: &mut SplitRows) {
        let mut at = start;
        let ends = self.lengths.iter().map(Some).chain([None]);
        for (length, blank) in ends.zip(&self.blanks) {
            let end = length.map_or(line_end, |length| line_end.min(at.saturating_add(*length)));
            rows.spans.push(blank.trimmed(at, window.get(at..end).unwrap_or_default()));
            at = end;
        }
    }
}
